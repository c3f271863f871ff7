//! Against `pahole`, member by member: name, offset and size; and the size of each struct.
//!
//! Left out, and said so, where `pahole` is not installed. `tests/pahole/compare.sh` installs it if it can, and compares
//! the files it is given too (`LAYOUT_PAHOLE_FILES`, separated by spaces).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::common::{absent, text};
use nrt_layout::types::{Database, Keyword, Kind, Options, Qualifier, Role, TypeId};

/// Name, offset in bits, size in bytes.
type Member = (String, Option<u64>, u64);

/// Size and members.
type Struct = (u64, Vec<Member>);

fn installed(tool: &str) -> bool {
    Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Every struct that `pahole` prints.
fn pahole(file: &Path) -> BTreeMap<String, Struct> {
    let output = Command::new("pahole").args(["-F", "dwarf"]).arg(file).stderr(Stdio::null()).output().expect("pahole runs");
    let out = text(&output.stdout);
    let mut found = BTreeMap::new();
    let mut current: Option<(String, Vec<Member>)> = None;
    for line in out.lines() {
        if let Some(head) =
            line.strip_prefix("struct ").or_else(|| line.strip_prefix("class ")).and_then(|rest| rest.strip_suffix('{'))
        {
            let name = head.split(" : ").next().unwrap_or(head).trim();
            current = Some((name.to_owned(), Vec::new()));
        } else if let Some(rest) = line.strip_prefix("\t/* size: ")
            && let Some((name, members)) = current.take()
        {
            let size = rest.split([',', ' ']).next().and_then(|size| size.parse().ok()).unwrap_or(u64::MAX);
            found.entry(name).or_insert((size, members));
        } else if let Some((_, members)) = &mut current {
            members.extend(member(line));
        }
    }
    found
}

/// `\tint x; /* 0 4 */` at the first level.
fn member(line: &str) -> Option<Member> {
    let line = line.strip_prefix('\t').filter(|line| !line.starts_with('\t'))?;
    let (declaration, comment) = line.rsplit_once("/*")?;
    let numbers = comment.strip_suffix("*/")?.trim();
    let declaration = declaration.trim();
    // A base class stands in a comment of its own.
    let base = declaration.strip_prefix("/*").and_then(|base| base.strip_suffix("*/"));
    let declaration = base.unwrap_or(declaration).trim().strip_suffix(';')?.trim();
    let (place, size) = match numbers.split_once(':') {
        Some((byte, rest)) => {
            let mut rest = rest.split_whitespace();
            let bit: u64 = rest.next()?.parse().ok()?;
            (byte.trim().parse::<u64>().ok()? * 8 + bit, rest.next()?.parse().ok()?)
        }
        None => {
            let mut words = numbers.split_whitespace();
            let byte: u64 = words.next()?.parse().ok()?;
            (byte * 8, words.next()?.parse().ok()?)
        }
    };
    Some((name(declaration), Some(place), size))
}

fn name(declaration: &str) -> String {
    let mut plain = declaration.to_owned();
    while let Some((before, after)) = plain.split_once(" __attribute__((__aligned__(") {
        plain = format!("{before}{}", after.split_once(")))").map_or("", |(_, rest)| rest));
    }
    let declaration = plain.trim();
    if declaration.ends_with("<ancestor>") {
        return "<ancestor>".into();
    }
    if declaration == "}" {
        return String::new();
    }
    if let Some((_, rest)) = declaration.split_once("(*").filter(|(_, rest)| rest.contains(")(")) {
        return rest.split([')', '[']).next().unwrap_or(rest).to_owned();
    }
    let without_bits = declaration.rsplit_once(':').filter(|(_, bits)| bits.trim().parse::<u64>().is_ok());
    let declaration = without_bits.map_or(declaration, |(before, _)| before);
    let last = declaration.rsplit([' ', '*', '&', '\t']).next().unwrap_or(declaration);
    last.split('[').next().unwrap_or(last).to_owned()
}

/// Why pahole 1.24 gives a member the size 0, or drops it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// It does not know `DW_TAG_atomic_type`: dropped, or of size 0.
    Atomic,
    /// It gives an empty class the size 0; `DW_AT_byte_size` and C++ say 1.
    Empty,
}

/// One definition, and its members that `pahole` cannot size.
type Definition = (Struct, BTreeMap<String, Reason>);

