//! Tests of the command and of what it rests on: one program, so that the readers of debug information are compiled once for all.

mod cli;
mod common;
mod diff;
mod draw;
mod emit;
mod explain;
mod hostile;
mod inputs;
mod mutation;
mod pahole;
mod schema;
mod show;
mod table;
