//! All memory of a runtime, laid out before `main`.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

use super::slots::*;
use super::tables::{POINTER_TABLE_ENTRY, TableBlock, TableWords, Tables, blocks};
use super::{PoolWords, SlotPool};
use crate::abi::{dma_mem_log_entry_t, dmem_allocator_t, tdrv_ctx_t, ucode_func_info_t, virtual_core_t};
use crate::error::{Cause, Error, Pool, Result};
use crate::forensics::OomRecords;
use crate::status::Status;

/// Sizes of the pools of a [`Storage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacities {
    /// Live allocations of all cores together.
    pub nodes: usize,
    /// Models times the cores each spans.
    pub models: usize,
    /// Placed variables of all models. Their lists and tables, and the functions of microcode libraries, have 256 bytes for each
    /// of these.
    pub mem_refs: usize,
    /// Tensors, and names in tensor sets.
    pub tensors: usize,
    /// Event-ring entries of one device.
    pub ring: usize,
}

impl Capacities {
    /// Fewest entries of each pool that a [`Storage`] can have.
    pub const LEAST: Self = Self { nodes: MAX_CORES_PER_DEVICE, models: 1, mem_refs: 1, tensors: 1, ring: MAX_CORES_PER_DEVICE };

    /// Bytes of static memory that one entry of each pool takes, with everything beside it that comes in the same number.
    pub const ENTRY_BYTES: Self = Self {
        nodes: size_of::<NodeSlot>() + size_of::<GroupSlot>(),
        models: size_of::<ModelSlot>(),
        mem_refs: size_of::<MemRefSlot>() + size_of::<TableBlock>() + size_of::<AtomicU8>(),
        tensors: size_of::<TensorSlot>() + size_of::<StorageSlot>() + size_of::<SetEntrySlot>(),
        ring: MAX_DEVICES * (size_of::<dma_mem_log_entry_t>() + size_of::<RingNote>()),
    };

    /// Of the blocks that come with `mem_refs`, how many a list of `variables` variables takes.
    #[must_use]
    pub const fn list_blocks(variables: usize) -> usize {
        blocks(variables * size_of::<u32>())
    }

    /// How many of them a pointer table of `variables` variables takes.
    #[must_use]
    pub const fn pointer_table_blocks(variables: usize) -> usize {
        blocks(variables * POINTER_TABLE_ENTRY)
    }

    /// How many of them a set of microcode libraries with `functions` functions in all takes.
    #[must_use]
    pub const fn function_blocks(functions: usize) -> usize {
        blocks(functions * size_of::<ucode_func_info_t>())
    }

    /// Bytes of static memory that a [`Storage`] of these capacities takes: what `size_of` gives for it.
    #[must_use]
    pub const fn storage_bytes(&self) -> usize {
        // Everything in front of the first pool has the same place in every storage.
        let mut end = core::mem::offset_of!(Storage<8, 1, 1, 1, 8>, nodes);
        // The members from there on, in the order of the struct: alignment, size, number.
        macro_rules! members {
            ($($member:ty, $count:expr;)*) => {
                $(end = end.next_multiple_of(align_of::<$member>()) + size_of::<$member>() * $count;)*
            };
        }
        members! {
            NodeSlot, self.nodes;
            GroupSlot, self.nodes;
            ModelSlot, self.models;
            MemRefSlot, self.mem_refs;
            TableWords, 1;
            TableBlock, self.mem_refs;
            AtomicU8, self.mem_refs;
            TensorSlot, self.tensors;
            StorageSlot, self.tensors;
            SetSlot, MAX_TENSOR_SETS;
            SetEntrySlot, self.tensors;
            OomRecords, 1;
            dma_mem_log_entry_t, self.ring * MAX_DEVICES;
            RingNote, self.ring * MAX_DEVICES;
        }
        end.next_multiple_of(align_of::<SmallStorage>())
    }
}

const FREE: u32 = 0;
const IN_USE: u32 = 1;
const CLOSED: u32 = 2;

