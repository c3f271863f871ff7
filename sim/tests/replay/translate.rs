//! The recorded facts with the constants of another architecture.
//!
//! The recordings are of SUNDA: two HBMs of 16 GiB. An address keeps its distance from the start of its HBM, or, in the
//! small pool and in contiguous scratchpads, which grow downward, from the end of it.

use nrt_core::arch::Arch;
use nrt_sim::SimConfig;
use serde_json::Value;

use super::{Recording, number};

const GIB: u64 = 1 << 30;
/// Bytes of an HBM of the recorded device; below, of its main pool.
const RECORDED: u64 = 16 * GIB;
const MAIN: u64 = 15 * GIB;

/// The address in the HBMs of `config` that stands for a recorded one. `grows_down`: addresses near the end of the main
/// pool are counted from there.
fn address(pa: u64, config: &SimConfig, grows_down: bool) -> u64 {
    let from_end = if grows_down { MAIN - GIB } else { MAIN };
    for channel in 0..2 {
        let (recorded, other) = (Arch::Sunda.hbm_base(channel), config.arch.hbm_base(channel));
        if let (Some(recorded), Some(other)) = (recorded, other)
            && let Some(offset) = pa.checked_sub(recorded).filter(|&offset| offset < RECORDED)
        {
            return other + if offset >= from_end { offset + (config.hbm_bytes - RECORDED) } else { offset };
        }
    }
    pa
}

/// Translates every address of a value.
fn translate(value: &mut Value, config: &SimConfig, grows_down: bool) {
    let number = |value: &mut Value| {
        if let Some(pa) = value.as_u64() {
            *value = address(pa, config, grows_down).into();
        }
    };
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match &**name {
                    "pa" => number(field),
                    "chunks" => {
                        for chunk in field.as_array_mut().into_iter().flatten() {
                            number(&mut chunk[0]);
                        }
                    }
                    // A chunk of most of the main pool is one of most of the other main pool.
                    "size" if grows_down && field.as_u64().is_some_and(|size| size > RECORDED / 2 && size < RECORDED) => {
                        *field = (field.as_u64().unwrap_or(0) + (config.hbm_bytes - RECORDED)).into();
                    }
                    "architecture" => *field = (config.arch as u32).into(),
                    _ => translate(field, config, grows_down),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|value| translate(value, config, grows_down)),
        _ => {}
    }
}

impl Recording {
    /// The same recording for the devices of `config`, without the lines that are about missing channels.
    pub(crate) fn on(mut self, config: &SimConfig) -> Self {
        // Channels that the recorded device does not have are refused there and exist here.
        let absent = |line: &Value| ["channel", "hbm"].iter().any(|name| (2..4).contains(&number(&line["in"], name)));
        self.lines.retain(|line| !absent(line));
        let grows_down = self.scenario == "scratch";
        self.lines.iter_mut().for_each(|line| translate(line, config, grows_down));
        self
    }
}
