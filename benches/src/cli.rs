//! The command line.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use nrt_linux::hooks::LinuxHooks;
use serde_json::Value;

use crate::counts::{self, Missing};
use crate::measure::{self, Effort, Scenario};
use crate::models::Models;
use crate::report::{self, Measured};
use crate::{bars, drain, floor, machine, node, pool, world};

const HELP: &str = "\
Measures the memory core side by side with the original's shape in C and with allocators.

usage: cargo bench -p nrt-benches [-- OPTIONS]

  --quick          3 short runs instead of 9: a look, not a result
  --filter TEXT    only scenarios whose name contains TEXT
  --list           names of the scenarios and of who takes part
  --counts         instructions per operation instead of times (needs valgrind)
  --help           this text

Times go to nrt-bench/results.json in the target directory, counts to nrt-bench/counts.json.
Exit status: 0 done; 1 something was left over or could not be written; 2 bad command line; 3 valgrind is missing.
";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Help,
    List,
    Measure { quick: bool },
    Counts,
    CountCase { name: String, live: u32 },
}

#[derive(Debug, PartialEq, Eq)]
struct Arguments {
    command: Command,
    filter: String,
}

fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Arguments, String> {
    let mut rest = arguments.into_iter();
    let mut parsed = Arguments { command: Command::Measure { quick: false }, filter: String::new() };
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            // cargo adds it.
            "--bench" => {}
            "--quick" => parsed.command = Command::Measure { quick: true },
            "--filter" => parsed.filter = value()?,
            "--list" => parsed.command = Command::List,
            "--counts" => parsed.command = Command::Counts,
            "--help" | "-h" => parsed.command = Command::Help,
            "--count-case" => {
                let (name, live) = (value()?, value()?);
                let live = live.parse().ok().filter(|&live| live > 0).ok_or("--count-case needs a name and a number")?;
                parsed.command = Command::CountCase { name, live };
            }
            _ => return Err(format!("unknown argument {argument:?}")),
        }
    }
    Ok(parsed)
}

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    let Arguments { command, filter } = match parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let done = match command {
        Command::Help => {
            print!("{HELP}");
            Ok(())
        }
        Command::List => {
            list(&filter);
            Ok(())
        }
        Command::Measure { quick } => times(if quick { Effort::QUICK } else { Effort::FULL }, &filter),
        Command::Counts => return counts(),
        Command::CountCase { name, live } if counts::work(&name, live) => Ok(()),
        Command::CountCase { name, .. } => Err(format!("no case {name:?}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn list(filter: &str) {
    let world = world::open(LinuxHooks::new());
    let models = Models::new(world);
    for scenario in all(world, &models).iter().filter(|scenario| scenario.name.contains(filter)) {
        println!("{} ({})", scenario.name, scenario.operation);
        for peer in &scenario.peers {
            println!("    {}\n        touches: {}\n        locks: {}", peer.name, peer.touches, peer.locks);
        }
    }
}

fn all<'a>(world: node::LinuxWorld, models: &'a Models) -> Vec<Scenario<'a>> {
    floor::scenarios()
        .into_iter()
        .chain(pool::scenarios())
        .chain(node::scenarios(world))
        .chain(models.scenarios())
        .chain(drain::scenarios())
        .collect()
}

/// Measures every scenario whose name contains `filter`; `show` sees each one as it is done.
///
/// # Errors
/// What was left over afterwards, on either side.
pub fn measure_all(effort: Effort, filter: &str, mut show: impl FnMut(&Measured)) -> Result<Vec<Measured>, String> {
    let world = world::open(LinuxHooks::new());
    let models = Models::new(world);
    let mut results = Vec::new();
    for scenario in all(world, &models).iter().filter(|scenario| scenario.name.contains(filter)) {
        let rows = measure::measure(scenario, effort, |run| progress(scenario.name, run, effort.runs));
        progress("", 0, 0);
        let Scenario { name, operation, threads, .. } = *scenario;
        let measured = Measured { name, operation, threads, rows };
        show(&measured);
        results.push(measured);
    }
    node::verify(world)?;
    drain::verify()?;
    models.finish()?;
    Ok(results)
}

/// Shows where it is, on a terminal only; an empty name wipes the line.
fn progress(name: &str, run: usize, runs: usize) {
    let mut stderr = std::io::stderr();
    if stderr.is_terminal() {
        let place = if name.is_empty() { String::new() } else { format!("{name}: run {} of {runs}", run + 1) };
        // Nobody is helped by a failure because of a line that is not shown.
        let _ = write!(stderr, "\r\x1b[K{place}");
    }
}

fn times(effort: Effort, filter: &str) -> Result<(), String> {
    let results = measure_all(effort, filter, |measured| print!("{}", report::table(measured)))?;
    if results.is_empty() {
        return Err(format!("no scenario is called {filter:?}; --list shows all"));
    }
    print!("{}", bars::table(&bars::verdicts(&results)));
    let json = report::json(&results, effort);
    match json["method"]["interval_coverage"].as_f64() {
        Some(coverage) => println!("\nRatios: median of {} runs and its {:.0} % interval.", effort.runs, coverage * 100.0),
        None => println!(),
    }
    write(&machine::results_directory(), "results.json", &json)
}

fn counts() -> ExitCode {
    let directory = machine::results_directory();
    let counted =
        std::fs::create_dir_all(&directory).map_err(|error| Missing::Other(format!("{}: {error}", directory.display())));
    match counted.and_then(|()| counts::count(&directory)).map(|json| write(&directory, "counts.json", &json)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Err(Missing::Valgrind) => {
            eprintln!("instructions are counted by valgrind's callgrind, and valgrind is not installed");
            ExitCode::from(3)
        }
        Ok(Err(error)) | Err(Missing::Other(error)) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(directory: &Path, name: &str, json: &Value) -> Result<(), String> {
    let path = directory.join(name);
    let text = format!("{json:#}\n");
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&path, text))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    println!("Written to {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> Result<Arguments, String> {
        parse(arguments.iter().map(ToString::to_string))
    }

    #[test]
    fn arguments() {
        let measure = |quick, filter: &str| Ok(Arguments { command: Command::Measure { quick }, filter: filter.into() });
        assert_eq!(of(&["--bench"]), measure(false, ""));
        assert_eq!(of(&["--quick", "--filter", "node", "--bench"]), measure(true, "node"));
        assert!(of(&["--filter"]).is_err() && of(&["--fast"]).is_err() && of(&["--count-case", "x", "0"]).is_err());
    }
}
