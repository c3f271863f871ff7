//! The list of devices: asked, and printed.

use nrt_linux::env::Env;
use nrt_linux::neuron::{Holders, LinuxDriver, Selection};

use super::device;
use super::print;
use super::say::say;
use crate::cli::{Exit, Info};
use crate::info::{self, Device, Machine};

/// Prints what there is to tell about the devices.
///
/// # Errors
/// [`Exit::NoDevice`] when there is none or it cannot be opened, [`Exit::Usage`] for an environment that cannot be; said.
pub(super) fn tell(wanted: &Info, env: &Env<'_>) -> Result<Exit, Exit> {
    let selection = wanted.device.map_or(Selection::All, Selection::one);
    let driver = device::connected(LinuxDriver::connect(selection))?;
    let logical_core_size = device::environment(&driver, env, None)?.logical_core_size;
    let found = driver.machine();
    let holders = Holders::of(driver.system(), found.nodes);
    let look = |number| {
        let info = driver.info(number).map_err(|fault| {
            say(format_args!("device {number}: {fault}"));
            Exit::NoDevice
        })?;
        Ok(Device { info, held: driver.held_cores(number).ok() })
    };
    let first = look(0)?;
    let machine = Machine {
        instance: first.info.instance.as_deref(),
        arch: found.arch,
        version: found.version,
        logical_core_size,
        holders: &holders,
    };
    let devices = (0..found.devices()).filter_map(|number| look(number).ok());
    Ok(print(|out| {
        if wanted.json {
            info::write_json(&machine, devices, out)?;
            return out.write_char('\n');
        }
        info::write_head(&machine, out)?;
        for device in devices {
            info::write_device(&machine, &device, out)?;
        }
        info::write_foot(&machine, out)
    }))
}
