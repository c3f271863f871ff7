//! Instructions per operation, counted by callgrind.
//!
//! The program starts itself under valgrind once per case. Only what runs inside the functions named `nrt_count_*` is
//! collected, callees included; the C library's allocator and mutexes count for the C side. The numbers are exact and
//! do not depend on how busy the machine is. They include the call of the function itself, a handful of instructions.

use std::hint::black_box;
use std::path::Path;
use std::process::Command;

use nrt_core::{Allocation, Arch, Model};
use nrt_linux::hooks::LinuxHooks;
use serde_json::{Value, json};

use crate::c::{CModel, Object, ObjectRequest};
use crate::driver::NullDriver;
use crate::models::ABSENT;
use crate::world::{self, Core, Memory as MemoryOf};
use crate::{machine, node};

/// Operations counted in a case.
const OPERATIONS: u32 = 2_000;

/// One thing to count.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Name on the hidden command line.
    name: &'static str,
    /// Function whose instructions are collected.
    function: &'static str,
    /// What it does.
    what: &'static str,
    /// Live objects to try it with.
    live: [u32; 2],
    work: fn(u32),
}

/// Allocations alive meanwhile.
const NODES: [u32; 2] = [10, 10_000];
/// Models resident meanwhile; 400 in 256 buckets are chains of one or two.
const MODELS: [u32; 2] = [10, 400];

/// Everything that is counted.
const CASES: [Case; 8] = [
    Case { name: "nrt-node-allocate", function: "nrt_count_allocate", what: "nrt: allocate", live: NODES, work: nrt_nodes },
    Case { name: "nrt-node-free", function: "nrt_count_free", what: "nrt: release", live: NODES, work: nrt_nodes },
    Case {
        name: "c-node-allocate",
        function: "nrt_count_c_allocate",
        what: "C object path: allocate",
        live: NODES,
        work: c_nodes,
    },
    Case { name: "c-node-free", function: "nrt_count_c_free", what: "C object path: release", live: NODES, work: c_nodes },
    Case { name: "nrt-run", function: "nrt_count_run", what: "nrt: run of nothing", live: MODELS, work: nrt_models },
    Case { name: "c-run", function: "nrt_count_c_run", what: "C documented shape: run of nothing", live: MODELS, work: c_models },
    Case { name: "nrt-look-up", function: "nrt_count_look_up", what: "nrt: look-up", live: MODELS, work: nrt_models },
    Case {
        name: "c-look-up",
        function: "nrt_count_c_look_up",
        what: "C documented shape: look-up",
        live: MODELS,
        work: c_models,
    },
];

/// Why there are no counts.
#[derive(Debug)]
pub enum Missing {
    /// valgrind is not installed.
    Valgrind,
    /// It is, but something else went wrong.
    Other(String),
}

/// Counts everything, shows a table, and gives the results.
///
/// # Errors
/// When valgrind is missing or does not answer as expected.
pub fn count(directory: &Path) -> Result<Value, Missing> {
    let version = Command::new("valgrind").arg("--version").output().map_err(|_| Missing::Valgrind)?;
    let valgrind = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let mut rows = Vec::new();
    println!("{:<38}{:>10}{:>10}   live objects", "instructions per operation", "few", "many");
    for case in &CASES {
        let mut counts = [0.0; 2];
        for (count, live) in counts.iter_mut().zip(case.live) {
            *count = one(case, live, directory).map_err(Missing::Other)?;
            rows.push(json!({ "name": case.what, "live": live, "instructions": *count }));
        }
        println!("{:<38}{:>10.1}{:>10.1}   {} and {}", case.what, counts[0], counts[1], case.live[0], case.live[1]);
    }
    Ok(
        json!({ "machine": machine::machine(), "versions": machine::versions(), "valgrind": valgrind, "operations": OPERATIONS, "rows": rows }),
    )
}

/// Instructions per operation of one case.
fn one(case: &Case, live: u32, directory: &Path) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={}", case.function))
        .arg(format!("--callgrind-out-file={}", directory.join(format!("callgrind.{}.{live}", case.name)).display()))
        .arg(program)
        .args(["--count-case", case.name, &live.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse::<u64>().ok());
    match collected {
        Some(collected) if collected > 0 && output.status.success() => Ok(collected as f64 / f64::from(OPERATIONS)),
        _ => Err(format!("{}: valgrind gave no count:\n{text}", case.name)),
    }
}

/// Does the work of a case in this process, which valgrind watches. `false` when there is no such case.
#[must_use]
pub fn work(name: &str, live: u32) -> bool {
    let Some(case) = CASES.iter().find(|case| case.name == name) else { return false };
    // In a thread of its own: the C library leaves locks out while a process has only one.
    std::thread::scope(|scope| {
        scope.spawn(|| (case.work)(live));
    });
    true
}

/// Index of the live object to replace next: all over the place, the same in every run.
fn next(seed: &mut u64, live: u32) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % live as usize
}

type Memory = MemoryOf<LinuxHooks>;

fn nrt_nodes(live: u32) {
    let world = world::open(LinuxHooks::new());
    let (core, request) = (world::core(world, 0, 0), black_box(world::allocation()));
    let mut all: Vec<Option<Memory>> = (0..live).map(|_| Some(world::allocate(&core, &request))).collect();
    let mut seed = 1;
    for _ in 0..OPERATIONS {
        let place = &mut all[next(&mut seed, live)];
        if let Some(old) = place.take() {
            nrt_count_free(old);
        }
        *place = Some(nrt_count_allocate(&core, &request));
    }
}

fn c_nodes(live: u32) {
    let request = node::c_request(0, 0, Arch::Cayman);
    let mut all: Vec<Option<Object>> = (0..live).map(|_| Some(request.allocate())).collect();
    let mut seed = 1;
    for _ in 0..OPERATIONS {
        let place = &mut all[next(&mut seed, live)];
        if let Some(old) = place.take() {
            nrt_count_c_free(old);
        }
        *place = Some(nrt_count_c_allocate(&request));
    }
    all.into_iter().flatten().for_each(Object::free);
}

fn nrt_models(live: u32) {
    let world = world::open(LinuxHooks::new());
    let core = world::core(world, 0, 0);
    let models = world::load_models(&core, live as usize);
    let mut seed = 1;
    for _ in 0..OPERATIONS {
        let model = &models[next(&mut seed, live)];
        nrt_count_run(&core, model.id());
        nrt_count_look_up(model, black_box(ABSENT));
    }
    // They stay resident: unloading asks for the time, which crashes the time function found under valgrind.
    models.into_iter().for_each(|model| _ = model.into_id());
}

fn c_models(live: u32) {
    let models: Vec<CModel> = (1..=live).map(|id| CModel::load(0, id)).collect();
    let mut seed = 1;
    for _ in 0..OPERATIONS {
        let model = &models[next(&mut seed, live)];
        nrt_count_c_run(model);
        nrt_count_c_look_up(model, black_box(ABSENT));
    }
}

/// Functions whose names valgrind is told. Their names are plain because it looks for them in the symbol table.
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
    fn nrt_count_c_run(model: &CModel) { model.run(); }
    fn nrt_count_look_up(model: &Model<'static, NullDriver, LinuxHooks>, absent: u32) { world::look_up(model, absent); }
    fn nrt_count_c_look_up(model: &CModel, absent: u32) { model.look_up(absent); }
}
