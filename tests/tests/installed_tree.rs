//! `context-tree` §8: the process-wide tree. A binary of its own, because the symbol belongs to the process.

use std::sync::atomic::Ordering::Relaxed;

use nrt_core::abi::tdrv_ctx_t;
use nrt_core::context::{self, Tree, tdrv_ctx_0};
use nrt_core::{Arch, Cause, Error, Result, Status};
use nrt_tests::{TestRuntime, runtime};

const UNSET: Result<Tree> = Err(Error { status: Status::Failure, cause: Cause::TreeUnset });
const SET: Result<()> = Err(Error { status: Status::Failure, cause: Cause::TreeSet });

/// What others that know only the symbol read there.
fn symbol() -> *mut tdrv_ctx_t {
    tdrv_ctx_0.load(Relaxed)
}

/// One test: the steps share one symbol.
#[test]
fn the_process_wide_tree_is_set_once_and_cleared_by_its_owner() {
    let (first, second): (TestRuntime, TestRuntime) = (runtime(Arch::Sunda), runtime(Arch::Cayman));

    // 1. Nothing is installed by bringing a runtime up.
    assert!(symbol().is_null());
    assert_eq!(context::installed(), UNSET);

    // 2. Set once.
    assert_eq!(first.install(), Ok(()));
    assert_eq!(symbol(), first.tree().as_ptr());
    assert_eq!(context::installed(), Ok(first.tree()));
    assert_eq!(first.install(), SET);
    assert_eq!(second.install(), SET);
    assert_eq!(context::install(second.tree()), SET);

    // 3. The resolver works from the symbol.
    let resolved = context::installed().unwrap().resolve(0, 1);
    assert_eq!(resolved, first.tree().resolve(0, 1));

    // 4. Only the installed tree can be cleared; closing another runtime leaves it alone.
    context::clear(second.tree());
    assert_eq!(context::installed(), Ok(first.tree()));
    assert!(second.close(None).unwrap().is_clean());
    assert_eq!(context::installed(), Ok(first.tree()));
    assert_eq!(second.install(), Err(Error { status: Status::Closed, cause: Cause::NotOpen }));

    // 5. Clearing frees nothing: the runtime goes on, and can be installed again.
    context::clear(first.tree());
    assert!(symbol().is_null());
    assert_eq!(context::installed(), UNSET);
    assert!(first.core(0).is_ok());
    assert_eq!(first.install(), Ok(()));

    // 6. Closing clears.
    assert!(first.close(None).unwrap().is_clean());
    assert!(symbol().is_null());

    // 7. The next runtime can have it, and dropping one clears, too.
    let third = runtime(Arch::Mariana);
    assert_eq!(third.install(), Ok(()));
    drop(third);
    assert_eq!(context::installed(), UNSET);
}
