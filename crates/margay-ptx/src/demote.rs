// SPDX-License-Identifier: MIT OR Apache-2.0
//! `.target sm_XX, map_f64_to_f32`: instructions on doubles become those on singles (PTX ISA, ".target").
//!
//! Doubles keep 64 bits in memory, "with only half being used"; which half the manual does not say: here it is
//! the lower one. So what the host wrote as doubles is not what the device reads, as it was on such devices.
//! The text is rewritten line by line, so that its lines keep their numbers. Functions of the device library
//! compute in double precision all the same: their arguments and results are converted.
//!
//! Limit: doubles that clang packs into bytes (initial values of arrays) keep their bits.

use std::collections::{BTreeMap, HashSet};

use crate::ast::{
    Block, Function, Immediate, Init, InitKind, Instruction, Item, Module, Operand, OperandKind,
    ScalarType, Span, StateSpace, Statement, Symbol, Variable,
};

/// The text with its doubles demoted; `None` if the target does not ask for it.
pub fn demoted(module: &Module, text: &str) -> Option<String> {
    let options: Vec<&str> = module.target.options.iter().map(|o| module.name(o.symbol)).collect();
    if !options.contains(&"map_f64_to_f32") {
        return None;
    }
    let number = options.iter().find_map(|o| o.strip_prefix("sm_"))?;
    let old = number.trim_end_matches(char::is_alphabetic).parse().is_ok_and(|n: u32| n < 20);
    let mut edits =
        Edits { module, text, old, list: BTreeMap::new(), doubles: HashSet::new(), ranges: vec![] };
    for item in &module.items {
        match item {
            Item::Variable(var) => edits.initial(var),
            Item::Function(function) => edits.function(function),
            Item::File(_)
            | Item::Section(_)
            | Item::Alias(_)
            | Item::Pragma(_)
            | Item::Target(_)
            | Item::Version(_)
            | Item::AddressSize(_)
            | Item::Dwarf(_) => {}
        }
    }
    Some(edits.applied())
}

struct Edits<'m> {
    module: &'m Module,
    text: &'m str,
    /// The target is before sm_20, which has no exact division, roots or fused multiplication of singles.
    old: bool,
    /// By start: the end, and what replaces it.
    list: BTreeMap<usize, (usize, String)>,
    /// The registers of the function at hand that are declared as doubles.
    doubles: HashSet<Symbol>,
    /// Prefixes of `%fd<N>`.
    ranges: Vec<&'m str>,
}

