//! Changes that are known and accepted: one a line, `TYPE`, `TYPE.FIELD` or either with a kind after it; `*` stands for
//! any characters, `#` starts a comment.

use super::{Change, ChangeKind, Changes};
use crate::error::Unreadable;

/// The lines of a suppression file.
#[derive(Clone, Debug, Default)]
pub struct Suppressions {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    line: usize,
    name: String,
    kind: Option<ChangeKind>,
}

impl Suppressions {
    /// Reads the lines; `place` names the file in errors.
    ///
    /// # Errors
    /// A line with more than two words, or with a kind that there is not.
    pub fn parse(text: &str, place: &str) -> Result<Self, Unreadable> {
        let mut rules = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
            let kind = |word: &str| ChangeKind::ALL.into_iter().find(|kind| kind.word() == word);
            let (name, kind) = match words.as_slice() {
                [] => continue,
                [name] => (*name, None),
                [name, word] if kind(word).is_some() => (*name, kind(word)),
                _ => {
                    let place = format!("{place}, line {}", index + 1);
                    return Err(Unreadable::new(place, format!("{line:?}"), "TYPE[.FIELD] and, if any, a kind of change"));
                }
            };
            rules.push(Rule { line: index + 1, name: name.to_owned(), kind });
        }
        Ok(Self { rules })
    }

    /// Takes the changes out; gives the lines that matched none.
    pub fn apply(&self, changes: &mut Changes) -> Vec<usize> {
        let mut used = vec![false; self.rules.len()];
        let before = changes.changes.len();
        changes.changes.retain(|change| {
            let mut kept = true;
            for (rule, used) in self.rules.iter().zip(&mut used) {
                if rule.matches(change) {
                    (kept, *used) = (false, true);
                }
            }
            kept
        });
        changes.suppressed += before - changes.changes.len();
        self.rules.iter().zip(used).filter(|(_, used)| !used).map(|(rule, _)| rule.line).collect()
    }
}

impl Rule {
    fn matches(&self, change: &Change) -> bool {
        let full = format!("{}.{}", change.structure, change.field);
        self.kind.is_none_or(|kind| kind == change.kind) && (glob(&self.name, &change.structure) || glob(&self.name, &full))
    }
}

/// Whether a pattern with `*` matches all of the text.
fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::{Suppressions, glob};
    use crate::diff::{Change, ChangeKind, Changes};

    #[test]
    fn stars_match_anything() {
        for (pattern, text, matches) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("a*", "ab", true),
            ("*b", "ab", true),
            ("a*c*e", "abcde", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(glob(pattern, text), matches, "{pattern} {text}");
        }
    }

    #[test]
    fn rules_take_out_what_they_name() {
        let change = |field: &str, kind| Change {
            structure: "s".into(),
            field: field.into(),
            kind,
            old: String::new(),
            new: String::new(),
        };
        let mut changes = Changes {
            changes: vec![change("a", ChangeKind::Moved), change("a", ChangeKind::Resized), change("b", ChangeKind::Moved)],
            ..Changes::default()
        };
        let rules = Suppressions::parse("# known\ns.a moved\nt\n", "file").expect("two rules");
        assert_eq!(rules.apply(&mut changes), [3]);
        assert_eq!((changes.changes.len(), changes.suppressed), (2, 1));
        assert!(Suppressions::parse("s.a nonsense", "file").is_err());
    }
}
