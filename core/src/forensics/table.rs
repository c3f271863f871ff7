//! The columns of the table: a total, then the classes or, on request, every usage.

use core::fmt::{self, Write as _};

use crate::size::Size;
use crate::usage::{Class, Usage};

/// Characters of the first column.
const OWNER: usize = 22;
/// Characters of every other one.
const WIDTH: usize = 12;

/// The two lines of headings, by class number: the columns of the original's documentation.
const HEADINGS: [[&str; 2]; Class::ALL.len()] = [
    ["Model", "Code"],
    ["Model", "Constants"],
    ["", "Tensors"],
    ["Shared", "Scratchpad"],
    ["", "Scratchpad"],
    ["", "Runtime"],
    ["DMA Rings", "IO"],
    ["DMA Rings", "Spill"],
    ["DMA Rings", "Collectives"],
    ["DMA Rings", "Runtime"],
    ["", "Collectives"],
    ["Profiler", "Buffers"],
];

/// Whose bytes a line counts.
#[derive(Clone, Copy)]
pub(super) enum Owner {
    /// Nobody's: a line of the headings.
    Heading(usize),
    /// The owned cores of a device.
    Device(u32),
    /// The owned cores of an HBM.
    Hbm(u32, u32),
    /// A core.
    Core(u32),
    /// A resident model.
    Model(u32),
    /// A model whose load ran out of memory.
    Loading,
}

impl Owner {
    /// Classes that belong to the core, never to a model.
    const fn not_applicable(self, class: Class) -> bool {
        matches!(self, Self::Model(_) | Self::Loading)
            && matches!(class, Class::Tensors | Class::SharedScratchpad | Class::Notifications)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = heapless::String::<OWNER>::new();
        // There is room for any number.
        let _ = match *self {
            Self::Heading(_) => Ok(()),
            Self::Device(device) => write!(text, "ND {device} Overall"),
            Self::Hbm(device, channel) => write!(text, "ND {device} HBM {channel}"),
            Self::Core(core) => write!(text, "  NC {core}"),
            Self::Model(id) => write!(text, "    model {id}"),
            Self::Loading => text.push_str("    (being loaded)").map_err(|_| fmt::Error),
        };
        write!(f, "{text:<OWNER$}")
    }
}

/// One line.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) owner: Owner,
    /// Bytes by usage.
    pub(super) bytes: [u64; Usage::COUNT],
    /// A column for every usage.
    pub(super) verbose: bool,
}

fn cell(f: &mut fmt::Formatter<'_>, content: &dyn fmt::Display) -> fmt::Result {
    let mut text = heapless::String::<24>::new();
    let _ = write!(text, "{content}");
    write!(f, " {text:>WIDTH$}")
}

impl Row {
    fn headings(&self, f: &mut fmt::Formatter<'_>, line: usize) -> fmt::Result {
        cell(f, &["", "TOTAL"][line])?;
        if self.verbose {
            // A usage's name is one word; a long one goes on in the second line.
            return Usage::ALL.into_iter().try_for_each(|usage| {
                let name = usage.name();
                let (first, second) = name.split_at_checked(WIDTH).unwrap_or((name, ""));
                let short = second.is_empty();
                cell(f, &[if short { "" } else { first }, if short { first } else { second }][line])
            });
        }
        HEADINGS.iter().try_for_each(|heading| cell(f, &heading[line]))
    }

    fn class_cell(&self, f: &mut fmt::Formatter<'_>, class: Class, bytes: u64) -> fmt::Result {
        if bytes == 0 && self.owner.not_applicable(class) { cell(f, &"n/a") } else { cell(f, &Size(bytes)) }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.owner.fmt(f)?;
        if let Owner::Heading(line) = self.owner {
            return self.headings(f, line);
        }
        let sum = |sum: u64, bytes: &u64| sum.saturating_add(*bytes);
        cell(f, &Size(self.bytes.iter().fold(0, sum)))?;
        if self.verbose {
            return Usage::ALL
                .into_iter()
                .zip(self.bytes)
                .try_for_each(|(usage, bytes)| self.class_cell(f, usage.class(), bytes));
        }
        Class::ALL.into_iter().try_for_each(|class| {
            let of_class = Usage::ALL.into_iter().zip(&self.bytes).filter(|(usage, _)| usage.class() == class);
            self.class_cell(f, class, of_class.map(|(_, bytes)| bytes).fold(0, sum))
        })
    }
}
