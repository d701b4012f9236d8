//! The functions a guest was in when it broke, as a person would name them.
//!
//! Names are the component's own, demangled. What a language does between a panic and the trap says
//! nothing to anybody and is left out. Reads the engine's backtrace; never decides a cause.

use wasmtime::WasmBacktrace;

use crate::plugin::engine::FRAMES;

/// Functions that are told.
const TOLD: usize = 5;

/// A function that has so many of the innermost frames has called itself, at last by others.
const REPEATED: usize = FRAMES.get() / 8;

/// Beginnings of names that belong to a language's runtime, or to the glue around an export.
const RUNTIMES: [&str; 13] = [
    "core::",
    "std::",
    "alloc::",
    "__rust",
    "abort",
    "cabi_",
    "__wasm_",
    "__wasi",
    "wasi_snapshot_preview1::",
    "proc_exit",
    "dlmalloc",
    "harness:plugin/",
    "wit_bindgen",
];

/// Beginnings of names by which an interpreter is known. Its functions say nothing of the plugin, and
/// the trace that it prints says it all.
const INTERPRETERS: [&str; 2] = ["_PyEval_", "wit_dylib_"];

/// The guest's own functions, the innermost first.
pub(super) fn names(error: &wasmtime::Error) -> Vec<String> {
    let mut names: Vec<String> = all(error).collect();
    if names.iter().any(|name| starts_with(name, &INTERPRETERS)) {
        return Vec::new();
    }
    names.retain(|name| !starts_with(name, &RUNTIMES));
    names.dedup();
    names.truncate(TOLD);
    names
}

fn starts_with(name: &str, beginnings: &[&str]) -> bool {
    // `<T as Trait>::function` belongs to the type's crate.
    let name = name.trim_start_matches('<');
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// The function that most frames are of, where the stack is deep and few functions fill it.
pub(super) fn repeated(error: &wasmtime::Error) -> Option<String> {
    let names: Vec<String> = all(error).collect();
    let count = |name: &String| names.iter().filter(|other| *other == name).count();
    let most = names.iter().max_by_key(|name| count(name))?;
    (count(most) >= REPEATED).then(|| most.clone())
}

/// Every frame that has a name.
fn all(error: &wasmtime::Error) -> impl Iterator<Item = String> {
    let frames = error.downcast_ref::<WasmBacktrace>().map(WasmBacktrace::frames);
    let names = frames.unwrap_or_default().iter().filter_map(|frame| frame.func_name());
    // Without the digest that the compiler puts behind each name.
    names.map(|name| format!("{:#}", rustc_demangle::demangle(name)))
}
