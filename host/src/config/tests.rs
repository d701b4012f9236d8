//! Layers in, configuration or problems out.

use super::{Found, KEYS, Layers, Settings};

/// What a configuration needs at least.
const BASE: [(&str, &str); 3] = [
    ("HOME", "/home/ada"),
    ("HARNESS_UPSTREAM_BASE_URL", "http://127.0.0.1:9/v1/"),
    ("HARNESS_UPSTREAM_MODEL", "m"),
];

fn merged(file: &str, environment: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Settings {
    let environment = BASE.iter().chain(environment);
    Settings::merge(&Layers {
        file: Some(("harness.toml".to_owned(), file.to_owned())),
        environment: environment.map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        flags: flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect(),
        found: Vec::new(),
    })
}

/// `Ok`: a part of the configuration as it is debugged. `Err`: a part of each problem, in order.
fn check(file: &str, environment: &[(&str, &str)], expected: Result<&str, &[&str]>) {
    match (merged(file, environment, &[]).check(), expected) {
        (Ok(config), Ok(fragment)) => {
            let shown = format!("{config:?}");
            assert!(shown.contains(fragment), "no `{fragment}` in {shown}");
            assert!(!shown.contains("sk-live"), "{shown}");
        }
        (Err(problems), Err(fragments)) => {
            let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
            assert_eq!(shown.len(), fragments.len(), "{shown:?}");
            for (problem, fragment) in shown.iter().zip(fragments) {
                assert!(problem.contains(fragment), "no `{fragment}` in `{problem}`");
                assert!(!problem.contains("sk-live"), "`{problem}`");
                assert!(!problem.contains('\n'), "`{problem}`");
            }
        }
        (got, expected) => panic!("{file}: expected {expected:?}, got {got:?}"),
    }
}

#[test]
fn values_and_their_layers() {
    check("", &[], Ok("max_turns: 50"));
    check("", &[], Ok("base_url: \"http://127.0.0.1:9/v1\""));
    check("", &[], Ok("state_dir: \"/home/ada/.local/state/harness\""));
    check("", &[("XDG_STATE_HOME", "/s")], Ok("state_dir: \"/s/harness\""));
    check("[state]\ndir = \"~/h\"", &[], Ok("state_dir: \"/home/ada/h\""));
    check("[agent]\nmax_turns = 7", &[], Ok("max_turns: 7"));
    check("[agent]\nmax_turns = 7", &[("HARNESS_AGENT_MAX_TURNS", "8")], Ok("max_turns: 8"));
    check("", &[("HARNESS_ADDR", "127.0.0.1:1")], Ok("addr: 127.0.0.1:1"));
    check("", &[("HARNESS_UPSTREAM_API_KEY", "sk-live")], Ok("api_key: Some(\"…\")"));
    // OpenAI's own variable is for OpenAI's own host.
    let theirs = ("OPENAI_API_KEY", "sk-live");
    let openai = ("HARNESS_UPSTREAM_BASE_URL", "https://api.openai.com/v1");
    check("", &[theirs], Ok("api_key: None"));
    check("", &[theirs, openai], Ok("api_key: Some(\"…\")"));
    for other in ["https://api.openai.com.example/v1", "http://api.openai.com/v1"] {
        check("", &[theirs, ("HARNESS_UPSTREAM_BASE_URL", other)], Ok("api_key: None"));
    }
    let flagged = merged("", &[("HARNESS_ADDR", "127.0.0.1:1")], &[("server.addr", "[::1]:2")]);
    assert_eq!(flagged.check().unwrap().addr.to_string(), "[::1]:2");
}

#[test]
fn an_empty_variable_does_not_undo_a_list() {
    let file = "[server]\ntokens = [\"sk-live-0123456789\"]";
    check(file, &[("HARNESS_SERVER_TOKENS", " ")], Ok("tokens: 1 tokens"));
    let settings = merged(file, &[("HARNESS_SERVER_TOKENS", "")], &[]);
    let warnings: Vec<String> = settings.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["environment HARNESS_SERVER_TOKENS: is empty, which counts as not set"]);
}

