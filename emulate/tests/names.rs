//! What programs see of the names in `/dev` and `/sys` (`names.c`, and programs that everybody has), on two devices.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use common::{compile, emulate, good, scratch};

/// Runs one check of `names.c`.
fn check(name: &str, arguments: &[&str]) {
    let program = compile("names.c", &format!("names-{name}"), &["-Wall", "-Wextra"]);
    let mut command = emulate(&["--devices", "2"]);
    good(&command.arg(program).arg(name).args(arguments).output().expect("the emulator"));
}

/// What a shell says to a script.
fn shell(script: &str) -> String {
    good(&emulate(&["--devices", "2"]).args(["bash", "-ec", script]).output().expect("the emulator"))
}

#[test]
fn names_relative_to_open_directories_are_the_hosts_or_the_drivers() {
    check("relative", &[]);
}

#[test]
fn listings_tell_kinds_and_go_on_where_they_were() {
    check("listings", &[]);
}

#[test]
fn attributes_have_the_drivers_modes() {
    check("attributes", &[]);
}

#[test]
fn programs_go_to_directories_that_the_host_does_not_have() {
    check("directories", &[]);
}

#[test]
fn links_and_descriptors_lead_to_devices() {
    let directory = scratch("names-ways-place");
    fs::create_dir_all(&directory).expect("a directory");
    check("ways", &[directory.to_str().expect("text")]);
}

#[test]
fn arguments_that_cannot_be_used_give_the_kernels_errnos() {
    check("wild", &[]);
}

#[test]
fn files_belong_to_who_runs_the_emulator() {
    // SAFETY: it only asks.
    if unsafe { libc::geteuid() } == 0 {
        check("other", &[]);
    }
}

#[test]
fn find_and_ls_see_devices() {
    let found = shell("find /dev -maxdepth 1 -type c \\( -name 'neuron*' -o -name null \\) | sort");
    assert_eq!(found, "/dev/neuron0\n/dev/neuron1\n/dev/null\n");
    assert_eq!(
        shell("cd /dev && find . -maxdepth 1 -name 'neuron*' -type c | sort && ls -d neuron*"),
        "./neuron0\n./neuron1\nneuron0\nneuron1\n"
    );
    assert_eq!(shell("find /sys/devices/virtual/neuron_device -type f -name core_count -perm 400 | wc -l"), "2\n");
    assert_eq!(
        shell(
            "find /sys/class/neuron_device -type l | wc -l; find -L /sys/class/neuron_device -name neuron_core7 -type d | wc -l"
        ),
        "2\n2\n"
    );
    let listed = shell("ls -l /dev | grep neuron");
    assert_eq!(listed.matches("crw-rw-rw- 1 root root 240,").count(), 2, "{listed}");
    assert!(shell("ls -l /dev/null /sys/class/neuron_device/neuron0/reset").contains("-rw-------"));
    assert_eq!(
        shell("echo /dev/neuron* /sys/class/neuron*/neuron1/core_count"),
        "/dev/neuron0 /dev/neuron1 /sys/class/neuron_device/neuron1/core_count\n"
    );
}

/// As programs find the node of a device from its class, and the other way round.
#[test]
fn a_device_tells_its_number_its_node_and_its_class() {
    assert_eq!(
        shell(
            "cd /sys/class/neuron_device/neuron1; cat uevent; readlink subsystem; cd -P subsystem; pwd; stat -c %a neuron0/uevent"
        ),
        "MAJOR=240\nMINOR=1\nDEVNAME=neuron1\n../../../../class/neuron_device\n/sys/class/neuron_device\n644\n"
    );
    assert_eq!(
        shell("cat /sys/class/neuron_device/neuron0/subsystem/neuron1/dev; grep -c . /proc/devices >/dev/null"),
        "240:1\n"
    );
    assert_eq!(shell("awk '$2 == \"neuron\"' /proc/devices; awk '$2 == \"mem\"' /proc/devices"), "240 neuron\n  1 mem\n");
    assert_eq!(
        shell("ls -l /sys/class/neuron_device/neuron0/ | grep -c '^l.* subsystem -> ../../../../class/neuron_device'"),
        "1\n"
    );
}

#[test]
fn shells_go_to_the_drivers_directories() {
    assert_eq!(shell("cd /sys/class/neuron_device && cat neuron0/core_count && /bin/pwd"), "8/sys/class/neuron_device\n");
    assert_eq!(
        shell("cd -P /sys/class/neuron_device/neuron1 && pwd && cat core_count dev"),
        "/sys/devices/virtual/neuron_device/neuron1\n8240:1\n"
    );
    assert_eq!(shell("cd /sys/module/neuron; cat version; cd ..; ls -d neuron"), "2.26.5.0\nneuron\n");
    let copy = scratch("names-copy");
    assert_eq!(shell(&format!("cp /sys/class/neuron_device/neuron0/core_count {0} && cat {0}", copy.display())), "8");
}

#[test]
fn python_opens_names_relative_to_directories() {
    let script = "import os, stat\n\
        dev = os.open('/dev', os.O_RDONLY)\n\
        for name, numbers in (('null', (1, 3)), ('../dev/zero', (1, 5)), ('neuron1', (240, 1))):\n \
            fd = os.open(name, os.O_RDONLY, dir_fd=dev)\n \
            for s in (os.fstat(fd), os.stat(name, dir_fd=dev)):\n  \
                assert stat.S_ISCHR(s.st_mode) and (os.major(s.st_rdev), os.minor(s.st_rdev)) == numbers, name\n\
        assert {'neuron0', 'neuron1', 'null'} <= set(os.listdir(dev)) and set(os.listdir(dev)) == set(os.listdir('/dev'))\n\
        kinds = {e.name: (e.is_symlink(), e.is_dir(), e.is_file()) for e in os.scandir('/dev')}\n\
        assert kinds['neuron0'] == (False, False, False) and kinds['shm'][1]\n\
        walked = sum('core_count' in files for _, _, files, _ in os.fwalk('/sys/devices/virtual/neuron_device'))\n\
        assert walked == 2, walked\n\
        print('seen')\n";
    let output = emulate(&["--devices", "2"]).args(["python3", "-c", script]).output().expect("the emulator");
    assert_eq!(good(&output), "seen\n");
}

#[test]
fn another_user_sees_the_same() {
    // SAFETY: it only asks.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    // The emulator itself, where that user can reach it.
    let emulator = std::env::temp_dir().join(format!("nrt-emulate-test-{}", std::process::id()));
    fs::copy(env!("CARGO_BIN_EXE_nrt-emulate"), &emulator).expect("a copy");
    fs::set_permissions(&emulator, fs::Permissions::from_mode(0o755)).expect("its permissions");
    let script = "find /dev -maxdepth 1 -name 'neuron*' -type c; cd /sys/class/neuron_device && cat neuron0/core_count && \
        stat -c ' %u %a %F' /sys/class/neuron_device/neuron0/core_count";
    let output = Command::new(&emulator).args(["--", "bash", "-ec", script]).uid(65534).gid(65534).current_dir("/").output();
    fs::remove_file(&emulator).expect("the copy");
    assert_eq!(good(&output.expect("the emulator")), "/dev/neuron0\n8 65534 400 regular file\n");
}
