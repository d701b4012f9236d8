//! Core modules to components, and the table that lists them.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use wit_component::ComponentEncoder;

use crate::{Guest, Plan, cause};

/// Wraps every module and writes the table.
pub(crate) fn write(plan: &Plan, modules: &Path, out: &Path) -> Result<(), String> {
    let mut table = String::from("&[\n");
    for Guest { package, name, fields, .. } in plan.guests {
        let module = modules.join(format!("{}.wasm", package.replace('-', "_")));
        let component = wrap(&module).map_err(|err| format!("guest `{name}`: {err}"))?;
        write_if_changed(&out.join(format!("{name}.wasm")), &component)?;
        let row = plan.row;
        let comma = if fields.is_empty() { "" } else { ", " };
        let _ = writeln!(
            table,
            "    {row} {{ name: {name:?}, {fields}{comma}\
             bytes: include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}.wasm\")) }},"
        );
    }
    table.push_str("]\n");
    write_if_changed(&out.join("table.rs"), table.as_bytes())
}

/// Makes a component of a core module; validation finds a broken export at build time.
fn wrap(module: &Path) -> Result<Vec<u8>, String> {
    let core = fs::read(module).map_err(|err| cause("read", module, &err))?;
    ComponentEncoder::default()
        .validate(true)
        .module(&core)
        .and_then(|encoder| encoder.encode())
        .map_err(|err| format!("{err:#}"))
}

/// An unchanged file keeps its time, so that what includes it is not compiled again.
fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    fs::write(path, bytes).map_err(|err| cause("write", path, &err))
}