#[test]
fn lists() {
    let two = "[server]\ntokens = [\"sk-live-0123456789\", \"sk-live-9876543210\"]";
    check(two, &[], Ok("tokens: 2 tokens"));
    let variable = ("HARNESS_SERVER_TOKENS", "sk-live-0123456789, sk-live-9876543210");
    check("", &[variable], Ok("tokens: 2 tokens"));
    let roots = ("HARNESS_WORKSPACE_ROOTS", "/a:~/b");
    check("", &[roots], Ok("workspace_roots: [\"/a\", \"/home/ada/b\"]"));
    check("[workspace]\nroots = [\"/a:b\"]", &[], Ok("workspace_roots: [\"/a:b\"]"));
    check("[workspace]\nroots = [\"/a\", \"b\"]", &[], Err(&["number 2: expected an absolute"]));
    check("[workspace]\nroots = \"/a\"", &[], Err(&["expected a list of texts"]));
    check("[guards]\ndeny = [1]", &[], Err(&["expected a list of texts, got another list"]));
    check(
        "[server]\ntokens = [\"sk-live\", \"sk-live-with a space\", \"sk-live-0123456789\", \
         \"sk-live-0123456789\"]",
        &[],
        Err(&[
            "server.tokens (file harness.toml): number 1: expected 16 or more characters, no \
             space or control character, got 7 of them",
            "number 2: expected 16 or more characters, no space or control character, got one",
            "number 4 is there twice",
        ]),
    );
}

#[test]
fn the_new_kinds_of_values() {
    check("", &[], Ok("busy: Refuse, keep_days: 30"));
    check("[workspace]\nbusy = \"queue\"\nkeep_days = 0", &[], Ok("busy: Queue, keep_days: 0"));
    check("", &[], Ok("context_enabled: true, context_window: None"));
    let context = "[context]\nenabled = false\nwindow = 32768";
    check(context, &[], Ok("context_enabled: false, context_window: Some(32768)"));
    check("", &[], Ok("connect: 10s, first_token: 600s, idle: 120s, attempts: 3"));
    // What is set wins in both directions: there is no floor and no ceiling of our own.
    let short = "[upstream]\nconnect_seconds = 1\nfirst_token_seconds = 5\nidle_seconds = 1\n\
                 attempts = 1";
    check(short, &[], Ok("connect: 1s, first_token: 5s, idle: 1s, attempts: 1"));
    let long = "[upstream]\nfirst_token_seconds = 86400\nidle_seconds = 600";
    check(long, &[], Ok("first_token: 86400s, idle: 600s"));
    check("", &[], Ok("log_level: \"info\", log_format: Text, audit_log: None"));
    let log = "[log]\nlevel = \"warn,harness=debug\"\nformat = \"json\"\naudit = \"~/a\"";
    let told = "log_level: \"warn,harness=debug\", log_format: Json, audit_log: \
                Some(\"/home/ada/a\")";
    check(log, &[], Ok(told));
    check("[log]\nlevel = \"inof\"", &[], Err(&["`off`, or a filter such as"]));
    check("[log]\nlevel = \"harness=loud\"", &[], Err(&["got `harness=loud`"]));
}

