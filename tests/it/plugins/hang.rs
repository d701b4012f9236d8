//! Plugins that hang: others do not wait for them.

use futures_util::future::join_all;
use harness::event::{CallEnding, Event, Reason};
use serde_json::json;

use super::misbehave_tool::{self, GRANTS};
use super::{ended, start};
use crate::rig::{Reply, Rig};

/// Sessions in which calls hang, and how many side by side in each: more than a small machine has cores,
/// and more than an engine has places.
const HANGING: usize = 10;
const SIDE_BY_SIDE: usize = 10;

/// Sessions beside them.
const OTHERS: usize = 20;

/// In a session's first run `hang` returns, as nothing was kept; in its second one it hangs.
fn script() -> String {
    let call = |number| format!("{{ tool = \"hang\", input = {{ number = {number} }} }}");
    let calls: Vec<String> = (0..SIDE_BY_SIDE).map(call).collect();
    format!(
        "[[turn]]\ncalls = [{}]\n\
         [[turn]]\ncalls = [{{ tool = \"keep\", input = {{}} }}]\nrepeat = 10\n\
         [[turn]]\ntext = \"I went on.\"\n",
        calls.join(", ")
    )
}

/// A run in the workspace `name`, to its end.
async fn run(rig: &Rig, name: &str) -> Reply {
    let directory = rig.root().join(name);
    std::fs::create_dir(&directory).unwrap();
    rig.chat(&rig.body_in(&directory, &format!("first in {name}"))).await
}

/// One that was begun and whose calls hang; its id, and the rest of its answer.
async fn run_that_hangs(rig: &Rig, name: &str) -> (String, reqwest::Response) {
    let mut body = rig.body_in(&rig.root().join(name), &format!("second in {name}"));
    body["stream"] = json!(true);
    body["harness"]["stream_events"] = json!(true);
    let mut response = rig.post(&body).await;
    let run = response.headers()["x-harness-run"].to_str().unwrap().to_owned();
    let mut told = String::new();
    while told.matches("call-started").count() < SIDE_BY_SIDE {
        let piece = response.chunk().await.unwrap().expect("the run goes on");
        told.push_str(std::str::from_utf8(&piece).unwrap());
    }
    (run, response)
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_hang_cost_others_nothing() {
    let rig = start(&script(), misbehave_tool::GUEST, GRANTS).await;
    let names: Vec<String> = (0..HANGING).map(|number| format!("hanging-{number}")).collect();
    let mut hanging = Vec::new();
    for name in &names {
        assert_eq!(run(&rig, name).await.answer(), "I went on.");
        hanging.push(run_that_hangs(&rig, name).await);
    }

    let others: Vec<String> = (0..OTHERS).map(|number| format!("other-{number}")).collect();
    for reply in join_all(others.iter().map(|name| run(&rig, name))).await {
        let told = (reply.status, reply.reason(), reply.answer());
        assert_eq!(told, (200, "completed", "I went on."), "{:#}", reply.body);
        let ended = ended(&rig, &reply.run).await;
        assert_eq!(ended.len(), SIDE_BY_SIDE + 10, "{ended:?}");
        let all_succeeded = ended.iter().all(|call| call.ending == CallEnding::Succeeded);
        assert!(all_succeeded, "{ended:?}");
        assert!(ended[SIDE_BY_SIDE + 9].text.starts_with("call 10; "), "{ended:?}");
    }

    // All of that while each of these runs was at its calls, none of which ends by itself.
    for (run, response) in hanging {
        let (status, summary) = rig.json(&format!("/v1/runs/{run}")).await;
        assert_eq!(
            (status, summary["state"].as_str()),
            (200, Some("executing-tool")),
            "{summary:#}"
        );
        let (status, _) = rig.ask("POST", &format!("/v1/runs/{run}/cancel"), None).await;
        assert_eq!(status, 200);
        drop(response.text().await);
        let events = rig.events(&run).await;
        let Some(Event::Ended { reason, .. }) = events.last().map(|last| &last.event) else {
            panic!("{events:#?}");
        };
        assert_eq!(*reason, Reason::Cancelled);
    }
}
