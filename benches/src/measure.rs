//! Timing: batches, pinned threads, all peers in turn.
//!
//! A single operation is shorter than a look at the clock, so [`BATCH`] operations are timed together, and what the
//! histograms hold are means of batches: one operation that was interrupted shows up divided by [`BATCH`].
//!
//! One run starts its threads, pins them, and lets every peer work for one short slice after the other, many rounds, each
//! round beginning with another peer. Whatever the machine does to one of them it does to the others a moment later.
//!
//! Others use the machine too. A slice during which the scheduler took the processor from one of the threads is repeated:
//! for that time the thread on the other processor had the shared lines and locks to itself. Processor time that the
//! hypervisor took is not seen, and what happens when the holder of a lock is preempted is not shown.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::c;
use crate::stats::{Summary, summarise};

/// Operations timed together.
pub const BATCH: u32 = 64;

/// One of those measured side by side.
pub struct Peer<'a> {
    /// Name in tables; unique in its scenario.
    pub name: &'static str,
    /// What one operation writes, clears and owns.
    pub touches: &'static str,
    /// Locks and other read-modify-writes of one operation.
    pub locks: &'static str,
    /// Does `operations` operations as thread number `thread`.
    pub work: Box<dyn Fn(usize, u32) + Sync + 'a>,
}

/// Peers that do the same thing under the same conditions. The first one is what the others are compared with.
pub struct Scenario<'a> {
    /// `group/situation`.
    pub name: &'static str,
    /// What one operation is.
    pub operation: &'static str,
    /// Threads at work at the same time.
    pub threads: usize,
    /// Operations timed together: [`BATCH`], or fewer where one takes long.
    pub batch: u32,
    /// Name of the peer that only the first thread works for, while the others do nothing; "" = none.
    pub alone: &'static str,
    /// Who takes part.
    pub peers: Vec<Peer<'a>>,
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Runs, each with threads of its own.
    pub runs: usize,
    /// Undisturbed slices of each peer in a run, if they can be had with four times as many.
    pub rounds: usize,
    /// Length of a slice.
    pub slice: Duration,
}

impl Effort {
    /// Enough runs for an interval.
    pub const FULL: Self = Self { runs: 9, rounds: 40, slice: Duration::from_millis(2) };
    /// A look.
    pub const QUICK: Self = Self { runs: 3, rounds: 10, slice: Duration::from_millis(2) };
    /// Whether it works at all.
    pub const SMOKE: Self = Self { runs: 1, rounds: 1, slice: Duration::from_millis(1) };
}

/// What was found out about one peer. Times are nanoseconds per operation, of batch means over all runs and threads.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the peer.
    pub name: &'static str,
    /// From [`Peer::touches`].
    pub touches: &'static str,
    /// From [`Peer::locks`].
    pub locks: &'static str,
    /// Half of the batches were faster.
    pub p50_ns: f64,
    /// 99 % were faster.
    pub p99_ns: f64,
    /// 99.9 % were faster.
    pub p999_ns: f64,
    /// Slowest batch.
    pub max_ns: f64,
    /// Mean.
    pub mean_ns: f64,
    /// The distribution: nanoseconds, and the per cent of batches that were not slower.
    pub curve: Vec<(f64, f64)>,
    /// Batches measured.
    pub batches: u64,
    /// Slices measured, all runs together.
    pub slices: usize,
    /// Of these, slices in which a thread was preempted: there was not enough quiet.
    pub disturbed: usize,
    /// 99.9th percentile ÷ median of the batches of one run, in the best run.
    pub tail: f64,
    /// Median batch of this peer ÷ median batch of the first peer, per run: above 1 the first peer is faster. `None` for
    /// the first peer itself.
    pub ratio: Option<Summary>,
    /// The same of the means, which counts the time lost to sleeping on a lock.
    pub ratio_of_means: Option<Summary>,
}

