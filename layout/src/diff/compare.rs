//! Compares the types of two databases.

use std::collections::{BTreeMap, BTreeSet};

use super::shape::{Field, Shape, shape};
use super::{Change, ChangeKind, Changes};
use crate::types::{Database, Kind, TypeId};

/// Compares every type that either side was asked for.
#[must_use]
pub fn compare(old: &Database, new: &Database) -> Changes {
    let names = |types: &Database| -> BTreeSet<String> {
        types.roots().iter().filter(|id| is_compared(types, **id)).filter_map(|id| types[*id].qualified()).collect()
    };
    compare_names(old, new, names(old).union(&names(new)).cloned().collect())
}

fn is_compared(types: &Database, id: TypeId) -> bool {
    match types[id].kind {
        // A typedef counts where it is the only name.
        Kind::Typedef(_) => types.plain(id).is_some_and(|plain| types[plain].name.is_none()),
        Kind::Aggregate(_) | Kind::Enum(_) => true,
        _ => false,
    }
}

/// Compares the types of these names, and those that they hold by value.
#[must_use]
pub fn compare_names(old: &Database, new: &Database, names: Vec<String>) -> Changes {
    let mut run = Run { changes: Changes::default() };
    let (before, after) = (definitions(old), definitions(new));
    let mut seen = BTreeSet::new();
    let mut left = names;
    left.reverse();
    while let Some(name) = left.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let (old, new) = (before.get(&name), after.get(&name));
        match (old, new) {
            (Some(old), Some(new)) => {
                run.changes.compared += 1;
                // Several definitions: if one pair agrees, nothing changed.
                if old.iter().any(|old| new.contains(old)) {
                    left.extend(held(&old[0]));
                    continue;
                }
                left.extend(held(&old[0]));
                run.types(&name, &old[0], &new[0]);
            }
            (Some(old), None) => run.say(&name, "", ChangeKind::Missing, size(&old[0]), String::new()),
            (None, Some(new)) => run.say(&name, "", ChangeKind::Added, String::new(), size(&new[0])),
            (None, None) => {}
        }
    }
    run.changes
}

fn size(shape: &Shape) -> String {
    shape.size.map_or_else(|| "a type of unknown size".into(), |size| format!("size {size}"))
}

fn held(shape: &Shape) -> Vec<String> {
    shape.fields.iter().filter_map(|field| field.target.clone()).collect()
}

/// All shapes by full name, and by bare name where there is a scope.
fn definitions(types: &Database) -> BTreeMap<String, Vec<Shape>> {
    let mut found: BTreeMap<String, Vec<Shape>> = BTreeMap::new();
    for (id, ty) in types.types() {
        if !is_compared(types, id) {
            continue;
        }
        let (Some(shape), Some(full)) = (shape(types, id), ty.qualified()) else { continue };
        let bare = ty.name.as_deref().filter(|_| ty.scope.is_some()).map(str::to_owned);
        for name in [Some(full), bare].into_iter().flatten() {
            let known = found.entry(name).or_default();
            if !known.contains(&shape) {
                known.push(shape.clone());
            }
        }
    }
    found
}

struct Run {
    changes: Changes,
}

impl Run {
    fn say(&mut self, structure: &str, field: &str, kind: ChangeKind, old: String, new: String) {
        self.changes.changes.push(Change { structure: structure.into(), field: field.into(), kind, old, new });
    }

