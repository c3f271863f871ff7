//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use nrt_core::arch::Arch;
use nrt_sim::{DriverVersion, Routing, SimConfig};

use crate::faults::Fault;
use crate::output::Style;

/// What instances are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Architecture {
    /// Trn1: 2 cores, 2 x 16 GiB a device.
    #[value(alias = "sunda")]
    Trn1,
    /// Inf2: as Trn1, numbered without a torus.
    Inf2,
    /// Trn2: 8 cores, 4 x 24 GiB a device.
    #[value(alias = "cayman")]
    Trn2,
    /// Trn3: 8 cores, 4 x 36 GiB a device.
    #[value(alias = "mariana")]
    Trn3,
}

/// Runs PROGRAM with Neuron devices that are not there.
///
/// Whatever the program and its children do with /dev/neuronN is answered by a model of the kernel driver; everything
/// else is none of the emulator's business. The exit status is the program's (128 + n when signal n ended it), 125 when
/// the emulator itself fails, 126 when PROGRAM cannot be executed, 127 when there is no such program.
#[derive(Debug, Parser)]
#[command(
    name = "nrt-emulate",
    version,
    after_help = "Examples:
  nrt-emulate -- ./program                       one Trn2 device, newest driver
  nrt-emulate --arch trn1 --devices 16 -- ls -l /dev/neuron3
  nrt-emulate --driver 2.24.7 --trace -- ./program
  nrt-emulate --strict --report -- ./program     mistakes a real driver does not report, and a summary
  nrt-emulate --fail MEM_ALLOC_V2MT64:3:ENOMEM --trace=json --output trace.jsonl -- ./program"
)]
pub(crate) struct Options {
    /// Architecture of the devices.
    #[arg(long, value_enum, default_value = "trn2")]
    arch: Architecture,
    /// Number of devices.
    #[arg(long, default_value_t = 1, value_name = "N")]
    devices: u32,
    /// Version of the kernel driver: 2.24.7, 2.25.4 or 2.26.5.
    #[arg(long, default_value = "2.26.5", value_name = "VERSION", value_parser = version)]
    driver: DriverVersion,
    /// Bytes of each HBM (2G to what the architecture has; K, M and G are powers of 1024).
    #[arg(long, value_name = "SIZE", value_parser = size)]
    hbm: Option<u64>,
    /// Makes the N-th REQUEST fail with ERRNO; N is * for every one. OPEN and MMAP are requests here too.
    #[arg(long, value_name = "REQUEST:N:ERRNO")]
    pub(crate) fail: Vec<Fault>,
    /// Refuses and reports what damages or misleads a real device without a word.
    #[arg(long)]
    strict: bool,
    /// Answers without positive return values, as the release notes of driver 2.29 promise.
    #[arg(long)]
    precise_errnos: bool,
    /// Tells every call on a device.
    #[arg(long, value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "text", value_name = "STYLE")]
    pub(crate) trace: Option<Style>,
    /// Tells at the end who used what, what was left, and what requests cost.
    #[arg(long)]
    pub(crate) report: bool,
    /// Where trace, diagnoses and report go instead of standard error.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Answers every request with 0 and models nothing: what supervision itself costs, for measurements.
    #[arg(long, hide = true)]
    pub(crate) null: bool,
    /// The program and its arguments.
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

impl Options {
    /// The devices that are asked for.
    pub(crate) fn config(&self) -> SimConfig {
        let (arch, routing) = match self.arch {
            Architecture::Trn1 => (Arch::Sunda, Routing::Torus),
            Architecture::Inf2 => (Arch::Sunda, Routing::Identity),
            Architecture::Trn2 => (Arch::Cayman, Routing::Torus),
            Architecture::Trn3 => (Arch::Mariana, Routing::Torus),
        };
        let base = SimConfig::new(arch);
        SimConfig {
            devices: self.devices,
            version: self.driver,
            routing,
            hbm_bytes: self.hbm.unwrap_or(base.hbm_bytes),
            strict: self.strict,
            precise_errnos: self.precise_errnos,
            ..base
        }
    }
}

fn version(text: &str) -> Result<DriverVersion, String> {
    let found = DriverVersion::ALL.into_iter().find(|version| {
        let full = version.text();
        full == text || full.strip_suffix(".0") == Some(text)
    });
    found.ok_or_else(|| "the model knows 2.24.7, 2.25.4 and 2.26.5".to_owned())
}

fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" | "KIB" => 10,
        "M" | "MIB" => 20,
        "G" | "GIB" => 30,
        _ => return Err("a number of bytes, with K, M or G".to_owned()),
    };
    let number = digits.parse::<u64>().map_err(|_| "a number of bytes, with K, M or G".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_versions() {
        assert_eq!(size("2G"), Ok(2 << 30));
        assert_eq!(size("16MiB"), Ok(16 << 20));
        assert!(size("G").is_err() && size("5X").is_err() && size("99999999999999G").is_err());
        assert_eq!(version("2.24.7.0"), Ok(DriverVersion::V2_24_7));
        assert!(version("2.23").is_err());
    }

    #[test]
    fn the_command_line_is_consistent() {
        <Options as clap::CommandFactory>::command().debug_assert();
    }
}
