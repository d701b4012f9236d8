//! What the model is told about the two tools.
//!
//! Every word here is sent with every request, so each must earn its place.

use harness_sdk::{Effects, Spec, spec};

const GLOB: &str = r#"{"type":"object","properties":{
"pattern":{"type":"string","description":"Glob over paths, such as src/**/*.rs"},
"path":{"type":"string","description":"Directory to search, default all of the workspace"},
"ignored":{"type":"boolean","description":"Also entries that ignore files exclude"},
"offset":{"type":"integer","minimum":0,"description":"Entries to skip"}
},"required":["pattern"],"additionalProperties":false}"#;

const GREP: &str = r#"{"type":"object","properties":{
"pattern":{"type":"string","description":"Regular expression, Rust syntax"},
"path":{"type":"string","description":"File or directory to search, default all of the workspace"},
"files":{"type":"string","description":"Glob that file paths must match"},
"literal":{"type":"boolean","description":"Take the pattern as plain text"},
"ignore_case":{"type":"boolean","description":"Upper and lower case are the same"},
"multiline":{"type":"boolean","description":"A match may span lines"},
"context":{"type":"integer","minimum":0,"maximum":20,"description":"Lines to show around each match"},
"mode":{"type":"string","enum":["lines","files","count"],"description":"Show lines (default), file names, or matches per file"},
"ignored":{"type":"boolean","description":"Also files that ignore files exclude"},
"offset":{"type":"integer","minimum":0,"description":"Matches (or files) to skip"}
},"required":["pattern"],"additionalProperties":false}"#;

/// The specs of `glob` and `grep`.
pub(crate) fn all() -> Vec<Spec> {
    vec![
        search(
            "glob",
            "Find files and directories by name, newest first, 100 at a time. Hidden ones are \
             included, ignored ones are counted.",
            GLOB,
        ),
        search(
            "grep",
            "Search the contents of files. Shows `line:text` for matches and `line-text` for \
             context, 200 lines at a time.",
            GREP,
        ),
    ]
}

/// A search may take a minute.
fn search(name: &str, description: &str, schema: &str) -> Spec {
    Spec {
        timeout_ms: 60_000,
        path_arguments: vec!["path".to_owned()],
        ..spec(name, description, schema, Effects::READ)
    }
}
