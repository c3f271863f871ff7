//! What the driver shows in `/sys` (`driver-abi` §2, §16).

use core::fmt;

use nrt_core::arch::Arch;

use crate::config::{Routing, SimConfig};
use crate::counters::Counter;
use crate::device::CategoryUsage;
use crate::kernel::Kernel;
use crate::resources;

/// Major number of the devices; the driver's is dynamic.
pub const MAJOR: u32 = 240;

/// Categories of device memory by name. 11 and 19 are one.
const OF_DEVICE: [(&str, u32); 11] = [
    ("model_code", 8),
    ("tensors", 9),
    ("constants", 10),
    ("model_shared_scratchpad", 11),
    ("runtime_memory", 12),
    ("driver_memory", 13),
    ("collectives", 14),
    ("nonshared_scratchpad", 15),
    ("notifications", 16),
    ("dma_rings", 18),
    ("uncategorized", 7),
];

/// Categories of host memory by name.
const OF_HOST: [(&str, u32); 8] = [
    ("dma_buffers", 1),
    ("tensors", 2),
    ("constants", 3),
    ("application_memory", 4),
    ("driver_memory", 5),
    ("notifications", 6),
    ("dma_rings", 17),
    ("uncategorized", 0),
];

/// Name of a counted category.
#[must_use]
pub fn category_name(host: bool, category: u32) -> &'static str {
    let table: &[(&str, u32)] = if host { &OF_HOST } else { &OF_DEVICE };
    table.iter().find(|(_, number)| *number == category).map_or("uncategorized", |(name, _)| name)
}

/// Permissions of the attribute at `path` below the device's directory. Drivers up to 2.27, which are all that are modelled,
/// show the number of cores and the neighbours to their owner only.
#[must_use]
pub fn attribute_mode(path: &str) -> u32 {
    match path {
        "reset" => 0o600,
        "uevent" => 0o644,
        "core_count" | "connected_devices" => 0o400,
        _ => 0o444,
    }
}

/// Gets the path of each attribute below the device's directory, and its text.
pub type Visitor<'a> = dyn FnMut(fmt::Arguments<'_>, fmt::Arguments<'_>) + 'a;

/// Names of the architecture, the instance type and the device; of a core.
fn names(config: &SimConfig) -> [&'static str; 4] {
    match (config.arch, config.routing) {
        (Arch::Sunda, Routing::Torus) => ["NDv2", "Trn1", "Trainium1", "NCv2"],
        (Arch::Sunda, Routing::Identity) => ["NDv3", "Inf2", "Inferentia2", "NCv2"],
        (Arch::Cayman, _) => ["NDv3", "Trn2", "Trainium2", "NCv3"],
        (Arch::Mariana, _) => ["NDv4", "Trn3", "Trainium3", "NCv4"],
    }
}

/// Neighbours with commas between them.
struct Neighbours(&'static [u8]);

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, neighbour) in self.0.iter().enumerate() {
            write!(f, "{}{neighbour}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl Kernel {
    /// Value of one memory counter; 0 for a device that does not exist.
    #[must_use]
    pub fn counter(&self, device: u32, counter: Counter) -> CategoryUsage {
        self.device(device).map(|state| state.counters.get(counter)).unwrap_or_default()
    }

    /// Shows every attribute of a device in turn: its path below `/sys/class/neuron_device/neuronN` and its text.
    pub fn attributes(&self, device: u32, visit: &mut Visitor<'_>) {
        let config = self.config();
        if device >= config.devices {
            return;
        }
        let [arch, instance, name, core_arch] = names(config);
        visit(format_args!("core_count"), format_args!("{}", config.cores_per_device));
        let neighbours = Neighbours(resources::neighbours(config, device));
        visit(format_args!("connected_devices"), format_args!("{neighbours}\n"));
        visit(format_args!("dev"), format_args!("{MAJOR}:{device}\n"));
        visit(format_args!("uevent"), format_args!("MAJOR={MAJOR}\nMINOR={device}\nDEVNAME=neuron{device}\n"));
        visit(format_args!("reset"), format_args!("1\n"));
        visit(format_args!("info/serial_number"), format_args!("{:016x}\n", 0x5566_7788_1122_3344 + u64::from(device)));
        visit(format_args!("info/notify_delay"), format_args!("-1\n"));
        visit(format_args!("info/architecture/arch_type"), format_args!("{arch}\n"));
        visit(format_args!("info/architecture/instance_type"), format_args!("{instance}\n"));
        visit(format_args!("info/architecture/device_name"), format_args!("{name}\n"));
        for (name, category) in OF_HOST {
            let path = format_args!("stats/memory_usage/host_mem/{name}");
            self.counter_files(device, path, Counter::Host { category }, visit);
        }
        for core in 0..config.cores_per_device {
            let base = format_args!("neuron_core{core}/stats/memory_usage");
            self.counter_files(device, format_args!("{base}/host_mem"), Counter::CoreHost { core }, visit);
            self.counter_files(device, format_args!("{base}/device_mem"), Counter::CoreDevice { core }, visit);
            for (name, category) in OF_DEVICE {
                let counter = Counter::CoreDeviceCategory { core, category };
                self.counter_files(device, format_args!("{base}/device_mem/{name}"), counter, visit);
            }
            visit(format_args!("neuron_core{core}/info/architecture/arch_type"), format_args!("{core_arch}\n"));
        }
    }

    /// The three files of a counter. Their names mislead: `present` is the size of the last change.
    fn counter_files(&self, device: u32, place: fmt::Arguments<'_>, counter: Counter, visit: &mut Visitor<'_>) {
        let usage = self.counter(device, counter);
        for (name, value) in [("total", usage.bytes), ("present", usage.last_change), ("peak", usage.peak)] {
            visit(format_args!("{place}/{name}"), format_args!("{value}\n"));
        }
    }
}
