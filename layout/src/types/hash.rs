//! A fast hash for keys that an attacker gains nothing by colliding: collisions cost time within bounds that the reader
//! keeps anyway.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;

use super::{Keyword, Kind, Text, Type, TypeId};

/// Multiplies and rotates, a word at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quick(u64);

pub(crate) type QuickMap<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;
pub(crate) type QuickSet<K> = HashSet<K, BuildHasherDefault<Quick>>;

impl Quick {
    const fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    const fn id(&mut self, id: Option<TypeId>) {
        self.mix(match id {
            Some(id) => id.0 as u64,
            None => u64::MAX,
        });
    }

    fn text(&mut self, text: Option<&Text>) {
        self.mix(text.map_or(0, |text| Arc::as_ptr(text).cast::<u8>() as usize as u64));
    }
}

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        // The best bits are at the top, and tables use those at the bottom too.
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.mix(word.try_into().map_or(0, u64::from_le_bytes));
        }
        let rest = words.remainder();
        if !rest.is_empty() {
            self.mix(rest.iter().fold(rest.len() as u64, |word, byte| word << 8 | u64::from(*byte)));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.mix(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.mix(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }
}

/// Hash of a type whose names are interned: a name counts by where it is kept.
pub(crate) fn of_type(ty: &Type) -> u64 {
    let (name, scope) = (ty.name.as_ref(), ty.scope.as_ref());
    match &ty.kind {
        Kind::Aggregate(aggregate) => {
            let members = aggregate.members.iter().map(|member| (member.name.as_ref(), member.first_bit(), member.ty));
            of_aggregate(name, scope, ty.size, aggregate.keyword, members)
        }
        Kind::Enum(enumeration) => {
            of_enumeration(name, scope, ty.size, enumeration.members.iter().map(|member| (&member.name, member.value)))
        }
        Kind::Function { result, parameters, variadic } => of_function(*result, parameters, *variadic),
        other => {
            let mut hash = start(name, scope, ty.size);
            other.hash(&mut hash);
            hash.finish()
        }
    }
}

/// The same for a struct that is not made yet; of each member its name, first bit and type.
pub(crate) fn of_aggregate<'t>(
    name: Option<&Text>,
    scope: Option<&Text>,
    size: Option<u64>,
    keyword: Keyword,
    members: impl Iterator<Item = (Option<&'t Text>, Option<u64>, Option<TypeId>)>,
) -> u64 {
    let mut hash = start(name, scope, size);
    hash.mix(keyword as u64);
    for (name, first_bit, ty) in members {
        hash.text(name);
        hash.mix(first_bit.unwrap_or(u64::MAX));
        hash.id(ty);
    }
    hash.finish()
}

/// The same for an enumeration.
pub(crate) fn of_enumeration<'t>(
    name: Option<&Text>,
    scope: Option<&Text>,
    size: Option<u64>,
    members: impl Iterator<Item = (&'t Text, i128)>,
) -> u64 {
    let mut hash = start(name, scope, size);
    for (name, value) in members {
        hash.text(Some(name));
        hash.mix(value as u64);
    }
    hash.finish()
}

/// The same for a function.
pub(crate) fn of_function(result: Option<TypeId>, parameters: &[Option<TypeId>], variadic: bool) -> u64 {
    let mut hash = start(None, None, None);
    hash.mix(u64::from(variadic));
    hash.id(result);
    parameters.iter().for_each(|parameter| hash.id(*parameter));
    hash.finish()
}

fn start(name: Option<&Text>, scope: Option<&Text>, size: Option<u64>) -> Quick {
    let mut hash = Quick::default();
    hash.text(name);
    hash.text(scope);
    hash.mix(size.unwrap_or(u64::MAX));
    hash
}
