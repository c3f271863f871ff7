//! The arguments of the kernel driver's requests, and what it writes, byte for byte (fact sheet `driver-abi`).
//!
//! Nothing else in this crate names them: the driver trait ([`crate::driver`]) has request types of its own, and a platform
//! turns those into these. The request numbers stand in the documentation of each struct, as the headers encode them; they
//! cannot be computed from its size. A struct made of plain integers can be viewed as bytes; one that holds pointers can
//! be made of zeroes. Fields the driver writes are marked as filled in by it.

mod copy;
mod cores;
mod device;
mod dma;
mod memory;
mod notification;
mod pod;
mod store;

pub use copy::*;
pub use cores::*;
pub use device::*;
pub use dma::*;
pub use memory::*;
pub use notification::*;
pub use pod::*;
pub use store::*;
