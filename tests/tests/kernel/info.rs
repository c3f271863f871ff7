//! The appliance's list of devices.

use serde_json::{Value, json};

use super::MACHINES;
use super::programs::{appliance, device, emulate};

fn list(options: &[&str]) -> Value {
    let outcome = emulate(options, &[appliance(), "--info", "--json"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

#[test]
fn every_machine_is_listed() {
    for (arch, driver) in MACHINES {
        let list = list(&["--arch", arch, "--driver", driver, "--devices", "2"]);
        let (architecture, cores, size, channels, gib) = match arch {
            "trn2" => ("cayman", 8, 2, 4, 24_u64),
            "trn3" => ("mariana", 8, 2, 4, 36),
            _ => ("sunda", 2, 1, 2, 16),
        };
        assert_eq!((&list["architecture"], &list["driver_version"]), (&json!(architecture), &json!(format!("{driver}.0"))));
        assert_eq!(list["logical_neuroncore_config"], json!(size));
        let devices = list["neuron_devices"].as_array().expect("an array");
        assert_eq!(devices.len(), 2, "{list}");
        for (number, device) in devices.iter().enumerate() {
            assert_eq!((&device["neuron_device"], &device["nc_count"]), (&json!(number), &json!(cores)), "{arch} {driver}");
            assert_eq!(device["logical_nc_count"], json!(cores / size));
            assert_eq!((&device["memory_size"], &device["memory_used"]), (&json!(channels * (gib << 30)), &json!(0)));
            let hbm = json!({ "memory_size": gib << 30, "memory_used": 0 });
            assert_eq!(device["hbm"], json!(vec![hbm; channels as usize]));
            assert_eq!((&device["held_ncs"], &device["neuron_processes"]), (&json!([]), &json!([])), "{arch} {driver}");
            assert!(device["bdf"].is_string() && device["device_name"].is_string(), "{device}");
        }
    }
}

/// While a process holds a core and memory, it is in the list; and the table says the same in words.
#[test]
fn holders_are_listed() {
    let script = format!(
        "mkfifo $DIR/in; NEURON_RT_VISIBLE_CORES=1-2 {} --hold <$DIR/in >$DIR/out & holder=$!\n\
         exec 9>$DIR/in\n\
         until grep -q holding $DIR/out 2>/dev/null; do sleep 0.05; done\n\
         {program} --info --json; {program} --info --device /dev/neuron0; {program} --info --device /dev/neuron1; echo $holder\n\
         exec 9>&-; wait $holder",
        device(),
        program = appliance(),
    );
    let outcome = emulate(&["--arch", "trn2", "--devices", "2"], &["sh", "-c", &script]);
    let mut lines = outcome.stdout.lines();
    let list: Value = serde_json::from_str(lines.next().expect("a line")).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    let pid = outcome.stdout.lines().last().expect("a pid");
    let first = &list["neuron_devices"][0];
    assert_eq!((&first["held_ncs"], &first["memory_used"]), (&json!([2, 3, 4, 5]), &json!(1 << 30)), "{list}");
    assert_eq!(first["hbm"][0]["memory_used"], json!(1 << 30));
    let holder = json!({ "pid": pid.parse::<u32>().unwrap(), "command": "device", "reserves_cores": true });
    assert_eq!(first["neuron_processes"], json!([holder]), "{list}");
    assert_eq!(list["neuron_devices"][1]["held_ncs"], json!([]));
    let text = |wanted: &str| assert!(outcome.stdout.contains(wanted), "{wanted}: {outcome:?}");
    text("instance type Trn2, architecture cayman, driver 2.26.5.0, logical core size 2\n");
    text("\n0        8        4         96.000GB     1.000GB      ");
    text(" 2-5\n  HBM 0: 24.000GB (by architecture), used 1.000GB\n  HBM 1: 24.000GB (by architecture), used 0.000B\n");
    text(&format!("\n  process {pid} (device) may hold cores\n"));
    text("\n1        8        4         96.000GB     0.000B       ");
}

/// The size of the HBM is the architecture's and called so, unless the devices may be opened and one of 16 places is free.
#[test]
fn sizes_say_whose_they_are() {
    let told = |options: &[&str], arguments: &[&str]| {
        let outcome = emulate(options, &[&[appliance(), "--info", "--json"], arguments].concat());
        let list: Value = serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
        let device = &list["neuron_devices"][1];
        let sizes = (device["hbm"][3]["memory_size"].as_u64(), device["memory_size"].as_u64());
        (device["hbm_size_source"].as_str().map(str::to_owned), sizes)
    };
    let architecture = (Some("architecture".to_owned()), (Some(24 << 30), Some(96 << 30)));
    let small = ["--devices", "2", "--hbm", "4G"];
    assert_eq!(told(&small, &[]), architecture);
    assert_eq!(told(&small, &["--attach"]), (Some("driver".to_owned()), (Some(4 << 30), Some(16 << 30))));
    // The misc descriptor and the first device are opened, the second is not.
    let full = [&small[..], &["--fail", "OPEN:3:EBUSY"]].concat();
    assert_eq!(told(&full, &["--attach"]), architecture);
    let said = emulate(&full, &[appliance(), "--info", "--attach"]).stderr;
    assert!(said.contains("--attach: device 1: ") && said.contains("EBUSY"), "{said}");
    let old = list(&["--arch", "trn1", "--hbm", "4G"]);
    assert_eq!(old["neuron_devices"][0]["hbm_size_source"], "architecture");
    // Whoever is attached stays so, and keeps its cores.
    let script = format!(
        "mkfifo $DIR/in; {} --hold <$DIR/in >$DIR/out & holder=$!\n\
         exec 9>$DIR/in\n\
         until grep -q holding $DIR/out 2>/dev/null; do sleep 0.05; done\n\
         {program} --info --attach --json >/dev/null; {program} --info --attach\n\
         exec 9>&-; wait $holder && echo held",
        device(),
        program = appliance(),
    );
    let outcome = emulate(&small, &["sh", "-c", &script]);
    assert!(outcome.stdout.contains("  HBM 0: 4.000GB (by driver), used 1.000GB\n"), "{outcome:?}");
    assert!(outcome.stdout.ends_with("held\n"), "{outcome:?}");
}

#[test]
fn command_lines_that_do_not_go_together() {
    let refused = |arguments: &str, text: &str| {
        let outcome = super::programs::shell(&format!("{} {arguments}", appliance()));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(text), "{outcome:?}");
    };
    refused("--info deployment.json", "--info: excludes an option given before, expected either --info or a deployment");
    refused("--attach", "--attach: means nothing by itself, expected --info with it");
    refused("--info --simulate sunda", "either --info or --simulate");
    refused("--device /tmp/neuron0", "expected a device node, /dev/neuron0 to /dev/neuron63");
    refused("--device /dev/neuron64", "expected a device node");
}
