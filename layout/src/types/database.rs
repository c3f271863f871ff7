//! The interned types and their names.

use std::ops::Index;

use super::draft::TextNumber;
use super::hash::{QuickMap, of_type};
use super::{Aggregate, Kind, Text, Type, TypeId};

/// Where a type is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Path as the compiler recorded it; empty = not recorded.
    pub file: Text,
    /// Line, from 1; 0 = not recorded.
    pub line: u32,
}

/// One file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path, with the member in parentheses for an archive.
    pub path: String,
    /// Build id in hexadecimal; empty = none.
    pub build_id: String,
    /// Path of the file that held the debug information, if another one.
    pub debug_path: Option<String>,
}

/// Types read from debug information; see the [module](super).
#[derive(Debug, Default)]
pub struct Database {
    types: Vec<Type>,
    places: QuickMap<TypeId, Place>,
    interned: QuickMap<u64, TypeId>,
    /// Numbers of the texts, which are in `numbered` by those.
    texts: QuickMap<Text, TextNumber>,
    numbered: Vec<Text>,
    names: QuickMap<Text, Vec<TypeId>>,
    roots: Vec<TypeId>,
    /// Whether each type is one of them.
    rooted: Vec<bool>,
    /// Files that were read, the named one first.
    pub sources: Vec<Source>,
    /// Size of a pointer in bytes on the machine the file is for.
    pub pointer_size: u64,
    /// Alignment in bytes that no scalar exceeds on that machine; 0 = not known: 16.
    pub(crate) scalar_align: u64,
    /// What could not be read and was left out, one line each.
    pub left_out: Vec<String>,
    /// Whether units refer to each other, so that they cannot be read a few at a time.
    pub(crate) entangled: bool,
}

impl Index<TypeId> for Database {
    type Output = Type;

    fn index(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }
}

