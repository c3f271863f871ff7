//! A process worth looking at: two models resident on two logical cores, a tensor, the tree installed.

use core::ptr::NonNull;

use nrt_core::model::{IoPlan, ModelPlan, RegionPlan, SubgraphPlan};
use nrt_core::{Arch, Config, Location, Placement, Runtime, SmallStorage, Usage};
use nrt_linux::LinuxHooks;
use nrt_sim::{Backing, Region, Sim, SimConfig, SimStorage};

/// Set in the process that is looked at; without it the test below does nothing.
pub(crate) const VARIABLE: &str = "NRT_LAYOUT_RESIDENT";

/// Function the process stops in.
pub(crate) const STOP: &str = "nrt_layout_stop_here";

struct Memory;

// SAFETY: each call maps a new zeroed, page-aligned, shared region that is never unmapped.
unsafe impl Backing for Memory {
    fn region(&self, _: Region, bytes: u64) -> Option<NonNull<u8>> {
        let region = nrt_linux::memory::SharedRegion::new(c"memory", bytes as usize).ok()?;
        let base = region.base();
        core::mem::forget(region);
        Some(base)
    }
}

static STORAGE: SmallStorage = SmallStorage::new();
static MODELLED: SimStorage<4096, 1> = SimStorage::new();

// SAFETY: nothing else in this program has the name.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn nrt_layout_stop_here() {
    std::hint::black_box(());
}

fn region(bytes: u64) -> RegionPlan<'static> {
    RegionPlan {
        name: "weights",
        first_variable: 1,
        usage: Usage::Weight,
        location: Location::Device,
        channel: None,
        align: 4096,
        bytes,
        chunks: None,
        source: None,
    }
}

#[test]
fn stays_until_it_is_looked_at() {
    if std::env::var_os(VARIABLE).is_none() {
        return;
    }
    // Device memory is shared memory here, as it is on a device, where no core file holds it either.
    let _ = std::fs::write("/proc/self/coredump_filter", "0x31");
    let driver = Sim::new(&MODELLED, SimConfig::new(Arch::Cayman), &Memory).expect("a modelled driver");
    let runtime = Runtime::init(&STORAGE, driver, Config::new(LinuxHooks::new())).expect("a runtime");
    let mut loaded = Vec::new();
    for (vnc, name, bytes) in [(0, "alpha", 3 << 20), (1, "beta", 5 << 20)] {
        let regions = [region(bytes)];
        let (inputs, outputs) =
            ([IoPlan { name: "x", bytes: 1024, variable: 2 }], [IoPlan { name: "y", bytes: 1024, variable: 3 }]);
        let subgraph = SubgraphPlan {
            regions: &regions,
            local_scratchpad_bytes: 1 << 20,
            inputs: &inputs,
            outputs: &outputs,
            ..SubgraphPlan::EMPTY
        };
        let core = runtime.core(vnc).expect("a logical core");
        loaded.push(core.load(&ModelPlan { name, subgraphs: &[subgraph] }).expect("room for a model"));
    }
    let tensor = runtime.core(0).and_then(|core| core.tensor(Placement::Device, 64 << 10, "looked at")).expect("a tensor");
    nrt_layout_stop_here();
    drop((tensor, loaded));
}
