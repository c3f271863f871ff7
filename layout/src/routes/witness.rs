//! Route 4: constants seen in the original's instructions, against both books.

use serde_json::{Value, json};

use crate::expression::{Book, evaluate, subject};
use crate::found::Found;
use crate::report::{Mismatch, Route};
use crate::table::Table;

/// Constants that the documented or the implemented layout does not give.
#[must_use]
pub fn compare_constants(table: &Table, implemented: &Found) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    for witness in &table.evidence {
        let books: [(&str, &dyn Book); 2] = [("documented", table), ("implemented", implemented)];
        for (name, book) in books {
            let found = match evaluate(&witness.expression, book) {
                Ok(value) if value == i128::from(witness.value) => continue,
                Ok(value) => json!(format!("{value} ({name})")),
                Err(term) => json!(format!("no {term} ({name})")),
            };
            mismatches.push(Mismatch {
                structure: subject(&witness.expression).into(),
                field: witness.expression.clone(),
                expected: Value::from(witness.value),
                found,
                kind: "constant",
                route: Route::Witness,
            });
        }
    }
    mismatches
}
