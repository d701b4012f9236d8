//! An inert WASI: what languages with a runtime import, and nothing behind it.
//!
//! Each `wasi:` import of a component is defined from the component's own type. What a runtime asks
//! for while it starts is answered: no arguments, no variables, no directories, a closed input, an
//! output that is kept for the case that the plugin breaks. Everything else stops the guest when it
//! is called, in words that say what was denied, so that a component may import what it never uses.
//! Nothing here opens a file or a socket, and nothing waits: a plugin reaches the world by the
//! contract's own interfaces alone.

mod answers;
mod inert;

use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker, LinkerInstance, ResourceType};

pub(super) use inert::Inert;

use super::sink::Sink;

/// What a store has for a guest's runtime.
pub(super) trait Runtime: Send + 'static {
    /// Clock, randomness and handles.
    fn inert(&mut self) -> &mut Inert;
    /// Takes what the guest prints.
    fn sink(&mut self) -> &mut Sink;
}

/// Why a function of this WASI did not return.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Stopped {
    /// The guest ended itself.
    #[error("it exited, {0}")]
    Exited(Exit),
    /// What it called is not there.
    #[error("denied: `wasi:{interface}#{function}`: {instead}", instead = instead(interface))]
    Denied {
        /// Without `wasi:` and without the version.
        interface: String,
        function: String,
    },
    /// More at once than a runtime has a use for.
    #[error("denied: more than {limit} {what} at once")]
    Greedy { what: &'static str, limit: u64 },
}

/// What a guest said of itself when it ended itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// That all is well; but it did not answer.
    Well,
    /// That something failed.
    Failed,
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Exit::Well => "reporting success, before it had answered",
            Exit::Failed => "reporting a failure",
        })
    }
}

/// By what a plugin does it instead.
fn instead(interface: &str) -> &'static str {
    match interface.split('/').next() {
        Some("filesystem") => {
            "a tool reaches files by `workspace-read` and `workspace-write`, a guard or a profile none"
        }
        Some("sockets" | "http") => "a tool reaches servers by `fetch`, a guard or a profile none",
        _ => "this host has nothing behind it",
    }
}

/// The interface of an import that is defined here, without `wasi:` and the version.
pub(super) fn interface(import: &str) -> Option<&str> {
    let (interface, version) = import.strip_prefix("wasi:")?.split_once('@')?;
    // The functions of one name are the same in every 0.2; 0.3 is another thing altogether.
    version.starts_with("0.2.").then_some(interface)
}

/// Defines every `wasi:` import of `component`, and those alone.
pub(super) fn link<T: Runtime>(
    linker: &mut Linker<T>,
    component: &Component,
) -> wasmtime::Result<()> {
    let engine = linker.engine().clone();
    for (name, item) in component.component_type().imports(&engine) {
        let (Some(interface), ComponentItem::ComponentInstance(wanted)) =
            (interface(name), item.ty)
        else {
            continue;
        };
        let mut instance = linker.instance(name)?;
        for (name, item) in wanted.exports(&engine) {
            match item.ty {
                ComponentItem::ComponentFunc(_) => function(&mut instance, interface, name)?,
                ComponentItem::Resource(_) => resource(&mut instance, name)?,
                _ => {}
            }
        }
    }
    Ok(())
}

fn function<T: Runtime>(
    instance: &mut LinkerInstance<'_, T>,
    interface: &str,
    name: &str,
) -> wasmtime::Result<()> {
    if let Some(defined) = answers::define(instance, interface, name) {
        return defined;
    }
    let denied = Stopped::Denied { interface: interface.to_owned(), function: name.to_owned() };
    instance.func_new(name, move |_, _, _, _| Err(denied.clone().into()))
}

/// A resource is one type in every interface that names it; those that no answer has are all one.
fn resource<T: Runtime>(instance: &mut LinkerInstance<'_, T>, name: &str) -> wasmtime::Result<()> {
    let ty = match name {
        "pollable" => ResourceType::host::<answers::Pollable>(),
        "input-stream" => ResourceType::host::<answers::Input>(),
        "output-stream" => ResourceType::host::<answers::Output>(),
        // `wasi:http` and `wasi:filesystem` have errors of their own, but no resource of that name.
        "error" | "io-error" => ResourceType::host::<answers::Error>(),
        "terminal-input" | "terminal-output" => ResourceType::host::<answers::Terminal>(),
        "descriptor" => ResourceType::host::<answers::Descriptor>(),
        _ => ResourceType::host::<Absent>(),
    };
    instance.resource(name, ty, |mut cx, _| {
        cx.data_mut().inert().dropped();
        Ok(())
    })
}

/// A resource that nobody can have: whatever makes one is denied.
enum Absent {}
