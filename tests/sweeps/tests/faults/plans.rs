//! Two models: one on every core of the logical core with everything a model can have, one small one on the first core.

use std::cell::Cell;
use std::sync::LazyLock;

use nrt_core::model::{
    Arena, ByteSource, Carveout, Chunks, IoPlan, LibrarySupport, ModelPlan, RegionPlan, SourceError, SubgraphPlan, UcodeFunction,
    UcodeImage, UcodeLibrary, UcodeQueue, VariableKind, VariablePlan,
};
use nrt_core::{Location, Usage};

/// Bytes that follow from seed and offset. Fails a chosen read.
pub(crate) struct Pattern {
    seed: u8,
    reads: Cell<u64>,
    fail_at: Cell<u64>,
}

pub(crate) const REFUSED: SourceError = "no such byte";

impl Pattern {
    pub(crate) fn new(seed: u8) -> Self {
        Self { seed, reads: Cell::new(0), fail_at: Cell::new(u64::MAX) }
    }

    /// `length` bytes at `offset`.
    pub(crate) fn bytes(seed: u8, offset: u64, length: usize) -> &'static [u8] {
        static PERIODS: LazyLock<Vec<u8>> = LazyLock::new(|| (0..64 << 10).map(|at| (at % 251) as u8).collect());
        &PERIODS[(offset as usize + usize::from(seed)) % 251..][..length]
    }

    pub(crate) fn fail_nth(&self, n: u64) {
        self.reads.set(0);
        self.fail_at.set(n);
    }

    pub(crate) fn reads(&self) -> u64 {
        self.reads.get()
    }
}

impl ByteSource for Pattern {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> Result<(), SourceError> {
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() == self.fail_at.get() {
            buffer.fill(0xEE);
            return Err(REFUSED);
        }
        buffer.copy_from_slice(Self::bytes(self.seed, offset, buffer.len()));
        Ok(())
    }
}

pub(crate) const WEIGHT: u32 = 100;
pub(crate) const CHUNK: u64 = 4096;
pub(crate) const WEIGHT_BYTES: u64 = 5 * CHUNK + 100;
pub(crate) const IMAGE_BYTES: u64 = 3000;
pub(crate) const X: u64 = 4096;
pub(crate) const Y: u64 = 512;
pub(crate) const Z: u64 = 6000;
/// Sizes of what lies in pinned host memory, unlike any size in device memory.
pub(crate) const HOST_SIZES: [u64; 3] = [RING, PINNED, HOST_TENSOR];
pub(crate) const RING: u64 = 8193;
pub(crate) const PINNED: u64 = 12_289;
pub(crate) const HOST_TENSOR: u64 = 2049;

const FUNCTIONS: [UcodeFunction<'static>; 2] =
    [UcodeFunction { name: "first", opcode: 0xA0, sub_opcode: 1 }, UcodeFunction { name: "second", opcode: 0xA1, sub_opcode: 0 }];

fn library(content: &Pattern) -> UcodeLibrary<'_> {
    UcodeLibrary { content, bytes: IMAGE_BYTES, flags: 5, cpu_id: 0, total_cpus: 8, functions: &FUNCTIONS }
}

fn region<'a>(name: &'a str, first_variable: u32, usage: Usage, bytes: u64, source: Option<&'a Pattern>) -> RegionPlan<'a> {
    RegionPlan {
        name,
        first_variable,
        usage,
        location: if usage == Usage::DmaRingIo { Location::Host } else { Location::Device },
        channel: None,
        align: if usage == Usage::InstrPe { 65_536 } else { 0 },
        bytes,
        chunks: None,
        source: source.map(|source| source as &dyn ByteSource),
    }
}

/// Name of what the large model holds in the heap of the core.
pub(crate) const OF_THE_CORE: &str = "of the core";
/// Variables of every kind; the ids of [`planned`].
pub(crate) const PLANNED: u32 = 30;

