//! The enumerations of the C interface: transparent integers, so that any value the other side wrote is valid.

mod api;
mod counters;
mod driver;
mod memory;
mod model;

pub use api::*;
pub use counters::*;
pub use driver::*;
pub use memory::*;
pub use model::*;
