//! Core reservation: how processes share devices (`driver-abi` §8).
//!
//! The driver keeps one table of owners for the whole host. It is advisory, nothing but this module's requests looks at
//! it; runtimes that respect it get disjoint cores.
#![allow(unsafe_code, reason = "sends requests whose structs point to memory")]

use core::fmt;

use nrt_core::driver::Errno;
use nrt_core::environment::CoreSelection;
use rustix::fd::AsFd as _;

use super::choice::{ChoiceError, Geometry, MAX_CORES, Plan};
use super::connect::LinuxDriver;
use super::fault::{Fault, Refusal};
use super::holders::Holders;
use super::system::{Linux, System};
use crate::request::{CrwlNcRangeMark, CrwlNcRangeMarkExt0, CrwlNcRangeUnmark, CrwlNcRangeUnmarkExt0, InPlace, Reply, Request};

/// A set of cores, counted from core 0 of the lowest device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreMap(pub [u64; 8]);

impl CoreMap {
    /// Whether `core` is in the set.
    #[must_use]
    pub fn contains(&self, core: u32) -> bool {
        self.0.get(core as usize / 64).is_some_and(|word| word >> (core % 64) & 1 != 0)
    }

    /// Adds `core`, if it is below 512.
    pub fn insert(&mut self, core: u32) {
        if let Some(word) = self.0.get_mut(core as usize / 64) {
            *word |= 1 << (core % 64);
        }
    }

    /// The cores, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<> {
        let map = *self;
        (0..MAX_CORES).filter(move |&core| map.contains(core))
    }

    /// Number of cores.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 8]
    }
}

impl fmt::Display for CoreMap {
    /// As runs: `0-3,6`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut core = 0;
        while core < MAX_CORES {
            if self.contains(core) {
                let first = core;
                while self.contains(core + 1) {
                    core += 1;
                }
                write!(f, "{separator}{first}")?;
                if core != first {
                    write!(f, "-{core}")?;
                }
                separator = ",";
            }
            core += 1;
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

/// Why cores were not reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CoreError {
    /// The selection cannot be had on this machine: `NRT_INVALID`.
    Choice(ChoiceError),
    /// Not enough free cores in a row: `NRT_FAILURE`. [`LinuxDriver::explain`] finds out who is in the way.
    Busy {
        /// What was wanted.
        plan: Plan,
        /// Longest run the driver found; it does not always find the longest there is.
        longest: u32,
    },
    /// The free cores do not start at a logical core: `NRT_INVALID`. An explicit range helps.
    Unaligned {
        /// First free core.
        start: u32,
        /// Physical cores of a logical core.
        logical_core_size: u32,
    },
    /// This driver reserves the first 64 cores only.
    BeyondSmallMap(Plan),
    /// The request failed.
    Fault(Fault),
}

impl fmt::Display for CoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice(error) => error.fmt(f),
            Self::Busy { plan, longest } => write!(
                f,
                "{} physical cores in a row are wanted among {} to {}, the longest free run has {longest}",
                plan.count, plan.start, plan.end
            ),
            Self::Unaligned { start, logical_core_size } => write!(
                f,
                "the free cores start at {start}, which is not a multiple of the logical core size {logical_core_size}; \
                 name the cores explicitly"
            ),
            Self::BeyondSmallMap(plan) => {
                write!(f, "this driver reserves the first 64 cores only, wanted are {} to {}", plan.start, plan.end)
            }
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for CoreError {}

impl From<ChoiceError> for CoreError {
    fn from(error: ChoiceError) -> Self {
        Self::Choice(error)
    }
}

/// Cores of this process, until it is dropped. (The end of the connection, or of the process, releases them too.)
///
/// It is a [`Driver`](nrt_core::driver::Driver) as well: the devices that hold the cores, so that processes that share a
/// machine each bring up their own. [`runtime_cores`](Self::runtime_cores) are the logical cores to use there.
#[derive(Debug)]
pub struct Reservation<'a, S: System = Linux> {
    pub(super) driver: &'a LinuxDriver<S>,
    pub(super) cores: CoreMap,
    pub(super) logical_core_size: u32,
}

impl<S: System> Reservation<'_, S> {
    /// The physical cores, counted from core 0 of the lowest device.
    #[must_use]
    pub const fn cores(&self) -> CoreMap {
        self.cores
    }

    /// Physical cores of a logical core.
    #[must_use]
    pub const fn logical_core_size(&self) -> u32 {
        self.logical_core_size
    }

    /// First and last logical core.
    #[must_use]
    pub fn logical_cores(&self) -> Option<(u32, u32)> {
        let first = self.cores.iter().next()?;
        Some((first / self.logical_core_size, (first + self.cores.len()) / self.logical_core_size - 1))
    }
}

impl<S: System> Drop for Reservation<'_, S> {
    fn drop(&mut self) {
        // In a forked child the driver ignores cores that are not the child's; no need to trouble it.
        if self.driver.own_process().is_ok() {
            let _ = self.driver.unmark(&self.cores);
        }
    }
}

