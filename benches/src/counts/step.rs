//! One instruction at a time: the processor's trap flag, and a handler that writes the registers down.
//!
//! With the trap flag set the processor traps after every instruction, and the kernel turns that into a `SIGTRAP` in this very
//! thread. The handler copies the registers into memory that is there already and returns; all thinking comes afterwards.
//! Nothing is emulated: what is counted is what this processor executed.

use std::sync::Mutex;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The general registers in front of one instruction.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct State {
    /// Address of the instruction.
    pub rip: u64,
    /// rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15: as instructions number them.
    pub general: [u64; 16],
}

impl State {
    /// The stack pointer.
    #[must_use]
    pub const fn rsp(&self) -> u64 {
        self.general[4]
    }
}

/// Places of the registers in the kernel's list, in the order of [`State::general`].
const ORDER: [libc::c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];

/// Bit of the flags register.
const TRAP: i64 = 1 << 8;

/// What the handler writes to.
struct Tape {
    states: Vec<State>,
}

/// The tape of the thread that is being watched; null while there is none.
static TAPE: AtomicPtr<Tape> = AtomicPtr::new(std::ptr::null_mut());

/// One thread at a time.
static ONE: Mutex<()> = Mutex::new(());

/// Most instructions of one piece of work.
const LONGEST: usize = 1 << 16;

extern "C" fn on_trap(_signal: libc::c_int, _info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel gives a handler installed with SA_SIGINFO a `ucontext_t` that is its alone until it returns.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    // SAFETY: whoever set the pointer waits for the work this handler interrupts, on this very thread, and does not touch the
    // tape meanwhile.
    let Some(tape) = (unsafe { TAPE.load(Acquire).as_mut() }) else {
        registers[libc::REG_EFL as usize] &= !TRAP;
        return;
    };
    if tape.states.len() == tape.states.capacity() {
        // No allocation here. Whoever reads the tape sees that it is full.
        registers[libc::REG_EFL as usize] &= !TRAP;
        return;
    }
    tape.states.push(State {
        rip: registers[libc::REG_RIP as usize].cast_unsigned(),
        general: ORDER.map(|place| registers[place as usize].cast_unsigned()),
    });
}

/// Does `work`, and gives the registers in front of every instruction from the first one of the function at address `function`
/// until it has returned. `work` calls the function once; what it does before and after is left out.
///
/// # Errors
/// The function was not called, or has more than 65,536 instructions.
pub fn record<T>(function: usize, work: impl FnOnce() -> T) -> Result<(T, Vec<State>), String> {
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    install()?;
    let mut tape = Tape { states: Vec::with_capacity(LONGEST) };
    TAPE.store(&raw mut tape, Release);
    // SAFETY: sets the trap flag alone; the handler for what follows is installed.
    unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq") };
    let outcome = work();
    // SAFETY: clears the trap flag alone.
    unsafe { std::arch::asm!("pushfq", "and qword ptr [rsp], -257", "popfq") };
    TAPE.store(std::ptr::null_mut(), Relaxed);
    let states = tape.states;
    let full = states.len() == LONGEST;
    let first = states.iter().position(|state| state.rip == function as u64);
    let first = first.ok_or_else(|| format!("the function at {function:#x} was not called"))?;
    // A return takes the return address off the stack: the first state above where it stood is behind the call.
    let behind = states[first..].iter().position(|state| state.rsp() > states[first].rsp());
    match behind {
        Some(length) => Ok((outcome, states[first..first + length].to_vec())),
        None if full => Err(format!("more than {LONGEST} instructions")),
        None => Err("the function did not return".into()),
    }
}

/// Installs the handler. Nobody else in this program handles the signal.
fn install() -> Result<(), String> {
    // SAFETY: an all-zero action is a valid one; its members are set to a handler of the type that SA_SIGINFO asks for.
    let failed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGTRAP, &raw const action, std::ptr::null_mut())
    };
    if failed == 0 { Ok(()) } else { Err(format!("no handler for SIGTRAP: {}", std::io::Error::last_os_error())) }
}
