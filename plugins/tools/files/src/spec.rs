//! What the model is told about the three tools.
//!
//! Every word here is sent with every request, so each must earn its place.

use harness_sdk::{Effects, Spec, spec};

const READ: &str = r#"{"type":"object","properties":{
"path":{"type":"string","description":"File or directory, relative to the workspace"},
"offset":{"type":"integer","minimum":1,"description":"First line to show, from 1"},
"limit":{"type":"integer","minimum":1,"description":"Lines to show, default 2000"},
"byte":{"type":"integer","minimum":0,"description":"Show line `offset` alone, from this byte of it; only for lines too long to show"}
},"required":["path"],"additionalProperties":false}"#;

const WRITE: &str = r#"{"type":"object","properties":{
"path":{"type":"string","description":"File, relative to the workspace"},
"content":{"type":"string","description":"The whole new content"}
},"required":["path","content"],"additionalProperties":false}"#;

const EDIT: &str = r#"{"type":"object","properties":{
"path":{"type":"string","description":"File, relative to the workspace"},
"old":{"type":"string","description":"Exact text to replace, without line numbers; must occur once"},
"new":{"type":"string","description":"Text to put there, taken literally"},
"all":{"type":"boolean","description":"Replace every occurrence"}
},"required":["path","old","new"],"additionalProperties":false}"#;

/// The specs of `read`, `write` and `edit`.
pub(crate) fn all() -> Vec<Spec> {
    vec![
        of_path(
            "read",
            "Read a text file as lines `number<tab>text`, a notebook as cells, an image, or list a \
             directory. Long files come in pages; the last line says how to go on.",
            READ,
            Effects::READ,
        ),
        of_path(
            "write",
            "Create a file, or replace all of one whose every line you have read. Missing \
             directories are made. To change a part of a file use `edit`.",
            WRITE,
            Effects::READ | Effects::WRITE,
        ),
        of_path(
            "edit",
            "Replace a piece of text in a file you have read. Matches literally, line endings \
             aside; answers with the changed lines.",
            EDIT,
            Effects::READ | Effects::WRITE,
        ),
    ]
}

/// A tool on the file or directory that `path` names.
fn of_path(name: &str, description: &str, schema: &str, effects: Effects) -> Spec {
    let path_arguments = vec!["path".to_owned()];
    Spec { path_arguments, ..spec(name, description, schema, effects) }
}
