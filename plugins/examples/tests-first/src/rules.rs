//! The guard's table in the configuration: what is code, and what is a test command.

use serde_json::Value;

/// What is code when the table does not say.
const PATHS: [&str; 1] = ["src/"];

/// What tests code when the table does not say.
const TEST: [&str; 3] = ["cargo test", "pytest", "npm test"];

/// What the table says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    /// Folders and files from the root, without a `/` at the end; the empty text is the root.
    pub(crate) paths: Vec<String>,
    /// Beginnings of commands; at least one.
    pub(crate) test: Vec<String>,
}

impl Rules {
    /// Reads the table.
    ///
    /// # Errors
    ///
    /// For a model, which cannot mend it: what is wrong, and that a person must.
    pub(crate) fn read(config: &str) -> Result<Rules, String> {
        let wrong = |what: &str| {
            format!(
                "the guard `tests-first` can't read its configuration: {what}. A person must mend it; \
                 answer with what you have"
            )
        };
        let config: Value =
            serde_json::from_str(config).map_err(|_| wrong("the table is not JSON"))?;
        let texts = |name: &str, otherwise: &[&str]| match config.get(name) {
            None => Ok(otherwise.iter().map(|text| (*text).to_owned()).collect()),
            Some(value) => texts(value).ok_or_else(|| {
                wrong(&format!("`{name}` must be a list of texts that are not empty"))
            }),
        };
        let paths: Vec<String> = texts("paths", &PATHS)?;
        let paths = paths.iter().map(|path| plain(path)).collect();
        Ok(Rules { paths, test: texts("test", &TEST)? })
    }

    /// Whether a path of the workspace is code.
    pub(crate) fn is_about(&self, path: &str) -> bool {
        self.paths.iter().any(|code| {
            let rest = path.strip_prefix(code.as_str());
            rest.is_some_and(|rest| code.is_empty() || rest.is_empty() || rest.starts_with('/'))
        })
    }
}

/// A path as the host writes one: `./src/` is `src`, and `.` the root.
fn plain(path: &str) -> String {
    let names = path.split('/').filter(|name| !name.is_empty() && *name != ".");
    names.collect::<Vec<_>>().join("/")
}

/// At least one text, and none of them empty.
fn texts(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| {
        let text = value.as_str()?.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then_some(text)
    };
    let texts: Vec<String> = value.as_array()?.iter().map(text).collect::<Option<_>>()?;
    (!texts.is_empty()).then_some(texts)
}
