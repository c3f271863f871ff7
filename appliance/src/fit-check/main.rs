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

/// One storage for each deployment and each pool that lacks a slot, and the look-up by their names.
macro_rules! fits {
    ($($name:ident)*) => {
        fn storage(name: &[u8], short: &[u8]) -> Option<&'static dyn AnyStorage> {
            $(if name == stringify!($name).as_bytes() {
                use $name::{CAPACITIES, DeploymentStorage};
                macro_rules! lacking {
                    ($nodes:literal $models:literal $mem_refs:literal $tensors:literal) => {{
                        static STORAGE: Storage<
                            { CAPACITIES.nodes - $nodes },
                            { CAPACITIES.models - $models },
                            { CAPACITIES.mem_refs - $mem_refs },
                            { CAPACITIES.tensors - $tensors },
                            { CAPACITIES.ring },
                        > = Storage::new();
                        &STORAGE
                    }};
                }
                static EXACT: DeploymentStorage = DeploymentStorage::new();
                return Some(match short {
                    b"" => &EXACT,
                    b"nodes" => lacking!(1 0 0 0),
                    b"models" => lacking!(0 1 0 0),
                    b"mem_refs" => lacking!(0 0 1 0),
                    b"tensors" => lacking!(0 0 0 1),
                    _ => return None,
                });
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
