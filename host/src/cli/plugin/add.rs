//! `harness plugin add`: puts a plugin beside the configuration, pins it, and grants what it asks
//! for, once a person agreed to exactly that.
//!
//! Writes nothing before the plugin was loaded with the table it will have. A version that asks for
//! more than it is granted is never taken up by `--yes` alone.

#![expect(clippy::print_stdout, reason = "what is agreed to is the command's output")]

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use harness_jail::{read_capped, real_path};
use toml_edit::Value;

use super::agree::Word;
use super::offer::{Offer, role_of};
use super::shelf::tables::{self, Change};
use super::shelf::{self, Shelf};
use crate::cli::boot;
use crate::config::PluginConfig;
use crate::plugin::{Engine, FILE_BYTES, Listed, digest};

/// What to add.
#[derive(Args, Clone)]
pub(crate) struct AddArgs {
    /// A component file, a project's folder, or a profile's `.toml`
    pub(super) path: PathBuf,
    /// What it is called in the configuration [default: the project's or the file's name]
    #[arg(long)]
    pub(super) name: Option<String>,
    #[command(flatten)]
    pub(super) terms: Terms,
}

/// What a person agrees to without being asked.
#[derive(Args, Clone)]
pub(crate) struct Terms {
    /// Agree to what would be asked, but for powers that an update asks for anew
    #[arg(long)]
    pub(super) yes: bool,
    /// The powers that it may have; it is refused when it asks for others
    #[arg(long, value_name = "POWER,…", value_delimiter = ',')]
    pub(super) grants: Option<Vec<String>>,
    /// The servers that a plugin which imports `fetch` may ask
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub(super) fetch: Option<Vec<String>>,
    /// The configuration file [default: $XDG_CONFIG_HOME/harness/harness.toml]
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
}

/// What was there of that name.
struct Before {
    table: PluginConfig,
    /// Of the file that is there; None where there is none.
    digest: Option<String>,
}

/// Runs the command.
pub(super) async fn run(args: AddArgs) -> anyhow::Result<()> {
    let AddArgs { path, name, terms } = args;
    let mut shelf = Shelf::open(terms.config.as_deref())?;
    // What is compiled for it here, a server that starts later need not compile.
    let engine = boot::engine(shelf.settings())?;
    let offer = Offer::read(engine.clone(), &path, name.as_deref()).await?;
    let (found, ending) = offer.place();
    let mut file = shelf.place(found, &offer.name, ending);
    if let Some(named) = shelf.table(&offer.name).and_then(|table| table.path.clone()) {
        // One that stays where a person put it is pinned there.
        if named != file && real_path(&named) != real_path(&offer.file) {
            bail!(
                "there is another plugin `{}`: `{}`\nhint: give this one another name with `--name NAME`",
                offer.name,
                named.display()
            );
        }
        file = named;
    }
    let before = before(&shelf, &engine, &offer, &file).await?;
    let granted = before.as_ref().and_then(|it| it.table.grants.clone()).unwrap_or_default();
    let more: Vec<&str> = offer
        .powers
        .iter()
        .copied()
        .filter(|power| !granted.iter().any(|it| it == power))
        .collect();
    check_terms(&offer, &terms, before.as_ref(), &more)?;

    let text = tables::set(shelf.text(), &offer.name, &changes(&offer, &terms, before.as_ref()))?;
    let settings = shelf.imagine(&text, (found, &file))?;
    let table = settings.plugins().get(&offer.name).cloned().unwrap_or_default();
    let listed = offer.load(&table).await?;
    let is_there = before.as_ref().and_then(|it| it.digest.as_ref()) == Some(&offer.digest);
    if is_there && shelf.text() == text {
        println!("`{}` is there already, pinned to {}", offer.name, offer.digest);
        return Ok(());
    }
    tell(&offer, &listed, before.as_ref(), &more);
    println!("into `{}`:", shelf.file().display());
    let redactor = boot::redactor(settings.secrets(), &[]);
    for line in tables::difference(shelf.text(), &text) {
        println!("    {}", redactor.redact_owned(line));
    }
    if !is_there {
        println!("the file goes to `{}`", file.display());
    }
    let word = if terms.yes { Word::Given } else { Word::Asked };
    if !word.agrees("add it so?")? {
        println!("nothing was changed");
        return Ok(());
    }
    put(&mut shelf, &offer, before.as_ref(), &file, &text)?;
    match table.enabled {
        Some(false) => println!("`{}` is in place, and still `enabled = false`", offer.name),
        _ => println!("`{}` is in force; a server that runs takes it up by itself", offer.name),
    }
    Ok(())
}

/// What is there of that name; None for a new one, as for one whose removal left a table behind.
async fn before(
    shelf: &Shelf,
    engine: &Engine,
    offer: &Offer,
    file: &Path,
) -> anyhow::Result<Option<Before>> {
    let Some(table) = shelf.table(&offer.name).cloned() else { return Ok(None) };
    let bytes = read_capped(file, FILE_BYTES as u64).ok();
    if bytes.is_none() && table.path.is_none() {
        return Ok(None);
    }
    let digest = bytes.as_deref().map(digest);
    if digest.as_ref() != Some(&offer.digest)
        && let Some(bytes) = bytes.filter(|_| file.extension().is_some_and(|it| it == "wasm"))
        && let Some(role) = role_of(engine, &offer.name, &bytes).await
        && role != offer.role
    {
        // A tool under a guard's name would be a guard less.
        bail!(
            "`{}` is a {role}, and this is a {}\nhint: give it another name with `--name NAME`",
            offer.name,
            offer.role
        );
    }
    Ok(Some(Before { table, digest }))
}

