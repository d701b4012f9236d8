//! The functions of WASI that answer. Each is called on the guest's thread and returns at once.
//!
//! Names and types are those of WASI 0.2; a component that declares another type for one of them does
//! not link. What is not in [`define`] is denied by the caller.

use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentType, LinkerInstance, Lower, Resource};

use super::{Exit, Runtime, Stopped};

/// Bytes that a guest is invited to write at once. A runtime writes in pieces of 4 KiB.
const WRITE_BYTES: u64 = 64 << 10;

/// What can be waited for: always there already.
pub(super) enum Pollable {}
/// A stream to read from: at its end.
pub(super) enum Input {}
/// A stream to write to: the sink.
pub(super) enum Output {}
/// Of a stream. No stream here fails.
pub(super) enum Error {}
/// There is none.
pub(super) enum Terminal {}
/// Of a file or a directory. There is none.
pub(super) enum Descriptor {}

/// Every handle stands for the same nothing, whatever its number.
const REP: u32 = 0;

/// Why a stream does not go on.
#[derive(ComponentType, Lower)]
#[component(variant)]
enum StreamError {
    #[component(name = "last-operation-failed")]
    #[allow(dead_code, reason = "the type has the case; no stream here fails")]
    Failed(Resource<Error>),
    #[component(name = "closed")]
    Closed,
}

/// A point in time.
#[derive(ComponentType, Lower)]
#[component(record)]
struct Datetime {
    seconds: u64,
    nanoseconds: u32,
}

/// What a function gives: one value, or the guest stops.
type Given<R> = wasmtime::Result<(R,)>;

/// The same of a stream.
type Streamed<R> = Given<Result<R, StreamError>>;

type Store<'a, T> = StoreContextMut<'a, T>;

/// Defines a function that answers; None for any other.
pub(super) fn define<T: Runtime>(
    to: &mut LinkerInstance<'_, T>,
    interface: &str,
    name: &str,
) -> Option<wasmtime::Result<()>> {
    Some(match (interface, name) {
        ("cli/environment", "get-environment") => to.func_wrap(name, no_variables::<T>),
        ("cli/environment", "get-arguments") => to.func_wrap(name, no_arguments::<T>),
        ("cli/environment", "initial-cwd") => to.func_wrap(name, no_directory::<T>),
        ("cli/exit", "exit") => to.func_wrap(name, exit::<T>),
        ("cli/exit", "exit-with-code") => to.func_wrap(name, exit_with_code::<T>),
        ("cli/stdin", "get-stdin") => to.func_wrap(name, handle::<T, Input>),
        ("cli/stdout", "get-stdout") | ("cli/stderr", "get-stderr") => {
            to.func_wrap(name, handle::<T, Output>)
        }
        (
            "cli/terminal-stdin" | "cli/terminal-stdout" | "cli/terminal-stderr",
            "get-terminal-stdin" | "get-terminal-stdout" | "get-terminal-stderr",
        ) => to.func_wrap(name, no_terminal::<T>),
        ("filesystem/preopens", "get-directories") => to.func_wrap(name, no_directories::<T>),
        ("io/poll", "[method]pollable.ready") => to.func_wrap(name, ready::<T>),
        ("io/poll", "[method]pollable.block") => to.func_wrap(name, block::<T>),
        ("io/poll", "poll") => to.func_wrap(name, poll::<T>),
        ("io/streams", method) => return stream(to, method),
        ("clocks/wall-clock", "now") => to.func_wrap(name, wall::<T>),
        ("clocks/wall-clock", "resolution") => to.func_wrap(name, wall_resolution::<T>),
        ("clocks/monotonic-clock", "now") => to.func_wrap(name, monotonic::<T>),
        ("clocks/monotonic-clock", "resolution") => to.func_wrap(name, resolution::<T>),
        ("clocks/monotonic-clock", "subscribe-instant" | "subscribe-duration") => {
            to.func_wrap(name, alarm::<T>)
        }
        ("random/random", "get-random-bytes")
        | ("random/insecure", "get-insecure-random-bytes") => to.func_wrap(name, random_bytes::<T>),
        ("random/random", "get-random-u64") | ("random/insecure", "get-insecure-random-u64") => {
            to.func_wrap(name, random::<T>)
        }
        ("random/insecure-seed", "insecure-seed") => to.func_wrap(name, seed::<T>),
        _ => return None,
    })
}

fn stream<T: Runtime>(to: &mut LinkerInstance<'_, T>, name: &str) -> Option<wasmtime::Result<()>> {
    let (resource, method) = name.strip_prefix("[method]")?.split_once('.')?;
    Some(match (resource, method) {
        ("input-stream", "read" | "blocking-read") => to.func_wrap(name, read::<T>),
        ("input-stream", "skip" | "blocking-skip") => to.func_wrap(name, skip::<T>),
        ("input-stream", "subscribe") => to.func_wrap(name, subscribe::<T, Input>),
        ("output-stream", "check-write") => to.func_wrap(name, check_write::<T>),
        ("output-stream", "write" | "blocking-write-and-flush") => to.func_wrap(name, write::<T>),
        ("output-stream", "flush" | "blocking-flush") => to.func_wrap(name, flush::<T>),
        ("output-stream", "write-zeroes" | "blocking-write-zeroes-and-flush") => {
            to.func_wrap(name, write_zeroes::<T>)
        }
        ("output-stream", "splice" | "blocking-splice") => to.func_wrap(name, splice::<T>),
        ("output-stream", "subscribe") => to.func_wrap(name, subscribe::<T, Output>),
        _ => return None,
    })
}

