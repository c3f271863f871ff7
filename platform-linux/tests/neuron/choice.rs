//! The environment's core choice, parsed and resolved.

use nrt_core::arch::Arch;
use nrt_linux::neuron::choice::{COUNT, VISIBLE, parse};
use nrt_linux::neuron::{ChoiceError, CoreChoice, Geometry, Plan};

fn list(text: &str) -> Result<CoreChoice, ChoiceError> {
    parse(Some(text.as_bytes()), None).map(|wanted| wanted.choice)
}

#[test]
fn lists() {
    let range = |first, last| Ok(CoreChoice::Range { first, last });
    assert_eq!(list("3"), range(3, 3));
    assert_eq!(list("0-3"), range(0, 3));
    assert_eq!(list("4-4"), range(4, 4));
    // Unsorted and repeated is fine, gaps are not.
    assert_eq!(list("2,1,0-1,2"), range(0, 2));
    assert_eq!(list("0,2-4"), Err(ChoiceError::Gap { missing: 1 }));
    assert_eq!(list("511"), range(511, 511));
    assert_eq!(list("3-1"), Err(ChoiceError::Descending { position: 0 }));
    let not_a_number = |position| Err(ChoiceError::NotANumber { variable: VISIBLE, position });
    assert_eq!(list("x"), not_a_number(0));
    assert_eq!(list("1,"), not_a_number(2));
    assert_eq!(list(",1"), not_a_number(0));
    assert_eq!(list("1,,2"), not_a_number(2));
    assert_eq!(list("0 ,1"), not_a_number(1));
    assert_eq!(list(" 0"), not_a_number(0));
    assert_eq!(list("-1"), not_a_number(0));
    assert_eq!(list("0-"), not_a_number(2));
    assert_eq!(list("0-1-2"), not_a_number(3));
    let out_of_range = |position| Err(ChoiceError::OutOfRange { variable: VISIBLE, position });
    assert_eq!(list("512"), out_of_range(0));
    assert_eq!(list("0,99999999999999999999"), out_of_range(2));
    assert_eq!(list("0-4294967296"), out_of_range(2));
    // Any bytes at all.
    for text in 0..=u16::MAX {
        let _ = parse(Some(&text.to_le_bytes()), Some(&text.to_be_bytes()));
    }
}

#[test]
fn counts() {
    let choice = |visible: Option<&[u8]>, count: Option<&[u8]>| parse(visible, count).unwrap();
    assert_eq!(choice(None, None).choice, CoreChoice::All);
    assert_eq!(choice(Some(b""), Some(b"0")).choice, CoreChoice::All);
    assert_eq!(choice(None, Some(b"4")).choice, CoreChoice::Count(4));
    assert_eq!(choice(None, Some(b"512")).choice, CoreChoice::Count(512));
    // The list wins.
    let both = choice(Some(b"1"), Some(b"4"));
    assert_eq!((both.choice, both.count_ignored), (CoreChoice::Range { first: 1, last: 1 }, true));
    assert_eq!(parse(None, Some(b"513")), Err(ChoiceError::OutOfRange { variable: COUNT, position: 0 }));
    assert_eq!(parse(None, Some(b"2x")), Err(ChoiceError::NotANumber { variable: COUNT, position: 1 }));
    // A bad count fails also where the list would win, as every bad value fails init.
    assert!(parse(Some(b"1"), Some(b"x")).is_err());
}

#[test]
fn resolution() {
    let trn2 = Geometry { arch: Arch::Cayman, nodes: 0b11, cores_per_device: 8, logical_core_size: 2 };
    let plan = |count, start, end| Ok(Plan { count, start, end });
    assert_eq!(trn2.resolve(CoreChoice::All), plan(16, 0, 15));
    assert_eq!(trn2.resolve(CoreChoice::Range { first: 2, last: 3 }), plan(4, 4, 7));
    // One logical core, or whole devices.
    assert_eq!(trn2.resolve(CoreChoice::Count(1)), plan(2, 0, 15));
    assert_eq!(trn2.resolve(CoreChoice::Count(4)), plan(8, 0, 15));
    assert_eq!(trn2.resolve(CoreChoice::Count(2)), Err(ChoiceError::NotWholeDevices { cores: 4, cores_per_device: 8 }));
    assert_eq!(trn2.resolve(CoreChoice::Count(9)), Err(ChoiceError::TooMany { wanted: 9, have: 8 }));
    assert_eq!(trn2.resolve(CoreChoice::Range { first: 8, last: 8 }), Err(ChoiceError::Inaccessible { node: 2 }));
    // On the first architecture any number.
    let trn1 = Geometry { arch: Arch::Sunda, nodes: 0b1111, cores_per_device: 2, logical_core_size: 1 };
    assert_eq!(trn1.resolve(CoreChoice::Count(3)), plan(3, 0, 7));
    // Nodes need not start at 0; cores count from the lowest.
    let container = Geometry { nodes: 0b1100, ..trn2 };
    assert_eq!(container.resolve(CoreChoice::Range { first: 4, last: 7 }), plan(8, 8, 15));
    let holes = Geometry { nodes: 0b101, ..trn2 };
    assert_eq!(holes.resolve(CoreChoice::All), Err(ChoiceError::Inaccessible { node: 1 }));
    assert_eq!(holes.resolve(CoreChoice::Range { first: 8, last: 8 }), plan(2, 16, 17));
    for size in [0, 3, 16] {
        let bad = Geometry { logical_core_size: size, ..trn2 };
        assert_eq!(bad.resolve(CoreChoice::All), Err(ChoiceError::LogicalCoreSize(size)));
    }
    let last = Geometry { nodes: 1 << 63, ..trn2 };
    assert_eq!(last.resolve(CoreChoice::Range { first: 4, last: 4 }), Err(ChoiceError::Inaccessible { node: 64 }));
}
