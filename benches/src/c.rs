//! The peers in C (`c/*.c`), as functions that are safe to call.
//!
//! Each module sets its world up once, for the life of the process. Functions named in the plural loop in C, so that no
//! call between the languages is timed per operation.

use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_void};
use std::sync::Once;

mod raw {
    use super::{c_char, c_int, c_long, c_uint, c_void};

    // SAFETY: the C file of this crate defines these with the same arguments.
    unsafe extern "C" {
        pub(super) fn nrt_c_object_setup();
        pub(super) fn nrt_c_object_allocate(
            device: c_uint,
            core: c_uint,
            channel: c_uint,
            usage: c_uint,
            size: usize,
            hint: *const c_char,
        ) -> *mut c_void;
        pub(super) fn nrt_c_object_free(node: *mut c_void);
        pub(super) fn nrt_c_object_pairs(
            device: c_uint,
            core: c_uint,
            channel: c_uint,
            usage: c_uint,
            size: usize,
            hint: *const c_char,
            n: c_uint,
        );
        pub(super) fn nrt_c_object_burst(
            device: c_uint,
            core: c_uint,
            channel: c_uint,
            usage: c_uint,
            size: usize,
            hint: *const c_char,
            n: c_uint,
        );
        pub(super) fn nrt_c_object_bytes() -> usize;
        pub(super) fn nrt_c_library_version() -> *const c_char;
        pub(super) safe fn nrt_c_calloc_pairs(n: c_uint);
        pub(super) safe fn nrt_c_calloc_burst(n: c_uint);
        pub(super) fn nrt_c_model_setup();
        pub(super) fn nrt_c_model_load(core: c_uint, id: u32);
        pub(super) fn nrt_c_model_run(core: c_uint, id: u32) -> c_int;
        pub(super) fn nrt_c_model_look_up(core: c_uint, id: u32, variable: u32) -> c_int;
        pub(super) fn nrt_c_model_runs(core: c_uint, id: u32, n: c_uint);
        pub(super) fn nrt_c_model_look_ups(core: c_uint, id: u32, variable: u32, n: c_uint);
        pub(super) fn nrt_c_model_takes(core: c_uint, id: u32, n: c_uint);
        pub(super) fn nrt_c_model_drains(core: c_uint, id: u32, n: c_uint);
        pub(super) fn nrt_c_model_try_take(core: c_uint, id: u32) -> c_int;
        pub(super) fn nrt_c_model_references() -> u64;
        pub(super) safe fn nrt_c_mutex_pairs(n: c_uint);
        pub(super) safe fn nrt_c_preemptions() -> c_long;
        // Of the mimalloc that is linked in; `major * 1000 + minor * 10 + patch` or a finer form of it.
        pub(super) safe fn mi_version() -> c_int;
    }
}

/// Asks the C library for 192 zeroed bytes and gives them back, `n` times.
pub fn calloc_pairs(n: u32) {
    raw::nrt_c_calloc_pairs(n);
}

/// Asks the C library for 192 zeroed bytes `n` times, at most 64, then gives all of them back.
pub fn calloc_burst(n: u32) {
    raw::nrt_c_calloc_burst(n);
}

/// Devices of the object path.
pub const DEVICES: u32 = 2;
/// Cores of each device of the object path.
pub const CORES: u32 = 8;
/// Cores with a model table.
pub const MODEL_CORES: u32 = 2;
const CHANNELS: u32 = 4;
const USAGES: u32 = 22;

/// Version of the C library in use.
#[must_use]
pub fn library_version() -> String {
    // SAFETY: a string that lives for ever.
    unsafe { CStr::from_ptr(raw::nrt_c_library_version()) }.to_string_lossy().into_owned()
}

/// What the linked mimalloc says its version is.
#[must_use]
pub fn mimalloc_version() -> i32 {
    raw::mi_version()
}

/// Locks and unlocks one mutex `n` times.
pub fn mutex_pairs(n: u32) {
    raw::nrt_c_mutex_pairs(n);
}

/// How often the scheduler took the processor from the calling thread while it could have gone on.
#[must_use]
pub fn preemptions() -> i64 {
    raw::nrt_c_preemptions()
}

/// Where and what to allocate on the object path.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRequest<'a> {
    device: u32,
    core: u32,
    channel: u32,
    usage: u32,
    size: usize,
    hint: &'a CStr,
}

/// A live object; not freed when dropped.
#[derive(Debug)]
#[must_use]
pub struct Object(*mut c_void);

