//! Usage types, locations and the category tables (fact sheet `dmem` §§1, 3, 16; errata 13–16).

use crate::abi::{USAGE_AGGREGATE, USAGE_CATEGORY_REJECT, USAGE_DEVICE_CATEGORY, USAGE_HOST_CATEGORY};

/// Where memory lives. The discriminants are those of `dma_mem_location_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Location {
    /// Pinned host memory.
    Host = 1,
    /// On-package HBM.
    Device = 2,
}

impl Location {
    /// Lower-case name for messages and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Device => "device",
        }
    }
}

/// What memory is for: `dma_mem_usage_type_t`, 22 values. Number 22 is only the column of per-core totals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Usage {
    /// Unspecific.
    Generic = 0,
    /// Instructions of the PE engine.
    InstrPe = 1,
    /// Instructions of the activation engine.
    InstrAct = 2,
    /// Number 3. The readings call it pool instructions, all three tables treat it as miscellaneous (errata 15).
    InstrPool = 3,
    /// Number 4. The readings call it I/O, all three tables treat it as code (errata 15).
    Io = 4,
    /// Spilled temporaries.
    DramSpill = 5,
    /// Weights and constants.
    Weight = 6,
    /// Notification queues.
    Notification = 7,
    /// Activation tables.
    ActTable = 8,
    /// Instructions of the DVE engine.
    InstrDve = 9,
    /// Instructions of the SP engine.
    InstrSp = 10,
    /// Shared scratchpad pages. Device only.
    Scratchpad = 11,
    /// User tensors.
    Tensor = 12,
    /// Microcode libraries.
    UcodeLib = 13,
    /// Standard output of the pool cores.
    PoolStdio = 14,
    /// Collectives. Device only.
    Cc = 15,
    /// Private scratchpad variables. Device only.
    ScratchpadNotShared = 16,
    /// Cross-device collectives.
    XtCc = 17,
    /// Descriptor rings of the runtime.
    DmaRing = 18,
    /// Descriptor rings of spills.
    DmaRingSpill = 19,
    /// Descriptor rings of inputs and outputs.
    DmaRingIo = 20,
    /// Descriptor rings of collectives.
    DmaRingCollectives = 21,
}

impl Usage {
    /// Number of usages; also the index of the total column of the ledger.
    pub const COUNT: usize = 22;

    /// Every usage in the order of its number.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Generic,
        Self::InstrPe,
        Self::InstrAct,
        Self::InstrPool,
        Self::Io,
        Self::DramSpill,
        Self::Weight,
        Self::Notification,
        Self::ActTable,
        Self::InstrDve,
        Self::InstrSp,
        Self::Scratchpad,
        Self::Tensor,
        Self::UcodeLib,
        Self::PoolStdio,
        Self::Cc,
        Self::ScratchpadNotShared,
        Self::XtCc,
        Self::DmaRing,
        Self::DmaRingSpill,
        Self::DmaRingIo,
        Self::DmaRingCollectives,
    ];

    /// The usage with this number; `None` from 22 on, the padding byte of the tables included (errata 16).
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        if (number as usize) < Self::COUNT { Some(Self::ALL[number as usize]) } else { None }
    }

    /// The number of the usage.
    #[must_use]
    pub const fn number(self) -> usize {
        self as usize
    }

    /// Snake-case names as configuration files spell them, by number.
    pub const NAMES: &'static [&'static str; Self::COUNT] = &[
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

    /// Snake-case name as configuration files spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.number()]
    }

    /// The usage with this snake-case name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|usage| usage.name() == name)
    }

    /// Driver category (`mem_alloc_category_t`) of this usage at `location`, or `None` where the usage is not allowed.
    ///
    /// The table byte 20 means "not allowed"; that the usage number 20 has the same value is a coincidence.
    #[must_use]
    pub const fn category(self, location: Location) -> Option<u8> {
        let category = match location {
            Location::Host => USAGE_HOST_CATEGORY[self.number()],
            Location::Device => USAGE_DEVICE_CATEGORY[self.number()],
        };
        if category == USAGE_CATEGORY_REJECT { None } else { Some(category) }
    }

    /// The reporting class of this usage.
    #[must_use]
    pub const fn class(self) -> Class {
        Class::ALL[USAGE_AGGREGATE[self.number()] as usize]
    }
}

/// Reporting class: the columns of the memory table, by the corrected aggregate bytes (errata 14).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// Instruction streams and microcode.
    ModelCode = 0,
    /// Weights.
    ModelConstants = 1,
    /// User tensors.
    Tensors = 2,
    /// Shared scratchpad pages.
    SharedScratchpad = 3,
    /// Private scratchpad variables.
    Scratchpad = 4,
    /// Everything the runtime needs for itself.
    Runtime = 5,
    /// Descriptor rings of inputs and outputs.
    DmaRingsIo = 6,
    /// Descriptor rings of spills.
    DmaRingsSpill = 7,
    /// Descriptor rings of collectives.
    DmaRingsCollectives = 8,
    /// Descriptor rings of the runtime.
    DmaRingsRuntime = 9,
    /// Collectives.
    Collectives = 10,
    /// Notification and profiler buffers.
    Notifications = 11,
}

impl Class {
    /// Every class in column order.
    pub const ALL: [Self; 12] = [
        Self::ModelCode,
        Self::ModelConstants,
        Self::Tensors,
        Self::SharedScratchpad,
        Self::Scratchpad,
        Self::Runtime,
        Self::DmaRingsIo,
        Self::DmaRingsSpill,
        Self::DmaRingsCollectives,
        Self::DmaRingsRuntime,
        Self::Collectives,
        Self::Notifications,
    ];

    /// The name people know.
    #[must_use]
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; 12] = [
            "model code",
            "model constants",
            "tensors",
            "shared scratchpad",
            "scratchpad",
            "runtime",
            "dma rings io",
            "dma rings spill",
            "dma rings collectives",
            "dma rings runtime",
            "collectives",
            "notifications",
        ];
        NAMES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `dmem` §21 C1 / errata 13: the sentinel stands at 11, 15 and 16, not at 18..21.
    #[test]
    fn host_memory_refuses_scratchpad_collectives_and_private_scratchpad_only() {
        for usage in Usage::ALL {
            let refused = matches!(usage.number(), 11 | 15 | 16);
            assert_eq!(usage.category(Location::Host).is_none(), refused, "{}", usage.name());
            assert!(usage.category(Location::Device).is_some(), "{}", usage.name());
        }
        assert_eq!(Usage::DmaRingIo.category(Location::Host), Some(17));
    }

    /// Errata 14: with the corrected bytes the class is a function of the device category for usages 0..17.
    #[test]
    fn class_follows_the_device_category() {
        let mut seen = [None; 21];
        for usage in &Usage::ALL[..18] {
            let category = usage.category(Location::Device).unwrap() as usize;
            let class = usage.class();
            assert_eq!(*seen[category].get_or_insert(class), class, "{}", usage.name());
        }
        assert_eq!(Usage::Weight.class(), Class::ModelConstants);
        assert_eq!(Usage::Notification.class(), Class::Notifications);
    }

    #[test]
    fn names_and_numbers_round_trip() {
        for usage in Usage::ALL {
            assert_eq!(Usage::from_name(usage.name()), Some(usage));
            assert_eq!(Usage::from_number(usage.number() as u32), Some(usage));
        }
        assert_eq!(Usage::from_number(22), None);
        assert_eq!(Usage::from_number(u32::MAX), None);
    }
}
