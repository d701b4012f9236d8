//! What models send for arguments: each gets an outcome with one next step, and the loop goes on.
//!
//! Nothing is run that did not parse, nothing is mended that loses a word, and what was mended is
//! named in the event. No answer repeats a megabyte of rubbish.

use harness::event::{CallEnding, Event};
use serde_json::{Value, json};

use crate::rig::Rig;

/// What becomes of a call.
enum Becomes {
    /// Not run; the outcome says this.
    Refused(&'static str),
    /// Run with this input; these were mended.
    Run(Value, &'static [&'static str]),
}
use Becomes::{Refused, Run};

/// What is the same for every tool.
fn for_any(tool: &'static str) -> Vec<(&'static str, String, Becomes)> {
    let row = |arguments: &str, becomes| (tool, arguments.to_owned(), becomes);
    vec![
        row("12345", Refused("expected a JSON object, got number")),
        row(r#"["x"]"#, Refused("expected a JSON object, got array")),
        row("null", Refused("expected a JSON object, got null")),
        row("true", Refused("expected a JSON object, got boolean")),
        row(r#""""#, Refused("expected a JSON object, got string")),
        row(r#""ls""#, Refused("expected a JSON object, got string")),
        row(r#"{"path": "a.tx"#, Refused("not valid JSON")),
        row(r#"{"path": 'a'}"#, Refused("not valid JSON")),
        row("<path>a.txt</path>", Refused("not valid JSON")),
    ]
}

fn table() -> Vec<(&'static str, String, Becomes)> {
    let row = |tool, arguments: &str, becomes| (tool, arguments.to_owned(), becomes);
    let mut rows = for_any("bash");
    rows.extend(for_any("edit"));
    // Of `bash` no argument must be there; it says itself what is missing.
    for arguments in ["", "{}"] {
        rows.push(row("bash", arguments, Run(json!({}), &[])));
        rows.push(row("edit", arguments, Refused("is a required property")));
    }
    let edit = json!({"path": "a.txt", "old": "one", "new": "two"});
    rows.extend([
        row("bash", &"x".repeat(1 << 20), Refused("not valid JSON")),
        row("edit", &format!(r#"{{"x":"{}"}}"#, "y".repeat(1 << 20)), Refused("over the limit of")),
        row("bash", r#"{"command":{"command":"true"}}"#, Refused("`command`")),
        row("bash", r#"{"command":["true"]}"#, Refused("`command`")),
        row("bash", r#"{"command":"true","command":"false"}"#, Refused("`command` occurs twice")),
        row("bash", r#"{"command":"true","timeout":"soon"}"#, Refused("`timeout`")),
        row("bash", r#"{"command":"true","timeout":5.5}"#, Refused("`timeout`")),
        row("bash", r#"{"command":"true","timeout":true}"#, Refused("`timeout`")),
        row("bash", r#"{"cmd":"true"}"#, Refused("cmd")),
        row(
            "bash",
            r#"{"command":"true #1","timeout":"5"}"#,
            Run(json!({"command": "true #1", "timeout": 5}), &["`timeout` was read as integer"]),
        ),
        row(
            "bash",
            r#"{"command":"true #2","timeout":null}"#,
            Run(json!({"command": "true #2"}), &["`timeout` was null and was left out"]),
        ),
        row(
            "bash",
            r#""{\"command\":\"true #3\",\"timeout\":5.0}""#,
            Run(
                json!({"command": "true #3", "timeout": 5}),
                &["the object was read out of a text", "`timeout` was read as integer"],
            ),
        ),
        row("bash", r#"{"command":"5"}"#, Run(json!({"command": "5"}), &[])),
        row(
            "edit",
            r#"{"path":"a.txt","edits":"[{\"old\":\"one\",\"new\":\"two\"}]"}"#,
            Refused("edits"),
        ),
        row("edit", r#"{"path":"a.txt","old":1,"new":"two"}"#, Refused("`old`")),
        row("edit", &json!(edit.to_string()).to_string(), {
            Run(edit, &["the object was read out of a text"])
        }),
        row(
            "edit",
            r#"{"path":"a.txt","old":"two","new":"three","all":"true"}"#,
            Run(
                json!({"path": "a.txt", "old": "two", "new": "three", "all": true}),
                &["`all` was read as boolean"],
            ),
        ),
    ]);
    rows
}

/// One turn for each row: the call in question, and one that is right, so that no run ends as stuck.
fn script(rows: &[(&str, String, Becomes)]) -> String {
    let mut script =
        "[[turn]]\ncalls = [{ tool = \"read\", input = { path = \"a.txt\" } }]\n".to_owned();
    for (at, (tool, arguments, _)) in rows.iter().enumerate() {
        // A text of JSON is one of TOML.
        let arguments = json!(arguments);
        script += &format!(
            "[[turn]]\ncalls = [{{ tool = \"{tool}\", arguments = {arguments} }}, \
             {{ tool = \"glob\", input = {{ pattern = \"{at}\" }} }}]\n"
        );
    }
    script + "[[turn]]\ntext = \"done\"\n"
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_comes_as_arguments_is_answered_and_the_loop_goes_on() {
    let rows = table();
    let rig = Rig::start(&script(&rows), "").await;
    rig.put("a.txt", "one\n");
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!((reply.status, reply.answer()), (200, "done"), "{:#}", reply.body);
    assert_eq!(rig.get("a.txt"), "three\n", "what could be mended was done");

    let events: Vec<Event> =
        rig.events(&reply.run).await.into_iter().map(|recorded| recorded.event).collect();
    for (at, (tool, arguments, becomes)) in rows.iter().enumerate() {
        let shown: String = format!("{tool} {arguments}").chars().take(80).collect();
        let turn = u32::try_from(at).unwrap() + 2;
        let started = events.iter().find_map(|event| match event {
            Event::CallStarted { turn: of, tool: name, input, mended, .. }
                if *of == turn && name == tool =>
            {
                Some((input, mended))
            }
            _ => None,
        });
        let ended = events.iter().find_map(|event| match event {
            Event::CallEnded { turn: of, tool: name, ending, text, .. }
                if *of == turn && name == tool =>
            {
                Some((ending, text))
            }
            _ => None,
        });
        let (ending, text) = ended.unwrap_or_else(|| panic!("no outcome: {shown}"));
        match becomes {
            Refused(words) => {
                assert_eq!(started, None, "{shown}");
                assert_eq!(ending, &CallEnding::Invalid, "{shown}");
                assert!(text.contains(words), "{shown}: {text}");
                assert_eq!(text.matches("hint: ").count(), 1, "{shown}: {text}");
                assert!(text.len() < 800, "{shown}: {} bytes", text.len());
            }
            Run(expected, mended) => {
                let (input, told) = started.unwrap_or_else(|| panic!("not run: {shown}: {text}"));
                assert_eq!(serde_json::from_str::<Value>(input).unwrap(), *expected, "{shown}");
                assert_eq!(told, mended, "{shown}");
            }
        }
    }
    rig.assert_clean_requests();
    let last = rig.mock.requests().last().unwrap().body_bytes;
    assert!(last < 200 << 10, "what was too long or no JSON is not sent back: {last} bytes");
}
