//! Random requests through the `Driver` interface, against a plain model that searches page by page as the driver's
//! bitmap search does.

mod common;

use std::collections::BTreeMap;

use common::{Numbers, Sparse, no_range};
use nrt_core::arch::Arch;
use nrt_core::driver::{AllocRequest, DeviceRange, Driver, Errno};
use nrt_sim::{Sim, SimConfig, SimStorage};

const PAGE: u64 = 4096;
const SMALL_POOL: u64 = 1 << 30;

/// One pool: pages of the chunks by first page, nothing else.
struct Pages {
    base: u64,
    size: u64,
    chunks: BTreeMap<u64, u64>,
}

impl Pages {
    fn new(base: u64, bytes: u64) -> Self {
        Self { base, size: bytes / PAGE, chunks: BTreeMap::new() }
    }

    /// First page at `from` or above that is free.
    fn free_page(&self, from: u64) -> u64 {
        let mut page = from;
        if let Some((&start, &pages)) = self.chunks.range(..=page).next_back() {
            page = page.max(start + pages);
        }
        while let Some(&pages) = self.chunks.get(&page) {
            page += pages;
        }
        page
    }

    /// First taken page in `from..end`.
    fn taken_page(&self, from: u64, end: u64) -> Option<u64> {
        if self.chunks.range(..=from).next_back().is_some_and(|(start, pages)| start + pages > from) {
            return Some(from);
        }
        self.chunks.range(from..end).next().map(|(&start, _)| start)
    }

    /// The bitmap search: next free page, align it, go on behind the first taken page.
    fn take(&mut self, pages: u64, mask: u64) -> Option<u64> {
        let offset = (self.base / PAGE) & mask;
        let mut from = 0;
        loop {
            let page = ((self.free_page(from) + offset + mask) & !mask) - offset;
            let end = page + pages;
            if end > self.size {
                return None;
            }
            match self.taken_page(page, end) {
                Some(taken) => from = taken + 1,
                None => {
                    self.chunks.insert(page, pages);
                    return Some(self.base + page * PAGE);
                }
            }
        }
    }

    /// Takes exactly these pages.
    fn take_at(&mut self, page: u64, pages: u64) -> Option<u64> {
        if self.taken_page(page, page + pages).is_some() {
            return None;
        }
        self.chunks.insert(page, pages);
        Some(self.base + page * PAGE)
    }

    fn free(&mut self, pa: u64) -> bool {
        pa >= self.base && self.chunks.remove(&((pa - self.base) / PAGE)).is_some()
    }
}

/// A device: main and small pool of every channel, contiguous positions, handles.
struct Reference {
    arch: Arch,
    pools: Vec<[Pages; 2]>,
    contiguous: Vec<u64>,
    freed: Vec<u64>,
    handles: u64,
}

impl Reference {
    fn new(arch: Arch) -> Self {
        let main_bytes = arch.hbm_bytes() - SMALL_POOL;
        let pools = (0..arch.channels_per_device()).map(|channel| {
            let base = arch.hbm_base(channel).unwrap();
            let mut main = Pages::new(base, main_bytes);
            main.take(4096, 0).unwrap();
            [main, Pages::new(base + main_bytes, SMALL_POOL)]
        });
        let pools: Vec<_> = pools.collect();
        let contiguous = vec![main_bytes / PAGE; pools.len()];
        Self { arch, pools, contiguous, freed: Vec::new(), handles: 0 }
    }

    /// Handle and address.
    fn alloc(&mut self, request: &AllocRequest) -> Result<(u64, u64), Errno> {
        if request.size > i64::MAX as u64 || request.channel >= self.arch.channels_per_device() || request.nc_id >= 8 {
            return Err(Errno::EINVAL);
        }
        if request.align > i32::MAX as u64 {
            return Err(Errno::EINVAL);
        }
        let pages = request.size.div_ceil(PAGE);
        if pages == 0 {
            return Err(Errno::ENOMEM);
        }
        let channel = request.channel as usize;
        let [main, small] = &mut self.pools[channel];
        let pa = if request.category == 19 {
            let page = self.contiguous[channel].checked_sub(pages).ok_or(Errno::ENOMEM)?;
            let pa = main.take_at(page, pages).ok_or(Errno::ENOMEM)?;
            self.contiguous[channel] = page;
            pa
        } else {
            let mask = request.align.div_ceil(PAGE).saturating_sub(1);
            let [first, second] = if pages <= 128 { [small, main] } else { [main, small] };
            first.take(pages, mask).or_else(|| second.take(pages, mask)).ok_or(Errno::ENOMEM)?
        };
        let handle = self.freed.pop().unwrap_or_else(|| {
            self.handles += 1;
            self.handles
        });
        Ok((handle, pa))
    }

    fn free(&mut self, range: &DeviceRange, channel: u32, category: u8) {
        let channel = channel as usize;
        assert!(self.pools[channel].iter_mut().any(|pool| pool.free(range.pa)));
        if category == 19 {
            self.contiguous[channel] += range.size / PAGE;
        }
        self.freed.push(range.driver_handle);
    }
}

