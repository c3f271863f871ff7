//! The program as people use it: exit codes, output, hostile files.

use crate::common::{code, compile, layout, text, write};
use serde_json::Value;

/// `dmem_list_t` and `tdrv_scratchpad_info_t` as documented.
const GOOD: &str = "
    #include <stdint.h>
    struct dmem_ref_node_t;
    struct dmem_list_t { struct dmem_ref_node_t *head, *tail; };
    typedef struct { void *pcore; uint64_t size; uint64_t offset; } tdrv_scratchpad_info_t;
    struct dmem_list_t list;
    tdrv_scratchpad_info_t info;
    int main(void) { return 0; }
";

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn json(arguments: &[&str]) -> (i32, Value) {
    let output = layout(arguments);
    let value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    (code(&output), value)
}

#[test]
fn the_implementation_agrees() {
    let output = layout(&["check"]);
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
    let out = text(&output.stdout);
    for route in ["reflection", "dwarf", "gcc", "witness"] {
        assert!(out.lines().any(|line| line.starts_with(route) && line.ends_with("ok")), "{out}");
    }
    assert!(out.contains("documented, not yet implemented: 0 structs"), "{out}");
    assert!(!out.contains('\x1b'), "no colour where there is no terminal");
}

#[test]
fn json_has_the_documented_shape() {
    let (status, value) = json(&["check", "--json"]);
    assert_eq!(status, 0);
    assert_eq!(value["mismatches"], Value::Array(Vec::new()));
    assert!(value["structs"].as_u64() >= Some(215) && value["fields"].as_u64() >= Some(931), "{value}");
    assert_eq!(value.as_object().map(serde_json::Map::len), Some(4));
}

#[test]
fn a_shifted_table_differs() {
    let directory = directory();
    let good = include_str!("../tables/layout.csv");
    let table = write(directory.path(), "t.csv", good.replace("dmem_t,192,64,hint,136,", "dmem_t,192,64,hint,137,").as_bytes());
    let path = table.to_str().expect("UTF-8");
    let (status, value) = json(&["check", "--json", "--table", path]);
    assert_eq!(status, 1);
    let mismatches = value["mismatches"].as_array().expect("an array");
    let routes: Vec<_> = mismatches.iter().map(|mismatch| mismatch["route"].as_str().expect("text")).collect();
    assert_eq!(routes, ["reflection", "dwarf", "gcc"]);
    for mismatch in mismatches {
        assert_eq!(
            (&mismatch["struct"], &mismatch["field"], &mismatch["kind"]),
            (&"dmem_t".into(), &"hint".into(), &"offset".into())
        );
        assert_eq!((&mismatch["expected"], &mismatch["found"]), (&137.into(), &136.into()));
    }
    let output = layout(&["check", "--table", path]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stdout).contains("gcc: dmem_t.hint: offset: documented 137, found 136"));

    let without: String = good.lines().filter(|line| !line.starts_with("ht_t,")).map(|line| format!("{line}\n")).collect();
    let table = write(directory.path(), "u.csv", without.as_bytes());
    let (status, value) = json(&["check", "--json", "--table", table.to_str().expect("UTF-8")]);
    assert_eq!((status, &value["mismatches"][0]["kind"]), (1, &"extra_struct".into()));
}

#[test]
fn a_c_file_that_agrees() {
    let directory = directory();
    for flags in [
        &["-g"][..],
        &["-g", "-gz"],
        &["-gdwarf-4"],
        &["-g", "-c"],
        &["-g", "-shared", "-fPIC"],
        &["-g", "-fdebug-types-section"],
    ] {
        let file = compile(directory.path(), GOOD, flags);
        let (status, value) = json(&["check", "--json", file.to_str().expect("UTF-8")]);
        assert_eq!((status, &value["structs"], &value["fields"]), (0, &2.into(), &5.into()), "{flags:?}: {value}");
    }
}

