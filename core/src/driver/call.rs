//! The kinds of requests.

/// Which request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u32)]
pub enum Call {
    /// [`Driver::probe`](super::Driver::probe).
    Probe,
    /// [`Driver::open`](super::Driver::open).
    Open,
    /// [`Driver::close`](super::Driver::close).
    Close,
    /// [`Driver::routing_ids`](super::Driver::routing_ids).
    RoutingIds,
    /// [`Driver::alloc`](super::Driver::alloc).
    Alloc,
    /// [`Driver::free`](super::Driver::free).
    Free,
    /// [`Driver::map`](super::Driver::map).
    Map,
    /// [`Driver::unmap`](super::Driver::unmap).
    Unmap,
    /// [`Driver::copy`](super::Driver::copy).
    Copy,
    /// [`Driver::copy_start`](super::Driver::copy_start).
    CopyStart,
    /// [`Driver::copy_wait`](super::Driver::copy_wait).
    CopyWait,
    /// [`Driver::write`](super::Driver::write).
    Write,
    /// [`Driver::read`](super::Driver::read).
    Read,
    /// [`Driver::fill`](super::Driver::fill).
    Fill,
    /// [`Driver::zero_copy_write`](super::Driver::zero_copy_write).
    ZeroCopyWrite,
    /// [`Driver::zero_copy_read`](super::Driver::zero_copy_read).
    ZeroCopyRead,
    /// [`Driver::copy_batches`](super::Driver::copy_batches).
    CopyBatches,
    /// [`Driver::chunks`](super::Driver::chunks).
    Chunks,
}

impl Call {
    /// Every kind of request, in declaration order.
    pub const ALL: [Self; 18] = [
        Self::Probe,
        Self::Open,
        Self::Close,
        Self::RoutingIds,
        Self::Alloc,
        Self::Free,
        Self::Map,
        Self::Unmap,
        Self::Copy,
        Self::CopyStart,
        Self::CopyWait,
        Self::Write,
        Self::Read,
        Self::Fill,
        Self::ZeroCopyWrite,
        Self::ZeroCopyRead,
        Self::CopyBatches,
        Self::Chunks,
    ];

    /// Name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Open => "open",
            Self::Close => "close",
            Self::RoutingIds => "routing ids",
            Self::Alloc => "memory alloc",
            Self::Free => "memory free",
            Self::Map => "memory map",
            Self::Unmap => "memory unmap",
            Self::Copy => "copy",
            Self::CopyStart => "copy start",
            Self::CopyWait => "copy wait",
            Self::Write => "buffer copy-in",
            Self::Read => "buffer copy-out",
            Self::Fill => "memset",
            Self::ZeroCopyWrite => "zero-copy in",
            Self::ZeroCopyRead => "zero-copy out",
            Self::CopyBatches => "batch copy",
            Self::Chunks => "chunk list",
        }
    }
}
