//! A page of a list, as OpenAI's lists look.

use serde::Serialize;

/// `object: list`.
#[derive(Clone, Debug, Serialize)]
pub struct List<T> {
    object: &'static str,
    /// In the list's order.
    pub data: Vec<T>,
    /// Whether there are more behind the last; ask with `after` and its id.
    pub has_more: bool,
}

impl<T> List<T> {
    /// The first `limit` of `found`; more than those means that there are more.
    pub fn cut(mut found: Vec<T>, limit: usize) -> List<T> {
        let has_more = found.len() > limit;
        found.truncate(limit);
        List { object: "list", data: found, has_more }
    }
}
