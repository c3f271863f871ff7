//! Zeroed memory for large arrays.

use core::mem::MaybeUninit;

use zerocopy::FromZeros;

/// A `T` of zero bits.
///
/// In a `static` of an array as such, the compiler looks at each element to see whether it is valid: half a minute for a
/// hundred megabytes. It does not look behind a `MaybeUninit`.
pub(crate) struct Zeroed<T>(MaybeUninit<T>);

impl<T: FromZeros> Zeroed<T> {
    pub(crate) const fn new() -> Self {
        Self(MaybeUninit::zeroed())
    }

    pub(crate) const fn get(&self) -> &T {
        // SAFETY: all bits were zero, which is a `T` (`FromZeros`), and only a `&T` was ever given out since.
        unsafe { self.0.assume_init_ref() }
    }
}
