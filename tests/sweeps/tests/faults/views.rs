//! Slices, attached buffers, sets, batches, fills, mappings and fences: the run whose every request is failed.

use std::cell::RefCell;
use std::ptr::NonNull;

use nrt_core::model::CopyExecutor;
use nrt_core::{Access, Allocation, Arch, Fence, Location, Model, Placement, ReadPiece, Tensor, TensorSet, Usage, WritePiece};

use crate::hooks::FaultyHooks;
use crate::plans::{self, HOST_TENSOR, Pattern, X, Y};
use crate::rig::{FaultyRuntime, Reserved};
use crate::session::{Reference, Session, Stop};

/// Where the slice begins in its tensor, and its bytes.
const START: u64 = 512;
const SLICE: u64 = 1024;
const ALIGN: u64 = 1 << 20;

type Outcome = Result<(), Stop>;
type View<'r> = Tensor<'r, Reserved, &'static FaultyHooks>;
type Set<'r> = TensorSet<'r, Reserved, &'static FaultyHooks>;
type Small<'r> = Model<'r, Reserved, &'static FaultyHooks>;

pub(crate) fn run(mut session: Session<'_>) -> Option<Reference> {
    let Ok(runtime) = session.init() else { return None };
    let complete = serve(&mut session, &runtime).is_ok();
    Some(session.close(&runtime, complete))
}

fn serve(session: &mut Session<'_>, runtime: &FaultyRuntime) -> Outcome {
    let core = runtime.core(0).unwrap();
    let arch = session.rig.arch;
    assert_eq!(runtime.contiguous_scratchpad(), session.rig.contiguous());
    aligned(session, runtime)?;
    let whole = session.forward(runtime, "whole", || core.tensor(Placement::Device, X, "whole"))?;
    let slice = session.forward(runtime, "slice", || whole.slice(START, SLICE, "slice"))?;
    let other = session.forward(runtime, "other", || core.tensor(Placement::Device, X, "other"))?;
    let pinned = if arch == Arch::Cayman {
        None
    } else {
        Some(session.forward(runtime, "pinned", || core.tensor(Placement::Host, HOST_TENSOR, "pinned"))?)
    };
    let host = [0x31; X as usize];
    session.forward(runtime, "write whole", || whole.write(0, &host))?;
    through_the_slice(session, runtime, &whole, &slice)?;
    session.teardown(runtime, "drop whole", || drop(whole));
    check(session, runtime, "read slice", &slice, &[0xC4; SLICE as usize])?;

    attached(session, runtime, &slice)?;
    let mut batched = vec![&slice, &other];
    batched.extend(&pinned);
    batches(session, runtime, &batched)?;
    let weights = Pattern::new(0x77);
    let small = session.forward(runtime, "load small", || plans::small(&weights, |plan| core.load(plan)))?;
    sets(session, runtime, &small, &slice, &other)?;
    // More than a page of any mode: the arena grows, and shrinks with its model.
    let large = session.forward(runtime, "load arena", || plans::arena(arena_bytes(runtime), |plan| core.load(plan)))?;
    session.teardown(runtime, "unload arena", || large.unload().unwrap());

    let other = RefCell::new(other);
    session.teardown(runtime, "detach other", || other.borrow_mut().detach().unwrap());
    assert_eq!(other.borrow().bytes(), 0);
    session.forward(runtime, "attach no bytes", || other.borrow_mut().attach_size_only(Y))?;
    session.forward(runtime, "write no bytes", || other.borrow().write(0, &host[..Y as usize]))?;
    session.teardown(runtime, "drop small", || drop(small));
    session.teardown(runtime, "drop other", || drop(other));
    session.teardown(runtime, "drop pinned", || drop(pinned));
    // The last view of a tensor that went long ago is left for the close.
    std::mem::forget(slice);
    Ok(())
}

/// Three pages and a bit, contiguous or not.
fn arena_bytes(runtime: &FaultyRuntime) -> u64 {
    3 * if runtime.contiguous_scratchpad() { 64 << 20 } else { crate::rig::PAGE } + 1
}

/// Memory that is aligned, by the driver or by the runtime.
fn aligned(session: &mut Session<'_>, runtime: &FaultyRuntime) -> Outcome {
    let core = runtime.core(0).unwrap();
    let request = Allocation {
        bytes: 5000,
        align: ALIGN,
        location: Location::Device,
        channel: None,
        usage: Usage::Generic,
        hint: "aligned",
    };
    let block = session.forward(runtime, "aligned", || core.allocate(0, &request))?;
    assert!(block.address().unwrap().is_multiple_of(ALIGN));
    session.forward(runtime, "write aligned", || block.write(4990, &[7; 10]))?;
    session.forward(runtime, "fill aligned", || block.fill(4995, 8, 5))?;
    let back = session.forward(runtime, "read aligned", || {
        let mut back = [0; 10];
        block.read(4990, &mut back).map(|()| back)
    })?;
    assert_eq!(back, [7, 7, 7, 7, 7, 8, 8, 8, 8, 8]);
    let base = session.forward(runtime, "map aligned", || block.map())?;
    // SAFETY: the mapping spans the block, and nobody writes to it meanwhile.
    assert_eq!(unsafe { base.add(4999).read() }, 8);
    session.teardown(runtime, "drop aligned", || drop(block));
    Ok(())
}

fn check(session: &mut Session<'_>, runtime: &FaultyRuntime, step: &'static str, view: &View<'_>, bytes: &[u8]) -> Outcome {
    let back = session.forward(runtime, step, || {
        let mut back = vec![0; view.bytes() as usize];
        view.read(0, &mut back).map(|()| back)
    })?;
    assert!(back == bytes, "{step}");
    Ok(())
}

