// SPDX-License-Identifier: MIT OR Apache-2.0
//! `.param` variables: which are accessed whole, and where formals live.
//!
//! PTX passes everything through byte-addressed `.param` space. A parameter that is only read and
//! written whole becomes a register; one whose address is taken, or that is accessed in parts,
//! lives in the function's frame (see [`super::names::Slot`]).

use std::collections::HashMap;

use margay_ptx::ast::{
    self, Base, FunctionKind, Instruction, Operand, OperandKind, Span, StateSpace, Statement,
    Symbol,
};

use super::function::Lower;
use super::names::{Entity, RegVar, Slot, size_and_align};
use super::operand::{bits_type, class_of, ir_ty};
use crate::inst::{CallArg, Value};
use crate::module::Param;
use crate::types::{Space, Ty};

/// How one `.param` variable is used in its function.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    /// An access in part, or its address taken.
    in_part: bool,
    /// Bits of the stores, if they agree.
    stored: Option<u32>,
    /// The widest access, in bits.
    widest: u32,
}

/// Uses of all `.param` variables of a function, by the place of their declaration.
#[derive(Debug, Default)]
pub(crate) struct ParamUses(HashMap<Span, Use>);

impl ParamUses {
    pub fn of(function: &ast::Function) -> ParamUses {
        let mut scan = Scan { uses: HashMap::new(), scopes: vec![HashMap::new()] };
        for var in function.params.iter().chain(&function.returns) {
            scan.declare(var);
        }
        if let Some(body) = &function.body {
            scan.block(body);
        }
        ParamUses(scan.uses)
    }

    /// Whether a variable of `size` bytes can live in a register.
    pub fn is_whole(&self, var: &ast::Variable, size: u32) -> bool {
        let usage = self.0.get(&var.name.span).copied().unwrap_or_default();
        matches!(size, 1 | 2 | 4 | 8) && !usage.in_part && usage.widest <= size * 8
    }
}

struct Scan {
    uses: HashMap<Span, Use>,
    /// `.param` names to the place of their declaration.
    scopes: Vec<HashMap<Symbol, Span>>,
}

impl Scan {
    fn declare(&mut self, var: &ast::Variable) {
        if var.space == StateSpace::Param
            && let Some(scope) = self.scopes.last_mut()
        {
            scope.insert(var.name.symbol, var.name.span);
        }
    }

    fn block(&mut self, block: &ast::Block) {
        for statement in &block.statements {
            match statement {
                Statement::Variable(var) => self.declare(var),
                Statement::Instruction(inst) => self.instruction(inst),
                Statement::Block(inner) => {
                    self.scopes.push(HashMap::new());
                    self.block(inner);
                    self.scopes.pop();
                }
                Statement::Label(_)
                | Statement::Loc(_)
                | Statement::Pragma(_)
                | Statement::BranchTargets(_)
                | Statement::CallTargets(_)
                | Statement::CallPrototype(_)
                | Statement::File(_)
                | Statement::Section(_)
                | Statement::Dwarf(_) => {}
            }
        }
    }

    fn usage(&mut self, name: Symbol) -> Option<&mut Use> {
        let span = self.scopes.iter().rev().find_map(|s| s.get(&name))?;
        Some(self.uses.entry(*span).or_default())
    }

    fn instruction(&mut self, inst: &Instruction) {
        let opcode = inst.opcode();
        if opcode == "call" {
            return;
        }
        let is_store = opcode == "st";
        let is_plain =
            matches!(opcode, "ld" | "st") && !inst.has("v2") && !inst.has("v4") && !inst.has("v8");
        let bits = inst.types().last().map_or(0, |t| t.bits());
        for operand in &inst.operands {
            let whole = match &operand.kind {
                OperandKind::Address(a) if is_plain && a.offset == 0 => match a.base {
                    Base::Name(name) => Some(name),
                    Base::Absolute(_) => None,
                },
                _ => None,
            };
            match whole {
                Some(name) => {
                    if let Some(usage) = self.usage(name) {
                        usage.widest = usage.widest.max(bits);
                        if is_store {
                            usage.in_part |= usage.stored.is_some_and(|b| b != bits);
                            usage.stored = Some(bits);
                        }
                    }
                }
                None => self.names_in(operand),
            }
        }
    }

    /// Marks every `.param` that the operand names as not whole.
    fn names_in(&mut self, operand: &Operand) {
        let mut mark = |name: Symbol| {
            if let Some(usage) = self.usage(name) {
                usage.in_part = true;
            }
        };
        match &operand.kind {
            OperandKind::Name(name) | OperandKind::Not(name) => mark(*name),
            OperandKind::Member { base, .. } | OperandKind::Offset { base, .. } => mark(*base),
            OperandKind::Address(a) => {
                if let Base::Name(name) = a.base {
                    mark(name);
                }
            }
            OperandKind::Element { base, index } => {
                mark(*base);
                if let Base::Name(name) = index.base {
                    mark(name);
                }
            }
            OperandKind::Negate(inner) => self.names_in(inner),
            OperandKind::Pair(halves) => {
                self.names_in(&halves.0);
                self.names_in(&halves.1);
            }
            OperandKind::Vector(parts) | OperandKind::Bracket(parts) | OperandKind::List(parts) => {
                parts.iter().for_each(|p| self.names_in(p))
            }
            OperandKind::Immediate(_) | OperandKind::Sink => {}
        }
    }
}

