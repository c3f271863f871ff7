//! The stand-in: devices, files, faults.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use nrt_linux::Errno;
use nrt_linux::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use nrt_linux::neuron::{Forms, Kind, LinuxDriver, Selection, System};
use nrt_linux::request::{Reply, Request};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// What the driver is.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) arch: u32,
    pub(crate) features: u64,
    /// Whether DRIVER_INFO_GET exists.
    pub(crate) has_flags: bool,
    /// Oldest and newest runtime served.
    pub(crate) serves: (u32, u32),
    pub(crate) version: &'static str,
    pub(crate) nodes: Vec<u32>,
    pub(crate) cores_per_device: u32,
    /// Whether extended info, and info, exist.
    pub(crate) queries: (bool, bool),
    /// Where the first chunk goes.
    pub(crate) first_pa: u64,
    /// Size of an HBM, where the driver tells it.
    pub(crate) told_hbm_bytes: Option<u64>,
    pub(crate) files: BTreeMap<String, String>,
}

impl Setup {
    /// Driver 2.24.7 on one Trn1 device.
    pub(crate) fn sunda() -> Self {
        Self {
            arch: 2,
            features: 0xFF,
            has_flags: true,
            serves: (5, 7),
            version: "2.24.7.0\n",
            nodes: vec![0],
            cores_per_device: 2,
            queries: (true, true),
            first_pa: 16 << 20,
            told_hbm_bytes: None,
            files: BTreeMap::new(),
        }
    }

    /// Driver 2.26.5 on `devices` Trn2 devices.
    pub(crate) fn cayman(devices: u32) -> Self {
        Self {
            arch: 3,
            features: 0x1FF,
            serves: (10, 11),
            version: "2.26.5.0\n",
            nodes: (0..devices).collect(),
            cores_per_device: 8,
            ..Self::sunda()
        }
    }

    pub(crate) fn connect(self) -> LinuxDriver<Fake> {
        LinuxDriver::connect_through(Fake::new(self), Selection::All).expect("the stand-in serves this runtime")
    }

    /// As [`attach`](Self::attach), with the forms of the oldest driver.
    pub(crate) fn attach_oldest(self) -> LinuxDriver<Fake> {
        let driver = self.connect().limited_to(Forms::OLDEST).expect("nothing is open");
        driver.attach(0).expect("the stand-in has room");
        driver.system().requests();
        driver
    }

    /// Connected, with device 0 open and the requests so far forgotten.
    pub(crate) fn attach(self) -> LinuxDriver<Fake> {
        let driver = self.connect();
        driver.attach(0).expect("the stand-in has room");
        driver.system().requests();
        driver
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) node: u32,
    pub(crate) pa: u64,
    pub(crate) size: u64,
    pub(crate) host: bool,
    pub(crate) category: u32,
    /// Where its bytes are in the store.
    pub(crate) at: u64,
}

/// The bytes of all chunks, in a file so that they can be mapped.
#[derive(Debug)]
pub(crate) struct Store(pub(crate) OwnedFd);

impl Store {
    pub(crate) fn read(&self, mut buffer: &mut [u8], mut at: u64) {
        while !buffer.is_empty() {
            let count = rustix::io::pread(&self.0, &mut *buffer, at).unwrap();
            buffer = &mut buffer[count..];
            at += count as u64;
        }
    }

