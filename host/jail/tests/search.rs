//! Searching: names and contents.

use std::time::{Duration, Instant};

use harness_jail::{FaultKind, GlobPage, GlobQuery, GrepMode, GrepPage, GrepQuery};

use crate::workspace::{Workspace, later, refused};

fn glob(w: &Workspace, pattern: &str) -> GlobPage {
    w.jail.glob(&glob_query(pattern), later()).expect(pattern)
}

fn glob_query(pattern: &str) -> GlobQuery {
    GlobQuery { pattern: pattern.into(), root: None, include_ignored: false, offset: 0, limit: 100 }
}

fn found(page: &GlobPage) -> Vec<&str> {
    page.entries.iter().map(|entry| entry.path.as_str()).collect()
}

pub(crate) fn grep_query(pattern: &str) -> GrepQuery {
    GrepQuery {
        pattern: pattern.into(),
        literal: false,
        ignore_case: false,
        multiline: false,
        root: None,
        files: None,
        mode: GrepMode::Lines,
        lines_before: 0,
        lines_after: 0,
        include_ignored: false,
        offset: 0,
        limit: 100,
    }
}

fn grep(w: &Workspace, query: &GrepQuery) -> GrepPage {
    w.jail.grep(query, later()).expect(&query.pattern)
}

/// Each line as `path:number:text`, context with `-`.
fn lines(page: &GrepPage) -> Vec<String> {
    let mut lines = Vec::new();
    for file in &page.files {
        for line in &file.lines {
            let mark = if line.is_match { ':' } else { '-' };
            lines.push(format!("{}{mark}{}{mark}{}", file.path, line.number, line.text));
        }
    }
    lines
}

fn tree() -> Workspace {
    let w = Workspace::new();
    for (age, path) in [
        ".github/workflows/ci.yml",
        "src/main.rs",
        "src/deep/lib.rs",
        "dist/app.js",
        "src/deep/made.rs",
        "src/deep/kept.log",
        "app/[id]/page.tsx",
    ]
    .iter()
    .enumerate()
    {
        w.put(path, format!("needle in {path}\n"));
        w.set_modified(path, 1_000_000 - age as u64);
    }
    w.put(".git/config", "needle\n");
    w.put(".gitignore", "dist/\n*.log\n");
    w.put("src/.gitignore", "/deep/made.rs\n!kept.log\n");
    w
}

#[test]
fn glob_finds() {
    let w = tree();
    for (pattern, expected, ignored) in [
        ("**/*.yml", vec![".github/workflows/ci.yml"], 0),
        (".github/workflows/*.yml", vec![".github/workflows/ci.yml"], 0),
        ("*.rs", vec!["src/main.rs", "src/deep/lib.rs"], 1),
        ("src/**/*.{rs,log}", vec!["src/main.rs", "src/deep/lib.rs", "src/deep/kept.log"], 1),
        ("dist/app.js", vec!["dist/app.js"], 0),
        ("**/app.js", vec![], 1),
        ("dist/*.js", vec![], 1),
        ("app/[id]/page.tsx", vec!["app/[id]/page.tsx"], 0),
        ("config", vec![], 0),
        (".git/config", vec![], 0),
        ("deep/", vec!["src/deep"], 0),
        ("src", vec!["src"], 0),
        ("missing/**/*.rs", vec![], 0),
    ] {
        let page = glob(&w, pattern);
        assert_eq!(found(&page), expected, "{pattern}");
        assert_eq!((page.total, page.ignored), (expected.len() as u64, ignored), "{pattern}");
    }
    let all = GlobQuery { include_ignored: true, ..glob_query("**/*.{js,rs}") };
    let page = w.jail.glob(&all, later()).expect("found");
    assert_eq!(found(&page), ["src/main.rs", "src/deep/lib.rs", "dist/app.js", "src/deep/made.rs"]);
    assert_eq!(page.ignored, 0);
}

#[test]
fn glob_pages_and_roots() {
    let w = tree();
    let page = GlobQuery { offset: 1, limit: 1, ..glob_query("src/**/*.{rs,log}") };
    let page = w.jail.glob(&page, later()).expect("found");
    assert_eq!((found(&page), page.total), (vec!["src/deep/lib.rs"], 3));
    let below = GlobQuery { root: Some(w.path("src")), ..glob_query("deep/*") };
    let below = w.jail.glob(&below, later()).expect("found");
    assert_eq!(found(&below), ["src/deep/lib.rs", "src/deep/kept.log"]);
    // A root that is named is searched although it is ignored.
    let named = GlobQuery { root: Some(w.path("dist")), ..glob_query("*.js") };
    assert_eq!(found(&w.jail.glob(&named, later()).expect("found")), ["dist/app.js"]);
    let absolute = format!("{}/src/*.rs", w.jail.root().display());
    assert_eq!(found(&glob(&w, &absolute)), ["src/main.rs"]);

    let missing = GlobQuery { root: Some(w.path("none")), ..glob_query("*") };
    refused(w.jail.glob(&missing, later()), FaultKind::NotFound, "does not exist");
    refused(w.jail.glob(&glob_query("../*"), later()), FaultKind::InvalidInput, "leads upwards");
    refused(w.jail.glob(&glob_query("/etc/*"), later()), FaultKind::Denied, "outside");
    refused(w.jail.glob(&glob_query("a["), later()), FaultKind::InvalidInput, "does not parse");
    let past = Instant::now() - Duration::from_millis(1);
    refused(w.jail.glob(&glob_query("*"), past), FaultKind::TimedOut, "did not come to its end");
}

