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
/// Each gives the struct, `const _` assertions that name the field in their message, and `NAME_INFO`, reached through
/// [`super::Reflect`].
macro_rules! abi_struct {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident : size $size:literal, align $align:literal {
            $( $(#[$fmeta:meta])* @ $off:literal pub $field:ident : $ty:ty ),* $(,)?
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
                        path: stringify!($field),
                        offset: ::core::mem::offset_of!($name, $field),
                        size: ::core::mem::size_of::<$ty>(),
                        ty: stringify!($ty),
                    }, )*
                    $($( $crate::abi::reflect::FieldInfo {
                        path: abi_path!($($seg).+),
                        offset: ::core::mem::offset_of!($name, $($seg).+),
                        size: ::core::mem::size_of::<$pty>(),
                        ty: stringify!($pty),
                    }, )*)?
                ],
            };
        }
    )*};
}

/// `a.b.c` as one string without spaces.
macro_rules! abi_path {
    ($first:ident $(. $rest:ident)*) => { concat!(stringify!($first) $(, ".", stringify!($rest))*) };
}

/// Declares an enumeration as a transparent integer, so that any bytes the other side wrote are a valid value.
macro_rules! abi_enum {
    ($(
        $(#[$meta:meta])*
        pub enum $name:ident : $repr:ty { $( $(#[$vmeta:meta])* $value:ident = $number:literal ),* $(,)? }
    )*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub $repr);

        impl $name {
            $( $(#[$vmeta])* pub const $value: Self = Self($number); )*
        }

        impl $crate::abi::ReflectEnum for $name {
            const INFO: $crate::abi::reflect::EnumInfo = $crate::abi::reflect::EnumInfo {
                name: stringify!($name),
                size: ::core::mem::size_of::<$name>(),
                values: &[ $( (stringify!($value), $number as i64) ),* ],
            };
        }
    )*};
}
