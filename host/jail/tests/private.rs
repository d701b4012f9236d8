//! The server's own directories and the files it is configured by.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

use harness_jail::{Look, PrivateDir, find_program, look_at_directory, read_capped};

fn mode(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn private_directories() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let path = temp.path().join("a/state");
    let dir = PrivateDir::open(&path).expect("made with its parents");
    assert_eq!((mode(&path), dir.path()), (0o700, path.as_path()));
    dir.write("x", b"one").expect("written");
    dir.write("x", b"two").expect("replaced");
    assert_eq!(std::fs::read(path.join("x")).expect("there"), b"two");
    assert_eq!(mode(&path.join("x")), 0o600);
    for name in ["../x", "a/b", "", ".."] {
        assert!(dir.write(name, b"").is_err(), "{name}");
        assert!(dir.subdirectory(name).is_err(), "{name}");
    }
    let below = dir.subdirectory("spill").expect("made");
    below.write("y", b"").expect("written");
    assert_eq!(mode(below.path()), 0o700);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("opened");
    let err = PrivateDir::open(&path).expect_err("others may enter");
    assert_eq!(err.kind(), ErrorKind::PermissionDenied);
    assert_eq!(mode(&path), 0o755, "left as it is");
    dir.remove("spill").expect("a tree goes");
    dir.remove("spill").expect("fine twice");
    assert!(!path.join("spill").exists());
    dir.remove_tree().expect("all goes");
    assert!(!path.exists());
}

#[test]
fn configuration_files_are_capped() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let file = temp.path().join("f");
    std::fs::write(&file, "12345").expect("written");
    assert_eq!(read_capped(&file, 5).expect("fits"), b"12345");
    assert_eq!(read_capped(&file, 4).expect_err("too large").kind(), ErrorKind::FileTooLarge);
    assert_eq!(
        read_capped(temp.path(), 4).expect_err("a directory").kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(
        read_capped(&temp.path().join("g"), 4).expect_err("none").kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn a_look_makes_nothing() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let path = temp.path().join("a/state");
    let Look { exists, is_writable, free_bytes } = look_at_directory(&path).expect("looked at");
    assert!(!exists && is_writable && free_bytes > 0);
    assert!(!temp.path().join("a").exists(), "it was made");
    PrivateDir::open(&path).expect("made");
    assert!(look_at_directory(&path).expect("looked at").exists);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).expect("opened");
    let err = look_at_directory(&path).expect_err("others may enter");
    assert_eq!(err.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn a_program_is_a_file_that_may_be_run() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| temp.path().join(name);
    for (folder, mode) in [("data", 0o644), ("bin", 0o755)] {
        std::fs::create_dir(place(folder)).expect("made");
        let file = place(folder).join("tool");
        std::fs::write(&file, "").expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("set");
    }
    std::fs::create_dir_all(place("folders/tool")).expect("made");
    let path = ["folders", "data", "bin"].map(|name| place(name).display().to_string());
    assert_eq!(find_program("tool", &path.join(":")), Some(place("bin/tool")));
    assert_eq!(find_program("tool", &format!(".::{}", path[1])), None);
    assert_eq!(find_program("tool", ""), None);
}
