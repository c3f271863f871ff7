//! What valgrind is to watch can run. A process of its own: the C side counts for the whole process.

#[test]
fn every_count_has_work_to_watch() {
    for name in ["nrt-node-allocate", "c-node-free", "nrt-run", "c-look-up"] {
        assert!(nrt_benches::counts::work(name, 10), "{name}");
    }
    assert!(!nrt_benches::counts::work("nothing of this name", 10));
}
