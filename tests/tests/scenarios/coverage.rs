//! `docs/coverage.md` names tests that exist.

use std::fs;
use std::path::Path;

#[test]
fn every_named_test_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let page = fs::read_to_string(root.join("docs/coverage.md")).unwrap();
    let mut named = 0;
    // What stands between backticks: every second piece.
    for quoted in page.split('`').skip(1).step_by(2) {
        let Some((file, test)) = quoted.split_once("::").filter(|(_, test)| *test != "name") else { continue };
        let file = if file.contains('/') { file.into() } else { format!("tests/tests/scenarios/{file}.rs") };
        let source = fs::read_to_string(root.join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(source.contains(&format!("fn {test}()")), "{file} has no test {test}");
        named += 1;
    }
    assert!(named > 100, "{named} tests named");
}