#[test]
fn a_c_file_that_differs() {
    let differs = |change: (&str, &str), kind: &str, field: &str| {
        let directory = directory();
        let source = GOOD.replace(change.0, change.1);
        assert_ne!(source, GOOD);
        let file = compile(directory.path(), &source, &["-g"]);
        let (status, value) = json(&["check", "--json", file.to_str().expect("UTF-8")]);
        let hit = |mismatch: &Value| mismatch["kind"] == kind && mismatch["field"] == field && mismatch["route"] == "dwarf";
        let found = value["mismatches"].as_array().expect("an array");
        assert!(status == 1 && found.iter().any(hit), "{kind} {field}: {value}");
    };
    differs(("uint64_t size; uint64_t offset", "uint64_t offset; uint64_t size"), "offset", "size");
    differs(("uint64_t offset", "uint32_t offset"), "size", "offset");
    differs(("uint64_t offset", "uint64_t offset[2]"), "struct_size", "");
    differs(("uint64_t offset", "uint64_t offset[2]"), "count", "offset");
    differs(("uint64_t offset", "uint64_t start"), "missing_field", "offset");
    differs(("uint64_t offset", "uint64_t start"), "extra_field", "start");
}

#[test]
fn anonymous_unions_enumerations_and_byte_tables_in_c() {
    let directory = directory();
    let source = "
        #include <stdint.h>
        #include <stddef.h>
        enum dmem_action { UNUSED, DMEM_ACTION_ALLOC, DMEM_ACTION_FREE = 3 } action;
        enum ht_key_type_t { INTEGER = 7 };
        struct ht_node_t {
            uint64_t key;
            union { char *name; void *buf; uint64_t value; };
            size_t buf_size; uint64_t bucket; enum ht_key_type_t key_type; struct ht_node_t *next;
        } node;
        typedef struct { uint64_t size, size_mask; volatile uint64_t count; void (*free_node_fn)(struct ht_node_t *); struct ht_node_t nodes[]; } ht_t;
        ht_t *table;
        const uint8_t dmem_usage_type_to_host_category[23] = {4, 1, 1, 4, 1, 4, 3, 6, 4, 1, 1, 20, 2, 1, 4, 20, 20, 4, 20, 17, 17, 17};
        int main(void) { return 0; }
    ";
    let file = compile(directory.path(), source, &["-g"]);
    let (status, value) = json(&["check", "--json", file.to_str().expect("UTF-8")]);
    let found: Vec<_> =
        value["mismatches"].as_array().expect("an array").iter().map(|found| (&found["struct"], &found["field"])).collect();
    let expected = [(&"dmem_action".into(), &"DMEM_ACTION_FREE".into()), (&"host".into(), &"[18] DMA_RING".into())];
    assert_eq!((status, found.as_slice()), (1, expected.as_slice()), "{value}");
}

