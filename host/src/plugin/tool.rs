//! Tools: what a component offers, and one call of it.
//!
//! Each call gets a fresh instance in a fresh store, the run's deadline, and the session's
//! workspace; dropping the call drops guest, imports and processes together. Arguments are
//! validated here, because the schema is the tool's. Whether a call may run is not decided here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;
use wasmtime::Store;

use super::breakage::{Breakage, Remains};
use super::engine::{Engine, Meter};
use super::imports::{CallState, Reach};
use super::load::LoadError;
use super::schema::{Fitting, Schema};
use super::sink::{Line, Sink, Watcher};
use super::used::{Gauge, Used};
use super::wasi::Inert;
use super::workspace::Workspace;
use crate::config::{PluginConfig, PluginLimits};
use crate::deadline::Deadline;
use crate::fetch::Fetch;
use crate::image::Image;
use crate::wit::tool_world::ToolPluginPre;
use crate::wit::{self, Call, Effects, Fault, Outcome, Part, Spec};

/// Bytes of an outcome's text that the model reads; the rest is spilled to a file.
const TEXT_BYTES: usize = 64 << 10;

/// Images of an outcome; more are left out, and that is told.
const IMAGES: usize = 32;

/// Bytes of a fault's hint.
const HINT_BYTES: usize = 4 << 10;

/// Bytes of a summary, which is one line.
const SUMMARY_BYTES: usize = 512;

/// After the deadline a guest has this long to hand over what its import gave it at the last moment.
const HANDING_OVER: Duration = Duration::from_millis(500);

/// Asking a component what it offers.
const DESCRIBING: Duration = Duration::from_secs(5);

/// A component that offers tools, linked to the powers it was granted.
pub(super) struct ToolPlugin {
    engine: Engine,
    name: Arc<str>,
    config: Arc<str>,
    fetch: Arc<Fetch>,
    reach: Arc<Reach>,
    limits: PluginLimits,
    pre: ToolPluginPre<CallState>,
}

/// One tool.
#[derive(Clone)]
pub struct Tool {
    plugin: Arc<ToolPlugin>,
    spec: Arc<Spec>,
    schema: Arc<Schema>,
}

/// Arguments that fit, and what they ask for.
#[derive(Debug)]
pub struct Input {
    /// Canonical JSON: what guards judge and the tool gets.
    pub text: String,
    /// BLAKE3 of `text`.
    pub digest: String,
    /// The time-out the call names itself, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// The paths it names, by argument, as the model wrote them.
    pub paths: Vec<(String, String)>,
    /// What was changed to make the arguments fit.
    pub mended: Vec<String>,
}

/// What became of a call that ran.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// It changed bytes in the workspace by the write import.
    pub altered: bool,
    /// It started a command, and what that changed is unknown.
    pub executed: bool,
    /// What it used.
    pub used: Used,
}

/// The three ways a call that ran can end.
#[derive(Debug)]
pub enum End {
    /// It did what was asked.
    Outcome(Told),
    /// It said why it could not.
    Fault(Fault),
    /// Its plugin broke.
    Broken(Breakage),
}

/// An outcome as it is told: to the model, to people, to clients.
#[derive(Debug)]
pub struct Told {
    /// For the model; redacted, at most 64 KiB.
    pub text: String,
    /// What it shows besides.
    pub images: Vec<Image>,
    /// One line for people; redacted.
    pub summary: String,
    /// JSON for clients; redacted.
    pub data: Option<String>,
    /// Of the command.
    pub exit_code: Option<i32>,
}

impl Told {
    /// What a model reads, with a line for each image.
    pub fn as_read(&self) -> String {
        let image = |image: &Image| {
            let Image { media_type, width, height, .. } = image;
            format!("[image: {}, {width} x {height}]", media_type.as_str())
        };
        let text = Some(self.text.clone()).filter(|text| !text.is_empty());
        text.into_iter().chain(self.images.iter().map(image)).collect::<Vec<_>>().join("\n")
    }
}

impl Ran {
    /// The host's own code panicked under a call: what it changed is unknown.
    pub fn panicked(plugin: &str, what: &str) -> Ran {
        let broken = Breakage::of_host(plugin, "run", what);
        Ran { end: End::Broken(broken), altered: true, executed: true, used: Used::default() }
    }
}