impl<'a> ObjectRequest<'a> {
    /// A request for device memory, checked once, here.
    ///
    /// # Panics
    /// When an index is out of range or the size is 0.
    #[must_use]
    pub fn new(device: u32, core: u32, channel: u32, usage: u32, size: usize, hint: &'a CStr) -> Self {
        static SETUP: Once = Once::new();
        assert!(device < DEVICES && core < CORES && channel < CHANNELS && usage < USAGES && size > 0);
        // SAFETY: once, before any object exists.
        SETUP.call_once(|| unsafe { raw::nrt_c_object_setup() });
        Self { device, core, channel, usage, size, hint }
    }

    /// Allocates and releases `n` times.
    pub fn pairs(&self, n: u32) {
        let Self { device, core, channel, usage, size, hint } = *self;
        // SAFETY: set up and in range by construction; the hint is a C string.
        unsafe { raw::nrt_c_object_pairs(device, core, channel, usage, size, hint.as_ptr(), n) };
    }

    /// Allocates `n`, at most 64, then releases them in the same order.
    pub fn burst(&self, n: u32) {
        let Self { device, core, channel, usage, size, hint } = *self;
        // SAFETY: as above.
        unsafe { raw::nrt_c_object_burst(device, core, channel, usage, size, hint.as_ptr(), n) };
    }

    /// Allocates one.
    ///
    /// # Panics
    /// When there is no memory.
    #[inline]
    pub fn allocate(&self) -> Object {
        let Self { device, core, channel, usage, size, hint } = *self;
        // SAFETY: as above.
        let node = unsafe { raw::nrt_c_object_allocate(device, core, channel, usage, size, hint.as_ptr()) };
        assert!(!node.is_null(), "out of memory");
        Object(node)
    }
}

impl Object {
    /// Releases it.
    #[inline]
    pub fn free(self) {
        // SAFETY: objects come from `allocate` and this consumes the only name of it.
        unsafe { raw::nrt_c_object_free(self.0) };
    }
}

/// Bytes the ledgers hold; meaningful while no thread is at work.
#[must_use]
pub fn object_bytes() -> usize {
    // SAFETY: reads counters nobody writes now.
    unsafe { raw::nrt_c_object_bytes() }
}

/// A resident model.
#[derive(Clone, Copy, Debug)]
pub struct CModel {
    core: u32,
    id: u32,
}

impl CModel {
    /// Makes a model resident for the rest of the process.
    ///
    /// # Panics
    /// When there is no such core.
    #[must_use]
    pub fn load(core: u32, id: u32) -> Self {
        static SETUP: Once = Once::new();
        assert!(core < MODEL_CORES);
        // SAFETY: once, before any model exists; then a core that exists. Insertion takes the lock.
        unsafe {
            SETUP.call_once(|| raw::nrt_c_model_setup());
            raw::nrt_c_model_load(core, id);
        }
        Self { core, id }
    }

    /// Runs it `n` times.
    pub fn runs(&self, n: u32) {
        // SAFETY: resident for ever.
        unsafe { raw::nrt_c_model_runs(self.core, self.id, n) };
    }

    /// Takes it, reads a word of it, gives it back, `n` times.
    pub fn takes(&self, n: u32) {
        // SAFETY: resident for ever.
        unsafe { raw::nrt_c_model_takes(self.core, self.id, n) };
    }

    /// Takes it out, waits for its last reference, puts it back, `n` times. Others find it missing meanwhile.
    pub fn drains(&self, n: u32) {
        // SAFETY: loaded, and only ever out within this call, which one thread makes at a time: it aborts otherwise.
        unsafe { raw::nrt_c_model_drains(self.core, self.id, n) };
    }

    /// Takes it and gives it back, unless it is out just then; whether it was there.
    pub fn try_take(&self) -> bool {
        // SAFETY: loaded; it may be out.
        unsafe { raw::nrt_c_model_try_take(self.core, self.id) != 0 }
    }

    /// Takes it, looks for a variable it does not have, gives it back, `n` times.
    pub fn look_ups(&self, variable: u32, n: u32) {
        // SAFETY: as above.
        unsafe { raw::nrt_c_model_look_ups(self.core, self.id, variable, n) };
    }

    /// Runs it once.
    #[inline]
    pub fn run(&self) {
        // SAFETY: as above.
        let status = unsafe { raw::nrt_c_model_run(self.core, self.id) };
        assert_eq!(status, 0);
    }

    /// One look-up.
    #[inline]
    pub fn look_up(&self, variable: u32) {
        // SAFETY: as above.
        let status = unsafe { raw::nrt_c_model_look_up(self.core, self.id, variable) };
        assert_ne!(status, 0);
    }
}

/// References held on all models; meaningful while no thread is at work.
#[must_use]
pub fn model_references() -> u64 {
    // SAFETY: reads counts nobody writes now.
    unsafe { raw::nrt_c_model_references() }
}
