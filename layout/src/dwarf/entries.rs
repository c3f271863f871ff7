//! What is known of the entries of units, and of strings by where they stand.

use super::near::Near;
use super::world::At;
use crate::types::hash::QuickMap;

/// `N` numbers by entry: of the unit that is being read, and of others.
pub(crate) struct Entries<const N: usize> {
    /// None of them, until one is entered.
    unit: u32,
    own: Near<N>,
    others: QuickMap<At, [u32; N]>,
}

impl<const N: usize> Default for Entries<N> {
    fn default() -> Self {
        Self { unit: u32::MAX, own: Near::default(), others: QuickMap::default() }
    }
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

/// Numbers of strings by the key of their section and where in it they stand.
pub(crate) type Strings = QuickMap<(usize, usize), u32>;
