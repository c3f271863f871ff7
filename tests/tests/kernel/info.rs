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
    text(" 2-5\n  HBM 0: 24.000GB, used 1.000GB\n  HBM 1: 24.000GB, used 0.000B\n");
    text(&format!("\n  process {pid} (device) may hold cores\n"));
    text("\n1        8        4         96.000GB     0.000B       ");
}

#[test]
fn command_lines_that_do_not_go_together() {
    let refused = |arguments: &str, text: &str| {
        let outcome = super::programs::shell(&format!("{} {arguments}", appliance()));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert!(outcome.stderr.contains(text), "{outcome:?}");
    };
    refused("--info deployment.json", "--info: excludes an option given before, expected either --info or a deployment");
    refused("--info --simulate sunda", "either --info or --simulate");
    refused("--device /tmp/neuron0", "expected a device node, /dev/neuron0 to /dev/neuron63");
    refused("--device /dev/neuron64", "expected a device node");
}
