//! The text of git's configuration, taken apart so that keys can be taken out and the rest stays.
//!
//! The syntax is that of git-config(1). What git would refuse is refused here, so that both always
//! read the same keys.

use super::keys::Entry;

/// A file in parts: text that is kept as it is, and entries.
#[derive(Debug)]
pub(super) struct Config<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Debug)]
enum Part<'a> {
    Text(&'a [u8]),
    Entry(Entry<'a>, &'a [u8]),
}

impl<'a> Config<'a> {
    /// None when git would not take it.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Config<'a>> {
        let mut parts = Vec::new();
        let (mut section, mut subsection) = (String::new(), String::new());
        let mut rest = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        if rest.len() < bytes.len() {
            parts.push(Part::Text(&bytes[..bytes.len() - rest.len()]));
        }
        while let Some(first) = rest.first() {
            let taken = match first {
                b' ' | b'\t' | b'\r' | b'\n' => 1,
                b'#' | b';' => line_end(rest),
                b'[' => {
                    let (head, length) = header(rest)?;
                    (section, subsection) = head;
                    length
                }
                b'a'..=b'z' | b'A'..=b'Z' if !section.is_empty() => {
                    let name =
                        rest.iter().take_while(|it| it.is_ascii_alphanumeric() || **it == b'-');
                    let (key, value) = rest.split_at(name.count());
                    let length = key.len() + value_end(value)?;
                    let entry = Entry {
                        section: section.clone(),
                        subsection: subsection.clone(),
                        key: String::from_utf8_lossy(key).to_lowercase(),
                        value: &rest[key.len()..length],
                    };
                    parts.push(Part::Entry(entry, &rest[..length]));
                    rest = &rest[length..];
                    continue;
                }
                _ => return None,
            };
            parts.push(Part::Text(&rest[..taken]));
            rest = &rest[taken..];
        }
        Some(Config { parts })
    }

    pub(super) fn programs(&self) -> Vec<&Entry<'a>> {
        let entries = self.parts.iter().filter_map(|part| match part {
            Part::Entry(entry, _) if entry.runs_programs() => Some(entry),
            Part::Entry(..) | Part::Text(_) => None,
        });
        entries.collect()
    }

    /// This one, with the programs of another in place of its own.
    pub(super) fn with_programs_of(&self, other: &Config) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => bytes.extend_from_slice(text),
                Part::Entry(entry, _) if entry.runs_programs() => {}
                Part::Entry(_, text) => bytes.extend_from_slice(text),
            }
        }
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        for entry in other.programs() {
            let subsection = entry.subsection.replace('\\', "\\\\").replace('"', "\\\"");
            let head = match subsection.as_str() {
                "" => format!("[{}]\n\t{}", entry.section, entry.key),
                subsection => format!("[{} \"{subsection}\"]\n\t{}", entry.section, entry.key),
            };
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(entry.value);
            if !bytes.ends_with(b"\n") {
                bytes.push(b'\n');
            }
        }
        bytes
    }
}

/// Behind the end of the line.
fn line_end(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1)
}

/// `[section]`, `[section "subsection"]` or `[section.subsection]`, and its length.
fn header(bytes: &[u8]) -> Option<((String, String), usize)> {
    let name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'-' | b'.');
    let length = 1 + bytes[1..].iter().take_while(name).count();
    let section = String::from_utf8_lossy(&bytes[1..length]).to_lowercase();
    let gap = bytes[length..].iter().take_while(|it| matches!(it, b' ' | b'\t')).count();
    let mut at = length + gap;
    if bytes.get(at) == Some(&b']') && !section.is_empty() {
        let (section, subsection) = section.split_once('.').unwrap_or((&section, ""));
        return Some(((section.to_owned(), subsection.to_owned()), at + 1));
    }
    if bytes.get(at) != Some(&b'"') || section.is_empty() {
        return None;
    }
    let mut subsection = Vec::new();
    at += 1;
    loop {
        match *bytes.get(at)? {
            b'"' => break,
            b'\n' => return None,
            b'\\' => {
                at += 1;
                subsection.push(*bytes.get(at)?);
            }
            byte => subsection.push(byte),
        }
        at += 1;
    }
    let subsection = String::from_utf8_lossy(&subsection).into_owned();
    (bytes.get(at + 1) == Some(&b']')).then_some(((section, subsection), at + 2))
}

