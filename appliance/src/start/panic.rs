//! The end of a program that panics.

use core::fmt::Write as _;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use nrt_linux::output::{Buffered, stderr};
use nrt_linux::process::exit;

/// Exit status of a panic, as std has it.
const PANICKED: i32 = 101;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    static PANICKING: AtomicBool = AtomicBool::new(false);
    // A message that panics while it is formatted must not start over.
    if !PANICKING.swap(true, Ordering::Relaxed) {
        let mut text: Buffered<'_> = Buffered::new(stderr());
        let _ = writeln!(text, "{info}");
        let _ = text.flush();
    }
    exit(PANICKED)
}

/// Named by the unwind tables of the precompiled core library; never called, since panics do not unwind. Optimised
/// programs lose every mention of it, others do not.
// SAFETY: without the standard library nothing else defines this name.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// Called by landing pads of the precompiled core library, which are never reached, since panics do not unwind.
// SAFETY: without the standard library nothing else defines this name.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() -> ! {
    exit(PANICKED)
}
