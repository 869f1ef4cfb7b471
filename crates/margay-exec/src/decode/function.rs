// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoding one function: planes for its registers, instructions in layout order, jumps patched.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use margay_ir::analysis::liveness::{self, Liveness};
use margay_ir::{self as ir, Class};

use super::SharedLayout;
use super::select;
use super::select_convert::LaneFn;
use crate::handlers::control;
use crate::handlers::copy::Shape;
use crate::handlers::special::BuiltinSite;
use crate::handlers::texture::TextureSite;
use crate::lanes::{Handler, Inst, plain};
use crate::program::{
    ArgPlace, CallSite, DecodedFunction, Line, LinkError, LoadedModule, MeetSite, Program,
    ProgramInfo, Site, SyscallSite,
};

/// State of decoding a program.
pub(crate) struct Decoder<'a> {
    pub module: &'a Arc<LoadedModule>,
    pub index: &'a HashMap<ir::FuncId, u32>,
    pub shared: &'a SharedLayout,
    pub code: Vec<Inst>,
    sites: Vec<Site>,
    consts: Vec<Line>,
    known: HashMap<(Class, u64), u32>,
    pub functions: Vec<DecodedFunction>,
    pub extra: Vec<u32>,
    pub calls: Vec<CallSite>,
    pub syscalls: Vec<SyscallSite>,
    pub tables: Vec<Vec<u32>>,
    pub meets: Vec<MeetSite>,
    pub sregs: Vec<ir::Sreg>,
    pub copies: Vec<Shape>,
    pub builtins: Vec<BuiltinSite>,
    pub textures: Vec<TextureSite>,
    pub lane_functions: Vec<LaneFn>,
    pub slots: u32,
    pub reads_workspace: bool,
    pub uses_alloca: bool,
}

/// The function being decoded.
pub(crate) struct Frame<'a> {
    pub function: &'a ir::Function,
    planes: Vec<u32>,
    pub local_base: u32,
    pub local_top: u32,
}

pub(crate) fn class_bytes(class: Class) -> u32 {
    match class {
        Class::P => 4,
        Class::W => 128,
        Class::D => 256,
    }
}

impl<'a> Decoder<'a> {
    pub fn new(
        module: &'a Arc<LoadedModule>,
        index: &'a HashMap<ir::FuncId, u32>,
        shared: &'a SharedLayout,
    ) -> Self {
        Decoder {
            module,
            index,
            shared,
            code: Vec::new(),
            sites: Vec::new(),
            consts: Vec::new(),
            known: HashMap::new(),
            functions: Vec::new(),
            extra: Vec::new(),
            calls: Vec::new(),
            syscalls: Vec::new(),
            tables: Vec::new(),
            meets: Vec::new(),
            sregs: Vec::new(),
            copies: Vec::new(),
            builtins: Vec::new(),
            textures: Vec::new(),
            lane_functions: Vec::new(),
            slots: 0,
            reads_workspace: false,
            uses_alloca: false,
        }
    }

    pub fn finish(
        self,
        info: ProgramInfo,
        name: &str,
        handles: HashMap<u64, u32>,
        dynamic_shared_at: u32,
    ) -> Program {
        Program {
            kernels: crate::jit::Kernels::default(),
            accesses: OnceLock::new(),
            variables: OnceLock::new(),
            idle: OnceLock::new(),
            module: self.module.clone(),
            registers: OnceLock::new(),
            inlined: OnceLock::new(),
            homes: None,
            name: name.into(),
            uses_stack: info.uses_recursion_or_indirect_calls || self.uses_alloca,
            info,
            code: self.code,
            sites: self.sites,
            consts: self.consts,
            functions: self.functions,
            extra: self.extra,
            calls: self.calls,
            syscalls: self.syscalls,
            tables: self.tables,
            meets: self.meets,
            sregs: self.sregs,
            copies: self.copies,
            builtins: self.builtins,
            textures: self.textures,
            lane_functions: self.lane_functions,
            handles,
            slots: self.slots + 1,
            dynamic_shared_at,
            shared_variables: self.shared.variables(),
        }
    }

    /// The operand of a plane that holds `bits` in every lane.
    pub fn constant(&mut self, class: Class, bits: u64) -> u32 {
        let bits = match class {
            Class::P => (bits & 1).wrapping_neg() & 0xffff_ffff,
            Class::W => bits & 0xffff_ffff,
            Class::D => bits,
        };
        if let Some(&operand) = self.known.get(&(class, bits)) {
            return operand;
        }
        let at = self.consts.len() * size_of::<Line>();
        let (word, lines) = match class {
            Class::P => (bits, 1),
            Class::W => (bits << 32 | bits, 2),
            Class::D => (bits, 4),
        };
        self.consts.extend(std::iter::repeat_n(Line([word; 8]), lines));
        let operand = at as u32 | 1;
        self.known.insert((class, bits), operand);
        operand
    }

