//! Random requests, mappings and copies of descriptors, the same ones through any door.

use super::{Door, Raw};

/// A generator of numbers, the same ones in every run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next number.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// One of some values.
    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    /// A length: mostly short, at times many pages, rarely nothing or too much.
    fn length(&mut self) -> u64 {
        match self.below(16) {
            0 => self.of(&[0, 1, 65_535, 65_536, 65_537, u64::MAX]),
            1..4 => self.below(64) << 16,
            _ => self.below(9000),
        }
    }
}

/// Bytes of the largest buffer.
const BUFFER: usize = 4 << 20;
/// An address that is never mapped.
const BAD: u64 = 0x10;
/// Words of the largest argument.
const WORDS: usize = 80;

/// A process that makes random requests, and what it remembers.
pub(crate) struct Wanderer<D> {
    door: D,
    numbers: Numbers,
    full: i32,
    misc: i32,
    handles: Vec<u64>,
    addresses: Vec<u64>,
    wait: u64,
    buffer: Vec<u8>,
    /// Mappings that are there: address and length.
    maps: Vec<(u64, u64)>,
}

/// A hash of some bytes that goes on from another one.
fn hash(mut state: u64, bytes: &[u8]) -> u64 {
    for &byte in bytes {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
    }
    state
}

impl<D: Door> Wanderer<D> {
    /// A process that has opened the device both ways.
    pub(crate) fn new(mut door: D, seed: u64) -> Self {
        let (misc, full) = (door.open(libc::O_WRONLY).0 as i32, door.open(libc::O_RDWR).0 as i32);
        let (handles, addresses) = (Vec::new(), Vec::new());
        Self {
            door,
            numbers: Numbers(seed),
            full,
            misc,
            handles,
            addresses,
            wait: u64::from(u32::MAX),
            buffer: vec![0; BUFFER],
            maps: Vec::new(),
        }
    }

    fn handle(&mut self) -> u64 {
        if self.handles.is_empty() || self.numbers.below(12) == 0 {
            return self.numbers.of(&[0, 1, 7, 500, 1 << 32, u64::MAX]);
        }
        self.handles[self.numbers.below(self.handles.len() as u64) as usize]
    }

    /// Makes a request with the argument's words, and hashes everything that came back but addresses and process ids.
    fn request(&mut self, fd: i32, number: u32, argument: &mut [u64; WORDS], secret: &[usize]) -> (Raw, u64) {
        let given = *argument;
        let answered = self.door.ioctl(fd, number, argument.as_mut_ptr() as u64).expect("a request that is survived");
        let mut shown = *std::hint::black_box(argument);
        for &word in secret {
            shown[word] = u64::from(shown[word] == given[word]);
        }
        let mut state = hash(0xCBF2_9CE4_8422_2325, &answered.0.to_le_bytes());
        state = hash(state, &answered.1.to_le_bytes());
        for word in shown {
            state = hash(state, &word.to_le_bytes());
        }
        (answered, state)
    }

