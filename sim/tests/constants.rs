//! The constants of each architecture (`driver-abi` §17), by requests alone.

mod replay;

use std::rc::Rc;

use nrt_core::arch::Arch;
use nrt_sim::{DriverVersion, SimConfig, SimStorage};

use replay::in_process::{InProcess, Machine};
use replay::{Door, Raw};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// What the sheet says about an architecture.
struct Facts {
    arch: Arch,
    number: u32,
    bases: &'static [u64],
    hbm: u64,
    compatible: (u32, u32),
    cores: u32,
    core_map: Raw,
    first_unit: u64,
}

const FACTS: [Facts; 3] = [
    Facts {
        arch: Arch::Sunda,
        number: 2,
        bases: &[0, 0x10_0000_0000],
        hbm: 16 * GIB,
        compatible: (7, 5),
        cores: 2,
        core_map: (-1, 524),
        first_unit: 0xFFF_D000_0000,
    },
    Facts {
        arch: Arch::Cayman,
        number: 3,
        bases: &[0, 0x40_0000_0000, 0x8000_0000_0000, 0x8040_0000_0000],
        hbm: 24 * GIB,
        compatible: (11, 10),
        cores: 8,
        core_map: (0, 0),
        first_unit: 0x82_8000_0000,
    },
    Facts {
        arch: Arch::Mariana,
        number: 4,
        bases: &[0, 0x40_0000_0000, 0x8000_0000_0000, 0x8040_0000_0000],
        hbm: 36 * GIB,
        compatible: (11, 10),
        cores: 8,
        core_map: (0, 0),
        first_unit: 0x82_8000_0000,
    },
];

static STORAGES: [SimStorage<2000, 2>; 3] = [const { SimStorage::new() }; 3];

/// A process with a full descriptor.
struct Client {
    door: InProcess,
    fd: i32,
}

impl Client {
    fn new(machine: &Rc<Machine>) -> Self {
        let mut door = InProcess::new(machine, 1);
        let fd = door.open(libc::O_RDWR).0 as i32;
        Self { door, fd }
    }

    fn request(&mut self, number: u32, argument: &mut [u64]) -> Raw {
        let answered = self.door.ioctl(self.fd, number, argument.as_mut_ptr() as u64).expect("survived");
        std::hint::black_box(argument);
        answered
    }

    /// Allocates device memory and answers handle and address, or the errno.
    fn alloc(&mut self, size: u64, channel: u64) -> Result<(u64, u64), i64> {
        let mut handle = 0;
        let mut argument = [size, 0, channel << 32, 0, 9, &raw mut handle as u64, 0];
        match self.request(0x8038_4E66, &mut argument) {
            (0, 0) => {
                let handle = std::hint::black_box(handle);
                let mut info = [handle, 0, 0, 0, 0, 0];
                assert_eq!(self.request(0x8008_4E1D, &mut info), (0, 0));
                Ok((handle, info[3]))
            }
            (_, errno) => Err(errno),
        }
    }
}

#[test]
fn each_architecture_has_its_constants() {
    for (facts, storage) in FACTS.iter().zip(&STORAGES) {
        let config = SimConfig { version: DriverVersion::V2_25_4, strict: false, devices: 2, ..SimConfig::new(facts.arch) };
        let machine = Machine::new(storage, config);
        let mut client = Client::new(&machine);
        identity(facts, &mut client);
        memory(facts, &mut client);
        reservation(facts, &mut client);
    }
}

/// Identification, compatible runtimes, special windows.
fn identity(facts: &Facts, client: &mut Client) {
    let mut info = [0; 3];
    assert_eq!(client.request(0x4008_4E64, &mut info), (0, 0));
    assert_eq!(info[0] as u32, facts.number);
    assert_eq!(client.request(0x4008_4E5D, &mut info), (0, 0));
    assert_eq!((info[0] as u32, (info[0] >> 32) as u32), facts.compatible);
    let mut map = [0_u64; 129];
    let mut wanted = [map.as_mut_ptr() as u64, 16];
    assert_eq!(client.request(0xC010_4E78, &mut wanted), facts.core_map, "{}", facts.arch);
    let mut window = [1, 1, 0, 0];
    assert_eq!(client.request(0xC020_4E70, &mut window), (0, 0));
    assert_eq!((window[2], window[3]), (facts.first_unit, 4 * MIB));
}

/// Where the first chunks are, how many fit, which channels exist.
fn memory(facts: &Facts, client: &mut Client) {
    for (channel, &base) in (0..).zip(facts.bases) {
        let (large, large_pa) = client.alloc(MIB, channel).expect("room");
        let (small, small_pa) = client.alloc(512 << 10, channel).expect("room");
        assert_eq!((large_pa, small_pa), (base + 16 * MIB, base + facts.hbm - GIB), "{} channel {channel}", facts.arch);
        for handle in [small, large] {
            assert_eq!(client.request(0x8008_4E16, &mut [handle]), (0, 0));
        }
        // The main pool without the firmware's part, then the small pool.
        let fits = (facts.hbm - GIB - 16 * MIB) / GIB + 1;
        let all: Vec<(u64, u64)> = std::iter::from_fn(|| client.alloc(GIB, channel).ok()).collect();
        assert_eq!(all.len() as u64, fits, "{} channel {channel}", facts.arch);
        assert_eq!(all.last().map(|chunk| chunk.1), Some(base + facts.hbm - GIB));
        assert_eq!(client.alloc(GIB, channel), Err(12));
        for (handle, _) in all {
            assert_eq!(client.request(0x8008_4E16, &mut [handle]), (0, 0));
        }
    }
    assert_eq!(client.alloc(4096, facts.bases.len() as u64), Err(22), "{}", facts.arch);
}

/// Cores are counted through all devices.
fn reservation(facts: &Facts, client: &mut Client) {
    let count = u64::from(facts.cores);
    // All cores of both devices, by the descriptor of device 0.
    let mut mark = [0; 10];
    (mark[0], mark[1]) = (2 * count, 2 * count - 1);
    assert_eq!(client.request(0xC050_4E55, &mut mark), (0, 0));
    assert_eq!(mark[2], (1 << (2 * facts.cores)) - 1, "{}", facts.arch);
}
