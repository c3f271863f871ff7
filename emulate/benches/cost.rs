//! What calls cost under the emulator, against references measured in the same run.
//!
//! `cargo bench -p nrt-emulate [-- --quick] [--json FILE]`
//!
//! * An emulated request without payload, against one that a supervisor answers with 0 without looking at it
//!   (`nrt-emulate --null`): what the kernel itself takes for two context switches. Bar: 2.
//! * A copy of an ordinary descriptor (`dup` and its `close`), which is trapped because a device may have any number, against
//!   one that the same supervisor lets through unseen. Bar: 2.
//! * System calls that the emulator does not touch, against the same calls under the smallest filter that has to look at
//!   the same things. Bar: 2.
//!
//! A program and its supervisor share one processor, so that neither waits for the other to wake up on another one; the
//! processor changes from round to round. A round measures each pair next to each other, its order reversed in every other
//! round; its ratio is that of two means over thousands of calls. Told are the median of these ratios and an interval that
//! holds the true median with a probability of at least 95 %, whatever the distribution (order statistics). A bar is met
//! when the whole interval is below it, and missed when the whole interval is above it.

#[path = "../tests/common/pin.rs"]
mod pin;

use std::fs;
use std::os::fd::AsRawFd;
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde_json::{Value, json};

/// `DEVICE_INIT`, which has no argument and does nothing.
const REQUEST: u64 = 0x8008_4E04;
/// `TCGETS`.
const OTHER_REQUEST: u64 = 0x5401;

/// The calls that are not touched.
const UNTOUCHED: [&str; 4] = ["getppid", "read of nothing", "pread of nothing", "ioctl of another driver"];
/// The calls that are looked at.
const TRAPPED: [&str; 2] = ["emulated request without payload", "dup and close of another file"];

/// Mean time of a call in nanoseconds.
fn mean(calls: u64, mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..calls).for_each(|_| call());
    start.elapsed().as_secs_f64() * 1e9 / calls as f64
}

/// Installs a filter that looks at the number of a call and, for `ioctl`, at the type byte, and lets everything through.
fn install_filter() {
    use libc::{BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_RSH, BPF_W};
    let statement = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let jump = |k: u32, jt, jf| libc::sock_filter { code: (BPF_JMP | BPF_JEQ | BPF_K) as u16, jt, jf, k };
    let program = [
        statement(BPF_LD | BPF_W | BPF_ABS, 0),
        jump(libc::SYS_ioctl as u32, 0, 5),
        statement(BPF_LD | BPF_W | BPF_ABS, 24),
        statement(BPF_ALU | BPF_RSH | BPF_K, 8),
        statement(BPF_ALU | BPF_AND | BPF_K, 0xFF),
        jump(b'N'.into(), 0, 1),
        statement(BPF_RET | BPF_K, 0x0005_0000 | libc::ENOTTY as u32),
        statement(BPF_RET | BPF_K, 0x7FFF_0000),
    ];
    let code = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: numbers, and a program that lives until the call returns.
    let installed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const code) == 0
    };
    assert!(installed, "a filter");
}

/// The measured program: prints the mean times of its calls.
fn inner(mode: &str, calls: u64) {
    let null = fs::OpenOptions::new().read(true).write(true).open("/dev/null").expect("/dev/null");
    if mode == "trapped" {
        let device = fs::OpenOptions::new().read(true).write(true).open("/dev/neuron0");
        // As runtimes have them: what was closed is looked for among all of them before an answer.
        let _others = [true, false].map(|read| fs::OpenOptions::new().read(read).write(true).open("/dev/neuron0"));
        // Under the null supervisor there are no devices, and any descriptor will do.
        let fd = device.as_ref().unwrap_or(&null).as_raw_fd();
        // SAFETY: the request reads no argument.
        println!("{}", mean(calls, || assert_eq!(unsafe { libc::ioctl(fd, REQUEST, 0) }, 0)));
        let fd = null.as_raw_fd();
        // SAFETY: a copy of a descriptor of ours, closed at once.
        println!("{}", mean(calls, || assert_eq!(unsafe { libc::close(libc::dup(fd)) }, 0)));
        return;
    }
    if mode == "filtered" {
        install_filter();
    }
    let (fd, mut word) = (null.as_raw_fd(), [0_u64; 16]);
    // SAFETY: calls that read nothing, or write to a buffer of ours.
    unsafe {
        println!("{}", mean(calls, || assert!(libc::getppid() >= 0)));
        println!("{}", mean(calls, || assert_eq!(libc::read(fd, word.as_mut_ptr().cast(), 0), 0)));
        println!("{}", mean(calls, || assert_eq!(libc::pread(fd, word.as_mut_ptr().cast(), 0, 0), 0)));
        println!("{}", mean(calls, || assert_eq!(libc::ioctl(fd, OTHER_REQUEST, word.as_mut_ptr()), -1)));
    }
}

/// Runs the measured program, alone or under the emulator.
fn run(emulator: Option<&[&str]>, mode: &str, calls: u64) -> Vec<f64> {
    let own = std::env::current_exe().expect("this program has a path");
    let mut command = match emulator {
        Some(options) => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_nrt-emulate"));
            command.args(options).arg("--").arg(own);
            command
        }
        None => Command::new(own),
    };
    let output = command.args(["inner", mode, &calls.to_string()]).output().expect("it starts");
    assert!(output.status.success(), "{mode}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line.parse().expect("a number")).collect()
}

