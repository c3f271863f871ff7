//! The bytes of a record as rows of one cache line.

use crate::emit::shape::{Kind, Member, Record};
use crate::found::is_unnamed;

/// Bytes of a cache line, and of a row.
pub const LINE: u64 = 64;

/// A run of bytes of one member, or of none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// First byte.
    pub start: u64,
    /// Byte behind the last.
    pub end: u64,
    /// Index of the member; none = a hole.
    pub member: Option<usize>,
    /// Class of the style sheet.
    pub class: &'static str,
}

/// One row of the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// A cache line, from its first byte, with what is in it.
    Line(u64, Vec<Run>),
    /// Lines from this byte on that one run fills, left out.
    Skipped(u64, u64, Run),
}

/// Class of a member by its kind.
#[must_use]
pub fn class(member: &Member) -> &'static str {
    if is_unnamed(&member.name) {
        return "unnamed";
    }
    match &member.kind {
        Kind::Scalar(_) => "scalar",
        Kind::Enum(_) => "enum",
        Kind::Pointer(_) | Kind::Function => "pointer",
        Kind::Library(_) => "lock",
        Kind::Record(_) | Kind::Inline(_) => "struct",
        Kind::Bytes(_) => "bytes",
    }
}

/// Runs of a struct, holes included, side by side; one at the end is padding. A hole that alignment does not explain is of
/// unknown content.
#[must_use]
pub fn runs(record: &Record) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut end = 0;
    let gap = |start: u64, end: u64| Run {
        start,
        end,
        member: None,
        class: match record.confidence == "dwarf" || end - start < 8 || end.is_multiple_of(64) {
            false => "unnamed",
            true if end == record.size => "padding",
            true => "hole",
        },
    };
    for (index, member) in record.members.iter().enumerate() {
        if member.offset > end {
            runs.push(gap(end, member.offset));
            end = member.offset;
        }
        let start = member.offset.max(end);
        let stop = member.offset + member.size;
        if stop > start {
            runs.push(Run { start, end: stop, member: Some(index), class: class(member) });
            end = stop;
        }
    }
    if record.size > end {
        runs.push(gap(end, record.size));
    }
    runs
}

/// Rows of a record. Of lines that one run fills alone, the first stays and the others become one row.
#[must_use]
pub fn rows(runs: &[Run], size: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut at = 0;
    let mut first = 0;
    while at < size {
        while runs.get(first).is_some_and(|run| run.end <= at) {
            first += 1;
        }
        if let Some(run) = runs.get(first).filter(|run| run.start <= at) {
            let full = (run.end - at) / LINE;
            if full > 3 {
                rows.push(Row::Line(at, vec![Run { start: at, end: at + LINE, ..run.clone() }]));
                rows.push(Row::Skipped(at + LINE, full - 1, run.clone()));
                at += full * LINE;
                continue;
            }
        }
        let stop = (at + LINE).min(size);
        let inside = runs[first.min(runs.len())..].iter().take_while(|run| run.start < stop);
        let cut = |run: &Run| Run { start: run.start.max(at), end: run.end.min(stop), ..run.clone() };
        rows.push(Row::Line(at, inside.map(cut).collect()));
        at = stop;
    }
    rows
}
