//! Another version of what is there: what is kept, what is shown, and what `--yes` does not agree to.

use super::Place;

#[test]
fn more_powers_are_never_granted_by_yes_alone() {
    let place = Place::with(Some(""));
    place.offer("mine", "search");
    place.do_it(&["add", "@/offers/mine.wasm", "--yes"]);
    // A person's own.
    let own = "read = [\"docs/**\"] # mine\nlimits = { seconds = 5 }\nconfig = { a = 1 }\n";
    std::fs::write(place.path("harness.toml"), place.config() + own).unwrap();
    let digest = place.offer("mine", "files");
    place.refuses(
        &["add", "@/offers/mine.wasm", "--yes"],
        &[
            "asks for more than it is granted (+ workspace-write), and nothing was changed",
            "`--grants workspace-read,workspace-write`",
        ],
    );
    place.refuses(
        &["add", "@/offers/mine.wasm", "--yes", "--grants", "workspace-read"],
        &["it asks for `workspace-write` besides"],
    );
    let wide = ["--grants", "workspace-read,workspace-write,process"];
    let out = place.do_it(&["add", "@/offers/mine.wasm", "--yes", wide[0], wide[1]]);
    assert!(out.contains("against what it is granted: + workspace-write\n"), "{out}");
    // What it does not import is not granted either.
    let expected = format!(
        "[plugin.mine]\ndigest = \"{digest}\"\n\
         grants = [\"workspace-read\", \"workspace-write\"]\n{own}"
    );
    assert_eq!(place.config(), expected);

    // A version that asks for less: no narrowing is left without its power.
    place.offer("mine", "shell");
    place.refuses(&["add", "@/offers/mine.wasm", "--yes"], &["(+ process)", "`--grants process`"]);
    let out = place.do_it(&["add", "@/offers/mine.wasm", "--yes", "--grants", "process"]);
    assert!(out.contains("+ process, - workspace-read, - workspace-write\n"), "{out}");
    assert!(
        place.config().contains("grants = [\"process\", \"workspace-read\"]\n"),
        "{}",
        place.config()
    );
    assert!(place.config().ends_with(own));
    let digest = place.offer("mine", "search");
    place.do_it(&["add", "@/offers/mine.wasm", "--yes"]);
    let expected =
        format!("[plugin.mine]\ndigest = \"{digest}\"\ngrants = [\"workspace-read\"]\n{own}");
    assert_eq!(place.config(), expected);
}

#[test]
fn a_file_that_its_table_names_is_pinned_where_it_lies() {
    let place = Place::with(None);
    let digest = place.offer("mine", "search");
    let file = place.path("offers/mine.wasm");
    let table = format!("[plugin.mine]\npath = \"{}\"\n", file.display());
    std::fs::write(place.path("harness.toml"), &table).unwrap();
    place.do_it(&["add", "@/offers/mine.wasm", "--yes", "--grants", "workspace-read"]);
    let expected = format!("{table}digest = \"{digest}\"\ngrants = [\"workspace-read\"]\n");
    assert_eq!(place.config(), expected);
    assert!(!place.path("plugins").exists());
    // It is not ours to remove.
    let out = place.do_it(&["remove", "mine", "--yes"]);
    assert!(out.contains("the file `@/offers/mine.wasm` is not ours, and stays"), "{out}");
    assert_eq!(place.config(), "");
    assert!(file.exists());
}

#[test]
fn one_that_a_person_switched_off_stays_off() {
    let place = Place::with(Some(""));
    place.offer("mine", "misbehave-guard");
    place.do_it(&["add", "@/offers/mine.wasm", "--yes"]);
    std::fs::write(place.path("harness.toml"), place.config() + "enabled = false\n").unwrap();
    place.offer("mine", "rust-guard");
    let out = place.do_it(&["add", "@/offers/mine.wasm", "--yes"]);
    assert!(out.contains("`mine` is in place, and still `enabled = false`"), "{out}");
    assert!(place.config().ends_with("enabled = false\n"));
}

#[test]
fn a_removed_guard_with_a_name_like_a_default_one_is_no_slip_of_the_pen() {
    let place = Place::with(Some(""));
    let digest = place.offer("denylists", "repeat");
    place.do_it(&["add", "@/offers/denylists.wasm", "--yes"]);
    let out = place.do_it(&["remove", "denylists", "--yes"]);
    assert!(out.contains("two lines stay"), "{out}");
    let left = format!("[plugin.denylists]\ndigest = \"{digest}\"\nenabled = false\n");
    assert_eq!(place.config(), left);
    place.do_it(&["list"]);
    // It may come back as if it were new.
    place.do_it(&["add", "@/offers/denylists.wasm", "--yes"]);
    assert_eq!(place.config(), left.replace("enabled = false\n", ""));
    place.do_it(&["remove", "denylists", "--yes"]);
    place.do_it(&["remove", "denylists", "--yes"]);
    assert_eq!(place.config(), "");
}
