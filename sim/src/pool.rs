//! One memory pool: address-ordered first fit in pages of 4 KiB (`driver-abi` §9).

use crate::record::{Kind, Link, NONE, Records, Tag};
use crate::tree;

/// log2 of the granule.
pub(crate) const PAGE_SHIFT: u32 = 12;

/// Why a pool gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No place.
    Full,
    /// A place, but no record to describe it.
    Records,
}

/// A contiguous range of pages, some of them taken.
#[derive(Clone, Copy)]
pub(crate) struct Pool {
    /// Physical address of page 0.
    base: u64,
    /// Pages.
    pages: u32,
    /// Number of this pool in its device.
    id: u8,
    /// Free runs.
    root: Link,
    /// Lowest record.
    lowest: Link,
}

impl Pool {
    /// A pool without pages.
    pub(crate) const fn none() -> Self {
        Self { base: 0, pages: 0, id: 0, root: NONE, lowest: NONE }
    }

    /// A pool of free pages, or `None` when there is no record for them.
    pub(crate) fn new(records: &Records, id: u8, base: u64, pages: u32) -> Option<Self> {
        let run = records.take()?;
        records.set_start(run, 0);
        records.set_pages(run, pages);
        records.set_prev(run, NONE);
        records.set_next(run, NONE);
        records.set_tag(run, Tag::free(id));
        let mut root = NONE;
        tree::insert(records, &mut root, run);
        Some(Self { base, pages, id, root, lowest: run })
    }

