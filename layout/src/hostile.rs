//! Everything that is done with a file, on bytes that may be anything: what the fuzz target runs and the tests replay.

use regex_lite::Regex;

use crate::diff;
use crate::show::{Filter, Shown, json_text, select, text};
use crate::types::{Database, Options};

/// Reads the bytes as a file in several ways, and says all there is to say about what is in it. Errors are fine; panics,
/// endless loops and unbounded allocation are not.
pub fn exercise(bytes: &[u8]) {
    let within = |options: Options| Options { debug_directories: Vec::new(), ..options };
    let few = within(Options { first_only: true, follow_pointers: true, ..Options::names(["outer", "a::b"]) });
    let _ = Database::read_bytes(bytes, &few);
    let shallow = within(Options { first_only: true, shallow: true, ..Options::names(["outer", "derived", "a::b"]) });
    if let Ok(types) = Database::read_bytes(bytes, &shallow) {
        for id in select(&types, &Filter::default()) {
            let _ = text(&types, id, Shown { colour: false, expand: 0 });
        }
    }
    if let Ok(pattern) = Regex::new("^[a-f]") {
        let _ = Database::read_bytes(bytes, &within(Options::matching(vec![pattern])));
    }
    let Ok(types) = Database::read_bytes(bytes, &within(Options::all())) else { return };
    let ids = select(&types, &Filter { holes: false, contains: Some("inner".into()), ..Filter::default() });
    let _ = json_text(&types, &ids);
    let ids = select(&types, &Filter::default());
    let _ = json_text(&types, &ids);
    for id in ids {
        let _ = text(&types, id, Shown { colour: false, expand: 3 });
    }
    let _ = diff::compare(&types, &types).text(false);
}
