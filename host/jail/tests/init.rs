//! The init of the sandboxes that the tests make.

use std::process::ExitCode;

fn main() -> ExitCode {
    harness_jail::sandbox_init()
}
