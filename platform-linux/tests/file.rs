//! Reading files: exact reads, ends, files that shrink, things that are not files, paths.

use std::ffi::{CString, c_char};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nrt_linux::Errno;
use nrt_linux::file::{File, PathBuffer, ReadError};

/// A directory of its own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> CString {
        CString::new(self.0.join(name).as_os_str().as_bytes()).unwrap()
    }

    fn write(&self, name: &str, bytes: &[u8]) -> CString {
        fs::write(self.0.join(name), bytes).unwrap();
        self.path(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn reads_are_exact_at_any_offset() {
    let scratch = Scratch::new("exact");
    let content: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    let file = File::open(&scratch.write("a", &content)).unwrap();
    assert_eq!(file.size(), Ok(100_000));
    for (offset, length) in [(0, 0), (0, 1), (0, 100_000), (1, 4096), (99_999, 1), (100_000, 0), (50_001, 49_999)] {
        let mut buffer = vec![0; length];
        file.read_exact_at(&mut buffer, offset as u64).unwrap();
        assert_eq!(buffer, content[offset..offset + length], "{length} at {offset}");
    }
}

#[test]
fn an_early_end_tells_where_and_how_much() {
    let scratch = Scratch::new("end");
    let file = File::open(&scratch.write("a", &[7; 1000])).unwrap();
    let mut buffer = [0; 100];
    let error = file.read_exact_at(&mut buffer, 950).unwrap_err();
    assert_eq!(error, ReadError::UnexpectedEnd { offset: 1000, missing: 50 });
    assert_eq!(error.to_string(), "the file ends at offset 1000, 50 more bytes were expected");
    assert_eq!((&buffer[..50], &buffer[50..]), (&[7; 50][..], &[0; 50][..]));
    let error = file.read_exact_at(&mut buffer, 5000).unwrap_err();
    assert_eq!(error, ReadError::UnexpectedEnd { offset: 5000, missing: 100 });
}

#[test]
fn a_file_that_shrinks_is_an_error() {
    let scratch = Scratch::new("shrink");
    let path = scratch.write("a", &[1; 100_000]);
    let file = File::open(&path).unwrap();
    let size = file.size().unwrap();
    fs::File::options().write(true).open(scratch.0.join("a")).unwrap().set_len(10).unwrap();
    let mut buffer = vec![0; size as usize];
    let error = file.read_exact_at(&mut buffer, 0).unwrap_err();
    assert_eq!(error, ReadError::UnexpectedEnd { offset: 10, missing: 99_990 });
    assert_eq!(file.size(), Ok(10));
}

#[test]
fn offsets_beyond_four_gib_and_beyond_reason() {
    let scratch = Scratch::new("far");
    let path = scratch.path("sparse");
    let mut writer = fs::File::create(scratch.0.join("sparse")).unwrap();
    writer.set_len(5 << 30).unwrap();
    std::io::Seek::seek(&mut writer, std::io::SeekFrom::Start(5 << 30)).unwrap();
    writer.write_all(b"beyond").unwrap();
    let file = File::open(&path).unwrap();
    let mut buffer = [0; 6];
    file.read_exact_at(&mut buffer, 5 << 30).unwrap();
    assert_eq!(&buffer, b"beyond");
    for offset in [u64::MAX, i64::MAX as u64, u64::MAX - 5] {
        let error = file.read_exact_at(&mut buffer, offset).unwrap_err();
        assert_eq!(error, ReadError::System { offset, errno: Errno::OVERFLOW });
    }
}

#[test]
fn only_regular_files_open() {
    let scratch = Scratch::new("kinds");
    assert_eq!(File::open(&scratch.path("absent")).err(), Some(Errno::NOENT));
    assert_eq!(File::open(&scratch.path(".")).err(), Some(Errno::ISDIR));
    assert_eq!(File::open(c"/dev/null").err(), Some(Errno::INVAL));
    // A pipe in the file system, without a writer: opening it must not wait.
    assert!(std::process::Command::new("mkfifo").arg(scratch.0.join("pipe")).status().unwrap().success());
    assert_eq!(File::open(&scratch.path("pipe")).err(), Some(Errno::SPIPE));
}

#[test]
fn the_system_s_own_errors_come_through() {
    // Readable, regular, and refuses offsets that are not mapped.
    let file = File::open(c"/proc/self/mem").unwrap();
    let error = file.read_exact_at(&mut [0; 8], 0).unwrap_err();
    assert_eq!(error, ReadError::System { offset: 0, errno: Errno::IO });
    assert!(error.to_string().starts_with("reading at offset 0 failed: "), "{error}");
}

#[test]
fn paths_are_joined_beside_a_file() {
    let beside = |file: &str, name: &str| {
        let file = CString::new(file).unwrap();
        PathBuffer::beside(&file, name.as_bytes()).unwrap().as_c_str().to_str().unwrap().to_owned()
    };
    assert_eq!(beside("deployment.json", "weights.bin"), "weights.bin");
    assert_eq!(beside("a/b/deployment.json", "c/weights.bin"), "a/b/c/weights.bin");
    assert_eq!(beside("/deployment.json", "w"), "/w");
    assert_eq!(beside("a/b/deployment.json", "/w"), "/w");
    assert_eq!(beside("a/", "w"), "a/w");
    assert_eq!(beside("a/b", ""), "a/");
}

#[test]
fn paths_that_do_not_fit_are_refused() {
    assert_eq!(PathBuffer::new(&[b'x'; 4095]).unwrap().as_c_str().to_bytes().len(), 4095);
    assert_eq!(PathBuffer::new(&[b'x'; 4096]).err(), Some(Errno::NAMETOOLONG));
    assert_eq!(PathBuffer::new(b"a\0b").err(), Some(Errno::INVAL));
    assert_eq!(PathBuffer::new(b"").unwrap().as_c_str(), c"");
    assert_eq!(format!("{:?}", PathBuffer::new(b"a").unwrap()), "\"a\"");
    let c_string: *const c_char = PathBuffer::new(b"a").unwrap().as_c_str().as_ptr();
    assert!(!c_string.is_null());
}
