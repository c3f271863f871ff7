//! `tensor` §10: sets, and binding a model's inputs and outputs by name.

use nrt_core::model::{CopyExecutor, ModelPlan, SubgraphPlan};
use nrt_core::{Arch, Cause, Error, Placement, Pool, Status, TensorSet};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::{TestDriver, runtime};

use crate::books::{TestTensor, books, finish};
use crate::plans::{NOTHING, formula, io, load, refused};

fn invalid(cause: Cause) -> Error {
    Error { status: Status::Invalid, cause }
}

fn set<'r>(runtime: &'r nrt_tests::TestRuntime, tensors: &[(&str, &TestTensor<'_>)]) -> TensorSet<'r, TestDriver, LinuxHooks> {
    let set = runtime.tensor_set().unwrap();
    tensors.iter().for_each(|(name, tensor)| set.add(name, tensor).unwrap());
    set
}

fn read(tensor: &TestTensor<'_>) -> Vec<u8> {
    let mut bytes = vec![0; tensor.bytes() as usize];
    tensor.read(0, &mut bytes).unwrap();
    bytes
}

#[test]
fn names_are_compared_byte_by_byte_and_replaced() {
    let runtime = runtime(Arch::Cayman);
    let [one, two] = [1, 2].map(|bytes| runtime.host_tensor(bytes, "t").unwrap());
    let set = set(&runtime, &[("x", &one), ("X", &two), ("", &two)]);
    let size = |name: &str| set.get(name).map(|tensor| tensor.bytes());
    assert_eq!((size("x"), size("X"), size(""), set.count()), (Ok(1), Ok(2), Ok(2), Ok(3)));
    set.add("x", &two).unwrap();
    assert_eq!((size("x"), set.count()), (Ok(2), Ok(3)), "replaced");
    let absent = Error { status: Status::Failure, cause: Cause::UnknownTensor };
    for name in ["y", "xx", "x ", "\u{e9}"] {
        assert_eq!(refused(set.get(name)), absent, "errata 35");
    }
    let longest = "n".repeat(255);
    set.add(&longest, &one).unwrap();
    assert_eq!((size(&longest), size(&longest[1..])), (Ok(1), Err(absent)));
    let too_long = invalid(Cause::NameTooLong { length: 256, limit: 255 });
    assert_eq!(set.add(&"n".repeat(256), &one), Err(too_long));
    assert_eq!(set.add("a\0b", &one), Err(invalid(Cause::NameWithNul)));
    drop((set, one, two));
    finish(&runtime);
}

/// Many names in one table: chains hold what shares a bucket, and a full pool names itself.
#[test]
fn a_set_takes_names_until_the_pool_is_full() {
    let runtime = runtime(Arch::Cayman);
    let tensor = runtime.host_tensor(1, "t").unwrap();
    let sets = [runtime.tensor_set().unwrap(), runtime.tensor_set().unwrap()];
    for name in 0..32 {
        sets[name % 2].add(&name.to_string(), &tensor).unwrap();
    }
    let full = Error { status: Status::Resource, cause: Cause::PoolFull(Pool::TensorSetEntries) };
    assert_eq!(sets[0].add("one more", &tensor), Err(full));
    assert_eq!(sets[0].add("0", &tensor), Ok(()), "a name that is there needs no entry");
    for name in 0..32 {
        assert_eq!(sets[name % 2].get(&name.to_string()).unwrap().bytes(), 1);
        assert!(sets[1 - name % 2].get(&name.to_string()).is_err());
    }
    let [first, second] = sets;
    drop(first);
    second.add("one more", &tensor).unwrap();
    let many: Vec<_> = (0..255).map(|_| runtime.tensor_set().unwrap()).collect();
    assert_eq!(refused(runtime.tensor_set()), Error { status: Status::Resource, cause: Cause::PoolFull(Pool::TensorSets) });
    drop((many, second, tensor));
    finish(&runtime);
}

/// A set takes no reference: what is gone is an invalid handle, also when the slot lives on as another tensor.
#[test]
fn a_set_does_not_keep_its_tensors() {
    let runtime = runtime(Arch::Cayman);
    let before = books(&runtime);
    let core = runtime.core(0).unwrap();
    let tensor = core.tensor(Placement::Device, 100, "t").unwrap();
    let set = set(&runtime, &[("x", &tensor)]);
    let shared = set.get("x").unwrap();
    drop(tensor);
    shared.write(0, &[1]).unwrap();
    assert_eq!(set.get("x").unwrap().bytes(), 100, "the second handle keeps it");
    drop(shared);
    assert_eq!(books(&runtime), before);
    let stale = Error { status: Status::InvalidHandle, cause: Cause::StaleHandle };
    assert_eq!(refused(set.get("x")), stale);
    let other = core.tensor(Placement::Device, 100, "t").unwrap();
    assert_eq!(refused(set.get("x")), stale);
    set.add("x", &other).unwrap();
    assert!(set.get("x").is_ok());
    drop((other, set));
    finish(&runtime);
}

/// While a second handle is out, the storage of a view stays what it is.
#[test]
fn a_shared_view_keeps_its_storage() {
    let runtime = runtime(Arch::Cayman);
    let mut tensor = runtime.host_tensor(100, "t").unwrap();
    let set = set(&runtime, &[("x", &tensor)]);
    let shared = set.get("x").unwrap();
    let in_use = Err(invalid(Cause::TensorInUse));
    assert_eq!(tensor.detach(), in_use);
    assert_eq!(tensor.attach_size_only(5), in_use);
    assert_eq!(read(&shared).len(), 100);
    drop(shared);
    tensor.attach_size_only(5).unwrap();
    assert_eq!(set.get("x").unwrap().bytes(), 5);
    drop((tensor, set));
    finish(&runtime);
}

#[test]
fn a_model_is_bound_by_name() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("a", 10, 1), io("b", 7, 2)], [io("c", 10, 3)]);
    let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
    let tensor = |bytes| core.tensor(Placement::Device, bytes, "t").unwrap();
    let (a, b, c) = (tensor(10), tensor(7), tensor(10));
    a.write(0, &formula(3, 10)).unwrap();
    let outs = set(&runtime, &[("c", &c)]);
    // The order in the set does not count, and names the model does not declare are not looked at.
    let ins = set(&runtime, &[("unknown", &c), ("b", &b), ("a", &a)]);
    let run = |ins: &TensorSet<'_, _, _>, outs: &TensorSet<'_, _, _>| model.run_sets(ins, outs, None, &CopyExecutor);
    assert_eq!(run(&ins, &outs), Ok(()));
    assert_eq!((read(&c), c.completions()), (formula(3, 10), Ok(1)));
    let binding = |output, index, need, have| Err(invalid(Cause::Binding { output, index, need, have }));
    let foreign = runtime.core(1).unwrap().tensor(Placement::Device, 10, "t").unwrap();
    let (before, completions) = (books(&runtime), c.completions());
    runtime.driver().watch_all();
    assert_eq!(run(&set(&runtime, &[("a", &a)]), &outs), binding(false, 1, 7, 0));
    assert_eq!(run(&set(&runtime, &[("b", &b)]), &outs), binding(false, 0, 10, 0));
    assert_eq!(run(&set(&runtime, &[("a", &b), ("b", &b)]), &outs), binding(false, 0, 10, 7));
    assert_eq!(run(&ins, &set(&runtime, &[])), binding(true, 0, 10, 0));
    assert_eq!(run(&ins, &set(&runtime, &[("c", &b)])), binding(true, 0, 10, 7));
    assert_eq!(run(&ins, &set(&runtime, &[("c", &foreign)])), Err(invalid(Cause::WrongCore { tensor: 1, model: 0 })));
    // A refused run took no reference, counted nothing and asked nothing of the driver.
    assert_eq!((runtime.driver().seen(), books(&runtime), c.completions()), (0, before, completions));
    let gone = set(&runtime, &[("c", &c)]);
    drop(c);
    let stale = Err(Error { status: Status::InvalidHandle, cause: Cause::StaleHandle });
    assert_eq!(run(&ins, &gone), stale);
    // An empty tensor is one of 0 bytes.
    let empty = runtime.empty_tensor("empty").unwrap();
    assert_eq!(run(&ins, &set(&runtime, &[("c", &empty)])), binding(true, 0, 10, 0));
    drop((a, b, foreign, empty, ins, outs, gone));
    model.unload().unwrap();
    finish(&runtime);
}