#[test]
fn what_is_wrong_is_told_with_key_value_origin_and_what_is_allowed() {
    check(
        "[agent]\nmax_turn = 7\nmax_seconds = 0",
        &[("HARNESS_ADDR", "here"), ("HARNESS_SHELL_ENABLED", "no")],
        Err(&[
            "agent.max_seconds (file harness.toml): expected a whole number from 1 to 86400, \
             got `0`",
            "harness.toml: `agent.max_turn` is not a setting, did you mean `agent.max_turns`?",
            "server.addr (environment HARNESS_ADDR): expected an `IP:PORT`",
            "shell.enabled (environment HARNESS_SHELL_ENABLED): expected `true` or `false`, \
             got `no`",
        ]),
    );
    check("nonsense", &[], Err(&["harness.toml: not TOML: line 1"]));
    // No quotes: the parser would show the line, and the key in it.
    check("[upstream]\napi_key = sk-live", &[], Err(&["not TOML: line 2"]));
    check("[upstream]\napi_key = \"\"", &[], Err(&["got none"]));
    check("[upstream]\napi_key = \"sk-live\\n\"", &[], Err(&["of ASCII characters"]));
    check("[upstream]\napi_key = [\"sk-live\"]", &[], Err(&["got another list"]));
    check("[upstream]\nmodel = \" \"", &[], Err(&["upstream.model (file harness.toml)"]));
    check("[agent]\nmax_turns = 1.5", &[], Err(&["got a value of type float"]));
    check("[state]\ndir = \"a\\nb\"", &[], Err(&["got `a\\nb`"]));
    check(
        "",
        &[("HARNESS_UPSTREAM_BASE_URL", "http://ada:sk-live@h/v1?key=sk-live")],
        Err(&["without a name or password, got `http://…@h/v1?…`"]),
    );
    // Told of every layer, though the later one wins.
    let replaced = [("HARNESS_AGENT_MAX_TURNS", "7")];
    check("[agent]\nmax_turns = 0", &replaced, Err(&["agent.max_turns (file harness.toml)"]));
    check("[state]\ndir = \"~/h\"", &[("HOME", "")], Ok("state_dir: \"/home/ada/h\""));
}

#[test]
fn a_home_that_is_not_known_is_told() {
    let file = "[state]\ndir = \"~/h\"\n[plugin.mine]\npath = \"~/p\"".to_owned();
    let layers = Layers { file: Some(("h.toml".to_owned(), file)), ..Layers::default() };
    let problems = Settings::merge(&layers).check().unwrap_err();
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    let homeless = "`~/` is the home directory, and `HOME` names none";
    for place in ["state.dir (file h.toml)", "plugin.mine.path"] {
        assert!(shown.contains(&format!("{place}: {homeless}")), "{shown:?}");
    }
}

#[test]
fn unknown_names_come_with_the_nearest() {
    check(
        "[agnet]\nmax_turns = 1",
        &[],
        Err(&["`[agnet]` is not a section, did you mean `[agent]`?"]),
    );
    check("[plugins.x]", &[], Err(&["`[plugins]` is not a section, did you mean `[plugin]`?"]));
    check("[sandwich]", &[], Err(&["`[sandwich]` is not a section"]));
    check("max_turns = 1", &[], Err(&["did you mean `agent.max_turns`?"]));
    check("[server]\nmax_seconds = 1", &[], Err(&["did you mean `agent.max_seconds`?"]));
    let settings = merged("", &[("HARNESS_AGENT_MAX_TURN", "1"), ("HARNESS_XYZZY", "1")], &[]);
    let warnings: Vec<String> = settings.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "environment HARNESS_AGENT_MAX_TURN: no setting has this name, did you mean \
             `HARNESS_AGENT_MAX_TURNS`?",
            "environment HARNESS_XYZZY: no setting has this name",
        ]
    );
    assert!(settings.check().is_ok());
}

#[test]
fn what_the_sandbox_stands_on_is_not_given_away() {
    let write = |path| ("HARNESS_SHELL_WRITE", path);
    for path in ["/", "/dev", "/dev/null", "/tmp:/proc/sys"] {
        check("", &[write(path)], Err(&["cannot be given to commands"]));
    }
    check("", &[write("/devel:/tmp")], Ok("/devel"));
}

