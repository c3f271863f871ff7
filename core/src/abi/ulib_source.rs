//! Microcode libraries before they are staged, and the images and callbacks around them (fact sheet `ulib` §1.1, §4,
//! §8).

use core::ffi::c_void;

use super::{dmem_allocator_t, physical_core_t};

abi_struct! {
    /// One function of a library in a compiled model (fact sheet `ulib` §1.1).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct kbin_ucode_lib_function: size 258, align 1 {
        /// Name of the function, NUL-terminated.
        @0 pub name: [u8; 256],
        /// Opcode that calls the function.
        @256 pub opcode: u8,
        /// Second half of the opcode.
        @257 pub sub_opcode: u8,
    }

    /// Functions of a library in a compiled model (fact sheet `ulib` §1.1).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct kbin_ucode_lib_function_set: size 16, align 8 {
        /// The functions.
        @0 pub functions: *mut kbin_ucode_lib_function,
        /// Entries in `functions`, 0..255.
        @8 pub num_functions: u8,
        /// Alignment.
        @9 pub pad_9: [u8; 7],
    }

    /// One library in a compiled model (fact sheet `ulib` §1.1).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct kbin_ucode_lib: size 40, align 8 {
        /// The image.
        @0 pub content: *mut u8,
        /// Bytes of the image.
        @8 pub content_size: u64,
        /// Flags of the library; the low three bits reach the device.
        @16 pub flags: u32,
        /// First processor that runs the library.
        @20 pub cpu_id: u8,
        /// Processors that run the library, 1 or 8.
        @21 pub total_cpus: u8,
        /// Alignment.
        @22 pub pad_16: [u8; 2],
        /// Functions of the library.
        @24 pub function_set: kbin_ucode_lib_function_set,
    }

    /// Libraries of a compiled model (fact sheet `ulib` §1.1).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct kbin_ucode_lib_sets: size 16, align 8 {
        /// The libraries.
        @0 pub libs: *mut kbin_ucode_lib,
        /// Entries in `libs`, 0..9.
        @8 pub num_libs: u64,
    }

    /// One function as the parser holds it, with a C++ string (fact sheet `ulib` §1.1).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ucode_lib_function: size 40, align 8 {
        /// Name of the function, a `std::string` of the C++ library; not ours to read.
        @0 pub name: [u64; 4],
        /// Opcode that calls the function.
        @32 pub opcode: u8,
        /// Second half of the opcode.
        @33 pub sub_opcode: u8,
        /// Alignment.
        @34 pub pad_22: [u8; 6],
    }

    /// One library as the parser holds it, with C++ members (fact sheet `ulib` §1.1).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ucode_lib: size 80, align 8 {
        /// Name of the library, a `std::string` of the C++ library; not ours to read.
        @0 pub name: [u64; 4],
        /// The image.
        @32 pub content: *mut u8,
        /// Bytes of the image.
        @40 pub content_size: u64,
        /// Flags of the library.
        @48 pub flags: u32,
        /// First processor that runs the library.
        @52 pub cpu_id: u8,
        /// Processors that run the library, 1 or 8.
        @53 pub total_cpus: u8,
        /// Alignment.
        @54 pub pad_36: [u8; 2],
        /// Functions, a `std::vector` of [`ucode_lib_function`]; not ours to read.
        @56 pub functions: [u64; 3],
    }

    /// Queues that carry one kind of traffic on a range of engines (fact sheet `ulib` §4).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct custom_op_queue_range: size 16, align 4 {
        /// Kind, see [`dma_ring_type_marker`](super::dma_ring_type_marker).
        @0 pub marker: u32,
        /// Queue of each engine, 0..15.
        @4 pub rel_queue_idx: u32,
        /// First engine.
        @8 pub eng_lo: u32,
        /// Engine behind the last one.
        @12 pub eng_hi: u32,
    }

    /// Images that replace the stock ones of the pooling engine (fact sheet `ulib` §8).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct pool_engine_override_info: size 32, align 8 {
        /// Instruction image.
        @0 pub iram_ptr: *mut c_void,
        /// Bytes of the instruction image.
        @8 pub iram_size: u64,
        /// Data image.
        @16 pub dram_ptr: *mut c_void,
        /// Bytes of the data image.
        @24 pub dram_size: u64,
    }

    /// Header of a loadable image, packed: the start symbol is not aligned (fact sheet `ulib` §8, errata 10).
    #[derive(Clone, Copy, Debug)]
    #[repr(C, packed)]
    pub struct loadable_library_header: size 32, align 1 {
        /// `UCPL` and a space.
        @0 pub magic: [u8; 5],
        /// Span no source names.
        @5 pub unk_5: [u8; 3],
        /// Bytes of the code, rounded up to 4.
        @8 pub code_size_align4: u32,
        /// Bytes of the code, rounded up further: (x + 0x3F) & ~0x1F.
        @12 pub code_size_rounded: u32,
        /// Bytes of the data, rounded up to 4.
        @16 pub data_size_align4: u32,
        /// Address of the entry point.
        @20 pub start_symbol: u64,
        /// One further word without a documented meaning.
        @28 pub extra: u32,
    }

    /// What the callbacks of a microcode core are given (fact sheet `context-tree` §10).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct ucode_core_userdata: size 24, align 8 {
        /// Allocator of the core.
        @0 pub allocator: *mut dmem_allocator_t,
        /// The core.
        @8 pub pcore: *mut physical_core_t,
        /// Base of the device's address space.
        @16 pub soc_base: u64,
    }

    /// Runtime's sibling of [`SUNDA_UCODE_LIB_INFO`](super::SUNDA_UCODE_LIB_INFO); interior undocumented (fact sheet
    /// `ulib` §1.3).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct SUNDA_UCODE_RT_INFO: size 27312, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 27312],
    }

    /// Opcode set of the microcode library; interior undocumented (fact sheet `context-tree` §4).
    #[derive(Clone, Copy, Debug)]
    #[repr(C)]
    pub struct nrtucode_opset_t: size 2096, align 1 {
        /// Span no source names.
        @0 pub unk_0: [u8; 2096],
    }
}
