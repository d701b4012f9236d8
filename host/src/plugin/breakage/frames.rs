//! The functions a guest was in when it broke, as a person would name them.
//!
//! Names are the component's own, demangled. What a language does between a panic and the trap says
//! nothing to anybody and is left out. Reads the engine's backtrace; never decides a cause.

use wasmtime::WasmBacktrace;

/// Functions that are told.
const FRAMES: usize = 5;

/// From so many frames of one function on it has called itself; the engine keeps the innermost 20.
const REPEATED: usize = 4;

/// Beginnings of names that belong to a language's runtime, or to the glue around an export.
const RUNTIMES: [&str; 12] = [
    "core::", "std::", "alloc::", "__rust", "rust_begin_unwind", "abort", "cabi_", "__wasm_",
    "dlmalloc", "_start", "__wasi", "wit_bindgen",
];

/// The guest's own functions, the innermost first.
pub(super) fn names(error: &wasmtime::Error) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in all(error) {
        let is_own = !RUNTIMES.iter().any(|runtime| name.trim_start_matches('<').starts_with(runtime));
        if is_own && names.last() != Some(&name) {
            names.push(name);
        }
    }
    names.truncate(FRAMES);
    names
}

/// The function that most of the innermost frames are of.
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
