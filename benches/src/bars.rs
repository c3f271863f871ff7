//! The ratios that have a name, and the bar each is held against.

use crate::report::Measured;
use crate::stats::Summary;
use crate::tail::ARITHMETIC;

/// What of the batches is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// The median batch.
    Medians,
    /// The mean, which counts the time lost to sleeping on a lock: where threads meet.
    Means,
}

/// Which side of the bar is good.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bar {
    /// Time of the peer ÷ time of `nrt`.
    AtLeast(f64),
    /// Time of `nrt` ÷ time of the peer.
    AtMost(f64),
}

/// A named ratio: of a peer to the first peer of a scenario.
struct Named {
    name: &'static str,
    scenario: &'static str,
    peer: &'static str,
    of: Of,
    bar: Bar,
}

const fn named(name: &'static str, scenario: &'static str, peer: &'static str, of: Of, bar: Bar) -> Named {
    Named { name, scenario, peer, of, bar }
}

const TWO_MODELS: &str = "acquire/2 threads, two models of a core";

const MANY: &str = "node/1 thread, 64 at a time, one stay";

const ALONE: &str = crate::node::ALONE;

const NAMED: &[Named] = &[
    named("pool_vs_heapless", "pool/1 thread", "heapless BoxPool", Of::Medians, Bar::AtLeast(1.8)),
    named("pool_vs_calloc", "pool/1 thread", "calloc + free", Of::Medians, Bar::AtLeast(1.3)),
    named("object_vs_c_object_path", "node/1 thread, one stay", "C object path", Of::Medians, Bar::AtLeast(1.8)),
    named("object_64_alive_vs_c_object_path", MANY, "C object path", Of::Medians, Bar::AtLeast(1.8)),
    named("object_and_gate_vs_c_object_path", "node/1 thread", "C object path", Of::Medians, Bar::AtLeast(1.8)),
    named("two_devices_vs_one_thread", "node/2 threads, two devices", ALONE, Of::Means, Bar::AtMost(1.3)),
    named("two_cores_of_a_device_vs_one_thread", "node/2 threads, one device", ALONE, Of::Means, Bar::AtMost(1.6)),
    named("acquire_vs_documented_1t", "acquire/1 thread", "C documented shape", Of::Medians, Bar::AtLeast(1.5)),
    named("acquire_vs_documented_2t_same_core", TWO_MODELS, "C documented shape", Of::Means, Bar::AtLeast(5.0)),
    named("acquire_vs_papaya_guard", "acquire/1 thread", "papaya, guard", Of::Medians, Bar::AtLeast(0.9)),
    named("acquire_vs_papaya_guard_2t", TWO_MODELS, "papaya, guard", Of::Means, Bar::AtLeast(0.9)),
    named("carve_vs_offset_allocator", "carve/1 thread", "offset-allocator", Of::Medians, Bar::AtLeast(0.8)),
    named("carve_vs_syscall", "carve/1 thread", "cheapest system call", Of::Medians, Bar::AtLeast(3.0)),
    named("staged_copy_vs_hand", "copy/64 MiB", "by hand", Of::Medians, Bar::AtLeast(0.9)),
    named("drain_vs_futex_wake", "drain/there and back", "futex wake", Of::Medians, Bar::AtMost(1.5)),
];

/// A tail with a name: of the first peer of a scenario, or of the arithmetic beside it, which shows what no program could help.
struct Tail {
    name: &'static str,
    scenario: &'static str,
    of_arithmetic: bool,
}

const fn tail(name: &'static str, scenario: &'static str, of_arithmetic: bool) -> Tail {
    Tail { name, scenario, of_arithmetic }
}

const TAILS: &[Tail] = &[
    tail("node_tail", "tail/allocate and release, 64", false),
    tail("node_tail_of_arithmetic", "tail/allocate and release, 64", true),
    tail("node_tail_long", "tail/allocate and release, 1,024", false),
    tail("acquire_tail", "tail/take and give back, 64", false),
    tail("acquire_tail_of_arithmetic", "tail/take and give back, 64", true),
    tail("acquire_tail_long", "tail/take and give back, 8,192", false),
    tail("carve_tail", "tail/carve and give back, 64", false),
    tail("carve_tail_of_arithmetic", "tail/carve and give back, 64", true),
    tail("carve_tail_long", "tail/carve and give back, 2,048", false),
];

