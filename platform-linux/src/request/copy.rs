//! Requests: copies and fills.

use core::ptr;

use nrt_core::abi::{neuron_memcpy_batch_t, nrt_tensor_batch_op_t};

use super::{Argument as _, arguments, read_only, requests};
use nrt_core::abi::driver::{
    neuron_ioctl_mem_buf_copy, neuron_ioctl_mem_buf_copy64, neuron_ioctl_mem_buf_copy64zc, neuron_ioctl_mem_buf_copy64zc_batches,
    neuron_ioctl_mem_copy, neuron_ioctl_mem_copy_async, neuron_ioctl_mem_copy_async_wait, neuron_ioctl_mem_copy_async64,
    neuron_ioctl_mem_copy64, neuron_ioctl_memset, neuron_ioctl_memset64,
};

arguments!(
    neuron_ioctl_mem_copy,
    neuron_ioctl_mem_copy64,
    neuron_ioctl_mem_copy_async,
    neuron_ioctl_mem_copy_async64,
    neuron_ioctl_mem_copy_async_wait,
    neuron_ioctl_mem_buf_copy,
    neuron_ioctl_mem_buf_copy64,
    neuron_ioctl_mem_buf_copy64zc,
    neuron_ioctl_mem_buf_copy64zc_batches,
    neuron_ioctl_memset,
    neuron_ioctl_memset64,
);

requests! {
    /// Copies between chunks, 32-bit size and offsets.
    MemCopy("MEM_COPY") = 0x8008_4E17, neuron_ioctl_mem_copy;
    /// Copies between chunks.
    MemCopy64("MEM_COPY64") = 0x8028_4E17, neuron_ioctl_mem_copy64;
    /// Starts a copy between chunks, 32-bit size and offsets.
    MemCopyAsync("MEM_COPY_ASYNC") = 0xC030_4E6C, neuron_ioctl_mem_copy_async;
    /// Starts a copy between chunks.
    MemCopyAsync64("MEM_COPY_ASYNC64") = 0xC038_4E6C, neuron_ioctl_mem_copy_async64;
    /// Waits for a started copy.
    MemCopyAsyncWait("MEM_COPY_ASYNC_WAIT") = 0x4018_4E6D, neuron_ioctl_mem_copy_async_wait;
    /// Copies between a buffer and a chunk, 32-bit size and offset.
    MemBufCopy("MEM_BUF_COPY") = 0xC008_4E18, neuron_ioctl_mem_buf_copy;
    /// Copies between a buffer and a chunk; less than 4 GiB at once.
    MemBufCopy64("MEM_BUF_COPY64") = 0xC028_4E18, neuron_ioctl_mem_buf_copy64;
    /// Copies between a buffer and a chunk without a bounce buffer. The number of 2.25 and later.
    MemBufZerocopy64("MEM_BUF_ZEROCOPY64") = 0xC030_4E7C, neuron_ioctl_mem_buf_copy64zc;
    /// Copies many pieces without a bounce buffer, in order, not atomically.
    MemBufZerocopy64Batches("MEM_BUF_ZEROCOPY64_BATCHES") = 0xC020_4E81, neuron_ioctl_mem_buf_copy64zc_batches;
    /// Fills, 32-bit size.
    Memset("MEMSET") = 0x8008_4E1C, neuron_ioctl_memset;
    /// Fills.
    Memset64("MEMSET64") = 0x8020_4E1C, neuron_ioctl_memset64;
}

/// A copy between two chunks of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkCopy {
    /// Source handle.
    pub src: u64,
    /// Start in the source chunk, in bytes.
    pub src_offset: u64,
    /// Destination handle.
    pub dst: u64,
    /// Start in the destination chunk, in bytes.
    pub dst_offset: u64,
    /// Bytes.
    pub size: u64,
}

impl ChunkCopy {
    /// Size and offsets, if they fit 32 bits.
    fn narrow(&self) -> Option<(u32, u32, u32)> {
        Some((self.size.try_into().ok()?, self.src_offset.try_into().ok()?, self.dst_offset.try_into().ok()?))
    }
}

impl MemCopy<'_> {
    /// `None` when a number does not fit 32 bits.
    #[must_use]
    pub fn new(copy: &ChunkCopy) -> Option<Self> {
        let (size, src_offset, dst_offset) = copy.narrow()?;
        let mut argument = neuron_ioctl_mem_copy::zeroed();
        argument.src_mem_handle = copy.src;
        argument.dst_mem_handle = copy.dst;
        (argument.size, argument.src_offset, argument.dst_offset) = (size, src_offset, dst_offset);
        Some(Self::from_argument(argument))
    }
}

