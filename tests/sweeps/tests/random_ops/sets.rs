//! Tensor sets, which keep no tensor, and runs bound by them.

use std::collections::BTreeMap;

use nrt_core::model::CopyExecutor;
use nrt_core::{Status, TensorSet};
use nrt_linux::hooks::LinuxHooks;
use nrt_tests::TestDriver;

use crate::views::{Held, Kind};
use crate::world::{Loaded, Outcome, World};

/// Sets at a time.
const SETS: usize = 2;
/// Those of every model, and one that none declares.
const NAMES: [&str; 3] = ["x", "z", "w"];

/// A set and the views it names, dead ones included.
pub(crate) struct Named<'r> {
    pub(crate) set: TensorSet<'r, TestDriver, LinuxHooks>,
    entries: BTreeMap<&'static str, u64>,
}

impl<'r> World<'r> {
    pub(crate) fn set(&mut self) -> usize {
        let dice = self.rng.below(32);
        if self.sets.is_empty() || (dice < 2 && self.sets.len() < SETS) {
            let runtime = self.runtime;
            if let Outcome::Done(set) = self.forward(None, || runtime.tensor_set()) {
                self.sets.push(Named { set, entries: BTreeMap::new() });
            }
        } else if dice == 2 {
            self.drop_set();
        } else if dice < 26 {
            self.name();
        } else {
            self.look_up();
        }
        0
    }

    pub(crate) fn drop_set(&mut self) {
        if let Some(index) = self.rng.index(self.sets.len()) {
            let named = self.sets.swap_remove(index);
            self.teardown(|| drop(named.set));
        }
    }

    /// Gives a name to a view, whoever had it before.
    fn name(&mut self) {
        let Some(any) = self.rng.index(self.tensors.len()) else { return };
        // Mostly one that some model can take.
        let fits = |at: &usize| self.models.iter().any(|loaded| !self.cannot_bind(loaded, *at, loaded.input.max(loaded.output)));
        let later = (any..self.tensors.len()).find(fits).filter(|_| any % 4 > 0);
        let at = later.unwrap_or(any);
        let held = self.tensors.swap_remove(at);
        let index = self.rng.below(self.sets.len() as u64) as usize;
        let mut named = self.sets.swap_remove(index);
        let name = self.rng.pick(&["x", "x", "z", "z", "w"]);
        if let Outcome::Done(()) = self.forward(None, || named.set.add(name, &held.tensor)) {
            named.entries.insert(name, held.id);
        }
        assert_eq!(named.set.count().unwrap(), named.entries.len() as u64);
        self.tensors.push(held);
        self.sets.push(named);
    }

    /// Where the view of a name is, or how asking for it is refused; `missing` when there is no such name.
    fn find(&self, named: &Named<'_>, name: &str, missing: Status) -> Result<usize, Status> {
        let id = named.entries.get(name).ok_or(missing)?;
        self.tensors.iter().position(|held| held.id == *id).ok_or(Status::InvalidHandle)
    }

    /// A second handle to a view: while it lives, the storage stays.
    fn look_up(&mut self) {
        let index = self.rng.below(self.sets.len() as u64) as usize;
        let named = self.sets.swap_remove(index);
        let name = self.rng.pick(&NAMES);
        let found = self.find(&named, name, Status::Failure);
        if let Outcome::Done(second) = self.forward(found.err(), || named.set.get(name)) {
            let held = &mut self.tensors[found.unwrap()];
            assert_eq!((second.bytes(), second.address().ok()), (held.bytes, held.tensor.address().ok()));
            assert_eq!(held.tensor.detach().unwrap_err().status, Status::Invalid);
            self.teardown(|| drop(second));
        }
        self.sets.push(named);
    }

    /// Runs a model on what two sets name.
    pub(crate) fn run_by_sets(&mut self) -> usize {
        let (Some(any), Some(ins), Some(outs)) =
            (self.rng.index(self.models.len()), self.rng.index(self.sets.len()), self.rng.index(self.sets.len()))
        else {
            return 0;
        };
        // Mostly a model that can take what the sets name.
        let views = [(ins, "x"), (outs, "z")].map(|(set, name)| self.find(&self.sets[set], name, Status::Invalid));
        let takes = |loaded: &Loaded<'_>| match views {
            [Ok(input), Ok(output)] => {
                !self.cannot_bind(loaded, input, loaded.input) && !self.cannot_bind(loaded, output, loaded.output)
            }
            _ => false,
        };
        let at = self.models.iter().position(takes).filter(|_| any % 4 != 1).unwrap_or(any);
        let loaded = self.models.swap_remove(at);
        let sets = std::mem::take(&mut self.sets);
        let found = self
            .find(&sets[ins], "x", Status::Invalid)
            .and_then(|input| match self.cannot_bind(&loaded, input, loaded.input) {
                true => Err(Status::Invalid),
                false => Ok(input),
            })
            .and_then(|input| self.find(&sets[outs], "z", Status::Invalid).map(|output| (input, output)))
            .and_then(|(input, output)| {
                let wrong = self.cannot_bind(&loaded, output, loaded.output)
                    || self.cannot_copy(&self.tensors[input], &self.tensors[output]);
                if wrong { Err(Status::Invalid) } else { Ok((input, output)) }
            });
        let run = || loaded.model.run_sets(&sets[ins].set, &sets[outs].set, Some(0), &CopyExecutor);
        let outcome = self.forward(found.err(), run);
        if let Ok((input, output)) = found {
            self.ran(input, output, &outcome);
            self.counts.runs_by_sets += u64::from(matches!(outcome, Outcome::Done(())));
        }
        self.sets = sets;
        let core = self.flat(loaded.vnc, 0);
        self.models.push(loaded);
        core
    }

    /// Whether a view breaks the contract of a model that needs so many bytes on its logical core.
    pub(crate) fn cannot_bind(&self, loaded: &Loaded<'_>, index: usize, need: u64) -> bool {
        let held = &self.tensors[index];
        held.bytes < need || (held.is_dmem() && held.vnc() != loaded.vnc)
    }

    /// A run that was not refused has filled the output with the input, again and again; one that failed, with something.
    pub(crate) fn ran(&mut self, input: usize, output: usize, outcome: &Outcome<()>) {
        let content = self.tensors[input].content();
        let nothing = self.tensors[input].kind() == Some(Kind::Nothing);
        let alone = !self.tensors[input].shares_with(&self.tensors[output]);
        let held: &mut Held<'_> = &mut self.tensors[output];
        match (outcome, content) {
            (Outcome::Done(()), _) if nothing => {}
            (Outcome::Done(()), Some(content)) if alone => {
                held.wrote(0, &content.iter().copied().cycle().take(held.bytes as usize).collect::<Vec<_>>());
            }
            _ => held.forget(),
        }
        held.completions += u64::from(matches!(outcome, Outcome::Done(())));
        assert_eq!(held.tensor.completions().unwrap(), held.completions);
    }
}