/// Largest 99.9th percentile ÷ median.
const TAIL: f64 = 2.0;

/// A named ratio as it was measured.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Name of the ratio.
    pub name: &'static str,
    /// Median of the runs and its interval.
    pub ratio: Summary,
    /// The bar.
    pub bar: f64,
    /// Whether the ratio must not be above the bar, instead of not below.
    pub at_most: bool,
    /// Whether the interval reaches the bar.
    pub passes: bool,
}

/// What was measured of the named ratios. One whose scenario was left out, or could not be measured, is not there.
#[must_use]
pub fn verdicts(results: &[Measured]) -> Vec<Verdict> {
    NAMED
        .iter()
        .filter_map(|named| verdict(named, results))
        .chain(TAILS.iter().filter_map(|tail| of_tail(tail, results)))
        .collect()
}

fn of_tail(Tail { name, scenario, of_arithmetic }: &Tail, results: &[Measured]) -> Option<Verdict> {
    let rows = results.iter().find(|measured| measured.name == *scenario)?.rows.as_ref()?;
    let tail = rows.iter().find(|row| (row.name == ARITHMETIC) == *of_arithmetic)?.tail;
    // The best run is one number: no interval.
    let ratio = Summary { median: tail, low: tail, high: tail, coverage: 0.0 };
    Some(Verdict { name, ratio, bar: TAIL, at_most: true, passes: tail <= TAIL })
}

fn verdict(named: &Named, results: &[Measured]) -> Option<Verdict> {
    let rows = results.iter().find(|measured| measured.name == named.scenario)?.rows.as_ref()?;
    let row = rows.iter().find(|row| row.name == named.peer)?;
    let ratio = match named.of {
        Of::Medians => row.ratio,
        Of::Means => row.ratio_of_means,
    }?;
    Some(judge(named.name, ratio, named.bar))
}

fn judge(name: &'static str, ratio: Summary, bar: Bar) -> Verdict {
    match bar {
        Bar::AtLeast(bar) => Verdict { name, ratio, bar, at_most: false, passes: ratio.high >= bar },
        Bar::AtMost(bar) => {
            let Summary { median, low, high, coverage } = ratio;
            let ratio = Summary { median: 1.0 / median, low: 1.0 / high, high: 1.0 / low, coverage };
            Verdict { name, ratio, bar, at_most: true, passes: ratio.low <= bar }
        }
    }
}

/// Every named ratio with its bar, for people.
#[must_use]
pub fn table(verdicts: &[Verdict]) -> String {
    use std::fmt::Write as _;
    let mut text = format!("\n  {:<36}{:>8}  {:<16}{:>8}  verdict\n", "ratio", "median", "interval", "bar");
    for Verdict { name, ratio, bar, at_most, passes } in verdicts {
        let interval = format!("[{:.2}, {:.2}]", ratio.low, ratio.high);
        let bar = format!("{} {bar}", if *at_most { "≤" } else { "≥" });
        let verdict = if *passes { "passes" } else { "fails" };
        let _ = writeln!(text, "  {name:<36}{:>8.2}  {interval:<16}{bar:>8}  {verdict}", ratio.median);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_passes_when_its_interval_reaches_the_bar() {
        let ratio = Summary { median: 1.5, low: 1.25, high: 2.0, coverage: 0.96 };
        assert!(judge("x", ratio, Bar::AtLeast(2.0)).passes && !judge("x", ratio, Bar::AtLeast(2.01)).passes);
        let inverse = judge("x", ratio, Bar::AtMost(0.5));
        assert!(inverse.passes && !judge("x", ratio, Bar::AtMost(0.49)).passes);
        assert_eq!((inverse.ratio.low, inverse.ratio.high), (0.5, 0.8));
    }

    #[test]
    fn names_are_used_once() {
        let tails = TAILS.iter().map(|tail| tail.name);
        let names: std::collections::BTreeSet<_> = NAMED.iter().map(|named| named.name).chain(tails).collect();
        assert_eq!(names.len(), NAMED.len() + TAILS.len());
    }
}
