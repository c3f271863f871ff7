//! One processor for the supervisor and its program.

/// Binds this process, and what it starts from now on, to one processor of those it may use. Where the supervisor and the
/// program run on two, each call wakes a processor up twice, which on a virtual machine takes 20 times as long as the call.
pub(crate) fn pin(round: usize) {
    // SAFETY: sets of processors that live through the calls; zeroed is the empty set.
    unsafe {
        static ALLOWED: std::sync::OnceLock<libc::cpu_set_t> = std::sync::OnceLock::new();
        let allowed = ALLOWED.get_or_init(|| {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            assert_eq!(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set), 0, "the processors");
            set
        });
        let processors: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, allowed)).collect();
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processors[round % processors.len()], &mut one);
        assert_eq!(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const one), 0, "one processor");
    }
}
