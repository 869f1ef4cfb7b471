// SPDX-License-Identifier: MIT OR Apache-2.0
//! A function's body: scopes, statements, and the instruction loop.

use std::collections::HashSet;

use margay_ptx::ast::{self, FunctionKind, ScalarType, Span, StateSpace, Statement, Symbol};

use super::emit::OpenBlock;
use super::module::ModuleCx;
use super::names::{Entity, Range, RegVar, Scope, Slot, passed_sizes, size_and_align};
use super::operand::{bits_type, class_of};
use super::params::ParamUses;
use super::{Lowered, Stop, dispatch};
use crate::analysis::layout;
use crate::inst::*;
use crate::module::{Function, Unsupported};
use crate::ops::Op;
use crate::types::{Class, Ty};

/// An extension that completes a write to a register wider than the instruction's type.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteBack {
    pub op: Op,
    pub ty: Ty,
    pub from: Ty,
    pub dst: Reg,
    pub src: Reg,
}

/// The state of lowering one function body. See the header of [`super`] for how arms use it.
pub(crate) struct Lower<'m, 'a> {
    pub(super) cx: &'m mut ModuleCx<'a>,
    pub(super) ast: &'a ast::Function,
    /// The function being made: registers, frame, parameters.
    pub(super) out: Function,
    pub(super) scopes: Vec<Scope>,
    pub(super) uses: ParamUses,
    pub(super) blocks: Vec<OpenBlock>,
    pub(super) current: BlockId,
    /// Of the PTX instruction being lowered.
    pub(super) guard: Option<Guard>,
    pub(super) loc: LocId,
    pub(super) write_backs: Vec<WriteBack>,
    /// Whether the instruction takes registers of its type's own size only.
    pub(super) exact_sizes: bool,
    pub(super) carry: Option<Reg>,
    /// What was refused, with the message of the op that stands for it.
    pub(super) refused: Vec<(Unsupported, LocId)>,
    /// Counts hoisted variables, for names that are unique.
    pub(super) hoisted: u32,
    /// What the next barrier orders, as a pragma of the OpenCL library's says.
    pub(super) orders: BarOrder,
}

/// Where a body's statements stood before an instruction, to take it back.
struct Mark {
    blocks: usize,
    current: BlockId,
    insts: usize,
}

impl<'m, 'a> Lower<'m, 'a> {
    /// Lowers a function into `out`, which has name, linkage and limits already.
    pub(super) fn run(cx: &'m mut ModuleCx<'a>, ast: &'a ast::Function, out: Function) -> Function {
        let mut lower = Lower {
            cx,
            ast,
            out,
            scopes: vec![Scope::default()],
            uses: ParamUses::of(ast),
            blocks: vec![OpenBlock::default()],
            current: BlockId(0),
            guard: None,
            loc: LocId(0),
            write_backs: Vec::new(),
            exact_sizes: false,
            carry: None,
            refused: Vec::new(),
            hoisted: 0,
            orders: BarOrder::All,
        };
        lower.formals();
        let Some(body) = &ast.body else {
            // Of a declaration only the sizes of the parameters count.
            for param in lower.out.params.iter_mut().chain(&mut lower.out.rets) {
                param.place = None;
            }
            lower.out.regs.clear();
            lower.out.frame_size = 0;
            return lower.out;
        };
        lower.scopes.push(Scope::default());
        lower.block(body);
        // Falling off the end returns.
        lower.terminate(match ast.kind {
            FunctionKind::Entry => Term::Exit,
            FunctionKind::Func => Term::Ret,
        });
        lower.finish()
    }

    fn finish(mut self) -> Function {
        let ret = match self.ast.kind {
            FunctionKind::Entry => Term::Exit,
            FunctionKind::Func => Term::Ret,
        };
        self.out.blocks = self
            .blocks
            .into_iter()
            .map(|open| {
                let (term, term_loc) = open.term.unwrap_or((ret.clone(), LocId(0)));
                Block { label: open.label, insts: open.insts, term, term_loc }
            })
            .collect();
        let order = layout::order(&self.out);
        layout::apply_order(&mut self.out, &order);
        // What no path reaches is not held against the function.
        let reached: HashSet<LocId> = self
            .out
            .blocks
            .iter()
            .flat_map(|b| &b.insts)
            .filter(|i| i.op == Op::Unsupported)
            .map(|i| i.loc)
            .collect();
        let refused = self.refused.into_iter();
        self.out.unsupported.extend(
            refused
                .filter(|(_, loc)| *loc == LocId(0) || reached.contains(loc))
                .map(|(unsupported, _)| unsupported),
        );
        self.out.frame_align = self.out.frame_align.max(16);
        self.out.frame_size = self.out.frame_size.next_multiple_of(self.out.frame_align);
        self.out
    }