impl ToolPlugin {
    pub(super) fn new(
        engine: &Engine,
        name: &str,
        config: &PluginConfig,
        pre: ToolPluginPre<CallState>,
    ) -> ToolPlugin {
        let reach = Arc::new(Reach::of(config));
        let limits = config.limits;
        let fetch = Arc::new(Fetch::new(name, config.servers.clone()));
        let config = serde_json::Value::Object(config.config.clone()).to_string().into();
        let (engine, name) = (engine.clone(), name.into());
        ToolPlugin { engine, name, config, fetch, reach, limits, pre }
    }

    /// Asks the component what it offers, and says what that used. Its answer is checked: it is what
    /// models are told.
    pub(super) async fn tools(
        self: Arc<Self>,
        workspace: Arc<Workspace>,
    ) -> Result<(Vec<Tool>, Used), LoadError> {
        let deadline = Deadline::after(DESCRIBING);
        let _place = self.engine.tool_place().await;
        let mut store = self.store(workspace, Effects::empty(), deadline, None)?;
        let started = Instant::now();
        let mut gauge = Gauge::start(u64::MAX);
        let specs = async {
            let instance = self.pre.instantiate_async(&mut store).await?;
            gauge.stands(&store.data().meter);
            instance.harness_plugin_tool().call_specs(&mut store).await
        };
        let specs = match tokio::time::timeout(DESCRIBING, specs).await {
            Ok(Ok(specs)) => specs,
            Ok(Err(err)) => return Err(self.breakage("specs", &err, &store, started).into()),
            Err(_) => return Err(self.out_of_time("specs", &store, started).into()),
        };
        let used = read(&gauge, &store);
        let mut tools: Vec<Tool> = Vec::new();
        for spec in specs {
            if !is_tool_name(&spec.name) {
                return Err(LoadError::BadDescription(format!(
                    "tool name `{}` must be 1 to 64 of a-z, A-Z, 0-9, `_` and `-`",
                    spec.name
                )));
            }
            if tools.iter().any(|tool| tool.spec.name == spec.name) {
                let twice = format!("tool `{}` is offered twice", spec.name);
                return Err(LoadError::BadDescription(twice));
            }
            let schema = Schema::new(&spec.input_schema).map_err(|problem| {
                LoadError::BadDescription(format!("tool `{}`: {problem}", spec.name))
            })?;
            tools.push(Tool {
                plugin: self.clone(),
                spec: Arc::new(spec),
                schema: Arc::new(schema),
            });
        }
        Ok((tools, used))
    }

    fn store(
        &self,
        workspace: Arc<Workspace>,
        effects: Effects,
        deadline: Deadline,
        watcher: Option<Watcher>,
    ) -> Result<Store<CallState>, Breakage> {
        // Only for a plugin that is narrowed: a handle of its own on the workspace.
        let jail = match self.reach.is_all_of_workspace() {
            true => None,
            false => {
                let narrowed = workspace.jail.narrowed(self.reach.scope.clone());
                Some(narrowed.map_err(|err| {
                    let what = format!("no handle on the workspace: {err}");
                    Breakage::of_host(&self.name, "run", &what)
                })?)
            }
        };
        let state = CallState {
            meter: Meter::new(self.limits.memory_bytes),
            sink: Sink::new(&self.name, watcher),
            inert: Inert::real(),
            jail,
            workspace,
            reach: self.reach.clone(),
            plugin: self.name.clone(),
            config: self.config.clone(),
            fetch: self.fetch.clone(),
            effects,
            deadline,
            altered: false,
            executed: false,
            powers: BTreeMap::new(),
        };
        let mut store = Store::new(self.engine.wasmtime(), state);
        store.limiter(|state| &mut state.meter);
        // Tools are bounded by time, not by fuel: they wait for disks and processes.
        store.set_fuel(u64::MAX).expect("fuel is on in the engine's configuration");
        // All it has, in one call: it may write a file of that size.
        let handed_limit = store.data().meter.limit_bytes;
        store.set_hostcall_fuel(handed_limit);
        self.engine.share(&mut store);
        Ok(store)
    }