/// Two series that are compared.
struct Row {
    name: String,
    bar: f64,
    measured: Vec<f64>,
    reference: Vec<f64>,
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// How many of `rounds` ordered values may be left out at either end, so that the rest holds the median with 95 %.
fn cut(rounds: usize) -> usize {
    // The number of values below the median is binomial with one half.
    let (mut term, mut below, mut cut) = (0.5_f64.powi(rounds as i32), 0.0, 0);
    for k in 0..rounds {
        below += term;
        if 2.0 * below > 0.05 {
            break;
        }
        cut = k + 1;
        term *= (rounds - k) as f64 / (k + 1) as f64;
    }
    cut.saturating_sub(1)
}

impl Row {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), bar: 2.0, measured: Vec::new(), reference: Vec::new() }
    }

    /// Ratios of the rounds, in order of size.
    fn ratios(&self) -> Vec<f64> {
        let mut ratios: Vec<f64> =
            self.measured.iter().zip(&self.reference).map(|(measured, reference)| measured / reference).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    /// Median of the rounds' ratios, and its interval.
    fn ratio(&self) -> (f64, (f64, f64)) {
        let ratios = self.ratios();
        let cut = cut(ratios.len());
        (ratios[ratios.len() / 2], (ratios[cut], ratios[ratios.len() - 1 - cut]))
    }

    /// Whether the bar is met; `None` where the interval cannot tell.
    fn verdict(&self) -> Option<bool> {
        let (_, (lower, upper)) = self.ratio();
        if upper <= self.bar {
            Some(true)
        } else if lower > self.bar {
            Some(false)
        } else {
            None
        }
    }

    fn json(&self) -> Value {
        let (ratio, (lower, upper)) = self.ratio();
        json!({
            "name": self.name, "bar": self.bar, "ratio": ratio, "interval": [lower, upper], "met": self.verdict(),
            "measured_ns": self.measured, "reference_ns": self.reference,
        })
    }
}

/// The machine, as far as it tells.
fn machine() -> Value {
    let processor = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = processor.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    json!({ "processor": processor.trim_start_matches([' ', '\t', ':']), "cores": cores, "kernel": kernel.trim() })
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, what, calls] = &arguments[..]
        && mode == "inner"
    {
        inner(what, calls.parse().expect("a number"));
        return ExitCode::SUCCESS;
    }
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let file = arguments.iter().position(|argument| argument == "--json").and_then(|at| arguments.get(at + 1));
    let (rounds, requests, others) = if quick { (21, 4_000, 50_000) } else { (61, 10_000, 200_000) };
    let mut trapped = TRAPPED.map(Row::new);
    let mut untouched = UNTOUCHED.map(Row::new);
    for round in 0..rounds {
        pin::pin(round);
        let pair = |measured: &mut dyn FnMut(), reference: &mut dyn FnMut()| {
            if round % 2 == 0 {
                measured();
                reference();
            } else {
                reference();
                measured();
            }
        };
        let (mut emulated, mut null) = (Vec::new(), Vec::new());
        pair(&mut || emulated = run(Some(&[]), "trapped", requests), &mut || null = run(Some(&["--null"]), "trapped", requests));
        for ((row, emulated), null) in trapped.iter_mut().zip(emulated).zip(null) {
            row.measured.push(emulated);
            row.reference.push(null);
        }
        let (mut emulated, mut filtered) = (Vec::new(), Vec::new());
        pair(&mut || emulated = run(Some(&[]), "untouched", others), &mut || filtered = run(None, "filtered", others));
        for ((row, emulated), filtered) in untouched.iter_mut().zip(emulated).zip(filtered) {
            row.measured.push(emulated);
            row.reference.push(filtered);
        }
    }
    let rows: Vec<&Row> = trapped.iter().chain(&untouched).collect();
    println!("{:<34} {:>12} {:>14} {:>7}  {:<14} at most", "call", "emulator ns", "reference ns", "ratio", "95 %");
    for row in &rows {
        let (measured, reference, (ratio, (lower, upper))) = (median(&row.measured), median(&row.reference), row.ratio());
        let verdict = match row.verdict() {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "undecided",
        };
        let interval = format!("{lower:.2} to {upper:.2}");
        println!("{:<34} {measured:>12.0} {reference:>14.0} {ratio:>7.2}  {interval:<14} {:.1}: {verdict}", row.name, row.bar);
    }
    if let Some(file) = file {
        let rows: Vec<Value> = rows.iter().map(|row| row.json()).collect();
        let result = json!({ "machine": machine(), "rounds": rounds, "rows": rows });
        fs::write(file, format!("{result:#}\n")).expect("the JSON file");
    }
    let missed: Vec<&str> = rows.iter().filter(|row| row.verdict() == Some(false)).map(|row| &*row.name).collect();
    if missed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("more than twice the reference: {}", missed.join(", "));
    ExitCode::FAILURE
}
