//! A supervised program as the model sees it: its memory, and the memory of the devices.

use nrt_sim::kernel::{Chunk, Span};
use nrt_sim::request::Environment;

use crate::process;
use crate::remote;
use crate::world::World;

/// A thread that waits for the answer to a request.
pub(crate) struct Program<'a> {
    pub(crate) world: &'a World,
    pub(crate) pid: u32,
    pub(crate) tid: u32,
}

impl Environment for Program<'_> {
    fn read_user(&self, address: u64, to: &mut [u8]) -> u64 {
        remote::read(self.tid, address, to)
    }

    fn write_user(&self, address: u64, from: &[u8]) -> u64 {
        remote::write(self.tid, address, from)
    }

    fn user_to_device(&self, address: u64, span: &Span) -> u64 {
        self.world.memory.write(self.tid, address, span)
    }

    fn device_to_user(&self, address: u64, span: &Span) -> u64 {
        self.world.memory.read(self.tid, address, span)
    }

    fn copy(&self, from: &Span, to: &Span) {
        self.world.memory.copy(from, to);
    }

    fn fill(&self, span: &Span, value: u8) {
        self.world.memory.fill(span, value);
    }

    fn mapped(&self, address: u64) -> Option<(u32, u64)> {
        let mapping = process::mapping(self.pid, address)?;
        let device = self.world.memory.device_of(mapping.file)?;
        Some((device, mapping.offset))
    }

    fn hazard(&self, what: &'static str) {
        self.world.hazard(self.pid, what);
    }

    fn allocated(&self, chunk: &Chunk) {
        self.world.ledger.borrow_mut().allocated(chunk);
    }

    fn freed(&self, chunk: &Chunk) {
        self.world.ledger.borrow_mut().freed(chunk);
    }
}
