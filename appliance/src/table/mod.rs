//! Who holds which bytes: one table with a row for each core and below it a row for each model.
//!
//! ```text
//! CORE / MODEL     TOTAL     model     model   tensors     shared DMA rings
//!                             code constants           scratchpad       I/O
//! ND 0:NC 0    146.531MB  16.000MB   2.000MB 512.000KB  128.000MB  32.000KB
//!   (shared)   128.500MB    0.000B    0.000B 512.000KB  128.000MB    0.000B
//!   generate    18.031MB  16.000MB   2.000MB    0.000B     0.000B  32.000KB
//! ```
//!
//! ND is a device and NC a core of it. A class of usages has a column only if some row holds something of it.

use core::fmt::{self, Write};

use crate::quote::Quote;
use nrt_core::{Class, Usage};

pub use nrt_core::Size;

/// Whose bytes a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<'a> {
    /// A core, with everything on it.
    Core {
        /// Device (ND).
        device: u32,
        /// Core of the device (NC).
        core: u32,
    },
    /// What a core holds for all its models, of the core in the nearest core row above.
    Shared,
    /// A model on the core in the nearest core row above.
    Model(&'a str),
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Whose bytes these are.
    pub owner: Owner<'a>,
    /// Bytes by usage number.
    pub usage: [u64; Usage::COUNT],
}

/// The two header lines of each class, in the order of the class numbers.
const HEADERS: [[&str; 2]; Class::ALL.len()] = [
    ["model", "code"],
    ["model", "constants"],
    ["tensors", ""],
    ["shared", "scratchpad"],
    ["scratchpad", ""],
    ["runtime", ""],
    ["DMA rings", "I/O"],
    ["DMA rings", "spill"],
    ["DMA rings", "collectives"],
    ["DMA rings", "runtime"],
    ["collectives", ""],
    ["notifications", ""],
];

/// Columns: the total and the classes.
const COLUMNS: usize = Class::ALL.len() + 1;

/// Heading of the first column.
const OWNERS: &str = "CORE / MODEL";

/// Most characters of an owner; a longer name is cut.
const OWNER_CHARACTERS: usize = 24;

/// The bytes of a row by column.
fn columns(row: &Row<'_>) -> [u64; COLUMNS] {
    let mut sums = [0u64; COLUMNS];
    for (number, bytes) in row.usage.iter().enumerate() {
        let class = Usage::from_number(number as u32).map_or(0, |usage| usage.class() as usize);
        sums[0] = sums[0].saturating_add(*bytes);
        sums[class + 1] = sums[class + 1].saturating_add(*bytes);
    }
    sums
}

/// What stands at the top of a column.
fn header(column: usize) -> [&'static str; 2] {
    if column == 0 { ["TOTAL", ""] } else { HEADERS[column - 1] }
}

/// Writes the table: two header lines and a line for each row.
///
/// Without many classes it fits 130 columns; a column is as wide as its widest entry.
///
/// # Errors
/// The sink refused the text.
pub fn write(out: &mut dyn Write, rows: &[Row<'_>]) -> fmt::Result {
    let mut widths = [0usize; COLUMNS];
    let mut owner_width = OWNERS.len();
    for row in rows {
        owner_width = owner_width.max(width(row.owner));
        for (column, bytes) in columns(row).into_iter().enumerate() {
            if column == 0 || bytes != 0 {
                widths[column] = widths[column].max(Size(bytes).width());
            }
        }
    }
    for (column, width) in widths.iter_mut().enumerate() {
        if column == 0 || *width != 0 {
            let [first, second] = header(column);
            // "0.000B" of the other rows must fit as well.
            *width = (*width).max(first.len()).max(second.len()).max(Size(0).width());
        }
    }
    for line in 0..2 {
        let mut blanks = owner_width;
        if line == 0 {
            out.write_str(OWNERS)?;
            blanks -= OWNERS.len();
        }
        for (column, width) in widths.into_iter().enumerate().filter(|(_, width)| *width != 0) {
            let word = header(column)[line];
            blanks += width + 1 - word.len();
            // No blanks at the end of a line.
            if !word.is_empty() {
                pad(out, blanks)?;
                out.write_str(word)?;
                blanks = 0;
            }
        }
        out.write_char('\n')?;
    }
    for row in rows {
        write!(out, "{}", Label(row.owner))?;
        pad(out, owner_width - width(row.owner))?;
        for (bytes, width) in columns(row).into_iter().zip(widths).filter(|(_, width)| *width != 0) {
            let size = Size(bytes);
            pad(out, width + 1 - size.width())?;
            write!(out, "{size}")?;
        }
        out.write_char('\n')?;
    }
    Ok(())
}

fn pad(out: &mut dyn Write, blanks: usize) -> fmt::Result {
    (0..blanks).try_for_each(|_| out.write_char(' '))
}

/// Characters of the label of an owner.
fn width(owner: Owner<'_>) -> usize {
    let mut count = Count(0);
    // Counting does not fail.
    let _ = write!(count, "{}", Label(owner));
    count.0
}

/// Counts characters.
struct Count(usize);

impl Write for Count {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.chars().count();
        Ok(())
    }
}

/// The first column of a row.
struct Label<'a>(Owner<'a>);

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Owner::Core { device, core } => write!(f, "ND {device}:NC {core}"),
            Owner::Shared => f.write_str("  (shared)"),
            Owner::Model(name) => write!(f, "  {}", Quote { bytes: name.as_bytes(), limit: OWNER_CHARACTERS }),
        }
    }
}
