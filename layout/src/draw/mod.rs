//! `draw`: layouts as pictures. Plain SVG with selectable text; it prints on white.

pub mod grid;
pub mod panel;
pub mod poster;
pub mod style;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use crate::emit::shape::{Kind, Member, Record, Shapes};
use crate::emit::{deliver, from_documents, from_file};
use crate::error::Unreadable;
use crate::source::SourceArguments;
use panel::{WIDTH, id, inside, panel};

/// Examples of the command line.
pub const EXAMPLES: &str = "\
Examples:
  cargo layout draw dmem_t -o dmem_t.svg          bytes, cache lines, holes; what it embeds below
  cargo layout draw tpb_t --depth 0 -o tpb_t.svg  the struct alone
  cargo layout draw task_struct --elf vmlinux -o task.svg
  cargo layout draw --tree -o tree.svg            the context tree as a poster

A click on a block, a name with a mark or a title folds the panel it stands for; without scripts, and on paper, all are open.

Exit codes:
  0  drawn
  2  wrong usage, or a name that is not there
  3  something could not be read or written";

/// Panels at most: what embeds more is cut off.
const MOST: usize = 64;

/// What to draw.
#[derive(Debug, Args)]
pub struct Request {
    /// Structs by their C names.
    #[arg(value_name = "TYPE", required_unless_present = "tree")]
    types: Vec<String>,
    /// Draw the context tree as a poster.
    #[arg(long, conflicts_with_all = ["types", "elf"])]
    tree: bool,
    /// Levels of embedded structs to draw.
    #[arg(long, value_name = "LEVELS", default_value_t = 2)]
    depth: u32,
    /// Read the layouts from the debug information of this file instead of the documented table.
    #[arg(long, value_name = "FILE", conflicts_with = "table")]
    elf: Option<PathBuf>,
    /// Documented table to use instead of the built-in layout.csv.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// File to write instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    source: SourceArguments,
}

/// Answers a request: the text to print and the exit code.
///
/// # Errors
/// A table or file that cannot be read, an output that cannot be written.
pub fn run(request: &Request) -> Result<(String, u8), Unreadable> {
    request.source.need(request.elf.as_deref())?;
    let (_, shapes) = match &request.elf {
        Some(path) => from_file(path, &request.types, &request.source)?,
        None => from_documents(request.table.as_deref(), &request.types)?,
    };
    if request.tree {
        return deliver(poster::poster(&shapes), request.output.as_deref());
    }
    if let Some(missing) = request.types.iter().find(|name| shapes.record(name).is_none()) {
        eprintln!("nrt-layout: {missing} is not in {}", shapes.origin);
        return Ok((String::new(), 2));
    }
    deliver(drawing(&shapes, &request.types, request.depth), request.output.as_deref())
}

/// Draws the named structs, and what they embed down to `depth`, each once.
#[must_use]
pub fn drawing(shapes: &Shapes, names: &[String], depth: u32) -> String {
    let mut found: Vec<(String, Record)> = Vec::new();
    for record in names.iter().filter_map(|name| shapes.record(name)) {
        collect(shapes, &record.name, record, depth, &mut found);
    }
    let known: Vec<String> = found.iter().map(|(title, _)| title.clone()).collect();
    let (mut content, mut height) = (String::new(), 0);
    for (title, record) in &found {
        let drawn = panel(shapes, record, title, &known);
        let _ = writeln!(
            content,
            "<g class=\"panel\" id=\"{}\" data-height=\"{}\" transform=\"translate(0 {height})\">\n{}</g>",
            id(title),
            drawn.height,
            drawn.svg,
        );
        height += drawn.height;
    }
    style::document(WIDTH, height, &names.join(", "), &content, true)
}

fn collect(shapes: &Shapes, title: &str, record: &Record, depth: u32, found: &mut Vec<(String, Record)>) {
    if found.len() >= MOST || found.iter().any(|(known, _)| known == title) {
        return;
    }
    found.push((title.into(), record.clone()));
    if depth == 0 {
        return;
    }
    let inner = |member: &Member| match &member.kind {
        Kind::Record(name) => shapes.record(name).filter(|record| !record.members.is_empty()).cloned(),
        Kind::Inline(record) => Some((**record).clone()),
        _ => None,
    };
    for member in &record.members {
        if let (Some(title), Some(record)) = (inside(title, member), inner(member)) {
            collect(shapes, &title, &record, depth - 1, found);
        }
    }
}