#[test]
fn the_walk_stays_inside() {
    let w = Workspace::new();
    w.put("dir/file.txt", "needle\n");
    w.link(w.outside(), "out");
    w.link("dir", "alias");
    w.link("dir/file.txt", "link.txt");
    w.link("..", "dir/up");
    w.jail.spill("x", b"needle\n").expect("spilled");
    // Rules from above the root do not count.
    std::fs::write(w.jail.root().parent().expect("above").join(".gitignore"), "*\n").expect("put");
    let names = glob(&w, "**/*");
    assert_eq!(names.total, 5, "{:?}", found(&names));
    assert_eq!(glob(&w, "**/secret").total, 0);
    assert_eq!(lines(&grep(&w, &grep_query("needle"))), ["dir/file.txt:1:needle"]);
    assert_eq!(grep(&w, &grep_query("secret")).total_matches, 0);
    // Named, a link and a spilled output are searched.
    let named = GrepQuery { root: Some(w.path("link.txt")), ..grep_query("needle") };
    assert_eq!(lines(&grep(&w, &named)), ["link.txt:1:needle"]);
    let spilled = w.path(".harness/spill/001-x.txt");
    let named = GrepQuery { root: Some(spilled), ..grep_query("needle") };
    assert_eq!(grep(&w, &named).total_matches, 1);
    let through = GrepQuery { root: Some(w.path("alias")), ..grep_query("needle") };
    assert_eq!(lines(&grep(&w, &through)), ["alias/file.txt:1:needle"]);
}

#[test]
fn grep_modes_and_pages() {
    let w = tree();
    w.put("many.txt", "x\nhit 1\nhit 2\ny\nz\nhit 3\n");
    let query = GrepQuery { lines_before: 1, lines_after: 1, ..grep_query("^hit") };
    let page = grep(&w, &query);
    assert_eq!(
        lines(&page),
        [
            "many.txt-1-x",
            "many.txt:2:hit 1",
            "many.txt:3:hit 2",
            "many.txt-4-y",
            "many.txt-5-z",
            "many.txt:6:hit 3"
        ]
    );
    assert_eq!((page.total_matches, page.total_files, page.stopped), (3, 1, None));
    assert_eq!(page.files[0].version, w.read("many.txt").expect("there").version);

    let second = GrepQuery { offset: 1, limit: 1, ..query.clone() };
    let page = grep(&w, &second);
    assert_eq!(lines(&page), ["many.txt:3:hit 2", "many.txt-4-y"]);
    assert_eq!((page.total_matches, page.stopped.as_deref()), (3, Some("limit")));

    let page = grep(&w, &grep_query("needle"));
    assert_eq!(page.total_files, 5);
    let paths: Vec<&str> = page.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            ".github/workflows/ci.yml",
            "app/[id]/page.tsx",
            "src/deep/kept.log",
            "src/deep/lib.rs",
            "src/main.rs"
        ]
    );
    let files = GrepQuery { mode: GrepMode::Files, offset: 1, limit: 1, ..grep_query("needle") };
    let page = grep(&w, &files);
    assert_eq!((page.files.len(), page.files[0].path.as_str()), (1, "app/[id]/page.tsx"));
    assert!(page.files[0].lines.is_empty());
    let count = GrepQuery { mode: GrepMode::Count, ..grep_query("hit") };
    assert_eq!(grep(&w, &count).files[0].matches, 3);
    let rust = GrepQuery { files: Some("*.rs".into()), ..grep_query("needle") };
    assert_eq!((grep(&w, &rust).total_files, grep(&w, &rust).searched), (2, 2));
    let all = GrepQuery { include_ignored: true, ..grep_query("needle") };
    assert_eq!(grep(&w, &all).total_files, 7);
}

