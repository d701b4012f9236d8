//! Links a component, and says in the contract's words why it does not.
//!
//! What a component needs is read from its own type and compared with what the linker has, function
//! by function, before the engine is asked: it would speak of instances. Never runs any of it.

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, InstancePre, Linker};

use super::{LoadError, PACKAGE, VERSION, ours};
use crate::plugin::wasi::{self, Runtime};

/// Links `component` to what `linker` has, and to an inert WASI where it brings a runtime.
pub(in super::super) fn link<T: Runtime>(
    mut linker: Linker<T>,
    component: &Component,
) -> Result<InstancePre<T>, LoadError> {
    check_functions(linker.clone(), component)?;
    wasi::link(&mut linker, component).map_err(LoadError::misfit)?;
    linker.instantiate_pre(component).map_err(LoadError::misfit)
}

/// Every function of the contract that `component` imports must be in `offered`: which it is when
/// it cannot be defined anew.
fn check_functions<T: Runtime>(
    mut offered: Linker<T>,
    component: &Component,
) -> Result<(), LoadError> {
    let engine = offered.engine().clone();
    for (name, item) in component.component_type().imports(&engine) {
        let (Some((interface, needed)), ComponentItem::ComponentInstance(imported)) =
            (ours(name), item.ty)
        else {
            continue;
        };
        let here = format!("{PACKAGE}/{interface}@{VERSION}");
        let mut here = offered.instance(&here).map_err(LoadError::misfit)?;
        for (function, item) in imported.exports(&engine) {
            let is_function = matches!(item.ty, ComponentItem::ComponentFunc(_));
            if is_function && here.func_new(function, |_, _, _, _| Ok(())).is_ok() {
                return Err(LoadError::MissingFunction {
                    interface: interface.to_owned(),
                    function: function.to_owned(),
                    needed: needed.to_owned(),
                });
            }
        }
    }
    Ok(())
}
