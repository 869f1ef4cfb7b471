// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel linked for execution: its call graph decoded, its shared memory laid out.
//!
//! Invariant: every operand, jump target and table index in [`Program::code`] was checked when it
//! was decoded, so that handlers may trust them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use margay_ir as ir;
use smallvec::SmallVec;

use crate::decode;
use crate::fault::Place;
use crate::handlers::copy::Shape;
use crate::handlers::special::BuiltinSite;
use crate::handlers::texture::TextureSite;
use crate::idle::Idle;
use crate::inlined::Homes;
use crate::lanes::Inst;
use crate::variables::{self, Variable};

/// A module whose variables have addresses. Made by the runtime when a module is loaded.
pub struct LoadedModule {
    pub ir: Arc<ir::Module>,
    /// Address of each global or constant variable, by [`ir::GlobalId`]; 0 for shared ones.
    pub addresses: Vec<u64>,
    /// Unique in the process; part of function handles.
    pub uid: u32,
}

/// Why a kernel cannot be linked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinkError {
    #[error("{0}")]
    Unsupported(ir::Unsupported),
    #[error("`{caller}` calls `{callee}`, which no module defines")]
    Undefined { caller: String, callee: String },
    #[error("`{0}` is not a kernel")]
    NotAnEntry(String),
    /// The IR breaks a rule that the verifier would have found.
    #[error("`{function}` is malformed: {why}")]
    Malformed { function: String, why: String },
}

/// 64 bytes of planes: frames and constants are made of these, so that vector accesses never
/// straddle a cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Line(pub [u64; 8]);

/// Where an argument or a result lives on one side of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ArgPlace {
    /// A plane of this class, and the bytes that its value takes in memory.
    Plane { operand: u32, class: ir::Class, bytes: u32 },
    /// Bytes of the local frame.
    Frame { offset: u32, size: u32 },
}

pub(crate) enum Target {
    Function(u32),
    /// A D plane of handles.
    Handles(u32),
}

pub(crate) struct CallSite {
    pub target: Target,
    pub args: Vec<ArgPlace>,
    pub rets: Vec<ArgPlace>,
    /// W plane of the caller: where the callee's local frame begins,
    pub caller_top: u32,
    /// and bytes from there to where that is, if the call was in a function that was put into the caller.
    pub from_top: i32,
}

pub(crate) struct SyscallSite {
    pub call: ir::Syscall,
    pub dst: Option<(u32, ir::Class)>,
    pub args: Vec<(u32, ir::Class)>,
}

/// What lanes must agree on to meet at a warp-wide op with a member mask, and where its operands
/// lie: see [`crate::warp`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MeetSite {
    pub op: ir::Op,
    pub ty: ir::Ty,
    pub attr: ir::Attr,
    /// Classes of `a`, `b`, `c` and `aux`; the last that there is holds the member masks.
    pub sources: SmallVec<[ir::Class; 4]>,
    pub dst: Option<ir::Class>,
}

/// A decoded function.
pub(crate) struct DecodedFunction {
    pub id: ir::FuncId,
    pub name: Arc<str>,
    pub start: u32,
    /// Size of the register frame, in [`Line`]s.
    pub lines: u32,
    /// W planes: base of the local frame, and the top of the thread's stack.
    pub local_base: u32,
    pub local_top: u32,
    pub frame_size: u32,
    pub frame_align: u32,
    /// It has no frame and never comes to call itself: it needs no stack.
    pub stackless: bool,
    /// Offset of each register's plane, and address of each block.
    pub planes: Vec<u32>,
    pub starts: Vec<u32>,
    pub params: Vec<ArgPlace>,
    pub rets: Vec<ArgPlace>,
    /// Of a function that is called: planes that may be read before they are written, and their bytes. They are 0 at first.
    pub unset: Vec<(u32, u32)>,
}

/// Where a decoded instruction came from.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub function: u32,
    pub block: u32,
    /// Index in the block; the terminator is one past the last.
    pub inst: u32,
    pub loc: ir::LocId,
}

