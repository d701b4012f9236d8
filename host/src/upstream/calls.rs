//! Pieces of tool calls to whole calls.
//!
//! Providers leave out the index, use one index for all calls, repeat ids, names or whole
//! arguments, or glue several calls together. The rules here keep calls apart without guessing at
//! their contents: arguments are never repaired, only split where they already are several whole
//! objects.

use std::collections::HashSet;

use serde::de::IgnoredAny;

use super::chunk::{self, Piece};
use super::encode::is_object;
use crate::message::Call;

/// Longest id that OpenAI's wire takes back, in bytes.
const MAX_ID: usize = 64;

/// A call that is still being sent.
#[derive(Debug, Default)]
struct Draft {
    index: Option<u64>,
    id: Option<String>,
    name: Option<String>,
    arguments: String,
}

/// All calls of one reply so far.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    drafts: Vec<Draft>,
    /// The one that the last piece went to.
    open: usize,
}

impl Drafts {
    pub(super) fn is_empty(&self) -> bool {
        self.drafts.is_empty()
    }

    /// Calls begun so far.
    pub(super) fn len(&self) -> usize {
        self.drafts.len()
    }

    /// Adds a piece and returns how many bytes it brought.
    pub(super) fn add(&mut self, piece: Piece) -> usize {
        let function = piece.function.unwrap_or_default();
        let index = chunk::count(&piece.index);
        let id = chunk::word(piece.id);
        let name = chunk::word(function.name);
        let arguments = chunk::arguments(function.arguments);
        // The overhead counts too: endless empty calls must meet the limit on a reply's size.
        let bytes = 64 + arguments.len() + name.as_deref().map_or(0, str::len);

        match self.place(index, id.as_deref(), name.as_deref(), &arguments) {
            Some(at) => self.open = at,
            None if id.is_none() && name.is_none() && arguments.trim().is_empty() => return bytes,
            None => {
                self.drafts.push(Draft::default());
                self.open = self.drafts.len() - 1;
            }
        }
        let draft = &mut self.drafts[self.open];
        // Set once: some providers send all three again in every piece.
        draft.index = draft.index.or(index);
        if draft.id.is_none() {
            draft.id = id;
        }
        if draft.name.is_none() {
            draft.name = name;
        }
        if !draft.has_already(&arguments) {
            draft.arguments.push_str(&arguments);
        }
        bytes
    }

    /// The draft that a piece belongs to; none for a new one.
    fn place(
        &self,
        index: Option<u64>,
        id: Option<&str>,
        name: Option<&str>,
        arguments: &str,
    ) -> Option<usize> {
        let last = self.drafts.len().checked_sub(1)?;
        let found = match (index, id) {
            (Some(_), _) => {
                self.drafts.iter().rposition(|draft| draft.index == index).or_else(|| {
                    // The call began without an index.
                    let open = &self.drafts[self.open];
                    (open.index.is_none()
                        && name.is_none()
                        && (id.is_none() || open.id.as_deref() == id))
                        .then_some(self.open)
                })
            }
            (None, Some(id)) => {
                self.drafts.iter().rposition(|draft| draft.id.as_deref() == Some(id))
            }
            (None, None) if name.is_none() => Some(self.open),
            (None, None) => Some(last),
        };
        let draft = &self.drafts[found.unwrap_or(self.open)];
        let has_new_id = id.is_some() && draft.id.is_some() && draft.id.as_deref() != id;
        let is_whole = || draft.arguments.trim_end().ends_with('}') && is_object(&draft.arguments);
        let Some(name) = name else {
            // Without a name it hardly is the start of a call, unless the one before it is whole.
            return match has_new_id {
                true => (!is_whole()).then_some(found.unwrap_or(self.open)),
                false => found,
            };
        };
        let has_new_name = draft.name.as_deref().is_some_and(|known| known != name);
        let is_new = has_new_id
            || (has_new_name && (is_whole() || is_object(arguments)))
            || (index.is_none()
                && id.is_none()
                && (has_new_name || (is_whole() && !draft.has_already(arguments))));
        if is_new { None } else { found }
    }

    /// The calls in the order they began, each with an id of its own that is not in `taken`.
    /// `ordinal` makes the ids we invent differ from those of other replies.
    pub(super) fn into_calls(self, taken: &HashSet<String>, ordinal: usize) -> Vec<Call> {
        let mut calls: Vec<Call> = Vec::with_capacity(self.drafts.len());
        let mut ids = Ids { taken, given: HashSet::new(), ordinal, invented: 0 };
        for draft in self.drafts {
            let name = draft.name.unwrap_or_default();
            let tool = name.split("<|").next().unwrap_or_default().trim();
            let mut id = draft.id;
            for arguments in split(&draft.arguments) {
                calls.push(Call {
                    id: ids.unique(id.take()),
                    tool: tool.to_owned(),
                    arguments: arguments.to_owned(),
                });
            }
        }
        calls
    }
}

impl Draft {
    /// True when `more` only says again what is there whole.
    fn has_already(&self, more: &str) -> bool {
        // The cheap look first: this runs for every piece.
        let looks_whole =
            more.trim_start().starts_with('{') && self.arguments.trim_end().ends_with('}');
        if !looks_whole {
            return more.is_empty();
        }
        if self.arguments.trim() == more.trim() {
            return is_object(more);
        }
        let parse = serde_json::from_str::<serde_json::Value>;
        match (parse(&self.arguments), parse(more)) {
            (Ok(known), Ok(again)) => known == again,
            _ => false,
        }
    }
}

/// The arguments of one call, or of several that share an index and an id.
fn split(arguments: &str) -> Vec<&str> {
    let arguments = arguments.trim();
    if arguments.is_empty() {
        return vec!["{}"];
    }
    let mut parts = Vec::new();
    let mut start = 0;
    let mut objects = serde_json::Deserializer::from_str(arguments).into_iter::<IgnoredAny>();
    while let Some(object) = objects.next() {
        let end = objects.byte_offset();
        if object.is_err() {
            return vec![arguments];
        }
        let part = arguments[start..end].trim();
        if !part.starts_with('{') {
            return vec![arguments];
        }
        parts.push(part);
        start = end;
    }
    parts
}

struct Ids<'a> {
    taken: &'a HashSet<String>,
    given: HashSet<String>,
    ordinal: usize,
    invented: usize,
}

impl Ids<'_> {
    fn unique(&mut self, id: Option<String>) -> String {
        let mut wanted = match id {
            Some(id) => id,
            None => {
                self.invented += 1;
                format!("call_{}_{}", self.ordinal, self.invented)
            }
        };
        cut(&mut wanted, MAX_ID);
        let mut unique = wanted.clone();
        let mut again = 1;
        while self.taken.contains(&unique) || self.given.contains(&unique) {
            again += 1;
            let suffix = format!("_{again}");
            unique.clone_from(&wanted);
            cut(&mut unique, MAX_ID - suffix.len());
            unique.push_str(&suffix);
        }
        self.given.insert(unique.clone());
        unique
    }
}

/// Cuts `text` to at most `max_bytes`, between characters.
pub(super) fn cut(text: &mut String, max_bytes: usize) {
    text.truncate(text.floor_char_boundary(max_bytes));
}
