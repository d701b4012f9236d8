//! Compiled components, kept between processes: what takes a second to compile takes a millisecond
//! to take up again.
//!
//! The engine runs what lies there without a look, so each file carries a code made with a key that
//! only this directory has, and is read whole and checked before the engine sees a byte. Commands
//! see neither. Whatever is wrong with a file, it is compiled anew; nothing here ever fails a load.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

use harness_jail::PrivateDir;
use wasmtime::Engine;
use wasmtime::component::Component;

/// Bytes of one compiled component; a large runtime's takes 36 MB.
const FILE_BYTES: u64 = 512 << 20;

/// Files that are kept; the oldest go.
const FILES: usize = 100;

/// The file with the key.
const KEY: &str = "key";

/// Bytes of the key, and of a code.
const CODE_BYTES: usize = 32;

/// A directory of compiled components.
pub(super) struct Cache {
    directory: PrivateDir,
    key: [u8; CODE_BYTES],
    /// Of the engine's version and settings: another engine's files are none of ours.
    engine: String,
}

impl Cache {
    /// Reads the key, or makes one. Files of other engines are removed.
    pub(super) fn open(directory: PrivateDir, engine: &Engine) -> io::Result<Cache> {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let engine = format!("{:016x}", hasher.finish());
        let key = match directory.read(KEY, CODE_BYTES as u64) {
            Ok(key) => key.try_into().ok(),
            Err(err) if err.kind() == io::ErrorKind::NotFound => None,
            Err(err) => return Err(err),
        };
        let key = match key {
            Some(key) => key,
            None => {
                let random = || *uuid::Uuid::new_v4().as_bytes();
                // Each has 122 random bits; three of them leave nothing to guess.
                let key = *blake3::hash(&[random(), random(), random()].concat()).as_bytes();
                directory.write(KEY, &key)?;
                key
            }
        };
        let cache = Cache { directory, key, engine };
        cache.tidy()?;
        Ok(cache)
    }

    /// What was compiled of the component with that digest.
    pub(super) fn get(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let name = self.name(digest);
        let file = self.directory.read(&name, FILE_BYTES).ok()?;
        let (code, compiled) = file.split_at_checked(CODE_BYTES)?;
        let code = blake3::Hash::from_slice(code).ok()?;
        // Compared in constant time, by the type.
        if self.code(&name, compiled) != code {
            tracing::warn!("a compiled plugin in the cache was tampered with or cut: `{name}`");
            return None;
        }
        #[expect(unsafe_code, reason = "the engine trusts what it made itself")]
        // SAFETY: the bytes are what `Component::serialize` of this version and these settings gave
        // to `put`: nobody else has the key, and they were copied before they were checked.
        let component = unsafe { Component::deserialize(engine, compiled) };
        component.ok()
    }

    /// Keeps a component; one that cannot be kept is compiled again next time.
    pub(super) fn put(&self, digest: &str, component: &Component) {
        let name = self.name(digest);
        let kept = component.serialize().map_err(io::Error::other).and_then(|compiled| {
            let code = self.code(&name, &compiled);
            self.directory.write(&name, &[code.as_bytes(), compiled.as_slice()].concat())
        });
        if let Err(err) = kept {
            tracing::warn!("a compiled plugin cannot be kept: {err}");
        }
    }

    fn name(&self, digest: &str) -> String {
        format!("{}-{}", self.engine, digest.trim_start_matches("blake3:"))
    }

    fn code(&self, name: &str, compiled: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(name.as_bytes()).update(compiled).finalize()
    }

    /// Removes what other engines left, and the oldest of what is too many.
    fn tidy(&self) -> io::Result<()> {
        let mut files = self.directory.files()?;
        files.retain(|(name, _)| name != KEY);
        files.sort_by_key(|(_, modified_ms)| std::cmp::Reverse(*modified_ms));
        let (ours, others): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|(name, _)| name.starts_with(&self.engine));
        for (name, _) in others.iter().chain(ours.iter().skip(FILES)) {
            self.directory.remove(name)?;
        }
        Ok(())
    }
}