/// A kernel ready to launch. Cheap to share; link once, launch often.
pub struct Program {
    pub(crate) kernels: crate::jit::Kernels,
    /// Once a check has asked: see [`crate::alone`].
    pub(crate) accesses: OnceLock<Option<crate::alone::Plan>>,
    /// The same: see [`Program::variable_sites`].
    pub(crate) variables: OnceLock<Vec<(u32, Variable)>>,
    pub(crate) module: Arc<LoadedModule>,
    pub(crate) name: Arc<str>,
    pub(crate) info: ProgramInfo,
    /// Once it matters: see [`crate::idle`].
    pub(crate) idle: OnceLock<Idle>,
    /// Once somebody has asked.
    pub(crate) registers: OnceLock<u32>,
    /// The same with fewer calls, once it was launched: see [`crate::inlined`].
    pub(crate) inlined: OnceLock<Option<Box<Program>>>,
    /// Where that is what this program is.
    pub(crate) homes: Option<Homes>,
    pub(crate) code: Vec<Inst>,
    pub(crate) sites: Vec<Site>,
    pub(crate) consts: Vec<Line>,
    pub(crate) functions: Vec<DecodedFunction>,
    /// Operand lists of vector accesses and builtins.
    pub(crate) extra: Vec<u32>,
    pub(crate) calls: Vec<CallSite>,
    pub(crate) syscalls: Vec<SyscallSite>,
    pub(crate) tables: Vec<Vec<u32>>,
    pub(crate) meets: Vec<MeetSite>,
    pub(crate) sregs: Vec<ir::Sreg>,
    pub(crate) copies: Vec<Shape>,
    pub(crate) builtins: Vec<BuiltinSite>,
    pub(crate) textures: Vec<TextureSite>,
    pub(crate) lane_functions: Vec<decode::LaneFn>,
    /// Handles of the functions that indirect calls may reach, by index in `functions`.
    pub(crate) handles: HashMap<u64, u32>,
    /// Cache slots of memory instructions, one more for the run time.
    pub(crate) slots: u32,
    pub(crate) dynamic_shared_at: u32,
    pub(crate) shared_variables: Vec<(ir::GlobalId, u32)>,
    /// Threads need stack beyond the known frames: recursion, indirect calls, `alloca`.
    pub(crate) uses_stack: bool,
}

// SAFETY: immutable after linking; the planes are plain data.
unsafe impl Send for Program {}
// SAFETY: as above.
unsafe impl Sync for Program {}

/// An instruction of a program, as observers see it.
#[derive(Clone, Copy, Debug)]
pub struct InstructionView<'a> {
    pub function: &'a ir::Function,
    pub id: ir::FuncId,
    /// Index of its basic block in the function.
    pub block: u32,
    pub code: Code<'a>,
    /// Its place in the source, in [`ir::Module::locs`].
    pub loc: ir::LocId,
}

/// What stands at an address of decoded code.
#[derive(Clone, Copy, Debug)]
pub enum Code<'a> {
    Inst(&'a ir::Inst),
    Term(&'a ir::Term),
    /// The end of a block that runs into the next: a place to meet, no instruction.
    Nothing,
}

/// What `cudaFuncGetAttributes` and the launch checks need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramInfo {
    pub static_shared: u32,
    /// Worst-case local bytes a thread without recursion; with recursion the known part.
    pub local_bytes: u32,
    /// Bytes of constant variables of the module.
    pub const_bytes: u32,
    pub param_size: u32,
    pub uses_recursion_or_indirect_calls: bool,
    pub uses_grid_sync: bool,
}

impl Program {
    /// Decodes `entry` and all that it can call.
    pub fn link(module: &Arc<LoadedModule>, entry: ir::FuncId) -> Result<Program, LinkError> {
        decode::link(module, entry)
    }

    pub fn info(&self) -> &ProgramInfo {
        &self.info
    }

    /// Registers of a thread, estimated from what lives at once (`margay_ir::analysis::registers`). A thread keeps
    /// its registers for a whole launch, so the hungriest function decides: the kernel, or what it may
    /// call. The first call takes up to milliseconds.
    pub fn registers(&self) -> u32 {
        *self.registers.get_or_init(|| {
            let functions =
                self.functions.iter().map(|f| &self.module.ir.functions[f.id.0 as usize]);
            functions.map(ir::analysis::registers::estimate).max().unwrap_or(0)
        })
    }

    /// The kernel itself.
    pub(crate) fn kernel(&self) -> &ir::Function {
        &self.module.ir.functions[self.functions[0].id.0 as usize]
    }

    /// What is idle in the kernel's loops.
    pub(crate) fn idle(&self) -> &Idle {
        self.idle.get_or_init(|| Idle::of(self.kernel()))
    }

    /// Where the kernel's own variables are in a thread's local memory.
    pub fn frame(&self) -> Range<u64> {
        let entry = &self.functions[0];
        let start = u64::from(decode::LOCAL_START.next_multiple_of(entry.frame_align));
        start..start + u64::from(entry.frame_size)
    }

