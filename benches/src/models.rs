//! Groups `model` and `look-up`: taking and giving back the reference of a resident model.
//!
//! Two operations of the public face around a bare take and release, which is group `acquire`: `model` is a whole run of
//! nothing; `look-up` asks for a variable the model does not have, which takes the model, misses, and gives it back.

use std::hint::black_box;

use nrt_core::Model;
use nrt_core::hooks::Hooks;
use nrt_linux::hooks::LinuxHooks;

use crate::acquire::{self, Maps};
use crate::c::{self, CModel};
use crate::drain_load;
use crate::driver::NullDriver;
use crate::hooks::RememberedThreadId;
use crate::measure::{BATCH, Peer, Scenario};
use crate::world::{self, Core, World};

/// Models resident on each of the two cores.
const RESIDENT: usize = 64;
/// A variable no model has.
pub const ABSENT: u32 = 7;

/// All runtimes with their models, and the models of the C side under the same ids.
pub struct Models {
    linux: Side<LinuxHooks>,
    striped: Side<LinuxHooks>,
    remembered: Side<RememberedThreadId>,
    c: [Vec<CModel>; 2],
    database: acquire::Models,
    striped_database: acquire::Models,
    maps: Maps,
}

struct Side<H: Hooks + 'static> {
    world: World<H>,
    cores: [Core<H>; 2],
    models: [Vec<Model<'static, NullDriver, H>>; 2],
}

impl<H: Hooks> Side<H> {
    fn new(world: World<H>) -> Self {
        let cores = [0, 1].map(|core| world::core(world, 0, core));
        let models = [0, 1].map(|core| world::load_models(&cores[core], RESIDENT));
        Self { world, cores, models }
    }

    fn finish(self) -> Result<(), String> {
        for model in self.models.into_iter().flatten() {
            model
                .unload_within(0)
                .map_err(|error| error.to_string())?
                .map_or(Ok(()), |busy| Err(format!("model {} is in use", busy.id())))?;
        }
        let report = self.world.close(Some(0)).map_err(|error| error.to_string())?;
        if report.is_clean() { Ok(()) } else { Err(format!("close found something left over: {report:?}")) }
    }

    fn run(&self, core: usize, n: u32) {
        let id = black_box(self.models[core][RESIDENT / 2].id());
        (0..n).for_each(|_| world::run(&self.cores[core], id));
    }
}

/// What one thread works on: a core and one of its models.
type Target = (usize, usize);

impl Models {
    /// Loads everything. `world` is used for the models as well as for allocations.
    ///
    /// # Panics
    /// When a runtime does not come up or a model does not load, or `world` had models before.
    #[must_use]
    pub fn new(world: World<LinuxHooks>) -> Self {
        let linux = Side::new(world);
        let c = [0, 1].map(|core| linux.models[core].iter().map(|model| CModel::load(core as u32, model.id())).collect());
        let striped = Side::new(world::open_striped(LinuxHooks::new()));
        let ids = |side: &Side<LinuxHooks>| side.models[0].iter().map(Model::id).collect::<Vec<_>>();
        assert_eq!(ids(&linux), ids(&striped), "models loaded in one order have the same ids");
        let database = |side: &Side<LinuxHooks>| side.cores[0].bare_database().unwrap_or_else(|error| panic!("core 0: {error}"));
        let (database, striped_database) = (database(&linux), database(&striped));
        let maps = Maps::new(ids(&linux));
        let remembered = Side::new(world::open(RememberedThreadId::default()));
        Self { linux, striped, remembered, c, database, striped_database, maps }
    }

    /// Every scenario of both groups, and those of `acquire`.
    #[must_use]
    pub fn scenarios(&self) -> Vec<Scenario<'_>> {
        let mut scenarios = self.maps.scenarios(&self.database, &self.striped_database, &self.c[0]);
        scenarios.extend(self.drain_under_load());
        scenarios.extend([
            self.run("model/1 thread", 1, [0, 0]),
            self.run("model/2 threads, one core", 2, [0, 0]),
            self.run("model/2 threads, two cores", 2, [0, 1]),
            self.look_up("look-up/1 thread", 1, [(0, 10), (0, 10)]),
            self.look_up("look-up/2 threads, one model", 2, [(0, 10), (0, 10)]),
            self.look_up("look-up/2 threads, two models of a core", 2, [(0, 10), (0, 40)]),
            self.look_up("look-up/2 threads, two cores", 2, [(0, 10), (1, 10)]),
        ]);
        scenarios
    }

    /// On a model that nobody else uses.
    fn drain_under_load(&self) -> Option<Scenario<'static>> {
        let database = self.linux.cores[0].bare_database().ok()?;
        let id = self.linux.models[0][RESIDENT - 1].id();
        Some(drain_load::scenario(database, id, self.c[0][RESIDENT - 1]))
    }

    fn run(&self, name: &'static str, threads: usize, cores: [usize; 2]) -> Scenario<'_> {
        let touches = "gate, who-am-I (a system call), execution lock, table walk, reference, binding of no \
                       tensors, running model and thread set and cleared, one call of an executor";
        let locks = "execution lock 1x; 6 atomic read-modify-writes in all";
        let peers = vec![
            Peer { name: "nrt", touches, locks, work: Box::new(move |thread, n| self.linux.run(cores[thread], n)) },
            Peer {
                name: "nrt, thread id remembered",
                touches: "as nrt, but the thread id comes from a thread-local variable",
                locks,
                work: Box::new(move |thread, n| self.remembered.run(cores[thread], n)),
            },
            Peer {
                name: "C documented shape",
                touches: "state check, execution mutex, table walk, reference, running model set and cleared, one call of an \
                          executor; no in-flight count, no re-entry check, no binding",
                locks: "pthread mutex of execution and of the table 1x each; 6 atomic read-modify-writes in all",
                work: Box::new(move |thread, n| self.c[cores[thread]][RESIDENT / 2].runs(n)),
            },
        ];
        Scenario { name, operation: "run of nothing", threads, batch: BATCH, alone: "", peers }
    }

    fn look_up(&self, name: &'static str, threads: usize, targets: [Target; 2]) -> Scenario<'_> {
        let peers = vec![
            Peer {
                name: "nrt",
                touches: "gate, table walk, reference, walk of an empty chain of 1,024, an error with its cause",
                locks: "none; 4 atomic read-modify-writes in all",
                work: Box::new(move |thread, n| {
                    let (core, model) = targets[thread];
                    let model = &self.linux.models[core][model];
                    (0..n).for_each(|_| world::look_up(model, black_box(ABSENT)));
                }),
            },
            Peer {
                name: "C documented shape",
                touches: "state check, table walk, reference, walk of an empty chain of 1,024, a status",
                locks: "pthread mutex of the table 1x; 4 atomic read-modify-writes in all",
                work: Box::new(move |thread, n| {
                    let (core, model) = targets[thread];
                    self.c[core][model].look_ups(black_box(ABSENT), n);
                }),
            },
        ];
        Scenario { name, operation: "take, miss a variable, give back", threads, batch: BATCH, alone: "", peers }
    }

    /// Unloads the models and closes the runtimes: whether every reference was given back on both sides.
    ///
    /// # Errors
    /// What was not.
    pub fn finish(self) -> Result<(), String> {
        self.linux.finish()?;
        self.striped.finish()?;
        self.remembered.finish()?;
        match c::model_references() {
            0 => Ok(()),
            left => Err(format!("{left} references of the C side were not given back")),
        }
    }
}
