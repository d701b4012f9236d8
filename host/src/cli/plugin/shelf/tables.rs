//! The tables `[plugin.NAME]` of a configuration's text: one is set or taken out, and every other
//! byte of the text stays.
//!
//! Pure. The text was read by the configuration before, so that it is TOML with plugins in it.

use anyhow::{Context, bail};
use similar::{ChangeTag, TextDiff};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// The section.
const PLUGIN: &str = "plugin";

/// What a key is to say; None takes it out.
pub(in super::super) type Change = (&'static str, Option<Value>);

/// The text with these keys of one plugin's table changed, and the table made where there is none.
pub(in super::super) fn set(
    text: &str,
    plugin: &str,
    changes: &[Change],
) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse().context("the configuration is not TOML")?;
    let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
    let mut is_last = false;
    let section = document.entry(PLUGIN).or_insert_with(|| {
        let mut section = Table::new();
        section.set_implicit(true);
        Item::Table(section)
    });
    let new = match section {
        Item::Table(_) => Item::Table(last_table(text, &trailing)),
        _ => Item::Value(InlineTable::new().into()),
    };
    let Some(section) = section.as_table_like_mut() else { bail!("`plugin` is not a table") };
    let table = section.entry(plugin).or_insert_with(|| {
        is_last = new.is_table();
        new
    });
    let Some(table) = table.as_table_like_mut() else { bail!("`plugin.{plugin}` is not a table") };
    for (key, value) in changes {
        match value {
            Some(value) => put(table, key, value.clone()),
            None => drop(table.remove(key)),
        }
    }
    if is_last {
        document.set_trailing("");
    }
    Ok(keep_bytes(text, &document.to_string()))
}

/// The text without one plugin's table.
pub(in super::super) fn take_out(text: &str, plugin: &str) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse().context("the configuration is not TOML")?;
    if let Some(section) = document.get_mut(PLUGIN).and_then(Item::as_table_like_mut) {
        section.remove(plugin);
    }
    Ok(keep_bytes(text, &document.to_string()))
}

/// A list of texts.
pub(in super::super) fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> Value {
    texts.into_iter().collect::<Array>().into()
}

/// The lines by which two texts differ, each with its sign.
pub(in super::super) fn difference(before: &str, after: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(before, after);
    let signed = diff.iter_all_changes().filter_map(|change| {
        let line = change.value().trim_end();
        match change.tag() {
            ChangeTag::Equal => None,
            _ if line.is_empty() => None,
            ChangeTag::Delete => Some(format!("- {line}")),
            ChangeTag::Insert => Some(format!("+ {line}")),
        }
    });
    signed.collect()
}

/// A table for the end of the text, behind the comments that stand there.
fn last_table(text: &str, trailing: &str) -> Table {
    let mut table = Table::new();
    table.set_position(Some(isize::MAX));
    let gap = match trailing {
        "" if text.is_empty() => "",
        line if !line.is_empty() && !line.ends_with('\n') => "\n\n",
        _ => "\n",
    };
    table.decor_mut().set_prefix(format!("{trailing}{gap}"));
    table
}

/// A value in place of another keeps what stands around that.
fn put(table: &mut dyn TableLike, key: &str, mut value: Value) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(before) => {
            *value.decor_mut() = before.decor().clone();
            *before = value;
        }
        None => drop(table.insert(key, Item::Value(value))),
    }
}

/// The text `after`, with the bytes of `before` wherever both have the same lines: the editor ends
/// every line in its own way. What stands above a table that went, with an empty line between, was
/// not about it and stays.
fn keep_bytes(before: &str, after: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let is_same = |(one, other): &(&&str, &&str)| one.trim_end() == other.trim_end();
    let head = old.iter().zip(&new).take_while(is_same).count();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(is_same).count();
    let went = &old_rest[..old_rest.len() - tail];
    let came = &new_rest[..new_rest.len() - tail];
    let kept = if came.is_empty() { not_about_it(went) } else { &[] };
    let ending = if before.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text: String = old[..head].concat();
    if !came.is_empty() && !text.is_empty() && !text.ends_with('\n') {
        text += ending;
    }
    text += &kept.concat();
    for line in came {
        text += line.trim_end_matches(['\r', '\n']);
        text += ending;
    }
    text + &old_rest[old_rest.len() - tail..].concat()
}

/// Of lines that went, the comments at the beginning up to an empty line.
fn not_about_it<'a>(went: &'a [&'a str]) -> &'a [&'a str] {
    let is_loose = |line: &&&str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let loose = &went[..went.iter().take_while(is_loose).count()];
    let empty = loose.iter().rposition(|line| line.trim().is_empty());
    &loose[..empty.map_or(0, |last| last + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_byte_stays() {
        let check = |before: &str, expected: &str| {
            let changes =
                [("digest", Some("b".into())), ("grants", Some(list(["process"]))), ("path", None)];
            assert_eq!(set(before, "x", &changes).unwrap(), expected, "of {before}");
        };
        let table = "[plugin.x]\ndigest = \"b\"\ngrants = [\"process\"]\n";
        check("", table);
        check("# mine\n", &format!("# mine\n\n{table}"));
        check("[plugin.a]\n[b]\n\n# c", &format!("[plugin.a]\n[b]\n\n# c\n\n{table}"));
        check("[a]\nb = 1 # c", &format!("[a]\nb = 1 # c\n\n{table}"));
        let windows = "[a]\r\nb  =  1\r\n";
        check(windows, &format!("{windows}\r\n{}", table.replace('\n', "\r\n")));
        check(
            "[plugin.x] # mine\ndigest  =  'a' # pinned\nread = [\"docs/**\"]\npath = \"/x\"\n\n# y\n[z]\n",
            "[plugin.x] # mine\ndigest  =  \"b\" # pinned\nread = [\"docs/**\"]\ngrants = [\"process\"]\n\n# y\n[z]\n",
        );
        check(
            "plugin = { y = { enabled = false } }\n",
            "plugin = { y = { enabled = false } , x = { digest = \"b\", grants = [\"process\"] } }\n",
        );
        check(
            "[plugin]\nx.config = { a = 1 }\n",
            "[plugin]\nx.config = { a = 1 }\nx.digest = \"b\"\nx.grants = [\"process\"]\n",
        );
    }

    #[test]
    fn a_table_goes_with_what_is_about_it() {
        let check = |before: &str, expected: &str| {
            assert_eq!(take_out(before, "x").unwrap(), expected, "of {before}");
        };
        check("[plugin.x]\na = 1\n", "");
        check(
            "[a]\n\n# of x\n[plugin.x]\na = 1\n\n# of y\n[plugin.y]\n",
            "[a]\n\n# of y\n[plugin.y]\n",
        );
        check("[a]\n# loose\n\n# of x\n[plugin.x]\n[plugin.x.config]\nb = 1\n", "[a]\n# loose\n\n");
        check("plugin.x.a = 1\r\nplugin.y.a = 1\r\n", "plugin.y.a = 1\r\n");
        check("[a]\n", "[a]\n");
    }
}
