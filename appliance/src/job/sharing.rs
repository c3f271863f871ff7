//! What the models of each core share: scratchpad pages, which are as many as the largest model needs and not as many as
//! all together, and the microcode library, of which a core has one copy (fact sheets `scratchpad`, `ulib`).
//!
//! What is held is the ledger's: the bytes of the core less those its models own. The users are the runtime's counts.

use nrt_core::Usage;

use super::plan::LIBRARY_SET_BYTES;
use super::server::Server;
use crate::report::CoreSharing;

/// Writes into the report what the models share on each core that holds anything.
#[inline(never)]
pub(super) fn report(server: &Server<'_>) -> nrt_core::Result<()> {
    for vnc in 0..server.runtime.logical_cores() {
        for relative in 0..server.runtime.logical_core_size() {
            core(server, vnc, relative)?;
        }
    }
    Ok(())
}

fn core(server: &Server<'_>, vnc: u32, relative: u32) -> nrt_core::Result<()> {
    let core = server.runtime.core(vnc)?;
    let held = core.usage(relative)?;
    if held.total == 0 {
        return Ok(());
    }
    let shared = |usage: Usage| held.bytes[usage.number()];
    let (scratchpad_held_bytes, mut library_bytes) = (shared(Usage::Scratchpad), shared(Usage::UcodeLib));
    let mut result = Ok(());
    server.for_each_entry(|model, _, _, loaded| {
        if let Some(loaded) = loaded.filter(|_| model.vnc == vnc && relative < model.subgraphs) {
            match loaded.usage(relative) {
                Ok(own) => library_bytes = library_bytes.saturating_sub(own.bytes[Usage::UcodeLib.number()]),
                Err(error) => result = Err(error),
            }
        }
    });
    result?;
    // Every model counts on a prefix of the pages, so the first one has every user.
    let mut users = [0];
    let scratchpad_pages = core.scratchpad_pages(relative, &mut users)?;
    let advice = core.scratchpad_advice()?;
    let (library_users, _) = core.library_users(relative)?;
    server.findings.report(|report| {
        // There is room: there are at most as many cores as the devices of a deployment have.
        let _ = report.cores.push(CoreSharing {
            device: held.device,
            core: held.core,
            vnc,
            relative,
            scratchpad_held_bytes,
            scratchpad_pages,
            scratchpad_users: if scratchpad_pages == 0 { 0 } else { users[0] },
            advice,
            library_bytes,
            library_copies: library_bytes.div_ceil(LIBRARY_SET_BYTES),
            library_users,
        });
    });
    Ok(())
}
