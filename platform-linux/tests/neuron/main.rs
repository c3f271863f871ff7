//! The client of the kernel driver against a stand-in for the system calls.
//!
//! The stand-in answers as the driver does, stores bytes, and keeps every request it got; it can be an old driver, another
//! process, and it can fail at any request.

mod choice;
mod connect;
mod copies;
mod cores;
mod errors;
mod fake;
mod fake_requests;
mod info;
mod memory;
mod runtime;
