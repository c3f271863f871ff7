//! From the cores a process wants to the cores the driver is asked for (`lnc` §§5, 6).
//!
//! Pure: a selection (the core reads it out of `NEURON_RT_VISIBLE_CORES` and `NEURON_RT_NUM_CORES`) and a geometry in, a
//! range of physical cores to reserve out.

use core::ffi::CStr;
use core::fmt;

use nrt_core::arch::Arch;
use nrt_core::environment::{CoreSelection, names};

use crate::env::Env;

/// Cores of all devices of a host: the length of the driver's table.
pub const MAX_CORES: u32 = 512;

/// Variables the core reads.
const VARIABLES: [&str; 10] = [
    names::LOGICAL_NC_CONFIG,
    names::VIRTUAL_CORE_SIZE,
    names::NUM_CORES,
    names::VISIBLE_CORES,
    names::SCRATCHPAD_PAGE_SIZE,
    names::ONE_TMPBUF_PAGE_SIZE,
    names::SCRATCHPAD_SINGLE_CORE,
    names::CONTIGUOUS_SCRATCHPAD,
    names::MEMLOG_MAX_SIZE,
    names::VERBOSE_DEV_MEM,
];

/// The variables of an environment that
/// [`Environment::parse`](nrt_core::environment::Environment::parse) looks at.
///
/// # Errors
/// The name of the first one whose value is not UTF-8.
pub fn variables<'a>(env: &Env<'a>) -> Result<heapless::Vec<(&'static str, &'a str), 10>, &'static str> {
    let set = VARIABLES.iter().filter_map(|name| Some((*name, env.get(name)?)));
    set.map(|(name, value): (_, &CStr)| Ok((name, value.to_str().map_err(|_| name)?))).collect()
}

/// Why a selection cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChoiceError {
    /// No core at all.
    Nothing,
    /// More cores than there are.
    TooMany {
        /// Logical cores wanted.
        wanted: u32,
        /// Logical cores there are.
        have: u32,
    },
    /// Neither one logical core nor whole devices, which devices after SUNDA need.
    NotWholeDevices {
        /// Physical cores wanted.
        cores: u32,
        /// Physical cores of a device.
        cores_per_device: u32,
    },
    /// A core of a device whose node this process does not see.
    Inaccessible {
        /// Number of the node.
        node: u32,
    },
    /// A logical core size that does not divide a device.
    LogicalCoreSize(u32),
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("no core is wanted"),
            Self::TooMany { wanted, have } => write!(f, "{wanted} logical cores are wanted, there are {have}"),
            Self::NotWholeDevices { cores, cores_per_device } => write!(
                f,
                "{cores} physical cores are neither one logical core nor whole devices of {cores_per_device}; name the \
                 cores in {}",
                names::VISIBLE_CORES
            ),
            Self::Inaccessible { node } => write!(f, "is /dev/neuron{node} visible to this process? Its cores are wanted"),
            Self::LogicalCoreSize(size) => write!(f, "logical cores of {size} physical cores do not divide a device"),
        }
    }
}

impl core::error::Error for ChoiceError {}

/// What a selection is resolved against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Architecture.
    pub arch: Arch,
    /// Bit i: the node `/dev/neuron<i>` is there.
    pub nodes: u64,
    /// Physical cores of a device.
    pub cores_per_device: u32,
    /// Physical cores of a logical core.
    pub logical_core_size: u32,
}

/// Physical cores to reserve, counted from core 0 of the lowest node, as the driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Cores in a row.
    pub count: u32,
    /// First core of the range to look in.
    pub start: u32,
    /// Last core of the range to look in.
    pub end: u32,
}

impl Geometry {
    /// Nodes from the lowest to the highest, those between them included.
    const fn span(&self) -> u32 {
        64 - self.nodes.leading_zeros() - self.nodes.trailing_zeros()
    }

    /// Checks that every core of `start..=end` sits in a device this process sees.
    ///
    /// # Errors
    /// [`ChoiceError::Inaccessible`] with the first node that is missing.
    pub fn accessible(&self, start: u32, end: u32) -> Result<(), ChoiceError> {
        let first = self.nodes.trailing_zeros();
        for device in start / self.cores_per_device..=end / self.cores_per_device {
            let node = first + device;
            if node >= 64 || self.nodes >> node & 1 == 0 {
                return Err(ChoiceError::Inaccessible { node });
            }
        }
        Ok(())
    }

    /// The cores to reserve for a selection.
    ///
    /// # Errors
    /// [`ChoiceError`]: none, too many, not whole devices, or not visible to this process.
    pub fn resolve(&self, selection: CoreSelection) -> Result<Plan, ChoiceError> {
        let Self { logical_core_size: size, cores_per_device, .. } = *self;
        if size == 0 || cores_per_device == 0 || !cores_per_device.is_multiple_of(size) || self.nodes == 0 {
            return Err(ChoiceError::LogicalCoreSize(size));
        }
        let have = self.nodes.count_ones() * cores_per_device / size;
        let end = self.span() * cores_per_device - 1;
        let wanted = match selection {
            CoreSelection::All => have,
            CoreSelection::Count(count) | CoreSelection::Exact { count, .. } => count,
        };
        if wanted == 0 {
            return Err(ChoiceError::Nothing);
        }
        if wanted > have {
            return Err(ChoiceError::TooMany { wanted, have });
        }
        let count = wanted * size;
        match selection {
            CoreSelection::All => {
                self.accessible(0, end)?;
                Ok(Plan { count, start: 0, end })
            }
            CoreSelection::Count(_) => {
                if self.arch != Arch::Sunda && wanted != 1 && !count.is_multiple_of(cores_per_device) {
                    return Err(ChoiceError::NotWholeDevices { cores: count, cores_per_device });
                }
                Ok(Plan { count, start: 0, end })
            }
            CoreSelection::Exact { first, .. } => {
                // Beyond the driver's table there is nothing to see.
                let start = first.min(MAX_CORES) * size;
                let end = start + count - 1;
                self.accessible(start, end)?;
                Ok(Plan { count, start, end })
            }
        }
    }
}