#[test]
fn grep_patterns() {
    let w = Workspace::new();
    w.put("f", "fn a(b) {\r\n  Straße\r\n}\r\nend$\n");
    for (query, expected) in [
        (grep_query(r"^\}$"), vec!["f:3:}"]),
        (GrepQuery { literal: true, ..grep_query("a(b)") }, vec!["f:1:fn a(b) {"]),
        (GrepQuery { literal: true, ..grep_query("end$") }, vec!["f:4:end$"]),
        (GrepQuery { ignore_case: true, ..grep_query("STRAẞE") }, vec!["f:2:  Straße"]),
        (
            GrepQuery { multiline: true, ..grep_query(r"\{\s+Str") },
            vec!["f:1:fn a(b) {", "f:2:  Straße"],
        ),
    ] {
        assert_eq!(lines(&grep(&w, &query)), expected, "{}", query.pattern);
    }
    refused(w.jail.grep(&grep_query("a(b"), later()), FaultKind::InvalidInput, "hint: set literal");
    refused(w.jail.grep(&grep_query(r"a\nb"), later()), FaultKind::InvalidInput, "set multiline");
}

#[test]
fn grep_one_file_none_and_binary() {
    let w = tree();
    w.put("binary", b"needle\0needle\n");
    w.put("wide.txt", b"\xFF\xFEn\0e\0e\0d\0l\0e\0\n\0");
    // A single file is searched even where ignore files exclude it.
    let single = GrepQuery { root: Some(w.path("dist/app.js")), ..grep_query("needle") };
    let page = grep(&w, &single);
    assert_eq!((page.searched, page.total_matches), (1, 1));
    let missing = GrepQuery { root: Some(w.path("none")), ..grep_query("needle") };
    refused(w.jail.grep(&missing, later()), FaultKind::NotFound, "does not exist");
    // A filter that leaves out the one file that is named is not passed over.
    let named = |files: &str| GrepQuery {
        root: Some(w.path("src/main.rs")),
        files: Some(files.into()),
        ..grep_query("needle")
    };
    for files in ["*.rs", "src/*.rs", "main.rs", "**/*.{rs,ts}"] {
        assert_eq!(grep(&w, &named(files)).total_matches, 1, "{files}");
    }
    for files in ["*.ts", "lib/*.rs"] {
        let fault = w.jail.grep(&named(files), later());
        refused(fault, FaultKind::InvalidInput, "one file, and it does not match");
    }
    // In a tree a binary file is passed over; by name it is no "no match".
    for mode in [GrepMode::Lines, GrepMode::Files, GrepMode::Count] {
        let root = Some(w.path("binary"));
        let named = GrepQuery { root, mode, ..grep_query("needle") };
        refused(w.jail.grep(&named, later()), FaultKind::Unsupported, "is binary");
    }
    let page = grep(&w, &GrepQuery { mode: GrepMode::Files, ..grep_query("needle") });
    let paths: Vec<&str> = page.files.iter().map(|file| file.path.as_str()).collect();
    assert!(!paths.contains(&"binary") && paths.contains(&"wide.txt"), "{paths:?}");
}

#[test]
fn long_patterns_are_told_by_their_start() {
    let w = tree();
    let long = "x".repeat(100_000);
    for pattern in [format!("[{long}"), format!("/{long}"), format!("../{long}")] {
        let fault = w.jail.glob(&glob_query(&pattern), later()).expect_err("a bad pattern");
        assert!(
            fault.to_string().len() < 600 && fault.message.contains(&pattern[..100]),
            "{fault}"
        );
    }
    let query = grep_query(&format!("({long}"));
    let fault = w.jail.grep(&query, later()).expect_err("a bad pattern");
    assert!(fault.to_string().len() < 600 && fault.message.contains("unclosed group"), "{fault}");
}

#[test]
fn long_lines_and_deadlines() {
    let w = Workspace::new();
    w.put("long", "x".repeat(5_000_000) + "needle" + &"y".repeat(5_000_000));
    let page = grep(&w, &grep_query("needle"));
    let text = &page.files[0].lines[0].text;
    assert!(text.contains("needle") && text.chars().count() <= 502, "{}", text.len());
    let past = Instant::now() - Duration::from_millis(1);
    let page = w.jail.grep(&grep_query("needle"), past).expect("a page");
    assert_eq!((page.total_matches, page.stopped.as_deref()), (0, Some("deadline")));
    let many: String = "hit and more\n".repeat(200_000);
    w.put("many", many);
    let page = grep(&w, &GrepQuery { limit: u32::MAX, ..grep_query("hit") });
    assert_eq!((page.total_matches, page.stopped.as_deref()), (200_000, Some("size")));
}

#[test]
fn many_files_are_all_seen() {
    let w = Workspace::new();
    for n in 0..700 {
        w.put(&format!("d{}/f{n}.txt", n % 7), format!("number {n}\n"));
    }
    assert_eq!(glob(&w, "*.txt").total, 700);
    let page = grep(&w, &GrepQuery { limit: 1000, ..grep_query("number") });
    assert_eq!((page.searched, page.total_files), (700, 700));
    let paths: Vec<_> = page.files.iter().map(|file| file.path.clone()).collect();
    assert!(paths.is_sorted());
}
