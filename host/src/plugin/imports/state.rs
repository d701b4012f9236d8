//! `state`: small values a plugin keeps between calls, by plugin and session.
//!
//! In memory, with the session. Values are compared and set by revision, so that parallel calls
//! of one plugin lose nothing.

use super::CallState;
use crate::plugin::workspace::Kept;
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
        let kept = self.workspace.kept();
        let value = kept.get(&(self.plugin.to_string(), key));
        Ok(value.map(|value| state::Value { bytes: value.bytes.clone(), revision: value.revision }))
    }

    async fn put(
        &mut self,
        key: String,
        bytes: Vec<u8>,
        revision: u64,
    ) -> wasmtime::Result<Result<u64, Fault>> {
        Ok(self.put_value(key, bytes, revision))
    }

    async fn remove(&mut self, key: String) -> wasmtime::Result<Result<(), Fault>> {
        self.workspace.kept().remove(&(self.plugin.to_string(), key));
        Ok(Ok(()))
    }

    async fn keys(&mut self) -> wasmtime::Result<Vec<String>> {
        let kept = self.workspace.kept();
        let mine = kept.keys().filter(|(plugin, _)| **plugin == *self.plugin);
        let mut keys: Vec<String> = mine.map(|(_, key)| key.clone()).collect();
        keys.sort_unstable();
        Ok(keys)
    }
}

impl CallState {
    fn put_value(&self, key: String, bytes: Vec<u8>, revision: u64) -> Result<u64, Fault> {
        let refuse = |kind, message| Err(Fault { kind, message, hint: None });
        if bytes.len() > VALUE_BYTES {
            let message =
                format!("value is {} bytes, over the limit of {VALUE_BYTES}", bytes.len());
            return refuse(FaultKind::TooLarge, message);
        }
        if key.len() > KEY_BYTES {
            let message = format!("key is {} bytes, over the limit of {KEY_BYTES}", key.len());
            return refuse(FaultKind::TooLarge, message);
        }
        let mut kept = self.workspace.kept();
        let place = (self.plugin.to_string(), key);
        let others = kept.iter().filter(|(other, _)| other.0 == place.0 && **other != place);
        let (keys, all_bytes) = others.fold((0, bytes.len()), |(keys, all_bytes), (_, value)| {
            (keys + 1, all_bytes + value.bytes.len())
        });
        let current = kept.get(&place).map_or(0, |value| value.revision);
        if keys >= KEYS {
            return refuse(FaultKind::TooLarge, format!("{KEYS} keys are kept already"));
        }
        if all_bytes > ALL_BYTES {
            let message = format!("{all_bytes} bytes in all, over the limit of {ALL_BYTES}");
            return refuse(FaultKind::TooLarge, message);
        }
        if current != revision {
            let message = format!("the value is at revision {current}, not {revision}");
            return refuse(FaultKind::Conflict, message);
        }
        kept.insert(place, Kept { bytes, revision: current + 1 });
        Ok(current + 1)
    }
}
