//! The report as JSON and as text, the table of who holds which bytes, and the weight generator.

use std::fmt::Write as _;

use nrt_appliance::deployment::Name;
use nrt_appliance::json_out::JsonWriter;
use nrt_appliance::report::{CoreSharing, MAX_ERRORS, ModelReport, Report};
use nrt_appliance::table::{self, Owner, Row, Size};
use nrt_appliance::weights::{self, Mismatch};
use nrt_core::arch::Arch;
use nrt_core::{PageAdvice, Usage};
use serde_json::{Value, json};

fn usage(pairs: &[(&str, u64)]) -> [u64; 22] {
    let mut bytes = [0; 22];
    for (name, held) in pairs {
        bytes[Usage::from_name(name).unwrap().number()] = *held;
    }
    bytes
}

fn name(text: &str) -> Name {
    Name::try_from(text).unwrap()
}

fn full_report() -> Report {
    let mut report = Report::new();
    report.set_arch(Arch::Cayman);
    report.logical_cores = 4;
    let bytes_by_usage = usage(&[("weight", 4096), ("instr_pe", 512), ("scratchpad", 1 << 33)]);
    let model = ModelReport {
        name: name("gen\"er\\ate"),
        handle: 10001,
        vnc: 3,
        subgraphs: 1,
        scratchpad_bytes: 600 << 20,
        bytes_by_usage,
        host_bytes: 512,
        requests: 12,
    };
    report.models.push(model.clone()).unwrap();
    report.models.push(ModelReport { name: name("embed"), handle: 10002, vnc: 0, requests: 13, ..model }).unwrap();
    report
        .cores
        .push(CoreSharing {
            device: 0,
            core: 6,
            vnc: 3,
            relative: 0,
            scratchpad_held_bytes: 1 << 30,
            scratchpad_pages: 2,
            scratchpad_users: 1,
            advice: PageAdvice::new(600 << 20),
            library_bytes: 92_840,
            library_copies: 1,
            library_users: 3,
        })
        .unwrap();
    (report.events[11], report.events[35]) = (25, 7);
    report.requests = 25;
    report.reloads = 3;
    report.ready_us = 812;
    report.serving_us = 9_120;
    report.peak_device_bytes = u64::MAX;
    report.resident_anonymous_bytes_at_exit = Some(3 << 20);
    report.weights_verified = true;
    report.outputs_verified = true;
    report
}

fn json_of(report: &Report) -> Value {
    let mut text = String::new();
    report.write_json(&mut text).unwrap();
    assert!(!text.contains('\n'));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn report_as_json() {
    let mut report = full_report();
    assert!(report.holds());
    let value = json_of(&report);
    let keys: Vec<&String> = value["models"][0]["bytes_by_usage"].as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), 22);
    assert_eq!(value["models"][0]["bytes_by_usage"]["weight"], 4096);
    assert_eq!(value["models"][0]["bytes_by_usage"]["scratchpad"], 1u64 << 33);
    assert_eq!(value["models"][0]["bytes_by_usage"]["tensor"], 0);
    assert_eq!(value["models"][0]["host_bytes"], 512);
    assert_eq!(value["models"][0]["name"], "gen\"er\\ate");
    assert_eq!(value["models"][1]["handle"], 10002);
    assert_eq!(value["models"][1]["vnc"], 0);
    assert_eq!(value["models"][1]["requests"], 13);
    let mut top = value.clone();
    top.as_object_mut().unwrap().remove("models");
    assert_eq!(
        top.as_object_mut().unwrap().remove("cores").unwrap(),
        json!([{
            "device": 0, "core": 6, "vnc": 3,
            "scratchpad": {
                "needs": [{ "model": "gen\"er\\ate", "bytes": 600 << 20 }], "held_bytes": 1 << 30, "pages": 2, "users": 1,
                "advised_page_mib": 1024
            },
            "library": { "copies": 1, "bytes": 92_840, "users": 3 }
        }])
    );
    assert_eq!(
        top,
        json!({
            "arch": "cayman", "logical_cores": 4, "requests": 25, "reloads": 3, "ready_us": 812, "serving_us": 9_120,
            "peak_device_bytes": u64::MAX,
            "live_device_bytes_at_exit": 0, "live_nodes_at_exit": 0,
            "resident_anonymous_bytes_at_exit": 3 << 20,
            "events": [{ "id": 11, "count": 25 }, { "id": 35, "count": 7 }], "weights_verified": true, "outputs_verified": true, "errors": []
        })
    );

    report.error(format_args!("model {:?}: {}\u{7}\t\u{1b}", "x", "a\nb"));
    assert!(!report.holds());
    assert_eq!(json_of(&report)["errors"], json!(["model \"x\": a\nb\u{7}\t\u{1b}"]));
}

