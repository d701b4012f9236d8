//! The stage of the other modules: a scripted upstream, the real binary, a workspace.
//!
//! Everything is real but the model: a process, sockets on loopback, files in a temporary
//! directory. What a test needs to wait for it waits for, with a bound, never by sleeping.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use harness::event::{Event, Recorded};
use harness::mock::{self, Script};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The bound of every wait.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The key that must never be seen anywhere but at the upstream.
pub(crate) const KEY: &str = "sk-test-0123456789abcdef";

/// In the server's environment as `ORACLE`: a secret by nothing but what the configuration says of it.
pub(crate) const ORACLE: &str = "forty-two-or-thereabouts";

/// A server process with its upstream.
pub(crate) struct Rig {
    /// The scripted upstream.
    pub(crate) mock: mock::Running,
    /// The server.
    pub(crate) server: Server,
    /// Speaks to the server.
    pub(crate) client: reqwest::Client,
    root: TempDir,
}

/// One server process. Killed when dropped.
pub(crate) struct Server {
    child: Child,
    /// `http://IP:PORT`.
    pub(crate) url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts `harness serve` on a free port and waits until it listens.
    pub(crate) fn start(config: &Path, root: &Path, log: &str) -> Server {
        Server::start_at("127.0.0.1:0", config, root, log)
    }

    /// The same on another address, and gives loopback's for it.
    pub(crate) fn start_at(addr: &str, config: &Path, root: &Path, log: &str) -> Server {
        let log = std::fs::File::options().create(true).append(true).open(root.join(log)).unwrap();
        let mut child = harness()
            .args(["serve", "--config"])
            .arg(config)
            .args(["--addr", addr, "--log-level", "debug"])
            .env("HOME", root)
            .env("HARNESS_UPSTREAM_API_KEY", KEY)
            .env("ORACLE", ORACLE)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap_or_default();
        let url = url.replace("//0.0.0.0:", "//127.0.0.1:");
        assert!(url.starts_with("http://"), "the server did not start: `{line}`");
        Server { child, url }
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.url.trim_start_matches("http://").parse().unwrap()
    }

    /// The process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// A client that speaks to loopback alone.
pub(crate) fn client() -> reqwest::Client {
    // An error says that one is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
}

/// The binary, without this process's environment.
pub(crate) fn harness() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

impl Rig {
    /// Starts an upstream that plays `script`, and a server with `config` added to its file.
    pub(crate) async fn start(script: &str, config: &str) -> Rig {
        Rig::start_in(script, |_| config.to_owned()).await
    }

    /// The same, where the configuration names files: `config` is given the rig's root, and puts
    /// there what it needs.
    pub(crate) async fn start_in(script: &str, config: impl FnOnce(&Path) -> String) -> Rig {
        Rig::start_whole("127.0.0.1:0", script, config).await
    }

    /// The same as `start`, on another address.
    pub(crate) async fn start_at(addr: &str, script: &str, config: &str) -> Rig {
        Rig::start_whole(addr, script, |_| config.to_owned()).await
    }

    async fn start_whole(addr: &str, script: &str, config: impl FnOnce(&Path) -> String) -> Rig {
        // Not under `/tmp`, which commands have one of their own of.
        let root = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let config = config(root.path());
        let script = Script::parse(script).unwrap_or_else(|err| panic!("{err}"));
        let mock = mock::start(script, "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let file = format!(
            // What `config` says before its first table is the upstream's.
            "[state]\ndir = \"{}\"\n[upstream]\nbase_url = \"{}\"\nmodel = \"scripted\"\n{config}",
            root.path().join("state").display(),
            mock.base_url(),
        );
        std::fs::write(root.path().join("harness.toml"), file).unwrap();
        std::fs::create_dir(root.path().join("workspace")).unwrap();
        let file = root.path().join("harness.toml");
        let server = Server::start_at(addr, &file, root.path(), "log");
        let client = client();
        Rig { mock, server, client, root }
    }

    /// Kills the server and starts it anew; nothing is let go of in an orderly way.
    pub(crate) fn kill_and_restart(&mut self) {
        self.kill();
        self.restart();
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        let pid = self.server.pid().to_string();
        assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
        let _ = self.server.child.wait();
    }

    /// Makes sessions and their runs look older in the ledger of a server that is dead.
    pub(crate) fn age_in_ledger(&self, sessions: &[&str], milliseconds: u64) {
        let ledger = rusqlite::Connection::open(self.root().join("state/ledger.sqlite")).unwrap();
        ledger
            .execute_batch("DROP TRIGGER sessions_no_UPDATE; DROP TRIGGER runs_no_UPDATE")
            .unwrap();
        for session in sessions {
            for (table, column) in [("sessions", "id"), ("runs", "session")] {
                let sql = format!(
                    "UPDATE {table} SET created_ms = created_ms - {milliseconds} WHERE {column} = ?1"
                );
                assert_ne!(ledger.execute(&sql, [session]).unwrap(), 0);
            }
        }
    }

