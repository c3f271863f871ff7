//! Sums of products over a layout, as `evidence.csv` writes them: `off:model_t.ht_node-off:model_t.ref_count`.
//!
//! Terms: a decimal number, `size:STRUCT`, `off:STRUCT.PATH`, `count:STRUCT.PATH`, `enum:ENUM.MEMBER`.

use crate::found::Found;
use crate::table::Table;

/// One of the two books: what is documented, or what is implemented.
pub trait Book {
    /// Size of a struct in bytes.
    fn size(&self, structure: &str) -> Option<i128>;
    /// Offset of a field in bytes.
    fn offset(&self, structure: &str, path: &str) -> Option<i128>;
    /// Elements of a field.
    fn count(&self, structure: &str, path: &str) -> Option<i128>;
    /// Value of an enumerator.
    fn value(&self, enumeration: &str, member: &str) -> Option<i128>;
}

impl Book for Table {
    fn size(&self, structure: &str) -> Option<i128> {
        self.structure(structure)?.size.map(i128::from)
    }

    fn offset(&self, structure: &str, path: &str) -> Option<i128> {
        Some(self.structure(structure)?.field(path)?.offset.into())
    }

    fn count(&self, structure: &str, path: &str) -> Option<i128> {
        Some(self.structure(structure)?.field(path)?.count.into())
    }

    fn value(&self, enumeration: &str, member: &str) -> Option<i128> {
        let members = &self.enumeration(enumeration)?.members;
        members.iter().find(|(name, _)| name == member)?.1.map(i128::from)
    }
}

impl Book for Found {
    fn size(&self, structure: &str) -> Option<i128> {
        Some(self.structs.get(structure)?.first()?.size.into())
    }

    fn offset(&self, structure: &str, path: &str) -> Option<i128> {
        Some(self.structs.get(structure)?.first()?.fields.get(path)?.offset.into())
    }

    fn count(&self, structure: &str, path: &str) -> Option<i128> {
        self.structs.get(structure)?.first()?.fields.get(path)?.count.map(i128::from)
    }

    fn value(&self, enumeration: &str, member: &str) -> Option<i128> {
        self.enums.get(enumeration)?.first()?.values.get(member).map(|value| (*value).into())
    }
}

/// Value of an expression in one book, or the first term that book cannot answer.
///
/// # Errors
/// The term that is malformed, unknown to the book or too large.
pub fn evaluate<'a>(expression: &'a str, book: &dyn Book) -> Result<i128, &'a str> {
    let mut total: i128 = 0;
    let mut rest = expression;
    let mut sign = 1;
    loop {
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        let mut product: i128 = sign;
        for term in rest[..end].split('*') {
            product = self::term(term, book).and_then(|value| product.checked_mul(value)).ok_or(term)?;
        }
        total = total.checked_add(product).ok_or(&rest[..end])?;
        if end == rest.len() {
            return Ok(total);
        }
        sign = if rest.as_bytes()[end] == b'+' { 1 } else { -1 };
        rest = &rest[end + 1..];
    }
}

fn term(term: &str, book: &dyn Book) -> Option<i128> {
    let Some((kind, name)) = term.split_once(':') else { return term.parse().ok() };
    if kind == "size" {
        return book.size(name);
    }
    let (owner, path) = name.split_once('.')?;
    match kind {
        "off" => book.offset(owner, path),
        "count" => book.count(owner, path),
        "enum" => book.value(owner, path),
        _ => None,
    }
}

/// Struct or enumeration that an expression names first.
#[must_use]
pub fn subject(expression: &str) -> &str {
    let name = expression.split_once(':').map_or(expression, |(_, rest)| rest);
    name.split(['.', '+', '-', '*']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::{evaluate, subject};
    use crate::table::Table;

    #[test]
    fn sums_of_products() {
        let table = Table::built_in().expect("the tables are well-formed");
        assert_eq!(evaluate("7", &table), Ok(7));
        assert_eq!(evaluate("2*size:dmem_t-1+off:dmem_t.hint", &table), Ok(2 * 192 - 1 + 136));
        assert_eq!(evaluate("count:mla_t._tpbs*size:tpb_t", &table), Ok(314_560));
        assert_eq!(evaluate("enum:mem_alloc_category_t.NEURON_MEMALLOC_TYPE_MAX", &table), Ok(20));
        assert_eq!(evaluate("off:tpb_t.u.sunda", &table), Ok(17_032));
    }

    #[test]
    fn faults_name_their_term() {
        let table = Table::built_in().expect("the tables are well-formed");
        for (expression, term) in
            [("", ""), ("1+", ""), ("1+size:no_t", "size:no_t"), ("off:dmem_t", "off:dmem_t"), ("2*x:a.b", "x:a.b")]
        {
            assert_eq!(evaluate(expression, &table), Err(term), "{expression}");
        }
        let large = "99999999999999999999999999999999999999*99999999999999999999999999999999999999";
        assert!(evaluate(large, &table).is_err());
    }

    #[test]
    fn subjects() {
        assert_eq!(subject("off:model_t.ht_node-1"), "model_t");
        assert_eq!(subject("21*size:ht_node_t"), "ht_node_t");
    }
}
