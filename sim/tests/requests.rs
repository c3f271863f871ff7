//! Every request of the driver is answered, or refused with a reason.

use std::collections::BTreeMap;

use nrt_sim::DriverVersion;
use nrt_sim::request::{REQUESTS, find};

/// Rows of the table of the driver's interface: name, number, bytes of the argument, versions that have it.
fn rows() -> impl Iterator<Item = (&'static str, u32, usize, Vec<DriverVersion>)> {
    let table = include_str!("../../platform-linux/tests/driver-abi.csv");
    table.lines().filter_map(|line| {
        let columns: Vec<_> = line.split(',').collect();
        let versions = DriverVersion::ALL.into_iter();
        let versions: Vec<_> = match columns[0] {
            "ioctl" => versions.collect(),
            "ioctl@2.24" => vec![DriverVersion::V2_24_7],
            "ioctl@2.25" => vec![DriverVersion::V2_25_4],
            "ioctl@2.25+" => versions.skip(1).collect(),
            "ioctl@2.26+" => versions.skip(2).collect(),
            kind => {
                assert!(!kind.starts_with("ioctl"), "{line}");
                return None;
            }
        };
        let name = columns[1].strip_prefix("NEURON_IOCTL_").expect("a name");
        let number = u32::from_str_radix(columns[2].trim_start_matches("0x"), 16).expect("a number");
        Some((name, number, columns[4].parse().unwrap_or(0), versions))
    })
}

#[test]
fn every_request_is_modelled_or_refused_with_a_reason() {
    let mut modelled = 0;
    let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, number, bytes, versions) in rows() {
        for version in DriverVersion::ALL {
            let found = find(version, number);
            if !versions.contains(&version) {
                assert!(found.is_none_or(|found| found.number != number), "{name} in {}", version.text());
                continue;
            }
            let found = found.unwrap_or_else(|| panic!("{name} {number:#x} in {}", version.text()));
            assert_eq!((found.name, found.number), (name, number));
            // A handler that reads nothing leaves a bad argument pointer alone.
            assert!(found.bytes == bytes || found.bytes == 0, "{name}: {} bytes, {bytes} in the table", found.bytes);
            for (field, offset, size) in found.fields {
                assert!(offset + size <= bytes, "{name}.{field}");
            }
        }
        let request = find(*versions.last().expect("a version"), number).expect("found above");
        match request.refusal {
            None => modelled += 1,
            Some(why) => {
                assert!(why.len() > 20, "{name}: {why}");
                refused.entry(why).or_default().push(name);
            }
        }
    }
    println!("{modelled} requests modelled");
    for (why, names) in &refused {
        println!("{why}: {}", names.join(", "));
    }
    let listed = modelled + refused.values().map(Vec::len).sum::<usize>();
    assert_eq!((listed, modelled), (REQUESTS.len(), 49), "the table, and what of it is modelled");
}
