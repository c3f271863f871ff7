//! The deployment format of nrt, and the static memory that a deployment demands.
//!
//! A runtime lives in one [`Storage`](nrt_core::Storage) whose pools are laid out before `main`. How large they must be follows from
//! the deployment: [`demand`] counts it, so a program that is built for one deployment can have a storage in which no pool is
//! ever full and no slot is left over.
//!
//! In a build script:
//!
//! ```no_run
//! nrt_capacity::emit("serve.json", "storage.rs").unwrap();
//! ```
//!
//! and in the program:
//!
//! ```text
//! include!(concat!(env!("OUT_DIR"), "/storage.rs"));
//! static STORAGE: DeploymentStorage = DeploymentStorage::new();
//! ```
//!
//! `cargo run -p nrt-capacity -- serve.json` shows the numbers, with who needs what.
//!
//! Without the feature `std` the crate is what programs without std use of it: [`deployment`] and [`demand`].
#![cfg_attr(not(feature = "std"), no_std)]
#![deny(missing_docs, unsafe_code)]

pub mod demand;
pub mod deployment;
pub mod json_out;
pub mod quote;

#[cfg(feature = "std")]
pub mod cli;
#[cfg(feature = "std")]
mod fit;
#[cfg(feature = "std")]
mod rust;

#[cfg(feature = "std")]
pub use fit::{DEFAULT_RING, Fit, FitError};
#[cfg(feature = "std")]
pub use rust::{emit, rust_source};
