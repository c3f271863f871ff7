//! Tables indexed by places in a section or unit: what is asked for next usually stands close to what was asked for before.

use super::world::At;
use crate::types::hash::QuickMap;

/// Cells of one page.
const PAGE: usize = 1024;

struct Page {
    cells: [u32; PAGE],
    used: bool,
}

/// Numbers by place; 0 where none was set.
#[derive(Default)]
pub(crate) struct Dense {
    pages: Vec<Option<Box<Page>>>,
    used: Vec<usize>,
}

impl Dense {
    pub(crate) fn get(&self, place: usize) -> u32 {
        match self.pages.get(place / PAGE) {
            Some(Some(page)) => page.cells[place % PAGE],
            _ => 0,
        }
    }

    pub(crate) fn set(&mut self, place: usize, value: u32) {
        let number = place / PAGE;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        let page = self.pages[number].get_or_insert_with(|| Box::new(Page { cells: [0; PAGE], used: false }));
        if !page.used {
            page.used = true;
            self.used.push(number);
        }
        page.cells[place % PAGE] = value;
    }

    /// Forgets all; costs what was used since the last time.
    pub(crate) fn clear(&mut self) {
        for number in self.used.drain(..) {
            if let Some(page) = &mut self.pages[number] {
                page.cells.fill(0);
                page.used = false;
            }
        }
    }
}

/// Numbers by entry: of the unit that is being read, and of others.
#[derive(Default)]
pub(crate) struct Entries {
    unit: u32,
    own: Dense,
    others: QuickMap<At, u32>,
}

impl Entries {
    pub(crate) fn get(&self, at: At) -> u32 {
        if at.unit == self.unit { self.own.get(at.offset) } else { self.others.get(&at).copied().unwrap_or(0) }
    }

    pub(crate) fn set(&mut self, at: At, value: u32) {
        if at.unit == self.unit {
            self.own.set(at.offset, value);
        } else {
            self.others.insert(at, value);
        }
    }

    /// Goes on to another unit; keeps at most `most` numbers of others.
    pub(crate) fn enter(&mut self, unit: u32, most: usize) {
        self.unit = unit;
        self.own.clear();
        if self.others.len() > most {
            self.others.clear();
        }
    }
}

/// Numbers of the strings that stand in sections of strings.
#[derive(Default)]
pub(crate) struct Strings(Vec<(usize, Dense)>);

impl Strings {
    /// The numbers of the section of a key.
    pub(crate) fn of(&mut self, key: usize) -> &mut Dense {
        let known = self.0.iter().position(|(known, _)| *known == key);
        let index = known.unwrap_or_else(|| {
            self.0.push((key, Dense::default()));
            self.0.len() - 1
        });
        &mut self.0[index].1
    }
}
