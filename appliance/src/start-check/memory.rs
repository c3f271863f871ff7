//! The memory functions against the simplest ones, over lengths, alignments and overlaps.

use core::ffi::{c_char, c_int};
use core::hint::black_box;

// The functions themselves, so that no call is replaced by the compiler's own idea of it.
// SAFETY: the program defines each of them with the arguments of C.
unsafe extern "C" {
    fn memcpy(dst: *mut u8, src: *const u8, n: usize) -> *mut u8;
    fn memmove(dst: *mut u8, src: *const u8, n: usize) -> *mut u8;
    fn memset(dst: *mut u8, byte: c_int, n: usize) -> *mut u8;
    fn memcmp(a: *const u8, b: *const u8, n: usize) -> c_int;
    fn bcmp(a: *const u8, b: *const u8, n: usize) -> c_int;
    fn strlen(string: *const c_char) -> usize;
}

/// Longest length checked; larger than every shift.
const LONGEST: usize = 2200;
/// Bytes in front of every range, to be left alone.
const MARGIN: usize = 2200;
/// A margin, a range that may start up to 64 bytes late, and a range or a margin behind it.
const ROOM: usize = MARGIN + 64 + LONGEST + LONGEST;

/// Every boundary between the ways a length is done, with its neighbours.
fn lengths() -> impl Iterator<Item = usize> {
    (0..=200).chain(255..=257).chain(510..=515).chain(1020..=1030).chain([1087, 1088, 1089, 1500, 2047, 2048, LONGEST])
}

/// A sequence without a short period.
fn fill(buffer: &mut [u8; ROOM], mut seed: u32) {
    for byte in buffer {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = black_box((seed >> 24) as u8);
    }
}

/// Compares without any of the functions under test.
fn assert_same(found: &[u8; ROOM], expected: &[u8; ROOM], what: &str, length: usize, shift: isize) {
    for (index, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!(black_box(*a) == black_box(*b), "{what}: length {length}, shift {shift}, byte {index}: {a} instead of {b}");
    }
}

/// Checks all of them.
pub(crate) fn check() {
    let mut buffers = [[0; ROOM]; 3];
    let [found, expected, source] = &mut buffers;
    check_copies(found, expected, source);
    check_moves(found, expected);
    check_sets(found, expected);
    check_comparisons(found, expected);
    check_lengths();
}

fn check_copies(found: &mut [u8; ROOM], expected: &mut [u8; ROOM], source: &mut [u8; ROOM]) {
    fill(source, 1);
    for length in lengths() {
        for (to, from) in [(0, 0), (1, 0), (0, 1), (7, 9), (15, 8), (8, 15), (3, 3)] {
            fill(found, 2);
            fill(expected, 2);
            for index in 0..length {
                expected[black_box(MARGIN + to + index)] = source[black_box(MARGIN + from + index)];
            }
            let dst = found.as_mut_ptr().wrapping_add(MARGIN + to);
            // SAFETY: two buffers, and at most LONGEST bytes from at most 15 behind MARGIN: within ROOM.
            let result = unsafe { memcpy(dst, source.as_ptr().add(MARGIN + from), length) };
            assert!(result == dst);
            assert_same(found, expected, "memcpy", length, to as isize - from as isize);
        }
    }
}

fn check_moves(found: &mut [u8; ROOM], expected: &mut [u8; ROOM]) {
    let near = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 500, 1023, 1024, 1025, 2199];
    for length in lengths() {
        for shift in near.into_iter().flat_map(|distance: isize| [distance, -distance]) {
            for start in [MARGIN, MARGIN + 5] {
                let target = start.wrapping_add_signed(shift);
                fill(found, 3);
                fill(expected, 3);
                // The order in which nothing is overwritten before it is read.
                for step in 0..length {
                    let index = if shift > 0 { length - 1 - step } else { step };
                    expected[black_box(target + index)] = expected[black_box(start + index)];
                }
                let base = found.as_mut_ptr();
                // SAFETY: both ranges lie within the buffer: start is MARGIN or 5 more, shift is less than MARGIN either way,
                // and length at most LONGEST.
                let result = unsafe { memmove(base.add(target), base.add(start), length) };
                assert!(result == base.wrapping_add(target));
                assert_same(found, expected, "memmove", length, shift);
            }
        }
    }
}

fn check_sets(found: &mut [u8; ROOM], expected: &mut [u8; ROOM]) {
    for length in lengths() {
        for to in [0, 1, 7, 8, 15] {
            for value in [0, 0x5a, 0xff, 0x1_23, -1] {
                fill(found, 4);
                fill(expected, 4);
                for index in 0..length {
                    expected[black_box(MARGIN + to + index)] = value as u8;
                }
                let dst = found.as_mut_ptr().wrapping_add(MARGIN + to);
                // SAFETY: at most LONGEST bytes from at most 15 behind MARGIN: within ROOM.
                let result = unsafe { memset(dst, value, length) };
                assert!(result == dst);
                assert_same(found, expected, "memset", length, to as isize);
            }
        }
    }
}

fn check_comparisons(a: &mut [u8; ROOM], b: &mut [u8; ROOM]) {
    fill(a, 5);
    for length in lengths() {
        for shift in [0, 1, 7, 8, 15] {
            fill(b, 6);
            for index in 0..length {
                b[black_box(MARGIN + shift + index)] = a[black_box(MARGIN + index)];
            }
            let signs = |a: &[u8; ROOM], b: &[u8; ROOM]| {
                let (a, b) = (a[MARGIN..].as_ptr(), b[MARGIN + shift..].as_ptr());
                // SAFETY: at most LONGEST bytes from at most 15 behind MARGIN: within ROOM.
                unsafe { (memcmp(a, b, length).signum(), memcmp(b, a, length).signum(), bcmp(a, b, length) != 0) }
            };
            assert!(signs(a, b) == (0, 0, false), "memcmp: length {length}, shift {shift}, equal");
            // One byte differs, at every place for short lengths, at some for long ones; the bytes behind it differ the
            // other way round, so that a comparison from the wrong end shows.
            for place in (0..length).step_by(if length <= 200 { 1 } else { 61 }) {
                let (here, behind) = (MARGIN + shift + place, MARGIN + shift + length - 1);
                let (saved, saved_behind) = (b[here], b[behind]);
                let original = a[MARGIN + place];
                let other = original ^ 0x80;
                b[here] = other;
                let expected = if original < other { -1 } else { 1 };
                assert!(signs(a, b) == (expected, -expected, true), "memcmp: length {length}, shift {shift}, byte {place}");
                if behind > here {
                    b[behind] = if expected < 0 { 0 } else { 0xff };
                    assert!(signs(a, b).0 == expected, "memcmp: length {length}, shift {shift}, byte {place} first");
                }
                (b[behind], b[here]) = (saved_behind, saved);
            }
        }
    }
}

fn check_lengths() {
    for (string, length) in [(c"", 0), (c"a", 1), (c"0123456789abcdefg", 17), (c"\xff\x80", 2)] {
        // SAFETY: a C string.
        assert!(unsafe { strlen(string.as_ptr()) } == length);
    }
}