fn random_request(numbers: &mut Numbers, channels: u64) -> AllocRequest {
    let size = match numbers.below(20) {
        0..8 => numbers.below(64 << 10),
        8..13 => numbers.below(1 << 20),
        13..16 => numbers.below(64 << 20),
        16 => numbers.below(4 << 30),
        17 => [512 << 10, (512 << 10) + 1, 16 << 30, u64::MAX, 1 << 63][numbers.below(5) as usize],
        _ => PAGE * (1 + numbers.below(4)),
    };
    let align = match numbers.below(10) {
        0..5 => 0,
        5 => PAGE << numbers.below(19),
        6 => PAGE * (1 + numbers.below(40)),
        7 => 1 + numbers.below(1 << 20),
        8 => [1 << 31, (1 << 31) - 1, 1 << 40, 12288, 20480][numbers.below(5) as usize],
        _ => 8192,
    };
    let category = if numbers.below(12) == 0 { 19 } else { 7 + numbers.below(6) as u8 };
    let beyond = u64::from(numbers.below(50) == 0);
    let channel = numbers.below(channels + beyond) as u32;
    AllocRequest { size, align, host: false, channel, nc_id: numbers.below(9) as u32, category }
}

fn agree(sim: &Sim, arch: Arch, operations: usize, most: usize, seed: u64) {
    sim.open(0).unwrap();
    let (mut numbers, mut reference) = (Numbers(seed), Reference::new(arch));
    let mut live: Vec<(DeviceRange, u32, u8)> = Vec::new();
    let (mut given, mut refused) = (0, 0);
    for operation in 0..operations {
        let fill = (numbers.below(most as u64) as usize) >= live.len();
        if fill {
            let request = random_request(&mut numbers, u64::from(arch.channels_per_device()));
            let mut range = no_range();
            let ours = sim.alloc(0, &request, &mut range).map(|()| (range.driver_handle, range.pa));
            assert_eq!(ours, reference.alloc(&request), "operation {operation}: {request:?}");
            match ours {
                Ok(_) => {
                    assert_eq!(range.size, request.size.next_multiple_of(PAGE));
                    given += 1;
                    live.push((range, request.channel, request.category));
                }
                Err(_) => {
                    assert_eq!(range.driver_handle, 0, "left as it was");
                    refused += 1;
                }
            }
        } else {
            let (range, channel, category) = live.swap_remove(numbers.below(live.len() as u64) as usize);
            sim.free(0, &range).unwrap();
            reference.free(&range, channel, category);
        }
        if operation % 4096 == 0 {
            no_overlap(&live);
            assert_eq!(sim.live(0).chunks, live.len() as u64);
            assert_eq!(sim.live(0).device_bytes, live.iter().map(|(range, ..)| range.size).sum::<u64>());
        }
    }
    println!("{arch}: {operations} operations, {given} allocations, {refused} refusals, {} live", live.len());
    assert!(given > operations / 4 && refused > operations / 100);
    no_overlap(&live);
    sim.close(0).unwrap();
    assert_eq!(sim.live(0), nrt_sim::Live::default());
    // Every page is back: the whole of both pools can be had again.
    sim.open(0).unwrap();
    for channel in 0..arch.channels_per_device() {
        let whole = AllocRequest { size: SMALL_POOL, align: 0, host: false, channel, nc_id: 0, category: 9 };
        let mut range = no_range();
        let main = AllocRequest { size: arch.hbm_bytes() - SMALL_POOL - (16 << 20), ..whole };
        sim.alloc(0, &main, &mut range).unwrap();
        sim.alloc(0, &whole, &mut range).unwrap();
        let error = sim.alloc(0, &AllocRequest { size: 1, ..whole }, &mut range);
        assert_eq!(error, Err(Errno::ENOMEM));
    }
    sim.close(0).unwrap();
    let hazards = sim.hazards(0);
    assert_eq!(hazards, nrt_sim::Hazards { contiguous_order: hazards.contiguous_order, ..Default::default() });
}

fn no_overlap(live: &[(DeviceRange, u32, u8)]) {
    let mut spans: Vec<(u64, u64)> = live.iter().map(|(range, ..)| (range.pa, range.size)).collect();
    spans.sort_unstable();
    for pair in spans.windows(2) {
        assert!(pair[0].0 + pair[0].1 <= pair[1].0, "{pair:x?}");
    }
}

macro_rules! reference {
    ($($name:ident, $arch:expr, $operations:literal, $most:literal, $seed:literal;)*) => {$(
        #[test]
        fn $name() {
            static STORAGE: SimStorage<8192, 1> = SimStorage::new();
            let sim = Sim::new(&STORAGE, SimConfig::new($arch), &Sparse).unwrap();
            agree(&sim, $arch, $operations, $most, $seed);
        }
    )*};
}

reference! {
    sunda_few, Arch::Sunda, 60_000, 60, 1;
    sunda_many, Arch::Sunda, 60_000, 700, 2;
    cayman, Arch::Cayman, 120_000, 500, 3;
    mariana, Arch::Mariana, 120_000, 500, 4;
}
