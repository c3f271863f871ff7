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

#[test]
fn damaged_files_are_survived_quickly() {
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    let mut slowest = Duration::ZERO;
    let mut runs = 0;
    for (name, good) in corpus() {
        for round in 0..120 {
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
