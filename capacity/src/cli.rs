//! The command line: the capacities of a deployment, with who needs what.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use getargs::{Arg, Options};
use nrt_core::{Capacities, Pool, Size};

use crate::demand::{Holder, Need};
use crate::json_out::JsonWriter;
use crate::{Fit, rust_source};

/// Text of `--help`.
pub const HELP: &str = "\
Shows how large a storage must be for a deployment, who needs what, and the static memory it takes.

Usage: nrt-capacity DEPLOYMENT.json [--json | --rust] [--ring ENTRIES]

  DEPLOYMENT.json  models and requests; weights files are looked for beside it, only their sizes are read
  --json           one JSON object on standard output
  --rust           the storage as a Rust type, as a build script writes it
  --ring ENTRIES   event-ring entries of each device, 8 or more (default: 256)
  -h, --help       print this text

Examples:
  nrt-capacity serve.json
  nrt-capacity serve.json --json
  nrt-capacity serve.json --rust --ring 1024 > storage.rs

Exit status:
  0  the capacities are on standard output
  1  standard output cannot be written
  2  bad command line, or a deployment that cannot be read, is refused, or is larger than a storage can be
";

/// What the command line asks for.
struct Wanted {
    path: PathBuf,
    form: Form,
    ring: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Json,
    Rust,
}

/// Does what the arguments behind the program's name ask for. Gives the exit status, and what belongs on standard output and on
/// standard error.
#[must_use]
pub fn run(arguments: &[OsString]) -> (u8, String, String) {
    let failed = |message: String| (2, String::new(), format!("nrt-capacity: {message}\n"));
    let wanted = match parse(arguments) {
        Ok(Some(wanted)) => wanted,
        Ok(None) => return (0, HELP.into(), String::new()),
        Err(message) => return failed(format!("{message}\nTry --help.")),
    };
    let fit = match Fit::read(&wanted.path) {
        Ok(fit) => fit,
        Err(error) => return failed(error.to_string()),
    };
    let fit = match wanted.ring {
        Some(entries) => fit.with_ring(entries),
        None => fit,
    };
    let out = match wanted.form {
        Form::Text => text(&fit),
        Form::Json => json(&fit),
        Form::Rust => rust_source(&fit.capacities(), &wanted.path.file_name().unwrap_or_default().to_string_lossy()),
    };
    (0, out, String::new())
}

/// Reads the arguments; nothing for `--help`.
fn parse(arguments: &[OsString]) -> Result<Option<Wanted>, String> {
    let mut texts = Vec::new();
    for argument in arguments {
        texts.push(argument.to_str().ok_or_else(|| format!("{argument:?}: expected UTF-8"))?);
    }
    let mut options = Options::new(texts.into_iter());
    let (mut path, mut form, mut ring) = (None, Form::Text, None);
    while let Some(argument) = options.next_arg().map_err(|error| error.to_string())? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(None),
            Arg::Long(name @ ("json" | "rust")) => {
                let asked = if name == "json" { Form::Json } else { Form::Rust };
                if form != Form::Text && form != asked {
                    return Err(format!("--{name}: excludes an option given before, expected either --json or --rust"));
                }
                form = asked;
            }
            Arg::Long("ring") => {
                let value = options.value().map_err(|_| "--ring: no value given, expected a number of entries".to_string())?;
                let entries = value.parse().ok().filter(|entries| (Capacities::LEAST.ring..1 << 24).contains(entries));
                ring = Some(entries.ok_or_else(|| format!("--ring {value:?}: bad value, expected 8 to 16777215"))?);
            }
            Arg::Positional("") => return Err("empty path, expected the path of a deployment".into()),
            Arg::Positional(given) => {
                if path.replace(PathBuf::from(given)).is_some() {
                    return Err(format!("{given:?}: given a second time, expected one deployment"));
                }
            }
            other => return Err(format!("{other}: unknown option, expected --json, --rust, --ring or --help")),
        }
    }
    let path = path.ok_or("no deployment, expected the path of one")?;
    Ok(Some(Wanted { path, form, ring }))
}

/// One capacity: name, slots there will be, bytes of each, and the pools it is made for.
struct Row {
    name: &'static str,
    capacity: usize,
    entry_bytes: usize,
    pools: &'static [Pool],
}

fn rows(capacities: &Capacities) -> [Row; 5] {
    let (have, each) = (capacities, Capacities::ENTRY_BYTES);
    let row = |name, capacity, entry_bytes, pools| Row { name, capacity, entry_bytes, pools };
    [
        row("nodes", have.nodes, each.nodes, &[Pool::Nodes]),
        row("models", have.models, each.models, &[Pool::Models]),
        row("mem_refs", have.mem_refs, each.mem_refs, &[Pool::MemRefs, Pool::Tables]),
        row("tensors", have.tensors, each.tensors, &[Pool::Tensors]),
        row("ring", have.ring, each.ring, &[]),
    ]
}