impl MemCopy64<'_> {
    /// The copy.
    #[must_use]
    pub const fn new(copy: &ChunkCopy) -> Self {
        Self::from_argument(neuron_ioctl_mem_copy64 {
            src_mem_handle: copy.src,
            dst_mem_handle: copy.dst,
            size: copy.size,
            src_offset: copy.src_offset,
            dst_offset: copy.dst_offset,
        })
    }
}

impl MemCopyAsync<'_> {
    /// `None` when a number does not fit 32 bits.
    #[must_use]
    pub fn new(copy: &ChunkCopy, prefetch: u64, earlier: u32) -> Option<Self> {
        let (size, src_offset, dst_offset) = copy.narrow()?;
        let mut argument = neuron_ioctl_mem_copy_async::zeroed();
        argument.src_mem_handle = copy.src;
        argument.dst_mem_handle = copy.dst;
        (argument.size, argument.src_offset, argument.dst_offset) = (size, src_offset, dst_offset);
        argument.host_prefetch_addr = prefetch;
        argument.pwait_handle = earlier;
        Some(Self::from_argument(argument))
    }
}

impl MemCopyAsync64<'_> {
    /// The copy; `earlier` is the one to wait for, `u32::MAX` for none, 0 to be synchronous.
    #[must_use]
    pub const fn new(copy: &ChunkCopy, prefetch: u64, earlier: u32) -> Self {
        Self::from_argument(neuron_ioctl_mem_copy_async64 {
            src_mem_handle: copy.src,
            dst_mem_handle: copy.dst,
            size: copy.size,
            src_offset: copy.src_offset,
            dst_offset: copy.dst_offset,
            host_prefetch_addr: prefetch,
            pwait_handle: earlier,
            wait_handle: 0,
        })
    }
}

impl MemCopyAsyncWait<'_> {
    /// Waits for copy `wait` between these chunks.
    #[must_use]
    pub fn new(src: u64, dst: u64, wait: u32) -> Self {
        let mut argument = neuron_ioctl_mem_copy_async_wait::zeroed();
        argument.src_mem_handle = src;
        argument.dst_mem_handle = dst;
        argument.pwait_handle = wait;
        Self::from_argument(argument)
    }
}

/// A buffer of this process, with the direction.
#[derive(Debug)]
pub enum Buffer<'a> {
    /// Its bytes go into the chunk.
    In(&'a [u8]),
    /// Bytes of the chunk go into it.
    Out(&'a mut [u8]),
}

impl Buffer<'_> {
    /// Length in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::In(bytes) => bytes.len(),
            Self::Out(bytes) => bytes.len(),
        }
    }

    /// Whether there is nothing to copy.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `bytes` bytes from `start` on; the whole when that is not inside.
    #[must_use]
    pub fn piece(&mut self, start: usize, bytes: usize) -> Buffer<'_> {
        let end = start.saturating_add(bytes).min(self.len());
        let start = start.min(end);
        match self {
            Self::In(all) => Buffer::In(&all[start..end]),
            Self::Out(all) => Buffer::Out(&mut all[start..end]),
        }
    }

    fn parts(self) -> (*mut core::ffi::c_void, usize, u32) {
        match self {
            Self::In(bytes) => (read_only(bytes), bytes.len(), 1),
            Self::Out(bytes) => (bytes.as_mut_ptr().cast(), bytes.len(), 0),
        }
    }
}

impl<'a> MemBufCopy<'a> {
    /// `None` when length or offset do not fit 32 bits.
    #[must_use]
    pub fn new(handle: u64, offset: u64, buffer: Buffer<'a>) -> Option<Self> {
        let (address, bytes, into) = buffer.parts();
        let mut argument = neuron_ioctl_mem_buf_copy::zeroed();
        argument.mem_handle = handle;
        argument.buffer = address;
        argument.size = bytes.try_into().ok()?;
        argument.offset = offset.try_into().ok()?;
        argument.copy_to_mem_handle = into;
        Some(Self::from_argument(argument))
    }
}

impl<'a> MemBufCopy64<'a> {
    /// Copies between `buffer` and the chunk from `offset` on. The driver loses the bits of the size above 32.
    #[must_use]
    pub fn new(handle: u64, offset: u64, buffer: Buffer<'a>) -> Self {
        let (address, bytes, into) = buffer.parts();
        let mut argument = neuron_ioctl_mem_buf_copy64::zeroed();
        argument.mem_handle = handle;
        argument.buffer = address;
        argument.size = bytes as u64;
        argument.offset = offset;
        argument.copy_to_mem_handle = into;
        Self::from_argument(argument)
    }
}

