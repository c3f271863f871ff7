//! The three kinds of value: a number, a flag, a list of cores.

use super::error::{EnvironmentError, Expected, Machine};

type Entry<'a> = (&'static str, &'a str);

/// A whole value that is one decimal number and passes `fits`. In a program once: its result is large, and it is cold.
#[inline(never)]
pub(super) fn number(
    entry: Entry<'_>,
    machine: &Machine,
    expected: Expected,
    fits: &dyn Fn(u64) -> bool,
) -> Result<u64, EnvironmentError> {
    let value = entry.1;
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits > 0 && digits == value.len();
    match value.parse() {
        Ok(number) if whole && fits(number) => Ok(number),
        // Out of 64 bits or out of range: the number as a whole is what is wrong.
        _ if whole => Err(EnvironmentError::new(entry, 0, expected, machine)),
        _ => Err(EnvironmentError::new(entry, digits, expected, machine)),
    }
}

/// 0 or 1.
#[inline(never)]
pub(super) fn flag(entry: Entry<'_>, machine: &Machine) -> Result<bool, EnvironmentError> {
    match entry.1 {
        "0" => Ok(false),
        "1" => Ok(true),
        value => Err(EnvironmentError::new(entry, usize::from(value.starts_with(['0', '1'])), Expected::Flag, machine)),
    }
}

/// `list := item ("," item)*`, `item := number | number "-" number` (inclusive), each number below `total`. Calls `item` with
/// the first and the last core of each item; an empty value has none.
pub(super) fn core_items(
    entry: Entry<'_>,
    machine: &Machine,
    total: u32,
    item: &mut dyn FnMut(u32, u32),
) -> Result<(), EnvironmentError> {
    let fail = |position, expected| EnvironmentError::new(entry, position, expected, machine);
    let value = entry.1;
    if value.is_empty() {
        return Ok(());
    }
    let mut at = 0;
    loop {
        let (start, after) = core_number(value, at).map_err(|at| fail(at, Expected::CoreNumber))?;
        if start >= total {
            return Err(fail(at, Expected::CoreBelow { total }));
        }
        let (mut end, mut next) = (start, after);
        if value.as_bytes().get(after) == Some(&b'-') {
            let (last, behind) = core_number(value, after + 1).map_err(|at| fail(at, Expected::CoreNumber))?;
            if last < start {
                return Err(fail(after + 1, Expected::RangeEnd));
            }
            if last >= total {
                return Err(fail(after + 1, Expected::CoreBelow { total }));
            }
            (end, next) = (last, behind);
        }
        item(start, end);
        match value.as_bytes().get(next) {
            None => return Ok(()),
            Some(b',') => at = next + 1,
            Some(_) if next == after => return Err(fail(next, Expected::Separator)),
            Some(_) => return Err(fail(next, Expected::Comma)),
        }
    }
}

/// A list of cores. Duplicates and any order are accepted; gaps are not. Gives (first, count), or `None` for an empty value.
pub(super) fn core_list(entry: Entry<'_>, machine: &Machine, total: u32) -> Result<Option<(u32, u32)>, EnvironmentError> {
    // At most 256 logical cores: a set of 256 bits sorts and removes duplicates.
    let mut set = [0_u64; 4];
    core_items(entry, machine, total, &mut |first, last| {
        for core in first..=last {
            set[core as usize / 64] |= 1 << (core % 64);
        }
    })?;
    let held = |core: u32| set[core as usize / 64] & (1 << (core % 64)) != 0;
    let Some(first) = (0..total).find(|core| held(*core)) else { return Ok(None) };
    let count = set.iter().map(|word| word.count_ones()).sum();
    if (first..first + count).all(held) {
        Ok(Some((first, count)))
    } else {
        Err(EnvironmentError::new(entry, 0, Expected::Contiguous, machine))
    }
}

/// A number at `at`, and the position behind it; the position of the fault when there is none. Numbers that do not fit 32
/// bits are as large as can be: no machine has such a core.
fn core_number(value: &str, at: usize) -> Result<(u32, usize), usize> {
    let rest = value.as_bytes().get(at..).unwrap_or_default();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match value.get(at..at + digits) {
        None | Some("") => Err(at),
        Some(text) => Ok((text.parse().unwrap_or(u32::MAX), at + digits)),
    }
}
