//! A C header made of the documented table, and a program that prints how the C compiler laid it out.
//!
//! The header is made of order, C types, counts, alignment attributes and the spans of `spans.csv` alone. No documented
//! *offset* goes into it: moving one in the table leaves the header as it was, so the C compiler is a witness of its own.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

use crate::error::Unreadable;
use crate::table::{DocField, DocStruct, Table, library_size};

/// Structs that embed each other deeper than this are a mistake in the table.
const DEEPEST: usize = 32;

/// The header for the named structs and all that they embed.
///
/// # Errors
/// A struct that embeds itself or one the table has no content for.
pub fn header<'a>(table: &'a Table, names: impl IntoIterator<Item = &'a str>) -> Result<String, Unreadable> {
    let mut out =
        String::from("#pragma once\n#include <pthread.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <time.h>\n\n");
    for documented in &table.enums {
        let _ = writeln!(out, "enum {} {{", documented.name);
        for (index, (member, value)) in documented.members.iter().enumerate() {
            // Where no source gives a value, any will do: it is not compared.
            let value = value.unwrap_or(index as i64);
            let _ = writeln!(out, "    {}__{member} = {value},", documented.name);
        }
        out.push_str("};\n\n");
    }
    let mut done = HashSet::new();
    for name in names {
        emit(table, name, &mut done, &mut Vec::new(), &mut out)?;
    }
    Ok(out)
}

/// A program that includes the header as `layout.h` and prints one line a struct, field, enumeration and enumerator.
#[must_use]
pub fn probe(table: &Table, names: &BTreeSet<&str>) -> String {
    let mut out = String::from("#include <stdio.h>\n#include \"layout.h\"\n\nint main(void) {\n");
    for documented in &table.enums {
        let name = &documented.name;
        let _ = writeln!(out, "    printf(\"E {name} %zu\\n\", sizeof(enum {name}));");
        for (member, _) in documented.members.iter().filter(|(_, value)| value.is_some()) {
            let _ = writeln!(out, "    printf(\"V {name} {member} %lld\\n\", (long long)({name}__{member}));");
        }
    }
    for documented in table.structs.iter().filter(|documented| names.contains(documented.name.as_str())) {
        let name = &documented.name;
        let _ = writeln!(out, "    printf(\"S {name} %zu %zu\\n\", sizeof(struct {name}), _Alignof(struct {name}));");
        for field in &documented.fields {
            let path = &field.path;
            let size = format!("sizeof(((struct {name} *)0)->{path})");
            let count = match element(table, field) {
                Some(element) => format!("{size} / sizeof({element})"),
                None => "(size_t)1".into(),
            };
            let _ = writeln!(
                out,
                "    printf(\"F {name} {path} %zu %zu %zu\\n\", offsetof(struct {name}, {path}), {size}, {count});"
            );
        }
    }
    out.push_str("    return 0;\n}\n");
    out
}

fn emit<'a>(
    table: &'a Table,
    name: &'a str,
    done: &mut HashSet<&'a str>,
    open: &mut Vec<&'a str>,
    out: &mut String,
) -> Result<(), Unreadable> {
    if done.contains(name) {
        return Ok(());
    }
    if open.contains(&name) || open.len() >= DEEPEST {
        return Err(Unreadable::new(
            format!("struct {name} of the documented table"),
            "is nested without end",
            "a finite struct",
        ));
    }
    let documented = table.structure(name).ok_or_else(|| {
        Unreadable::new(format!("struct {name}"), "is embedded, but not in the documented table", "a row for it")
    })?;
    open.push(name);
    for field in documented.fields.iter().filter(|field| field.ctype == "struct") {
        emit(table, &field.element, done, open, out)?;
    }
    open.pop();
    done.insert(name);
    out.push_str(&text(table, documented)?);
    Ok(())
}

fn text(table: &Table, documented: &DocStruct) -> Result<String, Unreadable> {
    let mut body = String::new();
    body.push_str(&gap(table, documented, ""));
    let mut rest = documented.fields.as_slice();
    while let Some(first) = rest.first() {
        let container = first.container();
        let end = rest.iter().position(|field| field.container() != container).unwrap_or(rest.len());
        let (group, later) = rest.split_at(end);
        rest = later;
        if group.len() == 1 && first.path == container {
            let _ = writeln!(body, "    {};", member(table, documented, first, container)?);
        } else {
            body.push_str(&nested(table, documented, container, group)?);
        }
        body.push_str(&gap(table, documented, container));
    }
    // Members bring their alignment with them; only a struct without any needs to be told its own.
    let attributes = match documented.align {
        Some(align) if is_packed(table, documented) => format!(" __attribute__((packed, aligned({align})))"),
        Some(align) if documented.fields.is_empty() => format!(" __attribute__((aligned({align})))"),
        _ => String::new(),
    };
    Ok(format!("struct {} {{\n{body}}}{attributes};\n\n", documented.name))
}

