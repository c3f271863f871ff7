//! What the recording client measured, measured again.

use serde_json::Value;

use super::calls::Process;
use super::{Compared, Door, ENGINE, number, text};

/// Parts of the listing that are not the memory path's: what the kernel adds to every device, counters of engines and
/// running models, and their directories.
const NOT_LISTED: [&str; 7] = [
    "./neuron0/power",
    "./neuron0/subsystem",
    "./neuron0/stats/hardware",
    "./neuron0/stats/power",
    "/stats/other_info",
    "/stats/status",
    "/stats/tensor_engine",
];

fn counted(bytes: &[u8], value: u8) -> u64 {
    bytes.iter().filter(|&&byte| byte == value).count() as u64
}

impl<D: Door> Process<D> {
    /// Compares an observation.
    pub(crate) fn observe(&mut self, line: &Value) -> Result<Compared, String> {
        let what = text(line, "obs");
        if what.starts_with("dma ") {
            return Ok(Err(ENGINE));
        }
        let last = self.maps.last().copied().unwrap_or((0, 0)).0;
        let (out, pattern) = (&self.out, &self.pattern);
        let size = self.copied;
        let holds = |holds: bool| Value::from(u64::from(holds));
        let value = match what {
            "equal" | "round trip equal" | "async content equal" => holds(out[..size] == pattern[..size]),
            "fresh host chunk reads as zero" => holds(counted(&out[..size], 0) == size as u64),
            "byte 5 written through the mapping" => out[5].into(),
            "device copy equal" => holds(out[..size] == pattern[3..3 + size]),
            "host->device content is device->host content" => {
                let seen = self.out[..size].to_vec();
                holds(self.read_chunk(3, 11, size) == seen)
            }
            "bytes of the source pattern found in the destination (the modelled engine reads length 0 as 64 KiB)" => {
                counted(&out[..size], 0x44).into()
            }
            "bytes still 0x11" => counted(&out[..size], 0x11).into(),
            "bytes 0x22" => counted(&out[..size], 0x22).into(),
            "bytes 0x33 (stale staging buffer)" => counted(&out[..size], 0x33).into(),
            "bytes 0,1,70000,70001" => [0, 1, 70000, 70001].map(|at| out[at]).to_vec().into(),
            "host memset ok" => holds(counted(&out[..100_000], 119) == 100_000 && out[100_000] != 119),
            "adjacent" => holds(self.addresses[&8] == self.addresses[&7] + (1 << 20)),
            "last byte of x, first byte of y" => self.singles[self.singles.len() - 2..].to_vec().into(),
            "bytes" => self.singles[self.singles.len() - 3..].to_vec().into(),
            "byte seen" => out[0].into(),
            "resources found" => self.resources.into(),
            "through mapping" => self.door.peek(last + 8192).map_err(|signal| format!("signal {signal}: {line}"))?.into(),
            "first bytes at 0, 4096" => {
                let seen = [0, 4096].map(|at| self.door.peek(last + at));
                seen.into_iter().collect::<Result<Vec<u8>, i32>>().map_err(|signal| format!("signal {signal}: {line}"))?.into()
            }
            _ if line.get("fault").is_some() => return self.touch(line, what, last).map(Ok),
            _ => return Err(format!("an observation nobody thought of: {line}")),
        };
        if value == line["value"] { Ok(Ok(())) } else { Err(format!("{value}: {line}")) }
    }

    /// Touches a mapping and compares the fault, or the byte.
    fn touch(&mut self, line: &Value, what: &str, last: u64) -> Result<(), String> {
        let page = match what {
            "read unmapped page" => 1,
            "read page 2" => 2,
            _ => 0,
        };
        let at = last + page * 4096;
        let (fault, value) = if what.starts_with("write ") {
            (self.door.poke(at, 67).err(), None)
        } else {
            let seen = self.door.peek(at);
            (seen.err(), seen.ok())
        };
        let same = u64::from(fault.unwrap_or(0).unsigned_abs()) == number(line, "fault")
            && line.get("value").is_none_or(|expected| value.map(Value::from).as_ref() == Some(expected));
        if same { Ok(()) } else { Err(format!("fault {fault:?}, value {value:?}: {line}")) }
    }

    /// Compares a file of sysfs, or the names of all.
    pub(crate) fn sysfs(&mut self, line: &Value) -> Result<Compared, String> {
        let path = text(line, "sysfs");
        if path == "(listing)" {
            let listed = |name: &&str| !name.is_empty() && !NOT_LISTED.iter().any(|part| name.contains(part));
            // A directory that only holds what is left out is left out with it.
            let recorded: Vec<&str> = text(line, "text").lines().filter(listed).collect();
            let ours: Vec<String> = self.door.listing().into_iter().filter(|name| listed(&name.as_str())).collect();
            let missing: Vec<_> = recorded.iter().filter(|name| !ours.iter().any(|own| own == *name)).collect();
            let added: Vec<_> = ours.iter().filter(|name| !recorded.contains(&name.as_str())).collect();
            return if missing.is_empty() && added.is_empty() {
                Ok(Ok(()))
            } else {
                Err(format!("missing {missing:?}, added {added:?}"))
            };
        }
        let read = self.door.attribute(path);
        let same = match &read {
            Ok(found) => line["text"] == **found,
            Err(errno) => line["errno"] == *errno,
        };
        if same { Ok(Ok(())) } else { Err(format!("{read:?}: {line}")) }
    }
}
