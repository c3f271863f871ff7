//! One recorded file, request by request.

mod requests;

use std::collections::BTreeMap;

use serde_json::Value;

use nrt_core::arch::Arch;
use nrt_sim::{Kernel, SimConfig, SimStorage};

/// What became of the lines of a file.
#[derive(Default)]
pub(crate) struct Outcome {
    /// System calls (single or bulk) in the file, and observations that stand for one.
    pub(crate) lines: usize,
    /// Those compared with the model.
    pub(crate) replayed: usize,
    /// The others, by reason.
    pub(crate) skipped: BTreeMap<&'static str, usize>,
}

/// The model and what the recording client knew.
pub(crate) struct Replay {
    kernel: Kernel,
    /// Handles of bulk allocations, by list number.
    lists: BTreeMap<u64, Vec<u64>>,
    /// Descriptors opened write-only.
    misc: Vec<(String, String)>,
    /// Handle of the mapping of each process.
    mapped: BTreeMap<String, u64>,
    /// Processes that attached only to fill the slots.
    fillers: u32,
}

/// Why a line is not compared.
pub(crate) type Skip = &'static str;

/// The model answers as the recording says, or the line is not for it.
pub(crate) type Compared = Result<(), Skip>;

/// Replays a file on a fresh model; panics at the first different answer.
pub(crate) fn replay<const N: usize, const D: usize>(storage: &'static SimStorage<N, D>, text: &str) -> Outcome {
    let kernel = Kernel::new(storage, SimConfig::new(Arch::Sunda)).expect("a model");
    let mut replay = Replay { kernel, lists: BTreeMap::new(), misc: Vec::new(), mapped: BTreeMap::new(), fillers: 0 };
    let mut outcome = Outcome::default();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let compared = if line.get("op").is_some() {
            replay.call(&line)
        } else if line.get("bulk").is_some() {
            replay.bulk(&line)
        } else if line.get("obs").is_some_and(|obs| obs == "open by another process: errno") {
            replay.filler(&line)
        } else {
            replay.remark(&line);
            continue;
        };
        outcome.lines += 1;
        match compared {
            Ok(()) => outcome.replayed += 1,
            Err(kind) => *outcome.skipped.entry(kind).or_default() += 1,
        }
    }
    outcome
}

/// A number of the line, 0 when missing.
pub(crate) fn number(value: &Value, key: &str) -> u64 {
    value.get(key).map_or(0, |number| number.as_u64().expect("a number that is not negative"))
}

/// A number of the line that may be negative, 0 when missing.
pub(crate) fn signed(value: &Value, key: &str) -> i64 {
    value.get(key).map_or(0, |number| number.as_i64().expect("a number"))
}

/// A text of the line, empty when missing.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

/// Process id of a recorded process.
pub(crate) fn pid(who: &str) -> u32 {
    1000 + u32::from(who.as_bytes()[0])
}

impl Replay {
    /// Lines between the requests. A death is only told in a note.
    fn remark(&mut self, line: &Value) {
        if text(line, "note") == "child killed by signal 9" {
            while self.kernel.is_attached(pid("K"), 0) {
                self.kernel.close(pid("K"), 0).expect("death");
            }
        }
    }

    /// Another process attaches only to take a slot.
    fn filler(&mut self, line: &Value) -> Compared {
        self.fillers += 1;
        let errno = self.kernel.open(self.fillers, 0).map_or_else(|errno| errno.0, |()| 0);
        assert_eq!(i64::from(errno), signed(line, "value"), "{line}");
        Ok(())
    }

    /// The processes that only took slots end.
    fn fillers_end(&mut self) {
        for filler in 1..=self.fillers {
            self.kernel.close(filler, 0).expect("end of a filler");
        }
        self.fillers = 0;
    }
}
