//! Enumerations of the public interface (fact sheets `nrt-api` §1, §2 and `tensor` §2).

abi_enum! {
    /// Status of a public call.
    pub enum NRT_STATUS: i32 {
        /// Success.
        NRT_SUCCESS = 0,
        /// Failure without a more specific code.
        NRT_FAILURE = 1,
        /// An argument is invalid.
        NRT_INVALID = 2,
        /// A handle is invalid.
        NRT_INVALID_HANDLE = 3,
        /// A resource is exhausted.
        NRT_RESOURCE = 4,
        /// A deadline passed.
        NRT_TIMEOUT = 5,
        /// The hardware failed.
        NRT_HW_ERROR = 6,
        /// The queue is full; retry.
        NRT_QUEUE_FULL = 7,
        /// Fewer cores are available than the model needs.
        NRT_LOAD_NOT_ENOUGH_NC = 9,
        /// The model file's version is not supported.
        NRT_UNSUPPORTED_NEFF_VERSION = 10,
        /// Host memory is exhausted.
        NRT_FAIL_HOST_MEM_ALLOC = 11,
        /// The runtime is not initialised.
        NRT_UNINITIALIZED = 13,
        /// The runtime is closed.
        NRT_CLOSED = 14,
        /// The queue is empty.
        NRT_QUEUE_EMPTY = 15,
        /// The execution unit cannot recover.
        NRT_EXEC_UNIT_UNRECOVERABLE = 101,
        /// The input of a request is invalid.
        NRT_EXEC_BAD_INPUT = 1002,
        /// The request completed with numerical errors.
        NRT_EXEC_COMPLETED_WITH_NUM_ERR = 1003,
        /// The request completed with errors.
        NRT_EXEC_COMPLETED_WITH_ERR = 1004,
        /// The core is busy.
        NRT_EXEC_NC_BUSY = 1005,
        /// The request accessed memory out of bounds.
        NRT_EXEC_OOB = 1006,
        /// Collectives are still pending.
        NRT_COLL_PENDING = 1100,
        /// Collectives hardware error.
        NRT_EXEC_HW_ERR_COLLECTIVES = 1200,
        /// Uncorrectable HBM error.
        NRT_EXEC_HW_ERR_HBM_UE = 1201,
        /// Uncorrectable core error.
        NRT_EXEC_HW_ERR_NC_UE = 1202,
        /// The copy engine aborted.
        NRT_EXEC_HW_ERR_DMA_ABORT = 1203,
        /// A notification queue overflowed.
        NRT_EXEC_SW_NQ_OVERFLOW = 1204,
        /// Uncorrectable HBM error that can be repaired.
        NRT_EXEC_HW_ERR_REPAIRABLE_HBM_UE = 1205,
        /// The network proxy failed.
        NRT_NETWORK_PROXY_FAILURE = 1206,
    }

    /// State of the runtime in a process.
    pub enum NRT_INIT_STATE: u32 {
        /// Not initialised.
        START = 0,
        /// Initialised.
        INIT = 1,
        /// Child of a process that was initialised.
        CHILD = 2,
        /// Closed.
        CLOSED = 3,
        /// Count of the states.
        NUM = 4,
    }

    /// Family of the instance.
    pub enum nrt_instance_family: u32 {
        /// Not known.
        UNKNOWN = 0,
        /// Inf1.
        INF1 = 1,
        /// Trn1.
        TRN1 = 2,
        /// Trn1n.
        TRN1N = 3,
        /// Inf2.
        INF2 = 4,
        /// Trn2.
        TRN2 = 5,
        /// Trn2n.
        TRN2N = 6,
        /// Inf2e.
        INF2E = 7,
        /// Trn2p.
        TRN2P = 8,
        /// Trn2u.
        TRN2U = 9,
        /// Trn2e.
        TRN2E = 10,
        /// Trn2eu.
        TRN2EU = 11,
        /// Trn2ac.
        TRN2AC = 12,
        /// Trn2uac.
        TRN2UAC = 13,
        /// Trn3.
        TRN3 = 14,
        /// Trn3 PDS98.
        TRN3PDS98 = 15,
    }

    /// Size of the instance.
    pub enum nrt_instance_size: u32 {
        /// 1xlarge.
        _1XL as "1XL" = 0,
        /// 2xlarge.
        _2XL as "2XL" = 1,
        /// 4xlarge.
        _4XL as "4XL" = 2,
        /// 6xlarge.
        _6XL as "6XL" = 3,
        /// 8xlarge.
        _8XL as "8XL" = 4,
        /// 24xlarge.
        _24XL as "24XL" = 5,
        /// 32xlarge.
        _32XL as "32XL" = 6,
        /// 48xlarge.
        _48XL as "48XL" = 7,
        /// 3xlarge.
        _3XL as "3XL" = 8,
        /// Not known.
        UNKNOWN = 9,
    }

    /// Element type of a tensor.
    pub enum nrt_dtype_t: u32 {
        /// Not known.
        UNKNOWN = 0,
        /// Unsigned, 64 bits.
        UINT64 = 1,
        /// Signed, 8 bits.
        INT8 = 2,
        /// Unsigned, 8 bits.
        UINT8 = 3,
        /// Signed, 16 bits.
        INT16 = 4,
        /// Unsigned, 16 bits.
        UINT16 = 5,
        /// Brain floating point, 16 bits.
        BFLOAT16 = 6,
        /// Floating point, 16 bits.
        FLOAT16 = 7,
        /// Signed, 32 bits.
        INT32 = 8,
        /// Unsigned, 32 bits.
        UINT32 = 9,
        /// Floating point, 32 bits.
        FLOAT32 = 10,
        /// Floating point, 32 bits, rounded for the matrix engine.
        FP32R = 11,
        /// Signed, 64 bits.
        INT64 = 12,
        /// Floating point, 8 bits, 3 of exponent.
        FP8_E3 = 13,
        /// Floating point, 8 bits, 4 of exponent.
        FP8_E4 = 14,
        /// Floating point, 8 bits, 5 of exponent.
        FP8_E5 = 15,
    }

    /// Kind of tensor storage.
    pub enum nrt_tensor_mem_type_t: u32 {
        /// Not set.
        INVALID = 0,
        /// Heap memory of the process.
        MALLOC = 1,
        /// Device or pinned host memory the copy engine reaches.
        DMA = 2,
        /// No memory behind it.
        FAKE = 3,
    }

    /// Where a tensor is asked to live.
    pub enum nrt_tensor_placement_t: u32 {
        /// Device memory.
        DEVICE = 0,
        /// Pinned host memory.
        HOST = 1,
        /// Heap memory of the process.
        VIRTUAL = 2,
    }

    /// Direction of a model's tensor.
    pub enum nrt_tensor_usage_t: u32 {
        /// The model reads it.
        INPUT = 0,
        /// The model writes it.
        OUTPUT = 1,
    }

    /// Framework that uses the runtime.
    pub enum nrt_framework_type_t: u32 {
        /// Not set.
        INVALID = 0,
        /// None.
        NO_FW = 1,
        /// TensorFlow.
        TENSORFLOW = 2,
        /// PyTorch.
        PYTORCH = 3,
        /// MXNet.
        MXNET = 4,
        /// A check before a job.
        PRECHECK = 5,
    }

    /// Reduction of a collective.
    pub enum nrt_op_type_t: u32 {
        /// Sum.
        ADD = 0,
        /// Fused multiply and add.
        FMA = 1,
        /// Maximum.
        MAX = 2,
        /// Minimum.
        MIN = 3,
        /// Not set.
        INVALID = 15,
    }

    /// Kind of collective.
    pub enum nrt_cc_op_type_t: u32 {
        /// Every rank gets all parts.
        ALLGATHER = 0,
        /// Every rank gets the reduction.
        ALLREDUCE = 1,
        /// Every rank gets its part of the reduction.
        REDUCESCATTER = 2,
    }

    /// Unit of the asynchronous interface.
    pub enum nrta_unit: u32 {
        /// Tensor reads.
        TENSOR_READ = 0,
        /// Tensor writes.
        TENSOR_WRITE = 1,
        /// Operations on tensors.
        TENSOR_OP = 2,
        /// Models.
        COMPUTE = 3,
        /// Collectives.
        COLLECTIVES = 4,
    }

    /// Event of the system trace.
    pub enum sys_trace_event: u32 {
        /// Tensor read.
        TENSOR_READ = 9,
        /// Tensor write.
        TENSOR_WRITE = 10,
        /// Batch of tensor reads.
        TENSOR_READ_BATCH = 11,
        /// Batch of tensor writes.
        TENSOR_WRITE_BATCH = 12,
        /// Tensor allocated.
        TENSOR_ALLOC = 27,
        /// Tensor released.
        TENSOR_FREE = 28,
        /// Wait for requests that use a tensor.
        BLOCK_WHILE_EXEC = 29,
        /// Copy into device memory.
        DMEM_COPYIN = 30,
        /// Copy out of device memory.
        DMEM_COPYOUT = 31,
        /// Batch copy into device memory.
        DMEM_BATCH_COPYIN = 32,
        /// Batch copy out of device memory.
        DMEM_BATCH_COPYOUT = 33,
        /// Device memory allocated.
        DMEM_ALLOC = 34,
        /// Device memory released.
        DMEM_FREE = 35,
    }
}
