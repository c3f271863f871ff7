//! Checks the start code and the threads, from inside a program that consists of nothing else.
//!
//! Exit status 0 when everything holds; a check that does not hold panics, hence 101. With the argument `panic` it
//! panics at once, with `status N` it leaves with that status, so that both ways out can be checked from outside.
#![no_std]
#![no_main]

mod memory;
#[path = "../start/mod.rs"]
mod start;
mod threads;

use core::fmt::Write as _;

use nrt_linux::args::Args;
use nrt_linux::env::Env;
use nrt_linux::memory::SharedRegion;
use nrt_linux::output::{self, Buffered};
use nrt_linux::process;

fn main(args: Args<'_>, env: Env<'_>) -> i32 {
    match args.get(1) {
        Some(word) if word == c"panic" => panic!("asked to, by argument {} of {}", 1, args.len()),
        Some(word) if word == c"status" => return number(args).expect("a status between 0 and 255"),
        _ => {}
    }
    let mut out: Buffered<'_> = Buffered::new(output::stdout());
    let mut say = |what: &str| {
        let _ = writeln!(out, "start-check: {what}");
        let _ = out.flush();
    };
    start_strings(args, env);
    say("arguments and environment");
    memory::check();
    say("memcpy, memmove, memset, memcmp, bcmp, strlen");
    mapped_memory();
    say("sparse memory");
    threads::check();
    say("threads");
    0
}

fn number(args: Args<'_>) -> Option<i32> {
    args.get(2)?.to_str().ok()?.parse().ok()
}

/// What the kernel handed over is a program name and well-formed variables, each found under its own name.
fn start_strings(args: Args<'_>, env: Env<'_>) {
    assert!(args.get(0).is_some_and(|name| !name.is_empty()));
    assert_eq!(args.operands().count(), args.len() - 1);
    for (name, _) in env.iter() {
        if let Ok(name) = core::str::from_utf8(name) {
            assert!(env.get(name).is_some(), "{name}");
        }
    }
}

/// A region larger than 4 GiB is sparse, and not anonymous memory.
fn mapped_memory() {
    let before = process::resident_anonymous_bytes().expect("resident memory");
    let region = SharedRegion::new(c"start-check", 6 << 30).expect("a shared region");
    let far = region.base().as_ptr().wrapping_add(5 << 30);
    // SAFETY: 5 GiB and 64 bytes lie within the region, which this function alone uses.
    unsafe {
        assert_eq!(far.read(), 0);
        far.write_bytes(0x5a, 64);
        assert_eq!(far.add(63).read(), 0x5a);
        assert_eq!(region.base().as_ptr().wrapping_add(1 << 30).read(), 0);
    }
    let after = process::resident_anonymous_bytes().expect("resident memory");
    assert!(after <= before + (64 << 10), "{before} -> {after}");
}