/// Behind a value that begins at the sign, or at the end of the line: quotes may hold anything but a
/// line's end, and a backslash before that continues the value.
fn value_end(bytes: &[u8]) -> Option<usize> {
    let mut at = bytes.iter().take_while(|it| matches!(it, b' ' | b'\t' | b'\r')).count();
    match bytes.get(at) {
        None => return Some(at),
        Some(b'\n') => return Some(at + 1),
        Some(b'#' | b';') => return Some(at + line_end(&bytes[at..])),
        Some(b'=') => at += 1,
        Some(_) => return None,
    }
    let mut quoted = false;
    loop {
        match bytes.get(at) {
            None => return (!quoted).then_some(at),
            Some(b'\n') => return (!quoted).then_some(at + 1),
            Some(b'"') => quoted = !quoted,
            Some(b'#' | b';') if !quoted => return Some(at + line_end(&bytes[at..])),
            Some(b'\\') => at += if bytes.get(at + 1..at + 3) == Some(b"\r\n") { 2 } else { 1 },
            Some(_) => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The programs of a file, each as `name` and value.
    fn programs(text: &str) -> Option<Vec<String>> {
        let config = Config::parse(text.as_bytes())?;
        let shown = |entry: &&Entry| {
            format!("{}{}", entry.name(), String::from_utf8_lossy(entry.value).trim_end())
        };
        Some(config.programs().iter().map(shown).collect())
    }

    #[test]
    fn programs_are_found_however_they_are_written() {
        for (text, expected) in [
            ("", &[] as &[&str]),
            ("[core]\n\tbare = false\n[remote \"o\"]\n\turl = x\n", &[]),
            ("[core]\n\thooksPath = /x\n", &["core.hookspath = /x"]),
            ("[CORE] HooksPath=/x", &["core.hookspath=/x"]),
            ("\u{FEFF}[core]fsmonitor", &["core.fsmonitor"]),
            ("[core]\r\n\tpager = a \\\r\n b\r\n", &["core.pager = a \\\r\n b"]),
            ("[core]\n\tpager = a \\\n hooksPath = b\n", &["core.pager = a \\\n hooksPath = b"]),
            ("[alias] x = \"!a # b\" # c\n", &["alias.x = \"!a # b\" # c"]),
            ("# [core]\n; hooksPath = x\n", &[]),
            ("[filter \"a ] \\\" b\"]\nsmudge = x", &["filter.a ] \" b.smudge = x"]),
            ("[filter.lfs] clean = x\n", &["filter.lfs.clean = x"]),
            ("[core] editor # none\n bare = true\n", &["core.editor # none"]),
            ("[user] name = x # [core] editor = y\n", &[]),
            ("[core] bare = \\\\\n editor = y\n", &["core.editor = y"]),
        ] {
            assert_eq!(programs(text).as_deref(), Some(&*own(expected)), "{text:?}");
        }
        for text in
            ["[core", "x = y", "[core] 1 = x", "[core] a b", "[a \"b]\n", "[core] a = \"b\n"]
        {
            assert_eq!(programs(text), None, "{text:?}");
        }
    }

    fn own(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_rest_stays() {
        let old = "[core]\n\teditor = ed\n[filter \"a\\\"b\"]\n\tclean = c\n";
        let new = "# mine\n[core]\n\tbare = true\n\thooksPath = /x\n[user] name = n";
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let (old, new) = (Config::parse(old).expect("sound"), Config::parse(new).expect("sound"));
        let bytes = new.with_programs_of(&old);
        let text = String::from_utf8_lossy(&bytes);
        let expected = "# mine\n[core]\n\tbare = true\n\t[user] name = n\n[core]\n\teditor = ed\n\
                        [filter \"a\\\"b\"]\n\tclean = c\n";
        assert_eq!(text, expected);
        assert_eq!(Config::parse(&bytes).expect("sound").programs(), old.programs());
    }
}
