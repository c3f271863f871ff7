//! What an application decides.

use crate::scratchpad::DEFAULT_PAGE_SIZE;

/// Configuration of a runtime.
#[derive(Clone, Copy, Debug)]
pub struct Config<H> {
    /// Platform services.
    pub hooks: H,
    /// Physical cores of a logical core; `None` = the default of the machine (1 on SUNDA, else 2). SUNDA takes 1 only.
    pub logical_core_size: Option<u32>,
    /// Scratchpad page in bytes, 1 to 0xFFFF_FFFF; 512 MiB by default.
    pub scratchpad_page_size: u64,
    /// Puts the scratchpad of both cores of an HBM on one core; needs every core of the HBM.
    pub scratchpad_on_single_core: bool,
    /// Contiguous scratchpad of 64 MiB pages. Not built yet: init refuses it.
    pub contiguous_scratchpad: bool,
}

impl<H> Config<H> {
    /// The defaults with these platform services.
    #[must_use]
    pub const fn new(hooks: H) -> Self {
        Self {
            hooks,
            logical_core_size: None,
            scratchpad_page_size: DEFAULT_PAGE_SIZE,
            scratchpad_on_single_core: false,
            contiguous_scratchpad: false,
        }
    }
}
