//! The memory counters of a device by core and category, which the driver shows in sysfs (`driver-abi` §2, §16).

use crate::device::{CATEGORIES, CategoryUsage, QUEUES, counted_category};

/// Cores that a request may name, whatever the architecture has.
const CORES: usize = QUEUES;

/// Bytes of the page that the driver takes for itself in host memory when it loads.
const DRIVER_PAGE: u64 = 4096;
/// Category of that page.
const DRIVER_HOST: u32 = 5;

/// What a counter counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Host memory of the device, one category.
    Host {
        /// Which one.
        category: u32,
    },
    /// Host memory attributed to a core, all categories.
    CoreHost {
        /// Which one.
        core: u32,
    },
    /// Device memory attributed to a core, all categories.
    CoreDevice {
        /// Which one.
        core: u32,
    },
    /// Device memory attributed to a core, one category.
    CoreDeviceCategory {
        /// Which core.
        core: u32,
        /// Which category.
        category: u32,
    },
}

/// The counters of one core.
#[derive(Clone, Copy)]
struct Core {
    host: CategoryUsage,
    device: CategoryUsage,
    categories: [CategoryUsage; CATEGORIES],
}

/// All counters of a device.
pub(crate) struct Counters {
    host: [CategoryUsage; CATEGORIES],
    cores: [Core; CORES],
}

impl Counters {
    /// The state before initialisation: all zero.
    pub(crate) const fn new() -> Self {
        let none = CategoryUsage { bytes: 0, last_change: 0, peak: 0 };
        Self { host: [none; CATEGORIES], cores: [Core { host: none, device: none, categories: [none; CATEGORIES] }; CORES] }
    }

    /// Counts what the driver has when it has loaded.
    pub(crate) fn load(&mut self) {
        self.count(DRIVER_HOST, true, 0, |usage| usage.add(DRIVER_PAGE));
    }

    /// Changes every counter that a chunk belongs to.
    pub(crate) fn count(&mut self, category: u32, host: bool, core: u32, change: impl Fn(&mut CategoryUsage)) {
        let category = counted_category(category, host);
        // Cores are checked to be below 8.
        let of_core = &mut self.cores[core as usize % CORES];
        if host {
            change(&mut self.host[category]);
            change(&mut of_core.host);
        } else {
            change(&mut of_core.device);
            change(&mut of_core.categories[category]);
        }
    }

    /// One of them; nothing for a core or a category that does not exist.
    pub(crate) fn get(&self, counter: Counter) -> CategoryUsage {
        let core = |core: u32| self.cores.get(core as usize);
        let found = match counter {
            Counter::Host { category } => self.host.get(category as usize).copied(),
            Counter::CoreHost { core: index } => core(index).map(|core| core.host),
            Counter::CoreDevice { core: index } => core(index).map(|core| core.device),
            Counter::CoreDeviceCategory { core: index, category } => {
                core(index).and_then(|core| core.categories.get(category as usize).copied())
            }
        };
        found.unwrap_or_default()
    }
}

impl CategoryUsage {
    /// Counts an allocation.
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.last_change = bytes;
        self.peak = self.peak.max(self.bytes);
    }

    /// Counts a free.
    pub(crate) fn remove(&mut self, bytes: u64) {
        self.bytes -= bytes;
        self.last_change = bytes;
    }
}
