//! Replays every recorded answer of the real driver (`tests/golden`) through the model in this process.

mod replay;

use std::collections::BTreeMap;
use std::rc::Rc;

use nrt_core::arch::Arch;
use nrt_sim::{SimConfig, SimStorage};

use replay::in_process::{InProcess, Machine};
use replay::{Compared, Door, ENGINE, Process, Recording, text};

/// Process id of a recorded process.
fn pid(who: &str) -> u32 {
    1000 + u32::from(who.as_bytes()[0])
}

/// The recorded processes.
struct Crowd {
    machine: Rc<Machine>,
    all: BTreeMap<String, Process<InProcess>>,
    /// Processes that attached only to fill the slots.
    fillers: Vec<InProcess>,
}

impl Crowd {
    /// A process; one that is new is a child of the first.
    fn process(&mut self, who: &str) -> &mut Process<InProcess> {
        if !self.all.contains_key(who) {
            let parent = &self.all["A"];
            let mut child = parent.fork(parent.door().fork(pid(who)));
            child.start(who);
            self.all.insert(who.to_owned(), child);
        }
        self.all.get_mut(who).expect("it is there")
    }

    fn end(&mut self, who: &str) {
        if let Some(process) = self.all.remove(who) {
            process.into_door().end();
        }
    }

    /// Another process attaches only to take a slot.
    fn filler(&mut self) -> i64 {
        let mut filler = InProcess::new(&self.machine, 2000 + self.fillers.len() as u32);
        let (opened, errno) = filler.open(libc::O_RDWR);
        self.fillers.push(filler);
        if opened < 0 { errno } else { 0 }
    }

    /// Does a line; `None` for remarks.
    fn line(&mut self, recording: &Recording, index: usize) -> Option<Result<Compared, String>> {
        let line = &recording.lines[index];
        if let Some((who, last)) = recording.end_of_process(line) {
            let ended = self.process(who).last_request(&last);
            self.end(who);
            return Some(if ended == Some(last.signal) { Ok(Ok(())) } else { Err(format!("ended by {ended:?}: {line}")) });
        }
        if text(line, "note").starts_with("child killed by signal") {
            self.end("K");
            return None;
        }
        if text(line, "obs") == "open by another process: errno" {
            let errno = self.filler();
            return Some(if line["value"] == errno { Ok(Ok(())) } else { Err(format!("{errno}: {line}")) });
        }
        let who = if text(line, "who").is_empty() { recording.observer(index) } else { text(line, "who") };
        if text(line, "who").is_empty() && line.get("obs").is_none() && line.get("sysfs").is_none() {
            return None;
        }
        if text(line, "who") == "A" {
            // The others have ended, except the one that is going to be killed.
            let ended: Vec<String> = self.all.keys().filter(|who| *who != "A" && *who != "K").cloned().collect();
            ended.iter().for_each(|who| self.end(who));
        }
        let compared = self.process(who).line(line);
        if text(line, "op") == "open" && line["ret"] == -1 {
            self.fillers.drain(..).for_each(InProcess::end);
        }
        Some(compared)
    }
}

/// Replays a file: every line is equal, except observations of the copy engine's inside, of which there are so many.
fn replay_file<const N: usize>(storage: &'static SimStorage<N, 1>, name: &str, text: &str, equal: usize, inside: usize) {
    replay_on(storage, SimConfig::new(Arch::Sunda), name, &Recording::new(text), equal, inside);
}

/// Replays a recording on devices of another kind.
fn replay_on<const N: usize>(
    storage: &'static SimStorage<N, 1>,
    config: SimConfig,
    name: &str,
    recording: &Recording,
    equal: usize,
    inside: usize,
) {
    let machine = Machine::new(storage, SimConfig { strict: false, ..config });
    let mut first = Process::new(InProcess::new(&machine, pid("A")), &recording.scenario);
    first.host_bit = config.arch.host_memory_bit();
    let mut crowd = Crowd { machine, all: BTreeMap::from([("A".to_owned(), first)]), fillers: Vec::new() };
    let (mut same, mut left_out) = (0, 0);
    for index in 0..recording.lines.len() {
        match crowd.line(recording, index) {
            None => {}
            Some(Ok(Ok(()))) => same += 1,
            Some(Ok(Err(reason))) => {
                assert_eq!(reason, ENGINE, "{name}: {}", recording.lines[index]);
                left_out += 1;
            }
            Some(Err(what)) => panic!("{name}: {what}"),
        }
    }
    println!("{name}: {same} answers equal, {left_out} inside of the copy engine");
    assert_eq!((same, left_out), (equal, inside), "{name}: equal answers, and those inside of the engine");
}

