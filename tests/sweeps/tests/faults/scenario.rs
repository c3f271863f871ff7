//! Load, serve, unload: the run whose every request is failed.

use nrt_core::model::CopyExecutor;
use nrt_core::{Allocation, Arch, Dmem, Location, Model, Placement, Tensor, Usage};

use crate::hooks::FaultyHooks;
use crate::plans::{self, CHUNK, HOST_TENSOR, PINNED, Pattern, WEIGHT, X, Y, Z};
use crate::rig::{FaultyRuntime, Reserved};
use crate::session::{Reference, Session, Stop};

const SEED_LARGE: u8 = 0x11;
const SEED_SMALL: u8 = 0x77;

/// Runs it. On `Stop` everything was dropped while requests kept failing.
pub(crate) fn run(mut session: Session<'_>) -> Option<Reference> {
    let large = Pattern::new(SEED_LARGE);
    run_with(&mut session, &large).map(|(runtime, complete)| session.close(&runtime, complete))
}

/// The part before close, with the source of the large model.
pub(crate) fn run_with(session: &mut Session<'_>, large: &Pattern) -> Option<(FaultyRuntime, bool)> {
    let Ok(runtime) = session.init() else { return None };
    let complete = serve(session, &runtime, large).is_ok();
    Some((runtime, complete))
}

type Outcome = Result<(), Stop>;

fn serve(session: &mut Session<'_>, runtime: &FaultyRuntime, large: &Pattern) -> Outcome {
    let core = runtime.core(0).unwrap();
    let (arch, size) = (session.rig.arch, session.rig.size);
    let plain = Allocation {
        bytes: 10_000,
        align: 8192,
        location: Location::Device,
        channel: None,
        usage: Usage::Generic,
        hint: "block",
    };
    let block = session.forward(runtime, "allocate block", || core.allocate(size - 1, &plain))?;
    let pinned =
        Allocation { bytes: PINNED, align: 0, location: Location::Host, usage: Usage::Notification, hint: "pinned", ..plain };
    let pinned = session.forward(runtime, "allocate pinned", || core.allocate(0, &pinned))?;
    let stray = Allocation { bytes: 777, hint: "stray", ..plain };
    std::mem::forget(session.forward(runtime, "allocate stray", || core.allocate(0, &stray))?);
    memory(session, runtime, &block, "write block", "read block", "fill block")?;
    memory(session, runtime, &pinned, "write pinned", "read pinned", "fill pinned")?;
    session.forward(runtime, "map block", || block.map())?;

    let page = session.rig.page();
    let load_large = || plans::large(size, page, large, |plan| core.load(plan));
    let first = session.forward(runtime, "load large", load_large)?;
    let small = Pattern::new(SEED_SMALL);
    let second = session.forward(runtime, "load small", || plans::small(&small, |plan| core.load(plan)))?;
    let x = session.forward(runtime, "tensor x", || core.tensor(Placement::Device, X, "x"))?;
    let y = session.forward(runtime, "tensor y", || core.tensor(Placement::Device, Y, ""))?;
    let z = session.forward(runtime, "tensor z", || core.tensor(Placement::Device, Z, "z"))?;
    let v = session.forward(runtime, "tensor v", || core.tensor(Placement::Virtual, X, "v"))?;
    if arch != Arch::Cayman {
        let h = session.forward(runtime, "tensor h", || core.tensor(Placement::Host, HOST_TENSOR, "h"))?;
        host_tensor(session, runtime, &h, &y)?;
        session.teardown(runtime, "drop h", || drop(h));
    }
    requests(session, runtime, &first, &second, [&x, &y, &z, &v])?;
    weights(session, runtime, &first, "read large")?;
    session.teardown(runtime, "unload large", || first.unload().unwrap());
    let first = session.forward(runtime, "reload large", load_large)?;
    session.forward(runtime, "run reloaded", || first.run(&[&x, &y], &[&z], None, &CopyExecutor))?;
    weights(session, runtime, &first, "read reloaded")?;
    session.teardown(runtime, "drop small", || drop(second));
    session.teardown(runtime, "drop block", || drop(block));
    session.teardown(runtime, "drop pinned", || drop(pinned));
    session.teardown(runtime, "drop y", || drop(y));
    session.teardown(runtime, "drop v", || drop(v));
    session.teardown(runtime, "drop x", || drop(x));
    // One model, one tensor and one allocation are left for the close.
    let _ = first.into_id();
    std::mem::forget(z);
    Ok(())
}

