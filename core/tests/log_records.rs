//! With the feature `log`, single operations leave trace records with whatever logger the program has.

use std::ptr::NonNull;
use std::sync::Mutex;

use log::{Level, LevelFilter, Log, Metadata, Record};
use nrt_core::{Allocation, Arch, Config, Location, Runtime, SmallStorage, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_linux::memory::Mapping;
use nrt_sim::{Backing, Region, Sim, SimConfig, SimStorage};

/// Keeps the trace records of the runtime.
struct Keeper(Mutex<Vec<String>>);

impl Log for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "nrt" && metadata.level() == Level::Trace
    }
    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            self.0.lock().unwrap().push(record.args().to_string());
        }
    }
    fn flush(&self) {}
}

static KEEPER: Keeper = Keeper(Mutex::new(Vec::new()));
static STORAGE: SmallStorage = SmallStorage::new();
static MODELLED: SimStorage<4096, 1> = SimStorage::new();

struct Memory;

// SAFETY: each call maps a new region of `bytes` zeroed, page-aligned bytes, which is never unmapped.
unsafe impl Backing for Memory {
    fn region(&self, _: Region, bytes: u64) -> Option<NonNull<u8>> {
        Mapping::sparse(usize::try_from(bytes).ok()?).ok().map(|mapping| mapping.into_raw().0)
    }
}

#[test]
fn an_allocation_and_its_end_are_recorded() {
    log::set_logger(&KEEPER).unwrap();
    log::set_max_level(LevelFilter::Trace);
    let driver = Sim::new(&MODELLED, SimConfig::new(Arch::Cayman), &Memory).unwrap();
    let runtime = Runtime::init(&STORAGE, driver, Config::new(LinuxHooks::new())).unwrap();
    let wanted =
        Allocation { bytes: 5000, align: 0, location: Location::Device, channel: None, usage: Usage::Weight, hint: "weights" };
    let memory = runtime.core(1).unwrap().allocate(1, &wanted).unwrap();
    let address = memory.address().unwrap();
    drop(memory);
    assert!(runtime.close(None).unwrap().is_clean());
    let records = KEEPER.0.lock().unwrap();
    assert!(records.contains(&format!("alloc 5000 bytes, usage weight, ND0:NC3, at {address}")), "{records:?}");
    assert!(records.contains(&format!("free 5000 bytes, ND0:NC3, at {address}")), "{records:?}");
}
