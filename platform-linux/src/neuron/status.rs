//! Error numbers as statuses.

use nrt_core::driver::{Call, Errno};
use nrt_core::status::Status;

/// The status the core gives for `errno` from `call`; `host` tells allocations in host memory from those in an HBM.
#[must_use]
pub fn status(call: Call, host: bool, errno: Errno) -> Status {
    match (call, errno) {
        (Call::Alloc, Errno::ENOMEM) if host => Status::FailHostMemAlloc,
        (Call::Alloc, Errno::ENOMEM) => Status::Resource,
        (Call::Probe, Errno::ENODEV) => Status::Invalid,
        _ => Status::Failure,
    }
}
