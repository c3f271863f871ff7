//! nrt-appliance.
#![no_std]
