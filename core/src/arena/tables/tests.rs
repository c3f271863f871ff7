use super::*;
use core::fmt;
use std::boxed::Box;
use std::vec::Vec;

use crate::hooks::{Level, Wait};

/// One thread: nobody waits.
struct Alone;

// SAFETY: no host memory is given out, and there is one thread.
unsafe impl Hooks for Alone {
    fn wait(&self, _: *const u32, _: u32, _: Option<u64>) -> Wait {
        unreachable!("the lock is free")
    }
    fn wake(&self, _: *const u32, _: u32) {}
    fn now_ns(&self) -> u64 {
        0
    }
    fn thread_id(&self) -> u64 {
        1
    }
    fn host_map(&self, _: usize) -> Option<NonNull<u8>> {
        None
    }
    unsafe fn host_unmap(&self, _: NonNull<u8>, _: usize) {}
    fn log(&self, _: Level, _: fmt::Arguments<'_>) {}
}

fn tables(len: u32) -> Tables {
    let blocks = Box::leak(std::vec![0_u8; (len as usize + 1) * TABLE_BLOCK].into_boxed_slice());
    let start = blocks.as_mut_ptr().addr().next_multiple_of(64) - blocks.as_mut_ptr().addr();
    let tags: &'static mut [AtomicU8] = Box::leak((0..len).map(|_| AtomicU8::new(0)).collect());
    // SAFETY: zeroed words are valid; both arrays live for ever, hold `len` elements and belong to this allocator.
    unsafe {
        let words = Box::leak(Box::<TableWords>::new_zeroed().assume_init());
        let blocks = NonNull::new_unchecked(blocks.as_mut_ptr().add(start).cast());
        let tables = Tables::new(blocks, NonNull::new_unchecked(tags.as_mut_ptr()), len, words);
        tables.reset(false);
        tables
    }
}

/// Blocks of all runs on the lists.
fn free(tables: &Tables) -> u32 {
    let mut blocks = 0;
    for order in 0..ORDERS as u32 {
        let (mut at, mut before) = (tables.words.heads[order as usize].load(Relaxed), 0);
        while at != 0 {
            assert_eq!(tables.tag(at - 1).load(Relaxed), FREE + order as u8);
            assert!((at - 1).is_multiple_of(1 << order), "a run starts at a multiple of its size");
            blocks += 1 << order;
            // SAFETY: a free run of this test's allocator.
            let links = unsafe { tables.links(at - 1).read() };
            assert_eq!(links.before, before);
            (before, at) = (at, links.after);
        }
    }
    blocks
}

#[test]
fn everything_can_be_taken_and_comes_together_again() {
    for len in [1, 2, 3, 16, 21, 1000, 1024, 1023] {
        let tables = tables(len);
        assert_eq!(free(&tables), len);
        for _ in 0..2 {
            let mut all: Vec<_> = (0..len).map(|_| tables.take(&Alone, 1).unwrap()).collect();
            assert_eq!(tables.take(&Alone, 1), Err(Error::pool_full(Pool::Tables)));
            all.sort_unstable();
            all.dedup();
            assert_eq!((all.len() as u32, tables.live()), (len, len));
            all.into_iter().for_each(|memory| tables.give(&Alone, memory));
            assert_eq!((free(&tables), tables.live()), (len, 0));
        }
        // One run of the largest size again.
        let largest = tables.take(&Alone, TABLE_BLOCK << len.ilog2()).unwrap();
        tables.give(&Alone, largest);
        assert!(tables.take(&Alone, (TABLE_BLOCK << len.ilog2()) + 1).is_err());
        assert!(tables.take(&Alone, usize::MAX).is_err());
    }
}

#[test]
fn runs_do_not_overlap_whatever_the_order() {
    let tables = tables(777);
    let mut held: Vec<(NonNull<u8>, usize, u8)> = Vec::new();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let mut refused = 0;
    for round in 0..20_000_u32 {
        if random(5) < 3 {
            let bytes = 1 + random(TABLE_BLOCK * 40);
            let mark = round as u8;
            match tables.take(&Alone, bytes) {
                Ok(memory) => {
                    assert!(memory.addr().get().is_multiple_of(64));
                    // SAFETY: handed out with that many bytes.
                    unsafe { memory.as_ptr().write_bytes(mark, bytes) };
                    held.push((memory, bytes, mark));
                }
                Err(error) => {
                    assert_eq!(error, Error::pool_full(Pool::Tables));
                    refused += 1;
                }
            }
        } else if !held.is_empty() {
            let (memory, bytes, mark) = held.swap_remove(random(held.len()));
            // SAFETY: still held, written before.
            assert!(unsafe { core::slice::from_raw_parts(memory.as_ptr(), bytes) }.iter().all(|byte| *byte == mark));
            tables.give(&Alone, memory);
        }
    }
    assert!(refused > 100, "the pool was full now and then: {refused}");
    held.into_iter().for_each(|(memory, ..)| tables.give(&Alone, memory));
    assert_eq!((free(&tables), tables.live()), (777, 0));
    tables.reset(true);
    assert_eq!(free(&tables), 777);
}
