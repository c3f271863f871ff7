//! What is simulated, and why a configuration is refused.

use core::fmt;

use nrt_core::arch::Arch;
use nrt_core::driver::RoutingIds;

use crate::backing::Region;

/// Most devices of one model.
pub const MAX_DEVICES: u32 = 32;

/// Release of the kernel driver that the model answers for (`driver-abi` §1, §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DriverVersion {
    /// 2.24.7.0, the recorded baseline; no MARIANA.
    V2_24_7,
    /// 2.25.4.0.
    V2_25_4,
    /// 2.26.5.0.
    V2_26_5,
}

impl DriverVersion {
    /// Every version, oldest first.
    pub const ALL: [Self; 3] = [Self::V2_24_7, Self::V2_25_4, Self::V2_26_5];

    /// The text of the module's version attribute.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::V2_24_7 => "2.24.7.0",
            Self::V2_25_4 => "2.25.4.0",
            Self::V2_26_5 => "2.26.5.0",
        }
    }

    /// `feature_flags1` of this version (`driver-abi` §7).
    #[must_use]
    pub const fn features(self) -> u64 {
        match self {
            Self::V2_24_7 => 0xFF,
            Self::V2_25_4 | Self::V2_26_5 => 0x1FF,
        }
    }

    /// Whether this version drives that architecture: MARIANA came with 2.25 (`driver-abi` §1).
    #[must_use]
    pub const fn supports(self, arch: Arch) -> bool {
        match (self, arch) {
            (Self::V2_24_7, Arch::Mariana) => false,
            (_, Arch::Sunda | Arch::Cayman | Arch::Mariana) => true,
        }
    }
}

/// Devices a host can have.
const HOST_DEVICES: u32 = 64;

/// How host indices follow from routing ids (`driver-abi` §17).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Routing {
    /// The table of the torus instance types: Trn1 for SUNDA, Trn2/Trn3 for the others.
    Torus,
    /// Index and routing id are equal: Inf2 and the switch-based types.
    Identity,
}

/// Host index by routing id, Trn1.
const TRN1_INDEX: [u8; 16] = [0, 4, 1, 5, 3, 7, 2, 6, 12, 8, 13, 9, 15, 11, 14, 10];
/// Host index by routing id, Trn2 and Trn3 as a torus.
const TRN2_INDEX: [u8; 16] = [0, 3, 4, 7, 12, 15, 8, 11, 1, 2, 5, 6, 13, 14, 9, 10];

/// Physical address, below the host bit, of the host window of device 0.
const HOST_WINDOW_BASE: u64 = 1 << 30;

/// What the model simulates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimConfig {
    /// Architecture of all devices.
    pub arch: Arch,
    /// Devices, `1..=32`.
    pub devices: u32,
    /// Cores of each device that [`probe`](nrt_core::driver::Driver::probe) reports, `1..=8`.
    pub cores_per_device: u32,
    /// Release of the driver.
    pub version: DriverVersion,
    /// Board revision; 240 and 255 mean the vendor's own emulators.
    pub revision: u16,
    /// Bits of [`DriverVersion::features`] this driver does not advertise; zero-copy requests are refused without theirs.
    pub missing_features: u64,
    /// How host indices and routing ids are related.
    pub routing: Routing,
    /// Index on the host of device 0, those of the others follow: a container that is given devices 4 to 7 of its host sees
    /// them as 0 to 3.
    pub first_host_device: u32,
    /// Bytes of the pinned-host-memory window of each device: a multiple of 4 KiB, 4 MiB to 256 GiB.
    pub host_bytes: u64,
    /// Process id under which the in-process driver attaches.
    pub process_id: u32,
    /// Bytes of each HBM: a multiple of 4 KiB from 2 GiB to what the architecture has.
    pub hbm_bytes: u64,
    /// Whether requests that damage or mislead a real device are refused. Otherwise they are answered as the driver
    /// answers them: length 0 copies 64 KiB, an offset may wrap (before 2.26), oversize asynchronous requests lose ring
    /// entries. Both count them in [`Hazards`](crate::Hazards).
    pub strict: bool,
    /// Whether positive return values become errnos, as the release notes of driver 2.29 promise. No version that can be
    /// selected does that.
    pub precise_errnos: bool,
}

