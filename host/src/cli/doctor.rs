//! `harness doctor`: would a server start here, and would it work?
//!
//! One line a check. A *problem* keeps the server from starting, a *warning* does not. Starts no
//! server and no command, and changes nothing but a directory of its own under the system's
//! temporary directory, which it removes. What it prints has no secret in it.

#![expect(clippy::print_stdout, reason = "the findings are the command's output")]

mod reach;
mod things;

use anyhow::bail;

use super::boot;
use super::flags::{Configured, settings};
use crate::plugin::Engine;
use crate::redact::Redactor;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grade {
    Ok,
    /// The server starts, and something will not be as it should.
    Warning,
    /// The server does not start.
    Problem,
}

/// What one check found.
struct Finding {
    grade: Grade,
    what: String,
}

impl Finding {
    fn ok(what: impl Into<String>) -> Finding {
        Finding { grade: Grade::Ok, what: what.into() }
    }

    fn warning(what: impl Into<String>) -> Finding {
        Finding { grade: Grade::Warning, what: what.into() }
    }

    fn problem(what: impl Into<String>) -> Finding {
        Finding { grade: Grade::Problem, what: what.into() }
    }
}

/// Prints each finding as it is made, and counts.
struct Report {
    redactor: Redactor,
    problems: usize,
}

impl Report {
    fn tell(&mut self, check: &str, finding: Finding) {
        let grade = match finding.grade {
            Grade::Ok => "ok",
            Grade::Warning => "warning",
            Grade::Problem => "problem",
        };
        self.problems += usize::from(finding.grade == Grade::Problem);
        // One line a check, whatever an error's text is made of.
        let what = finding.what.replace("\nhint: ", "; ").replace('\n', " ");
        println!("{}", self.redactor.redact(&format!("{grade:<8} {check:<14} {what}")));
    }
}

/// Makes every check.
pub(super) async fn run(flags: &Configured) -> anyhow::Result<()> {
    let (settings, environment) = settings(flags)?;
    let redactor = boot::redactor(settings.secrets(), &environment);
    let mut report = Report { redactor, problems: 0 };
    let checked = settings.check();
    match &checked {
        Ok(_) => report.tell("configuration", things::configuration(&settings)),
        Err(problems) => {
            for problem in problems {
                report.tell("configuration", Finding::problem(problem.to_string()));
            }
        }
    }
    for warning in settings.warnings() {
        report.tell("configuration", Finding::warning(warning.to_string()));
    }
    for (program, finding) in things::programs(&environment) {
        report.tell(program, finding);
    }
    let Ok(config) = checked else {
        bail!("the server would not start; mend the configuration, the rest was not looked at");
    };
    report.tell("state", things::state(&config));
    let (ledger, in_use) = things::ledger(&config);
    report.tell("ledger", ledger);
    let engine = Engine::new()?;
    for finding in things::plugins(&engine, &config, &environment).await {
        report.tell(finding.0, finding.1);
    }
    report.tell("upstream", reach::upstream(&config).await);
    if let Some(window) = config.context_window {
        let origin = settings.iter().find(|(key, _)| key.name == "context.window");
        let origin = origin.and_then(|(_, setting)| setting).map(|setting| &setting.origin);
        let origin = origin.map(ToString::to_string).unwrap_or_default();
        report.tell("context", Finding::ok(format!("a window of {window} tokens ({origin})")));
    }
    report.tell("containment", things::containment(&config, &environment));
    report.tell("address", reach::address(config.addr, in_use));
    report.tell("access", reach::access(&config));
    match report.problems {
        0 => Ok(()),
        count => bail!("the server would not start: {count} problem(s)"),
    }
}
