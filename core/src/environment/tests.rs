use std::format;
use std::string::{String, ToString};

use super::*;
use crate::Arch;

fn machine(arch: Arch, devices: u32) -> Probe {
    Probe { arch, revision: 1, devices, cores_per_device: arch.cores_per_device(), features: 0xFF }
}

fn parse(arch: Arch, devices: u32, pairs: &[(&str, &str)]) -> Result<Environment, String> {
    Environment::parse(pairs, &machine(arch, devices)).map_err(|error| error.to_string())
}

fn cores(value: &str) -> Result<CoreSelection, String> {
    parse(Arch::Cayman, 2, &[(names::VISIBLE_CORES, value)]).map(|environment| environment.cores)
}

#[test]
fn nothing_set_gives_the_defaults_of_the_machine() {
    let environment = parse(Arch::Cayman, 1, &[("HOME", "/")]).unwrap();
    assert_eq!(environment.logical_core_size, 2);
    assert_eq!(environment.cores, CoreSelection::All);
    assert_eq!(environment.scratchpad_page_size, 512 << 20);
    assert_eq!(environment.ring_entries, None);
    assert!(!environment.contiguous_scratchpad && !environment.verbose_memory_table);
    assert_eq!(parse(Arch::Sunda, 1, &[]).unwrap().logical_core_size, 1);
}

/// `lnc` §4: two names, the newer first; SUNDA does not look.
#[test]
fn logical_core_size_has_two_names_and_sunda_ignores_both() {
    let both = [(names::VIRTUAL_CORE_SIZE, "2"), (names::LOGICAL_NC_CONFIG, "1")];
    assert_eq!(parse(Arch::Cayman, 1, &both).unwrap().logical_core_size, 1);
    assert_eq!(parse(Arch::Cayman, 1, &both[..1]).unwrap().logical_core_size, 2);
    assert_eq!(parse(Arch::Sunda, 1, &[(names::LOGICAL_NC_CONFIG, "x")]).unwrap().logical_core_size, 1);
    for bad in ["0", "3", "4", "", "two", "1x", "99999999999999999999"] {
        let error = parse(Arch::Cayman, 1, &[(names::LOGICAL_NC_CONFIG, bad)]).unwrap_err();
        assert!(error.contains("expected a logical core size of 1 or 2"), "{error}");
        assert!(error.starts_with(&format!("NEURON_LOGICAL_NC_CONFIG=\"{bad}\"")), "{error}");
    }
}

/// `lnc` §5.2.
#[test]
fn core_lists() {
    let exact = |first, count| Ok(CoreSelection::Exact { first, count });
    assert_eq!(cores("3"), exact(3, 1));
    assert_eq!(cores("0-3"), exact(0, 4));
    assert_eq!(cores("2,0-1,1,2"), exact(0, 3));
    assert_eq!(cores("7"), exact(7, 1));
    assert_eq!(cores(""), Ok(CoreSelection::All));
    for (bad, position, expected) in [
        ("8", 1, "a logical core number below 8"),
        ("0-8", 3, "a logical core number below 8"),
        ("x", 1, "a logical core number"),
        (",1", 1, "a logical core number"),
        ("1,", 3, "a logical core number"),
        ("1-", 3, "a logical core number"),
        ("1 ,2", 2, "a comma, a dash or the end"),
        ("1-2-3", 4, "a comma or the end"),
        ("-1", 1, "a logical core number"),
        ("3-1", 3, "the end of a range, not below its start"),
        ("0,2", 1, "core numbers without a gap"),
        ("99999999999999999999", 1, "a logical core number below 8"),
    ] {
        let error = cores(bad).unwrap_err();
        assert_eq!(
            error,
            format!(
                "NEURON_RT_VISIBLE_CORES=\"{bad}\": character {position}: expected {expected}; \
                 this machine has 2 devices of 8 cores, 8 logical cores of size 2"
            )
        );
    }
}

/// `lnc` §6: a count is one logical core or whole devices, and an explicit list wins.
#[test]
fn core_counts() {
    let count = |arch, value| parse(arch, 2, &[(names::NUM_CORES, value)]).map(|environment| environment.cores);
    assert_eq!(count(Arch::Cayman, "0"), Ok(CoreSelection::All));
    assert_eq!(count(Arch::Cayman, "1"), Ok(CoreSelection::Count(1)));
    assert_eq!(count(Arch::Cayman, "4"), Ok(CoreSelection::Count(4)));
    assert!(count(Arch::Cayman, "3").unwrap_err().contains("fills whole devices"));
    assert!(count(Arch::Cayman, "9").unwrap_err().contains("from 0 (all) to 8"));
    assert_eq!(count(Arch::Sunda, "3"), Ok(CoreSelection::Count(3)));
    let both = parse(Arch::Cayman, 2, &[(names::NUM_CORES, "3"), (names::VISIBLE_CORES, "1-2")]).unwrap();
    assert_eq!(both.cores, CoreSelection::Exact { first: 1, count: 2 });
    let more = parse(Arch::Cayman, 2, &[(names::NUM_CORES, "99"), (names::VISIBLE_CORES, "1-2")]).unwrap();
    assert_eq!(more.cores, CoreSelection::Exact { first: 1, count: 2 });
    let error = parse(Arch::Cayman, 2, &[(names::NUM_CORES, "x"), (names::VISIBLE_CORES, "1-2")]).unwrap_err();
    assert!(error.starts_with("NEURON_RT_NUM_CORES=\"x\": character 1"), "{error}");
}

