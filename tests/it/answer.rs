//! What a client asks of the answer alone: its length, its form, its end.

use serde_json::json;

use crate::rig::Rig;

const LOOK: &str = r#"
    [[turn]]
    text = "I look at 0123456789 first."
    calls = [{ tool = "glob", input = { pattern = "*" } }]
    usage = { prompt = 10, completion = 50 }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_length_cuts_the_answer_and_no_call() {
    let script = format!(
        "{LOOK}[[turn]]\ntext = \"0123456789\"\nusage = {{ prompt = 10, completion = 10 }}\n"
    );
    for (limit, answer, finish) in [(5, "01234", "length"), (10, "0123456789", "stop")] {
        let rig = Rig::start(&script, "").await;
        let mut body = rig.body("go");
        body["max_tokens"] = json!(limit);
        let reply = rig.chat(&body).await;
        assert_eq!((reply.status, reply.answer()), (200, answer), "{:#}", reply.body);
        assert_eq!(reply.body["choices"][0]["finish_reason"], finish);
        assert_eq!(
            reply.body["harness"]["notes"],
            json!(["`max_tokens` is applied to the answer alone"])
        );
        rig.assert_clean_requests();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_asked_for_once_the_answer_is_there() {
    let script = format!(
        "{LOOK}[[turn]]\ntext = \"It is 7.\"\n[[turn]]\ntext = '{{\"it\": 7}}'\n\
         expect = [\"Give this answer again\"]\n"
    );
    let rig = Rig::start(&script, "").await;
    let mut body = rig.body("go");
    body["response_format"] = json!({"type": "json_object"});
    let reply = rig.chat(&body).await;
    assert_eq!((reply.status, reply.answer()), (200, "{\"it\": 7}"), "{:#}", reply.body);
    assert_eq!(reply.body["harness"]["turns"], 3);
    rig.assert_clean_requests();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_put_into_its_form_is_given_as_it_is() {
    for (third, words) in [
        (
            "[[turn]]\nstatus = 400\nbody = '{\"error\": {\"message\": \"no forms here\"}}'\n",
            "no forms here",
        ),
        ("[[turn]]\ntext = \"\"\n", "gave no answer"),
    ] {
        let script = format!("{LOOK}[[turn]]\ntext = \"It is 7.\"\n{third}");
        let rig = Rig::start(&script, "").await;
        let mut body = rig.body("go");
        body["response_format"] = json!({"type": "json_object"});
        let reply = rig.chat(&body).await;
        assert_eq!((reply.status, reply.answer()), (200, "It is 7."), "{:#}", reply.body);
        let note = reply.body["harness"]["notes"][1].as_str().unwrap_or_default().to_owned();
        assert!(note.contains(words), "{note}");
    }
}
