//! The description and the router name the same routes, and each of them is answered.

use std::collections::BTreeSet;

use serde_json::Value;

use super::stage::{Stage, bare};

const DOCUMENT: &str = include_str!("../../../../docs/openapi.json");

/// As text, since a router tells nobody what it holds.
const ROUTER: &str = include_str!("../../server.rs");

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

fn document() -> Value {
    serde_json::from_str(DOCUMENT).expect("JSON")
}

/// Every path of the description, with its method.
fn described() -> BTreeSet<(String, String)> {
    let mut routes = BTreeSet::new();
    for (path, item) in document()["paths"].as_object().expect("paths") {
        let keys = item.as_object().expect("an object").keys();
        for method in keys.filter(|key| *key != "parameters") {
            routes.insert((path.clone(), method.clone()));
        }
    }
    routes
}

/// Every `.route("…", …)` of the router, with its method.
fn routed() -> BTreeSet<(String, String)> {
    let mut routes = BTreeSet::new();
    let mut lines = 0;
    for line in ROUTER.lines() {
        let Some(rest) = line.trim_start().strip_prefix(".route(\"") else { continue };
        let (path, handlers) = rest.split_once('"').expect("a path in quotes");
        let path = path.replace("{*", "{");
        for method in METHODS.into_iter().filter(|it| handlers.contains(&format!("{it}("))) {
            routes.insert((path.clone(), method.to_owned()));
        }
        lines += 1;
    }
    // One that stands on several lines would not be seen above.
    assert_eq!(lines, ROUTER.matches(".route(").count());
    routes
}

#[test]
fn the_description_names_every_route_and_no_other() {
    assert_eq!(described(), routed());
    assert_eq!(document()["info"]["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn every_route_of_the_description_is_answered() {
    let stage = Stage::open().await;
    for (path, method) in described() {
        let request = bare(&method.to_uppercase(), &path.replace("{id}", "nobody"));
        let answer = stage.send(request).await;
        let told: Value = serde_json::from_str(&answer.body).expect("JSON");
        assert_ne!(told["error"]["code"], "unknown_route", "{method} {path}");
        assert_ne!(answer.status, 405, "{method} {path}");
    }
}

#[tokio::test]
async fn the_description_is_served_as_it_is() {
    let stage = Stage::open().await;
    let answer = stage.send(bare("GET", "/v1/openapi.json")).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.body, DOCUMENT);
}
