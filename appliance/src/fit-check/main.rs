//! The main job on a storage of exactly the size that the deployment demands, or on one that lacks a slot of one pool.
//!
//! `fit-check NAME "" PATH` runs the deployment called `NAME`, whose file is at `PATH`, on its own storage. With a pool (nodes,
//! models, `mem_refs` or tensors) in the place of the empty word it runs on one with a slot less of that, and without the
//! check in front that would refuse it. The storages are laid out by the build script of this package.
#![no_std]
#![no_main]

#[path = "../start/mod.rs"]
mod start;

use core::ffi::CStr;

use nrt_appliance::Memory;
use nrt_core::{AnyStorage, Storage};
use nrt_linux::args::Args;
use nrt_linux::env::Env;
use nrt_linux::memory::Mapping;

/// A storage in memory of its own: dozens of statics of 35 MB each would take the compiler minutes and gigabytes. `None` when
/// there is no memory.
fn mapped<const NODES: usize, const MODELS: usize, const MEM_REFS: usize, const TENSORS: usize, const RING: usize>()
-> Option<&'static dyn AnyStorage> {
    let mapping = Mapping::anonymous(size_of::<Storage<NODES, MODELS, MEM_REFS, TENSORS, RING>>()).ok()?;
    let (base, _) = mapping.into_raw();
    // SAFETY: fresh memory of this size, aligned to a page, that is never unmapped; the kernel has zeroed it, and zeroed memory
    // is a storage that nobody has claimed.
    Some(unsafe { base.cast::<Storage<NODES, MODELS, MEM_REFS, TENSORS, RING>>().as_ref() })
}

/// One storage for each deployment and each pool that lacks a slot, and the look-up by their names.
macro_rules! fits {
    ($($name:ident)*) => {
        fn storage(name: &[u8], short: &[u8]) -> Option<&'static dyn AnyStorage> {
            $(if name == stringify!($name).as_bytes() {
                use $name::{CAPACITIES, DeploymentStorage};
                const { assert!(align_of::<DeploymentStorage>() <= 4096, "a page is not enough") };
                macro_rules! lacking {
                    ($nodes:literal $models:literal $mem_refs:literal $tensors:literal) => {
                        mapped::<
                            { CAPACITIES.nodes - $nodes },
                            { CAPACITIES.models - $models },
                            { CAPACITIES.mem_refs - $mem_refs },
                            { CAPACITIES.tensors - $tensors },
                            { CAPACITIES.ring },
                        >()
                    };
                }
                return match short {
                    b"" => lacking!(0 0 0 0),
                    b"nodes" => lacking!(1 0 0 0),
                    b"models" => lacking!(0 1 0 0),
                    b"mem_refs" => lacking!(0 0 1 0),
                    b"tensors" => lacking!(0 0 0 1),
                    _ => None,
                };
            })*
            None
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/fits.rs"));

/// Status for a storage that there is not.
const UNKNOWN: i32 = 2;

fn main(args: Args<'_>, env: Env<'_>) -> i32 {
    let word = |index| args.get(index).map_or(&b""[..], CStr::to_bytes);
    // NAME POOL PATH: the appliance gets the path, and the wish for JSON.
    let (name, pool) = (word(1), word(2));
    let Some(storage) = storage(name, pool) else { return UNKNOWN };
    let Some(path) = args.get(3) else { return UNKNOWN };
    let memory = Memory { storage, checked: pool.is_empty() };
    nrt_appliance::run_on(&memory, Args::from_slice(&[c"fit-check", path, c"--json"]), env)
}
