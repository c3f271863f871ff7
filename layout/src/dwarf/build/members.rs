//! Members of structs, classes and unions.

use super::super::context::Context;
use super::super::die::{Children, Die};
use super::super::world::At;
use super::aggregate::Drafts;
use super::{Builder, Depth};
use crate::types::draft::DraftMember;
use crate::types::{Bits, Role};

/// Reads the members among the children of one entry into `drafts`, with as much of their types as `depth` says.
pub(super) fn aggregate<'a>(
    builder: &mut Builder<'_, 'a>,
    unit: u32,
    context: &Context,
    mut children: Children<'_, 'a>,
    depth: Depth,
    drafts: &mut Drafts<'a>,
) -> gimli::Result<()> {
    let mut die = Die::default();
    while children.next(&mut die, &mut builder.fuel)? {
        let role = match die.tag() {
            gimli::DW_TAG_member if !die.external && !die.declaration => Role::Field,
            gimli::DW_TAG_inheritance => Role::Base,
            gimli::DW_TAG_variant_part => {
                variants(builder, At { unit, offset: die.offset }, context, &die, depth, drafts)?;
                continue;
            }
            _ => continue,
        };
        drafts.push(member(builder, unit, &die, depth, role)?, die.name);
    }
    Ok(())
}

/// Tag and variants of a Rust enum.
fn variants<'a>(
    builder: &mut Builder<'_, 'a>,
    at: At,
    context: &Context,
    part: &Die<'a>,
    depth: Depth,
    drafts: &mut Drafts<'a>,
) -> gimli::Result<()> {
    let tag = part.discriminant.and_then(|value| builder.world.target(at.unit, &value));
    let (mut die, mut children) = (Die::default(), Children::of(builder.world, context, at)?);
    while children.next(&mut die, &mut builder.fuel)? {
        match die.tag() {
            gimli::DW_TAG_member if tag.is_some_and(|tag| tag.unit == at.unit && tag.offset == die.offset) => {
                drafts.push(member(builder, at.unit, &die, depth, Role::Discriminant)?, die.name);
            }
            gimli::DW_TAG_variant => {
                let variant = At { unit: at.unit, offset: die.offset };
                let mut inside = Children::of(builder.world, context, variant)?;
                while inside.next(&mut die, &mut builder.fuel)? {
                    if die.tag() == gimli::DW_TAG_member {
                        drafts.push(member(builder, at.unit, &die, depth, Role::Variant)?, die.name);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// One member, without its name.
fn member<'a>(builder: &mut Builder<'_, 'a>, unit: u32, die: &Die<'a>, depth: Depth, role: Role) -> gimli::Result<DraftMember> {
    let ty = builder.refer(unit, die.ty, depth)?;
    let mut offset = die.offset_in_struct(builder.world, unit);
    let own = |builder: &Builder<'_, '_>| ty.and_then(|ty| builder.types.size(ty));
    let bits = die.bit_size.and_then(|width| bits(builder, die, offset?, own(builder), width));
    if let Some(bits) = bits {
        let storage = bits.storage.max(1);
        let unit_start = bits.start / (storage * 8) * storage;
        // A field that crosses its storage unit, as packed ones may, starts at its own byte.
        let crosses = bits.start + bits.width > (unit_start + storage) * 8;
        offset = Some(if crosses { bits.start / 8 } else { unit_start });
    }
    let role = if role == Role::Field && die.artificial { Role::Artificial } else { role };
    Ok(DraftMember { name: None, offset, bits, ty, role, align: die.align })
}

/// Place of a bit-field, whichever way it is told.
fn bits(builder: &Builder<'_, '_>, die: &Die<'_>, offset: u64, own: Option<u64>, width: u64) -> Option<Bits> {
    let storage = own.or(die.byte_size).filter(|size| (1..=64).contains(size)).unwrap_or(1);
    let start = if let Some(start) = die.data_bit_offset {
        offset.checked_mul(8)?.checked_add(start)?
    } else if let Some(from_top) = die.bit_offset {
        let unit = die.byte_size.unwrap_or(storage).checked_mul(8)?;
        let start = offset.checked_mul(8)?;
        if builder.world.endian == gimli::RunTimeEndian::Big {
            start.checked_add_signed(from_top)?
        } else {
            // It may point before the storage unit, as a negative number.
            let down = i128::from(unit) - i128::from(from_top) - i128::from(width);
            u64::try_from(i128::from(start) + down).ok()?
        }
    } else {
        offset.checked_mul(8)?
    };
    start.checked_add(width)?.checked_add(512)?;
    Some(Bits { start, width, storage })
}
