//! Requests and their structs against the table of the driver's interface.

use std::collections::BTreeMap;

use nrt_core::abi::STRUCTS;
use nrt_core::abi::reflect::StructInfo;
use nrt_linux::request::scope::{ALL, Scope};
use nrt_linux::request::*;

struct Row<'a> {
    kind: &'a str,
    name: &'a str,
    value: &'a str,
    strukt: &'a str,
    struct_size: &'a str,
    field: &'a str,
    offset: &'a str,
    size: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    include_str!("driver-abi.csv")
        .lines()
        .skip(1)
        .map(|line| {
            let columns: Vec<_> = line.split(',').collect();
            let [kind, name, value, strukt, struct_size, field, offset, size] = columns[..] else { panic!("{line}") };
            Row { kind, name, value, strukt, struct_size, field, offset, size }
        })
        .collect()
}

#[test]
fn every_request_of_the_table_is_implemented_or_out_of_scope_with_a_reason() {
    let mut requests = 0;
    let mut implemented = 0;
    for row in rows().iter().filter(|row| row.kind.starts_with("ioctl")) {
        let name = row.name.strip_prefix("NEURON_IOCTL_").unwrap();
        let number = u32::from_str_radix(row.value.strip_prefix("0x").unwrap(), 16).unwrap();
        // The table spells one number with the size 8 and explains that the real one is that of the struct.
        let mut entries = ALL.iter().filter(|entry| entry.name == name && entry.number == number);
        let entry = entries.next().unwrap_or_else(|| panic!("{name} {number:#x} is neither implemented nor listed"));
        assert!(entries.next().is_none(), "{name} is listed twice");
        match entry.scope {
            Scope::Implemented(info) => {
                implemented += 1;
                assert_eq!(info.name, row.strukt, "{name}");
                assert_eq!(info.size.to_string(), row.struct_size, "{name}");
            }
            Scope::Out(reason) => assert!(reason.len() > 20, "{name}: {reason}"),
        }
        requests += 1;
    }
    assert_eq!(requests, ALL.len(), "a request is listed here that the driver does not have");
    println!("{requests} requests: {implemented} implemented, {} out of scope", requests - implemented);
}

/// The structs of this crate's requests are those of the core, which `cargo layout check` compares with the documented
/// layout on its own routes; here all of the interface's are compared with its table.
#[test]
fn every_field_of_every_struct_is_where_the_table_has_it() {
    let mut table: BTreeMap<&str, Vec<Row<'_>>> = BTreeMap::new();
    for row in rows().into_iter().filter(|row| row.kind.starts_with("field")) {
        table.entry(row.strukt).or_default().push(row);
    }
    let mut fields = 0;
    for (name, documented) in &table {
        // Two structs that batches share with the public interface have its names there.
        let named = |info: &&StructInfo| info.name == *name || info.name.strip_suffix("_t") == Some(name);
        let info = STRUCTS.iter().find(named).unwrap_or_else(|| panic!("{name} is missing"));
        let ours: Vec<_> = info.fields.iter().filter(|field| !field.is_unnamed()).collect();
        for row in documented {
            let field = ours.iter().find(|field| field.path == row.field).unwrap_or_else(|| panic!("{} is missing", row.name));
            assert_eq!(field.offset.to_string(), row.offset, "{}", row.name);
            assert_eq!(field.size.to_string(), row.size, "{}", row.name);
            fields += 1;
        }
        assert_eq!(ours.len(), documented.len(), "{name} has a field the table does not know");
        assert_eq!(documented[0].struct_size, info.size.to_string(), "{name}");
        // No byte of a struct is left out, so none goes to the driver uninitialised.
        let mut end = 0;
        for field in info.fields {
            assert_eq!(field.offset, end, "{name}.{}", field.path);
            end += field.size;
        }
        assert_eq!(end, info.size, "{name}");
    }
    // 93 structs of requests with 372 fields, and those two.
    assert_eq!((table.len(), fields), (95, 382));
}

/// `driver-abi` §4: the numbers the runtime was seen to use.
#[test]
fn reported_numbers() {
    fn number<R: Request>() -> u32 {
        R::NUMBER
    }
    assert_eq!(number::<MemAllocV2Mt64<'_>>(), 0x80384E66);
    assert_eq!(number::<MemGetPa<'_>>(), 0x80084E19);
    assert_eq!(number::<MemFree<'_>>(), 0x80084E16);
    assert_eq!(number::<MemCopyAsync64<'_>>(), 0xC0384E6C);
    assert_eq!(number::<MemBufZerocopy64Batches<'_>>(), 0xC0204E81);
}

#[test]
fn every_request_mutates_and_a_positive_return_is_an_error() {
    fn check<R: Request>(mut request: R) {
        assert!(R::IS_MUTATING);
        assert_eq!(request.opcode(), R::NUMBER);
        let pointer = request.as_ptr();
        for (returned, good) in [(0, true), (1, false), (22, false), (56, false)] {
            // SAFETY: the pointer is that of the request's own struct.
            let reply = unsafe { R::output_from_ptr(returned, pointer) }.unwrap();
            assert_eq!(reply.returned, returned);
            assert_eq!(reply.done().map(drop), if good { Ok(()) } else { Err(nrt_core::driver::Errno::SHORT) });
        }
    }
    check(MemFree::new(7));
    check(MemGetExtendedInfo::new(7));
    check(DriverInfoGet::new());
    let mut handle = 0;
    let request = nrt_core::driver::AllocRequest { size: 4096, align: 0, host: false, channel: 1, nc_id: 1, category: 9 };
    check(MemAllocV2Mt64::new(&request, &mut handle));
    check(MemBufCopy64::new(7, 0, Buffer::In(b"bytes")));
}

#[test]
fn thirty_two_bit_forms_refuse_what_does_not_fit() {
    let copy = |size, src_offset, dst_offset| ChunkCopy { src: 1, src_offset, dst: 2, dst_offset, size };
    assert!(MemCopy::new(&copy(u64::from(u32::MAX), 0, 0)).is_some());
    assert!(MemCopy::new(&copy(1 << 32, 0, 0)).is_none());
    assert!(MemCopy::new(&copy(1, 1 << 32, 0)).is_none());
    assert!(MemCopyAsync::new(&copy(1, 0, 1 << 32), 0, u32::MAX).is_none());
    assert!(Memset::new(1, u64::MAX, 0, 1 << 32).is_none());
    assert!(MemBufCopy::new(1, 1 << 32, Buffer::In(b"x")).is_none());
}
