// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forgetting where things stood, so that `==` compares what was said.

use crate::ast::*;

const NOWHERE: Span = Span::new(0, 0);

impl Module {
    /// Sets every span to nothing and forgets the lines.
    pub fn erase_spans(&mut self) {
        self.version.span = NOWHERE;
        target(&mut self.target);
        if let Some(size) = &mut self.address_size {
            size.span = NOWHERE;
        }
        self.lines = LineIndex::default();
        for item in &mut self.items {
            match item {
                Item::Function(f) => function(f),
                Item::Variable(v) => variable(v),
                Item::File(f) => f.span = NOWHERE,
                Item::Section(s) => section(s),
                Item::Alias(a) => {
                    a.span = NOWHERE;
                    a.alias.span = NOWHERE;
                    a.aliasee.span = NOWHERE;
                }
                Item::Pragma(p) => p.span = NOWHERE,
                Item::Target(t) => target(t),
                Item::Version(v) => v.span = NOWHERE,
                Item::AddressSize(s) => s.span = NOWHERE,
                Item::Dwarf(d) => d.span = NOWHERE,
            }
        }
    }
}

fn target(t: &mut Target) {
    t.span = NOWHERE;
    t.options.iter_mut().for_each(|n| n.span = NOWHERE);
}

fn function(f: &mut Function) {
    f.span = NOWHERE;
    f.name.span = NOWHERE;
    f.returns.iter_mut().chain(&mut f.params).for_each(variable);
    f.directives.iter_mut().for_each(|d| d.span = NOWHERE);
    if let Some(body) = &mut f.body {
        block(body);
    }
}

fn variable(v: &mut Variable) {
    v.span = NOWHERE;
    v.name.span = NOWHERE;
    if let Some(i) = &mut v.init {
        init(i);
    }
}

fn init(i: &mut Init) {
    i.span = NOWHERE;
    match &mut i.kind {
        InitKind::List(items) => items.iter_mut().for_each(init),
        InitKind::Mask { value, mask: _ } | InitKind::Field { value, field: _ } => init(value),
        InitKind::Immediate(_) | InitKind::Address { .. } => {}
    }
}

fn section(s: &mut Section) {
    s.span = NOWHERE;
    s.name.span = NOWHERE;
    for item in &mut s.items {
        match item {
            SectionItem::Label(name) => name.span = NOWHERE,
            SectionItem::Data { span, .. } => *span = NOWHERE,
        }
    }
}

fn block(b: &mut Block) {
    b.span = NOWHERE;
    for s in &mut b.statements {
        statement(s);
    }
}

fn statement(s: &mut Statement) {
    match s {
        Statement::Label(name) => name.span = NOWHERE,
        Statement::Instruction(i) => instruction(i),
        Statement::Variable(v) => variable(v),
        Statement::Block(b) => block(b),
        Statement::Loc(l) => {
            l.span = NOWHERE;
            if let Some(inlined) = &mut l.inlined {
                inlined.function_name.span = NOWHERE;
            }
        }
        Statement::Pragma(p) => p.span = NOWHERE,
        Statement::BranchTargets(list) | Statement::CallTargets(list) => {
            list.span = NOWHERE;
            list.label.span = NOWHERE;
            list.targets.iter_mut().for_each(|(n, _)| n.span = NOWHERE);
        }
        Statement::CallPrototype(p) => {
            p.span = NOWHERE;
            p.label.span = NOWHERE;
            p.name.span = NOWHERE;
            p.returns.iter_mut().chain(&mut p.params).for_each(variable);
            p.directives.iter_mut().for_each(|d| d.span = NOWHERE);
        }
        Statement::File(f) => f.span = NOWHERE,
        Statement::Section(s) => section(s),
        Statement::Dwarf(d) => d.span = NOWHERE,
    }
}

fn instruction(i: &mut Instruction) {
    i.span = NOWHERE;
    i.opcode_span = NOWHERE;
    if let Some(guard) = &mut i.guard {
        guard.span = NOWHERE;
        guard.predicate.span = NOWHERE;
    }
    i.modifiers.iter_mut().for_each(|m| m.span = NOWHERE);
    i.operands.iter_mut().for_each(operand);
}

fn operand(o: &mut Operand) {
    o.span = NOWHERE;
    match &mut o.kind {
        OperandKind::Negate(inner) => operand(inner),
        OperandKind::Pair(pair) => {
            operand(&mut pair.0);
            operand(&mut pair.1);
        }
        OperandKind::Vector(items) | OperandKind::Bracket(items) | OperandKind::List(items) => {
            items.iter_mut().for_each(operand);
        }
        OperandKind::Name(_)
        | OperandKind::Member { .. }
        | OperandKind::Immediate(_)
        | OperandKind::Sink
        | OperandKind::Not(_)
        | OperandKind::Address(_)
        | OperandKind::Offset { .. }
        | OperandKind::Element { .. } => {}
    }
}
