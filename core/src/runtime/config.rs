//! What an application decides.

use crate::environment::{CoreSelection, Environment};
use crate::instance::Instance;
use crate::model_db::LookUps;
use crate::scratchpad::DEFAULT_PAGE_SIZE;

/// Configuration of a runtime.
#[derive(Clone, Copy, Debug)]
pub struct Config<H> {
    /// Platform services.
    pub hooks: H,
    /// Kind of the machine, where the platform knows it. It is used where the driver does not know the routing ids.
    pub instance: Instance,
    /// Physical cores of a logical core; `None` = the default of the machine (1 on SUNDA, else 2). SUNDA takes 1 only.
    pub logical_core_size: Option<u32>,
    /// Logical cores of the driver's devices to own; the others are not touched, and devices without an owned core are not
    /// opened. A count takes the lowest ones: a platform that reserves cores turns it into the exact range it was given.
    pub cores: CoreSelection,
    /// `NEURON_RT_NUM_CORES` was set beside a list of cores, which wins: init warns of it.
    pub count_ignored: bool,
    /// Scratchpad page in bytes, 1 to 0xFFFF_FFFF; 512 MiB by default.
    pub scratchpad_page_size: u64,
    /// Puts the scratchpad of both cores of an HBM on one core; needs every core of the HBM.
    pub scratchpad_on_single_core: bool,
    /// Contiguous scratchpad of 64 MiB pages on one core of each HBM. Needs a driver that has it and, beyond SUNDA, logical cores
    /// of two cores; where it is not possible the log says so and the scratchpad is cut into pages.
    pub contiguous_scratchpad: bool,
    /// Entries of a device's event ring, dealt evenly to its owned cores (at least one each); 0 = no ring, `None` = as many
    /// as the storage has. Of more than that there are as many as the storage has, and the log says so.
    pub ring_entries: Option<u64>,
    /// Copies to and from device memory without the bounce buffer (`NEURON_RT_DBG_ZEROCOPY`) where the driver advertises it;
    /// not on SUNDA, whose driver advertises and refuses it. Off by default.
    pub zero_copy: bool,
    /// Zero-copy writes of at most this many bytes may go through the PCI window (`NEURON_RT_DBG_DIRECT_BAR4_WRITE_SIZE`);
    /// `None` = the default of the architecture: 4096, but 0 on SUNDA.
    pub direct_write_bytes: Option<u32>,
    /// Makes this the runtime of the process, as it is by default: its tree becomes the process-wide `tdrv_ctx_0` before any
    /// device is opened, and init refuses while another runtime is that. See [`side_by_side`](Self::side_by_side).
    pub process_wide: bool,
    /// Memory tables with one column per usage instead of one per class.
    pub verbose_memory_table: bool,
    /// How models are found: without a lock, or as documented.
    pub look_ups: LookUps,
    /// Counts the references to a model on eight words, each on a cache line of its own, instead of one: threads that use *the
    /// same* model at the same time then rarely meet on a line. Off by default: with few threads, or a model for each of them, it
    /// gains nothing. What it costs: a look-up some instructions more; an unload touches eight lines for each core of the model
    /// instead of one. The seven lines, 448 bytes for each model and core, are part of every storage, on or off. A debugger
    /// that reads `model_t::ref_count` sees the first word only. See `docs/concurrency.md`; no environment variable.
    pub striped_references: bool,
}

impl<H> Config<H> {
    /// The defaults with these platform services.
    #[must_use]
    pub const fn new(hooks: H) -> Self {
        Self {
            hooks,
            instance: Instance::UNKNOWN,
            logical_core_size: None,
            cores: CoreSelection::All,
            count_ignored: false,
            scratchpad_page_size: DEFAULT_PAGE_SIZE,
            scratchpad_on_single_core: false,
            contiguous_scratchpad: false,
            ring_entries: None,
            zero_copy: false,
            direct_write_bytes: None,
            process_wide: true,
            verbose_memory_table: false,
            look_ups: LookUps::LockFree,
            striped_references: false,
        }
    }

    /// Lets this runtime stand beside others of the process, each with a storage of its own: it is not refused because of
    /// them, nor they because of it, and no debugger finds it by name. For tests and simulations: on a device, runtimes of one
    /// process would share the driver's state, and the first close would take it from the others.
    ///
    /// ```
    /// let config = nrt_core::Config::new(()).side_by_side();
    /// assert!(!config.process_wide);
    /// ```
    #[must_use]
    pub const fn side_by_side(mut self) -> Self {
        self.process_wide = false;
        self
    }

    /// What the environment says, with these platform services.
    ///
    /// ```
    /// use nrt_core::environment::{CoreSelection, Environment};
    /// use nrt_core::{Arch, Config, driver::Probe};
    /// let machine = Probe { arch: Arch::Cayman, revision: 1, devices: 1, cores_per_device: 8, features: 0 };
    /// let environment = Environment::parse(&[("NEURON_RT_VISIBLE_CORES", "2-3")], &machine)?;
    /// let config = Config::from_environment((), &environment);
    /// assert_eq!(config.cores, CoreSelection::Exact { first: 2, count: 2 });
    /// # Ok::<(), nrt_core::environment::EnvironmentError>(())
    /// ```
    #[must_use]
    pub const fn from_environment(hooks: H, environment: &Environment) -> Self {
        Self {
            hooks,
            instance: Instance::UNKNOWN,
            logical_core_size: Some(environment.logical_core_size),
            cores: environment.cores,
            count_ignored: environment.count_ignored,
            scratchpad_page_size: environment.scratchpad_page_size,
            scratchpad_on_single_core: environment.scratchpad_on_single_core,
            contiguous_scratchpad: environment.contiguous_scratchpad,
            ring_entries: environment.ring_entries,
            zero_copy: environment.zero_copy,
            direct_write_bytes: environment.direct_write_bytes,
            process_wide: true,
            verbose_memory_table: environment.verbose_memory_table,
            look_ups: LookUps::LockFree,
            striped_references: false,
        }
    }
}
