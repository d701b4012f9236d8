//! Many measurements in few words.

use std::time::Duration;

/// Milliseconds.
pub fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Median and 95th percentile; sorts the values.
pub fn spread(values: &mut [f64], unit: &str) -> String {
    values.sort_by(f64::total_cmp);
    format!("median {:.2} {unit}, p95 {:.2}", at(values, 0.5), at(values, 0.95))
}

/// The median; sorts the values.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    at(values, 0.5)
}

/// The mean.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn at(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share) as usize]
}
