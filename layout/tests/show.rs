//! `show` as people and scripts use it.

use std::path::PathBuf;

use crate::common::{code, compile, layout, text, write};
use serde_json::Value;

fn sample() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = compile(directory.path(), include_str!("samples/sample.c"), &["-gdwarf-5"]);
    (directory, file)
}

fn run(file: &std::path::Path, arguments: &[&str]) -> (i32, String, String) {
    let output = layout(&[&["show", file.to_str().expect("UTF-8")], arguments].concat());
    (code(&output), text(&output.stdout), text(&output.stderr))
}

fn names(file: &std::path::Path, arguments: &[&str]) -> Vec<String> {
    let (status, out, error) = run(file, &[arguments, &["--json"]].concat());
    assert_eq!(status, 0, "{error}");
    let types: Vec<Value> = serde_json::from_str(&out).expect("JSON");
    types.iter().map(|ty| ty["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn holes_padding_and_cache_lines() {
    let (_keep, file) = sample();
    let (status, out, _) = run(&file, &["empty_holes", "over"]);
    assert_eq!(status, 0);
    for line in [
        "struct empty_holes {",
        "/* XXX 7 bytes hole */",
        "/* XXX 3 bytes hole */",
        "/* size: 32, cachelines: 1, members: 5, align: 8 */",
        "/* holes: 2, sum holes: 10, padding: 7 */",
        "/* XXX 63 bytes hole */",
        "/* --- cacheline 1 boundary (64 bytes) --- */",
        "/* size: 192, cachelines: 3, members: 3, align: 64 */",
        "sample.c:",
    ] {
        assert!(out.contains(line), "{line}\n{out}");
    }
    assert!(!out.contains('\x1b'));
}

#[test]
fn nested_types_expand_in_place() {
    let (_keep, file) = sample();
    let (_, flat, _) = run(&file, &["over_member"]);
    let (_, deep, _) = run(&file, &["over_member", "--expand", "1"]);
    assert!(flat.contains("struct over inside;") && !flat.contains("line[64]"), "{flat}");
    assert!(deep.contains("line[64]") && deep.contains("128        64 */"), "offsets count from the outer start: {deep}");
    let (_, anonymous, _) = run(&file, &["nested"]);
    assert!(anonymous.contains("float f;"), "anonymous types always expand: {anonymous}");
}

#[test]
fn selections_and_orders() {
    let (_keep, file) = sample();
    assert_eq!(names(&file, &["-E", "^packed"]), ["packed_bits", "packed_one"]);
    assert_eq!(names(&file, &["pair_t"]), ["pair_t"]);
    let holders = names(&file, &["--contains", "over"]);
    assert_eq!(holders, ["all", "over_member"]);
    let sorted = names(&file, &["--sort", "size"]);
    assert_eq!(sorted[0], "all");
    let holes = names(&file, &["--holes", "--sort", "holes"]);
    assert_eq!(&holes[..2], ["over", "over_member"]);
    assert!(holes.contains(&"empty_holes".into()) && !holes.contains(&"point".into()));
}

/// Of one type less is read than of all: what others hold, only as far as it is shown, and names where they stand.
#[test]
fn a_type_alone_is_shown_as_among_all() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // Names longer than what is read at once.
    let (long, longer) = ("l".repeat(300), "m".repeat(5000));
    let tail = format!("struct {long} {{ int x; }}; struct {longer} {{ struct {long} y; struct {{ struct {long} z; }}; }} last;");
    for (source, flags, asked) in [
        (include_str!("samples/sample.c"), ["-gdwarf-5"].as_slice(), "."),
        (include_str!("samples/sample.cpp"), &["-x", "c++", "-g", "-c"], "^(outer::|holder|l+$|m+$)"),
    ] {
        let file = compile(directory.path(), &format!("{source}\n{tail}\n"), flags);
        let (_, all, _) = run(&file, &[]);
        let asked = names(&file, &["-E", asked]);
        assert!(asked.len() > 10 && asked.contains(&longer), "{asked:?}");
        for name in &asked {
            let (status, alone, error) = run(&file, &[name]);
            assert!(status == 0 && alone.contains(name.as_str()) && all.contains(&alone), "{name}: {error}\n{alone}");
        }
        // One that is held by another that is asked for too.
        let (_, both, _) = run(&file, &[&longer, &long]);
        assert!(both.contains("int x; ") && both.contains(&format!("struct {long} y;")), "{both}");
    }
}

#[test]
fn exit_codes() {
    let (_keep, file) = sample();
    assert_eq!(run(&file, &["point"]).0, 0);
    let (status, _, error) = run(&file, &["point", "nothing_like_it"]);
    assert!(status == 1 && error.contains("no type nothing_like_it"), "{error}");
    assert_eq!(run(&file, &["-E", "^nothing"]).0, 1);
    assert_eq!(run(&file, &["-E", "("]).0, 2);
    assert_eq!(run(&file, &["--sort", "colour"]).0, 2);
    assert_eq!(code(&layout(&["show", "/nonexistent"])), 3);
}

/// Two units that define `state` differently and `same` alike, in this order.
fn two_units(flags: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let unit = |name: &str, member: &str, more: &str| {
        let text = format!("struct same {{ int a; }} s{name}; struct state {{ {member}; }} t{name};{more}");
        write(directory.path(), &format!("{name}.c"), text.as_bytes())
    };
    let units = [
        unit("one", "int first", " typedef struct again again; again *a; struct again { int a; } b;"),
        unit("two", "long second", " struct late { char c; } l;"),
    ];
    let out = directory.path().join("two");
    let built = std::process::Command::new("cc").args(flags).args(["-shared", "-g", "-o"]).arg(&out).args(units).status();
    assert!(built.expect("a C compiler is installed").success());
    (directory, out)
}

#[test]
fn the_first_definition_is_enough_unless_more_are_asked_for() {
    for flags in [&["-gdwarf-5"][..], &["-gdwarf-4"], &["-gz"]] {
        let (_keep, file) = two_units(flags);
        let (status, first, _) = run(&file, &["state"]);
        assert!(status == 0 && first.contains("first") && !first.contains("second"), "{first}");
        let (_, every, _) = run(&file, &["state", "--every"]);
        assert!(every.contains("first") && every.contains("second"), "{every}");
        assert_eq!(run(&file, &["-E", "^state$"]).1, every, "patterns look everywhere");
        // The one name is met after the first definition of the other.
        assert_eq!(names(&file, &["late", "state"]), ["late", "state"]);
        assert_eq!(names(&file, &["late", "state", "--every"]), ["late", "state", "state"]);
        assert_eq!(run(&file, &["again"]).1, run(&file, &["again", "--every"]).1, "the struct, not its other name");
        assert_eq!(names(&file, &["same"]), names(&file, &["same", "--every"]));
    }
}

#[test]
fn completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish"] {
        let output = layout(&["completions", shell]);
        assert!(code(&output) == 0 && text(&output.stdout).contains("nrt-layout"), "{shell}");
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let folder = directory.path().join("man");
    assert_eq!(code(&layout(&["man", folder.to_str().expect("UTF-8")])), 0);
    let page = std::fs::read_to_string(folder.join("nrt-layout-show.1")).expect("a page");
    assert!(page.contains(".TH") && page.contains("Exit codes"), "{page}");
    assert!(folder.join("nrt-layout.1").exists() && folder.join("nrt-layout-diff.1").exists());
}
