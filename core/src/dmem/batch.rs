//! Batches: the pieces of many nodes in one request (fact sheet `dmem` §12).

use core::ptr::NonNull;

use crate::abi::dmem_t;
use crate::arch::Arch;
use crate::driver::{BatchOperation, Call, CopyBatch, Driver, Errno, feature};
use crate::error::{Error, Result};
use crate::hooks::Hooks;
use crate::system::System;

use super::range_of;

/// Nodes of one request. The original allocates room for any number; here a longer batch is several requests, which changes
/// nothing that can be observed: a batch is neither atomic nor counted.
const NODES: usize = 32;

/// A node and its pieces.
struct Part<'a> {
    node: NonNull<dmem_t>,
    /// Start of the tensor in the node.
    start: u64,
    operations: &'a [BatchOperation],
}

/// A batch under construction. One request per 32 nodes of one device, where the driver has such requests, else one transfer
/// per piece.
pub(crate) struct DmemBatch<'a, 's, D: Driver, H: Hooks> {
    system: &'s System<D, H>,
    to_device: bool,
    device: u32,
    parts: heapless::Vec<Part<'a>, NODES>,
}

impl<'a, 's, D: Driver, H: Hooks> DmemBatch<'a, 's, D, H> {
    /// Nothing yet; everything goes into the nodes (`to_device`) or out of them.
    pub(crate) const fn new(system: &'s System<D, H>, to_device: bool) -> Self {
        Self { system, to_device, device: 0, parts: heapless::Vec::new() }
    }

    /// Adds pieces of a node that count from `start`; may move what was added before.
    ///
    /// # Errors
    /// `NRT_FAILURE` when the driver fails.
    ///
    /// # Safety
    /// The caller holds a reference to `node` until the batch is finished; the pieces lie inside it; their buffers are valid
    /// as [`Driver::copy_batches`] says.
    pub(crate) unsafe fn push(&mut self, node: NonNull<dmem_t>, start: u64, operations: &'a [BatchOperation]) -> Result<()> {
        // SAFETY: live by contract.
        let device = unsafe { self.system.resolve((*node.as_ptr()).pcore)?.device };
        if self.parts.is_full() || device != self.device {
            // SAFETY: by the contract of the parts.
            unsafe { self.send()? };
            self.device = device;
        }
        let _ = self.parts.push(Part { node, start, operations });
        Ok(())
    }

    /// Moves what was added.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    ///
    /// # Safety
    /// As [`push`](Self::push).
    pub(crate) unsafe fn finish(mut self) -> Result<()> {
        // SAFETY: by contract.
        unsafe { self.send() }
    }

    /// # Safety
    /// As [`push`](Self::push).
    unsafe fn send(&mut self) -> Result<()> {
        let settings = &self.system.settings;
        // SUNDA's driver advertises these requests and refuses them.
        if settings.features & feature::ZEROCOPY != 0 && settings.arch != Arch::Sunda && !self.parts.is_empty() {
            let batches: heapless::Vec<CopyBatch<'_>, NODES> = self
                .parts
                .iter()
                .map(|part| {
                    // SAFETY: a live node by contract; its fields are written before publication.
                    let (range, shift) = unsafe { (range_of(part.node), (*part.node.as_ptr()).align_offset as u64) };
                    CopyBatch { range, offset: part.start + shift, operations: part.operations }
                })
                .collect();
            let window = settings.window_bytes.min(u16::MAX.into()) as u16;
            // SAFETY: the buffers by contract.
            match unsafe { self.system.driver.copy_batches(self.device, &batches, self.to_device, window) } {
                Err(Errno::ENOTSUPP) => {}
                answer => {
                    self.parts.clear();
                    return answer.map_err(|errno| Error::driver(Call::CopyBatches, self.device, errno));
                }
            }
        }
        for part in core::mem::take(&mut self.parts) {
            for operation in part.operations {
                let (at, size) = (part.start + operation.offset, operation.size as usize);
                let buffer = operation.buffer.cast::<u8>();
                // SAFETY: the caller holds a reference to the node and vouches for the buffer.
                unsafe {
                    if self.to_device {
                        self.system.dmem_copy_in(part.node, at, core::slice::from_raw_parts(buffer, size))?;
                    } else {
                        self.system.dmem_copy_out(part.node, at, core::slice::from_raw_parts_mut(buffer, size))?;
                    }
                }
            }
        }
        Ok(())
    }
}
