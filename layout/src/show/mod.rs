//! `show`: the layout of types as debug information gives it, for people and as JSON.

mod command;
mod json;
mod layout;
mod text;

pub use command::{EXAMPLES, Show};
pub use json::{json, json_text};
pub use layout::{CACHE_LINE, Hole, Layout};
pub use text::{Shown, text};

use crate::types::{Database, Kind, TypeId};

/// Which types are shown, and in which order.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only types that hold the type of this name by value, at any depth.
    pub contains: Option<String>,
    /// Only types with at least one hole.
    pub holes: bool,
    /// Order.
    pub sort: Order,
}

/// Order of what is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// By name.
    #[default]
    Name,
    /// Largest first.
    Size,
    /// Most bytes in holes first.
    Holes,
}

/// The types to show: structs, classes, unions, enumerations, and typedefs whose target has no name of its own.
#[must_use]
pub fn select(types: &Database, filter: &Filter) -> Vec<TypeId> {
    let measured = filter.holes || filter.sort == Order::Holes;
    let mut found: Vec<(TypeId, Layout)> = types
        .roots()
        .iter()
        .filter(|id| is_shown(types, **id))
        .map(|id| (*id, if measured { Layout::of(types, *id) } else { Layout::default() }))
        .filter(|(_, layout)| !filter.holes || layout.hole_count() > 0)
        .filter(|(id, _)| filter.contains.as_deref().is_none_or(|name| contains(types, *id, name)))
        .collect();
    let name = |id: TypeId| (types[id].name.clone(), types[id].scope.clone());
    found.sort_by(|(one, first), (other, second)| {
        let order = match filter.sort {
            Order::Name => std::cmp::Ordering::Equal,
            Order::Size => types.size(*other).cmp(&types.size(*one)),
            Order::Holes => second.hole_bytes().cmp(&first.hole_bytes()),
        };
        order.then_with(|| name(*one).cmp(&name(*other))).then_with(|| one.cmp(other))
    });
    found.into_iter().map(|(id, _)| id).collect()
}

fn is_shown(types: &Database, id: TypeId) -> bool {
    let Kind::Typedef(_) = types[id].kind else { return true };
    // `typedef struct s { ... } s;` is shown once, as the struct.
    let Some(name) = types[id].name.as_deref() else { return false };
    let other = types.named(name).iter().any(|other| *other != id && !matches!(types[*other].kind, Kind::Typedef(_)));
    !other
}

/// Whether a type holds a type of this name by value.
#[must_use]
pub fn contains(types: &Database, id: TypeId, name: &str) -> bool {
    let mut seen = std::collections::HashSet::new();
    let mut left = vec![id];
    while let Some(next) = left.pop() {
        if !seen.insert(next) {
            continue;
        }
        let ty = &types[next];
        if next != id && (ty.name.as_deref() == Some(name) || ty.qualified().as_deref() == Some(name)) {
            return true;
        }
        match &ty.kind {
            Kind::Aggregate(aggregate) => left.extend(aggregate.members.iter().filter_map(|member| member.ty)),
            Kind::Array { element, .. } => left.extend(element),
            Kind::Typedef(target) | Kind::Qualified(_, target) => left.extend(target),
            _ => {}
        }
    }
    false
}