/// Static memory of one runtime: the context tree (always the full 32 devices × 8 cores, 18,884,656 bytes) and the pools.
///
/// Zeroed memory is a valid storage, so a `static` costs .bss and only touched pages become resident. It is initialised in
/// place and never moved. One runtime at a time can hold it.
///
/// ```
/// use nrt_core::SmallStorage;
/// static STORAGE: SmallStorage = SmallStorage::new();
/// assert_eq!(STORAGE.capacities().models, 16);
/// ```
#[repr(C, align(64))]
pub struct Storage<const NODES: usize, const MODELS: usize, const MEM_REFS: usize, const TENSORS: usize, const RING: usize> {
    state: AtomicU32,
    next_model: AtomicU64,
    pools: [PoolWords; 8],
    tree: UnsafeCell<tdrv_ctx_t>,
    vcores: UnsafeCell<[virtual_core_t; MAX_CORES]>,
    allocators: UnsafeCell<[dmem_allocator_t; MAX_CORES]>,
    cores: UnsafeCell<[CoreSide; MAX_CORES]>,
    devices: UnsafeCell<[DeviceSide; MAX_DEVICES]>,
    databases: UnsafeCell<[ModelDb; MAX_CORES]>,
    ulibs: UnsafeCell<[UlibSlot; MAX_CORES]>,
    nodes: UnsafeCell<[NodeSlot; NODES]>,
    group: UnsafeCell<[GroupSlot; NODES]>,
    models: UnsafeCell<[ModelSlot; MODELS]>,
    mem_refs: UnsafeCell<[MemRefSlot; MEM_REFS]>,
    table_words: TableWords,
    tables: UnsafeCell<[TableBlock; MEM_REFS]>,
    table_tags: UnsafeCell<[AtomicU8; MEM_REFS]>,
    tensors: UnsafeCell<[TensorSlot; TENSORS]>,
    storages: UnsafeCell<[StorageSlot; TENSORS]>,
    sets: UnsafeCell<[SetSlot; MAX_TENSOR_SETS]>,
    set_entries: UnsafeCell<[SetEntrySlot; TENSORS]>,
    oom: UnsafeCell<OomRecords>,
    ring: UnsafeCell<[[dma_mem_log_entry_t; RING]; MAX_DEVICES]>,
    notes: UnsafeCell<[[RingNote; RING]; MAX_DEVICES]>,
}

/// A [`Storage`] of whatever capacities, for code that is not generic over them: `&'static dyn AnyStorage` will do.
#[expect(private_bounds, reason = "claiming is the runtime's; it also keeps the trait to `Storage`")]
pub trait AnyStorage: Claim + Sync {
    /// Sizes of the pools.
    fn capacities(&self) -> Capacities;
}