    /// The text of a name.
    pub(crate) fn name(&self, symbol: Symbol) -> &'a str {
        self.cx.ast.name(symbol)
    }

    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.cx.error(span, message);
    }

    pub(super) fn undeclared(&self, name: Symbol, span: Span) -> Stop {
        Stop::error(span, format!("`{}` is not declared", self.name(name)))
    }

    /// What a name means here, innermost scope first.
    pub(super) fn find(&mut self, name: Symbol) -> Option<Entity> {
        let text = self.cx.ast.name(name);
        for i in (0..self.scopes.len()).rev() {
            if let Some(entity) = self.scopes[i].names.get(&name) {
                return Some(entity.clone());
            }
            if let Some(range) = self.scopes[i].in_range(text) {
                let (ty, vector) = (range.ty, range.vector);
                let entity = self.new_register(ty, vector);
                self.scopes[i].names.insert(name, entity.clone());
                return Some(entity);
            }
        }
        self.cx.find(name)
    }

    pub(super) fn declare(&mut self, name: ast::Name, entity: Entity) {
        let Some(scope) = self.scopes.last_mut() else { return };
        if scope.names.insert(name.symbol, entity).is_some() {
            let text = self.name(name.symbol);
            self.error(name.span, format!("`{text}` is declared twice"));
        }
    }

    fn new_register(&mut self, ty: ScalarType, vector: Option<u8>) -> Entity {
        match (vector, ty.bits()) {
            (None | Some(1), 128) => Entity::Wide([self.temp(Class::D), self.temp(Class::D)]),
            (None | Some(1), _) => Entity::Reg(RegVar { reg: self.temp(class_of(ty)), ty }),
            (Some(_), 128) => Entity::Unusable("a vector of 128-bit registers"),
            (Some(n), _) => {
                let regs = (0..n).map(|_| self.temp(class_of(ty))).collect();
                Entity::Vector { ty, regs }
            }
        }
    }

    /// Reserves bytes of the frame.
    pub(super) fn frame(&mut self, size: u64, align: u64, span: Span) -> Option<u32> {
        let align = align.clamp(1, 1 << 20).next_power_of_two();
        let offset = u64::from(self.out.frame_size).next_multiple_of(align);
        // The hardware's limit is 512 KB a thread; ours only has to keep the arithmetic sound.
        match offset.checked_add(size).filter(|end| *end <= 1 << 28) {
            Some(end) => {
                self.out.frame_size = end as u32;
                self.out.frame_align = self.out.frame_align.max(align as u32);
                Some(offset as u32)
            }
            None => {
                self.error(span, "the function's local memory is too large");
                None
            }
        }
    }

    /// Opens a scope with what may be referred to before it is written: labels and target lists.
    fn block(&mut self, block: &'a ast::Block) {
        for statement in &block.statements {
            match statement {
                Statement::Label(name) => {
                    let id = self.new_block();
                    self.blocks[id.0 as usize].label = Some(self.name(name.symbol).into());
                    self.declare(*name, Entity::Label(id));
                }
                Statement::BranchTargets(list) => {
                    self.declare(list.label, Entity::BranchTargets(list.targets.clone()));
                }
                Statement::CallTargets(list) => self.declare(list.label, Entity::CallTargets),
                Statement::CallPrototype(proto) => {
                    let entity = match (passed_sizes(&proto.params), passed_sizes(&proto.returns)) {
                        (Some(params), Some(returns)) => Entity::Prototype { params, returns },
                        _ => Entity::Unusable("a prototype with a parameter of open size"),
                    };
                    self.declare(proto.label, entity);
                }
                Statement::Instruction(_)
                | Statement::Variable(_)
                | Statement::Block(_)
                | Statement::Loc(_)
                | Statement::Pragma(_)
                | Statement::File(_)
                | Statement::Section(_)
                | Statement::Dwarf(_) => {}
            }
        }
        for statement in &block.statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &'a Statement) {
        match statement {
            Statement::Label(name) => {
                self.orders = BarOrder::All;
                if let Some(Entity::Label(id)) = self.find(name.symbol) {
                    self.loc = self.cx.debug.at(name.span, self.cx.ast);
                    self.start_block(id);
                }
            }
            Statement::Instruction(inst) => self.instruction(inst),
            Statement::Variable(var) => self.variable(var),
            Statement::Block(block) => {
                self.scopes.push(Scope::default());
                self.block(block);
                self.scopes.pop();
            }
            Statement::Loc(loc) => self.cx.debug.set(loc),
            Statement::File(file) => self.cx.debug.file(file),
            // Hints to an optimising assembler; unknown ones are ignored by the manual's rule.
            Statement::Pragma(pragma) => {
                if let [own] = pragma.strings.as_slice() {
                    self.orders = match own.as_str() {
                        "margay barrier orders local" => BarOrder::Shared,
                        "margay barrier orders global" => BarOrder::Global,
                        _ => self.orders,
                    };
                }
            }
            // Known since the scope opened.
            Statement::BranchTargets(_)
            | Statement::CallTargets(_)
            | Statement::CallPrototype(_) => {}
            // Debug information beyond `.loc` has no effect on execution.
            Statement::Section(_) | Statement::Dwarf(_) => {}
        }
    }

    fn variable(&mut self, var: &'a ast::Variable) {
        match var.space {
            StateSpace::Reg => match var.range {
                Some(count) => {
                    let prefix = self.name(var.name.symbol).to_string();
                    let range = Range { prefix, ty: var.ty, vector: var.vector, count };
                    if let Some(scope) = self.scopes.last_mut() {
                        scope.ranges.push(range);
                    }
                }
                None => {
                    let entity = self.new_register(var.ty, var.vector);
                    self.declare(var.name, entity);
                }
            },
            StateSpace::Local => {
                let Some((size, align)) = size_and_align(var) else {
                    return self.error(var.span, "a local variable needs a size");
                };
                let offset = self.frame(size, align, var.span).unwrap_or(0);
                if self.name(var.name.symbol).starts_with("__local_depot") {
                    self.locals(offset, size);
                }
                self.declare(var.name, Entity::Local { offset });
            }
            StateSpace::Param => self.param_variable(var),
            StateSpace::Shared | StateSpace::Global | StateSpace::Const => {
                self.hoisted += 1;
                let entity = self.cx.hoist(var, &self.out.name, self.hoisted);
                self.declare(var.name, entity);
            }
            StateSpace::Sreg | StateSpace::Tex => {
                self.declare(var.name, Entity::Unusable("a variable of this state space"));
            }
        }
    }

    /// Divides clang's array of all variables, if it told how.
    fn locals(&mut self, depot: u32, size: u64) {
        let Some(own) = self.cx.frames.get(&*self.out.name) else { return };
        let within = |&&(at, bytes): &&(u32, u32)| u64::from(at) + u64::from(bytes) <= size;
        self.out.locals.extend(own.iter().filter(within).map(|(at, bytes)| (depot + at, *bytes)));
    }

    /// A `.param` in a body: an argument slot of calls, or, before PTX 1.4, a kernel parameter.
    fn param_variable(&mut self, var: &'a ast::Variable) {
        let Some((size, align)) = size_and_align(var).filter(|(s, _)| *s <= 1 << 20) else {
            return self.error(var.span, "a parameter needs a size");
        };
        let version = &self.cx.ast.version;
        if self.out.is_entry && (version.major, version.minor) < (1, 4) {
            let entity = self.kernel_param(var, size as u32, align as u32);
            return self.declare(var.name, entity);
        }
        let entity = Entity::Slot(self.slot(var, size as u32, align as u32));
        self.declare(var.name, entity);
    }

    /// A home for a parameter or an argument slot: a register if it is only accessed whole.
    pub(super) fn slot(&mut self, var: &ast::Variable, size: u32, align: u32) -> Slot {
        if self.uses.is_whole(var, size) {
            Slot::Reg { reg: self.temp(class_of(bits_type(size))), size }
        } else {
            let offset = self.frame(size.into(), align.into(), var.span).unwrap_or(0);
            Slot::Frame { offset, size }
        }
    }

    fn instruction(&mut self, inst: &'a ast::Instruction) {
        self.loc = self.cx.debug.at(inst.opcode_span, self.cx.ast);
        let mark = Mark {
            blocks: self.blocks.len(),
            current: self.current,
            insts: self.blocks[self.current.0 as usize].insts.len(),
        };
        match self.try_instruction(inst, &mark) {
            Ok(()) => {}
            Err(Stop::Error { message, span }) => {
                self.take_back(&mark);
                self.error(span, message);
            }
            Err(Stop::Unsupported { reason }) => {
                self.take_back(&mark);
                self.refuse(inst, reason);
            }
        }
        self.guard = None;
        self.write_backs.clear();
    }

    fn try_instruction(&mut self, inst: &'a ast::Instruction, mark: &Mark) -> Lowered {
        self.guard = match &inst.guard {
            None => None,
            Some(guard) => match self.find(guard.predicate.symbol) {
                Some(Entity::Reg(RegVar { reg, ty: ScalarType::Pred })) => {
                    Some(Guard { pred: reg, negated: guard.negated })
                }
                Some(_) => return Err(Stop::error(guard.span, "a guard must be a predicate")),
                None => return Err(self.undeclared(guard.predicate.symbol, guard.span)),
            },
        };
        let mut cursor = inst.cursor();
        self.exact_sizes = false;
        dispatch(self, inst, &mut cursor)?;
        if let Some(left) = cursor.unconsumed() {
            return Err(Stop::unsupported(format!("the modifier `.{}`", left.name)));
        }
        self.write_back();
        self.keep_guard(mark);
        Ok(())
    }

    /// If the expansion of a guarded instruction writes its own guard before its last instruction,
    /// the guard is copied first, so that all of it runs under the value it had.
    fn keep_guard(&mut self, mark: &Mark) {
        let Some(guard) = self.guard else { return };
        let block = &self.blocks[mark.current.0 as usize].insts;
        let new = &block[mark.insts.min(block.len())..];
        let Some((_, body)) = new.split_last() else { return };
        if !body.iter().any(|i| i.dsts.contains(&guard.pred)) {
            return;
        }
        let copy = self.temp(Class::P);
        let insts = &mut self.blocks[mark.current.0 as usize].insts;
        for inst in &mut insts[mark.insts..] {
            if let Some(g) = &mut inst.guard
                && g.pred == guard.pred
            {
                g.pred = copy;
            }
        }
        let mov = Inst {
            op: Op::Mov,
            ty: Ty::Pred,
            from: Ty::Pred,
            dsts: smallvec::smallvec![copy],
            srcs: smallvec::smallvec![Value::Reg(guard.pred)],
            guard: None,
            attr: Attr::None,
            loc: self.loc,
        };
        insts.insert(mark.insts, mov);
    }

    /// Removes what a failed instruction emitted.
    fn take_back(&mut self, mark: &Mark) {
        self.blocks.truncate(mark.blocks);
        self.current = mark.current;
        let block = &mut self.blocks[self.current.0 as usize];
        block.insts.truncate(mark.insts);
        block.term = None;
        self.write_backs.clear();
    }

    /// Puts an `unsupported` op in the instruction's place.
    fn refuse(&mut self, inst: &ast::Instruction, reason: String) {
        let form = form(inst);
        let message = format!("{form}: {reason}").into_boxed_str();
        self.guard = None;
        self.emit(Op::Unsupported, Ty::Pred, &[], &[], Attr::Message(message));
        let ptx_line = self.cx.ast.lines.line(inst.opcode_span);
        self.refused.push((Unsupported { form, reason, ptx_line }, self.loc));
    }

    /// Refuses the function as a whole.
    pub(super) fn refuse_function(&mut self, form: &str, reason: &str, span: Span) {
        let ptx_line = self.cx.ast.lines.line(span);
        let (form, reason) = (form.to_string(), reason.to_string());
        self.refused.push((Unsupported { form, reason, ptx_line }, LocId(0)));
    }
}

/// The opcode with its modifiers, as written.
fn form(inst: &ast::Instruction) -> String {
    let mut text = inst.opcode().to_string();
    for m in &inst.modifiers {
        text.push('.');
        text.push_str(m.name);
    }
    text
}
