//! A deployment from its file, with the capacities it demands.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nrt_core::{Capacities, Pool};

use crate::demand::{Demand, Need, Scratchpads, for_each_need};
use crate::deployment::{Deployment, MAX_BYTES, MAX_TEXT_BYTES, WeightSource, parse_into};

/// Event-ring entries of a device when nothing is said. A ring never is full: it forgets its oldest event.
pub const DEFAULT_RING: usize = 256;

/// Most nodes, and most `mem_refs`, of a storage.
const MAX_SLOTS: u64 = (1 << 24) - 1;
/// Most scratchpad pages of a core.
const MAX_SCRATCHPAD_PAGES: u64 = 1024;

/// A deployment and what it demands.
#[derive(Debug)]
pub struct Fit {
    deployment: Box<Deployment>,
    scratchpads: Scratchpads,
    weight_bytes: Vec<u64>,
    files: Vec<PathBuf>,
    demand: Demand,
    ring: usize,
}

/// Why there are no capacities for a deployment.
#[derive(Debug)]
pub enum FitError {
    /// A file cannot be read: the deployment, or the weights of a model.
    File {
        /// Path of the file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The deployment breaks a rule of its format; the message names line, column and key.
    Deployment {
        /// Path of the deployment.
        path: PathBuf,
        /// The message.
        message: String,
    },
    /// A weights file is empty or too large.
    Weights {
        /// Path of the file.
        path: PathBuf,
        /// Bytes of it.
        bytes: u64,
    },
    /// No storage is that large.
    TooLarge {
        /// Name of the pool.
        pool: &'static str,
        /// Slots that are needed.
        need: u64,
        /// Most that there can be.
        limit: u64,
    },
    /// The program does not run as a build script.
    NoOutDir,
}

impl fmt::Display for FitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Deployment { path, message } => write!(f, "{}: {message}", path.display()),
            Self::Weights { path, bytes } => {
                write!(f, "{}: the file has {bytes} bytes, expected 1 to {MAX_BYTES}", path.display())
            }
            Self::TooLarge { pool, need, limit } => write!(f, "{need} {pool} are needed, there can be {limit}"),
            Self::NoOutDir => f.write_str("OUT_DIR is not set, expected to run as a build script"),
        }
    }
}

impl std::error::Error for FitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl Fit {
    /// Reads a deployment and the sizes of its weights files, and counts what it demands.
    ///
    /// # Errors
    /// See [`FitError`].
    pub fn read(path: &Path) -> Result<Self, FitError> {
        let file = |path: &Path, error| FitError::File { path: path.into(), error };
        // A text that is too long is refused by its length, not read to its end.
        let length = fs::metadata(path).map_err(|error| file(path, error))?.len();
        let refused = |message: String| FitError::Deployment { path: path.into(), message };
        if length > MAX_TEXT_BYTES as u64 {
            return Err(refused(format!("{length} bytes, expected at most {MAX_TEXT_BYTES}")));
        }
        let text = fs::read(path).map_err(|error| file(path, error))?;
        let mut deployment = Box::new(Deployment::new());
        parse_into(&text, None, &mut deployment).map_err(|error| refused(error.to_string()))?;
        let mut files = vec![path.to_path_buf()];
        let mut weight_bytes = Vec::new();
        for model in deployment.models() {
            weight_bytes.push(match model.weights() {
                WeightSource::Seed { bytes, .. } => bytes,
                WeightSource::File(name) => {
                    let weights = path.parent().unwrap_or(Path::new("")).join(name);
                    let bytes = fs::metadata(&weights).map_err(|error| file(&weights, error))?.len();
                    if bytes == 0 || bytes > MAX_BYTES {
                        return Err(FitError::Weights { path: weights, bytes });
                    }
                    files.push(weights);
                    bytes
                }
            });
        }
        let scratchpads = Scratchpads::of(&deployment);
        let fit = Self { deployment, scratchpads, weight_bytes, files, demand: Demand::default(), ring: DEFAULT_RING };
        fit.with_scratchpads(scratchpads)
    }

    /// With scratchpads that are cut in another way, as the environment of the program will ask for.
    ///
    /// # Errors
    /// [`FitError::TooLarge`].
    pub fn with_scratchpads(self, scratchpads: Scratchpads) -> Result<Self, FitError> {
        let demand = Demand::of(&self.deployment, &scratchpads, &|model| self.weight_bytes[model], None);
        let pages = self.deployment.models().iter().map(|model| scratchpads.pages(model)).max().unwrap_or(0);
        let limits = [
            ("nodes", demand.nodes, MAX_SLOTS),
            ("mem_refs", demand.mem_refs, MAX_SLOTS),
            ("tables (mem_refs)", demand.tables, MAX_SLOTS),
            ("scratchpad pages of a core", pages, MAX_SCRATCHPAD_PAGES),
        ];
        if let Some((pool, need, limit)) = limits.into_iter().find(|(_, need, limit)| need > limit) {
            return Err(FitError::TooLarge { pool, need, limit });
        }
        Ok(Self { scratchpads, demand, ..self })
    }

    /// With another number of event-ring entries for each device.
    #[must_use]
    pub fn with_ring(self, entries: usize) -> Self {
        Self { ring: entries, ..self }
    }

    /// The deployment.
    #[must_use]
    pub fn deployment(&self) -> &Deployment {
        &self.deployment
    }

    /// The files that were looked at: the deployment, then weights.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The smallest capacities with which no pool is ever full.
    #[must_use]
    pub fn capacities(&self) -> Capacities {
        self.demand.capacities(self.deployment.logical_core_size, self.ring)
    }

    /// What is needed of one pool: nodes, models, `mem_refs`, tables or tensors.
    #[must_use]
    pub fn demand(&self, pool: Pool) -> u64 {
        self.needs().into_iter().filter(|need| need.pool == pool).map(|need| need.slots).sum()
    }

    /// Everything that the deployment takes from the pools, with who needs it.
    #[must_use]
    pub fn needs(&self) -> Vec<Need> {
        let mut needs = Vec::new();
        let weight_bytes = |model: usize| self.weight_bytes[model];
        for_each_need(&self.deployment, &self.scratchpads, &weight_bytes, None, &mut |need| needs.push(need));
        needs
    }
}
