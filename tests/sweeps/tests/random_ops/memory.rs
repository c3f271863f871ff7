//! Allocations in the GLOBAL heaps.

use nrt_core::{Allocation, Cause, Location, Pool, Status, Usage};

use crate::world::{Block, Outcome, World};

/// Larger blocks carry no content.
const CONTENT: u64 = 8192;

impl World<'_> {
    fn any_allocation(&mut self) -> Allocation<'static> {
        let usage = self.rng.pick(&Usage::ALL);
        let host = usage.category(Location::Host).is_some() && self.rng.once_in(4);
        let bytes = match self.rng.below(16) {
            0 => 1 + self.rng.below(4 << 20),
            1 => 4096 * (1 + self.rng.below(16)),
            _ => 1 + self.rng.below(CONTENT),
        };
        Allocation {
            bytes: if host { bytes.min(1 << 16) } else { bytes },
            align: if host { self.rng.pick(&[0, 1, 64, 4096]) } else { self.rng.pick(&[0, 0, 1, 256, 8192, 1 << 20]) },
            location: if host { Location::Host } else { Location::Device },
            channel: if self.rng.once_in(2) {
                None
            } else {
                Some(self.rng.below(self.runtime.arch().channels_per_device().into()) as u32)
            },
            usage,
            hint: "random",
        }
    }

    pub(crate) fn allocate(&mut self) -> usize {
        let (vnc, relative) = (self.any_vnc(), self.rng.below(self.size.into()) as u32);
        let core = self.flat(vnc, relative);
        let request = self.any_allocation();
        let expected = (self.free_nodes() == 0).then_some(Status::Resource);
        let runtime = self.runtime;
        match self.forward(expected, || runtime.core(vnc)?.allocate(relative, &request)) {
            Outcome::Done(dmem) => {
                let Allocation { usage, location, bytes, align, .. } = request;
                assert_eq!(dmem.bytes().unwrap(), bytes);
                assert!(dmem.address().unwrap().is_multiple_of(align.max(4096)));
                self.books[core].add(usage, location, bytes);
                self.blocks.push(Block { dmem, core, usage, location, bytes, content: None });
            }
            Outcome::Refused(error) => {
                if expected.is_some() && self.driver.injected() == 0 {
                    assert!(matches!(error.cause, Cause::PoolFull(Pool::Nodes) | Cause::OutOfMemory(_) | Cause::Driver { .. }));
                }
            }
        }
        core
    }

    /// Requests that cannot be: each is refused with its status and changes nothing.
    pub(crate) fn allocate_nonsense(&mut self) -> usize {
        let vnc = self.any_vnc();
        let core = self.flat(vnc, 0);
        let mut request = Allocation { align: 0, channel: None, ..self.any_allocation() };
        let mut status = Status::Invalid;
        match self.rng.below(6) {
            0 => request.bytes = 0,
            1 => request.align = 3 << self.rng.below(20),
            2 => request.channel = Some(self.runtime.arch().channels_per_device() + self.rng.below(9) as u32),
            3 => (request.location, request.usage) = (Location::Host, Usage::Cc),
            4 => (request.location, request.usage, request.align) = (Location::Host, Usage::Tensor, 12_288),
            _ => {
                // As large as the whole HBM, of which the firmware holds a part.
                (request.location, request.bytes) = (Location::Device, self.runtime.arch().hbm_bytes());
                status = Status::Resource;
            }
        }
        let runtime = self.runtime;
        let outcome = self.forward(Some(status), || runtime.core(vnc)?.allocate(0, &request));
        assert!(matches!(outcome, Outcome::Refused(_)));
        core
    }

    pub(crate) fn free(&mut self) -> usize {
        let Some(index) = self.rng.index(self.blocks.len()) else { return 0 };
        let Block { dmem, core, usage, location, bytes, .. } = self.blocks.swap_remove(index);
        self.teardown(|| drop(dmem));
        self.books[core].remove(usage, location, bytes);
        core
    }

    /// Writes, fills, reads or maps a block. A transfer that fails changes no byte.
    pub(crate) fn block_bytes(&mut self) -> usize {
        let Some(index) = self.rng.index(self.blocks.len()) else { return 0 };
        let mut block = self.blocks.swap_remove(index);
        let core = block.core;
        if block.bytes <= CONTENT {
            self.touch(&mut block);
        } else {
            let past = self.rng.below(3);
            let mut byte = [0];
            let expected = Some(Status::Invalid);
            self.forward(expected, || block.dmem.read(block.bytes + past, &mut byte));
        }
        self.blocks.push(block);
        core
    }

    fn touch(&mut self, block: &mut Block<'_>) {
        let Some(content) = &mut block.content else {
            let value = self.rng.next() as u8;
            let content: Vec<u8> = (0..block.bytes).map(|at| value.wrapping_add(at as u8)).collect();
            if let Outcome::Done(()) = self.forward(None, || block.dmem.write(0, &content)) {
                block.content = Some(content);
            }
            return;
        };
        let start = self.rng.below(block.bytes);
        let length = 1 + self.rng.below(block.bytes - start);
        let span = start as usize..(start + length) as usize;
        match self.rng.below(8) {
            0 => {
                let bytes = vec![self.rng.next() as u8; length as usize];
                if let Outcome::Done(()) = self.forward(None, || block.dmem.write(start, &bytes)) {
                    content[span].copy_from_slice(&bytes);
                }
            }
            1 => {
                let value = self.rng.next() as u8;
                if let Outcome::Done(()) = self.forward(None, || block.dmem.fill(start, value, length)) {
                    content[span].fill(value);
                }
            }
            2 => {
                if let Outcome::Done(base) = self.forward(None, || block.dmem.map()) {
                    // SAFETY: the mapping spans the block; nobody else writes to it.
                    let first = unsafe { base.add(span.start).read() };
                    assert_eq!(first, content[span.start], "mapped");
                }
            }
            3 => {
                let size = block.bytes;
                self.forward(Some(Status::Invalid), || block.dmem.fill(start, 0, size - start + 1));
            }
            _ => {
                let mut back = vec![0; length as usize];
                if let Outcome::Done(()) = self.forward(None, || block.dmem.read(start, &mut back)) {
                    assert!(back == content[span], "bytes of a block");
                }
            }
        }
    }
}
