//! The kernel driver's devices, `/dev/neuron0` to `/dev/neuron63`.
//!
//! [`LinuxDriver::connect`] finds the devices and asks the driver what it can do; the connection is a
//! [`Driver`](nrt_core::driver::Driver) for the core, with a few methods more than the core has a place for.
//!
//! ```no_run
//! use nrt_core::driver::Driver as _;
//! use nrt_linux::neuron::{LinuxDriver, Selection};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let driver = LinuxDriver::connect(Selection::one(0))?;
//! println!("{}: {}", driver.machine().arch, driver.machine().forms);
//! driver.attach(0)?;
//! # Ok(()) }
//! ```
//!
//! # What is never sent
//! The driver trusts its clients in places where it should not (`driver-abi` §21). These requests are refused here, with
//! a [`Refusal`] that says why: anything after a fork; a copy or fill of 0 bytes, which the driver reads as 64 KiB; the
//! contiguous category in host memory; an asynchronous copy above 133,169,152 bytes; offset plus size beyond the range,
//! wrapped sums included; a mapping of a chunk at the very top of an HBM before driver 2.28; closing a device that is
//! mapped. Buffer copies go in pieces of 1 GiB, because the driver counts them with 32 bits.
//!
//! # Error numbers
//! | number | from | means | status of the core |
//! | --- | --- | --- | --- |
//! | `ENOMEM` | allocation in device memory | no room in the HBM | `NRT_RESOURCE` |
//! | `ENOMEM` | allocation in host memory | no contiguous pages left, or more than 4 MiB | `NRT_FAIL_HOST_MEM_ALLOC` |
//! | `ENOMEM` | copy, fill | the copy ring of the core has no free entries | `NRT_FAILURE` |
//! | `EINVAL` | allocation | channel, core, alignment or size out of range; refused here as too wide for the driver | `NRT_FAILURE` |
//! | `EINVAL` | free, copy, query | bad handle, or out of bounds | `NRT_FAILURE` |
//! | `ENOENT` | allocation | the handle table is exhausted | `NRT_FAILURE` |
//! | `EPERM` | copy, fill | the DMA failed or timed out | `NRT_FAILURE` |
//! | `EPERM` | mapping | not a whole chunk | `NRT_FAILURE` |
//! | `EACCES` | any | this process is not attached: a fork, or a duplicated descriptor was closed | `NRT_FAILURE` |
//! | `EBUSY` | open | 16 other processes are attached | `NRT_FAILURE` |
//! | `EBUSY` | close | requests or mappings remain (refused here) | counted, the device stays open |
//! | `EBUSY` | reservation | not enough free cores in a row, see [`CoreError`] | `NRT_FAILURE` |
//! | `EINVAL` | open | the device is in an invalid state | `NRT_FAILURE` |
//! | `EINTR` | open | a signal to end arrived while the device was resetting; not tried again | `NRT_FAILURE` |
//! | `ENODEV` | probe | there is no device | `NRT_INVALID` |
//! | 524 | core map on SUNDA | not supported there | `NRT_FAILURE` |
//! | positive | any | bytes that could not be copied: [`Errno::SHORT`](nrt_core::driver::Errno::SHORT) | `NRT_FAILURE` |
//! | +22 | extended info | bad handle: becomes `EINVAL` | `NRT_FAILURE` |
//!
//! A driver request is never repeated after `EINTR`: an allocation that was interrupted after it took effect would leak.
//! [`status`] is this table as a function.

mod choice;
mod connect;
mod copy;
mod cores;
mod driver;
mod fault;
mod forms;
mod holders;
mod info;
mod memory;
mod slice;
mod slot;
mod status;
pub mod sysfs;
mod system;
mod version;

pub use choice::{ChoiceError, Geometry, MAX_CORES, Plan, variables};
pub use connect::{ConnectError, LinuxDriver, MAX_CORES_PER_DEVICE, MAX_DEVICES, Machine, Selection};
pub use copy::ASYNC_BYTES;
pub use cores::{Conflict, CoreError, CoreMap, Reservation};
pub use fault::{Fault, Refusal};
pub use forms::{AllocForm, BIG_CORE_MAPS, Forms};
pub use holders::{Holder, Holders, MAX_HOLDERS};
pub use info::{Attached, DeviceInfo, MAX_CHANNELS, SizeSource};
pub use status::status;
pub use system::{KernelPath, Kind, Linux, System};
pub use version::{DriverVersion, RuntimeRange};
