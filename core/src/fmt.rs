//! Trace records of single operations, for `log` or `defmt` or both; nothing without either feature.
//!
//! Reports that people act on go through [`Hooks::log`](crate::hooks::Hooks::log); these records are for following what the
//! core does. Arguments are integers and text, so that both facades take them. `defmt` compiles trace records in only where
//! `DEFMT_LOG=trace` (or `nrt_core=trace`) is set for the build. It writes a `usize` in 32 bits, so sizes are given as `u64`.

/// One record at trace level.
macro_rules! trace {
    ($text:literal $(, $value:expr)* $(,)?) => {{
        #[cfg(feature = "log")]
        log::trace!(target: "nrt", $text $(, $value)*);
        #[cfg(feature = "defmt")]
        defmt::trace!($text $(, $value)*);
        #[cfg(not(any(feature = "log", feature = "defmt")))]
        { $( let _ = &$value; )* }
    }};
}
