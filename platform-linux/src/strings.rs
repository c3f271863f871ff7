//! A list of C strings as a program gets it, or as a slice.
#![allow(unsafe_code, reason = "walks arrays of C strings")]

use core::ffi::{CStr, c_char};
use core::marker::PhantomData;

/// Where the strings are.
#[derive(Clone, Copy)]
pub(crate) enum Strings<'a> {
    /// `count` pointers; see [`Strings::from_raw`].
    Raw(*const *const c_char, usize, PhantomData<&'a CStr>),
    /// References.
    Slice(&'a [&'a CStr]),
}

// SAFETY: `Raw` stands for a shared borrow of a list of C strings that nobody changes for `'a`, see `from_raw`: reading
// it from any thread is as good as reading a `&'a [&'a CStr]`.
unsafe impl Send for Strings<'_> {}
// SAFETY: as for `Send`; every method only reads.
unsafe impl Sync for Strings<'_> {}

impl<'a> Strings<'a> {
    /// The list at `first`.
    ///
    /// # Safety
    /// `first` points to `count` pointers, each to a NUL-terminated string; none of this changes or ends during `'a`.
    pub(crate) const unsafe fn from_raw(first: *const *const c_char, count: usize) -> Self {
        Self::Raw(first, count, PhantomData)
    }

    /// How many pointers there are before the null pointer at the end of a list.
    ///
    /// # Safety
    /// `first` points to an array of pointers that ends with a null pointer.
    pub(crate) unsafe fn count_to_null(first: *const *const c_char) -> usize {
        let mut count = 0;
        // SAFETY: every element up to and including the null pointer may be read, and the loop stops there.
        while !unsafe { *first.add(count) }.is_null() {
            count += 1;
        }
        count
    }

    pub(crate) const fn len(&self) -> usize {
        match *self {
            Self::Raw(_, count, _) => count,
            Self::Slice(slice) => slice.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&'a CStr> {
        match *self {
            Self::Raw(first, count, _) if index < count => {
                // SAFETY: `index` is below the count that `from_raw` was given, so the element is a pointer to a C
                // string that lives and stays as it is for `'a`.
                Some(unsafe { CStr::from_ptr(*first.add(index)) })
            }
            Self::Raw(..) => None,
            Self::Slice(slice) => slice.get(index).copied(),
        }
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = &'a CStr> + Clone + use<'a> {
        (0..self.len()).filter_map(move |index| self.get(index))
    }
}
