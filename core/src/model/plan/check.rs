//! The rules a plan must keep, each checked before anything is allocated. What concerns two variables at once (an id that
//! occurs twice, a target that is missing) is checked when they are entered in the index, before the driver is asked.

use crate::abi::{kbl_fmap_t, mem_ref_t};
use crate::arch::Arch;
use crate::arena::{MAX_FEATURE_MAPS, MAX_MODEL_NAME, MAX_UCODE_FUNCTIONS, MAX_UCODE_LIBRARIES, MAX_UCODE_ROWS, MEM_REF_NAME};
use crate::error::{Error, PlanFault, PlanPart, PlanRule, Pool, Result};
use crate::model::carveout;
use crate::status::Status;

use super::{Arena, IoPlan, ModelPlan, RegionPlan, SubgraphPlan, UcodeFunction, UcodeLibrary, VariableKind, VariablePlan};

const MAX_FUNCTION_NAME: usize = 63;
const MAX_IO_NAME: usize = core::mem::offset_of!(kbl_fmap_t, size) - 1;
/// Processors of the pool engine.
const PROCESSORS: u8 = 8;

impl ModelPlan<'_> {
    /// Checks everything that can be checked without allocating.
    ///
    /// # Errors
    /// `NRT_INVALID` for the first thing that is wrong; `NRT_FAILURE` for more than nine libraries (the documented code);
    /// `NRT_RESOURCE` when the inputs and outputs of a core exceed 32.
    pub(crate) fn check(&self, arch: Arch, cores: u32) -> Result<()> {
        if let Err(rule) = check_name(self.name, MAX_MODEL_NAME) {
            return Err(Error::plan(PlanFault { subgraph: 0, part: PlanPart::Model, rule }));
        }
        let subgraphs = self.subgraphs.len() as u32;
        if subgraphs != 1 && subgraphs != cores {
            return Err(Error::invalid(crate::error::Cause::Subgraphs { subgraphs, cores }));
        }
        let shared = self.subgraphs.iter().map(|subgraph| subgraph.shared_scratchpad_bytes).max().unwrap_or(0);
        for (index, subgraph) in (0..).zip(self.subgraphs) {
            subgraph.check(index, arch, subgraphs, shared)?;
        }
        Ok(())
    }
}

impl SubgraphPlan<'_> {
    fn check(&self, subgraph: u32, arch: Arch, subgraphs: u32, shared: u64) -> Result<()> {
        let broken = |part| move |rule| Error::plan(PlanFault { subgraph, part, rule });
        for region in self.regions {
            region.check(arch).map_err(broken(PlanPart::Variable(region.first_variable)))?;
        }
        for variable in self.variables {
            let checked = variable.check(subgraphs, self.local_scratchpad_bytes, shared);
            checked.map_err(broken(PlanPart::Variable(variable.variable)))?;
        }
        if self.inputs.len() + self.outputs.len() > MAX_FEATURE_MAPS {
            return Err(Error::pool_full(Pool::FeatureMaps));
        }
        for list in [self.inputs, self.outputs] {
            for (index, io) in list.iter().enumerate() {
                io.check(&list[..index]).map_err(broken(PlanPart::Variable(io.variable)))?;
            }
        }
        self.check_libraries(subgraph)?;
        if arch == Arch::Cayman {
            carveout::check_evtaccel(self.carveouts)?;
        }
        Ok(())
    }

    /// `ulib` §§2, 3, 4, 7.
    fn check_libraries(&self, subgraph: u32) -> Result<()> {
        let broken = |part| move |rule| Error::plan(PlanFault { subgraph, part, rule });
        let count = self.libraries.len();
        if count > MAX_UCODE_LIBRARIES {
            let error = broken(PlanPart::Subgraph)(PlanRule::Libraries(count));
            return Err(Error::new(Status::Failure, error.cause));
        }
        for (index, library) in self.libraries.iter().enumerate() {
            let custom = count > 1 && index > 0;
            library.check(custom).map_err(broken(PlanPart::Library(index as u32)))?;
        }
        let functions = |on: fn(&UcodeLibrary<'_>) -> bool| {
            self.libraries.iter().filter(|library| on(library)).map(|library| library.functions.len()).sum::<usize>()
        };
        let rows = functions(|_| true);
        if rows > MAX_UCODE_ROWS {
            return Err(broken(PlanPart::Subgraph)(PlanRule::Rows(rows)));
        }
        let first = functions(|library| library.cpu_id == 0);
        if first > MAX_UCODE_FUNCTIONS {
            return Err(broken(PlanPart::Subgraph)(PlanRule::Functions(first)));
        }
        match self.library_support.external_memory {
            Some(image) if image.bytes == 0 => Err(broken(PlanPart::Subgraph)(PlanRule::ZeroSize)),
            Some(image) => check_align(image.align).map_err(broken(PlanPart::Subgraph)),
            None => Ok(()),
        }
    }
}

