//! Texts that are not JSON, or not the JSON that the reader wants.

use crate::support::{BASE, parse, refused, refused_text, with};

#[test]
fn white_space_and_escapes_are_read() {
    let tight: String = BASE.split_whitespace().collect();
    assert_eq!(parse(tight).unwrap().models().len(), 1);
    let loose = BASE.replace('{', " {\t\r\n ").replace(',', " \r\n ,\t").replace(':', " : ");
    assert_eq!(parse(loose).unwrap().models().len(), 1);
    let name = |text| parse(with("\"generate\"", text)).unwrap().models()[0].name.clone();
    assert_eq!(name(r#""\u0067\u00e9\u20AC\ud83d\uDE00""#), "gé€\u{1f600}");
    assert_eq!(name(r#""\"\\\/""#), "\"\\/");
    assert_eq!(parse(with(r#""vnc""#, r#""\u0076nc""#)).unwrap().models()[0].vnc, 0);
    assert_eq!(parse(with(r#""arch": "cayman""#, r#""arch": "\u0063ayman""#)).unwrap().models().len(), 1);
}

#[test]
fn bad_escapes() {
    let known = r#"expected \" \\ \/ \b \f \n \r \t or \u and four hexadecimal digits, surrogates in pairs"#;
    for (text, escape, column) in [
        (r#""a\qb""#, r"\q", 17),
        (r#""\x41""#, r"\x", 16),
        (r#""a\u12g4""#, r"\u12g4", 17),
        (r#""a\u12""#, r"\u12", 17),
        (r#""a\ud800""#, r"\ud800", 17),
        (r#""a\ud800b more text""#, r"\ud800", 17),
        (r#""a\ud800\n more text""#, r"\ud800", 17),
        (r#""a\ud800\u0041 more""#, r"\u0041", 23),
        (r#""a\udc00""#, r"\udc00", 17),
    ] {
        refused(
            "\"generate\"",
            text,
            &format!(
                r#"model "{}", key "name" (line 5, column {column}): found the escape {escape}, {known}"#,
                text.trim_matches('"')
            ),
        );
    }
}

#[test]
fn text_that_ends_early() {
    refused_text("", "deployment (line 1, column 1): found the end of the text, expected an object");
    refused_text(" \n\n ", "deployment (line 3, column 2): found the end of the text, expected an object");
    refused_text("{", "deployment (line 1, column 2): found the end of the text, expected a key in quotes or `}`");
    refused_text(r#"{"a\"#, "deployment (line 1, column 5): found the end of the text, expected the rest of a string");
    refused_text(r#"{"a\u12"#, "deployment (line 1, column 6): found 12, expected the rest of a string");
    refused_text(r#"{"arch""#, "deployment (line 1, column 8): found the end of the text, expected `:` after the key");
    refused_text(r#"{"arch": "#, r#"key "arch" (line 1, column 10): found the end of the text, expected a string"#);
    refused_text(
        r#"{"arch": "cay"#,
        r#"key "arch" (line 1, column 10): the text ends inside this string, expected a closing quote"#,
    );
    refused_text(
        &BASE[..BASE.find("\"seed\"").unwrap() + 4],
        r#"model "generate", key "weights" (line 7, column 20): the text ends inside this string, expected a closing quote"#,
    );
    refused_text(
        &BASE[..BASE.find("64").unwrap()],
        r#"model "generate", key "inputs[0].bytes" (line 8, column 42): found the end of the text, expected a whole number from 0 on"#,
    );
    refused_text(
        BASE.trim_end().strip_suffix('}').unwrap(),
        "deployment (line 12, column 1): found the end of the text, expected `,` or `}`",
    );
}

#[test]
fn trailing_text() {
    let end = "expected the end of the text";
    refused_text(format!("{BASE}x"), &format!("deployment (line 13, column 1): found x, {end}"));
    refused_text(format!("{BASE}{BASE}"), &format!("deployment (line 13, column 1): found an object, {end}"));
    refused_text(format!("{BASE},"), &format!("deployment (line 13, column 1): found `,`, {end}"));
    refused_text(format!("{BASE}\0"), &format!("deployment (line 13, column 1): found `\\x00`, {end}"));
}

#[test]
fn punctuation() {
    refused(r#""vnc": 0,"#, r#""vnc": 0"#, r#"model "generate" (line 7, column 7): found "weights", expected `,` or `}`"#);
    refused(r#""vnc": 0,"#, r#""vnc" 0,"#, r#"model "generate" (line 6, column 13): found 0, expected `:` after the key"#);
    refused(r#""vnc": 0,"#, r#""vnc" = 0,"#, r#"model "generate" (line 6, column 13): found `=`, expected `:` after the key"#);
    refused(r#""vnc": 0,"#, "vnc: 0,", r#"model "generate" (line 6, column 7): found vnc, expected a key in quotes"#);
    refused(
        r#"64 }]
    }"#,
        r#"64 }],
    }"#,
        r#"model "generate" (line 10, column 5): found `}`, expected a key in quotes"#,
    );
    refused(
        r#""x", "bytes": 64 }"#,
        r#""x", "bytes": 64 },"#,
        r#"model "generate", key "inputs[1]" (line 8, column 47): found `]`, expected an object"#,
    );
    refused(
        r#""x", "bytes": 64 }"#,
        r#""x", "bytes": 64 } {}"#,
        r#"model "generate", key "inputs" (line 8, column 47): found an object, expected `,` or `]`"#,
    );
    refused_text("[]", "deployment (line 1, column 1): found an array, expected an object");
    refused_text("'x'", "deployment (line 1, column 1): found `'`, expected an object");
    refused_text("é", "deployment (line 1, column 1): found `é`, expected an object");
    refused_text("// text", "deployment (line 1, column 1): found `/`, expected an object");
}

#[test]
fn numbers_that_are_not_whole() {
    let vnc = |text: &str, found: &str, expected: &str| {
        refused(
            r#""vnc": 0"#,
            &format!(r#""vnc": {text}"#),
            &format!(r#"model "generate", key "vnc" (line 6, column 14): found {found}, expected {expected}"#),
        );
    };
    let whole = "a whole number from 0 on";
    for text in ["-1", "-0", "1.5", "1.0", "1e3", "1E+3", "0.0", "-1.5e-3", "true", "null"] {
        vnc(text, text, whole);
    }
    vnc(r#""1""#, r#""1""#, whole);
    vnc("{}", "an object", whole);
    vnc("[1]", "an array", whole);
    vnc("+1", "+1", whole);
    vnc(".5", ".5", whole);
    vnc("NaN", "NaN", whole);
    vnc("01", "01", "a number without leading zeros");
    vnc("1.", "1.", "digits");
    vnc("-", "-", "digits");
    vnc("1e", "1e", "digits");
    vnc("1.e5", "1.e5", "digits");
    // The digits end where the text that is not of the number begins.
    refused(r#""vnc": 0"#, r#""vnc": 0x1"#, r#"model "generate" (line 6, column 15): found x1, expected `,` or `}`"#);
}

#[test]
fn other_kinds_of_value() {
    refused(r#""cayman""#, "null", r#"key "arch" (line 2, column 11): found null, expected a string"#);
    refused(
        r#"{ "seed": 1, "bytes": 4096 }"#,
        "\"w.bin\"",
        r#"model "generate", key "weights" (line 7, column 18): found "w.bin", expected an object"#,
    );
    refused(
        r#"[{ "name": "x", "bytes": 64 }]"#,
        r#"{ "name": "x", "bytes": 64 }"#,
        r#"model "generate", key "inputs" (line 8, column 17): found an object, expected an array"#,
    );
    refused(
        r#"{ "name": "x", "bytes": 64 }"#,
        "[[]]",
        r#"model "generate", key "inputs[0]" (line 8, column 18): found an array, expected an object"#,
    );
    refused_text(r#"{"models": 1}"#, r#"key "models" (line 1, column 12): found 1, expected an array"#);
    refused_text(r#"{"models": [1]}"#, "models[0] (line 1, column 13): found 1, expected an object");
}

#[test]
fn encodings() {
    refused_text(
        format!("\u{feff}{BASE}"),
        "deployment (line 1, column 1): found a byte order mark, expected an object in UTF-8 without one",
    );
    let mut text = BASE.as_bytes().to_vec();
    let at = BASE.find("generate").unwrap();
    text[at] = 0xff;
    refused_text(text, r"deployment (line 5, column 16): found the byte \xff, expected UTF-8");
    let wide: Vec<u8> = BASE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    refused_text(wide, "deployment (line 1, column 2): found `\\x00`, expected a key in quotes");
    refused(
        "generate",
        "gen\u{1}erate",
        "model \"gen\\x01erate\", key \"name\" (line 5, column 19): found `\\x01`, expected an escape such as \\n for a control character in a string",
    );
    // Columns count characters, not bytes.
    refused(
        r#""name": "generate","#,
        r#""name": "généré", "vncc": 0,"#,
        r#"model "généré", key "vncc" (line 5, column 25): unknown key, expected name, vnc, weights, inputs, outputs, subgraphs, weight_chunk_bytes, code_bytes, spill_bytes, scratchpad_bytes, ulibs or regions"#,
    );
    let long = " ".repeat(1 << 20) + BASE;
    let message = parse(long).unwrap_err();
    assert!(message.contains("(line 1, column 1048577)") && message.ends_with("expected at most 1048576 bytes"), "{message}");
}

#[test]
fn the_model_is_named_wherever_its_name_stands() {
    let model = |text: &str| format!(r#"{{"arch":"cayman","models":[{text}]}}"#);
    let message = |text: &str| parse(model(text)).unwrap_err();
    assert!(message(r#"{"vnc":-1,"name":"late"}"#).starts_with(r#"model "late", key "vnc""#));
    assert!(message(r#"{"weights":{"name":"inner"},"name":"outer"}"#).starts_with(r#"model "outer", key "weights.name""#));
    assert!(message(r#"{"vnc":-1,"inputs":[{"name":"x"}]}"#).starts_with(r#"models[0], key "vnc""#));
    assert!(message(r#"{"vnc":-1,"name":7}"#).starts_with(r#"models[0], key "vnc""#));
    assert!(message(r#"{"vnc":-1,"name""#).starts_with(r#"models[0], key "vnc""#));
    assert!(message(r#"{"vnc":-1,"x":"name","name" : "a\"b"}"#).starts_with(r#"model "a\"b", key "vnc""#));
}

#[test]
fn deep_nesting_is_not_followed() {
    let deep = "[".repeat(100_000);
    refused_text(&deep, "deployment (line 1, column 1): found an array, expected an object");
    refused(
        r#""vnc": 0"#,
        &format!(r#""vnc": {deep}"#),
        r#"model "generate", key "vnc" (line 6, column 14): found an array, expected a whole number from 0 on"#,
    );
}

#[test]
fn long_words_are_cut() {
    let message = parse(with("\"cayman\"", &format!("\"{}\"", "é".repeat(5000)))).unwrap_err();
    assert!(message.len() < 300, "{message}");
    let message = parse(with("\"vnc\"", &format!("\"{}\"", "k".repeat(5000)))).unwrap_err();
    assert!(message.len() < 500, "{message}");
    let message = parse(with("\"vnc\": 0", &format!("\"vnc\": {}", "9".repeat(5000)))).unwrap_err();
    assert!(message.len() < 300, "{message}");
}
