//! Who holds which bytes, while everything is still there: for the report, and as tables.
//!
//! A core's row is the ledger's. The rows below it add up to it: each model on that core, and what is left, which models
//! share (scratchpad pages, tensors, the microcode library).

use core::fmt::{self, Write};

use heapless::Vec;
use nrt_core::{CoreUsage, Usage};

use super::server::{Loaded, Server};
use crate::deployment::{MAX_DEVICES, MAX_MODELS};
use crate::report::ModelReport;
use crate::table::{self, Owner, Row};

/// Most cores of all devices.
const MAX_CORES: usize = MAX_DEVICES as usize * 8;
/// Most rows: two for each core, and two for each model.
const MAX_ROWS: usize = 2 * MAX_CORES + 2 * MAX_MODELS;

/// Rows of one table.
type Rows = Vec<Row<'static>, MAX_ROWS>;

/// The table of device memory, and the table of pinned host memory.
pub(super) struct Tables {
    device: Rows,
    host: Rows,
}

/// Bytes of a model on one core, by usage.
#[derive(Clone, Copy)]
struct Held {
    device: [u64; Usage::COUNT],
    host: [u64; Usage::COUNT],
}

impl Tables {
    pub(super) const fn new() -> Self {
        Self { device: Vec::new(), host: Vec::new() }
    }

    /// Fills the tables.
    pub(super) fn fill(&mut self, server: &Server<'_>) -> nrt_core::Result<()> {
        let mut result = Ok(());
        // As an object: whoever else visits the cores does it with the same code.
        let visit: &mut dyn FnMut(&CoreUsage) = &mut |core| {
            if result.is_ok() && core.total != 0 {
                result = self.core(server, core);
            }
        };
        server.runtime.for_each_core_usage(visit)?;
        result
    }

    /// The rows of one core.
    fn core(&mut self, server: &Server<'_>, core: &CoreUsage) -> nrt_core::Result<()> {
        let owner = Owner::Core { device: core.device, core: core.core };
        let at = (self.device.len(), self.host.len());
        push(&mut self.device, owner, core.bytes);
        push(&mut self.device, Owner::Shared, core.bytes);
        push(&mut self.host, owner, [0; Usage::COUNT]);
        let mut result = Ok(());
        server.for_each_entry(|model, _, _, loaded| {
            let Some(loaded) = loaded else { return };
            for relative in 0..model.subgraphs {
                let here = loaded.core().physical(relative).is_ok_and(|place| place == (core.device, core.core));
                if !here || result.is_err() {
                    continue;
                }
                match held(server, loaded, relative) {
                    Ok(held) => {
                        push(&mut self.device, Owner::Model(&model.name), held.device);
                        each(&mut self.device, at.0 + 1, held.device, u64::saturating_sub);
                        if held.host != [0; Usage::COUNT] {
                            push(&mut self.host, Owner::Model(&model.name), held.host);
                            each(&mut self.host, at.1, held.host, u64::saturating_add);
                        }
                    }
                    Err(error) => result = Err(error),
                }
            }
        });
        // Without a model that holds some, the core is left out of that table.
        if self.host.len() == at.1 + 1 {
            self.host.truncate(at.1);
        }
        result
    }

    /// Writes the tables.
    pub(super) fn write(&self, out: &mut dyn Write) -> fmt::Result {
        if !self.device.is_empty() {
            out.write_str("Device memory\n")?;
            table::write(out, &self.device)?;
            out.write_char('\n')?;
        }
        if !self.host.is_empty() {
            out.write_str("Pinned host memory of the models\n")?;
            table::write(out, &self.host)?;
            out.write_char('\n')?;
        }
        Ok(())
    }
}

fn push(rows: &mut Rows, owner: Owner<'static>, usage: [u64; Usage::COUNT]) {
    // There is room: MAX_ROWS counts every core and every model.
    let _ = rows.push(Row { owner, usage });
}

/// Combines a row with other bytes, usage by usage.
fn each(rows: &mut Rows, row: usize, bytes: [u64; Usage::COUNT], combine: fn(u64, u64) -> u64) {
    if let Some(row) = rows.get_mut(row) {
        row.usage.iter_mut().zip(bytes).for_each(|(sum, bytes)| *sum = combine(*sum, bytes));
    }
}

/// What a model holds on one of its cores.
fn held(server: &Server<'_>, loaded: &Loaded<'_>, relative: u32) -> nrt_core::Result<Held> {
    let mut held = Held { device: loaded.usage(relative)?.bytes, host: [0; Usage::COUNT] };
    let host_bit = server.runtime.arch().host_memory_bit();
    loaded.for_each_variable(relative, |variable, _| {
        if let Some(usage) = variable.usage
            && !variable.remote
            && variable.address & host_bit != 0
        {
            held.host[usage.number()] += variable.bytes;
            held.device[usage.number()] -= variable.bytes;
        }
    })?;
    Ok(held)
}

/// Writes what is known about each model into the report.
#[inline(never)]
pub(super) fn report(server: &Server<'_>) -> nrt_core::Result<()> {
    let mut result = Ok(());
    server.for_each_entry(|model, _, seat, loaded| {
        let mut bytes_by_usage = [0; Usage::COUNT];
        let mut host_bytes = 0;
        for relative in 0..model.subgraphs {
            match loaded.map(|loaded| held(server, loaded, relative)) {
                None => {}
                Some(Ok(Held { device, host })) => {
                    for (sum, bytes) in bytes_by_usage.iter_mut().zip(device.iter().zip(host).map(|(a, b)| a + b)) {
                        *sum += bytes;
                    }
                    host_bytes += host.iter().sum::<u64>();
                }
                Some(Err(error)) => result = Err(error),
            }
        }
        server.findings.report(|report| {
            // There is room: a deployment has at most MAX_MODELS models.
            let _ = report.models.push(ModelReport {
                name: model.name.clone(),
                handle: loaded.map_or(0, |loaded| loaded.id().into()),
                vnc: model.vnc,
                subgraphs: model.subgraphs,
                scratchpad_bytes: model.scratchpad_bytes,
                bytes_by_usage,
                host_bytes,
                requests: seat.requests(),
            });
        });
    });
    result
}
