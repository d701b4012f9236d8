//! What is in view: masks, what is read or written below and above them, and every shape of `.git`.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use harness_jail::{Ending, Jail, Posture, Sandbox, secret_places};

use super::world::{PATH, place, run, walls};
use crate::process::{request, shell_with};
use crate::workspace::Workspace;

const WALLS: [Posture; 2] = [Posture::Full, Posture::Partial];

/// `masked`, `read` and `write` by their names outside, what is tried, and whether it works.
type Row = ([&'static str; 3], &'static str, bool);

const ROWS: [Row; 15] = [
    // The directory around the workspace is masked, as it is where many workspaces lie.
    (["..", "", ""], "cat $OUTSIDE/plain", false),
    (["..", "", ""], "ls $OUTSIDE/.. | grep outside", false),
    (["..", "", ""], "echo x > f && grep x f && ls", true),
    (["..", "", ""], "cd / && cd \"$OLDPWD\" && mkdir -p a/b && mv a b", true),
    // One place in a mask is shown.
    ([".", "private", ""], "grep secret $OUTSIDE/private/key", true),
    ([".", "private", ""], "cat $OUTSIDE/plain", false),
    ([".", "private", ""], "echo > $OUTSIDE/private/key", false),
    (["private", "private", ""], "grep secret $OUTSIDE/private/key", true),
    // One place in what is shown is masked.
    (["private", ".", ""], "cat $OUTSIDE/private/key", false),
    (["private", ".", ""], "grep plain $OUTSIDE/plain", true),
    // One place in what may be written is masked.
    (["private", "", "."], "cat $OUTSIDE/private/key", false),
    (["private", "", "."], "echo > $OUTSIDE/private/key", false),
    (["private", "", "."], "echo >> $OUTSIDE/plain", true),
    ([".", "", "private"], "echo >> $OUTSIDE/private/key && touch $OUTSIDE/private/new", true),
    ([".", "", "private"], "cat $OUTSIDE/plain", false),
];

#[tokio::test]
async fn masks() {
    for posture in WALLS {
        for (places, script, works) in ROWS {
            let w = Workspace::new_in(&place());
            let outside = w.outside().canonicalize().expect("there");
            fs::create_dir(outside.join("private")).expect("a directory");
            fs::write(outside.join("private/key"), "secret").expect("a file");
            fs::write(outside.join("plain"), "plain").expect("a file");
            let there = |name: &str| -> Vec<PathBuf> {
                let names = Some(name).filter(|name| !name.is_empty());
                names.map(|name| outside.join(name)).into_iter().collect()
            };
            let [masked, read, write] = places.map(there);
            let shell =
                shell_with(&w, Sandbox { masked, read, write, ..walls(posture) }, environment(&w));
            let done = run(&w, &shell, script).await;
            let what = format!("{} {places:?} {script}: {}", posture.name(), done.output);
            assert_eq!(done.ending == Ending::Exited(0), works, "{what}");
        }
    }
}

/// Secrets are where programs keep them, or where a link from there leads.
#[tokio::test]
async fn secret_places_are_masked() {
    for posture in WALLS {
        let w = Workspace::new_in(&place());
        let home = w.outside().canonicalize().expect("there");
        fs::create_dir_all(home.join(".ssh")).expect("a directory");
        fs::create_dir_all(home.join("kept/aws")).expect("a directory");
        for name in [".ssh/id", "kept/aws/credentials", "kept/netrc", ".gitconfig", "kept/plain"] {
            fs::write(home.join(name), "planted").expect(name);
        }
        symlink(home.join("kept/aws"), home.join(".aws")).expect("a link");
        symlink("kept/netrc", home.join(".netrc")).expect("a link");
        let sandbox = Sandbox { masked: secret_places(Some(&home)), ..walls(posture) };
        let shell = shell_with(&w, sandbox, environment(&w));
        for (script, works) in [
            ("cat $OUTSIDE/.ssh/id", false),
            ("ls $OUTSIDE/.ssh", false),
            ("cat $OUTSIDE/.aws/credentials", false),
            ("cat $OUTSIDE/kept/aws/credentials", false),
            ("cat $OUTSIDE/.netrc", false),
            ("cat $OUTSIDE/kept/netrc", false),
            ("cat /etc/shadow", false),
            ("ls /run", false),
            ("ls /var/run/", false),
            ("cat $OUTSIDE/.gitconfig $OUTSIDE/kept/plain", true),
            ("id -un && getent passwd root", true),
        ] {
            let done = run(&w, &shell, script).await;
            let what = format!("{} {script}: {}", posture.name(), done.output);
            assert_eq!(done.ending == Ending::Exited(0), works, "{what}");
        }
    }
}

/// Whatever a command made of `.git`, the next session can be opened.
#[tokio::test]
async fn shapes_of_git() {
    for posture in WALLS {
        for make in [
            "true",
            "echo gitdir: x > .git",
            "mkdir x; ln -s x .git",
            "mkdir -p x/hooks; ln -s x .git",
            "ln -s $OUTSIDE .git",
            "ln -s gone .git",
            "mkfifo .git",
            "mkdir .git",
            "mkdir .git; chmod 0 .git",
            "mkdir .git; chmod 500 .git",
            "mkdir .git; echo > .git/hooks",
            "mkdir -p .git/other; ln -s other .git/hooks",
            "mkdir -p .git x; ln -s ../x .git/hooks",
            "mkdir .git; ln -s $OUTSIDE .git/hooks",
            "mkdir .git; ln -s gone .git/hooks",
            "mkdir .git; mkfifo .git/hooks",
        ] {
            let w = Workspace::new_in(&place());
            let open = || shell_with(&w, walls(posture), environment(&w));
            assert_eq!(run(&w, &open(), make).await.ending, Ending::Exited(0), "{make}");
            let done = run(&w, &open(), "echo > file && mkdir -p a && mv file a").await;
            assert_eq!(done.ending, Ending::Exited(0), "{make}: {}", done.output);
            // Nothing that is laid over leads to what lies outside.
            let wrote = run(&w, &open(), "echo > .git/new; echo > .git/hooks/new; true").await;
            assert_eq!(wrote.ending, Ending::Exited(0), "{make}");
            let outside: Vec<_> = fs::read_dir(w.outside()).expect("ours").flatten().collect();
            assert_eq!(outside.len(), 1, "{make}: {outside:?}");
        }
    }
}

/// What is bound when the walls are built may be gone before they stand.
#[tokio::test]
async fn sockets_come_and_go() {
    let w = Workspace::new_in(&place());
    let path = w.outside().join("socket");
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let busy = std::thread::spawn(move || {
        while ended.try_recv() == Err(std::sync::mpsc::TryRecvError::Empty) {
            let socket = UnixListener::bind(&path).expect("a socket");
            fs::remove_file(&path).expect("ours");
            drop(socket);
        }
    });
    for _ in 0..40 {
        let shell = shell_with(&w, walls(Posture::Full), environment(&w));
        assert_eq!(run(&w, &shell, "true").await.ending, Ending::Exited(0));
    }
    drop(end);
    busy.join().expect("it went on");
}

/// A session's own `/tmp` does not hide a workspace that is the `/tmp` of all.
#[tokio::test]
async fn a_workspace_where_temporary_files_are() {
    for directory in ["/tmp", "/var/tmp"] {
        let w = Workspace::new();
        let planted = tempfile::Builder::new().tempfile_in(directory).expect("a file");
        fs::write(planted.path(), "before").expect("written");
        let shell = shell_with(&w, walls(Posture::Full), environment(&w));
        let jail = Jail::open(std::path::Path::new(directory), None).expect("a jail");
        let script = format!("cat {0} && echo after > {0}", planted.path().display());
        let done = shell.run(&jail, request(&script)).await.expect("ran");
        assert_eq!(done.output, "before", "{directory}");
        assert_eq!(fs::read_to_string(planted.path()).expect("there"), "after\n", "{directory}");
    }
}

fn environment(w: &Workspace) -> Vec<(String, String)> {
    let outside = w.outside().display().to_string();
    vec![("PATH".to_owned(), PATH.to_owned()), ("OUTSIDE".to_owned(), outside)]
}
