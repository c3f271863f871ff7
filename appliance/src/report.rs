//! What the main job has to say at its end, as one JSON object or as lines for people.
//!
//! | key | value |
//! | --- | --- |
//! | `arch` | architecture that was served on |
//! | `logical_cores` | logical cores of all devices |
//! | `models` | one object for each model, in the order of the deployment |
//! | `models[].name`, `.vnc` | as in the deployment |
//! | `models[].handle` | id of its last load; 0 when it is not resident at the end of serving |
//! | `models[].bytes_by_usage` | bytes it owns on all its cores at the end of serving, one number for each of the 22 usages, device and pinned host memory together; what models share (scratchpad pages, the microcode library) and tensors belong to cores and are not in it |
//! | `models[].host_bytes` | how many of these are pinned host memory |
//! | `models[].scratchpad_bytes` | shared scratchpad it needs on each of its cores, as in the deployment |
//! | `models[].requests` | requests it completed |
//! | `cores` | one object for each core that holds anything at the end of serving: what its models share |
//! | `cores[].device`, `.core`, `.vnc` | device, core of the device, logical core |
//! | `cores[].scratchpad.needs` | `model` and `bytes` of each model on it that needs some |
//! | `cores[].scratchpad.held_bytes`, `.pages`, `.users` | pages that the ledger has for the core, whole ones that hold the largest need and not the sum; models that count on them |
//! | `cores[].scratchpad.advised_page_mib` | page size in MiB that would hold what fits no page and has memory of its own; `null` when everything fits, or no page can be as large |
//! | `cores[].library.copies`, `.bytes`, `.users` | shared microcode libraries staged on the core, with their tables; models that use them |
//! | `requests`, `reloads` | completed in total; a reload is an unload and a load under the load of the threads |
//! | `ready_us` | microseconds from the start of the program's main function until the runtime is open: devices, cores and pools are there, a model can be loaded |
//! | `serving_us` | the same until every model is loaded and every thread has its tensors; 0 when that did not happen |
//! | `peak_device_bytes` | most device bytes that were on the ledger at one time |
//! | `live_device_bytes_at_exit`, `live_nodes_at_exit` | what ledger, pools and driver still had after close; 0 when all is well |
//! | `resident_anonymous_bytes_at_exit` | resident stacks and statics of the program after close, without the modelled device memory; `null` when the system does not tell |
//! | `events` | `id` and `count` of the operations of each kind that the runtime was seen doing: 10 and 12 writing tensors one by one and in batches, 9 and 11 reading them, 27 and 28 allocating and freeing them, 30 and 31 copies in and out, 32 and 33 in batches, 34 allocations, 35 frees |
//! | `weights_verified` | whether all weights and code read back equal their source |
//! | `outputs_verified` | whether every request was served, and every output carried the bytes of its inputs |
//! | `errors` | what did not hold, in words; the exit status is 0 only if this is empty and the four figures above say so |

use core::fmt::{self, Write};

use heapless::{String, Vec};
use nrt_core::arch::Arch;

use crate::deployment::{MAX_DEVICES, MAX_MODELS, Name};
use crate::json_out::JsonWriter;
use crate::table::Size;
use nrt_core::{PageAdvice, Usage};

/// Most errors that a report keeps; further ones are counted.
pub const MAX_ERRORS: usize = 32;

/// Most cores of a report: all of all devices.
const MAX_CORES: usize = MAX_DEVICES as usize * 8;

/// Event ids that are counted: all from 0 to 35.
pub const EVENTS: usize = 36;

/// Longest error text in bytes that a report keeps; the rest of a longer one is cut.
pub const MAX_ERROR_BYTES: usize = 255;

/// What a report says about one model.
#[derive(Clone, Debug)]
pub struct ModelReport {
    /// Name in the deployment.
    pub name: Name,
    /// Handle of its last load.
    pub handle: u64,
    /// Logical core.
    pub vnc: u32,
    /// Physical cores of it that the model is on, from the first.
    pub subgraphs: u32,
    /// Shared scratchpad it needs on each of its cores, in bytes.
    pub scratchpad_bytes: u64,
    /// Bytes it held by usage number, over its cores, device and pinned host memory together.
    pub bytes_by_usage: [u64; Usage::COUNT],
    /// Bytes of these in pinned host memory.
    pub host_bytes: u64,
    /// Requests it completed.
    pub requests: u64,
}

