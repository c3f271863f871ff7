//! Versions: of the driver, and of the runtimes it serves.

use core::fmt;

use nrt_core::arch::Arch;

/// Version of the driver module, `2.24.7.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion(pub [u16; 4]);

impl DriverVersion {
    /// From the text of the module's version attribute. Missing numbers are 0; anything behind a number is left out.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let mut numbers = [0; 4];
        let mut parts = text.trim_ascii().split(|&byte| byte == b'.');
        for (place, number) in numbers.iter_mut().enumerate() {
            let Some(part) = parts.next() else { break };
            let digits = part.iter().take_while(|byte| byte.is_ascii_digit()).count();
            match core::str::from_utf8(&part[..digits]).ok()?.parse() {
                Ok(value) => *number = value,
                Err(_) if place > 1 => break,
                Err(_) => return None,
            }
        }
        Some(Self(numbers))
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.0;
        write!(f, "{a}.{b}.{c}.{d}")
    }
}

/// A range of runtime interfaces, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuntimeRange {
    /// Oldest.
    pub min: u32,
    /// Newest.
    pub max: u32,
}

impl RuntimeRange {
    /// What this runtime speaks on an architecture (`lnc` §6).
    #[must_use]
    pub const fn ours(arch: Arch) -> Self {
        match arch {
            Arch::Sunda => Self { min: 6, max: 6 },
            Arch::Cayman | Arch::Mariana => Self { min: 10, max: 11 },
        }
    }

    /// Whether a driver that serves `driver` serves all of this.
    #[must_use]
    pub const fn served_by(self, driver: Self) -> bool {
        self.min >= driver.min && self.max <= driver.max
    }
}

impl fmt::Display for RuntimeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}
