//! Enumerations of the counter store (fact sheet `nrt-api` §9).

abi_enum! {
    /// Kind of object in the counter store.
    pub enum nds_object_type: u32 {
        /// One loaded model.
        MODEL_NODE = 0,
        /// The process.
        PROCESS_INFO = 1,
        /// Further data of the process.
        PROCESS_INFO_EXT = 2,
    }

    /// Group of memory counters.
    pub enum nds_memory_usage_slot: u32 {
        /// Code.
        CODE = 0,
        /// Tensors.
        TENSORS = 1,
        /// Constants.
        CONSTANTS = 2,
        /// Scratchpad.
        SCRATCHPAD = 3,
        /// Anything else.
        MISC = 4,
    }

    /// Counter of a device in the counter store.
    pub enum nds_nd_counter: u32 {
        /// Version of the runtime.
        NDS_ND_COUNTER_RUNTIME_VERSION = 0,
        /// Version of the framework.
        NDS_ND_COUNTER_FRAMEWORK_VERSION = 1,
        /// Version of the abstraction layer.
        NDS_ND_COUNTER_FAL_VERSION = 2,
        /// Features in use.
        NDS_ND_COUNTER_FEATURE_BITMAP = 3,
        /// Lowest model-file version accepted.
        NDS_ND_COUNTER_MIN_NEFF_VERSION = 4,
        /// Highest model-file version accepted.
        NDS_ND_COUNTER_MAX_NEFF_VERSION = 5,
        /// Host bytes of code.
        NDS_ND_COUNTER_MEM_USAGE_CODE_HOST = 6,
        /// Host bytes of tensors.
        NDS_ND_COUNTER_MEM_USAGE_TENSORS_HOST = 7,
        /// Host bytes of constants.
        NDS_ND_COUNTER_MEM_USAGE_CONSTANTS_HOST = 8,
        /// Host bytes of scratchpad.
        NDS_ND_COUNTER_MEM_USAGE_SCRATCHPAD_HOST = 9,
        /// Host bytes of anything else.
        NDS_ND_COUNTER_MEM_USAGE_MISC_HOST = 10,
        /// Metrics that are published dynamically.
        NDS_ND_COUNTER_DYNAMIC_SYSFS_METRIC_BITMAP = 11,
        /// Cluster the device belongs to.
        NDS_ND_COUNTER_DEVICE_CLUSTER_ID = 12,
        /// Count of the slots.
        NDS_ND_COUNTER_COUNT = 31,
    }

    /// Counter of a core in the counter store.
    pub enum nds_nc_counter: u32 {
        /// Time the core was in use.
        NDS_NC_COUNTER_TIME_IN_USE = 0,
        /// Requests that completed.
        NDS_NC_COUNTER_INFER_COMPLETED = 1,
        /// Requests that completed with errors.
        NDS_NC_COUNTER_INFER_COMPLETED_WITH_ERR = 2,
        /// Requests that completed with numerical errors.
        NDS_NC_COUNTER_INFER_COMPLETED_WITH_NUM_ERR = 3,
        /// Requests that timed out.
        NDS_NC_COUNTER_INFER_TIMED_OUT = 4,
        /// Requests with an invalid input.
        NDS_NC_COUNTER_INFER_INCORRECT_INPUT = 5,
        /// Requests that could not be queued.
        NDS_NC_COUNTER_INFER_FAILED_TO_QUEUE = 6,
        /// Errors without a class.
        NDS_NC_COUNTER_ERR_GENERIC = 7,
        /// Numerical errors.
        NDS_NC_COUNTER_ERR_NUMERICAL = 8,
        /// Errors of the model.
        NDS_NC_COUNTER_ERR_MODEL = 9,
        /// Errors that passed.
        NDS_NC_COUNTER_ERR_TRANSIENT = 10,
        /// Hardware errors.
        NDS_NC_COUNTER_ERR_HW = 11,
        /// Runtime errors.
        NDS_NC_COUNTER_ERR_RT = 12,
        /// Latency on the device.
        NDS_NC_COUNTER_LATENCY_DEVICE = 13,
        /// Latency as the caller sees it.
        NDS_NC_COUNTER_LATENCY_TOTAL = 14,
        /// Time the core ran.
        NDS_NC_COUNTER_NC_TIME = 15,
        /// Failures without a class.
        NDS_NC_COUNTER_GENERIC_FAIL = 16,
        /// Failures for lack of a resource.
        NDS_NC_COUNTER_ERR_RESOURCE = 17,
        /// Failures for lack of cores.
        NDS_NC_COUNTER_ERR_RESOURCE_NC = 18,
        /// Failures of an invalid argument.
        NDS_NC_COUNTER_ERR_INVALID = 19,
        /// Failures of an unsupported model file.
        NDS_NC_COUNTER_ERR_UNSUPPORTED_NEFF_VERSION = 20,
        /// Time spent in collectives.
        NDS_NC_COUNTER_CC_TIME = 21,
        /// Device bytes of code.
        NDS_NC_COUNTER_MEM_USAGE_CODE_DEVICE = 22,
        /// Device bytes of tensors.
        NDS_NC_COUNTER_MEM_USAGE_TENSORS_DEVICE = 23,
        /// Device bytes of constants.
        NDS_NC_COUNTER_MEM_USAGE_CONSTANTS_DEVICE = 24,
        /// Device bytes of scratchpad.
        NDS_NC_COUNTER_MEM_USAGE_SCRATCHPAD_DEVICE = 25,
        /// Device bytes of anything else.
        NDS_NC_COUNTER_MEM_USAGE_MISC_DEVICE = 26,
        /// Models loaded.
        NDS_NC_COUNTER_MODEL_LOAD_COUNT = 27,
        /// Inferences run.
        NDS_NC_COUNTER_INFERENCE_COUNT = 28,
        /// Multiply-accumulate operations.
        NDS_NC_COUNTER_MAC_COUNT = 29,
        /// Accesses out of bounds.
        NDS_NC_COUNTER_OOB = 30,
        /// Count of the slots.
        NDS_NC_COUNTER_COUNT = 31,
    }

    /// Counter of a core in the extension of the counter store; the numbers go on from [`nds_nc_counter`].
    pub enum nds_ext_nc_counter: u32 {
        /// Hardware errors of collectives.
        NDS_EXT_NC_COUNTER_HW_ERR_COLLECTIVES = 31,
        /// Uncorrectable HBM errors.
        NDS_EXT_NC_COUNTER_HW_ERR_HBM_UE = 32,
        /// Uncorrectable core errors.
        NDS_EXT_NC_COUNTER_HW_ERR_NC_UE = 33,
        /// Aborts of the copy engine.
        NDS_EXT_NC_COUNTER_HW_ERR_DMA_ABORT = 34,
        /// Overflows of a notification queue.
        NDS_EXT_NC_COUNTER_ERR_SW_NQ_OVERFLOW = 35,
        /// Semaphore errors.
        NDS_EXT_NC_COUNTER_ERR_SW_SEMAPHORE_ERROR = 36,
        /// Event errors.
        NDS_EXT_NC_COUNTER_ERR_SW_EVENT_ERROR = 37,
        /// Collisions in the partial-sum buffer.
        NDS_EXT_NC_COUNTER_ERR_SW_PSUM_COLLISION = 38,
        /// Fatal errors of a sequencer.
        NDS_EXT_NC_COUNTER_ERR_SW_SEQUENCER_FATAL = 39,
        /// Uncorrectable HBM errors that can be repaired.
        NDS_EXT_NC_COUNTER_HW_ERR_REPAIRABLE_HBM_UE = 40,
        /// First number past the counters.
        NDS_EXT_NC_COUNTER_LAST = 41,
        /// Slots in the extension.
        NDS_EXT_NC_COUNTER_COUNT = 64,
    }
}