    /// One operation; answers a number in which everything visible of it went in.
    pub(crate) fn step(&mut self) -> u64 {
        let (full, misc) = (self.full, self.misc);
        let mut argument = [0; WORDS];
        match self.numbers.below(20) {
            0..4 => self.alloc(),
            4..6 => {
                let at = self.numbers.below(self.handles.len().max(1) as u64) as usize;
                let handle = if at < self.handles.len() { self.handles.swap_remove(at) } else { self.handle() };
                argument[0] = handle;
                self.request(full, 0x8008_4E16, &mut argument, &[]).1
            }
            6 => {
                let handle = self.handle();
                argument[0] = handle;
                let (answered, state) = self.request(full, 0x8008_4E1D, &mut argument, &[4]);
                if answered == (0, 0) && argument[2] != 0 {
                    self.addresses.push(argument[3]);
                }
                state
            }
            7 => {
                let mut place = [0_u64; 2];
                let bad = self.numbers.below(20) == 0;
                argument[0] = self.handle();
                argument[1] = if bad { BAD } else { &raw mut place[0] as u64 };
                argument[2] = &raw mut place[1] as u64;
                let number = self.numbers.of(&[0x8008_4E19, 0x8008_4E1A]);
                let (_, state) = self.request(full, number, &mut argument, &[1, 2]);
                std::hint::black_box(&mut place).iter().fold(state, |state, word| hash(state, &word.to_le_bytes()))
            }
            8 => {
                argument[0] = match self.addresses.len() as u64 {
                    0 => self.numbers.below(1 << 40),
                    count => self.addresses[self.numbers.below(count) as usize] + self.numbers.below(8192),
                };
                self.request(full, 0xC018_4E6F, &mut argument, &[]).1
            }
            9 => {
                // Many chunks may be too many for the list.
                let mut list = vec![0_u64; 3 * 400];
                argument[0] = self.numbers.below(5) | self.numbers.of(&[1_u64, 400]) << 32;
                argument[2] = list.as_mut_ptr() as u64;
                let (_, state) = self.request(full, 0x8008_4E74, &mut argument, &[2]);
                std::hint::black_box(&mut list).iter().fold(state, |state, word| hash(state, &word.to_le_bytes()))
            }
            10 => {
                argument[0] = u64::from(self.numbers.next() as u16) | 4 << 32;
                // The first word of an entry is the process id.
                self.request(full, 0x8008_4E07, &mut argument, &[2, 21, 40, 59]).1
            }
            11..14 => self.buffer_copy(),
            14 | 15 => {
                let (src, dst) = (self.handle(), self.handle());
                let length = self.numbers.length();
                let offsets = [self.numbers.below(9000), self.numbers.below(9000)];
                let words = [src, dst, length, offsets[0], offsets[1]];
                argument[..5].copy_from_slice(&words);
                self.request(full, 0x8028_4E17, &mut argument, &[]).1
            }
            16 => self.start_or_wait(),
            17 => {
                argument[0] = self.handle();
                argument[1] = self.numbers.below(9000);
                argument[2] = self.numbers.below(1 << 10);
                argument[3] = self.numbers.length();
                self.request(full, 0x8020_4E1C, &mut argument, &[]).1
            }
            18 => {
                let fd = self.numbers.of(&[full, misc]);
                argument[0] = self.numbers.below(4) | self.numbers.below(10) << 32;
                argument[1] = self.numbers.below(12);
                if self.numbers.below(2) == 0 {
                    argument[2] = self.numbers.next();
                    return self.request(fd, 0x4050_4E56, &mut argument, &[]).1;
                }
                self.request(fd, 0xC050_4E55, &mut argument, &[]).1
            }
            _ if self.numbers.below(8) == 0 => self.map_or_unmap(),
            _ => self.rare(),
        }
    }

    /// Maps a chunk and touches it, takes a mapping away, or copies a descriptor.
    fn map_or_unmap(&mut self) -> u64 {
        let mut argument = [0; WORDS];
        match self.numbers.below(8) {
            0 => {
                // The close of the copy is one too many: the process is detached, its memory gone.
                let copy = self.door.dup(self.full);
                argument[0] = self.handle();
                let (_, state) = self.request(copy.0 as i32, 0x8008_4E1D, &mut argument, &[4]);
                let closed = [self.door.close(copy.0 as i32), self.door.close(self.full)];
                self.handles.clear();
                self.full = self.door.open(libc::O_RDWR).0 as i32;
                closed.iter().fold(state, |state, closed| hash(state, &closed.1.to_le_bytes()))
            }
            1 | 2 if !self.maps.is_empty() => {
                let at = self.numbers.below(self.maps.len() as u64) as usize;
                let (address, length) = self.maps.swap_remove(at);
                let unmapped = self.door.munmap(address, length);
                let gone = self.door.peek(address);
                hash(hash(0, &unmapped.0.to_le_bytes()), &gone.err().unwrap_or(0).to_le_bytes())
            }
            _ => {
                argument[0] = self.handle();
                let (answered, state) = self.request(self.full, 0x8008_4E1D, &mut argument, &[4]);
                let (offset, size) = (argument[2], argument[5]);
                // Beyond the chunk is raw memory, which depends on who asks.
                if answered != (0, 0) || size == 0 {
                    return state;
                }
                let fd = if self.numbers.below(10) == 0 { self.misc } else { self.full };
                let (writes, inside) = (self.numbers.below(4) != 0, self.numbers.below(3) * 4096);
                let offset = offset + if inside < size { inside } else { 0 };
                let mapped = self.door.mmap(fd, size, writes, false, offset);
                let mut state = hash(hash(state, &mapped.1.to_le_bytes()), &[u8::from(mapped.0 < 0)]);
                if mapped.0 < 0 {
                    return state;
                }
                let address = mapped.0 as u64;
                let place = address + self.numbers.below(size);
                let value = self.numbers.next() as u8;
                let seen = [self.door.peek(address), self.door.poke(place, value).map(|()| 0), self.door.peek(place)];
                for seen in seen {
                    state = hash(state, &seen.map_or_else(|signal| -signal, i32::from).to_le_bytes());
                }
                self.maps.push((address, size));
                if self.maps.len() > 16 {
                    let (address, length) = self.maps.swap_remove(0);
                    self.door.munmap(address, length);
                }
                state
            }
        }
    }