#[test]
fn an_empty_report() {
    let report = Report::default();
    assert!(!report.holds(), "nothing has been verified");
    let value = json_of(&report);
    assert_eq!((&value["arch"], &value["models"]), (&json!("unknown"), &json!([])));
    assert_eq!(value["resident_anonymous_bytes_at_exit"], Value::Null);
}

#[test]
fn what_fails_a_report() {
    let broken: [fn(&mut Report); 5] = [
        |report| report.weights_verified = false,
        |report| report.outputs_verified = false,
        |report| report.live_device_bytes_at_exit = 1,
        |report| report.live_nodes_at_exit = 1,
        |report| report.error(format_args!("x")),
    ];
    for change in broken {
        let mut report = full_report();
        change(&mut report);
        assert!(!report.holds());
    }
}

#[test]
fn errors_are_bounded() {
    let mut report = full_report();
    report.error(format_args!("{}{}tail", "é".repeat(127), "é"));
    assert_eq!(report.errors().next().unwrap(), "é".repeat(127));
    for index in 1..MAX_ERRORS + 5 {
        report.error(format_args!("error {index}"));
    }
    let errors = json_of(&report)["errors"].as_array().unwrap().clone();
    assert_eq!(errors.len(), MAX_ERRORS + 1);
    assert_eq!(errors[MAX_ERRORS - 1], format!("error {}", MAX_ERRORS - 1));
    assert_eq!(errors[MAX_ERRORS], "5 further errors");
}

#[test]
fn report_as_text() {
    let mut report = full_report();
    report.outputs_verified = false;
    report.error(format_args!("output y of model embed differs at byte 7"));
    let mut text = String::new();
    report.write_text(&mut text).unwrap();
    assert_eq!(
        text,
        "\
cayman with 4 logical cores
  gen\"er\\ate (handle 10001, logical core 3): 8.000GB, 12 requests
  embed (handle 10002, logical core 0): 8.000GB, 13 requests
ND 0:NC 6 scratchpad: gen\"er\\ate needs 600.000MB; held 1.000GB in 2 pages for 1 models
ND 0:NC 6 scratchpad: a variable of 629145600 bytes fits no scratchpad page and has memory of its own; to share it, compile with \
--hbm-scratchpad-page-size=1024 and set NEURON_SCRATCHPAD_PAGE_SIZE=1024
ND 0:NC 6 microcode library: 1 copies of 90.664KB for 3 models
requests 25, reloads 3, peak 17179869184.000GB
ready after 812 us, serving after 9120 us
operations by event id: 11: 25 35: 7
weights verified, outputs NOT VERIFIED
after close: 0 device bytes and 0 nodes live
resident anonymous memory 3.000MB
error: output y of model embed differs at byte 7
"
    );
}

#[test]
fn json_pieces_are_read_back() {
    let all: String = (0..0x300u32).chain(0xffff..0x10010).filter_map(char::from_u32).collect();
    let mut text = String::new();
    let json = &mut JsonWriter::new(&mut text);
    json.begin_array().unwrap();
    json.string(&all).unwrap();
    json.begin_object().unwrap();
    json.key(&all).unwrap();
    json.boolean(true).unwrap();
    json.key("b").unwrap();
    json.begin_array().unwrap();
    json.end_array().unwrap();
    json.key("c").unwrap();
    json.begin_object().unwrap();
    json.end_object().unwrap();
    json.end_object().unwrap();
    json.number(0).unwrap();
    json.number(u64::MAX).unwrap();
    json.boolean(false).unwrap();
    json.display(format_args!("{}\"{}", 1, 2)).unwrap();
    json.end_array().unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value, json!([all, { all.clone(): true, "b": [], "c": {} }, 0, u64::MAX, false, "1\"2"]));
    assert!(!text.contains(char::is_control) || all.contains('\u{80}'), "only C1 characters are left as they are");
    assert!(text.bytes().all(|byte| byte >= 0x20));
}

