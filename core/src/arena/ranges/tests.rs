//! The allocator against a plain model, and the number of steps of an operation.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::vec::Vec;

use super::bins::{Bin, MAX_GRANULES};
use super::*;
use crate::arena::PoolWords;
use crate::error::Pool;

/// Steps of one operation, whatever came before: one look for a certain fit or [`LOOKS`] for an uncertain one; one run
/// unlinked and two linked; two neighbours joined. A release unlinks two, swallows two and links one.
const MOST_STEPS: u32 = LOOKS + 1 + 1 + 2 + 2;

struct World {
    runs: SlotPool<Run>,
    pool: RangePool,
}

fn world(records: usize) -> World {
    // SAFETY: zeroed memory is a valid record and a valid set of words.
    let (slots, words) =
        unsafe { (Box::leak(Box::<[Run]>::new_zeroed_slice(records).assume_init()), Box::leak(Box::new_zeroed().assume_init())) };
    let words: &'static PoolWords = words;
    let base = core::ptr::NonNull::from(slots).cast();
    // SAFETY: leaked memory of that many records, used by nothing else.
    let runs = unsafe { SlotPool::new(base, records as u32, words, Pool::Ranges) };
    World { runs, pool: RangePool::EMPTY }
}

impl World {
    fn carve(&mut self, bytes: u64, align: u64) -> Result<Carved, NoRange> {
        self.pool.carve(&self.runs, bytes, align)
    }

    fn release(&mut self, range: Carved) {
        // SAFETY: the tests release what they carved, once.
        unsafe { self.pool.release(&self.runs, range.run) };
    }
}

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

#[test]
fn bins_are_in_order_of_size_and_a_thirty_second_wide() {
    let mut sizes: Vec<u64> = (1..5000).collect();
    sizes.extend(
        (5..36).flat_map(|log| [(1 << log) - 1, 1 << log, (1 << log) + 1, 3 << (log - 1)]).filter(|size| *size <= MAX_GRANULES),
    );
    sizes.sort_unstable();
    for pair in sizes.windows(2) {
        assert!(Bin::of(pair[0]) <= Bin::of(pair[1]), "{pair:?}");
    }
    for size in sizes {
        let above = Bin::above(size);
        assert!(Bin::of(size) <= above);
        // A run of a thirty-second more is in a bin that is sure to fit.
        assert!(Bin::of((size + size / 32).min(MAX_GRANULES)) >= above || size + size / 32 > MAX_GRANULES, "{size}");
        if Bin::of(size) < above {
            assert_eq!(Bin::of(size).next(), above, "{size}");
        }
    }
    assert_eq!(Bins::EMPTY.occupied_from(Bin::above(MAX_GRANULES)), None);
}

#[test]
fn a_range_is_cut_out_and_grows_back() {
    let mut world = world(8);
    let base = 0x10_0000_1000;
    let first = world.pool.add(&world.runs, 7, base, 1 << 40).unwrap();
    // Aligned to 2 MiB: something is left in front and behind.
    let range = world.carve(5 << 32, 2 << 20).unwrap();
    assert_eq!((range.start % (2 << 20), range.bytes), (0, 5 << 32));
    assert_eq!(world.pool.sums().free_runs, 2);
    assert_eq!(world.pool.largest(&world.runs), base + (1 << 40) - range.start - range.bytes);
    // The rest in front is used before the large one.
    let small = world.carve(1, 1).unwrap();
    assert_eq!((small.start, small.bytes), (base, GRANULE));
    assert_eq!(world.pool.sums().asked, (5 << 32) + 1);
    // SAFETY: the first run of the only span.
    assert!(!unsafe { world.pool.remove(&world.runs, first) }, "in use");
    world.release(range);
    world.release(small);
    let sums = Sums { bytes: 1 << 40, peak: (5 << 32) + GRANULE, free_runs: 1, ..Sums::default() };
    assert_eq!((*world.pool.sums(), world.pool.largest(&world.runs)), (sums, 1 << 40));
    // SAFETY: as above.
    assert!(unsafe { world.pool.remove(&world.runs, first) });
    assert_eq!(*world.pool.sums(), Sums { peak: sums.peak, ..Sums::default() });
}

