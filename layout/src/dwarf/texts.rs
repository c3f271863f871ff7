//! Sections of strings, read where they are looked at: what is asked about one type needs a few pages of megabytes.

use std::sync::OnceLock;

use memchr::memmem;

use super::elf::{Section, Span};
use super::sections::{Part, Sections};
use crate::error::Unreadable;

/// Bytes of one page: little more than a string, because the strings of one type rarely lie together.
const PAGE: usize = 1 << 9;

/// Bytes after a page that are read with it, for the string that begins at its end.
const OVERLAP: usize = 1 << 9;

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

/// The pages that were read of one section: a table of fixed size, in which the next free cell after its own is a page's.
#[derive(Debug, Default)]
pub(crate) struct Pages(OnceLock<Box<[OnceLock<Page>]>>);

#[derive(Debug)]
struct Page {
    number: usize,
    bytes: Vec<u8>,
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
        let cells = self.0.get_or_init(|| (0..MANY).map(|_| OnceLock::new()).collect());
        let number = offset / PAGE;
        for step in 0..MANY {
            let cell = &cells[(number + step) % MANY];
            let page = match cell.get() {
                Some(page) => page,
                None => {
                    let start = number * PAGE;
                    let length = (PAGE + OVERLAP).min(size - start);
                    let bytes = span.read(section.offset.saturating_add(start as u64), length as u64)?;
                    // Another thread may have been faster, with another page.
                    cell.get_or_init(|| Page { number, bytes })
                }
            };
            if page.number == number {
                return Ok(zero_ended(&page.bytes, offset % PAGE));
            }
        }
        Ok(None)
    }
}

/// The bytes from there up to a zero; none = there is no zero.
pub(crate) fn zero_ended(bytes: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = bytes.get(offset..)?;
    Some(&rest[..memchr::memchr(0, rest)?])
}