/// What the models of a core share.
#[derive(Clone, Debug)]
pub struct CoreSharing {
    /// Device index.
    pub device: u32,
    /// Core of the device.
    pub core: u32,
    /// Logical core.
    pub vnc: u32,
    /// Place in the logical core.
    pub relative: u32,
    /// Bytes of the shared scratchpad on the ledger.
    pub scratchpad_held_bytes: u64,
    /// Pages of it.
    pub scratchpad_pages: u32,
    /// Models that count on its first page.
    pub scratchpad_users: u32,
    /// The page size that would hold what fits no page.
    pub advice: Option<PageAdvice>,
    /// Bytes of the shared microcode library on the ledger, with its table.
    pub library_bytes: u64,
    /// Copies of a library that these bytes are.
    pub library_copies: u64,
    /// Models that use it.
    pub library_users: u32,
}

/// The outcome of the main job.
///
/// About 40 KiB: place it in a static. Every byte of [`Report::new`] is zero.
#[derive(Debug)]
pub struct Report {
    /// Number of the architecture, 0 = not known.
    arch: u32,
    /// Logical cores of the device.
    pub logical_cores: u32,
    /// Models, in the order of the deployment.
    pub models: Vec<ModelReport, MAX_MODELS, u8>,
    /// What the models share on each core that holds anything.
    pub cores: Vec<CoreSharing, MAX_CORES>,
    /// Completed requests of all models.
    pub requests: u64,
    /// Models that were unloaded and loaded again under load.
    pub reloads: u64,
    /// Microseconds from the start of the job until the runtime was open.
    pub ready_us: u64,
    /// Microseconds from the start of the job until requests could be served.
    pub serving_us: u64,
    /// Largest number of device bytes that were allocated at one time.
    pub peak_device_bytes: u64,
    /// Device bytes that were still allocated after close.
    pub live_device_bytes_at_exit: u64,
    /// Allocation nodes that were still in use after close.
    pub live_nodes_at_exit: u64,
    /// Anonymous memory of the program (stacks and statics, not the modelled device memory) that was resident after close,
    /// in bytes; `None` when the system does not tell.
    pub resident_anonymous_bytes_at_exit: Option<u64>,
    /// Operations of the runtime that ended, by the id of their event.
    pub events: [u64; EVENTS],
    /// Whether all weights read back were equal to their source.
    pub weights_verified: bool,
    /// Whether all outputs carried the bytes of their inputs.
    pub outputs_verified: bool,
    errors: Vec<String<MAX_ERROR_BYTES, u8>, MAX_ERRORS, u8>,
    further_errors: u32,
}

