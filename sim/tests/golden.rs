//! Replays recorded answers of the real driver (`tests/golden`) against the kernel model, line by line.

mod common;
mod replay;

use replay::{Outcome, replay};

/// What becomes of the lines of one file: replayed, and not replayable by reason.
fn expect(name: &str, replayed: usize, skipped: &[(&str, usize)], outcome: &Outcome) {
    println!("{name}: {} lines replayed, skipped: {:?}", outcome.replayed, outcome.skipped);
    assert_eq!(outcome.replayed, replayed, "{name}: replayed lines");
    let counted: Vec<(&str, usize)> = outcome.skipped.iter().map(|(kind, &count)| (*kind, count)).collect();
    assert_eq!(counted, skipped, "{name}: skipped lines by kind");
    let all: usize = outcome.replayed + counted.iter().map(|(_, count)| count).sum::<usize>();
    assert_eq!(all, outcome.lines, "{name}: a line got lost");
}

macro_rules! golden {
    ($($(#[$doc:meta])* $name:ident, $file:literal, $records:literal, $replayed:literal, [$($skipped:expr),*];)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            static STORAGE: nrt_sim::SimStorage<$records, 1> = nrt_sim::SimStorage::new();
            let text = include_str!(concat!("golden/", $file, ".jsonl"));
            expect($file, $replayed, &[$($skipped),*], &replay(&STORAGE, text));
        }
    )*};
}

const MISC: &str = "misc descriptor";

golden! {
    /// Sizes, channels, handle reuse, dumps.
    sizes, "v2-sizes", 1000, 102, [(MISC, 2)];
    /// All allocation forms and limits, failed handle writes included.
    forms, "v2-forms", 1000, 250, [(MISC, 2)];
    /// Alignments, powers of two or not.
    align, "v2-align", 1000, 441, [(MISC, 2)];
    /// Fragmentation.
    frag, "v2-frag", 1000, 96, [(MISC, 2)];
    /// An HBM filled with chunks of 4 KiB.
    exhaust, "v2-exhaust", 300_000, 74, [(MISC, 2)];
    /// Contiguous scratchpad.
    scratch, "v2-scratch", 1000, 59, [(MISC, 2), ("raw mapping as root", 1)];
    /// Asynchronous copies.
    asynchronous, "v2-async", 1000, 61, [(MISC, 2), ("reset", 2), ("ring entries lost by oversize requests", 7)];
    /// Several processes.
    processes, "v2-procs", 1000, 80, [(MISC, 3), ("page protection", 1)];
}
