//! One scenario for each rule of the deployment's key table, with the text of the message; and the shipped deployments.

use crate::support::{BASE, parse, parse_as, refused, refused_text, with};
use nrt_appliance::deployment::{
    DEFAULT_DEPLOYMENT, Deployment, Location, MAX_BYTES, Problem, Region, Usage, WeightSource, parse_into,
};
use nrt_core::arch::Arch;

#[test]
fn defaults() {
    let deployment = parse(BASE).unwrap();
    assert_eq!(deployment.arch(), Arch::Cayman);
    assert_eq!((deployment.devices, deployment.logical_core_size, deployment.threads), (1, 2, 1));
    assert_eq!((deployment.requests, deployment.reload_every), (0, 0));
    assert_eq!(deployment.logical_cores(), 4);
    let [model] = deployment.models() else { panic!("one model") };
    assert_eq!((model.name.as_str(), model.vnc, model.subgraphs, model.ulibs), ("generate", 0, 2, 0));
    assert_eq!(model.weights(), WeightSource::Seed { seed: 1, bytes: 4096 });
    assert_eq!(model.weight_chunk_bytes, 1 << 20);
    assert_eq!((model.code_bytes, model.spill_bytes, model.scratchpad_bytes), (0, 0, 0));
    assert!(model.regions.is_empty());
    assert_eq!((model.inputs[0].name.as_str(), model.inputs[0].bytes), ("x", 64));
    assert_eq!((model.outputs[0].name.as_str(), model.outputs[0].bytes), ("y", 64));
}

#[test]
fn the_example_of_the_format() {
    let text = r#"{
      "arch": "cayman", "devices": 1, "logical_core_size": 2,
      "threads": 2, "requests": 2000, "reload_every": 500,
      "models": [
        { "name": "generate", "vnc": 0, "subgraphs": 2,
          "weights": { "file": "weights.bin" }, "weight_chunk_bytes": 1048576,
          "code_bytes": 8388608, "spill_bytes": 4194304, "scratchpad_bytes": 67108864, "ulibs": 1,
          "regions": [ { "usage": "dma_ring_io", "location": "host", "bytes": 65536, "align": 0 } ],
          "inputs": [ { "name": "x", "bytes": 65536 } ], "outputs": [ { "name": "y", "bytes": 65536 } ] }
      ]
    }"#;
    let deployment = parse(text).unwrap();
    assert_eq!((deployment.threads, deployment.requests, deployment.reload_every), (2, 2000, 500));
    let model = &deployment.models()[0];
    assert_eq!(model.weights(), WeightSource::File("weights.bin"));
    assert_eq!((model.code_bytes, model.spill_bytes, model.scratchpad_bytes), (8 << 20, 4 << 20, 64 << 20));
    assert_eq!(model.ulibs, 1);
    let Region { usage, location, channel, align, bytes, .. } = model.regions[0].clone();
    assert_eq!((usage.name(), location, channel, align, bytes), ("dma_ring_io", Location::Host, None, 0, 65536));
}

#[test]
fn shipped_deployments() {
    let files = [
        ("default.json", Arch::Cayman, 4),
        ("cayman.json", Arch::Cayman, 4),
        ("mariana.json", Arch::Mariana, 2),
        ("sunda.json", Arch::Sunda, 2),
        ("sharing.json", Arch::Sunda, 2),
        ("three-on-one-core.json", Arch::Cayman, 3),
    ];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../appliance/deployments");
    for (file, arch, models) in files {
        let text = std::fs::read(format!("{folder}/{file}")).unwrap();
        let deployment = parse(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(deployment.arch(), arch, "{file}");
        assert_eq!(deployment.models().len(), models, "{file}");
        for model in deployment.models() {
            assert!(matches!(model.weights(), WeightSource::Seed { .. }), "{file} needs no other file");
        }
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), files.len(), "every shipped deployment is tested");
    assert_eq!(std::fs::read_to_string(format!("{folder}/default.json")).unwrap(), DEFAULT_DEPLOYMENT);

    let default = parse(DEFAULT_DEPLOYMENT).unwrap();
    assert_eq!((default.threads, default.requests, default.reload_every), (2, 200, 50));
    assert_eq!(default.models().iter().map(|model| model.vnc).collect::<Vec<_>>(), [0, 0, 0, 1]);
    // It is what `--simulate` without a file runs.
    for arch in Arch::ALL {
        assert_eq!(parse_as(DEFAULT_DEPLOYMENT, Some(arch)).unwrap().arch(), arch);
    }
}

