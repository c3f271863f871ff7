//! The whole program, on static memory of its own or of the caller's.

use nrt_core::AnyStorage;
use nrt_linux::args::Args;
use nrt_linux::env::Env;

use crate::job;

/// Memory of the runtime that a program brings.
#[derive(Clone, Copy)]
pub struct Memory {
    /// The storage.
    pub storage: &'static dyn AnyStorage,
    /// Whether a deployment that does not fit it is refused before anything is allocated. If not, the job runs until a pool is
    /// full, and reports that: for those who check the check.
    pub checked: bool,
}

/// Runs the program on a storage for any deployment of moderate size and returns its exit status, one of
/// [`Exit`](crate::cli::Exit). Can be called once in a process.
///
/// The environment is consulted for real devices alone: it says which cores of theirs this process may have. Everything
/// else is in the deployment.
#[must_use]
pub fn run(args: Args<'_>, env: Env<'_>) -> i32 {
    run_on(&Memory { storage: &job::STORAGE, checked: true }, args, env)
}

/// As [`run`], on a storage of the caller's, such as one of exactly the size that a deployment demands.
#[must_use]
pub fn run_on(memory: &Memory, args: Args<'_>, env: Env<'_>) -> i32 {
    job::run(memory, args, env) as i32
}
