//! One source, every way a compiler and its tools can wrap its debug information: the same layouts come out.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{absent, code, layout, text};
use serde_json::Value;

const SOURCE: &str = include_str!("samples/sample.c");
const SOURCE_CPP: &str = include_str!("samples/sample.cpp");

/// Runs a tool; false = it is not installed or cannot do this.
fn tool(directory: &Path, words: &str) -> bool {
    let mut words = words.split(' ');
    let name = words.next().expect("a tool");
    let done = Command::new(name).args(words).current_dir(directory).stdin(Stdio::null()).output();
    done.is_ok_and(|output| output.status.success())
}

fn must(directory: &Path, words: &str) {
    assert!(tool(directory, words), "{words}");
}

fn show(arguments: &[&str]) -> Vec<Value> {
    let output = layout(&[&["show", "--json"], arguments].concat());
    assert_eq!(code(&output), 0, "{arguments:?}: {}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{arguments:?}");
    // Compilers do not tell of `_Atomic` before DWARF 5.
    let out = text(&output.stdout).replace("_Atomic ", "");
    let types: Vec<Value> = serde_json::from_str(&out).expect("JSON");
    // Where things are declared depends on the folder the compiler ran in.
    types.into_iter().filter(|ty| ty["kind"] == "struct" || ty["kind"] == "class" || ty["kind"] == "enum").collect()
}

fn directory() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    crate::common::write(directory.path(), "s.c", SOURCE.as_bytes());
    crate::common::write(directory.path(), "s.cpp", SOURCE_CPP.as_bytes());
    let path = directory.path().to_path_buf();
    (directory, path)
}

/// Runs the commands, separated by `;`, and gives what the file then holds.
fn built(folder: &Path, commands: &str, file: &str, more: &[&str]) -> Vec<Value> {
    for command in commands.split(';') {
        must(folder, command.trim());
    }
    let path = folder.join(file);
    show(&[&[path.to_str().expect("UTF-8")], more].concat())
}

#[test]
fn c_in_every_wrapping() {
    let (_keep, folder) = directory();
    let expected = built(&folder, "gcc -gdwarf-5 -o plain s.c", "plain", &[]);
    assert!(expected.len() > 20, "{}", expected.len());
    let debug_dir = folder.join("debug");
    let debug_dir = debug_dir.to_str().expect("UTF-8");
    let separate = folder.join("kept.debug");
    let separate = separate.to_str().expect("UTF-8");
    let cases: &[(&str, &str, &[&str])] = &[
        ("gcc -gdwarf-4 -o four s.c", "four", &[]),
        ("gcc -gdwarf-5 -gz=zlib -o zlib s.c", "zlib", &[]),
        ("gcc -gdwarf-5 -gsplit-dwarf -o split s.c", "split", &[]),
        ("gcc -gdwarf-4 -gsplit-dwarf -o split4 s.c", "split4", &[]),
        ("gcc -gdwarf-5 -fdebug-types-section -o types5 s.c", "types5", &[]),
        ("gcc -gdwarf-4 -fdebug-types-section -o types4 s.c", "types4", &[]),
        ("gcc -gdwarf-5 -c -o object.o s.c", "object.o", &[]),
        ("gcc -gdwarf-5 -fdebug-types-section -c -o types.o s.c", "types.o", &[]),
        ("gcc -gdwarf-4 -fdebug-types-section -c -o types4.o s.c", "types4.o", &[]),
        ("gcc -gdwarf-5 -gz=zlib -c -o zlib.o s.c", "zlib.o", &[]),
        ("ar rcs archive.a object.o", "archive.a", &[]),
        ("ar rcsT thin.a object.o", "thin.a", &[]),
        ("gcc -gdwarf-5 -shared -fPIC -o library.so s.c", "library.so", &[]),
        (
            "objcopy --only-keep-debug plain linked.debug; objcopy --strip-debug plain linked; objcopy --add-gnu-debuglink=linked.debug linked",
            "linked",
            &[],
        ),
        ("objcopy --only-keep-debug plain kept.debug; strip -o stripped plain", "stripped", &["--debug-file", separate]),
        ("gcc -gdwarf-5 -flto -ffat-lto-objects -o lto s.c", "lto", &[]),
    ];
    for (commands, file, more) in cases {
        assert_eq!(built(&folder, commands, file, more), expected, "{commands}");
    }

    // By build id: the folder is named after its first byte.
    let id = Command::new("readelf").args(["-n", "plain"]).current_dir(&folder).output().expect("readelf");
    let id = text(&id.stdout);
    if let Some(id) = id.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")) {
        let inside = format!("debug/.build-id/{}", &id[..2]);
        std::fs::create_dir_all(folder.join(&inside)).expect("a folder");
        std::fs::copy(folder.join("kept.debug"), folder.join(format!("{inside}/{}.debug", &id[2..]))).expect("a copy");
        assert_eq!(built(&folder, "strip -o by_id plain", "by_id", &["--debug-dir", debug_dir]), expected, "build id");
    }
    // With tools or features that may be absent.
    let mut skipped = Vec::new();
    let optional: &[(&str, &str)] = &[
        ("objcopy --compress-debug-sections=zstd plain zstd", "zstd"),
        ("objcopy --compress-debug-sections=zlib-gnu plain zdebug", "zdebug"),
        // Not llvm-dwp: version 14 never ends on what gcc makes of DWARF 5. The corpus has a package of DWARF 5.
        ("dwp -e split4 -o split4.dwp", "split4"),
    ];
    for (command, file) in optional {
        if tool(&folder, command) {
            if command.contains("dwp ") {
                assert!(tool(&folder, &format!("rm {file}-s.dwo")), "the package stands for the split unit");
            }
            assert_eq!(built(&folder, "true", file, &[]), expected, "{command}");
        } else {
            skipped.push(*command);
        }
    }
    // dwz moves what two files share into a third.
    let copied = tool(&folder, "cp plain one") && tool(&folder, "cp four two") && tool(&folder, "cp plain three");
    if copied && tool(&folder, "dwz -m shared.dwz one two three") {
        assert_eq!(built(&folder, "true", "one", &[]), expected, "dwz");
        assert_eq!(built(&folder, "true", "three", &[]), expected, "dwz");
    } else {
        skipped.push("dwz -m");
    }
    for command in skipped {
        absent(command.split(' ').next().unwrap_or(command), &format!("not tried: {command}"));
    }
}

