//! Three byte tables indexed by usage, [`dma_mem_usage_type_t`](super::dma_mem_usage_type_t) (fact sheet `dmem` §3).
//!
//! Usages run from 0 to 21. Index 22 is padding and maps nothing: range-check the usage first. What usages 3 and 4 are
//! *called* is in doubt (all tables treat 3 as miscellaneous and 4 as code), which is why the tables go by number.

/// Entries in each table, the padding byte included; also the row stride of the ledger's counters.
pub const USAGE_COLUMNS: usize = 23;

/// Byte of [`USAGE_HOST_CATEGORY`] that refuses a usage in host memory; the driver's count of categories.
pub const USAGE_CATEGORY_REJECT: u8 = 20;

/// Driver category, [`mem_alloc_category_t`](super::mem_alloc_category_t), of a usage in host memory.
///
/// Usages 11, 15 and 16 (scratchpad, collectives, private scratchpad) are refused with [`USAGE_CATEGORY_REJECT`].
/// The descriptor rings 18 to 21 are allowed: their byte is 0x11, a category of its own.
pub const USAGE_HOST_CATEGORY: [u8; USAGE_COLUMNS] = [4, 1, 1, 4, 1, 4, 3, 6, 4, 1, 1, 20, 2, 1, 4, 20, 20, 4, 17, 17, 17, 17, 0];

/// Driver category, [`mem_alloc_category_t`](super::mem_alloc_category_t), of a usage in device memory.
pub const USAGE_DEVICE_CATEGORY: [u8; USAGE_COLUMNS] =
    [12, 8, 8, 12, 8, 12, 10, 16, 12, 8, 8, 11, 9, 8, 12, 14, 15, 12, 18, 18, 18, 18, 0];

/// Column of a usage in reports, [`dmem_aggr_index`](super::dmem_aggr_index).
///
/// The published bytes miss a 0 at index 4; with it, the column is a function of the device category for usages 0 to 17.
pub const USAGE_AGGREGATE: [u8; USAGE_COLUMNS] = [5, 0, 0, 5, 0, 5, 1, 11, 5, 0, 0, 3, 2, 0, 5, 10, 4, 5, 9, 7, 6, 8, 0];
