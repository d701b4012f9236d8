//! A server process to measure: started with a state of its own, asked over loopback, looked at
//! from outside. Decides nothing and prints nothing.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use harness::mock::{self, Script};
use serde_json::json;

/// A server process, killed when dropped.
pub struct Served {
    child: Child,
    url: String,
    /// From its start to the line that says where it listens.
    pub to_listening: Duration,
    /// From its start to the first request that it would take.
    pub to_ready: Duration,
    root: tempfile::TempDir,
    client: reqwest::Client,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Served {
    /// Starts a server for that upstream, as it is by default, and waits until it is ready.
    pub async fn start(base_url: &str) -> Served {
        Served::with(base_url, &[]).await
    }

    /// The same, with these variables.
    pub async fn with(base_url: &str, variables: &[(&str, &str)]) -> Served {
        let root = tempfile::tempdir().unwrap();
        let mut command = command(base_url, &root.path().join("state"));
        command.envs(variables.iter().copied());
        Served::wait_for(command, root).await
    }

    /// One with this configuration file and state directory, of no use but to be started.
    pub async fn configured(config: &Path, state: &Path) -> Served {
        let mut command = command("http://127.0.0.1:9/v1", state);
        command.arg("--config").arg(config);
        Served::wait_for(command, tempfile::tempdir().unwrap()).await
    }

    async fn wait_for(mut command: Command, root: tempfile::TempDir) -> Served {
        let started = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let to_listening = started.elapsed();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        let client = client();
        let mut served =
            Served { child, url, to_listening, to_ready: Duration::ZERO, root, client };
        let ready = format!("{}/readyz", served.url);
        while served.client.get(&ready).send().await.unwrap().status() != 200 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        served.to_ready = started.elapsed();
        served
    }

    /// Runs a task in a workspace of its own to its end, which must be a good one.
    pub async fn run(&self, task: &str) -> Duration {
        let workspace = self.root.path().join(task);
        std::fs::create_dir_all(&workspace).unwrap();
        // Each read shows 150 lines of it, about 2 kB, from another line on.
        let text: String = (0..1000).map(|n| format!("line {n:04}\n")).collect();
        std::fs::write(workspace.join("lines.txt"), text).unwrap();
        let body = json!({
            "messages": [{"role": "user", "content": task}],
            "harness": {"workspace": workspace},
        });
        let started = Instant::now();
        let response = self
            .client
            .post(format!("{}/v1/chat/completions", self.url))
            .header("content-type", "application/json")
            .body(body.to_string())
            .send()
            .await
            .unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success() && text.contains("completed"), "{status}: {text}");
        started.elapsed()
    }

    /// Runs so many tasks at once, and tells how long all of them took.
    pub async fn run_at_once(&self, name: &str, tasks: usize) -> Duration {
        let started = Instant::now();
        let tasks: Vec<String> = (0..tasks).map(|n| format!("{name}-{n}")).collect();
        futures_util::future::join_all(tasks.iter().map(|task| self.run(task))).await;
        started.elapsed()
    }

    /// Memory that is resident now, in MiB, the shared pages of the binary included.
    pub fn resident_mib(&self) -> f64 {
        self.status_mib("VmRSS:")
    }

    /// Memory of its own that is resident now, in MiB: what the binary's pages take is left out.
    pub fn anonymous_mib(&self) -> f64 {
        self.status_mib("RssAnon:")
    }

    /// The most that was ever resident, in MiB.
    pub fn peak_mib(&self) -> f64 {
        self.status_mib("VmHWM:")
    }

    fn status_mib(&self, field: &str) -> f64 {
        let status = std::fs::read_to_string(self.proc("status")).unwrap();
        let line = status.lines().find(|line| line.starts_with(field)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    /// Processor time so far, in milliseconds, to a hundredth of a second.
    pub fn processor_ms(&self) -> f64 {
        let stat = std::fs::read_to_string(self.proc("stat")).unwrap();
        // The name may hold blanks; what follows it does not.
        let after_name = stat.rsplit(')').next().unwrap();
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let ticks = |at: usize| fields[at].parse::<f64>().unwrap();
        (ticks(11) + ticks(12)) * 10.0
    }

    fn proc(&self, file: &str) -> std::path::PathBuf {
        Path::new("/proc").join(self.child.id().to_string()).join(file)
    }
}

/// The binary under measurement: cargo's, or another one to compare it with.
fn binary() -> std::ffi::OsString {
    std::env::var_os("FIGURES_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_harness").into())
}

fn client() -> reqwest::Client {
    // An error says that one is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap()
}

/// An upstream whose model makes `call` so many times in each conversation, and is done.
pub async fn scripted(call: &str, count: usize) -> mock::Running {
    let script =
        format!("[[turn]]\nrepeat = {count}\ncalls = [{call}]\n[[turn]]\ntext = \"done\"\n");
    mock::start(Script::parse(&script).unwrap(), "127.0.0.1:0".parse().unwrap()).await.unwrap()
}

/// A server for that upstream.
fn command(base_url: &str, state: &Path) -> Command {
    let mut command = Command::new(binary());
    command
        .args(["serve", "--addr", "127.0.0.1:0", "--log-level", "error"])
        .args(["--upstream-base-url", base_url, "--upstream-model", "scripted"])
        .env("HARNESS_AGENT_MAX_TURNS", "1000")
        .env("HARNESS_AGENT_MAX_TOTAL_TOKENS", "1000000000")
        .env("HARNESS_STATE_DIR", state);
    command
}
