//! Directories that stand for those of the driver, so that programs can open them and go there.

use std::cell::RefCell;
use std::ffi::{CString, OsStr};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::stat::owner;

/// The host's directories above those of the driver.
const ABOVE: [&str; 6] = ["", "sys", "sys/class", "sys/devices", "sys/devices/virtual", "sys/module"];

/// A copy of the driver's directories that lasts as long as the emulator. They are empty: what is in them is told by the
/// emulator. Above them are links to what the host has there, so that a path with `..` leads to where it should.
#[derive(Default)]
pub(crate) struct Tree {
    /// Its place, with the lock on it.
    root: RefCell<Option<(PathBuf, Option<File>)>>,
}

/// Makes a directory that everybody may go to.
fn make(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o755)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// What the names of all trees begin with.
const NAME: &str = "nrt-emulate-";
/// Younger trees may be about to be locked.
const YOUNG: Duration = Duration::from_secs(60);

/// Takes the lock of a tree, which lasts as long as the file is open. `None`: another emulator has it.
fn lock(root: &Path) -> Option<File> {
    let file = File::open(root).ok()?;
    // SAFETY: a descriptor of ours and a number.
    let taken = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    (taken == 0).then_some(file)
}

/// Removes the trees of emulators that were killed.
fn clear(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let ours = |metadata: &fs::Metadata| metadata.is_dir() && metadata.uid() == owner().0;
        let old = |metadata: &fs::Metadata| metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|age| age > YOUNG));
        if entry.file_name().as_bytes().starts_with(NAME.as_bytes())
            && entry.metadata().is_ok_and(|metadata| ours(&metadata) && old(&metadata))
            && let Some(_lock) = lock(&entry.path())
        {
            // What cannot be removed is left where temporary files are.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Checks the place for temporary files, as far as one was asked for.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn check_place() -> Result<(), String> {
    let Some(place) = std::env::var_os("TMPDIR").map(PathBuf::from) else { return Ok(()) };
    // With a slash behind it, it is a directory or an error.
    let error = match CString::new(place.join("").as_os_str().as_bytes()) {
        Ok(_) if place.is_relative() => io::Error::other("not an absolute path"),
        // SAFETY: a C string and flags.
        Ok(inside) if unsafe { libc::access(inside.as_ptr(), libc::W_OK | libc::X_OK) } == 0 => return Ok(()),
        Ok(_) => io::Error::last_os_error(),
        Err(error) => error.into(),
    };
    Err(format!("TMPDIR: \"{}\": {error}, expected a directory that can be written, or none for /tmp", place.display()))
}

/// Makes the place of the tree, and takes its lock.
fn plant() -> io::Result<(PathBuf, Option<File>)> {
    clear(&std::env::temp_dir());
    let template = std::env::temp_dir().join(format!("{NAME}XXXXXX"));
    let mut template = CString::new(template.as_os_str().as_bytes())?.into_bytes_with_nul();
    // SAFETY: a writable C string that ends in the six characters the call replaces.
    if unsafe { libc::mkdtemp(template.as_mut_ptr().cast()) }.is_null() {
        return Err(io::Error::last_os_error());
    }
    template.pop();
    let root = PathBuf::from(OsStr::from_bytes(&template));
    let lock = lock(&root);
    fs::set_permissions(&root, Permissions::from_mode(0o755))?;
    for place in ABOVE {
        make(&root.join(place))?;
    }
    for place in ABOVE {
        let host = Path::new("/").join(place);
        for entry in fs::read_dir(&host).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if !name.as_bytes().starts_with(b"neuron") {
                // Those that lead on to the driver's directories are there.
                let _ = symlink(host.join(&name), root.join(place).join(&name));
            }
        }
    }
    Ok((root, lock))
}

impl Tree {
    /// A descriptor of the directory that stands for `path`.
    pub(crate) fn directory(&self, path: &str) -> io::Result<OwnedFd> {
        let mut root = self.root.borrow_mut();
        if root.is_none() {
            *root = Some(plant()?);
        }
        let mut place = root.as_ref().map(|(root, _)| root.clone()).unwrap_or_default();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            place.push(part);
            make(&place)?;
        }
        Ok(File::open(place)?.into())
    }

    /// Whether there is a directory of it that a program may have.
    pub(crate) fn is_used(&self) -> bool {
        self.root.borrow().is_some()
    }

    /// The path that a place in the tree stands for.
    pub(crate) fn shown(&self, place: &Path) -> Option<PathBuf> {
        let root = self.root.borrow();
        let rest = place.strip_prefix(&root.as_ref()?.0).ok()?;
        Some(Path::new("/").join(rest))
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if let Some((root, _)) = self.root.borrow().as_ref() {
            // A directory that cannot be removed is left where temporary files are.
            let _ = fs::remove_dir_all(root);
        }
    }
}
