//! Group `carve`: a range of device memory carved out of a reservation and given back, against other range allocators and
//! the cheapest system call; with a trace, its allocations instead.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nrt_core::driver::{AllocRequest, DeviceRange, Driver as _};
use nrt_core::hooks::Hooks as _;
use nrt_core::reserved_hbm::{ReserveStorage, ReservedHbm};
use nrt_linux::hooks::LinuxHooks;
use offset_allocator::{Allocation, Allocator};
use range_alloc::RangeAllocator;

use crate::driver::NullDriver;
use crate::measure::{BATCH, Peer, Scenario};
use crate::trace::Script;

/// Bytes that ranges are carved out of.
const SPACE: u64 = 64 << 30;
/// Unit of the allocators that count in 32 bits, and what `nrt` rounds to.
const GRANULE: u64 = 4096;
/// Records of ranges and free runs, in every peer that has a fixed number of them.
const RECORDS: usize = 1 << 16;
/// Driver category of the ranges: tensors.
const CATEGORY: u8 = 9;

/// Something that hands out ranges and takes them back.
trait Ranges {
    type Range;
    /// Carves a range and puts it into `place`, which is empty; `false` when there is no room.
    fn carve(&mut self, bytes: u64, place: &mut Option<Self::Range>) -> bool;
    /// Gives a range back that was carved and not given back since.
    fn give(&mut self, range: &Self::Range);
}

/// Reservations on the null driver.
pub type Reserved = ReservedHbm<NullDriver, LinuxHooks>;

struct Nrt(Reserved);

/// A range of nothing.
pub const NO_RANGE: DeviceRange = DeviceRange {
    device: null_mut(),
    driver_handle: 0,
    pa: 0,
    mmap_offset: 0,
    size: 0,
    align: 0,
    pad_2c: 0,
    mmap_va: null_mut(),
    host_memory: 0,
    nc_id: 0,
};

/// Carves a range and describes it in `range`; `false` when there is no room.
#[inline]
pub fn carve(reserved: &Reserved, bytes: u64, range: &mut DeviceRange) -> bool {
    let request = AllocRequest { size: bytes, align: 0, host: false, channel: 0, nc_id: 0, category: CATEGORY };
    reserved.alloc(0, &request, range).is_ok()
}

/// Gives a range back.
///
/// # Panics
/// When it is refused.
#[inline]
pub fn give(reserved: &Reserved, range: &DeviceRange) {
    assert!(reserved.free(0, range).is_ok());
}

impl Ranges for Nrt {
    type Range = DeviceRange;
    #[inline]
    fn carve(&mut self, bytes: u64, place: &mut Option<DeviceRange>) -> bool {
        let carved = carve(&self.0, bytes, place.insert(NO_RANGE));
        if !carved {
            *place = None;
        }
        carved
    }
    #[inline]
    fn give(&mut self, range: &DeviceRange) {
        give(&self.0, range);
    }
}

impl Ranges for Allocator<u32> {
    type Range = Allocation<u32>;
    #[inline]
    fn carve(&mut self, bytes: u64, place: &mut Option<Allocation<u32>>) -> bool {
        *place = self.allocate(bytes.div_ceil(GRANULE) as u32);
        place.is_some()
    }
    #[inline]
    fn give(&mut self, range: &Allocation<u32>) {
        self.free(*range);
    }
}

impl Ranges for RangeAllocator<u64> {
    type Range = std::ops::Range<u64>;
    #[inline]
    fn carve(&mut self, bytes: u64, place: &mut Option<Self::Range>) -> bool {
        *place = self.allocate_range(bytes.next_multiple_of(GRANULE)).ok();
        place.is_some()
    }
    #[inline]
    fn give(&mut self, range: &Self::Range) {
        self.free_range(range.clone());
    }
}