    fn types(&mut self, name: &str, old: &Shape, new: &Shape) {
        self.values(name, old, new);
        let find = |fields: &[Field], name: &str| fields.iter().position(|field| field.name == name);
        let mut renamed = BTreeSet::new();
        let mut appended = false;
        for (index, before) in old.fields.iter().enumerate() {
            let same_name = |fields: &[Field]| fields.iter().filter(|field| field.name == before.name).count();
            if same_name(&old.fields) > 1 {
                // Two arms of a union may hold the same name: told apart by their order.
                let nth = old.fields[..index].iter().filter(|field| field.name == before.name).count();
                match new.fields.iter().filter(|field| field.name == before.name).nth(nth) {
                    Some(after) => self.field(name, before, after),
                    None => self.say(name, &before.name, ChangeKind::Missing, before.whole(), String::new()),
                }
            } else if let Some(at) = find(&new.fields, &before.name) {
                self.field(name, before, &new.fields[at]);
            } else {
                let same_place = |after: &&Field| {
                    find(&old.fields, &after.name).is_none()
                        && (after.start, after.width, after.count, after.kind)
                            == (before.start, before.width, before.count, before.kind)
                };
                let covered = || {
                    let inside = |after: &&Field| after.start >= before.start && after.end() <= before.end();
                    before.is_padding() && (new.size >= old.size) && new.fields.iter().any(|after| inside(&after))
                };
                if let Some(after) = new.fields.iter().find(same_place) {
                    renamed.insert(after.name.clone());
                    self.say(name, &before.name, ChangeKind::Renamed, before.name.clone(), after.name.clone());
                } else if !covered() {
                    self.say(name, &before.name, ChangeKind::Missing, before.whole(), String::new());
                }
            }
        }
        let end = old.fields.iter().map(Field::end).max().unwrap_or(0);
        for after in &new.fields {
            if find(&old.fields, &after.name).is_some() || renamed.contains(&after.name) {
                continue;
            }
            let start = after.start.unwrap_or(0);
            let overlaps = |before: &&Field| start < before.end() && before.start.unwrap_or(0) < after.end();
            let kind = if start >= end.max(1) {
                appended = true;
                ChangeKind::Appended
            } else if old.fields.iter().filter(overlaps).all(Field::is_padding) {
                ChangeKind::PaddingUsed
            } else {
                ChangeKind::Extra
            };
            self.say(name, &after.name, kind, String::new(), after.whole());
        }
        if old.size != new.size {
            let kind = if appended && new.size > old.size { ChangeKind::Appended } else { ChangeKind::Resized };
            self.say(name, "", kind, size(old), size(new));
        }
        if let (Some(before), Some(after)) = (old.align, new.align)
            && before != after
        {
            self.say(name, "", ChangeKind::Resized, format!("alignment {before}"), format!("alignment {after}"));
        }
    }

    fn field(&mut self, name: &str, old: &Field, new: &Field) {
        if (old.start, old.bits) != (new.start, new.bits) {
            self.say(name, &old.name, ChangeKind::Moved, old.place(), new.place());
        }
        let kinds = old.kind.zip(new.kind).is_some_and(|(old, new)| !old.agrees(new));
        if kinds || old.target != new.target {
            self.say(name, &old.name, ChangeKind::Retyped, old.words.clone(), new.words.clone());
        }
        if old.count != new.count {
            self.say(name, &old.name, ChangeKind::Bound, old.words.clone(), new.words.clone());
        } else if old.width != new.width {
            let words = |field: &Field| match (field.bits, field.width % 8) {
                (false, 0) => format!("size {}", field.width / 8),
                _ => format!("width {}", field.width),
            };
            self.say(name, &old.name, ChangeKind::Resized, words(old), words(new));
        }
    }

    fn values(&mut self, name: &str, old: &Shape, new: &Shape) {
        let find =
            |values: &[(String, i128)], name: &str| values.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        for (member, before) in &old.values {
            match find(&new.values, member) {
                None => self.say(name, member, ChangeKind::Missing, before.to_string(), String::new()),
                Some(after) if after != *before => {
                    self.say(name, member, ChangeKind::Value, before.to_string(), after.to_string());
                }
                Some(_) => {}
            }
        }
        for (member, after) in &new.values {
            if find(&old.values, member).is_none() {
                self.say(name, member, ChangeKind::Appended, String::new(), after.to_string());
            }
        }
    }
}
