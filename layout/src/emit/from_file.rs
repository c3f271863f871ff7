//! Definitions from the debug information of a file.
//!
//! What the documented table cannot say is put into its words: a union is written with its members' paths, bit-fields as the
//! bytes of their storage unit, a wrapper of the Rust library (an atomic, a cell) as what it wraps.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use super::shape::{Enumeration, Kind, Member, Record, Shapes};
use crate::error::Unreadable;
use crate::found::is_unnamed;
use crate::source::SourceArguments;
use crate::table::{Table, pthread_size};
use crate::types::{self, Database, Encoding, Keyword, Options, Pointer, Role, TypeId};

/// Structs that embed each other deeper than this are damage.
const DEEPEST: u32 = 32;

/// How the names of the Rust library's wrappers start.
const WRAPPERS: [&str; 8] =
    ["AtomicU", "AtomicI", "AtomicBool", "AtomicPtr<", "Atomic<", "UnsafeCell<", "ManuallyDrop<", "MaybeDangling<"];

struct Reader<'a> {
    types: &'a Database,
    table: &'a Table,
    wanted: &'a [String],
    shapes: Shapes,
    done: HashSet<String>,
}

/// The named types of a file and what they embed. Names that the file does not have are left out.
///
/// # Errors
/// A file that cannot be read or has no debug information.
pub fn shapes(path: &Path, table: &Table, names: &[String], source: &SourceArguments) -> Result<Shapes, Unreadable> {
    let mut options = Options::names(names.iter().cloned());
    source.apply(&mut options);
    let types = Database::read(path, &options)?;
    let file = path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    let build = types.sources.first().map(|source| source.build_id.as_str()).filter(|id| !id.is_empty());
    let origin = build.map_or_else(|| file.clone(), |id| format!("{file}, build id {id}"));
    let shapes = Shapes { origin, ..Shapes::default() };
    let mut reader = Reader { types: &types, table, wanted: names, shapes, done: HashSet::new() };
    for name in names {
        let whole = |id: &&TypeId| types.size(**id).is_some();
        if let Some(id) = types.named(name).iter().find(whole) {
            reader.kind(Some(*id), false, 0);
        }
    }
    let mut shapes = reader.shapes;
    // A Rust enumeration that is a struct of one number keeps its names in code; the documented ones stand in.
    for one in shapes.enums.iter_mut().filter(|one| one.members.is_empty()) {
        let documented = table.enumeration(&one.name).into_iter().flat_map(|documented| &documented.members);
        one.members = documented.filter_map(|(name, value)| Some((name.clone(), (*value)?))).collect();
    }
    shapes.enums.retain(|one| !one.members.is_empty());
    shapes.verify()?;
    Ok(shapes)
}

