//! Selections, sizes and words.

use super::{Database, Encoding, Kind, Pointer, Selection, Type, TypeId, last_component};

fn add(types: &mut Database, name: Option<&str>, kind: Kind, size: Option<u64>) -> TypeId {
    let name = name.map(|name| types.text(name));
    types.intern(Type { name, scope: None, kind, size, align: None }).0
}

#[test]
fn the_last_component_is_not_inside_brackets() {
    for (name, last) in [("a", "a"), ("a::b", "b"), ("a::b<c::d>", "b<c::d>"), ("x<a::b>::y", "y"), ("::a", "a"), ("a:b", "a:b")]
    {
        assert_eq!(last_component(name), last);
    }
}

#[test]
fn names_are_bare_or_full() {
    let selection = Selection::Names(["a".into(), "s::b".into()].into());
    for (scope, name, wanted) in [(None, "a", true), (Some("s"), "a", true), (Some("s"), "b", true), (None, "b", false)] {
        assert_eq!(selection.admits(scope, name), wanted, "{scope:?} {name}");
    }
}

#[test]
fn types_in_words() {
    let mut types = Database::default();
    types.pointer_size = 8;
    let int = add(&mut types, Some("int"), Kind::Base(Encoding::Signed), Some(4));
    let array = add(&mut types, None, Kind::Array { element: Some(int), bounds: [Some(4), None].into() }, None);
    let pointer = add(&mut types, None, Kind::Pointer(Pointer::Plain, Some(array)), Some(8));
    let function = Kind::Function { result: Some(int), parameters: [Some(pointer), None].into(), variadic: true };
    let function = add(&mut types, None, function, None);
    let callback = add(&mut types, None, Kind::Pointer(Pointer::Plain, Some(function)), Some(8));
    assert_eq!(types.declare(Some(array), "x"), "int x[4][]");
    assert_eq!(types.describe(Some(pointer)), "int (*)[4][]");
    assert_eq!(types.declare(Some(callback), "call"), "int (*call)(int (*)[4][], void, ...)");
    assert_eq!((types.size(array), types.elements(array)), (Some(0), (0, Some(int))));
    // However short the way to it, the words are the same.
    let constant = add(&mut types, None, Kind::Qualified(super::Qualifier::Const, Some(int)), None);
    let to = add(&mut types, None, Kind::Pointer(Pointer::Plain, Some(constant)), Some(8));
    let pointers = add(&mut types, None, Kind::Array { element: Some(to), bounds: [Some(2)].into() }, None);
    let fixed = add(&mut types, None, Kind::Qualified(super::Qualifier::Const, Some(to)), None);
    let nameless = add(&mut types, None, Kind::Declared(super::Keyword::Enum), None);
    assert_eq!(types.declare(Some(pointers), "x"), "const int *x[2]");
    for (ty, _) in types.types() {
        for name in ["", "x"] {
            let mut text = String::from("> ");
            types.declare_onto(&mut text, Some(ty), name);
            assert_eq!(text, format!("> {}", types.declare(Some(ty), name)));
        }
    }
    let mut text = String::new();
    types.declare_onto(&mut text, None, "x");
    assert_eq!((text.as_str(), types.describe(Some(fixed)).as_str()), ("void x", "const int *const"));
    assert_eq!(types.describe(Some(nameless)), "enum {...}");
}

#[test]
fn equal_types_are_one() {
    let mut types = Database::default();
    let first = add(&mut types, Some("int"), Kind::Base(Encoding::Signed), Some(4));
    assert_eq!(add(&mut types, Some("int"), Kind::Base(Encoding::Signed), Some(4)), first);
    assert_ne!(add(&mut types, Some("int"), Kind::Base(Encoding::Signed), Some(8)), first);
}
