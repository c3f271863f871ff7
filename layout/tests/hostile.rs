//! Files that are damaged on purpose: nothing panics, loops or asks for all memory.

use std::path::Path;
use std::time::{Duration, Instant};

use nrt_layout::hostile::exercise;

fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/read");
    let mut files: Vec<_> = std::fs::read_dir(folder).expect("the corpus").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), std::fs::read(path).expect("readable"))).collect()
}

struct Noise(u64);

impl Noise {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("small") % below.max(1)
    }
}

#[test]
fn the_corpus_is_read() {
    let files = corpus();
    assert!(files.len() >= 12, "{}", files.len());
    for (name, bytes) in files {
        let options = nrt_layout::types::Options { debug_directories: Vec::new(), ..nrt_layout::types::Options::all() };
        let read = nrt_layout::types::Database::read_bytes(&bytes, &options);
        let found = read.as_ref().map(|types| types.roots().len());
        let enough = if name.starts_with("skeleton") { 0 } else { 2 };
        assert!(name.starts_with("crash") || found.as_ref().is_ok_and(|found| *found >= enough), "{name}: {found:?}");
        exercise(&bytes);
    }
}

/// Rounds of damage to each file; `NRT_HOSTILE_ROUNDS=100000` looks on for hours.
fn rounds() -> usize {
    std::env::var("NRT_HOSTILE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(120)
}

#[test]
fn damaged_files_are_survived_quickly() {
    let rounds = rounds();
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    let mut slowest = Duration::ZERO;
    let mut runs = 0;
    for (name, good) in corpus() {
        for round in 0..rounds {
            let mut bytes = good.clone();
            match round % 4 {
                0 => bytes.truncate(noise.next(good.len())),
                1 => {
                    for _ in 0..=noise.next(6) {
                        let at = noise.next(bytes.len());
                        bytes[at] = [0, 0xff, 0x7f, 0x80, 1][noise.next(5)];
                    }
                }
                2 => {
                    for _ in 0..=noise.next(24) {
                        let at = noise.next(bytes.len());
                        bytes[at] ^= 1 << noise.next(8);
                    }
                }
                _ => {
                    let (from, to, len) = (noise.next(bytes.len()), noise.next(bytes.len()), noise.next(64));
                    let end = (from + len).min(bytes.len()).min(from + bytes.len() - to.max(from));
                    bytes.copy_within(from..end.max(from), to.min(good.len() - (end.max(from) - from)));
                }
            }
            let start = Instant::now();
            exercise(&bytes);
            let took = start.elapsed();
            assert!(took < Duration::from_secs(20), "{name} round {round}: {took:?}");
            slowest = slowest.max(took);
            runs += 1;
        }
    }
    println!("{runs} damaged files, the slowest took {slowest:?}");
}

#[test]
fn small_files_cannot_claim_large_sections() {
    let (_, good) = corpus().into_iter().find(|(name, _)| name == "zlib.o").expect("a compressed file");
    // Every compressed section claims to hold an exabyte.
    let mut bytes = good;
    let table = u64::from_le_bytes(bytes[40..48].try_into().expect("eight")) as usize;
    let count = usize::from(u16::from_le_bytes(bytes[60..62].try_into().expect("two")));
    let mut changed = 0;
    for header in (0..count).map(|index| table + index * 64) {
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight"));
        if word(header + 8) & (1 << 11) != 0 {
            let start = usize::try_from(word(header + 24)).expect("small");
            bytes[start + 8..start + 16].copy_from_slice(&(1_u64 << 60).to_le_bytes());
            changed += 1;
        }
    }
    assert!(changed > 0);
    let error = nrt_layout::types::Database::read_bytes(&bytes, &nrt_layout::types::Options::all()).expect_err("refused");
    assert!(error.to_string().contains("claim to hold"), "{error}");
}

/// An ELF file of these sections, and nothing else.
fn elf(sections: &[(&str, &[u8])]) -> Vec<u8> {
    let mut names = vec![0_u8];
    let mut headers = vec![0_u8; 64];
    let mut content = vec![0_u8; 64];
    let mut header = |name: usize, kind: u32, bytes: &[u8], content: &mut Vec<u8>| {
        let mut one = [0_u8; 64];
        one[..4].copy_from_slice(&u32::try_from(name).expect("small").to_le_bytes());
        one[4..8].copy_from_slice(&kind.to_le_bytes());
        one[24..32].copy_from_slice(&(content.len() as u64).to_le_bytes());
        one[32..40].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        headers.extend(one);
        content.extend(bytes);
    };
    for (name, bytes) in sections {
        header(names.len(), 1, bytes, &mut content);
        names.extend(name.bytes().chain([0]));
    }
    let own = names.len();
    names.extend(b".shstrtab\0");
    header(own, 3, &names, &mut content);
    let table = content.len() as u64;
    content.extend(&headers);
    content[..20].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 62, 0]);
    content[40..48].copy_from_slice(&table.to_le_bytes());
    content[58..60].copy_from_slice(&64_u16.to_le_bytes());
    let count = u16::try_from(headers.len() / 64).expect("few");
    content[60..62].copy_from_slice(&count.to_le_bytes());
    content[62..64].copy_from_slice(&(count - 1).to_le_bytes());
    content
}

/// Units whose tables of abbreviations start where `start` says, all in a table of `entries` abbreviations.
fn sharing(units: u32, entries: u16, start: impl Fn(u32) -> u32) -> Vec<u8> {
    let mut table = Vec::new();
    for number in 1..=entries {
        // A two-byte number, then a unit without attributes or children.
        table.extend([0x80 | (number & 0x7f) as u8, (number >> 7) as u8, 0x11, 0, 0, 0]);
    }
    table.push(0);
    let mut info = Vec::new();
    for unit in 0..units {
        info.extend(9_u32.to_le_bytes());
        info.extend(4_u16.to_le_bytes());
        info.extend(start(unit).to_le_bytes());
        // The abbreviation of its own number is in every table that starts there or before.
        let code = unit + 1;
        info.extend([8, 0x80 | (code & 0x7f) as u8, (code >> 7) as u8]);
    }
    elf(&[(".debug_info", &info), (".debug_abbrev", &table)])
}

#[test]
fn a_shared_table_of_abbreviations_is_read_once_and_overlapping_ones_are_bounded() {
    let read = |bytes: &[u8]| {
        let start = Instant::now();
        (nrt_layout::types::Database::read_bytes(bytes, &nrt_layout::types::Options::all()), start.elapsed())
    };
    // Ten thousand units, one table of ten thousand: a hundred million abbreviations if it were read for each.
    let (shared, took) = read(&sharing(10_000, 10_000, |_| 0));
    assert!(shared.is_ok(), "{shared:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    // Each unit has a table of its own that starts one abbreviation further on in the same bytes.
    let (overlapping, took) = read(&sharing(10_000, 10_000, |unit| unit * 6));
    let error = overlapping.expect_err("refused").to_string();
    assert!(error.contains("share tables of abbreviations in too many ways"), "{error}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}
