//! Logical cores: 1 or 2 physical cores that present as one (fact sheet `lnc`).

use core::ptr::{NonNull, null};

use crate::abi::{physical_core_t, virtual_core_t};
use crate::arch::Arch;
use crate::arena::MAX_CORES_PER_VCORE;
use crate::error::{Cause, Error, Result};

/// Settles the logical core size (`lnc` §4). SUNDA is forced to 1 whatever is asked, as in the original.
///
/// # Errors
/// `NRT_INVALID` when the size is 0, not a power of two, larger than 2, does not divide the cores of a device, or is not the
/// `only` one of a restricted kind of instance. The original aborts on the first and on one that does not divide.
pub(crate) fn logical_core_size(arch: Arch, cores_per_device: u32, only: Option<u32>, asked: Option<u32>) -> Result<u32> {
    if arch == Arch::Sunda {
        return Ok(1);
    }
    let size = asked.or(only).unwrap_or(arch.default_logical_core_size(cores_per_device));
    if let Some(only) = only.filter(|&only| only != size) {
        return Err(Error::invalid(Cause::InstanceCoreSize { size, only }));
    }
    let largest = MAX_CORES_PER_VCORE as u32;
    if size == 0 || !size.is_power_of_two() || size > largest || !cores_per_device.is_multiple_of(size) {
        return Err(Error::invalid(Cause::LogicalCoreSize { size, cores_per_device, largest }));
    }
    Ok(size)
}

/// Physical core of slot `slot` in logical core `vnc`.
#[must_use]
pub const fn physical_core(vnc: u32, slot: u32, size: u32) -> u32 {
    vnc * size + slot
}

/// Logical core of physical core `core`; `None` for a size of 0.
#[must_use]
pub const fn logical_core(core: u32, size: u32) -> Option<u32> {
    core.checked_div(size)
}

/// Logical cores that `cores` physical ones make, rounded up; `None` for a size of 0.
#[must_use]
pub const fn logical_core_count(cores: u32, size: u32) -> Option<u32> {
    if size == 0 { None } else { Some(cores.div_ceil(size)) }
}

/// Physical cores of `cores` logical ones.
#[must_use]
pub const fn physical_core_count(cores: u32, size: u32) -> u32 {
    cores * size
}

/// Writes the table of the logical cores `first..first + count`: the position in the table is the index the process uses,
/// the number is that of the machine.
///
/// # Safety
/// `table` has at least `count` records nobody uses.
pub(crate) unsafe fn write_table(table: NonNull<virtual_core_t>, first: u32, count: u32, cores_per_device: u32, size: u32) {
    for vnc in 0..count {
        // SAFETY: `vnc` is inside the table; exclusive by contract.
        unsafe {
            let raw = table.add(vnc as usize).as_ptr();
            let number = first + vnc;
            (*raw).vtpb_idx = vnc;
            (*raw).vtpb = number;
            (*raw).nec_dev_id = number;
            (*raw).num_tpbs = size;
            for slot in 0..MAX_CORES_PER_VCORE as u32 {
                let core: *mut physical_core_t = &raw mut (*raw).tpbs[slot as usize];
                let flat = physical_core(number, slot, size);
                let used = slot < size;
                (*core).device_id = if used { flat / cores_per_device } else { u32::MAX };
                (*core).device_tpb_idx = if used { flat % cores_per_device } else { u32::MAX };
                (*core).vcore = if used { raw.cast_const() } else { null() }.cast_mut();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `lnc` §4: SUNDA is forced to 1; elsewhere 1 and 2, default 2, 1 on one-core devices.
    #[test]
    fn sizes() {
        for asked in [None, Some(0), Some(2), Some(7)] {
            assert_eq!(logical_core_size(Arch::Sunda, 2, None, asked), Ok(1));
        }
        assert_eq!(logical_core_size(Arch::Cayman, 8, None, None), Ok(2));
        assert_eq!(logical_core_size(Arch::Mariana, 8, None, Some(1)), Ok(1));
        assert_eq!(logical_core_size(Arch::Cayman, 1, None, None), Ok(1));
        for bad in [0, 3, 4, 8, u32::MAX] {
            assert!(logical_core_size(Arch::Cayman, 8, None, Some(bad)).is_err(), "{bad}");
        }
        assert!(logical_core_size(Arch::Cayman, 1, None, Some(2)).is_err());
    }

    /// `lnc` §2.
    #[test]
    fn mapping() {
        assert_eq!(physical_core(3, 1, 2), 7);
        assert_eq!(logical_core(7, 2), Some(3));
        assert_eq!(logical_core(7, 1), Some(7));
        assert_eq!(logical_core(7, 0), None);
        assert_eq!([logical_core_count(7, 2), logical_core_count(8, 2), logical_core_count(8, 0)], [Some(4), Some(4), None]);
        assert_eq!(physical_core_count(4, 2), 8);
    }
}
