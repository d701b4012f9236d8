//! The default plugins, as components, in a table.
//!
//! The build script builds them from `plugins/` with the host; what is here is bytes and names.
//! It never loads, grants or runs anything: a default plugin is loaded and granted by the host
//! like anybody else's.

/// What a plugin may be: the world it was built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Acts.
    Tool,
    /// Refuses.
    Guard,
    /// Translates for a provider.
    Profile,
}

/// One default plugin.
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// Its name in the configuration.
    pub name: &'static str,
    /// The world it was built for.
    pub role: Role,
    /// The component.
    pub bytes: &'static [u8],
}

/// Every default plugin, tools first, each kind in the order of the build script's table.
pub const PLUGINS: &[Plugin] = include!(concat!(env!("OUT_DIR"), "/table.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plugin_is_a_component() {
        for plugin in PLUGINS {
            let Plugin { name, bytes, .. } = plugin;
            assert_eq!(&bytes[..8], b"\0asm\x0d\0\x01\0", "`{name}` is not a component");
            assert!(bytes.len() < 256 * 1024, "`{name}` has grown to {} bytes", bytes.len());
        }
    }

    /// The interfaces a component names, its own export and `types` left out.
    fn interfaces(bytes: &[u8]) -> Vec<String> {
        const PACKAGE: &[u8] = b"harness:plugin/";
        let mut found: Vec<String> = bytes
            .windows(PACKAGE.len())
            .enumerate()
            .filter(|(_, window)| *window == PACKAGE)
            .map(|(at, _)| {
                let rest = bytes[at + PACKAGE.len()..].iter();
                let name = rest.take_while(|byte| byte.is_ascii_lowercase() || **byte == b'-');
                name.map(|byte| char::from(*byte)).collect()
            })
            .filter(|name: &String| {
                !["types", "tool", "guard", "provider-profile", ""].contains(&name.as_str())
            })
            .collect();
        found.sort();
        found.dedup();
        found
    }

    #[test]
    fn every_plugin_imports_what_it_uses_and_nothing_else() {
        let check = |name: &str, expected: &[&str]| {
            let plugin = PLUGINS.iter().find(|plugin| plugin.name == name);
            let plugin = plugin.unwrap_or_else(|| panic!("`{name}` is not in the table"));
            assert_eq!(interfaces(plugin.bytes), expected, "`{name}`");
            let is_wasi = plugin.bytes.windows(5).any(|window| window == b"wasi:");
            assert!(!is_wasi, "`{name}` imports WASI");
        };
        check("files", &["log", "workspace-read", "workspace-write"]);
        check("search", &["log", "workspace-read"]);
        check("shell", &["ambient", "log", "process"]);
        for plugin in PLUGINS.iter().filter(|plugin| plugin.role != Role::Tool) {
            check(plugin.name, &["log"]);
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = PLUGINS.iter().map(|plugin| plugin.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PLUGINS.len());
    }
}
