// SPDX-License-Identifier: MIT OR Apache-2.0
//! From a function of margay IR to the text of an LLVM module in which a warp is one vector of 32
//! lanes.
//!
//! The code made here speeds the interpreter up and does not replace it. It is entered at an
//! *entry* (the function's start, the place after a barrier, a loop's header) for the lanes of one
//! fragment, works on values in registers, and leaves at an *exit* with every live virtual register
//! in the interpreter's own planes: at barriers, calls, and whatever else it does not do itself. An
//! instruction without a lowering here is run by the interpreter's handler on planes, in place.
//!
//! Invariant: at an exit the planes, the mask and the address say exactly what the interpreter would
//! have at that point, where it schedules the lowest address first.
//!
//! Limit: a function of more than [`MAX_INSTS`] instructions is refused; the interpreter runs it.

mod analysis;
mod emit;
mod environment;
mod io;
mod outline;
mod planes;
mod roots;
mod selects;
mod shape;
mod source;
mod watched;

use std::sync::Arc;

use margay_ir as ir;

pub use analysis::widest;
pub use emit::{plain_barrier, waits};
pub use environment::{environment, usual};
pub use io::{Extent, Io, Parted, RECENT, RECENT_STEP, Room, RoomGroup, RoomSite, Turn, recent};
pub use outline::Outline;
pub use roots::{Root, pointers, roots};
pub use shape::{LANES, Lin, Pattern, Shape};
pub use source::{Layout, Source};
pub use watched::{Cells, Noted, Notes, Tally, Watched, WatchedAccess, WatchedMember};

/// Version of what code and engine are agreed on: part of the key of a cache, beside a hash of the sources that make code.
pub const VERSION: u32 = 29;
/// Functions with more instructions, or blocks, are left to the interpreter.
pub const MAX_INSTS: usize = 20_000;
pub const MAX_BLOCKS: usize = 2_000;

/// Where local memory that a program may use begins: below lies what no pointer points to.
pub const LOCAL_START: u32 = 16;
/// Generic addresses of a thread's local memory.
pub const LOCAL_WINDOW: u64 = 1 << 30;
/// See [`Options::plain`].
pub const PLAIN_THREADS: u64 = i32::MAX as u64;

/// Places at which lanes may wait at once, at most.
pub const PENDING: usize = 64;

/// Returned by compiled code when every lane has exited.
pub const DONE: u32 = 0;
/// Returned by compiled code when a handler faulted: the interpreter's context says where and why.
pub const FAULT: u32 = 1;
/// Returned by code for whole blocks when a block has had its rounds of barriers.
pub const AGAIN: u32 = 2;
/// The first exit's number.
pub const FIRST_EXIT: u32 = 3;

/// In [`Io::at`]: every lane of the warp has exited.
pub const AT_DONE: u32 = 1 << 31;
/// In [`Io::at`]: the warp is at a barrier, which opens once no sibling holds.
pub const AT_BARRIER: u32 = 1 << 30;

/// What the code is specialised for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    pub block: [u32; 3],
    /// All 32 lanes are there when the code is entered.
    pub full: bool,
    /// The code can also be entered at loop headers.
    pub loops: bool,
    /// A warp's first store to global memory has to let its siblings go first.
    pub hold: bool,
    /// The code runs whole blocks, all of whose warps are full, one after the other.
    pub blocks: bool,
    /// A dimension of the grid has at most [`PLAIN_THREADS`] threads, counting for a dimension of a
    /// block those of the last warp's missing lanes, and [`pointers`] are multiples of 16 that point into
    /// allocations, or null.
    pub plain: bool,
    /// What [`pointers`] point into has less than 4 GiB.
    pub short: bool,
    /// Ops across the lanes of a warp wait for nobody, as below compute capability 7.0.
    pub lockstep: bool,
    /// Environment registers of which [`usual`] tells the value, a bit each.
    pub environment: u32,
    /// What is reported. Where that is anything, the warps of a block run by `blocks` have their turns as the scheduler
    /// gives them; a function that has barriers does not `hold` there.
    pub watched: Watched,
    /// Addresses of accesses that are not reported all the same, ascending: what they do is known.
    pub silent: Vec<u32>,
    /// Bytes of shared memory that accesses are to stay in, by their addresses, ascending: who does not leaves the code, and the
    /// access is its handler's.
    pub variables: Vec<VariableBounds>,
}

/// An access of shared memory, by its place in the code, and the bytes that it is to stay in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VariableBounds {
    pub pc: u32,
    pub first: u64,
    /// One past the last; `u64::MAX`: where shared memory ends.
    pub end: u64,
}