/// The queue the driver picks itself.
pub const DEFAULT_QUEUE: i32 = -1;

impl<'a> MemBufZerocopy64<'a> {
    /// Copies between `buffer` and the chunk from `offset` on; writes of at most `window_bytes` may go through the PCI
    /// window.
    #[must_use]
    pub fn new(handle: u64, offset: u64, buffer: Buffer<'a>, window_bytes: u32) -> Self {
        let (address, bytes, into) = buffer.parts();
        Self::from_argument(neuron_ioctl_mem_buf_copy64zc {
            mem_handle: handle,
            buffer: address,
            size: bytes as u64,
            offset,
            is_copy_to_device: into,
            bar4_wr_threshold: window_bytes,
            h2t_qid: DEFAULT_QUEUE,
            dummy: 0,
        })
    }
}

/// The pieces of one batch, in the driver's form. They borrow the buffers they name.
#[derive(Debug)]
pub struct Pieces<'a, const N: usize> {
    operations: [nrt_tensor_batch_op_t; N],
    used: usize,
    into_device: bool,
    memory: core::marker::PhantomData<&'a mut [u8]>,
}

impl<'a, const N: usize> Pieces<'a, N> {
    /// No pieces yet; all of them will be written to the device (`into_device`) or read from it.
    #[must_use]
    pub const fn new(into_device: bool) -> Self {
        let operations = [nrt_tensor_batch_op_t { offset: 0, size: 0, buffer: ptr::null_mut() }; N];
        Self { operations, used: 0, into_device, memory: core::marker::PhantomData }
    }

    /// Adds a piece. Gives the buffer back when it has the other direction, is empty, or there is no room.
    ///
    /// # Errors
    /// The buffer.
    pub fn push(&mut self, offset: u64, buffer: Buffer<'a>) -> Result<(), Buffer<'a>> {
        if matches!(buffer, Buffer::In(_)) != self.into_device || buffer.is_empty() || self.used == N {
            return Err(buffer);
        }
        let (address, bytes, _) = buffer.parts();
        self.operations[self.used] = nrt_tensor_batch_op_t { offset, size: bytes as u64, buffer: address };
        self.used += 1;
        Ok(())
    }

    /// Number of pieces.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.used
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// First byte behind the piece that reaches furthest, or `None` beyond 2^64.
    #[must_use]
    pub fn reach(&self) -> Option<u64> {
        self.operations[..self.used].iter().try_fold(0u64, |reach, piece| Some(reach.max(piece.offset.checked_add(piece.size)?)))
    }

    /// The batch for one chunk; the offset of every piece counts from `base`.
    #[must_use]
    pub fn batch(&mut self, handle: u64, base: u64, window_bytes: u16) -> neuron_memcpy_batch_t {
        neuron_memcpy_batch_t {
            mem_handle: handle,
            mem_handle_offset: base,
            ops_ptr: self.operations.as_mut_ptr(),
            num_ops: self.used as u32,
            bar4_wr_threshold: window_bytes,
            flags: 0,
            context: ptr::null_mut(),
        }
    }
}

impl<'a> MemBufZerocopy64Batches<'a> {
    /// Batches, in order.
    ///
    /// # Safety
    /// The pieces that `batches` names live, and nothing else uses their buffers (nothing else writes them, if they are only
    /// read), as long as the request.
    #[must_use]
    pub unsafe fn new(batches: &'a mut [neuron_memcpy_batch_t], into_device: bool) -> Self {
        let mut argument = neuron_ioctl_mem_buf_copy64zc_batches::zeroed();
        argument.batches_ptr = batches.as_mut_ptr();
        argument.num_batches = batches.len() as u32;
        argument.is_copy_to_device = into_device.into();
        argument.h2t_qid = DEFAULT_QUEUE;
        Self::from_argument(argument)
    }
}

impl Memset<'_> {
    /// `None` when the size does not fit 32 bits.
    #[must_use]
    pub fn new(handle: u64, offset: u64, value: u8, size: u64) -> Option<Self> {
        let size = size.try_into().ok()?;
        Some(Self::from_argument(neuron_ioctl_memset { mem_handle: handle, offset, value: value.into(), size }))
    }
}

impl Memset64<'_> {
    /// Fills `size` bytes from `offset` on.
    #[must_use]
    pub fn new(handle: u64, offset: u64, value: u8, size: u64) -> Self {
        let mut argument = neuron_ioctl_memset64::zeroed();
        argument.mem_handle = handle;
        argument.offset = offset;
        argument.value = value.into();
        argument.size = size;
        Self::from_argument(argument)
    }
}
