//! What the driver shows in `/dev` and `/sys`, by path.

use std::fs;
use std::path::{Path, PathBuf};

use nrt_sim::sysfs;

use crate::world::World;

/// Where the devices are.
const DEVICES: &str = "/dev";
/// The driver's class; its entries are links.
const CLASS: &str = "/sys/class/neuron_device";
/// The devices' directories. The driver's devices have no parent.
const VIRTUAL: &str = "/sys/devices/virtual/neuron_device";
const MODULE: &str = "/sys/module/neuron";
/// Names of drivers by number; the host's, with one line more.
pub(crate) const DRIVERS: &str = "/proc/devices";
/// The link from a device's directory to its class.
const SUBSYSTEM: (&str, &str) = ("subsystem", "../../../../class/neuron_device");

/// The kinds of what has a name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Device,
    Directory,
    File,
    Link,
}

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// Something with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Device(u32),
    /// A directory of the driver's.
    Directory(Vec<Entry>),
    /// A directory of the host's, in which the driver has these.
    Shared(Vec<Entry>),
    /// Its text and permissions.
    File(String, u32),
    /// A link, to this path.
    Link(String),
    /// It would be the driver's, but there is none.
    Missing,
}

/// Entries of one kind.
fn entries(kind: Kind, names: impl IntoIterator<Item = String>) -> Vec<Entry> {
    names.into_iter().map(|name| Entry { name, kind }).collect()
}

/// Names of the devices.
fn names(world: &World) -> impl Iterator<Item = String> {
    (0..world.kernel.config().devices).map(|index| format!("neuron{index}"))
}

/// The node at an absolute path without links in front of the last name; `None` when it is not the driver's business.
pub(crate) fn node(world: &World, path: &str) -> Option<Node> {
    let devices = world.kernel.config().devices;
    let one = |kind, name: &str| entries(kind, [name.to_owned()]);
    match path {
        DEVICES => return Some(Node::Shared(entries(Kind::Device, names(world)))),
        "/sys/class" | "/sys/devices/virtual" => return Some(shared(path, one(Kind::Directory, "neuron_device"))),
        "/sys/module" => return Some(shared(path, one(Kind::Directory, "neuron"))),
        MODULE => return Some(Node::Directory(one(Kind::File, "version"))),
        "/sys/module/neuron/version" => return Some(Node::File(format!("{}\n", world.kernel.config().version.text()), 0o444)),
        DRIVERS => return fs::read_to_string(DRIVERS).ok().map(|host| Node::File(drivers(&host), 0o444)),
        CLASS => return Some(Node::Directory(entries(Kind::Link, names(world)))),
        VIRTUAL => return Some(Node::Directory(entries(Kind::Directory, names(world)))),
        _ => {}
    }
    if let Some(name) = path.strip_prefix("/dev/") {
        let index = index(name)?;
        return Some(if index < devices { Node::Device(index) } else { Node::Missing });
    }
    let known = |name: &str| index(name).filter(|&index| index < devices);
    if let Some(name) = below(path, CLASS) {
        let link = |index| Node::Link(format!("../../devices/virtual/neuron_device/neuron{index}"));
        return Some(known(name).map_or(Node::Missing, link));
    }
    if let Some(rest) = below(path, VIRTUAL) {
        let (name, rest) = rest.split_once('/').unwrap_or((rest, ""));
        return Some(known(name).map_or(Node::Missing, |index| attribute(world, index, rest)));
    }
    below(path, MODULE).map(|_| Node::Missing)
}

/// The device whose state an attribute tells.
pub(crate) fn told_by(path: &str) -> Option<u32> {
    index(below(path, VIRTUAL)?.split('/').next()?)
}

/// What is at one step of a way through directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The host's business.
    Host,
    /// A directory or file of the driver's, or nothing.
    Own,
    Device,
    Link(PathBuf),
}

/// What is at an absolute path without links in front of the last name.
pub(crate) fn step(world: &World, path: &str) -> Step {
    if path.ends_with(SUBSYSTEM.0)
        && let Some(Node::Link(target)) = node(world, path)
    {
        return Step::Link(target.into());
    }
    if below(path, VIRTUAL).is_some() || below(path, MODULE).is_some() || [CLASS, VIRTUAL, MODULE].contains(&path) {
        return Step::Own;
    }
    if below(path, CLASS).is_none() && below(path, DEVICES).is_none_or(|name| index(name).is_none()) {
        return Step::Host;
    }
    match node(world, path) {
        Some(Node::Device(_)) => Step::Device,
        Some(Node::Link(target)) => Step::Link(target.into()),
        _ => Step::Own,
    }
}

/// The rest of a path below a directory.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    path.strip_prefix(directory)?.strip_prefix('/')
}

/// A directory of the host's, which may have none.
fn shared(path: &str, entries: Vec<Entry>) -> Node {
    if Path::new(path).is_dir() { Node::Shared(entries) } else { Node::Directory(entries) }
}

/// Index in the name of a device.
pub(crate) fn index(name: &str) -> Option<u32> {
    let digits = name.strip_prefix("neuron")?;
    let plain = digits == "0" || !digits.starts_with('0');
    (plain && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// The attribute or directory of a device.
fn attribute(world: &World, device: u32, path: &str) -> Node {
    if path == SUBSYSTEM.0 {
        return Node::Link(SUBSYSTEM.1.to_owned());
    }
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let (mut file, mut found) = (None, Vec::new());
    world.kernel.attributes(device, &mut |name, text| {
        let name = name.to_string();
        if name == path {
            file = Some(text.to_string());
        } else if let Some(rest) = name.strip_prefix(&prefix) {
            found.push(match rest.split_once('/') {
                Some((first, _)) => Entry { name: first.to_owned(), kind: Kind::Directory },
                None => Entry { name: rest.to_owned(), kind: Kind::File },
            });
        }
    });
    if path.is_empty() {
        found.push(Entry { name: SUBSYSTEM.0.to_owned(), kind: Kind::Link });
    }
    found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    found.dedup();
    match file {
        Some(text) => Node::File(text, sysfs::attribute_mode(path)),
        None if found.is_empty() => Node::Missing,
        None => Node::Directory(found),
    }
}

/// The host's list of drivers with ours among those of character devices, which are in the order of their numbers.
fn drivers(host: &str) -> String {
    let ours = format!("{:>3} neuron", sysfs::MAJOR);
    let mut lines: Vec<&str> = host.lines().filter(|line| !line.ends_with(" neuron")).collect();
    let number = |line: &str| line.split_ascii_whitespace().next()?.parse::<u32>().ok();
    let characters = lines.iter().skip(1).take_while(|line| number(line).is_some_and(|number| number <= sysfs::MAJOR)).count();
    lines.insert((1 + characters).min(lines.len()), &ours);
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::{drivers, index};

    #[test]
    fn the_driver_is_in_its_place() {
        let host = "Character devices:\n  1 mem\n240 neuron\n254 x\n\nBlock devices:\n  7 loop\n";
        assert_eq!(drivers(host), host);
        let high = "Character devices:\n  1 mem\n136 pts\n\nBlock devices:\n  7 loop\n";
        assert_eq!(drivers(high), high.replace("pts\n", "pts\n240 neuron\n"));
    }

    #[test]
    fn names_of_devices_are_plain_numbers() {
        for (name, expected) in
            [("neuron0", Some(0)), ("neuron31", Some(31)), ("neuron01", None), ("neuron", None), ("neuron1x", None)]
        {
            assert_eq!(index(name), expected, "{name}");
        }
    }
}
