//! The walls around commands, as a client and an operator meet them.
//!
//! What they hold is shown one level below, in `host/jail/tests/sandbox`; here, that the server puts
//! them up, says so, and does without in no silence.

#![allow(clippy::print_stdout, reason = "what is skipped is said")]

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::{KEY, Rig};

/// Runs each command in a call of its own, and gives what came of each.
async fn outcomes(
    config: impl FnOnce(&std::path::Path) -> String,
    commands: &[&str],
) -> Vec<String> {
    let rig = Rig::start_in(&script(commands), config).await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(reply.status, 200, "{:#}\n{}", reply.body, rig.log());
    rig.outcomes(&reply.run).await.into_iter().map(|(_, text)| text).collect()
}

fn script(commands: &[&str]) -> String {
    let mut script = String::new();
    for command in commands {
        let input = json!({"command": command});
        let call = format!("{{ tool = \"bash\", arguments = '''{input}''' }}");
        writeln!(script, "[[turn]]\ncalls = [{call}]").unwrap();
    }
    script + "[[turn]]\ntext = \"done\"\n"
}

/// Whether this machine lets anybody build all walls.
async fn is_full(rig: &Rig) -> bool {
    let ready = ready(rig).await;
    let is_full = ready["sandbox"] == "full";
    if !is_full {
        println!("skipped: the posture here is {}", ready["sandbox"]);
    }
    is_full
}

