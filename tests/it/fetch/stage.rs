//! Servers on loopback that answer in every way the tests need.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::stream::{self, StreamExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// One server; stops when dropped.
pub(super) struct Site {
    pub(super) addr: SocketAddr,
    asked: Asked,
    /// Somebody went away who had asked for `/silent`.
    pub(super) hung_up: Arc<Notify>,
    task: JoinHandle<()>,
}

/// What was asked, a line each.
type Asked = Arc<Mutex<Vec<String>>>;

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Site {
    /// Listens on a free port of `ip`.
    pub(super) async fn start(ip: &str) -> Site {
        let listener = TcpListener::bind((ip, 0)).await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (asked, hung_up) = (Asked::default(), Arc::new(Notify::new()));
        let router = Router::new()
            .route("/hello", any(|| async { "hello" }))
            .route("/echo", any(echo))
            .route("/redirect/{status}", any(redirect))
            .route("/loop", any(|| async { sent_to(302, "/loop") }))
            .route("/big", any(|| async { vec![b'b'; 5 << 20] }))
            .route("/edge", any(edge))
            .route("/betray", any(betray))
            .route("/slow", any(slow))
            .route("/silent", any(silent))
            .route(
                "/gzip",
                any(|| async { ([(header::CONTENT_ENCODING, "gzip")], "not unpacked") }),
            )
            .route("/cookie", any(cookie))
            .route("/heads", any(heads))
            .route("/page", any(|| async { ([(header::CONTENT_TYPE, "text/html")], PAGE) }))
            .layer(axum::middleware::from_fn_with_state(asked.clone(), note))
            .with_state(hung_up.clone());
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Site { addr, asked, hung_up, task }
    }

    pub(super) fn port(&self) -> u16 {
        self.addr.port()
    }

    /// `METHOD PATH`, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A page with a secret-free everything: what `fetch_docs` shows of it is in `docs`.
const PAGE: &str = "<!doctype html><title>T</title><script>x()</script><nav>menu</nav><main>\
    <h1>The &lt;Page&gt;</h1><p>See <a href='/other'>the other</a>.</p>\
    <h2 id='use'>Use</h2><pre>let a = 1;\nlet b = 2;\n</pre></main><footer>f</footer>";

async fn note(
    State(asked): State<Asked>,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    asked.lock().unwrap().push(format!("{} {}", request.method(), request.uri().path()));
    next.run(request).await
}

/// Says what it got.
async fn echo(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> String {
    let mut told = format!("{method} {uri}\n");
    for (name, value) in &headers {
        told.push_str(&format!("{name} = {}\n", String::from_utf8_lossy(value.as_bytes())));
    }
    format!(
        "{told}body = {} bytes: {}",
        body.len(),
        String::from_utf8_lossy(&body[..body.len().min(99)])
    )
}

/// To whatever stands behind `to=`.
async fn redirect(Path(status): Path<u16>, RawQuery(query): RawQuery) -> Response {
    let query = query.unwrap_or_default();
    sent_to(status, query.strip_prefix("to=").unwrap_or_default())
}

fn sent_to(status: u16, to: &str) -> Response {
    (StatusCode::from_u16(status).unwrap(), [(header::LOCATION, to.to_owned())]).into_response()
}

/// Echoes the credential where the cap would cut it in two.
async fn edge(headers: HeaderMap) -> Vec<u8> {
    let value = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes).unwrap_or_default();
    let mut body = vec![b'.'; (4 << 20) - value.len() / 2];
    body.extend_from_slice(value);
    body
}

/// Never answers, and notes when nobody waits any more.
async fn silent(State(hung_up): State<Arc<Notify>>) {
    struct Waiting(Arc<Notify>);
    impl Drop for Waiting {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let _waiting = Waiting(hung_up);
    std::future::pending().await
}

/// Sends on to a host that is called like the credential.
async fn betray(headers: HeaderMap) -> Response {
    let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let value = value.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or("nobody");
    sent_to(302, &format!("http://{value}.example/"))
}

/// A beginning, and then nothing.
async fn slow() -> Body {
    let first = stream::iter([Ok::<_, std::convert::Infallible>("a beginning")]);
    Body::from_stream(first.chain(stream::pending()))
}

async fn cookie(headers: HeaderMap) -> Response {
    let given = headers.get("x-given").cloned().unwrap_or(HeaderValue::from_static("none"));
    (
        [(header::SET_COOKIE, "a=b"), (HeaderName::from_static("x-kept"), "kept")],
        [("x-given", given)],
        "",
    )
        .into_response()
}

async fn heads() -> Response {
    let mut response = "x".into_response();
    for row in 0..20 {
        let name = HeaderName::try_from(format!("x-{row}")).unwrap();
        response.headers_mut().insert(name, HeaderValue::try_from("v".repeat(4_000)).unwrap());
    }
    response
}
