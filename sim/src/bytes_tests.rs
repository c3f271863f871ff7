//! Overlapping copies at every short distance, against the standard library.

use std::vec::Vec;

use super::{copy, fill};

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn overlap_matches_copy_within() {
    for distance in 0..70 {
        for length in [0, 1, 2, 63, 64, 65, 200, 4097] {
            for up in [true, false] {
                let mut expected = pattern(length + distance);
                let mut ours = expected.clone();
                let (from, to) = if up { (0, distance) } else { (distance, 0) };
                expected.copy_within(from..from + length, to);
                let base = ours.as_mut_ptr();
                // SAFETY: both ranges lie inside the vector, which nobody else uses.
                unsafe { copy(base.add(from), base.add(to), length) };
                assert_eq!(ours, expected, "distance {distance}, length {length}, up {up}");
            }
        }
    }
}

#[test]
fn fill_sets_exactly_its_range() {
    let mut bytes = pattern(300);
    let untouched = bytes.clone();
    // SAFETY: 100..200 lies inside the vector.
    unsafe { fill(bytes.as_mut_ptr().add(100), 0xA5, 100) };
    assert!(bytes[100..200].iter().all(|&byte| byte == 0xA5));
    assert_eq!(bytes[..100], untouched[..100]);
    assert_eq!(bytes[200..], untouched[200..]);
}
