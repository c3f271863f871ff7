//! The two counts a program may ask for before init (`nrt_get_total_nc_count`, `nrt_get_visible_nc_count`; fact sheet
//! `lnc` §5.4). All answers are logical cores. After init it is [`Runtime::logical_cores`](crate::Runtime::logical_cores) that
//! counts those of the process: it does not follow the environment any more.

use crate::driver::Probe;

use super::error::{EnvironmentError, Expected, Machine};
use super::{Environment, get, logical_core_size, names, parse};

impl Environment {
    /// Logical cores of the machine, whoever has them.
    ///
    /// # Errors
    /// A logical core size that cannot be, as with [`parse`](Self::parse).
    ///
    /// ```
    /// use nrt_core::{Arch, driver::Probe, environment::Environment};
    /// let machine = Probe { arch: Arch::Cayman, revision: 1, devices: 2, cores_per_device: 8, features: 0xFF };
    /// assert_eq!(Environment::total_cores(&[], &machine), Ok(8));
    /// assert_eq!(Environment::total_cores(&[("NEURON_LOGICAL_NC_CONFIG", "1")], &machine), Ok(16));
    /// ```
    pub fn total_cores(pairs: &[(&str, &str)], machine: &Probe) -> Result<u32, EnvironmentError> {
        let (size, _) = Self::context(pairs, machine)?;
        Ok(physical_cores(machine) / size)
    }

    /// Logical cores that the environment asks for: the length of the list, with duplicates and gaps, which only init looks
    /// at; else the count as it stands, a 0 included; else those of the machine. An empty list is none.
    ///
    /// # Errors
    /// The variable that is looked at and cannot be. A list is also refused for a core that the machine does not have.
    ///
    /// ```
    /// use nrt_core::{Arch, driver::Probe, environment::Environment};
    /// let machine = Probe { arch: Arch::Cayman, revision: 1, devices: 1, cores_per_device: 8, features: 0xFF };
    /// let visible = |pairs| Environment::visible_cores(pairs, &machine);
    /// assert_eq!(visible(&[("NEURON_RT_VISIBLE_CORES", "0,2-3"), ("NEURON_RT_NUM_CORES", "1")]), Ok(3));
    /// assert_eq!(visible(&[("NEURON_RT_NUM_CORES", "99")]), Ok(99));
    /// assert_eq!(visible(&[]), Ok(4));
    /// ```
    pub fn visible_cores(pairs: &[(&str, &str)], machine: &Probe) -> Result<u32, EnvironmentError> {
        if let Some(entry) = get(pairs, names::VISIBLE_CORES).filter(|entry| !entry.1.is_empty()) {
            let (size, context) = Self::context(pairs, machine)?;
            let total = physical_cores(machine) / size;
            let mut count = 0_u32;
            parse::core_items(entry, &context, total, &mut |first, last| count = count.saturating_add(last - first + 1))?;
            return Ok(count);
        }
        match get(pairs, names::NUM_CORES) {
            Some(entry) => {
                // The size of a logical core has no say in it; in the message the default stands for it.
                let context = Machine::new(machine, logical_core_size(None, None, machine)?);
                parse::number(entry, &context, Expected::Number, &|count| u32::try_from(count).is_ok()).map(|count| count as u32)
            }
            None => Self::total_cores(pairs, machine),
        }
    }

    /// The logical core size, and what the machine has with it.
    fn context(pairs: &[(&str, &str)], machine: &Probe) -> Result<(u32, Machine), EnvironmentError> {
        let entry = get(pairs, names::LOGICAL_NC_CONFIG).or_else(|| get(pairs, names::VIRTUAL_CORE_SIZE));
        let size = logical_core_size(entry, None, machine)?;
        Ok((size, Machine::new(machine, size)))
    }
}

fn physical_cores(machine: &Probe) -> u32 {
    machine.devices.saturating_mul(machine.cores_per_device)
}