/// Every subgraph is bound: a name that two declare is one tensor, large enough for both.
#[test]
fn all_subgraphs_of_a_model_are_bound() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (first, second) = ([io("a", 10, 1), io("shared", 5, 2)], [io("shared", 20, 1), io("b", 8, 2)]);
    let (out_first, out_second) = ([io("c", 10, 3)], [io("d", 5, 3)]);
    let subgraphs = [
        SubgraphPlan { inputs: &first, outputs: &out_first, ..NOTHING },
        SubgraphPlan { inputs: &second, outputs: &out_second, ..NOTHING },
    ];
    let model = core.load(&ModelPlan { name: "two", subgraphs: &subgraphs }).unwrap();
    let tensor = |bytes| core.tensor(Placement::Device, bytes, "t").unwrap();
    let (a, shared, b, c, d) = (tensor(10), tensor(20), tensor(8), tensor(10), tensor(5));
    let outs = set(&runtime, &[("c", &c), ("d", &d)]);
    let ins = set(&runtime, &[("a", &a), ("shared", &shared), ("b", &b)]);
    let run = |ins: &TensorSet<'_, _, _>, outs: &TensorSet<'_, _, _>| model.run_sets(ins, outs, None, &CopyExecutor);
    assert_eq!(run(&ins, &outs), Ok(()));
    assert_eq!((c.completions(), d.completions()), (Ok(1), Ok(1)));
    let binding = |output, index, need, have| Err(invalid(Cause::Binding { output, index, need, have }));
    // The second subgraph's declarations count: the larger size of a shared name, and names of its own.
    assert_eq!(run(&set(&runtime, &[("a", &a), ("shared", &a), ("b", &b)]), &outs), binding(false, 1, 20, 10));
    assert_eq!(run(&set(&runtime, &[("a", &a), ("shared", &shared)]), &outs), binding(false, 2, 8, 0));
    assert_eq!(run(&ins, &set(&runtime, &[("c", &c)])), binding(true, 1, 5, 0));
    // By position the same: the first subgraph's, then what the second adds.
    assert_eq!(model.run(&[&a, &shared, &b], &[&c, &d], None, &CopyExecutor), Ok(()));
    assert_eq!(model.run(&[&a, &shared], &[&c, &d], None, &CopyExecutor), binding(false, 2, 8, 0));
    drop((a, shared, b, c, d, ins, outs));
    model.unload().unwrap();
    finish(&runtime);
}