#[test]
fn c_for_other_machines() {
    let (_keep, folder) = directory();
    let plain = "struct point { int x, y; }; struct bits { unsigned a : 3, b : 7; unsigned long long c : 40; };\n\
                 struct node { struct node *next; long number; char name[6]; struct point at; struct bits bits; } node;\n";
    crate::common::write(&folder, "m.c", plain.as_bytes());
    // Offsets of next, number, name, at, bits; size; alignment.
    let machines = [
        ("gcc -m32", [0, 4, 8, 16, 24], 32, 4),
        ("clang --target=i386-linux-gnu", [0, 4, 8, 16, 24], 32, 4),
        ("clang --target=arm-linux-gnueabi", [0, 4, 8, 16, 24], 32, 8),
        ("clang --target=mips-linux-gnu", [0, 4, 8, 16, 24], 32, 8),
        ("clang --target=powerpc-linux-gnu", [0, 4, 8, 16, 24], 32, 8),
        ("clang --target=aarch64-linux-gnu", [0, 8, 16, 24, 32], 40, 8),
        ("clang --target=riscv64-linux-gnu", [0, 8, 16, 24, 32], 40, 8),
        ("clang --target=powerpc64-linux-gnu", [0, 8, 16, 24, 32], 40, 8),
        ("clang --target=s390x-linux-gnu", [0, 8, 16, 24, 32], 40, 8),
    ];
    for (compiler, offsets, size, align) in machines {
        for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
            let file = format!("{compiler} {dwarf}").replace([' ', '='], "_");
            if !tool(&folder, &format!("{compiler} {dwarf} -c -o {file} m.c")) {
                absent(compiler, "objects for that machine are not read");
                continue;
            }
            let path = folder.join(&file).to_str().expect("UTF-8").to_owned();
            let types = show(&[&path, "node", "bits"]);
            let node = types.iter().find(|ty| ty["name"] == "node").expect("node");
            let members = |ty: &Value, key: &str| -> Vec<u64> {
                ty["members"].as_array().expect("members").iter().map(|member| member[key].as_u64().expect(key)).collect()
            };
            let found = (members(node, "offset"), node["size"].as_u64(), node["align"].as_u64());
            assert_eq!(found, (offsets.to_vec(), Some(size), Some(align)), "{compiler} {dwarf}");
            // Bits are counted in the order in which that machine fills memory.
            let bits = types.iter().find(|ty| ty["name"] == "bits").expect("bits");
            assert_eq!((members(bits, "bit_size"), bits["size"].as_u64()), (vec![3, 7, 40], Some(8)), "{compiler} {dwarf}");
            assert_eq!(members(bits, "bit_offset"), [0, 3, 10], "{compiler} {dwarf}");
            for language in ["c", "rust", "csv", "json"] {
                let output = layout(&["emit", language, "--elf", &path, "node"]);
                assert_eq!(code(&output), 0, "{compiler} {dwarf} {language}: {}", text(&output.stderr));
                assert!(!output.stdout.is_empty());
            }
            assert_eq!(code(&layout(&["diff", &path, &path])), 0, "{compiler} {dwarf}");
        }
    }
}

