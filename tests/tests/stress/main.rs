//! Threads: models that come and go while they are used, memory from several threads at once, close under load.
//!
//! Nothing here sleeps; what must happen is waited for, and a watchdog ends the program if it does not happen.
//! `NRT_STRESS_CYCLES` multiplies the number of cycles.

mod allocate;
mod close;
mod copies;
mod drain;
mod handles;
mod map;
mod reload;
mod reserved;
mod rig;
