//! What a handful of runs says about a ratio.

/// Median of several runs, with an interval that needs no assumption about how they are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Middle value; the mean of the two middle ones of an even number.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability that such an interval covers the true median: at least [`WANTED`] when there are enough runs.
    pub coverage: f64,
}

/// Least coverage asked for. Fewer than five runs cannot give it; the interval is then the whole range.
pub const WANTED: f64 = 0.90;

/// Summarises `runs`; `None` when there are none.
///
/// The interval lies between two order statistics: the median is below the `k`-th smallest of `n` independent runs with
/// the probability that at most `k - 1` of `n` fair coins show heads.
#[must_use]
pub fn summarise(runs: &[f64]) -> Option<Summary> {
    let mut sorted = runs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let middle = *sorted.get(n / 2)?;
    let median = if n.is_multiple_of(2) { f64::midpoint(sorted[n / 2 - 1], middle) } else { middle };
    let narrowest = (1..=n.div_ceil(2)).rev().find(|&k| coverage(n, k) >= WANTED).unwrap_or(1);
    Some(Summary { median, low: sorted[narrowest - 1], high: sorted[n - narrowest], coverage: coverage(n, narrowest) })
}

/// Probability that the median lies between the `k`-th smallest and the `k`-th largest of `n` runs.
fn coverage(n: usize, k: usize) -> f64 {
    let (mut ways, mut below) = (1.0, 0.0);
    for i in 0..k {
        below += ways;
        ways *= (n - i) as f64 / (i + 1) as f64;
    }
    1.0 - 2.0 * below * 0.5_f64.powi(n as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_runs_leave_one_out_on_each_side() {
        let runs: Vec<f64> = (1..=9).rev().map(f64::from).collect();
        let Some(summary) = summarise(&runs) else { panic!("nine runs") };
        assert_eq!((summary.median, summary.low, summary.high), (5.0, 2.0, 8.0));
        assert!((summary.coverage - (1.0 - 20.0 / 512.0)).abs() < 1e-12);
    }

    #[test]
    fn three_runs_show_their_range_and_say_that_it_is_not_enough() {
        assert_eq!(summarise(&[3.0, 1.0, 2.0]), Some(Summary { median: 2.0, low: 1.0, high: 3.0, coverage: 0.75 }));
        assert_eq!(summarise(&[4.0, 2.0]).map(|summary| summary.median), Some(3.0));
        assert_eq!(summarise(&[]), None);
    }
}