/// `lnc` §5.4: the counts a program may ask for before init. Duplicates and gaps are init's business, a count is not checked.
#[test]
fn counts_before_init() {
    let list =
        |value| Environment::visible_cores(&[(names::NUM_CORES, "2"), (names::VISIBLE_CORES, value)], &machine(Arch::Cayman, 2));
    assert_eq!(["3", "0-3", "0,2-4", "2,0-1,1,2", "0,7", ""].map(|value| list(value).unwrap()), [1, 4, 4, 5, 2, 2]);
    for (bad, position, expected) in
        [("8", 1, "a logical core number below 8"), ("0;1", 2, "a comma, a dash or the end"), ("2-1", 3, "the end of a range")]
    {
        let error = list(bad).unwrap_err().to_string();
        let start = format!("NEURON_RT_VISIBLE_CORES=\"{bad}\": character {position}: expected {expected}");
        assert!(error.starts_with(&start), "{error}");
    }
    let count = |value| Environment::visible_cores(&[(names::NUM_CORES, value)], &machine(Arch::Cayman, 1));
    assert_eq!(["0", "3", "99"].map(|value| count(value).unwrap()), [0, 3, 99], "as it stands");
    let error = count("4294967296").unwrap_err().to_string();
    assert!(error.starts_with("NEURON_RT_NUM_CORES=\"4294967296\": character 1: expected a decimal number"), "{error}");
    // Without either, those of the machine; its size in the one variable or the other, and SUNDA's is 1.
    let size = |name, value| [(name, value)];
    for (arch, pairs, total) in [
        (Arch::Cayman, size("HOME", "/"), 8),
        (Arch::Cayman, size(names::LOGICAL_NC_CONFIG, "1"), 16),
        (Arch::Mariana, size(names::VIRTUAL_CORE_SIZE, "1"), 16),
        (Arch::Sunda, size(names::LOGICAL_NC_CONFIG, "2"), 4),
    ] {
        let machine = machine(arch, 2);
        assert_eq!(Environment::total_cores(&pairs, &machine), Ok(total));
        assert_eq!(Environment::visible_cores(&pairs, &machine), Ok(total));
    }
    let bad = size(names::LOGICAL_NC_CONFIG, "3");
    let machine = machine(Arch::Cayman, 1);
    assert_eq!(Environment::total_cores(&bad, &machine).unwrap_err().variable(), names::LOGICAL_NC_CONFIG);
    assert_eq!(Environment::visible_cores(&bad, &machine).unwrap_err().variable(), names::LOGICAL_NC_CONFIG);
    let both = [bad[0], (names::NUM_CORES, "1")];
    assert_eq!(Environment::visible_cores(&both, &machine), Ok(1), "the size has no say in a count");
}

/// More cores than a runtime has room for, and more than fit a number.
#[test]
fn machines_beyond_any_number() {
    let size = (names::LOGICAL_NC_CONFIG, "1");
    for devices in [64, u32::MAX] {
        let list = |value| parse(Arch::Cayman, devices, &[size, (names::VISIBLE_CORES, value)]).map(|found| found.cores);
        assert_eq!(list("248-255"), Ok(CoreSelection::Exact { first: 248, count: 8 }));
        for beyond in ["256", "300", "0-256", "4294967295"] {
            assert!(list(beyond).unwrap_err().contains("a logical core number below 256"), "{beyond}");
        }
        let count = |value| parse(Arch::Cayman, devices, &[size, (names::NUM_CORES, value)]).map(|found| found.cores);
        assert_eq!(count("256"), Ok(CoreSelection::Count(256)));
        assert!(count("257").unwrap_err().contains("from 0 (all) to 256"));
    }
}

/// Where one core is all a device has, the only size is said.
#[test]
fn the_only_size_is_said() {
    let probe = Probe { cores_per_device: 1, ..machine(Arch::Cayman, 1) };
    let error = Environment::parse(&[(names::LOGICAL_NC_CONFIG, "2")], &probe).unwrap_err().to_string();
    assert!(error.contains("character 1: expected 1, the only logical core size of this machine"), "{error}");
}

