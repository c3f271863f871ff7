//! DMA engines, queues and rings (fact sheet `driver-abi` §13, §18).

use core::ffi::c_void;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

abi_struct! {
    /// State of a DMA engine as the driver reports it.
    ///
    /// Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_dma_eng_state: size 20, align 4 {
        /// Revision of the engine.
        @0 pub revision_id: u32,
        /// Queues the engine has.
        @4 pub max_queues: u32,
        /// Queues in use.
        @8 pub num_queues: u32,
        /// State of the transmit side.
        @12 pub tx_state: u32,
        /// State of the receive side.
        @16 pub rx_state: u32,
    }

    /// State of one ring of a DMA queue as the driver reports it.
    ///
    /// Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_dma_queue_state: size 48, align 8 {
        /// Status register of the queue.
        @0 pub hw_status: u32,
        /// Status the driver keeps.
        @4 pub sw_status: u32,
        /// Physical address of the ring.
        @8 pub base_addr: u64,
        /// Descriptors in the ring.
        @16 pub length: u32,
        /// Descriptor the engine reads next.
        @20 pub head_pointer: u32,
        /// Descriptor behind the last one submitted.
        @24 pub tail_pointer: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
        /// Physical address of the completion ring.
        @32 pub completion_base_addr: u64,
        /// Completion to be written next.
        @40 pub completion_head: u32,
        /// Alignment.
        @44 pub pad_2c: [u8; 4],
    }

    /// Start-up of a DMA engine.
    ///
    /// Argument of `DMA_ENG_INIT` 0x80084E1E. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_eng_init: size 4, align 4 {
        /// DMA engine of the device.
        @0 pub eng_id: u32,
    }

    /// Change of state of a DMA engine.
    ///
    /// Argument of `DMA_ENG_SET_STATE` 0x80084E1F. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_eng_set_state: size 8, align 4 {
        /// DMA engine of the device.
        @0 pub eng_id: u32,
        /// State to enter.
        @4 pub state: u32,
    }

    /// State of a DMA engine, written through a pointer.
    ///
    /// Argument of `DMA_ENG_GET_STATE` 0xC0084E20. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_eng_get_state: size 16, align 8 {
        /// DMA engine of the device.
        @0 pub eng_id: u32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Where the driver writes the state.
        @8 pub state: *mut neuron_dma_eng_state,
    }

    /// Set-up of one DMA queue.
    ///
    /// Argument of `DMA_QUEUE_INIT` 0x80084E21. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_queue_init: size 48, align 8 {
        /// DMA engine of the device.
        @0 pub eng_id: u32,
        /// Queue of the engine, 0..15.
        @4 pub qid: u32,
        /// Descriptors of the transmit ring.
        @8 pub tx_desc_count: u32,
        /// Descriptors of the receive ring.
        @12 pub rx_desc_count: u32,
        /// Memory of the transmit ring.
        @16 pub tx_handle: u64,
        /// Memory of the receive ring.
        @24 pub rx_handle: u64,
        /// Memory of the completion ring; 0 = none.
        @32 pub rxc_handle: u64,
        /// Port of the copy engine.
        @40 pub axi_port: u32,
        /// Alignment.
        @44 pub pad_2c: [u8; 4],
    }

    /// Set-up of many DMA queues in one call.
    ///
    /// Argument of `DMA_QUEUE_INIT_BATCH` 0xB0084E85. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_queue_init_batch: size 12296, align 8 {
        /// Entries in use, below 256.
        @0 pub count: u32,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// The queues.
        @8 pub entries: [neuron_ioctl_dma_queue_init; 256],
    }

    /// Release of a DMA queue.
    ///
    /// Argument of `DMA_QUEUE_RELEASE` 0x80084E22. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_queue_release: size 8, align 4 {
        /// DMA engine of the device.
        @0 pub eng_id: u32,
        /// Queue of the engine, 0..15.
        @4 pub qid: u32,
    }

    /// Stop of DMA queues; no driver implements it.
    ///
    /// Fact sheet `driver-abi` §5.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_quiesce_queues: size 264, align 4 {
        /// Core within the device, 0..7.
        @0 pub nc_id: u32,
        /// Entries in use in `queue_mask`.
        @4 pub engine_count: u32,
        /// Queues to stop, one word an engine.
        @8 pub queue_mask: [u32; 64],
    }

    /// Descriptors of a queue that the caller has seen completed.
    ///
    /// Argument of `DMA_ACK_COMPLETED` 0x80084E24. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_ack_completed: size 12, align 4 {
        /// DMA engine of the device.
        @0 pub eng_id: u32,
        /// Queue of the engine, 0..15.
        @4 pub qid: u32,
        /// Descriptors.
        @8 pub count: u32,
    }

    /// Start of descriptors that are in the rings already.
    ///
    /// Argument of `DMA_QUEUE_COPY_START` 0x80084E23. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_queue_copy_start: size 16, align 4 {
        /// DMA engine of the device.
        @0 pub eng_id: u32,
        /// Queue of the engine, 0..15.
        @4 pub qid: u32,
        /// Descriptors to start on the transmit ring.
        @8 pub tx_desc_count: u32,
        /// Descriptors to start on the receive ring.
        @12 pub rx_desc_count: u32,
    }

    /// State of a DMA queue, written through pointers.
    ///
    /// Argument of `DMA_QUEUE_GET_STATE` 0xC0084E25. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_queue_get_state: size 24, align 8 {
        /// DMA engine of the device.
        @0 pub eng_id: u32,
        /// Queue of the engine, 0..15.
        @4 pub qid: u32,
        /// Where the driver writes the state of the transmit ring.
        @8 pub tx: *mut neuron_dma_queue_state,
        /// Where the driver writes the state of the receive ring.
        @16 pub rx: *mut neuron_dma_queue_state,
    }

    /// Copy of descriptors into a ring, below 4 GiB.
    ///
    /// Argument of `DMA_COPY_DESCRIPTORS` 0x80084E26. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_copy_descriptors: size 32, align 8 {
        /// Memory of the ring.
        @0 pub mem_handle: u64,
        /// The descriptors.
        @8 pub buffer: *mut c_void,
        /// Descriptors.
        @16 pub num_descs: u32,
        /// Start in the ring, in bytes.
        @20 pub offset: u32,
        /// Direction of the ring, see [`neuron_dma_queue_type`](crate::abi::neuron_dma_queue_type).
        @24 pub queue_type: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
    }

    /// Copy of descriptors into a ring.
    ///
    /// Argument of `DMA_COPY_DESCRIPTORS64` 0x80284E26. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_copy_descriptors64: size 40, align 8 {
        /// Memory of the ring.
        @0 pub mem_handle: u64,
        /// The descriptors.
        @8 pub buffer: *mut c_void,
        /// Descriptors.
        @16 pub num_descs: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
        /// Start in the ring, in bytes.
        @24 pub offset: u64,
        /// Direction of the ring, see [`neuron_dma_queue_type`](crate::abi::neuron_dma_queue_type).
        @32 pub queue_type: u32,
        /// Alignment.
        @36 pub pad_24: [u8; 4],
    }

    /// Copy of descriptors out of a ring.
    ///
    /// Argument of `DMA_DESCRIPTOR_COPYOUT` 0xC0084E27. Fact sheet `driver-abi` §18.
    #[derive(Clone, Copy, Debug, FromZeros, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_dma_descriptor_copyout: size 32, align 8 {
        /// DMA engine of the device.
        @0 pub eng_id: u32,
        /// Queue of the engine, 0..15.
        @4 pub qid: u32,
        /// Direction of the ring, see [`neuron_dma_queue_type`](crate::abi::neuron_dma_queue_type).
        @8 pub r#type: u32,
        /// First descriptor.
        @12 pub start_index: u32,
        /// Descriptors.
        @16 pub count: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
        /// Where the driver writes the descriptors.
        @24 pub buffer: *mut c_void,
    }

    /// Extra copy queues of a core.
    ///
    /// Argument of `H2T_DMA_ALLOC_QUEUES` 0xC0144E7D (driver 2.25 and later). Fact sheet `driver-abi` §13; driver 2.25
    /// and later.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_h2t_dma_alloc_queues: size 20, align 4 {
        /// Bytes of this struct, for versioning.
        @0 pub sz: u16,
        /// Core within the device, 0..7.
        @2 pub nc_id: u16,
        /// Queues wanted for copies.
        @4 pub copy_queue_cnt: u16,
        /// Queues wanted for services.
        @6 pub service_queue_cnt: u16,
        /// Queues given for copies, one bit each; filled in by the driver.
        @8 pub copy_queue_bmap: u32,
        /// Queues given for services, one bit each; filled in by the driver.
        @12 pub service_queue_bmap: u32,
        /// Queue used for copies that name none; filled in by the driver.
        @16 pub copy_default_queue: u32,
    }

    /// Return of extra copy queues.
    ///
    /// Argument of `H2T_DMA_FREE_QUEUES` 0xC0084E7E (driver 2.25 and later). Fact sheet `driver-abi` §13; driver 2.25
    /// and later.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_h2t_dma_free_queues: size 8, align 4 {
        /// Bytes of this struct, for versioning.
        @0 pub sz: u16,
        /// Core within the device, 0..7.
        @2 pub nc_id: u8,
        /// Alignment with a name.
        @3 pub fill0: u8,
        /// Queues to return, one bit each.
        @4 pub queue_bmap: u32,
    }
}