#[test]
fn cpp_in_every_wrapping() {
    let (_keep, folder) = directory();
    let expected = built(&folder, "g++ -gdwarf-5 -o plain s.cpp", "plain", &[]);
    assert!(expected.len() > 40, "{}", expected.len());
    let names = |types: &[Value], sizes: bool| -> Vec<String> {
        // Type units may only declare what they hold: g++ a base class that has virtual functions, clang a type of an
        // anonymous namespace. Its size is not told there.
        let place = |member: &Value| match member["role"].as_str() {
            Some("base") => format!("{} {}", member["type"], member["offset"]),
            _ if !sizes => format!("{} {}", member["name"], member["offset"]),
            _ => format!("{} {} {}", member["name"], member["offset"], member["size"]),
        };
        let places = |ty: &Value| ty["members"].as_array().map(|members| members.iter().map(place).collect::<Vec<_>>());
        types.iter().map(|ty| format!("{}::{} {} {:?}", ty["scope"], ty["name"], ty["size"], places(ty))).collect()
    };
    // Each way of wrapping may keep more or fewer types than the others; those of this source are the same in all.
    let own = |types: &[Value], sizes: bool| -> Vec<String> {
        // The pointer to the virtual table has another name in each compiler.
        let names = names(types, sizes).into_iter().map(|name| name.replace("_vptr$", "_vptr.").replace("class ", "struct "));
        let mut own: Vec<String> = names.filter(|name| name.contains("\"outer") || name.contains("holder")).collect();
        own.sort_unstable();
        own
    };
    assert!(own(&expected, true).len() >= 9, "{:?}", own(&expected, true));
    let shared_types = [
        "g++ -gdwarf-5 -fdebug-types-section -o x s.cpp",
        "g++ -gdwarf-4 -fdebug-types-section -c -o x s.cpp",
        "clang++ -gdwarf-5 -fdebug-types-section -o x s.cpp",
        "clang++ -gdwarf-4 -fdebug-types-section -c -o x s.cpp",
    ];
    for commands in [
        "g++ -gdwarf-4 -o x s.cpp",
        "g++ -gdwarf-5 -gsplit-dwarf -o x s.cpp",
        "g++ -gdwarf-4 -gsplit-dwarf -o x s.cpp",
        "g++ -gdwarf-5 -gz=zlib -c -o x s.cpp",
        "clang++ -gdwarf-4 -o x s.cpp",
        "clang++ -gdwarf-5 -gsplit-dwarf -c -o x s.cpp",
    ]
    .into_iter()
    .chain(shared_types)
    {
        if commands.starts_with("clang") && !tool(&folder, "clang++ --version") {
            absent("clang++", commands);
            continue;
        }
        let sizes = !(commands.starts_with("clang") && commands.contains("-fdebug-types-section"));
        assert_eq!(own(&built(&folder, commands, "x", &[]), sizes), own(&expected, sizes), "{commands}");
    }
    let declared = show(&[folder.join("plain").to_str().expect("UTF-8"), "holder::declared"]);
    assert_eq!((declared.len(), &declared[0]["scope"]), (1, &"holder".into()), "completed outside of its class");
    let inner = show(&[folder.join("plain").to_str().expect("UTF-8"), "outer::derived"]);
    let members: Vec<(&str, u64)> = inner[0]["members"]
        .as_array()
        .expect("members")
        .iter()
        .map(|member| (member["role"].as_str().unwrap_or("field"), member["offset"].as_u64().expect("known")))
        .collect();
    assert_eq!(members, [("base", 0), ("base", 12), ("field", 16), ("field", 20), ("field", 24)]);
}

#[test]
fn rust_enums_have_their_variants() {
    let program = std::env::current_exe().expect("this test has a path");
    let types = show(&[program.to_str().expect("UTF-8"), "-E", "^alloc::borrow::Cow<str>$"]);
    let roles: Vec<&str> =
        types[0]["members"].as_array().expect("members").iter().filter_map(|member| member["role"].as_str()).collect();
    assert!(roles.contains(&"discriminant") && roles.iter().filter(|role| **role == "variant").count() == 2, "{types:?}");
}

#[test]
fn a_wrong_debug_file_is_refused() {
    let (_keep, folder) = directory();
    must(&folder, "gcc -g -o one s.c");
    must(&folder, "gcc -g -O2 -o two s.c");
    must(&folder, "strip -o stripped one");
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let output = layout(&["show", &path("stripped"), "--debug-file", &path("two")]);
    assert_eq!(code(&output), 3);
    assert!(text(&output.stderr).contains("build id"), "{}", text(&output.stderr));
    assert_eq!(code(&layout(&["show", &path("stripped")])), 3);
}

#[test]
fn a_missing_split_unit_is_told() {
    let (_keep, folder) = directory();
    must(&folder, "gcc -g -gsplit-dwarf -o split s.c");
    for entry in std::fs::read_dir(&folder).expect("readable").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "dwo") {
            std::fs::remove_file(entry.path()).expect("removable");
        }
    }
    let output = layout(&["show", folder.join("split").to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stderr).contains("is not there"), "{}", text(&output.stderr));
}
