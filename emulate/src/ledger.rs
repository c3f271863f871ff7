//! Books about chunks by process and category, for the report.

use std::collections::BTreeMap;

use nrt_sim::kernel::{Chunk, Kernel};

/// What one process used of one category.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    /// Bytes in use now.
    pub(crate) live: u64,
    /// Highest `live` ever.
    pub(crate) peak: u64,
    /// Chunks and bytes that were live when the process closed the device or ended.
    pub(crate) leaked_chunks: u64,
    pub(crate) leaked_bytes: u64,
}

/// All books; nothing is entered unless there will be a report, so that a supervisor without one does not grow.
pub(crate) struct Ledger {
    kept: bool,
    /// By process, host or not, category.
    pub(crate) shares: BTreeMap<(u32, bool, u32), Share>,
}

/// The category under which the driver counts: out of range is unknown, the contiguous scratchpad is a scratchpad.
fn counted(category: u32, host: bool) -> u32 {
    match category {
        19 => 11,
        0..19 => category,
        _ if host => 0,
        _ => 7,
    }
}

impl Ledger {
    /// Empty books.
    pub(crate) fn new(kept: bool) -> Self {
        Self { kept, shares: BTreeMap::new() }
    }

    fn share(&mut self, chunk: &Chunk) -> Option<&mut Share> {
        let key = (chunk.pid?, chunk.host, counted(chunk.category, chunk.host));
        self.kept.then(|| self.shares.entry(key).or_default())
    }

    /// Enters a chunk.
    pub(crate) fn allocated(&mut self, chunk: &Chunk) {
        if let Some(share) = self.share(chunk) {
            share.live += chunk.size;
            share.peak = share.peak.max(share.live);
        }
    }

    /// Takes a chunk out.
    pub(crate) fn freed(&mut self, chunk: &Chunk) {
        if let Some(share) = self.share(chunk) {
            share.live = share.live.saturating_sub(chunk.size);
        }
    }

    /// What a process has left on a device that is about to be closed.
    pub(crate) fn left(&self, kernel: &Kernel, pid: u32, device: u32) -> Vec<Chunk> {
        let mut left = Vec::new();
        if self.kept {
            kernel.each_owned(pid, device, |chunk| left.push(*chunk));
        }
        left
    }

    /// The device took back what a process had left.
    pub(crate) fn closed(&mut self, left: &[Chunk]) {
        for chunk in left {
            self.freed(chunk);
            if let Some(share) = self.share(chunk) {
                share.leaked_chunks += 1;
                share.leaked_bytes += chunk.size;
            }
        }
    }
}