#[test]
fn a_span_is_served_whole_although_no_bin_promises_it() {
    let mut world = world(8);
    let bytes = (1 << 30) + 5 * GRANULE;
    world.pool.add(&world.runs, 0, 1 << 30, bytes).unwrap();
    let range = world.carve(bytes, 1 << 30).unwrap();
    assert_eq!((range.start, range.bytes), (1 << 30, bytes));
    assert_eq!(world.carve(1, 1), Err(NoRange::Room));
    world.release(range);
    assert_eq!(world.carve(bytes + 1, 1), Err(NoRange::Room));
    assert_eq!(world.carve(bytes, 2 << 30), Err(NoRange::Room));
    assert_eq!(world.carve(0, 1), Err(NoRange::Room));
    assert_eq!(world.carve(u64::MAX, 1), Err(NoRange::Room));
    assert_eq!(world.carve(1 << 60, 1 << 63), Err(NoRange::Room));
}

#[test]
fn without_records_nothing_is_changed() {
    // Two records: the span, and one piece.
    let mut world = world(2);
    world.pool.add(&world.runs, 0, 0x1000, 1 << 20).unwrap();
    let before = *world.pool.sums();
    assert_eq!(world.carve(4096, 0x4000), Err(NoRange::Records), "needs two pieces more");
    assert_eq!((*world.pool.sums(), world.pool.largest(&world.runs)), (before, 1 << 20));
    let range = world.carve(4096, 1).unwrap();
    assert_eq!(world.carve(4096, 1), Err(NoRange::Records));
    assert_eq!(world.pool.add(&world.runs, 0, 1 << 30, 4096), None);
    world.release(range);
    assert_eq!(world.pool.largest(&world.runs), 1 << 20);
}

#[test]
fn spans_that_cannot_be_are_refused() {
    let mut world = world(8);
    for (start, bytes) in [(0, 0), (0, 1), (1, 4096), (0, (MAX_GRANULES + 1) * GRANULE), (u64::MAX - 4095, 8192)] {
        assert_eq!(world.pool.add(&world.runs, 0, start, bytes), None, "{start} {bytes}");
    }
    assert!(world.pool.add(&world.runs, 0, 0, MAX_GRANULES * GRANULE).is_some());
}

/// Spans with gaps between them, beyond 4 GiB, none a neighbour of another; the second one adjoins the first.
const SPANS: [(u64, u64); 3] = [(0x4000_1000, 64 << 20), (0x4000_1000 + (64 << 20), 8 << 20), (9 << 32, 6 << 30)];

/// Everything the model knows: carved ranges by address.
struct Model {
    carved: BTreeMap<u64, u64>,
}

impl Model {
    fn span_of(start: u64) -> Option<(u64, u64)> {
        SPANS.into_iter().find(|(base, bytes)| (*base..base + bytes).contains(&start))
    }

    /// Free runs by walking over everything.
    fn free_runs(&self) -> Vec<(u64, u64)> {
        let mut free = Vec::new();
        for (base, bytes) in SPANS {
            let mut at = base;
            for (&start, &size) in self.carved.range(base..base + bytes) {
                if start > at {
                    free.push((at, start - at));
                }
                at = start + size;
            }
            if at < base + bytes {
                free.push((at, base + bytes - at));
            }
        }
        free
    }

    fn carve(&mut self, range: Carved, asked: u64, align: u64) {
        let Carved { start, bytes, .. } = range;
        assert!(start.is_multiple_of(align) && bytes == asked.next_multiple_of(GRANULE));
        let (base, size) = Self::span_of(start).expect("in a span");
        assert!(start + bytes <= base + size, "in one span");
        let behind = self.carved.range(start..).next();
        assert!(behind.is_none_or(|(&next, _)| start + bytes <= next), "overlaps the next range");
        let before = self.carved.range(..start).next_back();
        assert!(before.is_none_or(|(&other, &size)| other + size <= start), "overlaps the range before");
        self.carved.insert(start, bytes);
    }

