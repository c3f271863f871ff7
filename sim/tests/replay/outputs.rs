//! What requests wrote, compared with the recording.

use serde_json::Value;

use super::calls::Process;
use super::layout::Layout;
use super::{Door, number};

impl<D: Door> Process<D> {
    /// Compares what a request wrote.
    pub(super) fn outputs(
        &mut self,
        line: &Value,
        layout: &Layout,
        argument: &[u8],
        cells: &[u64; 4],
        entries: &[[u64; 3]],
    ) -> Result<(), String> {
        let out = &line["out"];
        let word = |offset: usize, size: usize| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(&argument[offset..offset + size]);
            u64::from_le_bytes(word)
        };
        let same = |name: &str, value: u64| match out
            .get(name)
            .and_then(|expected| expected.as_u64().or(expected.as_bool().map(u64::from)))
        {
            Some(expected) if expected != value => Err(format!("{name} is {value}: {line}")),
            _ => Ok(()),
        };
        for &(name, offset, size) in layout.outputs {
            same(name, word(offset, size))?;
        }
        for (&cell, &(name, _, _)) in cells.iter().zip(layout.pointers) {
            same(name, cell)?;
        }
        let handle = number(&line["in"], "handle");
        match layout.name {
            "MEM_GET_EXTENDED_INFO" => {
                self.addresses.insert(handle, word(24, 8));
                same("pa", word(24, 8))?;
                same("off_eq_pa", (word(16, 8) == word(24, 8)).into())?;
                same("pid_self", (word(32, 8) == u64::from(self.door.pid())).into())?;
                same("handle_echoed", (word(0, 8) == handle).into())?;
                self.host_address(out, word(24, 8), line)?;
            }
            "MEM_GET_PA" => self.host_address(out, cells[0], line)?,
            "MEM_GET_INFO" => self.host_address(out, cells[1], line)?,
            "MEM_MC_GET_INFO" | "MEM_MC_GET_INFO_V2"
                if out["offset"]["pa"].as_u64().is_some_and(|offset| offset != word(8, 8)) =>
            {
                return Err(format!("offset {}: {line}", word(8, 8)));
            }
            "DUMP_MEM_CHUNKS" => {
                let chunks = out["chunks"].as_array().map_or(&[][..], Vec::as_slice);
                for (chunk, entry) in chunks.iter().zip(entries) {
                    if (0..3).any(|index| chunk[index].as_u64() != Some(entry[index])) {
                        return Err(format!("chunk {entry:?}: {line}"));
                    }
                }
            }
            "DEVICE_GET_ALL_APPS_INFO" => {
                for (index, app) in out["apps"].as_array().into_iter().flatten().enumerate() {
                    let at = 16 + 152 * index;
                    let own = word(at, 4) == u64::from(self.door.pid());
                    let found = (own, word(at + 136, 8), word(at + 144, 8));
                    if found != (app["pid_self"] == true, number(app, "host"), number(app, "device")) {
                        return Err(format!("process {found:?}: {line}"));
                    }
                }
            }
            name if name.starts_with("CRWL_NC_RANGE_MARK") => {
                for (index, expected) in out["map"].as_array().into_iter().flatten().enumerate() {
                    if expected.as_u64() != Some(word(16 + 8 * index, 8)) {
                        return Err(format!("map word {index} is {}: {line}", word(16 + 8 * index, 8)));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Compares what is told about a host address.
    fn host_address(&self, out: &Value, address: u64, line: &Value) -> Result<(), String> {
        let facts = [
            ("pa_host_bit", address & self.host_bit != 0),
            ("pa_below_4g", address & !self.host_bit < 1 << 32),
            ("pa_4k_aligned", address.is_multiple_of(4096)),
        ];
        match facts.iter().find(|(name, fact)| out.get(*name).is_some_and(|expected| expected != fact)) {
            Some((name, fact)) => Err(format!("{name} is {fact}: {line}")),
            None => Ok(()),
        }
    }
}
