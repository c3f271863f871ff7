//! What the driver tells in files (`driver-abi` §2).

use nrt_core::arch::Arch;

use super::system::{KernelPath, System};
use super::version::DriverVersion;

/// Text of an attribute, without the blanks around it.
pub type Attribute = heapless::String<64>;

/// Version of the driver module, `None` when it cannot be read.
pub fn driver_version<S: System>(system: &S) -> Option<DriverVersion> {
    let mut text = [0; 64];
    let used = system.text(c"/sys/module/neuron/version", &mut text).ok()?;
    DriverVersion::parse(&text[..used])
}

/// Text of attribute `name` of device `node`: `None` when it is absent, not readable or not text.
pub fn attribute<S: System>(system: &S, node: u32, name: &str) -> Option<Attribute> {
    let mut text = [0; 64];
    // The class directory links to wherever the device sits; the second is where drivers up to 2.26 put it.
    let used = ["/sys/class/neuron_device", "/sys/devices/virtual/neuron_device"].into_iter().find_map(|directory| {
        system.text(KernelPath::new(format_args!("{directory}/neuron{node}/{name}")).as_c_str(), &mut text).ok()
    })?;
    Attribute::try_from(core::str::from_utf8(text.get(..used)?.trim_ascii()).ok()?).ok()
}

/// An attribute that is a decimal number.
pub fn number<S: System>(system: &S, node: u32, name: &str) -> Option<u64> {
    attribute(system, node, name)?.parse().ok()
}

/// Bytes of device memory in use on core `core`, by everybody. The attribute is called `total`; `present` is the size of
/// the last change. The firmware's part is not in it.
pub fn core_memory<S: System>(system: &S, node: u32, core: u32) -> Option<u64> {
    let mut name = heapless::String::<80>::new();
    core::fmt::write(&mut name, format_args!("neuron_core{core}/stats/memory_usage/device_mem/total")).ok()?;
    number(system, node, &name)
}

/// Bytes of device memory in use on HBM `channel`: what its own cores allocated. Memory that a core took from another
/// HBM is counted at that core.
pub fn channel_memory<S: System>(system: &S, node: u32, arch: Arch, channel: u32) -> Option<u64> {
    let per_hbm = arch.cores_per_hbm();
    (channel * per_hbm..(channel + 1) * per_hbm).map(|core| core_memory(system, node, core)).sum()
}

/// Neighbours of a device, bit i for device i.
pub fn neighbours<S: System>(system: &S, node: u32) -> Option<u64> {
    let text = attribute(system, node, "connected_devices")?;
    text.split(',').map(str::trim_ascii).filter(|part| !part.is_empty()).try_fold(0, |map, part| match part.parse::<u32>() {
        Ok(index) if index < 64 => Some(map | 1 << index),
        _ => None,
    })
}
