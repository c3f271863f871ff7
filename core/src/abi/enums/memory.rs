//! Enumerations of device memory and its ledger (fact sheet `dmem` §1, §3).

abi_enum! {
    /// Architecture of a NeuronCore.
    pub enum al_hal_tpb_arch_type_t: u32 {
        /// Not set.
        AL_HAL_TPB_ARCH_TYPE_INVALID = 0,
        /// Retired number.
        AL_HAL_TPB_ARCH_TYPE_INVALID_1 = 1,
        /// Second generation, NC-v2.
        AL_HAL_TPB_ARCH_TYPE_SUNDA = 2,
        /// Third generation, NC-v3.
        AL_HAL_TPB_ARCH_TYPE_CAYMAN = 3,
        /// Fourth generation, NC-v4.
        AL_HAL_TPB_ARCH_TYPE_MARIANA = 4,
        /// Count of the values.
        AL_HAL_TPB_ARCH_TYPE_NUM = 5,
    }

    /// Where memory lives.
    pub enum dma_mem_location_t: u32 {
        /// Not set.
        DMA_MEM_LOC_INVALID = 0,
        /// Pinned host memory.
        HOST_DRAM = 1,
        /// Device memory, HBM.
        TONGA_DRAM = 2,
    }

    /// Owner of an allocator.
    pub enum dmem_allocator_type_t: u32 {
        /// One per core, for the life of the process.
        DMEM_ALLOCATOR_TYPE_GLOBAL = 0,
        /// One per loaded model and core.
        DMEM_ALLOCATOR_TYPE_MODEL = 1,
    }

    /// Kind of event in the ledger's ring.
    pub enum dmem_action: u32 {
        /// Slot not used yet.
        UNUSED = 0,
        /// Memory was allocated.
        DMEM_ACTION_ALLOC = 1,
        /// Memory was released.
        DMEM_ACTION_FREE = 2,
    }

    /// What memory is used for. The names of 3 and 4 are in doubt: all tables treat 3 as miscellaneous and 4 as
    /// code.
    pub enum dma_mem_usage_type_t: u32 {
        /// Anything else.
        DMA_MEM_USAGE_TYPE_GENERIC = 0,
        /// Instructions of the PE engine.
        DMA_MEM_USAGE_TYPE_INSTR_PE = 1,
        /// Instructions of the ACT engine.
        DMA_MEM_USAGE_TYPE_INSTR_ACT = 2,
        /// Named after the POOL engine's instructions, classed as miscellaneous.
        DMA_MEM_USAGE_TYPE_INSTR_POOL = 3,
        /// Named after inputs and outputs, classed as code.
        DMA_MEM_USAGE_TYPE_IO = 4,
        /// Spilled variables of a model.
        DMA_MEM_USAGE_TYPE_DRAM_SPILL = 5,
        /// Constants of a model.
        DMA_MEM_USAGE_TYPE_WEIGHT = 6,
        /// Notification queues.
        DMA_MEM_USAGE_TYPE_NOTIFICATION = 7,
        /// Activation tables.
        DMA_MEM_USAGE_TYPE_ACT_TABLE = 8,
        /// Instructions of the DVE engine.
        DMA_MEM_USAGE_TYPE_INSTR_DVE = 9,
        /// Instructions of the SP engine.
        DMA_MEM_USAGE_TYPE_INSTR_SP = 10,
        /// Pages of the shared scratchpad; device memory only.
        DMA_MEM_USAGE_TYPE_SCRATCHPAD = 11,
        /// Tensors of the application.
        DMA_MEM_USAGE_TYPE_TENSOR = 12,
        /// Microcode libraries.
        DMA_MEM_USAGE_TYPE_UCODE_LIB = 13,
        /// Output rings of the pooling processors.
        DMA_MEM_USAGE_TYPE_POOL_STDIO = 14,
        /// Collectives; device memory only.
        DMA_MEM_USAGE_TYPE_CC = 15,
        /// Scratchpad variables of their own allocation; device memory only.
        DMA_MEM_USAGE_TYPE_SCRATCHPAD_NOT_SHARED = 16,
        /// Cross-device collectives.
        DMA_MEM_USAGE_TYPE_XT_CC = 17,
        /// Descriptor rings of the runtime.
        DMA_MEM_USAGE_TYPE_DMA_RING = 18,
        /// Descriptor rings of spills.
        DMA_MEM_USAGE_TYPE_DMA_RING_SPILL = 19,
        /// Descriptor rings of inputs and outputs.
        DMA_MEM_USAGE_TYPE_DMA_RING_IO = 20,
        /// Descriptor rings of collectives.
        DMA_MEM_USAGE_TYPE_DMA_RING_COLLECTIVES = 21,
        /// Count of the usages; as a column, the total of a core.
        DMA_MEM_USAGE_TYPE_MAX = 22,
    }

    /// Column of a memory report.
    pub enum dmem_aggr_index: u32 {
        /// Instructions and libraries.
        MODEL_CODE = 0,
        /// Weights.
        MODEL_CONSTANTS = 1,
        /// Tensors of the application.
        TENSORS = 2,
        /// Shared scratchpad.
        SHARED_SCRATCHPAD = 3,
        /// Scratchpad variables of their own allocation.
        SCRATCHPAD = 4,
        /// Everything the runtime needs for itself.
        RUNTIME = 5,
        /// Descriptor rings of inputs and outputs.
        DMA_RINGS_IO = 6,
        /// Descriptor rings of spills.
        DMA_RINGS_SPILL = 7,
        /// Descriptor rings of collectives.
        DMA_RINGS_COLLECTIVES = 8,
        /// Other descriptor rings.
        DMA_RINGS_RUNTIME = 9,
        /// Buffers of collectives.
        COLLECTIVES = 10,
        /// Notification queues, which profiling fills.
        PROFILER_BUFFERS = 11,
    }

    /// Category of an allocation as the kernel driver counts it.
    pub enum mem_alloc_category_t: u32 {
        /// Host memory of unknown use.
        NEURON_MEMALLOC_TYPE_UNKNOWN_HOST = 0,
        /// Host memory of code.
        NEURON_MEMALLOC_TYPE_CODE_HOST = 1,
        /// Host memory of tensors.
        NEURON_MEMALLOC_TYPE_TENSORS_HOST = 2,
        /// Host memory of constants.
        NEURON_MEMALLOC_TYPE_CONSTANTS_HOST = 3,
        /// Host memory of anything else.
        NEURON_MEMALLOC_TYPE_MISC_HOST = 4,
        /// Host memory of the driver's own devices.
        NEURON_MEMALLOC_TYPE_NCDEV_HOST = 5,
        /// Host memory of notification queues.
        NEURON_MEMALLOC_TYPE_NOTIFICATION_HOST = 6,
        /// Device memory of unknown use.
        NEURON_MEMALLOC_TYPE_UNKNOWN_DEVICE = 7,
        /// Device memory of code.
        NEURON_MEMALLOC_TYPE_CODE_DEVICE = 8,
        /// Device memory of tensors.
        NEURON_MEMALLOC_TYPE_TENSORS_DEVICE = 9,
        /// Device memory of constants.
        NEURON_MEMALLOC_TYPE_CONSTANTS_DEVICE = 10,
        /// Device memory of the shared scratchpad.
        NEURON_MEMALLOC_TYPE_SCRATCHPAD_DEVICE = 11,
        /// Device memory of anything else.
        NEURON_MEMALLOC_TYPE_MISC_DEVICE = 12,
        /// Device memory of the driver's own devices.
        NEURON_MEMALLOC_TYPE_NCDEV_DEVICE = 13,
        /// Device memory of collectives.
        NEURON_MEMALLOC_TYPE_COLLECTIVES_DEVICE = 14,
        /// Device memory of private scratchpad variables.
        NEURON_MEMALLOC_TYPE_SCRATCHPAD_NONSHARED_DEVICE = 15,
        /// Device memory of notification queues.
        NEURON_MEMALLOC_TYPE_NOTIFICATION_DEVICE = 16,
        /// Host memory of descriptor rings.
        NEURON_MEMALLOC_TYPE_DMA_RINGS_HOST = 17,
        /// Device memory of descriptor rings.
        NEURON_MEMALLOC_TYPE_DMA_RINGS_DEVICE = 18,
        /// Device memory of a contiguous scratchpad; counted with the shared scratchpad.
        NEURON_MEMALLOC_TYPE_CONTIGUOUS_SCRATCHPAD_DEVICE = 19,
        /// Count of the categories.
        NEURON_MEMALLOC_TYPE_MAX = 20,
    }

    /// Reserved span of the state buffer.
    pub enum kbin_sb_carveout_type_t: u32 {
        /// Not set.
        KBIN_SB_CARVEOUT_TYPE_INVALID = 0,
        /// Span of the event accelerator.
        KBIN_SB_CARVEOUT_TYPE_EVTACCEL = 1,
    }
}
