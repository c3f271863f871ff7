//! Views and the storages they share: slices, attached buffers, sizes without bytes.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

use nrt_core::{Access, Cause, Location, Placement, Status, Tensor, Usage};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::TestDriver;

use crate::books::TENSORS;
use crate::world::{Outcome, World};

/// What backs a storage.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Memory of the driver's.
    Dmem(Location),
    /// Host memory of the runtime.
    Plain,
    /// A buffer of the application, which gets it back.
    Attached(NonNull<u8>),
    /// A size without bytes.
    Nothing,
}

/// A storage, kept by its views.
pub(crate) struct Store {
    pub(crate) vnc: u32,
    pub(crate) kind: Kind,
    pub(crate) bytes: u64,
    /// All bytes, when they are known.
    pub(crate) content: Option<Vec<u8>>,
    /// Device address, of memory of the driver's.
    pub(crate) address: u64,
}

/// A view.
pub(crate) struct Held<'r> {
    pub(crate) tensor: Tensor<'r, TestDriver, LinuxHooks>,
    /// No two views of a round have the same.
    pub(crate) id: u64,
    pub(crate) store: Option<Rc<RefCell<Store>>>,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) completions: u64,
}

impl Held<'_> {
    pub(crate) fn kind(&self) -> Option<Kind> {
        self.store.as_ref().map(|store| store.borrow().kind)
    }

    /// Whether it is memory the driver knows.
    pub(crate) fn is_dmem(&self) -> bool {
        matches!(self.kind(), Some(Kind::Dmem(_)))
    }

    pub(crate) fn vnc(&self) -> u32 {
        self.store.as_ref().map_or(0, |store| store.borrow().vnc)
    }

    pub(crate) fn shares_with(&self, other: &Self) -> bool {
        matches!((&self.store, &other.store), (Some(one), Some(two)) if Rc::ptr_eq(one, two))
    }

    /// The bytes of the view, when they are known.
    pub(crate) fn content(&self) -> Option<Vec<u8>> {
        let store = self.store.as_ref()?.borrow();
        store.content.as_ref().map(|bytes| bytes[self.offset as usize..][..self.bytes as usize].to_vec())
    }

    /// Bytes were written at `start`. What covers a storage makes all of it known.
    pub(crate) fn wrote(&self, start: u64, bytes: &[u8]) {
        let Some(store) = &self.store else { return };
        let store = &mut *store.borrow_mut();
        let at = self.offset + start;
        if let Some(content) = &mut store.content {
            content[at as usize..][..bytes.len()].copy_from_slice(bytes);
        } else if at == 0 && bytes.len() as u64 == store.bytes && store.kind != Kind::Nothing {
            store.content = Some(bytes.to_vec());
        }
    }

    /// Nobody knows what is in the storage.
    pub(crate) fn forget(&self) {
        if let Some(store) = &self.store {
            store.borrow_mut().content = None;
        }
    }
}

impl<'r> World<'r> {
    pub(crate) fn hold(&mut self, tensor: Tensor<'r, TestDriver, LinuxHooks>, store: Option<Rc<RefCell<Store>>>, offset: u64) {
        self.next_id += 1;
        let bytes = tensor.bytes();
        self.tensors.push(Held { tensor, id: self.next_id, store, offset, bytes, completions: 0 });
    }

    /// Storages that live.
    pub(crate) fn stores(&self) -> usize {
        // Each storage counts once, at the first of its views.
        let first = |at: usize| !self.tensors[..at].iter().any(|other| self.tensors[at].shares_with(other));
        (0..self.tensors.len()).filter(|at| self.tensors[*at].store.is_some() && first(*at)).count()
    }

    /// A view less. With the last one of a storage its memory goes, or the buffer is the application's again.
    pub(crate) fn let_go(&mut self, store: Option<Rc<RefCell<Store>>>) {
        let Some(store) = store.and_then(Rc::into_inner).map(RefCell::into_inner) else { return };
        match store.kind {
            Kind::Dmem(location) => {
                let core = self.flat(store.vnc, 0);
                self.books[core].remove(Usage::Tensor, location, store.bytes);
            }
            Kind::Attached(memory) => {
                let memory = NonNull::slice_from_raw_parts(memory, store.bytes as usize);
                // SAFETY: a leaked box of this size, which no view uses any more.
                let buffer = unsafe { Box::from_raw(memory.as_ptr()) };
                assert!(store.content.is_none_or(|content| content == *buffer), "bytes of a buffer");
            }
            Kind::Plain | Kind::Nothing => {}
        }
    }

    /// A view of a view.
    pub(crate) fn slice(&mut self) -> usize {
        let Some(index) = self.rng.index(self.tensors.len()) else { return 0 };
        let held = &self.tensors[index];
        let (offset, bytes, status) = match self.rng.below(8) {
            0 => (0, 0, Some(Status::Invalid)),
            1 => (held.bytes, 1, Some(Status::Invalid)),
            2 => (1, held.bytes, Some(Status::Invalid)),
            _ if held.bytes == 0 => (0, 1, Some(Status::Invalid)),
            _ => {
                let offset = self.rng.below(held.bytes);
                (offset, 1 + self.rng.below(held.bytes - offset), None)
            }
        };
        let full = (self.tensors.len() == TENSORS).then_some(Status::Resource);
        let held = self.tensors.swap_remove(index);
        let core = self.flat(held.vnc(), 0);
        let outcome = self.forward(status.or(full), || held.tensor.slice(offset, bytes, "slice"));
        let (store, start) = (held.store.clone(), held.offset + offset);
        self.tensors.push(held);
        if let Outcome::Done(tensor) = outcome {
            self.hold(tensor, store, start);
            self.counts.slices += 1;
        }
        core
    }

