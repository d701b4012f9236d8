//! The list, and what a call wishes of it. Pure: keeps nothing and asks nobody.

use harness_sdk::{Fault, fault, quoted};
use serde_json::Value;

/// The most items a list has.
const MOST: usize = 100;

/// What is to do, in order.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct List(Vec<Item>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    text: String,
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Pending,
    Doing,
    Done,
}

/// What a call wishes: a new list, more at the end of it, both, or only to see it.
#[derive(Debug)]
pub(crate) struct Wish {
    set: Option<List>,
    add: List,
}

impl Wish {
    /// Reads a call's arguments.
    ///
    /// # Errors
    ///
    /// `invalid-input` when they do not fit the schema, or more than one item is `doing`.
    pub(crate) fn read(input: &str) -> Result<Wish, Fault> {
        let input: Value = serde_json::from_str(input)
            .map_err(|err| fault::invalid(format!("the arguments are not JSON: {err}")))?;
        let set = input.get("set").map(List::of).transpose()?;
        let added = input.get("add").map(texts).transpose()?.unwrap_or_default();
        let add = added.into_iter().map(|text| Item { text, status: Status::Pending }).collect();
        Ok(Wish { set, add: List(add) })
    }

    /// True when it changes nothing.
    pub(crate) fn is_look(&self) -> bool {
        self.set.is_none() && self.add.0.is_empty()
    }

    /// The list as it is wished, from the bytes that are kept.
    ///
    /// # Errors
    ///
    /// `too-large` for a list that would be too long, `failed` when what is kept is no list.
    pub(crate) fn applied(&self, kept: Option<&[u8]>) -> Result<List, Fault> {
        let mut list = match (&self.set, kept) {
            (Some(set), _) => set.clone(),
            (None, Some(kept)) => List::from_json(kept)?,
            (None, None) => List::default(),
        };
        list.0.extend(self.add.0.iter().cloned());
        if list.0.len() > MOST {
            let message =
                format!("the list would have {} items, expected at most {MOST}", list.0.len());
            return Err(fault::too_large(message).hint("`set` it without what is done"));
        }
        Ok(list)
    }
}

impl List {
    fn of(value: &Value) -> Result<List, Fault> {
        let wrong = || fault::invalid("expected a list of items, each with `text` and `status`");
        let item = |item: &Value| {
            let status = Status::named(item.get("status")?.as_str()?)?;
            Some(Item { text: line(item.get("text")?.as_str()?), status })
        };
        let items = value.as_array().ok_or_else(wrong)?.iter().map(item);
        let items = items.collect::<Option<Vec<Item>>>().ok_or_else(wrong)?;
        let doing = items.iter().filter(|item| item.status == Status::Doing).count();
        if doing > 1 {
            let message = format!("{doing} items are `doing`, expected at most one");
            return Err(fault::invalid(message));
        }
        Ok(List(items))
    }

    fn from_json(kept: &[u8]) -> Result<List, Fault> {
        let items = serde_json::from_slice(kept).ok().as_ref().and_then(|it: &Value| {
            let items = it.get("items")?;
            List::of(items).ok()
        });
        items.ok_or_else(|| {
            fault::failed("the list that was kept cannot be read").hint("`set` a new one")
        })
    }

    /// As it is kept, and as clients get it.
    pub(crate) fn to_json(&self) -> String {
        let item = |Item { text, status }: &Item| {
            format!(r#"{{"text":{},"status":"{}"}}"#, quoted(text), status.name())
        };
        let items: Vec<String> = self.0.iter().map(item).collect();
        format!(r#"{{"items":[{}]}}"#, items.join(","))
    }

    /// As the model reads it.
    pub(crate) fn to_text(&self) -> String {
        if self.0.is_empty() {
            return "the list is empty".to_owned();
        }
        let line = |Item { text, status }: &Item| format!("[{}] {text}\n", status.mark());
        self.0.iter().map(line).collect::<String>() + &self.summary()
    }

    /// How far it is, in one line.
    pub(crate) fn summary(&self) -> String {
        let done = self.0.iter().filter(|item| item.status == Status::Done).count();
        format!("{done} of {} done", self.0.len())
    }
}

impl Status {
    fn named(name: &str) -> Option<Status> {
        [Status::Pending, Status::Doing, Status::Done].into_iter().find(|it| it.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Doing => "doing",
            Status::Done => "done",
        }
    }

    fn mark(self) -> char {
        match self {
            Status::Pending => ' ',
            Status::Doing => '>',
            Status::Done => 'x',
        }
    }
}

fn texts(value: &Value) -> Result<Vec<String>, Fault> {
    let members = value.as_array().map(|members| members.iter().map(|it| Some(line(it.as_str()?))));
    members
        .and_then(Iterator::collect)
        .ok_or_else(|| fault::invalid("`add` must be a list of texts"))
}

/// A text as one line, so that it stands in the list as one item.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a call makes of what is kept: the text, or the fault's message.
    fn check(kept: Option<&str>, input: &str, expected: Result<&str, &str>) {
        let list = Wish::read(input).and_then(|wish| wish.applied(kept.map(str::as_bytes)));
        let got = list.map(|list| list.to_text()).map_err(|fault| fault.message);
        assert_eq!(got, expected.map(str::to_owned).map_err(str::to_owned), "{kept:?} {input}");
    }

    #[test]
    fn wishes() {
        let kept = Some(r#"{"items":[{"text":"read","status":"done"}]}"#);
        check(None, "{}", Ok("the list is empty"));
        check(kept, "{}", Ok("[x] read\n1 of 1 done"));
        check(
            kept,
            r#"{"add":["write it\n  down"]}"#,
            Ok("[x] read\n[ ] write it down\n1 of 2 done"),
        );
        let set = r#"{"set":[{"text":"a","status":"doing"},{"text":"b","status":"pending"}]}"#;
        check(kept, set, Ok("[>] a\n[ ] b\n0 of 2 done"));
        check(kept, r#"{"set":[]}"#, Ok("the list is empty"));
        check(kept, r#"{"set":[],"add":["b"]}"#, Ok("[ ] b\n0 of 1 done"));
        let twice = set.replace("pending", "doing");
        check(None, &twice, Err("2 items are `doing`, expected at most one"));
        check(Some("[]"), "{}", Err("the list that was kept cannot be read"));
        check(Some("[]"), set, Ok("[>] a\n[ ] b\n0 of 2 done"));
        check(
            None,
            r#"{"set":[{"text":"a"}]}"#,
            Err("expected a list of items, each with `text` and `status`"),
        );
        check(None, r#"{"add":[1]}"#, Err("`add` must be a list of texts"));
        let long = format!(r#"{{"add":[{}]}}"#, vec!["\"a\""; MOST].join(","));
        check(kept, &long, Err("the list would have 101 items, expected at most 100"));
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let list = Wish::read(r#"{"set":[{"text":"\"a\" \\","status":"doing"}],"add":["é"]}"#);
        let list = list.and_then(|wish| wish.applied(None)).unwrap();
        assert_eq!(List::from_json(list.to_json().as_bytes()), Ok(list));
    }
}
