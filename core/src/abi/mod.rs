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
///
/// A declaration whose offsets hold builds:
///
/// ```
/// # #![allow(non_camel_case_types, reason = "C names")]
/// nrt_core::abi_struct! {
///     /// A list.
///     #[repr(C)]
///     pub struct list_t: size 16, align 8 {
///         /// First entry.
///         @0 pub head: u64,
///         /// Last entry.
///         @8 pub tail: u64,
///     }
/// }
/// assert_eq!(<list_t as nrt_core::abi::Reflect>::INFO.fields[1].offset, 8);
/// ```
///
/// One that is off by a single byte does not:
///
/// ```compile_fail,E0080
/// # #![allow(non_camel_case_types, reason = "C names")]
/// nrt_core::abi_struct! {
///     /// A list.
///     #[repr(C)]
///     pub struct list_t: size 16, align 8 {
///         /// First entry.
///         @0 pub head: u64,
///         /// Last entry.
///         @9 pub tail: u64,
///     }
/// }
/// ```
pub trait Reflect {
    /// Layout as compiled.
    const INFO: reflect::StructInfo;
}

/// An enumeration that can tell its values.
pub trait ReflectEnum {
    /// Values as compiled.
    const INFO: reflect::EnumInfo;
}

mod config;
mod context;
mod core_handles;
mod descriptor_count;
mod dmem;
pub mod driver;
mod enums;
mod exec_queue;
mod execution;
mod feature_map;
mod hash_table;
mod ledger;
mod lists;
mod mem_ref;
mod members;
mod model;
mod ndl;
mod ndl_setup;
mod notification;
mod pthread;
mod public;
mod registry;
mod scratchpad;
mod stdio;
mod tensor;
mod ulib;
mod ulib_source;
mod usage_tables;

pub use config::*;
pub use context::*;
pub use core_handles::*;
pub use descriptor_count::*;
pub use dmem::*;
pub use enums::*;
pub use exec_queue::*;
pub use execution::*;
pub use feature_map::*;
pub use hash_table::*;
pub use ledger::*;
pub use lists::*;
pub use mem_ref::*;
pub use members::*;
pub use model::*;
pub use ndl::*;
pub use ndl_setup::*;
pub use notification::*;
pub use pthread::*;
pub use public::*;
pub use registry::*;
pub use scratchpad::*;
pub use stdio::*;
pub use tensor::*;
pub use ulib::*;
pub use ulib_source::*;
pub use usage_tables::*;

#[cfg(test)]
mod tests;
