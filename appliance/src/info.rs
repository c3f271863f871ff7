//! What there is to tell about the devices, in the words of `neuron-ls`: as a table with lines below it, or as one JSON
//! object.
//!
//! | key | value |
//! | --- | --- |
//! | `instance_type`, `architecture`, `driver_version` | of the machine; `null` when the driver does not tell |
//! | `logical_neuroncore_config` | physical cores of a logical core |
//! | `neuron_devices[]` | one object for each device |
//! | `.neuron_device`, `.device_name`, `.bdf` | number of the node, product name, place on the PCI bus |
//! | `.connected_to` | numbers of the neighbours; `null` when the driver does not tell this user |
//! | `.nc_count`, `.logical_nc_count` | cores, logical cores |
//! | `.hbm_size_source` | who tells the sizes: `driver` (with `--attach`, where it answers) or `architecture` |
//! | `.memory_size`, `.memory_used` | bytes of all HBM; used by all processes, without the firmware's part |
//! | `.hbm[].memory_size`, `.memory_used` | the same for each HBM |
//! | `.held_ncs` | cores that a process reserved; `null` when the driver does not answer |
//! | `.neuron_processes[].pid`, `.command` | processes that have the device open |
//! | `.neuron_processes[].reserves_cores` | whether it has a descriptor open that reservations hang on |
//! | `hidden_processes`, `more_processes` | processes this user may not look into; processes beyond the list's room |

use core::fmt::{self, Display, Write};

use heapless::String;
use nrt_core::arch::Arch;
use nrt_linux::neuron::{CoreMap, DeviceInfo, DriverVersion, Holder, Holders};

use crate::json_out::JsonWriter;
use crate::table::Size;

/// What all devices share.
#[derive(Clone, Debug)]
pub struct Machine<'a> {
    /// Instance type, if the driver tells.
    pub instance: Option<&'a str>,
    /// Architecture.
    pub arch: Arch,
    /// Version of the driver, if it can be read.
    pub version: Option<DriverVersion>,
    /// Physical cores of a logical core.
    pub logical_core_size: u32,
    /// Processes that have devices open.
    pub holders: &'a Holders,
}

/// One device.
#[derive(Clone, Debug)]
pub struct Device {
    /// What it is.
    pub info: DeviceInfo,
    /// Cores of it that are reserved, if the driver answers.
    pub held: Option<CoreMap>,
}

impl Device {
    /// Bytes in use on all HBM, if all are told.
    fn used(&self) -> Option<u64> {
        self.info.channel_used.iter().take(self.info.channels as usize).try_fold(0, |sum, used| Some(sum + (*used)?))
    }

    fn size(&self) -> u64 {
        u64::from(self.info.channels) * self.info.channel_bytes
    }

    /// The processes that have this device open.
    fn holders<'h>(&self, machine: &Machine<'h>) -> impl Iterator<Item = &'h Holder> + use<'h> {
        let node = self.info.node;
        machine.holders.list.iter().filter(move |holder| holder.nodes >> node & 1 != 0)
    }
}

/// A value, or a word for its absence.
struct Known<T>(Option<T>);

impl<T: Display> Display for Known<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("unknown"),
        }
    }
}

/// A place on the PCI bus.
struct Bdf((u32, u32, u8, u8));

impl Display for Bdf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (domain, bus, slot, function) = self.0;
        write!(f, "{domain:04x}:{bus:02x}:{slot:02x}.{function:x}")
    }
}

/// Neighbours of a device, bit i for device i.
struct Neighbours(u64);

impl Neighbours {
    /// Their numbers in order.
    fn numbers(map: u64) -> impl Iterator<Item = u64> {
        (0..64).filter(move |index| map >> index & 1 != 0)
    }
}

impl Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for number in Self::numbers(self.0) {
            write!(f, "{separator}{number}")?;
            separator = ",";
        }
        if separator.is_empty() { f.write_str("none") } else { Ok(()) }
    }
}

/// Widths of all columns but the last, which is as wide as it is.
const WIDTHS: [usize; 7] = [8, 8, 9, 12, 12, 12, 14];

/// One line of the table.
fn line(out: &mut dyn Write, cells: [&dyn Display; 8]) -> fmt::Result {
    for (column, cell) in cells.into_iter().enumerate() {
        let Some(width) = WIDTHS.get(column) else {
            writeln!(out, "{cell}")?;
            continue;
        };
        let mut text = String::<256>::new();
        // The longest cell has 64 neighbours of two digits.
        write!(text, "{cell}")?;
        out.write_str(&text)?;
        // One blank at least, also behind a cell that is wider than its column.
        (text.len()..*width.max(&text.len()) + 1).try_for_each(|_| out.write_char(' '))?;
    }
    Ok(())
}

/// Writes the lines above the devices.
///
/// # Errors
/// The sink refused the text.
pub fn write_head(machine: &Machine<'_>, out: &mut dyn Write) -> fmt::Result {
    writeln!(
        out,
        "instance type {}, architecture {}, driver {}, logical core size {}",
        Known(machine.instance),
        machine.arch,
        Known(machine.version),
        machine.logical_core_size
    )?;
    line(out, [&"NEURON", &"NEURON", &"LOGICAL", &"NEURON", &"MEMORY", &"CONNECTED", &"PCI", &"HELD"])?;
    line(out, [&"DEVICE", &"CORES", &"CORES", &"MEMORY", &"USED", &"DEVICES", &"BDF", &"CORES"])
}