impl Database {
    /// Every type, the asked-for ones and their parts.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        self.types.iter().enumerate().map(|(index, ty)| (TypeId(u32::try_from(index).unwrap_or(u32::MAX)), ty))
    }

    /// The types that were asked for, in the order they were found: definitions and typedefs.
    #[must_use]
    pub fn roots(&self) -> &[TypeId] {
        &self.roots
    }

    /// The asked-for types of a bare or full name. Several = the units disagree, or scopes differ.
    #[must_use]
    pub fn named(&self, name: &str) -> &[TypeId] {
        if let Some(found) = self.names.get(name) {
            return found;
        }
        let last = super::last_component(name);
        if last.len() == name.len() {
            return &[];
        }
        // A full name: the run of definitions with that scope, if they are together; they are added scope by scope.
        let scope = &name[..name.len() - last.len() - 2];
        let Some(found) = self.names.get(last) else { return &[] };
        let inside = |id: &TypeId| self[*id].scope.as_deref() == Some(scope);
        let Some(start) = found.iter().position(inside) else { return &[] };
        let length = found[start..].iter().take_while(|id| inside(id)).count();
        &found[start..start + length]
    }

    /// Names of the asked-for types, each once, without order.
    pub fn names(&self) -> impl Iterator<Item = &Text> {
        self.names.keys()
    }

    /// Where a type is declared.
    #[must_use]
    pub fn place(&self, id: TypeId) -> Option<&Place> {
        self.places.get(&id)
    }

    /// The struct, class or union that a type is, behind typedefs and qualifiers.
    #[must_use]
    pub fn aggregate(&self, id: TypeId) -> Option<&Aggregate> {
        match &self[self.plain(id)?].kind {
            Kind::Aggregate(aggregate) => Some(aggregate),
            _ => None,
        }
    }

    /// Number of the shared copy of a name.
    pub(crate) fn text_number(&mut self, text: &str) -> TextNumber {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let number = TextNumber::try_from(self.numbered.len()).unwrap_or(TextNumber::MAX);
        let text = Text::from(text);
        self.numbered.push(Text::clone(&text));
        self.texts.insert(text, number);
        number
    }

    /// The text of a number.
    pub(crate) fn numbered(&self, number: TextNumber) -> &Text {
        &self.numbered[number as usize]
    }

    /// A shared copy of a name.
    pub(crate) fn text(&mut self, text: &str) -> Text {
        let number = self.text_number(text);
        Text::clone(self.numbered(number))
    }

    /// Adds a type unless an equal one is there; tells whether it is new.
    pub(crate) fn intern(&mut self, ty: Type) -> (TypeId, bool) {
        match self.find(of_type(&ty), |known| *known == ty) {
            Ok(known) => (known, false),
            Err(free) => (self.keep(free, ty), true),
        }
    }

    /// The type of this hash that is the wanted one, or else a hash under which it can be kept.
    pub(crate) fn find(&self, mut hash: u64, is: impl Fn(&Type) -> bool) -> Result<TypeId, u64> {
        while let Some(known) = self.interned.get(&hash) {
            if is(&self[*known]) {
                return Ok(*known);
            }
            hash = hash.wrapping_add(1);
        }
        Err(hash)
    }

    /// Adds a type under a hash that [`Database::find`] gave.
    pub(crate) fn keep(&mut self, hash: u64, ty: Type) -> TypeId {
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.types.push(ty);
        self.interned.insert(hash, id);
        id
    }

    /// Records where a type is declared.
    pub(crate) fn set_place(&mut self, id: TypeId, place: Place) {
        self.places.entry(id).or_insert(place);
    }

    /// Whether a type is findable by its name.
    pub(crate) fn is_root(&self, id: TypeId) -> bool {
        self.rooted.get(id.0 as usize).copied().unwrap_or(false)
    }

    /// Makes a type findable by its name.
    pub(crate) fn add_root(&mut self, id: TypeId) {
        if self.is_root(id) {
            return;
        }
        let Some(name) = self[id].name.clone() else { return };
        let known = self.names.entry(name).or_default();
        if self.rooted.len() < self.types.len() {
            self.rooted.resize(self.types.len(), false);
        }
        self.rooted[id.0 as usize] = true;
        let scope = &self.types[id.0 as usize].scope;
        let after = known.iter().rposition(|known| self.types[known.0 as usize].scope == *scope);
        known.insert(after.map_or(known.len(), |after| after + 1), id);
        self.roots.push(id);
    }
}

impl Database {
    /// Adds all types of another database that was read from the same machine's files.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut ids: Vec<TypeId> = Vec::with_capacity(other.types.len());
        for (id, ty) in other.types() {
            let mut ty = ty.clone();
            ty.name = ty.name.map(|name| self.text(&name));
            ty.scope = ty.scope.map(|scope| self.text(&scope));
            let to = |id: &mut Option<TypeId>| *id = id.and_then(|id| ids.get(id.0 as usize).copied());
            match &mut ty.kind {
                Kind::Pointer(_, target) | Kind::Typedef(target) | Kind::Qualified(_, target) => to(target),
                Kind::Array { element, .. } => to(element),
                Kind::Function { result, parameters, .. } => {
                    to(result);
                    parameters.iter_mut().for_each(to);
                }
                Kind::Aggregate(aggregate) => {
                    for member in &mut aggregate.members {
                        to(&mut member.ty);
                        member.name = member.name.take().map(|name| self.text(&name));
                    }
                }
                Kind::Enum(enumeration) => {
                    to(&mut enumeration.underlying);
                    for member in &mut enumeration.members {
                        member.name = self.text(&member.name);
                    }
                }
                Kind::Base(_) | Kind::Declared(_) | Kind::Unspecified => {}
            }
            let (own, new) = self.intern(ty);
            if let Some(place) = other.places.get(&id).filter(|_| new) {
                let place = Place { file: self.text(&place.file), line: place.line };
                self.set_place(own, place);
            }
            ids.push(own);
        }
        for id in &other.roots {
            if let Some(own) = ids.get(id.0 as usize) {
                self.add_root(*own);
            }
        }
        self.left_out.extend(other.left_out.iter().cloned());
    }
}