impl Reader<'_> {
    /// Type behind typedefs and qualifiers, and the name it goes by: its own, or that of a typedef.
    fn behind(&self, id: TypeId) -> Option<(TypeId, Option<String>)> {
        let plain = self.types.plain(id)?;
        let own = self.types[plain].name.as_deref().map(String::from);
        let given = || self.types[id].name.as_deref().map(String::from).filter(|_| plain != id);
        Some((plain, own.or_else(given)))
    }

    /// Kind of a type, whose record is added if it is a named one.
    fn kind(&mut self, id: Option<TypeId>, in_union: bool, depth: u32) -> Kind {
        let Some((plain, name)) = id.and_then(|id| self.behind(id)) else { return Kind::Bytes(1) };
        let types = self.types;
        let size = types.size(plain).unwrap_or(0);
        // The C library's objects are its own: a typedef of a union there, a stand-in in Rust.
        let given = id.and_then(|id| types[id].name.as_deref()).or(name.as_deref());
        if let Some(library) = given.filter(|given| pthread_size(given) == Some(size)) {
            return Kind::Library(library.into());
        }
        match &types[plain].kind {
            types::Kind::Base(encoding) => scalar(id.and_then(|id| types[id].name.as_deref()), *encoding, size),
            types::Kind::Pointer(Pointer::Member, _) => Kind::Bytes(8),
            types::Kind::Pointer(_, target) => self.pointer(*target),
            types::Kind::Enum(enumeration) => {
                let name = name.unwrap_or_else(|| "enum".into());
                if size != 4 {
                    return scalar(None, Encoding::Unsigned, size);
                }
                let members = enumeration.members.iter();
                let members = members.filter_map(|one| Some((identifier(&one.name), i64::try_from(one.value).ok()?))).collect();
                self.enumeration(name, members)
            }
            types::Kind::Aggregate(aggregate) => {
                if let Some(inner) = self.wrapped(plain, aggregate) {
                    return match name.filter(|name| self.table.enumeration(name).is_some()) {
                        Some(name) => self.enumeration(name, Vec::new()),
                        None => self.kind(Some(inner), in_union, depth),
                    };
                }
                let variants = aggregate.members.iter().any(|member| member.role == Role::Variant);
                if variants || depth > DEEPEST {
                    return Kind::Bytes(types.align(plain).unwrap_or(1));
                }
                let union = aggregate.keyword == Keyword::Union;
                let known = |name: &String| self.wanted.contains(name) || self.table.structure(name).is_some();
                let name = name.map(|name| identifier(&name)).filter(|name| known(name) || !union && !in_union);
                match name {
                    Some(name) => {
                        if self.done.insert(name.clone()) {
                            let record = self.record(plain, name.clone(), false, depth);
                            self.shapes.records.push(record);
                        }
                        Kind::Record(name)
                    }
                    None => Kind::Inline(Box::new(self.record(plain, String::new(), in_union || union, depth))),
                }
            }
            _ => Kind::Bytes(1),
        }
    }

    fn enumeration(&mut self, name: String, members: Vec<(String, i64)>) -> Kind {
        let known = self.shapes.enums.iter_mut().find(|one| one.name == name);
        match known {
            Some(known) if known.members.is_empty() => known.members = members,
            Some(_) => {}
            None => self.shapes.enums.push(Enumeration { name: name.clone(), members }),
        }
        Kind::Enum(name)
    }

    /// The one member of a wrapper of the Rust library, or of an enumeration that is a struct of one number.
    fn wrapped(&self, id: TypeId, aggregate: &types::Aggregate) -> Option<TypeId> {
        let ty = &self.types[id];
        // Parts of a type come without their scope, so the library is known by its names.
        let library = ty.name.as_deref().is_some_and(|name| WRAPPERS.iter().any(|prefix| name.starts_with(prefix)));
        let mut sized = aggregate.members.iter().filter(|member| self.types.member_size(member) != Some(0));
        let (Some(only), None) = (sized.next(), sized.next()) else { return None };
        let number = only.name.as_deref() == Some("__0");
        let whole = only.offset == Some(0) && self.types.member_size(only) == ty.size && only.role == Role::Field;
        only.ty.filter(|_| whole && (library || number))
    }

    fn pointer(&self, target: Option<TypeId>) -> Kind {
        let mut stars = String::new();
        let mut at = target;
        while let Some(id) = at {
            let Some((plain, name)) = self.behind(id) else { break };
            match &self.types[plain].kind {
                types::Kind::Function { .. } if stars.is_empty() => return Kind::Function,
                types::Kind::Pointer(_, next) if stars.len() < 4 => {
                    stars.push('*');
                    at = *next;
                }
                types::Kind::Base(encoding) => {
                    return match scalar(None, *encoding, self.types.size(plain).unwrap_or(0)) {
                        Kind::Scalar(name) => Kind::Pointer(name + &stars),
                        _ => Kind::Pointer(format!("void{stars}")),
                    };
                }
                types::Kind::Aggregate(_) | types::Kind::Declared(Keyword::Struct | Keyword::Class | Keyword::Typedef) => {
                    let name = name.map_or_else(|| "void".into(), |name| identifier(&name));
                    return Kind::Pointer(name + &stars);
                }
                _ => break,
            }
        }
        Kind::Pointer(format!("void{stars}"))
    }

    fn record(&mut self, id: TypeId, name: String, in_union: bool, depth: u32) -> Record {
        let types = self.types;
        let size = types.size(id).unwrap_or(0);
        let mut members: Vec<Member> = Vec::new();
        let mut union = false;
        if let types::Kind::Aggregate(aggregate) = &types[id].kind {
            union = aggregate.keyword == Keyword::Union;
            let mut names = BTreeSet::new();
            for member in &aggregate.members {
                let Some(mut one) = self.member(member, in_union || union, depth) else { continue };
                // Bit-fields share their unit, and a member that starts inside the one before it cannot be written down.
                let end = members.last().map_or(0, |last| last.offset + last.size);
                if !union && member.bits.is_some() && one.offset < end {
                    if let Some(unit) = members.last_mut() {
                        unit.remark = format!("{} {}", unit.remark, one.remark);
                    }
                    continue;
                }
                if one.offset + one.size > size {
                    continue;
                }
                if let Some(last) = members.last_mut().filter(|last| !union && one.offset < end && last.offset < one.offset)
                    && last.name.starts_with("bits_")
                {
                    last.size = one.offset - last.offset;
                }
                while !names.insert(one.name.clone()) {
                    one.name.push('_');
                }
                members.push(one);
            }
        }
        if !union {
            members.sort_by_key(|member| member.offset);
        }
        let source = format!("debug information of {}", self.shapes.origin);
        Record {
            closed: !name.is_empty(),
            name,
            union,
            size,
            align: types.align(id),
            members,
            confidence: "dwarf".into(),
            source,
        }
    }

    fn member(&mut self, member: &types::Member, in_union: bool, depth: u32) -> Option<Member> {
        let offset = member.offset?;
        let size = self.types.member_size(member)?;
        let (count, element) = member.ty.map_or((1, None), |ty| self.types.elements(ty));
        let flexible = count == 0;
        if size == 0 && !flexible {
            return None;
        }
        let array = member.ty.and_then(|ty| self.types.plain(ty));
        let array = array.is_some_and(|plain| matches!(self.types[plain].kind, types::Kind::Array { .. }));
        let own = member.name.as_deref().map(identifier).filter(|name| !name.is_empty());
        let name = match (own, member.bits, member.role) {
            (_, Some(_), _) => format!("bits_{offset:x}"),
            (Some(name), ..) if is_unnamed(&name) && array => return None,
            (Some(name), ..) => name,
            (None, _, Role::Base) => format!("base_{offset:x}"),
            (None, ..) => format!("anon_{offset:x}"),
        };
        let mut kind = if member.bits.is_some() { Kind::Bytes(1) } else { self.kind(element, in_union, depth + 1) };
        // An array of what has no name has no path in the table.
        if array && matches!(kind, Kind::Inline(_)) {
            kind = Kind::Bytes(element.and_then(|element| self.types.align(element)).unwrap_or(1));
        }
        // Over-aligned or misplaced members of a record without a name are bytes all the same.
        let bounds = match &kind {
            Kind::Bytes(_) => Vec::new(),
            _ if array => self.bounds(member.ty),
            _ => Vec::new(),
        };
        let shape: String = bounds.iter().map(|bound| format!("[{bound}]")).collect();
        let bit = member.bits.and(member.name.as_deref()).map(|name| format!("{}@{offset}", identifier(name)));
        let remark = if let Some(bit) = bit {
            bit
        } else if bounds.len() > 1 && matches!(kind, Kind::Scalar(_) | Kind::Enum(_)) {
            shape
        } else {
            String::new()
        };
        let section = format!("debug information of {}", self.shapes.origin);
        Some(Member { name, offset, size, bounds, kind, remark, sized: true, confidence: "dwarf".into(), section })
    }

    /// Bounds over nested arrays, outermost first.
    fn bounds(&self, ty: Option<TypeId>) -> Vec<u64> {
        let mut all = Vec::new();
        let mut at = ty.and_then(|ty| self.types.plain(ty));
        while let Some(types::Kind::Array { element, bounds }) = at.map(|id| &self.types[id].kind) {
            all.extend(bounds.iter().map(|bound| bound.unwrap_or(0)));
            at = element.and_then(|element| self.types.plain(element));
        }
        // A flexible array is one whatever its elements are.
        if all.contains(&0) { vec![0] } else { all }
    }
}

fn scalar(name: Option<&str>, encoding: Encoding, size: u64) -> Kind {
    if let Some(name @ ("size_t" | "time_t")) = name {
        return Kind::Scalar(name.into());
    }
    let name = match (encoding, size) {
        (Encoding::Bool, 1) => "bool",
        (Encoding::Char, 1) => "char",
        (Encoding::Signed, 1) => "i8",
        (Encoding::Signed, 2) => "i16",
        (Encoding::Signed, 4) => "i32",
        (Encoding::Signed, 8) => "i64",
        (Encoding::Float, 4) => "f32",
        (Encoding::Float, 8) => "f64",
        (Encoding::Float, _) => return Kind::Bytes(1),
        (_, 1) => "u8",
        (_, 2) => "u16",
        (_, 4) => "u32",
        (_, 8) => "u64",
        _ => return Kind::Bytes(1),
    };
    Kind::Scalar(name.into())
}

/// A name as C spells one.
fn identifier(name: &str) -> String {
    let part = |letter: char| if letter.is_ascii_alphanumeric() || letter == '_' { letter } else { '_' };
    let plain: String = name.chars().map(part).collect();
    if plain.as_bytes().first().is_some_and(u8::is_ascii_digit) { format!("_{plain}") } else { plain }
}
