//! Every request of the drivers 2.24.7, 2.25.4 and 2.26.5, and what becomes of it here.

use nrt_core::abi::driver::*;
use nrt_core::abi::{Reflect as _, reflect::StructInfo};

use super::*;

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    /// A type of [`request`](super) makes it; this describes its struct.
    Implemented(&'static StructInfo),
    /// Never sent, and why.
    Out(&'static str),
}

/// One request of the driver.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name without `NEURON_IOCTL_`.
    pub name: &'static str,
    /// Request number.
    pub number: u32,
    /// What becomes of it.
    pub scope: Scope,
}

const fn made<R: Request>(struct_info: &'static StructInfo) -> Entry {
    Entry { name: R::NAME, number: R::NUMBER, scope: Scope::Implemented(struct_info) }
}

const fn out(name: &'static str, number: u32, reason: &'static str) -> Entry {
    Entry { name, number, scope: Scope::Out(reason) }
}

const RESET: &str = "resets belong to the operator: they end what other processes run";
const NOTHING: &str = "the driver does nothing and answers 0";
const REGISTERS: &str = "register access; running engines is outside this system";
const ENGINES: &str = "DMA rings and engines of models; running engines is outside this system";
const SYNC: &str = "semaphores and events of running models; running engines is outside this system";
const NOTIFICATIONS: &str = "notification queues of running engines are outside this system";
const DATA_STORE: &str = "the data store is for monitoring tools; this system reports through its own ledger";
const LOCKS: &str = "cooperative lock by model id; cores are held by range reservation here";
const INSTANCE: &str = "instructions reach engines through it; running engines is outside this system";
const POD: &str = "ultraserver election is outside a single device's memory";
const SCRUB: &str = "overwrites the memory of every process on the HBM";
const LOG_ONLY: &str = "answers in the kernel log only";
const POWER: &str = "changes clock and power of the device for everybody";
const QUEUES: &str = "extra host queues; the default queue is used";