/// [`Layout`], for a function that may have been changed since.
pub(crate) trait Places {
    /// Byte offset of a register's plane in the frame.
    fn plane(&self, reg: ir::Reg) -> u32;
    /// Address of a block's first instruction.
    fn start(&self, block: usize) -> u32;
    /// Address of an instruction, or of a block's terminator after the last.
    fn pc(&self, block: usize, inst: usize) -> u32 {
        self.start(block) + inst as u32
    }
    /// Number of a memory instruction's extent.
    fn slot(&self, pc: u32) -> u32;
    /// Byte offset, in the constants, of the plane with an `addr`'s value; `None` for local ones.
    fn constant(&self, pc: u32) -> Option<u32>;
}

/// How a register lies in its plane at an entry or an exit.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub reg: u32,
    pub plane: u32,
    pub class: ir::Class,
    /// `None`: all lanes are there. Else only lane 0 (and with a second pattern one more lane) is,
    /// and the others follow from the pattern.
    /// Shared: exits have thousands of these.
    pub lin: Option<Arc<Pattern>>,
}

/// Where the code can be entered.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub pc: u32,
    pub live: Vec<Stored>,
    /// It is behind the head of its block, where executions are counted.
    pub inside: bool,
    /// Other lanes wait.
    pub apart: bool,
}

/// Why the code was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// At a whole-block barrier with constant number; `pc` is the barrier's own.
    Barrier { id: u8 },
    /// The interpreter is to execute the instruction at `pc`.
    Interpret,
    /// As `Interpret`, and the code must not be entered again by this warp: an address did not have
    /// the form that was assumed.
    Never,
    /// The fuel is used up.
    Fuel,
    /// The store at `pc` waits until the block's other warps had a turn.
    Hold,
}

impl Reason {
    /// Whether the same code goes on with the warp after its siblings had a turn.
    pub fn goes_on(self) -> bool {
        match self {
            Reason::Barrier { .. } | Reason::Hold => true,
            Reason::Interpret | Reason::Never | Reason::Fuel => false,
        }
    }
}

/// Where and how the code can be left; its number is its index plus [`FIRST_EXIT`].
#[derive(Clone, Debug, PartialEq)]
pub struct Exit {
    pub reason: Reason,
    pub pc: u32,
    pub live: Vec<Stored>,
    /// The entry after it, if there is one.
    pub resume: Option<u32>,
    /// Addresses at which other lanes wait; their masks are in [`Io::pending`], in this order.
    pub pending: Vec<u32>,
    /// Other lanes wait or have ended: where the code goes on, [`Parted`] says which.
    pub apart: bool,
}

/// The result: the text, and what the engine must know to enter and to leave.
#[derive(Clone, Debug)]
pub struct Code {
    pub text: String,
    /// It is long and written as loops over parts of the warp, with values in memory: few passes find anything to do.
    pub strips: bool,
    pub outline: Outline,
}

/// Name of the function in the module; it takes a pointer to [`Io`], the entry and the lanes.
pub const SYMBOL: &str = "margay_kernel";

/// Why there is no code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub &'static str);

/// Whether a function can be compiled to run whole blocks: one barrier at most.
pub fn runs_blocks(function: &ir::Function) -> bool {
    let mut ids = function
        .blocks
        .iter()
        .flat_map(|b| &b.insts)
        .filter_map(emit::plain_barrier)
        .collect::<Vec<_>>();
    ids.dedup();
    function.is_entry && ids.len() <= 1
}

/// Whether a function has barriers of its whole block.
pub fn has_barriers(function: &ir::Function) -> bool {
    function.blocks.iter().flat_map(|b| &b.insts).any(|i| emit::plain_barrier(i).is_some())
}

/// Compiles one function to LLVM's text form.
pub fn compile(source: &Source) -> Result<Code, Refused> {
    let Source { function, layout, options, cpu, features } = source;
    let places: &dyn Places = layout;
    let mut facts = analysis::Facts::new(function, options);
    // Whoever counts or follows what lanes do is told of each as it stands in the program.
    let converted = match options.watched.any() {
        true => None,
        false => {
            let stores = emit::stores_under_masks(options, emit::vector_bits(cpu, features));
            selects::convert(function, &facts, places, stores)
        }
    };
    let moved = converted.as_ref().map(|converted| selects::Moved { places, converted });
    let (function, places) = match &moved {
        Some(moved) => (&moved.converted.function, moved as &dyn Places),
        None => (function, places),
    };
    if moved.is_some() {
        facts = analysis::Facts::new(function, options);
    }
    let most = facts.waiting.iter().flatten().map(|w| w.iter().count()).max();
    if most.is_some_and(|n| n > PENDING) {
        return Err(Refused("its lanes may wait at too many places"));
    }
    Ok(emit::emit(function, places, options, &facts, cpu, features))
}
