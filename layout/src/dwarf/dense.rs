//! What is known by places in a section or unit: what is asked for next usually stands close to what was asked for before.

use super::near::Near;
use super::world::At;
use crate::types::hash::QuickMap;

/// Cells of one page.
const PAGE: usize = 1024;

/// Numbers by place; 0 where none was set.
#[derive(Default)]
pub(crate) struct Dense {
    pages: Vec<Option<Box<[u32; PAGE]>>>,
}

impl Dense {
    pub(crate) fn get(&self, place: usize) -> u32 {
        match self.pages.get(place / PAGE) {
            Some(Some(page)) => page[place % PAGE],
            _ => 0,
        }
    }

    pub(crate) fn set(&mut self, place: usize, value: u32) {
        let number = place / PAGE;
        if self.pages.len() <= number {
            self.pages.resize_with(number + 1, || None);
        }
        self.pages[number].get_or_insert_with(|| Box::new([0; PAGE]))[place % PAGE] = value;
    }
}

/// `N` numbers by entry: of the unit that is being read, and of others.
#[derive(Default)]
pub(crate) struct Entries<const N: usize> {
    unit: u32,
    own: Near<N>,
    others: QuickMap<At, [u32; N]>,
}

impl<const N: usize> Entries<N> {
    pub(crate) fn get(&self, at: At, which: usize) -> u32 {
        let found = if at.unit == self.unit { self.own.get(at.offset) } else { self.others.get(&at) };
        found.map_or(0, |numbers| numbers[which])
    }

    pub(crate) fn set(&mut self, at: At, which: usize, value: u32) {
        if at.unit == self.unit {
            self.own.set(at.offset, which, value);
        } else {
            self.others.entry(at).or_insert([0; N])[which] = value;
        }
    }

    /// Goes on to another unit, of so many bytes; keeps the numbers of at most `most` entries of others.
    pub(crate) fn enter(&mut self, unit: u32, bytes: usize, most: usize) {
        self.unit = unit;
        self.own.clear(bytes);
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
