//! The command line.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use nrt_linux::hooks::LinuxHooks;

use crate::copy::Copies;
use crate::counts;
use crate::measure::{self, Effort, Scenario};
use crate::models::Models;
use crate::replay::Replay;
use crate::report::{self, Measured};
use crate::trace::Script;
use crate::{bars, carve, drain, floor, html, machine, node, pool, tail, world};

const HELP: &str = "\
Measures the memory core side by side with the original's shape in C and with allocators.

usage: cargo bench -p nrt-benches [-- OPTIONS]

  --quick          3 short runs instead of 9: a look, not a result
  --trace FILE     replays the allocations of a trace instead: lines of nrt-emulate --trace=json, or of
                   {\"alloc\": ID, \"bytes\": N} and {\"free\": ID}
  --filter TEXT    only scenarios whose name contains TEXT
  --list           names of the scenarios and of who takes part
  --counts         instructions, locked ones and cache lines per operation instead of times; x86-64 only
  --counts --check   the same, and compares with the committed counts
  --counts --accept  the same, and makes them the committed ones
  --help           this text

Times go to nrt-bench/results.json and report.html in the target directory, counts to nrt-bench/counts.json.
Exit status: 0 done; 1 something was left over, could not be written, or differs from what is committed; 2 bad command line.
";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
enum Command {
    Help,
    List,
    Measure { quick: bool },
    Counts(Against),
}

/// What becomes of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    Nothing,
    Check,
    Accept,
}

#[derive(Debug, PartialEq, Eq)]
struct Arguments {
    command: Command,
    filter: String,
    trace: Option<String>,
}

fn parse(arguments: impl IntoIterator<Item = String>) -> Result<Arguments, String> {
    let mut rest = arguments.into_iter();
    let mut parsed = Arguments { command: Command::Measure { quick: false }, filter: String::new(), trace: None };
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            // cargo adds it.
            "--bench" => {}
            "--quick" => parsed.command = Command::Measure { quick: true },
            "--trace" => parsed.trace = Some(value()?),
            "--filter" => parsed.filter = value()?,
            "--list" => parsed.command = Command::List,
            "--counts" => parsed.command = Command::Counts(Against::Nothing),
            "--check" | "--accept" => {
                let Command::Counts(against) = &mut parsed.command else { return Err(format!("{argument} goes with --counts")) };
                *against = if argument == "--check" { Against::Check } else { Against::Accept };
            }
            "--help" | "-h" => parsed.command = Command::Help,
            _ => return Err(format!("unknown argument {argument:?}")),
        }
    }
    Ok(parsed)
}

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    let Arguments { command, filter, trace } = match parse(std::env::args().skip(1)) {
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
        Command::Measure { quick } => {
            read(trace.as_deref()).and_then(|script| times(if quick { Effort::QUICK } else { Effort::FULL }, &filter, script))
        }
        Command::Counts(against) => counts(against),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The script of a trace, which lives as long as the program.
fn read(trace: Option<&str>) -> Result<Option<&'static Script>, String> {
    let Some(path) = trace else { return Ok(None) };
    let text = read_from_where_it_was_typed(Path::new(path)).map_err(|error| format!("{path}: {error}"))?;
    let script = Script::parse(&text).map_err(|error| format!("{path}: {error}"))?;
    Ok(Some(Box::leak(Box::new(script))))
}

/// Cargo runs benches in the folder of their package; a relative path is one of the folder where the command was typed.
fn read_from_where_it_was_typed(path: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(path).or_else(|error| match std::env::var_os("PWD") {
        Some(typed) if path.is_relative() => std::fs::read_to_string(Path::new(&typed).join(path)),
        _ => Err(error),
    })
}

fn list(filter: &str) {
    let world = world::open(LinuxHooks::new());
    let models = Models::new(world);
    for scenario in all(world, &models, &Copies::new()).iter().filter(|scenario| scenario.name.contains(filter)) {
        println!("{} ({})", scenario.name, scenario.operation);
        for peer in &scenario.peers {
            println!("    {}\n        touches: {}\n        locks: {}", peer.name, peer.touches, peer.locks);
        }
    }
}

