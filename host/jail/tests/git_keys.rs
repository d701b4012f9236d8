//! What commands do to the keys of `.git/config` that make git run programs.

use harness_jail::{Posture, Request};

use crate::process::{request, runs, sandbox, shell_with, until};
use crate::workspace::Workspace;

const INIT: &str = "git init -q . && git config user.name n && git config alias.st status";

#[tokio::test]
async fn what_git_would_run_is_put_back_and_the_rest_stays() {
    for posture in [Posture::Full, Posture::Partial] {
        for (script, touched) in [
            ("git config core.hooksPath /tmp/h && git config user.name other", "core.hookspath"),
            ("git config alias.st '!touch /tmp/x'", "alias.st"),
            ("git config --unset alias.st; git config alias.x '!y'", "alias.st`, `alias.x"),
            ("git config filter.f.clean 'sh -c x'", "filter.f.clean"),
            ("git config core.worktree /tmp", "core.worktree"),
            ("git config include.path ../evil", "include.path"),
            ("printf '[core' >> .git/config", ".git/config"),
            ("head -c 2000000 /dev/zero | tr '\\0' '#' >> .git/config", ".git/config"),
            (
                "printf '[core]\\n\\tsshCommand = x\\n' > e; ln -sf ../e .git/config",
                "core.sshcommand",
            ),
            ("ln -sf /etc/passwd .git/config", ".git/config"),
            (
                "cp -r .git e; git config -f e/config core.fsmonitor x; echo ../e > .git/commondir",
                ".git/commondir",
            ),
            ("ln -s /tmp .git/commondir", ".git/commondir"),
            (
                "git config extensions.worktreeConfig true; \
              git config --worktree core.editor x",
                "core.editor",
            ),
        ] {
            let w = Workspace::new();
            let shell = shell_with(&w, sandbox(posture), environment());
            let run = async |script: &str| {
                let request = Request { ..request(script) };
                shell.run(&w.jail, request).await.expect("ran")
            };
            let done = run(INIT).await;
            if done.output.contains("git: command not found") {
                println!("skipped: there is no git");
                return;
            }
            // A repository that a command makes has nothing to put back to.
            assert!(done.notes.iter().any(|note| note.contains("`alias.st`")), "{:?}", done.notes);
            let mut config = w.text(".git/config");
            config.push_str("[alias]\n\tst = status\n");
            w.put(".git/config", &config);

            let done = run(script).await;
            let told = done.notes.join("\n");
            assert!(told.contains(&format!("`{touched}`")), "{script}: {told:?} {}", done.output);
            let keys = run("git config --list --local --includes").await;
            assert!(keys.output.contains("alias.st=status\n"), "{script}: {}", keys.output);
            for gone in [
                "hookspath",
                "'!y'",
                "filter.",
                "include.",
                "sshcommand",
                "core.editor",
                "fsmon",
                "core.worktree",
            ] {
                assert!(!keys.output.contains(gone), "{script}: {}", keys.output);
            }
            assert!(keys.notes.is_empty(), "{:?}", keys.notes);
            assert_eq!(keys.output.contains("user.name=other"), script.contains("other"));
        }
    }
}

/// What runs on cannot wait until nobody looks.
#[tokio::test]
async fn what_is_left_running_changes_nothing_for_good() {
    let w = Workspace::new();
    w.put(".git/HEAD", "ref: refs/heads/main\n");
    w.put(".git/config", "[core]\n\tbare = false\n");
    let shell = shell_with(&w, sandbox(Posture::Full), environment());
    let script = "(until [ -e go ]; do sleep 0.01; done; echo '[alias] x = !y' >> .git/config; \
                  touch done; exec sleep 1000) >/dev/null 2>&1 & :";
    shell.run(&w.jail, request(script)).await.expect("ran");
    w.put("go", "");
    while !w.host("done").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let done = shell.run(&w.jail, request("true")).await.expect("ran");
    assert!(done.notes.join("").contains("`alias.x`"), "{:?}", done.notes);
    w.put(".git/config", "[core]\n\tbare = false\n[alias] x = !y\n");
    tokio::task::spawn_blocking(move || drop(shell)).await.expect("ended");
    assert!(!w.text(".git/config").contains("!y"), "{}", w.text(".git/config"));
}

