//! Deterministic weight bytes from a seed.
//!
//! The stream of a seed is a sequence of 64-bit words in little-endian order. Word `i` is the splitmix64 finaliser of the
//! mixed seed plus `i + 1` golden-ratio steps, so that any piece of the stream is computed from its offset alone: chunks can
//! be staged in any order and read back in any other. The seed is mixed first; otherwise two seeds that differ by a multiple
//! of the step would give the same words at shifted positions, and a chunk in the wrong place would pass the check.

/// Step between two words before mixing: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of splitmix64.
const fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The 8 bytes at stream offset `8 * index`, for a seed that has been mixed.
const fn word(mixed_seed: u64, index: u64) -> [u8; 8] {
    mix(mixed_seed.wrapping_add(STEP.wrapping_mul(index.wrapping_add(1)))).to_le_bytes()
}

/// The first byte that differs from the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Its offset in bytes from the start of the stream.
    pub offset: u64,
    /// The byte that should be there.
    pub expected: u8,
    /// The byte that is there.
    pub found: u8,
}

/// Number of bytes before the first whole word of a buffer that starts at stream offset `offset`.
const fn head(length: usize, offset: u64) -> usize {
    let head = ((8 - offset % 8) % 8) as usize;
    if head < length { head } else { length }
}

/// Fills `buffer` with the bytes of the stream of `seed` from `offset` on.
///
/// # Cost
/// Three multiplications and one store for 8 bytes.
pub fn fill(buffer: &mut [u8], seed: u64, offset: u64) {
    let seed = mix(seed);
    let head = head(buffer.len(), offset);
    let skip = (offset % 8) as usize;
    let (first, rest) = buffer.split_at_mut(head);
    first.copy_from_slice(&word(seed, offset / 8)[skip..skip + head]);
    let mut index = offset.wrapping_add(head as u64) / 8;
    let (words, last) = rest.as_chunks_mut::<8>();
    for target in words {
        *target = word(seed, index);
        index = index.wrapping_add(1);
    }
    let length = last.len();
    last.copy_from_slice(&word(seed, index)[..length]);
}

/// Compares `buffer` with the stream of `seed` from `offset` on and returns the first difference.
///
/// # Cost
/// Three multiplications and one comparison for 8 bytes.
#[must_use]
pub fn verify(buffer: &[u8], seed: u64, offset: u64) -> Option<Mismatch> {
    let seed = mix(seed);
    let head = head(buffer.len(), offset);
    let skip = (offset % 8) as usize;
    let (first, rest) = buffer.split_at(head);
    let mut at = offset;
    if let Some(mismatch) = compare(first, &word(seed, at / 8)[skip..skip + head], at) {
        return Some(mismatch);
    }
    at = at.wrapping_add(head as u64);
    let (words, last) = rest.as_chunks::<8>();
    for held in words {
        let expected = word(seed, at / 8);
        if *held != expected {
            return compare(held, &expected, at);
        }
        at = at.wrapping_add(8);
    }
    compare(last, &word(seed, at / 8)[..last.len()], at)
}

/// The first difference of two slices of one length, the first byte of which is at stream offset `offset`.
fn compare(held: &[u8], expected: &[u8], offset: u64) -> Option<Mismatch> {
    let at = held.iter().zip(expected).position(|(found, expected)| found != expected)?;
    Some(Mismatch { offset: offset.wrapping_add(at as u64), expected: expected[at], found: held[at] })
}
