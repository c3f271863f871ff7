//! Pods of several hosts (fact sheet `driver-abi` §6).

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

abi_struct! {
    /// Pod of the host.
    ///
    /// Argument of `POD_INFO` 0xC1044E79. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_pod_info: size 260, align 2 {
        /// Bytes of this struct, for versioning.
        @0 pub sz: u16,
        /// Kind of the pod, see [`neuron_pod_type`](crate::abi::neuron_pod_type).
        @2 pub pod_type: u8,
        /// Identity of the pod.
        @3 pub pod_id: [u8; 256],
        /// Hosts in the pod.
        @259 pub pod_sz: u8,
    }

    /// Pod of the host and how far its election is.
    ///
    /// Argument of `POD_STATUS` 0xC10C4E7A. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_pod_status: size 268, align 4 {
        /// Bytes of this struct, for versioning.
        @0 pub sz: u16,
        /// Identity of the pod.
        @2 pub pod_id: [u8; 256],
        /// Alignment.
        @258 pub pad_102: [u8; 2],
        /// Progress, see [`neuron_pod_election_state`](crate::abi::neuron_pod_election_state).
        @260 pub state: u32,
        /// Kind of the pod, see [`neuron_pod_type`](crate::abi::neuron_pod_type).
        @264 pub pod_type: u8,
        /// Hosts in the pod.
        @265 pub pod_sz: u8,
        /// This host in its pod; -1 = unknown.
        @266 pub node_id: i8,
        /// Alignment.
        @267 pub pad_10b: [u8; 1],
    }

    /// Pod of the host with its ultraserver modes.
    ///
    /// Argument of `POD_STATUS_V2` 0xC1144E7A. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_pod_status_v2: size 276, align 4 {
        /// The form before.
        @0 pub v1: neuron_ioctl_pod_status,
        /// Ultraserver mode, see [`neuron_ultraserver_mode`](crate::abi::neuron_ultraserver_mode).
        @268 pub mode: u32,
        /// Modes the pod can enter, one bit each.
        @272 pub modes_supported: u32,
    }

    /// Request to the pod.
    ///
    /// Argument of `POD_CTRL` 0xC0104E7B. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_pod_ctrl: size 16, align 4 {
        /// Bytes of this struct, for versioning.
        @0 pub sz: u16,
        /// Alignment.
        @2 pub pad_2: [u8; 2],
        /// Request, see [`neuron_pod_ctrl_req`](crate::abi::neuron_pod_ctrl_req).
        @4 pub ctrl: u32,
        /// Patience, in seconds.
        @8 pub timeout: u32,
        /// Progress, see [`neuron_pod_election_state`](crate::abi::neuron_pod_election_state); filled in by the driver.
        @12 pub state: u32,
    }

    /// Request to the pod with an ultraserver mode.
    ///
    /// Argument of `POD_CTRL_V2` 0xC0144E7B. Fact sheet `driver-abi` §6.
    #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
    #[repr(C)]
    pub struct neuron_ioctl_pod_ctrl_v2: size 20, align 4 {
        /// The form before.
        @0 pub v1: neuron_ioctl_pod_ctrl,
        /// Ultraserver mode, see [`neuron_ultraserver_mode`](crate::abi::neuron_ultraserver_mode).
        @16 pub mode: u32,
    }
}
