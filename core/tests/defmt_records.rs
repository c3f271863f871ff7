//! With the feature `defmt`, single operations leave trace records with the program's global logger, arguments and all.
//!
//! `defmt` decides at build time which levels exist, by `DEFMT_LOG`; without it only errors do:
//! `DEFMT_LOG=trace cargo test -p nrt-core --features defmt --test defmt_records`.

use std::ptr::NonNull;
use std::sync::Mutex;

use nrt_core::{Allocation, Arch, Config, Location, Runtime, SmallStorage, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_linux::memory::Mapping;
use nrt_sim::{Backing, Region, Sim, SimConfig, SimStorage};

/// Finished frames, as `defmt` hands them to a transport before any encoding.
static FRAMES: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// Keeps whole frames. `acquire` opens one, `release` closes it; one thread of this program records anything.
#[defmt::global_logger]
struct Keeper;

// SAFETY: the frames are behind a mutex, and only the thread of the one test records, so that frames do not mix.
unsafe impl defmt::Logger for Keeper {
    fn acquire() {
        FRAMES.lock().unwrap().push(Vec::new());
    }
    unsafe fn flush() {}
    unsafe fn release() {}
    unsafe fn write(bytes: &[u8]) {
        FRAMES.lock().unwrap().last_mut().unwrap().extend_from_slice(bytes);
    }
}

defmt::timestamp!("");

/// `defmt` asks the program what a failed assertion of its own does.
#[defmt::panic_handler]
fn end() -> ! {
    std::process::abort()
}

/// More than 32 bits hold.
const BYTES: u64 = (5 << 30) + 4096;

static STORAGE: SmallStorage = SmallStorage::new();
static MODELLED: SimStorage<4096, 1> = SimStorage::new();

struct Memory;

// SAFETY: each call maps a new region of `bytes` zeroed, page-aligned bytes, which is never unmapped.
unsafe impl Backing for Memory {
    fn region(&self, _: Region, bytes: u64) -> Option<NonNull<u8>> {
        Mapping::sparse(usize::try_from(bytes).ok()?).ok().map(|mapping| mapping.into_raw().0)
    }
}

/// The arguments of a frame. In front of the first stands the index of the record's text, in front of each that of its type.
fn arguments(frame: &[u8], bytes: &[usize]) -> Vec<Vec<u8>> {
    let mut rest = &frame[2..];
    let arguments = bytes.iter().map(|&bytes| {
        let (argument, behind) = rest[2..].split_at(bytes);
        rest = behind;
        argument.to_vec()
    });
    let arguments = arguments.collect();
    assert!(rest.is_empty(), "{frame:?}");
    arguments
}

/// Text as `defmt` writes it: its length in 32 bits, then its bytes.
fn text(text: &str) -> Vec<u8> {
    [&u32::try_from(text.len()).unwrap().to_le_bytes(), text.as_bytes()].concat()
}

#[test]
fn an_allocation_and_its_end_are_recorded() {
    let driver = Sim::new(&MODELLED, SimConfig::new(Arch::Cayman), &Memory).unwrap();
    let runtime = Runtime::init(&STORAGE, driver, Config::new(LinuxHooks::new())).unwrap();
    let wanted =
        Allocation { bytes: BYTES, align: 0, location: Location::Device, channel: None, usage: Usage::Weight, hint: "weights" };
    let before = FRAMES.lock().unwrap().len();
    let memory = runtime.core(1).unwrap().allocate(1, &wanted).unwrap();
    let address = memory.address().unwrap();
    drop(memory);
    let frames = FRAMES.lock().unwrap().split_off(before);
    assert!(runtime.close(None).unwrap().is_clean());
    // "alloc ...  bytes, usage weight, ND0:NC3, at ..." and "free 5000 bytes, ND0:NC3, at ...": the words themselves stay in the ELF file.
    let [allocated, freed] = frames.as_slice() else {
        panic!("two records expected, with DEFMT_LOG=trace in the environment of the build: {frames:?}");
    };
    let [bytes, device, core] = [BYTES.to_le_bytes().to_vec(), 0u32.to_le_bytes().to_vec(), 3u32.to_le_bytes().to_vec()];
    let at = address.to_le_bytes().to_vec();
    let usage = text("weight");
    let lengths = [8, usage.len(), 4, 4, 8];
    assert_eq!(arguments(allocated, &lengths), [bytes.clone(), usage, device.clone(), core.clone(), at.clone()]);
    assert_eq!(arguments(freed, &[8, 4, 4, 8]), [bytes, device, core, at]);
    assert_ne!(allocated[..2], freed[..2], "two texts, two indices");
}
