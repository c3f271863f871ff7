//! Look-ups beside a writer: what is there is found, what is found is not freed, and two tables agree.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::thread;
use nrt_core::hooks::Wait;
use nrt_core::sync::{Chains, Taken, Word, begin_drain, change, leave, outstanding, take, wait_drained};

use crate::words::{AsWritten, Bug, Futex, Relaxing, STORE, U64, Until};
use crate::{Bound, RACE, finds, holds};

/// An object: its node, its count, and what the count protects.
struct Object<B> {
    key: U64<B>,
    /// Number of the object behind it plus 1, or 0.
    next: U64<B>,
    refs: U64<B>,
    futex: Futex,
    /// Ten times the key.
    payload: UnsafeCell<u64>,
}

/// A table of two chains, chosen by the lowest bit of the key. One thread writes.
struct Table<B = AsWritten> {
    sequence: U64<B>,
    /// What readers look at instead of the sequence, if that is the bug.
    still: Option<U64<B>>,
    heads: [U64<B>; 2],
    objects: Vec<Object<B>>,
}

// SAFETY: the payloads are guarded by the protocol under test, and watched by loom.
unsafe impl<B: Bug> Sync for Table<B> {}

impl<B: Bug> Chains for Table<B> {
    type Word = U64<B>;
    type Node = usize;

    fn sequence(&self) -> &U64<B> {
        self.still.as_ref().unwrap_or(&self.sequence)
    }
    fn first(&self, key: u64) -> Option<usize> {
        (self.heads[key as usize & 1].load(Acquire) as usize).checked_sub(1)
    }
    fn next(&self, node: usize) -> Option<usize> {
        (self.objects[node].next.load(Acquire) as usize).checked_sub(1)
    }
    fn key(&self, node: usize) -> &U64<B> {
        &self.objects[node].key
    }
    fn count(&self, node: usize) -> &U64<B> {
        &self.objects[node].refs
    }
}

impl<B: Bug> Table<B> {
    fn new(objects: usize, watched: bool) -> Self {
        let object = |_| Object {
            key: U64::new(0),
            next: U64::new(0),
            refs: U64::new(0),
            futex: Futex::new(),
            payload: UnsafeCell::new(0),
        };
        Self {
            sequence: U64::new(0),
            still: (!watched).then(|| U64::new(0)),
            heads: [U64::new(0), U64::new(0)],
            objects: (0..objects).map(object).collect(),
        }
    }

    /// As the table of the core does it: the link of the node, the link to it, the key.
    fn insert(&self, node: usize, key: u64) {
        let object = &self.objects[node];
        // SAFETY: the object is new or drained; loom fails the model if somebody looks at it.
        object.payload.with_mut(|payload| unsafe { *payload = key * 10 });
        change(&self.sequence, || {
            let head = &self.heads[key as usize & 1];
            object.next.store(head.load(Relaxed), Release);
            head.store(node as u64 + 1, Release);
            object.key.store(key, Release);
        });
    }

    /// Unlinks the first object of a chain.
    fn unlink(&self, key: u64) -> usize {
        change(&self.sequence, || {
            let head = &self.heads[key as usize & 1];
            let node = head.load(Relaxed) as usize - 1;
            head.store(self.objects[node].next.load(Relaxed), Release);
            self.objects[node].key.store(0, Release);
            node
        })
    }

    fn drain(&self, node: usize) {
        let Object { refs, futex, .. } = &self.objects[node];
        begin_drain(refs);
        let drained = wait_drained(refs, |expected| {
            futex.wait(Until::Woken, || refs.load(Relaxed) as u32 == expected);
            Wait::Woken
        });
        assert!(drained);
        // SAFETY: drained; loom fails the model if somebody looks at it.
        self.objects[node].payload.with_mut(|payload| unsafe { *payload = 0 });
    }

    fn look_up(&self, key: u64) -> Taken<usize> {
        take(self, key, self.objects.len() as u32, 1, |node| self.objects[node].futex.wake_all())
    }

    /// Looks at what was taken and gives it back.
    fn look_and_leave(&self, node: usize, key: u64) {
        let Object { refs, futex, payload, .. } = &self.objects[node];
        // SAFETY: a reference is held, so nobody writes the payload; loom fails the model if that is not so.
        assert_eq!(payload.with(|payload| unsafe { *payload }), key * 10, "another object's payload");
        if leave(refs) {
            futex.wake_all();
        }
    }

    /// After all threads are joined.
    fn finish(&self) {
        self.objects.iter().for_each(|object| assert_eq!(object.refs.load(Relaxed), 0, "references left over"));
    }
}