impl Report {
    /// A report of nothing; every byte is zero, and no check has held yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            arch: 0,
            logical_cores: 0,
            models: Vec::new(),
            cores: Vec::new(),
            requests: 0,
            reloads: 0,
            ready_us: 0,
            serving_us: 0,
            peak_device_bytes: 0,
            live_device_bytes_at_exit: 0,
            live_nodes_at_exit: 0,
            resident_anonymous_bytes_at_exit: None,
            events: [0; EVENTS],
            weights_verified: false,
            outputs_verified: false,
            errors: Vec::new(),
            further_errors: 0,
        }
    }

    /// Says which architecture the device has.
    pub fn set_arch(&mut self, arch: Arch) {
        self.arch = arch as u32;
    }

    /// Name of the architecture, `unknown` before [`Report::set_arch`].
    #[must_use]
    pub fn arch_name(&self) -> &'static str {
        Arch::from_number(self.arch).map_or("unknown", Arch::name)
    }

    /// Keeps an error, cut to [`MAX_ERROR_BYTES`]; from the [`MAX_ERRORS`]th on errors are only counted.
    pub fn error(&mut self, text: fmt::Arguments<'_>) {
        if self.errors.is_full() {
            self.further_errors = self.further_errors.saturating_add(1);
            return;
        }
        // There is room. The text is written in its place, so that it does not pass over the stack.
        let _ = self.errors.push(String::new());
        if let Some(kept) = self.errors.last_mut() {
            let _ = Cut(kept).write_fmt(text);
        }
    }

    /// The errors that were kept.
    pub fn errors(&self) -> impl Iterator<Item = &str> {
        self.errors.iter().map(String::as_str)
    }

    /// Event ids that were seen, and how often.
    fn seen(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..).zip(self.events).filter(|(_, count)| *count != 0)
    }

    /// Whether every check held: no error, weights and outputs verified, nothing left on the device.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.errors.is_empty()
            && self.weights_verified
            && self.outputs_verified
            && self.live_device_bytes_at_exit == 0
            && self.live_nodes_at_exit == 0
    }

    /// Writes the report as one JSON object on one line, without a line end.
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn write_json(&self, out: &mut dyn Write) -> fmt::Result {
        let json = &mut JsonWriter::new(out);
        json.begin_object()?;
        json.key("arch")?;
        json.string(self.arch_name())?;
        field(json, "logical_cores", self.logical_cores.into())?;
        json.key("models")?;
        json.begin_array()?;
        for model in &self.models {
            model.write_json(json)?;
        }
        json.end_array()?;
        json.key("cores")?;
        json.begin_array()?;
        for core in &self.cores {
            core.write_json(&self.models, json)?;
        }
        json.end_array()?;
        field(json, "requests", self.requests)?;
        field(json, "reloads", self.reloads)?;
        field(json, "ready_us", self.ready_us)?;
        field(json, "serving_us", self.serving_us)?;
        field(json, "peak_device_bytes", self.peak_device_bytes)?;
        field(json, "live_device_bytes_at_exit", self.live_device_bytes_at_exit)?;
        field(json, "live_nodes_at_exit", self.live_nodes_at_exit)?;
        json.key("resident_anonymous_bytes_at_exit")?;
        match self.resident_anonymous_bytes_at_exit {
            Some(bytes) => json.number(bytes)?,
            None => json.null()?,
        }
        json.key("events")?;
        json.begin_array()?;
        for (id, count) in self.seen() {
            json.begin_object()?;
            field(json, "id", id)?;
            field(json, "count", count)?;
            json.end_object()?;
        }
        json.end_array()?;
        json.key("weights_verified")?;
        json.boolean(self.weights_verified)?;
        json.key("outputs_verified")?;
        json.boolean(self.outputs_verified)?;
        json.key("errors")?;
        json.begin_array()?;
        for error in &self.errors {
            json.string(error)?;
        }
        if self.further_errors != 0 {
            json.display(format_args!("{} further errors", self.further_errors))?;
        }
        json.end_array()?;
        json.end_object()
    }

    /// Writes the report as lines for people; the table of who holds which bytes is [`crate::table::write`].
    ///
    /// # Errors
    /// The sink refused the text.
    pub fn write_text(&self, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "{} with {} logical cores", self.arch_name(), self.logical_cores)?;
        for model in &self.models {
            let held = Size(model.bytes_by_usage.iter().sum());
            let (name, handle, vnc, requests) = (&model.name, model.handle, model.vnc, model.requests);
            writeln!(out, "  {name} (handle {handle}, logical core {vnc}): {held}, {requests} requests")?;
        }
        for core in &self.cores {
            core.write_text(&self.models, out)?;
        }
        writeln!(out, "requests {}, reloads {}, peak {}", self.requests, self.reloads, Size(self.peak_device_bytes))?;
        writeln!(out, "ready after {} us, serving after {} us", self.ready_us, self.serving_us)?;
        if self.seen().next().is_some() {
            out.write_str("operations by event id:")?;
            for (id, count) in self.seen() {
                write!(out, " {id}: {count}")?;
            }
            out.write_str("\n")?;
        }
        let verified = |held| if held { "verified" } else { "NOT VERIFIED" };
        writeln!(out, "weights {}, outputs {}", verified(self.weights_verified), verified(self.outputs_verified))?;
        let (bytes, nodes) = (self.live_device_bytes_at_exit, self.live_nodes_at_exit);
        writeln!(out, "after close: {bytes} device bytes and {nodes} nodes live")?;
        if let Some(resident) = self.resident_anonymous_bytes_at_exit {
            writeln!(out, "resident anonymous memory {}", Size(resident))?;
        }
        for error in &self.errors {
            writeln!(out, "error: {error}")?;
        }
        if self.further_errors != 0 {
            writeln!(out, "error: {} further errors", self.further_errors)?;
        }
        Ok(())
    }
}

