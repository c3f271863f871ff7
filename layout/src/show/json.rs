//! Types as JSON: `schema/show.schema.json`.

use serde_json::{Map, Value, json};

use super::layout::Layout;
use crate::types::{Database, Keyword, Kind, Member, Role, TypeId};

/// One type as a JSON object; `size` and `align` are null where unknown.
#[must_use]
pub fn json(types: &Database, id: TypeId) -> Value {
    let ty = &types[id];
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| drop(out.insert(key.into(), value));
    put("name", json!(ty.name.as_deref()));
    put("size", json!(types.size(id)));
    put("align", json!(types.align(id)));
    if let Some(scope) = &ty.scope {
        put("scope", json!(&**scope));
    }
    let plain = types.plain(id).unwrap_or(id);
    put("kind", json!(kind(types, plain)));
    if plain != id {
        let Kind::Typedef(target) = ty.kind else { return Value::Object(out) };
        put("type", json!(types.describe(target)));
    }
    if let Some(place) = types.place(id) {
        put("file", json!(&*place.file));
        put("line", json!(place.line));
    }
    match &types[plain].kind {
        Kind::Aggregate(aggregate) => {
            let layout = Layout::of(types, plain);
            put("members", aggregate.members.iter().map(|one| member(types, one)).collect());
            let hole = |hole: &super::Hole| json!({ "bit": hole.start, "bits": hole.width });
            put("holes", layout.holes.iter().map(hole).collect());
            put("padding", json!(layout.padding / 8));
            put("packed", json!(layout.packed));
        }
        Kind::Enum(enumeration) => {
            let value =
                |value: i128| i64::try_from(value).map_or_else(|_| json!(u64::try_from(value).ok()), |value| json!(value));
            let one = |one: &crate::types::Enumerator| json!({ "name": &*one.name, "value": value(one.value) });
            put("members", enumeration.members.iter().map(one).collect());
        }
        _ => put("members", Value::Array(Vec::new())),
    }
    Value::Object(out)
}

/// All of them as one array, one type a line.
#[must_use]
pub fn json_text(types: &Database, ids: &[TypeId]) -> String {
    let lines: Vec<String> = ids.iter().map(|id| json(types, *id).to_string()).collect();
    if lines.is_empty() { "[]\n".into() } else { format!("[\n{}\n]\n", lines.join(",\n")) }
}

fn member(types: &Database, member: &Member) -> Value {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| drop(out.insert(key.into(), value));
    put("name", json!(member.name.as_deref()));
    put("offset", json!(member.offset));
    put("size", json!(types.member_size(member)));
    put("type", json!(types.describe(member.ty)));
    if let Some(bits) = member.bits {
        put("bit_offset", json!(bits.start));
        put("bit_size", json!(bits.width));
    }
    let (count, _) = member.ty.map_or((1, None), |ty| types.elements(ty));
    if count != 1 {
        put("count", json!(count));
    }
    if let Some(align) = member.align {
        put("align", json!(align));
    }
    match member.role {
        Role::Field => {}
        Role::Base => put("role", json!("base")),
        Role::Artificial => put("role", json!("artificial")),
        Role::Discriminant => put("role", json!("discriminant")),
        Role::Variant => put("role", json!("variant")),
    }
    // What has no name of its own can only be told in place.
    let inner = member.ty.and_then(|ty| types.plain(ty)).filter(|ty| types[*ty].name.is_none());
    if let Some(aggregate) = inner.and_then(|ty| types.aggregate(ty)) {
        put("members", aggregate.members.iter().map(|one| self::member(types, one)).collect());
    }
    Value::Object(out)
}

fn kind(types: &Database, id: TypeId) -> &'static str {
    match &types[id].kind {
        Kind::Aggregate(aggregate) => match aggregate.keyword {
            Keyword::Class => "class",
            Keyword::Union => "union",
            _ => "struct",
        },
        Kind::Enum(_) => "enum",
        Kind::Base(_) => "base",
        Kind::Pointer(..) => "pointer",
        Kind::Array { .. } => "array",
        Kind::Function { .. } => "function",
        Kind::Declared(_) => "declared",
        Kind::Typedef(_) | Kind::Qualified(..) | Kind::Unspecified => "void",
    }
}
