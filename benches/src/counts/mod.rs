//! What an operation executes: instructions, locked ones, cache lines, exactly.
//!
//! The functions named `nrt_count_*` are executed one instruction at a time ([`step`]); what they did is taken apart afterwards
//! ([`path`]). The numbers do not depend on how busy the machine is; for the C side they depend on its C library. They include the
//! call of the function itself, a handful of instructions. Committed counts are compared with in [`committed`].

pub mod committed;
pub mod path;
pub mod step;

use std::hint::black_box;

use nrt_core::bare::Database;
use nrt_core::driver::DeviceRange;
use nrt_core::{Allocation, Arch, Model};
use nrt_linux::hooks::LinuxHooks;

use crate::c::{CModel, Object, ObjectRequest};
use crate::carve::{self, Reserved};
use crate::driver::NullDriver;
use crate::models::ABSENT;
use crate::node;
use crate::world::{self, Core, Memory as MemoryOf};
use path::{Path, Reader};
use step::State;

/// Operations of a case that are looked at, and those before.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Done first, at full speed.
    pub warm: u32,
    /// Executed step by step. A step takes some microseconds.
    pub operations: u32,
}

impl Sample {
    /// Enough to see what happens now and then: a bounded list that is full or empty.
    pub const FULL: Self = Self { warm: 64, operations: 100 };
}

/// Allocations alive meanwhile.
const NODES: [u32; 2] = [10, 10_000];
/// Models resident meanwhile; 400 in 256 buckets are chains of one or two.
const MODELS: [u32; 2] = [10, 400];
/// Ranges carved meanwhile.
const RANGES: [u32; 2] = [10, 10_000];

/// What was found out about one operation beside so many live objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it does.
    pub name: &'static str,
    /// Live objects.
    pub live: u32,
    /// Instructions of the median operation.
    pub median: u32,
    /// The largest of each, over all operations.
    pub most: Path,
    /// What the median operation executed, as text.
    pub listing: String,
}

/// Looks at operations.
struct Watch {
    reader: Reader,
    live: u32,
    seen: Vec<(&'static str, Vec<Vec<State>>)>,
    sample: Sample,
    warm: bool,
}

impl Watch {
    /// The operations of the sample, one after the other; those before are not looked at.
    fn operations(&self) -> std::ops::Range<u32> {
        0..self.sample.warm + self.sample.operations
    }

    /// Does one operation, `call`, which is a call of the function at `function`.
    fn call<T>(&mut self, name: &'static str, function: usize, call: impl FnOnce() -> T) -> Result<T, String> {
        if self.warm {
            return Ok(call());
        }
        let (value, states) = step::record(function, call).map_err(|error| format!("{name}: {error}"))?;
        match self.seen.iter_mut().find(|(seen, _)| *seen == name) {
            Some((_, all)) => all.push(states),
            None => self.seen.push((name, vec![states])),
        }
        Ok(value)
    }

