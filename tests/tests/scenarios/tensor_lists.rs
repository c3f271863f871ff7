//! `tensor` §5, `nrt-api` §3: lists of tensors, in the caller's memory.

use nrt_core::abi::nrt_tensor_list_t;
use nrt_core::model::{CopyExecutor, SubgraphPlan};
use nrt_core::{Arch, Cause, Error, Placement, Pool, Status};
use nrt_tests::runtime;

use crate::books::{books, finish};
use crate::plans::{NOTHING, formula, io, load};

#[test]
fn a_list_keeps_its_tensors_in_order() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let [one, two] = [("one", 10), ("two", 20)].map(|(name, bytes)| core.tensor(Placement::Device, bytes, name).unwrap());
    let slice = two.slice(5, 7, "slice").unwrap();
    let before = books(&runtime);
    let mut list = runtime.tensor_list::<4>();
    assert!(list.tensors().is_empty() && list.get(0).is_none());
    for tensor in [&one, &slice, &one, &two] {
        list.add(tensor).unwrap();
    }
    let full = Error { status: Status::Resource, cause: Cause::PoolFull(Pool::TensorList) };
    assert_eq!(list.add(&one), Err(full));
    let bytes = |index| list.get(index).map(|tensor| tensor.bytes());
    assert_eq!([0, 1, 2, 3, 4].map(bytes), [Some(10), Some(7), Some(10), Some(20), None]);
    let sizes: Vec<u64> = list.tensors().iter().map(|tensor| tensor.bytes()).collect();
    assert_eq!(sizes, [10, 7, 10, 20]);
    // A list is no object of the runtime: nothing is taken, nothing has to be given back.
    assert_eq!(books(&runtime), before);
    drop(list);
    drop((slice, two, one));
    finish(&runtime);
}

/// The struct of the C interface: an array of view records and its length, in 16 bytes.
#[test]
fn the_raw_list_names_the_views() {
    let runtime = runtime(Arch::Cayman);
    let [one, two] = [("one", 10), ("two", 20)].map(|(name, bytes)| runtime.host_tensor(bytes, name).unwrap());
    let mut list = runtime.tensor_list::<8>();
    let words = |raw: &nrt_tensor_list_t| {
        // SAFETY: the struct is two words, both written.
        unsafe { (&raw const *raw).cast::<[usize; 2]>().read() }
    };
    assert_eq!(list.with_raw(|raw| words(raw)[1]), 0);
    for tensor in [&two, &one, &two] {
        list.add(tensor).unwrap();
    }
    assert_eq!(size_of::<nrt_tensor_list_t>(), 16);
    list.with_raw(|raw| {
        assert_eq!(words(raw), [raw.tensors.expose_provenance(), 3]);
        // SAFETY: three entries, each a live view.
        let views = unsafe { [0, 1, 2].map(|at| *raw.tensors.add(at)) };
        // SAFETY: as above; names are NUL-terminated.
        let name = |view: usize| unsafe { std::ffi::CStr::from_ptr((*views[view]).name.cast()) }.to_str().unwrap();
        assert_eq!([name(0), name(1), name(2)], ["two", "one", "two"]);
        assert!(views[0] == views[2] && views[0] != views[1]);
    });
    drop(list);
    drop((one, two));
    finish(&runtime);
}

#[test]
fn a_model_runs_with_lists() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("a", 64, 90), io("b", 64, 91)], [io("x", 64, 92), io("y", 64, 93)]);
    let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
    let tensors = ["a", "b", "x", "y"].map(|name| core.tensor(Placement::Device, 64, name).unwrap());
    tensors[0].write(0, &[1; 64]).unwrap();
    tensors[1].write(0, &formula(0, 64)).unwrap();
    let (mut from, mut to) = (runtime.tensor_list::<2>(), runtime.tensor_list::<2>());
    tensors[..2].iter().for_each(|tensor| from.add(tensor).unwrap());
    tensors[2..].iter().for_each(|tensor| to.add(tensor).unwrap());
    model.run(from.tensors(), to.tensors(), None, &CopyExecutor).unwrap();
    let mut back = [0; 64];
    to.get(1).unwrap().read(0, &mut back).unwrap();
    assert_eq!(back[..], formula(0, 64));
    model.unload().unwrap();
    drop((from, to));
    drop(tensors);
    finish(&runtime);
}

#[test]
fn tensors_of_another_runtime_and_of_a_closed_one_are_refused() {
    let [first, second] = [(); 2].map(|()| runtime(Arch::Cayman));
    let (own, foreign) = (first.host_tensor(1, "own").unwrap(), second.host_tensor(1, "foreign").unwrap());
    let mut list = first.tensor_list::<2>();
    assert_eq!(list.add(&foreign), Err(Error { status: Status::InvalidHandle, cause: Cause::StaleHandle }));
    list.add(&own).unwrap();
    first.close(None).unwrap();
    assert_eq!(list.add(&own).unwrap_err().status, Status::Closed);
    assert_eq!(list.tensors().len(), 1);
    drop(list);
    drop(foreign);
    finish(&second);
}
