//! What an operation executed, taken apart: instructions, locked ones, the cache lines they reach.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt as _;

use iced_x86::{
    Code, Decoder, DecoderOptions, Formatter as _, Instruction, InstructionInfoFactory, IntelFormatter, Mnemonic, OpAccess,
    OpKind, Register,
};
use object::{Object as _, ObjectSymbol as _};

use super::step::State;

/// Bytes of a cache line.
const LINE: u64 = 64;
/// Bytes of the caller's frame that count as stack: arguments and results in memory.
const FRAME: u64 = 4096;

/// What one operation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Instructions.
    pub instructions: u32,
    /// Locked read-modify-writes.
    pub locked: u32,
    /// Cache lines written, the stack left out.
    pub written: u32,
    /// Cache lines read and not written, the stack left out.
    pub read: u32,
    /// System calls.
    pub system_calls: u32,
    /// How often the instruction that was executed most often was executed: the turns of the longest loop.
    pub turns: u32,
}

/// Takes instructions of this program apart.
pub struct Reader {
    memory: File,
    known: HashMap<u64, Instruction>,
    info: InstructionInfoFactory,
    functions: Functions,
}

/// Functions of this program by address.
struct Functions {
    /// Where the program stands in memory, and the end of it.
    base: u64,
    end: u64,
    /// First address, from `base`, and name; sorted.
    names: Vec<(u64, String)>,
}

impl Reader {
    /// A reader of this program.
    ///
    /// # Errors
    /// What of the program could not be read.
    pub fn new() -> Result<Self, String> {
        let memory = File::open("/proc/self/mem").map_err(|error| format!("/proc/self/mem: {error}"))?;
        Ok(Self { memory, known: HashMap::new(), info: InstructionInfoFactory::new(), functions: Functions::read()? })
    }

    fn instruction(&mut self, rip: u64) -> Result<Instruction, String> {
        if let Some(known) = self.known.get(&rip) {
            return Ok(*known);
        }
        let mut bytes = [0; 15];
        let length = self.memory.read_at(&mut bytes, rip).map_err(|error| format!("code at {rip:#x}: {error}"))?;
        let instruction = Decoder::with_ip(64, &bytes[..length], rip, DecoderOptions::NONE).decode();
        if instruction.is_invalid() {
            return Err(format!("no instruction known at {rip:#x}: {bytes:02x?}"));
        }
        self.known.insert(rip, instruction);
        Ok(instruction)
    }

    /// What the operation with these states did.
    ///
    /// # Errors
    /// An instruction that could not be taken apart.
    pub fn path(&mut self, states: &[State]) -> Result<Path, String> {
        let stack_end = states[0].rsp() + FRAME;
        let stack = states.iter().map(State::rsp).min().unwrap_or(stack_end) - 128..stack_end;
        let (mut written, mut read) = (BTreeSet::new(), BTreeSet::new());
        let mut path = Path { instructions: states.len() as u32, ..Path::default() };
        let mut turns: HashMap<u64, u32> = HashMap::new();
        for state in states {
            let instruction = self.instruction(state.rip)?;
            let turn = turns.entry(state.rip).or_default();
            *turn += 1;
            path.turns = path.turns.max(*turn);
            path.system_calls += u32::from(instruction.mnemonic() == Mnemonic::Syscall);
            let exchange = instruction.mnemonic() == Mnemonic::Xchg
                && (instruction.op0_kind() == OpKind::Memory || instruction.op1_kind() == OpKind::Memory);
            path.locked += u32::from(instruction.has_lock_prefix() || exchange);
            // What the no-op and the address calculation name is not touched; iced says so. Lines of the thread's own block are
            // the C library's.
            for memory in self.info.info(&instruction).used_memory() {
                let general = |register: Register, _: usize, _: usize| value(state, register);
                let Some(address) = memory.virtual_address(0, general) else { continue };
                if memory.segment() == Register::FS || stack.contains(&address) {
                    continue;
                }
                let writes = matches!(
                    memory.access(),
                    OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite | OpAccess::ReadCondWrite
                );
                let last = address + (memory.memory_size().size() as u64).max(1) - 1;
                for line in address / LINE..=last / LINE {
                    if writes {
                        written.insert(line)
                    } else {
                        read.insert(line)
                    };
                }
            }
        }
        path.written = written.len() as u32;
        path.read = read.difference(&written).count() as u32;
        Ok(path)
    }

    /// The instructions of an operation as text, one on a line, as far as they are this program's. Addresses are left out:
    /// the order tells where a jump went.
    ///
    /// # Errors
    /// An instruction that could not be taken apart.
    pub fn listing(&mut self, states: &[State]) -> Result<String, String> {
        let mut text = String::new();
        let mut formatter = IntelFormatter::new();
        let mut outside = false;
        for state in states {
            if !(self.functions.base..self.functions.end).contains(&state.rip) {
                if !outside {
                    text.push_str("    (outside of the program)\n");
                }
                outside = true;
                continue;
            }
            outside = false;
            let mut instruction = self.instruction(state.rip)?;
            if instruction.is_ip_rel_memory_operand() {
                instruction.set_memory_displacement64(0);
            }
            let near = matches!(instruction.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64);
            text.push_str("    ");
            if near {
                text.push_str(&format!("{:?}", instruction.mnemonic()).to_lowercase());
                if instruction.mnemonic() == Mnemonic::Call {
                    text.push(' ');
                    text.push_str(self.functions.at(instruction.near_branch_target()));
                }
            } else if instruction.code() != Code::INVALID {
                formatter.format(&instruction, &mut text);
            }
            text.push('\n');
        }
        Ok(text)
    }
}

/// What a register that addresses memory holds.
fn value(state: &State, register: Register) -> Option<u64> {
    match register {
        Register::CS | Register::DS | Register::ES | Register::SS | Register::FS | Register::GS => Some(0),
        _ if register.is_gpr64() => Some(state.general[register.number()]),
        _ if register.is_gpr32() => Some(state.general[register.number()] & 0xFFFF_FFFF),
        _ => None,
    }
}

impl Functions {
    fn read() -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let shown = program.display();
        let maps = std::fs::read_to_string("/proc/self/maps").map_err(|error| format!("/proc/self/maps: {error}"))?;
        let mut mine = maps.lines().filter(|line| line.ends_with(&*program.to_string_lossy())).filter_map(|line| {
            let (start, rest) = line.split_once('-')?;
            let end = rest.split(' ').next()?;
            Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
        });
        let first = mine.next().ok_or_else(|| format!("{shown} is not in /proc/self/maps"))?;
        let end = mine.next_back().unwrap_or(first).1;
        let bytes = std::fs::read(&program).map_err(|error| format!("{shown}: {error}"))?;
        let file = object::File::parse(&*bytes).map_err(|error| format!("{shown}: {error}"))?;
        let mut names: Vec<_> = file
            .symbols()
            .filter(|symbol| symbol.is_definition() && symbol.size() > 0)
            .filter_map(|symbol| Some((symbol.address(), format!("{:#}", rustc_demangle::demangle(symbol.name().ok()?)))))
            .collect();
        names.sort();
        Ok(Self { base: first.0, end, names })
    }

    /// Name of the function that contains an address.
    fn at(&self, address: u64) -> &str {
        let place = address.wrapping_sub(self.base);
        let index = self.names.partition_point(|(start, _)| *start <= place);
        index.checked_sub(1).map_or("(unknown)", |index| &self.names[index].1)
    }
}