    fn rows(&mut self) -> Result<Vec<Row>, String> {
        let mut rows = Vec::new();
        for (name, mut all) in std::mem::take(&mut self.seen) {
            let mut most = Path::default();
            for states in &all {
                let path = self.reader.path(states)?;
                most = Path {
                    instructions: most.instructions.max(path.instructions),
                    locked: most.locked.max(path.locked),
                    written: most.written.max(path.written),
                    read: most.read.max(path.read),
                    system_calls: most.system_calls.max(path.system_calls),
                    turns: most.turns.max(path.turns),
                };
            }
            // The first of those of median length: sorting is stable.
            all.sort_by_key(Vec::len);
            let length = all[all.len() / 2].len();
            let median = all.iter().find(|states| states.len() == length).unwrap_or(&all[0]);
            let listing = self.reader.listing(median)?;
            rows.push(Row { name, live: self.live, median: length as u32, most, listing });
        }
        Ok(rows)
    }
}

/// Work that calls each of its functions so many times, beside so many live objects.
type Work = fn(u32, &mut Watch) -> Result<(), String>;

/// Looks at every operation.
///
/// # Errors
/// What could not be executed step by step.
pub fn count(sample: Sample) -> Result<Vec<Row>, String> {
    let groups: [(Work, [u32; 2]); 5] =
        [(nrt_nodes, NODES), (c_nodes, NODES), (nrt_models, MODELS), (c_models, MODELS), (nrt_ranges, RANGES)];
    let mut rows = Vec::new();
    for (work, live) in groups {
        for live in live {
            rows.extend(watch(work, live, sample)?);
        }
    }
    Ok(rows)
}

/// In a thread of its own: the C library leaves locks out while a process has only one.
fn watch(work: Work, live: u32, sample: Sample) -> Result<Vec<Row>, String> {
    std::thread::scope(|scope| {
        let watched = scope.spawn(|| {
            let mut watch = Watch { reader: Reader::new()?, live, seen: Vec::new(), sample, warm: true };
            work(live, &mut watch)?;
            watch.rows()
        });
        watched.join().unwrap_or_else(|_| Err("the work panicked".into()))
    })
}

/// A table for people.
#[must_use]
pub fn table(rows: &[Row]) -> String {
    use std::fmt::Write as _;
    let mut text = format!(
        "{:<36}{:>8}{:>14}{:>8}{:>8}{:>9}{:>7}{:>9}{:>7}\n",
        "per operation", "live", "instructions", "at most", "locked", "written", "read", "system", "turns"
    );
    for Row { name, live, median, most, .. } in rows {
        let Path { instructions, locked, written, read, system_calls, turns } = most;
        let _ = writeln!(
            text,
            "{name:<36}{live:>8}{median:>14}{instructions:>8}{locked:>8}{written:>9}{read:>7}{system_calls:>9}{turns:>7}"
        );
    }
    text
}

/// Index of the live object to replace next: all over the place, the same in every run.
fn next(seed: &mut u64, live: u32) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % live as usize
}

type Memory = MemoryOf<LinuxHooks>;

fn nrt_nodes(live: u32, watch: &mut Watch) -> Result<(), String> {
    let world = world::open(LinuxHooks::new());
    let (core, request) = (world::core(world, 0, 0), black_box(world::allocation()));
    let mut all: Vec<Option<Memory>> = (0..live).map(|_| Some(world::allocate(&core, &request))).collect();
    let mut seed = 1;
    for operation in watch.operations() {
        watch.warm = operation < watch.sample.warm;
        let place = &mut all[next(&mut seed, live)];
        if let Some(old) = place.take() {
            watch.call("nrt: release", nrt_count_free as *const () as usize, || nrt_count_free(old))?;
        }
        let new =
            watch.call("nrt: allocate", nrt_count_allocate as *const () as usize, || nrt_count_allocate(&core, &request))?;
        *place = Some(new);
    }
    Ok(())
}

fn c_nodes(live: u32, watch: &mut Watch) -> Result<(), String> {
    let request = node::c_request(0, 0, Arch::Cayman);
    let mut all: Vec<Option<Object>> = (0..live).map(|_| Some(request.allocate())).collect();
    let mut seed = 1;
    for operation in watch.operations() {
        watch.warm = operation < watch.sample.warm;
        let place = &mut all[next(&mut seed, live)];
        if let Some(old) = place.take() {
            watch.call("C object path: release", nrt_count_c_free as *const () as usize, || nrt_count_c_free(old))?;
        }
        let new = watch
            .call("C object path: allocate", nrt_count_c_allocate as *const () as usize, || nrt_count_c_allocate(&request))?;
        *place = Some(new);
    }
    all.into_iter().flatten().for_each(Object::free);
    Ok(())
}

