//! Which system calls are trapped: a BPF program that looks at numbers and descriptors only.

use libc::{BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_RSH, BPF_W, c_long, sock_filter};

const ALLOW: u32 = 0x7FFF_0000;
const NOTIFY: u32 = 0x7FC0_0000;
const X86_64: u32 = 0xC000_003E;
/// Type byte of the driver's requests.
const TYPE: u32 = b'N' as u32;

/// The descriptor numbers that devices get: `first..first + WINDOW`.
pub(crate) const WINDOW: i32 = 1024;

/// Calls with a path, growth of a mapping, and copies of descriptors, which may take a device to any number: always trapped.
const ALWAYS: [c_long; 23] = [
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_creat,
    libc::SYS_chdir,
    libc::SYS_getcwd,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_mremap,
];

/// Calls that a device has no answer to and the memory file behind it has, or that change that file. Those that use its
/// position fail by themselves.
const POSITIONED: [c_long; 11] = [
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_fallocate,
    libc::SYS_ftruncate,
    libc::SYS_fchmod,
    libc::SYS_fchown,
];

/// Calls that move bytes between two descriptors, and where these are in the arguments.
const MOVING: [(c_long, [u32; 2]); 3] =
    [(libc::SYS_sendfile, [0, 1]), (libc::SYS_splice, [0, 2]), (libc::SYS_copy_file_range, [0, 2])];

fn statement(code: u32, k: u32) -> sock_filter {
    // BPF codes are 16 bits wide.
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

fn jump(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: (BPF_JMP | code | BPF_K) as u16, jt, jf, k }
}

fn load(offset: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, offset)
}

/// Low word of an argument: descriptors, commands and request numbers are 32 bits.
fn argument(index: u32) -> sock_filter {
    load(16 + 8 * index)
}

fn finish(action: u32) -> sock_filter {
    statement(BPF_RET | BPF_K, action)
}

/// Notifies when argument `index` is a descriptor of the window, else goes on behind the block.
fn in_window(index: u32, first: u32) -> Vec<sock_filter> {
    vec![argument(index), jump(BPF_JGE, first, 0, 2), jump(BPF_JGE, first + WINDOW as u32, 1, 0), finish(NOTIFY)]
}