#[test]
fn usage_faults_exit_with_2() {
    for arguments in [&[][..], &["chekc"], &["check", "--jsn"], &["check", "a", "b"], &["check", "--table"]] {
        let output = layout(arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    for arguments in [&["--help"][..], &["check", "--help"], &["--version"]] {
        assert_eq!(code(&layout(arguments)), 0, "{arguments:?}");
    }
    assert!(text(&layout(&["--help"]).stdout).contains("Exit codes:"));
}

#[test]
fn unreadable_things_exit_with_3() {
    let directory = directory();
    let path = |file: std::path::PathBuf| file.to_str().expect("UTF-8").to_owned();
    let stripped = compile(directory.path(), GOOD, &["-s"]);
    let cases = [
        (path(stripped), "no debug information"),
        (path(write(directory.path(), "empty", b"")), "ELF magic"),
        (path(write(directory.path(), "random", &noise(1, 4096))), "ELF magic"),
        (path(write(directory.path(), "start", b"\x7fELF")), "undamaged"),
        (
            path(write(directory.path(), "narrow", &[b"\x7fELF\x01\x01\x01".as_slice(), &[0; 200]].concat())),
            "no debug information",
        ),
        (path(directory.path().to_path_buf()), "no regular file"),
        (path(directory.path().join("absent")), "No such file"),
        ("/dev/zero".into(), "no regular file"),
    ];
    for (file, words) in &cases {
        let output = layout(&["check", file]);
        assert_eq!(code(&output), 3, "{file}");
        let error = text(&output.stderr);
        assert!(error.contains(file) && error.contains(words) && error.contains("expected"), "{error}");
    }
    let unrelated = compile(directory.path(), "int main(void) { return 0; }", &["-g"]);
    assert_eq!(code(&layout(&["check", unrelated.to_str().expect("UTF-8")])), 3);
    let table = write(directory.path(), "broken.csv", b"struct,field\n");
    assert_eq!(code(&layout(&["check", "--table", table.to_str().expect("UTF-8")])), 3);
    let binary = write(directory.path(), "binary.csv", &noise(2, 100));
    assert_eq!(code(&layout(&["check", "--table", binary.to_str().expect("UTF-8")])), 3);
}

#[test]
fn a_missing_or_failing_compiler_exits_with_3() {
    for compiler in ["/nonexistent/compiler", "false"] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_nrt-layout"))
            .arg("check")
            .env("CC", compiler)
            .output()
            .expect("the program starts");
        assert_eq!(code(&output), 3, "{compiler}");
        assert!(text(&output.stderr).contains("route gcc"), "{}", text(&output.stderr));
    }
}

#[test]
fn damaged_elf_files_never_crash_it() {
    let directory = directory();
    let good = std::fs::read(compile(directory.path(), GOOD, &["-g"])).expect("readable");
    let mut seen = [0_usize; 4];
    let mut check = |bytes: &[u8]| {
        let file = write(directory.path(), "damaged", bytes);
        let output = layout(&["check", file.to_str().expect("UTF-8")]);
        let status = code(&output);
        assert!(matches!(status, 0 | 1 | 3), "exit {status}: {}", text(&output.stderr));
        seen[usize::try_from(status).expect("small")] += 1;
    };
    for part in 0..40 {
        check(&good[..good.len() * part / 40]);
    }
    for round in 0..160 {
        let mut bytes = good.clone();
        for (step, value) in noise(round + 10, 24).chunks_exact(3).enumerate() {
            // Half of the rounds spoil the headers, half the debug information, which is at the end.
            let span = if round % 2 == 0 { 64..1024 } else { bytes.len() / 2..bytes.len() };
            let at = span.start + (usize::from(value[0]) * 251 + usize::from(value[1]) + step * 7919) % span.len();
            bytes[at] = value[2];
        }
        check(&bytes);
    }
    assert!(seen[3] >= 40, "truncated files are refused: {seen:?}");
}

#[test]
fn the_header_compiles() {
    let directory = directory();
    let output = layout(&["header"]);
    assert_eq!(code(&output), 0);
    write(directory.path(), "layout.h", &output.stdout);
    let include = format!("-I{}", directory.path().display());
    compile(
        directory.path(),
        "#include \"layout.h\"\nint main(void) { return sizeof(struct dmem_t) != 192; }",
        &["-std=gnu11", "-Wall", "-Werror", &include],
    );
}

/// Reproducible bytes without meaning.
fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..count).map(|_| step()).collect()
}

#[test]
fn the_build_is_named_and_whether_it_is_the_documented_one() {
    let directory = directory();
    for (id, documented) in [("8bb57aba0fb2e003", true), ("0123456789abcdef", false)] {
        let file = compile(directory.path(), GOOD, &["-g", &format!("-Wl,--build-id=0x{id}")]);
        let path = file.to_str().expect("UTF-8");
        let (status, value) = json(&["check", "--json", path]);
        assert_eq!((status, &value["build_id"], &value["documented_build"]), (0, &id.into(), &documented.into()), "{value}");
        let out = text(&layout(&["check", path]).stdout);
        assert_eq!((out.contains(id), out.contains("not the documented build")), (true, !documented), "{out}");
    }
    // Of the documented structs, those that were never looked for are told apart from those that are not there.
    let file = compile(directory.path(), GOOD, &["-g"]);
    let out = text(&layout(&["check", file.to_str().expect("UTF-8")]).stdout);
    assert!(out.contains("documented, not in this file: 187 structs; not looked for: 26, "), "{out}");
    let own = text(&layout(&["check", env!("CARGO_BIN_EXE_nrt-layout")]).stdout);
    assert!(own.contains("documented, not in this file: 0 structs; not looked for: 26, "), "{own}");
}
