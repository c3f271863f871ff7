//! The lock for brief critical sections with the kernel's help: nobody is overlooked, whether it has threads fence or not.

use std::cell::UnsafeCell;
use std::fmt;
use std::hint::{black_box, spin_loop};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicU32, AtomicU64, compiler_fence};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nrt_core::abi::pthread_mutex_t;
use nrt_core::hooks::{Hooks, Level, Wait};
use nrt_core::sync::lock_brief;
use nrt_linux::LinuxHooks;
use rustix::process::{Pid, WaitOptions, waitpid};
use rustix::thread::{MembarrierCommand, membarrier_query};

mod asleep;

use asleep::until_asleep;

unsafe extern "C" {
    safe fn fork() -> i32;
    safe fn _exit(status: i32) -> !;
}

/// What the platform offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    /// What the kernel here has.
    Kernel,
    /// Nobody can have others fence.
    Absent,
    /// It was promised, and fails each time.
    Failing,
    /// As `Failing`, and no wake-up ever arrives: what is overlooked at worst.
    FailingAndMute,
}

/// Hooks with that service, which count.
struct Platform {
    linux: LinuxHooks,
    service: Service,
    fences: AtomicU32,
    sleeps: AtomicU32,
    sleeps_with_deadline: AtomicU32,
}

impl Platform {
    const fn new(service: Service) -> Self {
        Self {
            linux: LinuxHooks::new(),
            service,
            fences: AtomicU32::new(0),
            sleeps: AtomicU32::new(0),
            sleeps_with_deadline: AtomicU32::new(0),
        }
    }
}

// SAFETY: memory and thread ids are those of `LinuxHooks`.
unsafe impl Hooks for Platform {
    fn wait(&self, word: *const u32, expected: u32, deadline_ns: Option<u64>) -> Wait {
        let count = if deadline_ns.is_some() { &self.sleeps_with_deadline } else { &self.sleeps };
        count.fetch_add(1, Relaxed);
        self.linux.wait(word, expected, deadline_ns)
    }
    fn wake(&self, word: *const u32, count: u32) {
        if self.service != Service::FailingAndMute {
            self.linux.wake(word, count);
        }
    }
    fn fences_others(&self) -> bool {
        match self.service {
            Service::Kernel => self.linux.fences_others(),
            Service::Absent => false,
            Service::Failing | Service::FailingAndMute => true,
        }
    }
    fn fence_others(&self) -> bool {
        self.fences.fetch_add(1, Relaxed);
        self.service == Service::Kernel && self.linux.fence_others()
    }
    fn now_ns(&self) -> u64 {
        self.linux.now_ns()
    }
    fn thread_id(&self) -> u64 {
        self.linux.thread_id()
    }
    fn host_map(&self, bytes: usize) -> Option<NonNull<u8>> {
        self.linux.host_map(bytes)
    }
    unsafe fn host_unmap(&self, memory: NonNull<u8>, bytes: usize) {
        // SAFETY: as the caller promises.
        unsafe { self.linux.host_unmap(memory, bytes) };
    }
    fn log(&self, level: Level, text: fmt::Arguments<'_>) {
        self.linux.log(level, text);
    }
}

/// A lock and what it guards, for threads that may be left behind asleep when a test fails.
struct Shared {
    platform: Platform,
    lock: pthread_mutex_t,
    entries: UnsafeCell<u64>,
    /// Threads that still have entries to make.
    running: AtomicU32,
}

// SAFETY: the cell is touched under the lock only, and after all threads have ended.
unsafe impl Sync for Shared {}