/// All requests in the order of the driver's table.
pub const ALL: &[Entry] = &[
    out("DEVICE_RESET", 0x0000_4E01, RESET),
    out("DEVICE_READY", 0x8001_4E02, "waits for a reset this system never asks for; opening waits by itself"),
    out("DEVICE_RESET_STATUS", 0x8001_4E6A, "state of a reset this system never asks for; also in sysfs"),
    made::<DeviceInfo<'_>>(&neuron_ioctl_device_info::INFO),
    out("DEVICE_INIT", 0x8008_4E04, NOTHING),
    out("DEVICE_RELEASE", 0x0000_4E05, NOTHING),
    out("DEVICE_APP_PID", 0x8004_4E06, "DEVICE_GET_ALL_APPS_INFO tells all of them"),
    made::<DeviceGetAllAppsInfo<'_>>(&neuron_ioctl_get_apps_info::INFO),
    out("BAR_READ", 0x8008_4E0B, REGISTERS),
    out("BAR_WRITE", 0x4008_4E0C, REGISTERS),
    out("POST_METRIC", 0x4008_4E0D, DATA_STORE),
    made::<MemAlloc<'_>>(&neuron_ioctl_mem_alloc::INFO),
    made::<MemAllocV2<'_>>(&neuron_ioctl_mem_alloc_v2::INFO),
    made::<MemAllocV2Mt<'_>>(&neuron_ioctl_mem_alloc_v2_mem_type::INFO),
    made::<MemAllocV2Mt64<'_>>(&neuron_ioctl_mem_alloc_v2_mem_type64::INFO),
    made::<MemFree<'_>>(&neuron_ioctl_mem_free::INFO),
    made::<MemCopy<'_>>(&neuron_ioctl_mem_copy::INFO),
    made::<MemCopy64<'_>>(&neuron_ioctl_mem_copy64::INFO),
    made::<MemBufCopy<'_>>(&neuron_ioctl_mem_buf_copy::INFO),
    made::<MemBufCopy64<'_>>(&neuron_ioctl_mem_buf_copy64::INFO),
    made::<MemGetPa<'_>>(&neuron_ioctl_mem_get_pa::INFO),
    made::<MemGetInfo<'_>>(&neuron_ioctl_mem_get_info::INFO),
    out("PROGRAM_ENGINE", 0xC008_4E1B, INSTANCE),
    made::<Memset<'_>>(&neuron_ioctl_memset::INFO),
    made::<Memset64<'_>>(&neuron_ioctl_memset64::INFO),
    made::<MemGetExtendedInfo<'_>>(&neuron_ioctl_mem_get_extended_info::INFO),
    out("DMA_ENG_INIT", 0x8008_4E1E, ENGINES),
    out("DMA_ENG_SET_STATE", 0x8008_4E1F, ENGINES),
    out("DMA_ENG_GET_STATE", 0xC008_4E20, ENGINES),
    out("DMA_QUEUE_INIT", 0x8008_4E21, ENGINES),
    out("DMA_QUEUE_INIT_BATCH", 0xB008_4E85, ENGINES),
    out("DMA_QUEUE_RELEASE", 0x8008_4E22, ENGINES),
    out("DMA_QUEUE_COPY_START", 0x8008_4E23, ENGINES),
    out("DMA_ACK_COMPLETED", 0x8008_4E24, ENGINES),
    out("DMA_QUEUE_GET_STATE", 0xC008_4E25, ENGINES),
    out("DMA_COPY_DESCRIPTORS", 0x8008_4E26, ENGINES),
    out("DMA_COPY_DESCRIPTORS64", 0x8028_4E26, ENGINES),
    out("DMA_DESCRIPTOR_COPYOUT", 0xC008_4E27, ENGINES),
    out("DMA_QUIESCE_QUEUES", 0x8008_4E28, "the driver answers that there is no such request"),
    out("SEMAPHORE_INCREMENT", 0x8008_4E29, SYNC),
    out("SEMAPHORE_DECREMENT", 0x8008_4E2A, SYNC),
    out("SEMAPHORE_READ", 0xC008_4E2B, SYNC),
    out("SEMAPHORE_WRITE", 0x8008_4E2C, SYNC),
    out("EVENT_SET", 0x8008_4E2D, SYNC),
    out("EVENT_GET", 0xC008_4E2E, SYNC),
    out("NOTIFICATIONS_INIT_V1", 0x8008_4E33, NOTIFICATIONS),
    out("NOTIFICATIONS_DESTROY_V1", 0x8008_4E34, NOTIFICATIONS),
    out("NOTIFICATIONS_INIT_V2", 0x8008_4E35, NOTIFICATIONS),
    out("NOTIFICATIONS_INIT_WITH_REALLOC_V2", 0x8008_4E36, NOTIFICATIONS),
    out("NOTIFICATIONS_QUEUE_INFO", 0x8008_4E3A, NOTIFICATIONS),
    out("READ_HW_COUNTERS", 0x8008_4E3D, REGISTERS),
    out("ACQUIRE_NEURON_DS", 0x8008_4E47, DATA_STORE),
    out("RELEASE_NEURON_DS", 0x8008_4E48, DATA_STORE),
    out("CRWL_READER_ENTER", 0x4008_4E51, LOCKS),
    out("CRWL_READER_EXIT", 0x4008_4E52, LOCKS),
    out("CRWL_WRITER_ENTER", 0x4008_4E53, LOCKS),
    out("CRWL_WRITER_DOWNGRADE", 0x4008_4E54, LOCKS),
    made::<CrwlNcRangeMark<'_>>(&neuron_ioctl_crwl_nc_map::INFO),
    made::<CrwlNcRangeMarkExt0<'_>>(&neuron_ioctl_crwl_nc_map_ext::INFO),
    made::<CrwlNcRangeUnmark<'_>>(&neuron_ioctl_crwl_nc_map::INFO),
    made::<CrwlNcRangeUnmarkExt0<'_>>(&neuron_ioctl_crwl_nc_map_ext::INFO),
    out("CINIT_SET_STATE", 0x4008_4E5B, "start-up of cores is part of running engines"),
    out("NC_MODEL_STARTED_COUNT", 0x4008_4E5C, "counts of started models are part of running engines"),
    made::<CompatibleVersion<'_>>(&neuron_ioctl_compatible_version::INFO),
    made::<DeviceBasicInfo<'_>>(&neuron_ioctl_device_basic_info::INFO),
    out("DEVICE_BDF", 0x8008_4E65, "the later form with the PCI domain is used"),
    out("NC_RESET", 0x8008_4E67, RESET),
    out("NC_RESET_READY", 0x8008_4E68, RESET),
    out("PROGRAM_ENGINE_NC", 0xC008_4E69, INSTANCE),
    out("PROGRAM_ENGINE_NC64", 0xC028_4E69, INSTANCE),
    made::<DeviceBdfExt<'_>>(&neuron_ioctl_device_bdf_ext::INFO),
    out("DMABUF_FD", 0x8008_4E6B, "shares memory with other drivers; nothing here does"),
    made::<MemCopyAsync<'_>>(&neuron_ioctl_mem_copy_async::INFO),
    made::<MemCopyAsync64<'_>>(&neuron_ioctl_mem_copy_async64::INFO),
    made::<MemCopyAsyncWait<'_>>(&neuron_ioctl_mem_copy_async_wait::INFO),
    made::<DriverInfoGet<'_>>(&neuron_ioctl_device_driver_info::INFO),
    out("DRIVER_INFO_SET", 0x4018_4E6E, "the driver always answers 524"),
    made::<MemMcGetInfo<'_>>(&neuron_ioctl_mem_get_mc_mmap_info::INFO),
    made::<MemMcGetInfoV2<'_>>(&neuron_ioctl_mem_get_mc_mmap_info_v2::INFO),
    made::<ResourceMmapInfo<'_>>(&neuron_ioctl_resource_mmap_info::INFO),
    out("PRINTK", 0x4010_4E71, "writes to the kernel log"),
    made::<HostDeviceId<'_>>(&neuron_ioctl_host_device_id::INFO),
    made::<HostDeviceIdToRidMap<'_>>(&neuron_ioctl_host_device_id_to_rid_map::INFO),
    made::<DumpMemChunks<'_>>(&neuron_ioctl_dump_mem_chunks::INFO),
    out("NC_PID_STATE_DUMP", 0xC010_4E75, LOG_ONLY),
    out("HBM_SCRUB_START", 0xC010_4E76, SCRUB),
    out("HBM_SCRUB_WAIT", 0xC008_4E77, SCRUB),
    made::<GetLogicalToPhysicalNcMap<'_>>(&neuron_ioctl_get_logical_to_physical_nc_map::INFO),
    out("POD_INFO", 0xC104_4E79, POD),
    out("POD_STATUS", 0xC10C_4E7A, POD),
    out("POD_STATUS_V2", 0xC114_4E7A, POD),
    out("POD_CTRL", 0xC010_4E7B, POD),
    out("POD_CTRL_V2", 0xC014_4E7B, POD),
    out(
        "MEM_BUF_ZEROCOPY64",
        0xC028_4E7C,
        "the experimental form of 2.24 is not advertised and dereferences null on a zero length",
    ),
    made::<MemBufZerocopy64<'_>>(&neuron_ioctl_mem_buf_copy64zc::INFO),
    out("H2T_DMA_ALLOC_QUEUES", 0xC014_4E7D, QUEUES),
    out("H2T_DMA_FREE_QUEUES", 0xC008_4E7E, QUEUES),
    out("POWER_PROFILE", 0x4008_4E7F, POWER),
    out("METRICS_CTRL", 0x4004_4E80, DATA_STORE),
    made::<MemBufZerocopy64Batches<'_>>(&neuron_ioctl_mem_buf_copy64zc_batches::INFO),
    out("THROTTLING_NOTIFICATIONS", 0x4004_4E82, POWER),
    made::<GetVaPlacement<'_>>(&neuron_ioctl_get_va_placement::INFO),
];

/// Name of request `number`, for traces.
#[must_use]
pub fn name(number: u32) -> Option<&'static str> {
    ALL.iter().find(|entry| entry.number == number).map(|entry| entry.name)
}
