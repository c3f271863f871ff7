//! Where a path leads, as the thread sees it that uses the path: through the host's links and the driver's.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::arguments::Arguments;
use crate::nodes::{self, Node, Step};
use crate::seccomp::Notification;
use crate::supervisor::Supervisor;

/// Links that the kernel follows in one path.
const LINKS: u32 = 40;

/// Last names of paths that may lead to a directory in which the driver has something.
const SHARED: [&[u8]; 6] = [b"dev", b"class", b"virtual", b"module", b".", b".."];

/// Whether the text of a path alone says that it may be one of ours.
fn is_of_interest(text: &[u8]) -> bool {
    let contains = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
    let end = text.iter().rposition(|&byte| byte != b'/').map_or(0, |at| at + 1);
    let last = text[..end].rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    SHARED.contains(&last)
        || contains(b"neuron")
        || text.starts_with(b"/dev/fd/")
        || text == nodes::DRIVERS.as_bytes()
        || (text.starts_with(b"/proc/") && [&b"/fd/"[..], b"/cwd", b"/root"].into_iter().any(contains))
}

/// The descriptor that a path below `/proc/PID` names.
pub(crate) fn descriptor(path: &Path) -> Option<(u32, RawFd)> {
    let parts: Vec<&str> = path.to_str()?.split('/').collect();
    let (["", "proc", pid, "fd", fd] | ["", "proc", pid, "task", _, "fd", fd]) = parts[..] else { return None };
    Some((pid.parse().ok()?, fd.parse().ok()?))
}

/// The process whose current directory a path below `/proc/PID` names.
pub(crate) fn current_directory(path: &Path) -> Option<u32> {
    let parts: Vec<&str> = path.to_str()?.split('/').collect();
    let (["", "proc", pid, "cwd"] | ["", "proc", _, "task", pid, "cwd"]) = parts[..] else { return None };
    pid.parse().ok()
}

impl Supervisor {
    /// Where the path of a call leads, if that may be one of ours; or the errno with which it leads nowhere.
    pub(crate) fn leads_to(
        &self,
        call: &Notification,
        pid: u32,
        arguments: &Arguments,
        text: &[u8],
    ) -> Option<Result<PathBuf, i32>> {
        let (tid, asked) = (call.tid, Path::new(OsStr::from_bytes(text)));
        let scope = arguments.scope;
        let path = if scope.root { asked.strip_prefix("/").unwrap_or(asked) } else { asked };
        let bounded = scope.root || scope.beneath;
        if bounded && (path.is_absolute() || path.components().any(|part| part == Component::ParentDir)) {
            // The kernel refuses what leaves the directory, and nothing of ours needs such a path.
            return None;
        }
        let (absolute, here) = (path.is_absolute(), arguments.directory == libc::AT_FDCWD);
        let start = match arguments.directory {
            _ if absolute => format!("/proc/{tid}/root"),
            libc::AT_FDCWD => format!("/proc/{tid}/cwd"),
            fd => format!("/proc/{tid}/fd/{fd}"),
        };
        let mut interest = is_of_interest(text);
        let mut base = None;
        if !absolute && (interest || !here || self.tree.is_used()) {
            let place = fs::read_link(&start).ok()?;
            let shown = self.tree.shown(&place);
            interest |= shown.is_some();
            base = Some(shown.unwrap_or(place));
        }
        if !interest {
            let place = Path::new(&start).join(path.strip_prefix("/").unwrap_or(path));
            interest = match fs::read_link(&place) {
                Ok(_) => arguments.follow,
                // A link on the way may lead to where the host has nothing.
                Err(error) => error.kind() == io::ErrorKind::NotFound && place.parent().is_some_and(|above| !above.exists()),
            };
        }
        if !interest {
            return None;
        }
        let base = match base {
            _ if absolute => PathBuf::from("/"),
            Some(base) => base,
            None => fs::read_link(&start).ok()?,
        };
        let root = fs::read_link(format!("/proc/{tid}/root")).ok()?;
        let base = base.strip_prefix(&root).map(|inside| Path::new("/").join(inside)).unwrap_or(base);
        let led = self.walk((pid, tid), &base, path, arguments)?;
        Some(led.and_then(|end| if bounded && !end.starts_with(&base) { Err(libc::EXDEV) } else { Ok(end) }))
    }

