//! Sizes as the runtime's reports print them.

use core::fmt;

/// A number of bytes as value / 1024^k with three decimals and B, KB, MB or GB: `0.000B`, `350.125KB`, `20.188GB`.
///
/// The digits are those of C's `%.3f`: the nearest, and of two nearest the even one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl Size {
    /// Whole units, thousandths of a unit, and the unit.
    fn parts(self) -> (u64, u64, &'static str) {
        let (shift, unit) = match self.0 {
            0..0x400 => (0, "B"),
            0x400..0x10_0000 => (10, "KB"),
            0x10_0000..0x4000_0000 => (20, "MB"),
            _ => (30, "GB"),
        };
        let one = 1u64 << shift;
        let scaled = (self.0 & (one - 1)) * 1000;
        let (mut thousandths, rest) = (scaled >> shift, scaled & (one - 1));
        if rest * 2 > one || (rest * 2 == one && thousandths % 2 == 1) {
            thousandths += 1;
        }
        ((self.0 >> shift) + thousandths / 1000, thousandths % 1000, unit)
    }

    /// Number of characters that [`Display`](fmt::Display) writes.
    #[must_use]
    pub fn width(self) -> usize {
        let (whole, _, unit) = self.parts();
        whole.checked_ilog10().unwrap_or(0) as usize + 1 + 4 + unit.len()
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, thousandths, unit) = self.parts();
        write!(f, "{whole}.{thousandths:03}{unit}")
    }
}
