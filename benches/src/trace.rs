//! Loads that are replayed: made up here, or read from a trace of real ones.
//!
//! A trace is a file of JSON objects, one on a line: what `nrt-emulate --trace=json` writes, or by hand
//!
//! ```json
//! {"alloc": 17, "bytes": 65536}
//! {"free": 17}
//! ```
//!
//! Of the emulator's lines, successful `MEM_ALLOC*` calls for device memory and `MEM_FREE` calls count; all else is passed
//! over, and so is a free of what the trace did not allocate. What is live at the end is freed there, for the replay goes
//! round and round.

use std::collections::HashMap;

use serde_json::Value;

/// A step: allocates `bytes` at a place that is empty, or frees what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Number of the place.
    pub place: u32,
    /// Bytes, not 0; without meaning when the step frees.
    pub bytes: u64,
}

/// A load. Every place is empty after the last step.
#[derive(Debug, PartialEq, Eq)]
pub struct Script {
    /// Places in use.
    pub places: u32,
    /// Small ranges that stay throughout, with a hole behind each.
    pub kept: u32,
    /// At least one allocation and its free.
    pub steps: Vec<Step>,
}

/// The same numbers each time (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32
    }

    /// 4 KiB to 8 MiB, each power of two as likely as another, and then anything up to the next.
    fn bytes(&mut self) -> u64 {
        let magnitude = 4096_u64 << (self.next() % 11);
        magnitude + self.next() % magnitude
    }
}

const SEED: u64 = 0x6E72_7462_656E_6368;

impl Script {
    /// Allocates and frees at once, with sizes that vary.
    #[must_use]
    pub fn pairs() -> Self {
        let mut numbers = Numbers(SEED);
        let pair = |_| {
            let step = Step { place: 0, bytes: numbers.bytes() };
            [step, step]
        };
        Self { places: 1, kept: 1000, steps: (0..1024).flat_map(pair).collect() }
    }

    /// 512 places, of which one after the other, picked at random, changes between empty and full.
    #[must_use]
    pub fn mixed() -> Self {
        let mut numbers = Numbers(SEED);
        let mut full = [false; 512];
        let mut steps = Vec::new();
        for _ in 0..32_768 {
            let place = (numbers.next() % 512) as u32;
            steps.push(Step { place, bytes: numbers.bytes() });
            full[place as usize] ^= true;
        }
        steps.extend((0..512).filter(|&place| full[place as usize]).map(|place| Step { place, bytes: 1 }));
        Self { places: 512, kept: 1000, steps }
    }

    /// Reads a trace.
    ///
    /// # Errors
    /// The number of a line and what is wrong with it; or that nothing is allocated.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut script = Self { places: 0, kept: 0, steps: Vec::new() };
        let mut live: HashMap<(u64, u64), u32> = HashMap::new();
        let mut empty = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let line: Value = serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"))?;
            match event(&line).map_err(|what| format!("line {number}: {what}"))? {
                Event::Other => {}
                Event::Alloc { id, bytes } => {
                    let place = empty.pop().unwrap_or_else(|| {
                        script.places += 1;
                        script.places - 1
                    });
                    if live.insert(id, place).is_some() {
                        return Err(format!("line {number}: {} is live already", id.1));
                    }
                    script.steps.push(Step { place, bytes });
                }
                Event::Free { id } => {
                    if let Some(place) = live.remove(&id) {
                        script.steps.push(Step { place, bytes: 1 });
                        empty.push(place);
                    }
                }
            }
        }
        let mut left: Vec<u32> = live.into_values().collect();
        left.sort_unstable();
        script.steps.extend(left.into_iter().map(|place| Step { place, bytes: 1 }));
        if script.steps.is_empty() { Err("nothing is allocated in it".into()) } else { Ok(script) }
    }
}

/// What a line says. Handles are of a process.
enum Event {
    Other,
    Alloc { id: (u64, u64), bytes: u64 },
    Free { id: (u64, u64) },
}

fn event(line: &Value) -> Result<Event, String> {
    let number = |value: &Value, what: &str| value.as_u64().ok_or(format!("{what} is no number"));
    let positive = |bytes: u64| if bytes == 0 { Err("0 bytes".to_owned()) } else { Ok(bytes) };
    if let Some(id) = line.get("alloc") {
        return Ok(Event::Alloc { id: (0, number(id, "alloc")?), bytes: positive(number(&line["bytes"], "bytes")?)? });
    }
    if let Some(id) = line.get("free") {
        return Ok(Event::Free { id: (0, number(id, "free")?) });
    }
    let (call, args) = (line["call"].as_str().unwrap_or(""), &line["args"]);
    if line["ret"].as_i64() != Some(0) {
        return Ok(Event::Other);
    }
    let pid = line["pid"].as_u64().unwrap_or(0);
    if call.starts_with("MEM_ALLOC") && args["host_memory"].as_u64() == Some(0) {
        let id = number(&line["out"]["handle"], "out.handle")?;
        return Ok(Event::Alloc { id: (pid, id), bytes: positive(number(&args["size"], "args.size")?)? });
    }
    if call == "MEM_FREE" {
        return Ok(Event::Free { id: (pid, number(&args["mem_handle"], "args.mem_handle")?) });
    }
    Ok(Event::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places that are full after all steps.
    fn left(script: &Script) -> usize {
        let mut full = vec![false; script.places as usize];
        script.steps.iter().for_each(|step| full[step.place as usize] ^= true);
        full.into_iter().filter(|&full| full).count()
    }

    #[test]
    fn loads_leave_nothing() {
        for script in [Script::pairs(), Script::mixed()] {
            assert_eq!(left(&script), 0);
            assert!(script.steps.iter().all(|step| step.bytes > 0));
        }
    }

    #[test]
    fn both_formats() {
        let text = r#"
{"alloc": 1, "bytes": 100}
{"pid": 7, "call": "open", "args": {}, "ret": 0}
{"pid": 7, "call": "MEM_ALLOC_V2MT64", "args": {"size": 4096, "host_memory": 0}, "ret": 0, "out": {"handle": 1}}
{"pid": 7, "call": "MEM_ALLOC_V2MT64", "args": {"size": 64, "host_memory": 1}, "ret": 0, "out": {"handle": 2}}
{"pid": 7, "call": "MEM_ALLOC", "args": {"size": 4096, "host_memory": 0}, "ret": -1, "errno": 12}
{"pid": 7, "call": "MEM_FREE", "args": {"mem_handle": 1}, "ret": 0}
{"pid": 7, "call": "MEM_FREE", "args": {"mem_handle": 9}, "ret": 0}
"#;
        let script = Script::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let step = |place, bytes| Step { place, bytes };
        assert_eq!(script.steps, [step(0, 100), step(1, 4096), step(1, 1), step(0, 1)]);
        assert_eq!((script.places, left(&script)), (2, 0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, error) in [
            ("{\"alloc\": 1, \"bytes\": 0}", "line 1: 0 bytes"),
            ("{\"alloc\": 1, \"bytes\": 5}\n{\"alloc\": 1, \"bytes\": 5}", "line 2: 1 is live already"),
            ("{\"free\": \"x\"}", "line 1: free is no number"),
            ("", "nothing is allocated in it"),
        ] {
            assert_eq!(Script::parse(text), Err(error.to_owned()));
        }
    }
}
