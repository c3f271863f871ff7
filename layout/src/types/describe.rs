//! Types in words, as C and C++ write them.

use std::fmt::Write as _;

use super::{Database, Kind, Pointer, TypeId};

/// A description of more parts than this is cut off with `...`.
const MOST: u32 = 512;

/// Arrays of arrays, and pointers to pointers, that are put down without making texts of their parts first.
const SIMPLE: usize = 8;

impl Database {
    /// The type as C writes it: `struct dmem_t *`, `uint8_t[4][2]`, `int (*)(void *)`.
    #[must_use]
    pub fn describe(&self, ty: Option<TypeId>) -> String {
        self.declare(ty, "")
    }

    /// The declaration of something of this type: `uint8_t name[4][2]`.
    #[must_use]
    pub fn declare(&self, ty: Option<TypeId>, name: &str) -> String {
        self.declarator(ty, name.to_owned(), &mut MOST.clone())
    }

    /// Appends [`Database::declare`]. Most declarations need no text but those of the names.
    pub fn declare_onto(&self, out: &mut String, ty: Option<TypeId>, name: &str) {
        let begun = out.len();
        if self.simple_onto(out, ty, name).is_none() {
            out.truncate(begun);
            out.push_str(&self.declare(ty, name));
        }
    }

    /// The same for arrays of pointers to what has a name; none = it is none of those, and what was appended is wrong.
    fn simple_onto(&self, out: &mut String, ty: Option<TypeId>, name: &str) -> Option<()> {
        let outer = ty?;
        let (mut id, mut arrays, mut stars, mut qualified) = (outer, 0, 0, false);
        let word = loop {
            match &self[id].kind {
                Kind::Array { element, .. } if stars == 0 && !qualified && arrays < SIMPLE => {
                    (arrays, id) = (arrays + 1, (*element)?);
                }
                Kind::Pointer(Pointer::Plain, target) if !qualified && stars < SIMPLE => {
                    (stars, id) = (stars + 1, (*target)?);
                }
                Kind::Qualified(qualifier, target) if !qualified => {
                    (qualified, id) = (true, (*target)?);
                    out.push_str(qualifier.word());
                    out.push(' ');
                }
                Kind::Base(_) | Kind::Unspecified | Kind::Typedef(_) => break "",
                Kind::Aggregate(aggregate) => break aggregate.keyword.word(),
                Kind::Enum(_) => break "enum",
                Kind::Declared(keyword) => break keyword.word(),
                _ => return None,
            }
        };
        out.push_str(word);
        out.push_str(if word.is_empty() { "" } else { " " });
        out.push_str(self[id].name.as_deref()?);
        out.push_str(if stars > 0 || !name.is_empty() { " " } else { "" });
        out.extend(std::iter::repeat_n('*', stars));
        out.push_str(name);
        let mut array = outer;
        while let Kind::Array { element: Some(element), bounds } = &self[array].kind {
            for bound in bounds {
                let _ = match bound {
                    Some(bound) => write!(out, "[{bound}]"),
                    None => out.write_str("[]"),
                };
            }
            array = *element;
        }
        Some(())
    }

    fn declarator(&self, ty: Option<TypeId>, inner: String, steps: &mut u32) -> String {
        let join = |word: &str| match inner.as_bytes().first() {
            None => word.to_owned(),
            Some(b'[') => format!("{word}{inner}"),
            Some(_) => format!("{word} {inner}"),
        };
        let Some(id) = ty else { return join("void") };
        let Some(left) = steps.checked_sub(1) else { return join("...") };
        *steps = left;
        let named = |word: &str| {
            let name = self[id].name.as_deref();
            match (word, name) {
                ("", name) => join(name.unwrap_or("?")),
                (word, None) => join(&format!("{word} {{...}}")),
                (word, Some(name)) => join(&format!("{word} {name}")),
            }
        };
        match &self[id].kind {
            Kind::Base(_) | Kind::Unspecified | Kind::Typedef(_) => named(""),
            Kind::Aggregate(aggregate) => named(aggregate.keyword.word()),
            Kind::Enum(_) => named("enum"),
            Kind::Declared(keyword) => named(keyword.word()),
            Kind::Pointer(flavour, target) => {
                let mark = match flavour {
                    Pointer::Plain => "*",
                    Pointer::Reference => "&",
                    Pointer::RvalueReference => "&&",
                    Pointer::Member => "::*",
                };
                let behind = target.map(|target| &self[target].kind);
                let inner = match behind {
                    Some(Kind::Function { .. } | Kind::Array { .. }) => format!("({mark}{inner})"),
                    _ => format!("{mark}{inner}"),
                };
                self.declarator(*target, inner, steps)
            }
            Kind::Qualified(qualifier, target) => {
                let pointer = target.is_some_and(|target| matches!(self[target].kind, Kind::Pointer(..)));
                if pointer {
                    let space = if inner.is_empty() { "" } else { " " };
                    self.declarator(*target, format!("{}{space}{inner}", qualifier.word()), steps)
                } else {
                    format!("{} {}", qualifier.word(), self.declarator(*target, inner, steps))
                }
            }
            Kind::Array { element, bounds } => {
                let mut text = inner;
                for bound in bounds {
                    text.push_str(&bound.map_or_else(|| "[]".to_owned(), |bound| format!("[{bound}]")));
                }
                self.declarator(*element, text, steps)
            }
            Kind::Function { result, parameters, variadic } => {
                let mut words: Vec<String> =
                    parameters.iter().map(|parameter| self.declarator(*parameter, String::new(), steps)).collect();
                if *variadic {
                    words.push("...".into());
                } else if words.is_empty() {
                    words.push("void".into());
                }
                self.declarator(*result, format!("{inner}({})", words.join(", ")), steps)
            }
        }
    }
}
