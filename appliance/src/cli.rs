//! The command line.

use core::fmt::{self, Display};

use getargs::{Arg, Error, Opt, Options};
use nrt_core::arch::Arch;
use nrt_core::hooks::Level;

use crate::quote::Quote;

/// Text of `--help`.
pub const HELP: &str = "\
Hosts the models of a deployment on one Neuron device, serves requests to them from several threads, reloads them under
load, checks every byte, and shows who holds which bytes.

Usage: nrt-appliance [DEPLOYMENT.json] [--device PATH | --simulate ARCH] [--json] [--log LEVEL]
       nrt-appliance --info [--attach] [--device PATH] [--json]

  DEPLOYMENT.json    models and requests (default: the deployment built in, weights from seeds)
  --device PATH      serve on real devices, from this node on: /dev/neuron0 to /dev/neuron63
  --simulate ARCH    in-process model of the driver for sunda, cayman or mariana, whatever the deployment says
                     (default: the in-process model for the architecture in the deployment)
  --info             list the devices, their memory, and who holds their cores, instead of serving
  --attach           with --info: open each device to ask for the size of its HBM, which is one of its 16 processes for
                     that moment, and waits while it resets (default: what the architecture has)
  --reserve SIZE     reserve this much on the HBM of every core and carve all device memory of the core out of it
                     (bytes, or with KiB, MiB or GiB behind; default: every allocation is a request to the driver)
  --json             print the report, or the list, as one JSON object on standard output
  --log LEVEL        error, warn, info or trace, on standard error (default: warn)
  -h, --help         print this text
  -V, --version      print the version

Examples:
  nrt-appliance
  nrt-appliance three-on-one-core.json --json
  nrt-appliance sharing.json --simulate sunda --log info
  nrt-appliance sharing.json --reserve 2GiB
  nrt-appliance serve.json --device /dev/neuron0
  NEURON_RT_VISIBLE_CORES=2-3 nrt-appliance serve.json --device /dev/neuron0
  nrt-appliance --info

Environment:
  NEURON_RT_VISIBLE_CORES      logical cores to have, such as 2 or 0-3, counted from the first one of the device
  NEURON_RT_NUM_CORES          how many, wherever they are free; without either: all of the deployment's devices
  NEURON_SCRATCHPAD_PAGE_SIZE  scratchpad page in MiB (default: 512)
  The deployment's logical cores count from the first of these. The other variables of the runtime count as well.

Exit status:
  0  every check held
  1  a check failed
  2  bad command line or deployment
  3  no device, or it cannot be opened, or others hold its cores
  4  the program cannot start: too small a stack, no standard descriptors
  101  the program itself is broken (its message is on standard error)
";

/// Text of `--version`.
pub const VERSION: &str = concat!("nrt-appliance ", env!("CARGO_PKG_VERSION"), "\n");

/// Exit status of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Exit {
    /// Every check held.
    Success = 0,
    /// A check failed.
    CheckFailed = 1,
    /// Bad command line or deployment.
    Usage = 2,
    /// No device, or it cannot be opened, or others hold its cores.
    NoDevice = 3,
    /// The program cannot start: too small a stack, no standard descriptors.
    NoStart = 4,
}

/// What to serve on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The in-process model of the driver, for this architecture or for the one in the deployment.
    Simulated(Option<Arch>),
    /// Real devices, as many as the deployment wants, from this one on.
    Device {
        /// Number of the node: `/dev/neuron<number>`.
        number: u32,
    },
}

impl Target {
    /// The architecture that takes the place of the one in the deployment.
    #[must_use]
    pub fn arch(&self) -> Option<Arch> {
        match self {
            Self::Simulated(arch) => *arch,
            Self::Device { .. } => None,
        }
    }
}

/// A run of the main job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<'a> {
    /// Path of the deployment; `None` = the one built in.
    pub deployment: Option<&'a [u8]>,
    /// What to serve on.
    pub target: Target,
    /// Bytes to reserve for every core; `None` = nothing.
    pub reserve: Option<u64>,
    /// Whether the report is JSON.
    pub json: bool,
    /// Least severe record that is logged.
    pub log: Level,
}

/// A look at the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Number of the one device that is wanted; `None` = all.
    pub device: Option<u32>,
    /// Whether the list is JSON.
    pub json: bool,
    /// Whether devices are opened for it.
    pub attach: bool,
}

/// What the command line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// The main job.
    Run(Run<'a>),
    /// The list of devices.
    Info(Info),
    /// [`HELP`].
    Help,
    /// [`VERSION`].
    Version,
}