/// What goes into one view comes out of the other.
fn through_the_slice(session: &mut Session<'_>, runtime: &FaultyRuntime, whole: &View<'_>, slice: &View<'_>) -> Outcome {
    session.forward(runtime, "write slice", || slice.write(10, &[0x52; 20]))?;
    let mut expected = vec![0x31; X as usize];
    expected[START as usize + 10..][..20].fill(0x52);
    check(session, runtime, "read whole", whole, &expected)?;
    session.forward(runtime, "fill slice", || slice.fill(0, 0xC4, SLICE))?;
    expected[START as usize..][..SLICE as usize].fill(0xC4);
    check(session, runtime, "read filled whole", whole, &expected)?;
    let base = session.forward(runtime, "map slice", || slice.map())?;
    assert_eq!(slice.address().unwrap(), whole.address().unwrap() + START);
    // SAFETY: the mapping spans the tensor; nobody writes to it meanwhile.
    assert_eq!(unsafe { (base.sub(1).read(), base.read(), base.add(SLICE as usize).read()) }, (0x31, 0xC4, 0x31));
    // Marks of an outsider: reads pass one that reads, and none is left behind.
    let mark = session.forward(runtime, "begin", || slice.begin(Access::Read))?;
    check(session, runtime, "read under way", whole, &expected)?;
    drop(mark);
    session.forward(runtime, "fill after", || whole.fill(0, 0x31, START))
}

/// A buffer of the caller, in place of device memory.
fn attached(session: &mut Session<'_>, runtime: &FaultyRuntime, slice: &View<'_>) -> Outcome {
    let core = runtime.core(0).unwrap();
    let mut buffer = vec![0_u8; SLICE as usize];
    let memory = NonNull::from(&mut buffer[..]).cast();
    let view = session.forward(runtime, "tensor to be replaced", || core.tensor(Placement::Device, Y, "replaced"))?;
    let view = RefCell::new(view);
    session.teardown(runtime, "attach", || {
        // SAFETY: the buffer outlives the view, and is used through it alone until then.
        unsafe { view.borrow_mut().attach(memory, SLICE).unwrap() };
    });
    session.forward(runtime, "copy to buffer", || slice.copy_to(0, &view.borrow(), 0, SLICE))?;
    check(session, runtime, "read buffer", &view.borrow(), &[0xC4; SLICE as usize])?;
    session.forward(runtime, "fill buffer", || view.borrow().fill(0, 0x3D, 16))?;
    session.forward(runtime, "copy from buffer", || view.borrow().copy_to(0, slice, 0, 16))?;
    session.teardown(runtime, "detach", || view.borrow_mut().detach().unwrap());
    assert!(buffer[..16] == [0x3D; 16] && buffer[16..] == [0xC4; SLICE as usize - 16], "the buffer is the caller's");
    let mut expected = [0xC4; SLICE as usize];
    expected[..16].fill(0x3D);
    check(session, runtime, "read slice after buffer", slice, &expected)?;
    session.teardown(runtime, "drop view", || drop(view));
    Ok(())
}

/// Pieces of all of them, one behind the other.
fn batches(session: &mut Session<'_>, runtime: &FaultyRuntime, views: &[&View<'_>]) -> Outcome {
    for (fence, write, read) in [(Fence::Wait, "write batch", "read batch"), (Fence::Skip, "write unfenced", "read unfenced")] {
        let (first, last) = ([0x61; 300], [0x62; 7]);
        let pieces = [WritePiece::new(0, &first), WritePiece::new(SLICE - 7, &last)];
        let batch: Vec<(&View<'_>, &[WritePiece<'_>])> = views.iter().map(|view| (*view, &pieces[..])).collect();
        session.forward(runtime, write, || runtime.write_batch(&batch, fence))?;
        let back = session.forward(runtime, read, || {
            let mut back = vec![([0; 300], [0; 7]); views.len()];
            let mut pieces: Vec<_> =
                back.iter_mut().map(|(first, last)| [ReadPiece::new(0, first), ReadPiece::new(SLICE - 7, last)]).collect();
            let mut batch: Vec<(&View<'_>, &mut [ReadPiece<'_>])> =
                views.iter().zip(&mut pieces).map(|(view, pieces)| (*view, &mut pieces[..])).collect();
            runtime.read_batch(&mut batch, fence)?;
            Ok(back)
        })?;
        assert!(back == vec![(first, last); views.len()], "{read}");
    }
    Ok(())
}

/// A run bound by name; one that failed counts as no completion and leaves no mark.
fn sets(session: &mut Session<'_>, runtime: &FaultyRuntime, model: &Small<'_>, input: &View<'_>, output: &View<'_>) -> Outcome {
    let ins: Set<'_> = session.forward(runtime, "set of inputs", || runtime.tensor_set())?;
    let outs: Set<'_> = session.forward(runtime, "set of outputs", || runtime.tensor_set())?;
    session.forward(runtime, "add other x", || ins.add("x", output))?;
    session.forward(runtime, "add x", || ins.add("x", input))?;
    session.forward(runtime, "add z", || outs.add("z", output))?;
    session.forward(runtime, "fill x", || input.fill(0, 0x4E, SLICE))?;
    session.forward(runtime, "run sets", || model.run_sets(&ins, &outs, Some(0), &CopyExecutor))?;
    assert_eq!(output.completions().unwrap(), 1, "the run that completed");
    session.forward(runtime, "wait", || output.wait_completed(0, 1))?;
    check(session, runtime, "read z", output, &[0x4E; X as usize])?;
    session.forward(runtime, "write z", || output.write(0, &[1; 64]))?;
    session.teardown(runtime, "drop sets", || drop((ins, outs)));
    assert_eq!((input.bytes(), output.bytes()), (SLICE, X), "tensors outlive their sets");
    Ok(())
}