/// The processors this process may use.
#[must_use]
pub fn processors() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Measures a scenario; `None` when it has more threads than there are processors, for then they would take turns and
/// the times would be those of the scheduler.
#[must_use]
pub fn measure(scenario: &Scenario<'_>, effort: Effort, mut progress: impl FnMut(usize)) -> Option<Vec<Row>> {
    let cpus = processors();
    if cpus.len() < scenario.threads {
        return None;
    }
    let peers = scenario.peers.len();
    let mut all: Vec<Histogram<u64>> = (0..peers).map(|_| empty()).collect();
    let (mut slices, mut disturbed) = (vec![0; peers], vec![0; peers]);
    let (mut medians, mut means, mut tails) = (vec![Vec::new(); peers], vec![Vec::new(); peers], vec![f64::INFINITY; peers]);
    for run in 0..effort.runs {
        progress(run);
        let of_run = one_run(scenario, effort, run, &cpus);
        let numbers = |value: fn(&Histogram<u64>) -> f64| of_run.iter().map(|found| value(found.used())).collect::<Vec<_>>();
        let (median, mean) = (numbers(|histogram| histogram.value_at_quantile(0.5) as f64), numbers(Histogram::mean));
        let tail = numbers(|histogram| histogram.value_at_quantile(0.999) as f64);
        for peer in 0..peers {
            tails[peer] = tails[peer].min(tail[peer] / median[peer]);
            medians[peer].push(median[peer] / median[0]);
            means[peer].push(mean[peer] / mean[0]);
            add(&mut all[peer], of_run[peer].used());
            let (used, of_these) = of_run[peer].slices();
            slices[peer] += used;
            disturbed[peer] += of_these;
        }
    }
    let rows = scenario.peers.iter().enumerate().map(|(index, peer)| {
        let histogram = &all[index];
        let per_operation = |batch: f64| batch / f64::from(scenario.batch);
        let at = |quantile| per_operation(histogram.value_at_quantile(quantile) as f64);
        Row {
            name: peer.name,
            touches: peer.touches,
            locks: peer.locks,
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: per_operation(histogram.max() as f64),
            mean_ns: per_operation(histogram.mean()),
            curve: CURVE.iter().map(|&percent| (at(percent / 100.0), percent)).collect(),
            batches: histogram.len(),
            slices: slices[index],
            disturbed: disturbed[index],
            tail: tails[index],
            ratio: (index > 0).then(|| summarise(&medians[index])).flatten(),
            ratio_of_means: (index > 0).then(|| summarise(&means[index])).flatten(),
        }
    });
    Some(rows.collect())
}

/// Per cents of a distribution that are kept.
const CURVE: [f64; 27] = [
    0.1, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0, 75.0, 80.0, 85.0, 90.0,
    95.0, 98.0, 99.0, 99.5, 99.9, 100.0,
];

/// Nanoseconds of whole batches, three digits, up to ten seconds.
fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 10_000_000_000, 3).unwrap_or_else(|error| unreachable!("the bounds are allowed: {error}"))
}

fn add(all: &mut Histogram<u64>, more: &Histogram<u64>) {
    all.add(more).unwrap_or_else(|error| unreachable!("all have the same bounds: {error}"));
}

/// Batches of one peer in one run.
struct Found {
    quiet: Histogram<u64>,
    quiet_slices: usize,
    disturbed: Histogram<u64>,
    disturbed_slices: usize,
}

impl Found {
    fn new() -> Self {
        Self { quiet: empty(), quiet_slices: 0, disturbed: empty(), disturbed_slices: 0 }
    }

    fn is_empty(&self) -> bool {
        self.quiet.is_empty()
    }

    /// The quiet slices; if there were none, the disturbed ones.
    fn used(&self) -> &Histogram<u64> {
        if self.is_empty() { &self.disturbed } else { &self.quiet }
    }

    /// Slices in use, and how many of them were disturbed.
    fn slices(&self) -> (usize, usize) {
        if self.is_empty() { (self.disturbed_slices, self.disturbed_slices) } else { (self.quiet_slices, 0) }
    }

    fn add(&mut self, other: &Self) {
        add(&mut self.quiet, &other.quiet);
        add(&mut self.disturbed, &other.disturbed);
        // The threads of a run share their slices.
        self.quiet_slices = other.quiet_slices;
        self.disturbed_slices = other.disturbed_slices;
    }
}

/// What was found of each peer, all threads together.
fn one_run(scenario: &Scenario<'_>, effort: Effort, run: usize, cpus: &[usize]) -> Vec<Found> {
    let meeting = Meeting::new(scenario.threads);
    let of_threads: Vec<Vec<Found>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..scenario.threads)
            .map(|thread| {
                let meeting = &meeting;
                // Runs begin on different processors, so that a busy one does not burden one run after the other.
                let cpu = cpus[(thread + run) % cpus.len()];
                scope.spawn(move || one_thread(scenario, effort, run, thread, cpu, meeting))
            })
            .collect();
        let join =
            |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        threads.into_iter().map(join).collect()
    });
    let mut merged: Vec<Found> = scenario.peers.iter().map(|_| Found::new()).collect();
    for of_thread in &of_threads {
        merged.iter_mut().zip(of_thread).for_each(|(all, more)| all.add(more));
    }
    merged
}

