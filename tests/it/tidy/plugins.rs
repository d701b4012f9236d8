//! The table of a plugin, four times over: what the code reads of `[plugin.NAME]`, the page of settings,
//! the page that says what is enforced, and the tests that show it.
//!
//! What the code reads is asked of the code: a name that nobody knows is told with all that are known.

use std::collections::BTreeSet;

use harness::config::{Layers, Settings};
use harness::plugin::POWERS;

use super::none;
use super::tree::Tree;

/// A name that is nowhere one.
const UNKNOWN: &str = "zzz";

/// A value that no field takes.
const NO_VALUE: &str = "1979-05-27";

/// Fields whose own fields are in the tables too, as `field.inner`, and how one of these is set.
const NESTED: [(&str, &str); 2] =
    [("limits", "limits = { zzz = 1 }"), ("credentials", "credentials = { a = { zzz = 1 } }")];

/// What is wrong with a plugin's table that has this line.
fn problems(line: &str) -> String {
    let file = format!("[plugin.files]\n{line}\n");
    let layers = Layers { file: Some(("harness.toml".to_owned(), file)), ..Layers::default() };
    format!("{:?}", Settings::merge(&layers).problems())
}

/// The names that a line's unknown one is none of.
fn known(line: &str) -> BTreeSet<String> {
    let told = problems(line);
    let start = format!("`{UNKNOWN}` is none of ");
    let list = told.split_once(&start).unwrap_or_else(|| panic!("no list in {told}")).1;
    let end = list.find("`\"").or_else(|| list.find("`, did")).map_or(list.len(), |end| end + 1);
    spans(&list[..end]).collect()
}

/// Every field there is, with those inside others.
fn fields() -> BTreeSet<String> {
    let mut all = known(&format!("{UNKNOWN} = 1"));
    for (outer, line) in NESTED {
        assert!(all.contains(outer), "`{outer}` is no field");
        all.extend(known(line).into_iter().map(|inner| format!("{outer}.{inner}")));
    }
    all
}

/// What stands between single backticks.
fn spans(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// The rows of every table in a part of a page, from a heading to the next of its kind: the names in the
/// first cell, and those in the last.
fn rows(page: &str, heading: &str) -> Vec<(Vec<String>, Vec<String>)> {
    let page = format!("\n{page}");
    let part = page.split_once(&format!("\n{heading}\n")).map_or("", |(_, part)| part);
    let part = part.split_once("\n## ").map_or(part, |(part, _)| part);
    let cells = part.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.split(" | ").collect();
        let (first, last) = (format!("`{}", cells.first()?), *cells.last()?);
        Some((spans(&first).collect(), spans(last).collect()))
    });
    cells.collect()
}

/// What is in one set and not in the other, each with the side that lacks it.
fn differences(
    one: &BTreeSet<String>,
    of: &str,
    other: &BTreeSet<String>,
    and: &str,
) -> Vec<String> {
    let lacks = |name: &String, where_: &str| format!("{where_}: no `{name}`");
    let of_one = one.difference(other).map(|name| lacks(name, and));
    of_one.chain(other.difference(one).map(|name| lacks(name, of))).collect()
}

fn text<'a>(tree: &'a Tree, path: &str) -> &'a str {
    tree.file(path).and_then(|file| file.text.as_deref()).unwrap_or_default()
}

#[test]
fn every_field_is_read() {
    let unread = fields().into_iter().filter(|field| !field.contains('.')).filter_map(|field| {
        let told = problems(&format!("{field} = {NO_VALUE}"));
        (!told.contains(&format!("`{field}`: expected "))).then(|| format!("`{field}`: {told}"))
    });
    none("a field of `[plugin.NAME]` that no value is wrong for", unread.collect());
}

#[test]
fn the_page_of_settings_has_the_fields_that_are_read() {
    let tree = Tree::read();
    let page = "docs/configuration.md";
    let written: BTreeSet<String> =
        rows(text(&tree, page), "## Plugins").into_iter().flat_map(|(names, _)| names).collect();
    none(
        "a field of `[plugin.NAME]` without its row, or a row without its field",
        differences(&fields(), "the code", &written, page),
    );
}