/// Writes a device: its line, one for each HBM, one for each process that has it open.
///
/// # Errors
/// The sink refused the text.
pub fn write_device(machine: &Machine<'_>, device: &Device, out: &mut dyn Write) -> fmt::Result {
    let info = &device.info;
    line(
        out,
        [
            &info.node,
            &info.cores,
            &(info.cores / machine.logical_core_size.max(1)),
            &Size(device.size()),
            &Known(device.used().map(Size)),
            &Known(info.neighbours.map(Neighbours)),
            &Known(info.bdf.map(Bdf)),
            &Known(device.held),
        ],
    )?;
    for (channel, used) in info.channel_used.iter().take(info.channels as usize).enumerate() {
        let (size, source) = (Size(info.channel_bytes), info.channel_bytes_source.name());
        writeln!(out, "  HBM {channel}: {size} (by {source}), used {}", Known(used.map(Size)))?;
    }
    for holder in device.holders(machine) {
        let what = if holder.misc { "may hold cores" } else { "holds no cores" };
        writeln!(out, "  process {} ({}) {what}", holder.pid, holder.name)?;
    }
    Ok(())
}

/// Writes the lines below the devices: what this user was not shown.
///
/// # Errors
/// The sink refused the text.
pub fn write_foot(machine: &Machine<'_>, out: &mut dyn Write) -> fmt::Result {
    let Holders { hidden, more, .. } = *machine.holders;
    if more != 0 {
        writeln!(out, "{more} more processes have devices open")?;
    }
    if hidden != 0 {
        writeln!(out, "{hidden} processes could not be looked into; root sees all")?;
    }
    Ok(())
}

fn optional(json: &mut JsonWriter<'_>, key: &str, number: Option<u64>) -> fmt::Result {
    json.key(key)?;
    match number {
        Some(number) => json.number(number),
        None => json.null(),
    }
}

fn word(json: &mut JsonWriter<'_>, key: &str, value: Option<&dyn Display>) -> fmt::Result {
    json.key(key)?;
    match value {
        Some(value) => json.display(format_args!("{value}")),
        None => json.null(),
    }
}

fn numbers(json: &mut JsonWriter<'_>, key: &str, list: Option<impl Iterator<Item = u64>>) -> fmt::Result {
    json.key(key)?;
    let Some(mut list) = list else { return json.null() };
    json.begin_array()?;
    list.try_for_each(|number| json.number(number))?;
    json.end_array()
}

/// Writes everything as one JSON object on one line, without a line end.
///
/// # Errors
/// The sink refused the text.
pub fn write_json(machine: &Machine<'_>, devices: impl Iterator<Item = Device>, out: &mut dyn Write) -> fmt::Result {
    let json = &mut JsonWriter::new(out);
    json.begin_object()?;
    word(json, "instance_type", machine.instance.as_ref().map(|name| name as &dyn Display))?;
    word(json, "architecture", Some(&machine.arch))?;
    word(json, "driver_version", machine.version.as_ref().map(|version| version as &dyn Display))?;
    optional(json, "logical_neuroncore_config", Some(machine.logical_core_size.into()))?;
    json.key("neuron_devices")?;
    json.begin_array()?;
    for device in devices {
        write_json_device(machine, &device, json)?;
    }
    json.end_array()?;
    optional(json, "hidden_processes", Some(machine.holders.hidden.into()))?;
    optional(json, "more_processes", Some(machine.holders.more.into()))?;
    json.end_object()
}

fn write_json_device(machine: &Machine<'_>, device: &Device, json: &mut JsonWriter<'_>) -> fmt::Result {
    let info = &device.info;
    json.begin_object()?;
    optional(json, "neuron_device", Some(info.node.into()))?;
    word(json, "device_name", info.name.as_ref().map(|name| name as &dyn Display))?;
    let bdf = info.bdf.map(Bdf);
    word(json, "bdf", bdf.as_ref().map(|bdf| bdf as &dyn Display))?;
    numbers(json, "connected_to", info.neighbours.map(Neighbours::numbers))?;
    optional(json, "nc_count", Some(info.cores.into()))?;
    optional(json, "logical_nc_count", Some((info.cores / machine.logical_core_size.max(1)).into()))?;
    word(json, "hbm_size_source", Some(&info.channel_bytes_source.name()))?;
    optional(json, "memory_size", Some(device.size()))?;
    optional(json, "memory_used", device.used())?;
    json.key("hbm")?;
    json.begin_array()?;
    for used in info.channel_used.iter().take(info.channels as usize) {
        json.begin_object()?;
        optional(json, "memory_size", Some(info.channel_bytes))?;
        optional(json, "memory_used", *used)?;
        json.end_object()?;
    }
    json.end_array()?;
    numbers(json, "held_ncs", device.held.map(|cores| cores.iter().map(u64::from)))?;
    json.key("neuron_processes")?;
    json.begin_array()?;
    for holder in device.holders(machine) {
        json.begin_object()?;
        optional(json, "pid", Some(holder.pid.into()))?;
        word(json, "command", Some(&holder.name))?;
        json.key("reserves_cores")?;
        json.boolean(holder.misc)?;
        json.end_object()?;
    }
    json.end_array()?;
    json.end_object()
}
