//! What stands behind the `?`: a few known names, each once.

use super::refuse::shown;
use crate::error::Refusal;
use crate::ledger::Page;
use crate::nearest::nearest;

/// Entries of one page of a list, unless the client says otherwise.
const PAGE: usize = 20;

/// Entries of one page, at most.
const MAX_PAGE: usize = 100;

/// A request's query, read.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(&'static str, String)>);

impl Query {
    /// Reads a query that may hold `known` names.
    pub(super) fn read(text: Option<&str>, known: &[&'static str]) -> Result<Query, Refusal> {
        let mut query = Query::default();
        for pair in text.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let Some(known_name) = known.iter().find(|known| **known == name) else {
                return Err(unknown(name, known));
            };
            if query.get(known_name).is_some() {
                let message = format!("`{known_name}` must stand in the query once, got it again");
                return Err(Refusal::invalid(*known_name, message).with_code("invalid_value"));
            }
            query.0.push((known_name, value.to_owned()));
        }
        Ok(query)
    }

    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// A whole number.
    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let read = |value: &str| {
            value.parse().map_err(|_| {
                let message = format!("`{name}` must be a whole number, got `{}`", shown(value));
                Refusal::invalid(name, message).with_code("invalid_value")
            })
        };
        self.get(name).map(read).transpose()
    }

    /// `limit` and `after` of a list of ids that begin with `prefix`. One entry more is asked for than is shown: it tells whether
    /// there are more.
    pub(super) fn page(&self, prefix: &str) -> Result<Page, Refusal> {
        let limit = self.number("limit")?.unwrap_or(PAGE as u64);
        if !(1..=MAX_PAGE as u64).contains(&limit) {
            let message = format!("`limit` must be from 1 to {MAX_PAGE}, got `{limit}`");
            return Err(Refusal::invalid("limit", message).with_code("invalid_value"));
        }
        let after = self.get("after").map(str::to_owned);
        if let Some(after) = after.as_deref().filter(|after| !after.starts_with(prefix)) {
            let message = format!("`after` must be an id, `{prefix}…`, got `{}`", shown(after));
            return Err(Refusal::invalid("after", message).with_code("invalid_value"));
        }
        Ok(Page { after, limit: limit as usize + 1 })
    }
}

fn unknown(name: &str, known: &[&str]) -> Refusal {
    let hint = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "nothing is known here".to_owned(),
        None => format!("known are `{}`", known.join("`, `")),
    };
    let message = format!("the query has no name `{}`: {hint}", shown(name));
    Refusal::invalid(shown(name), message).with_code("unknown_parameter")
}
