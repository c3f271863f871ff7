//! The arguments a program was started with.
#![allow(unsafe_code, reason = "reads the argument strings the kernel left on the stack")]

use core::ffi::{CStr, c_char};
use core::fmt;

use crate::strings::Strings;

/// Arguments, the program's own name first.
#[derive(Clone, Copy)]
pub struct Args<'a>(Strings<'a>);

impl<'a> Args<'a> {
    /// The arguments as the kernel leaves them on the stack, or as `main` of a C program gets them.
    ///
    /// # Safety
    /// `argv` points to `argc` pointers, each to a NUL-terminated string; none of this changes or ends during `'a`.
    #[must_use]
    pub const unsafe fn from_raw(argc: usize, argv: *const *const c_char) -> Self {
        // SAFETY: the caller's promise is the same.
        Self(unsafe { Strings::from_raw(argv, argc) })
    }

    /// Arguments from elsewhere.
    #[must_use]
    pub const fn from_slice(strings: &'a [&'a CStr]) -> Self {
        Self(Strings::Slice(strings))
    }

    /// Number of arguments, the program's name included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is not even a name.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Argument `index`; 0 is the program's name.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&'a CStr> {
        self.0.get(index)
    }

    /// Every argument behind the program's name, in order.
    pub fn operands(&self) -> impl Iterator<Item = &'a CStr> + Clone + use<'a> {
        self.0.iter().skip(1)
    }
}

impl fmt::Debug for Args<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter()).finish()
    }
}