fn no_variables<T>(_: Store<'_, T>, (): ()) -> Given<Vec<(String, String)>> {
    Ok((Vec::new(),))
}

fn no_arguments<T>(_: Store<'_, T>, (): ()) -> Given<Vec<String>> {
    Ok((Vec::new(),))
}

fn no_directory<T>(_: Store<'_, T>, (): ()) -> Given<Option<String>> {
    Ok((None,))
}

fn no_directories<T>(_: Store<'_, T>, (): ()) -> Given<Vec<(Resource<Descriptor>, String)>> {
    Ok((Vec::new(),))
}

fn no_terminal<T>(_: Store<'_, T>, (): ()) -> Given<Option<Resource<Terminal>>> {
    Ok((None,))
}

fn exit<T>(_: Store<'_, T>, (status,): (Result<(), ()>,)) -> wasmtime::Result<()> {
    let exit = if status.is_ok() { Exit::Well } else { Exit::Failed };
    Err(Stopped::Exited(exit).into())
}

fn exit_with_code<T>(_: Store<'_, T>, (code,): (u8,)) -> wasmtime::Result<()> {
    let exit = if code == 0 { Exit::Well } else { Exit::Failed };
    Err(Stopped::Exited(exit).into())
}

/// A handle for the guest to hold.
fn handle<T: Runtime, R: 'static>(mut cx: Store<'_, T>, (): ()) -> Given<Resource<R>> {
    cx.data_mut().inert().made()?;
    Ok((Resource::new_own(REP),))
}

fn subscribe<T: Runtime, R: 'static>(
    cx: Store<'_, T>,
    _: (Resource<R>,),
) -> Given<Resource<Pollable>> {
    handle(cx, ())
}

/// Rings at once: waiting takes no time here.
fn alarm<T: Runtime>(cx: Store<'_, T>, _: (u64,)) -> Given<Resource<Pollable>> {
    handle(cx, ())
}

fn ready<T>(_: Store<'_, T>, _: (Resource<Pollable>,)) -> Given<bool> {
    Ok((true,))
}

fn block<T>(_: Store<'_, T>, _: (Resource<Pollable>,)) -> wasmtime::Result<()> {
    Ok(())
}

/// All of them, by place in the list.
fn poll<T>(_: Store<'_, T>, (list,): (Vec<Resource<Pollable>>,)) -> Given<Vec<u32>> {
    Ok(((0..).take(list.len()).collect(),))
}

fn read<T>(_: Store<'_, T>, _: (Resource<Input>, u64)) -> Streamed<Vec<u8>> {
    Ok((Err(StreamError::Closed),))
}

fn skip<T>(_: Store<'_, T>, _: (Resource<Input>, u64)) -> Streamed<u64> {
    Ok((Err(StreamError::Closed),))
}

fn check_write<T>(_: Store<'_, T>, _: (Resource<Output>,)) -> Streamed<u64> {
    Ok((Ok(WRITE_BYTES),))
}

fn write<T: Runtime>(
    mut cx: Store<'_, T>,
    (_, bytes): (Resource<Output>, Vec<u8>),
) -> Streamed<()> {
    cx.data_mut().sink().print(&bytes);
    Ok((Ok(()),))
}

fn flush<T>(_: Store<'_, T>, _: (Resource<Output>,)) -> Streamed<()> {
    Ok((Ok(()),))
}

/// Nobody reads zeroes.
fn write_zeroes<T>(_: Store<'_, T>, _: (Resource<Output>, u64)) -> Streamed<()> {
    Ok((Ok(()),))
}

/// The only stream to read from is at its end.
fn splice<T>(_: Store<'_, T>, _: (Resource<Output>, Resource<Input>, u64)) -> Streamed<u64> {
    Ok((Err(StreamError::Closed),))
}

fn wall<T: Runtime>(mut cx: Store<'_, T>, (): ()) -> Given<Datetime> {
    let since = cx.data_mut().inert().wall();
    Ok((Datetime { seconds: since.as_secs(), nanoseconds: since.subsec_nanos() },))
}

fn wall_resolution<T>(_: Store<'_, T>, (): ()) -> Given<Datetime> {
    Ok((Datetime { seconds: 0, nanoseconds: 1_000_000 },))
}

fn monotonic<T: Runtime>(mut cx: Store<'_, T>, (): ()) -> Given<u64> {
    let since = cx.data_mut().inert().monotonic();
    Ok((u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),))
}

fn resolution<T>(_: Store<'_, T>, (): ()) -> Given<u64> {
    Ok((1_000_000,))
}

fn random_bytes<T: Runtime>(mut cx: Store<'_, T>, (len,): (u64,)) -> Given<Vec<u8>> {
    Ok((cx.data_mut().inert().random_bytes(len)?,))
}

fn random<T: Runtime>(mut cx: Store<'_, T>, (): ()) -> Given<u64> {
    Ok((cx.data_mut().inert().random(),))
}

fn seed<T: Runtime>(mut cx: Store<'_, T>, (): ()) -> Given<(u64, u64)> {
    let inert = cx.data_mut().inert();
    Ok(((inert.random(), inert.random()),))
}