fn all<'a>(world: node::LinuxWorld, models: &'a Models, copies: &'a Copies) -> Vec<Scenario<'a>> {
    floor::scenarios()
        .into_iter()
        .chain(pool::scenarios())
        .chain(node::scenarios(world))
        .chain(models.scenarios())
        .chain(drain::scenarios())
        .chain(carve::scenarios())
        .chain(copies.scenarios())
        .chain(tail::scenarios(node::scenarios(world).into_iter().chain(models.scenarios()).chain(carve::scenarios())))
        .collect()
}

/// Measures every scenario whose name contains `filter`, or those of a trace; `show` sees each one as it is done.
///
/// # Errors
/// What was left over afterwards, on either side.
pub fn measure_all(
    effort: Effort,
    filter: &str,
    trace: Option<&'static Script>,
    show: impl FnMut(&Measured),
) -> Result<Vec<Measured>, String> {
    let world = world::open(LinuxHooks::new());
    let models = Models::new(world);
    let results = if let Some(script) = trace {
        let replay = Replay::new(script);
        let results = measure_these(&[replay.scenario(world), carve::replay(script)], effort, filter, show);
        replay.finish();
        results
    } else {
        let copies = Copies::new();
        let results = measure_these(&all(world, &models, &copies), effort, filter, show);
        copies.verify()?;
        results
    };
    node::verify(world)?;
    drain::verify()?;
    models.finish()?;
    Ok(results)
}

fn measure_these(scenarios: &[Scenario<'_>], effort: Effort, filter: &str, mut show: impl FnMut(&Measured)) -> Vec<Measured> {
    let mut results = Vec::new();
    for scenario in scenarios.iter().filter(|scenario| scenario.name.contains(filter)) {
        let rows = measure::measure(scenario, effort, |run| progress(scenario.name, run, effort.runs));
        progress("", 0, 0);
        let Scenario { name, operation, threads, batch, .. } = *scenario;
        let measured = Measured { name, operation, threads, batch, rows };
        show(&measured);
        results.push(measured);
    }
    results
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

fn times(effort: Effort, filter: &str, trace: Option<&'static Script>) -> Result<(), String> {
    let results = measure_all(effort, filter, trace, |measured| print!("{}", report::table(measured)))?;
    if results.is_empty() {
        return Err(format!("no scenario is called {filter:?}; --list shows all"));
    }
    let verdicts = bars::verdicts(&results);
    if !verdicts.is_empty() {
        print!("{}", bars::table(&verdicts));
    }
    let json = report::json(&results, effort);
    match json["method"]["interval_coverage"].as_f64() {
        Some(coverage) => println!("\nRatios: median of {} runs and its {:.0} % interval.", effort.runs, coverage * 100.0),
        None => println!(),
    }
    let directory = machine::results_directory();
    write(&directory, "results.json", &format!("{json:#}\n"))?;
    write(&directory, "report.html", &html::page(&results, &verdicts)?)
}

fn counts(against: Against) -> Result<(), String> {
    let rows = counts::count(counts::Sample::FULL)?;
    print!("{}", counts::table(&rows));
    match against {
        Against::Nothing => Ok(()),
        Against::Accept => counts::committed::accept(&rows),
        Against::Check => {
            let left_out = counts::committed::check(&rows).map_err(|wrong| {
                format!("{wrong}\nIf that is meant: cargo bench -p nrt-benches -- --counts --accept, and commit what it writes.")
            })?;
            left_out.iter().for_each(|what| println!("NOT COMPARED: {what}"));
            if left_out.is_empty() {
                println!("as committed");
            }
            Ok(())
        }
    }
}

fn write(directory: &Path, name: &str, text: &str) -> Result<(), String> {
    let path = directory.join(name);
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
        let measure =
            |quick, filter: &str| Ok(Arguments { command: Command::Measure { quick }, filter: filter.into(), trace: None });
        assert_eq!(of(&["--bench"]), measure(false, ""));
        assert_eq!(of(&["--quick", "--filter", "node", "--bench"]), measure(true, "node"));
        assert!(of(&["--filter"]).is_err() && of(&["--fast"]).is_err() && of(&["--check"]).is_err());
        let counts = |against| Ok(Arguments { command: Command::Counts(against), filter: String::new(), trace: None });
        assert_eq!(of(&["--counts", "--bench"]), counts(Against::Nothing));
        assert_eq!(of(&["--counts", "--check"]), counts(Against::Check));
        assert_eq!(of(&["--counts", "--accept"]), counts(Against::Accept));
    }
}