    /// Allocates in one of the four forms.
    fn alloc(&mut self) -> u64 {
        let mut argument = [0; WORDS];
        let mut handle = 0_u64;
        let place = if self.numbers.below(50) == 0 { BAD } else { &raw mut handle as u64 };
        let host = u64::from(self.numbers.below(4) == 0);
        let align = if self.numbers.below(6) == 0 { self.numbers.of(&[64, 8192, 12_288, 1 << 20, 1 << 31]) } else { 0 };
        let (channel, core) = (self.numbers.below(5), self.numbers.below(9));
        let category = self.numbers.of(&[1, 2, 7, 8, 9, 11, 12, 15, 17, 77]);
        argument[0] = self.numbers.length();
        let (number, pointer) = match self.numbers.below(8) {
            0 => {
                argument[1..4].copy_from_slice(&[host | channel << 32, core << 32, place]);
                (0x8008_4E15, 3)
            }
            1 => {
                argument[1..5].copy_from_slice(&[align, host | channel << 32, core << 32, place]);
                (0x8008_4E66, 4)
            }
            form => {
                argument[1..6].copy_from_slice(&[align, host | channel << 32, core << 32, category, place]);
                (if form == 2 { 0x8030_4E66 } else { 0x8038_4E66 }, 5)
            }
        };
        let (answered, state) = self.request(self.full, number, &mut argument, &[pointer]);
        let handle = std::hint::black_box(handle);
        if answered == (0, 0) {
            self.handles.push(handle);
        }
        hash(state, &handle.to_le_bytes())
    }

    /// Copies between a buffer and a chunk.
    fn buffer_copy(&mut self) -> u64 {
        let mut argument = [0; WORDS];
        let into = self.numbers.below(2);
        let length = self.numbers.length().min(BUFFER as u64 + 1);
        let used = (length as usize).min(BUFFER);
        if into == 1 {
            let value = self.numbers.next() as u8;
            self.buffer[..used].fill(value);
        }
        let address = if self.numbers.below(40) == 0 { BAD } else { self.buffer.as_mut_ptr() as u64 };
        argument[..5].copy_from_slice(&[self.handle(), address, length, self.numbers.below(9000), into]);
        let (answered, state) = self.request(self.full, 0xC028_4E18, &mut argument, &[1]);
        // Some bytes are as good as all: a hash of megabytes would be all there is to this test.
        let seen = if answered == (0, 0) { &std::hint::black_box(&self.buffer)[..used.min(512)] } else { &[] };
        hash(state, seen)
    }

    /// Starts an asynchronous copy, or waits for one.
    fn start_or_wait(&mut self) -> u64 {
        let mut argument = [0; WORDS];
        let (src, dst) = (self.handle(), self.handle());
        argument[..2].copy_from_slice(&[src, dst]);
        if self.numbers.below(3) == 0 {
            argument[2] = self.numbers.of(&[self.wait, 1, 2, 3]);
            return self.request(self.full, 0x4018_4E6D, &mut argument, &[]).1;
        }
        argument[2] = self.numbers.length();
        argument[6] = self.numbers.of(&[u64::from(u32::MAX), self.wait, 0, 5]);
        let (answered, state) = self.request(self.full, 0xC038_4E6C, &mut argument, &[]);
        if answered == (0, 0) {
            self.wait = argument[6] >> 32;
        }
        state
    }

    /// What programs do rarely: ask who they talk to, open again, reset cores, ask for what is not there.
    fn rare(&mut self) -> u64 {
        let mut argument = [0; WORDS];
        let fd = self.numbers.of(&[self.full, self.misc]);
        match self.numbers.below(8) {
            0 => self.request(fd, 0x4008_4E64, &mut argument, &[]).1,
            1 => self.request(fd, 0x8018_4E6E, &mut argument, &[]).1,
            2 => self.request(fd, 0xC104_4E73, &mut argument, &[]).1,
            3 => {
                let nr = self.numbers.below(256) as u32;
                if nr == 0x7C {
                    // Zero-copy of length 0 is not survived.
                    return 0;
                }
                self.request(fd, 0x0000_4E00 | nr, &mut argument, &[]).1
            }
            4 => {
                argument[0] = self.numbers.below(8);
                // The process id is in the upper half.
                self.request(self.full, 0x8008_4E67, &mut argument, &[0]).1
            }
            5 => self.request(self.full, 0x8008_4E68, &mut argument, &[]).1,
            6 if self.numbers.below(40) == 0 => {
                // Everything goes back, as at every close.
                let closed = self.door.close(self.full);
                self.handles.clear();
                self.full = self.door.open(libc::O_RDWR).0 as i32;
                hash(u64::from(self.full >= 0), &closed.0.to_le_bytes())
            }
            _ => {
                let again = self.door.open(libc::O_WRONLY);
                let closed = self.door.close(again.0 as i32);
                hash(u64::from(again.0 >= 0), &closed.0.to_le_bytes())
            }
        }
    }
}
