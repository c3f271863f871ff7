//! Arguments and environment, from pointers as the kernel leaves them and from slices.

use std::ffi::{CStr, c_char};
use std::ptr;

use nrt_linux::args::Args;
use nrt_linux::env::Env;

fn pointers(strings: &[&CStr]) -> Vec<*const c_char> {
    strings.iter().map(|string| string.as_ptr()).chain([ptr::null()]).collect()
}

#[test]
fn arguments_come_in_order() {
    let strings = [c"program", c"", c"--json", c"\xff"];
    let raw = pointers(&strings);
    // SAFETY: four pointers to static C strings.
    for args in [Args::from_slice(&strings), unsafe { Args::from_raw(4, raw.as_ptr()) }] {
        assert_eq!((args.len(), args.is_empty()), (4, false));
        assert_eq!(args.get(0), Some(c"program"));
        assert_eq!((args.get(3), args.get(4), args.get(usize::MAX)), (Some(c"\xff"), None, None));
        assert_eq!(args.operands().collect::<Vec<_>>(), strings[1..]);
        assert_eq!(format!("{args:?}"), r#"["program", "", "--json", "\xff"]"#);
    }
}

#[test]
fn a_program_may_have_no_name() {
    // SAFETY: no pointer is read.
    for args in [Args::from_slice(&[]), unsafe { Args::from_raw(0, ptr::null()) }] {
        assert!(args.is_empty());
        assert_eq!((args.get(0), args.operands().next()), (None, None));
    }
}

#[test]
fn variables_are_found_by_their_whole_name() {
    let strings = [c"A=1", c"AB=2", c"EMPTY=", c"none", c"=odd", c"A=3", c"EQ=a=b", c"\xff=\xfe"];
    let raw = pointers(&strings);
    // SAFETY: pointers to static C strings, with a null pointer at the end.
    for env in [Env::from_slice(&strings), unsafe { Env::from_raw(raw.as_ptr()) }] {
        assert_eq!(env.get("A"), Some(c"1"), "the first wins");
        assert_eq!(env.get("AB"), Some(c"2"));
        assert_eq!(env.get("EMPTY"), Some(c""));
        assert_eq!(env.get("EQ"), Some(c"a=b"));
        assert_eq!(env.get(""), Some(c"odd"));
        for absent in ["none", "B", "A=1", "EQ=a", "a", "AB="] {
            assert_eq!(env.get(absent), None, "{absent}");
        }
        assert_eq!(env.iter().count(), 7);
        assert_eq!(env.iter().last(), Some((&b"\xff"[..], c"\xfe")));
        assert!(format!("{env:?}").starts_with(r#"["A=1", "#));
    }
}

#[test]
fn an_empty_environment_has_nothing() {
    let raw = pointers(&[]);
    // SAFETY: a list that consists of its null pointer.
    for env in [Env::from_slice(&[]), unsafe { Env::from_raw(raw.as_ptr()) }] {
        assert_eq!((env.iter().count(), env.get("A")), (0, None));
    }
}

#[test]
fn lists_can_go_to_other_threads() {
    let strings = [c"program", c"A=1"];
    let args = Args::from_slice(&strings);
    let env = Env::from_slice(&strings);
    std::thread::scope(|threads| {
        threads.spawn(move || assert_eq!((args.len(), env.get("A")), (2, Some(c"1"))));
    });
}
