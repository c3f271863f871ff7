//! One record as a picture: its bytes on a grid, and its members as a list beside it.

use std::fmt::Write as _;

use super::grid::{LINE, Row, Run, class, rows, runs};
use super::style::escape;
use crate::emit::data::name;
use crate::emit::shape::{Kind, Member, Record, Shapes};

const LEFT: u64 = 74;
const CELL: u64 = 12;
const ROW: u64 = 26;
const LIST: u64 = LEFT + LINE * CELL + 34;
/// Width of a panel.
pub const WIDTH: u64 = LIST + 560;
const STEP: u64 = 16;
const TOP: u64 = 52;

/// A drawn record.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Content, relative to its own corner.
    pub svg: String,
    /// Height.
    pub height: u64,
}

/// Draws a record; `title` is its name, `known` the ids of panels that there are.
#[must_use]
pub fn panel(shapes: &Shapes, record: &Record, title: &str, known: &[String]) -> Panel {
    let id = id(title);
    let mut body = String::new();
    let mut y = TOP;
    if record.union {
        for member in &record.members {
            let _ =
                writeln!(body, "<text class=\"small note\" x=\"{LEFT}\" y=\"{}\">arm {}</text>", y + 10, escape(&member.name));
            y += 14;
            let arm = match &member.kind {
                Kind::Inline(inner) => (**inner).clone(),
                _ => Record { size: member.size, members: vec![Member { offset: 0, ..member.clone() }], ..Record::default() },
            };
            y = grid(&arm, title, known, y, &mut body);
        }
    } else {
        y = grid(record, title, known, y, &mut body);
    }
    let bottom = list(record, title, known, &mut body);
    let height = y.max(bottom) + 26;
    let word = if record.union { "union" } else { "struct" };
    let held: u64 = if record.union { record.size } else { record.members.iter().map(|member| member.size).sum() };
    let lines = record.size.div_ceil(LINE);
    let gaps: Vec<Run> = runs(record).into_iter().filter(|run| run.member.is_none() && !record.union).collect();
    let padding: u64 = gaps.iter().filter(|run| run.class == "padding").map(|run| run.end - run.start).sum();
    let empty = record.size.saturating_sub(held + padding);
    let mut waste = match gaps.len() - usize::from(padding > 0) {
        0 => "no holes".into(),
        1 => format!("{empty} B in 1 hole"),
        holes => format!("{empty} B in {holes} holes"),
    };
    if padding > 0 {
        let _ = write!(waste, ", {padding} B of padding");
    }
    let plural = if lines == 1 { "" } else { "s" };
    let facts = format!("{} B, align {}, {lines} cache line{plural}, {waste}", record.size, shapes.alignment(record));
    let svg = format!(
        "<g class=\"fold\" data-panel=\"{id}\"><text class=\"title\" x=\"8\" y=\"22\">{word} {}</text></g>\
         <text class=\"note\" x=\"{LIST}\" y=\"22\">{facts}</text>\n<g class=\"body\">\n{}{body}</g>\n",
        escape(title),
        axis(),
    );
    Panel { svg, height }
}

