//! The log: lines on standard error, with no secret in them.
//!
//! Redaction sits in the writer, behind every formatter, so that no log call can go around it.

use std::io::{self, Write};
use std::sync::Arc;

use anyhow::Context;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::redact::Redactor;

/// Starts logging at `level` and above.
///
/// # Errors
///
/// When the level is none of `error`, `warn`, `info`, `debug`, `trace`, nor a filter.
pub(super) fn start(level: &str, redactor: Redactor) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(level).with_context(|| {
        format!("expected one of error, warn, info, debug, trace as log level, got `{level}`")
    })?;
    let redacting = Redacting(Arc::new(redactor));
    let subscriber =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(redacting);
    // A second start in one process (tests) keeps the first.
    let _ = subscriber.try_init();
    Ok(())
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
