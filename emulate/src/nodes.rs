//! What the driver shows in `/dev` and `/sys`, by path.

use std::fs;

use crate::world::World;

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
    match path {
        "/sys/module/neuron" => return Some(Node::Directory(vec!["version".into()])),
        "/sys/module/neuron/version" => return Some(Node::File(format!("{}\n", config.version.text()))),
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
    let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
    let (mut file, mut names) = (None, Vec::new());
    world.kernel.attributes(device, &mut |name, text| {
        let name = name.to_string();
        if name == path {
            file = Some(text.to_string());
        } else if let Some(rest) = name.strip_prefix(&prefix) {
            names.push(rest.split_once('/').map_or_else(|| rest.to_owned(), |(first, _)| format!("{first}/")));
        }
    });
    names.sort_unstable();
    names.dedup();
    match file {
        Some(text) => Node::File(text),
        None if names.is_empty() => Node::Missing,
        None => Node::Directory(names),
    }
}
