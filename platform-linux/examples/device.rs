//! Looks at the Neuron devices of this machine, and with `--check` moves bytes through every path of the driver.
//!
//! An ordinary program with std and a libc, on the same library the libc-free appliance uses.
//!
//! ```text
//! cargo run -p nrt-linux --example device [-- --check]
//! ```
//! Exit status: 0 fine, 1 a check failed, 2 for a bad command line, 3 no device or no driver that serves this runtime.

use std::process::ExitCode;

use nrt_core::Config;
use nrt_core::driver::{AllocRequest, DeviceRange, Driver};
use nrt_core::environment::Environment;
use nrt_core::{Placement, Runtime, SmallStorage};
use nrt_linux::LinuxHooks;
use nrt_linux::neuron::{ASYNC_BYTES, Fault, Holders, LinuxDriver, Selection};
use nrt_linux::request::Buffer;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// All memory of the runtime.
static STORAGE: SmallStorage = SmallStorage::new();

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match &arguments[..] {
        [] => false,
        [option] if option == "--check" => true,
        _ => {
            eprintln!("usage: device [--check]");
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
    let outcome = show(&driver).and_then(|()| if check { check_all(&driver) } else { Ok(()) });
    match outcome {
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

fn check_all(driver: &LinuxDriver) -> Outcome {
    let probe = driver.probe().map_err(|errno| errno.to_string())?;
    let values: Vec<(String, String)> = std::env::vars().collect();
    let pairs: Vec<(&str, &str)> = values.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    let environment = Environment::parse(&pairs, &probe)?;
    let cores = driver.reserve(environment.cores, environment.logical_core_size).map_err(|error| {
        let conflict = driver.explain(&error).map_or(String::new(), |conflict| format!("; {conflict}"));
        format!("{error}{conflict}")
    })?;
    println!("reserved cores {}", cores.cores());
    for device in 0..driver.machine().devices() {
        let opened = driver.attach(device)?;
        println!("device {device}: host id {}", opened.host_device_id);
        for channel in 0..driver.machine().arch.channels_per_device() {
            check_channel(driver, device, channel).map_err(|error| format!("device {device}, HBM {channel}: {error}"))?;
        }
        driver.detach(device)?;
    }
    check_runtime(driver)?;
    println!("every path moved its bytes");
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

/// The core itself on these devices: a tensor on every logical core.
fn check_runtime(driver: &LinuxDriver) -> Outcome {
    let runtime = Runtime::init(&STORAGE, driver, Config::new(LinuxHooks::new()))?;
    for core in 0..runtime.logical_cores() {
        let bytes = pattern(100_000, core as usize);
        let core = runtime.core(core)?;
        let tensor = core.tensor(Placement::Device, 100_000, "check")?;
        tensor.write(0, &bytes)?;
        let mut back = vec![0; bytes.len()];
        tensor.read(0, &mut back)?;
        same("tensor", &back, &bytes)?;
    }
    let report = runtime.close(Some(1_000_000_000))?;
    println!("runtime: closed, {report:?}");
    Ok(())
}
