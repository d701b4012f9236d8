//! The files that are searched: the same bytes on every machine, from a small generator.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// How many files the tree holds.
const FILES: u64 = 50_000;

/// Bytes of the large file.
const BIG_BYTES: u64 = 500 * 1000 * 1000;

const WORDS: [&str; 16] = [
    "let", "value", "result", "buffer", "self", "return", "match", "string", "index", "handle",
    "offset", "error", "parse", "write", "count", "state",
];

/// A multiplicative generator with a fixed seed; quality does not matter here, sameness does.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Lines of code-like text, at least `bytes` of them.
fn text(out: &mut impl Write, numbers: &mut Numbers, bytes: u64) -> io::Result<()> {
    let mut written = 0;
    let mut line = String::new();
    while written < bytes {
        line.clear();
        for _ in 0..numbers.below(4) {
            line.push_str("    ");
        }
        for _ in 0..=numbers.below(10) {
            // Every word is as likely as the next but for a few that are to be rare.
            match numbers.below(60_000) {
                0 => line.push_str("needle_in_hay "),
                1..=20 => line.push_str("fn run_omega() "),
                21..=40 => line.push_str("abc42 "),
                other => {
                    line.push_str(WORDS[other as usize % WORDS.len()]);
                    line.push(' ');
                }
            }
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        written += line.len() as u64;
    }
    Ok(())
}

/// One file of text.
pub(crate) fn text_file(path: &Path, bytes: u64) -> io::Result<()> {
    let mut out = BufWriter::new(fs::File::create(path)?);
    text(&mut out, &mut Numbers(7), bytes)?;
    out.flush()
}

/// A directory with the large file.
pub(crate) fn big_file(dir: &Path) -> io::Result<()> {
    fs::create_dir(dir)?;
    text_file(&dir.join("big.log"), BIG_BYTES)
}

/// A repository of many files: nested, some hidden, some ignored, a few binary.
pub(crate) fn tree(root: &Path) -> io::Result<()> {
    let mut numbers = Numbers(42);
    fs::create_dir_all(root.join(".git/info"))?;
    fs::write(root.join(".git/info/exclude"), "*.swp\n")?;
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n")?;
    fs::write(root.join(".gitignore"), "target/\n*.log\n/generated\n")?;
    for number in 0..FILES {
        let (top, middle) = (number % 20, number / 20 % 25);
        let dir = match number % 97 {
            0 => root.join(format!("crate{top}/target/m{middle}")),
            1 => root.join(format!("crate{top}/.config/m{middle}")),
            _ => root.join(format!("crate{top}/src/m{middle}")),
        };
        if !dir.is_dir() {
            fs::create_dir_all(&dir)?;
            fs::write(dir.join(".gitignore"), "skipped*\n!skipped_not*\n")?;
        }
        let ending = ["rs", "rs", "ts", "md", "json", "py", "log"][numbers.below(7) as usize];
        let head = if number % 211 == 0 { "skipped" } else { "file" };
        let mut out =
            BufWriter::new(fs::File::create(dir.join(format!("{head}{number}.{ending}")))?);
        if number % 503 == 0 {
            out.write_all(b"\0\x01\x02value\0")?;
        }
        let bytes = 200 + numbers.below(6000);
        text(&mut out, &mut numbers, bytes)?;
        out.flush()?;
    }
    Ok(())
}
