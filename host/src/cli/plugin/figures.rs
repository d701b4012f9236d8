//! Figures as people read them: sizes, times, shares.
//!
//! One spelling for each, in every command of plugins.

use std::time::Duration;

/// `44 kB`, `12.0 MB`.
pub(super) fn size(bytes: usize) -> String {
    if bytes < 10_000_000 {
        return format!("{} kB", bytes.div_ceil(1_000));
    }
    format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}

/// `64 KiB`, which is how memory comes.
pub(super) fn memory(bytes: usize) -> String {
    format!("{} KiB", bytes.div_ceil(1 << 10))
}

/// `0.04 ms`, `12.3 ms`.
pub(super) fn time(time: Duration) -> String {
    let us = time.as_micros();
    if us < 10_000 {
        return format!("{}.{:02} ms", us / 1_000, us % 1_000 / 10);
    }
    format!("{}.{} ms", us / 1_000, us % 1_000 / 100)
}

/// `0.3 million instructions`, and of a limit the share.
pub(super) fn fuel(fuel: u64) -> String {
    let thousands = fuel.div_ceil(1_000);
    format!("{}.{:03} million instructions", thousands / 1_000, thousands % 1_000)
}

/// `1.2 %`.
pub(super) fn share(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 1_000 / u128::from(whole.max(1));
    if tenths == 0 && part > 0 {
        return "less than 0.1 %".to_owned();
    }
    format!("{}.{} %", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_one_spelling() {
        let check = |said: String, expected: &str| assert_eq!(said, expected);
        check(size(1), "1 kB");
        check(size(12_034_567), "12.0 MB");
        check(memory(65_537), "65 KiB");
        check(time(Duration::from_micros(41)), "0.04 ms");
        check(time(Duration::from_micros(12_345)), "12.3 ms");
        check(fuel(1_234_567), "1.235 million instructions");
        check(share(5, 1_000), "0.5 %");
        check(share(1, 100_000), "less than 0.1 %");
        check(share(3, 0), "300.0 %");
    }
}
