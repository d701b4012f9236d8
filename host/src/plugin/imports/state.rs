//! `state`: small values a plugin keeps between calls, by plugin and session.
//!
//! In the ledger, with the session. Values are compared and set by revision, so that parallel calls
//! of one plugin lose nothing.

use super::CallState;
use crate::ledger::Kept;
use crate::plugin::workspace::Keep;
use crate::wit::{Fault, FaultKind, state};

/// Bytes of one value.
const VALUE_BYTES: usize = 1 << 20;

/// Bytes of all values of one plugin in one session.
const ALL_BYTES: usize = 16 << 20;

/// Keys of one plugin in one session.
const KEYS: usize = 256;

/// Bytes of one key.
const KEY_BYTES: usize = 256;

impl state::Host for CallState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<state::Value>> {
        let keep = self.workspace.kept().await;
        let value = keep.values.get(&(self.plugin.to_string(), key));
        Ok(value
            .map(|(revision, bytes)| state::Value { bytes: bytes.clone(), revision: *revision }))
    }

    async fn put(
        &mut self,
        key: String,
        bytes: Vec<u8>,
        revision: u64,
    ) -> wasmtime::Result<Result<u64, Fault>> {
        let mut keep = self.workspace.kept().await;
        let place = (self.plugin.to_string(), key);
        if let Err(fault) = check(&keep, &place, &bytes, revision) {
            return Ok(Err(fault));
        }
        let value = (revision + 1, bytes);
        if let Err(fault) = store(&keep, &place, Some(value.clone())).await {
            return Ok(Err(fault));
        }
        keep.values.insert(place, value);
        Ok(Ok(revision + 1))
    }

    async fn remove(&mut self, key: String) -> wasmtime::Result<Result<(), Fault>> {
        let mut keep = self.workspace.kept().await;
        let place = (self.plugin.to_string(), key);
        if let Err(fault) = store(&keep, &place, None).await {
            return Ok(Err(fault));
        }
        keep.values.remove(&place);
        Ok(Ok(()))
    }

    async fn keys(&mut self) -> wasmtime::Result<Vec<String>> {
        let keep = self.workspace.kept().await;
        let mine = keep.values.keys().filter(|(plugin, _)| **plugin == *self.plugin);
        let mut keys: Vec<String> = mine.map(|(_, key)| key.clone()).collect();
        keys.sort_unstable();
        Ok(keys)
    }
}

/// Commits a change before it is made, so that what was told as kept is there after a kill.
async fn store(
    keep: &Keep,
    (plugin, key): &(String, String),
    value: Option<(u64, Vec<u8>)>,
) -> Result<(), Fault> {
    let Some((ledger, session)) = &keep.ledger else { return Ok(()) };
    let kept = Kept { plugin: plugin.clone(), key: key.clone(), value };
    ledger.keep(session, kept).await.map_err(|err| {
        tracing::error!(plugin, session, "a plugin's value is not kept: {err}");
        let message = format!("the value `{key}` could not be kept");
        Fault { kind: FaultKind::Unavailable, message, hint: None }
    })
}

fn check(keep: &Keep, place: &(String, String), bytes: &[u8], revision: u64) -> Result<(), Fault> {
    let refuse = |kind, message| Err(Fault { kind, message, hint: None });
    if bytes.len() > VALUE_BYTES {
        let message = format!("value is {} bytes, over the limit of {VALUE_BYTES}", bytes.len());
        return refuse(FaultKind::TooLarge, message);
    }
    let (plugin, key) = place;
    if key.len() > KEY_BYTES {
        let message = format!("key is {} bytes, over the limit of {KEY_BYTES}", key.len());
        return refuse(FaultKind::TooLarge, message);
    }
    let others = keep.values.iter().filter(|(other, _)| other.0 == *plugin && *other != place);
    let (keys, all_bytes) = others.fold((0, bytes.len()), |(keys, all_bytes), (_, (_, value))| {
        (keys + 1, all_bytes + value.len())
    });
    if keys >= KEYS {
        return refuse(FaultKind::TooLarge, format!("{KEYS} keys are kept already"));
    }
    if all_bytes > ALL_BYTES {
        let message = format!("{all_bytes} bytes in all, over the limit of {ALL_BYTES}");
        return refuse(FaultKind::TooLarge, message);
    }
    let current = keep.values.get(place).map_or(0, |(revision, _)| *revision);
    if current != revision {
        let message = format!("the value is at revision {current}, not {revision}");
        return refuse(FaultKind::Conflict, message);
    }
    Ok(())
}