/// What a pool is called where a capacity serves two.
fn pool_name(pool: Pool) -> &'static str {
    match pool {
        Pool::MemRefs => "variables",
        Pool::Tables => "blocks of tables",
        pool => pool.name(),
    }
}

/// Who needs something, in words.
fn holder(fit: &Fit, holder: Holder) -> String {
    let name = |model: usize| fit.deployment().models().get(model).map_or("", |model| model.name.as_str()).to_string();
    let cores_per_device = fit.deployment().arch().cores_per_device();
    match holder {
        Holder::Model { model, relative } => format!("\"{}\" core {relative}", name(model)),
        Holder::Threads(model) => format!("\"{}\" {} threads", name(model), fit.deployment().threads),
        Holder::Core(core) => format!("ND{}:NC{}", core / cores_per_device, core % cores_per_device),
    }
}

/// The needs of a pool.
fn of_pool(fit: &Fit, pool: Pool) -> impl Iterator<Item = Need> {
    fit.needs().into_iter().filter(move |need| need.pool == pool)
}

fn text(fit: &Fit) -> String {
    let capacities = fit.capacities();
    let mut out = String::new();
    let size = |bytes: usize| Size(bytes as u64).to_string();
    for Row { name, capacity, entry_bytes, pools } in rows(&capacities) {
        let _ = writeln!(out, "{name} {capacity} (of {entry_bytes} bytes each: {})", size(capacity * entry_bytes));
        let several = pools.len() > 1;
        for pool in pools {
            if several {
                let _ = writeln!(out, "  {}: {}", pool_name(*pool), fit.demand(*pool));
            }
            for need in of_pool(fit, *pool) {
                let indent = if several { "    " } else { "  " };
                let _ = writeln!(out, "{indent}{:>6}  {}: {}", need.slots, holder(fit, need.holder), need.what);
            }
        }
        let needed = pools.iter().map(|pool| fit.demand(*pool)).max().unwrap_or(capacity as u64);
        if needed < capacity as u64 {
            let _ = writeln!(out, "  {:>6}  the least that a storage has", capacity as u64 - needed);
        }
        if pools.is_empty() {
            let _ = writeln!(out, "          events of each of 32 devices; a ring forgets its oldest event, it is never full");
        }
    }
    let pools: usize = rows(&capacities).iter().map(|row| row.capacity * row.entry_bytes).sum();
    let all = capacities.storage_bytes();
    let _ = writeln!(out, "context tree and what has a fixed number: {} bytes ({})", all - pools, size(all - pools));
    let _ = writeln!(out, "static memory: {all} bytes ({}); only touched pages become resident", size(all));
    out
}

fn json(fit: &Fit) -> String {
    let mut out = String::new();
    // A string takes every text.
    let _ = write_json(fit, &mut JsonWriter::new(&mut out));
    out.push('\n');
    out
}

fn write_json(fit: &Fit, json: &mut JsonWriter<'_>) -> std::fmt::Result {
    let capacities = fit.capacities();
    json.begin_object()?;
    json.key("capacities")?;
    json.begin_object()?;
    for row in rows(&capacities) {
        json.key(row.name)?;
        json.number(row.capacity as u64)?;
    }
    json.end_object()?;
    json.key("entry_bytes")?;
    json.begin_object()?;
    for row in rows(&capacities) {
        json.key(row.name)?;
        json.number(row.entry_bytes as u64)?;
    }
    json.end_object()?;
    json.key("static_bytes")?;
    json.number(capacities.storage_bytes() as u64)?;
    json.key("needs")?;
    json.begin_array()?;
    for need in fit.needs() {
        json.begin_object()?;
        json.key("pool")?;
        json.string(pool_key(need.pool))?;
        json.key("slots")?;
        json.number(need.slots)?;
        json.key("for")?;
        json.string(need.what)?;
        let mut named = |model: usize, relative: Option<u32>| {
            json.key("model")?;
            json.string(fit.deployment().models().get(model).map_or("", |model| model.name.as_str()))?;
            if let Some(relative) = relative {
                json.key("relative")?;
                json.number(relative.into())?;
            }
            Ok(())
        };
        match need.holder {
            Holder::Model { model, relative } => named(model, Some(relative))?,
            Holder::Threads(model) => named(model, None)?,
            Holder::Core(core) => {
                let cores_per_device = fit.deployment().arch().cores_per_device();
                json.key("device")?;
                json.number((core / cores_per_device).into())?;
                json.key("core")?;
                json.number((core % cores_per_device).into())?;
            }
        }
        json.end_object()?;
    }
    json.end_array()?;
    json.end_object()
}

/// A pool as a key.
fn pool_key(pool: Pool) -> &'static str {
    match pool {
        Pool::Nodes => "nodes",
        Pool::Models => "models",
        Pool::MemRefs => "mem_refs",
        Pool::Tables => "tables",
        _ => "tensors",
    }
}
