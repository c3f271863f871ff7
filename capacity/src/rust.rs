//! The capacities as Rust, for build scripts.

use std::path::Path;
use std::{env, fs};

use nrt_core::Capacities;

use crate::{Fit, FitError};

/// The capacities of a deployment as Rust items: the constant `CAPACITIES`, the type `DeploymentStorage`, and a check of its
/// size. `origin` is what the documentation of the items calls the deployment.
#[must_use]
pub fn rust_source(capacities: &Capacities, origin: &str) -> String {
    let Capacities { nodes, models, mem_refs, tensors, ring } = capacities;
    let bytes = capacities.storage_bytes();
    // One line, whatever a path is like.
    let origin: String = origin.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    format!(
        "/// Capacities that {origin} demands.\n\
         #[allow(dead_code, unreachable_pub, reason = \"for who wants the numbers, wherever this is included\")]\n\
         pub const CAPACITIES: ::nrt_core::Capacities = ::nrt_core::Capacities {{\n    \
         nodes: {nodes}, models: {models}, mem_refs: {mem_refs}, tensors: {tensors}, ring: {ring},\n}};\n\n\
         /// A storage of exactly these: {bytes} bytes of static memory.\n\
         #[allow(unreachable_pub, reason = \"wherever this is included\")]\n\
         pub type DeploymentStorage = ::nrt_core::Storage<{nodes}, {models}, {mem_refs}, {tensors}, {ring}>;\n\n\
         const _: () = assert!(::core::mem::size_of::<DeploymentStorage>() == {bytes});\n"
    )
}

/// For build scripts: writes [`rust_source`] for a deployment to `file` in `OUT_DIR`, and has cargo run the script again when the
/// deployment or a weights file changes.
///
/// # Errors
/// See [`FitError`].
pub fn emit(deployment: impl AsRef<Path>, file: &str) -> Result<Capacities, FitError> {
    let path = deployment.as_ref();
    // Said first: a deployment that cannot be read may be there the next time.
    println!("cargo::rerun-if-changed={}", path.display());
    let fit = Fit::read(path)?;
    for file in fit.files() {
        println!("cargo::rerun-if-changed={}", file.display());
    }
    let capacities = fit.capacities();
    let folder = env::var_os("OUT_DIR").ok_or(FitError::NoOutDir)?;
    let target = Path::new(&folder).join(file);
    let origin = path.file_name().unwrap_or_default().to_string_lossy();
    fs::write(&target, rust_source(&capacities, &origin)).map_err(|error| FitError::File { path: target, error })?;
    Ok(capacities)
}
