//! Enumerations of models, requests and engines (fact sheets `model-db`, `model-load` §4, `context-tree` §6).

abi_enum! {
    /// Kind of a hash-table key. No source gives the numbers: these are ours, and no comparison covers them.
    pub enum ht_key_type_t: u32 {
        /// The key is the integer itself.
        INTEGER = 0,
        /// The key is NUL-terminated text.
        NAME = 1,
        /// The key is a span of bytes.
        BUFFER = 2,
    }

    /// Kind of a variable.
    pub enum mr_type: u32 {
        /// Not set.
        INVALID = 0,
        /// The state buffer.
        SB = 1,
        /// Constant that was staged with its content.
        BUFFER_STAGED = 2,
        /// Constant or weight.
        BUFFER = 3,
        /// Temporary of its own allocation.
        TMP_BUF = 4,
        /// Input of the model.
        INPUT = 5,
        /// Output of the model.
        OUTPUT = 6,
        /// Pointer to another variable.
        PTR = 7,
        /// Temporary in the scratchpad.
        VIRTUAL_TMP_BUF = 8,
        /// List of variables.
        LIST = 9,
        /// Table of pointers.
        PTR_TABLE = 10,
        /// Variable of another subgraph.
        REMOTE = 11,
    }

    /// Arena of a scratchpad variable.
    pub enum backing_buf: u32 {
        /// Arena of the core.
        LOCAL = 0,
        /// Arena the cores of one HBM group share.
        SHARED = 1,
        /// Arena split over cores.
        SHARDED = 2,
        /// Main arena.
        MAIN = 3,
    }

    /// State of a loaded model in the registry.
    pub enum dlr_model_state: u32 {
        /// Not set.
        INVALID = 0,
        /// Being loaded.
        STARTING = 1,
        /// Ready for requests.
        RUNNING = 2,
        /// Being unloaded.
        STOPPING = 3,
        /// Not running; some sources store this one after a load.
        STOPPED = 4,
        /// Count of the states.
        LAST = 5,
    }

    /// State of a request that waits for completion.
    pub enum exec_state: u32 {
        /// Nothing waited for yet.
        INIT = 0,
        /// Waits for the barrier of collectives.
        WAIT_BARRIER_PROXY = 1,
        /// Waits for the cores.
        WAIT_CORE = 2,
        /// Complete.
        DONE = 3,
    }

    /// Outcome of one poll of a request.
    pub enum exec_step_result: u32 {
        /// The request is complete.
        DONE_OK = 0,
        /// Poll again.
        CONTINUE = 1,
        /// The request failed.
        DONE_WITH_ERROR = 2,
    }

    /// Why a request failed on a core; index into its flags.
    pub enum exec_fatal_cause: u32 {
        /// No failure.
        NONE = 0,
        /// Access outside a tensor.
        OOB = 1,
        /// Time-out.
        TIMEOUT = 2,
        /// A notification queue overflowed.
        SW_NQ_OVERFLOW = 3,
        /// The network proxy failed.
        NETWORK_PROXY = 4,
        /// The barrier failed.
        BARRIER = 5,
        /// The request was invalid.
        INVALID = 6,
    }

    /// How a request is started.
    pub enum exec_mode: u32 {
        /// Implicitly asynchronous.
        ASYNC = 0,
        /// Explicitly asynchronous; the synchronous call uses it too.
        EXPLICIT_ASYNC = 1,
    }

    /// Progress of one engine within a request.
    pub enum exec_engine_substate: u32 {
        /// Start not seen yet.
        START_PENDING = 0,
        /// End not seen yet.
        END_PENDING = 1,
        /// End seen.
        COMPLETE = 2,
    }

    /// The five sequencer engines of a core.
    pub enum sequencer_engine: u32 {
        /// Matrix engine.
        PE = 0,
        /// Activation engine.
        ACT = 1,
        /// Pooling engine.
        POOL = 2,
        /// Vector engine.
        DVE = 3,
        /// Synchronisation engine.
        SP = 4,
    }

    /// Kind of notification queue, in the runtime's numbering; the driver's is [`NQ_TYPE`](super::NQ_TYPE).
    pub enum nq_notification_type: u32 {
        /// Instruction trace.
        TRACE = 0,
        /// Events.
        EVENT = 1,
        /// Errors.
        ERROR = 2,
        /// Inference status.
        INFER_STATUS = 3,
        /// Copy-engine trace.
        DMA = 4,
        /// Throttling.
        THROTTLE = 5,
        /// Trace of a synchronisation processor.
        TOPSP_TRACE = 6,
        /// Events of a synchronisation processor.
        TOPSP_EVENT = 7,
        /// Errors of a synchronisation processor.
        TOPSP_ERROR = 8,
        /// Status of collectives.
        TOPSP_CC_STATUS = 9,
        /// Count of the kinds.
        MAX = 10,
    }

    /// Queue that carries the inference status of each engine.
    pub enum nq_infer_status_queue: u32 {
        /// Matrix engine.
        PE = 4,
        /// Activation engine.
        ACT = 5,
        /// Pooling engine.
        POOL = 6,
        /// Vector engine.
        DVE = 7,
        /// Synchronisation engine.
        SP = 8,
    }

    /// Marker of a special descriptor ring.
    pub enum dma_ring_type_marker: u32 {
        /// Ring of embedding updates.
        EMBEDDING_UPDATE = 15,
        /// Ring of custom operators.
        CUSTOM_OP = 16,
        /// Any other ring.
        GENERIC = 17,
    }
}
