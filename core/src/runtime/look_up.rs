//! From one name of a core or device to the others (fact sheets `lnc` §2, `context-tree` §8). Nothing here takes a lock.
//!
//! An *index* counts the logical cores this process owns; a *number* counts those of the machine the driver shows. A physical
//! core is a pair of device and core of the device.

use crate::driver::Driver;
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::lnc;

use super::{LogicalCore, Runtime};

/// Cores that share an HBM: at most two.
pub type HbmCores = heapless::Vec<u32, 2>;

impl<D: Driver, H: Hooks> Runtime<D, H> {
    /// Number of the first logical core this process owns; it has index 0.
    #[must_use]
    pub fn first_logical_core(&self) -> u32 {
        self.system.settings.first_vcore
    }

    /// The owned logical core with this number (`get_virtual_core_by_id`).
    ///
    /// # Errors
    /// `NRT_INVALID` when this process does not own it, `NRT_CLOSED` after close.
    pub fn core_by_number(&self, number: u32) -> Result<LogicalCore<'_, D, H>> {
        let _inside = self.enter()?;
        let (first, count) = (self.system.settings.first_vcore, self.system.settings.vcores);
        match number.checked_sub(first) {
            Some(vnc) if vnc < count => Ok(LogicalCore { runtime: self, vnc }),
            _ => Err(Error::invalid(Cause::LogicalCoreNotOwned { number, first, count })),
        }
    }

    /// The owned logical core with this `nec_dev_id`: an alternate key, which here is the number.
    ///
    /// # Errors
    /// As [`core_by_number`](Self::core_by_number).
    pub fn core_by_nec_dev_id(&self, id: u32) -> Result<LogicalCore<'_, D, H>> {
        self.core_by_number(id)
    }

    /// The logical core of a physical one, and the position in it (`get_physical_core_index`). Position 0 is the owner.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is no such core or this process does not own it, `NRT_CLOSED` after close.
    pub fn locate(&self, device: u32, core: u32) -> Result<(LogicalCore<'_, D, H>, u32)> {
        let _inside = self.enter()?;
        let core = self.system.tree.resolve(device, core)?;
        let (vnc, relative) = self.system.settings.locate(&core);
        Ok((LogicalCore { runtime: self, vnc }, relative))
    }

    /// Owned cores among those that share the HBM of a core, that core included, by rising number.
    ///
    /// # Errors
    /// As [`locate`](Self::locate).
    pub fn hbm_cores(&self, device: u32, core: u32) -> Result<HbmCores> {
        let _inside = self.enter()?;
        Ok(self.system.hbm_cores(&self.system.tree.resolve(device, core)?))
    }

    /// Position of a core in the flat registry of the tree.
    ///
    /// # Errors
    /// As [`locate`](Self::locate).
    pub fn flat_index(&self, device: u32, core: u32) -> Result<u32> {
        let _inside = self.enter()?;
        let tree = &self.system.tree;
        tree.flat_index(&tree.resolve(device, core)?)
    }

    /// Host id of a device: the number that does not change from container to container.
    ///
    /// # Errors
    /// `NRT_INVALID` when the device is not in use by this process or its host id is not known, `NRT_CLOSED` after close.
    pub fn host_device_id(&self, device: u32) -> Result<u32> {
        let _inside = self.enter()?;
        self.system.tree.host_device_id(device)
    }

    /// The device with this host id.
    ///
    /// # Errors
    /// `NRT_INVALID` when no device in use has it, `NRT_CLOSED` after close.
    pub fn device_by_host_id(&self, host_device_id: u32) -> Result<u32> {
        let _inside = self.enter()?;
        let mla = self.system.tree.mla_by_host_device_id(host_device_id)?;
        // SAFETY: a record of the tree; written during init only.
        Ok(unsafe { (*mla.as_ptr()).device_id })
    }

    /// Routing id of a device; `None` when the map does not name it.
    ///
    /// # Errors
    /// `NRT_INVALID` when the device is not in use by this process, `NRT_CLOSED` after close.
    pub fn routing_id(&self, device: u32) -> Result<Option<u32>> {
        let _inside = self.enter()?;
        let mla = self.system.tree.mla_by_device_id(device)?;
        // SAFETY: a record of the tree; written during init only.
        let id = unsafe { (*mla.as_ptr()).routing_id };
        Ok((id != u32::MAX).then_some(id))
    }
}

impl<D: Driver, H: Hooks> LogicalCore<'_, D, H> {
    /// Number of the core on the machine the driver shows; its [`index`](Self::index) counts owned cores only.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.runtime.system.settings.first_vcore + self.vnc
    }

    /// Physical cores, counted from core 0 of device 0, of one of its slots: `number × size + relative`.
    ///
    /// # Errors
    /// `NRT_INVALID` when `relative` is not below the logical core size.
    pub fn physical_index(&self, relative: u32) -> Result<u32> {
        let size = self.runtime.logical_core_size();
        if relative >= size {
            return Err(Error::invalid(Cause::CoreOutOfRange(relative)));
        }
        Ok(lnc::physical_core(self.number(), relative, size))
    }

    /// Default HBM channel: that of its first physical core.
    ///
    /// # Errors
    /// `NRT_CLOSED` after close.
    pub fn default_channel(&self) -> Result<u32> {
        let (_, core) = self.physical(0)?;
        Ok(self.runtime.arch().default_channel(core))
    }
}
