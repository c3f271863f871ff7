//! The environment a program was started with.
#![allow(unsafe_code, reason = "reads the environment strings the kernel left on the stack")]

use core::ffi::{CStr, c_char};
use core::fmt;

use crate::strings::Strings;

/// Environment variables as `NAME=value` strings.
#[derive(Clone, Copy)]
pub struct Env<'a>(Strings<'a>);

impl<'a> Env<'a> {
    /// The environment as the kernel leaves it on the stack. Counts the strings once.
    ///
    /// # Safety
    /// `envp` points to pointers to NUL-terminated strings, with a null pointer at the end; none of this changes or ends
    /// during `'a`. (In a program with a libc, nobody may call `setenv` meanwhile.)
    #[must_use]
    pub unsafe fn from_raw(envp: *const *const c_char) -> Self {
        // SAFETY: the list ends with a null pointer, and all before it are strings.
        Self(unsafe { Strings::from_raw(envp, Strings::count_to_null(envp)) })
    }

    /// An environment from elsewhere.
    #[must_use]
    pub const fn from_slice(strings: &'a [&'a CStr]) -> Self {
        Self(Strings::Slice(strings))
    }

    /// Name and value of every variable, in order. A string without `=` is passed over.
    pub fn iter(&self) -> impl Iterator<Item = (&'a [u8], &'a CStr)> + Clone + use<'a> {
        self.0.iter().filter_map(split)
    }

    /// Value of the first variable called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a CStr> {
        self.iter().find(|(candidate, _)| *candidate == name.as_bytes()).map(|(_, value)| value)
    }
}

impl fmt::Debug for Env<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter()).finish()
    }
}

fn split(variable: &CStr) -> Option<(&[u8], &CStr)> {
    let equals = variable.to_bytes().iter().position(|&byte| byte == b'=')?;
    let (name, value) = variable.to_bytes_with_nul().split_at_checked(equals)?;
    Some((name, CStr::from_bytes_with_nul(value.get(1..)?).ok()?))
}
