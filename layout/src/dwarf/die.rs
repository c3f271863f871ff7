//! One entry, reduced to the attributes that types are made of.

use gimli::{AttributeValue, DwTag, EntriesRaw, EvaluationResult, Expression, UnitOffset};

use super::world::{At, Context, Slice, Value, World};

/// Attributes of one entry.
#[derive(Clone, Copy, Default)]
pub(crate) struct Die<'a> {
    pub(crate) offset: usize,
    pub(crate) tag: u16,
    pub(crate) name: Option<Value<'a>>,
    pub(crate) ty: Option<Value<'a>>,
    /// The declaration that this completes, or the type unit that this stands for.
    pub(crate) other: Option<Value<'a>>,
    pub(crate) byte_size: Option<u64>,
    pub(crate) bit_size: Option<u64>,
    /// Bits from the start of the struct (DWARF 4 and later).
    pub(crate) data_bit_offset: Option<u64>,
    /// Bits from the most significant end of the storage unit (DWARF 3).
    pub(crate) bit_offset: Option<i64>,
    pub(crate) location: Option<Value<'a>>,
    pub(crate) declaration: bool,
    pub(crate) external: bool,
    pub(crate) artificial: bool,
    pub(crate) encoding: u8,
    pub(crate) align: Option<u64>,
    /// Elements of one dimension.
    pub(crate) count: Option<Value<'a>>,
    pub(crate) upper: Option<Value<'a>>,
    pub(crate) lower: Option<Value<'a>>,
    pub(crate) value: Option<Value<'a>>,
    pub(crate) discriminant: Option<Value<'a>>,
    pub(crate) file: u64,
    pub(crate) line: u64,
}

impl<'a> Die<'a> {
    /// Reads the attributes of an entry whose abbreviation was read.
    pub(crate) fn read(
        entries: &mut EntriesRaw<'_, Slice<'a>>,
        abbreviation: &gimli::Abbreviation,
        offset: usize,
    ) -> gimli::Result<Self> {
        let mut die = Self { offset, tag: abbreviation.tag().0, ..Self::default() };
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            let raw = attribute.raw_value();
            match attribute.name() {
                gimli::DW_AT_name => die.name = Some(raw),
                gimli::DW_AT_type => die.ty = Some(raw),
                gimli::DW_AT_specification | gimli::DW_AT_signature | gimli::DW_AT_abstract_origin => die.other = Some(raw),
                gimli::DW_AT_byte_size => die.byte_size = raw.udata_value(),
                gimli::DW_AT_bit_size => die.bit_size = raw.udata_value(),
                gimli::DW_AT_data_bit_offset => die.data_bit_offset = raw.udata_value(),
                gimli::DW_AT_bit_offset => die.bit_offset = signed(&raw),
                gimli::DW_AT_data_member_location => die.location = Some(raw),
                gimli::DW_AT_declaration => die.declaration = flag(&raw),
                gimli::DW_AT_external => die.external = flag(&raw),
                gimli::DW_AT_artificial => die.artificial = flag(&raw),
                gimli::DW_AT_encoding => die.encoding = raw.u8_value().unwrap_or(0),
                gimli::DW_AT_alignment => die.align = raw.udata_value(),
                gimli::DW_AT_count => die.count = Some(raw),
                gimli::DW_AT_upper_bound => die.upper = Some(raw),
                gimli::DW_AT_lower_bound => die.lower = Some(raw),
                gimli::DW_AT_const_value => die.value = Some(raw),
                gimli::DW_AT_discr => die.discriminant = Some(raw),
                gimli::DW_AT_decl_file => die.file = raw.udata_value().unwrap_or(0),
                gimli::DW_AT_decl_line => die.line = raw.udata_value().unwrap_or(0),
                _ => {}
            }
        }
        Ok(die)
    }

    pub(crate) const fn tag(&self) -> DwTag {
        DwTag(self.tag)
    }

    /// Offset of a member in bytes; none = only known at run time.
    pub(crate) fn offset_in_struct(&self, world: &World<'a>, unit: u32) -> Option<u64> {
        match self.location {
            None => Some(0),
            Some(AttributeValue::Exprloc(expression)) => constant(world, unit, expression),
            Some(AttributeValue::Block(bytes)) => constant(world, unit, Expression(bytes)),
            Some(value) => value.udata_value(),
        }
    }
}

/// A number that may be negative although most forms of it are not.
fn signed(value: &Value<'_>) -> Option<i64> {
    match value {
        AttributeValue::Sdata(value) => Some(*value),
        other => i64::try_from(other.udata_value()?).ok(),
    }
}

fn flag(value: &Value<'_>) -> bool {
    matches!(value, AttributeValue::Flag(true))
}

/// An offset given as a computation (DWARF 2 and 3): how far from the start of the struct it ends.
fn constant<'a>(world: &World<'a>, unit: u32, expression: Expression<Slice<'a>>) -> Option<u64> {
    if expression.0.len() > 16 {
        return None;
    }
    let mut evaluation = expression.evaluation(world.units[unit as usize].header.encoding());
    evaluation.set_initial_value(0);
    evaluation.set_max_iterations(8);
    match evaluation.evaluate() {
        Ok(EvaluationResult::Complete) => match evaluation.as_result().last()?.location {
            gimli::Location::Address { address } => Some(address),
            _ => None,
        },
        _ => None,
    }
}

/// Reads one entry.
pub(crate) fn read_at<'a>(world: &World<'a>, context: &Context, at: At) -> gimli::Result<Option<Die<'a>>> {
    if !world.holds(at) {
        return Ok(None);
    }
    let header = &world.units[at.unit as usize].header;
    let mut entries = header.entries_raw(&context.abbreviations, Some(UnitOffset(at.offset)))?;
    let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(None) };
    Die::read(&mut entries, abbreviation, at.offset).map(Some)
}

/// Reads the children of an entry, calls `each` for those; entries below them are passed over. `each` says whether to
/// go on.
pub(crate) fn children<'a>(
    world: &World<'a>,
    context: &Context,
    at: At,
    mut each: impl FnMut(Die<'a>) -> bool,
) -> gimli::Result<()> {
    let header = &world.units[at.unit as usize].header;
    let mut entries = header.entries_raw(&context.abbreviations, Some(UnitOffset(at.offset)))?;
    let Some(abbreviation) = entries.read_abbreviation()? else { return Ok(()) };
    entries.skip_attributes(abbreviation.attributes())?;
    if !abbreviation.has_children() {
        return Ok(());
    }
    while !entries.is_empty() {
        let (depth, offset) = (entries.next_depth(), entries.next_offset().0);
        match entries.read_abbreviation()? {
            None if entries.next_depth() <= 0 => break,
            None => {}
            Some(abbreviation) if depth == 1 => {
                if !each(Die::read(&mut entries, abbreviation, offset)?) {
                    break;
                }
            }
            Some(abbreviation) => entries.skip_attributes(abbreviation.attributes())?,
        }
    }
    Ok(())
}
