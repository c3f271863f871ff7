//! The core on this driver: load, serve, unload, close; and the same with a fault at every request.

use nrt_core::model::{ByteSource, CopyExecutor, IoPlan, ModelPlan, RegionPlan, SubgraphPlan};
use nrt_core::{Config, Location, Placement, Result, Runtime, SmallStorage, Usage};
use nrt_linux::LinuxHooks;
use nrt_linux::neuron::{Forms, LinuxDriver};

use crate::fake::{Fake, Setup};

struct Weights;

impl ByteSource for Weights {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> std::result::Result<(), &'static str> {
        for (at, byte) in (offset..).zip(buffer) {
            *byte = (at ^ at >> 8) as u8;
        }
        Ok(())
    }
}

fn storage() -> &'static SmallStorage {
    // SAFETY: a zeroed storage is a valid one.
    Box::leak(unsafe { Box::new_zeroed().assume_init() })
}

/// One life of a runtime. Whatever fails, the runtime is closed.
fn life(storage: &'static SmallStorage, driver: &LinuxDriver<Fake>) -> Result<()> {
    let mut config = Config::new(LinuxHooks::new()).side_by_side();
    config.scratchpad_page_size = 4 << 20;
    let runtime = Runtime::init(storage, driver, config)?;
    let served = serve(&runtime);
    runtime.close(Some(0)).expect("nobody is inside");
    served
}

fn serve(runtime: &Runtime<&LinuxDriver<Fake>, LinuxHooks>) -> Result<()> {
    let region = RegionPlan {
        name: "weights",
        first_variable: 1,
        usage: Usage::Weight,
        location: Location::Device,
        channel: None,
        align: 65536,
        bytes: 200_000,
        chunks: None,
        source: Some(&Weights),
    };
    let input = [IoPlan { name: "x", bytes: 1024, variable: 2 }];
    let output = [IoPlan { name: "y", bytes: 1024, variable: 3 }];
    let subgraph = SubgraphPlan {
        regions: &[region],
        local_scratchpad_bytes: 65536,
        shared_scratchpad_bytes: 65536,
        inputs: &input,
        outputs: &output,
        ..SubgraphPlan::EMPTY
    };
    let core = runtime.core(0)?;
    let model = core.load(&ModelPlan { name: "model", subgraphs: &[subgraph] })?;
    let (x, y) = (core.tensor(Placement::Device, 1024, "x")?, core.tensor(Placement::Device, 1024, "y")?);
    x.write(0, &[42; 1024])?;
    model.run(&[&x], &[&y], None, &CopyExecutor)?;
    let mut answer = [0; 1024];
    y.read(0, &mut answer)?;
    assert_eq!(answer, [42; 1024]);
    model.unload()
}

fn clients() -> Vec<LinuxDriver<Fake>> {
    let oldest = Setup { first_pa: (16 << 20) + 4096, ..Setup::sunda() }.connect().limited_to(Forms::OLDEST).unwrap();
    vec![Setup::sunda().connect(), oldest, Setup { features: 0x1F, ..Setup::sunda() }.connect(), Setup::cayman(2).connect()]
}

#[test]
fn a_model_is_loaded_and_served() {
    let storage = storage();
    for driver in clients() {
        life(storage, &driver).unwrap();
        let state = driver.system().state.lock().unwrap();
        assert_eq!((state.chunks.len(), state.mapped.len()), (0, 0), "{}", driver.machine().forms);
    }
}

/// An error number, a refusal that looks like an unknown request, and bytes that were not copied, each at every call of
/// a life: it either goes well or fails, and leaves nothing behind.
#[test]
fn a_fault_at_every_request_leaves_nothing() {
    let storage = storage();
    for driver in clients() {
        for returned in [-5, -22, 8] {
            let mut failed = 0;
            for n in 0.. {
                driver.system().state.lock().unwrap().countdown = Some((n, returned));
                failed += u32::from(life(storage, &driver).is_err());
                driver.system().settle();
                let mut state = driver.system().state.lock().unwrap();
                assert_eq!((state.chunks.len(), state.mapped.len()), (0, 0), "request {n} returned {returned}");
                if state.countdown.take().is_some() {
                    assert!(n > 25 && failed > 10, "{n} requests, {failed} lives failed");
                    break;
                }
            }
        }
    }
}