macro_rules! golden {
    ($($(#[$doc:meta])* $name:ident, $file:literal, $records:literal, $equal:literal, $inside:literal;)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            static STORAGE: SimStorage<$records, 1> = SimStorage::new();
            replay_file(&STORAGE, $file, include_str!(concat!("golden/", $file, ".jsonl")), $equal, $inside);
        }
    )*};
}

golden! {
    /// Identification, misc descriptors, unknown numbers, bad argument pointers, odd open flags.
    probe, "v2-probe", 1000, 140, 0;
    /// Sizes, channels, handle reuse, dumps.
    sizes, "v2-sizes", 1000, 104, 0;
    /// All allocation forms and limits, failed handle writes included.
    forms, "v2-forms", 1000, 252, 0;
    /// Alignments, powers of two or not.
    align, "v2-align", 1000, 443, 0;
    /// Host memory.
    host, "v2-host", 1000, 80, 1;
    /// Contiguous scratchpad.
    scratch, "v2-scratch", 1000, 62, 0;
    /// Queries on good and bad handles, bad inner pointers, totals.
    query, "v2-query", 1000, 207, 0;
    /// Fragmentation.
    frag, "v2-frag", 1000, 98, 0;
    /// An HBM filled with chunks of 4 KiB.
    exhaust, "v2-exhaust", 300_000, 76, 0;
    /// Mappings as root and as somebody else, fork, mprotect, special windows.
    mmap, "v2-mmap", 1000, 192, 0;
    /// Several processes.
    processes, "v2-procs", 1000, 88, 0;
    /// Core reservation.
    cores, "v2-crwl", 1000, 93, 0;
    /// Copies and fills with the bytes they move.
    copies, "v2-copy", 1000, 155, 51;
    /// Asynchronous copies.
    asynchronous, "v2-async", 1000, 73, 8;
    /// Names and counters in sysfs.
    sysfs, "v2-sysfs", 1000, 95, 0;
    /// Allocation by a process that is not attached.
    hazard_unattached, "v2-hazard0", 1000, 4, 0;
    /// Bus address beyond the last slot.
    hazard_bus_address, "v2-hazard1", 1000, 4, 0;
    /// Category 19 in host memory, copied.
    hazard_contiguous_copy, "v2-hazard2", 1000, 5, 0;
    /// Category 19 in host memory, freed.
    hazard_contiguous_free, "v2-hazard3", 1000, 5, 0;
    /// Zero-copy of length 0.
    hazard_zero_copy, "v2-hazard4", 1000, 6, 0;
}

/// The facts hold with the constants of the other architectures. Not among the files: those whose answers are constants
/// of SUNDA (identification, sizes of its HBM, special windows, names in sysfs); `constants.rs` has those of the others.
#[test]
fn other_architectures() {
    const FILES: [(&str, &str, usize, usize); 10] = [
        ("v2-sizes", include_str!("golden/v2-sizes.jsonl"), 102, 0),
        ("v2-align", include_str!("golden/v2-align.jsonl"), 443, 0),
        ("v2-frag", include_str!("golden/v2-frag.jsonl"), 98, 0),
        ("v2-host", include_str!("golden/v2-host.jsonl"), 80, 1),
        ("v2-scratch", include_str!("golden/v2-scratch.jsonl"), 62, 0),
        ("v2-query", include_str!("golden/v2-query.jsonl"), 207, 0),
        ("v2-procs", include_str!("golden/v2-procs.jsonl"), 88, 0),
        ("v2-crwl", include_str!("golden/v2-crwl.jsonl"), 93, 0),
        ("v2-copy", include_str!("golden/v2-copy.jsonl"), 155, 51),
        ("v2-async", include_str!("golden/v2-async.jsonl"), 73, 8),
    ];
    static STORAGES: [SimStorage<1000, 1>; 2 * FILES.len()] = [const { SimStorage::new() }; 2 * FILES.len()];
    let archs = [Arch::Cayman, Arch::Mariana];
    let all = archs.into_iter().flat_map(|arch| FILES.into_iter().map(move |file| (arch, file)));
    for ((arch, (name, text, equal, inside)), storage) in all.zip(&STORAGES) {
        let config = SimConfig::new(arch);
        replay_on(storage, config, &format!("{name} on {arch}"), &Recording::new(text).on(&config), equal, inside);
    }
}
