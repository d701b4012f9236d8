//! The body of a request for a session: JSON in, what was asked for or a [`Refusal`] out.

use serde_json::Value;

use super::chat::is_workspace_path;
use super::field::{Field, shown};
use crate::error::Refusal;
use crate::nearest::nearest;

/// Keys of the body.
const KEYS: [&str; 1] = ["workspace"];

/// What a client asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewSession {
    /// An absolute directory; a fresh one when None.
    pub workspace: Option<String>,
}

impl NewSession {
    /// Reads a request's body; an empty one asks for nothing in particular.
    ///
    /// # Errors
    ///
    /// Not JSON, not an object, an unknown key, or a workspace that is no absolute path.
    pub fn from_json(bytes: &[u8]) -> Result<NewSession, Refusal> {
        let mut asked = NewSession::default();
        if bytes.trim_ascii().is_empty() {
            return Ok(asked);
        }
        let value: Value = serde_json::from_slice(bytes).map_err(|err| {
            Refusal::invalid("body", format!("the body must be JSON, got {err}"))
                .with_code("invalid_json")
        })?;
        for (key, value) in Field::new("body", &value).object()? {
            let field = Field::new(key.as_str(), value);
            match key.as_str() {
                "workspace" if value.is_null() => {}
                "workspace" if !is_workspace_path(field.text()?) => {
                    return Err(field.wrong("an absolute path"));
                }
                "workspace" => asked.workspace = Some(field.text()?.to_owned()),
                _ => return Err(unknown(key)),
            }
        }
        Ok(asked)
    }
}

fn unknown(key: &str) -> Refusal {
    let hint = match nearest(key, KEYS.into_iter()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known are `{}`", KEYS.join("`, `")),
    };
    let message = format!("a session has no key {}: {hint}", shown(key));
    Refusal::invalid(key, message).with_code("unknown_parameter")
}

#[cfg(test)]
mod tests {
    use super::NewSession;

    #[test]
    fn bodies() {
        for (body, expected) in [
            ("", Ok(None)),
            ("{}", Ok(None)),
            (r#"{"workspace": null}"#, Ok(None)),
            (r#"{"workspace": "/a"}"#, Ok(Some("/a"))),
            (r#"{"workspace": "a"}"#, Err("must be an absolute path")),
            (r#"{"workspace": 1}"#, Err("must be a text")),
            (r#"{"workspaces": "/a"}"#, Err("did you mean `workspace`?")),
            ("[]", Err("must be an object")),
            ("{", Err("must be JSON")),
        ] {
            match (NewSession::from_json(body.as_bytes()), expected) {
                (Ok(asked), Ok(workspace)) => assert_eq!(asked.workspace.as_deref(), workspace),
                (Err(refusal), Err(words)) => {
                    assert!(refusal.message.contains(words), "{}", refusal.message);
                }
                (got, _) => panic!("{body}: {got:?}"),
            }
        }
    }
}