    /// The kernel's own variables there, as far as the compiler told how it divides the frame: the first byte of each, and its size.
    pub fn locals(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let start = self.frame().start;
        self.kernel().locals.iter().map(move |&(at, size)| (start + u64::from(at), u64::from(size)))
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The module that the kernel is of.
    pub fn module(&self) -> &Arc<LoadedModule> {
        &self.module
    }

    /// Number of decoded instructions: event addresses are below it.
    pub fn code_len(&self) -> u32 {
        self.code.len() as u32
    }

    /// The instructions of all functions that the kernel can reach.
    pub fn insts(&self) -> impl Iterator<Item = &ir::Inst> {
        let functions = self.functions.iter().map(|f| &self.module.ir.functions[f.id.0 as usize]);
        functions.flat_map(|f| &f.blocks).flat_map(|b| &b.insts)
    }

    /// The calls of the system in them, one for each place.
    pub fn syscalls(&self) -> impl Iterator<Item = ir::Syscall> {
        self.syscalls.iter().map(|site| site.call)
    }

    /// The instruction at `pc`, if one stands there: neither the end of a block nor none at all.
    pub fn inst(&self, pc: u32) -> Option<&ir::Inst> {
        match self.instruction(pc)?.code {
            Code::Inst(inst) => Some(inst),
            Code::Term(_) | Code::Nothing => None,
        }
    }

    /// What stands at `pc`.
    pub fn instruction(&self, pc: u32) -> Option<InstructionView<'_>> {
        let site = self.sites.get(pc as usize)?;
        let id = self.functions[site.function as usize].id;
        let function = &self.module.ir.functions[id.0 as usize];
        let block = &function.blocks[site.block as usize];
        let code = match block.insts.get(site.inst as usize) {
            Some(inst) => Code::Inst(inst),
            // A branch to the block that follows is no instruction.
            None if block.term == ir::Term::Br(ir::BlockId(site.block + 1)) => Code::Nothing,
            None => Code::Term(&block.term),
        };
        Some(InstructionView { function, id, block: site.block, code, loc: site.loc })
    }

    /// Shared variables that the kernel can reach, each with its offset in the block's shared
    /// memory.
    pub fn shared_variables(&self) -> &[(ir::GlobalId, u32)] {
        &self.shared_variables
    }

    /// Accesses of shared and local memory of which it is known which variable they are to, in the order of their places in the code:
    /// [`variables::of_launch`] has their bytes.
    pub fn variable_sites(&self) -> &[(u32, Variable)] {
        self.variables.get_or_init(|| variables::sites(self))
    }

    /// Where dynamic shared memory begins.
    pub fn dynamic_shared_at(&self) -> u32 {
        self.dynamic_shared_at
    }

    /// Address of an instruction of this program's code.
    pub(crate) fn pc_of(&self, i: &Inst) -> u32 {
        ((i as *const Inst as usize - self.code.as_ptr() as usize) / size_of::<Inst>()) as u32
    }

    /// As [`Program::pc_of`], for an instruction that may be no part of the code.
    pub(crate) fn find_pc(&self, i: &Inst) -> Option<u32> {
        let offset = (i as *const Inst as usize).checked_sub(self.code.as_ptr() as usize)?;
        let pc = offset / size_of::<Inst>();
        (pc < self.code.len()).then_some(pc as u32)
    }

    /// Name of the function that an instruction was written in.
    fn home(&self, site: &Site) -> &Arc<str> {
        self.home_of(site.loc)
            .map_or(&self.functions[site.function as usize].name, |(name, _)| name)
    }

    /// The function that a location which was put into the kernel is of, and the location of its call.
    fn home_of(&self, loc: ir::LocId) -> Option<&(Arc<str>, ir::LocId)> {
        self.homes.as_ref()?.find(loc)
    }

    /// The source of the instruction at `pc`, or of one soon after it if its own is not known.
    pub(crate) fn place_near(&self, pc: u32) -> Place {
        let known = |pc: &u32| {
            let site = self.sites.get(*pc as usize)?;
            let loc = self.module.ir.locs.get(site.loc.0 as usize)?;
            (loc.line != 0 || loc.ptx_line != 0).then_some(())
        };
        let function = |pc: u32| self.sites.get(pc as usize).map(|s| self.home(s));
        let mut near = (pc..pc.saturating_add(16)).take_while(|&n| function(n) == function(pc));
        self.place(near.find(|n| known(n).is_some()).unwrap_or(pc))
    }

