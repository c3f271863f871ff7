//! What copies may touch, and the protocol of asynchronous ones (`driver-abi` §13).

use nrt_core::arch::Arch;
use nrt_core::driver::{DriverResult, Errno};

use super::{Chunk, Kernel};
use crate::backing::Region;
use crate::config::DriverVersion;
use crate::device::{Device, QUEUES};

/// Bytes of one descriptor, which is also what length 0 stands for in it.
const DESCRIPTOR: u64 = 65536;
/// Largest direct write to PCI memory, in bytes.
const DIRECT_LIMIT: u64 = 8192;
/// Oversize requests after which a ring has no room for another; that one takes the rest.
const RING_LOSSES: u8 = 4;

/// Bytes of one asynchronous request at most: 2032 descriptors of 64 KiB.
pub const ASYNC_COPY_LIMIT: u64 = 2032 * 65536;

/// A piece of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Region it lies in.
    pub region: Region,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

/// An asynchronous copy that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncCopy {
    /// Where the bytes come from.
    pub src: Span,
    /// Where they go.
    pub dst: Span,
    /// What to wait with: 1 or 2, or 0 when the copy is synchronous.
    pub wait: i32,
}

/// What became of a request to reset cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetRequest {
    /// The cores are reset, and the process has to wait for it.
    Done,
    /// The process has not waited for the one before.
    Pending,
}

impl Kernel {
    /// Checks an access to `size` bytes at `offset` of a chunk. Length 0 is fine up to the end of the chunk: user
    /// buffer copies of nothing are harmless.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a handle that is not live and for a range beyond the chunk (beyond the main pool for the
    /// contiguous scratchpad). A sum beyond 2^64, which drivers before 2.26 let through, counts as beyond.
    pub fn access(&self, device: u32, handle: u64, offset: u64, size: u64) -> DriverResult<Span> {
        let mut state = self.device(device)?;
        let (chunk, span) = self.bounded(&mut state, device, handle, offset, size)?;
        if !chunk.host && size != 0 {
            self.room_in_ring(&state, &chunk)?;
        }
        Ok(span)
    }

    /// Checks one piece of a zero-copy transfer. SUNDA only has the direct write: to the device, at most `window` bytes
    /// (and 8192), size and offset multiples of 4.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for length 0 and where there is no such transfer, else as [`access`](Self::access).
    pub fn zero_copy(
        &self,
        device: u32,
        handle: u64,
        offset: u64,
        size: u64,
        to_device: bool,
        window: u64,
    ) -> DriverResult<Span> {
        let span = self.access(device, handle, offset, size)?;
        let aligned = size.is_multiple_of(4) && offset.is_multiple_of(4);
        let direct = to_device && aligned && size <= window.min(DIRECT_LIMIT);
        let possible = self.config.arch != Arch::Sunda || direct;
        if size != 0 && possible { Ok(span) } else { Err(Errno::EINVAL) }
    }

    /// Asynchronous copies of a device that were started and not waited for yet.
    #[must_use]
    pub fn outstanding_copies(&self, device: u32) -> u32 {
        let outstanding = |contexts: &[bool; 2]| contexts.iter().filter(|context| **context).count() as u32;
        self.device(device).map_or(0, |state| state.contexts.iter().map(outstanding).sum())
    }

    /// Checks a fill of `size` bytes at `offset` of a chunk.
    ///
    /// # Errors
    /// As [`access`](Self::access), and for length 0, which the real driver turns into 64 KiB.
    pub fn fill(&self, device: u32, handle: u64, offset: u64, size: u64) -> DriverResult<Span> {
        let mut state = self.device(device)?;
        let (chunk, span) = self.bounded(&mut state, device, handle, offset, size)?;
        self.room_in_ring(&state, &chunk)?;
        let [span] = self.some_bytes(&mut state, [span])?;
        Ok(span)
    }

