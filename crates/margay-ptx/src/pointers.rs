// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generic accesses whose pointer may be to several memory spaces, in code for GPUs before 2.0.
//!
//! Those have an instruction for each space and none that asks the address which one it means, so a
//! compiler for them must know what every pointer points to. Calls are followed with the arguments of each,
//! because nvcc inlined every function that takes a pointer.
//!
//! Invariant: a pointer that is to one space on every way is none of these. Limit: a pointer that was kept in
//! memory is taken for one to global memory, as nvcc took it.

use std::collections::{HashMap, HashSet};

use crate::ast::{
    Base, Function, FunctionKind, Instruction, Module, Operand, OperandKind, Statement, Symbol,
};

bitflags::bitflags! {
    /// Where a pointer may point.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    struct Targets: u8 {
        /// Or a number that is no pointer.
        const GLOBAL = 1;
        const SHARED = 2;
        const LOCAL = 4;
        const CONST = 8;
    }
}

impl Targets {
    /// Of a sum: where one part is a pointer to a space that is not global memory, the others are numbers.
    fn sum(self, part: Targets) -> Targets {
        match (self == self & Targets::GLOBAL, part == part & Targets::GLOBAL) {
            (true, false) => part,
            (false, true) => self,
            (true, true) | (false, false) => self | part,
        }
    }

    fn told(self) -> String {
        let names = [
            (Targets::SHARED, "shared"),
            (Targets::LOCAL, "local"),
            (Targets::CONST, "constant"),
            (Targets::GLOBAL, "global"),
        ];
        let mine: Vec<&str> =
            names.iter().filter(|(one, _)| self.contains(*one)).map(|(_, name)| *name).collect();
        mine.join(" or to ")
    }
}

/// For the start of each opcode of such an access, the spaces in words: `shared or to global`.
pub fn ambiguous(module: &Module) -> HashMap<u32, String> {
    let functions = module.functions().filter(|f| f.body.is_some());
    let mut search = Search {
        functions: functions.map(|f| (f.name.symbol, f)).collect(),
        known: HashMap::new(),
        open: HashSet::new(),
        found: HashMap::new(),
    };
    for function in module.functions().filter(|f| f.kind == FunctionKind::Entry) {
        search.function(function, vec![Targets::GLOBAL; function.params.len()]);
    }
    search.found
}

/// A function and what its arguments point to.
type Instance = (Symbol, Vec<Targets>);

struct Search<'m> {
    functions: HashMap<Symbol, &'m Function>,
    /// What the results of an instance point to.
    known: HashMap<Instance, Vec<Targets>>,
    /// Instances on the way: recursion, which is refused elsewhere, ends here.
    open: HashSet<Symbol>,
    found: HashMap<u32, String>,
}

/// What is known within an instance.
struct Scope<'m> {
    function: &'m Function,
    registers: HashMap<Symbol, Targets>,
    /// Of parameters: overwritten, as each call has its own under the same names.
    params: HashMap<Symbol, Targets>,
    grew: bool,
}

impl Scope<'_> {
    fn of(&self, operand: &Operand) -> Targets {
        let of = |name: &Symbol| self.registers.get(name).copied().unwrap_or_default();
        match &operand.kind {
            OperandKind::Name(name) | OperandKind::Offset { base: name, .. } => of(name),
            OperandKind::Address(address) => match &address.base {
                Base::Name(name) => of(name),
                Base::Absolute(_) => Targets::empty(),
            },
            OperandKind::Vector(list) | OperandKind::Bracket(list) | OperandKind::List(list) => {
                list.iter().fold(Targets::empty(), |all, one| all | self.of(one))
            }
            OperandKind::Pair(pair) => self.of(&pair.0) | self.of(&pair.1),
            OperandKind::Negate(inner) => self.of(inner),
            OperandKind::Element { .. }
            | OperandKind::Member { .. }
            | OperandKind::Not(_)
            | OperandKind::Immediate(_)
            | OperandKind::Sink => Targets::empty(),
        }
    }

    fn set(&mut self, operand: &Operand, targets: Targets) {
        match &operand.kind {
            OperandKind::Name(name) => {
                let known = self.registers.entry(*name).or_default();
                self.grew |= !known.contains(targets);
                *known |= targets;
            }
            OperandKind::Vector(list) => {
                for one in list {
                    self.set(one, targets);
                }
            }
            OperandKind::Pair(pair) => self.set(&pair.0, targets),
            // Nothing else is written.
            OperandKind::Address(_)
            | OperandKind::Bracket(_)
            | OperandKind::List(_)
            | OperandKind::Negate(_)
            | OperandKind::Offset { .. }
            | OperandKind::Element { .. }
            | OperandKind::Member { .. }
            | OperandKind::Not(_)
            | OperandKind::Immediate(_)
            | OperandKind::Sink => {}
        }
    }
}

