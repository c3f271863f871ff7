//! Many pieces of many tensors in one request (`tensor` §9.3, `dmem` §12).

use core::marker::PhantomData;

use crate::dmem::{DmemBatch, within};
use crate::driver::{BatchOperation, Driver};
use crate::error::{Cause, Error, Result};
use crate::hooks::Hooks;
use crate::observer::{Operation, Subject, observed};
use crate::system::System;
use crate::usage::Usage;

use super::{Access, Backing, Fence, TensorRef};

/// A piece to write: where in the tensor, and the bytes. The struct of the C interface.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct WritePiece<'a> {
    operation: BatchOperation,
    bytes: PhantomData<&'a [u8]>,
}

impl<'a> WritePiece<'a> {
    /// `bytes`, for `offset` bytes into the tensor.
    #[must_use]
    pub const fn new(offset: u64, bytes: &'a [u8]) -> Self {
        let operation = BatchOperation { offset, size: bytes.len() as u64, buffer: bytes.as_ptr().cast_mut().cast() };
        Self { operation, bytes: PhantomData }
    }
}

/// A piece to read: where in the tensor, and the buffer. The struct of the C interface.
#[derive(Debug)]
#[repr(transparent)]
pub struct ReadPiece<'a> {
    operation: BatchOperation,
    bytes: PhantomData<&'a mut [u8]>,
}

impl<'a> ReadPiece<'a> {
    /// What lies `offset` bytes into the tensor, for `bytes`.
    #[must_use]
    pub const fn new(offset: u64, bytes: &'a mut [u8]) -> Self {
        let operation = BatchOperation { offset, size: bytes.len() as u64, buffer: bytes.as_mut_ptr().cast() };
        Self { operation, bytes: PhantomData }
    }
}

/// A tensor's pieces in the driver's form.
pub(crate) type Pieces<'a> = &'a [BatchOperation];

/// Pieces to write, in the driver's form.
pub(crate) const fn written<'a>(pieces: &'a [WritePiece<'_>]) -> Pieces<'a> {
    // SAFETY: a piece is a transparent wrapper of an operation.
    unsafe { core::slice::from_raw_parts(pieces.as_ptr().cast(), pieces.len()) }
}

/// Pieces to read, in the driver's form.
pub(crate) const fn read<'a>(pieces: &'a [ReadPiece<'_>]) -> Pieces<'a> {
    // SAFETY: as in `written`.
    unsafe { core::slice::from_raw_parts(pieces.as_ptr().cast(), pieces.len()) }
}

impl<D: Driver, H: Hooks> System<D, H> {
    /// Moves the pieces of `count` tensors, of which `item` gives each: into them for [`Access::Write`], else out of them.
    /// Everything is checked, then everything is fenced, then the driver is asked. In order; what was moved before a failure
    /// stays.
    ///
    /// # Errors
    /// `NRT_INVALID` when there is nothing to move, a span is empty or outside its tensor, or a tensor is not memory the
    /// driver knows; `NRT_FAILURE` when the driver fails; what `item` answers.
    ///
    /// # Safety
    /// The buffers of the pieces are valid for their sizes, for reads when the tensors are written and else for writes that
    /// nothing else observes. `item` gives the same each time.
    pub(crate) unsafe fn tensor_batch<'a>(
        &self,
        count: usize,
        item: &mut dyn FnMut(usize) -> Result<(TensorRef, Pieces<'a>)>,
        access: Access,
        fence: Fence,
    ) -> Result<()> {
        let operation = if access == Access::Write { Operation::TensorWriteBatch } else { Operation::TensorReadBatch };
        let bytes = if H::OBSERVED { piece_bytes(count, item) } else { 0 };
        let subject = Subject::plain(bytes, Some(Usage::Tensor), "");
        // SAFETY: by contract.
        observed(&self.hooks, operation, subject, || unsafe { self.tensor_batch_now(count, item, access, fence, bytes) })
    }

    /// # Safety
    /// As [`tensor_batch`](Self::tensor_batch).
    unsafe fn tensor_batch_now<'a>(
        &self,
        count: usize,
        item: &mut dyn FnMut(usize) -> Result<(TensorRef, Pieces<'a>)>,
        access: Access,
        fence: Fence,
        bytes: u64,
    ) -> Result<()> {
        if count == 0 {
            return Err(Error::invalid(Cause::ZeroSize));
        }
        for index in 0..count {
            let (tensor, pieces) = item(index)?;
            let storage = tensor.storage()?;
            // SAFETY: a `TensorRef` keeps its storage.
            if !matches!(unsafe { self.backing(storage) }, Some(Backing::Dmem(_))) {
                return Err(Error::invalid(Cause::NotDeviceMemory));
            }
            if pieces.is_empty() {
                return Err(Error::invalid(Cause::ZeroSize));
            }
            pieces.iter().try_for_each(|piece| within(piece.offset, piece.size, tensor.bytes))?;
        }
        if fence == Fence::Wait {
            for index in 0..count {
                self.fence_wait(&item(index)?.0, access)?;
            }
        }
        let operation = if access == Access::Write { Operation::BatchCopyIn } else { Operation::BatchCopyOut };
        observed(&self.hooks, operation, Subject::plain(bytes, Some(Usage::Tensor), ""), || {
            let mut batch = DmemBatch::new(self, access == Access::Write);
            for index in 0..count {
                let (tensor, pieces) = item(index)?;
                // SAFETY: as above; checked to be of this kind.
                let Some(Backing::Dmem(node)) = (unsafe { self.backing(tensor.storage()?) }) else { continue };
                // SAFETY: the tensor holds a reference to the node; buffers by contract.
                unsafe { batch.push(node, tensor.offset, pieces)? };
            }
            // SAFETY: as above.
            unsafe { batch.finish() }
        })
    }
}

/// Bytes of all pieces.
fn piece_bytes<'a>(count: usize, item: &mut dyn FnMut(usize) -> Result<(TensorRef, Pieces<'a>)>) -> u64 {
    let pieces = (0..count).filter_map(|index| item(index).ok()).flat_map(|(_, pieces)| pieces);
    pieces.fold(0, |sum, piece| sum.saturating_add(piece.size))
}
