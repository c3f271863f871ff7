//! The arguments that say where debug information is.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::Unreadable;
use crate::types::Options;

/// Where debug information is, if not in the file itself.
#[derive(Clone, Debug, Default, Args)]
pub struct SourceArguments {
    /// File that holds the debug information.
    #[arg(long, value_name = "FILE")]
    pub debug_file: Option<PathBuf>,
    /// Directory searched for separate debug files (.build-id, debuglink) before /usr/lib/debug; may be repeated.
    #[arg(long, value_name = "DIR")]
    pub debug_dir: Vec<PathBuf>,
}

impl SourceArguments {
    /// Refuses them where no file is read.
    ///
    /// # Errors
    /// Wrong usage, if any was given and there is no file.
    pub fn need(&self, file: Option<&Path>) -> Result<(), Unreadable> {
        if file.is_some() || (self.debug_file.is_none() && self.debug_dir.is_empty()) {
            return Ok(());
        }
        Err(Unreadable::usage("--debug-file, --debug-dir", "no file is read", "--elf FILE with them"))
    }

    /// Puts them into options.
    pub fn apply(&self, options: &mut Options) {
        options.debug_file.clone_from(&self.debug_file);
        options.debug_directories.splice(0..0, self.debug_dir.iter().cloned());
    }
}
