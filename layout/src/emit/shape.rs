//! Definitions between their source (the documented table, or a file's debug information) and a language.

use crate::error::Unreadable;

/// Structs in an order in which each stands behind what it embeds, and the enumerations they use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    /// Where they come from, in words.
    pub origin: String,
    /// The structs and unions.
    pub records: Vec<Record>,
    /// The enumerations.
    pub enums: Vec<Enumeration>,
}

/// One struct or union.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Name; empty for one that has none.
    pub name: String,
    /// Whether its members overlap.
    pub union: bool,
    /// Size in bytes.
    pub size: u64,
    /// Whether a source gives that size; otherwise it ends with its last member.
    pub closed: bool,
    /// Alignment in bytes, where known.
    pub align: Option<u64>,
    /// Members in order of their offset.
    pub members: Vec<Member>,
    /// How sure the source is, if it says.
    pub confidence: String,
    /// Section of the source.
    pub source: String,
}

/// One member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name.
    pub name: String,
    /// Offset in its record in bytes.
    pub offset: u64,
    /// Size in bytes; 0 for a flexible array.
    pub size: u64,
    /// Array bounds, outermost first; none for a member that is no array, `[0]` for a flexible array.
    pub bounds: Vec<u64>,
    /// Type of one element.
    pub kind: Kind,
    /// Words of the source on the type, such as `atomic aligned(64)`.
    pub remark: String,
    /// Whether the source gives the size; a table may leave it open.
    pub sized: bool,
    /// How sure the source is, if it says.
    pub confidence: String,
    /// Section of the source.
    pub section: String,
}

/// Type of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A scalar by the name the documented table uses: `u32`, `size_t`, `bool`, `char`, ...
    Scalar(String),
    /// An enumeration of 4 bytes.
    Enum(String),
    /// A pointer; what it points to as C writes it, `volatile void` or `dmem_t*`.
    Pointer(String),
    /// A pointer to a function.
    Function,
    /// A named record.
    Record(String),
    /// A record without a name of its own.
    Inline(Box<Record>),
    /// An object of the C library by its name.
    Library(String),
    /// Bytes with an alignment and, where known, a name for what they are.
    Bytes(u64),
}

/// One enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enumeration {
    /// Name.
    pub name: String,
    /// Enumerators.
    pub members: Vec<(String, i64)>,
}

impl Shapes {
    /// The record of this name.
    #[must_use]
    pub fn record(&self, name: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.name == name)
    }

    /// Alignment the type of a member brings along in bytes.
    #[must_use]
    pub fn natural(&self, kind: &Kind) -> u64 {
        match kind {
            Kind::Scalar(name) if name == "f32" => 4,
            Kind::Scalar(name) if name == "f64" => 8,
            Kind::Scalar(name) => crate::table::scalar_size(name).unwrap_or(1),
            Kind::Enum(_) => 4,
            Kind::Pointer(_) | Kind::Function | Kind::Library(_) => 8,
            Kind::Record(name) => self.record(name).map_or(1, |record| self.alignment(record)),
            Kind::Inline(record) => self.alignment(record),
            Kind::Bytes(align) => *align,
        }
    }

    /// Alignment of a record: as told, or what its members bring along.
    #[must_use]
    pub fn alignment(&self, record: &Record) -> u64 {
        record.align.unwrap_or_else(|| self.widest(record))
    }

    /// Largest alignment its members bring along.
    #[must_use]
    pub fn widest(&self, record: &Record) -> u64 {
        record.members.iter().map(|member| self.natural(&member.kind)).max().unwrap_or(1)
    }

    /// Whether plain alignment cannot place the members, so that the record must be packed.
    #[must_use]
    pub fn packed(&self, record: &Record) -> bool {
        let misplaced = |member: &Member| !member.offset.is_multiple_of(self.natural(&member.kind));
        record.members.iter().any(misplaced)
            || record.align.is_some_and(|align| align < self.widest(record))
            || !record.size.is_multiple_of(self.alignment(record).max(1))
    }

    /// Checks that members lie in order inside their record, which every language needs.
    ///
    /// # Errors
    /// The member that does not.
    pub fn verify(&self) -> Result<(), Unreadable> {
        self.records.iter().try_for_each(verify)
    }
}

fn verify(record: &Record) -> Result<(), Unreadable> {
    let mut end = 0;
    for member in &record.members {
        let place = || format!("{}.{}", record.name, member.name);
        let stop = member.offset.checked_add(member.size).filter(|stop| *stop <= record.size);
        let Some(stop) = stop else {
            return Err(Unreadable::new(place(), "ends beyond its struct", "a member inside it"));
        };
        if !record.union && member.offset < end {
            return Err(Unreadable::new(place(), "overlaps the member before it", "members side by side"));
        }
        end = stop;
        if let Kind::Inline(inner) = &member.kind {
            verify(inner)?;
        }
    }
    Ok(())
}
