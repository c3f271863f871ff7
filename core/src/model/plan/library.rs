//! Microcode libraries as the compiled model brings them (`kbin_ucode_lib`), and what else their set needs.

use super::ByteSource;

/// A function of a microcode library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UcodeFunction<'a> {
    /// Name, up to 63 bytes.
    pub name: &'a str,
    /// Opcode that calls it.
    pub opcode: u8,
    /// Second half of the opcode.
    pub sub_opcode: u8,
}

/// A microcode library of a model.
#[derive(Clone, Copy)]
pub struct UcodeLibrary<'a> {
    /// The image.
    pub content: &'a dyn ByteSource,
    /// Bytes of the image.
    pub bytes: u64,
    /// Flags; the low three bits reach the device.
    pub flags: u32,
    /// First processor that runs it: 0 for custom libraries, which all but the first of a set are; at most 7.
    pub cpu_id: u8,
    /// Processors that run it, 1 or 8.
    pub total_cpus: u8,
    /// What it offers. The functions on processor 0 of all libraries of a model are at most 28, all together at most 97.
    pub functions: &'a [UcodeFunction<'a>],
}

/// The descriptor queues of one pool processor, as whoever sets up the queues found them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UcodeQueue {
    /// Offset of the transmit queue.
    pub m2s_offset: u64,
    /// Offset of the receive queue.
    pub s2m_offset: u64,
}

/// An image that goes to the device beside the libraries.
#[derive(Clone, Copy)]
pub struct UcodeImage<'a> {
    /// The bytes.
    pub content: &'a dyn ByteSource,
    /// How many; not 0.
    pub bytes: u64,
    /// Alignment in bytes, 0 or a power of two.
    pub align: u64,
}

/// What a set of libraries needs besides their images (`ulib` §§1.3, 3c, 4).
#[derive(Clone, Copy)]
pub struct LibrarySupport<'a> {
    /// Image for the external memory of the pool processors; `None` = no external memory.
    pub external_memory: Option<UcodeImage<'a>>,
    /// Bytes of scratch memory; 0 = none.
    pub scratch_bytes: u64,
    /// A queue pair for each of the eight pool processors. Without them the offsets in the device table are 0 and the load
    /// says so in the log: such a set is for systems that run no custom operator.
    pub queues: Option<[UcodeQueue; 8]>,
}

impl LibrarySupport<'_> {
    /// No external memory, no scratch memory, queues unknown.
    pub const NONE: Self = Self { external_memory: None, scratch_bytes: 0, queues: None };
}
