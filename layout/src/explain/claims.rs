//! How sure each documented row is, which source section says so, and what its sources disagree about.

use std::collections::HashMap;

use crate::error::Unreadable;

/// What stands behind one row of the documented table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// `high`, `med` or `low`.
    pub confidence: String,
    /// Fact sheet and section.
    pub source: String,
}

/// One known contradiction between the sources, and what was made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Erratum {
    /// Struct it is about.
    pub structure: String,
    /// Field it is about; empty = the struct as a whole.
    pub field: String,
    /// Number of the erratum.
    pub number: u32,
    /// What is claimed, what is implemented, and why.
    pub text: String,
}

/// Claims by struct and field; a row without a field stands for its struct.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    rows: HashMap<(String, String), Claim>,
}

impl Claims {
    /// Reads the two last columns of a documented table.
    ///
    /// # Errors
    /// A table that is no csv or lacks a column.
    pub fn read(text: &str, place: &str) -> Result<Self, Unreadable> {
        let mut rows = HashMap::new();
        for cells in cells(text, place, ["struct", "field", "confidence", "source"])? {
            let [structure, field, confidence, source] = cells;
            rows.insert((structure, field), Claim { confidence, source });
        }
        Ok(Self { rows })
    }

    /// The claim of a field, or of the struct if `field` is empty.
    #[must_use]
    pub fn of(&self, structure: &str, field: &str) -> Claim {
        let key = |field: &str| (structure.to_owned(), field.to_owned());
        self.rows.get(&key(field)).cloned().unwrap_or_default()
    }
}

/// All contradictions that a field or struct is subject to.
///
/// # Errors
/// A malformed `errata.csv`.
pub fn errata() -> Result<Vec<Erratum>, Unreadable> {
    let place = "tables/errata.csv";
    let rows = cells(include_str!("../../tables/errata.csv"), place, ["struct", "field", "number", "text"])?;
    let read = |[structure, field, number, text]: [String; 4]| {
        let number =
            number.parse().map_err(|_| Unreadable::new(place, format!("number is {number:?}"), "the number of an erratum"))?;
        Ok(Erratum { structure, field, number, text })
    };
    rows.into_iter().map(read).collect()
}

/// The named columns of every row.
fn cells<const N: usize>(text: &str, place: &str, columns: [&str; N]) -> Result<Vec<[String; N]>, Unreadable> {
    let broken = |error: csv::Error| Unreadable::new(place, error.to_string(), "a csv table");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(broken)?.clone();
    let mut at = [0; N];
    for (index, column) in columns.iter().enumerate() {
        let found = header.iter().position(|name| name == *column);
        at[index] = found.ok_or_else(|| Unreadable::new(place, format!("no column {column}"), columns.join(", ")))?;
    }
    let row = |record: csv::StringRecord| at.map(|index| record.get(index).unwrap_or_default().to_owned());
    reader.records().map(|record| record.map(row).map_err(broken)).collect()
}