impl Shared {
    fn new(service: Service) -> &'static Self {
        Box::leak(Box::new(Self {
            platform: Platform::new(service),
            lock: pthread_mutex_t::unlocked(),
            entries: UnsafeCell::new(0),
            running: AtomicU32::new(0),
        }))
    }

    /// Runs `threads` times `work` and waits for all; says how the lock stands when they do not end.
    fn run(&'static self, threads: u32, work: fn(&'static Self, u32)) {
        self.running.store(threads, Relaxed);
        let (ended, ends) = channel();
        for number in 0..threads {
            let ended = ended.clone();
            thread::spawn(move || {
                work(self, number);
                self.running.fetch_sub(1, Relaxed);
                ended.send(()).unwrap();
            });
        }
        drop(ended);
        for missing in (1..=threads).rev() {
            match ends.recv_timeout(Duration::from_mins(2)) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("{missing} of {threads} threads failed"),
                Err(RecvTimeoutError::Timeout) => panic!(
                    "{:?}: {missing} of {threads} threads hang: word {}, waiting {}",
                    self.platform.service,
                    self.lock.word.load(Relaxed),
                    self.lock.waiting.load(Relaxed)
                ),
            }
        }
    }

    /// Enters, and holds the lock as long as `hold` takes.
    fn enter(&self, hold: impl FnOnce()) {
        let _held = lock_brief(&self.lock, &self.platform);
        // SAFETY: the lock is held.
        let entries = unsafe { *self.entries.get() };
        hold();
        // SAFETY: as above. Whoever came in meanwhile is lost from the count.
        unsafe { *self.entries.get() = entries + 1 };
    }

    fn finish(&self, entries: u64) {
        // SAFETY: all threads have ended.
        assert_eq!(unsafe { *self.entries.get() }, entries, "{:?}: entries lost", self.platform.service);
        assert_eq!(self.lock.word.load(Relaxed), 0, "{:?}: the lock is not free", self.platform.service);
        assert_eq!(self.lock.waiting.load(Relaxed), 0, "{:?}: somebody still counts as waiting", self.platform.service);
        let fences = self.platform.fences.load(Relaxed) != 0;
        assert_eq!(
            fences,
            self.platform.fences_others(),
            "{:?}: who waits has others fence if that is there",
            self.platform.service
        );
        let (_, never) = self.sleeps();
        assert_eq!(never, 0, "{:?}: who is sure sleeps until woken, who is not looks again by itself", self.platform.service);
    }

    /// How often threads slept as they should with this service, and how often in the other way.
    fn sleeps(&self) -> (u32, u32) {
        let sleeps = self.platform.sleeps.load(Relaxed);
        let with_deadline = self.platform.sleeps_with_deadline.load(Relaxed);
        match self.platform.service {
            Service::Kernel | Service::Absent => (sleeps, with_deadline),
            Service::Failing | Service::FailingAndMute => (with_deadline, sleeps),
        }
    }
}

/// Four threads; holders keep the lock for no time, over a yield, over some microseconds of sleep, or until somebody waits.
fn contend<const ENTRIES: u64>(service: Service) {
    const THREADS: u32 = 4;
    let shared = Shared::new(service);
    shared.run(THREADS, |shared, number| {
        for entry in 0..ENTRIES {
            shared.enter(|| match (entry + u64::from(number)) % 16 {
                3 | 7 => thread::yield_now(),
                5 => {
                    let own = 0_u32;
                    let until = shared.platform.now_ns() + 20_000;
                    while shared.platform.linux.wait(&raw const own, 0, Some(until)) != Wait::TimedOut {}
                }
                // The others have no other way than through this lock.
                11 => {
                    while shared.lock.waiting.load(Relaxed) == 0 && shared.running.load(Relaxed) > 1 {
                        thread::yield_now();
                    }
                }
                _ => {}
            });
        }
    });
    shared.finish(u64::from(THREADS) * ENTRIES);
}

#[test]
fn four_threads_with_what_the_kernel_has() {
    contend::<4000>(Service::Kernel);
}

#[test]
fn four_threads_without_the_service() {
    contend::<4000>(Service::Absent);
}

#[test]
fn four_threads_whose_fences_fail() {
    contend::<1000>(Service::Failing);
}

#[test]
fn four_threads_that_are_never_woken() {
    contend::<64>(Service::FailingAndMute);
}

/// One holds the lock until the other sleeps in the kernel.
#[test]
fn a_sleeper_gets_the_lock() {
    static SLEEPER: AtomicU64 = AtomicU64::new(0);
    for service in [Service::Kernel, Service::Absent, Service::Failing, Service::FailingAndMute] {
        SLEEPER.store(0, Relaxed);
        let shared = Shared::new(service);
        shared.run(2, |shared, number| {
            if number == 0 {
                shared.enter(|| {
                    SLEEPER.store(u64::MAX, Release);
                    while SLEEPER.load(Acquire) == u64::MAX {
                        thread::yield_now();
                    }
                    until_asleep(&SLEEPER);
                });
            } else {
                while SLEEPER.load(Acquire) != u64::MAX {
                    thread::yield_now();
                }
                SLEEPER.store(shared.platform.thread_id(), Release);
                shared.enter(|| ());
            }
        });
        shared.finish(2);
        assert_ne!(shared.sleeps().0, 0, "it was seen asleep");
    }
}

