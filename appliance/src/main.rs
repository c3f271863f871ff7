//! The appliance as a program: its start code in front of the library.
#![no_std]
#![no_main]

mod start;

use nrt_linux::args::Args;
use nrt_linux::env::Env;

/// What the start code calls.
fn main(args: Args<'_>, env: Env<'_>) -> i32 {
    nrt_appliance::run(args, env)
}
