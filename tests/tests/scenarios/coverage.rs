//! `docs/coverage.md` names tests that exist, and leaves no section of a description out.

use std::fs;
use std::path::Path;

#[test]
fn every_named_test_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/coverage.md")).unwrap();
    let source = |file: &str| {
        let file = if file.contains('/') { file.into() } else { format!("tests/tests/scenarios/{file}.rs") };
        fs::read_to_string(root.join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    };
    let mut named = 0;
    // What stands between backticks: every second piece.
    let pieces: Vec<_> = page.split('`').collect();
    for pair in pieces[1..].chunks(2) {
        if let Some((file, test)) = pair[0].split_once("::").filter(|(_, test)| *test != "name") {
            assert!(is_test(&source(file), test), "{file} has no test {test}");
            named += 1;
        } else if pair.get(1).is_some_and(|behind| behind.starts_with(" (all)")) && !root.join(pair[0]).is_dir() {
            assert!(source(pair[0]).contains("#[test]"), "{} has no test", pair[0]);
        }
    }
    assert!(named > 100, "{named} tests named");
}

/// Whether a function of this name stands in the file with `#[test]` above it, among its attributes and comments.
fn is_test(source: &str, name: &str) -> bool {
    let lines: Vec<_> = source.lines().map(str::trim).collect();
    let head = format!("fn {name}()");
    let belongs = |line: &&&str| line.starts_with("#[") || line.starts_with("//");
    let tested = |at: usize| lines[..at].iter().rev().take_while(belongs).any(|line| *line == "#[test]");
    lines.iter().enumerate().any(|(at, line)| line.starts_with(&head) && tested(at))
}

#[test]
fn a_helper_is_no_test() {
    let source =
        "#[test]\n/// Why.\n#[expect(lint)]\nfn one() {}\n\n#[test]\nfn two() {}\nfn three() {}\n// #[test]\nfn four() {}\n";
    assert_eq!(
        ["one", "two", "three", "four", "on", "five"].map(|name| is_test(source, name)),
        [true, true, false, false, false, false]
    );
}

/// Sections of each description.
const SECTIONS: [(&str, u32); 12] = [
    ("Context tree", 13),
    ("Allocator and ledger", 25),
    ("Model database", 9),
    ("Loading", 12),
    ("Scratchpad", 16),
    ("Tensors", 14),
    ("Microcode libraries", 10),
    ("Logical cores", 11),
    ("Locks", 8),
    ("Errata", 35),
    ("Public interface", 10),
    ("Kernel driver", 22),
];

#[test]
fn every_numbered_section_has_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/coverage.md")).unwrap();
    for (title, count) in SECTIONS {
        let part = page.split("\n## ").find(|part| part.starts_with(&format!("{title}\n"))).expect(title);
        let rows = part.lines().filter_map(|line| line.strip_prefix("| ")).filter(|row| !row.starts_with("---"));
        let mut found = std::collections::BTreeSet::new();
        for row in rows {
            let cells: Vec<_> = row.trim_end_matches('|').split(" |").map(str::trim).collect();
            // "3 view, 4 storage" is a row for two.
            let numbers: Vec<u32> = cells[0]
                .split(", ")
                .filter_map(|name| name.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().ok())
                .collect();
            // A test, another row that has one, or a reason.
            let shown =
                cells.get(1).is_some_and(|cell| cell.contains('`') || cell.contains("see ") || cell.contains("rows above"));
            let reason = cells.get(2).is_some_and(|cell| !cell.is_empty());
            assert!(numbers.is_empty() || shown || reason, "{title}: a row without test or reason: {row}");
            found.extend(numbers);
        }
        let missing: Vec<_> = (1..=count).filter(|number| !found.contains(number)).collect();
        assert!(missing.is_empty(), "{title}: no row for {missing:?}");
    }
}