#[test]
fn an_address_that_others_reach_is_asked_for_twice() {
    let (open, token) = (
        ("HARNESS_SERVER_ALLOW_NON_LOOPBACK", "true"),
        ("HARNESS_SERVER_TOKENS", "sk-live-0123456789"),
    );
    let addr = ("HARNESS_ADDR", "0.0.0.0:80");
    check("", &[addr], Err(&["set `server.allow_non_loopback` (`--allow-non-loopback`) and"]));
    check("", &[addr, token], Err(&["environment HARNESS_ADDR): other machines reach"]));
    check("", &[addr, open], Err(&["set `server.tokens`: without, whoever"]));
    check("", &[addr, open, token], Ok("addr: 0.0.0.0:80"));
    check("", &[open], Ok("addr: 127.0.0.1:8080"));
    let both = ("HARNESS_SERVER_ADDR", "127.0.0.1:2");
    let differ = "`HARNESS_ADDR` and `HARNESS_SERVER_ADDR` differ; set one of them alone";
    check("", &[("HARNESS_ADDR", "127.0.0.1:1"), both], Err(&[differ]));
    check("", &[("HARNESS_ADDR", "127.0.0.1:2"), both], Ok("addr: 127.0.0.1:2"));
}

#[test]
fn plugins() {
    check("[plugin.mine]\npath = \"/p.wasm\"", &[], Ok("path: Some(\"/p.wasm\")"));
    check("[plugin.mine]\npath = \"~/p\"", &[], Ok("path: Some(\"/home/ada/p\")"));
    check("[plugin.mine]\npath = \"p.wasm\"", &[], Err(&["plugin.mine.path: expected an abs"]));
    check(
        "[plugin.files]\npaht = \"x\"\nenabled = 1\ngrants = \"all\"\nconfig = []",
        &[],
        Err(&[
            "plugin.files (file harness.toml): `config`: expected a table, got another list",
            "`enabled`: expected `true` or `false`, got a value of type integer",
            "`grants`: expected a list of texts, got a value of type string",
            "`tools`, `effects`, did you mean `path`?",
        ]),
    );
    check("plugin.files = 1", &[], Err(&["expected a table, got a value of type integer"]));
    // A slip of the pen would leave in force what was to be switched off.
    check("[plugin.shel]\nenabled = false", &[], Err(&["did you mean `shell`?"]));
    check("[plugin.mine]", &[], Err(&["no default plugin has this name, and no `path`"]));
    check("[plugin.mine]\nenabled = false\npath = \"/p\"", &[], Ok("enabled: Some(false)"));
    let dated = "[plugin.files.config]\nsince = 2026-01-01\nnever = inf\nlist = [1, { a = true }]";
    check(dated, &[], Ok("\"since\": String(\"2026-01-01\")"));
}

#[test]
fn what_bounds_a_plugin_is_read_or_told() {
    let one = |field: &str, expected: Result<&str, &[&str]>| {
        check(&format!("[plugin.mine]\npath = \"/p\"\n{field}"), &[], expected);
    };
    one("grants = [\"workspace-read\"]\nread = [\"docs/**\"]", Ok("patterns: [\"docs/**\"]"));
    one("read = [\"../x\"]", Err(&["`read`: `../x` must be a glob over paths beneath"]));
    one("read = \"docs\"", Err(&["`read`: expected a list of texts"]));
    let unused = "`write` narrows `workspace-write`, which is not in `grants`";
    one("grants = [\"workspace-read\"]\nwrite = [\"a\"]", Err(&[unused]));
    one("run = [\"/bin/git\"]", Err(&["`run`: `/bin/git` must be a program's bare name"]));
    one("limits = { memory_mb = 128 }", Ok("memory_bytes: Some(134217728)"));
    one("limits = { fuel_millions = 2 }", Ok("fuel: Some(2000000)"));
    one("limits = { seconds = 90 }", Ok("seconds: Some(90)"));
    // No limit that cannot be read is none.
    for limit in ["0", "-1", "1.5", "\"64\"", "true", "99999", "{}"] {
        let range = "`limits`: `memory_mb`: expected a whole number from 1 to 4096, got ";
        one(&format!("limits = {{ memory_mb = {limit} }}"), Err(&[range]));
    }
    one("limits = { memory = 1 }", Err(&["`memory` is none of `memory_mb`, `fuel_millions`"]));
    one("effects = [\"write\", \"fly\"]", Err(&["`fly` is not an effect, expected any of `read`"]));
    one("tools = [\"write\", \"mcp_*\"]", Ok("patterns: [\"write\", \"mcp_*\"]"));
    one("tools = []", Err(&["`tools`: expected at least one; a guard that is to judge nothing"]));
    one("effects = []", Err(&["`effects`: expected at least one"]));
    let digest = "`digest`: expected `blake3:` and 64 digits";
    one("digest = \"sha256:00\"", Err(&[digest]));
    one(&format!("digest = \"blake3:{}\"", "A".repeat(64)), Err(&[digest]));
    one(&format!("digest = \"blake3:{}\"", "a".repeat(64)), Ok("digest: Some(\"blake3:aaaa"));
}

