//! Configuration from environment variables: a pure parser over name/value pairs (fact sheet `lnc` §§4, 5, 7).
//!
//! Nothing here reads the environment of the process; the platform hands the pairs in. An error names the variable, its
//! value, the position of the first bad character, what was expected there, and what the machine has.

mod count;
mod error;
mod parse;

pub use error::{EnvironmentError, Expected};

use crate::arena::MAX_CORES;
use crate::driver::Probe;
use crate::instance::Instance;
use crate::lnc;
use crate::scratchpad::{DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE};

/// Names of the variables.
pub mod names {
    /// Physical cores of a logical core; looked at first.
    pub const LOGICAL_NC_CONFIG: &str = "NEURON_LOGICAL_NC_CONFIG";
    /// The same, the older name; looked at when the first one is unset.
    pub const VIRTUAL_CORE_SIZE: &str = "NEURON_RT_VIRTUAL_CORE_SIZE";
    /// Number of logical cores wanted; 0 = all.
    pub const NUM_CORES: &str = "NEURON_RT_NUM_CORES";
    /// Logical core numbers wanted, a list of numbers and ranges; wins over the count.
    pub const VISIBLE_CORES: &str = "NEURON_RT_VISIBLE_CORES";
    /// Scratchpad page in MiB.
    pub const SCRATCHPAD_PAGE_SIZE: &str = "NEURON_SCRATCHPAD_PAGE_SIZE";
    /// Scratchpad page in MiB when the other one is unset.
    pub const ONE_TMPBUF_PAGE_SIZE: &str = "NEURON_RT_ONE_TMPBUF_PAGE_SIZE_MB";
    /// Scratchpad of an HBM's cores on one core, 0 or 1.
    pub const SCRATCHPAD_SINGLE_CORE: &str = "NEURON_RT_DBG_SCRATCHPAD_ON_SINGLE_CORE";
    /// Contiguous scratchpad, 0 or 1.
    pub const CONTIGUOUS_SCRATCHPAD: &str = "NEURON_RT_DBG_EXPERIMENTAL_CONTIGUOUS_SCRATCHPAD";
    /// Copies without the bounce buffer, 0 or 1.
    pub const ZERO_COPY: &str = "NEURON_RT_DBG_ZEROCOPY";
    /// Largest write in bytes that may go through the PCI window.
    pub const DIRECT_WRITE_SIZE: &str = "NEURON_RT_DBG_DIRECT_BAR4_WRITE_SIZE";
    /// Entries of a device's event ring.
    pub const MEMLOG_MAX_SIZE: &str = "NEURON_RT_DEBUG_MEMLOG_MAX_SIZE";
    /// Memory table with one column per usage instead of one per class, 0 or 1.
    pub const VERBOSE_DEV_MEM: &str = "NEURON_RT_DBG_VERBOSE_DEV_MEM";

    /// All of them, for who has to fetch their values one by one.
    pub const ALL: [&str; 12] = [
        LOGICAL_NC_CONFIG,
        VIRTUAL_CORE_SIZE,
        NUM_CORES,
        VISIBLE_CORES,
        SCRATCHPAD_PAGE_SIZE,
        ONE_TMPBUF_PAGE_SIZE,
        SCRATCHPAD_SINGLE_CORE,
        CONTIGUOUS_SCRATCHPAD,
        ZERO_COPY,
        DIRECT_WRITE_SIZE,
        MEMLOG_MAX_SIZE,
        VERBOSE_DEV_MEM,
    ];
}

/// The logical cores a process asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoreSelection {
    /// Every core of the machine.
    #[default]
    All,
    /// So many, wherever they are free.
    Count(u32),
    /// Exactly these: `count` logical cores from `first` on.
    Exact {
        /// First logical core.
        first: u32,
        /// How many.
        count: u32,
    },
}

