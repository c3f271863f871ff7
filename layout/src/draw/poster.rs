//! The context tree as a poster: who embeds whom, who points to whom, and at which offset.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::grid::class;
use super::style::{document, escape};
use crate::emit::shape::{Kind, Record, Shapes};

/// Structs of the poster, column by column.
pub const COLUMNS: [&[&str]; 6] = [
    &["tdrv_ctx_t", "ptpb_info_t"],
    &["mla_t", "ndl_device_t", "ndl_copy_buf_t"],
    &["tpb_t", "tpb_sunda_t", "tpb_map_t"],
    &["dmem_allocator_t", "dma_mem_log_t", "ht_t", "tdrv_scratchpad_t", "hw_exec_queue_t", "ucode_lib_set_info_t"],
    &["model_t", "dma_mem_log_entry_t", "ht_node_t", "tdrv_scratchpad_page_t", "dmem_list_t", "dmem_ref_node_t", "H_MODEL"],
    &["dmem_t", "physical_core_t", "virtual_core_t", "mem_ref_t"],
];

const WIDTH: u64 = 360;
const GAP: u64 = 110;
const STEP: u64 = 17;
const TOP: u64 = 70;

struct Box {
    x: u64,
    y: u64,
    column: usize,
}

/// Draws the poster.
#[must_use]
pub fn poster(shapes: &Shapes) -> String {
    let mut boxes: HashMap<&str, Box> = HashMap::new();
    let mut order: Vec<&Record> = Vec::new();
    let mut height = 0;
    for (column, names) in COLUMNS.iter().enumerate() {
        let mut y = TOP;
        for record in names.iter().filter_map(|name| shapes.record(name)) {
            boxes.insert(&record.name, Box { x: 24 + column as u64 * (WIDTH + GAP), y, column });
            order.push(record);
            y += 30 + record.members.len() as u64 * STEP + 34;
        }
        height = height.max(y);
    }
    let (mut edges, mut content) = (String::new(), String::new());
    for record in order {
        let Some(place) = boxes.get(record.name.as_str()) else { continue };
        draw(record, place, &mut content);
        for (index, member) in record.members.iter().enumerate() {
            let (target, embeds) = match &member.kind {
                Kind::Record(name) => (name.as_str(), true),
                Kind::Pointer(name) => (name.trim_end_matches('*'), false),
                Kind::Inline(inner) => match inner.members.first().map(|arm| &arm.kind) {
                    Some(Kind::Record(name)) => (name.as_str(), true),
                    _ => continue,
                },
                _ => continue,
            };
            let Some(to) = boxes.get(target).filter(|_| target != record.name) else { continue };
            edge(place, 30 + index as u64 * STEP + 11, to, embeds, &mut edges);
        }
    }
    let width = 24 + COLUMNS.len() as u64 * (WIDTH + GAP);
    let legend = "<text class=\"title\" x=\"24\" y=\"30\">The context tree of the Neuron runtime</text>\
        <text class=\"note\" x=\"24\" y=\"50\">number = offset in bytes; thick = holds it in place, thin = points to it; \
        colours: blue number, violet enumeration, green pointer, red lock, yellow struct, grey bytes</text>\n";
    document(width, height, "The context tree", &format!("{legend}{edges}{content}"), false)
}

fn draw(record: &Record, place: &Box, out: &mut String) {
    let (x, y) = (place.x, place.y);
    let height = 30 + record.members.len() as u64 * STEP + 6;
    let _ = writeln!(
        out,
        "<g><rect class=\"plain\" x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{height}\" rx=\"4\"/>\
         <text class=\"title\" x=\"{}\" y=\"{}\" style=\"font-size:14px\">{}</text>\
         <text class=\"note\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{} B</text>",
        x + 8,
        y + 19,
        escape(&record.name),
        x + WIDTH - 8,
        y + 19,
        record.size,
    );
    for (index, member) in record.members.iter().enumerate() {
        let top = y + 27 + index as u64 * STEP;
        let bounds: String = member.bounds.iter().map(|bound| format!("[{bound}]")).collect();
        let bounds = bounds.replace("[0]", "[]");
        let _ = writeln!(
            out,
            "<rect class=\"{}\" x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{STEP}\"/>\
             <text class=\"small\" text-anchor=\"end\" x=\"{}\" y=\"{}\">{}</text><text x=\"{}\" y=\"{}\">{}{bounds}</text>",
            class(member),
            x + 6,
            WIDTH - 12,
            x + 74,
            top + 12,
            member.offset,
            x + 84,
            top + 13,
            escape(&member.name),
        );
    }
    out.push_str("</g>\n");
}

fn edge(from: &Box, row: u64, to: &Box, embeds: bool, out: &mut String) {
    let (y1, y2) = (from.y + row, to.y + 14);
    let (right, left) = (from.x + WIDTH - 6, from.x + 6);
    let class = if embeds { "edge embeds" } else { "edge" };
    let path = match to.column.cmp(&from.column) {
        std::cmp::Ordering::Greater => {
            let (end, bend) = (to.x, GAP / 2);
            format!("M{right} {y1}C{} {y1} {} {y2} {end} {y2}", right + bend, end - bend)
        }
        std::cmp::Ordering::Equal => {
            let end = to.x + WIDTH;
            format!("M{right} {y1}C{} {y1} {} {y2} {end} {y2}", right + 46, end + 46)
        }
        std::cmp::Ordering::Less => {
            let (end, bend) = (to.x + WIDTH, GAP / 2);
            format!("M{left} {y1}C{} {y1} {} {y2} {end} {y2}", left.saturating_sub(bend), end + bend)
        }
    };
    let _ = writeln!(out, "<path class=\"{class}\" marker-end=\"url(#tip)\" d=\"{path}\"/>");
}