    /// Checks a copy between two chunks and answers source and destination.
    ///
    /// # Errors
    /// As [`fill`](Self::fill), for either chunk.
    pub fn copy(
        &self,
        device: u32,
        (src, src_offset): (u64, u64),
        (dst, dst_offset): (u64, u64),
        size: u64,
    ) -> DriverResult<(Span, Span)> {
        let mut state = self.device(device)?;
        let (source, from) = self.bounded(&mut state, device, src, src_offset, size)?;
        let (target, to) = self.bounded(&mut state, device, dst, dst_offset, size)?;
        // Synchronous copies go by the destination's core, if it is device memory or neither is.
        self.room_in_ring(&state, if target.host && !source.host { &source } else { &target })?;
        let [from, to] = self.some_bytes(&mut state, [from, to])?;
        Ok((from, to))
    }

    /// Starts an asynchronous copy and finishes the one that `previous` names: −1 for none, 0 to copy synchronously,
    /// else 1 or 2. The copy after a start with −1 is waited for with 1, the one after `previous` with the other number.
    ///
    /// # Errors
    /// As [`copy`](Self::copy); [`Errno::EINVAL`] when `previous` is anything else or not outstanding, and for more
    /// than [`ASYNC_COPY_LIMIT`] bytes, of which the real driver copies the first part all the same.
    ///
    /// # Concurrency
    /// The two numbers belong to the queue of the core, whoever uses it: the source's core if the source is device
    /// memory, else the destination's. SUNDA has one queue for core 0 and one for all others.
    pub fn copy_start(
        &self,
        device: u32,
        (src, src_offset): (u64, u64),
        (dst, dst_offset): (u64, u64),
        size: u64,
        previous: i32,
    ) -> DriverResult<AsyncCopy> {
        let mut guard = self.device(device)?;
        let state = &mut *guard;
        let (from, src) = self.bounded(state, device, src, src_offset, size)?;
        let (to, dst) = self.bounded(state, device, dst, dst_offset, size)?;
        let chunk = if from.host { &to } else { &from };
        let queue = self.queue(chunk);
        self.room_in_ring(state, chunk)?;
        let [src, dst] = self.some_bytes(state, [src, dst])?;
        let contexts = &mut state.contexts[queue];
        let wait = match previous {
            0 => return Ok(AsyncCopy { src, dst, wait: 0 }),
            -1 => 1,
            1 if contexts[0] => 2,
            2 if contexts[1] => 1,
            _ => return Err(Errno::EINVAL),
        };
        if size > ASYNC_COPY_LIMIT {
            state.hazards.oversize_async += 1;
            if !self.config.strict {
                state.lost[queue] = state.lost[queue].saturating_add(1);
                if state.lost[queue] > RING_LOSSES {
                    return Err(Errno::ENOMEM);
                }
            }
            return Err(Errno::EINVAL);
        }
        if previous == -1 {
            state.hazards.overlapping_async += u64::from(contexts[0]);
        } else {
            contexts[2 - wait as usize] = false;
        }
        contexts[wait as usize - 1] = true;
        Ok(AsyncCopy { src, dst, wait })
    }

    /// Finishes an asynchronous copy between these two chunks.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a handle that is not live, and when `wait` is not 1 or 2 or that copy is not outstanding.
    pub fn copy_wait(&self, device: u32, src: u64, dst: u64, wait: i32) -> DriverResult<()> {
        let mut state = self.device(device)?;
        let from = self.named(&state, device, src)?;
        let to = self.named(&state, device, dst)?;
        let contexts = &mut state.contexts[self.queue(if from.host { &to } else { &from })];
        let outstanding = match wait {
            1 => &mut contexts[0],
            2 => &mut contexts[1],
            _ => return Err(Errno::EINVAL),
        };
        if core::mem::replace(outstanding, false) { Ok(()) } else { Err(Errno::EINVAL) }
    }

    /// The chunk a handle names.
    fn named(&self, state: &Device, device: u32, handle: u64) -> DriverResult<Chunk> {
        let link = self.tables.record_of(state, device, handle).ok_or(Errno::EINVAL)?;
        Ok(self.describe(state, device, link))
    }