    /// Lays out a function's planes: double words, then the two words that every frame has, then
    /// its own words, then predicates.
    fn lay_out(&self, f: &'a ir::Function) -> (Frame<'a>, u32) {
        let mut at = 0u32;
        let mut planes = vec![0; f.regs.len()];
        let mut first_word = 0;
        for wanted in [Class::D, Class::W, Class::P] {
            if wanted == Class::W {
                first_word = at;
                at += 2 * class_bytes(Class::W);
            }
            for (r, &class) in f.regs.iter().enumerate() {
                if class == wanted {
                    planes[r] = at;
                    at += class_bytes(class);
                }
            }
        }
        let local_top = first_word + class_bytes(Class::W);
        let frame = Frame { function: f, planes, local_base: first_word, local_top };
        (frame, at.div_ceil(size_of::<Line>() as u32))
    }

    pub fn malformed<T>(&self, f: &Frame<'_>, why: impl Into<String>) -> Result<T, LinkError> {
        Err(LinkError::Malformed { function: f.function.name.to_string(), why: why.into() })
    }

    pub fn class_of(&self, f: &Frame<'_>, r: ir::Reg) -> Result<Class, LinkError> {
        match f.function.regs.get(r.0 as usize) {
            Some(&c) => Ok(c),
            None => self.malformed(f, format!("{r} does not exist")),
        }
    }

    /// The plane of a register.
    pub fn reg(&self, f: &Frame<'_>, r: ir::Reg, class: Class) -> Result<u32, LinkError> {
        match self.class_of(f, r)? {
            c if c == class => Ok(f.planes[r.0 as usize]),
            c => self.malformed(f, format!("{r} is of class {c:?}, not {class:?}")),
        }
    }

    /// The plane of a source operand.
    pub fn value(&mut self, f: &Frame<'_>, v: ir::Value, class: Class) -> Result<u32, LinkError> {
        match v {
            ir::Value::Reg(r) => self.reg(f, r, class),
            ir::Value::Imm(bits) => Ok(self.constant(class, bits)),
        }
    }

    /// Where a call's argument or result lives.
    pub fn call_arg(&mut self, f: &Frame<'_>, arg: ir::CallArg) -> Result<ArgPlace, LinkError> {
        Ok(match arg {
            ir::CallArg::Value(value, ty) => {
                let bytes = if ty == ir::Ty::Pred { 1 } else { ty.bits() / 8 };
                let class = match value {
                    ir::Value::Reg(r) => self.class_of(f, r)?,
                    ir::Value::Imm(_) => ty.class(),
                };
                ArgPlace::Plane { operand: self.value(f, value, class)?, class, bytes }
            }
            ir::CallArg::Frame { offset, size } => ArgPlace::Frame { offset, size },
        })
    }

    /// An instruction without operands, guarded as `guard` says.
    pub fn blank(
        &mut self,
        f: &Frame<'_>,
        handler: Handler,
        guard: Option<ir::Guard>,
    ) -> Result<Inst, LinkError> {
        let (guard, guard_xor) = match guard {
            Some(g) => (self.reg(f, g.pred, Class::P)?, if g.negated { !0 } else { 0 }),
            None => (self.constant(Class::P, 1), 0),
        };
        Ok(Inst { handler, d: 0, a: 0, b: 0, c: 0, guard, guard_xor, imm: 0, aux: 0, slot: 0 })
    }

