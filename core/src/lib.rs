//! nrt-core: the memory-and-multiplexing core of the Neuron runtime, without a heap.
#![no_std]
#![deny(missing_docs)]

#[cfg(test)]
extern crate std;

pub mod abi;
pub mod arch;
pub mod driver;
pub mod hooks;
pub mod status;
