//! `diff`: every kind of change, each alone.

use std::path::{Path, PathBuf};

use crate::common::{code, layout, text, write};
use serde_json::Value;

const OLD: &str = "
    #include <stdint.h>
    enum mode { OFF, ON = 4 };
    struct inner { int a; int b; };
    struct s { uint32_t id; char name[8]; uint64_t reserved; struct inner in; enum mode mode; void *tail; };
    struct s object;
    int main(void) { return 0; }
";

fn build(directory: &Path, name: &str, source: &str) -> PathBuf {
    let folder = directory.join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    crate::common::compile(&folder, source, &["-g"])
}

fn changes(old: &str, new: &str, more: &[&str]) -> (i32, Vec<(String, String, String)>) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (old, new) = (build(directory.path(), "old", old), build(directory.path(), "new", new));
    let files = [old.to_str().expect("UTF-8"), new.to_str().expect("UTF-8")];
    let output = layout(&[&["diff", "--json"], files.as_slice(), more].concat());
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(&output.stderr)));
    let word = |change: &Value, key: &str| change[key].as_str().expect("text").to_owned();
    let list = value["changes"].as_array().expect("an array");
    let list =
        list.iter().map(|one| (format!("{}.{}", word(one, "type"), word(one, "field")), word(one, "kind"), word(one, "class")));
    (code(&output), list.collect())
}

fn alone(from: &str, to: &str, field: &str, kind: &str, class: &str) {
    let new = OLD.replace(from, to);
    assert_ne!(new, OLD);
    let (status, found) = changes(OLD, &new, &[]);
    let wanted = (field.to_owned(), kind.to_owned(), class.to_owned());
    assert!(status == 1 && found.contains(&wanted), "{from} -> {to}: {found:?}");
    if class == "compatible" {
        assert!(found.iter().all(|(_, _, class)| class == "compatible"), "{from} -> {to}: {found:?}");
        assert_eq!(changes(OLD, &new, &["--fail-on", "incompatible"]).0, 0);
    }
}

#[test]
fn nothing_changed() {
    assert_eq!(changes(OLD, OLD, &[]), (0, Vec::new()));
}

#[test]
fn incompatible_changes() {
    alone("uint32_t id; char name[8];", "char name[8]; uint32_t id;", "s.id", "moved", "incompatible");
    alone("uint32_t id", "uint64_t id", "s.id", "resized", "incompatible");
    alone("void *tail", "uint64_t tail", "s.tail", "retyped", "incompatible");
    alone("char name[8]", "char name[12]", "s.name", "bound", "incompatible");
    alone("ON = 4", "ON = 5", "mode.ON", "value", "incompatible");
    alone("uint32_t id;", "", "s.id", "missing", "incompatible");
    alone("uint64_t reserved;", "uint64_t reserved, more;", "s.more", "extra", "incompatible");
    alone("int a; int b;", "int b; int a;", "inner.a", "moved", "incompatible");
}

#[test]
fn compatible_changes() {
    alone("void *tail;", "void *tail; int late;", "s.late", "appended", "compatible");
    alone("uint64_t reserved", "_Alignas(8) uint32_t flags; uint32_t spare", "s.flags", "padding_used", "compatible");
    alone("uint64_t reserved", "uint64_t flags", "s.reserved", "renamed", "compatible");
    alone("ON = 4", "ON = 4, AUTO", "mode.AUTO", "appended", "compatible");
    alone("struct s object", "struct added { int x; } added; struct s object", "added.", "added", "compatible");
}

#[test]
fn named_types_bring_what_they_hold() {
    let new = OLD.replace("int a; int b;", "int b; int a;");
    let (status, found) = changes(OLD, &new, &["s"]);
    assert!(status == 1 && found.iter().all(|(field, _, _)| field.starts_with("inner.")), "{found:?}");
    assert_eq!(changes(OLD, &new, &["mode"]).0, 0);
}

#[test]
fn a_name_that_neither_file_has_is_no_agreement() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let old = build(directory.path(), "old", OLD);
    let old = old.to_str().expect("UTF-8");
    let output = layout(&["diff", old, old, "s", "sss"]);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("sss: is a type of neither file"), "{}", text(&output.stderr));
    let table = write(directory.path(), "t.csv", include_bytes!("../tables/layout.csv"));
    assert_eq!(code(&layout(&["diff", table.to_str().expect("UTF-8"), old, "sss"])), 2);
    assert!(text(&layout(&["diff", old, old, "inner"]).stdout).starts_with("1 type compared: no change"));
}

#[test]
fn suppressed_changes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let rules = write(directory.path(), "rules", b"s.id resized # known\ns.* moved\ns resized\n");
    let rules = rules.to_str().expect("UTF-8");
    let new = OLD.replace("uint32_t id", "uint64_t id");
    let (status, found) = changes(OLD, &new, &["--suppress", rules]);
    assert_eq!((status, found), (0, Vec::new()));
    let broken = write(directory.path(), "broken", b"s.id unheard_of\n");
    let old = build(directory.path(), "old", OLD);
    let old = old.to_str().expect("UTF-8");
    assert_eq!(code(&layout(&["diff", old, old, "--suppress", broken.to_str().expect("UTF-8")])), 3);
}

#[test]
fn a_table_on_one_side() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let table = write(directory.path(), "t.csv", include_bytes!("../tables/layout.csv"));
    let table = table.to_str().expect("UTF-8");
    let source = "#include <stdint.h>
        typedef struct { void *pcore; uint64_t offset; uint64_t size; } tdrv_scratchpad_info_t;
        tdrv_scratchpad_info_t info; int main(void) { return 0; }";
    let file = build(directory.path(), "file", source);
    let file = file.to_str().expect("UTF-8");
    for (arguments, words) in [([table, file], "offset 8 -> offset 16"), ([file, table], "offset 16 -> offset 8")] {
        let output = layout(&["diff", arguments[0], arguments[1]]);
        assert_eq!(code(&output), 1, "{}", text(&output.stderr));
        let out = text(&output.stdout);
        assert!(out.contains(&format!("tdrv_scratchpad_info_t.size: {words}")) && out.contains("2 moved"), "{out}");
    }
    let other = source.replace("uint64_t size", "uint64_t length");
    let out = text(&layout(&["diff", table, build(directory.path(), "other", &other).to_str().expect("UTF-8")]).stdout);
    assert!(out.contains("tdrv_scratchpad_info_t.size: was offset 8") && out.contains("length: now offset 16"), "{out}");
    assert_eq!(code(&layout(&["diff", table, table])), 2);
}
