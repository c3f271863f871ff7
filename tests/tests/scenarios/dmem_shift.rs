//! `dmem` §§6.1, 8, 10 to 13: memory whose alignment the driver did not give starts behind the first byte of its range. Every
//! access is compared with what the driver holds: the bytes behind the shift are those of a plain model, and nobody touches
//! the bytes in front of them and behind them.

use nrt_core::abi::dmem_t;
use nrt_core::driver::{Call, Driver as _};
use nrt_core::model::{Arena, ModelPlan, RegionPlan, Run, SubgraphPlan, VariableKind, VariablePlan};
use nrt_core::{Allocation, Arch, Config, Fence, Location, Placement, ReadPiece, Usage, WritePiece};
use nrt_linux::hooks::LinuxHooks;
use nrt_sim::{DriverVersion, SimConfig};
use nrt_tests::{TestRuntime, driver, open};

use crate::books::{Core, KIB, MIB, TestTensor, finish, held};
use crate::dmem_align::forget_alignment;
use crate::plans::{Formula, Inside, NOTHING, device, formula, io, load, region};
use crate::raw;
use crate::ulib::{LIBRARY, SUPPORT, cache};
use crate::variables::{buffer, pointer, record, word};

/// What nobody may touch.
const GUARD: u8 = 0xE5;

/// A runtime that knows that its driver does not align.
fn unaligned(arch: Arch, version: DriverVersion, zero_copy: bool) -> TestRuntime {
    let config = Config { zero_copy, scratchpad_page_size: MIB, ..Config::new(LinuxHooks::new()).side_by_side() };
    let runtime = open(driver(SimConfig { version, ..SimConfig::new(arch) }), config);
    forget_alignment(&runtime);
    runtime
}

/// The bytes of a node as they have to be, and the driver's.
struct Whole<'r> {
    runtime: &'r TestRuntime,
    node: *const dmem_t,
    shift: usize,
    size: usize,
    /// Of the whole range that was asked for.
    expected: Vec<u8>,
}

impl<'r> Whole<'r> {
    /// Of a live node, all of whose range becomes [`GUARD`].
    fn new(runtime: &'r TestRuntime, node: *const dmem_t) -> Self {
        // SAFETY: a live node.
        let (shift, size, allocated) = unsafe { ((*node).align_offset, (*node).size, (*node).allocated_size) };
        assert!(shift > 0 && shift + size <= allocated);
        runtime.driver().inner().fill(0, raw::range(node), 0, GUARD, allocated as u64).unwrap();
        Self { runtime, node, shift, size, expected: vec![GUARD; allocated] }
    }

    /// What lies at `offset` from the aligned byte on.
    fn at(&mut self, offset: usize, count: usize) -> &mut [u8] {
        assert!(offset + count <= self.size);
        &mut self.expected[self.shift + offset..][..count]
    }

    #[track_caller]
    fn check(&self) {
        let held = raw::bytes(self.runtime, self.node, self.expected.len());
        if held != self.expected {
            let differs = (0..held.len()).find(|&at| held[at] != self.expected[at]);
            panic!("byte {differs:?} of a range whose shift is {} and whose size is {}", self.shift, self.size);
        }
    }
}

/// The newest node of core 0.
fn newest(runtime: &TestRuntime) -> *const dmem_t {
    *raw::nodes(raw::global(runtime, 0)).last().unwrap()
}

/// Staged in one, two and three chunks.
const SIZES: [usize; 3] = [100, 20_000, (2 << 20) + 5];

