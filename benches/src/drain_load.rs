//! Group `drain`, under load: a model is taken out, drained and put back while another thread takes and releases it all the
//! time.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Once, PoisonError, RwLock};

use nrt_core::bare::Database;
use nrt_core::hooks::Hooks as _;
use nrt_linux::hooks::LinuxHooks;

use crate::c::CModel;
use crate::drain::Partner;
use crate::driver::NullDriver;
use crate::measure::{Peer, Scenario};

/// Takes a user makes before it looks whether it is still wanted.
const TAKES: u32 = 256;

/// A thread that takes and releases while it is wanted, and sleeps otherwise.
struct User {
    wanted: AtomicU32,
    busy: AtomicU32,
    partner: Partner,
    started: Once,
}

impl User {
    const fn new() -> Self {
        Self { wanted: AtomicU32::new(0), busy: AtomicU32::new(0), partner: Partner::new(), started: Once::new() }
    }

    /// One turn of the thread.
    fn turn(&self, take: fn(&Sides)) {
        // Either this thread sees that it is no longer wanted, or whoever wanted it sees that it is busy.
        self.busy.store(1, SeqCst);
        let sides = SIDES.read().unwrap_or_else(PoisonError::into_inner).clone();
        if self.wanted.load(SeqCst) != 0
            && let Some(sides) = sides
        {
            (0..TAKES).for_each(|_| take(&sides));
            self.busy.store(0, SeqCst);
            return;
        }
        self.busy.store(0, SeqCst);
        LinuxHooks::new().wait(self.wanted.as_ptr(), 0, None);
    }

    /// Does `work` while the thread is at it. Afterwards it holds nothing.
    fn beside(&'static self, turn: fn(), work: impl FnOnce()) {
        self.started.call_once(|| self.partner.start(turn));
        self.partner.keep_off();
        self.wanted.store(1, SeqCst);
        LinuxHooks::new().wake(self.wanted.as_ptr(), 1);
        work();
        self.wanted.store(0, SeqCst);
        while self.busy.load(SeqCst) != 0 {
            std::thread::yield_now();
        }
    }
}

/// A model of each side.
struct Sides {
    database: Database<'static, NullDriver, LinuxHooks>,
    id: u32,
    c: CModel,
}

/// Those of the last scenario that was made.
static SIDES: RwLock<Option<Arc<Sides>>> = RwLock::new(None);
static USER: User = User::new();
static C_USER: User = User::new();

fn use_model() {
    // It may be out just then.
    USER.turn(|sides| _ = sides.database.take_read_release(sides.id));
}

fn use_c_model() {
    C_USER.turn(|sides| _ = sides.c.try_take());
}

/// The scenario, on a model of this database and one of the C side, which stay resident as long as it is used.
#[must_use]
pub fn scenario(database: Database<'static, NullDriver, LinuxHooks>, id: u32, c: CModel) -> Scenario<'static> {
    let sides = Arc::new(Sides { database, id, c });
    *SIDES.write().unwrap_or_else(PoisonError::into_inner) = Some(sides.clone());
    let c_sides = sides.clone();
    let drains = |sides: &Sides, n| {
        for _ in 0..n {
            let done = sides.database.drain_and_restore(sides.id);
            assert!(done.is_ok(), "{done:?}");
        }
    };
    let peers = vec![
        Peer {
            name: "nrt",
            touches: "unlinked and linked under the lock of the table; the drainer looks a few times, then sleeps",
            locks: "lock of the table 2x; 3 atomic read-modify-writes on the count; a futex wait and wake where it sleeps",
            work: Box::new(move |_, n| USER.beside(use_model, || drains(&sides, n))),
        },
        Peer {
            name: "C documented shape",
            touches: "unlinked and linked under the mutex of the table; the drainer looks again and again and never sleeps",
            locks: "pthread mutex of the table 2x, which the user takes for every look-up too",
            work: Box::new(move |_, n| C_USER.beside(use_c_model, || c_sides.c.drains(n))),
        },
    ];
    Scenario {
        name: "drain/under load",
        operation: "take out, drain, put back, beside a thread that takes and releases it",
        threads: 1,
        // Long enough that the time in which the other thread wakes up does not count.
        batch: 8192,
        alone: "",
        peers,
    }
}
