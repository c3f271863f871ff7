//! The texts: what, where, and what was expected.

use core::fmt;

use super::{CarveoutRule, Cause, Error, OutOfMemory};
use crate::usage::Location;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.cause)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PoolFull(pool) => write!(f, "the pool of {} is full", pool.name()),
            Self::OutOfMemory(oom) => oom.fmt(f),
            Self::Driver { call, device, errno } => {
                write!(f, "driver request \"{}\" on ND {device} failed: {errno}", call.name())
            }
            Self::HostMemory { size } => write!(f, "no {size} bytes of host memory"),
            Self::UsageNotAllowed { usage, location } => {
                write!(f, "usage {} is not allowed in {} memory", usage.name(), location.name())
            }
            Self::UsageOutOfRange(usage) => write!(f, "usage {usage} does not exist, expected 0 to 21"),
            Self::ZeroSize => f.write_str("the size is 0"),
            Self::Alignment(align) => write!(f, "alignment {align} is not a power of two"),
            Self::ChannelOutOfRange { channel, channels } => {
                write!(f, "HBM channel {channel} does not exist, the device has {channels}")
            }
            Self::OutOfBounds { offset, size, limit } => {
                write!(f, "{size} bytes at offset {offset} do not lie inside {limit} bytes")
            }
            Self::TreeUnset => f.write_str("no context tree is installed"),
            Self::ProcessHasRuntime => f.write_str("a runtime is open in this process already; close it first"),
            Self::TreeSet => f.write_str("a context tree is installed already"),
            Self::DeviceOutOfRange(device) => write!(f, "device index {device} does not exist"),
            Self::DeviceNotInUse(device) => write!(f, "device {device} is not in use by this process"),
            Self::HostDeviceUnknown(device) => write!(f, "the host id of device {device} is not known"),
            Self::CoreOutOfRange(core) => write!(f, "core index {core} does not exist"),
            Self::CoreNotMapped { device, core } => write!(f, "ND{device}:NC{core} is not owned by this process"),
            Self::NotOpen => f.write_str("the runtime is not open"),
            Self::StorageInUse => f.write_str("the storage is claimed by another runtime"),
            Self::Capacity { pool, need, have } => {
                write!(f, "{need} {} are needed, the storage has {have}: take a larger Storage", pool.name())
            }
            Self::Geometry { what, found, limit } => write!(f, "the driver reports {found} {what}, expected 1 to {limit}"),
            Self::VncOutOfRange { vnc, count } => write!(f, "logical core {vnc} does not exist, this process has {count}"),
            Self::CoreSelection { count: 0, have, .. } => {
                write!(f, "no logical core is wanted, expected at least one of the {have} of this machine")
            }
            Self::CoreSelection { first, count, have } => write!(
                f,
                "logical cores {first} to {} are wanted, expected numbers from 0 to {}",
                u64::from(first) + u64::from(count) - 1,
                have.saturating_sub(1)
            ),
            Self::WholeDevices { count, size, cores_per_device } => write!(
                f,
                "{count} logical cores of {size} are neither one logical core nor whole devices of {cores_per_device} cores: \
                 name the cores instead"
            ),
            Self::LogicalCoreNotOwned { number, first, count } => write!(
                f,
                "logical core {number} is not owned by this process, which has {first} to {}",
                u64::from(first) + u64::from(count) - 1
            ),
            Self::LogicalCoreSize { size, cores_per_device, largest } => write!(
                f,
                "logical core size {size} is not possible, expected a power of two from 1 to {largest} that divides {cores_per_device} cores per device"
            ),
            Self::InstanceCoreSize { size, only } => {
                write!(f, "logical core size {size} is not possible, expected only size {only} on this instance")
            }
            Self::UnknownModel(id) => write!(f, "no model {id} is resident on this core"),
            Self::DuplicateModel(id) => write!(f, "model {id} is resident on this core already"),
            Self::StaleHandle => f.write_str("the handle is stale or was never given out"),
            Self::HostTensor => f.write_str("tensors in pinned host memory are not possible on this architecture"),
            Self::Subgraphs { subgraphs, cores } => {
                write!(f, "{subgraphs} subgraphs on a logical core of {cores} cores, expected 1 or {cores}")
            }
            Self::NameTooLong { length, limit } => write!(f, "a name of {length} bytes, expected at most {limit}"),
            Self::Plan(fault) => fault.fmt(f),
            Self::UnknownVariable(id) => write!(f, "the model has no memory for a variable {id}"),
            Self::ScratchpadPageSize(bytes) => write!(f, "scratchpad page size {bytes}, expected 1 to 4294967295"),
            Self::ScratchpadPages { need, limit } => write!(f, "{need} scratchpad pages are needed, a core can have {limit}"),
            Self::ScratchpadPageAddress(pa) => {
                write!(f, "the driver placed a scratchpad page at {pa:#x}, expected a multiple of 4096")
            }
            Self::ScratchpadGap { expected, address } => {
                write!(f, "the driver placed a scratchpad page at {address:#x}, expected {expected:#x} below the one before")
            }
            Self::ScratchpadSpan { offset, size, page_size } => {
                write!(f, "no page of {page_size} bytes holds {size} bytes at arena offset {offset}")
            }
            Self::ScratchpadNeedsHbm { owned, needed } => {
                write!(f, "single-core scratchpad needs the {needed} cores of the HBM, this process owns {owned}")
            }
            Self::Carveout(rule) => match rule {
                CarveoutRule::PartitionStart => f.write_str("EVTACCEL carveout: the partition start must be 0"),
                CarveoutRule::PartitionCount => f.write_str("EVTACCEL carveout: the partition count must be 128"),
                CarveoutRule::Offset => f.write_str("EVTACCEL carveout: the offset must be 0x37ff8"),
                CarveoutRule::Size => f.write_str("EVTACCEL carveout: the size must be 8"),
            },
            Self::Ucode(what) => write!(f, "microcode library: {what}"),
            Self::NoStorage => f.write_str("the tensor has no storage"),
            Self::NoBytes => f.write_str("the tensor has a size but no bytes"),
            Self::NotDeviceMemory => f.write_str("the tensor is plain host memory, expected memory of a device"),
            Self::TensorInUse => f.write_str("others hold the tensor: a run, or a second handle to it"),
            Self::UnknownTensor => f.write_str("the tensor set has no such name"),
            Self::NameWithNul => f.write_str("a name with a NUL in it"),
            Self::Binding { output, index, need: 0, .. } => {
                let direction = if output { "output" } else { "input" };
                write!(f, "{direction} {index} is bound, the model declares {index}")
            }
            Self::Binding { output, index, need, have } => {
                let direction = if output { "output" } else { "input" };
                write!(f, "{direction} {index} needs a tensor of at least {need} bytes, bound are {have}")
            }
            Self::WrongCore { tensor, model } => write!(f, "the tensor lives on logical core {tensor}, the model on {model}"),
            Self::DifferentHbm { source, target } => {
                write!(f, "a device copy from HBM {source} to HBM {target}, expected one HBM")
            }
            Self::DifferentDevices { source, target } => {
                write!(f, "a device copy from ND {source} to ND {target}, expected one device")
            }
            Self::Reentered => f.write_str("an executor or a source of bytes called back into the core that waits for it"),
            Self::WaitsForItself => {
                f.write_str("the calling thread is inside an operation that this one would wait for: it would wait for itself")
            }
            Self::TimedOut(what) => write!(f, "timed out waiting for {what}"),
            Self::Busy { operations, models } => write!(f, "{operations} operations and {models} models are still in use"),
            Self::Source(what) => write!(f, "the source of the bytes failed: {what}"),
            Self::Config { variable, position } => write!(f, "{variable}: bad value at character {}", position + 1),
        }
    }
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no room for {} bytes (alignment: ", self.size)?;
        if self.align > 1 {
            write!(f, "{}", self.align)?;
        } else {
            f.write_str("none")?;
        }
        write!(f, ", usage: {}) in {} memory on ND{}:NC{}", self.usage.name(), self.location.name(), self.device, self.core)?;
        if self.location == Location::Device { write!(f, ", HBM {}", self.channel) } else { Ok(()) }
    }
}