    /// Starts a server that was killed.
    pub(crate) fn restart(&mut self) {
        let config = self.root.path().join("harness.toml");
        self.server = Server::start(&config, self.root.path(), "log-restarted");
    }

    /// The workspace's directory.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.path().join("workspace").canonicalize().unwrap()
    }

    /// Where everything of this rig lies.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// Writes a file into the workspace.
    pub(crate) fn put(&self, path: &str, text: &str) {
        let path = self.workspace().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Reads a file of the workspace.
    pub(crate) fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.workspace().join(path)).unwrap()
    }

    /// A request for a run in the workspace.
    pub(crate) fn body(&self, task: &str) -> Value {
        self.body_in(&self.workspace(), task)
    }

    /// A request for a run in a directory.
    pub(crate) fn body_in(&self, directory: &Path, task: &str) -> Value {
        json!({
            "messages": [{"role": "user", "content": task}],
            "harness": {"workspace": directory},
        })
    }

    /// Sends a request as it is.
    pub(crate) async fn post(&self, body: &Value) -> reqwest::Response {
        self.client
            .post(format!("{}/v1/chat/completions", self.server.url))
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .unwrap()
    }

    /// Sends a request with headers of its own, and waits for the whole reply.
    pub(crate) async fn chat_with(&self, headers: &[(&str, &str)], body: &Value) -> Reply {
        Reply::read(self.send("POST", "/v1/chat/completions", headers, Some(body)).await).await
    }

    /// Sends any request.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> reqwest::Response {
        let url = format!("{}{path}", self.server.url);
        let mut request = self.client.request(method.parse().unwrap(), url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        request.send().await.unwrap()
    }

    /// Sends any request, and reads JSON.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let response = self.send(method, path, &[], body).await;
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let value = serde_json::from_str(&text);
        (status, value.unwrap_or_else(|err| panic!("not JSON ({err}): {text}")))
    }

    /// Sends a request and waits for the whole reply.
    pub(crate) async fn chat(&self, body: &Value) -> Reply {
        Reply::read(self.post(body).await).await
    }

    /// Reads JSON from a path.
    pub(crate) async fn json(&self, path: &str) -> (u16, Value) {
        self.ask("GET", path, None).await
    }

    /// Every event of a run that ended, through the API.
    pub(crate) async fn events(&self, run: &str) -> Vec<Recorded> {
        let url = format!("{}/v1/runs/{run}/events", self.server.url);
        let text = self.client.get(url).send().await.unwrap().text().await.unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The texts of what became of every call, by tool.
    pub(crate) async fn outcomes(&self, run: &str) -> Vec<(String, String)> {
        let events = self.events(run).await;
        let ended = events.into_iter().filter_map(|recorded| match recorded.event {
            Event::CallEnded { tool, text, .. } => Some((tool, text)),
            _ => None,
        });
        ended.collect()
    }

    /// What the server logged, of its first start and later ones.
    pub(crate) fn log(&self) -> String {
        let read = |name| std::fs::read_to_string(self.root.path().join(name)).unwrap_or_default();
        read("log") + &read("log-restarted")
    }

    /// Panics when the upstream found a fault in any request.
    pub(crate) fn assert_clean_requests(&self) {
        let faulty: Vec<_> =
            self.mock.requests().into_iter().filter(|seen| !seen.violations.is_empty()).collect();
        assert!(faulty.is_empty(), "{faulty:#?}");
    }
}

/// A whole reply.
#[derive(Debug)]
pub(crate) struct Reply {
    /// HTTP status.
    pub(crate) status: u16,
    /// `X-Harness-Run`.
    pub(crate) run: String,
    /// `X-Harness-Session`.
    pub(crate) session: String,
    /// `x-should-retry`.
    pub(crate) should_retry: Option<String>,
    /// The body.
    pub(crate) body: Value,
}

impl Reply {
    /// Reads a response to its end.
    pub(crate) async fn read(response: reqwest::Response) -> Reply {
        let header = |name: &str| {
            response.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
        };
        let (run, session) = (header("x-harness-run"), header("x-harness-session"));
        let should_retry = header("x-should-retry");
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Reply {
            status,
            run: run.unwrap_or_default(),
            session: session.unwrap_or_default(),
            should_retry,
            body,
        }
    }

    /// The answer's text.
    pub(crate) fn answer(&self) -> &str {
        self.body["choices"][0]["message"]["content"].as_str().unwrap_or_default()
    }

    /// The termination reason, of an answer or an error.
    pub(crate) fn reason(&self) -> &str {
        let reason = &self.body["harness"]["termination_reason"];
        reason.as_str().or(self.body["error"]["code"].as_str()).unwrap_or_default()
    }
}

/// Waits until `is_so`, and panics with `what` when it does not come about.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Processes whose command line holds `mark`.
pub(crate) fn processes_with(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}