impl SimConfig {
    /// Smallest host window: one chunk of the largest size the driver gives (4 MiB).
    pub const MIN_HOST_BYTES: u64 = 4 << 20;
    /// Smallest HBM: its top 1 GiB serves small requests first, its bottom 16 MiB belong to firmware.
    pub const MIN_HBM_BYTES: u64 = 2 << 30;
    /// Largest host window: those of all devices stay below the host bit of SUNDA.
    pub const MAX_HOST_BYTES: u64 = 1 << 38;

    /// One device of `arch` with all its cores, the oldest driver that knows it, 1 GiB of host window.
    #[must_use]
    pub const fn new(arch: Arch) -> Self {
        let version = match arch {
            Arch::Sunda | Arch::Cayman => DriverVersion::V2_24_7,
            Arch::Mariana => DriverVersion::V2_25_4,
        };
        Self {
            arch,
            devices: 1,
            cores_per_device: arch.cores_per_device(),
            version,
            revision: 1,
            missing_features: 0,
            routing: Routing::Torus,
            first_host_device: 0,
            host_bytes: 1 << 30,
            process_id: 1,
            hbm_bytes: arch.hbm_bytes(),
            strict: true,
            precise_errnos: false,
        }
    }

    /// Refuses what never existed or cannot be modelled.
    ///
    /// # Errors
    /// [`SimError::Devices`], [`SimError::HostDevices`], [`SimError::Cores`], [`SimError::Version`], [`SimError::HostBytes`], [`SimError::HbmBytes`].
    pub const fn check(&self) -> Result<(), SimError> {
        if self.devices == 0 || self.devices > MAX_DEVICES {
            return Err(SimError::Devices { devices: self.devices, most: MAX_DEVICES });
        }
        if self.first_host_device > HOST_DEVICES - self.devices {
            return Err(SimError::HostDevices { first: self.first_host_device, most: HOST_DEVICES });
        }
        if self.cores_per_device == 0 || self.cores_per_device > self.arch.cores_per_device() {
            return Err(SimError::Cores { cores: self.cores_per_device, most: self.arch.cores_per_device() });
        }
        if !self.version.supports(self.arch) {
            return Err(SimError::Version { version: self.version, arch: self.arch });
        }
        let whole_granules = self.host_bytes.is_multiple_of(4096);
        if !whole_granules || self.host_bytes < Self::MIN_HOST_BYTES || self.host_bytes > Self::MAX_HOST_BYTES {
            return Err(SimError::HostBytes { bytes: self.host_bytes });
        }
        let most = self.arch.hbm_bytes();
        if !self.hbm_bytes.is_multiple_of(4096) || self.hbm_bytes < Self::MIN_HBM_BYTES || self.hbm_bytes > most {
            return Err(SimError::HbmBytes { bytes: self.hbm_bytes, most });
        }
        Ok(())
    }

    /// Physical address of the first byte of a region, `None` when there is no such region.
    #[must_use]
    pub const fn region_base(&self, region: Region) -> Option<u64> {
        match region {
            Region::Hbm { device, channel } if device < self.devices => self.arch.hbm_base(channel),
            Region::Host { device } if device < self.devices => {
                Some(self.arch.host_memory_bit() + HOST_WINDOW_BASE + device as u64 * self.host_bytes)
            }
            Region::Hbm { .. } | Region::Host { .. } => None,
        }
    }

    /// Bytes of a region.
    #[must_use]
    pub const fn region_bytes(&self, region: Region) -> u64 {
        match region {
            Region::Hbm { .. } => self.hbm_bytes,
            Region::Host { .. } => self.host_bytes,
        }
    }

