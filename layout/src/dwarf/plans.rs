//! Tables of abbreviations made ready for reading: of every kind of entry, how many bytes to pass over and what to read.

use gimli::{AttributeSpecification, DwForm, DwTag};

use super::abbreviations::{self, Abbreviation};
use super::world::Slice;
use crate::types::hash::QuickMap;

/// One table of abbreviations, for units of one encoding.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// By code, less 1: compilers number them without gaps.
    dense: Vec<Plan>,
    others: QuickMap<u64, Plan>,
    steps: Vec<Step>,
}

/// How entries of one abbreviation are read.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) tag: DwTag,
    pub(crate) children: bool,
    /// Whether it completes a declaration.
    pub(crate) completes: bool,
    pub(crate) is_type: bool,
    pub(crate) is_scope: bool,
    /// Passes over all attributes.
    pub(super) skip: Steps,
    /// Reads what tells which types there are.
    pub(super) walk: Steps,
    /// Reads what types are made of.
    pub(super) die: Steps,
}

/// Where the steps of a plan stand among those of its table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    start: u32,
    end: u32,
}

/// What is done next with the bytes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Passes over so many bytes.
    Pass(usize),
    /// Passes over a LEB128 number.
    Number,
    /// Passes over a string and its zero.
    Text,
    /// Passes over a block whose length stands in so many bytes; 0 = in a LEB128 number.
    Block(u8),
    /// Passes over a form that is rare.
    Odd(AttributeSpecification),
    /// Reads an attribute.
    Read(AttributeSpecification),
}

impl Plans {
    /// The table that `bytes` begin with, for the units whose encoding is that of `header`, and its length.
    ///
    /// # Errors
    /// As [`abbreviations::read`].
    pub(crate) fn read(bytes: &[u8], header: &gimli::UnitHeader<Slice<'_>>) -> gimli::Result<(Self, usize)> {
        let mut plans = Self::default();
        let length = abbreviations::read(bytes, |abbreviation| {
            let code = abbreviation.code;
            if plans.get(code).is_some() {
                return Err(gimli::Error::DuplicateAbbreviationCode(code));
            }
            let plan = Plan::new(abbreviation, header, &mut plans.steps);
            if code == plans.dense.len() as u64 + 1 {
                plans.dense.push(plan);
            } else {
                plans.others.insert(code, plan);
            }
            Ok(())
        })?;
        Ok((plans, length))
    }

    /// The plan of an abbreviation.
    #[inline]
    pub(crate) fn get(&self, code: u64) -> Option<&Plan> {
        let index = usize::try_from(code.wrapping_sub(1)).ok()?;
        self.dense.get(index).or_else(|| self.others.get(&code))
    }

    #[inline]
    pub(super) fn steps(&self, steps: Steps) -> &[Step] {
        self.steps.get(steps.start as usize..steps.end as usize).unwrap_or_default()
    }
}

impl Plan {
    fn new(abbreviation: &Abbreviation<'_>, header: &gimli::UnitHeader<Slice<'_>>, steps: &mut Vec<Step>) -> Self {
        let (specs, tag) = (abbreviation.attributes, abbreviation.tag);
        let (is_type, is_scope) = (is_type(tag), is_scope(tag));
        let skip = add(steps, specs, header, |_| false);
        Self {
            tag,
            children: abbreviation.children,
            completes: specs.iter().any(|spec| spec.name() == gimli::DW_AT_specification),
            is_type,
            is_scope,
            skip,
            walk: if is_type || is_scope { add(steps, specs, header, of_walk) } else { skip },
            die: match tag {
                _ if is_code(tag) => skip,
                _ if is_unit(tag) => add(steps, specs, header, of_unit),
                _ => add(steps, specs, header, of_die),
            },
        }
    }
}

fn add(
    steps: &mut Vec<Step>,
    specs: &[AttributeSpecification],
    header: &gimli::UnitHeader<Slice<'_>>,
    wanted: impl Fn(gimli::DwAt) -> bool,
) -> Steps {
    let start = steps.len();
    for spec in specs {
        let step = if wanted(spec.name()) { Step::Read(*spec) } else { pass(*spec, header) };
        match (steps[start..].last_mut(), step) {
            (_, Step::Pass(0)) => {}
            (Some(Step::Pass(before)), Step::Pass(more)) => *before = before.saturating_add(more),
            _ => steps.push(step),
        }
    }
    let place = |index| u32::try_from(index).unwrap_or(u32::MAX);
    Steps { start: place(start), end: place(steps.len()) }
}