    /// Decodes a function's body after all that were decoded before; `recursive` if it may come to call itself.
    pub fn function(&mut self, id: ir::FuncId, recursive: bool) -> Result<(), LinkError> {
        let module: &'a LoadedModule = self.module;
        let function = &module.ir.functions[id.0 as usize];
        let (frame, lines) = self.lay_out(function);
        let start = self.code.len() as u32;
        let mut predecessors = vec![0u32; function.blocks.len()];
        for block in &function.blocks {
            for target in targets(&block.term) {
                match predecessors.get_mut(target.0 as usize) {
                    Some(n) => *n += 1,
                    None => return self.malformed(&frame, format!("{target} does not exist")),
                }
            }
        }
        let mut starts = vec![0u32; function.blocks.len()];
        let mut jumps = Vec::new();
        let at = self.functions.len() as u32;
        for (b, block) in function.blocks.iter().enumerate() {
            starts[b] = self.code.len() as u32;
            for (n, inst) in block.insts.iter().enumerate() {
                let decoded = select::instruction(self, &frame, inst)?;
                self.code.push(decoded);
                let site = Site { function: at, block: b as u32, inst: n as u32, loc: inst.loc };
                self.sites.push(site);
            }
            if let ir::Term::Br(target) = block.term
                && target.0 as usize == b + 1
                && predecessors[b + 1] == 1
            {
                // Nothing can wait at the next block's start, so the end of this one is no event.
                continue;
            }
            let inst = self.terminator(&frame, b, &block.term)?;
            jumps.push((self.code.len(), &block.term));
            self.code.push(inst);
            let n = block.insts.len() as u32;
            self.sites.push(Site { function: at, block: b as u32, inst: n, loc: block.term_loc });
        }
        for (at, term) in jumps {
            let target = |b: &ir::BlockId| starts[b.0 as usize];
            match term {
                ir::Term::Br(b) => self.code[at].imm = target(b) as u64,
                ir::Term::CondBr { then, els, .. } => {
                    self.code[at].imm = target(then) as u64 | (target(els) as u64) << 32;
                }
                ir::Term::BrTable { targets, .. } => {
                    let table = targets.iter().map(target).collect();
                    self.code[at].aux = self.tables.len() as u32;
                    self.tables.push(table);
                }
                ir::Term::Ret | ir::Term::Exit => {}
            }
        }
        let (mut params, mut rets) = (Vec::new(), Vec::new());
        if !function.is_entry {
            for (list, places) in [(&function.params, &mut params), (&function.rets, &mut rets)] {
                for p in list {
                    match p.place {
                        Some(arg) => places.push(self.call_arg(&frame, arg)?),
                        None => {
                            return self.malformed(&frame, format!("`{}` has no place", p.name));
                        }
                    }
                }
            }
        }
        let unset = if function.is_entry { Vec::new() } else { unset(function, &frame.planes) };
        self.functions.push(DecodedFunction {
            id,
            name: function.name.as_ref().into(),
            start,
            lines,
            local_base: frame.local_base,
            local_top: frame.local_top,
            frame_size: function.frame_size,
            planes: frame.planes.clone(),
            starts,
            frame_align: function.frame_align.max(16).next_power_of_two(),
            stackless: function.frame_size == 0 && !recursive,
            params,
            rets,
            unset,
        });
        Ok(())
    }

    fn terminator(
        &mut self,
        f: &Frame<'_>,
        block: usize,
        term: &ir::Term,
    ) -> Result<Inst, LinkError> {
        match *term {
            ir::Term::Br(target) => {
                let falls = target.0 as usize == block + 1;
                let handler = if falls { plain::<control::Fall>() } else { plain::<control::Br>() };
                self.blank(f, handler, None)
            }
            ir::Term::CondBr { pred, negated, .. } => {
                let mut i = self.blank(f, plain::<control::CondBr>(), None)?;
                i.a = self.reg(f, pred, Class::P)?;
                i.c = if negated { !0 } else { 0 };
                Ok(i)
            }
            ir::Term::BrTable { index, .. } => {
                let mut i = self.blank(f, plain::<control::Table>(), None)?;
                i.a = self.value(f, index, Class::W)?;
                Ok(i)
            }
            ir::Term::Ret if f.function.is_entry => self.blank(f, plain::<control::Exit>(), None),
            ir::Term::Ret => self.blank(f, plain::<control::Ret>(), None),
            ir::Term::Exit => self.blank(f, plain::<control::Exit>(), None),
        }
    }
}

fn targets(term: &ir::Term) -> Vec<ir::BlockId> {
    match term {
        ir::Term::Br(b) => vec![*b],
        ir::Term::CondBr { then, els, .. } => vec![*then, *els],
        ir::Term::BrTable { targets, .. } => targets.clone(),
        ir::Term::Ret | ir::Term::Exit => Vec::new(),
    }
}

/// Planes of registers that a function may read before it writes them, and that are no arguments.
fn unset(f: &ir::Function, planes: &[u32]) -> Vec<(u32, u32)> {
    let given: Vec<ir::Reg> = liveness::placed(&f.params).collect();
    let read = if f.blocks.is_empty() { Vec::new() } else { Liveness::new(f).before(f, 0) };
    let of = |(r, _): (usize, &bool)| (planes[r], class_bytes(f.regs[r]));
    let unset =
        read.iter().enumerate().filter(|(r, live)| **live && !given.contains(&ir::Reg(*r as u32)));
    unset.map(of).collect()
}
