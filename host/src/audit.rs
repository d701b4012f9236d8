//! The audit log: every command, every denial and every client that was turned away, a line of
//! JSON each, apart from the log and from the ledger.
//!
//! Only ever appended to. A command that cannot be told here is not run; what was refused is
//! refused all the same. Knows nothing of runs but their names; its texts were redacted before.

use std::io;
use std::path::Path;

use harness_jail::AppendFile;
use serde_json::{Value, json};

use crate::ledger::now_ms;

/// An open audit log.
#[derive(Debug)]
pub struct Audit(AppendFile);

/// A call that a guard refused.
#[derive(Clone, Copy, Debug)]
pub struct Denied<'a> {
    /// The call.
    pub call_id: &'a str,
    /// The tool that would have run.
    pub tool: &'a str,
    /// Who refused.
    pub guard: &'a str,
    /// By which rule.
    pub rule: &'a str,
    /// What the model was told.
    pub text: &'a str,
}

/// A run, and whose it is.
#[derive(Clone, Copy, Debug)]
pub struct Whose<'a> {
    /// The caller.
    pub caller: &'a str,
    /// The session.
    pub session: &'a str,
    /// The run.
    pub run: &'a str,
}

impl Audit {
    /// Opens the log, making the file (mode 0600) when there is none.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<Audit> {
        AppendFile::open(path).map(Audit)
    }

    /// A command is about to run; `input` is what the tool gets, redacted.
    ///
    /// # Errors
    ///
    /// When the line could not be written.
    pub fn command(
        &self,
        whose: Whose<'_>,
        call_id: &str,
        tool: &str,
        input: &str,
    ) -> io::Result<()> {
        let input = serde_json::from_str(input).unwrap_or_else(|_| Value::from(input));
        self.append(json!({
            "at_ms": now_ms(), "kind": "command",
            "caller": whose.caller, "session": whose.session, "run": whose.run,
            "call": call_id, "tool": tool, "input": input,
        }))
    }

    /// A guard refused a call.
    pub fn denial(&self, whose: Whose<'_>, denied: Denied<'_>) {
        let Denied { call_id, tool, guard, rule, text } = denied;
        self.tell(json!({
            "at_ms": now_ms(), "kind": "denial",
            "caller": whose.caller, "session": whose.session, "run": whose.run,
            "call": call_id, "tool": tool, "guard": guard, "rule": rule, "text": text,
        }));
    }

    /// A request was turned away: no token (401), or not allowed (403).
    pub fn refusal(&self, request: &str, method: &str, path: &str, status: u16) {
        self.tell(json!({
            "at_ms": now_ms(), "kind": "refusal",
            "request": request, "method": method, "path": path, "status": status,
        }));
    }

    fn tell(&self, line: Value) {
        if let Err(err) = self.append(line) {
            tracing::error!("the audit log does not take a line: {err}");
        }
    }

    fn append(&self, line: Value) -> io::Result<()> {
        // In one write, so that lines of several tasks never mix.
        self.0.append(format!("{line}\n").as_bytes())
    }
}
