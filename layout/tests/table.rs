//! The documented table agrees with itself, and all of it can be laid out by the C compiler.

use std::collections::BTreeSet;

use nrt_layout::compare::{Scope, compare};
use nrt_layout::report::Route;
use nrt_layout::routes::gcc;
use nrt_layout::table::{Table, problems};

fn table() -> Table {
    Table::built_in().expect("the tables are well-formed")
}

#[test]
fn the_table_agrees_with_itself() {
    assert_eq!(problems(&table()), Vec::<String>::new());
}

#[test]
fn the_table_is_complete() {
    let table = table();
    assert_eq!(table.required.len(), 215);
    let fields: usize = table.required.iter().map(|name| table.structure(name).expect("required").fields.len()).sum();
    assert_eq!(fields, 559 + 372);
    assert_eq!(table.bytes.len(), 3 * 23);
}

#[test]
fn faults_are_noticed() {
    let change = |edit: &dyn Fn(&mut Table)| {
        let mut table = table();
        edit(&mut table);
        problems(&table).len()
    };
    let dmem = |table: &mut Table| table.structs.iter().position(|documented| documented.name == "dmem_t").expect("documented");
    // Not aligned, overlapping, out of order, beyond the end, a wrong size, a wrong shape, a required struct gone.
    assert!(
        change(&|table| {
            let at = dmem(table);
            table.structs[at].fields[1].offset = 9;
        }) > 0
    );
    assert!(
        change(&|table| {
            let at = dmem(table);
            table.structs[at].fields[1].offset = 0;
        }) > 0
    );
    assert!(
        change(&|table| {
            let at = dmem(table);
            table.structs[at].fields.swap(0, 1);
        }) > 0
    );
    assert!(
        change(&|table| {
            let at = dmem(table);
            table.structs[at].size = Some(128);
        }) > 0
    );
    assert!(
        change(&|table| {
            let at = dmem(table);
            table.structs[at].size = Some(200);
        }) > 0
    );
    assert!(
        change(&|table| {
            let at = dmem(table);
            table.structs[at].align = Some(4);
        }) > 0
    );
    assert!(
        change(&|table| {
            let at = dmem(table);
            table.structs[at].fields[0].size = Some(16);
        }) > 0
    );
    assert!(
        change(&|table| {
            let at = dmem(table);
            table.structs.remove(at);
        }) > 0
    );
    assert!(change(&|table| table.spans[0].structure = "nothing".into()) > 0);
}

/// Whatever C can lay out from the table lands where the table says.
#[test]
fn the_c_compiler_agrees_with_every_documented_struct() {
    let table = table();
    let names: BTreeSet<&str> = table.structs.iter().map(|documented| documented.name.as_str()).collect();
    let outcome = compare(&table, &gcc::found(&table, &names).expect("the header compiles"), Route::Gcc, Scope::Implementation);
    assert_eq!(outcome.mismatches, []);
    println!("{} structs, {} fields laid out by the C compiler", outcome.compared.structs, outcome.compared.fields);
}

#[test]
fn malformed_tables_name_the_line() {
    let good = include_str!("../tables/layout.csv");
    let header = good.lines().next().expect("a header");
    let row = "a_t,8,8,x,0,8,u64,1,,high,here";
    let refuse = |text: String, words: &str| {
        let error = Table::with_layout(&text, "t.csv").expect_err(words).to_string();
        assert!(error.contains("t.csv") && error.contains(words), "{error}");
    };
    assert!(Table::with_layout(&format!("{header}\n{row}\n"), "t.csv").is_ok());
    refuse(String::new(), "header");
    refuse("a,b,c\n".into(), "header");
    refuse(format!("{header}\na_t,8\n"), "line");
    refuse(format!("{header}\n{}\n", row.replace(",0,8,u64", ",+1,8,u64")), "line 2");
    refuse(format!("{header}\n{}\n", row.replace(",0,8,u64", ",99999999999999999999,8,u64")), "line 2");
    refuse(format!("{header}\n{}\n", row.replace("u64", "u65")), "ctype");
    refuse(format!("{header}\n{}\n", row.replace("a_t", "a t")), "C name");
    refuse(format!("{header}\n{}\n", row.replace(",x,", ",x;y,")), "C names");
    refuse(format!("{header}\n{}\n", row.replace("8,8,x", "8,3,x")), "power of two");
    refuse(format!("{header}\n{row}\n{row}\n"), "each field once");
    refuse(format!("{header}\n{row}\nb_t,8,8,x,0,8,u64,1,,high,here\n{}\n", row.replace(",x,", ",y,")), "side by side");
}
