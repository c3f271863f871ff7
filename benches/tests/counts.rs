//! Operations can be executed one instruction at a time. A process of its own: the trap's handler is the process's.

use nrt_benches::counts;
use nrt_core::hooks::Hooks as _;
use nrt_linux::LinuxHooks;

#[test]
fn every_operation_is_taken_apart() {
    let rows = counts::count(counts::Sample { warm: 3, operations: 2 }).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(rows.len(), 22, "eleven operations, beside few and beside many");
    for row in &rows {
        assert!(row.median > 0 && row.most.instructions >= row.median, "{row:?}");
        assert!(row.most.locked > 0 && row.most.written > 0 && row.most.turns > 0, "{row:?}");
        assert!(row.listing.lines().count() <= row.median as usize + 1, "{row:?}");
    }
    let allocate = &rows[1];
    assert_eq!((allocate.name, allocate.live), ("nrt: allocate", 10));
    // The gate in and out, the lock taken, and given back where that is no plain store; two more when the node was never used:
    // none is free, the watermark moves on.
    let least = if LinuxHooks::new().fences_others() { 3 } else { 4 };
    assert!((least..=least + 2).contains(&allocate.most.locked), "{:?}", allocate.most);
    assert!(allocate.listing.contains("    lock cmpxchg "), "{}", allocate.listing);
    let text = counts::table(&rows);
    assert_eq!(text.lines().count(), 23);
}