/// Whether what it asks for was agreed to, as far as that needs saying before anybody is asked.
fn check_terms(
    offer: &Offer,
    terms: &Terms,
    before: Option<&Before>,
    more: &[&str],
) -> anyhow::Result<()> {
    let exact = offer.powers.join(",");
    if let Some(agreed) = &terms.grants {
        let over: Vec<&str> = offer
            .powers
            .iter()
            .copied()
            .filter(|power| !agreed.iter().any(|it| it == power))
            .collect();
        if !over.is_empty() {
            bail!(
                "it asks for {} besides, and nothing was changed\n\
                 hint: where you trust it with that: `--grants {exact}`",
                quoted(&over)
            );
        }
    } else if before.is_some() && terms.yes && !more.is_empty() {
        let more: Vec<String> = more.iter().map(|power| format!("+ {power}")).collect();
        bail!(
            "this version asks for more than it is granted ({}), and nothing was changed\n\
             hint: where you trust it with that: `--grants {exact}`",
            more.join(", ")
        );
    }
    let has_hosts = before.is_some_and(|before| !before.table.servers.is_empty());
    if offer.powers.contains(&"fetch") && terms.fetch.is_none() && !has_hosts {
        bail!(
            "it imports `fetch`, and no server is named that it may ask\n\
             hint: name them with `--fetch HOST,…`"
        );
    }
    Ok(())
}

/// The keys of its table that are written. All others are the person's, and stay.
fn changes(offer: &Offer, terms: &Terms, before: Option<&Before>) -> Vec<Change> {
    let mut changes: Vec<Change> = vec![("digest", Some(offer.digest.as_str().into()))];
    let mut grants = offer.powers.clone();
    if let Some(Before { table, .. }) = before {
        // What a person narrowed stays granted: the narrowing would not be sound without it.
        for (power, is_narrowed) in [
            ("workspace-read", table.read.is_some()),
            ("workspace-write", table.write.is_some()),
            ("process", table.run.is_some()),
            ("fetch", table.servers != crate::servers::Servers::default()),
        ] {
            let is_granted = table.grants.iter().flatten().any(|grant| grant == power);
            if is_narrowed && is_granted && !grants.contains(&power) {
                grants.push(power);
            }
        }
    }
    let has_list = before.is_some_and(|before| before.table.grants.is_some());
    let same = before.and_then(|before| before.table.grants.as_ref()).is_some_and(|list| {
        list.len() == grants.len() && grants.iter().all(|power| list.iter().any(|it| it == power))
    });
    if !same && (has_list || !grants.is_empty()) {
        changes.push(("grants", Some(tables::list(grants))));
    }
    if let Some(hosts) = &terms.fetch {
        changes.push(("fetch", Some(tables::list(hosts.iter().map(String::as_str)))));
    }
    if before.is_none() {
        changes.push(("enabled", None));
    }
    changes
}

/// What it is, and what is new about it.
fn tell(offer: &Offer, listed: &Listed, before: Option<&Before>, more: &[&str]) {
    println!("{} `{}`, {} kB", offer.role, offer.name, offer.bytes.len().div_ceil(1000));
    match listed.offers.as_deref() {
        Ok([]) | Err(_) => {}
        Ok(offers) => println!("    offers: {}", offers.join(", ")),
    }
    let powers =
        if offer.powers.is_empty() { "nothing".to_owned() } else { offer.powers.join(", ") };
    println!("    asks for: {powers}");
    let Some(Before { table, digest }) = before else {
        return println!("    digest: {}", offer.digest);
    };
    let gone = table.grants.iter().flatten().filter(|it| !offer.powers.contains(&it.as_str()));
    let gone = gone.map(|power| format!("- {power}"));
    let changed: Vec<String> = more.iter().map(|power| format!("+ {power}")).chain(gone).collect();
    if !changed.is_empty() {
        println!("    against what it is granted: {}", changed.join(", "));
    }
    println!("    digest: {}", offer.digest);
    println!("    before: {}", digest.as_deref().unwrap_or("no file"));
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// Puts file and table in place, so that a server which looks in between meets no half: until the
/// last step a new plugin is switched off, and of one that was there the version before is pinned.
fn put(
    shelf: &mut Shelf,
    offer: &Offer,
    before: Option<&Before>,
    file: &Path,
    text: &str,
) -> anyhow::Result<()> {
    let original = shelf.text().to_owned();
    let digest_there = before.and_then(|before| before.digest.clone());
    if digest_there.as_ref() != Some(&offer.digest) {
        let waiting = match before {
            None => Some(("enabled", Value::from(false), text)),
            Some(Before { table: PluginConfig { digest: None, .. }, digest: Some(there) }) => {
                Some(("digest", Value::from(there.as_str()), shelf.text()))
            }
            Some(_) => None,
        };
        if let Some((key, value, text)) = waiting {
            let text = tables::set(text, &offer.name, &[(key, Some(value))])?;
            shelf.write(&text)?;
        }
        if let Err(err) = shelf::put(file, &offer.bytes) {
            shelf.write(&original)?;
            return Err(err);
        }
    }
    shelf.write(text)
}