    pub(crate) fn write(&self, mut bytes: &[u8], mut at: u64) {
        while !bytes.is_empty() {
            let count = rustix::io::pwrite(&self.0, bytes, at).unwrap();
            bytes = &bytes[count..];
            at += count as u64;
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Descriptors of the devices by number.
    pub(crate) fds: HashMap<i32, (u32, Kind)>,
    pub(crate) chunks: BTreeMap<u64, Chunk>,
    pub(crate) next_handle: u64,
    pub(crate) next_pa: u64,
    pub(crate) next_at: u64,
    pub(crate) owners: BTreeMap<u32, u32>,
    /// Handle of the started copies, the latest last.
    pub(crate) started: Vec<u32>,
    /// Requests with the bytes of their struct as they came.
    pub(crate) log: Vec<(u32, Vec<u8>)>,
    /// Return values to give instead of an answer: negative error numbers or positive ones.
    pub(crate) faults: VecDeque<(u32, i32)>,
    /// Calls until one returns a value instead of an answer; opening and mapping then fail with EIO.
    pub(crate) countdown: Option<(u32, i32)>,
    pub(crate) open_fault: Option<Errno>,
    pub(crate) map_fault: Option<Errno>,
    pub(crate) opened: Vec<(u32, Kind)>,
    pub(crate) watched: Vec<(OwnedFd, u32, Kind)>,
    pub(crate) mapped: BTreeMap<usize, (u64, usize)>,
}

impl State {
    /// What the present call returns, if its number has come.
    fn counted(&mut self) -> Option<i32> {
        match &mut self.countdown {
            Some((0, _)) => self.countdown.take().map(|(_, returned)| returned),
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Fake {
    pub(crate) setup: Setup,
    pub(crate) state: Mutex<State>,
    pub(crate) store: Store,
    pub(crate) pid: AtomicU32,
    claimed: AtomicBool,
}

impl Fake {
    pub(crate) fn new(setup: Setup) -> Self {
        let store = memfd_create(c"stand-in", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&store, 1 << 40).unwrap();
        let state = State { next_handle: 1, next_pa: setup.first_pa, ..State::default() };
        Self { setup, state: Mutex::new(state), store: Store(store), pid: AtomicU32::new(100), claimed: AtomicBool::new(false) }
    }

    /// Names of the requests since the last call.
    pub(crate) fn requests(&self) -> Vec<&'static str> {
        let log = std::mem::take(&mut self.state.lock().unwrap().log);
        log.iter().map(|(number, _)| nrt_linux::request::scope::name(*number).unwrap_or("unknown")).collect()
    }

    /// Makes the next request `number` return `value`.
    pub(crate) fn fail<R: Request>(&self, value: i32) {
        self.state.lock().unwrap().faults.push_back((R::NUMBER, value));
    }

    /// Does what the driver does when descriptors are closed: a full one frees the memory on its device, a misc one drops
    /// the cores. Gives the descriptors that are still open.
    pub(crate) fn settle(&self) -> Vec<(u32, Kind)> {
        let mut state = self.state.lock().unwrap();
        let State { watched, chunks, owners, .. } = &mut *state;
        watched.retain(|(watch, node, kind)| {
            let mut ends = [PollFd::new(watch, PollFlags::IN)];
            let closed = poll(&mut ends, Some(&Timespec::default())).unwrap() != 0;
            if closed && *kind == Kind::Full {
                chunks.retain(|_, chunk| chunk.node != *node);
            } else if closed {
                owners.retain(|_, owner| *owner != 100);
            }
            !closed
        });
        watched.iter().map(|(_, node, kind)| (*node, *kind)).collect()
    }

    pub(crate) fn live_chunks(&self) -> usize {
        self.state.lock().unwrap().chunks.len()
    }

    pub(crate) fn bytes(&self, chunk: &Chunk, offset: u64, bytes: u64) -> Vec<u8> {
        let mut buffer = vec![0; bytes as usize];
        self.store.read(&mut buffer, chunk.at + offset);
        buffer
    }
}

// SAFETY: mappings are placed by the kernel; `answer` writes where the request says and nowhere else.
unsafe impl System for Fake {
    fn present(&self, index: u32) -> bool {
        self.setup.nodes.contains(&index)
    }

    fn open(&self, index: u32, kind: Kind) -> Result<OwnedFd, Errno> {
        let mut state = self.state.lock().unwrap();
        if state.counted().is_some() {
            return Err(Errno::IO);
        }
        if kind == Kind::Full
            && let Some(errno) = state.open_fault
        {
            return Err(errno);
        }
        if !self.setup.nodes.contains(&index) {
            return Err(Errno::NOENT);
        }
        // The other end of a pipe tells when this one is closed.
        let (watch, fd) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        state.fds.insert(fd.as_raw_fd(), (index, kind));
        state.watched.push((watch, index, kind));
        state.opened.push((index, kind));
        Ok(fd)
    }

    unsafe fn request<R: Request>(&self, fd: BorrowedFd<'_>, mut request: R) -> Result<Reply<R::Argument>, Errno> {
        let number = request.opcode();
        let pointer = request.as_ptr();
        // SAFETY: the struct of the request is behind its pointer for its whole size.
        let bytes = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), size_of::<R::Argument>()) };
        let mut state = self.state.lock().unwrap();
        state.log.push((number, bytes.to_vec()));
        let fault = state.faults.iter().position(|(wanted, _)| *wanted == number);
        let counted = state.counted();
        let returned = match fault {
            _ if counted.is_some() => counted.unwrap_or(0),
            Some(place) => state.faults.remove(place).unwrap().1,
            None => {
                let kind = state.fds[&fd.as_raw_fd()];
                // SAFETY: as above, and the request's inner pointers are valid as it promises.
                unsafe { self.answer(&mut state, kind, number, pointer) }
            }
        };
        if returned < 0 {
            return Err(Errno::from_raw_os_error(-returned));
        }
        // SAFETY: the pointer is the request's own.
        unsafe { R::output_from_ptr(returned, pointer) }
    }

    fn map(&self, _: BorrowedFd<'_>, offset: u64, bytes: usize) -> Result<NonNull<u8>, Errno> {
        let mut state = self.state.lock().unwrap();
        if state.counted().is_some() {
            return Err(Errno::IO);
        }
        if let Some(errno) = state.map_fault {
            return Err(errno);
        }
        let found = state.chunks.values().find(|chunk| chunk.pa == offset && chunk.size == bytes as u64);
        let at = found.ok_or(Errno::PERM)?.at;
        // SAFETY: the kernel picks the place.
        let address = unsafe {
            mmap(std::ptr::null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &self.store.0, at)
        }?;
        state.mapped.insert(address as usize, (offset, bytes));
        Ok(NonNull::new(address.cast()).unwrap())
    }

    unsafe fn unmap(&self, address: NonNull<u8>, bytes: usize) -> Result<(), Errno> {
        let mut state = self.state.lock().unwrap();
        assert_eq!(state.mapped.remove(&(address.as_ptr() as usize)).map(|(_, bytes)| bytes), Some(bytes));
        // SAFETY: the caller's promise.
        unsafe { munmap(address.as_ptr().cast(), bytes) }
    }

    fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    fn text(&self, path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
        let path = path.to_str().unwrap();
        let text = match path {
            "/sys/module/neuron/version" => self.setup.version,
            _ => self.setup.files.get(path).ok_or(Errno::NOENT)?,
        };
        let used = text.len().min(buffer.len());
        buffer[..used].copy_from_slice(&text.as_bytes()[..used]);
        Ok(used)
    }

    fn list(&self, path: &CStr, visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Errno> {
        if path == c"/dev" {
            if self.setup.files.contains_key("/dev/") {
                return Err(Errno::ACCESS);
            }
            let names = self.setup.nodes.iter().map(|node| format!("neuron{node}"));
            let others = ["null", "neuron", "neuron64", "neuron9", "neuronx", "neuron1p1"].map(String::from);
            let _ = names.chain(others).all(|name| visit(name.as_bytes()));
            return Ok(());
        }
        let directory = format!("{}/", path.to_str().unwrap());
        if self.setup.files.get(&directory).is_some_and(|text| text == "hidden") {
            return Err(Errno::ACCESS);
        }
        let names = self.setup.files.keys().filter_map(|file| file.strip_prefix(&directory)?.split('/').next());
        let names: std::collections::BTreeSet<&str> = names.collect();
        let _ = names.into_iter().all(|name| visit(name.as_bytes()));
        Ok(())
    }

    fn link(&self, path: &CStr, buffer: &mut [u8]) -> Result<usize, Errno> {
        self.text(path, buffer)
    }

    fn claim(&self) -> bool {
        !self.claimed.swap(true, Ordering::Relaxed)
    }

    fn release(&self) {
        let open = self.settle();
        assert!(!open.iter().any(|(_, kind)| *kind == Kind::Misc), "the close would drop the next connection's cores");
        self.claimed.store(false, Ordering::Relaxed);
    }
}
