//! The log: lines on standard error, with no secret in them.
//!
//! Redaction sits in the writer, behind every formatter, so that no log call can go around it.

mod plugins;

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use crate::config::LogFormat;
use crate::redact::Redactor;
use plugins::PluginLines;
pub(super) use plugins::paths as plugin_paths;

/// Starts logging what `level`, a level or a filter, lets through; what plugins say goes to files
/// of their own besides, under `state_dir`.
///
/// # Errors
///
/// When `level` is neither.
pub(super) fn start(
    level: &str,
    format: LogFormat,
    redactor: Redactor,
    state_dir: &Path,
) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("expected a log level or a filter, got `{level}`"))?;
    let redactor = Arc::new(redactor);
    let lines = PluginLines::new(state_dir, redactor.clone());
    let formatted = fmt::layer().with_ansi(false).with_writer(Redacting(redactor));
    let formatted = match format {
        LogFormat::Text => formatted.boxed(),
        LogFormat::Json => formatted.json().boxed(),
    };
    let of_plugins = filter_fn(|metadata| metadata.target().starts_with(plugins::TARGET))
        .with_max_level_hint(LevelFilter::DEBUG);
    // A second start in one process (tests) keeps the first.
    let _ = tracing_subscriber::registry()
        .with(formatted.with_filter(filter))
        .with(lines.with_filter(of_plugins))
        .try_init();
    Ok(())
}

/// Starts logging what plugins say, all of it and nothing else, for a person who tries one out.
pub(super) fn start_for_plugins(redactor: Redactor) {
    let redacting = Redacting(Arc::new(redactor));
    let subscriber = fmt::fmt()
        .with_env_filter(EnvFilter::new("off,harness::plugin::sink=trace"))
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .with_writer(redacting);
    let _ = subscriber.try_init();
}

struct Redacting(Arc<Redactor>);

impl<'a> MakeWriter<'a> for Redacting {
    type Writer = Redacted<'a>;

    fn make_writer(&'a self) -> Redacted<'a> {
        Redacted(&self.0)
    }
}

/// Gets each line whole, as the formatter hands it over.
struct Redacted<'a>(&'a Redactor);

impl Write for Redacted<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        io::stderr().lock().write_all(self.0.redact(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