#[test]
fn memory_of_an_allocation() {
    let versions = [(DriverVersion::V2_24_7, false), (DriverVersion::V2_25_4, true)];
    for ((version, zero_copy), location) in versions.into_iter().flat_map(|v| [(v, Location::Device), (v, Location::Host)]) {
        let runtime = unaligned(Arch::Cayman, version, zero_copy);
        let core = runtime.core(0).unwrap();
        for size in SIZES {
            let request = Allocation { align: 64 * KIB, location, ..device(size as u64, Usage::Io) };
            let memory = core.allocate(0, &request).unwrap();
            let mut whole = Whole::new(&runtime, newest(&runtime));
            // 1. All of it, then its first and its last byte alone.
            let content = formula(7, size);
            memory.write(0, &content).unwrap();
            whole.at(0, size).copy_from_slice(&content);
            whole.check();
            for at in [0, size - 1] {
                memory.write(at as u64, &[0x11]).unwrap();
                whole.at(at, 1).fill(0x11);
            }
            whole.check();
            // 2. A fill of what lies between.
            memory.fill(1, 0x22, size as u64 - 2).unwrap();
            whole.at(1, size - 2).fill(0x22);
            whole.check();
            // 3. Through the mapping.
            let mapped = memory.map().unwrap();
            // SAFETY: the mapping spans the bytes and nobody else uses them meanwhile.
            unsafe { mapped.add(size / 2).write(0x33) };
            whole.at(size / 2, 1).fill(0x33);
            whole.check();
            // 4. What is read is what the driver holds.
            let mut back = vec![0; size];
            memory.read(0, &mut back).unwrap();
            assert!(back == whole.at(0, size));
            // 5. The address is that of the aligned byte, and one byte further is refused.
            // SAFETY: a live node.
            assert_eq!(memory.address().unwrap(), unsafe { (*whole.node)._pa } + whole.shift as u64);
            assert!(memory.write(size as u64, &[0]).is_err() && memory.fill(1, 0, size as u64).is_err());
            whole.check();
        }
        finish(&runtime);
    }
}

/// Bytes between the start of a tensor's range and the tensor.
const SHIFT: usize = 8192 - 64;

/// A tensor whose node is what an aligned allocation gives on such a driver. No tensor asks for an alignment today.
fn shifted<'r>(runtime: &'r TestRuntime, core: &Core<'r>, placement: Placement, bytes: usize) -> (TestTensor<'r>, Whole<'r>) {
    let room = core.tensor(placement, (bytes + 8192) as u64, "room").unwrap();
    let node = newest(runtime).cast_mut();
    // SAFETY: a live node; nobody else uses the runtime. What it was allocated with stays.
    unsafe { ((*node).size, (*node).align_offset) = (bytes, SHIFT) };
    (room.slice(0, bytes as u64, "shifted").unwrap(), Whole::new(runtime, node))
}

/// From node to node inside the device, and from tensor to tensor in a run.
#[test]
fn copies_between_nodes() {
    let placements = [Placement::Device, Placement::Host];
    for (from, to) in placements.into_iter().flat_map(|from| placements.map(|to| (from, to))) {
        let runtime = unaligned(Arch::Mariana, DriverVersion::V2_25_4, false);
        let core = runtime.core(0).unwrap();
        let (source, mut given) = shifted(&runtime, &core, from, 50_000);
        let (target, mut taken) = shifted(&runtime, &core, to, 40_000);
        let content = formula(3, 50_000);
        source.write(0, &content).unwrap();
        given.at(0, 50_000).copy_from_slice(&content);
        // 1. A span in the middle, then the whole target, then the last byte.
        for (offset, target_offset, bytes) in [(100, 7, 30_000), (10_000, 0, 40_000), (49_999, 39_999, 1)] {
            source.copy_to(offset as u64, &target, target_offset as u64, bytes as u64).unwrap();
            taken.at(target_offset, bytes).copy_from_slice(&content[offset..][..bytes]);
            given.check();
            taken.check();
        }
        // 2. Slices count from where their tensor does.
        let (part, place) = (source.slice(1000, 500, "part").unwrap(), target.slice(39_500, 500, "place").unwrap());
        part.copy_to(0, &place, 0, 500).unwrap();
        taken.at(39_500, 500).copy_from_slice(&content[1000..1500]);
        taken.check();
        // 3. The copy of an executor.
        let subgraph = SubgraphPlan { inputs: &[io("x", 500, 1)], outputs: &[io("y", 500, 2)], ..NOTHING };
        let model = load(&core, subgraph).unwrap();
        target.fill(39_500, 0, 500).unwrap();
        model.run(&[&part], &[&place], None, &CopyFirst).unwrap();
        taken.check();
        given.check();
        model.unload().unwrap();
        drop((source, target, part, place));
        finish(&runtime);
    }
}

