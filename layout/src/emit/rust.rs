//! A Rust module without dependencies: definitions, and assertions on every offset at compile time.

use std::fmt::Write as _;

use super::shape::{Kind, Member, Record, Shapes};

/// What whoever uses the module puts before it.
const ATTRIBUTE: &str =
    r#"#[allow(non_camel_case_types, non_upper_case_globals, dead_code, reason = "names as in C; not each is used")]"#;

/// Writes the module.
#[must_use]
pub fn module(shapes: &Shapes) -> String {
    let mut out = format!("// Structs of {}. Needs only `core`.\n", shapes.origin);
    let _ = writeln!(out, "// Use as a module: `{ATTRIBUTE} mod layout;`");
    for enumeration in &shapes.enums {
        let name = &enumeration.name;
        let _ =
            writeln!(out, "\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\n#[repr(transparent)]\npub struct {name}(pub i32);");
        let _ = writeln!(out, "impl {name} {{");
        for (member, value) in &enumeration.members {
            let _ = writeln!(out, "    pub const {}: Self = Self({value});", constant(member));
        }
        out.push_str("}\n");
    }
    for record in &shapes.records {
        define(shapes, record, &record.name, 0, &mut out);
    }
    out
}

/// An enumerator, which in C may follow a prefix and start with a digit.
fn constant(name: &str) -> String {
    if name.as_bytes().first().is_none_or(u8::is_ascii_digit) { format!("_{name}") } else { identifier(name) }
}

fn define(shapes: &Shapes, record: &Record, name: &str, base: u64, out: &mut String) {
    for member in &record.members {
        if let Kind::Inline(inner) = &member.kind {
            define(shapes, inner, &format!("{name}_{}", member.name), base + member.offset, out);
        }
    }
    let packed = shapes.packed(record);
    let mut repr = String::from("C");
    if packed {
        repr.push_str(", packed");
    } else if let Some(align) = record.align.filter(|align| *align > shapes.widest(record)) {
        let _ = write!(repr, ", align({align})");
    }
    let keyword = if record.union { "union" } else { "struct" };
    let source = if record.source.is_empty() { String::new() } else { format!(" ({})", record.source) };
    let _ =
        writeln!(out, "\n/// {} bytes{source}.\n#[derive(Clone, Copy)]\n#[repr({repr})]\npub {keyword} {name} {{", record.size);
    let mut end = 0;
    for member in &record.members {
        if !record.union && member.offset > end {
            let _ = writeln!(out, "    pub pad_{:x}: [u8; {}],", base + end, member.offset - end);
        }
        let _ = writeln!(out, "    pub {}: {},", identifier(&member.name), typed(shapes, member, name));
        end = member.offset + member.size;
    }
    let open = record.members.last().is_some_and(|member| member.bounds == [0]);
    if !record.union && record.size > end && !open {
        let _ = writeln!(out, "    pub pad_{:x}: [u8; {}],", base + end, record.size - end);
    }
    if record.union && record.members.iter().all(|arm| arm.size < record.size) {
        let _ = writeln!(out, "    pub whole: [u8; {}],", record.size);
    }
    let _ = writeln!(out, "}}\nconst _: () = {{\n    assert!(core::mem::size_of::<{name}>() == {});", record.size);
    if let Some(align) = record.align {
        let _ = writeln!(out, "    assert!(core::mem::align_of::<{name}>() == {align});");
    }
    for member in &record.members {
        let _ = writeln!(out, "    assert!(core::mem::offset_of!({name}, {}) == {});", identifier(&member.name), member.offset);
        if member.bounds != [0] {
            let ty = typed(shapes, member, name);
            let _ = writeln!(out, "    assert!(core::mem::size_of::<{ty}>() == {});", member.size);
        }
    }
    out.push_str("};\n");
}

fn typed(shapes: &Shapes, member: &Member, owner: &str) -> String {
    let element = match &member.kind {
        Kind::Scalar(name) => scalar(name).into(),
        Kind::Enum(name) if shapes.enums.iter().any(|known| known.name == *name) => name.clone(),
        Kind::Enum(_) => "u32".into(),
        Kind::Pointer(target) => pointer(shapes, target),
        Kind::Function => "Option<unsafe extern \"C\" fn()>".into(),
        Kind::Record(name) => name.clone(),
        Kind::Inline(_) => format!("{owner}_{}", member.name),
        Kind::Library(_) => format!("[u64; {}]", member.size / member.bounds.iter().product::<u64>().max(1) / 8),
        Kind::Bytes(align @ (2 | 4 | 8)) if member.size.is_multiple_of(*align) => {
            format!("[u{}; {}]", align * 8, member.size / align)
        }
        Kind::Bytes(_) => format!("[u8; {}]", member.size),
    };
    member.bounds.iter().rev().fold(element, |element, bound| format!("[{element}; {bound}]"))
}

fn scalar(name: &str) -> &str {
    match name {
        "char" => "u8",
        "int" => "i32",
        "size_t" => "usize",
        "time_t" => "i64",
        plain => plain,
    }
}

fn pointer(shapes: &Shapes, target: &str) -> String {
    let bare = target.trim_end_matches('*').trim_start_matches("volatile ").trim();
    let name = match shapes.record(bare) {
        Some(record) => record.name.clone(),
        None if crate::table::scalar_size(bare).is_some() => scalar(bare).into(),
        None => "core::ffi::c_void".into(),
    };
    let stars = target.len() - target.trim_end_matches('*').len();
    format!("{}{name}", "*mut ".repeat(1 + stars))
}

/// A name that the language does not reserve.
fn identifier(name: &str) -> String {
    const RESERVED: [&str; 40] = [
        "as", "async", "await", "break", "const", "continue", "dyn", "else", "enum", "extern", "false", "fn", "for", "gen", "if",
        "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "static", "struct", "trait", "true",
        "type", "unsafe", "use", "where", "while", "abstract", "final", "override", "priv", "yield",
    ];
    match name {
        "self" | "Self" | "super" | "crate" | "_" => format!("{name}_"),
        name if RESERVED.contains(&name) => format!("r#{name}"),
        name => name.into(),
    }
}
