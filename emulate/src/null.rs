//! A supervisor that answers every request with 0 without looking at it: what emulation costs at least.

use std::io;

use crate::launch;
use crate::seccomp::Answer;

/// Serves until no supervised process is left; answers the exit status of the program.
pub(crate) fn run(child: &launch::Child) -> io::Result<i32> {
    loop {
        match child.listener.receive_within(1000)? {
            Some(call) if call.nr == libc::SYS_ioctl => child.listener.answer(call.id, Answer::Value(0)),
            Some(call) => child.listener.answer(call.id, Answer::Continue),
            None if child.listener.is_abandoned() => break,
            None => true,
        };
    }
    let mut status = 0;
    // SAFETY: one integer is written.
    unsafe { libc::waitpid(child.pid as libc::pid_t, &raw mut status, 0) };
    Ok(if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) })
}