fn one_thread(scenario: &Scenario<'_>, effort: Effort, run: usize, thread: usize, cpu: usize, meeting: &Meeting) -> Vec<Found> {
    let mut set = CpuSet::new();
    set.set(cpu);
    // Unpinned threads are measured all the same; a container may forbid it.
    let _ = sched_setaffinity(None, &set);
    let peers = scenario.peers.len();
    let mut found: Vec<Found> = (0..peers).map(|_| Found::new()).collect();
    let works = |peer: &Peer<'_>| thread == 0 || peer.name != scenario.alone;
    for peer in scenario.peers.iter().filter(|peer| works(peer)) {
        (0..4).for_each(|_| (peer.work)(thread, scenario.batch));
    }
    let mut of_slice = empty();
    for round in 0..effort.rounds * 4 {
        for turn in 0..peers {
            let index = (turn + round + run) % peers;
            let (found, peer) = (&mut found[index], &scenario.peers[index]);
            // The same on all threads, for they agree on which slices were quiet.
            if found.quiet_slices == effort.rounds {
                continue;
            }
            of_slice.reset();
            let slice = meeting.begin(effort.slice);
            while !works(peer) && !slice.is_over(Instant::now()) {
                spin_loop();
            }
            while works(peer) {
                let begin = Instant::now();
                (peer.work)(thread, scenario.batch);
                let end = Instant::now();
                let over = slice.is_over(end);
                // The last batch may have run alone in part; it counts only where there is no other.
                if !over || of_slice.is_empty() {
                    of_slice.saturating_record((end - begin).as_nanos() as u64);
                }
                if over {
                    break;
                }
            }
            if slice.end() {
                found.quiet_slices += 1;
                add(&mut found.quiet, &of_slice);
            } else {
                found.disturbed_slices += 1;
                add(&mut found.disturbed, &of_slice);
            }
        }
    }
    found
}

/// Longest wait for the other threads of a run.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the threads of a run wait for each other, so that none measures a peer while another is elsewhere.
struct Meeting {
    threads: usize,
    arrived: AtomicUsize,
    over: AtomicUsize,
    disturbed: AtomicUsize,
}

struct Slice<'a> {
    meeting: &'a Meeting,
    number: usize,
    until: Instant,
    preemptions: i64,
}

impl Meeting {
    fn new(threads: usize) -> Self {
        Self { threads, arrived: AtomicUsize::new(0), over: AtomicUsize::new(0), disturbed: AtomicUsize::new(0) }
    }

    /// Waits for all threads; gives the number of the meeting, counted from 1.
    fn wait(&self) -> usize {
        let number = self.arrived.fetch_add(1, SeqCst) / self.threads + 1;
        let (since, mut looks) = (Instant::now(), 0_u32);
        while self.arrived.load(SeqCst) < number * self.threads {
            looks += 1;
            if !looks.is_multiple_of(1024) {
                spin_loop();
                continue;
            }
            // A peer that panicked on another thread must not leave this one waiting for ever.
            assert!(since.elapsed() < PATIENCE, "another thread of the run did not come");
            std::thread::yield_now();
        }
        number
    }

    fn begin(&self, length: Duration) -> Slice<'_> {
        let number = self.wait();
        Slice { meeting: self, number, preemptions: c::preemptions(), until: Instant::now() + length }
    }
}

impl Slice<'_> {
    /// Whether this thread's time or another's is up.
    fn is_over(&self, now: Instant) -> bool {
        if now >= self.until {
            self.meeting.over.fetch_max(self.number, SeqCst);
        }
        self.meeting.over.load(SeqCst) >= self.number
    }

    /// Waits for all threads; whether none was preempted.
    fn end(self) -> bool {
        if c::preemptions() != self.preemptions {
            self.meeting.disturbed.fetch_max(self.number, SeqCst);
        }
        self.meeting.wait();
        self.meeting.disturbed.load(SeqCst) < self.number
    }
}
