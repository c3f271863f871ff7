//! The parts of the appliance that do not touch a device: deployment, command line, report, table, weights.

mod cli;
mod fuzz;
mod keys;
mod report;
mod rules;
mod support;
mod syntax;