impl RegionPlan<'_> {
    fn check(&self, arch: Arch) -> core::result::Result<(), PlanRule> {
        check_name(self.name, MEM_REF_NAME - 1)?;
        let (usage, location) = (self.usage, self.location);
        usage.category(location).ok_or(PlanRule::Usage { usage, location })?;
        if self.bytes == 0 || self.chunks.is_some_and(|chunks| chunks.bytes == 0 || chunks.step == 0) {
            return Err(PlanRule::ZeroSize);
        }
        check_align(self.align)?;
        let count = self.piece_count();
        if count.saturating_sub(1) > u64::from(u32::MAX - self.first_variable) {
            return Err(PlanRule::IdRange { count });
        }
        let channels = arch.channels_per_device();
        match self.channel {
            Some(channel) if channel >= channels => Err(PlanRule::Channel { channel, channels }),
            _ => Ok(()),
        }
    }
}

impl VariablePlan<'_> {
    fn check(&self, subgraphs: u32, local: u64, shared: u64) -> core::result::Result<(), PlanRule> {
        check_name(self.name, MEM_REF_NAME - 1)?;
        let type_limit = size_of_val(&EMPTY_TYPE) - 1;
        if self.element_type.len() > type_limit || self.element_type.as_bytes().contains(&0) {
            return Err(PlanRule::ElementType { length: self.element_type.len(), limit: type_limit });
        }
        if self.shape.len() > MAX_DIMENSIONS {
            return Err(PlanRule::Dimensions(self.shape.len()));
        }
        check_align(self.align)?;
        let sized = if self.bytes == 0 { Err(PlanRule::ZeroSize) } else { Ok(()) };
        match self.kind {
            VariableKind::StateBuffer if self.bytes > Arch::STATE_BUFFER_BYTES => Err(PlanRule::StateBuffer(self.bytes)),
            VariableKind::StateBuffer
            | VariableKind::StagedBuffer
            | VariableKind::Pointer { .. }
            | VariableKind::List { .. }
            | VariableKind::PointerTable { .. } => Ok(()),
            VariableKind::Buffer { .. } | VariableKind::Temporary { .. } => sized,
            VariableKind::VirtualTemporary { arena, offset } => {
                let limit = match arena {
                    Arena::Local => local,
                    Arena::Shared => shared,
                    Arena::Sharded | Arena::Main => return Err(PlanRule::Arena(arena)),
                };
                sized?;
                match offset.checked_add(self.bytes) {
                    Some(end) if end <= limit => Ok(()),
                    _ => Err(PlanRule::OutsideArena { offset, bytes: self.bytes, limit }),
                }
            }
            VariableKind::Remote { subgraph, .. } if subgraph >= subgraphs => {
                Err(PlanRule::NoSubgraph { subgraph, count: subgraphs })
            }
            VariableKind::Remote { .. } => sized,
        }
    }
}

const EMPTY_TYPE: [u8; 16] = [0; 16];
const MAX_DIMENSIONS: usize = 8;
const _: () = assert!(
    core::mem::offset_of!(mem_ref_t, shape) - core::mem::offset_of!(mem_ref_t, dtype) == 16
        && core::mem::offset_of!(mem_ref_t, debug_md) - core::mem::offset_of!(mem_ref_t, shape) == 8 * MAX_DIMENSIONS
);

impl IoPlan<'_> {
    fn check(&self, before: &[Self]) -> core::result::Result<(), PlanRule> {
        check_name(self.name, MAX_IO_NAME)?;
        if self.bytes == 0 {
            return Err(PlanRule::ZeroSize);
        }
        match before.iter().find(|other| other.name == self.name) {
            Some(other) => Err(PlanRule::SameName(other.variable)),
            None => Ok(()),
        }
    }
}

impl UcodeLibrary<'_> {
    fn check(&self, custom: bool) -> core::result::Result<(), PlanRule> {
        if self.total_cpus != 1 && self.total_cpus != PROCESSORS {
            return Err(PlanRule::Processors(self.total_cpus));
        }
        if self.cpu_id >= PROCESSORS || (custom && self.cpu_id != 0) {
            return Err(PlanRule::Processor { cpu_id: self.cpu_id, custom });
        }
        if self.bytes == 0 {
            return Err(PlanRule::ZeroSize);
        }
        self.functions.iter().try_for_each(UcodeFunction::check)
    }
}

impl UcodeFunction<'_> {
    fn check(&self) -> core::result::Result<(), PlanRule> {
        check_name(self.name, MAX_FUNCTION_NAME)
    }
}

fn check_name(name: &str, limit: usize) -> core::result::Result<(), PlanRule> {
    if name.len() > limit {
        return Err(PlanRule::Name { length: name.len(), limit });
    }
    if name.as_bytes().contains(&0) { Err(PlanRule::NameWithNul) } else { Ok(()) }
}

fn check_align(align: u64) -> core::result::Result<(), PlanRule> {
    if align == 0 || align.is_power_of_two() { Ok(()) } else { Err(PlanRule::Alignment(align)) }
}