    /// What the driver advertises.
    #[must_use]
    pub const fn features(&self) -> u64 {
        self.version.features() & !self.missing_features
    }

    /// Index of a device on the host.
    #[must_use]
    pub const fn host_device_id(&self, device: u32) -> u32 {
        self.first_host_device + device
    }

    /// Routing ids by host index, up to the last configured device; entries beyond the count are 0, as the driver leaves them.
    #[must_use]
    pub fn routing_ids(&self) -> RoutingIds {
        let table = match (self.routing, self.arch) {
            (Routing::Identity, _) => None,
            (Routing::Torus, Arch::Sunda) => Some(&TRN1_INDEX),
            (Routing::Torus, Arch::Cayman | Arch::Mariana) => Some(&TRN2_INDEX),
        };
        let mut map = [0; 64];
        let count = self.host_device_id(self.devices);
        for (index, id) in (0..count).zip(map.iter_mut()) {
            let entry = table.and_then(|table| (0..16).zip(table).find(|&(_, &device)| u32::from(device) == index));
            *id = entry.map_or(index, |(routing_id, _)| routing_id);
        }
        RoutingIds { map, count }
    }
}

/// Why a model could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SimError {
    /// The storage already belongs to a model.
    StorageInUse,
    /// The storage has too few chunk records to describe the devices while they are empty.
    TooFewRecords {
        /// Chunk records needed.
        needed: u64,
        /// Chunk records of the storage.
        have: u64,
    },
    /// The storage has room for fewer devices.
    TooFewDevices {
        /// Devices configured.
        needed: u32,
        /// Devices of the storage.
        have: u64,
    },
    /// No device, or too many.
    Devices {
        /// Configured.
        devices: u32,
        /// Limit.
        most: u32,
    },
    /// The devices lie beyond the last index of a host.
    HostDevices {
        /// Index of the first one.
        first: u32,
        /// Devices of a host.
        most: u32,
    },
    /// No core, or more than the architecture has.
    Cores {
        /// Configured.
        cores: u32,
        /// Limit.
        most: u32,
    },
    /// That release never drove that architecture.
    Version {
        /// Configured.
        version: DriverVersion,
        /// Configured.
        arch: Arch,
    },
    /// The host window is not whole granules, or out of range.
    HostBytes {
        /// Configured.
        bytes: u64,
    },
    /// An HBM is not whole granules, or out of range.
    HbmBytes {
        /// Configured.
        bytes: u64,
        /// Limit.
        most: u64,
    },
    /// The platform did not provide the memory behind a region.
    Backing {
        /// Which one.
        region: Region,
        /// Its size.
        bytes: u64,
    },
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::StorageInUse => f.write_str("the simulation storage already belongs to another model"),
            Self::TooFewRecords { needed, have } => {
                write!(f, "the simulation storage has {have} chunk records, the empty devices need {needed}")
            }
            Self::TooFewDevices { needed, have } => {
                write!(f, "the simulation storage has room for {have} devices, {needed} are configured")
            }
            Self::Devices { devices, most } => write!(f, "{devices} devices: 1 to {most} can be simulated"),
            Self::HostDevices { first, most } => write!(f, "host devices {first} and on: a host has {most}"),
            Self::Cores { cores, most } => write!(f, "{cores} cores per device: 1 to {most} exist"),
            Self::Version { version, arch } => write!(f, "driver {} does not know {arch}", version.text()),
            Self::HostBytes { bytes } => write!(f, "host window of {bytes} bytes: 4 MiB to 256 GiB in steps of 4 KiB"),
            Self::HbmBytes { bytes, most } => write!(f, "HBM of {bytes} bytes: 2 GiB to {most} bytes in steps of 4 KiB"),
            Self::Backing { region, bytes } => write!(f, "no memory behind {region} ({bytes} bytes)"),
        }
    }
}

impl core::error::Error for SimError {}
