//! The gdb script: the rooms in `layout/gdb/` joined, with the offsets of the layouts at hand in it.

use std::fmt::Write as _;

use crate::emit::shape::{Kind, Member, Record, Shapes};
use crate::error::Unreadable;

/// The script around the offsets.
const BODY: &str = concat!(
    include_str!("../gdb/offsets.py"),
    include_str!("../gdb/reading.py"),
    include_str!("../gdb/walking.py"),
    include_str!("../gdb/tasks.py"),
    include_str!("../gdb/commands.py"),
);

/// Lines between which the offsets stand.
const MARKS: [&str; 2] = ["# BEGIN OFFSETS\n", "# END OFFSETS\n"];

/// Structs the script reads, and the fields without which it cannot work.
const NEEDED: [(&str, &[&str]); 15] = [
    ("tdrv_ctx_t", &["num_mla", "mla", "num_ptpb", "target"]),
    ("mla_t", &["is_used", "_tpbs", "tpb_map", "host_device_id", "bdf", "dmem_logger"]),
    ("tpb_map_t", &["map"]),
    ("tpb_t", &["tpb_allocator", "model_db", "h_running_model", "scratchpad"]),
    ("tdrv_scratchpad_t", &["page_size", "num_pages", "is_contiguous"]),
    (
        "dmem_t",
        &[
            "size",
            "_pa",
            "_va",
            "align_offset",
            "allocated_size",
            "mem_type",
            "mem_usage_type",
            "tdram_channel",
            "ref_count",
            "hint",
            "next",
            "prev",
        ],
    ),
    ("dmem_allocator_t", &["dummy_head", "dummy_tail"]),
    ("dmem_list_t", &["head"]),
    ("dmem_ref_node_t", &["next"]),
    ("dma_mem_log_t", &["mla_idx", "max_entries", "memory_usage_nc", "entries"]),
    ("dma_mem_log_entry_t", &["action", "mem_usage", "hint", "nc_idx", "size", "pa"]),
    ("ht_t", &["size", "count", "nodes"]),
    ("ht_node_t", &["key", "next"]),
    ("model_t", &["name", "h_model", "dmem_allocator", "ref_count", "static_mr_set", "ht_node"]),
    ("H_MODEL", &["id"]),
];

/// Enumerations whose names the script prints.
const NAMED: [&str; 3] = ["al_hal_tpb_arch_type_t", "dma_mem_location_t", "dma_mem_usage_type_t"];

/// The script with the offsets of `shapes` in it.
///
/// # Errors
/// A struct or field the script needs that is not there.
pub fn script(shapes: &Shapes) -> Result<String, Unreadable> {
    let broken = || Unreadable::new("gdb/offsets.py", "has no room for offsets", "BEGIN OFFSETS and END OFFSETS, a line each");
    let (before, rest) = BODY.split_once(MARKS[0]).ok_or_else(broken)?;
    let (_, after) = rest.split_once(MARKS[1]).ok_or_else(broken)?;
    Ok(format!("{before}{}{}{}{after}", MARKS[0], offsets(shapes)?, MARKS[1]))
}

/// The offsets as Python: `{struct: (size, {field: (offset, size, elements)})}`.
fn offsets(shapes: &Shapes) -> Result<String, Unreadable> {
    let absent = |what: String| Unreadable::new(&shapes.origin, format!("has no {what}"), "everything the gdb script reads");
    let mut out = format!("# of {}\nSTRUCTS = {{\n", shapes.origin);
    for (name, fields) in NEEDED {
        let record = shapes.record(name).ok_or_else(|| absent(name.into()))?;
        let mut items = Vec::new();
        for field in fields {
            let member = member(record, field).ok_or_else(|| absent(format!("{name}.{field}")))?;
            let count: u64 = if matches!(member.kind, Kind::Bytes(_)) { 1 } else { member.bounds.iter().product() };
            items.push(format!("\"{field}\": ({}, {}, {count}),", member.offset, member.size));
        }
        let _ = writeln!(out, "    \"{name}\": ({}, {{\n{}    }}),", record.size, filled(&items));
    }
    out.push_str("}\nENUMS = {\n");
    for name in NAMED {
        let one = shapes.enums.iter().find(|one| one.name == name).ok_or_else(|| absent(name.into()))?;
        let items: Vec<_> = one.members.iter().map(|(member, value)| format!("{value}: \"{member}\",")).collect();
        let _ = writeln!(out, "    \"{name}\": {{\n{}    }},", filled(&items));
    }
    out.push_str("}\n");
    Ok(out)
}

/// Items side by side in lines of at most 118 columns.
fn filled(items: &[String]) -> String {
    let mut lines = vec![String::from("       ")];
    for item in items {
        if lines.last().is_some_and(|line| line.len() + item.len() > 116) {
            lines.push(String::from("       "));
        }
        if let Some(line) = lines.last_mut() {
            let _ = write!(line, " {item}");
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn member<'a>(record: &'a Record, name: &str) -> Option<&'a Member> {
    record.members.iter().find(|member| member.name == name)
}