    /// The chunk a handle names, and a range inside it.
    fn bounded(&self, state: &mut Device, device: u32, handle: u64, offset: u64, size: u64) -> DriverResult<(Chunk, Span)> {
        let chunk = self.named(state, device, handle)?;
        let Some(end) = offset.checked_add(size) else {
            state.hazards.wrapped_range += 1;
            let lenient = !self.config.strict && self.config.version < DriverVersion::V2_26_5;
            if !lenient || offset.wrapping_add(size) > chunk.span.bytes {
                return Err(Errno::EINVAL);
            }
            let span = Span { offset: chunk.span.offset.wrapping_add(offset), bytes: size, ..chunk.span };
            return Ok((chunk, self.inside(span)?));
        };
        if end > chunk.span.bytes {
            return Err(Errno::EINVAL);
        }
        Ok((chunk, Span { offset: chunk.span.offset + offset, bytes: size, ..chunk.span }))
    }

    /// The queue that copies go through which are attributed to a chunk.
    fn queue(&self, chunk: &Chunk) -> usize {
        let queue = match self.config.arch {
            Arch::Sunda => chunk.nc_id.min(1),
            Arch::Cayman | Arch::Mariana => chunk.nc_id,
        };
        // Cores are below 8, as many as there are queues.
        queue as usize % QUEUES
    }

    /// `ENOMEM` when oversize asynchronous requests have used up the ring of a chunk's queue.
    fn room_in_ring(&self, state: &Device, chunk: &Chunk) -> DriverResult<()> {
        if state.lost[self.queue(chunk)] > RING_LOSSES { Err(Errno::ENOMEM) } else { Ok(()) }
    }

    /// Length 0: refused, or the 64 KiB that the engine makes of it.
    fn some_bytes<const N: usize>(&self, state: &mut Device, spans: [Span; N]) -> DriverResult<[Span; N]> {
        if spans.iter().all(|span| span.bytes != 0) {
            return Ok(spans);
        }
        state.hazards.zero_length += 1;
        if self.config.strict {
            return Err(Errno::EINVAL);
        }
        let mut longer = spans;
        for span in &mut longer {
            *span = self.inside(Span { bytes: DESCRIPTOR, ..*span })?;
        }
        Ok(longer)
    }

    /// A span, if all of it exists: the engine fails on addresses that do not.
    fn inside(&self, span: Span) -> DriverResult<Span> {
        let end = span.offset.checked_add(span.bytes);
        end.filter(|&end| end <= self.config.region_bytes(span.region)).map(|_| span).ok_or(Errno::EPERM)
    }

    /// Remembers the byte of a fill and answers the byte that is written: one of length 0 writes the byte of the fill
    /// before it, which is still in the driver's staging buffer.
    pub fn staged_byte(&self, device: u32, value: u8, size: u64) -> u8 {
        let Ok(mut state) = self.device(device) else { return value };
        if size != 0 {
            state.staged = value;
        }
        state.staged
    }

    /// Resets cores, bit i for core i: their queues work again, and their asynchronous copies are forgotten.
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a device that does not exist.
    pub fn reset_cores(&self, device: u32, cores: u32) -> DriverResult<()> {
        let mut state = self.device(device)?;
        for queue in 0..QUEUES {
            let own = match self.config.arch {
                Arch::Sunda if queue == 1 => cores & !1,
                _ => cores & 1 << queue,
            };
            if own != 0 {
                state.lost[queue] = 0;
                state.contexts[queue] = [false; 2];
            }
        }
        Ok(())
    }

    /// Resets cores for a process, one request at a time until it is waited for (`driver-abi` §18).
    ///
    /// # Errors
    /// [`Errno::EINVAL`] for a device that does not exist, [`Errno::EBUSY`] when 16 processes have not waited for theirs.
    pub fn request_reset(&self, pid: u32, device: u32, cores: u32) -> DriverResult<ResetRequest> {
        {
            let mut state = self.device(device)?;
            if state.resets.contains(&pid) {
                return Ok(ResetRequest::Pending);
            }
            *state.resets.iter_mut().find(|owner| **owner == 0).ok_or(Errno::EBUSY)? = pid;
        }
        self.reset_cores(device, cores).map(|()| ResetRequest::Done)
    }

    /// Waits for the reset of a process, which is done at once; tells whether there was one.
    pub fn take_reset(&self, pid: u32, device: u32) -> bool {
        let Ok(mut state) = self.device(device) else { return false };
        let found = state.resets.iter_mut().find(|owner| **owner == pid);
        found.map(|owner| *owner = 0).is_some()
    }
}
