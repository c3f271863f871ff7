//! The 22 usages of device memory under their configuration names, and the classes that reports sum them in
//! (fact sheet `dmem` §3 and §16, corrected table).

/// Number of usages.
pub const USAGES: usize = 22;

/// Number of report classes.
pub const CLASSES: usize = 12;

/// Configuration names, by usage number.
const NAMES: [&str; USAGES] = [
    "generic",
    "instr_pe",
    "instr_act",
    "instr_pool",
    "io",
    "dram_spill",
    "weight",
    "notification",
    "act_table",
    "instr_dve",
    "instr_sp",
    "scratchpad",
    "tensor",
    "ucode_lib",
    "pool_stdio",
    "cc",
    "scratchpad_not_shared",
    "xt_cc",
    "dma_ring",
    "dma_ring_spill",
    "dma_ring_io",
    "dma_ring_collectives",
];

/// Report class of each usage.
const CLASS_OF: [u8; USAGES] = [5, 0, 0, 5, 0, 5, 1, 11, 5, 0, 0, 3, 2, 0, 5, 10, 4, 5, 9, 7, 6, 8];

/// Usage of a piece of device memory: a number below [`USAGES`], the value of `dma_mem_usage_type_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Usage(u8);

impl Usage {
    /// Configuration names of all usages, in the order of their numbers.
    pub const NAMES: &'static [&'static str] = &NAMES;
    /// Usage 0, for what has no usage of its own.
    pub const GENERIC: Self = Self(0);
    /// Weights.
    pub const WEIGHT: Self = Self(6);
    /// Pages of the shared scratchpad.
    pub const SCRATCHPAD: Self = Self(11);
    /// Collectives.
    pub const CC: Self = Self(15);
    /// Scratchpad of one model alone.
    pub const SCRATCHPAD_NOT_SHARED: Self = Self(16);

    /// The usage with this number, or `None` from 22 on.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        if number < USAGES as u32 { Some(Self(number as u8)) } else { None }
    }

    /// The usage with this snake_case name, or `None`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().position(|known| *known == name).map(|number| Self(number as u8))
    }

    /// The value of `dma_mem_usage_type_t`.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0 as u32
    }

    /// The snake_case configuration name.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES[self.0 as usize]
    }

    /// Whether memory of this usage may be in host memory; the shared and the private scratchpad and the collectives
    /// may not (`errata` 13).
    #[must_use]
    pub fn allowed_on_host(self) -> bool {
        !matches!(self, Self::SCRATCHPAD | Self::CC | Self::SCRATCHPAD_NOT_SHARED)
    }

    /// The class that reports count this usage in, a number below [`CLASSES`].
    #[must_use]
    pub fn class(self) -> usize {
        CLASS_OF[self.0 as usize] as usize
    }
}
