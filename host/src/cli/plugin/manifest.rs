//! `plugin.toml`: what a project says of itself, three words.

use std::path::Path;

use anyhow::{Context, anyhow, ensure};
use harness_jail::read_capped;
use serde::Deserialize;

use super::language::Language;
use crate::plugin::Role;

/// Its name in a project.
pub(super) const FILE: &str = "plugin.toml";

/// Far more than three lines need.
const FILE_BYTES: u64 = 64 << 10;

/// The longest name, in letters.
const NAME_LETTERS: usize = 64;

/// A project's words, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    /// In the configuration, and of the component's file.
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) language: Language,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    role: String,
    language: String,
}

impl Manifest {
    /// Reads the one of a project.
    ///
    /// # Errors
    /// When there is none, or a line of it is not as it should be.
    pub(super) fn read(directory: &Path) -> anyhow::Result<Manifest> {
        let path = directory.join(FILE);
        let shown = path.display();
        let bytes = read_capped(&path, FILE_BYTES).with_context(|| {
            format!(
                "cannot read `{shown}`, which every project has; `harness plugin new` makes one"
            )
        })?;
        let text = String::from_utf8(bytes).map_err(|_| anyhow!("`{shown}` is not UTF-8"))?;
        Manifest::parse(&text).map_err(|cause| anyhow!("`{shown}`: {cause}"))
    }

    fn parse(text: &str) -> Result<Manifest, String> {
        let written: Written =
            toml::from_str(text).map_err(|err| err.to_string().trim_end().to_owned())?;
        let key = |key: &'static str| move |cause: String| format!("`{key}`: {cause}");
        check_name(&written.name).map_err(|err| key("name")(err.to_string()))?;
        Ok(Manifest {
            name: written.name,
            role: role(&written.role).map_err(key("role"))?,
            language: Language::parse(&written.language).map_err(key("language"))?,
        })
    }

    /// The component's file name.
    pub(super) fn component(&self) -> String {
        format!("{}.wasm", self.name)
    }
}

/// Reads a role's name; why it is none.
pub(super) fn role(text: &str) -> Result<Role, String> {
    let roles = [Role::Tool, Role::Guard, Role::Profile];
    let found = roles.into_iter().find(|role| role.to_string() == text);
    found.ok_or_else(|| format!("`{text}` is none of `tool`, `guard`, `profile`"))
}

/// Fails unless it can name a folder, a table of the configuration and a package.
pub(super) fn check_name(name: &str) -> anyhow::Result<()> {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    ensure!(
        (1..=NAME_LETTERS).contains(&name.len())
            && name.chars().all(|letter| is_plain(letter) || letter == '-')
            && name.starts_with(is_plain)
            && name.ends_with(is_plain),
        "a name has 1 to {NAME_LETTERS} of `a-z`, `0-9` and, inside, `-`; `{name}` is none"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        let longest = "a".repeat(NAME_LETTERS);
        for name in ["a", "no-docs", "2nd", longest.as_str()] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        let longer = "a".repeat(NAME_LETTERS + 1);
        for name in ["", "-a", "a-", "A", "a_b", "a/b", "..", "ä", "a b", longer.as_str()] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }

    #[test]
    fn three_words_and_no_other() {
        let check = |text: &str, expected: Result<(Role, Language), &str>| {
            let found = Manifest::parse(text);
            match expected {
                Ok(words) => {
                    assert_eq!(found.map(|found| (found.role, found.language)), Ok(words));
                }
                Err(part) => {
                    let cause = found.unwrap_err();
                    assert!(cause.contains(part), "no `{part}` in {cause}");
                }
            }
        };
        let sound = "name = \"a\"\nrole = \"guard\"\nlanguage = \"c\"\n";
        check(sound, Ok((Role::Guard, Language::C)));
        check(&sound.replace("guard", "hook"), Err("`role`: `hook` is none of"));
        check(&sound.replace("\"c\"", "\"cobol\""), Err("`language`: `cobol` is none of"));
        check(&sound.replace("\"a\"", "\"A\""), Err("`name`: a name has"));
        check(&format!("{sound}grants = []"), Err("unknown field `grants`"));
        check("name = \"a\"", Err("missing field `role`"));
    }
}
