//! A header that is C11 and C++17 alike: definitions, and assertions on every offset.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::shape::{Kind, Member, Record, Shapes};

/// Writes the header.
#[must_use]
pub fn header(shapes: &Shapes) -> String {
    let mut out = format!("/* Structs of {}. C11 and C++17. */\n#pragma once\n", shapes.origin);
    // Strict C11 hides a part of <pthread.h> unless asked.
    out.push_str("#if !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE)\n#define _POSIX_C_SOURCE 200809L\n#endif\n");
    out.push_str("#include <pthread.h>\n#include <stdalign.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n#include <time.h>\n\n");
    out.push_str("#ifdef __cplusplus\n#define NRT_LAYOUT_ASSERT(what) static_assert(what, #what)\n#else\n");
    out.push_str("#define NRT_LAYOUT_ASSERT(what) _Static_assert(what, #what)\n#endif\n\n");
    for name in forward(shapes) {
        let _ = writeln!(out, "struct {name};");
    }
    for enumeration in &shapes.enums {
        let _ = writeln!(out, "\nenum {} {{", enumeration.name);
        for (member, value) in &enumeration.members {
            let _ = writeln!(out, "    {}__{member} = {value},", enumeration.name);
        }
        out.push_str("};\n");
    }
    for record in &shapes.records {
        let keyword = if record.union { "union" } else { "struct" };
        let _ = writeln!(out, "\n/* {} bytes{} */\n{keyword} {} {{", record.size, origin(record), record.name);
        body(shapes, record, 1, 0, &mut out);
        let _ = writeln!(out, "}}{};", packed(shapes, record));
        let tag = format!("{keyword} {}", record.name);
        let _ = writeln!(out, "NRT_LAYOUT_ASSERT(sizeof({tag}) == {});", record.size);
        if let Some(align) = record.align {
            let _ = writeln!(out, "NRT_LAYOUT_ASSERT(alignof({tag}) == {align});");
        }
        assertions(&tag, record, "", 0, &mut out);
    }
    out
}

fn origin(record: &Record) -> String {
    if record.source.is_empty() { String::new() } else { format!("; {}", record.source.replace("*/", "")) }
}

/// Structs that are only pointed to.
fn forward(shapes: &Shapes) -> BTreeSet<String> {
    fn visit(record: &Record, names: &mut BTreeSet<String>) {
        for member in &record.members {
            match &member.kind {
                Kind::Pointer(target) => names.extend(tag(target)),
                Kind::Inline(inner) => visit(inner, names),
                _ => {}
            }
        }
    }
    let mut names: BTreeSet<String> = BTreeSet::new();
    for record in &shapes.records {
        visit(record, &mut names);
        if !record.union {
            names.insert(record.name.clone());
        }
    }
    names
}

/// Name of the struct a pointer points to, if it is one.
fn tag(target: &str) -> Option<String> {
    let bare = target.trim_end_matches('*').trim_start_matches("volatile ").trim_start_matches("const ").trim();
    let known = matches!(bare, "void" | "char" | "bool") || crate::table::scalar_size(bare).is_some();
    let name = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (name && !known && !bare.as_bytes()[0].is_ascii_digit()).then(|| bare.to_owned())
}

fn packed(shapes: &Shapes, record: &Record) -> &'static str {
    if shapes.packed(record) { " __attribute__((packed))" } else { "" }
}

fn body(shapes: &Shapes, record: &Record, depth: usize, base: u64, out: &mut String) {
    let indent = "    ".repeat(depth);
    let mut end = 0;
    let over = record.align.filter(|align| *align > shapes.widest(record) || shapes.packed(record) && *align > 1);
    let mut first = over.map(|align| format!("alignas({align}) ")).unwrap_or_default();
    for member in &record.members {
        if !record.union && member.offset > end {
            let _ = writeln!(out, "{indent}{first}uint8_t pad_{:x}[{}];", base + end, member.offset - end);
            first.clear();
        }
        let _ = writeln!(out, "{indent}{first}{};", declarator(shapes, member, depth, base));
        first.clear();
        end = member.offset + member.size;
    }
    let open = record.members.last().is_some_and(|member| member.bounds == [0]);
    if !record.union && record.size > end && !open {
        let _ = writeln!(out, "{indent}{first}uint8_t pad_{:x}[{}];", base + end, record.size - end);
    }
}