    fn breakage(
        &self,
        export: &'static str,
        err: &wasmtime::Error,
        store: &Store<CallState>,
        started: Instant,
    ) -> Breakage {
        Breakage::new(&self.name, export, err, &remains(store, started))
    }

    fn out_of_time(
        &self,
        export: &'static str,
        store: &Store<CallState>,
        started: Instant,
    ) -> Breakage {
        Breakage::out_of_time(&self.name, export, &remains(store, started))
    }
}

/// What is left in a store whose guest broke.
fn remains(store: &Store<CallState>, started: Instant) -> Remains<'_> {
    let CallState { meter, sink, .. } = store.data();
    Remains {
        meter,
        sink,
        fuel_limit: u64::MAX,
        fuel_left: store.get_fuel().unwrap_or_default(),
        handed_limit: meter.limit_bytes,
        elapsed: started.elapsed(),
    }
}

impl Tool {
    /// What it says of itself.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The plugin it comes from.
    pub fn plugin(&self) -> &str {
        &self.plugin.name
    }

    /// True when it neither changes nor runs anything: such calls may run side by side.
    pub fn only_reads(&self) -> bool {
        !self.spec.effects.intersects(Effects::WRITE | Effects::EXECUTE | Effects::NETWORK)
    }

    /// True when it may run commands.
    pub fn executes(&self) -> bool {
        self.spec.effects.contains(Effects::EXECUTE)
    }

    /// Checks a model's arguments.
    ///
    /// # Errors
    ///
    /// A text for the model: what did not fit, and what would.
    pub fn check(&self, arguments: &str) -> Result<Input, String> {
        let Fitting { value, text, mended } = self.schema.fit(&self.spec.name, arguments)?;
        let argument = self.spec.timeout_argument.as_deref();
        let seconds = argument.and_then(|name| value.get(name)).and_then(serde_json::Value::as_f64);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to the range of u32; a float cast saturates"
        )]
        let timeout_ms = seconds.map(|seconds| (seconds * 1_000.0).max(0.0) as u32);
        let digest = blake3::hash(text.as_bytes()).to_hex().to_string();
        let paths = named_paths(&self.spec.path_arguments, &value);
        Ok(Input { text, digest, timeout_ms, paths, mended })
    }

    /// Runs a call that passed its checks. Returns by `deadline`, give or take a moment.
    pub async fn run(
        &self,
        call: &Call,
        workspace: &Arc<Workspace>,
        deadline: Deadline,
        lines: UnboundedSender<Line>,
    ) -> Ran {
        let plugin = &self.plugin;
        let limit = match plugin.limits.seconds {
            Some(seconds) => Duration::from_secs(u64::from(seconds)),
            None => Duration::from_millis(u64::from(self.spec.timeout_ms)),
        };
        let deadline = deadline.at_most(limit);
        let watcher = Watcher { call_id: call.id.clone(), lines };
        let place = plugin.engine.call_place(&workspace.first_call);
        let waiting = tokio::time::timeout(deadline.left(), place);
        let Ok(_places) = waiting.await else {
            let what = "too many calls of other runs were under way, and none ended in time";
            let broken = Breakage::of_host(&plugin.name, "run", what);
            let used = Used::default();
            return Ran { end: End::Broken(broken), altered: false, executed: false, used };
        };
        let made = plugin.store(workspace.clone(), self.spec.effects, deadline, Some(watcher));
        let mut store = match made {
            Ok(store) => store,
            Err(broken) => {
                return Ran {
                    end: End::Broken(broken),
                    altered: false,
                    executed: false,
                    used: Used::default(),
                };
            }
        };
        let started = Instant::now();
        let mut gauge = Gauge::start(u64::MAX);
        let work = async {
            let instance = plugin.pre.instantiate_async(&mut store).await?;
            gauge.stands(&store.data().meter);
            instance.harness_plugin_tool().call_run(&mut store, call).await
        };
        let ended = tokio::time::timeout(deadline.left() + HANDING_OVER, work).await;
        let end = match ended {
            Ok(Ok(Ok(outcome))) => End::Outcome(tell(outcome, workspace)),
            Ok(Ok(Err(fault))) => End::Fault(redact_fault(fault, workspace)),
            Ok(Err(err)) => End::Broken(plugin.breakage("run", &err, &store, started)),
            Err(_) => End::Broken(plugin.out_of_time("run", &store, started)),
        };
        if let End::Broken(breakage) = &end {
            tracing::error!(plugin = self.plugin(), tool = self.spec.name, "{breakage}");
        }
        let CallState { altered, executed, .. } = *store.data();
        Ran { end, altered, executed, used: read(&gauge, &store) }
    }
}

