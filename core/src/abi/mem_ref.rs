//! Variables of a model, as planned and as placed (fact sheet `model-load` §4).

use core::ffi::{c_char, c_void};

use super::{backing_buf, dmem_t, ht_node_t, mr_type};

abi_struct! {
    /// One variable of a loaded model and where it lives (fact sheet `model-load` §4).
    #[repr(C)]
    pub struct mem_ref_t: size 208, align 8 {
        /// Own copy of the name, NUL-terminated.
        @0 pub name: *mut c_char,
        /// Kind of the variable; selects the arm of `u`.
        @8 pub r#type: mr_type,
        /// Alignment.
        @12 pub pad_c: [u8; 4],
        /// Bytes of the variable.
        @16 pub size: u64,
        /// Number of the variable within the model.
        @24 pub var_id: u32,
        /// Whether the memory belongs to another core of the model.
        @28 pub remote: bool,
        /// Whether the variable lives in the shared scratchpad.
        @29 pub shared_virtual_scratchpad: bool,
        /// Alignment.
        @30 pub pad_1e: [u8; 2],
        /// Place of the variable, by `type`.
        @32 pub u: mem_ref_t_u,
        /// Element type as NUL-terminated text.
        @72 pub dtype: [u8; 16],
        /// Extent of each dimension; unused ones are 0.
        @88 pub shape: [u64; 8],
        /// Debug metadata, owned by the record.
        @152 pub debug_md: *mut c_void,
        /// Node in the set of the model, keyed by `var_id`.
        @160 pub ht_node: ht_node_t,
    }
    paths {
        @32 u.staged.physical_address: u64,
        @40 u.staged.mem: *mut dmem_t,
        @48 u.staged.mem_offset: u64,
        @56 u.staged.va: *mut c_void,
        @32 u.ptr.ptr_mem_addr: u64,
        @40 u.ptr.mr_ptr_id: u64,
        @48 u.ptr.is_io: bool,
        @32 u.list.length: u32,
        @40 u.list.list: *mut u32,
        @32 u.ptr_table.length: u32,
        @40 u.ptr_table.var_ids: *mut u32,
        @48 u.ptr_table.needs_translation: *mut bool,
        @56 u.ptr_table.addrs: *mut u64,
        @64 u.ptr_table.table_index: u32,
    }

    /// One variable as the compiled model plans it (fact sheet `model-load` §4).
    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct kbin_mem_ref_t: size 152, align 8 {
        /// Kind of the variable; selects the arm of `u`.
        @0 pub mr_type: mr_type,
        /// Alignment.
        @4 pub pad_4: [u8; 4],
        /// Name of the variable, NUL-terminated.
        @8 pub name: *mut c_char,
        /// Bytes of the variable.
        @16 pub size: u64,
        /// Alignment in bytes, a power of two.
        @24 pub alignment: u64,
        /// Number of the variable within the model.
        @32 pub var_id: u32,
        /// Element type as NUL-terminated text.
        @36 pub dtype: [u8; 16],
        /// Alignment.
        @52 pub pad_34: [u8; 4],
        /// Extent of each dimension; unused ones are 0.
        @56 pub shape: [u64; 8],
        /// Debug metadata.
        @120 pub debug_md: *mut c_void,
        /// Initial content, null if there is none.
        @128 pub buffer: *mut c_void,
        /// Plan of the variable, by `mr_type`.
        @136 pub u: kbin_mem_ref_t_u,
    }
    paths {
        @136 u.ptr.var_id: u32,
        @140 u.ptr.io_ref: bool,
        @136 u.virtual_tmp_buf.offset: u64,
        @144 u.virtual_tmp_buf.backing_buf: backing_buf,
        @136 u.list.length: u32,
        @144 u.list.list: *mut u32,
        @136 u.ptr_table.length: u32,
        @144 u.ptr_table.list: *mut u32,
        @136 u.remote.rel_sg_id: u32,
        @140 u.remote.remote_var_id: u32,
    }

    /// Header of the plan, followed by its records (fact sheet `model-load` §4).
    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct kbin_mem_ref_set_t: size 24, align 8 {
        /// Scratchpad bytes each core needs for itself.
        @0 pub local_scratchpad_size: u64,
        /// Scratchpad bytes the cores of one HBM group share.
        @8 pub shared_scratchpad_size: u64,
        /// Records that follow.
        @16 pub nmem: u32,
        /// Alignment.
        @20 pub pad_14: [u8; 4],
        /// The records, `nmem` of them.
        @24 pub records: [kbin_mem_ref_t; 0],
    }
}