/// What is wrong with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is no such option.
    Unknown,
    /// The option lacks its value.
    NoValue,
    /// The option takes no value.
    UnwantedValue,
    /// The value of the option is none of those allowed.
    BadValue,
    /// The argument appears a second time.
    GivenTwice,
    /// The option excludes another that was given.
    Conflict,
    /// The option belongs to another that was not given.
    Incomplete,
    /// The path is empty.
    Empty,
}

/// A fault of the command line: which argument, and what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandLineError<'a> {
    /// The option with its dashes, or the argument.
    pub argument: Argument<'a>,
    /// The value of the option, if it is at fault.
    pub value: Option<&'a [u8]>,
    /// What is wrong.
    pub problem: Problem,
    /// What was expected.
    pub expected: &'static str,
}

/// An argument as a message names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument<'a> {
    /// A one-letter option.
    Short(u8),
    /// An option with two dashes.
    Long(&'a [u8]),
    /// Any other argument.
    Positional(&'a [u8]),
}

/// What is served on when nothing is said: the model, or the first device in a program without it.
const DEFAULT_TARGET: Target =
    if cfg!(all(feature = "device", not(feature = "simulate"))) { Target::Device { number: 0 } } else { Target::Simulated(None) };

const OPTIONS: &str = "--device, --simulate, --info, --attach, --reserve, --json, --log, --help or --version";
const DEVICE: &str = "a device node, /dev/neuron0 to /dev/neuron63";
const ARCHITECTURE: &str = "sunda, cayman or mariana";
const SIZE: &str = "a number of bytes above 0, or a number with KiB, MiB or GiB behind it";
const LEVEL: &str = "error, warn, info or trace";

/// Reads the arguments behind the program's name.
///
/// # Errors
/// The first argument that is unknown, has no value or a bad one, appears twice, or excludes an earlier one.
pub fn parse<'a>(arguments: impl Iterator<Item = &'a [u8]>) -> Result<Command<'a>, CommandLineError<'a>> {
    let mut options = Options::new(arguments);
    let mut deployment = None;
    let mut target = None;
    let mut reserve = None;
    let mut json = false;
    let mut info = false;
    let mut attach = false;
    let mut log = None;
    while let Some(argument) = options.next_arg().map_err(misused)? {
        let (name, given) = match argument {
            Arg::Positional(path) => {
                let fault = |problem, expected| {
                    Err(CommandLineError { argument: Argument::Positional(path), value: None, problem, expected })
                };
                if path.is_empty() {
                    return fault(Problem::Empty, "the path of a deployment");
                }
                if deployment.replace(path).is_some() {
                    return fault(Problem::GivenTwice, "one deployment");
                }
                continue;
            }
            Arg::Short(b'h') | Arg::Long(b"help") => return Ok(Command::Help),
            Arg::Short(b'V') | Arg::Long(b"version") => return Ok(Command::Version),
            Arg::Long(b"json") => {
                json = true;
                continue;
            }
            Arg::Long(b"info") => {
                info = true;
                continue;
            }
            Arg::Long(b"attach") => {
                attach = true;
                continue;
            }
            Arg::Long(name @ (b"device" | b"simulate")) => (name, target.is_some()),
            Arg::Long(name @ b"reserve") => (name, reserve.is_some()),
            Arg::Long(name @ b"log") => (name, log.is_some()),
            Arg::Long(name) => return Err(unknown(Argument::Long(name))),
            Arg::Short(letter) => return Err(unknown(Argument::Short(letter))),
        };
        let argument = Argument::Long(name);
        if given {
            let (problem, expected) = match (name, &target) {
                (b"device", Some(Target::Simulated(_))) => (Problem::Conflict, "either --device or --simulate"),
                (b"simulate", Some(Target::Device { .. })) => (Problem::Conflict, "either --device or --simulate"),
                _ => (Problem::GivenTwice, "each option once"),
            };
            return Err(CommandLineError { argument, value: None, problem, expected });
        }
        let value = options.value().map_err(misused)?;
        let bad = |expected| CommandLineError { argument, value: Some(value), problem: Problem::BadValue, expected };
        match name {
            b"device" => target = Some(Target::Device { number: device_number(value).ok_or(bad(DEVICE))? }),
            b"simulate" => {
                let arch = core::str::from_utf8(value).ok().and_then(Arch::from_name);
                target = Some(Target::Simulated(Some(arch.ok_or(bad(ARCHITECTURE))?)));
            }
            b"reserve" => reserve = Some(size(value).ok_or(bad(SIZE))?),
            _ => log = Some(level(value).ok_or(bad(LEVEL))?),
        }
    }
    if info {
        let conflict = |expected| {
            let argument = Argument::Long(b"info");
            Err(CommandLineError { argument, value: None, problem: Problem::Conflict, expected })
        };
        return match (deployment, target) {
            (Some(_), _) => conflict("either --info or a deployment"),
            _ if reserve.is_some() => conflict("either --info or --reserve"),
            _ if log.is_some() => conflict("either --info or --log"),
            (_, Some(Target::Simulated(_))) => conflict("either --info or --simulate"),
            (_, Some(Target::Device { number })) => Ok(Command::Info(Info { device: Some(number), json, attach })),
            (_, None) => Ok(Command::Info(Info { device: None, json, attach })),
        };
    }
    if attach {
        let argument = Argument::Long(b"attach");
        return Err(CommandLineError { argument, value: None, problem: Problem::Incomplete, expected: "--info with it" });
    }
    let target = target.unwrap_or(DEFAULT_TARGET);
    Ok(Command::Run(Run { deployment, target, reserve, json, log: log.unwrap_or(Level::Warn) }))
}

