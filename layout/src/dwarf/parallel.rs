//! Two threads, each with its own types, on parts of the section of units in turn; so the result does not depend on
//! which is faster.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use super::context::Skeleton;
use super::scan::Matcher;
use super::sections::Sections;
use super::windows::Windows;
use crate::error::Unreadable;
use crate::types::{Database, Options, Selection};

/// Threads; more need more memory.
const WORKERS: usize = 2;

impl Database {
    /// Reads all parts; tells whether nothing more is asked for.
    pub(super) fn in_parallel(
        &mut self,
        sections: &Sections,
        mut windows: Windows<'_>,
        options: &Options,
        selection: &Selection,
        skeletons: &mut Vec<Skeleton>,
    ) -> Result<bool, Unreadable> {
        let (pointer_size, scalar_align) = (self.pointer_size, self.scalar_align);
        let work = |parts: Receiver<(Vec<u8>, usize)>| -> Result<(Self, Vec<Skeleton>), Unreadable> {
            let mut types = Self::default();
            (types.pointer_size, types.scalar_align) = (pointer_size, scalar_align);
            let mut matcher = Matcher::new(selection, options);
            let mut skeletons = Vec::new();
            for part in parts {
                types.window(sections, &part, &mut matcher, &mut skeletons)?;
                if types.entangled {
                    break;
                }
            }
            Ok((types, skeletons))
        };
        let results = thread::scope(|scope| {
            let mut senders = Vec::new();
            let mut workers = Vec::new();
            for _ in 0..WORKERS {
                let (sender, parts) = sync_channel(1);
                senders.push(sender);
                workers.push(scope.spawn(move || work(parts)));
            }
            let mut fault = None;
            for turn in 0.. {
                match windows.next(Vec::new()) {
                    Ok(Some(part)) => {
                        // A worker that stopped early has an error to tell, or found the units entangled.
                        if senders[turn % WORKERS].send(part).is_err() {
                            break;
                        }
                    }
                    Ok(None) => break,
                    Err(error) => {
                        fault = Some(error);
                        break;
                    }
                }
            }
            drop(senders);
            let results: Vec<_> = workers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            fault.map_or(Ok(results), Err)
        })?;
        for result in results {
            let Ok(result) = result else {
                return Err(sections.elf.span.refuse("debug information: a reading thread failed", "undamaged DWARF"));
            };
            let (types, more) = result?;
            self.entangled |= types.entangled;
            skeletons.extend(more);
            self.merge(&types);
        }
        Ok(false)
    }
}
