//! Structs of the public interface that the core does not need itself (fact sheet `nrt-api` §3).

use super::{nrt_dtype_t, nrt_tensor_usage_t};

abi_struct! {
    /// One input or output of a model (fact sheet `nrt-api` §3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_tensor_info_t: size 296, align 8 {
        /// Name, NUL-terminated.
        @0 pub name: [u8; 256],
        /// Whether it is an input or an output.
        @256 pub usage: nrt_tensor_usage_t,
        /// Alignment.
        @260 pub pad_104: [u8; 4],
        /// Bytes.
        @264 pub size: usize,
        /// Element type.
        @272 pub dtype: nrt_dtype_t,
        /// Alignment.
        @276 pub pad_114: [u8; 4],
        /// Extent of each dimension.
        @280 pub shape: *mut u32,
        /// Entries in `shape`.
        @288 pub ndim: u32,
        /// Alignment.
        @292 pub pad_124: [u8; 4],
    }

    /// All inputs and outputs of a model (fact sheet `nrt-api` §3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_tensor_info_array_t: size 8, align 8 {
        /// Entries in `tensor_array`.
        @0 pub tensor_count: u64,
        /// The entries, which follow.
        @8 pub tensor_array: [nrt_tensor_info_t; 0],
    }

    /// What machine this is (fact sheet `nrt-api` §3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_instance_info_t: size 32, align 4 {
        /// Family, see [`nrt_instance_family`](super::nrt_instance_family).
        @0 pub family: u32,
        /// Size, see [`nrt_instance_size`](super::nrt_instance_size).
        @4 pub size: u32,
        /// Name of the architecture, NUL-terminated.
        @8 pub arch_name: [u8; 16],
        /// Revision of the devices, NUL-terminated.
        @24 pub device_revision: [u8; 8],
    }

    /// Version of the runtime (fact sheet `nrt-api` §3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_version_t: size 224, align 8 {
        /// Major version.
        @0 pub rt_major: u64,
        /// Minor version.
        @8 pub rt_minor: u64,
        /// Patch version.
        @16 pub rt_patch: u64,
        /// Maintenance version.
        @24 pub rt_maintenance: u64,
        /// Detail, NUL-terminated.
        @32 pub rt_detail: [u8; 128],
        /// Revision of the source, NUL-terminated.
        @160 pub git_hash: [u8; 64],
    }

    /// A communicator of collectives (fact sheet `nrt-api` §3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_cc_comm_t: size 32, align 8 {
        /// Ranks of the group.
        @0 pub replica_group: *mut u32,
        /// Rank of this member.
        @8 pub rank: u32,
        /// Members of the group.
        @12 pub rank_n: u32,
        /// Number of this device among all.
        @16 pub ctx_device_id: u32,
        /// Devices of all members.
        @20 pub ctx_device_count: u32,
        /// Logical core.
        @24 pub vnc: u32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
    }

    /// What a loaded model says about itself (fact sheet `nrt-api` §3); may grow at the end.
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrt_model_info_t: size 4, align 4 {
        /// Logical core the model is on.
        @0 pub vnc: u32,
    }
}
