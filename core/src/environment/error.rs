//! What is wrong with a variable.

use core::fmt;

use crate::Arch;
use crate::arena::MAX_CORES;
use crate::driver::Probe;
use crate::text;

/// What stood to be read at the position of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expected {
    /// A decimal number.
    Number,
    /// 0 or 1.
    Flag,
    /// A logical core size the machine can have.
    CoreSize {
        /// The only size that is possible, when there is just one.
        only: Option<u32>,
    },
    /// The one logical core size of a restricted kind of instance.
    InstanceCoreSize {
        /// That size.
        only: u32,
    },
    /// A number of logical cores, at most `total`.
    CoreCount {
        /// Logical cores of the machine.
        total: u32,
    },
    /// One logical core, or as many as fill whole devices.
    WholeDevices,
    /// A logical core number.
    CoreNumber,
    /// A logical core number below `total`.
    CoreBelow {
        /// Logical cores of the machine.
        total: u32,
    },
    /// A comma, a dash, or the end.
    Separator,
    /// A comma or the end.
    Comma,
    /// The end of a range, not below its start.
    RangeEnd,
    /// Core numbers without a gap.
    Contiguous,
    /// A page size in MiB.
    PageMebibytes,
    /// A number of bytes in 32 bits.
    Bytes32,
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Number => f.write_str("a decimal number"),
            Self::Flag => f.write_str("0 or 1"),
            Self::CoreSize { only: None } => f.write_str("a logical core size of 1 or 2"),
            Self::CoreSize { only: Some(size) } => write!(f, "{size}, the only logical core size of this machine"),
            Self::InstanceCoreSize { only } => write!(f, "only size {only} on this instance"),
            Self::CoreCount { total } => write!(f, "a number of logical cores from 0 (all) to {total}"),
            Self::WholeDevices => f.write_str("one logical core, or a number that fills whole devices (or name the cores)"),
            Self::CoreNumber => f.write_str("a logical core number"),
            Self::CoreBelow { total } => write!(f, "a logical core number below {total}"),
            Self::Separator => f.write_str("a comma, a dash or the end"),
            Self::Comma => f.write_str("a comma or the end"),
            Self::RangeEnd => f.write_str("the end of a range, not below its start"),
            Self::Contiguous => f.write_str("core numbers without a gap"),
            Self::PageMebibytes => f.write_str("a page size from 1 to 4095 MiB"),
            Self::Bytes32 => f.write_str("a number of bytes from 0 to 4294967295"),
        }
    }
}

/// What the machine has, for the tail of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Machine {
    pub(super) arch: Arch,
    pub(super) devices: u32,
    pub(super) cores_per_device: u32,
    pub(super) logical_core_size: u32,
}

impl Machine {
    pub(super) fn new(probe: &Probe, logical_core_size: u32) -> Self {
        Self { arch: probe.arch, devices: probe.devices, cores_per_device: probe.cores_per_device, logical_core_size }
    }

    /// Logical cores that can be named: those of the machine, but no more than a runtime has room for.
    pub(super) fn logical_cores(&self) -> u32 {
        (self.devices.saturating_mul(self.cores_per_device) / self.logical_core_size).min(MAX_CORES as u32)
    }
}

const SHOWN: usize = 64;

/// A variable whose value cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentError {
    variable: &'static str,
    value: [u8; SHOWN],
    length: usize,
    position: usize,
    expected: Expected,
    machine: Machine,
}

impl EnvironmentError {
    #[cold]
    #[inline(never)]
    pub(super) fn new((variable, value): (&'static str, &str), position: usize, expected: Expected, machine: &Machine) -> Self {
        let mut shown = [0; SHOWN];
        text::put(&mut shown, value);
        Self { variable, value: shown, length: value.len(), position, expected, machine: *machine }
    }

    /// Name of the variable.
    #[must_use]
    pub fn variable(&self) -> &'static str {
        self.variable
    }

    /// Value of the variable, cut to 63 bytes.
    #[must_use]
    pub fn value(&self) -> &str {
        text::from_nul_terminated(&self.value)
    }

    /// Offset of the first bad character in bytes, from 0.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// What was expected there.
    #[must_use]
    pub fn expected(&self) -> Expected {
        self.expected
    }
}

impl fmt::Display for EnvironmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { devices, cores_per_device, logical_core_size, .. } = self.machine;
        let more = if self.length > self.value().len() { "..." } else { "" };
        write!(f, "{}=\"{}{more}\": character {}: expected {}", self.variable, self.value(), self.position + 1, self.expected)?;
        write!(
            f,
            "; this machine has {devices} {} of {cores_per_device} cores, {} logical cores of size {logical_core_size}",
            if devices == 1 { "device" } else { "devices" },
            self.machine.logical_cores()
        )
    }
}

impl core::error::Error for EnvironmentError {}

impl From<EnvironmentError> for crate::Error {
    fn from(error: EnvironmentError) -> Self {
        Self::invalid(crate::Cause::Config { variable: error.variable, position: error.position })
    }
}
