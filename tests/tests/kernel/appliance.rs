//! The appliance on real devices, as far as the emulator has them.

use serde_json::{Value, json};

use super::MACHINES;
use super::programs::{Outcome, appliance, emulate, has_devices, least, shell};

/// The report of a run in which every check held.
#[track_caller]
fn held(outcome: &Outcome) -> Value {
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    assert_eq!(report["errors"], json!([]), "{outcome:?}");
    assert_eq!((&report["live_device_bytes_at_exit"], &report["live_nodes_at_exit"]), (&json!(0), &json!(0)));
    report
}

fn on(options: &[&str], arguments: &[&str]) -> Outcome {
    emulate(options, &[&[appliance()], arguments].concat())
}

/// The main job, from bring-up to zero books, on every architecture with every driver. The strict emulator refuses what
/// would harm a real device.
#[test]
fn the_main_job_on_every_machine() {
    for (arch, driver) in MACHINES {
        let options = ["--arch", arch, "--driver", driver, "--strict", "--report"];
        let outcome = on(&options, &["--device", "/dev/neuron0", "--json"]);
        let told = outcome.stderr.clone();
        let report = held(&Outcome { stderr: String::new(), ..outcome });
        let name = match arch {
            "trn2" => "cayman",
            "trn3" => "mariana",
            _ => "sunda",
        };
        assert_eq!((&report["arch"], &report["requests"]), (&json!(name), &json!(200)), "{arch} {driver}");
        // The driver's own books.
        assert!(
            told.contains("neuron0: 0 chunks live, 0 bytes device, 0 bytes host, 0 cores reserved"),
            "{arch} {driver}: {told}"
        );
        assert!(!told.contains("HAZARD"), "{arch} {driver}: {told}");
    }
}

/// The smallest appliance, which has no words: a model loaded, served, unloaded, and the driver's books at zero.
#[test]
fn the_smallest_appliance_on_every_machine() {
    for (arch, driver) in MACHINES {
        let outcome = emulate(&["--arch", arch, "--driver", driver, "--strict", "--report"], &[least()]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), ""), "{arch} {driver}: {outcome:?}");
        let books = "neuron0: 0 chunks live, 0 bytes device, 0 bytes host, 0 cores reserved";
        assert!(outcome.stderr.contains(books) && !outcome.stderr.contains("HAZARD"), "{arch} {driver}: {outcome:?}");
    }
}

/// A deployment from a file, on the device it names, among others.
#[test]
fn a_deployment_on_the_device_that_is_named() {
    let shipped = |name: &str| format!("{}/../appliance/deployments/{name}", env!("CARGO_MANIFEST_DIR"));
    let machine = ["--arch", "trn2", "--devices", "3", "--strict"];
    held(&on(&machine, &[&shipped("cayman.json"), "--device", "/dev/neuron2", "--json"]));
    // It is for another architecture.
    let outcome = on(&machine, &[&shipped("sunda.json"), "--device", "/dev/neuron2"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
    assert!(outcome.stderr.contains("the deployment is for sunda, /dev/neuron2 is a device of cayman"), "{outcome:?}");
    // More devices than there are behind that one.
    let outcome = on(&machine, &["--device", "/dev/neuron7"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(3), ""), "{outcome:?}");
    assert!(outcome.stderr.contains("there is no device /dev/neuron7"), "{outcome:?}");
}

/// The environment says which cores; the deployment counts from the first of them.
#[test]
fn cores_of_the_environment() {
    let job = |before: &str| {
        let script = format!("{before} {} --device /dev/neuron0 --json", appliance());
        emulate(&["--arch", "trn2", "--strict"], &["sh", "-c", &script])
    };
    for (variable, cores, first) in
        [("NEURON_RT_VISIBLE_CORES=2-3", 2, 4), ("NEURON_RT_VISIBLE_CORES=1,2", 2, 2), ("NEURON_RT_NUM_CORES=4", 4, 0)]
    {
        let outcome = job(&format!("export {variable}; {} --device /dev/neuron0;", appliance()));
        // The physical cores of the first and the second logical core, and no others.
        let rows: Vec<_> = outcome.stdout.lines().filter_map(|line| line.strip_prefix("ND 0:NC ")?.split_once(' ')).collect();
        let physical: Vec<u32> = rows.iter().take(4).map(|(core, _)| core.parse().expect("a number")).collect();
        assert_eq!(physical, [first, first + 1, first + 2, first + 3], "{variable}: {outcome:?}");
        let report: Value = serde_json::from_str(outcome.stdout.lines().last().expect("a line")).expect("JSON");
        assert_eq!(
            (outcome.status, &report["errors"], &report["logical_cores"]),
            (Some(0), &json!([]), &json!(cores)),
            "{variable}"
        );
    }
    for (variable, status, text) in [
        ("NEURON_RT_VISIBLE_CORES=3", 2, "logical core 1 is wanted, and this process is to have 1"),
        (
            "NEURON_RT_VISIBLE_CORES=3-4",
            2,
            "NEURON_RT_VISIBLE_CORES=\"3-4\": character 3: expected a logical core number below 4",
        ),
        ("NEURON_RT_NUM_CORES=3", 2, "expected one logical core, or a number that fills whole devices"),
        ("NEURON_LOGICAL_NC_CONFIG=1", 2, "the environment wants logical cores of 1 physical cores, the deployment of 2"),
    ] {
        let outcome = job(variable);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(status), ""), "{variable}: {outcome:?}");
        assert!(outcome.stderr.contains(text), "{variable}: {outcome:?}");
    }
}