/// Object 0 stays under key 2 all the time. Object 1 in front of it goes, and is linked again in the other chain.
fn a_resident_object<B: Bug>(watched: bool) -> impl Fn() + Send + Sync {
    move || {
        let table = Arc::new(Table::<B>::new(2, watched));
        table.insert(0, 2);
        table.insert(1, 4);
        let reader = {
            let table = Arc::clone(&table);
            thread::spawn(move || match table.look_up(2) {
                Taken::Found(node) => table.look_and_leave(node, 2),
                Taken::Absent => panic!("a resident object was missed"),
                // The caller takes the lock.
                Taken::Unsettled => {}
            })
        };
        let gone = table.unlink(4);
        table.drain(gone);
        table.insert(gone, 1);
        reader.join().unwrap();
        table.finish();
        assert_eq!(table.look_up(4), Taken::Absent);
    }
}

#[test]
fn a_resident_object_is_never_missed() {
    holds("take, relinked chain", Bound::Preemptions(2), a_resident_object::<AsWritten>(true));
}

#[test]
fn finds_a_relinked_chain_without_sequence() {
    let program = a_resident_object::<AsWritten>(false);
    finds("take: no look at the sequence", "a resident object was missed", Bound::Preemptions(2), program);
}

#[test]
fn finds_links_stored_without_release() {
    let program = a_resident_object::<Relaxing<STORE>>(true);
    finds("take: links stored without release", "a resident object was missed", Bound::Preemptions(2), program);
}

/// The object goes, is drained, rebuilt, and is there again under another key.
fn rebuilt(drain: fn(&Table, usize), expected: &'static [u64]) -> impl Fn() + Send + Sync {
    move || {
        let table = Arc::new(Table::<AsWritten>::new(1, true));
        table.insert(0, 1);
        let reader = {
            let table = Arc::clone(&table);
            thread::spawn(move || {
                for key in expected {
                    if let Taken::Found(node) = table.look_up(*key) {
                        table.look_and_leave(node, *key);
                    }
                }
            })
        };
        let gone = table.unlink(1);
        drain(&table, gone);
        table.insert(gone, 3);
        reader.join().unwrap();
        table.finish();
        let Taken::Found(node) = table.look_up(3) else { panic!("published for good") };
        table.look_and_leave(node, 3);
    }
}

#[test]
fn what_is_found_is_not_rebuilt() {
    holds("take, 1 object rebuilt", Bound::Preemptions(2), rebuilt(Table::drain, &[1]));
}

#[test]
fn finds_a_drain_that_only_loads() {
    fn drain(table: &Table, node: usize) {
        while outstanding(&table.objects[node].refs) != 0 {
            thread::yield_now();
        }
        // SAFETY: not sound, which is what loom has to find before it happens.
        table.objects[node].payload.with_mut(|payload| unsafe { *payload = 0 });
    }
    finds("take: the count merely loaded", RACE, Bound::Preemptions(3), rebuilt(drain, &[1]));
}

#[test]
fn finds_a_count_zeroed_in_bulk() {
    fn drain(table: &Table, node: usize) {
        // A reader that found the key before it was cleared may count itself in between.
        table.drain(node);
        table.objects[node].refs.store(0, Release);
    }
    finds("take: the count zeroed when the slot is rebuilt", "references left over", Bound::Preemptions(2), rebuilt(drain, &[1]));
}

/// A model on two cores. Whoever found it on the first one finds it on the second, as long as the first reference is held.
fn two_cores(insert: fn(&[Table; 2]), remove: fn(&[Table; 2])) -> impl Fn() + Send + Sync {
    move || {
        let cores = Arc::new([Table::new(1, true), Table::new(1, true)]);
        let reader = {
            let cores = Arc::clone(&cores);
            thread::spawn(move || {
                let Taken::Found(first) = cores[0].look_up(1) else { return };
                match cores[1].look_up(1) {
                    Taken::Found(second) => cores[1].look_and_leave(second, 1),
                    Taken::Absent => panic!("half a model"),
                    Taken::Unsettled => {}
                }
                cores[0].look_and_leave(first, 1);
            })
        };
        insert(&cores);
        remove(&cores);
        reader.join().unwrap();
        cores.iter().for_each(Table::finish);
    }
}

fn insert_first_core_last(cores: &[Table; 2]) {
    cores[1].insert(0, 1);
    cores[0].insert(0, 1);
}

fn remove_first_core_first(cores: &[Table; 2]) {
    for core in cores {
        let gone = core.unlink(1);
        core.drain(gone);
    }
}

#[test]
fn two_cores_agree() {
    holds("take, two cores", Bound::Preemptions(2), two_cores(insert_first_core_last, remove_first_core_first));
}

#[test]
fn finds_the_first_core_published_first() {
    let program = two_cores(
        |cores| {
            cores[0].insert(0, 1);
            cores[1].insert(0, 1);
        },
        remove_first_core_first,
    );
    finds("take: the first core published first", "half a model", Bound::Preemptions(2), program);
}

#[test]
fn finds_the_second_core_removed_before_the_first_is_drained() {
    let program = two_cores(insert_first_core_last, |cores| {
        let gone = cores.each_ref().map(|core| core.unlink(1));
        cores.iter().zip(gone).for_each(|(core, gone)| core.drain(gone));
    });
    finds("take: the second core removed before the first is drained", "half a model", Bound::Preemptions(2), program);
}
