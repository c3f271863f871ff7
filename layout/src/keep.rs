//! Makes the debug information of every program that links this crate describe all structs of `nrt-core`.

macro_rules! keep {
    ($($ty:path,)*) => {
        nrt_core::keep_debug!($($ty),*);
    };
}

nrt_core::for_each_abi_struct!(keep);
nrt_core::for_each_abi_enum!(keep);