/// The name that an address is relative to.
fn base_of(operand: &Operand) -> Option<Symbol> {
    match operand.kind {
        OperandKind::Name(name) => Some(name),
        OperandKind::Address(address) => match address.base {
            Base::Name(name) => Some(name),
            Base::Absolute(_) => None,
        },
        OperandKind::Member { .. }
        | OperandKind::Immediate(_)
        | OperandKind::Sink
        | OperandKind::Not(_)
        | OperandKind::Negate(_)
        | OperandKind::Vector(_)
        | OperandKind::Pair(_)
        | OperandKind::Offset { .. }
        | OperandKind::Element { .. }
        | OperandKind::Bracket(_)
        | OperandKind::List(_) => None,
    }
}

impl<'m> Search<'m> {
    fn function(&mut self, function: &'m Function, arguments: Vec<Targets>) -> Vec<Targets> {
        let instance = (function.name.symbol, arguments);
        if let Some(known) = self.known.get(&instance) {
            return known.clone();
        }
        let nothing = vec![Targets::empty(); function.returns.len()];
        if !self.open.insert(instance.0) {
            return nothing;
        }
        let params = function.params.iter().map(|p| p.name.symbol);
        let mut scope = Scope {
            function,
            registers: HashMap::new(),
            params: params.zip(instance.1.iter().copied()).collect(),
            grew: true,
        };
        let body = function.body.as_ref().map(|b| &b.statements[..]).unwrap_or_default();
        while std::mem::take(&mut scope.grew) {
            self.statements(&mut scope, body);
        }
        let result = |v: &crate::ast::Variable| {
            scope.params.get(&v.name.symbol).copied().unwrap_or_default()
        };
        let results: Vec<Targets> = function.returns.iter().map(result).collect();
        self.open.remove(&instance.0);
        self.known.insert(instance, results.clone());
        results
    }

    fn statements(&mut self, scope: &mut Scope<'m>, statements: &'m [Statement]) {
        for statement in statements {
            match statement {
                Statement::Block(block) => self.statements(scope, &block.statements),
                Statement::Instruction(inst) => self.instruction(scope, inst),
                Statement::Label(_)
                | Statement::Variable(_)
                | Statement::Pragma(_)
                | Statement::BranchTargets(_)
                | Statement::CallTargets(_)
                | Statement::CallPrototype(_)
                | Statement::Loc(_)
                | Statement::File(_)
                | Statement::Section(_)
                | Statement::Dwarf(_) => {}
            }
        }
    }

    fn instruction(&mut self, scope: &mut Scope<'m>, inst: &'m Instruction) {
        if inst.call().is_some() {
            return self.call(scope, inst);
        }
        let Some((to, from)) = inst.operands.split_first() else { return };
        let sources = from.iter().fold(Targets::empty(), |all, one| all | scope.of(one));
        let wide = inst.types().iter().any(|ty| ty.bits() == 64);
        let named = |space: &str| inst.has(space);
        let name = inst.opcode();
        let result = match name.split('.').next().unwrap_or(name) {
            "cvta" if named("to") => Targets::empty(),
            "cvta" if named("shared") => Targets::SHARED,
            "cvta" if named("local") => Targets::LOCAL,
            "cvta" if named("const") => Targets::CONST,
            "cvta" => Targets::GLOBAL,
            "st" if named("param") => {
                if let Some(param) = base_of(to) {
                    scope.params.insert(param, sources);
                }
                return;
            }
            "ld" if named("param") => {
                let param = from.first().and_then(base_of);
                param.and_then(|p| scope.params.get(&p)).copied().unwrap_or_default()
            }
            "ld" | "st" | "atom" | "red" => {
                self.access(scope, inst);
                if wide { Targets::GLOBAL } else { Targets::empty() }
            }
            "mov" | "selp" => sources,
            _ => from.iter().fold(Targets::empty(), |all, one| all.sum(scope.of(one))),
        };
        scope.set(to, result);
    }

