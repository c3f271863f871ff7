//! Where the fields of the recorded requests are.

/// A field: its name in the recording, offset, bytes.
pub(crate) type Field = (&'static str, usize, usize);

/// A request.
pub(crate) struct Layout {
    pub(crate) name: &'static str,
    pub(crate) inputs: &'static [Field],
    pub(crate) outputs: &'static [Field],
    /// Outputs of eight bytes through a pointer in the argument.
    pub(crate) pointers: &'static [Field],
}

const ALIGNED: [Field; 6] =
    [("size", 0, 8), ("align", 8, 8), ("host", 16, 4), ("channel", 20, 4), ("region", 24, 4), ("nc", 28, 4)];
const TYPED: [Field; 7] =
    [("size", 0, 8), ("align", 8, 8), ("host", 16, 4), ("channel", 20, 4), ("region", 24, 4), ("nc", 28, 4), ("type", 32, 4)];
const ORIGINAL: [Field; 5] = [("size", 0, 8), ("host", 8, 4), ("channel", 12, 4), ("region", 16, 4), ("nc", 20, 4)];
const COPY64: [Field; 5] = [("src", 0, 8), ("dst", 8, 8), ("size", 16, 8), ("src_offset", 24, 8), ("dst_offset", 32, 8)];
const COPY32: [Field; 5] = [("src", 0, 8), ("dst", 8, 8), ("size", 16, 4), ("src_offset", 20, 4), ("dst_offset", 24, 4)];
const ASYNC64: [Field; 6] =
    [("src", 0, 8), ("dst", 8, 8), ("size", 16, 8), ("src_offset", 24, 8), ("dst_offset", 32, 8), ("pwait_handle", 48, 4)];
const ASYNC32: [Field; 6] =
    [("src", 0, 8), ("dst", 8, 8), ("size", 16, 4), ("src_offset", 20, 4), ("dst_offset", 24, 4), ("pwait_handle", 40, 4)];
const RANGE: [Field; 3] = [("nc_count", 0, 4), ("start", 4, 4), ("end", 8, 4)];

const fn layout(name: &'static str, _bytes: usize, inputs: &'static [Field], outputs: &'static [Field]) -> Layout {
    Layout { name, inputs, outputs, pointers: &[] }
}

const fn pointing(name: &'static str, _bytes: usize, inputs: &'static [Field], pointers: &'static [Field]) -> Layout {
    Layout { name, inputs, outputs: &[], pointers }
}

/// The requests that can be replayed.
pub(crate) const LAYOUTS: &[Layout] = &[
    pointing("MEM_ALLOC", 32, &ORIGINAL, &[("handle", 24, 8)]),
    pointing("MEM_ALLOC_V2", 40, &ALIGNED, &[("handle", 32, 8)]),
    pointing("MEM_ALLOC_V2MT", 48, &TYPED, &[("handle", 40, 8)]),
    pointing("MEM_ALLOC_V2MT64", 56, &TYPED, &[("handle", 40, 8)]),
    layout("MEM_FREE", 8, &[("handle", 0, 8)], &[]),
    layout("MEM_COPY", 32, &COPY32, &[]),
    layout("MEM_COPY64", 40, &COPY64, &[]),
    layout("MEM_COPY_ASYNC", 48, &ASYNC32, &[("wait_handle", 44, 4)]),
    layout("MEM_COPY_ASYNC64", 56, &ASYNC64, &[("wait_handle", 52, 4)]),
    layout("MEM_COPY_ASYNC_WAIT", 24, &[("src", 0, 8), ("dst", 8, 8), ("pwait_handle", 16, 4)], &[]),
    layout("MEMSET", 24, &[("handle", 0, 8), ("offset", 8, 8), ("value", 16, 4), ("size", 20, 4)], &[]),
    layout("MEMSET64", 32, &[("handle", 0, 8), ("offset", 8, 8), ("value", 16, 4), ("size", 24, 8)], &[]),
    layout("MEM_BUF_COPY", 32, &[("handle", 0, 8), ("size", 16, 4), ("offset", 20, 4), ("to_handle", 24, 4)], &[]),
    layout("MEM_BUF_COPY64", 40, &[("handle", 0, 8), ("size", 16, 8), ("offset", 24, 8), ("to_handle", 32, 4)], &[]),
    pointing("MEM_GET_PA", 16, &[("handle", 0, 8)], &[("pa", 8, 8)]),
    pointing("MEM_GET_INFO", 24, &[("handle", 0, 8)], &[("mmap_offset", 8, 8), ("pa", 16, 8)]),
    layout("MEM_GET_EXTENDED_INFO", 48, &[("handle", 0, 8)], &[("host", 12, 4), ("size", 40, 8)]),
    layout("MEM_MC_GET_INFO", 24, &[("pa", 0, 8)], &[("size", 16, 8)]),
    layout("MEM_MC_GET_INFO_V2", 32, &[("pa", 0, 8)], &[("size", 16, 8), ("handle", 24, 8)]),
    layout("DUMP_MEM_CHUNKS", 24, &[("hbm", 0, 4), ("num_in", 4, 4)], &[("num_out", 8, 4)]),
    layout("DEVICE_GET_ALL_APPS_INFO", 16, &[("flags", 0, 2), ("capacity", 4, 4)], &[("size", 8, 4)]),
    layout("DEVICE_BASIC_INFO", 8, &[], &[("architecture", 0, 4), ("revision", 4, 4)]),
    layout(
        "DRIVER_INFO_GET",
        24,
        &[],
        &[("architecture", 0, 4), ("revision", 4, 4), ("version", 8, 4), ("size", 12, 4), ("feature_flags1", 16, 8)],
    ),
    layout("DRIVER_INFO_SET", 24, &[], &[]),
    layout("COMPATIBLE_VERSION", 8, &[], &[("max", 0, 4), ("min", 4, 4)]),
    layout("DEVICE_INFO", 80, &[], &[("architecture", 0, 4), ("revision", 4, 4), ("connected", 8, 4)]),
    layout("HOST_DEVICE_ID", 4, &[], &[("host_device_id", 0, 4)]),
    layout("HOST_DEVICE_ID_TO_RID_MAP", 260, &[], &[("count", 0, 4), ("map0", 4, 4), ("map1", 8, 4), ("map15", 64, 4)]),
    layout("HOST_DEVICE_ID_TO_RID_MAP bad size", 260, &[], &[]),
    layout("DEVICE_BDF_EXT", 16, &[("nd_index", 0, 4)], &[("domain", 4, 4), ("bus", 8, 4), ("slot", 12, 1), ("func", 13, 1)]),
    layout("GET_LOGICAL_TO_PHYSICAL_NC_MAP", 16, &[("max_map_entries", 8, 4), ("mapping_version", 12, 4)], &[]),
    layout(
        "RESOURCE_MMAP_INFO",
        32,
        &[("block", 0, 4), ("block_id", 4, 4), ("resource", 8, 4)],
        &[("offset", 16, 8), ("size", 24, 8)],
    ),
    layout("CRWL_NC_RANGE_MARK", 24, &RANGE, &[("max", 12, 4)]),
    layout("CRWL_NC_RANGE_MARK_EXT0", 80, &RANGE, &[("max", 12, 4)]),
    layout("CRWL_NC_RANGE_MARK other size", 80, &RANGE, &[]),
    layout("CRWL_NC_RANGE_UNMARK", 24, &[], &[]),
    layout("CRWL_NC_RANGE_UNMARK_EXT0", 80, &[], &[]),
    layout("NC_RESET", 8, &[("nc_map", 0, 4)], &[]),
    layout("NC_RESET_READY", 8, &[], &[("result", 4, 4)]),
    layout("DEVICE_INIT", 4, &[], &[]),
    layout("DEVICE_RELEASE", 4, &[], &[]),
    layout("DMA_QUIESCE_QUEUES", 8, &[], &[]),
    layout("NOTIFICATIONS_QUEUE_INFO", 16, &[], &[]),
    layout("DEVICE_READY", 8, &[], &[]),
    layout("DEVICE_APP_PID", 8, &[], &[]),
    layout("BAR_READ", 32, &[], &[]),
    layout("ACQUIRE_NEURON_DS", 24, &[], &[]),
    layout("CINIT_SET_STATE", 12, &[], &[]),
    layout("NC_MODEL_STARTED_COUNT", 16, &[], &[]),
    layout("DEVICE_BDF", 8, &[], &[]),
    layout("DMA_ENG_INIT", 8, &[], &[]),
    layout("MEM_BUF_ZEROCOPY64 (40-byte)", 40, &[("size", 16, 8)], &[]),
    layout("POD_INFO", 260, &[], &[]),
    layout("POD_INFO bad sz", 260, &[], &[]),
    layout("unknown", 64, &[], &[]),
];
