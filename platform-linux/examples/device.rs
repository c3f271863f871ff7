//! Looks at the Neuron devices of this machine.
//!
//! | option | does |
//! | --- | --- |
//! | `--check` | reserves the cores that `NEURON_RT_VISIBLE_CORES` and the like name, and moves bytes through every path of the driver |
//! | `--hold` | reserves cores, allocates memory, and holds both until standard input ends |
//! | `--fork` | checks that a forked child is refused, and can connect by itself |
//!
//! An ordinary program with std and a libc, on the same library the libc-free appliance uses.
//!
//! ```text
//! cargo run -p nrt-linux --example device [-- --check | --hold | --fork]
//! ```
//! Exit status: 0 fine, 1 a check failed, 2 for a bad command line, 3 no device or no driver that serves this runtime.

use std::process::ExitCode;

use nrt_core::Config;
use nrt_core::driver::{AllocRequest, DeviceRange, Driver};
use nrt_core::environment::Environment;
use nrt_core::reserved_hbm::{ReserveStorage, ReservedHbm};
use nrt_core::{CloseReport, Placement, Runtime, SmallStorage};
use nrt_linux::LinuxHooks;
use nrt_linux::neuron::{ASYNC_BYTES, Fault, Holders, LinuxDriver, Refusal, Reservation, Selection};
use nrt_linux::request::Buffer;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// All memory of the runtime.
static STORAGE: SmallStorage = SmallStorage::new();
/// All records of what is carved out of reservations.
static RESERVE: ReserveStorage<32, 256, 1024> = ReserveStorage::new();

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let job: fn(LinuxDriver) -> Outcome = match &arguments[..] {
        [] => |driver| show(&driver),
        [option] if option == "--check" => |driver| check_all(&driver),
        [option] if option == "--hold" => |driver| hold(&driver),
        [option] if option == "--fork" => fork_check,
        _ => {
            eprintln!("usage: device [--check | --hold | --fork]");
            return ExitCode::from(2);
        }
    };
    let driver = match LinuxDriver::connect(Selection::All) {
        Ok(driver) => driver,
        Err(error) => {
            eprintln!("device: {error}");
            return ExitCode::from(3);
        }
    };
    match job(driver) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("device: {error}");
            ExitCode::from(1)
        }
    }
}

fn show(driver: &LinuxDriver) -> Outcome {
    let machine = driver.machine();
    let version = machine.version.map_or("unknown".into(), |version| version.to_string());
    println!("driver version {version}, serves runtime interfaces {}, features {:#x}", machine.serves, machine.features);
    println!("architecture {}, revision {}: {}", machine.arch, machine.revision, machine.forms);
    for device in 0..machine.devices() {
        let info = driver.info(device)?;
        println!(
            "neuron{}: {}, {} cores, {} HBM of {} MiB, {} cores held",
            info.node,
            info.name.as_deref().unwrap_or("unnamed"),
            info.cores,
            info.channels,
            info.channel_bytes >> 20,
            driver.held_cores(device)?,
        );
        for (channel, used) in info.channel_used.iter().take(info.channels as usize).enumerate() {
            println!("  HBM {channel}: {} bytes used", used.map_or("unknown".into(), |used| used.to_string()));
        }
    }
    println!("{}", Holders::of(driver.system(), machine.nodes));
    Ok(())
}

/// The cores the environment asks for.
fn reserve(driver: &LinuxDriver) -> Outcome<Reservation<'_>> {
    let probe = driver.probe().map_err(|errno| errno.to_string())?;
    let values: Vec<(String, String)> = std::env::vars().collect();
    let pairs: Vec<(&str, &str)> = values.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let environment = Environment::parse(&pairs, &probe)?;
    let cores = driver.reserve(environment.cores, environment.logical_core_size).map_err(|error| {
        let conflict = driver.explain(&error).map_or(String::new(), |conflict| format!("; {conflict}"));
        format!("{error}{conflict}")
    })?;
    println!("reserved cores {}", cores.cores());
    Ok(cores)
}

fn check_all(driver: &LinuxDriver) -> Outcome {
    let cores = reserve(driver)?;
    for device in cores.devices() {
        let opened = driver.attach(device)?;
        println!("device {device}: host id {}", opened.host_device_id);
        for channel in 0..driver.machine().arch.channels_per_device() {
            check_channel(driver, device, channel).map_err(|error| format!("device {device}, HBM {channel}: {error}"))?;
        }
        driver.detach(device)?;
    }
    check_runtime(&cores)?;
    println!("every path moved its bytes");
    Ok(())
}