    fn access(&mut self, scope: &Scope<'m>, inst: &Instruction) {
        const SPACES: [&str; 5] = ["global", "shared", "local", "const", "param"];
        if SPACES.iter().any(|space| inst.has(space)) {
            return;
        }
        let address = inst.operands.iter().find(|o| matches!(o.kind, OperandKind::Address(_)));
        let targets = address.map(|o| scope.of(o)).unwrap_or_default();
        if targets.iter().count() > 1 {
            self.found.insert(inst.opcode_span.start, targets.told());
        }
    }

    fn call(&mut self, scope: &mut Scope<'m>, inst: &'m Instruction) {
        let Some(call) = inst.call() else { return };
        let callee = match call.target.kind {
            OperandKind::Name(name) if name != scope.function.name.symbol => {
                self.functions.get(&name).copied()
            }
            _ => None,
        };
        let mut passed: Vec<Targets> = call
            .arguments
            .iter()
            .map(|a| {
                let param = base_of(a).and_then(|name| scope.params.get(&name)).copied();
                param.unwrap_or_else(|| scope.of(a))
            })
            .collect();
        let results = match callee {
            Some(callee) => {
                passed.resize(callee.params.len(), Targets::empty());
                self.function(callee, passed)
            }
            None => Vec::new(),
        };
        let results = results.into_iter().chain(std::iter::repeat(Targets::empty()));
        for (operand, targets) in call.returns.iter().zip(results) {
            if let Some(name) = base_of(operand) {
                scope.params.insert(name, targets);
            }
            scope.set(operand, targets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(body: &str) -> Vec<String> {
        let text = format!(
            ".version 8.3\n.target sm_13\n.address_size 64\n.func (.param .b32 v) f(.param .b64 q) {{\n\
             .reg .b64 a; .reg .b32 r; ld.param.u64 a, [q]; ld.u32 r, [a+4]; st.param.b32 [v], r; ret; }}\n\
             .entry k(.param .u64 p, .param .u64 n) {{ .reg .b64 d, e, g, i; .reg .b32 r; .reg .pred c;\n\
             .shared .b32 s[4]; .local .b32 l[4];\n\
             mov.u64 d, s; cvta.shared.u64 e, d; ld.param.u64 g, [p]; ld.param.u64 i, [n];\n{body}\nret; }}"
        );
        let module = crate::parse(&text).unwrap_or_else(|e| panic!("{e:?}"));
        let mut found: Vec<_> = ambiguous(&module).into_iter().collect();
        found.sort();
        found.into_iter().map(|(_, spaces)| spaces).collect()
    }

    fn called(with: &str) -> String {
        format!(
            "{{ .param .b64 a0; st.param.b64 [a0], {with}; .param .b32 v0;\n\
             call.uni (v0), f, (a0); ld.param.b32 r, [v0]; }}\n"
        )
    }

    #[test]
    fn a_choice_between_two_spaces() {
        assert_eq!(told("selp.b64 d, e, g, c; ld.u32 r, [d];"), ["shared or to global"]);
        assert_eq!(told("selp.b64 d, e, g, c; add.s64 d, d, i; ld.u32 r, [d];").len(), 1);
        assert_eq!(told("add.s64 d, e, 4; @c mov.u64 d, g; st.u32 [d], r;").len(), 1);
        assert_eq!(told("cvta.local.u64 d, l; selp.b64 d, d, e, c; ld.u32 r, [d];").len(), 1);
    }

    #[test]
    fn one_space_by_every_way() {
        for body in [
            "ld.u32 r, [e];",
            "ld.u32 r, [g];",
            // An index from memory or a parameter is no pointer.
            "ld.global.u64 i, [g]; add.s64 d, e, i; ld.u32 r, [d];",
            "shl.b64 i, i, 2; add.s64 d, i, e; ld.u32 r, [d];",
            "selp.b64 d, e, 0, c; ld.u32 r, [d];",
        ] {
            assert!(told(body).is_empty(), "{body}");
        }
    }

    #[test]
    fn calls_are_followed_each_by_itself() {
        assert!(told(&(called("e") + &called("g"))).is_empty());
        assert_eq!(
            told(&format!("selp.b64 d, e, g, c;\n{}", called("d"))),
            ["shared or to global"]
        );
    }
}
