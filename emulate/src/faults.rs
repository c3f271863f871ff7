//! Failures on request: `--fail REQUEST:N:ERRNO`.

use std::cell::Cell;
use std::str::FromStr;

use nrt_sim::request;

use crate::output::errno_number;

/// The N-th request of a kind fails.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    name: String,
    /// Which one, from 1; 0 means every one.
    nth: u64,
    errno: i32,
}

/// All of them, with what was seen so far.
pub(crate) struct Faults(Vec<(Fault, Cell<u64>)>);

/// Calls that can fail and are not requests.
const OTHERS: [&str; 2] = ["OPEN", "MMAP"];

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        let [name, nth, errno] = parts[..] else {
            return Err("wants REQUEST:N:ERRNO, for instance MEM_ALLOC_V2MT64:3:ENOMEM".into());
        };
        let name = name.to_ascii_uppercase();
        if !OTHERS.contains(&&*name) && request::named(&name).next().is_none() {
            return Err(format!("there is no request {name}"));
        }
        let nth = if nth == "*" { Some(0) } else { nth.parse::<u64>().ok().filter(|nth| *nth != 0) };
        let nth = nth.ok_or("N is a number from 1, or * for every request")?;
        let errno = errno_number(errno).ok_or_else(|| format!("{errno} is neither an errno's name nor its number"))?;
        Ok(Self { name, nth, errno })
    }
}

impl Faults {
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        Self(faults.into_iter().map(|fault| (fault, Cell::new(0))).collect())
    }

    /// The errno that a call is to fail with.
    pub(crate) fn errno(&self, name: &str) -> Option<i32> {
        let mut found = None;
        for (fault, seen) in self.0.iter().filter(|(fault, _)| fault.name == name) {
            seen.set(seen.get() + 1);
            if fault.nth == 0 || seen.get() == fault.nth {
                found = Some(fault.errno);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_fails_once() {
        let faults = Faults::new(vec!["MEM_FREE:2:EINVAL".parse().unwrap(), "open:*:16".parse().unwrap()]);
        let seen: Vec<_> = (0..3).map(|_| faults.errno("MEM_FREE")).collect();
        assert_eq!(seen, [None, Some(libc::EINVAL), None]);
        assert_eq!([faults.errno("OPEN"), faults.errno("OPEN")], [Some(libc::EBUSY); 2]);
        for bad in ["MEM_FREE", "NO_SUCH:1:EIO", "MEM_FREE:x:EIO", "MEM_FREE:0:EIO", "MEM_FREE:1:EWHAT", "MEM_FREE:1:0"] {
            assert!(bad.parse::<Fault>().is_err(), "{bad}");
        }
    }
}