    /// The line of the program's own that an instruction belongs to: where it was inlined, if the
    /// debug information says so (clang 19's does not); else that of who uses its result, or of the
    /// instruction before. What a header's function does is nearly always part of the statement
    /// around it. (Of code that was compiled with margay's headers as they are now each
    /// instruction has a line of the program's: `include/margay/callers_begin.h`.)
    fn own_line(&self, pc: u32) -> Option<ir::SrcLoc> {
        let module = &self.module.ir;
        let file = |loc: &ir::SrcLoc| module.files.get(loc.file? as usize);
        let outwards = |loc: &ir::SrcLoc| module.locs.get(loc.inlined_at? as usize).cloned();
        let function = self.home(self.sites.get(pc as usize)?);
        let line = |pc: u32| {
            let site = self.sites.get(pc as usize).filter(|s| self.home(s) == function)?;
            let inner = module.locs.get(site.loc.0 as usize).cloned();
            // A chain longer than any inlining is a circle in the debug information.
            std::iter::successors(inner, outwards)
                .take(64)
                .find(|l| l.line != 0 && file(l).is_none_or(|f| !is_header(f)))
        };
        let results = self.inst(pc).map_or(&[][..], |inst| &inst.dsts);
        let is_result = |s: &ir::Value| matches!(s, ir::Value::Reg(reg) if results.contains(reg));
        let uses = |n: &u32| self.inst(*n).is_some_and(|inst| inst.srcs.iter().any(is_result));
        line(pc)
            .or_else(|| (pc..pc.saturating_add(64)).filter(uses).find_map(line))
            .or_else(|| (pc.saturating_sub(16)..pc).rev().find_map(line))
            .or_else(|| (pc..pc.saturating_add(16)).find_map(line))
    }

    /// The source of the instruction at `pc`: a line of the program's own, where a device function
    /// of margay's headers was inlined into it.
    pub fn place(&self, pc: u32) -> Place {
        let Some(site) = self.sites.get(pc as usize) else { return Place::default() };
        let module = &self.module.ir;
        let own = |loc: ir::LocId| module.locs.get(loc.0 as usize).cloned().unwrap_or_default();
        let inner = own(site.loc);
        let mut loc = ir::SrcLoc { ptx_line: inner.ptx_line, ..self.own_line(pc).unwrap_or(inner) };
        let mut home = self.home(site);
        // Of a function that was put in and is in no file, the innermost call that is in one tells the place.
        let mut calls =
            std::iter::successors(self.home_of(site.loc), |(_, call)| self.home_of(*call));
        if loc.file.is_none()
            && let Some((_, call)) = calls.find(|(_, call)| own(*call).file.is_some())
        {
            loc = own(*call);
            let kernel = &self.functions[site.function as usize].name;
            home = self.home_of(*call).map_or(kernel, |(name, _)| name);
        }
        let function = &self.functions[site.function as usize];
        let block = &module.functions[function.id.0 as usize].blocks[site.block as usize];
        let instruction = match block.insts.get(site.inst as usize) {
            Some(inst) => inst.to_string(),
            None => block.term.to_string(),
        };
        let file = loc.file.and_then(|f| module.files.get(f as usize));
        let source = file.and_then(|f| module.sources.get(f));
        let text = source.and_then(|t| t.lines().nth(loc.line.checked_sub(1)? as usize));
        Place {
            file: file.map(|f| f.to_string()),
            text: text.map(str::to_owned),
            line: loc.line,
            column: loc.column,
            ptx_line: loc.ptx_line,
            function: home.to_string(),
            instruction,
        }
    }
}

/// Whether a file is one of margay's own headers, or of the compiler's, which nobody debugs.
fn is_header(file: &str) -> bool {
    let ours = file.contains("/margay/include") || file.contains("/include/margay/");
    ours || file.contains("/__clang_cuda_")
}

/// Bytes of the static shared variables that a kernel can reach. Nothing is decoded.
pub fn static_shared(module: &ir::Module, entry: ir::FuncId) -> Result<u32, LinkError> {
    crate::decode::static_shared(module, entry)
}

/// The handle that device code sees for a function (for tables of function pointers in initialisers).
/// It is no address of anything: a load through it faults.
pub fn function_handle(module_uid: u32, function: ir::FuncId) -> u64 {
    0x0c0d << 48 | (module_uid as u64 & 0xff_ffff) << 24 | ((function.0 as u64 + 1) & 0xf_ffff) << 4
}

/// The low 24 bits of a module's number and the function in it that a handle stands for.
pub fn function_of_handle(handle: u64) -> Option<(u32, ir::FuncId)> {
    let function = (handle >> 4 & 0xf_ffff) as u32;
    let is_one = handle >> 48 == 0x0c0d && handle & 0xf == 0 && function != 0;
    is_one.then(|| ((handle >> 24 & 0xff_ffff) as u32, ir::FuncId(function - 1)))
}