fn unknown(argument: Argument<'_>) -> CommandLineError<'_> {
    CommandLineError { argument, value: None, problem: Problem::Unknown, expected: OPTIONS }
}

/// Turns a fault of the argument parser into ours.
fn misused<'a>(error: Error<&'a [u8]>) -> CommandLineError<'a> {
    let (option, problem) = match error {
        Error::RequiresValue(option) => (option, Problem::NoValue),
        Error::DoesNotRequireValue(option) => (option, Problem::UnwantedValue),
        _ => (Opt::Long(&b""[..]), Problem::Unknown),
    };
    let (argument, expected) = match (option, problem) {
        (Opt::Short(letter), _) => (Argument::Short(letter), "nothing behind it"),
        (Opt::Long(name @ b"device"), Problem::NoValue) => (Argument::Long(name), DEVICE),
        (Opt::Long(name @ b"simulate"), Problem::NoValue) => (Argument::Long(name), ARCHITECTURE),
        (Opt::Long(name @ b"reserve"), Problem::NoValue) => (Argument::Long(name), SIZE),
        (Opt::Long(name), Problem::NoValue) => (Argument::Long(name), LEVEL),
        (Opt::Long(name), _) => (Argument::Long(name), "no value"),
    };
    CommandLineError { argument, value: None, problem, expected }
}

/// The number of a device node: `/dev/neuron12` has 12. Numbers run from 0 to 63.
fn device_number(path: &[u8]) -> Option<u32> {
    let digits = path.strip_prefix(b"/dev/neuron")?;
    let canonical = digits.len() == 1 || digits.first() != Some(&b'0');
    let all_digits = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number = core::str::from_utf8(digits).ok()?.parse().ok()?;
    (canonical && all_digits && number < 64).then_some(number)
}

/// A size: `65536`, `64KiB`, `512MiB`, `6GiB`.
fn size(text: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(text).ok()?;
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match text.get(digits.len()..)? {
        "" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    let all_digits = digits.bytes().all(|digit| digit.is_ascii_digit());
    let count: u64 = digits.parse().ok().filter(|_| all_digits)?;
    count.checked_mul(unit).filter(|bytes| *bytes != 0)
}

fn level(name: &[u8]) -> Option<Level> {
    match name {
        b"error" => Some(Level::Error),
        b"warn" => Some(Level::Warn),
        b"info" => Some(Level::Info),
        b"trace" => Some(Level::Trace),
        _ => None,
    }
}

impl Display for CommandLineError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.argument {
            Argument::Short(letter) => write!(f, "-{}", Quote { bytes: &[letter], limit: 1 })?,
            Argument::Long(bytes) => write!(f, "--{}", Quote { bytes, limit: 60 })?,
            Argument::Positional(bytes) => write!(f, "\"{}\"", Quote { bytes, limit: 60 })?,
        }
        if let Some(bytes) = self.value {
            write!(f, " \"{}\"", Quote { bytes, limit: 60 })?;
        }
        let problem = match self.problem {
            Problem::Unknown => "unknown option",
            Problem::NoValue => "no value given",
            Problem::UnwantedValue => "takes no value",
            Problem::BadValue => "bad value",
            Problem::GivenTwice => "given a second time",
            Problem::Conflict => "excludes an option given before",
            Problem::Incomplete => "means nothing by itself",
            Problem::Empty => "empty path",
        };
        write!(f, ": {problem}, expected {}", self.expected)
    }
}

impl core::error::Error for CommandLineError<'_> {}
