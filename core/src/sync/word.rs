//! An atomic word, abstracted so that protocols can be model-checked as they are.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

/// An atomic integer with the operations the protocols use.
pub trait Word {
    /// The integer inside.
    type Int: Copy + Eq;

    /// Atomic load.
    fn load(&self, order: Ordering) -> Self::Int;
    /// Atomic store.
    fn store(&self, value: Self::Int, order: Ordering);
    /// Atomic exchange.
    fn swap(&self, value: Self::Int, order: Ordering) -> Self::Int;
    /// Atomic compare and exchange.
    ///
    /// # Errors
    /// The value found, when it was not `current`.
    fn compare_exchange(
        &self,
        current: Self::Int,
        new: Self::Int,
        success: Ordering,
        failure: Ordering,
    ) -> Result<Self::Int, Self::Int>;
    /// Atomic addition, wrapping; gives the old value.
    fn fetch_add(&self, value: Self::Int, order: Ordering) -> Self::Int;
    /// Atomic subtraction, wrapping; gives the old value.
    fn fetch_sub(&self, value: Self::Int, order: Ordering) -> Self::Int;
    /// Atomic or; gives the old value.
    fn fetch_or(&self, value: Self::Int, order: Ordering) -> Self::Int;
    /// Atomic and; gives the old value.
    fn fetch_and(&self, value: Self::Int, order: Ordering) -> Self::Int;

    /// A fence between accesses to such words.
    #[inline]
    fn fence(order: Ordering) {
        fence(order);
    }
}

macro_rules! word {
    ($atomic:ty, $int:ty) => {
        impl Word for $atomic {
            type Int = $int;

            #[inline]
            fn load(&self, order: Ordering) -> $int {
                <$atomic>::load(self, order)
            }
            #[inline]
            fn store(&self, value: $int, order: Ordering) {
                <$atomic>::store(self, value, order);
            }
            #[inline]
            fn swap(&self, value: $int, order: Ordering) -> $int {
                <$atomic>::swap(self, value, order)
            }
            #[inline]
            fn compare_exchange(&self, current: $int, new: $int, success: Ordering, failure: Ordering) -> Result<$int, $int> {
                <$atomic>::compare_exchange(self, current, new, success, failure)
            }
            #[inline]
            fn fetch_add(&self, value: $int, order: Ordering) -> $int {
                <$atomic>::fetch_add(self, value, order)
            }
            #[inline]
            fn fetch_sub(&self, value: $int, order: Ordering) -> $int {
                <$atomic>::fetch_sub(self, value, order)
            }
            #[inline]
            fn fetch_or(&self, value: $int, order: Ordering) -> $int {
                <$atomic>::fetch_or(self, value, order)
            }
            #[inline]
            fn fetch_and(&self, value: $int, order: Ordering) -> $int {
                <$atomic>::fetch_and(self, value, order)
            }
        }
    };
}

word!(AtomicU32, u32);
word!(AtomicU64, u64);