#[test]
fn what_is_enforced_is_written_down_with_a_test_that_is_there() {
    let tree = Tree::read();
    let page = "docs/plugins.md";
    let rows = rows(text(&tree, page), "## What is enforced, and the test that shows it");
    let mut read = fields();
    // What holds for these is said of what is inside them.
    read.retain(|field| !NESTED.iter().any(|(outer, _)| field == outer));
    read.extend(POWERS.map(str::to_owned));
    let written: BTreeSet<String> = rows.iter().flat_map(|(names, _)| names).cloned().collect();
    let mut offences = differences(&read, "the code", &written, page);
    let sources: Vec<&str> =
        tree.texts(&["tests/", "host/"], ".rs").map(|(_, text)| text).collect();
    for (names, tests) in &rows {
        if tests.is_empty() {
            offences.push(format!("{page}: no test for `{}`", names.join("`, `")));
        }
        for test in tests {
            if !sources.iter().any(|source| is_test_in(source, test)) {
                offences.push(format!("{page}: there is no test `{test}`"));
            }
        }
    }
    none("what is enforced, what is written of it, and what shows it", offences);
}

#[test]
fn every_example_is_a_project_and_in_the_list() {
    let tree = Tree::read();
    let (folder, page) = ("plugins/examples/", "plugins/examples/README.md");
    let with = |file: &str, is_sound: &dyn Fn(&str, &str) -> bool| -> BTreeSet<String> {
        let name = |path: &str| Some(path.strip_suffix(file)?.strip_prefix(folder)?.to_owned());
        let files =
            tree.files.iter().filter_map(|one| Some((name(&one.path)?, one.text.as_deref()?)));
        files.filter(|(name, text)| is_sound(name, text)).map(|(name, _)| name).collect()
    };
    let packages = with("/Cargo.toml", &|_, _| true);
    let projects =
        with("/plugin.toml", &|name, text| text.starts_with(&format!("name = \"{name}\"\n")));
    let listed = rows(text(&tree, page), "# Examples").into_iter().flat_map(|(names, _)| names);
    let mut offences = differences(&packages, folder, &listed.collect(), page);
    offences.extend(differences(&packages, folder, &projects, "those with a `plugin.toml`"));
    none("an example that is no project, or not in the list", offences);
}

/// Whether a source has a test of that name.
fn is_test_in(source: &str, name: &str) -> bool {
    let lines: Vec<&str> = source.lines().map(str::trim_start).collect();
    let starts = [format!("fn {name}("), format!("async fn {name}(")];
    let at = lines.iter().position(|line| starts.iter().any(|start| line.starts_with(start)));
    at.is_some_and(|at| {
        let before = lines[..at].iter().rev();
        let mut attributes = before.take_while(|line| line.starts_with("#["));
        attributes.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    })
}

#[test]
fn what_counts_as_a_row_and_as_a_test() {
    let page =
        "# P\n## A\n| x | y |\n| --- | --- |\n| `a`, `b` | `c` | `d`, `e` |\n## B\n| `f` | `g` |\n";
    let texts = |names: &[&str]| -> Vec<String> { names.iter().map(ToString::to_string).collect() };
    assert_eq!(rows(page, "## A"), [(texts(&["a", "b"]), texts(&["d", "e"]))]);
    assert_eq!(rows(page, "## C"), []);
    let source =
        "#[test]\nfn one() {}\nfn two() {}\n    #[tokio::test(a)]\n    async fn three() {}\n";
    let is_test = |name| is_test_in(source, name);
    assert_eq!(["one", "two", "three", "thre"].map(is_test), [true, false, true, false]);
}

#[test]
fn every_complaint_has_its_answer_and_a_test_that_is_there() {
    let tree = Tree::read();
    let page = text(&tree, "docs/plugins.md");
    let heading = "## What authors of plugins complain of elsewhere, and what holds here\n";
    let part = page.split_once(heading).map_or("", |(_, part)| part);
    let part = part.split_once("\n## ").map_or(part, |(part, _)| part);
    let rows: Vec<&str> = part.lines().filter(|line| line.starts_with("| ")).skip(2).collect();
    assert_eq!(rows.len(), 30, "thirty were collected");
    let sources: Vec<&str> =
        tree.texts(&["tests/", "host/", "plugins/"], ".rs").map(|(_, text)| text).collect();
    let is_there = |test: &String| sources.iter().any(|source| is_test_in(source, test));
    let offences = rows.into_iter().filter_map(|row| {
        let tests: Vec<String> = spans(row.rsplit(" | ").next().unwrap_or_default()).collect();
        let is_shown = !tests.is_empty() && tests.iter().all(is_there);
        (!is_shown).then(|| row.to_owned())
    });
    none("a complaint without a test", offences.collect());
}