/// Variables of every kind: with and without memory of their own, in the scratchpad, too large for it, and those that name
/// others; what is too large for one page crosses to the next in a contiguous arena. The remote one belongs to the last core.
fn planned(source: &Pattern, cores: u32, page: u64) -> Vec<VariablePlan<'_>> {
    let plan =
        |offset, kind, bytes| VariablePlan { variable: PLANNED + offset, name: "planned", kind, bytes, ..VariablePlan::EMPTY };
    let scratch = |arena, offset| VariableKind::VirtualTemporary { arena, offset };
    vec![
        plan(0, VariableKind::StateBuffer, 0),
        plan(1, VariableKind::StagedBuffer, 77),
        plan(2, VariableKind::Buffer { source: Some(source) }, 7001),
        plan(3, VariableKind::Temporary { source: None }, 3001),
        plan(4, scratch(Arena::Local, 4096), 8192),
        plan(5, scratch(Arena::Shared, 0), 4096),
        plan(6, scratch(Arena::Local, 0), page + 4096),
        plan(7, VariableKind::Pointer { target: PLANNED + 2, io: false }, 0),
        plan(8, VariableKind::Pointer { target: 3, io: true }, 0),
        plan(9, VariableKind::List { variables: &[1, PLANNED + 2] }, 0),
        plan(10, VariableKind::PointerTable { variables: &[2, PLANNED + 2, PLANNED + 7] }, 0),
        plan(11, VariableKind::Remote { subgraph: cores - 1, variable: PLANNED + 2 }, 7001),
    ]
}

/// Calls `with` with the large model on `cores` cores, whose scratchpad pages have `page` bytes.
pub(crate) fn large<T>(cores: u32, page: u64, source: &Pattern, with: impl FnOnce(&ModelPlan<'_>) -> T) -> T {
    let regions: Vec<Vec<RegionPlan<'_>>> = (0..cores)
        .map(|core| {
            let chunks = Chunks { bytes: CHUNK, first: core.into(), step: cores.into() };
            vec![
                RegionPlan { chunks: Some(chunks), ..region("w", WEIGHT, Usage::Weight, WEIGHT_BYTES, Some(source)) },
                region("code", 10, Usage::InstrPe, 8192, Some(source)),
                region("spill", 11, Usage::DramSpill, 5000, None),
                region("ring", 12, Usage::DmaRingIo, RING, Some(source)),
                region(OF_THE_CORE, 13, Usage::Notification, 4001, Some(source)),
            ]
        })
        .collect();
    // A set of its own; the small model has one library, which the core keeps.
    let libraries = [library(source), library(source)];
    let library_support = LibrarySupport {
        external_memory: Some(UcodeImage { content: source, bytes: 2001, align: 8192 }),
        scratch_bytes: 6001,
        queues: Some([UcodeQueue { m2s_offset: 1, s2m_offset: 2 }; 8]),
    };
    let variables = planned(source, cores, page);
    let inputs = [IoPlan { name: "x", bytes: X, variable: 1 }, IoPlan { name: "y", bytes: Y, variable: 2 }];
    let outputs = [IoPlan { name: "z", bytes: Z, variable: 3 }];
    let subgraphs: Vec<SubgraphPlan<'_>> = regions
        .iter()
        .map(|regions| SubgraphPlan {
            regions,
            local_scratchpad_bytes: page * 3 / 2,
            shared_scratchpad_bytes: page / 2,
            variables: &variables,
            libraries: &libraries,
            library_support,
            carveouts: &[Carveout::EVTACCEL],
            program_fp8_config: true,
            inputs: &inputs,
            outputs: &outputs,
        })
        .collect();
    with(&ModelPlan { name: "large", subgraphs: &subgraphs })
}

/// Calls `with` with the small model.
pub(crate) fn small<T>(source: &Pattern, with: impl FnOnce(&ModelPlan<'_>) -> T) -> T {
    let chunks = Chunks { bytes: CHUNK, first: 0, step: 1 };
    let regions = [RegionPlan { chunks: Some(chunks), ..region("w", WEIGHT, Usage::Weight, CHUNK + 1, Some(source)) }];
    let libraries = [library(source)];
    let subgraph = SubgraphPlan {
        regions: &regions,
        local_scratchpad_bytes: crate::rig::PAGE,
        libraries: &libraries,
        inputs: &[IoPlan { name: "x", bytes: Y, variable: 1 }],
        outputs: &[IoPlan { name: "z", bytes: X, variable: 2 }],
        ..SubgraphPlan::EMPTY
    };
    with(&ModelPlan { name: "small", subgraphs: &[subgraph] })
}

/// Calls `with` with a model of nothing but an arena of `bytes` on its only core.
pub(crate) fn arena<T>(bytes: u64, with: impl FnOnce(&ModelPlan<'_>) -> T) -> T {
    let subgraph = SubgraphPlan { local_scratchpad_bytes: bytes, ..SubgraphPlan::EMPTY };
    with(&ModelPlan { name: "arena", subgraphs: &[subgraph] })
}