/// Place of a variable; [`mem_ref_t::type`] selects the arm.
#[derive(Clone, Copy)]
#[repr(C)]
pub union mem_ref_t_u {
    /// Arm of staged variables.
    pub staged: mem_ref_t_staged,
    /// Arm of pointer variables.
    pub ptr: mem_ref_t_ptr,
    /// Arm of list variables.
    pub list: mem_ref_t_list,
    /// Arm of pointer tables.
    pub ptr_table: mem_ref_t_ptr_table,
}

/// Arm of staged variables. See [`mem_ref_t_u`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct mem_ref_t_staged {
    /// Physical address; all ones = not staged.
    pub physical_address: u64,
    /// Memory that holds the variable.
    pub mem: *mut dmem_t,
    /// Offset of the variable in `mem`, in bytes.
    pub mem_offset: u64,
    /// Host address of the variable, null unless mapped.
    pub va: *mut c_void,
}

/// Arm of pointer variables. See [`mem_ref_t_u`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct mem_ref_t_ptr {
    /// Address the pointer variable holds.
    pub ptr_mem_addr: u64,
    /// Variable pointed to.
    pub mr_ptr_id: u64,
    /// Whether that variable is an input or output.
    pub is_io: bool,
}

/// Arm of list variables. See [`mem_ref_t_u`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct mem_ref_t_list {
    /// Entries in `list`.
    pub length: u32,
    /// Variable ids.
    pub list: *mut u32,
}

/// Arm of pointer tables. See [`mem_ref_t_u`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct mem_ref_t_ptr_table {
    /// Entries in each array.
    pub length: u32,
    /// Variables pointed to.
    pub var_ids: *mut u32,
    /// For each entry, whether its address is translated at execution.
    pub needs_translation: *mut bool,
    /// Addresses of the entries.
    pub addrs: *mut u64,
    /// Index of the table in the model.
    pub table_index: u32,
}

/// Plan of a variable; [`kbin_mem_ref_t::mr_type`] selects the arm.
#[derive(Clone, Copy)]
#[repr(C)]
pub union kbin_mem_ref_t_u {
    /// Arm of pointer variables.
    pub ptr: kbin_mem_ref_t_ptr,
    /// Arm of scratchpad variables.
    pub virtual_tmp_buf: kbin_mem_ref_t_virtual_tmp_buf,
    /// Arm of list variables.
    pub list: kbin_mem_ref_t_list,
    /// Arm of pointer tables.
    pub ptr_table: kbin_mem_ref_t_ptr_table,
    /// Arm of variables another subgraph owns.
    pub remote: kbin_mem_ref_t_remote,
}

/// Arm of pointer variables. See [`kbin_mem_ref_t_u`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct kbin_mem_ref_t_ptr {
    /// Variable pointed to.
    pub var_id: u32,
    /// Whether that variable is an input or output.
    pub io_ref: bool,
}

/// Arm of scratchpad variables. See [`kbin_mem_ref_t_u`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct kbin_mem_ref_t_virtual_tmp_buf {
    /// Offset in the scratchpad arena, in bytes.
    pub offset: u64,
    /// Arena the variable is planned in.
    pub backing_buf: backing_buf,
}

/// Arm of list variables. See [`kbin_mem_ref_t_u`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct kbin_mem_ref_t_list {
    /// Entries in `list`.
    pub length: u32,
    /// Variable ids.
    pub list: *mut u32,
}

/// Arm of pointer tables. See [`kbin_mem_ref_t_u`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct kbin_mem_ref_t_ptr_table {
    /// Entries in `list`.
    pub length: u32,
    /// Variables pointed to.
    pub list: *mut u32,
}

/// Arm of variables another subgraph owns. See [`kbin_mem_ref_t_u`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct kbin_mem_ref_t_remote {
    /// Subgraph that owns the variable, relative to the first.
    pub rel_sg_id: u32,
    /// Number of the variable in that subgraph.
    pub remote_var_id: u32,
}
