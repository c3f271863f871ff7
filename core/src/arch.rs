//! Architectures and their geometry (fact sheets `lnc` §3, `driver-abi` §17).

/// Architecture of a device. The discriminants are those of `al_hal_tpb_arch_type_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Arch {
    /// NeuronCore v2: Trainium 1, Inferentia 2.
    Sunda = 2,
    /// NeuronCore v3: Trainium 2.
    Cayman = 3,
    /// NeuronCore v4: Trainium 3.
    Mariana = 4,
}

impl Arch {
    /// Every architecture.
    pub const ALL: [Self; 3] = [Self::Sunda, Self::Cayman, Self::Mariana];

    /// The architecture with this number, or `None`.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number {
            2 => Some(Self::Sunda),
            3 => Some(Self::Cayman),
            4 => Some(Self::Mariana),
            _ => None,
        }
    }

    /// Lower-case name as configuration files spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sunda => "sunda",
            Self::Cayman => "cayman",
            Self::Mariana => "mariana",
        }
    }

    /// The architecture with this lower-case name, or `None`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.name() == name)
    }

    /// Cores of a device: 2 or 8.
    #[must_use]
    pub const fn cores_per_device(self) -> u32 {
        match self {
            Self::Sunda => 2,
            Self::Cayman | Self::Mariana => 8,
        }
    }

    /// HBM channels of a device: 2 or 4.
    #[must_use]
    pub const fn channels_per_device(self) -> u32 {
        match self {
            Self::Sunda => 2,
            Self::Cayman | Self::Mariana => 4,
        }
    }

    /// Cores that share one HBM: 1 or 2.
    #[must_use]
    pub const fn cores_per_hbm(self) -> u32 {
        match self {
            Self::Sunda => 1,
            Self::Cayman | Self::Mariana => 2,
        }
    }

    /// Bytes of one HBM channel: 16, 24 or 36 GiB.
    #[must_use]
    pub const fn hbm_bytes(self) -> u64 {
        match self {
            Self::Sunda => 0x4_0000_0000,
            Self::Cayman => 0x6_0000_0000,
            Self::Mariana => 0x9_0000_0000,
        }
    }

    /// Physical address of the first byte of an HBM channel, or `None` for a channel the device does not have.
    #[must_use]
    pub const fn hbm_base(self, channel: u32) -> Option<u64> {
        match (self, channel) {
            (_, 0) => Some(0),
            (Self::Sunda, 1) => Some(0x10_0000_0000),
            (Self::Sunda, _) => None,
            (_, 1) => Some(0x40_0000_0000),
            (_, 2) => Some(0x8000_0000_0000),
            (_, 3) => Some(0x8040_0000_0000),
            _ => None,
        }
    }

    /// Bytes of the on-chip state buffer of a core.
    pub const STATE_BUFFER_BYTES: u64 = 0x200_0000;

    /// Address of the state buffer of a core of the device: where the driver's table of on-chip resources has it
    /// (`driver-abi` §12).
    #[must_use]
    pub const fn state_buffer(self, core: u32) -> u64 {
        let first = match self {
            Self::Sunda => 0xFFF_C000_0000,
            Self::Cayman | Self::Mariana => 0x20_0000_0000,
        };
        first + core as u64 * 0x400_0000
    }

    /// The bit that marks pinned host memory in a physical address.
    #[must_use]
    pub const fn host_memory_bit(self) -> u64 {
        match self {
            Self::Sunda => 1 << 44,
            Self::Cayman | Self::Mariana => 1 << 46,
        }
    }

    /// Default HBM channel of a core of the device (`lnc` §3).
    #[must_use]
    pub const fn default_channel(self, core: u32) -> u32 {
        core / self.cores_per_hbm()
    }

    /// Largest zero-copy write that goes through the PCI window when nothing is configured, in bytes: 4096, but 0 on
    /// SUNDA (`dmem` §23).
    #[must_use]
    pub const fn direct_write_bytes(self) -> u32 {
        match self {
            Self::Sunda => 0,
            Self::Cayman | Self::Mariana => 0x1000,
        }
    }

    /// Logical core size when nothing is configured: 1 on SUNDA and on devices with one core, else 2.
    #[must_use]
    pub const fn default_logical_core_size(self, cores_per_device: u32) -> u32 {
        match self {
            Self::Sunda => 1,
            _ if cores_per_device == 1 => 1,
            _ => 2,
        }
    }
}

impl core::fmt::Display for Arch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}