/// Every definition that we read, by bare name.
fn ours(file: &Path) -> BTreeMap<String, Vec<Definition>> {
    let types = Database::read(file, &Options::all()).unwrap_or_else(|error| panic!("{error}"));
    let mut found: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    for id in types.roots() {
        let Kind::Aggregate(aggregate) = &types[*id].kind else { continue };
        if aggregate.keyword == Keyword::Union {
            continue;
        }
        let mut reasons = BTreeMap::new();
        let members = aggregate.members.iter().map(|member| {
            let name = if member.role == Role::Base { "<ancestor>" } else { member.name.as_deref().unwrap_or("") };
            if member.ty.is_some_and(|ty| is_atomic(&types, ty)) {
                reasons.insert(name.to_owned(), Reason::Atomic);
            } else if member.ty.is_some_and(|ty| is_empty(&types, ty)) {
                reasons.insert(name.to_owned(), Reason::Empty);
            }
            (name.to_owned(), member.first_bit(), types.member_size(member).unwrap_or(0))
        });
        let definition = (types.size(*id).unwrap_or(0), members.collect());
        let name = types[*id].name.as_deref().unwrap_or("").to_owned();
        found.entry(name).or_default().push((definition, reasons));
    }
    found
}

/// Whether a type is a class of size 1 whose only members, if any, are such classes.
fn is_empty(types: &Database, id: TypeId) -> bool {
    let inside = |member: &nrt_layout::types::Member| member.ty.is_some_and(|ty| is_empty(types, ty));
    types.size(id) == Some(1) && types.aggregate(id).is_some_and(|aggregate| aggregate.members.iter().all(inside))
}

/// Whether a type is `_Atomic` somewhere on its way to its size.
fn is_atomic(types: &Database, mut id: TypeId) -> bool {
    loop {
        id = match &types[id].kind {
            Kind::Qualified(Qualifier::Atomic, _) => return true,
            Kind::Qualified(_, Some(next)) | Kind::Typedef(Some(next)) => *next,
            Kind::Array { element: Some(next), .. } => *next,
            _ => return false,
        };
    }
}

#[derive(Default, Debug)]
struct Outcome {
    structs: usize,
    members: usize,
    differing: BTreeMap<String, String>,
    only_pahole: BTreeSet<String>,
    only_ours: usize,
    /// Structs that differ only in what pahole cannot size.
    explained: usize,
}

fn compare(file: &Path, of_pahole: &Path) -> Outcome {
    let (theirs, ours) = (pahole(of_pahole), ours(file));
    let mut outcome = Outcome { only_ours: ours.keys().filter(|name| !theirs.contains_key(*name)).count(), ..Outcome::default() };
    for (name, expected) in &theirs {
        let Some(definitions) = ours.get(name) else {
            outcome.only_pahole.insert(name.clone());
            continue;
        };
        outcome.structs += 1;
        outcome.members += expected.1.len();
        if definitions.iter().any(|(definition, _)| definition == expected) {
            continue;
        }
        if definitions.iter().any(|definition| explained(definition, expected)) {
            outcome.explained += 1;
        } else {
            let definitions: Vec<_> = definitions.iter().map(|(definition, _)| definition).collect();
            outcome.differing.insert(name.clone(), format!("pahole {expected:?}\n  ours   {definitions:?}"));
        }
    }
    outcome
}

/// Whether all that differs is what pahole cannot size.
fn explained((ours, unsized_there): &Definition, theirs: &Struct) -> bool {
    let kept = |members: &[Member]| -> Vec<Member> {
        members.iter().filter(|(name, _, _)| unsized_there.get(name) != Some(&Reason::Atomic)).cloned().collect()
    };
    let (mine, other) = (kept(&ours.1), kept(&theirs.1));
    let same = |(one, other): (&Member, &Member)| {
        let empty = unsized_there.get(&one.0) == Some(&Reason::Empty) && other.2 == 0;
        (&one.0, one.1) == (&other.0, other.1) && (one.2 == other.2 || empty)
    };
    ours.0 == theirs.0 && mine.len() == other.len() && mine.iter().zip(&other).all(same)
}

