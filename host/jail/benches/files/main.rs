//! `grep` and `glob` beside ripgrep and fd, reads and edits beside plain file calls, in one run.
//!
//! Makes its own files in a temporary directory, the same ones each time, and warms the cache. Ours
//! and theirs take turns, and the medians are compared; what they find has to be the same. Their
//! times hold the start of a process, which ours have no use for: the last column takes it off.
//! Words after `--` choose among `tree`, `big`, `glob` and `edit`.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench stands outside the jail, prints, and stops at what goes wrong"
)]

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness_jail::{
    Basis, GlobQuery, GrepMode, GrepQuery, Jail, JailPath, Observations, Replacement,
};
use tempfile::TempDir;

mod corpus;

/// How often each side of a case runs.
const ROUNDS: usize = 7;

/// What a page of results holds, as the search tool asks for it.
const PAGE: u32 = 100;

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |part: &str| words.is_empty() || words.iter().any(|word| word == part);
    let temp = TempDir::new().unwrap();
    let root = temp.path().canonicalize().unwrap();
    let has_rg = is_there("rg");
    let has_fd = is_there("fdfind");
    println!(
        "{:<44} {:>9} {:>9} {:>7} {:>14}",
        "median, ms", "ours", "theirs", "ratio", "without start"
    );
    if is_wanted("tree") && has_rg {
        let jail = tree(&root);
        greps(&jail, &TREE, None);
    }
    if is_wanted("glob") && has_fd {
        globs(&tree(&root));
    }
    if is_wanted("big") && has_rg {
        corpus::big_file(&root.join("big")).unwrap();
        greps(&Jail::open(&root.join("big"), None).unwrap(), &BIG, Some("big.log"));
    }
    if is_wanted("edit") {
        edits(&root);
    }
}

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok();
    if !found {
        println!("skipped: no `{program}` here (Debian: apt-get install ripgrep fd-find)");
    }
    found
}

fn tree(root: &Path) -> Jail {
    let tree = root.join("tree");
    if !tree.exists() {
        corpus::tree(&tree).unwrap();
    }
    Jail::open(&tree, None).unwrap()
}

/// Runs both sides in turns and prints a row.
fn row(name: &str, start: Duration, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let (mut our_times, mut their_times) = (Vec::new(), Vec::new());
    ours();
    theirs();
    for _ in 0..ROUNDS {
        for (work, times) in
            [(&mut ours as &mut dyn FnMut(), &mut our_times), (&mut theirs, &mut their_times)]
        {
            let begun = Instant::now();
            work();
            times.push(begun.elapsed());
        }
    }
    let ms = |times: &mut Vec<Duration>| {
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1000.0
    };
    let (ours, theirs) = (ms(&mut our_times), ms(&mut their_times));
    let bare = (theirs - start.as_secs_f64() * 1000.0).max(0.001);
    println!("{name:<44} {ours:>9.2} {theirs:>9.2} {:>7.2} {:>14.2}", ours / theirs, ours / bare);
}

/// What a program takes to start and to end.
fn start_of(program: &str) -> Duration {
    let mut times: Vec<Duration> = (0..21)
        .map(|_| {
            let begun = Instant::now();
            Command::new(program).arg("--version").output().unwrap();
            begun.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "{:<44} {:>9} {:>9.2}",
        format!("start of `{program}`"),
        "",
        times[10].as_secs_f64() * 1000.0
    );
    times[10]
}

/// Runs a program in `dir`, reads what it says and throws it away.
fn run(program: &str, dir: &Path, args: &[&str]) -> Vec<u8> {
    let mut command = Command::new(program);
    // A variable of the person's own could change what is found.
    command.args(args).current_dir(dir).stdin(Stdio::null()).env_remove("RIPGREP_CONFIG_PATH");
    command.output().unwrap().stdout
}

struct Case {
    name: &'static str,
    pattern: &'static str,
    mode: GrepMode,
    literal: bool,
    ignore_case: bool,
}

const fn case(name: &'static str, pattern: &'static str, mode: GrepMode) -> Case {
    Case { name, pattern, mode, literal: false, ignore_case: false }
}

const fn literal(name: &'static str, pattern: &'static str) -> Case {
    Case { literal: true, ..case(name, pattern, GrepMode::Lines) }
}

const TREE: [Case; 8] = [
    literal("tree: literal, common", "value"),
    literal("tree: literal, rare", "needle_in_hay"),
    literal("tree: literal, none", "nowhere_to_be_found"),
    case("tree: regex", r"fn \w+_(alpha|omega)\(", GrepMode::Lines),
    case("tree: regex without a literal", r"\b[a-f]{3}\d{2}\b", GrepMode::Lines),
    Case { ignore_case: true, ..literal("tree: ignoring case", "NEEDLE_in_hay") },
    case("tree: files", "value", GrepMode::Files),
    case("tree: count", "value", GrepMode::Count),
];

const BIG: [Case; 6] = [
    literal("500 MB: literal, common", "value"),
    literal("500 MB: literal, rare", "needle_in_hay"),
    literal("500 MB: literal, none", "nowhere_to_be_found"),
    case("500 MB: regex", r"fn \w+_(alpha|omega)\(", GrepMode::Lines),
    Case { ignore_case: true, ..literal("500 MB: ignoring case", "NEEDLE_in_hay") },
    case("500 MB: count", "value", GrepMode::Count),
];

fn greps(jail: &Jail, cases: &[Case], file: Option<&str>) {
    let start = start_of("rg");
    for case in cases {
        let query = |mode, limit| GrepQuery {
            pattern: case.pattern.into(),
            literal: case.literal,
            ignore_case: case.ignore_case,
            multiline: false,
            root: file.map(|file| jail.parse(file).unwrap()),
            files: None,
            mode,
            lines_before: 0,
            lines_after: 0,
            include_ignored: false,
            offset: 0,
            limit,
        };
        let later = || Instant::now() + Duration::from_secs(600);
        let mut args =
            vec!["--hidden", "--no-config", "--no-messages", "--color=never", "-g", "!.git"];
        args.extend(["--no-ignore-global", "--no-ignore-parent", "--crlf"]);
        args.extend(case.literal.then_some("--fixed-strings"));
        args.extend(case.ignore_case.then_some("--ignore-case"));
        let with = |mode: &'static str| {
            let mut args = args.clone();
            args.extend([mode, "-e", case.pattern]);
            args.extend(file.map_or(Some("./"), Some));
            args
        };
        // The same files, with the same number of matching lines each.
        let counted =
            run("rg", jail.root(), &[&["--with-filename"][..], &with("--count")].concat());
        let theirs: BTreeMap<String, u64> = String::from_utf8(counted)
            .unwrap()
            .lines()
            .map(|line| line.rsplit_once(':').unwrap())
            .map(|(path, count)| (path.trim_start_matches("./").to_owned(), count.parse().unwrap()))
            .collect();
        let found = jail.grep(&query(GrepMode::Count, u32::MAX), later()).unwrap();
        let ours: BTreeMap<String, u64> =
            found.files.iter().map(|file| (file.path.to_string(), file.matches)).collect();
        assert_eq!(ours, theirs, "{}", case.name);
        let mode = match case.mode {
            GrepMode::Lines => "--line-number",
            GrepMode::Files => "--files-with-matches",
            GrepMode::Count => "--count",
        };
        let args = with(mode);
        row(
            case.name,
            start,
            || drop(black_box(jail.grep(&query(case.mode, PAGE), later()).unwrap())),
            || drop(black_box(run("rg", jail.root(), &args))),
        );
    }
}

