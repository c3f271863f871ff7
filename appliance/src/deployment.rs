//! The deployment: which models one device hosts, and how they are served. The format is documented in
//! [`nrt_capacity::deployment`].

pub use nrt_capacity::deployment::*;

/// The deployment that is served when no file is given.
pub const DEFAULT_DEPLOYMENT: &str = include_str!("../deployments/default.json");
