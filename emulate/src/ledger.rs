//! Books about chunks: by core and category for the sysfs counters, by process for the report.

use std::collections::BTreeMap;

use nrt_sim::kernel::Chunk;

/// Bytes of one counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// In use now.
    pub(crate) bytes: u64,
    /// Size of the last allocation or free.
    pub(crate) last: u64,
    /// Highest `bytes` ever.
    pub(crate) peak: u64,
}

impl Usage {
    fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.last = bytes;
        self.peak = self.peak.max(self.bytes);
    }

    fn remove(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.last = bytes;
    }
}

/// What a device counts: the place, and the category or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Counter {
    pub(crate) device: u32,
    /// Core for HBM, and for host memory in the core's own totals.
    pub(crate) core: Option<u32>,
    pub(crate) host: bool,
    pub(crate) category: Option<u32>,
}

/// A live chunk.
#[derive(Clone, Copy)]
struct Entry {
    pid: u32,
    core: u32,
    category: u32,
    host: bool,
    bytes: u64,
    order: u64,
}

/// What one process used of one category.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    pub(crate) usage: Usage,
    /// Chunks and bytes that were live when the process closed the device or ended.
    pub(crate) leaked_chunks: u64,
    pub(crate) leaked_bytes: u64,
}

/// All books.
#[derive(Default)]
pub(crate) struct Ledger {
    live: BTreeMap<(u32, u64), Entry>,
    counters: BTreeMap<Counter, Usage>,
    /// By process, host or not, category.
    pub(crate) shares: BTreeMap<(u32, bool, u32), Share>,
    orders: u64,
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
    /// Enters a chunk.
    pub(crate) fn allocated(&mut self, device: u32, chunk: &Chunk) {
        let category = counted(chunk.category, chunk.host);
        let pid = chunk.pid.unwrap_or(0);
        self.orders += 1;
        let entry = Entry { pid, core: chunk.nc_id, category, host: chunk.host, bytes: chunk.size, order: self.orders };
        self.live.insert((device, chunk.handle), entry);
        self.each(device, &entry, |usage| usage.add(entry.bytes));
        self.shares.entry((pid, chunk.host, category)).or_default().usage.add(chunk.size);
    }

    /// Takes a chunk out.
    pub(crate) fn freed(&mut self, device: u32, handle: u64) {
        if let Some(entry) = self.live.remove(&(device, handle)) {
            self.each(device, &entry, |usage| usage.remove(entry.bytes));
            self.shares.entry((entry.pid, entry.host, entry.category)).or_default().usage.remove(entry.bytes);
        }
    }

    /// The device took back what a process had left, newest first.
    pub(crate) fn closed(&mut self, device: u32, pid: u32) {
        let range = (device, 0)..=(device, u64::MAX);
        let mut left: Vec<(u64, u64)> =
            self.live.range(range).filter(|(_, entry)| entry.pid == pid).map(|(key, entry)| (entry.order, key.1)).collect();
        left.sort_unstable_by(|one, other| other.cmp(one));
        for (_, handle) in left {
            let entry = self.live[&(device, handle)];
            let share = self.shares.entry((pid, entry.host, entry.category)).or_default();
            share.leaked_chunks += 1;
            share.leaked_bytes += entry.bytes;
            self.freed(device, handle);
        }
    }

    /// A counter's value.
    pub(crate) fn usage(&self, counter: &Counter) -> Usage {
        self.counters.get(counter).copied().unwrap_or_default()
    }

    /// Changes every counter that a chunk belongs to.
    fn each(&mut self, device: u32, entry: &Entry, change: impl Fn(&mut Usage)) {
        let Entry { host, core, category, .. } = *entry;
        let of_device = host.then_some([None, Some(category)]).into_iter().flatten().map(|category| (None, category));
        let of_core = (!host).then_some((Some(core), Some(category))).into_iter().chain([(Some(core), None)]);
        for (core, category) in of_device.chain(of_core) {
            change(self.counters.entry(Counter { device, core, host, category }).or_default());
        }
    }
}