/// What a question used, powers included.
fn read(gauge: &Gauge, store: &Store<CallState>) -> Used {
    let CallState { meter, powers, .. } = store.data();
    Used { powers: powers.clone(), ..gauge.read(store, meter) }
}

/// The texts of these arguments: each one text, or a list of them.
pub fn named_paths(arguments: &[String], input: &serde_json::Value) -> Vec<(String, String)> {
    let mut paths = Vec::new();
    for argument in arguments {
        let one_or_many = match input.get(argument) {
            Some(serde_json::Value::Array(many)) => many.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        let texts = one_or_many.iter().filter_map(serde_json::Value::as_str);
        paths.extend(texts.map(|text| (argument.clone(), text.to_owned())));
    }
    paths
}

/// An outcome, joined, redacted and cut to what a model should read.
fn tell(outcome: Outcome, workspace: &Workspace) -> Told {
    let redact = |text: &str| workspace.redactor.redact(text).into_owned();
    let mut texts = Vec::new();
    let mut images = Vec::new();
    let mut left_out = 0;
    for part in outcome.parts {
        match part {
            Part::Text(text) => texts.push(text),
            Part::Image(_) if images.len() == IMAGES => left_out += 1,
            Part::Image(wit::Image { media_type, bytes }) => match Image::read(&bytes) {
                Some(image) => images.push(image),
                None => texts.push(format!(
                    "[{media_type}, {} bytes; not shown: no PNG, JPEG, GIF or WebP image that can be read]",
                    bytes.len()
                )),
            },
        }
    }
    if left_out > 0 {
        texts.push(format!("[{left_out} more images; not shown: an outcome has {IMAGES} at most]"));
    }
    Told {
        text: cut(redact(&texts.join("\n")), workspace),
        images,
        summary: one_line(&redact(&outcome.summary)).to_owned(),
        // Cut JSON would be none: what is over the cap is left out.
        data: outcome.data.as_deref().filter(|data| data.len() <= TEXT_BYTES).map(redact),
        exit_code: outcome.exit_code,
    }
}

fn one_line(summary: &str) -> &str {
    let line = summary.lines().next().unwrap_or_default();
    &line[..line.floor_char_boundary(SUMMARY_BYTES)]
}

fn redact_fault(fault: Fault, workspace: &Workspace) -> Fault {
    let redact = |text: &str| workspace.redactor.redact(text).into_owned();
    Fault {
        kind: fault.kind,
        message: cut(redact(&fault.message), workspace),
        hint: fault.hint.map(|hint| redact(&hint[..hint.floor_char_boundary(HINT_BYTES)])),
    }
}

/// Text over the cap: its beginning, and where the whole lies.
fn cut(text: String, workspace: &Workspace) -> String {
    if text.len() <= TEXT_BYTES {
        return text;
    }
    let head = &text[..text.floor_char_boundary(TEXT_BYTES - 512)];
    let head = head.rfind('\n').filter(|at| *at > TEXT_BYTES / 2).map_or(head, |at| &head[..at]);
    let whole = tokio::task::block_in_place(|| workspace.jail.spill("outcome", text.as_bytes()));
    match whole {
        Ok(path) => format!(
            "{head}\n[cut after {} of {} bytes; the whole is in `{path}`, read it with an offset]",
            head.len(),
            text.len()
        ),
        Err(_) => format!("{head}\n[cut after {} of {} bytes]", head.len(), text.len()),
    }
}

/// OpenAI's rule for function names, and everyone else's.
fn is_tool_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(fits)
}
