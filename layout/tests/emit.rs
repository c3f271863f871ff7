//! `emit`: what is written compiles, asserts what it says, and comes back as it went out.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::{code, layout, text, write};
use serde_json::Value;

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn emit(arguments: &[&str]) -> String {
    let output = layout(&[&["emit"], arguments].concat());
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Compiles `source`, which includes or names the emitted file, in `directory`.
fn compiles(directory: &Path, compiler: &[&str], name: &str, source: &str) -> Output {
    write(directory, name, source.as_bytes());
    let (program, flags) = compiler.split_first().expect("a compiler");
    let built = Command::new(program).args(flags).args([name, "-o", "out"]).current_dir(directory).output();
    built.unwrap_or_else(|error| panic!("{program}: {error}"))
}

const MAIN: &str = "#include \"layout.h\"\nint main(void) { return 0; }\n";
const C11: [&str; 5] = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror"];
const CPP17: [&str; 5] = ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror"];
const SIZE: &str = "fn main() { assert!(size_of::<layout::dmem_t>() == 192); }";

/// A program with the emitted module, used as its first lines say.
fn program(module: &str, main: &str) -> String {
    let usage = module.lines().find_map(|line| line.strip_prefix("// Use as a module: `")?.strip_suffix('`'));
    format!("{}\n{main}\n", usage.expect("it says how it is used"))
}

#[test]
fn everything_compiles_as_c11_and_cpp17() {
    let directory = directory();
    let header = emit(&["c"]);
    let assertions = header.matches("\nNRT_LAYOUT_ASSERT(").count();
    assert!(assertions > 2 * 931, "every offset and size is asserted: {assertions}");
    write(directory.path(), "layout.h", header.as_bytes());
    for (compiler, name) in [(C11, "main.c"), (CPP17, "main.cc")] {
        let built = compiles(directory.path(), &compiler, name, MAIN);
        assert!(built.status.success(), "{compiler:?}: {}", text(&built.stderr));
    }
    println!("{assertions} assertions hold in C11 and in C++17");
}

#[test]
fn everything_compiles_as_rust() {
    let directory = directory();
    let module = emit(&["rust"]);
    let assertions = module.matches("    assert!(").count();
    assert!(assertions > 2 * 931, "every offset and size is asserted: {assertions}");
    write(directory.path(), "layout.rs", module.as_bytes());
    let built = compiles(directory.path(), &["rustc", "--edition=2024", "-Dwarnings"], "main.rs", &program(&module, SIZE));
    assert!(built.status.success(), "{}", text(&built.stderr));
    println!("{assertions} assertions hold in Rust");
}

/// The assertions are no ornament: with one offset of the table moved within its padding, what is emitted still compiles,
/// and with one assertion changed it does not.
#[test]
fn a_wrong_assertion_does_not_compile() {
    let directory = directory();
    let header = emit(&["c", "dmem_t"]);
    let wrong = header.replace("offsetof(struct dmem_t, hint) == 136", "offsetof(struct dmem_t, hint) == 137");
    assert_ne!(header, wrong);
    write(directory.path(), "layout.h", wrong.as_bytes());
    for (compiler, name) in [(C11, "main.c"), (CPP17, "main.cc")] {
        let built = compiles(directory.path(), &compiler, name, MAIN);
        assert!(!built.status.success() && text(&built.stderr).contains("hint"), "{compiler:?}");
    }
    let module = emit(&["rust", "dmem_t"]);
    let wrong = module.replace("offset_of!(dmem_t, hint) == 136", "offset_of!(dmem_t, hint) == 137");
    assert_ne!(module, wrong);
    write(directory.path(), "layout.rs", wrong.as_bytes());
    let built = compiles(directory.path(), &["rustc", "--edition=2024"], "main.rs", &program(&module, SIZE));
    assert!(!built.status.success() && text(&built.stderr).contains("hint"), "{}", text(&built.stderr));
}

/// The table that is emitted is the table that was read, byte for byte.
#[test]
fn the_table_comes_back() {
    let emitted = emit(&["csv"]);
    let documented = include_str!("../tables/layout.csv");
    for (index, (mine, theirs)) in emitted.lines().zip(documented.lines()).enumerate() {
        assert_eq!(mine, theirs, "line {}", index + 1);
    }
    assert_eq!(emitted.lines().count(), documented.lines().count());
    let directory = directory();
    let table = write(directory.path(), "t.csv", emitted.as_bytes());
    let checked = layout(&["check", "--table", table.to_str().expect("UTF-8")]);
    assert_eq!(code(&checked), 0, "{}", text(&checked.stdout));
}

#[test]
fn one_type_brings_what_it_embeds_and_no_more() {
    let header = emit(&["c", "dmem_allocator_t"]);
    assert!(header.contains("struct dmem_t {") && header.contains("enum dmem_allocator_type_t {"), "{header}");
    assert!(!header.contains("struct mla_t {"), "{header}");
    let value: Value = serde_json::from_str(&emit(&["json", "dmem_allocator_t"])).expect("JSON");
    assert_eq!(value["schema"], "nrt-layout/emit/1");
    let types: Vec<_> = value["types"].as_array().expect("an array").iter().map(|one| one["name"].as_str()).collect();
    assert_eq!(types, [Some("dmem_t"), Some("dmem_allocator_t")]);
    let lock = &value["types"][1]["members"][2];
    assert_eq!((&lock["name"], &lock["offset"], &lock["type"]), (&"lock".into(), &16.into(), &"pthread_mutex_t".into()));
}

/// A table made of a binary holds for it, and is noticed when it does not.
#[test]
fn a_table_of_our_own_artifact_holds_for_it() {
    let directory = directory();
    let own = env!("CARGO_BIN_EXE_nrt-layout");
    let emitted = emit(&["csv", "--elf", own]);
    let table = write(directory.path(), "own.csv", emitted.as_bytes());
    let path = table.to_str().expect("UTF-8");
    let checked = layout(&["check", own, "--table", path]);
    assert_eq!(code(&checked), 0, "{}", text(&checked.stdout));
    let rows = emitted.lines().filter(|line| line.starts_with("dmem_t,192,64,hint,136,8,ptr,1,i8")).count();
    assert_eq!(rows, 1, "{emitted}");
    let shifted = emitted.replace("dmem_t,192,64,hint,136,", "dmem_t,192,64,hint,144,");
    let table = write(directory.path(), "shifted.csv", shifted.as_bytes());
    assert_eq!(code(&layout(&["check", own, "--table", table.to_str().expect("UTF-8")])), 1);
}

#[test]
fn definitions_of_a_file_compile() {
    let directory = directory();
    let own = env!("CARGO_BIN_EXE_nrt-layout");
    write(directory.path(), "layout.h", emit(&["c", "--elf", own]).as_bytes());
    for (compiler, name) in [(C11, "main.c"), (CPP17, "main.cc")] {
        let built = compiles(directory.path(), &compiler, name, MAIN);
        assert!(built.status.success(), "{compiler:?}: {}", text(&built.stderr));
    }
    let module = emit(&["rust", "--elf", own]);
    write(directory.path(), "layout.rs", module.as_bytes());
    let built = compiles(directory.path(), &["rustc", "--edition=2024"], "main.rs", &program(&module, SIZE));
    assert!(built.status.success(), "{}", text(&built.stderr));
    // And what a C compiler made: a typedef without a tag, an anonymous union, bit-fields, a packed struct, a flexible array.
    let source = "
        #include <stdint.h>
        typedef struct { uint8_t kind; union { uint64_t number; struct { uint32_t low, high; } half; }; } value_t;
        struct flags { unsigned ready : 1, level : 3; uint16_t rest; float scale; void (*call)(int); };
        struct __attribute__((packed)) tight { uint8_t first; uint64_t second; value_t *links[2][3]; };
        struct tail { struct flags flags; value_t values[2]; struct tight tight; char text[]; } *tail;
        value_t value; struct tail *use(void) { return tail; }
        int main(void) { return 0; }
    ";
    let program = crate::common::compile(directory.path(), source, &["-g", "-fno-eliminate-unused-debug-types"]);
    let program = program.to_str().expect("UTF-8");
    write(directory.path(), "layout.h", emit(&["c", "--elf", program, "tail", "value_t"]).as_bytes());
    for (compiler, name) in [(C11, "main.c"), (CPP17, "main.cc")] {
        let built = compiles(directory.path(), &compiler, name, MAIN);
        assert!(built.status.success(), "{compiler:?}: {}", text(&built.stderr));
    }
    let module = emit(&["rust", "--elf", program, "tail", "value_t"]);
    write(directory.path(), "layout.rs", module.as_bytes());
    let built = compiles(directory.path(), &["rustc", "--edition=2024"], "main.rs", &self::program(&module, "fn main() {}"));
    assert!(built.status.success(), "{}", text(&built.stderr));
    let table = emit(&["csv", "--elf", program, "tail", "value_t"]);
    assert!(table.contains("value_t,16,8,anon_8.number,8,8,union:u64,1,"), "{table}");
    assert_eq!(
        code(&layout(&[
            "check",
            program,
            "--table",
            write(directory.path(), "t.csv", table.as_bytes()).to_str().expect("UTF-8")
        ])),
        0
    );
}

/// The versions in the schemas are those in the outputs, and every key of the outputs is in its schema.
#[test]
fn outputs_follow_their_schemas() {
    let schemas = [include_str!("../schema/emit.schema.json"), include_str!("../schema/explain.schema.json")];
    let outputs = [emit(&["json", "mem_ref_t"]), text(&layout(&["explain", "dmem_t", "dmem_t.ref_count", "--json"]).stdout)];
    for (schema, output) in schemas.iter().zip(&outputs) {
        let schema: Value = serde_json::from_str(schema).expect("JSON");
        let output: Value = serde_json::from_str(output).expect("JSON");
        assert_eq!(schema["$id"], output["schema"]);
        follows(&schema, &schema, &output);
    }
}

/// Checks the words of JSON Schema that ours use.
fn follows(root: &Value, schema: &Value, value: &Value) {
    let schema = match schema["$ref"].as_str() {
        Some(target) => &root["$defs"][target.trim_start_matches("#/$defs/")],
        None => schema,
    };
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "boolean" => value.is_boolean(),
        _ => value.is_null(),
    };
    let known = match &schema["type"] {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).any(is),
        _ => true,
    };
    assert!(known, "{value} is no {}", schema["type"]);
    if let Some(options) = schema["enum"].as_array() {
        assert!(options.contains(value), "{value}");
    }
    assert!(schema["const"].is_null() || schema["const"] == *value, "{value}");
    for item in value.as_array().into_iter().flatten() {
        follows(root, &schema["items"], item);
    }
    let Some(object) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(object.contains_key(name), "{name} is missing in {value}");
    }
    for (name, part) in object {
        let described = &schema["properties"][name];
        assert!(!described.is_null(), "{name} is not in the schema");
        follows(root, described, part);
    }
}

#[test]
fn faults_have_their_codes() {
    assert_eq!(code(&layout(&["emit", "c", "no_such_struct"])), 2);
    assert_eq!(code(&layout(&["emit", "pascal", "dmem_t"])), 2);
    assert_eq!(code(&layout(&["emit"])), 2);
    assert_eq!(code(&layout(&["emit", "csv", "--elf", "Cargo.toml"])), 3);
    assert_eq!(code(&layout(&["emit", "csv", "dmem_t", "-o", "no/such/folder/t.csv"])), 3);
}
