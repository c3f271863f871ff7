//! The list of devices: asked, and printed.

use nrt_linux::env::Env;
use nrt_linux::neuron::{Holders, LinuxDriver, Selection, sysfs};

use super::print;
use super::say::say;
use super::{device, environment};
use crate::cli::{Exit, Info};
use crate::info::{self, Device, Machine};

/// Prints what there is to tell about the devices.
///
/// # Errors
/// [`Exit::NoDevice`] when there is none or it cannot be opened, [`Exit::Usage`] for an environment that cannot be; said.
pub(super) fn tell(wanted: &Info, env: &Env<'_>) -> Result<Exit, Exit> {
    let selection = wanted.device.map_or(Selection::All, Selection::one);
    let driver = device::connected(LinuxDriver::connect(selection))?;
    let logical_core_size = environment::read(env, &device::probe(&driver)?, None)?.logical_core_size;
    let found = driver.machine();
    let holders = Holders::of(driver.system(), found.nodes);
    let look = |number| {
        // Where the driver lets nobody in, that is said, and the list says whose size it shows.
        let attached = wanted.attach
            && driver.attach(number).map_err(|fault| say(format_args!("--attach: device {number}: {fault}"))).is_ok();
        // It is one of the connection's, in the process that connected.
        let info = driver.info(number).ok()?;
        if attached {
            // Nothing is mapped and no request is under way.
            let _ = driver.detach(number);
        }
        Some(Device { info, held: driver.held_cores(number).ok() })
    };
    let instance = sysfs::attribute(driver.system(), found.first_node(), "info/architecture/instance_type");
    let machine =
        Machine { instance: instance.as_deref(), arch: found.arch, version: found.version, logical_core_size, holders: &holders };
    let devices = (0..found.devices()).filter_map(look);
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