/// TLSF with its headers in the memory it hands out: a 64th of every size, so that the space can be real.
struct Rlsf(rlsf::Tlsf<'static, u32, u32, 32, 32>);

/// What the space of [`Rlsf`] is divided by.
const SCALE: u64 = 64;

impl Rlsf {
    fn new() -> Self {
        let mut tlsf = rlsf::Tlsf::new();
        let space = Box::leak(Box::new_uninit_slice((SPACE / SCALE) as usize));
        // Its pages become resident as they are used; the pool stays for ever.
        let _ = tlsf.insert_free_block(space);
        Self(tlsf)
    }
}

impl Ranges for Rlsf {
    type Range = std::ptr::NonNull<u8>;
    #[inline]
    fn carve(&mut self, bytes: u64, place: &mut Option<Self::Range>) -> bool {
        let bytes = bytes.div_ceil(GRANULE) * (GRANULE / SCALE);
        *place = std::alloc::Layout::from_size_align(bytes as usize, 16).ok().and_then(|layout| self.0.allocate(layout));
        place.is_some()
    }
    #[inline]
    fn give(&mut self, range: &Self::Range) {
        // SAFETY: a block of this allocator, given back once, with the alignment it came with.
        unsafe { self.0.deallocate(*range, 16) };
    }
}

/// An allocator that replays a script, step by step, round and round.
struct Replay<A: Ranges> {
    allocator: A,
    live: Vec<Option<A::Range>>,
    at: usize,
}

/// One measuring thread works at a time.
struct Alone<T>(UnsafeCell<T>);

// SAFETY: scenarios of this group have one thread; threads of later runs start after the earlier ones were joined.
unsafe impl<T> Sync for Alone<T> {}

/// An allocator behind the lock that threads would need to share it: taken and released once for each operation, as `nrt` does
/// within. A futex word like that of `nrt`.
struct Locked<A> {
    lock: Mutex<A>,
}

impl<A: Ranges> Ranges for Locked<A> {
    type Range = A::Range;
    #[inline]
    fn carve(&mut self, bytes: u64, place: &mut Option<A::Range>) -> bool {
        self.locked().carve(bytes, place)
    }
    #[inline]
    fn give(&mut self, range: &A::Range) {
        self.locked().give(range);
    }
}

impl<A> Locked<A> {
    const fn new(allocator: A) -> Self {
        Self { lock: Mutex::new(allocator) }
    }

    #[inline]
    fn locked(&self) -> MutexGuard<'_, A> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<A: Ranges> Replay<A> {
    fn new(mut allocator: A, script: &Script) -> Alone<Self> {
        // Memory in between that stays: without it every free would melt into one run.
        let mut take = |bytes| {
            let mut range = None;
            assert!(allocator.carve(bytes, &mut range), "no room for what stays");
            range
        };
        let kept: Vec<_> = (0..script.kept).map(|_| (take(GRANULE), take(3 * GRANULE))).collect();
        for (_, hole) in kept {
            hole.into_iter().for_each(|hole| allocator.give(&hole));
        }
        Alone(UnsafeCell::new(Self { allocator, live: (0..script.places).map(|_| None).collect(), at: 0 }))
    }

    /// Does the next `n` steps.
    #[inline]
    fn steps(&mut self, script: &Script, n: u32) {
        for _ in 0..n {
            let step = script.steps[self.at];
            self.at = if self.at + 1 == script.steps.len() { 0 } else { self.at + 1 };
            let place = &mut self.live[step.place as usize];
            match place {
                Some(range) => {
                    self.allocator.give(range);
                    *place = None;
                }
                None => assert!(self.allocator.carve(step.bytes, place), "no room for {} bytes", step.bytes),
            }
        }
    }
}

/// What takes part in one scenario.
struct Peers<'s> {
    script: &'s Script,
    nrt: Alone<Replay<Nrt>>,
    offset: Alone<Replay<Locked<Allocator<u32>>>>,
    ranges: Alone<Replay<Locked<RangeAllocator<u64>>>>,
    rlsf: Alone<Replay<Locked<Rlsf>>>,
}