/// What the variables say, checked against a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Environment {
    /// Physical cores of a logical core.
    pub logical_core_size: u32,
    /// Which logical cores.
    pub cores: CoreSelection,
    /// Cores are named and counted, so that the count is passed over; init warns of it.
    pub count_ignored: bool,
    /// Scratchpad page in bytes.
    pub scratchpad_page_size: u64,
    /// Scratchpad of an HBM's cores on one core.
    pub scratchpad_on_single_core: bool,
    /// Contiguous scratchpad.
    pub contiguous_scratchpad: bool,
    /// Copies without the bounce buffer.
    pub zero_copy: bool,
    /// Largest write in bytes that may go through the PCI window; `None` = the default of the architecture.
    pub direct_write_bytes: Option<u32>,
    /// Entries wanted in a device's event ring; the storage has a fixed number, and of more there are as many.
    pub ring_entries: Option<u64>,
    /// Memory table by usage instead of by class.
    pub verbose_memory_table: bool,
}

impl Environment {
    /// Reads the variables among `pairs` and checks them against `machine`. Unknown names are passed over; of a name that
    /// occurs twice the first one counts, as with `getenv`.
    ///
    /// # Errors
    /// The first variable, in the order of [`names`], whose value cannot be.
    ///
    /// ```
    /// use nrt_core::driver::Probe;
    /// use nrt_core::environment::{CoreSelection, Environment};
    /// let machine = Probe { arch: nrt_core::Arch::Cayman, revision: 1, devices: 1, cores_per_device: 8, features: 0xFF };
    /// let environment = Environment::parse(&[("NEURON_RT_VISIBLE_CORES", "1-2")], &machine)?;
    /// assert_eq!(environment.cores, CoreSelection::Exact { first: 1, count: 2 });
    ///
    /// let error = Environment::parse(&[("NEURON_RT_VISIBLE_CORES", "0,x")], &machine).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "NEURON_RT_VISIBLE_CORES=\"0,x\": character 3: expected a logical core number; \
    ///      this machine has 1 device of 8 cores, 4 logical cores of size 2"
    /// );
    /// # Ok::<(), nrt_core::environment::EnvironmentError>(())
    /// ```
    pub fn parse(pairs: &[(&str, &str)], machine: &Probe) -> Result<Self, EnvironmentError> {
        Self::parse_on(&Instance::UNKNOWN, pairs, machine)
    }

    /// As [`parse`](Self::parse), on a machine whose kind is known: it may have one logical core size only
    /// ([`Instance::only_logical_core_size`]).
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    ///
    /// ```
    /// use nrt_core::{Arch, driver::Probe, environment::Environment, instance::Instance};
    /// let machine = Probe { arch: Arch::Cayman, revision: 1, devices: 1, cores_per_device: 8, features: 0xFF };
    /// let instance = Instance { only_logical_core_size: Some(2), ..Instance::UNKNOWN };
    /// let error = Environment::parse_on(&instance, &[("NEURON_LOGICAL_NC_CONFIG", "1")], &machine).unwrap_err();
    /// assert!(error.to_string().contains("expected only size 2 on this instance"));
    /// ```
    pub fn parse_on(instance: &Instance, pairs: &[(&str, &str)], machine: &Probe) -> Result<Self, EnvironmentError> {
        let get = |name| get(pairs, name);
        let (size, cores) = Self::cores_on(instance, pairs, machine)?;
        let context = error::Machine::new(machine, size);
        let page = get(names::SCRATCHPAD_PAGE_SIZE).or_else(|| get(names::ONE_TMPBUF_PAGE_SIZE));
        let mebibytes = |mib| (1..=MAX_PAGE_SIZE >> 20).contains(&mib);
        let optional = |entry: Option<_>, expected, fits: &dyn Fn(u64) -> bool| {
            entry.map(|entry| parse::number(entry, &context, expected, fits)).transpose()
        };
        let scratchpad_page_size =
            optional(page, Expected::PageMebibytes, &mebibytes)?.map_or(DEFAULT_PAGE_SIZE, |mib| mib << 20);
        let mut flags = [false; 4];
        let flag_names = [names::SCRATCHPAD_SINGLE_CORE, names::CONTIGUOUS_SCRATCHPAD, names::ZERO_COPY, names::VERBOSE_DEV_MEM];
        for (flag, name) in flags.iter_mut().zip(flag_names) {
            if let Some(entry) = get(name) {
                *flag = parse::flag(entry, &context)?;
            }
        }
        let [scratchpad_on_single_core, contiguous_scratchpad, zero_copy, verbose_memory_table] = flags;
        let window = optional(get(names::DIRECT_WRITE_SIZE), Expected::Bytes32, &|bytes| u32::try_from(bytes).is_ok())?;
        Ok(Self {
            logical_core_size: size,
            cores,
            count_ignored: matches!(cores, CoreSelection::Exact { .. }) && get(names::NUM_CORES).is_some(),
            scratchpad_page_size,
            scratchpad_on_single_core,
            contiguous_scratchpad,
            zero_copy,
            direct_write_bytes: window.map(|bytes| bytes as u32),
            ring_entries: optional(get(names::MEMLOG_MAX_SIZE), Expected::Number, &|_| true)?,
            verbose_memory_table,
        })
    }