/// `lnc` §4, step 5: a restricted kind of instance has size 2 only, and that is its default; SUNDA is not asked.
#[test]
fn the_only_size_of_an_instance_is_said() {
    let instance = Instance { only_logical_core_size: Some(2), ..Instance::UNKNOWN };
    let size = |arch, value| Environment::cores_on(&instance, &[(names::LOGICAL_NC_CONFIG, value)], &machine(arch, 1));
    for bad in ["1", "4", "0", "x"] {
        let error = size(Arch::Cayman, bad).unwrap_err().to_string();
        let expected = format!(
            "NEURON_LOGICAL_NC_CONFIG=\"{bad}\": character 1: expected only size 2 on this instance; this machine has 1 device"
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    assert_eq!(size(Arch::Cayman, "2").unwrap().0, 2);
    assert_eq!(size(Arch::Sunda, "1").unwrap().0, 1);
    assert_eq!(Environment::parse_on(&instance, &[], &machine(Arch::Mariana, 1)).unwrap().logical_core_size, 2);
}

/// `scratchpad` §2.
#[test]
fn scratchpad_variables() {
    let page = |pairs: &[(&str, &str)]| parse(Arch::Cayman, 1, pairs).map(|environment| environment.scratchpad_page_size);
    assert_eq!(page(&[(names::SCRATCHPAD_PAGE_SIZE, "64")]), Ok(64 << 20));
    assert_eq!(page(&[(names::ONE_TMPBUF_PAGE_SIZE, "256")]), Ok(256 << 20));
    assert_eq!(page(&[(names::ONE_TMPBUF_PAGE_SIZE, "256"), (names::SCRATCHPAD_PAGE_SIZE, "1024")]), Ok(1024 << 20));
    for bad in ["0", "4096", "-1", "1.5", ""] {
        assert!(page(&[(names::SCRATCHPAD_PAGE_SIZE, bad)]).unwrap_err().contains("1 to 4095 MiB"), "{bad}");
    }
    let flags = [(names::CONTIGUOUS_SCRATCHPAD, "1"), (names::SCRATCHPAD_SINGLE_CORE, "1"), (names::VERBOSE_DEV_MEM, "1")];
    let environment = parse(Arch::Cayman, 1, &flags).unwrap();
    assert!(environment.contiguous_scratchpad && environment.scratchpad_on_single_core && environment.verbose_memory_table);
    assert!(parse(Arch::Cayman, 1, &[(names::VERBOSE_DEV_MEM, "yes")]).unwrap_err().contains("character 1: expected 0 or 1"));
    assert!(parse(Arch::Cayman, 1, &[(names::VERBOSE_DEV_MEM, "10")]).unwrap_err().contains("character 2: expected 0 or 1"));
}

/// `dmem` §23, `lnc` §7.
#[test]
fn copy_variables() {
    let copies = |pairs: &[(&str, &str)]| {
        parse(Arch::Cayman, 1, pairs).map(|environment| (environment.zero_copy, environment.direct_write_bytes))
    };
    assert_eq!(copies(&[]), Ok((false, None)));
    assert_eq!(copies(&[("NEURON_RT_DBG_ZEROCOPY", "1")]), Ok((true, None)));
    assert_eq!(copies(&[("NEURON_RT_DBG_ZEROCOPY", "0"), ("NEURON_RT_DBG_DIRECT_BAR4_WRITE_SIZE", "0")]), Ok((false, Some(0))));
    assert_eq!(copies(&[(names::DIRECT_WRITE_SIZE, "4294967295")]), Ok((false, Some(u32::MAX))));
    let both = parse(Arch::Cayman, 1, &[(names::ZERO_COPY, "1"), (names::DIRECT_WRITE_SIZE, "512")]).unwrap();
    let config = crate::Config::from_environment((), &both);
    assert_eq!((config.zero_copy, config.direct_write_bytes), (true, Some(512)));
    for (bad, position) in [("4294967296", 1), ("-1", 1), ("4k", 2), ("", 1)] {
        let error = copies(&[(names::DIRECT_WRITE_SIZE, bad)]).unwrap_err();
        let expected = format!(
            "NEURON_RT_DBG_DIRECT_BAR4_WRITE_SIZE=\"{bad}\": character {position}: \
             expected a number of bytes from 0 to 4294967295; this machine has "
        );
        assert!(error.starts_with(&expected), "{error}");
    }
    assert!(
        copies(&[(names::ZERO_COPY, "on")])
            .unwrap_err()
            .starts_with("NEURON_RT_DBG_ZEROCOPY=\"on\": character 1: expected 0 or 1")
    );
}

#[test]
fn long_values_are_cut_and_any_text_is_survived() {
    let long = "1,".repeat(200) + "y";
    let error = cores(&long).unwrap_err();
    assert!(error.contains("...\": character 401"), "{error}");
    let alphabet = ["0", "1", "9", ",", "-", " ", "x", "\u{e9}", ""];
    for a in alphabet {
        for b in alphabet {
            for c in alphabet {
                for d in alphabet {
                    let _ = cores(&[a, b, c, d].concat());
                }
            }
        }
    }
}
