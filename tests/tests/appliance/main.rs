//! The appliance as a program: built once by the workspace's own cargo, run as people run it.

mod device_memory;
mod environment;
mod footprint;
mod image;
mod load;
mod program;
mod refusals;
mod serving;
mod weights_files;
