//! Which cores a process wants: `NEURON_RT_VISIBLE_CORES`, `NEURON_RT_NUM_CORES` (`lnc` §§5, 6).
//!
//! Pure: text and geometry in, a range of cores to reserve out.

use core::fmt;

use nrt_core::arch::Arch;

/// Cores of all devices of a host: the length of the driver's table.
pub const MAX_CORES: u32 = 512;

/// Logical cores a process wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreChoice {
    /// All there are.
    All,
    /// This many in a row, wherever they are free; never 0.
    Count(u32),
    /// Exactly these, both ends included.
    Range {
        /// First logical core.
        first: u32,
        /// Last logical core.
        last: u32,
    },
}

/// What the environment says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The choice.
    pub choice: CoreChoice,
    /// Both variables are set; the list wins, which deserves a warning.
    pub count_ignored: bool,
}

/// Why a choice cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChoiceError {
    /// Not a decimal number.
    NotANumber {
        /// The variable.
        variable: &'static str,
        /// Offset in its value, in bytes.
        position: usize,
    },
    /// A core beyond the driver's table.
    OutOfRange {
        /// The variable.
        variable: &'static str,
        /// Offset in its value, in bytes.
        position: usize,
    },
    /// A range whose end is before its start.
    Descending {
        /// Offset in the value, in bytes.
        position: usize,
    },
    /// The list leaves cores out.
    Gap {
        /// First core that is missing.
        missing: u32,
    },
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
            Self::NotANumber { variable, position } => write!(f, "{variable}: expected a number at position {position}"),
            Self::OutOfRange { variable, position } => {
                write!(f, "{variable}: the number at position {position} is larger than {}", MAX_CORES - 1)
            }
            Self::Descending { position } => write!(f, "{VISIBLE}: the range at position {position} descends"),
            Self::Gap { missing } => write!(f, "{VISIBLE}: core {missing} is missing, the cores have to be contiguous"),
            Self::TooMany { wanted, have } => write!(f, "{wanted} logical cores are wanted, there are {have}"),
            Self::NotWholeDevices { cores, cores_per_device } => write!(
                f,
                "{cores} physical cores are neither one logical core nor whole devices of {cores_per_device}; name the \
                 cores in {VISIBLE}"
            ),
            Self::Inaccessible { node } => write!(f, "is /dev/neuron{node} visible to this process? Its cores are wanted"),
            Self::LogicalCoreSize(size) => write!(f, "logical cores of {size} physical cores do not divide a device"),
        }
    }
}

impl core::error::Error for ChoiceError {}

/// Variable with the list of logical cores.
pub const VISIBLE: &str = "NEURON_RT_VISIBLE_CORES";
/// Variable with the number of logical cores.
pub const COUNT: &str = "NEURON_RT_NUM_CORES";

/// Reads the values of the two variables, `None` where unset. An empty list counts as unset, a number of 0 as all.
///
/// # Errors
/// [`ChoiceError`] with the position of what is wrong.
pub fn parse(visible: Option<&[u8]>, count: Option<&[u8]>) -> Result<Wanted, ChoiceError> {
    let count = match count {
        None | Some(b"") => None,
        Some(text) => match number(COUNT, text, 0)? {
            (_, used) if used != text.len() => return Err(ChoiceError::NotANumber { variable: COUNT, position: used }),
            (0, _) => None,
            (count, _) => Some(count),
        },
    };
    Ok(match (visible, count) {
        (Some(text), count) if !text.is_empty() => Wanted { choice: list(text)?, count_ignored: count.is_some() },
        (_, Some(count)) => Wanted { choice: CoreChoice::Count(count), count_ignored: false },
        _ => Wanted { choice: CoreChoice::All, count_ignored: false },
    })
}

/// `item ("," item)*` with `item` a number or `first-last`. Order and repetition do not matter, gaps do.
fn list(text: &[u8]) -> Result<CoreChoice, ChoiceError> {
    let mut seen = [false; MAX_CORES as usize];
    let mut at = 0;
    loop {
        let start = at;
        let (first, used) = number(VISIBLE, text, at)?;
        at = used;
        let mut last = first;
        if text.get(at) == Some(&b'-') {
            (last, at) = number(VISIBLE, text, at + 1)?;
            if last < first {
                return Err(ChoiceError::Descending { position: start });
            }
        }
        for core in first..=last {
            *seen.get_mut(core as usize).ok_or(ChoiceError::OutOfRange { variable: VISIBLE, position: start })? = true;
        }
        match text.get(at) {
            None => break,
            Some(b',') => at += 1,
            Some(_) => return Err(ChoiceError::NotANumber { variable: VISIBLE, position: at }),
        }
    }
    let first = seen.iter().position(|&seen| seen).unwrap_or(0);
    let last = seen.iter().rposition(|&seen| seen).unwrap_or(0);
    match (first..=last).find(|&core| !seen[core]) {
        Some(missing) => Err(ChoiceError::Gap { missing: missing as u32 }),
        None => Ok(CoreChoice::Range { first: first as u32, last: last as u32 }),
    }
}

/// A number below [`MAX_CORES`] (at most [`MAX_CORES`] for a count) and the offset behind it.
fn number(variable: &'static str, text: &[u8], start: usize) -> Result<(u32, usize), ChoiceError> {
    let limit = if variable == COUNT { MAX_CORES } else { MAX_CORES - 1 };
    let mut value = 0u32;
    let mut at = start;
    while let Some(digit) = text.get(at).filter(|byte| byte.is_ascii_digit()) {
        value = value.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
        at += 1;
    }
    if at == start {
        return Err(ChoiceError::NotANumber { variable, position: start });
    }
    if value > limit {
        return Err(ChoiceError::OutOfRange { variable, position: start });
    }
    Ok((value, at))
}

/// What a choice is resolved against.
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

    /// The cores to reserve for a choice.
    ///
    /// # Errors
    /// [`ChoiceError`]: too many, not whole devices, or not visible to this process.
    pub fn resolve(&self, choice: CoreChoice) -> Result<Plan, ChoiceError> {
        let Self { logical_core_size: size, cores_per_device, .. } = *self;
        if size == 0 || cores_per_device == 0 || !cores_per_device.is_multiple_of(size) || self.nodes == 0 {
            return Err(ChoiceError::LogicalCoreSize(size));
        }
        let have = self.nodes.count_ones() * cores_per_device / size;
        let last = self.span() * cores_per_device - 1;
        match choice {
            CoreChoice::All => {
                self.accessible(0, last)?;
                Ok(Plan { count: last + 1, start: 0, end: last })
            }
            CoreChoice::Count(wanted) => {
                if wanted > have {
                    return Err(ChoiceError::TooMany { wanted, have });
                }
                let cores = wanted * size;
                if self.arch != Arch::Sunda && cores != size && !cores.is_multiple_of(cores_per_device) {
                    return Err(ChoiceError::NotWholeDevices { cores, cores_per_device });
                }
                Ok(Plan { count: cores, start: 0, end: last })
            }
            CoreChoice::Range { first, last } => {
                let (start, end) = (first * size, last * size + size - 1);
                self.accessible(start, end)?;
                Ok(Plan { count: end - start + 1, start, end })
            }
        }
    }
}
