//! Neighbours are told apart.

use super::stripe_of;

/// Threads whose stacks lie side by side, wherever the first one lies and however far each thread is down its stack.
#[test]
fn neighbours_have_different_stripes() {
    for stripes in [8, 16] {
        for step in [256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20].map(|bytes: usize| bytes + 4096) {
            let (mut alone, mut places) = (0, 0);
            for base in (0x7f00_0000_0000..).step_by(0x123_4560).take(2000) {
                let used = |thread: usize| (base - thread * step - thread * 1712 % 8192) & !15;
                let stripe: [usize; 4] = core::array::from_fn(|thread| stripe_of(used(thread)) % stripes);
                places += 1;
                let mut different = stripe;
                different.sort_unstable();
                alone += usize::from(different.windows(2).all(|pair| pair[0] != pair[1]));
                // Four in a row are never on fewer than three.
                let on = 1 + different.windows(2).filter(|pair| pair[0] != pair[1]).count();
                assert!(on >= 3, "stacks {step:#x} apart from {base:#x}: stripes {stripe:?} of {stripes}");
            }
            assert!(
                alone * 3 > places,
                "stacks {step:#x} apart: {alone} of {places} times four threads on four of {stripes} stripes"
            );
        }
    }
}
