//! Sweeps over the whole runtime: random operations against a plain model (`tests/random_ops`), and every request that can
//! fail, failed (`tests/faults`).