fn report(what: &str, outcome: &Outcome) {
    println!(
        "{what}: {} structs and {} members compared, {} differ ({} only in _Atomic or empty members, \
         which pahole cannot size); {} names only pahole has, {} only we have",
        outcome.structs,
        outcome.members,
        outcome.differing.len(),
        outcome.explained,
        outcome.only_pahole.len(),
        outcome.only_ours
    );
    for (name, difference) in outcome.differing.iter().take(40) {
        println!("  {name}: {difference}");
    }
    for name in outcome.only_pahole.iter().take(20) {
        println!("  only pahole: {name}");
    }
}

/// How a sample is built, and what `pahole` reads of it: it does not follow a skeleton to the split unit, but reads that.
const BUILDS: [(&str, &str); 6] = [
    ("-gdwarf-4", "sample.o"),
    ("-gdwarf-5", "sample.o"),
    ("-gdwarf-4 -gz=zlib", "sample.o"),
    ("-gdwarf-5 -gz=zlib", "sample.o"),
    ("-gdwarf-4 -gsplit-dwarf", "sample.dwo"),
    ("-gdwarf-5 -gsplit-dwarf", "sample.dwo"),
];

/// Objects that clang and gcc built once, for machines that have no clang.
const PREBUILT: [&str; 5] = ["c4.o", "c5.o", "clang4.o", "clang5.o", "zlib.o"];

#[test]
fn samples_agree_with_pahole() {
    if !installed("pahole") {
        return absent("pahole", "0 structs compared; it is in the package dwarves");
    }
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let (mut files, mut structs, mut members) = (0, 0, 0);
    for (source, compilers) in [("sample.c", ["gcc", "clang"]), ("sample.cpp", ["g++", "clang++"])] {
        for compiler in compilers {
            if !installed(compiler) {
                absent(compiler, &format!("{source} built by it is not compared"));
                continue;
            }
            for (flags, theirs) in BUILDS {
                // Reading the headers of C++ takes compilers seconds: each of its three ways once.
                if source == "sample.cpp" && !matches!(flags, "-gdwarf-4" | "-gdwarf-5 -gz=zlib" | "-gdwarf-4 -gsplit-dwarf") {
                    continue;
                }
                let directory = tempfile::tempdir().expect("a temporary directory");
                let built = Command::new(compiler)
                    .args(flags.split(' '))
                    .args(["-c", "-o", "sample.o"])
                    .arg(samples.join(source))
                    .current_dir(directory.path())
                    .output()
                    .expect("starts");
                assert!(built.status.success(), "{}", text(&built.stderr));
                let outcome = compare(&directory.path().join("sample.o"), &directory.path().join(theirs));
                report(&format!("{compiler} {flags} {source}"), &outcome);
                assert!(outcome.differing.is_empty() && outcome.only_pahole.is_empty());
                // Of C++, pahole 1.24 lists only what is in no namespace.
                assert!(outcome.structs >= if source == "sample.c" { 15 } else { 2 }, "{compiler} {flags} {source}");
                (files, structs, members) = (files + 1, structs + outcome.structs, members + outcome.members);
            }
        }
    }
    for name in PREBUILT {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/read").join(name);
        let outcome = compare(&file, &file);
        report(name, &outcome);
        assert!(outcome.differing.is_empty() && outcome.only_pahole.is_empty(), "{name}: {outcome:?}");
        assert!(outcome.structs > 0, "{name}");
        (files, structs, members) = (files + 1, structs + outcome.structs, members + outcome.members);
    }
    let version = Command::new("pahole").arg("--version").output().expect("pahole runs");
    let version = text(&version.stdout).trim().to_owned();
    crate::common::leave(
        "pahole",
        &format!("pahole {version}: {files} files, {structs} structs, {members} members: 0 differences\n"),
    );
    assert!(files >= BUILDS.len() + 3 + PREBUILT.len(), "at least one compiler of each language");
}

/// The large files, which are no part of this repository: nothing to do without.
#[test]
fn given_files_agree_with_pahole() {
    let given = std::env::var("LAYOUT_PAHOLE_FILES").unwrap_or_default();
    let mut differing = 0;
    for file in given.split_whitespace() {
        let outcome = compare(Path::new(file), Path::new(file));
        report(file, &outcome);
        differing += outcome.differing.len() + outcome.only_pahole.len();
    }
    assert_eq!(differing, 0, "differences in the given files");
}