impl Default for Report {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelReport {
    fn write_json(&self, json: &mut JsonWriter<'_>) -> fmt::Result {
        json.begin_object()?;
        json.key("name")?;
        json.string(&self.name)?;
        field(json, "handle", self.handle)?;
        field(json, "vnc", self.vnc.into())?;
        json.key("bytes_by_usage")?;
        json.begin_object()?;
        for (name, bytes) in Usage::NAMES.iter().zip(self.bytes_by_usage) {
            field(json, name, bytes)?;
        }
        json.end_object()?;
        field(json, "host_bytes", self.host_bytes)?;
        field(json, "scratchpad_bytes", self.scratchpad_bytes)?;
        field(json, "requests", self.requests)?;
        json.end_object()
    }
}

impl CoreSharing {
    /// The models on this core that need scratchpad.
    fn needs<'m>(&self, models: &'m [ModelReport]) -> impl Iterator<Item = &'m ModelReport> {
        let (vnc, relative) = (self.vnc, self.relative);
        models.iter().filter(move |model| model.vnc == vnc && relative < model.subgraphs && model.scratchpad_bytes != 0)
    }

    fn write_json(&self, models: &[ModelReport], json: &mut JsonWriter<'_>) -> fmt::Result {
        json.begin_object()?;
        field(json, "device", self.device.into())?;
        field(json, "core", self.core.into())?;
        field(json, "vnc", self.vnc.into())?;
        json.key("scratchpad")?;
        json.begin_object()?;
        json.key("needs")?;
        json.begin_array()?;
        for model in self.needs(models) {
            json.begin_object()?;
            json.key("model")?;
            json.string(&model.name)?;
            field(json, "bytes", model.scratchpad_bytes)?;
            json.end_object()?;
        }
        json.end_array()?;
        field(json, "held_bytes", self.scratchpad_held_bytes)?;
        field(json, "pages", self.scratchpad_pages.into())?;
        field(json, "users", self.scratchpad_users.into())?;
        json.key("advised_page_mib")?;
        match self.advice.filter(|advice| advice.possible) {
            Some(advice) => json.number(advice.mebibytes)?,
            None => json.null()?,
        }
        json.end_object()?;
        json.key("library")?;
        json.begin_object()?;
        field(json, "copies", self.library_copies)?;
        field(json, "bytes", self.library_bytes)?;
        field(json, "users", self.library_users.into())?;
        json.end_object()?;
        json.end_object()
    }

    /// One line for each thing that is shared; none for what the core does not hold.
    fn write_text(&self, models: &[ModelReport], out: &mut dyn Write) -> fmt::Result {
        let (device, core) = (self.device, self.core);
        if self.scratchpad_pages != 0 {
            write!(out, "ND {device}:NC {core} scratchpad: ")?;
            let mut before = "";
            for model in self.needs(models) {
                write!(out, "{before}{} needs {}", model.name, Size(model.scratchpad_bytes))?;
                before = ", ";
            }
            let (held, pages, users) = (Size(self.scratchpad_held_bytes), self.scratchpad_pages, self.scratchpad_users);
            writeln!(out, "; held {held} in {pages} pages for {users} models")?;
        }
        if let Some(advice) = self.advice {
            writeln!(out, "ND {device}:NC {core} scratchpad: {advice}")?;
        }
        if self.library_copies != 0 {
            let (copies, bytes, users) = (self.library_copies, Size(self.library_bytes), self.library_users);
            writeln!(out, "ND {device}:NC {core} microcode library: {copies} copies of {bytes} for {users} models")?;
        }
        Ok(())
    }
}

fn field(json: &mut JsonWriter<'_>, key: &str, number: u64) -> fmt::Result {
    json.key(key)?;
    json.number(number)
}

/// Takes as much text as fits, up to a whole character, and drops the rest.
struct Cut<'a>(&'a mut String<MAX_ERROR_BYTES, u8>);

impl Write for Cut<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.0.capacity() - self.0.len();
        let fits = text.floor_char_boundary(room);
        // A part that does not fit ends the text, so that nothing shorter is put behind the cut.
        self.0.push_str(text.get(..fits).unwrap_or_default()).map_err(|_| fmt::Error)?;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
