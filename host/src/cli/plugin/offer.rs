//! A plugin that somebody wants to add: a component file, a project's folder, or a profile's table.
//!
//! Read whole and once, so that what was looked at is what is put in place.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail, ensure};
use harness_jail::read_capped;

use super::bench::Bench;
use super::project::Project;
use super::{boot, load_here};
use crate::cli::environment;
use crate::config::{Found, PluginConfig, is_default, is_name};
use crate::plugin::{Engine, Listed, Role, Source, digest};

/// The largest table of a profile.
const TABLE_BYTES: u64 = 1 << 20;

/// A plugin, read.
pub(super) struct Offer {
    pub(super) name: String,
    /// The file that was read.
    pub(super) file: PathBuf,
    pub(super) bytes: Vec<u8>,
    pub(super) digest: String,
    pub(super) role: Role,
    /// What it needs a grant for.
    pub(super) powers: Vec<&'static str>,
    engine: Engine,
    /// None of a profile's table.
    bench: Option<Bench>,
}

impl Offer {
    /// Reads what is at `path`, as the plugin `name` if one is given.
    ///
    /// # Errors
    ///
    /// For whoever adds it: what it is not.
    pub(super) async fn read(
        engine: Engine,
        path: &Path,
        name: Option<&str>,
    ) -> anyhow::Result<Offer> {
        let is_table = path.extension().is_some_and(|it| it == "toml") && !path.is_dir();
        let (own_name, bytes) = if is_table {
            let shown = path.display();
            let bytes = read_capped(path, TABLE_BYTES);
            let bytes = bytes.with_context(|| format!("cannot read `{shown}`"))?;
            (path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), bytes)
        } else {
            let Project { name, bytes, .. } = Project::open(path)?;
            (name, bytes)
        };
        let file = match path.is_dir() {
            true => path.join(format!("{own_name}.wasm")),
            false => path.to_owned(),
        };
        let name = name.map_or(own_name, str::to_owned);
        ensure!(
            is_name(&name),
            "`{name}` cannot name a plugin, expected 1 to 64 of `a-z`, `A-Z`, `0-9`, `_` and `-`\n\
             hint: give it another name with `--name NAME`"
        );
        ensure!(
            !is_default(&name),
            "a default plugin is called `{name}`\nhint: give it another name with `--name NAME`"
        );
        let digest = digest(&bytes);
        if is_table {
            let role = Role::Profile;
            return Ok(Offer {
                name,
                file,
                bytes,
                digest,
                role,
                powers: Vec::new(),
                engine,
                bench: None,
            });
        }
        let redactor = boot::redactor(std::iter::empty(), &environment());
        let refused = |cause: &dyn std::fmt::Display| anyhow!("it is no plugin: {cause}");
        let bench = Bench::open(engine.clone(), &name, bytes.clone(), redactor).await?;
        let bench = bench.map_err(|err| refused(&err))?;
        let role = bench.anatomy.role.as_ref().map_err(|err| refused(err))?.0;
        let powers = bench.anatomy.powers.clone();
        Ok(Offer { name, file, bytes, digest, role, powers, engine, bench: Some(bench) })
    }

    /// Where its file stands, and how that ends.
    pub(super) fn place(&self) -> (Found, &'static str) {
        match (&self.bench, self.role) {
            (None, _) => (Found::Profiles, "toml"),
            (Some(_), Role::Profile) => (Found::Profiles, "wasm"),
            (Some(_), Role::Tool | Role::Guard) => (Found::Plugins, "wasm"),
        }
    }

    /// Loads it with this table, as a server would.
    ///
    /// # Errors
    ///
    /// Why it does not load.
    pub(super) async fn load(&self, table: &PluginConfig) -> anyhow::Result<Listed> {
        let plugins = match &self.bench {
            Some(bench) => bench.load(table.clone()).await?,
            None => {
                let bytes = self.bytes.clone();
                let source = Source::new(&self.name, table.clone(), move |_| Ok(bytes));
                load_here(&self.engine, vec![source], &environment()).await?
            }
        };
        match plugins.listed().first() {
            Some(Listed { offers: Err(cause), .. }) => {
                bail!("it does not load, and nothing was changed: {cause}")
            }
            Some(listed) => Ok(listed.clone()),
            None => bail!("it is not listed, which is a fault of this program"),
        }
    }
}

/// The role of a component, as far as it can be told.
pub(super) async fn role_of(engine: &Engine, name: &str, bytes: &[u8]) -> Option<Role> {
    let redactor = boot::redactor(std::iter::empty(), &[]);
    let bench = Bench::open(engine.clone(), name, bytes.to_vec(), redactor).await.ok()?.ok()?;
    bench.anatomy.role.as_ref().ok().map(|(role, _)| *role)
}
