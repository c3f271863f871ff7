//! From a model of the deployment to what the runtime loads.
//!
//! # Variable ids
//! The same on every core of a model:
//!
//! | id | variable |
//! | --- | --- |
//! | 1 + k | input k |
//! | 17 + k | output k |
//! | 0x100 + i | code of engine i in the order PE, ACT, POOL, DVE, SP |
//! | 0x105 | spill |
//! | 0x200 + i | region i |
//! | 0x300 | with a scratchpad: a variable at the start of the arena, as long as it is in one piece |
//! | 0x301 | with a scratchpad: the state buffer |
//! | 0x302 | with a scratchpad: a pointer to 0x300 |
//! | 0x303 | with a scratchpad: a pointer table of inputs, outputs, 0x300 and 0x301 |
//! | 0x304 | with a scratchpad, on every core but the first: the first weight chunk of the first one, borrowed |
//! | 0x1_0000 + n | the n-th weight chunk on this core: chunk n × subgraphs + the core's place in the logical core |
//!
//! # Content
//! Weights carry the bytes of their source. Code carries a seeded stream of its own, and so does a microcode library; all
//! models get the same libraries: those of one SUNDA core that have a single one share it, those with more have sets of their
//! own. Spill and further regions have no content.
//!
//! What all this takes from the pools of the runtime is counted in [`crate::demand`].

use heapless::Vec;
use nrt_core::arch::Arch;
use nrt_core::model::{
    Arena, ByteSource, Carveout, Chunks, IoPlan, ModelPlan, RegionPlan, SubgraphPlan, UcodeFunction, UcodeLibrary, VariableKind,
    VariablePlan,
};
use nrt_core::{Location, Usage};

use super::source::Seeded;
use crate::demand::{ENGINES, LIBRARY_FUNCTIONS, SLICE_ALIGN, TABLE_EXTRA, code_bytes};
use crate::deployment::{self, MAX_REGIONS, MAX_TENSORS, MAX_ULIBS, Model, Tensor};

const INPUTS: u32 = 1;
const OUTPUTS: u32 = INPUTS + MAX_TENSORS as u32;
const CODE: u32 = 0x100;
const SPILL: u32 = CODE + ENGINES as u32;
const REGIONS: u32 = 0x200;
const SCRATCHPAD: u32 = 0x300;
const STATE_BUFFER: u32 = 0x301;
const POINTER: u32 = 0x302;
const POINTER_TABLE: u32 = 0x303;
const BORROWED: u32 = 0x304;
const WEIGHTS: u32 = 0x1_0000;

/// Most variables of a plan beside its regions, inputs and outputs.
const MAX_VARIABLES: usize = 5;

const ENGINE_USAGES: [Usage; ENGINES] = [Usage::InstrPe, Usage::InstrAct, Usage::InstrPool, Usage::InstrDve, Usage::InstrSp];

/// Most physical cores of a logical core.
const MAX_SUBGRAPHS: usize = 2;
/// Most regions of a plan: weights, code, spill, and those of the deployment.
const MAX_PLAN_REGIONS: usize = 1 + ENGINES + 1 + MAX_REGIONS;

/// Bytes of the image of a microcode library.
const LIBRARY_BYTES: u64 = 64 << 10;
/// Bytes of the table by which the device finds the libraries of a set: the documented struct `SUNDA_UCODE_LIB_INFO` (`ulib`).
const LIBRARY_TABLE_BYTES: u64 = 27_304;
/// Bytes of a set with one library: the image and the table.
pub(super) const LIBRARY_SET_BYTES: u64 = LIBRARY_BYTES + LIBRARY_TABLE_BYTES;
/// Seed of the image of the first library; the others count on.
const LIBRARY_SEED: u64 = 0x6c69_6200;
/// Seed of the code of the first engine; the others count on.
const CODE_SEED: u64 = 0x636f_6465_0000;

