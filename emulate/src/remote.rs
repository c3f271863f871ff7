//! Memory of the supervised processes.

use libc::{c_void, iovec};

const PAGE: u64 = 4096;
/// Pieces of one transfer: a page each, so that what is not mapped costs no more than its own page.
const PIECES: usize = 64;

/// One direction of a transfer.
#[derive(Clone, Copy)]
enum Direction {
    Read,
    Write,
}

/// Copies memory of a thread's process to `to`, and answers how many bytes at the end could not be read.
pub(crate) fn read(tid: u32, address: u64, to: &mut [u8]) -> u64 {
    // SAFETY: the slice is exclusively ours.
    unsafe { read_to(tid, address, to.as_mut_ptr(), to.len() as u64) }
}

/// Copies `from` to memory of a thread's process, and answers how many bytes at the end could not be written.
pub(crate) fn write(tid: u32, address: u64, from: &[u8]) -> u64 {
    // SAFETY: the slice is readable.
    unsafe { write_from(tid, address, from.as_ptr(), from.len() as u64) }
}

/// As [`read()`], to memory that may be shared.
///
/// # Safety
/// `bytes` bytes at `to` may be written and belong to no Rust object that is in use.
pub(crate) unsafe fn read_to(tid: u32, address: u64, to: *mut u8, bytes: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe { transfer(Direction::Read, tid, address, to, bytes) }
}

/// As [`write()`], from memory that may be shared.
///
/// # Safety
/// `bytes` bytes at `from` may be read.
pub(crate) unsafe fn write_from(tid: u32, address: u64, from: *const u8, bytes: u64) -> u64 {
    // SAFETY: the caller's; the transfer only reads here.
    unsafe { transfer(Direction::Write, tid, address, from.cast_mut(), bytes) }
}

/// Moves bytes until one cannot be moved.
///
/// # Safety
/// `bytes` bytes at `local` are valid for the direction.
unsafe fn transfer(direction: Direction, tid: u32, address: u64, local: *mut u8, bytes: u64) -> u64 {
    let mut done = 0;
    while done < bytes {
        let mut pieces = [iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PIECES];
        let (mut used, mut planned) = (0, 0);
        while used < PIECES && done + planned < bytes {
            let Some(at) = address.checked_add(done + planned) else { break };
            let length = (PAGE - at % PAGE).min(bytes - done - planned);
            pieces[used] = iovec { iov_base: at as *mut c_void, iov_len: length as usize };
            planned += length;
            used += 1;
        }
        if used == 0 {
            break;
        }
        // SAFETY: `done + planned <= bytes`, so the piece lies in what the caller allows.
        let own = iovec { iov_base: unsafe { local.add(done as usize) }.cast(), iov_len: planned as usize };
        let (pid, count) = (tid as libc::pid_t, used as libc::c_ulong);
        // SAFETY: the local piece is valid for the direction; the remote ones are checked by the kernel.
        let moved = unsafe {
            match direction {
                Direction::Read => libc::process_vm_readv(pid, &own, 1, pieces.as_ptr(), count, 0),
                Direction::Write => libc::process_vm_writev(pid, &own, 1, pieces.as_ptr(), count, 0),
            }
        };
        let moved = u64::try_from(moved).unwrap_or(0);
        done += moved;
        if moved < planned {
            break;
        }
    }
    bytes - done
}

/// Reads a text that ends in a zero byte, less than `PATH_MAX` long. `None`: it is longer or not readable.
pub(crate) fn read_text(tid: u32, address: u64) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut at = address;
    while text.len() < libc::PATH_MAX as usize {
        let mut piece = [0; 256];
        let length = (PAGE - at % PAGE).min(piece.len() as u64) as usize;
        let piece = &mut piece[..length];
        let missing = read(tid, at, piece) as usize;
        let got = &piece[..length - missing];
        match got.iter().position(|&byte| byte == 0) {
            Some(end) => {
                text.extend_from_slice(&got[..end]);
                return (text.len() < libc::PATH_MAX as usize).then_some(text);
            }
            None if missing != 0 => return None,
            None => text.extend_from_slice(got),
        }
        at += length as u64;
    }
    None
}