impl<'m> Edits<'m> {
    fn applied(&self) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut at = 0;
        for (start, (end, new)) in &self.list {
            if *start < at {
                continue;
            }
            out.push_str(&self.text[at..*start]);
            out.push_str(new);
            at = *end;
        }
        out + &self.text[at..]
    }

    fn replace(&mut self, span: Span, new: String) {
        self.list.insert(span.start as usize, (span.end as usize, new));
    }

    fn written(&self, span: Span) -> &'m str {
        span.text(self.text)
    }

    fn function(&mut self, function: &'m Function) {
        self.doubles.clear();
        self.ranges.clear();
        for var in function.params.iter().chain(&function.returns) {
            self.register(var);
        }
        if let Some(body) = &function.body {
            self.block(body);
        }
    }

    fn block(&mut self, block: &'m Block) {
        let library = block.statements.iter().any(|s| match s {
            Statement::Instruction(inst) => {
                inst.call().is_some_and(|call| match call.target.kind {
                    OperandKind::Name(name) => self.module.name(name).starts_with("__nv_"),
                    _ => false,
                })
            }
            _ => false,
        });
        for statement in &block.statements {
            match statement {
                Statement::Variable(var) => {
                    self.register(var);
                    self.initial(var);
                }
                Statement::Instruction(inst) => self.instruction(inst, library),
                Statement::Block(inner) => self.block(inner),
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

    fn register(&mut self, var: &'m Variable) {
        if var.space != StateSpace::Reg || var.ty != ScalarType::F64 {
            return;
        }
        match var.range {
            Some(_) => self.ranges.push(self.module.name(var.name.symbol)),
            None => {
                self.doubles.insert(var.name.symbol);
            }
        }
        let name = var.name.span.start as usize;
        if let Some(at) = self.text[..name].rfind(".f64") {
            self.list.insert(at, (at + 4, ".f32".into()));
        }
    }

    fn initial(&mut self, var: &Variable) {
        if let Some(init) = var.init.as_ref().filter(|_| var.ty == ScalarType::F64) {
            self.value(init);
        }
    }

    fn value(&mut self, init: &Init) {
        match &init.kind {
            InitKind::List(list) => list.iter().for_each(|one| self.value(one)),
            InitKind::Immediate(Immediate::F64(bits)) => {
                let half = (f64::from_bits(*bits) as f32).to_bits();
                self.replace(init.span, format!("0d00000000{half:08X}"));
            }
            InitKind::Immediate(_)
            | InitKind::Address { .. }
            | InitKind::Mask { .. }
            | InitKind::Field { .. } => {}
        }
    }

    fn is_double(&self, operand: &Operand) -> bool {
        let OperandKind::Name(symbol) = operand.kind else { return false };
        let name = self.module.name(symbol);
        self.doubles.contains(&symbol)
            || self.ranges.iter().any(|prefix| {
                name.strip_prefix(prefix)
                    .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
            })
    }

    fn instruction(&mut self, inst: &Instruction, library: bool) {
        let types = inst.types();
        if !types.contains(&ScalarType::F64) {
            if inst.opcode() == "mov" && types.iter().any(|ty| ty.bits() == 64) {
                self.bits(inst);
            }
            return;
        }
        let opcode = self.written(inst.opcode_span);
        let single = opcode.replace(".f64", ".f32");
        let access = matches!(inst.opcode(), "ld" | "st" | "ldu");
        if access && library && inst.modifiers.iter().any(|m| m.name.starts_with("param")) {
            return self.argument(inst);
        }
        if access && inst.has("v2") {
            let at = usize::from(inst.opcode() == "st");
            if let Some(Operand { kind: OperandKind::Vector(list), span }) = inst.operands.get(at) {
                let gap = if at == 1 { "0f00000000" } else { "_" };
                let one = |o: &Operand| match o.kind {
                    OperandKind::Immediate(Immediate::F64(bits)) => single_of(bits),
                    _ => self.written(o.span).to_owned(),
                };
                let parts: Vec<String> =
                    list.iter().map(|o| format!("{}, {gap}", one(o))).collect();
                self.replace(*span, format!("{{{}}}", parts.join(", ")));
                self.replace(inst.opcode_span, single.replace(".v2", ".v4"));
                return;
            }
        }
        let whole = types.iter().all(|ty| matches!(ty, ScalarType::F64 | ScalarType::F32));
        let integral = ["rni", "rzi", "rmi", "rpi"].iter().any(|r| inst.has(r));
        let new = match inst.opcode() {
            "cvt" if whole && !integral && inst.has("sat") => "cvt.sat.f32.f32".into(),
            "cvt" if whole && !integral => "mov.f32".into(),
            "div" if self.old => "div.full.f32".into(),
            "rcp" if self.old => "rcp.approx.f32".into(),
            "sqrt" if self.old => "sqrt.approx.f32".into(),
            "fma" | "mad" if self.old => "mad.f32".into(),
            _ => single,
        };
        self.replace(inst.opcode_span, new);
        for operand in &inst.operands {
            self.immediates(operand);
        }
    }

    fn immediates(&mut self, operand: &Operand) {
        match &operand.kind {
            OperandKind::Immediate(Immediate::F64(bits)) => {
                self.replace(operand.span, single_of(*bits));
            }
            OperandKind::Vector(list) => list.iter().for_each(|one| self.immediates(one)),
            _ => {}
        }
    }

    /// An argument or a result of a function of the device library.
    fn argument(&mut self, inst: &Instruction) {
        let store = inst.opcode() == "st";
        let Some(value) = inst.operands.get(usize::from(store)) else { return };
        if !self.is_double(value) {
            return;
        }
        let (wide, name) = ("%margay_double", self.written(value.span));
        let whole = self.written(inst.span).trim_end().trim_end_matches(';');
        let at = (value.span.start - inst.span.start) as usize;
        let access = format!("{}{wide}{};", &whole[..at], &whole[at + name.len()..]);
        let new = match store {
            true => format!("cvt.f64.f32 {wide}, {name}; {access}"),
            false => format!("{access} cvt.rn.f32.f64 {name}, {wide};"),
        };
        self.replace(inst.span, format!("{{ .reg .f64 {wide}; {new} }}"));
    }

    /// A move of 64 bits to or from a register that has 32 of them now.
    fn bits(&mut self, inst: &Instruction) {
        let [to, from] = &inst.operands[..] else { return };
        let (wide_to, wide_from) = (self.is_double(to), self.is_double(from));
        if !wide_to && !wide_from {
            return;
        }
        let name = |o: &Operand| self.written(o.span).to_owned();
        let moves = match (&to.kind, &from.kind) {
            _ if wide_to && wide_from => format!("mov.b32 {}, {};", name(to), name(from)),
            (OperandKind::Vector(parts), _) => {
                let part = |(i, part): (usize, &Operand)| match (i, &part.kind) {
                    (_, OperandKind::Sink) => String::new(),
                    (0, _) => format!("mov.b32 {}, {};", name(part), name(from)),
                    _ => format!("mov.b32 {}, 0;", name(part)),
                };
                parts.iter().enumerate().map(part).collect()
            }
            (_, OperandKind::Vector(parts)) => match parts.first() {
                Some(low) => format!("mov.b32 {}, {};", name(to), name(low)),
                None => return,
            },
            (_, OperandKind::Immediate(Immediate::F64(bits))) => {
                format!("mov.f32 {}, {};", name(to), single_of(*bits))
            }
            _ if wide_to => format!("mov.b64 {{{}, _}}, {};", name(to), name(from)),
            // The upper half means nothing.
            _ => format!("mov.b64 {}, {{{1}, {1}}};", name(to), name(from)),
        };
        if inst.guard.is_none() {
            self.replace(inst.span, moves);
        }
    }
}

fn single_of(bits: u64) -> String {
    format!("0f{:08X}", (f64::from_bits(bits) as f32).to_bits())
}

#[cfg(test)]
mod tests {
    fn of(body: &str) -> String {
        let head = ".version 1.4\n.target sm_10, map_f64_to_f32\n.address_size 64\n";
        let text = format!(
            "{head}.entry k(.param .f64 x) {{ .reg .f64 %fd<4>; .reg .f32 f; .reg .b64 d; {body} }}\n"
        );
        let module = crate::parse(&text).unwrap_or_else(|e| panic!("{body}: {e:?}"));
        let new = super::demoted(&module, &text).unwrap();
        crate::parse(&new).unwrap_or_else(|e| panic!("{new}: {e:?}"));
        let start = new.find(".reg .b64 d; ").unwrap() + 13;
        assert!(new.contains(".param .f64 x) { .reg .f32 %fd<4>;"), "{new}");
        new[start..new.len() - 3].to_owned()
    }

    #[test]
    fn instructions() {
        for (double, single) in [
            ("add.f64 %fd1, %fd2, %fd3;", "add.f32 %fd1, %fd2, %fd3;"),
            ("mul.f64 %fd1, %fd1, 0d4000000000000000;", "mul.f32 %fd1, %fd1, 0f40000000;"),
            ("div.rn.f64 %fd1, %fd2, %fd3;", "div.full.f32 %fd1, %fd2, %fd3;"),
            ("fma.rn.f64 %fd1, %fd2, %fd3, %fd1;", "mad.f32 %fd1, %fd2, %fd3, %fd1;"),
            ("cvt.f64.f32 %fd1, f;", "mov.f32 %fd1, f;"),
            ("cvt.rn.f32.f64 f, %fd1;", "mov.f32 f, %fd1;"),
            ("cvt.rzi.s32.f64 f, %fd1;", "cvt.rzi.s32.f32 f, %fd1;"),
            ("ld.param.f64 %fd1, [x];", "ld.param.f32 %fd1, [x];"),
            ("ld.global.v2.f64 {%fd1, %fd2}, [d];", "ld.global.v4.f32 {%fd1, _, %fd2, _}, [d];"),
            (
                "st.global.v2.f64 [d], {%fd1, %fd2};",
                "st.global.v4.f32 [d], {%fd1, 0f00000000, %fd2, 0f00000000};",
            ),
            ("mov.b64 d, %fd1;", "mov.b64 d, {%fd1, %fd1};"),
            ("mov.f64 %fd1, 0d3FF0000000000000;", "mov.f32 %fd1, 0f3F800000;"),
            ("add.f32 f, f, f;", "add.f32 f, f, f;"),
        ] {
            assert_eq!(of(double), single);
        }
    }

    #[test]
    fn library_functions_get_doubles() {
        let call = "{ .param .b64 a; st.param.f64 [a+0], %fd1; .param .b64 r; \
                    call.uni (r), __nv_sqrt, (a); ld.param.f64 %fd2, [r+0]; }";
        assert_eq!(
            of(call),
            "{ .param .b64 a; { .reg .f64 %margay_double; cvt.f64.f32 %margay_double, %fd1; \
             st.param.f64 [a+0], %margay_double; } .param .b64 r; call.uni (r), __nv_sqrt, (a); \
             { .reg .f64 %margay_double; ld.param.f64 %margay_double, [r+0]; cvt.rn.f32.f64 %fd2, %margay_double; } }"
        );
    }

    #[test]
    fn only_where_the_target_asks() {
        let text = ".version 1.4\n.target sm_10\n.entry k() { .reg .f64 x; add.f64 x, x, x; }\n";
        assert_eq!(super::demoted(&crate::parse(text).unwrap(), text), None);
        let text = ".version 1.4\n.target sm_10, map_f64_to_f32\n.global .f64 g[2] = {0d3FF0000000000000, 2.0};\n";
        let new = super::demoted(&crate::parse(text).unwrap(), text).unwrap();
        assert!(new.contains("{0d000000003F800000, 0d0000000040000000}"), "{new}");
    }
}
