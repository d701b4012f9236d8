//! Time, as the loop sees it: one point by which something must be over, and how long it took.
//!
//! The loop reads no clock of its own: a run gets one [`Deadline`], and everything it starts
//! (a model call, a guest, a process) gets the same one or an earlier one.

use std::time::{Duration, Instant};

/// A point in time. Copy it freely; it never moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// `left` from now.
    pub fn after(left: Duration) -> Deadline {
        Deadline(Instant::now() + left)
    }

    /// The earlier of this one and `left` from now.
    pub fn at_most(self, left: Duration) -> Deadline {
        self.min(Deadline::after(left))
    }

    /// This one, moved `earlier` towards the past: what must be over to leave that much room.
    pub fn minus(self, earlier: Duration) -> Deadline {
        Deadline(self.0.checked_sub(earlier).unwrap_or(self.0))
    }

    /// Time left; zero once it has passed.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Milliseconds left, capped at `u32::MAX` (49 days).
    pub fn left_ms(self) -> u32 {
        u32::try_from(self.left().as_millis()).unwrap_or(u32::MAX)
    }

    /// True once it has passed.
    pub fn is_over(self) -> bool {
        self.left().is_zero()
    }

    /// As a point on the monotonic clock, for those who wait.
    pub fn instant(self) -> Instant {
        self.0
    }
}

/// Measures how long something took.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Stopwatch {
        Stopwatch(Instant::now())
    }

    /// Since the start, in milliseconds.
    pub fn elapsed_ms(self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Since the start, in microseconds.
    pub fn elapsed_us(self) -> u64 {
        u64::try_from(self.0.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}
