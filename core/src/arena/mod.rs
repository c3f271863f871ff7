//! Fixed pools of type-stable slots, and the storage they live in.

mod pool;
pub(crate) mod ranges;
mod slots;
mod storage;
mod tables;

pub(crate) use pool::{Handle, PoolWords, Slot, SlotPool};
pub(crate) use slots::*;
pub use storage::{AnyStorage, Capacities, DefaultStorage, LargeStorage, SmallStorage, Storage};
pub(crate) use storage::{Arenas, flat};
pub(crate) use tables::POINTER_TABLE_ENTRY;
