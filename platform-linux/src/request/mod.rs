//! The requests of the kernel driver, one type each (fact sheet `driver-abi` §§4–6a).
//!
//! * *Numbers are literal.* Most were declared with the size of a pointer instead of that of the struct, and their
//!   direction bits describe nothing, so no rule yields them.
//! * *Structs keep their C names* and are asserted at compile time, size and every offset.
//! * *A request borrows what the driver writes through*: several answers go through pointers inside the struct. So every
//!   request counts as changing memory, whatever its number says.
//! * *A positive return is a failure* (`driver-abi` §5): it is the number of bytes the driver could not copy. [`Reply`]
//!   keeps it, and [`Reply::done`] makes an error of it.
//!
//! [`scope`] lists every request of the driver with its place here, or the reason why it has none.
#![allow(unsafe_code, reason = "implements the unsafe trait of the requests, and builds those that hold pointers")]

mod copy;
mod device;
mod memory;
pub mod scope;

use core::ffi::c_void;

pub use copy::*;
pub use device::*;
pub use memory::*;
use nrt_core::driver::{DriverResult, Errno};
pub use rustix::ioctl::Ioctl;

/// What the driver made of a request.
#[derive(Clone, Copy, Debug)]
pub struct Reply<A> {
    /// Return value, 0 or positive.
    pub returned: i32,
    /// The struct as the driver left it.
    pub argument: A,
}

impl<A> Reply<A> {
    /// The struct, if the driver did what was asked.
    ///
    /// # Errors
    /// [`Errno::SHORT`] for a positive return value: that many bytes could not be copied.
    pub fn done(self) -> DriverResult<A> {
        match self.returned {
            0 => Ok(self.argument),
            _ => Err(Errno::SHORT),
        }
    }
}

/// A struct that goes to the driver.
///
/// # Safety
/// All bytes zero is a value of the type, and the driver writes only values of it.
pub unsafe trait Argument: Copy {
    /// Every field 0.
    #[must_use]
    fn zeroed() -> Self {
        // SAFETY: the contract of the trait.
        unsafe { core::mem::zeroed() }
    }
}

/// A request with its name and number, for tables and traces.
///
/// # Safety
/// [`Ioctl::as_ptr`] gives a pointer to [`Argument`](Self::Argument) that the driver may read and write for its whole
/// size, and every pointer inside is null or valid for what the driver does with it as long as the request lives.
pub unsafe trait Request: Ioctl<Output = Reply<Self::Argument>> {
    /// The struct.
    type Argument: Argument;
    /// Name without `NEURON_IOCTL_`.
    const NAME: &'static str;
    /// Request number.
    const NUMBER: u32;
}

/// A request that stays with the caller, for the few whose struct says something after a failure too.
#[derive(Debug)]
pub struct InPlace<'r, R>(pub &'r mut R);

// SAFETY: everything is the inner request's, which lives longer than this.
unsafe impl<R: Request> Ioctl for InPlace<'_, R> {
    type Output = R::Output;
    const IS_MUTATING: bool = true;

    fn opcode(&self) -> rustix::ioctl::Opcode {
        self.0.opcode()
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.0.as_ptr()
    }

    unsafe fn output_from_ptr(returned: rustix::ioctl::IoctlOutput, argument: *mut c_void) -> rustix::io::Result<R::Output> {
        // SAFETY: the pointer is the inner request's own; the caller's promise, passed on.
        unsafe { R::output_from_ptr(returned, argument) }
    }
}

// SAFETY: as for `Ioctl`.
unsafe impl<R: Request> Request for InPlace<'_, R> {
    type Argument = R::Argument;
    const NAME: &'static str = R::NAME;
    const NUMBER: u32 = R::NUMBER;
}

/// Declares requests: `Name("C_NAME") = number, struct;`.
macro_rules! requests {
    ($( $(#[$meta:meta])* $name:ident($text:literal) = $number:literal, $argument:ty; )*) => {$(
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $name<'a> {
            argument: $argument,
            /// What the pointers inside the struct borrow.
            memory: core::marker::PhantomData<&'a mut [u8]>,
        }

        impl $name<'_> {
            #[allow(dead_code, reason = "requests without pointers are built with it")]
            const fn from_argument(argument: $argument) -> Self {
                Self { argument, memory: core::marker::PhantomData }
            }

            /// The struct as it goes to the driver.
            #[must_use]
            pub const fn argument(&self) -> &$argument {
                &self.argument
            }
        }

        // SAFETY: the number is the driver's own for this struct (checked against the table of numbers by a test), the
        // pointer is to the struct, which the driver reads and writes for exactly its size, and pointers inside it were
        // made from borrows that last as long as the request. The driver also writes through those pointers, and the
        // request is declared mutating.
        unsafe impl rustix::ioctl::Ioctl for $name<'_> {
            type Output = crate::request::Reply<$argument>;
            const IS_MUTATING: bool = true;

            fn opcode(&self) -> rustix::ioctl::Opcode {
                $number
            }

            fn as_ptr(&mut self) -> *mut core::ffi::c_void {
                (&raw mut self.argument).cast()
            }

            unsafe fn output_from_ptr(
                returned: rustix::ioctl::IoctlOutput,
                argument: *mut core::ffi::c_void,
            ) -> rustix::io::Result<Self::Output> {
                // SAFETY: the caller passes the pointer of `as_ptr`, behind which the struct still is; the driver wrote
                // integers and nothing else.
                Ok(crate::request::Reply { returned, argument: unsafe { argument.cast::<$argument>().read() } })
            }
        }

        // SAFETY: as for `Ioctl`.
        unsafe impl crate::request::Request for $name<'_> {
            type Argument = $argument;
            const NAME: &'static str = $text;
            const NUMBER: u32 = $number;
        }
    )*};
}
use requests;

/// Marks structs of integers, arrays of integers and raw pointers as arguments.
macro_rules! arguments {
    ($($name:ty),* $(,)?) => {$(
        // SAFETY: integers and raw pointers only: zero is a value, and so are any bytes the driver writes.
        unsafe impl crate::request::Argument for $name {}
    )*};
}
use arguments;

/// The address of a buffer that the driver only reads.
const fn read_only(buffer: &[u8]) -> *mut c_void {
    buffer.as_ptr().cast_mut().cast()
}