    /// Gives a view another storage, or none.
    pub(crate) fn exchange(&mut self) -> usize {
        let Some(index) = self.rng.index(self.tensors.len()) else { return 0 };
        let full = self.stores() == TENSORS;
        let mut held = self.tensors.swap_remove(index);
        let core = self.flat(held.vnc(), 0);
        let bytes = if self.rng.once_in(10) { 0 } else { 1 + self.rng.below(3000) };
        let expected = if bytes == 0 { Some(Status::Invalid) } else { full.then_some(Status::Resource) };
        let kind = match self.rng.below(3) {
            0 => None,
            1 => Some(Kind::Nothing),
            _ => {
                let buffer = Box::leak(vec![0_u8; bytes as usize].into_boxed_slice());
                Some(Kind::Attached(NonNull::from(buffer).cast()))
            }
        };
        let change = |held: &mut Held<'_>| match kind {
            None => held.tensor.detach(),
            // SAFETY: the buffer is leaked; it is taken back when the last view of it is gone.
            Some(Kind::Attached(memory)) => unsafe { held.tensor.attach(memory, bytes) },
            Some(_) => held.tensor.attach_size_only(bytes),
        };
        if kind.is_some() && expected.is_some() {
            self.forward(expected, || change(&mut held));
            if let Some(Kind::Attached(memory)) = kind {
                // SAFETY: as leaked above; the runtime has not taken it.
                drop(unsafe { Box::from_raw(NonNull::slice_from_raw_parts(memory, bytes as usize).as_ptr()) });
            }
        } else {
            self.teardown(|| change(&mut held).unwrap());
            let content = matches!(kind, Some(Kind::Attached(_))).then(|| vec![0; bytes as usize]);
            let store = kind.map(|kind| Rc::new(RefCell::new(Store { vnc: 0, kind, bytes, content, address: 0 })));
            let before = std::mem::replace(&mut held.store, store);
            (held.offset, held.bytes, held.completions) = (0, if kind.is_some() { bytes } else { 0 }, 0);
            self.let_go(before);
            self.counts.exchanges += 1;
        }
        assert_eq!(held.tensor.bytes(), held.bytes);
        self.tensors.push(held);
        core
    }

    /// Where a view is, and what it counts.
    pub(crate) fn look_at_view(&mut self) -> usize {
        let Some(index) = self.rng.index(self.tensors.len()) else { return 0 };
        let held = self.tensors.swap_remove(index);
        let address = held.store.as_ref().filter(|_| held.is_dmem()).map(|store| store.borrow().address);
        match (address, held.tensor.address()) {
            (Some(base), Ok(address)) => assert_eq!(address, base + held.offset),
            (None, Err(error)) => assert_eq!(error.status, Status::Invalid),
            (expected, told) => panic!("address {expected:x?}, told {told:x?}"),
        }
        if held.kind() == Some(Kind::Dmem(Location::Device)) {
            let (told, bytes) = (held.tensor.device_allocation().unwrap(), held.store.as_ref().unwrap().borrow().bytes);
            assert_eq!((told.physical_address, told.size as u64), (address.unwrap(), bytes));
        } else {
            let expected = if held.store.is_some() { Cause::NotDeviceMemory } else { Cause::NoStorage };
            assert_eq!(held.tensor.device_allocation().unwrap_err().cause, expected);
        }
        let bytes_are_there = held.kind().is_some_and(|kind| kind != Kind::Nothing);
        let expected = (!bytes_are_there).then_some(Status::Invalid);
        if let (Outcome::Done(base), Some(content)) = (self.forward(expected, || held.tensor.map()), held.content()) {
            // SAFETY: the mapping spans the view; nobody writes to it meanwhile.
            assert_eq!(unsafe { base.read() }, content[0], "mapped");
        }
        if held.store.is_some() {
            // Somebody who only reads is in no reader's way.
            let mark = held.tensor.begin(Access::Read).unwrap();
            self.read_tensor(&held);
            drop(mark);
        }
        assert_eq!(held.tensor.completions().unwrap(), held.completions);
        held.tensor.wait_completed(0, held.completions).unwrap();
        assert_eq!(held.tensor.wait_completed(0, held.completions + 1).unwrap_err().status, Status::Timeout);
        let core = self.flat(held.vnc(), 0);
        self.tensors.push(held);
        core
    }
}

/// Where the memory of a new tensor lies.
pub(crate) fn kind_of(placement: Placement) -> Kind {
    match placement {
        Placement::Device => Kind::Dmem(Location::Device),
        Placement::Host => Kind::Dmem(Location::Host),
        Placement::Virtual => Kind::Plain,
    }
}