/// Whether the kernel lists what the hooks use.
fn kernel_has_it() -> bool {
    let query = membarrier_query();
    query.contains_command(MembarrierCommand::PrivateExpedited)
        && query.contains_command(MembarrierCommand::RegisterPrivateExpedited)
}

#[test]
fn threads_fence_where_the_kernel_says_so() {
    let hooks = LinuxHooks::new();
    assert_eq!(hooks.fences_others(), kernel_has_it());
    assert_eq!(hooks.fences_others(), kernel_has_it(), "the same answer each time");
    assert_eq!(hooks.fence_others(), kernel_has_it());
    thread::scope(|threads| {
        threads.spawn(|| assert_eq!((hooks.fences_others(), hooks.fence_others()), (kernel_has_it(), kernel_has_it())));
    });
}

/// The two sides of the lock alone, as close together as can be: one stores, then looks, and the processor may let the look pass;
/// the other adds, has the first fence, then looks. One of them sees the other.
#[test]
fn a_look_does_not_pass_a_store_when_another_has_it_fence() {
    const ROUNDS: u32 = 50_000;
    #[repr(align(128))]
    struct Line(AtomicU32);
    let hooks = LinuxHooks::new();
    if !hooks.fences_others() {
        eprintln!("not shown: the kernel has nobody fence");
        return;
    }
    let [word, waiting, arrived, overlooked] = [const { Line(AtomicU32::new(0)) }; 4];
    let meet = |times: u32| {
        arrived.0.fetch_add(1, AcqRel);
        while arrived.0.load(Acquire) < 2 * times {
            // Both go on at once where there are two processors, and go on at all where there is one.
            for _ in 0..100 {
                spin_loop();
                if arrived.0.load(Relaxed) >= 2 * times {
                    break;
                }
            }
            if arrived.0.load(Relaxed) < 2 * times {
                thread::yield_now();
            }
        }
    };
    let lost = thread::scope(|threads| {
        threads.spawn(|| {
            for round in 1..=ROUNDS {
                meet(2 * round - 1);
                word.0.store(round, Release);
                compiler_fence(SeqCst);
                overlooked.0.store(u32::from(waiting.0.load(Relaxed) != round), Relaxed);
                meet(2 * round);
            }
        });
        let waiter = threads.spawn(|| {
            let mut lost = 0;
            for round in 1..=ROUNDS {
                meet(2 * round - 1);
                // Sooner or later than the other by all that fits between a store and its arrival.
                for _ in 0..round % 24 {
                    black_box(round);
                }
                waiting.0.fetch_add(1, Relaxed);
                let fenced = hooks.fence_others();
                let held = word.0.load(Acquire) != round;
                meet(2 * round);
                lost += u32::from(fenced && held && overlooked.0.load(Relaxed) == 1);
            }
            lost
        });
        waiter.join().unwrap()
    });
    assert_eq!(lost, 0, "rounds of {ROUNDS} in which neither saw the other");
}

/// A child inherits what its parent found out, and locks that others sleep on who are not there.
#[test]
fn a_forked_child_fences_and_locks() {
    let hooks = LinuxHooks::new();
    let promised = hooks.fences_others();
    assert_eq!(promised, kernel_has_it());
    let lock = pthread_mutex_t::unlocked();
    lock.waiting.store(1, Relaxed);
    let child = fork();
    if child == 0 {
        // Only system calls from here on: the other threads of the tests, and the locks they held, are not in the child.
        let same = hooks.fences_others() == promised && hooks.fence_others() == promised;
        drop(lock_brief(&lock, &hooks));
        let free = lock.word.load(Relaxed) == 0 && lock.waiting.load(Relaxed) == 1;
        _exit(i32::from(same) + 2 * i32::from(free));
    }
    let child = Pid::from_raw(child).expect("fork failed");
    let (_, status) = waitpid(Some(child), WaitOptions::empty()).unwrap().unwrap();
    assert_eq!(status.exit_status(), Some(3), "1: the fences are as promised, 2: the lock is free; the others still count");
}
