//! Numbers by places in one unit, close together in memory: entries of types are many, and each is looked up often.
//!
//! A cell stands where the place, shifted, says, or in one of the next few. Where more places than that meet, the shift
//! becomes less, down to a cell for every byte: so no input makes a look-up long.

/// Cells that a look-up goes over.
const STEPS: usize = 16;

/// Bytes of a unit for which there is a cell, as a power of two; the shortest entries of types have five bytes.
const SHIFT: u32 = 3;

/// Cells that there are at first, at most, as a power of two.
const MOST: u32 = 20;

/// `N` numbers by place, 0 where none was set.
#[derive(Default)]
pub(crate) struct Near<const N: usize> {
    cells: Vec<Cell<N>>,
    shift: u32,
    /// Bytes of the unit.
    bytes: usize,
}

/// The place, plus 1, and its numbers; 0 = free.
type Cell<const N: usize> = (u32, [u32; N]);

impl<const N: usize> Near<N> {
    /// The numbers of a place, if any was set.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&[u32; N]> {
        let key = u32::try_from(place).ok()?.checked_add(1)?;
        let start = place >> self.shift;
        let cell = self.cells.get(start..start + STEPS)?.iter().find(|cell| cell.0 == key || cell.0 == 0)?;
        (cell.0 == key).then_some(&cell.1)
    }

    /// Sets one number of a place; one outside of the unit is not kept.
    pub(crate) fn set(&mut self, place: usize, which: usize, value: u32) {
        let Some(key) = u32::try_from(place).ok().and_then(|place| place.checked_add(1)).filter(|_| place < self.bytes) else {
            return;
        };
        if self.cells.is_empty() {
            self.make();
        }
        loop {
            let start = place >> self.shift;
            let Some(cells) = self.cells.get_mut(start..start + STEPS) else { return };
            if let Some(cell) = cells.iter_mut().find(|cell| cell.0 == key || cell.0 == 0) {
                cell.0 = key;
                cell.1[which] = value;
                return;
            }
            self.spread();
        }
    }

    /// Forgets all, for a unit of so many bytes.
    pub(crate) fn clear(&mut self, bytes: usize) {
        self.bytes = bytes;
        self.shift = SHIFT.max((usize::BITS - bytes.leading_zeros()).saturating_sub(MOST));
        self.cells.clear();
    }

    /// Makes free cells.
    fn make(&mut self) {
        let count = (self.bytes >> self.shift) + 1 + STEPS;
        if self.cells.capacity() < count {
            // Zeroed memory costs nothing until it is touched.
            self.cells = vec![(0, [0; N]); count];
        } else {
            self.cells.resize(count, (0, [0; N]));
        }
    }

    /// Makes more room between places.
    #[cold]
    fn spread(&mut self) {
        let old = std::mem::take(&mut self.cells);
        // With no shift each place has its own cell, which no other one takes.
        self.shift = self.shift.saturating_sub(1);
        self.make();
        for (key, numbers) in old.into_iter().filter(|(key, _)| *key != 0) {
            for (which, number) in numbers.into_iter().enumerate() {
                self.set(key as usize - 1, which, number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Near;

    #[test]
    fn places_are_told_apart_however_close_they_are() {
        let mut near = Near::<2>::default();
        assert_eq!(near.get(5), None);
        near.set(5, 0, 1);
        assert_eq!(near.get(5), None, "no unit was entered");
        for bytes in [1, 100, 5000, 3 << 20] {
            near.clear(bytes);
            let places: Vec<usize> = (0..bytes).filter(|place| place % 1000 < 300).take(20_000).collect();
            for place in &places {
                near.set(*place, place % 2, *place as u32 + 7);
            }
            for place in &places {
                let numbers = near.get(*place).expect("set before");
                assert_eq!((numbers[place % 2], numbers[1 - place % 2]), (*place as u32 + 7, 0), "{place} of {bytes}");
            }
            near.set(bytes, 0, 1);
            assert_eq!((near.get(bytes), near.get(999)), (None, None));
            near.set(places[0], 1, 3);
            assert_eq!(near.get(places[0]).map(|numbers| numbers[1]), Some(3));
        }
    }
}
