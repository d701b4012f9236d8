//! The binary: hands the arguments to the command line door and its verdict to the shell.

use std::process::ExitCode;

fn main() -> ExitCode {
    harness::cli::main()
}