fn declarator(shapes: &Shapes, member: &Member, depth: usize, base: u64) -> String {
    let name = identifier(&member.name);
    let bounds: String = member.bounds.iter().map(|bound| if *bound == 0 { "[]".into() } else { format!("[{bound}]") }).collect();
    match &member.kind {
        Kind::Scalar(scalar) => format!("{} {name}{bounds}", scalar_of(scalar)),
        Kind::Enum(of) if shapes.enums.iter().any(|known| known.name == *of) => format!("enum {of} {name}{bounds}"),
        Kind::Enum(_) => format!("uint32_t {name}{bounds}"),
        Kind::Pointer(target) => format!("{}{name}{bounds}", pointer(target)),
        Kind::Function => format!("void (*{name}{bounds})(void)"),
        Kind::Record(of) => {
            let union = shapes.record(of).is_some_and(|record| record.union);
            format!("{} {of} {name}{bounds}", if union { "union" } else { "struct" })
        }
        Kind::Library(of) => format!("{of} {name}{bounds}"),
        Kind::Bytes(1) => format!("uint8_t {name}[{}]{bounds}", member.size),
        Kind::Bytes(align) => format!("alignas({align}) uint8_t {name}[{}]{bounds}", member.size),
        Kind::Inline(record) => {
            let indent = "    ".repeat(depth);
            let mut text = format!("{} {{\n", if record.union { "union" } else { "struct" });
            body(shapes, record, depth + 1, base + member.offset, &mut text);
            if record.union && record.members.iter().all(|arm| arm.size < record.size) {
                let _ = writeln!(text, "{indent}    uint8_t whole[{}];", record.size);
            }
            let _ = write!(text, "{indent}}}{} {name}{bounds}", packed(shapes, record));
            text
        }
    }
}

/// A name that neither language reserves.
fn identifier(name: &str) -> String {
    const RESERVED: [&str; 14] = [
        "class",
        "new",
        "delete",
        "template",
        "this",
        "private",
        "public",
        "operator",
        "register",
        "default",
        "union",
        "typename",
        "namespace",
        "int",
    ];
    if RESERVED.contains(&name) { format!("{name}_") } else { name.into() }
}

fn scalar_of(name: &str) -> String {
    match name {
        "u8" | "u16" | "u32" | "u64" => format!("uint{}_t", &name[1..]),
        "i8" | "i16" | "i32" | "i64" => format!("int{}_t", &name[1..]),
        "f32" => "float".into(),
        "f64" => "double".into(),
        plain => plain.into(),
    }
}

/// A pointer with its stars, `struct dmem_t **`.
fn pointer(target: &str) -> String {
    let bare = target.trim_end_matches('*');
    let stars = "*".repeat(1 + target.len() - bare.len());
    let (qualifier, plain) = match bare.strip_prefix("volatile ") {
        Some(plain) => ("volatile ", plain),
        None => ("", bare.trim()),
    };
    let name = match tag(bare) {
        Some(name) => format!("struct {name}"),
        None if plain == "void" || crate::table::scalar_size(plain).is_some() => scalar_of(plain),
        None => "void".into(),
    };
    format!("{qualifier}{name} {stars}")
}

fn assertions(tag: &str, record: &Record, path: &str, base: u64, out: &mut String) {
    for member in &record.members {
        let path = if path.is_empty() { identifier(&member.name) } else { format!("{path}.{}", identifier(&member.name)) };
        let _ = writeln!(out, "NRT_LAYOUT_ASSERT(offsetof({tag}, {path}) == {});", base + member.offset);
        match &member.kind {
            Kind::Inline(inner) if member.bounds.is_empty() => assertions(tag, inner, &path, base + member.offset, out),
            _ if member.bounds != [0] => {
                let _ = writeln!(out, "NRT_LAYOUT_ASSERT(sizeof((({tag} *)0)->{path}) == {});", member.size);
            }
            _ => {}
        }
    }
}