#[test]
fn a_full_sink_is_an_error() {
    struct Full(usize);
    impl std::fmt::Write for Full {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 = self.0.checked_sub(text.len()).ok_or(std::fmt::Error)?;
            Ok(())
        }
    }
    let report = full_report();
    let mut whole = String::new();
    report.write_json(&mut whole).unwrap();
    for room in 0..whole.len() {
        assert!(report.write_json(&mut Full(room)).is_err());
    }
    assert!(report.write_json(&mut Full(whole.len())).is_ok());
}

#[test]
fn sizes_as_the_runtime_prints_them() {
    for (bytes, text) in [
        (0, "0.000B"),
        (1, "1.000B"),
        (1023, "1023.000B"),
        (1024, "1.000KB"),
        (358_528, "350.125KB"),
        (1_048_575, "1023.999KB"),
        (1_048_576, "1.000MB"),
        (0x3fff_ffff, "1024.000MB"),
        (1 << 30, "1.000GB"),
        (21_676_163_072, "20.188GB"),
        (u64::MAX, "17179869184.000GB"),
    ] {
        assert_eq!(Size(bytes).to_string(), text);
    }
    // The digits of a floating-point "%.3f", for every kind of rest.
    for bytes in
        (0..2_000_000u64).step_by(37).chain((0..64).map(|bit| (1u64 << bit) | (1 << (bit / 2)))).chain([1536 + 1, 0x4_0008_0000])
    {
        let (divisor, unit) = match bytes {
            0..1024 => (1u64, "B"),
            1024..1_048_576 => (1 << 10, "KB"),
            1_048_576..1_073_741_824 => (1 << 20, "MB"),
            _ => (1 << 30, "GB"),
        };
        if bytes < 1 << 53 {
            let text = format!("{:.3}{unit}", bytes as f64 / divisor as f64);
            assert_eq!(Size(bytes).to_string(), text);
        }
        assert_eq!(Size(bytes).width(), Size(bytes).to_string().len());
    }
}

fn table_of(rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    table::write(&mut text, rows).unwrap();
    text
}

#[test]
fn table_of_two_cores() {
    let core = |core| Owner::Core { device: 0, core };
    let model = [("instr_pe", 8 << 20), ("instr_sp", 8 << 20), ("weight", 2 << 20), ("dma_ring_io", 32 << 10)];
    let small = [("ucode_lib", 1000), ("weight", 4096)];
    let shared = [("scratchpad", 128 << 20), ("tensor", 512 << 10)];
    let rows = [
        Row { owner: core(0), usage: usage(&[&model[..], &shared[..]].concat()) },
        Row { owner: Owner::Shared, usage: usage(&shared) },
        Row { owner: Owner::Model("generate"), usage: usage(&model) },
        Row { owner: core(1), usage: usage(&small) },
        Row { owner: Owner::Model("embed"), usage: usage(&small) },
    ];
    assert_eq!(
        table_of(&rows),
        "\
CORE / MODEL     TOTAL     model     model   tensors     shared DMA rings
                            code constants           scratchpad       I/O
ND 0:NC 0    146.531MB  16.000MB   2.000MB 512.000KB  128.000MB  32.000KB
  (shared)   128.500MB    0.000B    0.000B 512.000KB  128.000MB    0.000B
  generate    18.031MB  16.000MB   2.000MB    0.000B     0.000B  32.000KB
ND 0:NC 1      4.977KB 1000.000B   4.000KB    0.000B     0.000B    0.000B
  embed        4.977KB 1000.000B   4.000KB    0.000B     0.000B    0.000B
"
    );
}

#[test]
fn every_class_has_its_column() {
    let all: Vec<(&str, u64)> = Usage::NAMES.iter().enumerate().map(|(index, name)| (*name, 1 << index)).collect();
    let row = Row { owner: Owner::Core { device: 31, core: 7 }, usage: usage(&all) };
    assert_eq!(
        table_of(&[row]),
        "\
CORE / MODEL   TOTAL   model     model tensors     shared scratchpad   runtime DMA rings DMA rings   DMA rings DMA rings collectives notifications
                        code constants         scratchpad                            I/O     spill collectives   runtime
ND 31:NC 7   4.000MB 9.521KB   64.000B 4.000KB    2.000KB   64.000KB 144.290KB   1.000MB 512.000KB     2.000MB 256.000KB    32.000KB      128.000B
"
    );
}

