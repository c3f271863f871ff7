//! Descriptors for a path only (`O_PATH`). The kernel lets no supervisor give one: the thread makes it itself, of a
//! descriptor that it is given.

use std::os::fd::{AsFd, OwnedFd};

use crate::arguments::arguments;
use crate::files::Told;
use crate::inject::{Failure, Stopped};
use crate::process;
use crate::remote;
use crate::seccomp::{Answer, Notification};
use crate::supervisor::Supervisor;

impl Supervisor {
    /// An `open` that is answered with a descriptor for the path of `source` only.
    pub(crate) fn open_path_only(&mut self, call: &Notification, pid: u32, source: &OwnedFd, flags: i32) -> Told {
        let refused = |errno, why| (Some(Answer::Errno(errno)), why);
        let traced = || refused(libc::EACCES, Some("traced by another program: only that one could make such a descriptor"));
        if process::is_traced(call.tid) {
            return traced();
        }
        // Where the path ends, there is an empty one.
        let empty = arguments(call).and_then(|asked| {
            let text = remote::read_text(call.tid, asked.path)?;
            Some(asked.path + text.len() as u64)
        });
        let Some(empty) = empty else { return refused(libc::EFAULT, None) };
        let numbers = self.number(pid, 0).zip(self.number(pid, 0));
        let Some((given, number)) = numbers.filter(|(given, number)| given != number) else { return refused(libc::EMFILE, None) };
        if self.listener.add_fd(call.id, source.as_fd(), given).is_err() {
            return refused(libc::EMFILE, None);
        }
        let duplicate = if flags & libc::O_CLOEXEC != 0 { libc::F_DUPFD_CLOEXEC } else { libc::F_DUPFD };
        let mut others = Vec::new();
        let result = Stopped::new(&self.listener, call).and_then(|mut stopped| {
            let mut make = |nr, [a, b, c]: [u64; 3]| {
                stopped.call(&self.listener, nr, [a, b, c, 0, 0, 0], nr == libc::SYS_fcntl, &mut others)
            };
            let how = (libc::AT_EMPTY_PATH | libc::O_CLOEXEC) as u64;
            let mut result = make(libc::SYS_open_tree, [given as u64, empty, how])?;
            if let Ok(made) = u64::try_from(result) {
                result = make(libc::SYS_fcntl, [made, duplicate as u64, number as u64])?;
                make(libc::SYS_close, [made, 0, 0])?;
            }
            make(libc::SYS_close, [given as u64, 0, 0])?;
            stopped.release(pid, result)?;
            Ok(result)
        });
        self.waiting.extend(others);
        match result {
            Ok(made) => {
                self.latest = Some(made);
                (None, None)
            }
            Err(Failure::Unable) => traced(),
            Err(Failure::Gone(status)) => {
                self.gone(call.tid, status);
                (None, Some("the thread ended meanwhile"))
            }
        }
    }
}
