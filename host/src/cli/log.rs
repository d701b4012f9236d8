//! The log: lines on standard error, with no secret in them.
//!
//! Redaction sits in the writer, behind every formatter, so that no log call can go around it.

use std::io::{self, Write};
use std::sync::Arc;

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::LogFormat;
use crate::redact::Redactor;

/// Starts logging what `level`, a level or a filter, lets through.
///
/// # Errors
///
/// When `level` is neither.
pub(super) fn start(level: &str, format: LogFormat, redactor: Redactor) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level)
        .with_context(|| format!("expected a log level or a filter, got `{level}`"))?;
    let redacting = Redacting(Arc::new(redactor));
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(redacting);
    // A second start in one process (tests) keeps the first.
    let _ = match format {
        LogFormat::Text => subscriber.try_init(),
        LogFormat::Json => subscriber.json().try_init(),
    };
    Ok(())
}

/// Starts logging what plugins say, all of it and nothing else, for a person who tries one out.
pub(super) fn start_for_plugins(redactor: Redactor) {
    let redacting = Redacting(Arc::new(redactor));
    let subscriber = tracing_subscriber::fmt()
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