fn globs(jail: &Jail) {
    let start = start_of("fdfind");
    // Ours is always newest first, so it asks for every match's time; fd asks when it has to.
    let timed = &["--changed-within", "1000weeks"][..];
    for (name, pattern, more) in [
        ("glob: **/*.rs", "**/*.rs", &[][..]),
        ("glob: everything", "**/*", &[]),
        ("glob: everything, both asking for times", "**/*", timed),
    ] {
        let query = |limit| GlobQuery {
            pattern: pattern.into(),
            root: None,
            include_ignored: false,
            offset: 0,
            limit,
        };
        let later = || Instant::now() + Duration::from_secs(600);
        let args =
            ["--hidden", "--no-ignore-parent", "--no-global-ignore-file", "--exclude", ".git"];
        let args = [&args[..], &["--type", "f", "--full-path", "--glob", pattern], more].concat();
        let said = String::from_utf8(run("fdfind", jail.root(), &args)).unwrap();
        let mut theirs: Vec<&str> =
            said.lines().map(|line| line.trim_start_matches("./")).collect();
        theirs.sort_unstable();
        let found = jail.glob(&query(u32::MAX), later()).unwrap();
        let mut ours: Vec<&str> = found.entries.iter().map(|entry| entry.path.as_str()).collect();
        ours.sort_unstable();
        assert!(ours == theirs, "{name}: {} and {}", ours.len(), theirs.len());
        row(
            name,
            start,
            || drop(black_box(jail.glob(&query(PAGE), later()).unwrap())),
            || drop(black_box(run("fdfind", jail.root(), &args))),
        );
    }
}

/// Beside the plain calls that do the same without looking at anything twice.
fn edits(root: &Path) {
    let dir = root.join("edit");
    fs::create_dir(&dir).unwrap();
    let jail = Jail::open(&dir, None).unwrap();
    for name in ["ours", "theirs"] {
        corpus::text_file(&dir.join(name), 50 * 1024 * 1024).unwrap();
    }
    let path: JailPath = jail.parse("ours").unwrap();
    let (middle, page_bytes) = (25 * 1024 * 1024, 256 * 1024);
    row(
        "50 MB: read 256 KiB in the middle",
        Duration::ZERO,
        || drop(black_box(jail.read(&path, middle, page_bytes).unwrap())),
        || {
            let mut file = fs::File::open(dir.join("theirs")).unwrap();
            file.seek(SeekFrom::Start(middle)).unwrap();
            let mut bytes = Vec::with_capacity(page_bytes as usize);
            file.take(page_bytes).read_to_end(&mut bytes).unwrap();
            black_box(bytes);
        },
    );
    let seen = Observations::new();
    let mut flip = 0;
    let mut other_flip = 0;
    row(
        "50 MB: edit one word in the middle, synced",
        Duration::ZERO,
        || {
            flip += 1;
            let version = jail.read(&path, middle, 1).unwrap().version;
            let insert = format!("edit number {flip}").into_bytes();
            let change = [Replacement { offset: middle, remove: 10, insert }];
            jail.patch(&path, &change, &Basis::Read(version), &seen).unwrap();
        },
        || {
            other_flip += 1;
            let target = dir.join("theirs");
            let before = fs::read(&target).unwrap();
            let (head, tail) = before.split_at(middle as usize);
            let insert = format!("edit number {other_flip}").into_bytes();
            let after = [head, &insert, &tail[10..]].concat();
            let mut file = fs::File::create(dir.join("new")).unwrap();
            file.write_all(&after).unwrap();
            file.sync_all().unwrap();
            fs::rename(dir.join("new"), target).unwrap();
        },
    );
}
