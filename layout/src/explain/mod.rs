//! `explain`: why a documented number is what it is.
//!
//! A claim of the table is told with its confidence and the section of the source that makes it, then with everything else
//! that confirms it: the fields next to it, the structs that embed it, constants of the original's instructions, the C
//! compiler and `nrt-core`. Where the sources disagree, the erratum says what was decided and why.

pub mod claims;
pub mod witnesses;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use crate::error::Unreadable;
use crate::table::{DocField, DocStruct, Table};
use claims::{Claims, Erratum, errata};
use witnesses::{Books, Testimony, of_field, of_struct};

/// Examples of the command line.
pub const EXAMPLES: &str = "\
Examples:
  cargo layout explain dmem_t                    size, alignment, and what confirms them
  cargo layout explain dmem_t.ref_count          one field, with the erratum on it
  cargo layout explain mla_t.device --json       one JSON object (schema/explain.schema.json)
  cargo layout explain --table my.csv some_t     what another table claims

Exit codes:
  0  every witness agrees with the claim
  1  a witness contradicts it
  2  wrong usage, or a name the table does not know
  3  the table could not be read";

/// What to explain.
#[derive(Debug, Args)]
pub struct Request {
    /// Struct, or struct and field: `dmem_t`, `dmem_t.ref_count`, `tpb_t.u.sunda`.
    #[arg(value_name = "STRUCT[.FIELD]", required = true)]
    names: Vec<String>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Documented table to use instead of the built-in layout.csv.
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
}

/// One explained name.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Struct.
    pub structure: String,
    /// Field; empty = the struct as a whole.
    pub field: String,
    /// What is claimed, in words.
    pub claim: String,
    /// The claim as numbers: `offset`, `size`, `align`, `type`, `count`; null where no source gives one.
    pub numbers: Value,
    /// `high`, `med` or `low`.
    pub confidence: String,
    /// Fact sheet and section.
    pub source: String,
    /// What confirms it.
    pub witnesses: Vec<Testimony>,
    /// Contradictions between the sources.
    pub errata: Vec<Erratum>,
}

/// Answers a request: the text to print and the exit code.
///
/// # Errors
/// A table that cannot be read.
pub fn run(request: &Request) -> Result<(String, u8), Unreadable> {
    let (table, text) = read(request.table.as_deref())?;
    let claims = Claims::read(&text, "the table")?;
    let errata = errata()?;
    let mut explained = Vec::new();
    for name in &request.names {
        let Some(found) = explain(&table, &claims, &errata, name) else {
            eprintln!("nrt-layout: {name} is not in the table{}", suggestion(&table, name));
            return Ok((String::new(), 2));
        };
        explained.push(found);
    }
    let clean = explained.iter().all(|one| one.witnesses.iter().all(|witness| witness.agrees));
    let out = if request.json {
        let explanations: Vec<Value> = explained.iter().map(Explanation::json).collect();
        format!("{:#}\n", json!({ "schema": "nrt-layout/explain/1", "explanations": explanations }))
    } else {
        explained.iter().map(Explanation::human).collect::<Vec<_>>().join("\n")
    };
    Ok((out, u8::from(!clean)))
}

/// A table and its text.
pub(crate) fn read(path: Option<&std::path::Path>) -> Result<(Table, String), Unreadable> {
    let Some(path) = path else { return Ok((Table::built_in()?, include_str!("../../tables/layout.csv").into())) };
    let place = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Unreadable::new(&place, error.to_string(), "a readable csv table in UTF-8"))?;
    Ok((Table::with_layout(&text, &place)?, text))
}

/// The explanation of one name; nothing if the table does not know it.
#[must_use]
pub fn explain(table: &Table, claims: &Claims, errata: &[Erratum], name: &str) -> Option<Explanation> {
    let (structure, path) = name.split_once('.').unwrap_or((name, ""));
    let documented = table.structure(structure)?;
    let books = Books::open(table, structure);
    let about = |erratum: &&Erratum| erratum.structure == structure && erratum.field == path;
    let errata = errata.iter().filter(about).cloned().collect();
    if path.is_empty() {
        let first = documented.fields.first().map_or("", |field| field.path.as_str());
        let claim = claims.of(structure, first);
        return Some(Explanation {
            structure: structure.into(),
            field: String::new(),
            claim: claim_of_struct(documented),
            numbers: json!({ "size": documented.size, "align": documented.align, "fields": documented.fields.len() }),
            confidence: claim.confidence,
            source: claim.source,
            witnesses: of_struct(table, documented, &books),
            errata,
        });
    }
    let field = documented.field(path)?;
    let claim = claims.of(structure, path);
    Some(Explanation {
        structure: structure.into(),
        field: path.into(),
        claim: claim_of_field(field),
        numbers: json!({
            "offset": field.offset, "size": field.size, "type": field.ctype, "of": field.element, "count": field.count,
        }),
        confidence: claim.confidence,
        source: claim.source,
        witnesses: of_field(table, documented, field, &books),
        errata,
    })
}

