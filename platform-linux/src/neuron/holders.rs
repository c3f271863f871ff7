//! Which processes have devices open.

use core::fmt;

use super::system::{KernelPath, System};

/// A process that has device nodes open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Its name, up to 15 bytes.
    pub name: heapless::String<16>,
    /// Bit i: it has `/dev/neuron<i>` open.
    pub nodes: u64,
    /// It has one of them open for reservation and discovery: only such a process holds cores for sure.
    pub misc: bool,
}

/// Processes a list has room for.
pub const MAX_HOLDERS: usize = 32;

/// Processes that have device nodes open, as far as this process may look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// The processes, this one not among them.
    pub list: heapless::Vec<Holder, MAX_HOLDERS>,
    /// Processes whose descriptors this process may not see.
    pub hidden: u32,
    /// Processes for which there was no room.
    pub more: u32,
}

impl Holders {
    /// Looks through `/proc` for processes that have one of `nodes` open (bit i for `/dev/neuron<i>`).
    #[must_use]
    pub fn of<S: System>(system: &S, nodes: u64) -> Self {
        let mut holders = Self::default();
        let own = system.pid();
        let _ = system.list(c"/proc", &mut |name| {
            if let Some(pid) = decimal(name)
                && pid != own
            {
                holders.look(system, pid, nodes);
            }
            true
        });
        holders
    }

    fn look<S: System>(&mut self, system: &S, pid: u32, nodes: u64) {
        let mut found = 0;
        let mut misc = false;
        let listed = system.list(KernelPath::new(format_args!("/proc/{pid}/fd")).as_c_str(), &mut |name| {
            let Some(fd) = decimal(name) else { return true };
            let mut target = [0; 64];
            let used = system.link(KernelPath::new(format_args!("/proc/{pid}/fd/{fd}")).as_c_str(), &mut target);
            let node = used.ok().and_then(|used| target[..used].strip_prefix(b"/dev/neuron").and_then(decimal));
            if let Some(node) = node.filter(|&node| node < 64 && nodes >> node & 1 != 0) {
                found |= 1 << node;
                misc |= write_only(system, pid, fd);
            }
            true
        });
        if listed.is_err() {
            self.hidden += 1;
        }
        if found != 0 {
            let holder = Holder { pid, name: name_of(system, pid), nodes: found, misc };
            self.more += u32::from(self.list.push(holder).is_err());
        }
    }
}

/// Whether a descriptor has the write-only bit, which the driver goes by.
fn write_only<S: System>(system: &S, pid: u32, fd: u32) -> bool {
    let mut text = [0; 128];
    let used = system.text(KernelPath::new(format_args!("/proc/{pid}/fdinfo/{fd}")).as_c_str(), &mut text).unwrap_or(0);
    let flags = text[..used].split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"flags:"));
    flags.and_then(|octal| octal.trim_ascii().last()).is_some_and(|digit| digit & 1 != 0)
}

fn name_of<S: System>(system: &S, pid: u32) -> heapless::String<16> {
    let mut text = [0; 16];
    let used = system.text(KernelPath::new(format_args!("/proc/{pid}/comm")).as_c_str(), &mut text).unwrap_or(0);
    let name = core::str::from_utf8(text[..used].trim_ascii()).unwrap_or("?");
    heapless::String::try_from(name).unwrap_or_default()
}

/// The whole of `text` as a number.
pub(super) fn decimal(text: &[u8]) -> Option<u32> {
    if text.first().is_none_or(|byte| !byte.is_ascii_digit()) {
        return None;
    }
    core::str::from_utf8(text).ok()?.parse().ok()
}

impl fmt::Display for Holders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("processes that may hold them: ")?;
        let mut separator = "";
        // Those that reserve first.
        for wanted in [true, false] {
            for holder in self.list.iter().filter(|holder| holder.misc == wanted) {
                write!(f, "{separator}{} ({})", holder.pid, holder.name)?;
                separator = ", ";
            }
        }
        if self.list.is_empty() {
            f.write_str("none found")?;
        }
        if self.more != 0 {
            write!(f, ", {} more", self.more)?;
        }
        if self.hidden != 0 {
            write!(f, "; {} processes could not be looked into", self.hidden)?;
        }
        Ok(())
    }
}
