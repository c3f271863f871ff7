//! The client of the kernel driver behind the emulator: the appliance, std programs, C programs and the emulator, all built
//! by the workspace's own cargo (or cc), run as people run them.

mod appliance;
mod info;
mod kills;
mod programs;
mod users;

use programs::{device, emulate, has_devices, memory_path_in_c, serve, shell};

/// Every architecture with every driver version that has it.
pub(crate) const MACHINES: [(&str, &str); 11] = [
    ("trn1", "2.24.7"),
    ("trn1", "2.25.4"),
    ("trn1", "2.26.5"),
    ("inf2", "2.24.7"),
    ("inf2", "2.25.4"),
    ("inf2", "2.26.5"),
    ("trn2", "2.24.7"),
    ("trn2", "2.25.4"),
    ("trn2", "2.26.5"),
    ("trn3", "2.25.4"),
    ("trn3", "2.26.5"),
];

/// Allocation, copies of every kind, mappings, batches, reservation, and the core on top; nothing of it is among what the
/// strict emulator calls a hazard.
#[test]
fn every_path_on_every_machine() {
    for (arch, driver) in MACHINES {
        let outcome = emulate(&["--arch", arch, "--driver", driver, "--devices", "2", "--strict"], &[device(), "--check"]);
        assert_eq!(outcome.status, Some(0), "{arch} {driver}: {outcome:?}");
        assert!(outcome.stdout.ends_with("every path moved its bytes\n"), "{arch} {driver}: {outcome:?}");
    }
}

/// A std program with std threads: reservation, bring-up, load, tensors, runs, unload, close, and nothing is left.
#[test]
fn a_std_program_on_every_machine() {
    for (arch, driver) in MACHINES {
        let outcome = emulate(&["--arch", arch, "--driver", driver, "--strict"], &[serve()]);
        assert_eq!(outcome.status, Some(0), "{arch} {driver}: {outcome:?}");
        assert!(outcome.stdout.starts_with("neuron0: 0 bytes in use\n"), "{arch} {driver}: {outcome:?}");
        assert!(outcome.stdout.ends_with(" models, nothing is left\n"), "{arch} {driver}: {outcome:?}");
    }
}

/// C programs, dynamic and static, with threads, a forked child, and another program after exec.
#[test]
fn c_programs_on_every_machine() {
    for (arch, driver) in MACHINES {
        for program in [memory_path_in_c(false), memory_path_in_c(true)] {
            let outcome = emulate(&["--arch", arch, "--driver", driver], &[program]);
            assert_eq!((outcome.status, &outcome.stdout), (Some(0), &format!("memory ok {driver}.0\n")), "{arch}: {outcome:?}");
        }
    }
}

#[test]
fn devices_are_shown() {
    let outcome = emulate(&["--arch", "trn2", "--driver", "2.24.7"], &[device()]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    for part in [
        "driver version 2.24.7.0, serves runtime interfaces 10 to 11, features 0xff",
        "neuron0: Trainium2, 8 cores, 4 HBM of 24576 MiB, none cores held",
        "HBM 3: 0 bytes used",
    ] {
        assert!(outcome.stdout.contains(part), "{part}: {outcome:?}");
    }
}

#[test]
fn no_device() {
    let outcome = shell(&format!("{} --check", device()));
    if !has_devices() {
        assert_eq!(outcome.status, Some(3), "{outcome:?}");
        assert!(outcome.stderr.contains("there is no device node"), "{outcome:?}");
    }
}

#[test]
fn failures_are_named() {
    for (fail, text) in [
        ("OPEN:2:EBUSY", "16 other processes are attached to the device"),
        ("MEM_ALLOC_V2MT64:1:ENOMEM", "MEM_ALLOC_V2MT64: ENOMEM (no room)"),
        ("MEM_COPY64:1:EPERM", "MEM_COPY64: EPERM (the DMA failed or timed out)"),
        ("MEM_BUF_COPY64:1:ENOMEM", "the copy ring of the core has no free entries"),
        ("MMAP:1:EPERM", "mmap: EPERM (not the start and length of a chunk)"),
    ] {
        let outcome = emulate(&["--arch", "trn1", "--fail", fail], &[device(), "--check"]);
        assert_eq!(outcome.status, Some(1), "{fail}: {outcome:?}");
        assert!(outcome.stderr.contains(text), "{fail}: {outcome:?}");
    }
}

#[test]
fn a_forked_child_connects_by_itself() {
    let outcome = emulate(&["--arch", "trn2", "--strict"], &[device(), "--fork"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("the parent kept its memory"), "{outcome:?}");
}

/// Two processes on one device: disjoint cores work side by side, the same cores conflict, and the conflict names them; when
/// the holder is killed, cores and memory come back.
#[test]
fn processes_share_a_device() {
    let device = device();
    let script = format!(
        "mkfifo $DIR/in; NEURON_RT_VISIBLE_CORES=0-1 {device} --hold <$DIR/in >$DIR/out & holder=$!\n\
         exec 9>$DIR/in\n\
         until grep -q holding $DIR/out 2>/dev/null; do sleep 0.05; done\n\
         echo beside; NEURON_RT_VISIBLE_CORES=2-3 {device} --check; echo status $?\n\
         echo same; NEURON_RT_VISIBLE_CORES=1-2 {device} --check; echo status $?\n\
         {device}\n\
         kill -9 $holder; wait $holder\n\
         echo after; NEURON_RT_VISIBLE_CORES=0-3 {device} --check; echo status $?\n\
         {device}\n"
    );
    let outcome = emulate(&["--arch", "trn2", "--strict"], &["sh", "-c", &script]);
    let part = |from: &str, to: &str| {
        let start = outcome.stdout.find(from).unwrap_or_else(|| panic!("{from}: {outcome:?}"));
        let rest = &outcome.stdout[start..];
        rest[..rest.find(to).unwrap_or(rest.len())].to_string()
    };
    assert!(part("beside", "same").ends_with("status 0\n"), "{outcome:?}");
    let same = part("same", "after");
    assert!(same.contains("status 1\n") && same.contains("0-3 cores held"), "{outcome:?}");
    assert!(same.contains("HBM 0: 1073741824 bytes used"), "{outcome:?}");
    assert!(outcome.stderr.contains("4 physical cores in a row are wanted among 2 to 5"), "{outcome:?}");
    assert!(outcome.stderr.contains("taken: 2-3; processes that may hold them: "), "{outcome:?}");
    assert!(outcome.stderr.contains(" (device)"), "the holder is named: {outcome:?}");
    let after = part("after", "\u{0}");
    assert!(after.contains("status 0\n") && after.contains("none cores held"), "{outcome:?}");
    assert!(after.contains("HBM 0: 0 bytes used"), "{outcome:?}");
}
