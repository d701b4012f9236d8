//! What commands have no business seeing, by where programs keep it.
//!
//! A list of names, not a search: a secret in a place of its own is masked when the configuration
//! of whoever put it there says so, and by nothing here.

use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// Below a home: keys, tokens, cookies, and what a shell was told.
const IN_HOMES: [&str; 49] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker/config.json",
    ".oci",
    ".config/gcloud",
    ".config/doctl",
    ".config/hcloud",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/op",
    ".config/rclone",
    ".config/containers/auth.json",
    ".config/git/credentials",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    ".mozilla",
    ".thunderbird",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".terraform.d/credentials.tfrc.json",
    ".vault-token",
    ".password-store",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
];

/// The system's own: passwords, keys of its services, and where services listen.
const IN_SYSTEM: [&str; 13] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/run",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/var/lib/docker",
];

/// The machine's own keys, `/etc/ssh/ssh_host_…_key`.
const HOST_KEYS: &str = "/etc/ssh";

/// Every place on this machine that usually holds a secret, whether it is there or not. `home` is
/// the server's; those of other users are found.
pub fn secret_places(home: Option<&Path>) -> Vec<PathBuf> {
    let mut homes: Vec<PathBuf> = home.into_iter().map(Path::to_owned).collect();
    homes.push(PathBuf::from("/root"));
    homes.extend(children("/home"));
    if let Ok(Some(user)) = nix::unistd::User::from_uid(nix::unistd::geteuid()) {
        homes.push(user.dir);
    }
    homes.retain(|home| home.is_absolute() && home != Path::new("/"));
    homes.sort();
    homes.dedup();
    let in_homes = homes.iter().flat_map(|home| IN_HOMES.map(|name| home.join(name)));
    let keys = children(HOST_KEYS).into_iter().filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("ssh_host_") && name.ends_with("_key")
    });
    IN_SYSTEM.into_iter().map(PathBuf::from).chain(keys).chain(in_homes).collect()
}

/// The unix sockets that somebody has bound to a path, as the system tells.
pub(super) fn bound_sockets() -> Vec<PathBuf> {
    let table = crate::private::read_capped(Path::new("/proc/net/unix"), MAX_TABLE_BYTES);
    let table = table.unwrap_or_default();
    let paths = String::from_utf8_lossy(&table);
    let mut paths: Vec<_> = paths
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().nth(7))
        .filter(|path| path.starts_with('/'))
        .map(PathBuf::from)
        .collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Far more than a machine has sockets.
const MAX_TABLE_BYTES: u64 = 16 * 1024 * 1024;

fn children(path: &str) -> Vec<PathBuf> {
    let entries = Dir::open_ambient_dir(path, ambient_authority()).and_then(|dir| dir.entries());
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| Path::new(path).join(entry.file_name())).collect()
}
