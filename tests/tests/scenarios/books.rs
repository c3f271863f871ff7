//! Everything a runtime and the driver under it say about who holds what, in one comparable value.

use nrt_core::{Arch, CoreUsage, LogicalCore, Model, Tensor};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{Hazards, Live, Sim};
use nrt_tests::{TestDriver, TestRuntime};

pub(crate) type Core<'r> = LogicalCore<'r, TestDriver, LinuxHooks>;
pub(crate) type TestModel<'r> = Model<'r, TestDriver, LinuxHooks>;
pub(crate) type TestTensor<'r> = Tensor<'r, TestDriver, LinuxHooks>;
pub(crate) type TestDmem<'r> = nrt_core::Dmem<'r, TestDriver, LinuxHooks>;

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;

/// The books of a runtime.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Books {
    /// Of each physical core.
    pub(crate) usage: Vec<CoreUsage>,
    pub(crate) nodes: u64,
    /// Of each physical core: models, scratchpad page counts, users of the library and whether it is staged.
    pub(crate) cores: Vec<(u64, Vec<u32>, (u32, bool))>,
    /// Of each device.
    pub(crate) driver: Vec<Live>,
}

/// Takes stock.
pub(crate) fn books(runtime: &TestRuntime) -> Books {
    let mut usage = Vec::new();
    runtime.for_each_core_usage(|core| usage.push(*core)).unwrap();
    let mut cores = Vec::new();
    for vnc in 0..runtime.logical_cores() {
        let core = runtime.core(vnc).unwrap();
        for relative in 0..runtime.logical_core_size() {
            cores.push((core.resident_models(relative).unwrap(), pages(&core, relative), core.library_users(relative).unwrap()));
        }
    }
    let driver = (0..runtime.with_tree(|tree| tree.device_count()).unwrap()).map(|device| sim(runtime).live(device)).collect();
    Books { usage, nodes: runtime.live_nodes(), cores, driver }
}

/// Models that count on each scratchpad page of a core.
pub(crate) fn pages(core: &Core<'_>, relative: u32) -> Vec<u32> {
    let mut refs = [u32::MAX; 1024];
    let live = core.scratchpad_pages(relative, &mut refs).unwrap();
    refs[..live as usize].to_vec()
}

/// The modelled driver of a runtime.
pub(crate) fn sim(runtime: &TestRuntime) -> &'static Sim {
    runtime.driver().inner()
}

/// A runtime on one device of each architecture.
pub(crate) fn on_every_arch(test: impl Fn(&TestRuntime)) {
    for arch in Arch::ALL {
        let runtime = nrt_tests::runtime(arch);
        test(&runtime);
        finish(&runtime);
    }
}

/// Closes: nothing is left over anywhere, and the driver never saw a harmful request.
pub(crate) fn finish(runtime: &TestRuntime) {
    let devices = runtime.with_tree(|tree| tree.device_count()).unwrap();
    runtime.driver().reset();
    let report = runtime.close(None).unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_quiet(runtime.driver(), devices);
}

/// The driver holds nothing and never saw a harmful request.
pub(crate) fn assert_quiet(driver: TestDriver, devices: u32) {
    for device in 0..devices {
        assert_eq!(driver.inner().live(device), Live::default());
        assert_eq!(driver.inner().hazards(device), Hazards::default());
    }
}

/// Charged device bytes of one usage on a core.
pub(crate) fn held(core: &Core<'_>, relative: u32, usage: nrt_core::Usage) -> u64 {
    core.usage(relative).unwrap().bytes[usage.number()]
}