    /// Reads only what decides about cores: the logical core size and which logical cores.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), for the first four of the [`names`].
    pub fn cores(pairs: &[(&str, &str)], machine: &Probe) -> Result<(u32, CoreSelection), EnvironmentError> {
        Self::cores_on(&Instance::UNKNOWN, pairs, machine)
    }

    /// As [`cores`](Self::cores), on a machine whose kind is known.
    ///
    /// # Errors
    /// As [`cores`](Self::cores).
    pub fn cores_on(
        instance: &Instance,
        pairs: &[(&str, &str)],
        machine: &Probe,
    ) -> Result<(u32, CoreSelection), EnvironmentError> {
        let get = |name| get(pairs, name);
        let entry = get(names::LOGICAL_NC_CONFIG).or_else(|| get(names::VIRTUAL_CORE_SIZE));
        let size = logical_core_size(entry, instance.only_logical_core_size, machine)?;
        let context = error::Machine::new(machine, size);
        let total = context.logical_cores();
        let visible = get(names::VISIBLE_CORES).map(|entry| parse::core_list(entry, &context, total)).transpose()?.flatten();
        // With a list the count does not matter (`lnc` §6 B), as long as it is one.
        let count = get(names::NUM_CORES)
            .map(|entry| {
                parse::number(entry, &context, Expected::CoreCount { total }, &|n| visible.is_some() || n <= u64::from(total))
            })
            .transpose()?;
        let cores = match (visible, count) {
            (Some((first, count)), _) => CoreSelection::Exact { first, count },
            (None, None | Some(0)) => CoreSelection::All,
            (None, Some(count)) => CoreSelection::Count(whole_devices(count as u32, get(names::NUM_CORES), &context)?),
        };
        Ok((size, cores))
    }
}

/// The first pair of a name, as with `getenv`.
#[inline(never)]
fn get<'a>(pairs: &[(&str, &'a str)], name: &'static str) -> Option<(&'static str, &'a str)> {
    pairs.iter().find(|(found, _)| *found == name).map(|(_, value)| (name, *value))
}

/// `lnc` §4: SUNDA is 1 whatever is set; else the value, or 2 (1 on devices with one core).
fn logical_core_size(
    entry: Option<(&'static str, &str)>,
    instance: Option<u32>,
    machine: &Probe,
) -> Result<u32, EnvironmentError> {
    let size = |asked| lnc::logical_core_size(machine.arch, machine.cores_per_device, instance, asked);
    let default = size(None).unwrap_or(1);
    let Some(entry) = entry else { return Ok(default) };
    if machine.arch == crate::Arch::Sunda {
        return Ok(default);
    }
    let context = error::Machine::new(machine, default);
    let possible = |n: u64| u32::try_from(n).is_ok_and(|n| size(Some(n)).is_ok());
    let expected = match instance {
        Some(only) => Expected::InstanceCoreSize { only },
        None => Expected::CoreSize { only: if possible(2) { None } else { Some(1) } },
    };
    parse::number(entry, &context, expected, &possible).map(|n| n as u32)
}

/// `lnc` §6 A3: beyond SUNDA a count is one logical core or whole devices.
fn whole_devices(count: u32, entry: Option<(&'static str, &str)>, machine: &error::Machine) -> Result<u32, EnvironmentError> {
    let cores = count.saturating_mul(machine.logical_core_size);
    let fits = machine.arch == crate::Arch::Sunda || count == 1 || cores.is_multiple_of(machine.cores_per_device);
    match entry {
        Some(entry) if !fits => Err(EnvironmentError::new(entry, 0, Expected::WholeDevices, machine)),
        _ => Ok(count),
    }
}

const _: () = assert!(MAX_CORES <= 256, "core lists are kept in 256 bits");

#[cfg(test)]
mod tests;