/// What the runtime does with a storage.
pub(crate) trait Claim {
    /// Claims the storage and erases its capacities.
    ///
    /// # Errors
    /// `NRT_FAILURE` when another runtime holds it.
    fn claim(&'static self) -> Result<Arenas>;
}

impl<const NODES: usize, const MODELS: usize, const MEM_REFS: usize, const TENSORS: usize, const RING: usize> AnyStorage
    for Storage<NODES, MODELS, MEM_REFS, TENSORS, RING>
{
    fn capacities(&self) -> Capacities {
        self.capacities()
    }
}

/// For tests and the smallest appliances: 1,024 allocations, 16 models, 64 tensors.
pub type SmallStorage = Storage<1024, 16, 1024, 64, 256>;
/// 32,768 allocations, 512 models, 16,384 variables, 4,096 tensors, 4,096 ring entries a device.
pub type DefaultStorage = Storage<32_768, 512, 16_384, 4_096, 4_096>;
/// Four times the default.
pub type LargeStorage = Storage<131_072, 2_048, 65_536, 16_384, 16_384>;

// SAFETY: all access goes through the runtime that claimed the storage by its state word; what several threads of that
// runtime touch is guarded by its locks or atomic.
unsafe impl<const NODES: usize, const MODELS: usize, const MEM_REFS: usize, const TENSORS: usize, const RING: usize> Sync
    for Storage<NODES, MODELS, MEM_REFS, TENSORS, RING>
{
}

// SAFETY: as above. The raw pointers inside refer to the storage itself or to memory the driver mapped for the process;
// neither is tied to a thread.
unsafe impl<const NODES: usize, const MODELS: usize, const MEM_REFS: usize, const TENSORS: usize, const RING: usize> Send
    for Storage<NODES, MODELS, MEM_REFS, TENSORS, RING>
{
}

impl<const NODES: usize, const MODELS: usize, const MEM_REFS: usize, const TENSORS: usize, const RING: usize> Default
    for Storage<NODES, MODELS, MEM_REFS, TENSORS, RING>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<const NODES: usize, const MODELS: usize, const MEM_REFS: usize, const TENSORS: usize, const RING: usize>
    Storage<NODES, MODELS, MEM_REFS, TENSORS, RING>
{
    /// An unclaimed storage, for a `static`.
    #[must_use]
    pub const fn new() -> Self {
        assert!(NODES >= MAX_CORES_PER_DEVICE && NODES < 1 << 24, "nodes: 8 to 2^24 - 1");
        assert!(MODELS >= 1 && MEM_REFS >= 1 && TENSORS >= 1, "every pool needs a slot");
        assert!(MEM_REFS < 1 << 24, "mem_refs: 1 to 2^24 - 1");
        assert!(RING >= MAX_CORES_PER_DEVICE, "the event ring needs an entry per core");
        // SAFETY: every member is an integer, an atomic, a raw pointer, a bool, uninitialised memory or an array of such; zero
        // is a value of each.
        unsafe { core::mem::zeroed() }
    }

    /// Sizes of the pools.
    #[must_use]
    pub const fn capacities(&self) -> Capacities {
        Capacities { nodes: NODES, models: MODELS, mem_refs: MEM_REFS, tensors: TENSORS, ring: RING }
    }
}

impl<const NODES: usize, const MODELS: usize, const MEM_REFS: usize, const TENSORS: usize, const RING: usize> Claim
    for Storage<NODES, MODELS, MEM_REFS, TENSORS, RING>
{
    fn claim(&'static self) -> Result<Arenas> {
        let used = match self.state.compare_exchange(FREE, IN_USE, AcqRel, Acquire) {
            Ok(_) => false,
            Err(CLOSED) if self.state.compare_exchange(CLOSED, IN_USE, AcqRel, Acquire).is_ok() => true,
            Err(_) => return Err(Error::new(Status::Failure, Cause::StorageInUse)),
        };
        let [nodes, group, models, mem_refs, tensors, storages, sets, set_entries] = &self.pools;
        // SAFETY: each pointer comes from its own UnsafeCell of this 'static storage and covers the whole array; the words
        // belong to that array alone, and only the claimant gets here.
        let arenas = unsafe {
            Arenas {
                state: &self.state,
                next_model: &self.next_model,
                capacities: self.capacities(),
                tree: NonNull::new_unchecked(self.tree.get()),
                vcores: cell(&self.vcores),
                allocators: cell(&self.allocators),
                cores: cell(&self.cores),
                devices: cell(&self.devices),
                databases: cell(&self.databases),
                ulibs: cell(&self.ulibs),
                nodes: SlotPool::new(cell(&self.nodes), NODES as u32, nodes, Pool::Nodes),
                group: SlotPool::new(cell(&self.group), NODES as u32, group, Pool::GroupEntries),
                models: SlotPool::new(cell(&self.models), MODELS as u32, models, Pool::Models),
                mem_refs: SlotPool::new(cell(&self.mem_refs), MEM_REFS as u32, mem_refs, Pool::MemRefs),
                tables: Tables::new(cell(&self.tables), cell(&self.table_tags), MEM_REFS as u32, &self.table_words),
                tensors: SlotPool::new(cell(&self.tensors), TENSORS as u32, tensors, Pool::Tensors),
                storages: SlotPool::new(cell(&self.storages), TENSORS as u32, storages, Pool::TensorStorages),
                sets: SlotPool::new(cell(&self.sets), MAX_TENSOR_SETS as u32, sets, Pool::TensorSets),
                set_entries: SlotPool::new(cell(&self.set_entries), TENSORS as u32, set_entries, Pool::TensorSetEntries),
                oom: NonNull::new_unchecked(self.oom.get()),
                ring: NonNull::new_unchecked(self.ring.get().cast()),
                notes: NonNull::new_unchecked(self.notes.get().cast()),
                ring_len: RING as u32,
            }
        };
        arenas.tables.reset(used);
        if used {
            arenas.nodes.reset();
            arenas.group.reset();
            arenas.models.reset();
            arenas.mem_refs.reset();
            arenas.tensors.reset();
            arenas.storages.reset();
            arenas.sets.reset();
            arenas.set_entries.reset();
        }
        Ok(arenas)
    }
}

/// First element of an array in a cell, with the provenance of the whole array.
const fn cell<T, const N: usize>(cell: &UnsafeCell<[T; N]>) -> NonNull<T> {
    // SAFETY: `UnsafeCell::get` is never null.
    unsafe { NonNull::new_unchecked(cell.get().cast()) }
}

/// A claimed storage without its capacities. Dropping it does not release the storage; [`release`](Self::release) does.
pub(crate) struct Arenas {
    state: &'static AtomicU32,
    /// Last model id handed out; survives a close, so that ids of an earlier life stay unknown.
    pub(crate) next_model: &'static AtomicU64,
    pub(crate) capacities: Capacities,
    pub(crate) tree: NonNull<tdrv_ctx_t>,
    pub(crate) vcores: NonNull<virtual_core_t>,
    pub(crate) allocators: NonNull<dmem_allocator_t>,
    cores: NonNull<CoreSide>,
    pub(crate) devices: NonNull<DeviceSide>,
    pub(crate) databases: NonNull<ModelDb>,
    pub(crate) ulibs: NonNull<UlibSlot>,
    pub(crate) nodes: SlotPool<NodeSlot>,
    pub(crate) group: SlotPool<GroupSlot>,
    pub(crate) models: SlotPool<ModelSlot>,
    pub(crate) mem_refs: SlotPool<MemRefSlot>,
    pub(crate) tables: Tables,
    pub(crate) tensors: SlotPool<TensorSlot>,
    pub(crate) storages: SlotPool<StorageSlot>,
    pub(crate) sets: SlotPool<SetSlot>,
    pub(crate) set_entries: SlotPool<SetEntrySlot>,
    pub(crate) oom: NonNull<OomRecords>,
    ring: NonNull<dma_mem_log_entry_t>,
    notes: NonNull<RingNote>,
    ring_len: u32,
}

// SAFETY: see the implementations for `Storage`; this is the same memory.
unsafe impl Sync for Arenas {}
// SAFETY: as above.
unsafe impl Send for Arenas {}

impl Arenas {
    /// Gives the storage back; a later runtime may claim it again.
    pub(crate) fn release(&self) {
        self.state.store(CLOSED, Release);
    }

    /// Side record of a core.
    #[inline]
    pub(crate) fn core(&self, device: u32, core: u32) -> &CoreSide {
        debug_assert!((device as usize) < MAX_DEVICES && (core as usize) < MAX_CORES_PER_DEVICE);
        // SAFETY: the index is inside the array of MAX_CORES records, which are valid for ever and only hold atomics.
        unsafe { self.cores.add(flat(device, core)).as_ref() }
    }

    /// The event ring of a device.
    pub(crate) fn ring(&self, device: u32) -> Ring {
        debug_assert!((device as usize) < MAX_DEVICES);
        let start = device as usize * self.ring_len as usize;
        // SAFETY: both arrays hold MAX_DEVICES × ring_len elements in a row.
        unsafe { Ring { entries: self.ring.add(start), notes: self.notes.add(start), len: self.ring_len } }
    }
}

/// Index of a core in arrays over all devices.
#[inline]
pub(crate) const fn flat(device: u32, core: u32) -> usize {
    device as usize * MAX_CORES_PER_DEVICE + core as usize
}

#[cfg(test)]
mod tests;