/// Who is in the way of a reservation.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// What was wanted.
    pub plan: Plan,
    /// Cores of that range that somebody holds.
    pub busy: CoreMap,
    /// Processes that have one of the devices open, as far as this process may look.
    pub holders: Holders,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { count, start, end } = self.plan;
        write!(f, "{count} physical cores among {start} to {end} are wanted; taken: {}; {}", self.busy, self.holders)
    }
}

impl<S: System> LinuxDriver<S> {
    /// Reserves the cores of a selection, as [`Environment`](nrt_core::environment::Environment) reads one.
    ///
    /// # Errors
    /// [`CoreError`]. Nothing is reserved then.
    pub fn reserve(&self, selection: CoreSelection, logical_core_size: u32) -> Result<Reservation<'_, S>, CoreError> {
        let geometry = Geometry {
            arch: self.machine.arch,
            nodes: self.machine.nodes,
            cores_per_device: self.machine.cores_per_device,
            logical_core_size,
        };
        let plan = geometry.resolve(selection)?;
        let cores = self.mark(plan)?;
        let reservation = Reservation { driver: self, cores, logical_core_size };
        // From here on the reservation ends itself when something is wrong with it.
        let start = cores.iter().next().unwrap_or(0);
        geometry.accessible(start, start + plan.count - 1)?;
        if !start.is_multiple_of(logical_core_size) {
            return Err(CoreError::Unaligned { start, logical_core_size });
        }
        Ok(reservation)
    }

    fn mark(&self, plan: Plan) -> Result<CoreMap, CoreError> {
        let Plan { count, start, end } = plan;
        self.own_process().map_err(|refusal| CoreError::Fault(refusal.into()))?;
        // The driver fills in the longest run when it refuses.
        if self.machine.forms.big_core_maps {
            let mut request = CrwlNcRangeMarkExt0::new(count, start, end);
            let answer = self.ask_misc(InPlace(&mut request));
            return answer.map(|reply| CoreMap(reply.bitmap)).map_err(busy(plan, request.argument().max_nc_available));
        }
        // The driver would reserve cores beyond the map without telling which.
        if end >= 64 {
            return Err(CoreError::BeyondSmallMap(plan));
        }
        let mut request = CrwlNcRangeMark::new(count, start, end);
        let answer = self.ask_misc(InPlace(&mut request));
        answer.map(|reply| CoreMap([reply.bitmap, 0, 0, 0, 0, 0, 0, 0])).map_err(busy(plan, request.argument().max_nc_available))
    }

    fn unmark(&self, cores: &CoreMap) -> Result<(), Fault> {
        if self.machine.forms.big_core_maps {
            self.ask_misc(CrwlNcRangeUnmarkExt0::new(cores.0)).map(drop)
        } else {
            self.ask_misc(CrwlNcRangeUnmark::new(cores.0[0])).map(drop)
        }
    }

    /// Makes one request on the misc descriptor.
    pub(super) fn ask_misc<R: Request>(&self, request: R) -> Result<R::Argument, Fault> {
        // SAFETY: the descriptor was opened by this system.
        unsafe { self.system.request(self.misc.as_fd(), request) }
            .map_err(crate::driver_errno)
            .and_then(Reply::done)
            .map_err(|errno| Fault::Driver { request: R::NAME, errno })
    }

    /// Cores of `start..=end` that somebody holds, this process included.
    ///
    /// The driver has no question for it, so every core is reserved for a moment and released. A process that reserves at
    /// that very moment may find a core taken and has to try again.
    ///
    /// # Errors
    /// [`Refusal`] in a forked child, else what the driver answered.
    pub fn busy_cores(&self, start: u32, end: u32) -> Result<CoreMap, Fault> {
        let mut busy = CoreMap::default();
        for core in start..=end.min(MAX_CORES - 1) {
            match self.mark(Plan { count: 1, start: core, end: core }) {
                Ok(cores) => self.unmark(&cores)?,
                Err(CoreError::Busy { .. }) => busy.insert(core),
                Err(CoreError::Fault(fault)) => return Err(fault),
                Err(_) => return Err(Refusal::NoSuchDevice(core / self.machine.cores_per_device).into()),
            }
        }
        Ok(busy)
    }

    /// Finds out who is in the way of a reservation that was refused as busy: the cores, and the processes that have one of
    /// the devices open. `None` for any other error.
    pub fn explain(&self, error: &CoreError) -> Option<Conflict> {
        let CoreError::Busy { plan, .. } = *error else { return None };
        let busy = self.busy_cores(plan.start, plan.end).unwrap_or_default();
        let first = self.machine.first_node();
        let nodes = (plan.start / self.machine.cores_per_device..=plan.end / self.machine.cores_per_device)
            .filter(|device| first + device < 64)
            .fold(0, |nodes, device| nodes | 1 << (first + device));
        Some(Conflict { plan, busy, holders: Holders::of(self.system(), nodes) })
    }
}

/// A refusal as what it means for a reservation.
fn busy(plan: Plan, longest: u32) -> impl FnOnce(Fault) -> CoreError {
    move |fault| match fault.errno() {
        Errno::EBUSY => CoreError::Busy { plan, longest },
        _ => CoreError::Fault(fault),
    }
}
