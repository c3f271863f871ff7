//! Which keys the objects of a deployment have, and how many entries its arrays.

use crate::support::{parse, refused, refused_text, with};

#[test]
fn unknown_keys() {
    refused(
        r#""arch""#,
        r#""architecture": "cayman", "arch""#,
        r#"key "architecture" (line 2, column 3): unknown key, expected arch, models, devices, logical_core_size, scratchpad, threads, requests or reload_every"#,
    );
    refused(
        r#""vnc""#,
        r#""vncc""#,
        r#"model "generate", key "vncc" (line 6, column 7): unknown key, expected name, vnc, weights, inputs, outputs, subgraphs, weight_chunk_bytes, code_bytes, spill_bytes, scratchpad_bytes, ulibs or regions"#,
    );
    refused(
        r#""seed": 1"#,
        r#""sed": 1"#,
        r#"model "generate", key "weights.sed" (line 7, column 20): unknown key, expected file, seed or bytes"#,
    );
    refused(
        r#""x", "bytes""#,
        r#""x", "size""#,
        r#"model "generate", key "inputs[0].size" (line 8, column 33): unknown key, expected name or bytes"#,
    );
    refused(
        r#""vnc": 0,"#,
        r#""vnc": 0, "regions": [{ "usage": "cc", "bytes": 1 }, { "kind": 1 }],"#,
        r#"model "generate", key "regions[1].kind" (line 6, column 62): unknown key, expected usage, bytes, location, channel or align"#,
    );
}

#[test]
fn missing_keys() {
    let here = "missing, expected this key in the object that begins here";
    refused(r#""arch": "cayman","#, "", &format!(r#"key "arch" (line 1, column 1): {here}"#));
    refused_text(r#"{ "arch": "cayman" }"#, &format!(r#"key "models" (line 1, column 1): {here}"#));
    refused(r#""name": "generate","#, "", &format!(r#"models[0], key "name" (line 4, column 5): {here}"#));
    refused(r#""vnc": 0,"#, "", &format!(r#"model "generate", key "vnc" (line 4, column 5): {here}"#));
    refused(
        r#""weights": { "seed": 1, "bytes": 4096 },"#,
        "",
        &format!(r#"model "generate", key "weights" (line 4, column 5): {here}"#),
    );
    refused(
        r#""inputs": [{ "name": "x", "bytes": 64 }],"#,
        "",
        &format!(r#"model "generate", key "inputs" (line 4, column 5): {here}"#),
    );
    refused(
        r#",
      "outputs": [{ "name": "y", "bytes": 64 }]"#,
        "",
        &format!(r#"model "generate", key "outputs" (line 4, column 5): {here}"#),
    );
    refused(r#""name": "x", "#, "", &format!(r#"model "generate", key "inputs[0].name" (line 8, column 18): {here}"#));
    refused(
        r#", "bytes": 64 }]
"#,
        "}]\n",
        &format!(r#"model "generate", key "outputs[0].bytes" (line 9, column 19): {here}"#),
    );
    let region = |text| format!(r#""vnc": 0, "regions": [{text}],"#);
    refused(
        r#""vnc": 0,"#,
        &region(r#"{ "bytes": 1 }"#),
        &format!(r#"model "generate", key "regions[0].usage" (line 6, column 29): {here}"#),
    );
    refused(
        r#""vnc": 0,"#,
        &region(r#"{ "usage": "cc" }"#),
        &format!(r#"model "generate", key "regions[0].bytes" (line 6, column 29): {here}"#),
    );
}

#[test]
fn keys_given_twice() {
    refused(
        r#""arch": "cayman","#,
        r#""arch": "cayman", "arch": "cayman","#,
        r#"key "arch" (line 2, column 21): given a second time, expected each key once"#,
    );
    refused(
        r#""vnc": 0,"#,
        r#""vnc": 0, "vnc": 0,"#,
        r#"model "generate", key "vnc" (line 6, column 17): given a second time, expected each key once"#,
    );
    refused(
        r#""seed": 1,"#,
        r#""seed": 1, "\u0073eed": 1,"#,
        r#"model "generate", key "weights.seed" (line 7, column 31): given a second time, expected each key once"#,
    );
}

#[test]
fn counts() {
    let list = |count: usize, entry: &dyn Fn(usize) -> String| (0..count).map(entry).collect::<Vec<_>>().join(", ");
    let region = |_| r#"{"usage":"io","bytes":1}"#.to_string();
    let regions = |count| with(r#""vnc": 0,"#, &format!(r#""vnc": 0, "regions": [{}],"#, list(count, &region)));
    assert_eq!(parse(regions(32)).unwrap().models()[0].regions.len(), 32);
    refused_text(
        regions(33),
        &format!(
            r#"model "generate", key "regions" (line 6, column {}): one entry too many, expected at most 32 entries"#,
            29 + 32 * 26
        ),
    );

    let tensor = |index| format!(r#"{{"name":"{index:02}","bytes":1}}"#);
    let inputs = |count| with(r#"{ "name": "x", "bytes": 64 }"#, &list(count, &tensor));
    assert_eq!(parse(inputs(16)).unwrap().models()[0].inputs.len(), 16);
    refused_text(
        inputs(17),
        &format!(
            r#"model "generate", key "inputs" (line 8, column {}): one entry too many, expected at most 16 entries"#,
            18 + 16 * 25
        ),
    );
    refused_text(
        inputs(0),
        r#"model "generate", key "inputs" (line 8, column 17): found an empty array, expected at least one tensor"#,
    );

    let model = |index| {
        format!(
            r#"{{"name":"{index:02}","vnc":0,"weights":{{"file":"w"}},"inputs":[{{"name":"x","bytes":1}}],"outputs":[{{"name":"y","bytes":1}}]}}"#
        )
    };
    let models = |count| format!(r#"{{"models":[{}],"arch":"cayman"}}"#, list(count, &model));
    assert_eq!(parse(models(64)).unwrap().models().len(), 64);
    refused_text(
        models(65),
        &format!(
            r#"key "models" (line 1, column {}): one entry too many, expected at most 64 entries"#,
            12 + 64 * (model(0).len() + 2)
        ),
    );
    refused_text(models(0), r#"key "models" (line 1, column 11): found an empty array, expected at least one model"#);
}