/// Two appliances share a device by its cores; the third finds them taken, and is told by whom.
#[test]
fn appliances_share_a_device() {
    let program = appliance();
    let script = format!(
        "NEURON_RT_VISIBLE_CORES=0-1 {program} --device /dev/neuron0 --json >$DIR/one & one=$!\n\
         NEURON_RT_VISIBLE_CORES=2-3 {program} --device /dev/neuron0 --json >$DIR/two & two=$!\n\
         wait $one; echo one $?; wait $two; echo two $?; cat $DIR/one $DIR/two"
    );
    let outcome = emulate(&["--arch", "trn2", "--strict"], &["sh", "-c", &script]);
    assert!(outcome.stdout.starts_with("one 0\ntwo 0\n") && outcome.stderr.is_empty(), "{outcome:?}");
    let holder = super::programs::device();
    let script = format!(
        "mkfifo $DIR/in; NEURON_RT_VISIBLE_CORES=1 {holder} --hold <$DIR/in >$DIR/out & holder=$!\n\
         exec 9>$DIR/in\n\
         until grep -q holding $DIR/out 2>/dev/null; do sleep 0.05; done\n\
         {program} --device /dev/neuron0; echo status $?; echo holder $holder; exec 9>&-; wait $holder"
    );
    let outcome = emulate(&["--arch", "trn2", "--strict"], &["sh", "-c", &script]);
    assert!(outcome.stdout.starts_with("status 3\nholder "), "{outcome:?}");
    let holder = outcome.stdout.lines().find_map(|line| line.strip_prefix("holder ")).expect("a pid");
    let text = format!("8 physical cores among 0 to 7 are wanted; taken: 2-3; processes that may hold them: {holder} (device)");
    assert!(outcome.stderr.contains(&text), "{outcome:?}");
}

/// What the driver refuses is in the report, or said before the job begins, with what the number means.
#[test]
fn refusals_of_the_driver() {
    for (fail, status, text) in [
        ("OPEN:1:EACCES", 3, "/dev/neuron0 cannot be opened: permission denied; the node is root's, unless"),
        ("OPEN:2:EBUSY", 3, "open: EBUSY (16 other processes are attached to the device)"),
        ("OPEN:2:EINTR", 3, "open: EINTR (a signal to end came while the device was resetting)"),
        ("COMPATIBLE_VERSION:1:EIO", 3, "the driver did not answer COMPATIBLE_VERSION: EIO"),
        ("MEM_ALLOC_V2MT64:30:ENOMEM", 1, "NRT_RESOURCE: no room for "),
        ("MEM_COPY64:5:EPERM", 1, "EPERM"),
        ("MMAP:2:EPERM", 1, "the runtime does not start: "),
        ("DEVICE_GET_ALL_APPS_INFO:*:EINVAL", 1, "the driver does not tell what this process holds"),
    ] {
        let outcome = on(&["--arch", "trn1", "--strict", "--fail", fail], &["--device", "/dev/neuron0"]);
        assert_eq!(outcome.status, Some(status), "{fail}: {outcome:?}");
        assert!(outcome.stderr.contains(text), "{fail}: {outcome:?}");
    }
}

#[test]
fn no_device() {
    if has_devices() {
        return println!("this machine has devices: what is said without one is not looked at");
    }
    for arguments in ["--device /dev/neuron0", "--device /dev/neuron63 --json", "--info", "--info --json"] {
        let outcome = shell(&format!("{} {arguments}", appliance()));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(3), ""), "{arguments}: {outcome:?}");
        assert!(outcome.stderr.contains("without --device the in-process model of the driver serves"), "{outcome:?}");
    }
}
