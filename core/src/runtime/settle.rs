//! What the machine has and what is asked of it, brought together before anything is touched (`lnc` §§4, 6).

use crate::Arch;
use crate::arena::{Arenas, MAX_CORES_PER_DEVICE, MAX_DEVICES};
use crate::driver::{Call, Driver, Errno, Probe, feature};
use crate::environment::{CoreSelection, names};
use crate::error::{Cause, Error, Pool, Result};
use crate::hooks::{Hooks, Level};
use crate::lnc;
use crate::model_db::Taking;
use crate::scratchpad;
use crate::status::Status;
use crate::system::Settings;

use super::Config;

pub(super) fn settle<D: Driver, H: Hooks>(arenas: &Arenas, driver: &D, config: &Config<H>) -> Result<Settings> {
    let probe = driver.probe().map_err(|errno| match errno {
        Errno::ENODEV => Error::invalid(Cause::Driver { call: Call::Probe, device: 0, errno }),
        errno => Error::driver(Call::Probe, 0, errno),
    })?;
    let Probe { arch, devices, cores_per_device, .. } = probe;
    let bounded = |what, found, limit| {
        if found == 0 || found > limit { Err(Error::invalid(Cause::Geometry { what, found, limit })) } else { Ok(()) }
    };
    bounded("devices", devices, MAX_DEVICES as u32)?;
    bounded("cores per device", cores_per_device, MAX_CORES_PER_DEVICE as u32)?;
    let logical_core_size =
        lnc::logical_core_size(arch, cores_per_device, config.instance.only_logical_core_size, config.logical_core_size)?;
    let (first_vcore, vcores) = select(&probe, logical_core_size, config.cores)?;
    if config.count_ignored {
        let (list, count) = (names::VISIBLE_CORES, names::NUM_CORES);
        config.hooks.log(Level::Warn, format_args!("{count} is passed over: {list} names the logical cores"));
    }
    let capacity = |pool, need, have| {
        if need > have { Err(Error::new(Status::Resource, Cause::Capacity { pool, need, have })) } else { Ok(()) }
    };
    capacity(Pool::Models, logical_core_size.into(), arenas.capacities.models as u64)?;
    let ring = u64::from(arenas.ring(0).len);
    let ring_entries = config.ring_entries.unwrap_or(ring);
    if ring_entries > ring {
        // The documented default is 1,048,576: whoever sets it gets what there is, and is told.
        let name = names::MEMLOG_MAX_SIZE;
        config.hooks.log(Level::Warn, format_args!("{name}: {ring_entries} entries are wanted, a device has room for {ring}"));
    }
    let contiguous = scratchpad::contiguous_gate(arch, logical_core_size, probe.features);
    if let (true, Err(why_not)) = (config.contiguous_scratchpad, contiguous) {
        config.hooks.log(Level::Warn, format_args!("no contiguous scratchpad: {why_not}; it is cut into pages"));
    }
    Ok(Settings {
        arch,
        instance: config.instance.settled(arch),
        cores_per_device,
        logical_core_size,
        first_vcore,
        vcores,
        ring_entries: ring_entries.min(ring) as u32,
        scratchpad_page_size: config.scratchpad_page_size,
        scratchpad_on_single_core: config.scratchpad_on_single_core,
        contiguous_scratchpad: config.contiguous_scratchpad && contiguous.is_ok(),
        features: probe.features,
        zero_copy: config.zero_copy && probe.features & feature::ZEROCOPY != 0 && arch != Arch::Sunda,
        window_bytes: config.direct_write_bytes.unwrap_or(arch.direct_write_bytes()),
        verbose_memory_table: config.verbose_memory_table,
        taking: Taking::new(config.look_ups, config.striped_references),
        process_wide: config.process_wide,
    })
}

/// First logical core and how many. A count obeys the rule of implicit selection: one logical core or, beyond SUNDA, whole
/// devices. Asking for zero means all.
fn select(machine: &Probe, size: u32, cores: CoreSelection) -> Result<(u32, u32)> {
    let have = machine.devices * machine.cores_per_device / size;
    let (first, count) = match cores {
        CoreSelection::All | CoreSelection::Count(0) => (0, have),
        CoreSelection::Count(count) => (0, count),
        CoreSelection::Exact { first, count } => (first, count),
    };
    if count == 0 || first.checked_add(count).is_none_or(|end| end > have) {
        return Err(Error::invalid(Cause::CoreSelection { first, count, have }));
    }
    let whole = count == 1 || (count * size).is_multiple_of(machine.cores_per_device);
    if matches!(cores, CoreSelection::Count(_)) && machine.arch != Arch::Sunda && !whole {
        return Err(Error::invalid(Cause::WholeDevices { count, size, cores_per_device: machine.cores_per_device }));
    }
    Ok((first, count))
}
