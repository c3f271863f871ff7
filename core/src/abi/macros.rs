//! The two declaration macros. One declaration gives the struct, its compile-time proof and its reflection.

/// Declares byte-exact structs.
///
/// ```text
/// abi_struct! {
///     /// A list header.
///     #[repr(C)]
///     pub struct dmem_list_t: size 16, align 8 {
///         /// First entry.
///         @0 pub head: *mut dmem_ref_node_t,
///         /// Last entry.
///         @8 pub tail: *mut dmem_ref_node_t,
///     }
///     // paths inside unions and nested members, as the documented table names them
///     paths { @8 tail: *mut dmem_ref_node_t }
/// }
/// ```
/// `group @8 pub val: …` marks a container that the documented table names through its members only.
///
/// Each gives the struct, `const _` assertions that name the field in their message, and `NAME_INFO`, reached through
/// [`super::Reflect`].
#[macro_export]
macro_rules! abi_struct {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident : size $size:literal, align $align:literal {
            $( $(#[$fmeta:meta])* $($group:ident)? @ $off:literal pub $field:ident : $ty:ty ),* $(,)?
        }
        $( paths { $( @ $poff:literal $($seg:ident).+ : $pty:ty ),* $(,)? } )?
    )*) => {$(
        $(#[$meta])*
        pub struct $name { $( $(#[$fmeta])* pub $field: $ty, )* }

        const _: () = {
            assert!(::core::mem::size_of::<$name>() == $size, concat!("size of ", stringify!($name), " is not ", stringify!($size)));
            assert!(::core::mem::align_of::<$name>() == $align, concat!("alignment of ", stringify!($name), " is not ", stringify!($align)));
            $( assert!(::core::mem::offset_of!($name, $field) == $off,
                concat!("offset of ", stringify!($name), ".", stringify!($field), " is not ", stringify!($off))); )*
            $($( assert!(::core::mem::offset_of!($name, $($seg).+) == $poff,
                concat!("offset of ", stringify!($name), ".", stringify!($($seg).+), " is not ", stringify!($poff))); )*)?
        };

        impl $crate::abi::Reflect for $name {
            const INFO: $crate::abi::reflect::StructInfo = $crate::abi::reflect::StructInfo {
                name: stringify!($name),
                size: ::core::mem::size_of::<$name>(),
                align: ::core::mem::align_of::<$name>(),
                fields: &[
                    $( $crate::abi::reflect::FieldInfo {
                        path: $crate::abi::reflect::plain(stringify!($field)),
                        offset: ::core::mem::offset_of!($name, $field),
                        size: ::core::mem::size_of::<$ty>(),
                        ty: stringify!($ty),
                        group: $crate::abi_group!($($group)?),
                    }, )*
                    $($( $crate::abi::reflect::FieldInfo {
                        path: $crate::abi_path!($($seg).+),
                        offset: ::core::mem::offset_of!($name, $($seg).+),
                        size: ::core::mem::size_of::<$pty>(),
                        ty: stringify!($pty),
                        group: false,
                    }, )*)?
                ],
            };
        }
    )*};
}

/// `a.b.c` as one string without spaces.
#[doc(hidden)]
#[macro_export]
macro_rules! abi_path {
    ($first:ident $(. $rest:ident)*) => { concat!(stringify!($first) $(, ".", stringify!($rest))*) };
}

/// Whether a field was declared with `group`.
#[doc(hidden)]
#[macro_export]
macro_rules! abi_group {
    () => {
        false
    };
    (group) => {
        true
    };
}

/// Name of an enumerator; `_1XL as "1XL" = 0` gives one that is not a Rust name.
#[doc(hidden)]
#[macro_export]
macro_rules! abi_label {
    ($value:ident) => {
        stringify!($value)
    };
    ($value:ident $label:literal) => {
        $label
    };
}

/// Declares an enumeration as a transparent integer, so that any bytes the other side wrote are a valid value.
#[macro_export]
macro_rules! abi_enum {
    ($(
        $(#[$meta:meta])*
        pub enum $name:ident : $repr:ty {
            $( $(#[$vmeta:meta])* $value:ident $(as $label:literal)? = $number:literal ),* $(,)?
        }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            $( $(#[$vmeta])* pub const $value: Self = Self($number); )*
        }

        impl $crate::abi::ReflectEnum for $name {
            const INFO: $crate::abi::reflect::EnumInfo = $crate::abi::reflect::EnumInfo {
                name: stringify!($name),
                size: ::core::mem::size_of::<$name>(),
                values: &[ $( ($crate::abi_label!($value $($label)?), $number as i64) ),* ],
            };
        }
    )*};
}
