//! The recorded calls of one process.

use std::collections::BTreeMap;

use serde_json::Value;

use super::layout::{LAYOUTS, Layout};
use super::{CAPABILITY, Compared, Door, LastRequest, Raw, number, text};

/// An address that is never mapped.
const BAD: u64 = 0x10;
const PAGE: usize = 4096;
/// Bytes of the largest buffer.
const BUFFER: usize = 2 << 20;

/// State of a process.
pub(crate) struct Process<D> {
    pub(super) door: D,
    scenario: String,
    fds: BTreeMap<String, i32>,
    /// Mappings, the latest last.
    pub(super) maps: Vec<(u64, u64)>,
    /// Handles of bulk allocations by list.
    lists: BTreeMap<u64, Vec<u64>>,
    /// Addresses by handle; those of host memory differ from the recorded ones.
    pub(super) addresses: BTreeMap<u64, u64>,
    /// Bytes that are copied in.
    pub(super) pattern: Vec<u8>,
    /// Bytes that were copied out.
    pub(super) out: Vec<u8>,
    /// How many.
    pub(super) copied: usize,
    /// Those that were copied out alone.
    pub(super) singles: Vec<u8>,
    /// The bit of the architecture in addresses of host memory.
    pub(crate) host_bit: u64,
    /// Special windows that were found.
    pub(super) resources: u64,
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

impl<D: Door> Process<D> {
    /// The first process of a recording.
    pub(crate) fn new(door: D, scenario: &str) -> Self {
        Self {
            door,
            scenario: scenario.to_owned(),
            fds: BTreeMap::new(),
            maps: Vec::new(),
            lists: BTreeMap::new(),
            addresses: BTreeMap::new(),
            pattern: (0..BUFFER + PAGE).map(|index| (index % 251 + index / 4096) as u8).collect(),
            out: vec![0xEE; BUFFER],
            copied: 0,
            singles: Vec::new(),
            host_bit: 1 << 44,
            resources: 0,
        }
    }

    /// A child behind another door. Nothing is allocated once it runs: what is not inherited stays a hole.
    pub(crate) fn fork(&self, door: D) -> Self {
        Self {
            fds: self.fds.clone(),
            maps: self.maps.clone(),
            lists: self.lists.clone(),
            addresses: self.addresses.clone(),
            host_bit: self.host_bit,
            ..Self::new(door, &self.scenario)
        }
    }

    /// The first thing that a child does.
    pub(crate) fn start(&mut self, who: &str) {
        if (&*self.scenario, who) == ("crwl", "D") {
            // The recording says that it has a full descriptor only.
            self.door.close(self.fds.remove("m").expect("the inherited one"));
        }
    }

    /// The door, once the process ends.
    pub(crate) fn into_door(self) -> D {
        self.door
    }

    /// The door.
    pub(crate) fn door(&self) -> &D {
        &self.door
    }

    /// Does a line and compares.
    pub(crate) fn line(&mut self, line: &Value) -> Result<Compared, String> {
        if line.get("obs").is_some() {
            return self.observe(line);
        }
        if line.get("sysfs").is_some() {
            return self.sysfs(line);
        }
        let kind = if line.get("bulk").is_some() { text(line, "bulk") } else { text(line, "op") };
        let fd = self.fds.get(text(line, "fd")).copied().unwrap_or(-1);
        if line.get("bulk").is_some() {
            return self.bulk(line, kind, fd);
        }
        let answered = match kind {
            "open" => self.open(line),
            "close" => {
                self.fds.remove(text(line, "fd"));
                self.door.close(fd)
            }
            "dup" => {
                let copy = self.door.dup(fd);
                self.fds.insert("f2".into(), copy.0 as i32);
                (copy.0.min(0), copy.1)
            }
            "dup+close" => {
                let copy = self.door.dup(fd);
                self.door.close(copy.0 as i32)
            }
            "mmap" => return self.mmap(line, fd),
            "munmap" => self.munmap(line),
            "mprotect rw" => {
                let (address, length) = self.last_map();
                self.door.allow_writes(address, length)
            }
            "mremap grow" => {
                let (address, length) = self.last_map();
                self.door.grow(address, length, length + PAGE as u64)
            }
            _ => return self.request(line, kind, fd).map(Ok),
        };
        compare(line, answered).map(Ok)
    }