/// What each library offers.
const FUNCTIONS: [UcodeFunction<'static>; LIBRARY_FUNCTIONS] = [
    UcodeFunction { name: "custom_gather", opcode: 0xf0, sub_opcode: 0 },
    UcodeFunction { name: "custom_scatter", opcode: 0xf0, sub_opcode: 1 },
];

/// A part of a model whose content is known.
pub(super) struct Piece {
    /// Place of its core in the logical core.
    pub(super) relative: u32,
    pub(super) variable: u32,
    /// Offset of its first byte in the source.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    /// Seed of the content; `None` = it is weights.
    pub(super) code: Option<u64>,
}

/// Every piece of a model whose content is known.
pub(super) fn known_pieces(model: &Model, weight_bytes: u64) -> impl Iterator<Item = Piece> {
    let chunk = model.weight_chunk_bytes;
    let subgraphs = u64::from(model.subgraphs);
    let weights = (0..model.weight_chunks(weight_bytes)).map(move |index| Piece {
        relative: (index % subgraphs) as u32,
        // The numbers of mem_refs fit 32 bits: there is one for each, and the pool is smaller.
        variable: WEIGHTS + (index / subgraphs) as u32,
        offset: index * chunk,
        bytes: chunk.min(weight_bytes - index * chunk),
        code: None,
    });
    let code = (0..model.subgraphs).flat_map(move |relative| {
        (0..).zip(code_bytes(model)).filter(|(_, bytes)| *bytes != 0).map(move |(engine, bytes)| Piece {
            relative,
            variable: CODE + engine,
            offset: 0,
            bytes,
            code: Some(CODE_SEED + u64::from(engine)),
        })
    });
    weights.chain(code)
}

/// Calls `work` with the plan of a model whose weights come from `weights`; `scratchpad_piece` = most bytes of scratchpad that
/// are in one piece.
pub(super) fn with_plan<R>(
    model: &Model,
    arch: Arch,
    weights: &dyn ByteSource,
    weight_bytes: u64,
    scratchpad_piece: u64,
    work: impl FnOnce(&ModelPlan<'_>) -> R,
) -> R {
    let code: [Seeded; ENGINES] = core::array::from_fn(|engine| Seeded(CODE_SEED + engine as u64));
    let images: [Seeded; MAX_ULIBS as usize] = core::array::from_fn(|library| Seeded(LIBRARY_SEED + library as u64));
    let libraries: Vec<UcodeLibrary<'_>, { MAX_ULIBS as usize }> = images
        .iter()
        .take(model.ulibs as usize)
        .map(|content| UcodeLibrary { content, bytes: LIBRARY_BYTES, flags: 0, cpu_id: 0, total_cpus: 8, functions: &FUNCTIONS })
        .collect();
    let carveouts: &[Carveout] = if arch == Arch::Cayman { &[Carveout::EVTACCEL] } else { &[] };
    let inputs = io(&model.inputs, INPUTS);
    let outputs = io(&model.outputs, OUTPUTS);
    let regions: Vec<Vec<RegionPlan<'_>, MAX_PLAN_REGIONS>, MAX_SUBGRAPHS> =
        (0..model.subgraphs).map(|relative| regions(model, weights, weight_bytes, &code, relative)).collect();
    let io_ids = inputs.iter().chain(&outputs).map(|io| io.variable);
    let table: Vec<u32, MAX_TABLE> = io_ids.chain([SCRATCHPAD, STATE_BUFFER]).collect();
    let variables: Vec<Vec<VariablePlan<'_>, MAX_VARIABLES>, MAX_SUBGRAPHS> = (0..model.subgraphs)
        .map(|relative| {
            let borrowed = (relative != 0).then_some(model.weight_chunk_bytes.min(weight_bytes));
            variables(model.scratchpad_bytes.min(scratchpad_piece), &table, borrowed)
        })
        .collect();
    let subgraphs: Vec<SubgraphPlan<'_>, MAX_SUBGRAPHS> = regions
        .iter()
        .zip(&variables)
        .map(|(regions, variables)| SubgraphPlan {
            regions,
            variables,
            local_scratchpad_bytes: model.scratchpad_bytes.next_multiple_of(SLICE_ALIGN),
            libraries: &libraries,
            carveouts,
            inputs: &inputs,
            outputs: &outputs,
            ..SubgraphPlan::EMPTY
        })
        .collect();
    work(&ModelPlan { name: &model.name, subgraphs: &subgraphs })
}

/// Most entries of a pointer table.
const MAX_TABLE: usize = 2 * MAX_TENSORS + TABLE_EXTRA;

/// The variables of a core that are no regions; none without a scratchpad.
fn variables(scratchpad: u64, table: &[u32], borrowed: Option<u64>) -> Vec<VariablePlan<'_>, MAX_VARIABLES> {
    if scratchpad == 0 {
        return Vec::new();
    }
    let plan = |variable, name, kind, bytes| VariablePlan { variable, name, kind, bytes, ..VariablePlan::EMPTY };
    let arena = VariableKind::VirtualTemporary { arena: Arena::Local, offset: 0 };
    let always = [
        plan(SCRATCHPAD, "scratchpad", arena, scratchpad),
        plan(STATE_BUFFER, "state buffer", VariableKind::StateBuffer, 0),
        plan(POINTER, "pointer", VariableKind::Pointer { target: SCRATCHPAD, io: false }, 0),
        plan(POINTER_TABLE, "pointer table", VariableKind::PointerTable { variables: table }, 0),
    ];
    let remote = VariableKind::Remote { subgraph: 0, variable: WEIGHTS };
    always.into_iter().chain(borrowed.map(|bytes| plan(BORROWED, "borrowed weights", remote, bytes))).collect()
}

