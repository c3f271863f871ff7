//! Byte-exact structs of `libnrt` 2.31.24.0, and nothing else.
//!
//! Raw types keep their C names. Every field carries its documented offset in the source; size, alignment and every
//! offset are asserted at compile time, and the same declaration yields the reflection table in [`STRUCTS`] and
//! [`ENUMS`] that the conformance check and the debugger read.
//!
//! Rules for whoever touches a struct of this module:
//! * spans whose content no source names are `unk_<hex offset>`, plain alignment is `pad_<hex offset>`, and bytes of
//!   such a span that *this* implementation uses for itself are `spare_<hex offset>_<use>`; none of the three is reflected;
//! * a field that is written after the struct has been published is an atomic; every other field is written through a
//!   raw pointer before publication and only read afterwards;
//! * nobody forms `&mut` to a published struct, nor copies or zeroes over one.
#![allow(non_camel_case_types, reason = "raw types keep the names of the C declarations")]

#[macro_use]
mod macros;
pub mod reflect;

/// A struct that can tell its layout.
pub trait Reflect {
    /// Layout as compiled.
    const INFO: reflect::StructInfo;
}

/// An enumeration that can tell its values.
pub trait ReflectEnum {
    /// Values as compiled.
    const INFO: reflect::EnumInfo;
}

mod ndl;
pub use ndl::*;