    /// The last request of the process; answers the signal that ended it.
    pub(crate) fn last_request(&mut self, last: &LastRequest) -> Option<i32> {
        let (mut argument, mut handle) = ([0_u64; 8], 0_u64);
        for &(offset, word) in last.fields {
            argument[offset / 8] |= word << (offset % 8 * 8);
        }
        if last.number == 0x8038_4E66 {
            argument[5] = &raw mut handle as u64;
        } else {
            argument[1] = self.out.as_mut_ptr() as u64;
        }
        let fd = self.fds[last.fd];
        let ended = self.door.ioctl(fd, last.number, argument.as_mut_ptr() as u64).err();
        std::hint::black_box((&mut argument, &mut handle));
        ended
    }

    fn last_map(&self) -> (u64, u64) {
        self.maps.last().copied().unwrap_or((0, 0))
    }

    fn open(&mut self, line: &Value) -> Raw {
        let flags = match text(&line["in"], "flags") {
            "O_WRONLY" => libc::O_WRONLY,
            "O_RDONLY" => libc::O_RDONLY,
            "O_RDWR" => libc::O_RDWR,
            _ => libc::O_WRONLY | libc::O_RDWR,
        };
        let opened = self.door.open(flags);
        if opened.0 >= 0 {
            self.fds.insert(text(&line["out"], "fd").to_owned(), opened.0 as i32);
        }
        (opened.0.min(0), opened.1)
    }

    fn mmap(&mut self, line: &Value, fd: i32) -> Result<Compared, String> {
        let input = &line["in"];
        if input["euid0"] == false {
            self.door.drop_privileges();
        }
        let place = &input["offset"];
        let handle = number(place, "handle");
        let delta = place["delta"].as_i64().unwrap_or(0);
        let offset = match place.get("pa") {
            Some(pa) => pa.as_u64().unwrap_or(0),
            None if handle != 0 => self.addresses.get(&handle).copied().unwrap_or(0).wrapping_add_signed(delta),
            // A host address above 4 GiB that belongs to nobody.
            None => 1 << 44 | 1 << 40,
        };
        let length = number(input, "length");
        let (writes, private) = (text(input, "prot") == "rw", text(input, "flags") == "private");
        let mapped = self.door.mmap(fd, length, writes, private, offset);
        if mapped.0 == -1 && line["ret"] == 0 && input["euid0"] == true && !self.door.is_privileged() {
            // What follows unmaps something all the same.
            self.maps.push((at_the_edge(length as usize, 0), length));
            return Ok(Err(CAPABILITY));
        }
        if mapped.0 != -1 {
            let address = mapped.0 as u64;
            self.maps.push((address, length));
            // What the client wrote through its mappings is not in the recording.
            let written: &[(u64, u8)] = match (&*self.scenario, number(line, "n")) {
                ("host", 59) => &[(5, 99)],
                ("mmap", 55) => &[(0, 1), (4096, 2), (3_145_727, 3)],
                _ => &[],
            };
            for &(at, value) in written {
                self.door.poke(address + at, value).map_err(|signal| format!("signal {signal}: {line}"))?;
            }
        }
        compare(line, (if mapped.0 == -1 { -1 } else { 0 }, mapped.1)).map(Ok)
    }

    /// Unmaps the latest mapping, or its second page.
    fn munmap(&mut self, line: &Value) -> Raw {
        let (address, length) = self.last_map();
        let wanted = number(&line["in"], "length");
        if wanted.next_multiple_of(PAGE as u64) == length.next_multiple_of(PAGE as u64) {
            self.maps.pop();
            return self.door.munmap(address, wanted);
        }
        self.door.munmap(address + PAGE as u64, wanted)
    }

    /// Bytes of a chunk, by a request that is not in the recording.
    pub(super) fn read_chunk(&mut self, handle: u64, offset: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0_u8; size];
        let mut argument = [handle, bytes.as_mut_ptr() as u64, size as u64, offset, 0];
        let fd = self.fds["f"];
        let answered = self.door.ioctl(fd, 0xC028_4E18, argument.as_mut_ptr() as u64);
        assert_eq!(std::hint::black_box(answered), Ok((0, 0)));
        bytes
    }