    fn check(&self, world: &World) {
        let free = self.free_runs();
        let sums = world.pool.sums();
        assert_eq!(sums.free_runs as usize, free.len());
        assert_eq!(sums.ranges as usize, self.carved.len());
        assert_eq!(sums.bytes, SPANS.iter().map(|(_, bytes)| bytes).sum::<u64>());
        assert_eq!(sums.carved, self.carved.values().sum::<u64>());
        assert_eq!(sums.bytes - sums.carved, free.iter().map(|(_, bytes)| bytes).sum::<u64>());
        assert_eq!(world.pool.largest(&world.runs), free.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0));
    }

    /// A request that was refused must have been one that no free run is certain to serve.
    fn check_refusal(&self, asked: u64, align: u64) {
        let needed = asked.next_multiple_of(GRANULE) + align.max(GRANULE) - GRANULE;
        let certain = needed + needed / 32;
        assert!(self.free_runs().iter().all(|(_, bytes)| *bytes < certain), "{asked} bytes, alignment {align}, were there");
    }
}

/// One random operation on ranges of one byte to 2 GiB, aligned to as much as 128 MiB.
enum Operation {
    Carve { asked: u64, align: u64 },
    Release { which: usize },
}

/// Operations in waves: times in which more is carved than released, and the other way round.
struct Load {
    numbers: Numbers,
    done: u32,
    tide: u64,
}

impl Load {
    fn next(&mut self, live: usize) -> Operation {
        if self.done.is_multiple_of(4096) {
            self.tide = 20 + self.numbers.below(61);
        }
        self.done += 1;
        // One number is enough for all choices; this is the slow part of the test otherwise.
        let random = self.numbers.next();
        if live == 0 || random % 100 < self.tide {
            let log = if random >> 60 == 0 { 1 + (random >> 8) % 30 } else { 1 + (random >> 8) % 17 };
            let align = if (random >> 57) & 7 == 0 { (random >> 16) % 28 } else { (random >> 16) % 14 };
            Operation::Carve { asked: 1 + (random >> 24) % (1 << log), align: 1 << align }
        } else {
            Operation::Release { which: (random >> 8) as usize % live }
        }
    }
}

fn loaded(seed: u64) -> (World, Load) {
    let mut world = world(1 << 16);
    for (span, (start, bytes)) in (0..).zip(SPANS) {
        world.pool.add(&world.runs, span, start, bytes).unwrap();
    }
    (world, Load { numbers: Numbers(seed), done: 0, tide: 50 })
}

#[test]
fn random_operations_agree_with_a_plain_model() {
    for seed in [1, 0x9E37_79B9_7F4A_7C15] {
        let (mut world, mut load) = loaded(seed);
        let mut model = Model { carved: BTreeMap::new() };
        let mut live: Vec<Carved> = Vec::new();
        let mut refused = 0_u32;
        for operation in 0..30_000_u32 {
            match load.next(live.len()) {
                Operation::Carve { asked, align } => match world.carve(asked, align) {
                    Ok(range) => {
                        model.carve(range, asked, align);
                        live.push(range);
                    }
                    Err(NoRange::Room) => {
                        refused += 1;
                        model.check_refusal(asked, align);
                    }
                    Err(NoRange::Records) => panic!("there are records for twice as many ranges"),
                },
                Operation::Release { which } => {
                    let range = live.swap_remove(which);
                    world.release(range);
                    assert_eq!(model.carved.remove(&range.start), Some(range.bytes));
                }
            }
            if operation.is_multiple_of(31) {
                model.check(&world);
            }
        }
        assert!(refused > 0, "the spans were never full");
        live.into_iter().for_each(|range| world.release(range));
        model.carved.clear();
        model.check(&world);
    }
}

/// Ten million operations. The bound holds by the code as well: see [`MOST_STEPS`].
#[test]
fn no_operation_takes_more_steps_than_the_bound() {
    let (mut world, mut load) = loaded(42);
    let mut live: Vec<Carved> = Vec::new();
    let mut most = 0;
    for _ in 0..10_000_000 {
        match load.next(live.len()) {
            Operation::Carve { asked, align } => live.extend(world.carve(asked, align)),
            Operation::Release { which } => world.release(live.swap_remove(which)),
        }
        most = most.max(world.pool.steps);
    }
    assert!((8..=MOST_STEPS).contains(&most), "{most} steps: the bound is not the one of this code");
    live.into_iter().for_each(|range| world.release(range));
    let whole = Sums { bytes: world.pool.sums().bytes, peak: world.pool.sums().peak, free_runs: 3, ..Sums::default() };
    assert_eq!(*world.pool.sums(), whole);
}