/// Copies all of the first input to the first output.
struct CopyFirst;

impl nrt_core::model::Executor for CopyFirst {
    fn execute<D: nrt_core::driver::Driver, H: nrt_core::hooks::Hooks>(&self, run: &Run<'_, D, H>) -> nrt_core::Result<()> {
        run.copy(0, 0, 0, 0, run.input_bytes(0))
    }
}

/// In one request of the driver, and in a transfer for each piece where it has none.
#[test]
fn pieces_of_a_batch() {
    for (version, requests) in [(DriverVersion::V2_25_4, 1), (DriverVersion::V2_24_7, 0)] {
        let runtime = unaligned(Arch::Cayman, version, false);
        let core = runtime.core(0).unwrap();
        let (one, mut first) = shifted(&runtime, &core, Placement::Device, 30_000);
        let plain = core.tensor(Placement::Device, 100, "plain").unwrap();
        let (two, mut second) = shifted(&runtime, &core, Placement::Device, 1000);
        let slice = two.slice(900, 100, "slice").unwrap();
        let content = formula(5, 30_000);
        runtime.driver().watch(&[Call::CopyBatches]);
        let pieces = [WritePiece::new(0, &content[..20_000]), WritePiece::new(29_999, b"!")];
        let others = [WritePiece::new(0, b"slice"), WritePiece::new(99, b"?")];
        runtime
            .write_batch(&[(&one, &pieces), (&plain, &[WritePiece::new(0, b"plain")]), (&slice, &others)], Fence::Wait)
            .unwrap();
        assert_eq!(runtime.driver().seen(), requests);
        first.at(0, 20_000).copy_from_slice(&content[..20_000]);
        first.at(29_999, 1).fill(b'!');
        second.at(900, 5).copy_from_slice(b"slice");
        second.at(999, 1).fill(b'?');
        first.check();
        second.check();
        let (mut all, mut end, mut middle) = (vec![0; 30_000], [0; 100], [0; 5]);
        let mut pieces = [ReadPiece::new(0, &mut all)];
        let mut ends = [ReadPiece::new(0, &mut end)];
        let mut middles = [ReadPiece::new(0, &mut middle)];
        runtime.read_batch(&mut [(&one, &mut pieces), (&slice, &mut ends), (&plain, &mut middles)], Fence::Wait).unwrap();
        assert_eq!(runtime.driver().seen(), 2 * requests);
        assert!(all == first.at(0, 30_000) && end == second.at(900, 100) && &middle == b"plain");
        drop((one, plain, two, slice));
        finish(&runtime);
    }
}

/// What a debugger or an engine is told about a tensor is where its bytes are.
#[test]
fn addresses_of_a_tensor() {
    let runtime = unaligned(Arch::Cayman, DriverVersion::V2_24_7, false);
    let core = runtime.core(0).unwrap();
    let (tensor, mut whole) = shifted(&runtime, &core, Placement::Device, 5000);
    let slice = tensor.slice(1000, 64, "slice").unwrap();
    // SAFETY: a live node.
    let first = unsafe { (*whole.node)._pa } + SHIFT as u64;
    assert_eq!((tensor.address(), slice.address()), (Ok(first), Ok(first + 1000)));
    assert_eq!(slice.device_allocation().unwrap().physical_address, first);
    // SAFETY: the mapping spans the tensor and nobody else uses it.
    unsafe { slice.map().unwrap().write(0x44) };
    whole.at(1000, 1).fill(0x44);
    slice.fill(1, 0x55, 63).unwrap();
    whole.at(1001, 63).fill(0x55);
    whole.check();
    // The words of a model hold that address while it runs.
    let subgraph = SubgraphPlan { inputs: &[io("x", 64, 90)], variables: &[pointer(1, 90, true)], ..NOTHING };
    let model = load(&core, subgraph).unwrap();
    let address = model.variable_address(0, 1, 0, 8).unwrap();
    let holds = Inside(|_| {
        assert_eq!(word(&runtime, 0, &model, address), first + 1000);
        Ok(())
    });
    model.run(&[&slice], &[], None, &holds).unwrap();
    model.unload().unwrap();
    drop((tensor, slice));
    finish(&runtime);
}

