//! Tensors of every placement.

use nrt_core::{Arch, Location, Placement, Status, Usage};

use crate::books::TENSORS;
use crate::world::{Held, Outcome, World};

impl World<'_> {
    pub(crate) fn tensor_or_drop(&mut self) -> usize {
        let grow = if self.growing { 2 } else { 1 };
        if self.rng.below(3) < grow { self.make_tensor() } else { self.drop_tensor() }
    }

    fn make_tensor(&mut self) -> usize {
        let vnc = self.any_vnc();
        let placement = self.rng.pick(&[Placement::Device, Placement::Device, Placement::Host, Placement::Virtual]);
        let bytes = if self.rng.once_in(30) { 0 } else { 1 + self.rng.below(6000) };
        let expected = if placement == Placement::Host && self.runtime.arch() == Arch::Cayman {
            Some(Status::Resource)
        } else if bytes == 0 {
            Some(Status::Invalid)
        } else if self.tensors.len() == TENSORS || (placement != Placement::Virtual && self.free_nodes() == 0) {
            Some(Status::Resource)
        } else {
            None
        };
        let runtime = self.runtime;
        let core = self.flat(vnc, 0);
        if let Outcome::Done(tensor) = self.forward(expected, || runtime.core(vnc)?.tensor(placement, bytes, "random")) {
            if let Some(location) = location(placement) {
                self.books[core].add(Usage::Tensor, location, bytes);
            }
            self.tensors.push(Held { tensor, vnc, placement, bytes, content: None });
        }
        core
    }

    pub(crate) fn drop_tensor(&mut self) -> usize {
        let Some(index) = self.rng.index(self.tensors.len()) else { return 0 };
        let Held { tensor, vnc, placement, bytes, .. } = self.tensors.swap_remove(index);
        self.teardown(|| drop(tensor));
        let core = self.flat(vnc, 0);
        if let Some(location) = location(placement) {
            self.books[core].remove(Usage::Tensor, location, bytes);
        }
        core
    }

    /// Writes, reads or copies.
    pub(crate) fn tensor_bytes(&mut self) -> usize {
        let Some(index) = self.rng.index(self.tensors.len()) else { return 0 };
        let mut held = self.tensors.swap_remove(index);
        match self.rng.below(6) {
            0 => self.copy_tensor(&mut held),
            1 => {
                let past = held.bytes + self.rng.below(2);
                self.forward(Some(Status::Invalid), || held.tensor.write(past, &[1]));
            }
            2 | 3 => self.write_tensor(&mut held),
            _ => self.read_tensor(&held),
        }
        let core = self.flat(held.vnc, 0);
        self.tensors.push(held);
        core
    }

    fn write_tensor(&mut self, held: &mut Held<'_>) {
        let value = self.rng.next() as u8;
        let (start, length) = match &held.content {
            None => (0, held.bytes),
            Some(_) => {
                let start = self.rng.below(held.bytes);
                (start, 1 + self.rng.below(held.bytes - start))
            }
        };
        let bytes: Vec<u8> = (0..length).map(|at| value.wrapping_mul(31).wrapping_add(at as u8)).collect();
        if let Outcome::Done(()) = self.forward(None, || held.tensor.write(start, &bytes)) {
            let content = held.content.get_or_insert_with(|| vec![0; held.bytes as usize]);
            content[start as usize..][..length as usize].copy_from_slice(&bytes);
        }
    }

    fn read_tensor(&mut self, held: &Held<'_>) {
        let mut back = vec![0; held.bytes as usize];
        let result = self.forward(None, || held.tensor.read(0, &mut back));
        if let (Outcome::Done(()), Some(content)) = (result, &held.content) {
            assert!(back == *content, "bytes of a tensor");
        }
    }

    /// From `held` to another one: two device tensors must lie on one HBM.
    fn copy_tensor(&mut self, held: &mut Held<'_>) {
        let Some(index) = self.rng.index(self.tensors.len()) else { return };
        let mut target = self.tensors.swap_remove(index);
        let length = held.bytes.min(target.bytes);
        let runtime = self.runtime;
        let channel = |vnc: u32| runtime.core(vnc).unwrap().default_channel().unwrap();
        let apart = held.placement != Placement::Virtual
            && target.placement != Placement::Virtual
            && channel(held.vnc) != channel(target.vnc);
        let expected = apart.then_some(Status::Invalid);
        if let Outcome::Done(()) = self.forward(expected, || held.tensor.copy_to(0, &target.tensor, 0, length)) {
            let length = length as usize;
            match (&held.content, &mut target.content) {
                (Some(from), Some(to)) => to[..length].copy_from_slice(&from[..length]),
                (Some(from), to) if target.bytes == length as u64 => *to = Some(from[..length].to_vec()),
                (_, to) => *to = None,
            }
        }
        self.tensors.push(target);
    }
}

/// Where the memory of a tensor lies, if it is the driver's.
fn location(placement: Placement) -> Option<Location> {
    match placement {
        Placement::Device => Some(Location::Device),
        Placement::Host => Some(Location::Host),
        Placement::Virtual => None,
    }
}
