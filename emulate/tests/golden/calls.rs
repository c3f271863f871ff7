//! The recorded calls of one process.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;

use crate::layout::{LAYOUTS, Layout};
use crate::replay::{Compared, text};

/// An address that is never mapped.
const BAD: u64 = 0x10;
const PAGE: usize = 4096;

/// Result of a call: what it returned, and errno when that is −1.
type Raw = (i64, i64);

/// State of a process.
#[derive(Clone, Default)]
pub(crate) struct Process {
    fds: BTreeMap<String, i32>,
    /// Mappings, the latest last.
    maps: Vec<(u64, u64)>,
    /// Handles of bulk allocations by list.
    lists: BTreeMap<u64, Vec<u64>>,
    /// Host addresses by handle, which differ from the recorded ones.
    addresses: BTreeMap<u64, u64>,
}

fn number(value: &Value, key: &str) -> u64 {
    let number =
        |number: &Value| number.as_u64().or(number.as_i64().map(|value| value as u64)).or(number.as_bool().map(u64::from));
    value.get(key).and_then(number).unwrap_or(0)
}

fn raw(result: i64) -> Raw {
    (result, if result == -1 { io::Error::last_os_error().raw_os_error().unwrap_or(0).into() } else { 0 })
}

fn open(flags: i32) -> i64 {
    // SAFETY: a C string and flags.
    unsafe { libc::open(c"/dev/neuron0".as_ptr(), flags | libc::O_CLOEXEC) }.into()
}

/// Opens the device and answers the errno.
pub(crate) fn open_only() -> i32 {
    raw(open(libc::O_RDWR)).1 as i32
}

/// `bytes` bytes of which the last `missing` are not mapped.
fn at_the_edge(bytes: usize, missing: usize) -> u64 {
    let whole = bytes.next_multiple_of(PAGE);
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping; its last page is given back, and nothing else of the program is there.
    unsafe {
        let base = libc::mmap(std::ptr::null_mut(), whole + PAGE, access, flags, -1, 0);
        assert!(base != libc::MAP_FAILED);
        libc::munmap(base.byte_add(whole), PAGE);
        base as u64 + (whole + missing - bytes) as u64
    }
}

impl Process {
    /// Does a line and compares.
    pub(crate) fn line(&mut self, line: &Value) -> Result<Compared, String> {
        let kind = if line.get("bulk").is_some() { text(line, "bulk") } else { text(line, "op") };
        let fd = self.fds.get(text(line, "fd")).copied().unwrap_or(-1);
        if line.get("bulk").is_some() {
            return self.bulk(line, kind, fd);
        }
        let answered = match kind {
            "open" => self.open(line),
            "close" => {
                self.fds.remove(text(line, "fd"));
                // SAFETY: a descriptor of the recording, not used by anything else here.
                raw(unsafe { libc::close(fd) }.into())
            }
            "dup" => {
                // SAFETY: a number.
                let copy = raw(unsafe { libc::dup(fd) }.into());
                self.fds.insert("f2".into(), copy.0 as i32);
                (copy.0.min(0), copy.1)
            }
            // SAFETY: a copy that is closed at once.
            "dup+close" => raw(unsafe { libc::close(libc::dup(fd)) }.into()),
            "mmap" => return self.mmap(line, fd),
            "munmap" | "mprotect rw" => self.remap(line, kind),
            "mremap grow" => return Ok(Err("not replayable")),
            _ => return self.request(line, kind, fd),
        };
        compare(line, answered).map(Ok)
    }

    fn open(&mut self, line: &Value) -> Raw {
        let flags = match text(&line["in"], "flags") {
            "O_WRONLY" => libc::O_WRONLY,
            "O_RDONLY" => libc::O_RDONLY,
            "O_RDWR" => libc::O_RDWR,
            _ => libc::O_WRONLY | libc::O_RDWR,
        };
        let opened = raw(open(flags));
        if opened.0 >= 0 {
            self.fds.insert(text(&line["out"], "fd").to_owned(), opened.0 as i32);
        }
        (opened.0.min(0), opened.1)
    }