/// The program, for devices at descriptors `first..first + WINDOW`.
pub(crate) fn program(first: i32) -> Vec<sock_filter> {
    let first = first as u32;
    let allow = vec![finish(ALLOW)];
    let mut all = vec![load(4), jump(BPF_JEQ, X86_64, 1, 0), finish(ALLOW), load(0)];
    let mut block = |nr: c_long, body: Vec<sock_filter>| {
        // Blocks are shorter than 20 instructions and end in a return.
        all.push(jump(BPF_JEQ, nr as u32, 0, body.len() as u8));
        all.extend(body);
    };
    let type_byte = vec![argument(1), statement(BPF_ALU | BPF_RSH | BPF_K, 8), statement(BPF_ALU | BPF_AND | BPF_K, 0xFF)];
    let ours = vec![jump(BPF_JEQ, TYPE, 0, 1), finish(NOTIFY), finish(ALLOW)];
    block(libc::SYS_ioctl, [in_window(0, first), type_byte, ours].concat());
    // A device may have a low number too: shared mappings of files are rare enough to look at them all.
    let file_and_shared = (libc::MAP_SHARED | libc::MAP_ANONYMOUS) as u32;
    let shared = vec![
        argument(3),
        statement(BPF_ALU | BPF_AND | BPF_K, file_and_shared),
        jump(BPF_JEQ, libc::MAP_SHARED as u32, 0, 1),
        finish(NOTIFY),
        finish(ALLOW),
    ];
    block(libc::SYS_mmap, [in_window(4, first), shared].concat());
    for nr in [libc::SYS_fstat, libc::SYS_getdents64, libc::SYS_getdents].into_iter().chain(POSITIONED) {
        block(nr, [in_window(0, first), allow.clone()].concat());
    }
    for (nr, [one, other]) in MOVING {
        block(nr, [in_window(one, first), in_window(other, first), allow.clone()].concat());
    }
    let fcntl = vec![
        argument(1),
        jump(BPF_JEQ, libc::F_DUPFD as u32, 1, 0),
        jump(BPF_JEQ, libc::F_DUPFD_CLOEXEC as u32, 0, 1),
        finish(NOTIFY),
        finish(ALLOW),
    ];
    block(libc::SYS_fcntl, fcntl);
    for nr in ALWAYS {
        block(nr, vec![finish(NOTIFY)]);
    }
    all.push(finish(ALLOW));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the program on one call.
    fn action(nr: c_long, args: [u64; 6]) -> u32 {
        let word = |offset: u32| match offset {
            0 => nr as u32,
            4 => X86_64,
            _ => args[(offset as usize - 16) / 8] as u32,
        };
        let program = program(1024);
        let (mut at, mut a) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            match u32::from(step.code) {
                code if code == BPF_LD | BPF_W | BPF_ABS => a = word(step.k),
                code if code == BPF_ALU | BPF_RSH | BPF_K => a >>= step.k,
                code if code == BPF_ALU | BPF_AND | BPF_K => a &= step.k,
                code if code == BPF_RET | BPF_K => return step.k,
                code => {
                    let taken = if code & 0xF0 == BPF_JEQ { a == step.k } else { a >= step.k };
                    at += usize::from(if taken { step.jt } else { step.jf });
                }
            }
        }
    }

    #[test]
    fn only_devices_are_trapped() {
        assert_eq!(action(libc::SYS_read, [1024, 0, 0, 0, 0, 0]), ALLOW);
        assert_eq!(action(libc::SYS_openat, [0; 6]), NOTIFY);
        for (fd, expected) in [(3, ALLOW), (1023, ALLOW), (1024, NOTIFY), (2047, NOTIFY), (2048, ALLOW), (u64::MAX, ALLOW)] {
            assert_eq!(action(libc::SYS_close, [fd, 0, 0, 0, 0, 0]), ALLOW, "close({fd}): it must not be interrupted");
            assert_eq!(action(libc::SYS_mmap, [0, 4096, 3, 2, fd, 0]), expected, "mmap({fd})");
            assert_eq!(action(libc::SYS_mmap, [0, 4096, 3, 0x22, fd, 0]), expected, "mmap({fd}, MAP_ANONYMOUS)");
            assert_eq!(action(libc::SYS_lseek, [fd, 0, 0, 0, 0, 0]), expected, "lseek({fd})");
            assert_eq!(action(libc::SYS_sendfile, [3, fd, 0, 1, 0, 0]), expected, "sendfile(3, {fd})");
            assert_eq!(action(libc::SYS_splice, [fd, 0, 3, 0, 1, 0]), expected, "splice({fd}, 3)");
            assert_eq!(action(libc::SYS_copy_file_range, [3, 0, fd, 0, 1, 0]), expected, "copy_file_range(3, {fd})");
            assert_eq!(action(libc::SYS_getdents64, [fd, 0, 0, 0, 0, 0]), expected, "getdents64({fd})");
            assert_eq!(action(libc::SYS_ioctl, [fd, 0x5401, 0, 0, 0, 0]), expected, "ioctl({fd}, TCGETS)");
            assert_eq!(action(libc::SYS_dup2, [fd, 7, 0, 0, 0, 0]), NOTIFY, "dup2({fd}, 7)");
            assert_eq!(action(libc::SYS_fcntl, [fd, 0, 0, 0, 0, 0]), NOTIFY, "fcntl({fd}, F_DUPFD)");
            assert_eq!(action(libc::SYS_fcntl, [fd, 1030, 0, 0, 0, 0]), NOTIFY, "fcntl({fd}, F_DUPFD_CLOEXEC)");
            assert_eq!(action(libc::SYS_fcntl, [fd, 1, 0, 0, 0, 0]), ALLOW, "fcntl({fd}, F_GETFD)");
        }
        for (flags, expected) in [(1, NOTIFY), (3, NOTIFY), (0x11, NOTIFY), (2, ALLOW), (0x21, ALLOW)] {
            assert_eq!(action(libc::SYS_mmap, [0, 4096, 3, flags, 3, 0]), expected, "mmap(3, flags {flags:#x})");
        }
        assert_eq!(action(libc::SYS_ioctl, [3, 0x8038_4E66, 0, 0, 0, 0]), NOTIFY);
        assert_eq!(action(libc::SYS_close_range, [3, u32::MAX.into(), 0, 0, 0, 0]), ALLOW);
    }
}
