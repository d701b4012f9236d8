//! Which variables a command sees.
//!
//! An allow-list: what is not named here, keys of the server above all, never reaches a command.
//! On top come settings that keep programs from asking questions nobody can answer.

/// Variables that are passed on as they are.
const PASSED: [&str; 37] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    // Where tool chains live.
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "ANDROID_HOME",
    "DOTNET_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "PYTHONPATH",
    "NVM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "NODE_PATH",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "PKG_CONFIG_PATH",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
];

/// Variables that are set, whatever the server has.
const SET: [(&str, &str); 11] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Takes the message git proposes.
    ("GIT_EDITOR", "true"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    // Accepting the proposed list would rewrite history unseen, so an interactive rebase fails.
    (
        "GIT_SEQUENCE_EDITOR",
        "echo 'error: an interactive rebase needs an editor and there is none here; \
         set GIT_SEQUENCE_EDITOR to a command that edits the list' >&2; false",
    ),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// Caches that programs insist on writing, by the variable that says where, and where they are in a
/// home.
const CACHES: [(&str, &str); 4] = [
    ("npm_config_cache", ".npm"),
    ("YARN_CACHE_FOLDER", ".cache/yarn"),
    ("GOCACHE", ".cache/go-build"),
    ("UV_CACHE_DIR", ".cache/uv"),
];

/// What keeps programs from trying again and again when there is no way to another machine.
const OFFLINE: [(&str, &str); 5] = [
    ("npm_config_fetch_retries", "0"),
    ("npm_config_update_notifier", "false"),
    ("npm_config_audit", "false"),
    ("PIP_RETRIES", "0"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
];

/// Tells programs that there is no network.
pub(super) fn go_offline(environment: &mut Vec<(String, String)>) {
    environment.extend(OFFLINE.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

/// Points programs to `tmp` for what they throw away later, since the home cannot be written; but
/// for caches that lie in `write`, and those that were pointed somewhere already.
pub(super) fn move_scratch(
    environment: &mut Vec<(String, String)>,
    tmp: &str,
    write: &[std::path::PathBuf],
) {
    environment.retain(|(name, _)| name != "TMPDIR");
    environment.push(("TMPDIR".to_owned(), tmp.to_owned()));
    let value = |name| environment.iter().find(|(it, _)| it == name).map(|(_, value)| value);
    let home = std::path::PathBuf::from(value("HOME").map_or("/", String::as_str));
    let moved = CACHES.iter().filter(|(name, place)| {
        let place = home.join(place);
        value(name).is_none() && !write.iter().any(|write| place.starts_with(write))
    });
    let moved: Vec<_> = moved
        .map(|(name, place)| ((*name).to_owned(), format!("{tmp}/{}", place.replace('/', "-"))))
        .collect();
    environment.extend(moved);
    if nix::unistd::geteuid().is_root() {
        // Root without its privileges cannot give files away, and tar would try.
        environment.push(("TAR_OPTIONS".to_owned(), "--no-same-owner".to_owned()));
    }
}

/// Reduces the environment of the server to what a command may see. `CI` is left out with
/// everything else: some tools refuse to write files when it is set.
pub fn allowed_environment(host: impl Iterator<Item = (String, String)>) -> Vec<(String, String)> {
    let is_passed = |name: &str| PASSED.contains(&name) || name.starts_with("LC_");
    let mut allowed: Vec<(String, String)> = host.filter(|(name, _)| is_passed(name)).collect();
    allowed.extend(SET.map(|(name, value)| (name.to_owned(), value.to_owned())));
    allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_move_unless_they_may_be_written_or_were_moved() {
        let own = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
        };
        let mut environment: Vec<(String, String)> =
            own(&[("HOME", "/h"), ("TMPDIR", "/t"), ("GOCACHE", "/g")]);
        move_scratch(&mut environment, "/tmp", &["/h/.cache".into()]);
        environment.retain(|(name, _)| name != "TAR_OPTIONS");
        let expected: Vec<(String, String)> = own(&[
            ("HOME", "/h"),
            ("GOCACHE", "/g"),
            ("TMPDIR", "/tmp"),
            ("npm_config_cache", "/tmp/.npm"),
        ]);
        assert_eq!(environment, expected);
    }

    #[test]
    fn keys_stay_out() {
        let host = [
            ("PATH", "/bin"),
            ("OPENAI_API_KEY", "k1"),
            ("AWS_SECRET_ACCESS_KEY", "k2"),
            ("HARNESS_TOKEN", "k3"),
            ("CI", "true"),
            ("LC_ALL", "C.UTF-8"),
            ("EDITOR", "vi"),
            ("TERM", "xterm"),
        ];
        let allowed =
            allowed_environment(host.map(|(name, value)| (name.into(), value.into())).into_iter());
        let mut names: Vec<&str> = allowed.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        let mut expected: Vec<&str> = SET.map(|(name, _)| name).to_vec();
        expected.extend(["PATH", "LC_ALL"]);
        expected.sort_unstable();
        assert_eq!(names, expected);
        assert!(allowed.contains(&("EDITOR".to_owned(), "true".to_owned())));
    }
}