/// Of a node of device 0 whose range was zero before: nothing but `content` behind the shift.
#[track_caller]
fn check_loaded(runtime: &TestRuntime, node: *const dmem_t, content: &[u8]) -> u64 {
    // SAFETY: a live node.
    let (shift, allocated, pa) = unsafe { ((*node).align_offset, (*node).allocated_size, (*node)._pa) };
    assert!(shift > 0, "the alignment is on top");
    let held = raw::bytes(runtime, node, allocated);
    assert!(held[..shift].iter().all(|byte| *byte == 0), "in front");
    assert!(held[shift..][..content.len()] == *content, "the content");
    assert!(held[shift + content.len()..].iter().all(|byte| *byte == 0), "behind");
    pa + shift as u64
}

#[test]
fn variables_and_regions_of_a_model() {
    for arch in Arch::ALL {
        let runtime = unaligned(arch, SimConfig::new(arch).version, false);
        let core = runtime.core(0).unwrap();
        let align = 64 * KIB;
        let temporary = VariablePlan { kind: VariableKind::Temporary { source: Some(&Formula) }, ..buffer(2, 20_000) };
        let remote = VariablePlan { kind: VariableKind::Remote { subgraph: 0, variable: 1 }, ..buffer(5, 5000) };
        let variables = [
            VariablePlan { align, ..buffer(1, 5000) },
            VariablePlan { align, ..temporary },
            pointer(3, 1, false),
            VariablePlan { kind: VariableKind::PointerTable { variables: &[2] }, bytes: 0, ..buffer(4, 0) },
        ];
        // Three pieces of one region, the last one shorter, and one in pinned host memory.
        let chunks = region(100, Usage::Weight, 25_000, Some(&Formula));
        let chunks = RegionPlan { align, chunks: Some(nrt_core::model::Chunks { bytes: 10_000, first: 0, step: 1 }), ..chunks };
        let pinned = RegionPlan { align, location: Location::Host, ..region(200, Usage::Io, 7000, Some(&Formula)) };
        let subgraph = SubgraphPlan { variables: &variables, regions: &[chunks, pinned], ..NOTHING };
        let second = SubgraphPlan { variables: &[remote], ..NOTHING };
        let both = [subgraph, second];
        let subgraphs = &both[..runtime.logical_core_size() as usize];
        let model = core.load(&ModelPlan { name: "model", subgraphs }).unwrap();
        // SAFETY: a resident model.
        let nodes = raw::nodes(unsafe { (*raw::model(&runtime, 0, model.id())).dmem_allocator });
        // SAFETY: live nodes.
        let aligned = nodes.into_iter().filter(|node| unsafe { (**node).align_offset } != 0).collect::<Vec<_>>();
        // SAFETY: live nodes.
        let of_size = |size| aligned.iter().copied().filter(|node| unsafe { (**node).size } == size).collect::<Vec<_>>();
        assert_eq!(aligned.len(), 6);
        // 1. Content and address of each piece.
        for (variable, offset, size) in [(1, 0, 5000), (2, 0, 20_000), (102, 20_000, 5000), (200, 0, 7000)] {
            let content = formula(offset, size);
            let address = model.variable_address(0, variable, 0, 1).unwrap();
            // SAFETY: as above.
            let here = |node: &*const dmem_t| unsafe { (**node)._pa + (**node).align_offset as u64 } == address;
            let node = of_size(size).into_iter().find(here).expect("the node of a variable");
            assert_eq!((check_loaded(&runtime, node, &content), address % align), (address, 0));
            // 2. What is read is the content, from its first to its last byte.
            let mut back = vec![0; size];
            model.read_variable(0, variable, 0, &mut back).unwrap();
            assert!(back == content);
            let mut last = [0];
            model.read_variable(0, variable, size as u64 - 1, &mut last).unwrap();
            assert_eq!(last[0], content[size - 1]);
        }
        for (node, offset) in of_size(10_000).into_iter().zip([0, 10_000]) {
            check_loaded(&runtime, node, &formula(offset, 10_000));
        }
        // 3. Whatever leads to a variable leads to its aligned byte.
        let target = model.variable_address(0, 1, 0, 1).unwrap();
        assert_eq!(word(&runtime, 0, &model, model.variable_address(0, 3, 0, 8).unwrap()), target);
        // SAFETY: a pointer table of one entry.
        let entry = unsafe { *(*record(&runtime, 0, &model, 4)).u.ptr_table.addrs };
        assert_eq!(entry, model.variable_address(0, 2, 0, 1).unwrap());
        if runtime.logical_core_size() == 2 {
            assert_eq!(model.variable_address(1, 5, 0, 1), Ok(target));
            let mut back = vec![0; 5000];
            model.read_variable(1, 5, 0, &mut back).unwrap();
            assert!(back == formula(0, 5000));
        }
        model.unload().unwrap();
        finish(&runtime);
    }
}

