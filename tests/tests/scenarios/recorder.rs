//! Platform services that keep what the runtime tells: log lines and observations, by thread.

use std::fmt;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{self, ThreadId};

use nrt_core::hooks::{Hooks, Level, Wait};
use nrt_core::observer::{Observation, Operation, Phase};
use nrt_core::{Config, Runtime};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::{TestDriver, TestStorage};

/// A runtime that is listened to.
pub(crate) type RecordedRuntime = Runtime<TestDriver, &'static Recorder>;

/// An observation with its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) operation: Operation,
    pub(crate) phase: Phase,
    pub(crate) place: (u32, u32),
    pub(crate) bytes: u64,
    pub(crate) name: String,
}

/// Keeps everything.
pub(crate) struct Recorder {
    inner: LinuxHooks,
    lines: Mutex<Vec<(ThreadId, Level, String)>>,
    seen: Mutex<Vec<Seen>>,
    /// Called with every line, on the thread that logs.
    inspect: Mutex<Option<Box<dyn Fn() + Send>>>,
    host_maps: AtomicU64,
}

impl Recorder {
    pub(crate) fn leak() -> &'static Self {
        let (lines, seen, inspect) = (Mutex::default(), Mutex::default(), Mutex::default());
        Box::leak(Box::new(Self { inner: LinuxHooks::new(), lines, seen, inspect, host_maps: AtomicU64::new(0) }))
    }

    /// Lines of the calling thread at a level, which are then forgotten.
    pub(crate) fn take(&self, level: Level) -> Vec<String> {
        let own = thread::current().id();
        let mut lines = self.lines.lock().unwrap();
        let (taken, rest) = lines.drain(..).partition(|(thread, at, _)| *thread == own && *at == level);
        *lines = rest;
        taken.into_iter().map(|(_, _, line)| line).collect()
    }

    /// What was observed, which is then forgotten.
    pub(crate) fn observed(&self) -> Vec<Seen> {
        std::mem::take(&mut self.seen.lock().unwrap())
    }

    /// How often host memory was asked for.
    pub(crate) fn host_maps(&self) -> u64 {
        self.host_maps.load(Relaxed)
    }

    /// Calls `inspect` with every line from now on.
    pub(crate) fn inspect(&self, inspect: impl Fn() + Send + 'static) {
        *self.inspect.lock().unwrap() = Some(Box::new(inspect));
    }
}

/// A runtime on a storage of the tests' size.
pub(crate) fn recorded(driver: TestDriver, change: impl FnOnce(&mut Config<&'static Recorder>)) -> RecordedRuntime {
    let storage: &'static TestStorage = nrt_tests::storage();
    let mut config = Config::new(Recorder::leak()).side_by_side();
    change(&mut config);
    Runtime::init(storage, driver, config).unwrap_or_else(|error| panic!("init: {error}"))
}

// SAFETY: host memory and thread ids are those of the platform.
unsafe impl Hooks for Recorder {
    fn wait(&self, word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Wait {
        self.inner.wait(word, expected, deadline_ns)
    }
    fn wake(&self, word: *const u32, count: u32) {
        self.inner.wake(word, count);
    }
    fn now_ns(&self) -> u64 {
        self.inner.now_ns()
    }
    fn thread_id(&self) -> u64 {
        self.inner.thread_id()
    }
    fn host_map(&self, bytes: usize) -> Option<NonNull<u8>> {
        self.host_maps.fetch_add(1, Relaxed);
        self.inner.host_map(bytes)
    }
    unsafe fn host_unmap(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.inner.host_unmap(memory, bytes) };
    }
    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        if let Some(inspect) = &*self.inspect.lock().unwrap() {
            inspect();
        }
        self.lines.lock().unwrap().push((thread::current().id(), level, text.to_string()));
    }

    const OBSERVED: bool = true;
    fn observe(&self, observation: &Observation<'_>) {
        let Observation { operation, phase, subject } = *observation;
        let (place, bytes, name) = ((subject.device, subject.core), subject.bytes, subject.name.to_owned());
        self.seen.lock().unwrap().push(Seen { operation, phase, place, bytes, name });
    }
}