type TestDmem<'r> = Dmem<'r, Reserved, &'static FaultyHooks>;
type TestTensor<'r> = Tensor<'r, Reserved, &'static FaultyHooks>;
type TestModel<'r> = Model<'r, Reserved, &'static FaultyHooks>;

fn memory(
    session: &mut Session<'_>,
    runtime: &FaultyRuntime,
    dmem: &TestDmem<'_>,
    write: &'static str,
    read: &'static str,
    fill: &'static str,
) -> Outcome {
    let bytes = Pattern::bytes(3, 0, 3000);
    session.forward(runtime, write, || dmem.write(16, bytes))?;
    session.forward(runtime, fill, || dmem.fill(20, 0xAB, 4))?;
    let back = session.forward(runtime, read, || {
        let mut back = vec![0; bytes.len()];
        dmem.read(16, &mut back).map(|()| back)
    })?;
    assert_eq!((&back[..4], &back[4..8], &back[8..]), (&bytes[..4], &[0xAB; 4][..], &bytes[8..]));
    Ok(())
}

fn host_tensor(session: &mut Session<'_>, runtime: &FaultyRuntime, host: &TestTensor<'_>, device: &TestTensor<'_>) -> Outcome {
    session.forward(runtime, "write h", || host.write(1, b"pinned"))?;
    session.forward(runtime, "copy h to y", || host.copy_to(1, device, 2, 6))?;
    let mut back = [0; 6];
    let cell = std::cell::RefCell::new(&mut back);
    session.forward(runtime, "read y", || device.read(2, *cell.borrow_mut()))?;
    assert_eq!(&back, b"pinned");
    Ok(())
}

/// Bytes go in by a plain tensor, through both models, and out by it.
fn requests(
    session: &mut Session<'_>,
    runtime: &FaultyRuntime,
    large: &TestModel<'_>,
    small: &TestModel<'_>,
    [x, y, z, v]: [&TestTensor<'_>; 4],
) -> Outcome {
    let bytes = Pattern::bytes(9, 0, X as usize);
    session.forward(runtime, "write v", || v.write(0, bytes))?;
    session.forward(runtime, "copy v to x", || v.copy_to(0, x, 0, X))?;
    session.forward(runtime, "write y", || y.write(0, &[0x5A; Y as usize]))?;
    session.forward(runtime, "run large", || large.run(&[x, y], &[z], Some(0), &CopyExecutor))?;
    session.forward(runtime, "copy z to v", || z.copy_to(0, v, 0, X))?;
    let mut back = vec![0; X as usize];
    v.read(0, &mut back).unwrap();
    assert_eq!(back, bytes);
    session.forward(runtime, "run small", || small.run(&[y], &[z], Some(0), &CopyExecutor))?;
    let cell = std::cell::RefCell::new(&mut back);
    session.forward(runtime, "read z", || z.read(0, &mut cell.borrow_mut()[..]))?;
    assert_eq!(back, vec![0x5A; X as usize]);
    Ok(())
}

/// Chunk by chunk the weights are those of the source.
fn weights(session: &mut Session<'_>, runtime: &FaultyRuntime, model: &TestModel<'_>, step: &'static str) -> Outcome {
    let cores = session.rig.size;
    for relative in 0..cores {
        let back = session.forward(runtime, step, || {
            let mut back = vec![0; CHUNK as usize];
            model.read_variable(relative, WEIGHT + 1, 0, &mut back).map(|()| back)
        })?;
        let start = u64::from(relative + cores) * CHUNK;
        assert!(back == Pattern::bytes(SEED_LARGE, start, back.len()), "weights of core {relative}");
    }
    Ok(())
}
