//! Random operations on the whole runtime against a plain model: see `tests/random_ops`.