/// Plain host tensors are counted; no core is asked of them.
#[test]
fn host_tensors_are_counted() {
    use nrt_core::driver::Driver;
    use nrt_core::hooks::Hooks;
    use nrt_core::model::{Executor, Run};
    struct Count(std::cell::Cell<usize>);
    impl Executor for Count {
        fn execute<D: Driver, H: Hooks>(&self, run: &Run<'_, D, H>) -> nrt_core::Result<()> {
            self.0.set(run.host_tensors());
            CopyExecutor.execute(run)
        }
    }
    let runtime = runtime(Arch::Sunda);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("a", 10, 1), io("b", 7, 2)], [io("c", 10, 3)]);
    let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
    let (a, pinned) = (runtime.host_tensor(10, "a").unwrap(), core.tensor(Placement::Host, 7, "b").unwrap());
    let c = runtime.core(1).unwrap().tensor(Placement::Virtual, 10, "c").unwrap();
    a.write(0, &formula(9, 10)).unwrap();
    let executor = Count(std::cell::Cell::new(0));
    model.run_sets(&set(&runtime, &[("a", &a), ("b", &pinned)]), &set(&runtime, &[("c", &c)]), None, &executor).unwrap();
    assert_eq!((executor.0.get(), read(&c)), (2, formula(9, 10)));
    drop((a, pinned, c));
    model.unload().unwrap();
    finish(&runtime);
}

/// The tensors of a set are held while a model runs with them, whoever drops their handles meanwhile.
#[test]
fn a_run_holds_the_tensors_of_its_sets() {
    let runtime = runtime(Arch::Cayman);
    let core = runtime.core(0).unwrap();
    let (inputs, outputs) = ([io("a", 10, 1)], [io("c", 10, 3)]);
    let model = load(&core, SubgraphPlan { inputs: &inputs, outputs: &outputs, ..NOTHING }).unwrap();
    let a = core.tensor(Placement::Device, 10, "a").unwrap();
    let c = core.tensor(Placement::Device, 10, "c").unwrap();
    let (ins, outs) = (set(&runtime, &[("a", &a)]), set(&runtime, &[("c", &c)]));
    let held = std::sync::Mutex::new(Some((a, c)));
    let live = runtime.live_nodes();
    let executor = crate::plans::Meanwhile(|_| {
        drop(held.lock().unwrap().take());
        assert_eq!(runtime.live_nodes(), live, "still held by the run");
    });
    model.run_sets(&ins, &outs, None, &executor).unwrap();
    assert_eq!(runtime.live_nodes(), live - 2);
    drop((ins, outs));
    model.unload().unwrap();
    finish(&runtime);
}