fn hold(driver: &LinuxDriver) -> Outcome {
    let cores = reserve(driver)?;
    let device = cores.devices().start;
    driver.attach(device)?;
    let request = AllocRequest { size: 1 << 30, align: 0, host: false, channel: 0, nc_id: 0, category: 9 };
    let range = driver.allocate(device, &request)?;
    println!("holding");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    driver.release(device, &range)?;
    Ok(driver.detach(device)?)
}

// SAFETY: libc has both with these arguments; a null `status` is allowed, else it is written before the call returns.
unsafe extern "C" {
    safe fn fork() -> i32;
    safe fn wait(status: Option<&mut i32>) -> i32;
}

fn fork_check(driver: LinuxDriver) -> Outcome {
    driver.attach(0)?;
    let request = AllocRequest { size: 4096, align: 0, host: false, channel: 0, nc_id: 0, category: 9 };
    let range = driver.allocate(0, &request)?;
    driver.transfer(0, &range, 0, Buffer::In(b"parent"))?;
    if fork() == 0 {
        // The child: everything is refused until it has a connection of its own.
        let refused = |fault| matches!(fault, Fault::Refused(Refusal::Forked { .. }));
        if !driver.allocate(0, &request).is_err_and(refused) || !driver.release(0, &range).is_err_and(refused) {
            return Err("a forked child was not refused".into());
        }
        if LinuxDriver::connect(Selection::All).is_ok() {
            return Err("a second connection beside the inherited one".into());
        }
        drop(driver);
        return check_all(&LinuxDriver::connect(Selection::All)?);
    }
    let mut status = 0;
    wait(Some(&mut status));
    if status != 0 {
        return Err(format!("the child ended with status {status:#x}").into());
    }
    // The child closed what it inherited; the parent's memory is untouched by that.
    let mut back = [0; 6];
    driver.transfer(0, &range, 0, Buffer::Out(&mut back))?;
    same("the parent's memory", &back, b"parent")?;
    driver.release(0, &range)?;
    println!("the parent kept its memory");
    Ok(())
}

/// Bytes that differ from place to place.
fn pattern(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at ^ (at >> 8) ^ (seed * 37)) as u8).collect()
}

fn same(what: &str, seen: &[u8], expected: &[u8]) -> Outcome {
    match seen.iter().zip(expected).position(|(seen, expected)| seen != expected) {
        Some(at) => Err(format!("{what}: byte {at} is {:#04x}, expected {:#04x}", seen[at], expected[at]).into()),
        None if seen.len() != expected.len() => Err(format!("{what}: length").into()),
        None => Ok(()),
    }
}

fn check_channel(driver: &LinuxDriver, device: u32, channel: u32) -> Outcome {
    const BYTES: usize = 300_000;
    let core = channel * driver.machine().arch.cores_per_hbm();
    let request = AllocRequest { size: BYTES as u64, align: 65536, host: false, channel, nc_id: core, category: 9 };
    let one = driver.allocate(device, &request)?;
    let two = driver.allocate(device, &request)?;
    let host = driver.allocate(device, &AllocRequest { align: 0, host: true, category: 2, ..request })?;
    let outcome = check_ranges(driver, device, [&one, &two, &host]);
    for range in [&host, &two, &one] {
        driver.release(device, range)?;
    }
    if driver.machine().forms.contiguous {
        let scratchpad = driver.allocate_contiguous(device, 64 << 20, channel, core)?;
        driver.set(device, &scratchpad, (64 << 20) - 8, 0xA5, 8)?;
        driver.release(device, &scratchpad)?;
    }
    outcome
}

