//! What the driver shows in `/dev` and `/sys` (`driver-abi` §2, §16).

use std::fs;

use nrt_core::arch::Arch;
use nrt_sim::{Routing, SimConfig};

use crate::ledger::{Counter, Usage};
use crate::resources;
use crate::world::World;

/// Major number of the devices; the driver's is dynamic.
pub(crate) const MAJOR: u32 = 240;

/// Something with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Device(u32),
    /// Names; a directory's name ends in a slash.
    Directory(Vec<String>),
    File(String),
    /// It would be the driver's, but there is none.
    Missing,
}

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
pub(crate) const OF_HOST: [(&str, u32); 8] = [
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
pub(crate) fn category_name(host: bool, category: u32) -> &'static str {
    let table: &[(&str, u32)] = if host { &OF_HOST } else { &OF_DEVICE };
    table.iter().find(|(_, number)| *number == category).map_or("uncategorized", |(name, _)| name)
}

/// The node at an absolute path, `None` when it is not the driver's business.
pub(crate) fn node(world: &World, path: &str) -> Option<Node> {
    let config = world.kernel.config();
    if path == "/dev" {
        let host = fs::read_dir(path).into_iter().flatten().flatten();
        let names = host.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            index(&name).is_none().then(|| if directory { format!("{name}/") } else { name })
        });
        return Some(Node::Directory(names.chain((0..config.devices).map(|index| format!("neuron{index}"))).collect()));
    }
    if let Some(name) = path.strip_prefix("/dev/") {
        let index = index(name)?;
        return Some(if index < config.devices { Node::Device(index) } else { Node::Missing });
    }
    let version = || format!("{}\n", config.version.text());
    match path {
        "/sys/module/neuron" => return Some(Node::Directory(vec!["version".into()])),
        "/sys/module/neuron/version" => return Some(Node::File(version())),
        _ => {}
    }
    let roots = ["/sys/class/neuron_device", "/sys/devices/virtual/neuron_device"];
    let rest = roots.iter().find_map(|root| path.strip_prefix(root))?;
    if rest.is_empty() {
        return Some(Node::Directory((0..config.devices).map(|index| format!("neuron{index}/")).collect()));
    }
    let (name, rest) = rest.strip_prefix('/')?.split_once('/').unwrap_or((&rest[1..], ""));
    let Some(index) = index(name).filter(|&index| index < config.devices) else { return Some(Node::Missing) };
    Some(attribute(world, index, rest))
}

/// Index in the name of a device.
fn index(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("neuron")?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The attribute or directory of a device.
fn attribute(world: &World, device: u32, path: &str) -> Node {
    let all = attributes(world, device);
    if let Some((_, text)) = all.iter().find(|(name, _)| name == path) {
        return Node::File(text.clone());
    }
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let mut names: Vec<String> = all
        .iter()
        .filter_map(|(name, _)| name.strip_prefix(&prefix))
        .map(|rest| rest.split_once('/').map_or_else(|| rest.to_owned(), |(first, _)| format!("{first}/")))
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() { Node::Missing } else { Node::Directory(names) }
}

/// Names of the architecture, the instance type and the device; of a core.
fn names(config: &SimConfig) -> [&'static str; 4] {
    match (config.arch, config.routing) {
        (Arch::Sunda, Routing::Torus) => ["NDv2", "Trn1", "Trainium1", "NCv2"],
        (Arch::Sunda, Routing::Identity) => ["NDv3", "Inf2", "Inferentia2", "NCv2"],
        (Arch::Cayman, _) => ["NDv3", "Trn2", "Trainium2", "NCv3"],
        (Arch::Mariana, _) => ["NDv4", "Trn3", "Trainium3", "NCv4"],
    }
}

/// All attributes of a device.
fn attributes(world: &World, device: u32) -> Vec<(String, String)> {
    let config = world.kernel.config();
    let [arch, instance, name, core_arch] = names(config);
    let neighbours: Vec<String> = resources::neighbours(config, device).iter().map(ToString::to_string).collect();
    let mut all = vec![
        ("core_count".to_owned(), config.cores_per_device.to_string()),
        ("connected_devices".to_owned(), format!("{}\n", neighbours.join(", "))),
        ("dev".to_owned(), format!("{MAJOR}:{device}\n")),
        ("reset".to_owned(), "1\n".to_owned()),
        ("info/serial_number".to_owned(), format!("{:016x}\n", 0x5566_7788_1122_3344 + u64::from(device))),
        ("info/notify_delay".to_owned(), "-1\n".to_owned()),
        ("info/architecture/arch_type".to_owned(), format!("{arch}\n")),
        ("info/architecture/instance_type".to_owned(), format!("{instance}\n")),
        ("info/architecture/device_name".to_owned(), format!("{name}\n")),
    ];
    let ledger = world.ledger.borrow();
    let mut count = |place: String, counter: Counter| {
        let Usage { bytes, last, peak } = ledger.usage(&counter);
        for (name, value) in [("total", bytes), ("present", last), ("peak", peak)] {
            all.push((format!("{place}/{name}"), format!("{value}\n")));
        }
    };
    for (name, category) in OF_HOST {
        let counter = Counter { device, core: None, host: true, category: Some(category) };
        count(format!("stats/memory_usage/host_mem/{name}"), counter);
    }
    for core in 0..config.cores_per_device {
        let base = format!("neuron_core{core}/stats/memory_usage");
        count(format!("{base}/host_mem"), Counter { device, core: Some(core), host: true, category: None });
        count(format!("{base}/device_mem"), Counter { device, core: Some(core), host: false, category: None });
        for (name, category) in OF_DEVICE {
            let counter = Counter { device, core: Some(core), host: false, category: Some(category) };
            count(format!("{base}/device_mem/{name}"), counter);
        }
    }
    for core in 0..config.cores_per_device {
        all.push((format!("neuron_core{core}/info/architecture/arch_type"), format!("{core_arch}\n")));
    }
    all
}