/// Pages are aligned to more than the driver's granule, so each has its own shift.
#[test]
fn pages_of_the_scratchpad() {
    let runtime = unaligned(Arch::Cayman, DriverVersion::V2_24_7, false);
    let core = runtime.core(0).unwrap();
    let kind = |offset| VariableKind::VirtualTemporary { arena: Arena::Local, offset };
    let at = |variable, offset, bytes| VariablePlan { kind: kind(offset), ..buffer(variable, bytes) };
    let variables = [at(1, 4096, 20_000), at(2, MIB, MIB), at(3, 3 * MIB - 4096, 4096)];
    let subgraph = SubgraphPlan { variables: &variables, local_scratchpad_bytes: 3 * MIB, ..NOTHING };
    let model = load(&core, subgraph).unwrap();
    let pages = raw::nodes(raw::global(&runtime, 0));
    assert_eq!((pages.len(), held(&core, 0, Usage::Scratchpad) > 3 * MIB), (3, true));
    let mut pages: Vec<_> = pages.into_iter().map(|page| Whole::new(&runtime, page)).collect();
    for (variable, page, in_page, bytes) in [(1, 0, 4096, 20_000), (2, 1, 0, MIB), (3, 2, MIB - 4096, 4096)] {
        // 1. A variable lies in its page behind the shift, by every name it has.
        // SAFETY: a live page.
        let first = unsafe { (*pages[page].node)._pa } + pages[page].shift as u64;
        assert_eq!(first % (4 * MIB), 0);
        assert_eq!(model.variable_address(0, variable, 0, bytes), Ok(first + in_page));
        let offset = page as u64 * MIB + in_page;
        assert_eq!(model.scratchpad_address(0, offset, bytes), Ok(first + in_page));
        assert_eq!(core.scratchpad_address(0, offset, bytes), Ok(first + in_page));
        // 2. What the engines leave there is what is read.
        let content = formula(u64::from(variable), bytes as usize);
        let start = pages[page].shift as u64 + in_page;
        runtime.driver().inner().write(0, raw::range(pages[page].node), start, &content).unwrap();
        pages[page].at(in_page as usize, bytes as usize).copy_from_slice(&content);
        let mut back = vec![0; bytes as usize];
        model.read_variable(0, variable, 0, &mut back).unwrap();
        assert!(back == content);
        pages[page].check();
    }
    model.unload().unwrap();
    finish(&runtime);
}

/// External memory of a library has an alignment of its own; images and table have none.
#[test]
fn memory_of_libraries() {
    let runtime = unaligned(Arch::Sunda, DriverVersion::V2_24_7, false);
    let subgraph = SubgraphPlan { libraries: &[LIBRARY], library_support: SUPPORT, ..NOTHING };
    let model = load(&runtime.core(0).unwrap(), subgraph).unwrap();
    // SAFETY: the staged set of an open core.
    unsafe {
        let set = *cache(&runtime, 0);
        let address = check_loaded(&runtime, set.extram, &formula(0, 9000));
        assert_eq!(address % (64 * KIB), 0);
        assert_eq!(((*set.lib_dmem).align_offset, (*set.ucode_table).align_offset), (0, 0));
    }
    model.unload().unwrap();
    finish(&runtime);
}
