//! Types for people.

use std::fmt::Write as _;

use super::layout::{CACHE_LINE, Layout};
use crate::types::{Aggregate, Database, Kind, Member, Role, TypeId};

/// Lines of one type before its nested types are no longer expanded.
const LONGEST: usize = 20_000;

/// How types are shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// Colour, for a terminal.
    pub colour: bool,
    /// Levels of named structs that are expanded in place; anonymous ones always are.
    pub expand: u32,
}

/// Columns of a declaration.
const DECLARATION: usize = 64;

/// Bytes of most lines, with the marks of cache lines and holes among them.
const LINE: usize = 128;

struct Writer<'t> {
    types: &'t Database,
    shown: Shown,
    out: String,
    lines: usize,
    line: u64,
}

/// One type with offsets, sizes, holes, padding and cache lines.
#[must_use]
pub fn text(types: &Database, id: TypeId, shown: Shown) -> String {
    let members = types.aggregate(id).map_or(0, |aggregate| aggregate.members.len());
    let out = String::with_capacity((members + 4) * LINE);
    let mut writer = Writer { types, shown, out, lines: 0, line: 0 };
    writer.top(id);
    writer.out
}

impl Writer<'_> {
    fn paint(&self, code: &str, text: &str) -> String {
        if self.shown.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn top(&mut self, id: TypeId) {
        let types = self.types;
        let ty = &types[id];
        if let Some(place) = types.place(id) {
            let _ = writeln!(self.out, "{}", self.paint("2", &format!("/* {}:{} */", place.file, place.line)));
        }
        let name = ty.qualified().unwrap_or_default();
        let plain = types.plain(id);
        match (plain, plain.map(|plain| &types[plain].kind)) {
            (Some(plain), Some(Kind::Aggregate(aggregate))) if plain == id || types[plain].name.is_none() => {
                let typedef = if plain == id { "" } else { "typedef " };
                let head = if typedef.is_empty() { format!(" {}", self.paint("1", &name)) } else { String::new() };
                let _ = writeln!(self.out, "{typedef}{}{head} {{", aggregate.keyword.word());
                self.members(aggregate, 0, 1, self.shown.expand);
                self.totals(plain, aggregate);
                let tail = if typedef.is_empty() { String::new() } else { format!(" {}", self.paint("1", &name)) };
                let _ = writeln!(self.out, "}}{tail};");
            }
            (Some(plain), Some(Kind::Enum(enumeration))) if plain == id || types[plain].name.is_none() => {
                let _ = writeln!(self.out, "enum {} {{", self.paint("1", &name));
                for member in &enumeration.members {
                    let _ = writeln!(self.out, "    {} = {},", member.name, member.value);
                }
                let size = types.size(plain).unwrap_or(0);
                let _ = writeln!(self.out, "\n    /* size: {size}, enumerators: {} */\n}};", enumeration.members.len());
            }
            _ => {
                let size = types.size(id).map_or_else(|| "unknown size".into(), |size| format!("size: {size}"));
                let target = match &ty.kind {
                    Kind::Typedef(target) => types.declare(*target, &name),
                    _ => types.describe(Some(id)),
                };
                let _ = writeln!(self.out, "typedef {target}; /* {size} */");
            }
        }
    }

    fn members(&mut self, aggregate: &Aggregate, start: u64, depth: usize, expand: u32) {
        let indent = "    ".repeat(depth);
        let union = aggregate.keyword == crate::types::Keyword::Union;
        let mut end = 0_u64;
        for member in &aggregate.members {
            let first = member.first_bit();
            if let Some(first) = first.filter(|first| *first > end && !union && member.role != Role::Variant) {
                let gap = super::Hole { start: end, width: first - end };
                let words = match (gap.bytes(), gap.bits()) {
                    (0, bits) => format!("{bits} bits hole"),
                    (bytes, 0) => format!("{bytes} bytes hole"),
                    (bytes, bits) => format!("{bytes} bytes and {bits} bits hole"),
                };
                let _ = writeln!(self.out, "\n{indent}{}\n", self.paint("33", &format!("/* XXX {words} */")));
            }
            self.cache_line(start, member, &indent);
            self.member(member, start, depth, expand);
            let width =
                member.bits.map_or_else(|| self.types.member_size(member).unwrap_or(0).saturating_mul(8), |bits| bits.width);
            end = end.max(first.unwrap_or(0).saturating_add(width));
        }
    }

    /// Marks the first member at or after the start of each cache line.
    fn cache_line(&mut self, start: u64, member: &Member, indent: &str) {
        let Some(at) = member.offset.and_then(|offset| offset.checked_add(start)) else { return };
        if at / CACHE_LINE > self.line {
            self.line = at / CACHE_LINE;
            let boundary = self.line * CACHE_LINE;
            let ago = at - boundary;
            let words = if ago == 0 { String::new() } else { format!(" was {ago} bytes ago") };
            let text = format!("/* --- cacheline {} boundary ({boundary} bytes){words} --- */", self.line);
            let _ = writeln!(self.out, "{indent}{}", self.paint("36", &text));
        }
    }

    fn member(&mut self, member: &Member, start: u64, depth: usize, expand: u32) {
        self.lines += 1;
        let types = self.types;
        let name = member.name.as_deref().unwrap_or("");
        let size = types.member_size(member);
        let (count, element) = member.ty.map_or((1, None), |ty| types.elements(ty));
        let inner = element.and_then(|element| types.plain(element));
        let nested = inner.and_then(|inner| types.aggregate(inner).map(|aggregate| (inner, aggregate)));
        if let Some((inner, aggregate)) = nested
            && (types[inner].name.is_none() || expand > 0)
            && self.lines < LONGEST
            && depth < 64
        {
            let named = types[inner].name.is_some();
            let head = types[inner].name.as_deref().map_or_else(String::new, |name| format!(" {name}"));
            let indent = "    ".repeat(depth);
            let _ = writeln!(self.out, "{indent}{}{head} {{", aggregate.keyword.word());
            // Offsets inside an array are those of its first element.
            let inside = start.saturating_add(member.offset.unwrap_or(0));
            self.members(aggregate, inside, depth + 1, if named { expand - 1 } else { expand });
            let bound = if count == 1 { String::new() } else { format!("[{count}]") };
            let space = if name.is_empty() && bound.is_empty() { "" } else { " " };
            let begun = self.out.len();
            let _ = write!(self.out, "{indent}}}{space}{name}{bound};");
            self.place(begun, member, start, size);
            return;
        }
        let begun = self.out.len();
        self.spaces(4 * depth);
        types.declare_onto(&mut self.out, member.ty, name);
        if let Some(bits) = member.bits {
            let _ = write!(self.out, ":{}", bits.width);
        }
        self.out.push(';');
        self.place(begun, member, start, size);
    }

    /// Ends the line that begins at `begun` with where a member is and how large, in columns.
    fn place(&mut self, begun: usize, member: &Member, start: u64, size: Option<u64>) {
        // By hand: a large type has hundreds of such lines, and padding goes character by character in `format!`.
        let width = self.out[begun..].chars().count();
        self.spaces(DECLARATION.saturating_sub(width));
        self.out.push_str(" /* ");
        self.right(member.offset.and_then(|offset| offset.checked_add(start)), 6);
        if let Some(bits) = member.bits {
            self.out.push(':');
            self.right(Some(bits.start.saturating_sub(member.offset.unwrap_or(0).saturating_mul(8))), 2);
            self.out.push(' ');
        } else {
            self.out.push_str("    ");
        }
        self.right(size, 6);
        self.out.push_str(" */");
        self.out.push_str(match member.role {
            Role::Field => "",
            Role::Base => " /* base */",
            Role::Artificial => " /* artificial */",
            Role::Discriminant => " /* discriminant */",
            Role::Variant => " /* variant */",
        });
        self.out.push('\n');
    }

    fn spaces(&mut self, count: usize) {
        const SPACES: &str = "                                                                ";
        match SPACES.get(..count) {
            Some(spaces) => self.out.push_str(spaces),
            None => self.out.extend(std::iter::repeat_n(' ', count)),
        }
    }

    /// A number, or `?`, at the right end of so many columns.
    fn right(&mut self, value: Option<u64>, width: usize) {
        let Some(mut value) = value else {
            self.spaces(width.saturating_sub(1));
            return self.out.push('?');
        };
        let mut digits = [b'0'; 20];
        let mut count = 0;
        while count == 0 || value > 0 {
            count += 1;
            digits[20 - count] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.spaces(width.saturating_sub(count));
        self.out.extend(digits[20 - count..].iter().map(|digit| char::from(*digit)));
    }

    fn totals(&mut self, id: TypeId, aggregate: &Aggregate) {
        let layout = Layout::of(self.types, id);
        let size = self.types.size(id).unwrap_or(0);
        let mut words = vec![format!("size: {size}"), format!("cachelines: {}", size.div_ceil(CACHE_LINE))];
        words.push(format!("members: {}", aggregate.members.len()));
        if let Some(align) = self.types.align(id) {
            words.push(format!("align: {align}"));
        }
        if layout.packed {
            words.push("packed".into());
        }
        let _ = writeln!(self.out, "\n    /* {} */", words.join(", "));
        let mut sums = Vec::new();
        if layout.hole_count() > 0 {
            sums.push(format!("holes: {}, sum holes: {}", layout.hole_count(), layout.hole_bytes()));
        }
        let bits: u64 = layout.holes.iter().map(super::Hole::bits).sum();
        if bits > 0 {
            sums.push(format!("bit holes: {bits} bits"));
        }
        if layout.padding > 0 {
            sums.push(format!("padding: {}", layout.padding / 8));
        }
        if !sums.is_empty() {
            let _ = writeln!(self.out, "    {}", self.paint("33", &format!("/* {} */", sums.join(", "))));
        }
    }
}
