//! Addresses that mean something else than they seem to: nothing but what was granted is ever
//! connected to.

use std::net::TcpListener;

use harness::deadline::Deadline;
use harness::fetch::Fetch;
use harness::servers::{Entry, Servers};
use harness::wit::fetch::{Method, Request, Response};
use harness::wit::{Fault, FaultKind};
use proptest::prelude::*;

use super::stage::Site;
use crate::rig::PATIENCE;

/// Listens and must never be connected to.
struct Forbidden(TcpListener);

impl Forbidden {
    fn on(addr: &str) -> Forbidden {
        let listener = TcpListener::bind(addr).unwrap();
        listener.set_nonblocking(true).unwrap();
        Forbidden(listener)
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// Whoever connected, also long ago, waits to be accepted.
    #[track_caller]
    fn assert_untouched(&self) {
        if let Ok((_, peer)) = self.0.accept() {
            panic!("connected to, from {peer}");
        }
    }
}

fn granting(hosts: &[&str], private_hosts: &[String]) -> Servers {
    let hosts = hosts.iter().map(|host| Entry::parse(host).unwrap()).collect();
    let private_hosts = private_hosts.iter().map(|host| Entry::parse(host).unwrap()).collect();
    Servers { hosts, private_hosts, ..Servers::default() }
}

async fn get(fetch: &Fetch, url: &str) -> Result<Response, Fault> {
    let request = Request {
        method: Method::Get,
        url: url.to_owned(),
        headers: Vec::new(),
        body: None,
        credential: None,
        timeout_ms: None,
    };
    fetch.send(request, Deadline::after(PATIENCE)).await
}

/// Ways to write a host that leads to this machine.
const LOOPBACK: [&str; 26] = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "0x7f.1",
    "0x7f000001",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "127.0.0.1.",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:0:0:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost..",
    "loc%61lhost",
    "ｌｏｃａｌｈｏｓｔ",
    "１２７。０。０。１",
    "0",
    "0.0.0.0",
    "[::]",
    "①②⑦.1",
];

#[tokio::test(flavor = "multi_thread")]
async fn no_form_of_an_address_goes_where_its_own_was_not_granted() {
    let site = Site::start("127.0.0.1").await;
    let (four, six) = (Forbidden::on("127.0.0.1:0"), Forbidden::on("[::1]:0"));
    // A public host, a private one on another port, and a whole domain.
    let granted = [format!("localhost:{}", site.port()), "*.localhost.example".to_owned()];
    let fetch = Fetch::new("mine", granting(&["api.example", "*.more.example"], &granted));
    for host in LOOPBACK {
        for port in [four.port(), six.port()] {
            for url in [
                format!("http://{host}:{port}/"),
                format!("https://{host}:{port}/"),
                format!("http://api.example@{host}:{port}/"),
                format!("http://localhost:{}@{host}:{port}/", site.port()),
                format!("http://{host}:{port}#@localhost:{}/", site.port()),
                format!("http://{host}:{port}\\@localhost:{}/", site.port()),
                format!("http://{host}:{port}?.more.example/"),
                format!("http:{host}:{port}"),
                format!("\thttp:\n//{host}:{port}/"),
            ] {
                let fault = get(&fetch, &url).await.expect_err(&url);
                let kinds = [FaultKind::Denied, FaultKind::InvalidInput];
                assert!(kinds.contains(&fault.kind), "{url}: {fault:?}");
            }
        }
    }
    four.assert_untouched();
    six.assert_untouched();
    assert_eq!(site.asked(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_public_name_may_not_lead_to_a_private_address() {
    let forbidden = Forbidden::on("127.0.0.1:0");
    let port = forbidden.port();
    // As a name that somebody points here after it was granted.
    let hosts = [format!("localhost:{port}"), "localhost:80".to_owned()];
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let fetch = Fetch::new("mine", granting(&hosts, &[]));
    let fault = get(&fetch, &format!("https://localhost:{port}/")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied, "{fault:?}");
    let message = format!("host `localhost:{port}` leads to an address that is not public");
    let hint =
        format!("a person must add \"localhost:{port}\" to `fetch_private` in `[plugin.mine]`");
    assert_eq!((fault.message, fault.hint), (message, Some(hint)));
    // Without TLS too.
    let fault = get(&fetch, "http://localhost/").await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied, "{fault:?}");
    forbidden.assert_untouched();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_goes_with_its_call() {
    let site = Site::start("127.0.0.1").await;
    let fetch = Fetch::new("mine", granting(&[], &[format!("localhost:{}", site.port())]));
    let url = format!("http://localhost:{}/silent", site.port());
    let asked = async {
        while site.asked().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    // Dropped in the middle of it, as with a run that is cancelled.
    tokio::select! {
        answered = get(&fetch, &url) => panic!("{answered:?}"),
        () = asked => {}
    }
    tokio::time::timeout(PATIENCE, site.hung_up.notified()).await.unwrap();
}

/// Pieces that URLs are put together from; `{good}` and `{bad}` are ports.
fn url_pieces() -> impl Strategy<Value = String> {
    let pieces: Vec<&'static str> = LOOPBACK
        .into_iter()
        .chain([
            "http://",
            "https://",
            "HTTP://",
            "ftp://",
            "file://",
            "//",
            "/",
            "\\",
            "?",
            "#",
            "@",
            ":",
            ".",
            "%2f",
            "%40",
            "%00",
            "\t",
            "\n",
            " ",
            "user:pass@",
            "api.example",
            ".more.example",
            "xn--",
            "{good}",
            "{bad}",
            ":{good}",
            ":{bad}",
            ":{bad}",
            "localhost:{good}",
            "localhost:{bad}",
            "127.0.0.1:{bad}",
            "[::1]:{bad}",
            "/hello",
        ])
        .collect();
    let piece = proptest::sample::select(pieces);
    let start = proptest::sample::select(vec!["http://", "https://", "http:", ""]);
    (start, proptest::collection::vec(piece, 1..7))
        .prop_map(|(start, rest)| start.to_owned() + &rest.concat())
}

#[test]
fn whatever_is_written_nothing_else_is_connected_to() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let site = runtime.block_on(Site::start("127.0.0.1"));
    let (four, six) = (Forbidden::on("127.0.0.1:0"), Forbidden::on("[::1]:0"));
    let granted = format!("localhost:{}", site.port());
    let fetch = Fetch::new("mine", granting(&["api.example"], std::slice::from_ref(&granted)));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 3_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let ran = runner.run(&(url_pieces(), any::<bool>()), |(pieces, is_six)| {
        let bad = if is_six { six.port() } else { four.port() };
        let url = pieces
            .replace("{good}", &site.port().to_string())
            .replace("{bad}", &bad.to_string())
            // Granted, and nobody's: not one to be looked up.
            .replace("api.example", "other.example");
        let answered = runtime.block_on(get(&fetch, &url));
        if let Ok(response) = answered {
            let place = format!("http://{granted}/");
            prop_assert!(response.url.starts_with(&place), "{url}: {}", response.url);
        }
        Ok(())
    });
    ran.unwrap();
    four.assert_untouched();
    six.assert_untouched();
    assert!(!site.asked().is_empty(), "no URL reached the one host that was granted");
}