/// A union, or a struct that only holds its members together.
fn nested(table: &Table, documented: &DocStruct, container: &str, group: &[DocField]) -> Result<String, Unreadable> {
    let keyword = if group.iter().any(|field| field.union) { "union" } else { "struct" };
    let mut out = format!("    {keyword} {{\n");
    let mut rest = group;
    while let Some(first) = rest.first() {
        let Some(arm) = first.path.split('.').nth(1) else {
            // The row of the container itself tells the size of the whole.
            let _ = writeln!(out, "        {};", member(table, documented, first, "whole")?);
            rest = &rest[1..];
            continue;
        };
        let end = rest.iter().position(|field| field.path.split('.').nth(1) != Some(arm)).unwrap_or(rest.len());
        let (arms, later) = rest.split_at(end);
        rest = later;
        if arms.len() == 1 && first.path.split('.').count() == 2 {
            let _ = writeln!(out, "        {};", member(table, documented, first, arm)?);
            continue;
        }
        out.push_str("        struct {\n");
        for field in arms {
            let name = field.path.rsplit('.').next().unwrap_or(arm);
            let _ = writeln!(out, "            {};", member(table, documented, field, name)?);
        }
        let _ = writeln!(out, "        }} {arm};");
    }
    let _ = writeln!(out, "    }} {container};");
    Ok(out)
}

/// One declarator without its semicolon.
fn member(table: &Table, documented: &DocStruct, field: &DocField, name: &str) -> Result<String, Unreadable> {
    let attribute = field.aligned().map(|align| format!(" __attribute__((aligned({align})))")).unwrap_or_default();
    let text = match field.ctype.as_str() {
        "opaque" => {
            let known = field.size.or_else(|| span(table, documented, &field.path));
            let size = known.ok_or_else(|| {
                let place = format!("{}.{} of the documented table", documented.name, field.path);
                Unreadable::new(place, "its size is not known", "a size, or a row in spans.csv")
            })?;
            let align = if library_size(&field.element).is_some() { " __attribute__((aligned(8)))" } else { "" };
            format!("unsigned char {name}[{size}]{align}")
        }
        "fnptr" => format!("void (*{name})(void)"),
        _ => {
            let shape = field.shape();
            let bounds = match (shape.is_empty(), field.count) {
                (false, _) => shape.iter().map(|bound| format!("[{bound}]")).collect(),
                (true, 1) => String::new(),
                (true, count) => format!("[{count}]"),
            };
            let of = element(table, field).unwrap_or_else(|| "unsigned char".into());
            let space = if of.ends_with('*') { "" } else { " " };
            format!("{of}{space}{name}{bounds}")
        }
    };
    Ok(text + &attribute)
}

/// C type of one element; nothing for opaque bytes.
fn element(table: &Table, field: &DocField) -> Option<String> {
    Some(match field.ctype.as_str() {
        "opaque" => return None,
        "u8" | "u16" | "u32" | "u64" => format!("uint{}_t", &field.ctype[1..]),
        "i8" | "i16" | "i32" | "i64" => format!("int{}_t", &field.ctype[1..]),
        "bool" => "_Bool".into(),
        "enum" if table.enumeration(&field.element).is_none() => "uint32_t".into(),
        "enum" | "struct" => format!("{} {}", field.ctype, field.element),
        "ptr" => pointer(&field.element),
        "fnptr" => "void (*)(void)".into(),
        plain => plain.into(),
    })
}

fn pointer(element: &str) -> String {
    let bare = element.trim_end_matches('*');
    let stars = "*".repeat(1 + element.len() - bare.len());
    let (volatile, bare) = bare.strip_prefix("volatile ").map_or(("", bare), |bare| ("volatile ", bare));
    let name = match bare {
        "u8" | "u16" | "u32" | "u64" => format!("uint{}_t", &bare[1..]),
        "i8" | "i16" | "i32" | "i64" => format!("int{}_t", &bare[1..]),
        "bool" => "_Bool".into(),
        "char" | "void" => bare.into(),
        _ if bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') && !bare.is_empty() => {
            format!("struct {bare}")
        }
        _ => "void".into(),
    };
    format!("{volatile}{name} {stars}")
}

fn is_packed(table: &Table, documented: &DocStruct) -> bool {
    let Some(align) = documented.align else { return false };
    documented.fields.iter().any(|field| natural(table, field) > align)
}

fn natural(table: &Table, field: &DocField) -> u64 {
    if let Some(align) = field.aligned() {
        return align;
    }
    match field.ctype.as_str() {
        "struct" => table.structure(&field.element).and_then(|target| target.align).unwrap_or(1),
        "opaque" => library_size(&field.element).map_or(1, |_| 8),
        ctype => crate::table::scalar_size(ctype).unwrap_or(8),
    }
}

fn span(table: &Table, documented: &DocStruct, name: &str) -> Option<u64> {
    table.spans.iter().find(|span| span.structure == documented.name && span.name == name).map(|span| span.bytes)
}

/// Bytes between two members that no alignment explains.
fn gap(table: &Table, documented: &DocStruct, after: &str) -> String {
    let own = |name: &str| documented.field(name).is_some();
    let spans = table.spans.iter().filter(|span| span.structure == documented.name && span.after == after && !own(&span.name));
    spans.map(|span| format!("    unsigned char {}[{}];\n", span.name, span.bytes)).collect()
}
