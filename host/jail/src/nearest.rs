//! "Did you mean": the words for a path that leads to nothing.
//!
//! It lists the one directory where the path stopped leading anywhere, and nothing else.

use crate::fault::{Fault, FaultKind};
use crate::path::JailPath;
use crate::resolve::Place;

/// How many names of a directory are compared: beyond, the answer would take longer than a search.
const MAX_COMPARED: usize = 10_000;

/// How many names are offered.
const MAX_OFFERED: usize = 3;

/// How alike two names must be, from 0 to 1.
const MIN_RATIO: f32 = 0.6;

/// The fault for a missing path, with the nearest names.
pub(crate) fn missing(place: &Place, path: &JailPath) -> Fault {
    if let Some(link) = &place.dangling {
        return Fault::new(
            FaultKind::NotFound,
            format!("`{path}` does not exist: `{link}` is a symbolic link to nothing"),
        );
    }
    let wanted = place.missing_parents.first().or(place.name.as_ref());
    let wanted = wanted.map_or("", String::as_str);
    let mut message = format!("`{path}` does not exist");
    if !place.missing_parents.is_empty() {
        message.push_str(&format!(": there is no directory `{wanted}` on the way to it"));
    }
    let names = names_in(place);
    let offered = nearest(wanted, &names);
    if offered.is_empty() {
        return Fault::new(FaultKind::NotFound, message).with_hint("search for the file with glob");
    }
    let offered: Vec<String> = offered.iter().map(|name| format!("`{name}`")).collect();
    message.push_str(&format!("; the nearest names beside it are {}", offered.join(", ")));
    Fault::new(FaultKind::NotFound, message)
        .with_hint("use one of these names, or search for the file with glob")
}

fn names_in(place: &Place) -> Vec<String> {
    let Ok(entries) = place.dir.entries() else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .take(MAX_COMPARED)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn nearest<'a>(wanted: &str, names: &'a [String]) -> Vec<&'a str> {
    let lower = wanted.to_lowercase();
    let mut offered: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| name.to_lowercase() == lower).collect();
    let candidates: Vec<&str> = names.iter().map(String::as_str).collect();
    for name in similar::get_close_matches(wanted, &candidates, MAX_OFFERED, MIN_RATIO) {
        if !offered.contains(&name) {
            offered.push(name);
        }
    }
    offered.truncate(MAX_OFFERED);
    offered
}