    /// Whether there is an attribute.
    fn is_file(&self, path: &str) -> bool {
        matches!(nodes::node(&self.world, path), Some(Node::File(..)))
    }

    /// Walks from a directory along a path.
    fn walk(&self, (pid, tid): (u32, u32), base: &Path, path: &Path, arguments: &Arguments) -> Option<Result<PathBuf, i32>> {
        let parts = |path: &Path| -> Vec<OsString> {
            let names = path.components().filter_map(|part| match part {
                Component::ParentDir => Some("..".into()),
                Component::Normal(name) => Some(name.to_owned()),
                _ => None,
            });
            names.collect()
        };
        let directory = path.as_os_str().as_bytes().ends_with(b"/");
        let follow = arguments.follow || directory;
        let mut links = if arguments.scope.no_links { 0 } else { LINKS };
        let mut at = base.to_owned();
        let mut rest = parts(path);
        rest.reverse();
        while let Some(part) = rest.pop() {
            let last = rest.is_empty();
            if part == ".." {
                at.pop();
                continue;
            }
            if at == Path::new("/proc") && (part == "self" || part == "thread-self") {
                at.push(pid.to_string());
                if part == "thread-self" {
                    at.extend(["task", &tid.to_string()]);
                }
                continue;
            }
            let next = at.join(&part);
            if last && !follow {
                return Some(Ok(next));
            }
            let target = match next.to_str().map_or(Step::Host, |next| nodes::step(&self.world, next)) {
                Step::Own if last && directory && self.is_file(next.to_str()?) => return Some(Err(libc::ENOTDIR)),
                Step::Own => None,
                Step::Device if last && !directory => None,
                Step::Device => return Some(Err(libc::ENOTDIR)),
                Step::Link(target) => Some(target),
                Step::Host => match descriptor(&next) {
                    Some((owner, fd)) => match self.name_of(owner, fd) {
                        Some(name) => Some(name.into()),
                        // Whatever it is, the kernel knows the way to it.
                        None if last => return None,
                        None => Some(fs::read_link(&next).ok().filter(|target| target.is_absolute())?),
                    },
                    None => fs::read_link(Path::new(&format!("/proc/{tid}/root")).join(next.strip_prefix("/").ok()?)).ok(),
                },
            };
            let Some(target) = target else {
                at = next;
                continue;
            };
            if links == 0 {
                return Some(Err(libc::ELOOP));
            }
            links -= 1;
            let target = self.tree.shown(&target).unwrap_or(target);
            if target.is_absolute() {
                at = PathBuf::from("/");
            }
            rest.extend(parts(&target).into_iter().rev());
        }
        Some(Ok(at))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{current_directory, descriptor, is_of_interest};

    #[test]
    fn what_may_be_ours_is_seen_by_its_text() {
        for text in ["/dev/neuron0", "/dev", "/dev/", "/dev/.", "..", "/sys/class/", "/proc/self/fd/7", "/dev/fd/7", "a/neuron"] {
            assert!(is_of_interest(text.as_bytes()), "{text}");
        }
        for text in ["/dev/null", "/etc/passwd", "/", "", "dev/x", "/proc/self/status"] {
            assert!(!is_of_interest(text.as_bytes()), "{text}");
        }
        assert!(is_of_interest(b"/tmp/\xff/../../dev/neuron0"));
    }

    #[test]
    fn names_in_proc_are_told_apart() {
        assert_eq!(descriptor(Path::new("/proc/7/fd/3")), Some((7, 3)));
        assert_eq!(descriptor(Path::new("/proc/7/task/8/fd/3")), Some((7, 3)));
        assert_eq!(descriptor(Path::new("/proc/7/fdinfo/3")), None);
        assert_eq!(current_directory(Path::new("/proc/7/cwd")), Some(7));
        assert_eq!(current_directory(Path::new("/proc/7/task/8/cwd")), Some(8));
    }
}