fn io(tensors: &[Tensor], first: u32) -> Vec<IoPlan<'_>, MAX_TENSORS> {
    (first..).zip(tensors).map(|(variable, tensor)| IoPlan { name: &tensor.name, bytes: tensor.bytes, variable }).collect()
}

fn regions<'a>(
    model: &'a Model,
    weights: &'a dyn ByteSource,
    weight_bytes: u64,
    code: &'a [Seeded; ENGINES],
    relative: u32,
) -> Vec<RegionPlan<'a>, MAX_PLAN_REGIONS> {
    let plain = |name, first_variable, usage, bytes| RegionPlan {
        name,
        first_variable,
        usage,
        location: Location::Device,
        channel: None,
        align: 0,
        bytes,
        chunks: None,
        source: None,
    };
    let mut regions = Vec::new();
    let chunks = Chunks { bytes: model.weight_chunk_bytes, first: relative.into(), step: model.subgraphs.into() };
    let plan = plain("weights", WEIGHTS, Usage::Weight, weight_bytes);
    add(&mut regions, RegionPlan { chunks: Some(chunks), source: Some(weights), ..plan });
    for (((variable, usage), bytes), content) in (CODE..).zip(ENGINE_USAGES).zip(code_bytes(model)).zip(code) {
        add(&mut regions, RegionPlan { source: Some(content), ..plain("code", variable, usage, bytes) });
    }
    add(&mut regions, plain("spill", SPILL, Usage::DramSpill, model.spill_bytes));
    for (variable, region) in (REGIONS..).zip(&model.regions) {
        let usage = region.usage;
        let location = match region.location {
            deployment::Location::Device => Location::Device,
            deployment::Location::Host => Location::Host,
        };
        let channel = region.channel.map(u32::from);
        let plan = plain(usage.name(), variable, usage, region.bytes);
        add(&mut regions, RegionPlan { location, channel, align: region.align, ..plan });
    }
    regions
}

/// Adds a region, unless it is empty.
#[inline(never)]
fn add<'a>(regions: &mut Vec<RegionPlan<'a>, MAX_PLAN_REGIONS>, region: RegionPlan<'a>) {
    if region.bytes != 0 {
        // There is room: MAX_PLAN_REGIONS counts every region that a model can have.
        let _ = regions.push(region);
    }
}