    /// Physical address of the first byte.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Bytes.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.pages) << PAGE_SHIFT
    }

    /// Lowest record, the start of the address-ordered list.
    pub(crate) fn lowest(&self) -> Link {
        self.lowest
    }

    /// Takes `pages` pages at the place that the driver's search finds with the alignment mask `mask` (in pages).
    ///
    /// A mask of all ones below some bit is an ordinary alignment. Any other mask is searched exactly as the driver
    /// does it: from each free run in turn, going on behind the first taken page.
    ///
    /// # Cost
    /// Logarithmic in the free runs without a mask; with one, times the runs that are long enough but misaligned.
    pub(crate) fn take(&mut self, records: &Records, pages: u64, mask: u32) -> Result<Link, Refusal> {
        let pages = u32::try_from(pages).map_err(|_| Refusal::Full)?;
        let (run, at) = self.search(records, pages, mask).ok_or(Refusal::Full)?;
        self.carve(records, run, at, pages)
    }

    /// Takes exactly the pages `at..at + pages`.
    pub(crate) fn take_at(&mut self, records: &Records, at: u32, pages: u32) -> Result<Link, Refusal> {
        let end = at.checked_add(pages).ok_or(Refusal::Full)?;
        let run = tree::floor(records, self.root, at).ok_or(Refusal::Full)?;
        if records.end(run) < end {
            return Err(Refusal::Full);
        }
        self.carve(records, run, at, pages)
    }

    /// The free run and the page where `pages` pages fit.
    fn search(&self, records: &Records, pages: u32, mask: u32) -> Option<(Link, u32)> {
        if pages > self.pages {
            return None;
        }
        if mask == 0 {
            return tree::first(records, self.root, pages).map(|run| (run, records.start(run)));
        }
        let (wide, size) = (u64::from(mask), u64::from(self.pages));
        let offset = (self.base >> PAGE_SHIFT) & wide;
        // With an ordinary alignment the aligned place grows with the start, so runs that are too short change nothing.
        let shortest = if mask & mask.wrapping_add(1) == 0 { pages } else { 1 };
        let mut run = tree::first(records, self.root, shortest)?;
        loop {
            let aligned = ((u64::from(records.start(run)) + offset + wide) & !wide) - offset;
            if aligned + u64::from(pages) > size {
                return None;
            }
            // At most `size`, which is a u32.
            let at = aligned as u32;
            let holder = tree::floor(records, self.root, at).filter(|&holder| records.end(holder) > at);
            let busy = match holder {
                Some(holder) if records.end(holder) - at >= pages => return Some((holder, at)),
                Some(holder) => records.end(holder),
                None => at,
            };
            run = tree::first_from(records, self.root, busy, shortest)?;
        }
    }

    /// Cuts `at..at + pages` out of the free run that holds it.
    fn carve(&mut self, records: &Records, run: Link, at: u32, pages: u32) -> Result<Link, Refusal> {
        let below = at - records.start(run);
        let above = records.pages(run) - below - pages;
        if below == 0 && above == 0 {
            tree::remove(records, &mut self.root, run);
            self.become_live(records, run);
            return Ok(run);
        }
        let chunk = records.take().ok_or(Refusal::Records)?;
        if below == 0 {
            self.link(records, records.prev(run), chunk, run);
            records.set_start(run, at + pages);
            records.set_pages(run, above);
            tree::update(records, run);
        } else {
            if above != 0 {
                let Some(rest) = records.take() else {
                    records.give_back(chunk);
                    return Err(Refusal::Records);
                };
                self.link(records, run, rest, records.next(run));
                records.set_start(rest, at + pages);
                records.set_pages(rest, above);
                records.set_tag(rest, Tag::free(self.id));
                records.set_pages(run, below);
                tree::update(records, run);
                tree::insert(records, &mut self.root, rest);
            } else {
                records.set_pages(run, below);
                tree::update(records, run);
            }
            self.link(records, run, chunk, records.next(run));
        }
        records.set_start(chunk, at);
        records.set_pages(chunk, pages);
        self.become_live(records, chunk);
        Ok(chunk)
    }

    /// Gives a live chunk back, joining it with free neighbours.
    ///
    /// # Cost
    /// Logarithmic in the free runs; needs no record.
    pub(crate) fn free(&mut self, records: &Records, chunk: Link) {
        let (below, above) = (records.prev(chunk), records.next(chunk));
        let join_below = below != NONE && records.is_free(below);
        let join_above = above != NONE && records.is_free(above);
        if join_below {
            let mut pages = records.pages(below) + records.pages(chunk);
            self.unlink(records, chunk);
            if join_above {
                pages += records.pages(above);
                tree::remove(records, &mut self.root, above);
                self.unlink(records, above);
            }
            records.set_pages(below, pages);
            tree::update(records, below);
        } else if join_above {
            records.set_start(above, records.start(chunk));
            records.set_pages(above, records.pages(above) + records.pages(chunk));
            self.unlink(records, chunk);
            tree::update(records, above);
        } else {
            records.set_tag(chunk, Tag::free(self.id));
            tree::insert(records, &mut self.root, chunk);
        }
    }

    /// The live chunk that holds page `at`.
    ///
    /// # Cost
    /// Linear in the chunks between `at` and the free run below it.
    pub(crate) fn holder(&self, records: &Records, at: u32) -> Option<Link> {
        let mut link = tree::floor(records, self.root, at).unwrap_or(self.lowest);
        while link != NONE && records.end(link) <= at {
            link = records.next(link);
        }
        (link != NONE && !records.is_free(link)).then_some(link)
    }

    /// Marks a record as a chunk without owner.
    fn become_live(&self, records: &Records, chunk: Link) {
        records.set_tag(chunk, Tag { kind: Kind::Live, pool: self.id, core: 0, owner: crate::record::DEVICE_OWNED });
        records.set_newer(chunk, NONE);
        records.set_older(chunk, NONE);
        records.set_handle(chunk, 0);
        records.set_category(chunk, 0);
        records.set_maps(chunk, 0);
    }

    /// Links `link` between two neighbours of the address-ordered list.
    fn link(&mut self, records: &Records, below: Link, link: Link, above: Link) {
        records.set_prev(link, below);
        records.set_next(link, above);
        if below == NONE {
            self.lowest = link;
        } else {
            records.set_next(below, link);
        }
        if above != NONE {
            records.set_prev(above, link);
        }
    }

    /// Takes a record out of the address-ordered list and returns it.
    fn unlink(&mut self, records: &Records, link: Link) {
        let (below, above) = (records.prev(link), records.next(link));
        if below == NONE {
            self.lowest = above;
        } else {
            records.set_next(below, above);
        }
        if above != NONE {
            records.set_prev(above, below);
        }
        records.give_back(link);
    }
}