    fn mmap(&mut self, line: &Value, fd: i32) -> Result<Compared, String> {
        let input = &line["in"];
        if input["euid0"] == false {
            // SAFETY: numbers; the process gives up its rights for good.
            unsafe { libc::setresuid(65534, 65534, 65534) };
        }
        let place = &input["offset"];
        let handle = number(place, "handle");
        let delta = place["delta"].as_i64().unwrap_or(0);
        let offset = match place.get("pa") {
            Some(pa) => pa.as_u64().unwrap_or(0),
            None if handle != 0 => self.addresses.get(&handle).copied().unwrap_or(0).wrapping_add_signed(delta),
            None => {
                // A host address that belongs to nobody: which one is not recorded.
                self.maps.push((at_the_edge(PAGE, 0), PAGE as u64));
                return Ok(Err("not replayable"));
            }
        };
        let access = if text(input, "prot") == "rw" { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let flags = if text(input, "flags") == "private" { libc::MAP_PRIVATE } else { libc::MAP_SHARED };
        let length = number(input, "length");
        // SAFETY: a new mapping at no particular address; what it shows is only used through system calls.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), length as usize, access, flags, fd, offset as i64) };
        let answered = raw(if address == libc::MAP_FAILED { -1 } else { 0 });
        if answered.0 == 0 {
            self.maps.push((address as u64, length));
        } else if line["ret"] == 0 && delta != 0 && answered.1 == i64::from(libc::EINVAL) {
            // Not modelled, and refused with a remark. The next munmap finds something to unmap all the same.
            self.maps.push((at_the_edge(length as usize, 0), length));
            return Ok(Err("mapping from inside of a chunk"));
        }
        let registers = (0xFFF_D000_0000..0xFFF_E000_0000).contains(&offset);
        if registers && line["ret"] == 0 && answered.0 == -1 {
            self.maps.push((at_the_edge(length as usize, 0), length));
            return Ok(Err("not modelled"));
        }
        compare(line, answered).map(Ok)
    }

    fn remap(&mut self, line: &Value, kind: &str) -> Raw {
        let Some(&(address, length)) = self.maps.last() else { return (-1, 0) };
        // SAFETY: a mapping of the recording, which nothing else here uses.
        unsafe {
            if kind == "munmap" {
                self.maps.pop();
                return raw(libc::munmap(address as *mut _, number(&line["in"], "length") as usize).into());
            }
            raw(libc::mprotect(address as *mut _, length as usize, libc::PROT_READ | libc::PROT_WRITE).into())
        }
    }

    /// Many equal requests.
    fn bulk(&mut self, line: &Value, kind: &str, fd: i32) -> Result<Compared, String> {
        let list = number(line, "list");
        let layout = LAYOUTS.iter().find(|layout| layout.name == kind).ok_or("no such request")?;
        let request = if kind == "MEM_FREE" { 0x8008_4E16 } else { 0x8038_4E66_u64 };
        let mut done = Vec::new();
        let mut errno = 0;
        let mut left = self.lists.remove(&list).unwrap_or_default();
        if text(line, "order") == "reverse" {
            left.reverse();
        }
        let most = if kind == "MEM_FREE" { left.len() as u64 } else { number(line, "max") };
        while (done.len() as u64) < most {
            let mut argument = [0_u8; 64];
            for &(name, offset, size) in layout.inputs {
                argument[offset..offset + size].copy_from_slice(&number(&line["in"], name).to_le_bytes()[..size]);
            }
            let mut handle = 0_u64;
            if kind == "MEM_FREE" {
                handle = left[done.len()];
                argument[..8].copy_from_slice(&handle.to_le_bytes());
            } else {
                argument[40..48].copy_from_slice(&(&raw mut handle as u64).to_le_bytes());
            }
            // SAFETY: the argument and the handle it points to live here.
            let answered = raw(unsafe { libc::ioctl(fd, request, argument.as_mut_ptr()) }.into());
            if answered.0 != 0 {
                errno = answered.1;
                break;
            }
            // SAFETY: written by the request through the pointer in the argument.
            done.push(unsafe { (&raw const handle).read_volatile() });
        }
        let ends = |key: &str, handle: Option<&u64>| {
            kind == "MEM_FREE" || line.get(key).is_none() || handle == line[key].as_u64().as_ref()
        };
        let same = done.len() as u64 == number(line, "ok")
            && errno == line["errno"].as_i64().unwrap_or(0)
            && ends("first_handle", done.first())
            && ends("last_handle", done.last());
        let (count, first, last) = (done.len(), done.first().copied(), done.last().copied());
        self.lists.insert(list, done);
        if same { Ok(Ok(())) } else { Err(format!("{count} done, errno {errno}, handles {first:?} to {last:?}: {line}")) }
    }

    /// One request.
    fn request(&mut self, line: &Value, kind: &str, fd: i32) -> Result<Compared, String> {
        let request = u64::from_str_radix(text(line, "req").trim_start_matches("0x"), 16).unwrap_or(0xFFFF_FFFF);
        let layout = LAYOUTS.iter().find(|layout| layout.name == kind || (kind == "safe" && layout.name == "unknown"));
        let layout = layout.or_else(|| kind.starts_with("POD").then(|| LAYOUTS.last()).flatten());
        let Some(layout) = layout else { return Ok(Err("not replayable")) };
        let (input, ret) = (&line["in"], line["ret"].as_i64().unwrap_or(0));
        let mut argument = [0_u8; 2800];
        for &(name, offset, size) in layout.inputs {
            argument[offset..offset + size].copy_from_slice(&number(input, name).to_le_bytes()[..size]);
        }
        let mut put = |offset: usize, value: u64| argument[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
        let mut cells = [0_u64; 4];
        for (cell, &(name, offset, _)) in cells.iter_mut().zip(layout.pointers) {
            let pointer = match text(input, &format!("{name}_ptr")) {
                "bad" => BAD,
                "null" => 0,
                _ if kind == "MEM_GET_INFO"
                    && name == "mmap_offset"
                    && input.get("mmap_offset_ptr").is_none_or(|given| *given == false) =>
                {
                    0
                }
                _ if ret == 4 => at_the_edge(8, 4),
                _ => &raw mut *cell as u64,
            };
            put(offset, pointer);
        }
        let mut entries = vec![[0_u64; 3]; number(input, "num_in") as usize];
        let mut buffer = Vec::new();
        match kind {
            "DUMP_MEM_CHUNKS" => put(16, entries.as_mut_ptr() as u64),
            "MEM_BUF_COPY" | "MEM_BUF_COPY64" => {
                // Sizes that are refused anyway need no buffer.
                let size = number(input, "size").min(64 << 20) as usize;
                let address = match text(input, "buffer") {
                    "bad pointer" => BAD,
                    "half mapped" => at_the_edge(size, ret.max(0) as usize),
                    _ => {
                        buffer.resize(size, 7_u8);
                        buffer.as_mut_ptr() as u64
                    }
                };
                put(8, address);
            }
            "CRWL_NC_RANGE_UNMARK" | "CRWL_NC_RANGE_UNMARK_EXT0" => {
                for index in 0..8 {
                    put(16 + 8 * index, input["map"].get(index).map_or(u64::MAX, |word| word.as_u64().unwrap_or(0)));
                }
            }
            "MEM_MC_GET_INFO_V2" if input.get("pa").is_none() => {
                // The address of the host chunk, or one beyond all of them.
                let known = self.addresses.values().copied().find(|address| address >> 44 & 1 != 0).unwrap_or(0);
                put(0, if ret == 0 { known } else { known + (1 << 40) + 1 });
            }
            _ => {}
        }
        let address = match text(input, "arg") {
            "bad pointer" => BAD,
            "40 of 48 bytes mapped" => {
                let edge = at_the_edge(48, 8);
                // SAFETY: 40 bytes are mapped there.
                unsafe { std::ptr::copy_nonoverlapping(argument.as_ptr(), edge as *mut u8, 40) };
                edge
            }
            _ => argument.as_mut_ptr() as u64,
        };
        // SAFETY: the argument and everything it points to live here or are meant to be bad.
        let answered = raw(unsafe { libc::ioctl(fd, request, address) }.into());
        let refused = ["0xC1044E79", "0x80044E06", "0x80084E1E"].contains(&text(line, "req"));
        if refused && answered != (ret, line["errno"].as_i64().unwrap_or(0)) {
            return Ok(Err("not modelled"));
        }
        std::hint::black_box((&mut cells, &mut entries, &mut buffer, &mut argument));
        compare(line, answered)?;
        if answered.0 == 0 || kind.starts_with("CRWL") || kind == "DUMP_MEM_CHUNKS" {
            self.outputs(line, layout, &argument, &cells, &entries)?;
        }
        Ok(Ok(()))
    }

    /// Compares what a request wrote.
    fn outputs(
        &mut self,
        line: &Value,
        layout: &Layout,
        argument: &[u8],
        cells: &[u64; 4],
        entries: &[[u64; 3]],
    ) -> Result<(), String> {
        let out = &line["out"];
        let word = |offset: usize, size: usize| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(&argument[offset..offset + size]);
            u64::from_le_bytes(word)
        };
        let same = |name: &str, value: u64| match out
            .get(name)
            .and_then(|expected| expected.as_u64().or(expected.as_bool().map(u64::from)))
        {
            Some(expected) if expected != value => Err(format!("{name} is {value}: {line}")),
            _ => Ok(()),
        };
        for &(name, offset, size) in layout.outputs {
            same(name, word(offset, size))?;
        }
        for (&cell, &(name, _, _)) in cells.iter().zip(layout.pointers) {
            same(name, cell)?;
        }
        let handle = number(&line["in"], "handle");
        match layout.name {
            "MEM_GET_EXTENDED_INFO" => {
                self.addresses.insert(handle, word(24, 8));
                same("pa", word(24, 8))?;
                same("off_eq_pa", (word(16, 8) == word(24, 8)).into())?;
                same("pid_self", (word(32, 8) == u64::from(std::process::id())).into())?;
                same("handle_echoed", (word(0, 8) == handle).into())?;
                host_address(out, word(24, 8), line)?;
            }
            "MEM_GET_PA" => host_address(out, cells[0], line)?,
            "MEM_GET_INFO" => host_address(out, cells[1], line)?,
            "MEM_MC_GET_INFO" | "MEM_MC_GET_INFO_V2"
                if out["offset"]["pa"].as_u64().is_some_and(|offset| offset != word(8, 8)) =>
            {
                return Err(format!("offset {}: {line}", word(8, 8)));
            }
            "DUMP_MEM_CHUNKS" => {
                let chunks = out["chunks"].as_array().map_or(&[][..], Vec::as_slice);
                for (chunk, entry) in chunks.iter().zip(entries) {
                    if (0..3).any(|index| chunk[index].as_u64() != Some(entry[index])) {
                        return Err(format!("chunk {entry:?}: {line}"));
                    }
                }
            }
            "DEVICE_GET_ALL_APPS_INFO" => {
                for (index, app) in out["apps"].as_array().into_iter().flatten().enumerate() {
                    let at = 16 + 152 * index;
                    let own = word(at, 4) == u64::from(std::process::id());
                    let found = (own, word(at + 136, 8), word(at + 144, 8));
                    if found != (app["pid_self"] == true, number(app, "host"), number(app, "device")) {
                        return Err(format!("process {found:?}: {line}"));
                    }
                }
            }
            name if name.starts_with("CRWL_NC_RANGE_MARK") => {
                for (index, expected) in out["map"].as_array().into_iter().flatten().enumerate() {
                    if expected.as_u64() != Some(word(16 + 8 * index, 8)) {
                        return Err(format!("map word {index} is {}: {line}", word(16 + 8 * index, 8)));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Compares what is told about a host address.
fn host_address(out: &Value, address: u64, line: &Value) -> Result<(), String> {
    let facts = [
        ("pa_host_bit", address >> 44 & 1 != 0),
        ("pa_below_4g", address & ((1 << 44) - 1) < 1 << 32),
        ("pa_4k_aligned", address.is_multiple_of(4096)),
    ];
    match facts.iter().find(|(name, fact)| out.get(*name).is_some_and(|expected| expected != fact)) {
        Some((name, fact)) => Err(format!("{name} is {fact}: {line}")),
        None => Ok(()),
    }
}

/// Compares return value and errno.
fn compare(line: &Value, (result, errno): Raw) -> Result<(), String> {
    let expected = (line["ret"].as_i64().unwrap_or(0), line["errno"].as_i64().unwrap_or(0));
    if expected == (result, errno) { Ok(()) } else { Err(format!("answer {result}, errno {errno}: {line}")) }
}
