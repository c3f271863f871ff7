//! Sections of strings, read where they are looked at: what is asked about one type needs a few pages of megabytes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use memchr::memmem;

use super::elf::{Section, Span};
use super::sections::{Part, Sections};
use crate::error::Unreadable;

/// Bytes of one page: little more than a string, because the strings of one type rarely lie together.
const PAGE: usize = 1 << 7;

/// Bytes after a page that are read with it, for the string that begins at its end: most strings are shorter, almost all
/// shorter than the second.
const OVERLAP: [usize; 2] = [1 << 7, 1 << 12];

/// Bytes that are read at once where strings of one type do lie together: where so many pages of them were read.
const BLOCK: usize = 1 << 14;
const DENSE: u8 = 6;

/// Pages beyond which the whole section is read.
const MANY: usize = 1 << 9;

/// Bytes that are searched at a time.
const PART: usize = 1 << 16;

/// One section of strings of a file.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    sections: &'a Sections,
    part: Part,
}

/// The pages and blocks that were read of one section: a table of fixed size, in which the next free cell after its own is
/// a page's.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    cells: OnceLock<Box<[OnceLock<Page>]>>,
    /// Pages that were read of each block.
    counts: OnceLock<Box<[AtomicU8]>>,
}

#[derive(Debug)]
struct Page {
    /// Its number among the pages, or blocks, of its kind, and the kind.
    key: (usize, Kind),
    bytes: Vec<u8>,
}

/// What is read at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Short,
    Long,
    Block,
}

impl Kind {
    /// Bytes from one to the next, and those after it that are read with it.
    const fn measures(self) -> (usize, usize) {
        match self {
            Self::Short => (PAGE, OVERLAP[0]),
            Self::Long => (PAGE, OVERLAP[1]),
            Self::Block => (BLOCK, OVERLAP[1]),
        }
    }
}

impl<'a> Texts<'a> {
    pub(crate) const fn new(sections: &'a Sections, part: Part) -> Self {
        Self { sections, part }
    }

    /// Tells the section from every other one, as long as its file is there.
    pub(crate) fn key(self) -> usize {
        std::ptr::from_ref(self.sections.pages(self.part)) as usize
    }

    /// The string that starts there, without its zero; none = it has no end. What the file refuses is told by
    /// [`Sections::fault`].
    pub(crate) fn at(self, offset: usize) -> Option<&'a [u8]> {
        if self.sections.loaded(self.part).is_none()
            && let Some((span, section)) = self.sections.as_it_stands(self.part)
        {
            match self.sections.pages(self.part).at(span, section, offset) {
                Ok(Some(text)) => return Some(text),
                Ok(None) => {}
                Err(error) => return self.sections.blame(error),
            }
        }
        zero_ended(self.whole()?, offset)
    }

    fn whole(self) -> Option<&'a [u8]> {
        self.sections.get(self.part).map_or_else(|error| self.sections.blame(error), Some)
    }

    /// Tells where each of the patterns is found, until told to stop; none = stopped, or the file could not be read.
    pub(crate) fn find(self, patterns: &[Vec<u8>], mut tell: impl FnMut(usize) -> bool) -> Option<()> {
        let finders: Vec<memmem::Finder<'_>> = patterns.iter().map(memmem::Finder::new).collect();
        // What ends before `after` was told already.
        let mut search = |bytes: &[u8], start: usize, after: usize| {
            let mut all = true;
            for finder in &finders {
                let new = |at: &usize| start + at + finder.needle().len() > after;
                all = all && finder.find_iter(bytes).filter(new).all(|at| tell(start + at));
            }
            all
        };
        let stands = self.sections.as_it_stands(self.part).filter(|_| self.sections.loaded(self.part).is_none());
        let Some((span, section)) = stands else { return search(self.whole()?, 0, 0).then_some(()) };
        let size = usize::try_from(section.size).ok()?;
        let longest = patterns.iter().map(Vec::len).max().unwrap_or(0);
        // Parts that stay in the cache; each begins with what a pattern may have begun in at the end of the one before.
        let mut part = vec![0; PART.max(longest.saturating_mul(2)).min(size)];
        let (mut start, mut after) = (0, 0);
        while after < size {
            let length = part.len().min(size - start);
            let bytes = part.get_mut(..length)?;
            if let Err(error) = span.fill(section.offset.saturating_add(start as u64), bytes) {
                return self.sections.blame(error);
            }
            if !search(bytes, start, after) {
                return None;
            }
            after = start + length;
            start = after - longest.saturating_sub(1).min(length);
        }
        Some(())
    }
}

impl Pages {
    /// The string that starts there; none = that takes the whole section.
    fn at(&self, span: &Span, section: &Section, offset: usize) -> Result<Option<&[u8]>, Unreadable> {
        let size = usize::try_from(section.size).unwrap_or(usize::MAX);
        if offset >= size {
            return Ok(None);
        }
        // Relaxed: a guess at what pays; blocks far from each other share a count.
        let counts = self.counts.get_or_init(|| (0..MANY).map(|_| AtomicU8::new(0)).collect());
        let count = &counts[offset / BLOCK % MANY];
        let kinds: &[Kind] = if count.load(Ordering::Relaxed) < DENSE { &[Kind::Short, Kind::Long] } else { &[Kind::Block] };
        for kind in kinds {
            let (step, overlap) = kind.measures();
            let number = offset / step;
            let read = || {
                if *kind != Kind::Block {
                    count.fetch_add(1, Ordering::Relaxed);
                }
                let start = number * step;
                let length = (step + overlap).min(size - start);
                span.read(section.offset.saturating_add(start as u64), length as u64)
            };
            let Some(bytes) = self.page((number, *kind), read)? else { return Ok(None) };
            if let Some(text) = zero_ended(bytes, offset % step) {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// The page of this key, which is read if it was not; none = there is no room for one more.
    fn page(&self, key: (usize, Kind), read: impl Fn() -> Result<Vec<u8>, Unreadable>) -> Result<Option<&[u8]>, Unreadable> {
        let cells = self.cells.get_or_init(|| (0..MANY).map(|_| OnceLock::new()).collect());
        for step in 0..MANY {
            let cell = &cells[(key.0 + step) % MANY];
            let page = match cell.get() {
                Some(page) => page,
                None => {
                    let bytes = read()?;
                    // Another thread may have been faster, with another page.
                    cell.get_or_init(|| Page { key, bytes })
                }
            };
            if page.key == key {
                return Ok(Some(&page.bytes));
            }
        }
        Ok(None)
    }
}

/// The bytes from there up to a zero; none = there is no zero.
pub(crate) fn zero_ended(bytes: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = bytes.get(offset..)?;
    // A loop: strings are short, and to find out how this machine searches best takes as long as hundreds of them.
    Some(&rest[..rest.iter().position(|byte| *byte == 0)?])
}