impl<'s> Peers<'s> {
    fn new(script: &'s Script, nrt: Reserved) -> Self {
        let granules = (SPACE / GRANULE) as u32;
        Self {
            script,
            nrt: Replay::new(Nrt(nrt), script),
            offset: Replay::new(Locked::new(Allocator::with_max_allocs(granules, RECORDS as u32)), script),
            ranges: Replay::new(Locked::new(RangeAllocator::new(0..SPACE)), script),
            rlsf: Replay::new(Locked::new(Rlsf::new()), script),
        }
    }
}

/// The scenario of a script. An operation is two steps of it: one range carved and one given back, if they are as many.
fn scenario(name: &'static str, operation: &'static str, script: &'static Script, nrt: Reserved) -> Scenario<'static> {
    let peers: &'static Peers<'static> = Box::leak(Box::new(Peers::new(script, nrt)));
    fn work<A: Ranges>(replay: &'static Alone<Replay<A>>, script: &'static Script) -> Box<dyn Fn(usize, u32) + Sync> {
        // SAFETY: see `Alone`.
        Box::new(move |_, n| unsafe { (*replay.0.get()).steps(script, n * 2) })
    }
    let list = vec![
        Peer {
            name: "nrt",
            touches: "records of 64 B; 64-bit sizes, alignment of the address, sums, a limit per category, a description of 64 B",
            locks: "lock of the core and channel 2x: 2 atomic read-modify-writes; a read of the range's own line",
            work: work(&peers.nrt, peers.script),
        },
        Peer {
            name: "offset-allocator",
            touches: "records of 28 B; 32-bit sizes, here in units of 4 KiB; no alignment, no sums but the free one",
            locks: "a std Mutex 2x: 4 atomic read-modify-writes",
            work: work(&peers.offset, peers.script),
        },
        Peer {
            name: "range-alloc",
            touches: "a vector of free ranges, searched and moved: not constant",
            locks: "a std Mutex 2x: 4 atomic read-modify-writes",
            work: work(&peers.ranges, peers.script),
        },
        Peer {
            name: "rlsf",
            touches: "headers of 16 B in the memory handed out, which device memory does not allow; every size a 64th",
            locks: "a std Mutex 2x: 4 atomic read-modify-writes",
            work: work(&peers.rlsf, peers.script),
        },
        Peer {
            name: "cheapest system call",
            touches: "the thread id from the kernel: what asking the driver costs at the very least, once",
            locks: "none",
            work: Box::new(|_, n| {
                (0..n).for_each(|_| {
                    black_box(LinuxHooks::new().thread_id());
                });
            }),
        },
    ];
    Scenario { name, operation, threads: 1, batch: BATCH, alone: "", peers: list }
}

/// A reservation of the whole space on a core and channel of its own.
///
/// # Panics
/// When there is no memory for its records.
#[must_use]
pub fn reserved() -> Reserved {
    // SAFETY: zeroed memory is an unclaimed storage.
    let storage: &'static ReserveStorage<1, 1, RECORDS> = Box::leak(unsafe { Box::new_zeroed().assume_init() });
    let driver = ReservedHbm::new(NullDriver { devices: 1 }, LinuxHooks::new(), storage);
    let driver = driver.unwrap_or_else(|error| panic!("the storage is new: {error}"));
    driver.reserve(0, 0, 0, SPACE).unwrap_or_else(|error| panic!("no reservation: {error}"));
    driver
}

/// Every scenario of the group.
#[must_use]
pub fn scenarios() -> Vec<Scenario<'static>> {
    let pairs = Box::leak(Box::new(Script::pairs()));
    let mixed = Box::leak(Box::new(Script::mixed()));
    vec![
        scenario("carve/1 thread", "carve and give back, 1,000 holes about", pairs, reserved()),
        scenario("carve/mixed load", "one carved, another given back, 256 live about", mixed, reserved()),
    ]
}

/// The allocations of a trace.
#[must_use]
pub fn replay(script: &'static Script) -> Scenario<'static> {
    scenario("trace/ranges", "two steps of the trace", script, reserved())
}