/// What `/readyz` says once it is so; plugins are compiled until then.
async fn ready(rig: &Rig) -> Value {
    loop {
        let (status, said) = rig.json("/readyz").await;
        if status == 200 {
            return said;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_the_servers_own_is_out_of_sight() {
    let commands = [
        "cat ~/.ssh/id; ls ../state; ls -a ~; cat ../harness.toml; cat ../audit",
        "cat /proc/$PPID/environ /proc/[0-9]*/environ | tr '\\0' '\\n' | grep KEY",
        "touch ../outside; echo x > ../outside; mkdir ~/made; echo rc=$?",
        "echo kept > /tmp/mine; echo $TMPDIR",
        "cat /tmp/mine; id -u; ls /tmp",
    ];
    let rig = Rig::start_in(&script(&commands), |root| {
        std::fs::create_dir(root.join(".ssh")).unwrap();
        std::fs::write(root.join(".ssh/id"), "planted").unwrap();
        format!("[log]\naudit = \"{}\"\n", root.join("audit").display())
    })
    .await;
    if !is_full(&rig).await {
        return;
    }
    let reply = rig.chat(&rig.body("go")).await;
    let outcomes = rig.outcomes(&reply.run).await;
    let all = format!("{outcomes:?}");
    assert!(!all.contains("planted") && !all.contains(KEY), "{all}");
    for leak in ["ledger.sqlite", "base_url", "\"input\""] {
        assert!(!all.contains(leak), "`{leak}` in {all}");
    }
    assert!(outcomes[2].1.contains("rc=1"), "{all}");
    assert!(!rig.root().join("outside").exists() && !rig.root().join("made").exists());
    assert!(outcomes[3].1.starts_with("/tmp\n"), "{all}");
    assert!(outcomes[4].1.contains("kept\n") && outcomes[4].1.contains("mine"), "{all}");
    // It goes with the session.
    let tmp = rig.root().join("state/tmp").join(&reply.session);
    assert!(tmp.join("mine").exists());
    let path = format!("/v1/sessions/{}", reply.session);
    assert_eq!(rig.ask("DELETE", &path, None).await.0, 200);
    assert!(!tmp.exists());
}

/// The model is told whose doing it was, so that it does not argue with it.
#[tokio::test(flavor = "multi_thread")]
async fn refusals_name_the_sandbox_and_the_setting() {
    let commands = [
        "touch /usr/planted",
        "exec 3<>/dev/tcp/192.0.2.1/80",
        "git init -q . && git config core.hooksPath /tmp/hooks",
    ];
    let rig = Rig::start(&script(&commands), "").await;
    if !is_full(&rig).await {
        return;
    }
    let reply = rig.chat(&rig.body("go")).await;
    let outcomes = rig.outcomes(&reply.run).await;
    let says = |number: usize, words: &str| {
        let text: &String = &outcomes[number].1;
        assert!(text.contains(words), "no `{words}` in {text}");
    };
    says(
        0,
        "[the sandbox lets commands write in the workspace and /tmp only; the server's setting `shell.write`",
    );
    says(1, "`shell.network = true`");
    says(2, "`core.hookspath`");
}

/// Settings move the walls, and nothing else does.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_allowed_is_allowed() {
    let outcomes = outcomes(
        |root| {
            for made in [".ssh", "cache"] {
                std::fs::create_dir(root.join(made)).unwrap();
            }
            std::fs::write(root.join(".ssh/known_hosts"), "a.b\n").unwrap();
            let (read, write) = (root.join(".ssh/known_hosts"), root.join("cache"));
            format!(
                "[shell]\nread = [\"{}\"]\nwrite = [\"{}\"]\nfile_mb = 1\n",
                read.display(),
                write.display()
            )
        },
        &[
            "cat ~/.ssh/known_hosts; echo x > ~/.ssh/known_hosts || echo kept",
            "echo x > ~/cache/f && cat ~/cache/f",
            "head -c 3000000 /dev/zero > big; ls -l big | cut -d' ' -f5",
        ],
    )
    .await;
    assert!(outcomes[0].contains("a.b\n") && outcomes[0].contains("kept"), "{outcomes:?}");
    assert!(outcomes[1].starts_with("x\n"), "{outcomes:?}");
    assert!(outcomes[2].contains("1048576"), "{outcomes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_walls_no_command_is_offered_unless_that_is_wanted() {
    let none = "[shell]\nsandbox = \"none\"\n";
    let rig = Rig::start(&script(&["true"]), none).await;
    let reply = rig.chat(&rig.body("go")).await;
    let told = &rig.outcomes(&reply.run).await[0].1;
    assert!(told.contains("there is no tool `bash`"), "{told}");
    assert_eq!(ready(&rig).await["sandbox"], json!(null));
    assert!(rig.log().contains("`shell.allow_unsandboxed = true` runs them without"));

    let allowed = format!("{none}allow_unsandboxed = true\n");
    let rig = Rig::start(&script(&["touch ../outside && echo reached"]), &allowed).await;
    let reply = rig.chat(&rig.body("go")).await;
    assert_eq!(rig.outcomes(&reply.run).await[0].1, "reached\n");
    assert_eq!(ready(&rig).await["sandbox"], "none");
    assert!(rig.root().join("outside").exists());
}

/// B40: where namespaces are not to be had, the next lower walls stand, the log and the doctor say
/// so, and who insists on all of them gets no server.
#[test]
fn a_machine_without_namespaces_gets_what_there_is() {
    let place = tempfile::tempdir().unwrap();
    let run = |posture: &str, args: &str| {
        let binary = env!("CARGO_BIN_EXE_harness");
        let script = format!(
            "echo 0 > /proc/sys/user/max_user_namespaces || exit 99; exec {binary} {args} \
             --upstream-base-url http://127.0.0.1:9 --state-dir {}/{posture}",
            place.path().display()
        );
        let mut command = std::process::Command::new("unshare");
        command.args(["-Ur", "bash", "-c", &script]).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", place.path()).env("HARNESS_SHELL_SANDBOX", posture);
        command.output()
    };
    let Ok(doctor) = run("auto", "doctor --addr 127.0.0.1:0") else {
        return println!("skipped: there is no `unshare`");
    };
    if doctor.status.code() == Some(99) {
        return println!("skipped: {}", String::from_utf8_lossy(&doctor.stderr));
    }
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    let line = said.lines().find(|line| line.contains("containment")).unwrap_or_default();
    if line.contains("no command is run") {
        return println!("skipped: there is no Landlock either: {line}");
    }
    assert!(
        line.contains("posture `partial`") && line.contains("no walls `full`: namesp"),
        "{said}"
    );
    let refused = run("full", "serve --addr 127.0.0.1:0").unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success(), "{said}");
    assert!(
        said.contains("`shell.sandbox = \"full\"` cannot be had on this machine: namesp"),
        "{said}"
    );
}