/// Id of the panel of a record.
#[must_use]
pub fn id(title: &str) -> String {
    format!("of-{}", title.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_', "-"))
}

/// Name of the panel that shows the inside of a member.
#[must_use]
pub fn inside(owner: &str, member: &Member) -> Option<String> {
    match &member.kind {
        Kind::Record(name) => Some(name.clone()),
        Kind::Inline(_) => Some(format!("{owner}.{}", member.name)),
        _ => None,
    }
}

fn axis() -> String {
    let mut out = String::new();
    for byte in (0..=LINE).step_by(8) {
        let _ = write!(out, "<text class=\"axis\" x=\"{}\" y=\"46\">{byte}</text>", LEFT + byte * CELL + 1);
    }
    out.push('\n');
    out
}

fn grid(record: &Record, owner: &str, known: &[String], mut y: u64, out: &mut String) -> u64 {
    for row in rows(&runs(record), record.size) {
        match row {
            Row::Line(at, runs) => {
                let _ =
                    write!(out, "<text class=\"axis\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{at:#x}</text>", LEFT - 6, y + 17);
                for run in &runs {
                    block(record, owner, known, at, run, y, out);
                }
                let _ = writeln!(out, "<path class=\"line\" d=\"M{LEFT} {}H{}\"/>", y + ROW, LEFT + LINE * CELL);
            }
            Row::Skipped(at, lines, run) => {
                let what =
                    run.member.and_then(|index| record.members.get(index)).map_or("bytes without a name", |member| &member.name);
                let _ = writeln!(
                    out,
                    "<rect class=\"{}\" x=\"{LEFT}\" y=\"{y}\" width=\"{}\" height=\"{}\" stroke-dasharray=\"3 3\"/>\
                     <text class=\"axis\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{at:#x}</text>\
                     <text class=\"note\" x=\"{}\" y=\"{}\">\u{22ee} {lines} more lines of {}</text>",
                    run.class,
                    LINE * CELL,
                    ROW,
                    LEFT - 6,
                    y + 17,
                    LEFT + 10,
                    y + 17,
                    escape(what),
                );
            }
        }
        y += ROW;
    }
    y
}

fn block(record: &Record, owner: &str, known: &[String], line: u64, run: &Run, y: u64, out: &mut String) {
    let (x, width) = (LEFT + (run.start - line) * CELL, (run.end - run.start) * CELL);
    let member = run.member.and_then(|index| record.members.get(index));
    let size = run.end - run.start;
    let (label, whole) = match member {
        Some(member) => {
            (member.name.clone(), format!("{} at {}, {} bytes: {}", member.name, member.offset, member.size, typed(member)))
        }
        None => (
            String::new(),
            format!("{size} bytes at {}: {}", run.start, if run.class == "unnamed" { "no name" } else { run.class }),
        ),
    };
    let room = (width.saturating_sub(6) / 7) as usize;
    let label = if label.len() <= room {
        label
    } else if room > 3 {
        format!("{}\u{2026}", label.chars().take(room - 1).collect::<String>())
    } else {
        String::new()
    };
    let target = member.and_then(|member| inside(owner, member)).filter(|target| known.contains(target));
    let (open, close) = match &target {
        Some(target) => (format!("<g class=\"fold\" data-panel=\"{}\">", id(target)), "</g>"),
        None => ("<g>".into(), "</g>"),
    };
    let _ = write!(
        out,
        "{open}<title>{}</title><rect class=\"{}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{ROW}\"/>",
        escape(&whole),
        run.class,
    );
    if !label.is_empty() {
        let _ = write!(out, "<text x=\"{}\" y=\"{}\">{}</text>", x + 3, y + 17, escape(&label));
    }
    out.push_str(close);
}

/// Type of a member with its bounds.
fn typed(member: &Member) -> String {
    let bounds: String = member.bounds.iter().map(|bound| if *bound == 0 { "[]".into() } else { format!("[{bound}]") }).collect();
    format!("{}{bounds}", name(&member.kind))
}

fn list(record: &Record, owner: &str, known: &[String], out: &mut String) -> u64 {
    let mut y = TOP + 4;
    for member in &record.members {
        let target = inside(owner, member).filter(|target| known.contains(target));
        let name = escape(&shortened(&member.name, if target.is_some() { 22 } else { 24 }));
        let name = match target {
            Some(target) => {
                format!(
                    "<g class=\"fold\" data-panel=\"{}\"><text x=\"{}\" y=\"{y}\">{name} \u{25be}</text></g>",
                    id(&target),
                    LIST + 162
                )
            }
            None => format!("<text x=\"{}\" y=\"{y}\">{name}</text>", LIST + 162),
        };
        let doubt = match member.confidence.as_str() {
            "med" => " (medium confidence)",
            "low" => " (low confidence)",
            _ => "",
        };
        let _ = writeln!(
            out,
            "<rect class=\"{}\" x=\"{LIST}\" y=\"{}\" width=\"10\" height=\"10\"/>\
             <text text-anchor=\"end\" x=\"{}\" y=\"{y}\">{}</text><text text-anchor=\"end\" x=\"{}\" y=\"{y}\">{}</text>\
             {name}<text class=\"note\" x=\"{}\" y=\"{y}\">{}{doubt}</text>",
            class(member),
            y - 9,
            LIST + 80,
            member.offset,
            LIST + 150,
            member.size,
            LIST + 345,
            escape(&shortened(&typed(member), 29)),
        );
        y += STEP;
    }
    y
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        text.into()
    } else {
        format!("{}\u{2026}", text.chars().take(most - 1).collect::<String>())
    }
}