#[test]
fn what_lies_beside_the_configuration_is_a_plugin_of_its_name() {
    let check = |file: &str, found: &str, expected: Result<&str, &str>| {
        let layers = Layers {
            file: Some(("h.toml".to_owned(), file.to_owned())),
            found: vec![(Found::Plugins, found.into())],
            ..Layers::default()
        };
        let settings = Settings::merge(&layers);
        let problems = format!("{:?}", settings.problems());
        match expected {
            Ok(part) => {
                assert_eq!(problems, "[]", "{found}");
                assert!(format!("{:?}", settings.plugins()).contains(part), "{found}");
            }
            Err(part) => assert!(problems.contains(part), "{found}: {problems}"),
        }
    };
    check("", "/c/plugins/mine.wasm", Ok("path: Some(\"/c/plugins/mine.wasm\"), found: Some(Plu"));
    let table = "[plugin.mine]\ngrants = [\"state\"]";
    check(table, "/c/plugins/mine.wasm", Ok("grants: Some([\"state\"])"));
    let same = "[plugin.mine]\npath = \"/c/plugins/mine.wasm\"";
    check(same, "/c/plugins/mine.wasm", Ok("found: None"));
    let other = "[plugin.mine]\npath = \"/p/mine.wasm\"";
    check(other, "/c/plugins/mine.wasm", Err("there is another plugin `mine`; rename this file"));
    check("", "/c/plugins/files.wasm", Err("there is another plugin `files`"));
    check("", "/c/plugins/a b.wasm", Err("a plugin's file is named by 1 to 64 of"));
}