    /// Many equal requests.
    fn bulk(&mut self, line: &Value, kind: &str, fd: i32) -> Result<Compared, String> {
        let list = number(line, "list");
        let layout = LAYOUTS.iter().find(|layout| layout.name == kind).ok_or("no such request")?;
        let request = if kind == "MEM_FREE" { 0x8008_4E16 } else { 0x8038_4E66 };
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
            let answered = self.door.ioctl(fd, request, argument.as_mut_ptr() as u64).map_err(|_| "killed")?;
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
    fn request(&mut self, line: &Value, kind: &str, fd: i32) -> Result<(), String> {
        let request = u32::from_str_radix(text(line, "req").trim_start_matches("0x"), 16).unwrap_or(u32::MAX);
        let layout = LAYOUTS.iter().find(|layout| layout.name == kind || (kind == "safe" && layout.name == "unknown"));
        let layout = layout.ok_or_else(|| format!("a request nobody thought of: {line}"))?;
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
        let into_chunk = number(input, "to_handle") != 0;
        let mut buffer = vec![7_u8; if kind.starts_with("MEM_BUF") { number(input, "size").min(64 << 20) as usize } else { 0 }];
        match kind {
            "DUMP_MEM_CHUNKS" => put(16, entries.as_mut_ptr() as u64),
            "MEM_BUF_COPY" | "MEM_BUF_COPY64" | "MEM_BUF_ZEROCOPY64 (40-byte)" => {
                // Sizes that are refused anyway need no buffer.
                match text(input, "buffer") {
                    "pattern" => buffer.clone_from(&self.pattern[..buffer.len()].to_vec()),
                    "77" => buffer.fill(77),
                    "2 bytes at offset -1" => buffer.copy_from_slice(&[99, 100]),
                    _ => {}
                }
                let address = match text(input, "buffer") {
                    "bad pointer" => BAD,
                    "half mapped" => at_the_edge(buffer.len(), ret.max(0) as usize),
                    _ => buffer.as_mut_ptr() as u64,
                };
                put(8, address);
            }
            "MEM_COPY_ASYNC64" if input["prefetch"] == true => put(40, BAD),
            "MEM_COPY_ASYNC" if input["prefetch"] == true => put(32, BAD),
            "POD_INFO" => put(0, 260),
            "CRWL_NC_RANGE_UNMARK" | "CRWL_NC_RANGE_UNMARK_EXT0" => {
                for index in 0..8 {
                    put(16 + 8 * index, input["map"].get(index).map_or(u64::MAX, |word| word.as_u64().unwrap_or(0)));
                }
            }
            "MEM_MC_GET_INFO_V2" if input.get("pa").is_none() => {
                // The address of the host chunk, or one beyond all of them.
                let known = self.addresses.values().copied().find(|address| address & self.host_bit != 0).unwrap_or(0);
                put(0, if ret == 0 { known } else { known + (1 << 40) + 1 });
            }
            _ => {}
        }
        if kind.starts_with("MEM_BUF_ZEROCOPY") {
            argument[0..8].copy_from_slice(&1_u64.to_le_bytes());
            argument[32] = 1;
        }
        let given = argument;
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
        let ended = |signal| format!("ended by signal {signal}: {line}");
        let answered = self.door.ioctl(fd, request, address).map_err(ended)?;
        std::hint::black_box((&mut cells, &mut entries, &mut buffer, &mut argument));
        compare(line, answered)?;
        if kind.starts_with("MEM_BUF") && !into_chunk && answered.0 == 0 && text(input, "buffer") != "ok" {
            self.copied = buffer.len();
            self.out[..buffer.len()].copy_from_slice(&buffer);
            if let [single] = buffer[..] {
                self.singles.push(single);
            }
        }
        if line["out"]["struct_untouched"] == true && argument != given {
            return Err(format!("the argument was written to: {line}"));
        }
        if line["out"]["bytes_beyond_24_untouched"] == true && argument[24..] != given[24..] {
            return Err(format!("more than 24 bytes were written: {line}"));
        }
        self.resources += u64::from(kind == "RESOURCE_MMAP_INFO" && answered.0 == 0);
        if answered.0 == 0 || kind.starts_with("CRWL") || kind == "DUMP_MEM_CHUNKS" {
            self.outputs(line, layout, &argument, &cells, &entries)?;
        }
        Ok(())
    }
}

/// Compares return value and errno.
fn compare(line: &Value, (result, errno): Raw) -> Result<(), String> {
    let expected = (line["ret"].as_i64().unwrap_or(0), line["errno"].as_i64().unwrap_or(0));
    if expected == (result, errno) { Ok(()) } else { Err(format!("answer {result}, errno {errno}: {line}")) }
}