/// Nobody looks at its end, so the next who looks must know what was there before it.
#[tokio::test]
async fn what_ran_on_and_ended_changes_nothing_for_good() {
    for posture in [Posture::Full, Posture::Partial] {
        for is_job in [false, true] {
            let w = Workspace::new();
            w.put(".git/HEAD", "ref: refs/heads/main\n");
            w.put(".git/config", CONFIG);
            let shell = shell_with(&w, sandbox(posture), environment());
            let mark = w.host("go").display().to_string();
            let script = format!(
                "until [ -e {mark} ]; do sleep 0.01; done; echo '[alias] x = !y' >> .git/config"
            );
            if is_job {
                shell.start_job(&w.jail, request(&script)).await.expect("started");
            } else {
                let script = format!("bash -c \"{script}\" {mark} >/dev/null 2>&1 & :");
                shell.run(&w.jail, request(&script)).await.expect("ran");
            }
            w.put("go", "");
            until("the change", || w.text(".git/config") != CONFIG).await;
            let argument = if is_job { &script } else { &mark };
            until("its end", || !runs(argument)).await;
            let done = shell.run(&w.jail, request("true")).await.expect("ran");
            assert!(done.notes.join("").contains("`alias.x`"), "{:?}", done.notes);
            assert!(!w.text(".git/config").contains("!y"), "{}", w.text(".git/config"));
        }
    }
}

#[tokio::test]
async fn what_a_person_changes_while_nothing_runs_stays() {
    let w = Workspace::new();
    w.put(".git/HEAD", "ref: refs/heads/main\n");
    w.put(".git/config", CONFIG);
    let shell = shell_with(&w, sandbox(Posture::Full), environment());
    shell.run(&w.jail, request("true")).await.expect("ran");
    let changed = format!("{CONFIG}[alias]\n\tx = !y\n");
    w.put(".git/config", &changed);
    let done = shell.run(&w.jail, request("true")).await.expect("ran");
    assert_eq!(done.notes, [""; 0]);
    w.put(".git/config", CONFIG.to_owned() + &changed);
    tokio::task::spawn_blocking(move || drop(shell)).await.expect("ended");
    assert_eq!(w.text(".git/config"), CONFIG.to_owned() + &changed);
}

/// What it is, and what puts it there; the text is a large file's.
type Arrangement = (&'static str, fn(&Workspace, &str));

/// What cannot be read cannot be put back.
#[tokio::test]
async fn what_could_not_be_read_is_left_alone() {
    let large = format!("{CONFIG}{}", "# a comment\n".repeat(200_000));
    let arrangements: [Arrangement; 5] = [
        ("a large file", |w, large| w.put(".git/config", large)),
        ("a link out", |w, _| w.link("/etc/passwd", ".git/config")),
        ("a directory", |w, _| w.make_dir(".git/config")),
        ("a worktree", |w, _| w.put(".git", "gitdir: /elsewhere/.git/worktrees/w\n")),
        ("a repository elsewhere", |w, _| w.link("/elsewhere/.git", ".git")),
    ];
    for (what, arrange) in arrangements {
        let w = Workspace::new();
        if what.starts_with("a link") {
            w.make_dir(".git");
        }
        arrange(&w, &large);
        let place = if w.host(".git").is_dir() { ".git/config" } else { ".git" };
        let look = || w.host(place).symlink_metadata().expect("there");
        let before = look();
        let shell = shell_with(&w, sandbox(Posture::Full), environment());
        let done = shell.run(&w.jail, request("true")).await.expect("ran");
        assert_eq!(done.notes, [""; 0], "{what}");
        let after = look();
        assert_eq!((after.file_type(), after.len()), (before.file_type(), before.len()), "{what}");
    }
}

const CONFIG: &str = "[core]\n\tbare = false\n";

fn environment() -> Vec<(String, String)> {
    let variables = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/nowhere")];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}
