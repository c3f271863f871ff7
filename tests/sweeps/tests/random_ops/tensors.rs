//! Tensors of every placement: bytes in and out.

use std::cell::RefCell;
use std::rc::Rc;

use nrt_core::{Arch, Fence, Placement, ReadPiece, Status, Tensor, Usage, WritePiece};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::TestDriver;

use crate::books::TENSORS;
use crate::views::{Held, Kind, Store, kind_of};
use crate::world::{Outcome, World};

/// Tensors of one batch at most.
const BATCH: u64 = 4;

impl World<'_> {
    pub(crate) fn tensor_or_drop(&mut self) -> usize {
        let grow = if self.growing { 6 } else { 4 };
        match (self.rng.below(9) < grow, self.rng.below(8)) {
            (false, _) => self.drop_tensor(),
            (true, 0) => self.make_empty(),
            (true, 1..4) => self.slice(),
            (true, _) => self.make_tensor(),
        }
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
        let (runtime, core) = (self.runtime, self.flat(vnc, 0));
        let of_no_core = placement == Placement::Virtual && self.rng.once_in(2);
        let make =
            || if of_no_core { runtime.host_tensor(bytes, "") } else { runtime.core(vnc)?.tensor(placement, bytes, "random") };
        if let Outcome::Done(tensor) = self.forward(expected, make) {
            let kind = kind_of(placement);
            let mut address = 0;
            if let Kind::Dmem(location) = kind {
                self.books[core].add(Usage::Tensor, location, bytes);
                address = tensor.address().unwrap();
            }
            let store = Rc::new(RefCell::new(Store { vnc, kind, bytes, content: None, address }));
            self.hold(tensor, Some(store), 0);
        }
        core
    }

    fn make_empty(&mut self) -> usize {
        let runtime = self.runtime;
        let expected = (self.tensors.len() == TENSORS).then_some(Status::Resource);
        if let Outcome::Done(tensor) = self.forward(expected, || runtime.empty_tensor("empty")) {
            self.hold(tensor, None, 0);
        }
        0
    }

    pub(crate) fn drop_tensor(&mut self) -> usize {
        let Some(index) = self.rng.index(self.tensors.len()) else { return 0 };
        let held = self.tensors.swap_remove(index);
        let core = self.flat(held.vnc(), 0);
        let Held { tensor, store, .. } = held;
        self.teardown(|| drop(tensor));
        self.let_go(store);
        core
    }

    /// Writes, fills, reads or copies.
    pub(crate) fn tensor_bytes(&mut self) -> usize {
        let Some(index) = self.rng.index(self.tensors.len()) else { return 0 };
        let held = self.tensors.swap_remove(index);
        let known = held.content().is_some();
        match self.rng.below(8) {
            0 => self.copy_tensor(&held),
            1 => {
                let past = held.bytes + self.rng.below(2);
                self.forward(Some(Status::Invalid), || held.tensor.write(past, &[1]));
            }
            2 | 3 => self.write_tensor(&held),
            4 => self.fill_tensor(&held),
            5 | 6 if !known => self.write_tensor(&held),
            _ => self.read_tensor(&held),
        }
        let core = self.flat(held.vnc(), 0);
        self.tensors.push(held);
        core
    }

    /// Part of a view, all of it when its bytes are not known.
    fn any_span(&mut self, held: &Held<'_>) -> (u64, u64) {
        if held.bytes == 0 || held.content().is_none() {
            return (0, held.bytes.max(1));
        }
        let start = self.rng.below(held.bytes);
        (start, 1 + self.rng.below(held.bytes - start))
    }

    fn any_bytes(&mut self, length: u64) -> Vec<u8> {
        let value = self.rng.next() as u8;
        (0..length).map(|at| value.wrapping_mul(31).wrapping_add(at as u8)).collect()
    }

    fn write_tensor(&mut self, held: &Held<'_>) {
        let (start, length) = self.any_span(held);
        let bytes = self.any_bytes(length);
        if let Outcome::Done(()) = self.forward(no_storage(held), || held.tensor.write(start, &bytes)) {
            held.wrote(start, &bytes);
        }
    }

    fn fill_tensor(&mut self, held: &Held<'_>) {
        let (start, length) = self.any_span(held);
        let value = self.rng.next() as u8;
        if let Outcome::Done(()) = self.forward(no_storage(held), || held.tensor.fill(start, value, length)) {
            held.wrote(start, &vec![value; length as usize]);
        }
    }

    pub(crate) fn read_tensor(&mut self, held: &Held<'_>) {
        let mut back = vec![0xD1; held.bytes.max(1) as usize];
        let result = self.forward(no_storage(held), || held.tensor.read(0, &mut back));
        match (result, held.content()) {
            (Outcome::Done(()), Some(content)) => {
                assert!(back == content, "bytes of a tensor");
                self.counts.compared += 1;
            }
            (Outcome::Done(()), None) if held.kind() == Some(Kind::Nothing) => assert!(back.iter().all(|byte| *byte == 0xD1)),
            _ => {}
        }
    }

    /// From `held` to another one: two device tensors must lie on one HBM.
    fn copy_tensor(&mut self, held: &Held<'_>) {
        let Some(index) = self.rng.index(self.tensors.len()) else { return };
        let target = self.tensors.swap_remove(index);
        let length = held.bytes.min(target.bytes).max(1);
        let expected = self.cannot_copy(held, &target).then_some(Status::Invalid);
        if let Outcome::Done(()) = self.forward(expected, || held.tensor.copy_to(0, &target.tensor, 0, length)) {
            copied(held, &target, length);
        }
        self.tensors.push(target);
    }

    /// Whether nothing can be copied from one view to the other.
    pub(crate) fn cannot_copy(&self, from: &Held<'_>, to: &Held<'_>) -> bool {
        let (Some(source), Some(target)) = (from.kind(), to.kind()) else { return true };
        let channel = |vnc: u32| self.runtime.core(vnc).unwrap().default_channel().unwrap();
        match (source, target) {
            (Kind::Dmem(_), Kind::Dmem(_)) => channel(from.vnc()) != channel(to.vnc()),
            (Kind::Nothing, Kind::Dmem(_) | Kind::Nothing) | (Kind::Dmem(_), Kind::Nothing) => true,
            _ => false,
        }
    }

    /// Pieces of several views in one request, in order. One view that is not memory of the driver's refuses the batch.
    pub(crate) fn batch(&mut self) -> usize {
        let count = (self.rng.below(BATCH) + 1).min(self.tensors.len() as u64);
        // Mostly of views that can be in one.
        let mixed = self.rng.once_in(8);
        let mut chosen: Vec<Held<'_>> = Vec::new();
        for _ in 0..count {
            let Some(index) = self.rng.index(self.tensors.len()) else { break };
            if mixed || self.tensors[index].is_dmem() {
                chosen.push(self.tensors.swap_remove(index));
            }
        }
        let wrong = chosen.is_empty() || !chosen.iter().all(Held::is_dmem);
        let expected = wrong.then_some(Status::Invalid);
        let fence = self.rng.pick(&[Fence::Wait, Fence::Skip]);
        let spans: Vec<_> = chosen.iter().map(|held| [self.any_span(held), self.any_span(held)]).collect();
        if self.rng.once_in(2) {
            self.write_batch(&chosen, &spans, expected, fence);
        } else {
            self.read_batch(&chosen, &spans, expected, fence);
        }
        let core = self.flat(chosen.first().map_or(0, Held::vnc), 0);
        self.tensors.extend(chosen);
        core
    }

    fn write_batch(&mut self, chosen: &[Held<'_>], spans: &[Spans], expected: Option<Status>, fence: Fence) {
        let bytes: Vec<_> = spans.iter().map(|spans| spans.map(|(_, length)| self.any_bytes(length))).collect();
        let piece = |(span, bytes): (&(u64, u64), _)| WritePiece::new(span.0, bytes);
        let pieces: Vec<Vec<_>> = spans
            .iter()
            .zip(&bytes)
            .map(|(spans, bytes)| spans.iter().zip(bytes.iter().map(Vec::as_slice)).map(piece).collect())
            .collect();
        let batch: Vec<(&View<'_>, &[WritePiece<'_>])> =
            chosen.iter().zip(&pieces).map(|(held, pieces)| (&held.tensor, &pieces[..])).collect();
        let runtime = self.runtime;
        match self.forward(expected, || runtime.write_batch(&batch, fence)) {
            Outcome::Done(()) => {
                self.counts.batches += 1;
                for ((held, spans), bytes) in chosen.iter().zip(spans).zip(&bytes) {
                    spans.iter().zip(bytes).for_each(|((start, _), bytes)| held.wrote(*start, bytes));
                }
            }
            // Refused as a whole, before anything moved.
            Outcome::Refused(_) if expected.is_some() => {}
            // A batch is not atomic.
            Outcome::Refused(_) => chosen.iter().for_each(Held::forget),
        }
    }

    fn read_batch(&mut self, chosen: &[Held<'_>], spans: &[Spans], expected: Option<Status>, fence: Fence) {
        let mut bytes: Vec<_> = spans.iter().map(|spans| spans.map(|(_, length)| vec![0; length as usize])).collect();
        let mut pieces: Vec<Vec<_>> = spans
            .iter()
            .zip(&mut bytes)
            .map(|(spans, bytes)| spans.iter().zip(bytes).map(|(span, bytes)| ReadPiece::new(span.0, bytes)).collect())
            .collect();
        let mut batch: Vec<(&View<'_>, &mut [ReadPiece<'_>])> =
            chosen.iter().zip(&mut pieces).map(|(held, pieces)| (&held.tensor, &mut pieces[..])).collect();
        let runtime = self.runtime;
        if let Outcome::Done(()) = self.forward(expected, || runtime.read_batch(&mut batch, fence)) {
            self.counts.batches += 1;
            for ((held, spans), bytes) in chosen.iter().zip(spans).zip(&bytes) {
                let Some(content) = held.content() else { continue };
                for ((start, length), bytes) in spans.iter().zip(bytes) {
                    assert!(content[*start as usize..][..*length as usize] == **bytes, "bytes of a batch");
                }
            }
        }
    }
}

type View<'r> = Tensor<'r, TestDriver, LinuxHooks>;
type Spans = [(u64, u64); 2];

fn no_storage(held: &Held<'_>) -> Option<Status> {
    held.store.is_none().then_some(Status::Invalid)
}

/// The first `length` bytes were copied.
fn copied(from: &Held<'_>, to: &Held<'_>, length: u64) {
    match (from.content(), from.kind()) {
        // Nothing was moved.
        (_, Some(Kind::Nothing)) => {}
        (Some(content), _) if !from.shares_with(to) => to.wrote(0, &content[..length as usize]),
        _ => to.forget(),
    }
}