impl<'a> Lower<'_, 'a> {
    /// Declares parameters and results in the function's outermost scope.
    pub(super) fn formals(&mut self) {
        match self.ast.kind {
            FunctionKind::Entry => {
                for var in &self.ast.params {
                    match size_and_align(var).filter(|(size, _)| *size <= 1 << 20) {
                        Some((size, align)) => {
                            let entity = self.kernel_param(var, size as u32, align as u32);
                            self.declare(var.name, entity);
                        }
                        None => self.error(var.span, "a kernel parameter needs a size"),
                    }
                }
            }
            FunctionKind::Func => {
                self.out.params = self.device_params(&self.ast.params);
                self.out.rets = self.device_params(&self.ast.returns);
            }
        }
    }

    /// Appends a parameter to the kernel's parameter block.
    pub(super) fn kernel_param(&mut self, var: &ast::Variable, size: u32, align: u32) -> Entity {
        let align = align.next_power_of_two();
        let offset = self.out.param_size.next_multiple_of(align);
        self.out.param_size = offset + size;
        let pointee = var.ptr.map(|p| match p.space {
            None => Space::Generic,
            Some(StateSpace::Global) => Space::Global,
            Some(StateSpace::Shared) => Space::Shared,
            Some(StateSpace::Local) => Space::Local,
            Some(StateSpace::Const) => Space::Const,
            Some(StateSpace::Param) => Space::Param,
            Some(StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex) => Space::Generic,
        });
        let name = self.name(var.name.symbol).into();
        self.out.params.push(Param { name, offset, size, align, place: None, pointee });
        Entity::KernelParam { offset }
    }

    fn device_params(&mut self, vars: &'a [ast::Variable]) -> Vec<Param> {
        let mut params = Vec::new();
        for var in vars {
            let Some((size, align)) = size_and_align(var).filter(|(size, _)| *size <= 1 << 20)
            else {
                let reason = "a parameter of open size";
                self.refuse_function(self.name(var.name.symbol), reason, var.span);
                self.declare(var.name, Entity::Unusable(reason));
                continue;
            };
            if let (StateSpace::Reg, Some(n), 8..=64) = (var.space, var.vector, var.ty.bits()) {
                // The elements are passed one by one.
                let regs: Vec<_> = (0..n).map(|_| self.temp(class_of(var.ty))).collect();
                let size = var.ty.bits() / 8;
                for (i, reg) in regs.iter().enumerate() {
                    let name = format!("{}.{i}", self.name(var.name.symbol)).into();
                    let place = Some(CallArg::Value(Value::Reg(*reg), ir_ty(var.ty)));
                    params.push(Param { name, offset: 0, size, align: size, place, pointee: None });
                }
                self.declare(var.name, Entity::Vector { ty: var.ty, regs });
                continue;
            }
            let (size, align) = (size as u32, (align as u32).next_power_of_two());
            let (entity, place) = match var.space {
                StateSpace::Reg if var.ty.bits() <= 64 && var.vector.is_none() => {
                    let reg = self.temp(class_of(var.ty));
                    let place = CallArg::Value(Value::Reg(reg), ir_ty(var.ty));
                    (Entity::Reg(RegVar { reg, ty: var.ty }), Some(place))
                }
                StateSpace::Param => {
                    let slot = self.slot(var, size, align);
                    (Entity::Slot(slot), Some(slot.call_arg()))
                }
                _ => {
                    self.refuse_function(
                        self.name(var.name.symbol),
                        "a parameter of this kind",
                        var.span,
                    );
                    (Entity::Unusable("a parameter of this kind"), None)
                }
            };
            self.declare(var.name, entity);
            let name = self.name(var.name.symbol).into();
            params.push(Param { name, offset: 0, size, align, place, pointee: None });
        }
        params
    }
}

impl Slot {
    /// The slot as one side of a call.
    pub fn call_arg(self) -> CallArg {
        match self {
            Slot::Reg { reg, size } => CallArg::Value(Value::Reg(reg), slot_ty(size)),
            Slot::Frame { offset, size } => CallArg::Frame { offset, size },
        }
    }
}

/// The type of a register that holds a slot of 1, 2, 4 or 8 bytes.
pub(super) fn slot_ty(size: u32) -> Ty {
    ir_ty(bits_type(size))
}
