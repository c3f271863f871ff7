//! Every request of the driver, by number (`driver-abi` §3, §4, and the table of the same name).

use super::{Call, Outcome, alloc, copy, cores, info, query, zerocopy};
use crate::config::DriverVersion;

/// A field: name, offset, bytes.
pub type Field = (&'static str, usize, usize);

/// What is known about a request.
pub struct Request {
    /// The whole number; the driver matches all of it.
    pub number: u32,
    /// Its name without `NEURON_IOCTL_`.
    pub name: &'static str,
    /// Bytes of the argument that are read, which need not be the encoded size.
    pub bytes: usize,
    /// Drivers that have it.
    versions: u8,
    /// Whether it works on a descriptor opened write-only.
    pub misc: bool,
    /// Whether the process must be attached.
    pub attached: bool,
    /// Whether a bad argument pointer is `EACCES` instead of the number of missing bytes.
    pub fault_is_access: bool,
    pub(super) answer: fn(&mut Call<'_>) -> Outcome,
    /// Why the model has no answer, `None` when it has one.
    pub refusal: Option<&'static str>,
    /// Fields by name, for traces.
    pub fields: &'static [Field],
}

const ALL: u8 = 0b111;
const ONLY_2_24: u8 = 0b001;
const SINCE_2_25: u8 = 0b110;
const SINCE_2_26: u8 = 0b100;

const MISC: u8 = 1;
const ATTACHED: u8 = 2;
const FAULT_IS_ACCESS: u8 = 4;

const fn modelled(
    number: u32,
    name: &'static str,
    bytes: usize,
    versions: u8,
    flags: u8,
    answer: fn(&mut Call<'_>) -> Outcome,
    fields: &'static [Field],
) -> Request {
    Request {
        number,
        name,
        bytes,
        versions,
        misc: flags & MISC != 0,
        attached: flags & ATTACHED != 0,
        fault_is_access: flags & FAULT_IS_ACCESS != 0,
        answer,
        refusal: None,
        fields,
    }
}

const fn refused(number: u32, name: &'static str, bytes: usize, versions: u8, flags: u8, why: &'static str) -> Request {
    Request { refusal: Some(why), ..modelled(number, name, bytes, versions, flags, info::nothing, &[]) }
}

const ENGINES: &str = "engines and their queues are not modelled: the memory path has its own copy engine";
const RESET: &str = "resets of a whole device are not modelled: they end every process on it";
const REGISTERS: &str = "registers and what is programmed through them are not modelled";
const SYNCHRONISATION: &str = "semaphores and events of running models are not modelled";
const NOTIFICATIONS: &str = "notification queues are written by engines, which are not modelled";
const STORE: &str = "data stores for monitoring tools are not modelled";
const LOCKS: &str = "the cooperative lock of a core is not modelled, only the reservation of cores";
const START: &str = "start of cores and models is not modelled";
const SCRUB: &str = "overwriting a whole HBM, whoever uses it, is not modelled";
const PODS: &str = "pods of devices are not modelled";
const DMABUF: &str = "export of device memory to other drivers is not modelled";
const KERNEL_LOG: &str = "there is no kernel log to write to";
const EXTRA_QUEUES: &str = "extra copy queues are not modelled: use the default queue, -1";
const POWER: &str = "power, metrics and throttling are not modelled";

/// The request that a driver of this version finds for a number.
#[must_use]
pub fn find(version: DriverVersion, number: u32) -> Option<&'static Request> {
    let bit = match version {
        DriverVersion::V2_24_7 => 0b001,
        DriverVersion::V2_25_4 => 0b010,
        _ => 0b100,
    };
    // `DRIVER_INFO_GET` takes any size from 24, zero-copy of 2.24 any encoding.
    let number = match (number >> 30, number >> 16 & 0x3FFF, number & 0xFFFF) {
        (2, 24.., 0x4E6E) => 0x8018_4E6E,
        (_, _, 0x4E7C) if version == DriverVersion::V2_24_7 && number != 0xC030_4E7C => 0xC028_4E7C,
        _ => number,
    };
    REQUESTS.iter().find(|request| request.number == number && request.versions & bit != 0)
}

/// The requests with a name, several when versions differ.
pub fn named(name: &str) -> impl Iterator<Item = &'static Request> {
    REQUESTS.iter().filter(move |request| request.name == name)
}

/// All of them, with their numbers in every version.
#[rustfmt::skip]
pub const REQUESTS: &[Request] = &[
    // The memory path.
    modelled(0x8008_4E03, "DEVICE_INFO", 80, ALL, 0, info::device, &[("architecture", 0, 4), ("revision", 4, 4), ("connected_device_count", 8, 4)]),
    modelled(0x8008_4E04, "DEVICE_INIT", 0, ALL, 0, info::nothing, &[]),
    modelled(0x0000_4E05, "DEVICE_RELEASE", 0, ALL, 0, info::nothing, &[]),
    modelled(0x8008_4E07, "DEVICE_GET_ALL_APPS_INFO", 16, ALL, 0, query::processes, &[("apps_info_flags", 0, 2), ("capacity", 4, 4), ("size", 8, 4)]),
    modelled(0x8008_4E15, "MEM_ALLOC", 32, ALL, ATTACHED | FAULT_IS_ACCESS, alloc::original, &[("size", 0, 8), ("host_memory", 8, 4), ("dram_channel", 12, 4), ("dram_region", 16, 4), ("nc_id", 20, 4), ("mem_handle", 24, 8)]),
    modelled(0x8008_4E66, "MEM_ALLOC_V2", 40, ALL, 0, alloc::aligned, &[("size", 0, 8), ("align", 8, 8), ("host_memory", 16, 4), ("dram_channel", 20, 4), ("dram_region", 24, 4), ("nc_id", 28, 4), ("mem_handle", 32, 8)]),
    modelled(0x8030_4E66, "MEM_ALLOC_V2MT", 48, ALL, 0, alloc::typed, &[("size", 0, 8), ("align", 8, 8), ("host_memory", 16, 4), ("dram_channel", 20, 4), ("dram_region", 24, 4), ("nc_id", 28, 4), ("mem_type", 32, 4), ("mem_handle", 40, 8)]),
    modelled(0x8038_4E66, "MEM_ALLOC_V2MT64", 56, ALL, 0, alloc::typed, &[("size", 0, 8), ("align", 8, 8), ("host_memory", 16, 4), ("dram_channel", 20, 4), ("dram_region", 24, 4), ("nc_id", 28, 4), ("mem_type", 32, 4), ("mem_handle", 40, 8)]),
    modelled(0x8008_4E16, "MEM_FREE", 8, ALL, ATTACHED, alloc::free, &[("mem_handle", 0, 8)]),
    modelled(0x8008_4E17, "MEM_COPY", 32, ALL, ATTACHED, copy::copy32, &[("src_mem_handle", 0, 8), ("dst_mem_handle", 8, 8), ("size", 16, 4), ("src_offset", 20, 4), ("dst_offset", 24, 4)]),
    modelled(0x8028_4E17, "MEM_COPY64", 40, ALL, 0, copy::copy64, &[("src_mem_handle", 0, 8), ("dst_mem_handle", 8, 8), ("size", 16, 8), ("src_offset", 24, 8), ("dst_offset", 32, 8)]),
    modelled(0xC008_4E18, "MEM_BUF_COPY", 32, ALL, 0, copy::buffer32, &[("mem_handle", 0, 8), ("buffer", 8, 8), ("size", 16, 4), ("offset", 20, 4), ("copy_to_mem_handle", 24, 4)]),
    modelled(0xC028_4E18, "MEM_BUF_COPY64", 40, ALL, 0, copy::buffer64, &[("mem_handle", 0, 8), ("buffer", 8, 8), ("size", 16, 8), ("offset", 24, 8), ("copy_to_mem_handle", 32, 4)]),
    modelled(0x8008_4E19, "MEM_GET_PA", 16, ALL, ATTACHED, query::address, &[("mem_handle", 0, 8), ("pa", 8, 8)]),
    modelled(0x8008_4E1A, "MEM_GET_INFO", 24, ALL, ATTACHED, query::info, &[("mem_handle", 0, 8), ("mmap_offset", 8, 8), ("pa", 16, 8)]),
    modelled(0x8008_4E1C, "MEMSET", 24, ALL, 0, copy::fill32, &[("mem_handle", 0, 8), ("offset", 8, 8), ("value", 16, 4), ("size", 20, 4)]),
    modelled(0x8020_4E1C, "MEMSET64", 32, ALL, 0, copy::fill64, &[("mem_handle", 0, 8), ("offset", 8, 8), ("value", 16, 4), ("size", 24, 8)]),
    modelled(0x8008_4E1D, "MEM_GET_EXTENDED_INFO", 48, ALL, 0, query::extended_info, &[("mem_handle", 0, 8), ("version", 8, 4), ("host_memory", 12, 4), ("mmap_offset", 16, 8), ("pa", 24, 8), ("pid", 32, 8), ("size", 40, 8)]),
    modelled(0x8008_4E28, "DMA_QUIESCE_QUEUES", 0, ALL, 0, info::no_such_request, &[]),
    modelled(0x8008_4E3A, "NOTIFICATIONS_QUEUE_INFO", 0, ALL, 0, info::never_permitted, &[]),
    modelled(0x4008_4E55, "CRWL_NC_RANGE_MARK", 24, ALL, MISC, cores::mark_64, &[("nc_count", 0, 4), ("start_nc_index", 4, 4), ("end_nc_index", 8, 4), ("max_nc_available", 12, 4), ("bitmap", 16, 8)]),
    modelled(0xC050_4E55, "CRWL_NC_RANGE_MARK_EXT0", 80, ALL, MISC, cores::mark, &[("nc_count", 0, 4), ("start_nc_index", 4, 4), ("end_nc_index", 8, 4), ("max_nc_available", 12, 4)]),
    modelled(0x4008_4E56, "CRWL_NC_RANGE_UNMARK", 24, ALL, MISC, cores::unmark_64, &[("nc_count", 0, 4), ("start_nc_index", 4, 4), ("end_nc_index", 8, 4), ("max_nc_available", 12, 4), ("bitmap", 16, 8)]),
    modelled(0x4050_4E56, "CRWL_NC_RANGE_UNMARK_EXT0", 80, ALL, MISC, cores::unmark, &[("nc_count", 0, 4), ("start_nc_index", 4, 4), ("end_nc_index", 8, 4), ("max_nc_available", 12, 4)]),
    modelled(0x4008_4E5D, "COMPATIBLE_VERSION", 8, ALL, MISC, info::compatible, &[("max", 0, 4), ("min", 4, 4)]),
    modelled(0x4008_4E64, "DEVICE_BASIC_INFO", 8, ALL, MISC, info::basic, &[("architecture", 0, 4), ("revision", 4, 4)]),
    modelled(0x8008_4E65, "DEVICE_BDF", 8, ALL, 0, info::own_bus_address, &[("bus_number", 0, 4)]),
    modelled(0x8008_4E67, "NC_RESET", 8, ALL, 0, cores::reset, &[("nc_map", 0, 4), ("request_id", 4, 4)]),
    modelled(0x8008_4E68, "NC_RESET_READY", 8, ALL, 0, cores::reset_ready, &[("request_id", 0, 4), ("result", 4, 4)]),
    modelled(0x8008_4E6A, "DEVICE_BDF_EXT", 16, ALL, MISC, info::bus_address, &[("nd_index", 0, 4), ("domain", 4, 4), ("bus_number", 8, 4)]),
    modelled(0xC030_4E6C, "MEM_COPY_ASYNC", 48, ALL, ATTACHED, copy::start32, &[("src_mem_handle", 0, 8), ("dst_mem_handle", 8, 8), ("size", 16, 4), ("src_offset", 20, 4), ("dst_offset", 24, 4), ("host_prefetch_addr", 32, 8), ("pwait_handle", 40, 4), ("wait_handle", 44, 4)]),
    modelled(0xC038_4E6C, "MEM_COPY_ASYNC64", 56, ALL, 0, copy::start64, &[("src_mem_handle", 0, 8), ("dst_mem_handle", 8, 8), ("size", 16, 8), ("src_offset", 24, 8), ("dst_offset", 32, 8), ("host_prefetch_addr", 40, 8), ("pwait_handle", 48, 4), ("wait_handle", 52, 4)]),
    modelled(0x4018_4E6D, "MEM_COPY_ASYNC_WAIT", 24, ALL, ATTACHED, copy::wait, &[("src_mem_handle", 0, 8), ("dst_mem_handle", 8, 8), ("pwait_handle", 16, 4)]),
    modelled(0x8018_4E6E, "DRIVER_INFO_GET", 24, ALL, MISC, info::driver, &[("architecture", 0, 4), ("revision", 4, 4), ("version", 8, 4), ("size", 12, 4), ("feature_flags1", 16, 8)]),
    modelled(0x4018_4E6E, "DRIVER_INFO_SET", 0, ALL, MISC | ATTACHED, info::not_supported, &[]),
    modelled(0xC018_4E6F, "MEM_MC_GET_INFO", 24, ALL, 0, query::by_address, &[("pa", 0, 8), ("mmap_offset", 8, 8), ("size", 16, 8)]),
    modelled(0xC020_4E6F, "MEM_MC_GET_INFO_V2", 32, ALL, 0, query::by_address_with_handle, &[("pa", 0, 8), ("mmap_offset", 8, 8), ("size", 16, 8), ("mem_handle", 24, 8)]),
    modelled(0xC020_4E70, "RESOURCE_MMAP_INFO", 32, ALL, 0, info::resource, &[("block", 0, 4), ("block_id", 4, 4), ("resource", 8, 4), ("offset", 16, 8), ("size", 24, 8)]),
    modelled(0x8004_4E72, "HOST_DEVICE_ID", 4, ALL, 0, info::host_device_id, &[("host_device_id", 0, 4)]),
    modelled(0xC104_4E73, "HOST_DEVICE_ID_TO_RID_MAP", 260, ALL, MISC, info::routing_ids, &[("count", 0, 4)]),
    modelled(0x8008_4E74, "DUMP_MEM_CHUNKS", 24, ALL, 0, query::dump, &[("hbm_index", 0, 4), ("num_entries_in", 4, 4), ("num_entries_out", 8, 4), ("data", 16, 8)]),
    modelled(0xC010_4E78, "GET_LOGICAL_TO_PHYSICAL_NC_MAP", 16, ALL, MISC, info::core_map, &[("map", 0, 8), ("max_map_entries", 8, 4), ("mapping_version", 12, 4)]),
    modelled(0xC028_4E7C, "MEM_BUF_ZEROCOPY64", 40, ONLY_2_24, 0, zerocopy::early, &[("mem_handle", 0, 8), ("buffer", 8, 8), ("size", 16, 8), ("offset", 24, 8), ("copy_to_mem_handle", 32, 4)]),
    modelled(0xC030_4E7C, "MEM_BUF_ZEROCOPY64", 48, SINCE_2_25, 0, zerocopy::single, &[("mem_handle", 0, 8), ("buffer", 8, 8), ("size", 16, 8), ("offset", 24, 8), ("is_copy_to_device", 32, 4), ("bar4_wr_threshold", 36, 4), ("h2t_qid", 40, 4)]),
    modelled(0xC020_4E81, "MEM_BUF_ZEROCOPY64_BATCHES", 32, SINCE_2_25, 0, zerocopy::batches, &[("sequence_num", 0, 8), ("batches_ptr", 8, 8), ("num_batches", 16, 4), ("is_copy_to_device", 20, 2), ("h2t_qid", 24, 4), ("flags", 28, 2)]),
    // Engines, rings, queues, locks, registers, pods.
    refused(0x0000_4E01, "DEVICE_RESET", 0, ALL, 0, RESET),
    refused(0x8001_4E02, "DEVICE_READY", 1, ALL, 0, RESET),
    refused(0x8001_4E6A, "DEVICE_RESET_STATUS", 1, ALL, 0, RESET),
    modelled(0x8004_4E06, "DEVICE_APP_PID", 4, ALL, 0, query::first_process, &[("pid", 0, 4)]),
    refused(0x8008_4E0B, "BAR_READ", 32, ALL, 0, REGISTERS),
    refused(0x4008_4E0C, "BAR_WRITE", 32, ALL, ATTACHED, REGISTERS),
    refused(0x4008_4E0D, "POST_METRIC", 16, ALL, ATTACHED, POWER),
    refused(0xC008_4E1B, "PROGRAM_ENGINE", 24, ALL, 0, REGISTERS),
    modelled(0x8008_4E1E, "DMA_ENG_INIT", 0, ALL, ATTACHED, info::engine, &[]),
    refused(0x8008_4E1F, "DMA_ENG_SET_STATE", 8, ALL, ATTACHED, ENGINES),
    refused(0xC008_4E20, "DMA_ENG_GET_STATE", 16, ALL, 0, ENGINES),
    refused(0x8008_4E21, "DMA_QUEUE_INIT", 48, ALL, ATTACHED | FAULT_IS_ACCESS, ENGINES),
    refused(0xB008_4E85, "DMA_QUEUE_INIT_BATCH", 0, ALL, 0, ENGINES),
    refused(0x8008_4E22, "DMA_QUEUE_RELEASE", 8, ALL, ATTACHED, ENGINES),
    refused(0x8008_4E23, "DMA_QUEUE_COPY_START", 16, ALL, 0, ENGINES),
    refused(0x8008_4E24, "DMA_ACK_COMPLETED", 12, ALL, ATTACHED, ENGINES),
    refused(0xC008_4E25, "DMA_QUEUE_GET_STATE", 24, ALL, 0, ENGINES),
    refused(0x8008_4E26, "DMA_COPY_DESCRIPTORS", 32, ALL, ATTACHED, ENGINES),
    refused(0x8028_4E26, "DMA_COPY_DESCRIPTORS64", 40, ALL, 0, ENGINES),
    refused(0xC008_4E27, "DMA_DESCRIPTOR_COPYOUT", 32, ALL, 0, ENGINES),
    refused(0x8008_4E29, "SEMAPHORE_INCREMENT", 12, ALL, 0, SYNCHRONISATION),
    refused(0x8008_4E2A, "SEMAPHORE_DECREMENT", 12, ALL, 0, SYNCHRONISATION),
    refused(0xC008_4E2B, "SEMAPHORE_READ", 12, ALL, 0, SYNCHRONISATION),
    refused(0x8008_4E2C, "SEMAPHORE_WRITE", 12, ALL, 0, SYNCHRONISATION),
    refused(0x8008_4E2D, "EVENT_SET", 12, ALL, 0, SYNCHRONISATION),
    refused(0xC008_4E2E, "EVENT_GET", 12, ALL, 0, SYNCHRONISATION),
    refused(0x8008_4E33, "NOTIFICATIONS_INIT_V1", 24, ALL, ATTACHED, NOTIFICATIONS),
    refused(0x8008_4E34, "NOTIFICATIONS_DESTROY_V1", 8, ALL, 0, NOTIFICATIONS),
    refused(0x8008_4E35, "NOTIFICATIONS_INIT_V2", 48, ALL, ATTACHED, NOTIFICATIONS),
    refused(0x8008_4E36, "NOTIFICATIONS_INIT_WITH_REALLOC_V2", 56, ALL, ATTACHED, NOTIFICATIONS),
    refused(0x8008_4E3D, "READ_HW_COUNTERS", 24, ALL, 0, REGISTERS),
    refused(0x8008_4E47, "ACQUIRE_NEURON_DS", 24, ALL, 0, STORE),
    refused(0x8008_4E48, "RELEASE_NEURON_DS", 24, ALL, 0, STORE),
    refused(0x4008_4E51, "CRWL_READER_ENTER", 36, ALL, 0, LOCKS),
    refused(0x4008_4E52, "CRWL_READER_EXIT", 36, ALL, 0, LOCKS),
    refused(0x4008_4E53, "CRWL_WRITER_ENTER", 36, ALL, 0, LOCKS),
    refused(0x4008_4E54, "CRWL_WRITER_DOWNGRADE", 36, ALL, 0, LOCKS),
    refused(0x4008_4E5B, "CINIT_SET_STATE", 12, ALL, 0, START),
    refused(0x4008_4E5C, "NC_MODEL_STARTED_COUNT", 16, ALL, 0, START),
    refused(0xC008_4E69, "PROGRAM_ENGINE_NC", 32, ALL, 0, REGISTERS),
    refused(0xC028_4E69, "PROGRAM_ENGINE_NC64", 40, ALL, 0, REGISTERS),
    refused(0x8008_4E6B, "DMABUF_FD", 24, ALL, MISC, DMABUF),
    refused(0x4010_4E71, "PRINTK", 16, ALL, MISC, KERNEL_LOG),
    refused(0xC010_4E75, "NC_PID_STATE_DUMP", 16, ALL, MISC, KERNEL_LOG),
    refused(0xC010_4E76, "HBM_SCRUB_START", 16, ALL, 0, SCRUB),
    refused(0xC008_4E77, "HBM_SCRUB_WAIT", 8, ALL, 0, SCRUB),
    modelled(0xC104_4E79, "POD_INFO", 260, ALL, MISC, info::pod, &[("sz", 0, 2), ("pod_type", 2, 1), ("pod_sz", 259, 1)]),
    refused(0xC10C_4E7A, "POD_STATUS", 268, ALL, MISC, PODS),
    refused(0xC114_4E7A, "POD_STATUS_V2", 276, ALL, MISC, PODS),
    refused(0xC010_4E7B, "POD_CTRL", 16, ALL, MISC, PODS),
    refused(0xC014_4E7B, "POD_CTRL_V2", 20, ALL, MISC, PODS),
    refused(0xC014_4E7D, "H2T_DMA_ALLOC_QUEUES", 20, SINCE_2_25, 0, EXTRA_QUEUES),
    refused(0xC008_4E7E, "H2T_DMA_FREE_QUEUES", 8, SINCE_2_25, 0, EXTRA_QUEUES),
    refused(0x4008_4E7F, "POWER_PROFILE", 8, SINCE_2_25, 0, POWER),
    refused(0x4004_4E80, "METRICS_CTRL", 4, SINCE_2_25, 0, POWER),
    refused(0x4004_4E82, "THROTTLING_NOTIFICATIONS", 4, SINCE_2_26, 0, POWER),
    modelled(0x4010_4E83, "GET_VA_PLACEMENT", 16, SINCE_2_26, MISC, query::placement, &[("va", 0, 8), ("device_index", 8, 4), ("hbm_index", 12, 4)]),
];