fn nrt_models(live: u32, watch: &mut Watch) -> Result<(), String> {
    let world = world::open(LinuxHooks::new());
    let core = world::core(world, 0, 0);
    let models = world::load_models(&core, live as usize);
    let database = core.bare_database().map_err(|error| error.to_string())?;
    let mut seed = 1;
    for operation in watch.operations() {
        watch.warm = operation < watch.sample.warm;
        let model = &models[next(&mut seed, live)];
        let id = model.id();
        watch.call("nrt: take and release by id", nrt_count_take as *const () as usize, || nrt_count_take(&database, id))?;
        watch.call("nrt: run of nothing", nrt_count_run as *const () as usize, || nrt_count_run(&core, id))?;
        let absent = black_box(ABSENT);
        watch.call("nrt: look-up", nrt_count_look_up as *const () as usize, || nrt_count_look_up(model, absent))?;
    }
    Ok(())
}

fn c_models(live: u32, watch: &mut Watch) -> Result<(), String> {
    let models: Vec<CModel> = (1..=live).map(|id| CModel::load(0, id)).collect();
    let mut seed = 1;
    for operation in watch.operations() {
        watch.warm = operation < watch.sample.warm;
        let model = &models[next(&mut seed, live)];
        watch.call("C documented shape: run of nothing", nrt_count_c_run as *const () as usize, || nrt_count_c_run(model))?;
        let absent = black_box(ABSENT);
        let look_up = nrt_count_c_look_up as *const () as usize;
        watch.call("C documented shape: look-up", look_up, || nrt_count_c_look_up(model, absent))?;
    }
    Ok(())
}

fn nrt_ranges(live: u32, watch: &mut Watch) -> Result<(), String> {
    let reserved = carve::reserved();
    let mut seed = 1;
    let bytes = |seed: &mut u64| 4096 << (next(seed, 8) as u64);
    let mut all: Vec<DeviceRange> = vec![carve::NO_RANGE; live as usize];
    if !all.iter_mut().all(|range| carve::carve(&reserved, bytes(&mut seed), range)) {
        return Err(format!("no room for {live} ranges"));
    }
    for operation in watch.operations() {
        watch.warm = operation < watch.sample.warm;
        let size = black_box(bytes(&mut seed));
        let range = &mut all[next(&mut seed, live)];
        watch.call("nrt: give a range back", nrt_count_give as *const () as usize, || nrt_count_give(&reserved, range))?;
        let carve = nrt_count_carve as *const () as usize;
        if !watch.call("nrt: carve a range", carve, || nrt_count_carve(&reserved, size, range))? {
            return Err(format!("no room for {size} bytes"));
        }
    }
    Ok(())
}

/// Functions that are looked at, each with a body of its own.
macro_rules! counted {
    ($(fn $name:ident $(<$($life:lifetime),*>)? ($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {
        $(
            // SAFETY: no other symbol of the program has this name.
            #[unsafe(no_mangle)]
            #[inline(never)]
            fn $name $(<$($life),*>)? ($($argument: $type),*) $(-> $result)? $body
        )*
    };
}

counted! {
    fn nrt_count_allocate(core: &Core<LinuxHooks>, request: &Allocation<'_>) -> Memory { world::allocate(core, request) }
    fn nrt_count_free(memory: Memory) { drop(memory); }
    fn nrt_count_c_allocate(request: &ObjectRequest<'_>) -> Object { request.allocate() }
    fn nrt_count_c_free(object: Object) { object.free(); }
    fn nrt_count_run(core: &Core<LinuxHooks>, id: u32) { world::run(core, id); }
    fn nrt_count_take(database: &Database<'static, NullDriver, LinuxHooks>, id: u32) {
        black_box(database.take_read_release(id).ok());
    }
    fn nrt_count_carve(reserved: &Reserved, bytes: u64, range: &mut DeviceRange) -> bool {
        carve::carve(reserved, bytes, range)
    }
    fn nrt_count_give(reserved: &Reserved, range: &DeviceRange) { carve::give(reserved, range); }
    fn nrt_count_c_run(model: &CModel) { model.run(); }
    fn nrt_count_look_up(model: &Model<'static, NullDriver, LinuxHooks>, absent: u32) { world::look_up(model, absent); }
    fn nrt_count_c_look_up(model: &CModel, absent: u32) { model.look_up(absent); }
}
