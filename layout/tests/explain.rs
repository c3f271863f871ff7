//! `explain`: claims, witnesses, errata.

use std::collections::BTreeSet;

use crate::common::{code, layout, text, write};
use nrt_layout::explain::claims::{Claims, errata};
use nrt_layout::explain::explain;
use nrt_layout::table::Table;
use serde_json::Value;

#[test]
fn a_field_with_an_erratum() {
    let output = layout(&["explain", "dmem_t.ref_count", "--json"]);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(value["schema"], "nrt-layout/explain/1");
    let one = &value["explanations"][0];
    assert_eq!((&one["struct"], &one["field"], &one["confidence"]), (&"dmem_t".into(), &"ref_count".into(), &"high".into()));
    assert_eq!(one["numbers"]["offset"], 128);
    assert_eq!(one["errata"][0]["number"], 9);
    let kinds: BTreeSet<_> = one["witnesses"].as_array().expect("an array").iter().map(|one| one["kind"].as_str()).collect();
    assert_eq!(kinds, BTreeSet::from([Some("neighbour"), Some("compiler"), Some("implementation")]));
}

#[test]
fn instructions_are_named() {
    let output = layout(&["explain", "mla_t", "model_t.ref_count"]);
    assert_eq!(code(&output), 0);
    let out = text(&output.stdout);
    assert!(out.contains("0x900b8 = size:mla_t") && out.contains("lock cmpxchg at node - 0x3f0"), "{out}");
}

#[test]
fn a_contradicted_claim_exits_with_1() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let shifted = include_str!("../tables/layout.csv").replace("dmem_t,192,64,hint,136,", "dmem_t,192,64,hint,137,");
    let table = write(directory.path(), "t.csv", shifted.as_bytes());
    let output = layout(&["explain", "dmem_t.hint", "--table", table.to_str().expect("UTF-8")]);
    assert_eq!(code(&output), 1);
    assert!(text(&output.stdout).contains("CONTRADICTS"), "{}", text(&output.stdout));
}

#[test]
fn an_unknown_name_exits_with_2_and_says_what_is_near() {
    let output = layout(&["explain", "dmem_t.refcount"]);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("dmem_t.ref_count"), "{}", text(&output.stderr));
    assert_eq!(code(&layout(&["explain", "no_such_struct"])), 2);
    assert_eq!(code(&layout(&["explain"])), 2);
}

/// Every documented row has a confidence and a source; every erratum is about a documented row and has words.
#[test]
fn nothing_is_claimed_without_a_source() {
    let table = Table::built_in().expect("the tables are well-formed");
    let claims = Claims::read(include_str!("../tables/layout.csv"), "layout.csv").expect("well-formed");
    let mut fields = 0;
    for documented in &table.structs {
        for field in &documented.fields {
            let claim = claims.of(&documented.name, &field.path);
            assert!(["high", "med", "low"].contains(&claim.confidence.as_str()), "{}.{}", documented.name, field.path);
            assert!(
                claim.source.contains("sec.") || claim.source.contains("driver-abi.csv") || claim.source.contains("equals"),
                "{claim:?}"
            );
            fields += 1;
        }
    }
    let errata = errata().expect("well-formed");
    for erratum in &errata {
        let documented = table.structure(&erratum.structure).unwrap_or_else(|| panic!("{erratum:?}"));
        assert!(erratum.field.is_empty() || documented.field(&erratum.field).is_some(), "{erratum:?}");
        assert!(erratum.text.ends_with('.') && (1..=35).contains(&erratum.number), "{erratum:?}");
    }
    println!("{fields} claims, {} errata on fields and structs", errata.len());
}

/// No witness of the built-in table contradicts it, for a sample that has every kind of witness.
#[test]
fn no_witness_contradicts_the_table() {
    let table = Table::built_in().expect("the tables are well-formed");
    let claims = Claims::read(include_str!("../tables/layout.csv"), "layout.csv").expect("well-formed");
    let errata = errata().expect("well-formed");
    let mut witnesses = 0;
    for name in [
        "tdrv_ctx_t",
        "tpb_t",
        "mla_t.intc",
        "kbin_mem_ref_t.u.list.list",
        "nrt_tensor_t",
        "loadable_library_header.start_symbol",
    ] {
        let explanation = explain(&table, &claims, &errata, name).expect("documented");
        for witness in &explanation.witnesses {
            assert!(witness.agrees, "{name}: {witness:?}");
        }
        witnesses += explanation.witnesses.len();
    }
    assert!(witnesses > 20, "{witnesses}");
}