fn check_ranges(driver: &LinuxDriver, device: u32, [one, two, host]: [&DeviceRange; 3]) -> Outcome {
    let bytes = pattern(200_000, 1);
    let read = |range: &DeviceRange, offset, bytes| -> Result<Vec<u8>, Fault> {
        let mut buffer = vec![0; bytes];
        driver.transfer(device, range, offset, Buffer::Out(&mut buffer))?;
        Ok(buffer)
    };
    if !one.pa.is_multiple_of(65536) {
        return Err(format!("alignment: {:#x}", one.pa).into());
    }
    driver.transfer(device, one, 12_345, Buffer::In(&bytes))?;
    same("buffer copy", &read(one, 12_345, bytes.len())?, &bytes)?;
    driver.copy_between(device, (one, 12_345), (two, 7), 200_000)?;
    same("copy between ranges", &read(two, 7, bytes.len())?, &bytes)?;
    driver.copy_between(device, (two, 7), (host, 100), 200_000)?;
    same("copy to host memory", &read(host, 100, bytes.len())?, &bytes)?;
    driver.set(device, two, 1000, 0x5A, 70_000)?;
    same("fill", &read(two, 1000, 70_000)?, &[0x5A; 70_000])?;
    let mut wait = -1;
    for step in 0..4 {
        driver.start_copy(device, (one, 12_345 + step * 10_000), (two, step * 10_000), 10_000, 0, &mut wait)?;
    }
    driver.finish_copy(device, one, two, wait)?;
    same("asynchronous copies", &read(two, 0, 40_000)?, &bytes[..40_000])?;
    if driver.start_copy(device, (one, 0), (two, 0), ASYNC_BYTES + 1, 0, &mut wait).is_ok() {
        return Err("an oversize asynchronous copy was taken".into());
    }
    let pieces: Vec<(u64, &[u8])> = bytes.chunks(1001).enumerate().map(|(n, piece)| (n as u64 * 1400, piece)).collect();
    driver.write_pieces(device, one, &pieces)?;
    for (offset, piece) in &pieces {
        same("batch", &read(one, *offset, piece.len())?, piece)?;
    }
    for range in [one, host] {
        driver.transfer(device, range, 0, Buffer::In(&bytes))?;
        let address = driver.map_range(device, range)?;
        // SAFETY: the mapping spans the range, which is longer, and nothing writes to it meanwhile.
        let seen = unsafe { std::slice::from_raw_parts(address.as_ptr(), bytes.len()) }.to_vec();
        // SAFETY: mapped above; the bytes were copied out.
        unsafe { driver.unmap_range(device, range, address) }?;
        same("mapping", &seen, &bytes)?;
    }
    Ok(())
}

/// The core itself on the devices of the reservation: a tensor on every logical core of it. Once with every allocation a
/// request to the driver, once, on two of them, carved out of one chunk for each core.
fn check_runtime(cores: &Reservation<'_>) -> Outcome {
    let carved = ReservedHbm::new(cores, LinuxHooks::new(), &RESERVE)?;
    for bytes in [0, 3 << 20] {
        let mut config = Config::new(LinuxHooks::new());
        config.logical_core_size = Some(cores.logical_core_size());
        check_open_runtime(&Runtime::init(&STORAGE, &carved, config)?, cores, bytes)?;
    }
    Ok(())
}

fn check_open_runtime<D: Driver>(
    runtime: &Runtime<&ReservedHbm<D, LinuxHooks>, LinuxHooks>,
    cores: &Reservation<'_>,
    reserve: u64,
) -> Outcome {
    let mut held = Vec::new();
    let checked = if reserve == 0 { usize::MAX } else { 2 };
    for core in cores.runtime_cores().take(checked) {
        let bytes = pattern(100_000, core as usize);
        let core = runtime.core(core)?;
        let (device, index) = core.physical(0)?;
        let channel = runtime.arch().default_channel(index);
        if reserve != 0 {
            runtime.driver().reserve(device, index, channel, reserve)?;
        }
        let tensor = core.tensor(Placement::Device, 100_000, "check")?;
        // A neighbour, whose bytes must stay.
        let other = core.tensor(Placement::Device, 5000, "neighbour")?;
        other.write(0, &bytes[..5000])?;
        tensor.write(0, &bytes)?;
        let mut back = vec![0; bytes.len()];
        tensor.read(0, &mut back)?;
        same("tensor", &back, &bytes)?;
        tensor.copy_to(1, &other, 4000, 1000)?;
        other.read(0, &mut back[..5000])?;
        same("neighbour", &back[..4000], &bytes[..4000])?;
        same("copy within a chunk", &back[4000..5000], &bytes[1..1001])?;
        let carved = runtime.driver().statistics(device, index, channel)?;
        if carved.reserved_bytes != reserve || (reserve != 0) != (carved.carved_bytes >= 106_496) {
            return Err(format!("ND{device}:NC{index}: {carved:?}").into());
        }
        held.push((tensor, other));
    }
    drop(held);
    let report = runtime.close(Some(1_000_000_000))?;
    if report != CloseReport::default() {
        return Err(format!("the runtime left something: {report:?}").into());
    }
    Ok(())
}
