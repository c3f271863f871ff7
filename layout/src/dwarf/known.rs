//! Types by what their entries say: most are described again in every unit, and are recognised before their names are looked
//! up.

use std::hash::Hasher;

use gimli::AttributeValue;

use super::world::Value;
use crate::types::draft::DraftMember;
use crate::types::hash::{Quick, QuickMap};
use crate::types::{Qualifier, TypeId};

/// Stands for what is not there.
const NONE: u64 = u64::MAX;

/// Longest name in bytes that stands in an entry itself and is part of a key.
const SHORT: usize = 6;

/// The types of one database that were read from units with one section of strings.
#[derive(Default)]
pub(crate) struct Known {
    /// Key of that section.
    section: Option<usize>,
    /// All keys, one after the other.
    words: Vec<u64>,
    /// Start, length and type of each key, by its hash.
    index: QuickMap<u64, (u32, u32, TypeId)>,
    /// Numbers of pointers and qualified types, plus 1, by kind and by the number, plus 1, of what they are made of.
    derived: [Vec<u32>; 5],
    key: Vec<u64>,
    /// Whether all that belongs to the key can be told by words.
    whole: bool,
}

impl Known {
    /// Begins a key, for an entry of a unit whose section of strings has this key.
    pub(crate) fn begin(&mut self, section: usize, tag: u16, size: Option<u64>, align: Option<u64>) {
        self.whole = *self.section.get_or_insert(section) == section;
        self.key.clear();
        let there = u64::from(size.is_some()) << 16 | u64::from(align.is_some()) << 17;
        self.key.extend([u64::from(tag) | there, size.unwrap_or(0), align.unwrap_or(0)]);
    }

    /// Begins a key that cannot be made.
    pub(crate) const fn cannot(&mut self) {
        self.whole = false;
    }

    /// Tells that the entry is only referred to by name: no definition has as many words with that tag.
    pub(crate) fn declared(&mut self) {
        self.key.extend([NONE, NONE]);
    }

    /// Tells that of the members of the entry only their measures are known.
    pub(crate) fn measured(&mut self) {
        self.key.push(NONE - 1);
    }

    /// An attribute that names.
    pub(crate) fn name(&mut self, name: Option<&Value<'_>>) {
        let word = match name {
            None => NONE,
            Some(AttributeValue::DebugStrRef(offset)) if (offset.0 as u64) < 1 << 63 => offset.0 as u64,
            Some(AttributeValue::String(text)) if text.len() <= SHORT => {
                text.iter().fold(1 << 15 | text.len() as u64, |word, byte| word << 8 | u64::from(*byte))
                    << (8 * (SHORT - text.len()))
            }
            Some(_) => return self.whole = false,
        };
        self.key.push(word);
    }

    /// A type that it is made of.
    pub(crate) fn ty(&mut self, ty: Option<TypeId>) {
        self.key.push(ty.map_or(NONE, |ty| ty.0.into()));
    }

    /// A value of an enumerator.
    pub(crate) fn value(&mut self, value: i128) {
        self.key.extend([value as u64, (value >> 64) as u64]);
    }

    /// A member, apart from its name.
    pub(crate) fn member(&mut self, member: &DraftMember) {
        let there = [member.offset.is_some(), member.ty.is_some(), member.bits.is_some(), member.align.is_some()];
        let flags = there.iter().fold(member.role as u64, |flags, there| flags << 1 | u64::from(*there));
        self.key.extend([flags << 32 | u64::from(member.ty.map_or(0, |ty| ty.0)), member.offset.unwrap_or(0)]);
        if let Some(bits) = member.bits {
            self.key.extend([bits.start, bits.width, bits.storage]);
        }
        self.key.extend(member.align);
    }

    /// The type of the key, or else a hash under which it can be kept; none = no key can be made.
    pub(crate) fn find(&self) -> Option<Result<TypeId, u64>> {
        if !self.whole {
            return None;
        }
        let mut hash = Quick::default();
        self.key.iter().for_each(|word| hash.write_u64(*word));
        let mut hash = hash.finish();
        while let Some((start, length, ty)) = self.index.get(&hash) {
            let start = *start as usize;
            if self.words.get(start..start + *length as usize) == Some(&self.key) {
                return Some(Ok(*ty));
            }
            hash = hash.wrapping_add(1);
        }
        Some(Err(hash))
    }

    /// Keeps the type of the key under a hash that [`Known::find`] gave.
    pub(crate) fn keep(&mut self, hash: u64, ty: TypeId) {
        let (Ok(start), Ok(length)) = (u32::try_from(self.words.len()), u32::try_from(self.key.len())) else { return };
        self.words.extend_from_slice(&self.key);
        self.index.insert(hash, (start, length, ty));
    }

    /// The pointer or qualified type that is made of a type.
    pub(crate) fn derived(&self, kind: usize, of: Option<TypeId>) -> Option<TypeId> {
        self.derived[kind].get(of.map_or(0, |of| of.0 as usize + 1))?.checked_sub(1).map(TypeId)
    }

    pub(crate) fn keep_derived(&mut self, kind: usize, of: Option<TypeId>, ty: TypeId) {
        let place = of.map_or(0, |of| of.0 as usize + 1);
        let list = &mut self.derived[kind];
        if list.len() <= place {
            list.resize(place + 1, 0);
        }
        list[place] = ty.0.saturating_add(1);
    }
}

/// Kind of a plain pointer of the machine's size, for [`Known::derived`].
pub(crate) const POINTER: usize = 0;

/// Kind of a qualified type that states no alignment of its own.
pub(crate) const fn qualified_kind(qualifier: Qualifier) -> usize {
    match qualifier {
        Qualifier::Const => 1,
        Qualifier::Volatile => 2,
        Qualifier::Restrict => 3,
        Qualifier::Atomic => 4,
    }
}
