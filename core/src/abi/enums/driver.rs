//! Enumerations of the kernel driver (fact sheet `driver-abi`).

abi_enum! {
    /// Architecture as the kernel driver numbers it.
    pub enum driver_architecture: u32 {
        /// First generation.
        V1 = 1,
        /// Second generation.
        V2 = 2,
        /// Third generation.
        V3 = 3,
        /// Fourth generation.
        V4 = 4,
    }

    /// State of a device in the kernel driver.
    pub enum driver_device_state: u32 {
        /// Reset in progress.
        RESETTING = 0,
        /// Ready for use.
        READY = 1,
        /// Failed.
        INVALID = 2,
    }

    /// Wiring of an ultraserver.
    pub enum neuron_ultraserver_mode: u32 {
        /// Not set.
        NEURON_ULTRASERVER_MODE_UNSET = 0,
        /// Four hosts.
        NEURON_ULTRASERVER_MODE_X4 = 1,
        /// Two hosts, horizontally.
        NEURON_ULTRASERVER_MODE_X2H = 2,
        /// Two hosts, vertically.
        NEURON_ULTRASERVER_MODE_X2V = 3,
        /// One host.
        NEURON_ULTRASERVER_MODE_X1 = 4,
    }

    /// Bits of the kernel driver's feature word.
    pub enum neuron_driver_feature_flag: u32 {
        /// Memory can be exported as dma-buf.
        NEURON_DRIVER_FEATURE_DMABUF = 1,
        /// Copies can be asynchronous.
        NEURON_DRIVER_FEATURE_ASYNC_DMA = 2,
        /// Queues can be initialised in batches.
        NEURON_DRIVER_FEATURE_BATCH_DMAQ_INIT = 4,
        /// Core maps may exceed 64 bits.
        NEURON_DRIVER_FEATURE_BIG_CORE_MAPS = 8,
        /// Allocations carry a category.
        NEURON_DRIVER_FEATURE_MEM_ALLOC_TYPE = 16,
        /// HBM can be scrubbed.
        NEURON_DRIVER_FEATURE_HBM_SCRUB = 32,
        /// Allocations of 4 GiB and more.
        NEURON_DRIVER_FEATURE_MEM_ALLOC64 = 64,
        /// Contiguous scratchpad allocations.
        NEURON_DRIVER_FEATURE_CONTIGUOUS_SCRATCHPAD = 128,
        /// Copies from user pages without a bounce buffer.
        NEURON_DRIVER_FEATURE_ZEROCOPY = 256,
    }

    /// Kind of pod a host belongs to.
    pub enum neuron_pod_type: u32 {
        /// None.
        NEURON_POD_TYPE_NONE = 0,
        /// Hosts wired directly.
        NEURON_POD_TYPE_P2P = 1,
        /// Hosts wired through switches.
        NEURON_POD_TYPE_SWITCH = 2,
    }

    /// Progress of the election in a pod.
    pub enum neuron_pod_election_state: u32 {
        /// Not started.
        NEURON_POD_E_STATE_NOT_STARTED = 0,
        /// In progress.
        NEURON_POD_E_STATE_IN_PROGRESS = 1,
        /// Ended; the host is part of an ultraserver.
        NEURON_POD_E_STATE_ULTRASERVER = 2,
        /// Failed.
        NEURON_POD_E_STATE_FAILED = 3,
        /// Ended; the host is alone.
        NEURON_POD_E_STATE_SINGLE_NODE = 4,
    }

    /// Request to the pod manager.
    pub enum neuron_pod_ctrl_req: u32 {
        /// Start an election.
        NEURON_NPE_POD_CTRL_REQ_POD = 0,
        /// Work as a single host.
        NEURON_NPE_POD_CTRL_REQ_SINGLE_NODE = 1,
        /// Stop the election.
        NEURON_NPE_POD_CTRL_REQ_KILL = 2,
        /// Set the mode.
        NEURON_NPE_POD_CTRL_SET_MODE = 3,
    }

    /// Ring of a copy-engine queue.
    pub enum neuron_dma_queue_type: u32 {
        /// Transmit descriptors.
        NEURON_DMA_QUEUE_TYPE_TX = 0,
        /// Receive descriptors.
        NEURON_DMA_QUEUE_TYPE_RX = 1,
        /// Completions.
        NEURON_DMA_QUEUE_TYPE_COMPLETION = 2,
    }

    /// Progress of a core's initialisation.
    pub enum neuron_cinit_state: u32 {
        /// Begun by this process.
        NEURON_CINIT_STATE_STARTED = 1,
        /// Complete.
        NEURON_CINIT_STATE_COMPLETED = 2,
        /// Not valid.
        NEURON_CINIT_STATE_INVALID = 3,
    }

    /// Slot of an asynchronous copy.
    pub enum neuron_dma_h2t_ctx_handle_type: i32 {
        /// No copy.
        NEURON_DMA_H2T_CTX_HANDLE_NONE = -1,
        /// The synchronous slot.
        NEURON_DMA_H2T_CTX_HANDLE_SYNC = 0,
        /// First asynchronous slot.
        NEURON_DMA_H2T_CTX_HANDLE_ASYNC1 = 1,
        /// Second asynchronous slot.
        NEURON_DMA_H2T_CTX_HANDLE_ASYNC2 = 2,
        /// Count of the slots.
        NEURON_DMA_H2T_CTX_HANDLE_CNT = 3,
    }

    /// Block a notification queue belongs to.
    pub enum NQ_DEVICE_TYPE: u32 {
        /// A core.
        NQ_DEVICE_TYPE_NEURON_CORE = 0,
        /// A synchronisation processor.
        NQ_DEVICE_TYPE_TOPSP = 1,
        /// Count of the blocks.
        NQ_DEVICE_TYPE_MAX = 2,
    }

    /// Kind of notification queue in the kernel driver's numbering; the runtime's is
    /// [`nq_notification_type`](super::nq_notification_type).
    pub enum NQ_TYPE: u32 {
        /// Instruction trace.
        NQ_TYPE_TRACE = 0,
        /// Notifications.
        NQ_TYPE_NOTIFY = 1,
        /// Events.
        NQ_TYPE_EVENT = 2,
        /// Errors.
        NQ_TYPE_ERROR = 3,
        /// Copy-engine trace.
        NQ_TYPE_TRACE_DMA = 4,
        /// Throttling.
        NQ_TYPE_THROTTLE = 5,
        /// Count of the kinds.
        NQ_TYPE_MAX = 6,
    }

    /// Block whose registers or memory can be mapped.
    pub enum neuron_dm_block_type: i32 {
        /// Not set.
        NEURON_DM_BLOCK_INVALID = -1,
        /// A core.
        NEURON_DM_BLOCK_TPB = 0,
        /// A synchronisation processor.
        NEURON_DM_BLOCK_TOPSP = 1,
        /// An HBM.
        NEURON_DM_BLOCK_HBM = 2,
    }

    /// Part of a block that can be mapped.
    pub enum neuron_dm_resource_type: u32 {
        /// Semaphores.
        NEURON_DM_RESOURCE_SEMAPHORE = 0,
        /// The whole block.
        NEURON_DM_RESOURCE_ALL = 1,
        /// State buffer.
        NEURON_DM_RESOURCE_SBUF = 2,
        /// Device memory.
        NEURON_DM_RESOURCE_DMEM = 3,
    }

    /// Version of the map of logical to physical cores.
    pub enum neuron_ioctl_nc_mapping_type: u32 {
        /// The only version.
        NEURON_IOCTL_NC_MAPPING_TYPE_V0 = 0,
    }

    /// Whether the kernel driver posts metrics.
    pub enum neuron_metrics_mode: u32 {
        /// Post periodically.
        NEURON_METRICS_MODE_PERIODIC_ENABLE = 0,
        /// Do not post.
        NEURON_METRICS_MODE_PERIODIC_DISABLE = 1,
    }
}