fn bytes(size: Option<u64>) -> String {
    size.map_or_else(|| "of unknown size".into(), |size| if size == 1 { "1 byte".into() } else { format!("{size} bytes") })
}

fn claim_of_struct(documented: &DocStruct) -> String {
    let align = documented.align.map_or_else(|| "unknown alignment".into(), |align| format!("alignment {align}"));
    let fields = match documented.fields.len() {
        0 => "no field is documented".into(),
        1 => "1 documented field".into(),
        count => format!("{count} documented fields"),
    };
    format!("{}, {align}, {fields}", bytes(documented.size))
}

fn claim_of_field(field: &DocField) -> String {
    let of = if field.element.is_empty() { String::new() } else { format!(" ({})", field.element) };
    let many = if field.count == 1 { String::new() } else { format!("{} x ", field.count) };
    let union = if field.union { ", in a union" } else { "" };
    format!("at {} ({:#x}), {}: {many}{}{of}{union}", field.offset, field.offset, bytes(field.size), field.ctype)
}

/// Names near a wrong one.
fn suggestion(table: &Table, name: &str) -> String {
    let (structure, path) = name.split_once('.').unwrap_or((name, ""));
    let known: Vec<String> = match table.structure(structure) {
        Some(documented) => documented.fields.iter().map(|field| format!("{structure}.{}", field.path)).collect(),
        None => table.structs.iter().map(|documented| documented.name.clone()).collect(),
    };
    let plain = |text: &str| text.to_lowercase().replace('_', "");
    let wanted = plain(if table.structure(structure).is_some() { path } else { structure });
    let near = |candidate: &&String| {
        let tail = plain(candidate.strip_prefix(structure).unwrap_or(candidate).trim_start_matches('.'));
        wanted.len() > 2
            && (tail.contains(&wanted) || wanted.contains(&tail) || wanted.get(..4).is_some_and(|head| tail.starts_with(head)))
    };
    let close: Vec<&str> = known.iter().filter(near).take(5).map(String::as_str).collect();
    if close.is_empty() { String::new() } else { format!("; near it: {}", close.join(", ")) }
}

impl Explanation {
    /// The explanation as one object; see `schema/explain.schema.json`.
    #[must_use]
    pub fn json(&self) -> Value {
        let witness = |one: &Testimony| json!({ "kind": one.kind, "agrees": one.agrees, "text": one.text });
        let erratum = |one: &Erratum| json!({ "number": one.number, "text": one.text });
        json!({
            "struct": self.structure, "field": self.field, "claim": self.claim, "numbers": self.numbers,
            "confidence": self.confidence, "source": self.source,
            "witnesses": self.witnesses.iter().map(witness).collect::<Vec<_>>(),
            "errata": self.errata.iter().map(erratum).collect::<Vec<_>>(),
        })
    }

    /// The explanation for people.
    #[must_use]
    pub fn human(&self) -> String {
        let name = if self.field.is_empty() { self.structure.clone() } else { format!("{}.{}", self.structure, self.field) };
        let mut out = format!("{name}\n  claim       {}\n", self.claim);
        let _ = writeln!(out, "  confidence  {}\n  source      {}", self.confidence, self.source);
        for (index, witness) in self.witnesses.iter().enumerate() {
            let head = if index == 0 { "witnesses" } else { "" };
            let mark = if witness.agrees { "" } else { "CONTRADICTS: " };
            let _ = writeln!(out, "  {head:<10}  {:<14}  {mark}{}", witness.kind, witness.text);
        }
        for erratum in &self.errata {
            let _ = writeln!(out, "  erratum {:<3} {}", erratum.number, erratum.text);
        }
        out
    }
}