#[test]
fn architecture_of_the_caller() {
    assert_eq!(parse_as(BASE, Some(Arch::Mariana)).unwrap().arch(), Arch::Mariana);
    let sunda = parse_as(BASE, Some(Arch::Sunda)).unwrap();
    assert_eq!((sunda.logical_core_size, sunda.logical_cores(), sunda.models()[0].subgraphs), (1, 2, 1));
    let text = with(r#""cayman","#, r#""cayman", "logical_core_size": 2,"#);
    assert_eq!(
        parse_as(text, Some(Arch::Sunda)).unwrap_err(),
        r#"key "logical_core_size" (line 2, column 42): 2 is out of range, expected 1 (on sunda)"#
    );
    assert_eq!(
        parse_as(with(r#""vnc": 0"#, r#""vnc": 3"#), Some(Arch::Sunda)).unwrap_err(),
        r#"model "generate", key "vnc" (line 6, column 14): 3 is out of range, expected less than 2 (1 device x 2 cores / logical core size 1)"#
    );
    // The text has to be right in itself.
    assert!(parse_as(with("cayman", "trn2"), Some(Arch::Sunda)).is_err());
}

#[test]
fn numbers_of_the_deployment() {
    let top = |piece: &str, message: &str| refused(r#""cayman","#, &format!(r#""cayman", {piece},"#), message);
    for (key, high) in [("devices", 32), ("threads", 16)] {
        for bad in [0, high + 1] {
            let column = 21 + key.len() + 4;
            top(
                &format!(r#""{key}": {bad}"#),
                &format!(r#"key "{key}" (line 2, column {column}): {bad} is out of range, expected 1 to {high}"#),
            );
        }
        for good in [1, high] {
            assert!(parse(with(r#""cayman","#, &format!(r#""cayman", "{key}": {good},"#))).is_ok());
        }
    }
    for bad in [0, 3, 4, 4_294_967_297u64] {
        top(
            &format!(r#""logical_core_size": {bad}"#),
            &format!(r#"key "logical_core_size" (line 2, column 42): {bad} is out of range, expected 1 or 2 (on cayman)"#),
        );
    }
    let text = with(r#""cayman","#, r#""cayman", "requests": 18446744073709551615, "reload_every": 18446744073709551615,"#);
    let deployment = parse(text).unwrap();
    assert_eq!((deployment.requests, deployment.reload_every), (u64::MAX, u64::MAX));
    top(
        r#""requests": 18446744073709551616"#,
        r#"key "requests" (line 2, column 33): 18446744073709551616 is out of range, expected 0 to 18446744073709551615"#,
    );
    refused(r#""cayman""#, r#""trn2""#, r#"key "arch" (line 2, column 11): found "trn2", expected sunda, cayman or mariana"#);
    refused(r#""cayman""#, "3", r#"key "arch" (line 2, column 11): found 3, expected a string"#);
}

#[test]
fn logical_cores() {
    let vnc = |top: &str, vnc: u64| with(r#""vnc": 0"#, &format!(r#""vnc": {vnc}"#)).replace(r#""cayman","#, top);
    refused_text(
        vnc(r#""cayman","#, 4),
        r#"model "generate", key "vnc" (line 6, column 14): 4 is out of range, expected less than 4 (1 device x 8 cores / logical core size 2)"#,
    );
    refused_text(
        vnc(r#""cayman", "devices": 2, "logical_core_size": 1,"#, 16),
        r#"model "generate", key "vnc" (line 6, column 14): 16 is out of range, expected less than 16 (2 devices x 8 cores / logical core size 1)"#,
    );
    refused_text(
        vnc(r#""sunda","#, 4_294_967_296),
        r#"model "generate", key "vnc" (line 6, column 14): 4294967296 is out of range, expected less than 2 (1 device x 2 cores / logical core size 1)"#,
    );
    assert_eq!(parse(vnc(r#""mariana", "devices": 32,"#, 127)).unwrap().logical_cores(), 128);
    assert_eq!(parse(vnc(r#""sunda","#, 1)).unwrap().models()[0].vnc, 1);
}

#[test]
fn subgraphs() {
    let text =
        |top: &str, count: u64| with(r#""vnc": 0,"#, &format!(r#""vnc": 0, "subgraphs": {count},"#)).replace(r#""cayman","#, top);
    assert_eq!(parse(text(r#""cayman","#, 1)).unwrap().models()[0].subgraphs, 1);
    assert_eq!(parse(text(r#""cayman","#, 2)).unwrap().models()[0].subgraphs, 2);
    for bad in [0, 3] {
        refused_text(
            text(r#""cayman","#, bad),
            &format!(
                r#"model "generate", key "subgraphs" (line 6, column 30): {bad} is out of range, expected 1 or 2 (the logical core size)"#
            ),
        );
    }
    refused_text(
        text(r#""sunda","#, 2),
        r#"model "generate", key "subgraphs" (line 6, column 30): 2 is out of range, expected 1 (the logical core size)"#,
    );
}

#[test]
fn names() {
    let bad_name = "a name: a string, not empty, without control characters";
    refused(r#""generate""#, r#""""#, &format!(r#"models[0], key "name" (line 5, column 15): found "", expected {bad_name}"#));
    refused(
        r#""generate""#,
        r#""a\u0000b""#,
        &format!(r#"model "a\u0000b", key "name" (line 5, column 15): found "a\u0000b", expected {bad_name}"#),
    );
    refused(r#""generate""#, "7", &format!(r#"models[0], key "name" (line 5, column 15): found 7, expected {bad_name}"#));
    let longest = "é".repeat(31) + "e";
    assert_eq!(parse(with("generate", &longest)).unwrap().models()[0].name, longest.as_str());
    let cut = "a".repeat(40);
    refused(
        r#""x""#,
        &format!(r#""{}""#, "a".repeat(64)),
        &format!(
            r#"model "generate", key "inputs[0].name" (line 8, column 28): "{cut}..." is too long, expected at most 63 bytes"#
        ),
    );
    let twice = BASE.replacen("    }\n", "    },\n    { \"vnc\": 1, \"name\": \"gener\\u0061te\" }\n", 1);
    refused_text(
        twice,
        r#"model "gener\u0061te", key "name" (line 11, column 25): "gener\u0061te" is taken, expected a name that no other model has"#,
    );
    refused(
        r#"[{ "name": "x", "bytes": 64 }]"#,
        r#"[{ "name": "x", "bytes": 64 }, { "bytes": 64, "name": "x" }]"#,
        r#"model "generate", key "inputs[1].name" (line 8, column 71): "x" is taken, expected a name that no other tensor of this list has"#,
    );
    // An input and an output may share a name.
    assert!(parse(with(r#""y""#, r#""x""#)).is_ok());
}

#[test]
fn weights() {
    let weights = |text: &str| with(r#"{ "seed": 1, "bytes": 4096 }"#, text);
    let file = parse(weights(r#"{ "file": "a\/b \ud83d\ude00.bin" }"#)).unwrap();
    assert_eq!(file.models()[0].weights(), WeightSource::File("a/b \u{1f600}.bin"));
    let longest = "p".repeat(4095);
    assert_eq!(
        parse(weights(&format!(r#"{{ "file": "{longest}" }}"#))).unwrap().models()[0].weights(),
        WeightSource::File(&longest)
    );
    for length in [4096, 4097, 10_000] {
        refused_text(
            weights(&format!(r#"{{ "file": "{}" }}"#, "p".repeat(length))),
            &format!(
                r#"model "generate", key "weights.file" (line 7, column 28): "{}..." is too long, expected at most 4095 bytes"#,
                "p".repeat(40)
            ),
        );
    }
    let forms = "expected either file, or seed and bytes";
    refused_text(weights("{}"), &format!(r#"model "generate", key "weights.file" (line 7, column 18): missing, {forms}"#));
    refused_text(
        weights(r#"{ "seed": 1 }"#),
        &format!(r#"model "generate", key "weights.bytes" (line 7, column 18): missing, {forms}"#),
    );
    refused_text(
        weights(r#"{ "bytes": 1 }"#),
        &format!(r#"model "generate", key "weights.seed" (line 7, column 18): missing, {forms}"#),
    );
    refused_text(
        weights(r#"{ "file": "w", "seed": 1 }"#),
        &format!(r#"model "generate", key "weights.seed" (line 7, column 33): "seed" is not possible here, {forms}"#),
    );
    refused_text(
        weights(r#"{ "bytes": 1, "file": "w" }"#),
        &format!(r#"model "generate", key "weights.file" (line 7, column 32): "file" is not possible here, {forms}"#),
    );
    refused_text(
        weights(r#"{ "file": "" }"#),
        r#"model "generate", key "weights.file" (line 7, column 28): found "", expected a path: a string, not empty, without control characters"#,
    );
    refused_text(weights("4"), r#"model "generate", key "weights" (line 7, column 18): found 4, expected an object"#);
    let chunks = parse(with(r#""vnc": 0,"#, r#""vnc": 0, "weight_chunk_bytes": 1000,"#)).unwrap();
    assert_eq!(chunks.models()[0].weight_chunks(4096), 5);
    assert_eq!(chunks.models()[0].weight_chunks(4000), 4);
}

#[test]
fn sizes() {
    let high = MAX_BYTES;
    for bad in [0, high + 1] {
        let range = format!("{bad} is out of range, expected 1 to {high}");
        refused(
            r#""bytes": 4096"#,
            &format!(r#""bytes": {bad}"#),
            &format!(r#"model "generate", key "weights.bytes" (line 7, column 40): {range}"#),
        );
        refused(
            r#""x", "bytes": 64"#,
            &format!(r#""x", "bytes": {bad}"#),
            &format!(r#"model "generate", key "inputs[0].bytes" (line 8, column 42): {range}"#),
        );
        refused(
            r#""y", "bytes": 64"#,
            &format!(r#""y", "bytes": {bad}"#),
            &format!(r#"model "generate", key "outputs[0].bytes" (line 9, column 43): {range}"#),
        );
        refused(
            r#""vnc": 0,"#,
            &format!(r#""vnc": 0, "weight_chunk_bytes": {bad},"#),
            &format!(r#"model "generate", key "weight_chunk_bytes" (line 6, column 39): {range}"#),
        );
        refused(
            r#""vnc": 0,"#,
            &format!(r#""vnc": 0, "regions": [{{ "usage": "io", "bytes": {bad} }}],"#),
            &format!(r#"model "generate", key "regions[0].bytes" (line 6, column 55): {range}"#),
        );
    }
    for key in ["code_bytes", "spill_bytes", "scratchpad_bytes"] {
        for good in [0, high] {
            assert!(parse(with(r#""vnc": 0,"#, &format!(r#""vnc": 0, "{key}": {good},"#))).is_ok());
        }
        refused(
            r#""vnc": 0,"#,
            &format!(r#""vnc": 0, "{key}": {},"#, high + 1),
            &format!(
                r#"model "generate", key "{key}" (line 6, column {}): {} is out of range, expected 0 to {high}"#,
                21 + key.len(),
                high + 1
            ),
        );
    }
}

#[test]
fn libraries() {
    for good in [0, 9] {
        assert_eq!(parse(with(r#""vnc": 0,"#, &format!(r#""vnc": 0, "ulibs": {good},"#))).unwrap().models()[0].ulibs, good);
    }
    refused(
        r#""vnc": 0,"#,
        r#""vnc": 0, "ulibs": 10,"#,
        r#"model "generate", key "ulibs" (line 6, column 26): 10 is out of range, expected 0 to 9"#,
    );
}

/// The base with one region.
fn region(text: &str) -> String {
    with(r#""vnc": 0,"#, &format!(r#""vnc": 0, "regions": [{text}],"#))
}

#[test]
fn usages_and_locations() {
    let names = [
        "generic",
        "instr_pe",
        "instr_act",
        "instr_pool",
        "io",
        "dram_spill",
        "weight",
        "notification",
        "act_table",
        "instr_dve",
        "instr_sp",
        "scratchpad",
        "tensor",
        "ucode_lib",
        "pool_stdio",
        "cc",
        "scratchpad_not_shared",
        "xt_cc",
        "dma_ring",
        "dma_ring_spill",
        "dma_ring_io",
        "dma_ring_collectives",
    ];
    for (number, name) in names.into_iter().enumerate() {
        let device = parse(region(&format!(r#"{{ "usage": "{name}", "bytes": 1 }}"#))).unwrap();
        let found = &device.models()[0].regions[0];
        assert_eq!((found.usage.number() as usize, found.usage.name(), found.location), (number, name, Location::Device));
        assert_eq!(Usage::from_name(name), Usage::from_number(number as u32));
        let host = region(&format!(r#"{{ "usage": "{name}", "location": "host", "bytes": 1 }}"#));
        if matches!(name, "scratchpad" | "cc" | "scratchpad_not_shared") {
            let column = 56 + name.len();
            refused_text(
                host,
                &format!(
                    r#"model "generate", key "regions[0].location" (line 6, column {column}): "host" is not possible here, expected device (usage {name} cannot be in host memory)"#
                ),
            );
        } else {
            assert_eq!(parse(host).unwrap().models()[0].regions[0].location, Location::Host);
        }
    }
    assert_eq!(Usage::from_number(22), None);
    refused_text(
        region(r#"{ "usage": "weights", "bytes": 1 }"#),
        r#"model "generate", key "regions[0].usage" (line 6, column 40): found "weights", expected generic, instr_pe, instr_act, instr_pool, io, dram_spill, weight, notification, act_table, instr_dve, instr_sp, scratchpad, tensor, ucode_lib, pool_stdio, cc, scratchpad_not_shared, xt_cc, dma_ring, dma_ring_spill, dma_ring_io or dma_ring_collectives"#,
    );
    refused_text(
        region(r#"{ "usage": "io", "bytes": 1, "location": "hbm" }"#),
        r#"model "generate", key "regions[0].location" (line 6, column 70): found "hbm", expected device or host"#,
    );
}

#[test]
fn alignments_and_channels() {
    for align in [0, 1, 4096, MAX_BYTES] {
        let text = region(&format!(r#"{{ "usage": "io", "bytes": 1, "align": {align} }}"#));
        assert_eq!(parse(text).unwrap().models()[0].regions[0].align, align);
    }
    for align in [3, 4095, MAX_BYTES - 1] {
        refused_text(
            region(&format!(r#"{{ "usage": "io", "bytes": 1, "align": {align} }}"#)),
            &format!(
                r#"model "generate", key "regions[0].align" (line 6, column 67): {align} is out of range, expected 0 or a power of two"#
            ),
        );
    }
    refused_text(
        region(r#"{ "usage": "io", "bytes": 1, "align": 4096, "location": "host" }"#),
        r#"model "generate", key "regions[0].align" (line 6, column 67): 4096 is out of range, expected 0 (host memory takes no alignment)"#,
    );
    let channel = |channel: u64| region(&format!(r#"{{ "usage": "io", "bytes": 1, "channel": {channel} }}"#));
    assert_eq!(parse(channel(3)).unwrap().models()[0].regions[0].channel, Some(3));
    for bad in [4, 256, u64::MAX] {
        refused_text(
            channel(bad),
            &format!(
                r#"model "generate", key "regions[0].channel" (line 6, column 69): {bad} is out of range, expected less than 4 (a device of cayman has 4 HBM channels)"#
            ),
        );
    }
    refused_text(
        channel(2).replace("cayman", "sunda"),
        r#"model "generate", key "regions[0].channel" (line 6, column 69): 2 is out of range, expected less than 2 (a device of sunda has 2 HBM channels)"#,
    );
}

#[test]
fn a_deployment_is_used_again() {
    let mut deployment = Box::new(Deployment::new());
    parse_into(DEFAULT_DEPLOYMENT.as_bytes(), None, &mut deployment).unwrap();
    assert_eq!(deployment.models().len(), 4);
    let error = parse_into(b"{}", None, &mut deployment).unwrap_err();
    assert_eq!((error.line(), error.column(), error.model(), error.problem()), (1, 1, None, Problem::Missing));
    assert!(deployment.models().is_empty());
    parse_into(BASE.as_bytes(), None, &mut deployment).unwrap();
    let model = &deployment.models()[0];
    assert_eq!((model.regions.len(), model.inputs.len(), model.code_bytes, model.weight_chunk_bytes), (0, 1, 0, 1 << 20));
}