#[test]
fn some_settings_are_handed_to_a_plugin() {
    let handed = |file: &str, plugin: &str| {
        let config = merged(file, &[], &[]).check().unwrap();
        serde_json::Value::Object(config.plugins[plugin].config.clone()).to_string()
    };
    assert_eq!(handed("", "shell"), r#"{"timeout_seconds":120}"#);
    assert_eq!(handed("[shell]\ntimeout_seconds = 5", "shell"), r#"{"timeout_seconds":5}"#);
    let own = "[shell]\ntimeout_seconds = 5\n[plugin.shell]\nconfig = { timeout_seconds = 9 }";
    assert_eq!(handed(own, "shell"), r#"{"timeout_seconds":9}"#);
    let both = "[guards]\ndeny = [\"git push *\"]\n[plugin.denylist]\nconfig = { deny = [\"x\"] }";
    assert_eq!(handed(both, "denylist"), r#"{"deny":["git push *","x"]}"#);
    check("", &[("HARNESS_GUARDS_DENY", "a b,c")], Ok("[String(\"a b\"), String(\"c\")]"));
    let bad = "[plugin.shell]\nconfig = { timeout_seconds = 0 }\n\
               [plugin.denylist]\nconfig = { deny = 1 }";
    check(
        bad,
        &[],
        Err(&["plugin.shell.config.timeout_seconds: expected a whole", "denylist.config.deny"]),
    );
}

#[test]
fn every_key_has_a_default_that_fits_it() {
    for key in KEYS {
        let default: Vec<String> = key.default.iter().map(|text| (*text).to_owned()).collect();
        assert_eq!(key.kind.problems(&default), Vec::<String>::new(), "{}", key.name);
    }
}

#[test]
fn what_a_plugin_may_fetch() {
    let with = |keys: &str| format!("[plugin.mine]\npath = \"/p\"\n{keys}");
    let told = |keys: &str, expected: &[&str]| {
        check(
            &with(keys),
            &[("ORACLE", "sk-live-0123456789"), ("SHORT", "sk-live")],
            Err(expected),
        );
    };
    let credential = |keys: &str| format!("[plugin.mine.credentials]\nkey = {{ {keys} }}");
    let file = with(
        "fetch = [\"API.example.org\", \"*.example.net:8443\"]\nfetch_private = [\"localhost\"]\n\
         [plugin.mine.credentials]\nkey = { env = \"ORACLE\", host = \"api.example.org\" }",
    );
    let settings = merged(&file, &[("ORACLE", " sk-live-0123456789\n")], &[]);
    let config = settings.check().unwrap();
    let servers = &config.plugins["mine"].servers;
    let shown =
        |entries: &[crate::servers::Entry]| entries.iter().map(ToString::to_string).collect();
    let hosts: Vec<String> = shown(&servers.hosts);
    assert_eq!(hosts, ["api.example.org", "*.example.net:8443"]);
    assert_eq!(servers.credentials["key"].header_value(), "Bearer sk-live-0123456789");
    assert!(settings.secrets().any(|secret| secret == "sk-live-0123456789"));
    assert!(!format!("{config:?}").contains("sk-live"));

    told(
        "fetch = \"a.example\"",
        &["`fetch`: expected a list of texts, got a value of type string"],
    );
    told("fetch = [1]", &["`fetch`: expected a list of texts"]);
    told(
        "fetch = [\"a.example\", \"https://b.example\"]",
        &["`fetch`: number 2: expected `host`,"],
    );
    told("fetch = [\"127.0.0.1\"]", &["`127.0.0.1` is not public; put it into `fetch_private`"]);
    told("fetch = [\"localhost:80\"]", &["`localhost:80` is not public"]);
    told("fetch_privat = []", &["did you mean `fetch_private`?"]);
    told("credentials = []", &["`credentials`: expected a table of tables"]);
    told("credentials = { key = 1 }", &["`credentials.key`: expected a table, got a value"]);
    let env = "env = \"ORACLE\"";
    let host = "host = \"a.example\"";
    told(&credential(host), &["`credentials.key`: `env` is missing"]);
    told(&credential(env), &["`host` is missing"]);
    told(&credential(&format!("{env}, host = 1")), &["`host`: expected a text, got"]);
    told(&credential(&format!("{env}, host = \"*.a.example\"")), &["`host`: expected one host"]);
    told(&credential(&format!("{env}, host = \"a/b\"")), &["`host`: expected `host`, `host:port`"]);
    told(&credential(&format!("{env}, {host}, head = \"x\"")), &["`head` is none of `env`,"]);
    told(
        &credential(&format!("{env}, {host}, header = \"Host\"")),
        &["`header`: expected the name"],
    );
    told(
        &credential(&format!("{env}, {host}, header = \"a b\"")),
        &["`header`: expected the name"],
    );
    told(
        &credential(&format!("env = \"NONE\", {host}")),
        &["plugin.mine.credentials.key: `env`: `NONE` is not set in the environment"],
    );
    told(
        &credential(&format!("env = \"SHORT\", {host}")),
        &["`SHORT` has 7 bytes, expected from 8"],
    );
    let off =
        with(&("enabled = false\n".to_owned() + &credential(&format!("env = \"NONE\", {host}"))));
    check(&off, &[], Ok("enabled: Some(false)"));
}
