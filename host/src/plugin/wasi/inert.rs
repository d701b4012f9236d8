//! What one store's runtime is told of the world: clocks, randomness, and how many handles it has.
//!
//! For a guard or a profile the clocks start at one point and the dice fall one way, so that what it
//! says follows from what it is asked. A tool may know the time, and does. Reads nothing else.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::Stopped;

/// Streams and pollables that one store may hold. A runtime has a handful; each is the host's memory.
const HANDLES: u32 = 1_000;

/// Random bytes that are given at once.
const RANDOM_BYTES: u64 = 1 << 20;

/// Where the fixed clock stands: the beginning of 2000.
const FIXED: Duration = Duration::from_secs(946_684_800);

/// How far the fixed monotonic clock moves at each look, so that nobody waits for it in vain.
const LOOK: Duration = Duration::from_millis(1);

/// Of the dice that always fall the same way.
const SEED: &[u8] = b"a verdict is a function of its input";

/// State of one store.
pub(in super::super) struct Inert {
    clock: Clock,
    /// Made at the first throw: most guests never ask.
    dice: Option<blake3::OutputReader>,
    handles: u32,
}

enum Clock {
    /// Each look at the monotonic clock is one later.
    Fixed {
        looks: u32,
    },
    Real {
        since: Instant,
    },
}

impl Inert {
    /// For what must say the same each time.
    pub(in super::super) fn fixed() -> Inert {
        Inert { clock: Clock::Fixed { looks: 0 }, dice: None, handles: 0 }
    }

    /// For what may know the time.
    pub(in super::super) fn real() -> Inert {
        Inert { clock: Clock::Real { since: Instant::now() }, dice: None, handles: 0 }
    }

    /// Since 1970, UTC.
    pub(super) fn wall(&self) -> Duration {
        match self.clock {
            Clock::Fixed { .. } => FIXED,
            Clock::Real { .. } => {
                SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO)
            }
        }
    }

    /// Since the store was made.
    pub(super) fn monotonic(&mut self) -> Duration {
        match &mut self.clock {
            Clock::Fixed { looks } => {
                *looks = looks.saturating_add(1);
                LOOK * *looks
            }
            Clock::Real { since } => since.elapsed(),
        }
    }

    /// So many random bytes, as few as asked for and no more than a runtime has a use for.
    pub(super) fn random_bytes(&mut self, len: u64) -> Result<Vec<u8>, Stopped> {
        let greedy = Stopped::Greedy { what: "random bytes", limit: RANDOM_BYTES };
        let len = usize::try_from(len.min(RANDOM_BYTES + 1)).map_err(|_| greedy.clone())?;
        if len as u64 > RANDOM_BYTES {
            return Err(greedy);
        }
        let mut bytes = vec![0; len];
        self.throw(&mut bytes);
        Ok(bytes)
    }

    /// One random number.
    pub(super) fn random(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.throw(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    fn throw(&mut self, bytes: &mut [u8]) {
        let clock = &self.clock;
        let dice = self.dice.get_or_insert_with(|| {
            let mut hasher = blake3::Hasher::new();
            match clock {
                Clock::Fixed { .. } => hasher.update(SEED),
                // 244 random bits of the system's.
                Clock::Real { .. } => hasher
                    .update(uuid::Uuid::new_v4().as_bytes())
                    .update(uuid::Uuid::new_v4().as_bytes()),
            };
            hasher.finalize_xof()
        });
        dice.fill(bytes);
    }

    /// Counts a handle that the guest gets.
    pub(super) fn made(&mut self) -> Result<(), Stopped> {
        if self.handles == HANDLES {
            return Err(Stopped::Greedy { what: "streams and pollables", limit: HANDLES.into() });
        }
        self.handles += 1;
        Ok(())
    }

    /// Counts a handle that the guest gave back.
    pub(super) fn dropped(&mut self) {
        self.handles = self.handles.saturating_sub(1);
    }
}
