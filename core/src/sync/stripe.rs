//! Words spread over cache lines, so that threads do not meet on one.

#[cfg(test)]
mod tests;

/// A word on a cache line of its own.
#[repr(C, align(64))]
pub struct Stripe<W>(pub W);

/// A number that tells the calling thread from its neighbours; modulo the number of stripes it is the thread's stripe. Calls of
/// one thread may get different numbers: what was done through one stripe is undone through the same.
///
/// # Cost
/// No memory access, six or seven instructions.
#[inline]
#[must_use]
pub fn own_stripe() -> usize {
    let here = 0_u8;
    stripe_of((&raw const here).addr())
}

/// A thread's stack is its own, so an address on it tells threads apart well enough. Stacks often lie side by side and are all of
/// one size: the three terms spread neighbours of 256 KiB, 2 MiB and 8 MiB, and what lies between.
#[inline]
const fn stripe_of(stack_address: usize) -> usize {
    let place = stack_address >> 18;
    place.wrapping_add(place >> 3).wrapping_add(place >> 5)
}
