//! Microcode libraries, as staged and as the device reads them (fact sheet `ulib` §1).

use super::dmem_t;

abi_struct! {
    /// One function of a staged library (fact sheet `ulib` §1.2).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ucode_func_info_t: size 258, align 1 {
        /// Name of the function, NUL-terminated.
        @0 pub name: [u8; 256],
        /// Opcode that calls the function.
        @256 pub opcode: u8,
        /// Second half of the opcode.
        @257 pub sub_opcode: u8,
    }

    /// One staged library (fact sheet `ulib` §1.2).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ucode_lib_info_t: size 32, align 8 {
        /// Device address of the stripped image.
        @0 pub address: u64,
        /// Flags of the library; the low three bits reach the device.
        @8 pub flags: u32,
        /// First processor that runs the library.
        @12 pub cpu_id: u8,
        /// Processors that run the library, 1 or 8.
        @13 pub total_cpus: u8,
        /// Alignment.
        @14 pub pad_e: [u8; 2],
        /// Entries in `funcs`.
        @16 pub num_funcs: i32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
        /// Functions of the library.
        @24 pub funcs: *mut ucode_func_info_t,
    }

    /// The staged libraries of a model, or the shared set of a core (fact sheet `ulib` §1.2).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ucode_lib_set_info_t: size 48, align 8 {
        /// Scratch memory of the libraries.
        @0 pub scratch_space: *mut dmem_t,
        /// Memory of the device table, a [`SUNDA_UCODE_LIB_INFO`].
        @8 pub ucode_table: *mut dmem_t,
        /// External memory of the libraries.
        @16 pub extram: *mut dmem_t,
        /// Entries in `libs`.
        @24 pub num_libs: i32,
        /// Alignment.
        @28 pub pad_1c: [u8; 4],
        /// The libraries.
        @32 pub libs: *mut ucode_lib_info_t,
        /// Memory of the images.
        @40 pub lib_dmem: *mut dmem_t,
    }

    /// One function in the device table (fact sheet `ulib` §1.3).
    #[derive(Clone, Copy, Debug, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)]
    #[repr(C)]
    pub struct SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY: size 280, align 8 {
        /// 1 = the entry is in use.
        @0 pub valid: u8,
        /// Opcode that calls the function.
        @1 pub opcode: u8,
        /// Second half of the opcode.
        @2 pub sub_opcode: u8,
        /// First processor that runs the library.
        @3 pub cpu_id: u8,
        /// Processors that run the library, 1 or 8.
        @4 pub total_cpus: u8,
        /// Always 0.
        @5 pub reserved: [u8; 7],
        /// Low three bits of the library's flags.
        @12 pub flags: u32,
        /// Device address of the stripped image.
        @16 pub stripped_lib_addr: u64,
        /// Name of the function, at most 255 bytes and NUL.
        @24 pub func_name: [u8; 256],
    }

    /// The table of libraries as the device reads it (fact sheet `ulib` §1.3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct SUNDA_UCODE_LIB_INFO: size 27304, align 8 {
        /// Device address of the scratch memory.
        @0 pub scratch_base: u64,
        /// Bytes of the scratch memory.
        @8 pub scratch_size: u64,
        /// Offset of each processor's transmit queue.
        @16 pub dma_queue_m2s_offset: [u64; 8],
        /// Offset of each processor's receive queue.
        @80 pub dma_queue_s2m_offset: [u64; 8],
        /// The functions of all libraries.
        @144 pub table: [SUNDA_UCODE_LIB_LIBRARY_TABLE_ENTRY; 97],
    }
}
