//! Which keys of git's configuration make it run programs; as of git 2.51, by its manual.

/// One key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) section: String,
    pub(super) subsection: String,
    pub(super) key: String,
    /// As it is written, from the sign on, continued lines included.
    pub(super) value: &'a [u8],
}

impl Entry<'_> {
    pub(super) fn name(&self) -> String {
        match self.subsection.as_str() {
            "" => format!("{}.{}", self.section, self.key),
            subsection => format!("{}.{subsection}.{}", self.section, self.key),
        }
    }

    /// Whether git runs what it names, reads more keys from there, or writes there.
    pub(super) fn runs_programs(&self) -> bool {
        let key = self.key.as_str();
        match self.section.as_str() {
            "core" => matches!(
                key,
                "hookspath"
                    | "fsmonitor"
                    | "sshcommand"
                    | "editor"
                    | "pager"
                    | "askpass"
                    | "gitproxy"
                    | "alternaterefscommand"
                    | "worktree"
            ),
            "alias" | "pager" | "include" | "includeif" | "protocol" | "sendemail" | "instaweb" => {
                true
            }
            "filter" => matches!(key, "clean" | "smudge" | "process"),
            "diff" => matches!(key, "external" | "command" | "textconv"),
            "merge" => key == "driver",
            "difftool" | "mergetool" | "guitool" | "browser" | "man" => {
                matches!(key, "cmd" | "path")
            }
            "gpg" => matches!(key, "program" | "defaultkeycommand"),
            "credential" => key == "helper",
            "remote" => matches!(key, "uploadpack" | "receivepack" | "proxy" | "vcs"),
            "trailer" | "tar" | "hook" => matches!(key, "command" | "cmd" | "event"),
            "sequence" => key == "editor",
            "interactive" => key == "difffilter",
            "uploadpack" => key == "packobjectshook",
            "gc" => key == "recentobjectshook",
            "init" => key == "templatedir",
            "submodule" => key == "update",
            "web" => key == "browser",
            "imap" => key == "tunnel",
            _ => false,
        }
    }
}
