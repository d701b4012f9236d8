//! Compiled plugins that outlive the server: where they lie, and whom they are not taken from.

use std::fs;
use std::path::PathBuf;

use harness::event::CallEnding;

use super::{WRITES_A_FILE, write_a_file};
use crate::rig::Rig;

const TAMPERED: &str = "in the cache was tampered with or cut";

/// Compiled plugins; the key is not one.
fn compiled(rig: &Rig) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(rig.root().join("state/compiled")) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| !path.ends_with("key")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_compiled_is_taken_up_again_unless_somebody_touched_it() {
    let mut rig = Rig::start(WRITES_A_FILE, "").await;
    assert_eq!(write_a_file(&rig).await.ending, CallEnding::Succeeded);
    let before = compiled(&rig);
    assert!(before.len() > 5, "{before:?}");
    rig.kill();
    let others = fs::read(&before[0]).unwrap();
    for (number, path) in before.iter().enumerate() {
        let mut bytes = fs::read(path).unwrap();
        match number % 3 {
            0 => *bytes.last_mut().unwrap() ^= 1,
            1 => bytes.truncate(20),
            // Another plugin's, with its code: under this name it is a forgery too.
            _ => bytes.clone_from(&others),
        }
        fs::write(path, bytes).unwrap();
    }
    rig.restart();
    let touched = rig.chat(&rig.body("once more")).await;
    assert_eq!(touched.status, 200, "{:#}", touched.body);
    assert!(rig.log().contains(TAMPERED), "{}", rig.log());
    // What was forged is made anew, and taken up from then on.
    assert_eq!(compiled(&rig).len(), before.len());
    let told = rig.log().matches(TAMPERED).count();
    rig.kill();
    rig.restart();
    let again = rig.chat(&rig.body("and again")).await;
    assert_eq!(again.status, 200, "{:#}", again.body);
    assert_eq!(rig.log().matches(TAMPERED).count(), told, "{}", rig.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_kept_where_commands_could_reach_it() {
    let mut rig = Rig::start(WRITES_A_FILE, "").await;
    assert_eq!(write_a_file(&rig).await.ending, CallEnding::Succeeded);
    assert_ne!(compiled(&rig), Vec::<PathBuf>::new());
    rig.kill();
    let path = rig.root().join("harness.toml");
    let open = fs::read_to_string(&path).unwrap()
        + "[shell]\nsandbox = \"none\"\nallow_unsandboxed = true\n";
    fs::write(path, open).unwrap();
    rig.restart();
    assert_eq!(rig.chat(&rig.body("once more")).await.status, 200);
    assert!(!rig.root().join("state/compiled").exists());
}
