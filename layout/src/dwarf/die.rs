//! One entry, reduced to the attributes that types are made of.

use gimli::{AttributeValue, DwTag, EvaluationResult, Expression};

use super::context::Context;
use super::cursor::Cursor;
use super::plans::Plan;
use super::world::{At, Slice, Value, World};

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
    /// Reads the attributes of an entry that was started on. The same `Die` is used again and again: it is large.
    pub(crate) fn read(&mut self, cursor: &mut Cursor<'_, 'a>, plan: &Plan, offset: usize) -> gimli::Result<()> {
        let die = self;
        die.clear();
        (die.offset, die.tag) = (offset, plan.tag.0);
        cursor.steps(plan.die, |name, raw| match name {
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
        })
    }

    const fn clear(&mut self) {
        (self.name, self.ty, self.other, self.location) = (None, None, None, None);
        (self.count, self.upper, self.lower, self.value, self.discriminant) = (None, None, None, None, None);
        (self.byte_size, self.bit_size, self.data_bit_offset, self.bit_offset, self.align) = (None, None, None, None, None);
        (self.declaration, self.external, self.artificial) = (false, false, false);
        (self.encoding, self.file, self.line) = (0, 0, 0);
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
        AttributeValue::Udata(value) => Some(value.cast_signed()),
        other => other.sdata_value(),
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

/// Reads one entry into `die`, and gives its children; none = there is no entry.
pub(crate) fn read_at<'c, 'a>(
    world: &'c World<'a>,
    context: &'c Context,
    at: At,
    die: &mut Die<'a>,
) -> gimli::Result<Option<Children<'c, 'a>>> {
    if !world.holds(at) {
        return Ok(None);
    }
    let mut cursor = Cursor::new(world, context, at.unit, Some(at.offset))?;
    let Some(plan) = cursor.next()? else { return Ok(None) };
    die.read(&mut cursor, plan, at.offset)?;
    Ok(Some(Children { cursor, done: !plan.children }))
}

/// Children of an entry; entries below them are passed over.
pub(crate) struct Children<'c, 'a> {
    cursor: Cursor<'c, 'a>,
    done: bool,
}

impl<'c, 'a> Children<'c, 'a> {
    pub(crate) fn of(world: &'c World<'a>, context: &'c Context, at: At) -> gimli::Result<Self> {
        let mut cursor = Cursor::new(world, context, at.unit, Some(at.offset))?;
        let mut done = true;
        if let Some(plan) = cursor.next()? {
            cursor.skip(plan)?;
            done = !plan.children;
        }
        Ok(Self { cursor, done })
    }

    /// Reads the next child into `die`; false = there are no more, or no fuel to read them.
    pub(crate) fn next(&mut self, die: &mut Die<'a>, fuel: &mut u64) -> gimli::Result<bool> {
        let cursor = &mut self.cursor;
        while !self.done && !cursor.is_empty() {
            *fuel = fuel.saturating_sub(1);
            let (depth, offset) = (cursor.depth, cursor.offset());
            match cursor.next()? {
                _ if *fuel == 0 => break,
                None if cursor.depth <= 0 => break,
                None => {}
                Some(plan) if depth == 1 => {
                    die.read(cursor, plan, offset)?;
                    return Ok(true);
                }
                Some(plan) => cursor.skip(plan)?,
            }
        }
        self.done = true;
        Ok(false)
    }
}
