//! Route 3: the documented table as a C header, laid out by the C compiler.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use crate::error::Unreadable;
use crate::found::{Found, FoundEnum, FoundField};
use crate::header::{header, probe};
use crate::table::Table;

/// Lays the named structs out with the compiler named in `CC`, or `cc`.
///
/// # Errors
/// No compiler, a header it refuses, or a program that does not run.
pub fn found(table: &Table, names: &BTreeSet<&str>) -> Result<Found, Unreadable> {
    let place = |what: &str| format!("route gcc, {what}");
    let directory = tempfile::Builder::new()
        .prefix("nrt-layout-")
        .tempdir()
        .map_err(|error| Unreadable::new(place("temporary directory"), error.to_string(), "a writable directory"))?;
    let known: BTreeSet<&str> = names.iter().copied().filter(|name| table.structure(name).is_some()).collect();
    let files = [("layout.h", header(table, known.iter().copied())?), ("probe.c", probe(table, &known))];
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text)
            .map_err(|error| Unreadable::new(place(name), error.to_string(), "space for a small file"))?;
    }

    let compiler = std::env::var("CC").unwrap_or_default();
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words).args(["-std=gnu11", "-o", "probe", "probe.c"]).current_dir(directory.path());
    let shown = format!("{command:?}");
    let built =
        command.output().map_err(|error| Unreadable::new(place(&shown), error.to_string(), "a C compiler; name one in CC"))?;
    succeed(&built, &place("the C compiler"), "the emitted header to compile")?;

    let run = Command::new(directory.path().join("probe"))
        .output()
        .map_err(|error| Unreadable::new(place("the compiled program"), error.to_string(), "a program that runs on this host"))?;
    succeed(&run, &place("the compiled program"), "exit status 0")?;
    parse(&String::from_utf8_lossy(&run.stdout))
}

fn succeed(output: &Output, place: &str, expected: &str) -> Result<(), Unreadable> {
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let reason = text.lines().find(|line| line.contains("error")).or_else(|| text.lines().next()).unwrap_or("no message");
    Err(Unreadable::new(place, format!("{}: {reason}", output.status), expected))
}

fn parse(text: &str) -> Result<Found, Unreadable> {
    let mut found = Found::default();
    for line in text.lines() {
        line_of(line, &mut found).ok_or_else(|| {
            Unreadable::new(
                "route gcc, output of the compiled program",
                format!("line {line:?}"),
                "S, F, E or V with names and numbers",
            )
        })?;
    }
    Ok(found)
}

fn line_of(line: &str, found: &mut Found) -> Option<()> {
    let words: Vec<&str> = line.split(' ').collect();
    match words.as_slice() {
        ["S", name, size, align] => {
            let definitions = found.structs.entry((*name).into()).or_default();
            definitions.push(crate::found::FoundStruct {
                size: size.parse().ok()?,
                align: Some(align.parse().ok()?),
                ..Default::default()
            });
        }
        ["F", name, path, offset, size, count] => {
            let place = FoundField {
                offset: offset.parse().ok()?,
                size: Some(size.parse().ok()?),
                count: Some(count.parse().ok()?),
                kind: None,
            };
            found.structs.get_mut(*name)?.last_mut()?.fields.insert((*path).into(), place);
        }
        ["E", name, size] => found.add_enum(name, FoundEnum { size: size.parse().ok()?, ..Default::default() }),
        ["V", name, member, value] => {
            found.enums.get_mut(*name)?.last_mut()?.values.insert((*member).into(), value.parse().ok()?);
        }
        _ => return None,
    }
    Some(())
}