/// Entries that a unit begins with.
const fn is_unit(tag: DwTag) -> bool {
    matches!(tag, gimli::DW_TAG_compile_unit | gimli::DW_TAG_partial_unit | gimli::DW_TAG_type_unit | gimli::DW_TAG_skeleton_unit)
}

/// Entries that no type is made of.
const fn is_code(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_subprogram
            | gimli::DW_TAG_variable
            | gimli::DW_TAG_lexical_block
            | gimli::DW_TAG_inlined_subroutine
            | gimli::DW_TAG_call_site
            | gimli::DW_TAG_call_site_parameter
            | gimli::DW_TAG_label
            | gimli::DW_TAG_GNU_call_site
            | gimli::DW_TAG_GNU_call_site_parameter
    )
}

fn pass(spec: AttributeSpecification, header: &gimli::UnitHeader<Slice<'_>>) -> Step {
    if let Some(size) = spec.size(header) {
        return Step::Pass(size);
    }
    match spec.form() {
        gimli::DW_FORM_udata
        | gimli::DW_FORM_sdata
        | gimli::DW_FORM_ref_udata
        | gimli::DW_FORM_strx
        | gimli::DW_FORM_addrx
        | gimli::DW_FORM_loclistx
        | gimli::DW_FORM_rnglistx
        | gimli::DW_FORM_GNU_str_index
        | gimli::DW_FORM_GNU_addr_index => Step::Number,
        gimli::DW_FORM_string => Step::Text,
        gimli::DW_FORM_block1 => Step::Block(1),
        gimli::DW_FORM_block2 => Step::Block(2),
        gimli::DW_FORM_block4 => Step::Block(4),
        gimli::DW_FORM_block | gimli::DW_FORM_exprloc => Step::Block(0),
        DwForm(_) => Step::Odd(spec),
    }
}

const fn of_walk(name: gimli::DwAt) -> bool {
    matches!(name, gimli::DW_AT_name | gimli::DW_AT_declaration | gimli::DW_AT_signature | gimli::DW_AT_sibling)
}

/// What [`World::context`](super::world::World::context) looks at.
const fn of_unit(name: gimli::DwAt) -> bool {
    matches!(
        name,
        gimli::DW_AT_str_offsets_base
            | gimli::DW_AT_stmt_list
            | gimli::DW_AT_language
            | gimli::DW_AT_comp_dir
            | gimli::DW_AT_dwo_name
            | gimli::DW_AT_GNU_dwo_name
            | gimli::DW_AT_GNU_dwo_id
    )
}

/// What [`Die::read`](super::die::Die::read) looks at.
const fn of_die(name: gimli::DwAt) -> bool {
    matches!(
        name,
        gimli::DW_AT_name
            | gimli::DW_AT_type
            | gimli::DW_AT_specification
            | gimli::DW_AT_signature
            | gimli::DW_AT_abstract_origin
            | gimli::DW_AT_byte_size
            | gimli::DW_AT_bit_size
            | gimli::DW_AT_data_bit_offset
            | gimli::DW_AT_bit_offset
            | gimli::DW_AT_data_member_location
            | gimli::DW_AT_declaration
            | gimli::DW_AT_external
            | gimli::DW_AT_artificial
            | gimli::DW_AT_encoding
            | gimli::DW_AT_alignment
            | gimli::DW_AT_count
            | gimli::DW_AT_upper_bound
            | gimli::DW_AT_lower_bound
            | gimli::DW_AT_const_value
            | gimli::DW_AT_discr
            | gimli::DW_AT_decl_file
            | gimli::DW_AT_decl_line
    )
}

const fn is_type(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type
            | gimli::DW_TAG_typedef
    )
}

const fn is_scope(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_namespace
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_class_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_subprogram
            | gimli::DW_TAG_module
    )
}
