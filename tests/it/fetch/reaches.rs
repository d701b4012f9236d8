//! What a plugin that was granted hosts gets, row by row: answers, redirects, credentials, refusals.

use std::path::Path;

use harness::event::CallEnding;

use super::GUEST;
use super::stage::Site;
use crate::plugins::{EndedCall, FEWER, ended, list, table};
use crate::rig::{ORACLE, Rig};

/// One call of the guest, and pieces of what the model reads of it.
struct Row {
    tool: &'static str,
    /// TOML; `{A}` is the port that was granted, `{B}` one that was not, `{SIX}` one on IPv6.
    input: &'static str,
    /// Begins with `!`: must not be there.
    expected: &'static [&'static str],
}

const fn row(input: &'static str, expected: &'static [&'static str]) -> Row {
    Row { tool: "fetch", input, expected }
}

/// The servers of one test.
struct Sites {
    granted: Site,
    other: Site,
    six: Site,
}

impl Sites {
    async fn start() -> Sites {
        let (granted, other) = (Site::start("127.0.0.1").await, Site::start("127.0.0.1").await);
        Sites { granted, other, six: Site::start("::1").await }
    }

    fn fill(&self, text: &str) -> String {
        let ports = [("{A}", &self.granted), ("{B}", &self.other), ("{SIX}", &self.six)];
        ports.iter().fold(text.to_owned(), |text, (name, site)| {
            text.replace(name, &site.port().to_string())
        })
    }

    fn config(&self, root: &Path) -> String {
        let keys = "grants = [\"fetch\"]\nfetch = [\"api.example\", \"*.more.example:80\"]\n\
             fetch_private = [\"localhost:{A}\", \"127.0.0.1:{A}\", \"[::1]:{SIX}\"]\n\
             [plugin.mine.credentials]\n\
             oracle = { env = \"ORACLE\", host = \"localhost:{A}\" }\n\
             header = { env = \"ORACLE\", host = \"localhost:{A}\", header = \"X-Api-Key\" }\n\
             elsewhere = { env = \"ORACLE\", host = \"api.example\" }\n";
        FEWER.to_owned() + &table(root, GUEST, &self.fill(keys))
    }

    /// Makes the calls of all rows in one run.
    async fn check(&self, rows: &[Row]) -> Vec<EndedCall> {
        let turns = rows.iter().map(|Row { tool, input, .. }| {
            let input = self.fill(input);
            format!("[[turn]]\ncalls = [{{ tool = \"{tool}\", input = {{ {input} }} }}]\n")
        });
        let script = turns.collect::<String>() + "[[turn]]\ntext = \"done\"\n";
        let rig = Rig::start_in(&script, |root| self.config(root)).await;
        let reply = rig.chat(&rig.body("fetch")).await;
        assert_eq!((reply.status, reply.answer()), (200, "done"), "{:#}", reply.body);
        let log = rig.log();
        assert!(!log.contains(ORACLE), "the log holds the credential");
        let ended = ended(&rig, &reply.run).await;
        assert_eq!(ended.len(), rows.len(), "{ended:?}");
        for (row, call) in rows.iter().zip(&ended) {
            let text = call.text.as_str();
            for piece in row.expected {
                let piece = self.fill(piece);
                match piece.strip_prefix('!') {
                    Some(piece) => {
                        assert!(!text.contains(piece), "{}: `{piece}` in {text}", row.input)
                    }
                    None => assert!(text.contains(&piece), "{}: no `{piece}` in {text}", row.input),
                }
            }
            assert!(!text.contains(ORACLE), "{}: the credential is in {text}", row.input);
        }
        ended
    }
}

const LOCAL: &str = "http://localhost:{A}";

#[tokio::test(flavor = "multi_thread")]
async fn answers_and_refusals() {
    let sites = Sites::start().await;
    let rows = [
        row(
            r#"url = "http://localhost:{A}/hello""#,
            &["200 http://localhost:{A}/hello\n", "[5 bytes]\nhello"],
        ),
        row(r#"url = "HTTP://LOCALHOST.:{A}/hello""#, &["200 http://localhost:{A}/hello\n"]),
        row(r#"url = "http://127.1:{A}/hello""#, &["200 http://127.0.0.1:{A}/hello\n"]),
        row(r#"url = "http://[::1]:{SIX}/hello""#, &["200 http://[::1]:{SIX}/hello\n"]),
        row(r#"url = "http://localhost:{A}/none""#, &["404 http://localhost:{A}/none\n"]),
        row(
            r#"url = "http://localhost:{B}/hello""#,
            &[
                "host `localhost:{B}` was not granted",
                "a person must add \"localhost:{B}\" to `fetch` in `[plugin.mine]`",
            ],
        ),
        row(
            r#"url = "http://192.0.2.1/""#,
            &["`192.0.2.1:80` leads to an address that is not public", "`fetch_private`"],
        ),
        row(
            r#"url = "http://api.example/""#,
            &["granted with `https`, not with `http`", "ask it with `https`"],
        ),
        row(r#"url = "https://sub.api.example/""#, &["host `sub.api.example` was not granted"]),
        row(
            r#"url = "https://localhost:{A}/hello""#,
            &["`localhost:{A}` did not answer: no TLS connection: "],
        ),
        row(r#"url = "http://u:p@localhost:{A}/hello""#, &["the URL holds a user or a password"]),
        row(
            r#"url = "ftp://localhost:{A}/""#,
            &["the URL's scheme is `ftp`, expected `https` or `http`"],
        ),
        row(r#"url = "/hello""#, &["the URL cannot be read"]),
        row(r#"url = "http://localhost:{A}/big""#, &["[4194304 bytes, cut]\nbbb"]),
        row(
            r#"url = "http://localhost:{A}/gzip""#,
            &["content-encoding: gzip", "[12 bytes]\nnot unpacked"],
        ),
        row(r#"url = "http://localhost:{A}/cookie""#, &["x-kept: kept", "!set-cookie", "!a=b"]),
        row(
            r#"url = "http://localhost:{A}/heads""#,
            &["answered with headers of 80", "over the limit of 100 or 65536 bytes"],
        ),
        row(
            r#"url = "http://localhost:{A}/slow", timeout_ms = 300"#,
            &["`localhost` did not answer in time"],
        ),
        row(
            r#"url = "http://localhost:{A}/silent", timeout_ms = 300"#,
            &["`localhost` did not answer in time"],
        ),
        Row {
            tool: "sneak-fetch",
            input: r#"url = "http://localhost:{A}/hello""#,
            expected: &["this tool may not ask servers: it did not declare that effect"],
        },
    ];
    let ended = sites.check(&rows).await;
    assert!(
        ended.iter().all(|call| !matches!(call.ending, CallEnding::Broken { .. })),
        "{ended:?}"
    );
    assert_eq!(sites.other.asked(), [""; 0]);
    // Two of the rows are refused before they are sent.
    let sent = sites.granted.asked();
    assert_eq!(sent.iter().filter(|asked| *asked == "GET /hello").count(), 3, "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_as_they_are_sent() {
    let sites = Sites::start().await;
    let refused: Vec<String> = ["Host", "content-length", "Connection", "transfer-encoding"]
        .into_iter()
        .chain(["proxy-authorization", "te", "Upgrade", "expect"])
        .map(|name| format!(r#"url = "{LOCAL}/echo", headers = "{name}: x""#))
        .collect();
    let mut rows = vec![
        row(
            r#"url = "http://localhost:{A}/echo?q=1", headers = "X-One: 1\nX-One: 2""#,
            &["GET /echo?q=1\n", "x-one = 1\nx-one = 2", "user-agent = harness/", "body = 0 bytes"],
        ),
        row(
            r#"url = "http://localhost:{A}/echo", headers = "User-Agent: mine""#,
            &["user-agent = mine", "!harness/", "!accept-encoding"],
        ),
        row(
            r#"url = "http://localhost:{A}/echo", post = "said", headers = "content-type: text/plain""#,
            &["POST /echo\n", "content-type = text/plain", "content-length = 4", "4 bytes: said"],
        ),
        row(
            r#"url = "http://localhost:{A}/echo", post = "", padding = 1048577"#,
            &["the body is 1048577 bytes, over the limit of 1048576"],
        ),
        row(
            r#"url = "http://localhost:{A}/echo", headers = "a b: x""#,
            &["`a b` cannot be the name of a header"],
        ),
        row(
            r#"url = "http://localhost:{A}/echo", headers = "x: \u0001""#,
            &["header `x` has a character it cannot have"],
        ),
    ];
    rows.extend(refused.iter().map(|input| Row {
        tool: "fetch",
        input: input.clone().leak(),
        expected: &["is the host's to set"],
    }));
    sites.check(&rows).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects() {
    let sites = Sites::start().await;
    let private = "authorization: Bearer own\\nCookie: c=d\\nX-Key: k\\nAccept: text/html";
    let inputs = [
        format!(r#"url = "{LOCAL}/redirect/302?to=/echo", headers = "{private}""#),
        format!(
            r#"url = "{LOCAL}/redirect/302?to=http://[::1]:{{SIX}}/echo", headers = "{private}""#
        ),
    ];
    let [same, changed] = inputs.map(|input| &*input.leak());
    let rows = [
        row(same, &["200 http://localhost:{A}/echo", "authorization = Bearer own", "cookie = c=d"]),
        row(
            changed,
            &[
                "200 http://[::1]:{SIX}/echo",
                "accept = text/html",
                "!authorization",
                "!cookie",
                "!x-key",
            ],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/302?to=http://localhost:{B}/hello""#,
            &["host `localhost:{B}` was not granted"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/307?to=http://192.0.2.1/""#,
            &["host `192.0.2.1:80` leads to an address that is not public"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/302?to=//u:p@localhost:{A}/hello""#,
            &["the URL holds a user or a password"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/302?to=file:///etc/passwd""#,
            &["the URL's scheme is `file`"],
        ),
        row(
            r#"url = "http://localhost:{A}/loop""#,
            &["redirected more than 5 times, at last by `localhost`"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/303?to=/echo", post = "said""#,
            &["GET /echo", "body = 0 bytes"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/301?to=/echo", post = "said", headers = "content-type: a/b""#,
            &["GET /echo", "body = 0 bytes", "!content-type = a/b"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/307?to=/echo", post = "said""#,
            &["POST /echo", "4 bytes: said"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/308?to=/echo", post = "said""#,
            &["POST /echo", "4 bytes: said"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/304?to=/echo""#,
            &["304 http://localhost:{A}/redirect/304"],
        ),
    ];
    sites.check(&rows).await;
    assert_eq!(sites.other.asked(), [""; 0]);
    let asked = sites.granted.asked();
    assert_eq!(asked.iter().filter(|asked| *asked == "GET /loop").count(), 6, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials() {
    let sites = Sites::start().await;
    let rows = [
        row(
            r#"url = "http://localhost:{A}/echo", credential = "oracle""#,
            &["authorization = Bearer [redacted]"],
        ),
        row(
            r#"url = "http://localhost:{A}/echo", credential = "header", headers = "x-api-key: guessed""#,
            &["x-api-key = [redacted]", "!guessed", "!authorization"],
        ),
        row(
            r#"url = "http://localhost:{A}/edge", credential = "oracle""#,
            &["[4194304 bytes, cut]", "Bearer [redacte", "!forty"],
        ),
        row(
            r#"url = "http://localhost:{A}/betray", credential = "oracle""#,
            &["host `[redacted].example:80` was not granted"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/302?to=/echo", credential = "oracle""#,
            &["authorization = Bearer [redacted]"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/302?to=http://127.0.0.1:{A}/echo", credential = "oracle""#,
            &["200 http://127.0.0.1:{A}/echo", "!authorization"],
        ),
        row(
            r#"url = "http://localhost:{A}/redirect/302?to=http://[::1]:{SIX}/redirect/302?to=http://localhost:{A}/echo", credential = "oracle""#,
            &["200 http://localhost:{A}/echo", "!authorization"],
        ),
        row(
            r#"url = "http://127.0.0.1:{A}/echo", credential = "oracle""#,
            &[
                "credential `oracle` is for `localhost:{A}` alone, and this request goes to `127.0.0.1:{A}`",
            ],
        ),
        row(
            r#"url = "http://localhost:{A}/echo", credential = "elsewhere""#,
            &["credential `elsewhere` is for `api.example` alone"],
        ),
        row(
            r#"url = "http://localhost:{A}/echo", credential = "none""#,
            &["there is no credential `none`; there are `elsewhere`, `header`, `oracle`"],
        ),
    ];
    sites.check(&rows).await;
}

#[test]
fn the_grant_and_the_hosts_go_together() {
    let check = |keys: &str, expected: &str| {
        let (_, said) = list(GUEST, keys);
        assert!(said.contains(expected), "{keys}: no `{expected}` in {said}");
    };
    check("grants = [\"fetch\"]\nfetch = [\"a.example\"]", "fetch, sneak-fetch");
    check("grants = [\"fetch\"]", "granted `fetch`, and no host");
    check("grants = [\"fetch\"]", "fetch = [\"api.example.org\"]");
    check("", "imports `fetch`, which it was not granted");
    check(
        "grants = [\"state\"]\nfetch = [\"a.example\"]",
        "imports `fetch`, which it was not granted",
    );
    let other = crate::plugins::list(
        harness_guests::guest("misbehave-tool"),
        "grants = [\"workspace-write\", \"process\", \"state\"]\nfetch = [\"a.example\"]",
    );
    assert!(other.1.contains("and was not granted `fetch`"), "{}", other.1);
}
