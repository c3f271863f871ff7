//! Scratchpads: how the worlds differ in them, and where slices and pages lie.

/// The scratchpad of a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    /// Bytes of a page.
    pub(crate) page: u64,
    /// Each page lies directly below the one before, and what is planned may cross them.
    pub(crate) contiguous: bool,
    /// The first core of a logical core has the slices of all.
    pub(crate) one_core: bool,
}

/// Where the slices of a model lie.
pub(crate) struct Slices {
    /// Bytes of the arena of each core.
    ends: Vec<u64>,
    /// Offset of the local slice of each core, in the arena it lies in.
    pub(crate) offsets: Vec<u64>,
}

impl Slices {
    /// The shared slice comes first, on the first core; in paged mode no slice crosses the end of a page it did not start.
    pub(crate) fn new(local: &[u64], shared: u64, mode: Mode) -> Self {
        let mut slices = Self { ends: vec![0; local.len()], offsets: Vec::new() };
        slices.place(0, shared, mode);
        for (core, size) in local.iter().enumerate() {
            let offset = slices.place(if mode.one_core { 0 } else { core }, *size, mode);
            slices.offsets.push(offset);
        }
        slices
    }

    fn place(&mut self, core: usize, size: u64, Mode { page, contiguous, .. }: Mode) -> u64 {
        let end = &mut self.ends[core];
        let left = (page - *end % page) % page;
        let skip = if !contiguous && left != 0 && left < size { left } else { 0 };
        *end += skip + size;
        *end - size
    }

    /// Pages of the arena of a core.
    pub(crate) fn pages(&self, core: usize, mode: Mode) -> u32 {
        self.ends[core].div_ceil(mode.page) as u32
    }
}

impl Mode {
    /// Whether pages that a model counts on, so many, hold a span of its arena.
    pub(crate) fn holds(self, pages: u32, offset: u64, bytes: u64) -> bool {
        if self.contiguous { offset + bytes <= u64::from(pages) * self.page } else { offset % self.page + bytes <= self.page }
    }
}

/// The pages of a contiguous arena. The driver takes the next one from below all it has given out, in the order of requests:
/// a page that it did not take back leaves a hole, at which the arena ends.
#[derive(Clone, Default)]
pub(crate) struct Column {
    /// Addresses, the first page first.
    pub(crate) pages: Vec<u64>,
    /// Pages that the driver still holds for nobody.
    pub(crate) stuck: Vec<u64>,
}

impl Column {
    /// The pages that an arena of `need` pages would have below `top`, as far as it can grow.
    pub(crate) fn grown(&self, need: u32, top: u64, page: u64) -> Vec<u64> {
        let mut pages = self.pages.clone();
        while pages.len() < need as usize {
            let next = top - (pages.len() + self.stuck.len() + 1) as u64 * page;
            let adjacent = pages.last().is_none_or(|last| last - page == next);
            if !adjacent || self.stuck.contains(&next) {
                break;
            }
            pages.push(next);
        }
        pages
    }
}