#[test]
fn usual_tables_fit_a_terminal() {
    // What a serving job holds: eight classes with the largest sizes that have three digits.
    let held = usage(&[
        ("instr_pe", 999 << 20),
        ("weight", 999 << 20),
        ("tensor", 999 << 20),
        ("scratchpad", 999 << 20),
        ("dram_spill", 999 << 20),
        ("dma_ring_io", 999 << 20),
        ("dma_ring", 999 << 20),
        ("notification", 999 << 20),
    ]);
    let rows = [
        Row { owner: Owner::Core { device: 0, core: 0 }, usage: held },
        Row { owner: Owner::Model("a-model-name-that-is-much-longer-than-the-column"), usage: held },
    ];
    let text = table_of(&rows);
    assert!(text.lines().all(|line| line.len() <= 130), "{text}");
    assert!(text.contains("\n  a-model-name-that-is-muc... "), "{text}");
    let widths: Vec<usize> = text.lines().skip(2).map(|line| line.chars().count()).collect();
    assert!(widths.windows(2).all(|pair| pair[0] == pair[1]), "{text}");
}

#[test]
fn odd_tables() {
    assert_eq!(table_of(&[]), "CORE / MODEL  TOTAL\n\n");
    let names = [Row { owner: Owner::Model("gé\u{1b}[1m"), usage: [0; 22] }, Row { owner: Owner::Shared, usage: [u64::MAX; 22] }];
    let text = table_of(&names);
    assert!(text.contains("\n  gé\\x1b[1m "), "{text}");
    assert_eq!(Usage::from_name("xt_cc").unwrap().class(), Usage::from_name("generic").unwrap().class());
}

#[test]
fn weight_bytes_have_addresses() {
    for seed in [0, 1, 0x9e37_79b9_7f4a_7c15, u64::MAX] {
        let mut whole = vec![0; 4096];
        weights::fill(&mut whole, seed, 0);
        for offset in (0..64).chain(4000..4096) {
            for length in (0..20).chain([63, 64, 65]) {
                let end = (offset + length).min(whole.len());
                let mut piece = vec![0xa5; end - offset];
                weights::fill(&mut piece, seed, offset as u64);
                assert_eq!(piece, whole[offset..end], "seed {seed}, {length} bytes at {offset}");
                assert_eq!(weights::verify(&piece, seed, offset as u64), None);
            }
        }
    }
}

#[test]
fn weight_bytes_do_not_change() {
    // Fixed values: a stream that changed would not verify weights that an older program staged.
    let mut bytes = [0; 16];
    weights::fill(&mut bytes, 1, 0);
    let mut text = String::new();
    bytes.iter().for_each(|byte| write!(text, "{byte:02x}").unwrap());
    assert_eq!(text, "72d7c2dd3080efbf47aaf282e42c555f");
    weights::fill(&mut bytes, u64::MAX, u64::MAX - 3);
    assert_eq!(weights::verify(&bytes, u64::MAX, u64::MAX - 3), None);
}

#[test]
fn the_first_wrong_weight_is_found() {
    let mut bytes = vec![0; 257];
    for offset in [0u64, 1, 7, 8, (1 << 40) + 5] {
        weights::fill(&mut bytes, 42, offset);
        for at in 0..bytes.len() {
            let expected = bytes[at];
            bytes[at] ^= 0x10;
            let last = bytes.len() - 1;
            bytes[last] ^= u8::from(at != last);
            let found = Mismatch { offset: offset + at as u64, expected, found: expected ^ 0x10 };
            assert_eq!(weights::verify(&bytes, 42, offset), Some(found));
            bytes[at] ^= 0x10;
            bytes[last] ^= u8::from(at != last);
        }
    }
    // Other seeds and shifted offsets do not pass.
    let step = 0x9e37_79b9_7f4a_7c15u64;
    assert!(weights::verify(&bytes, 43, (1 << 40) + 5).is_some());
    weights::fill(&mut bytes, 7, 0);
    for seed in [7u64.wrapping_add(step), 7u64.wrapping_sub(step), 7] {
        for offset in [8, 16] {
            assert!(weights::verify(&bytes, seed, offset).is_some());
        }
    }
    let ones: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
    assert!((900..1160).contains(&ones), "{ones} bits of {} are set", bytes.len() * 8);
}
