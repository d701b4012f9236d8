//! The example `fetch-docs`, in a run of the real server.

use harness_guests::{Guest, guest};

use super::stage::Site;
use crate::plugins::{FEWER, ended, table};
use crate::rig::Rig;

pub(crate) const GUEST: Guest = guest("fetch-docs");

#[tokio::test(flavor = "multi_thread")]
async fn a_page_is_shown_as_text() {
    let site = Site::start("127.0.0.1").await;
    let base = format!("http://localhost:{}", site.port());
    let rows = [
        (
            format!("url = \"{base}/page\""),
            format!(
                "{base}/page\n\n# The <Page>\n\nSee [the other](/other).\n\n## Use\n\n```\nlet a = 1;\n\
                 let b = 2;\n```"
            ),
        ),
        (
            format!("url = \"{base}/page#use\""),
            format!("{base}/page#use\n\n## Use\n\n```\nlet a = 1;\nlet b = 2;\n```"),
        ),
        (
            format!("url = \"{base}/page\", find = \"LET\""),
            "[`LET` is there 2 times; this is around the first]".to_owned(),
        ),
        (format!("url = \"{base}/page\", find = \"menu\""), "the page has no `menu`".to_owned()),
        (format!("url = \"{base}/hello\""), "hello".to_owned()),
        (format!("url = \"{base}/none\""), format!("there is no page `{base}/none` (status 404)")),
        (format!("url = \"{base}/loop\""), "redirected more than 5 times".to_owned()),
        (format!("url = \"{base}/big\""), "expected a page of text".to_owned()),
        (
            "url = \"https://docs.example/x\"".to_owned(),
            "host `docs.example` was not granted".to_owned(),
        ),
    ];
    let turns = rows.iter().map(|(input, _)| {
        format!("[[turn]]\ncalls = [{{ tool = \"fetch_docs\", input = {{ {input} }} }}]\n")
    });
    let script = turns.collect::<String>() + "[[turn]]\ntext = \"read\"\n";
    let keys = format!("grants = [\"fetch\"]\nfetch_private = [\"localhost:{}\"]", site.port());
    let rig = Rig::start_in(&script, |root| FEWER.to_owned() + &table(root, GUEST, &keys)).await;
    let reply = rig.chat(&rig.body("read the page")).await;
    assert_eq!((reply.status, reply.answer()), (200, "read"), "{:#}", reply.body);
    let ended = ended(&rig, &reply.run).await;
    assert_eq!(ended.len(), rows.len(), "{ended:?}");
    for ((input, expected), call) in rows.iter().zip(&ended) {
        assert!(call.text.contains(expected), "{input}: no `{expected}` in {}", call.text);
    }
}
