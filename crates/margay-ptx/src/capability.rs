// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a module uses that its `.target` does not have.
//!
//! Invariant: a module that an assembler takes is empty here. Code that `margay cc` compiled for a target
//! before sm_20 says so with [`EXPANDED`]: no compiler of today knows those, so clang's instructions for
//! sm_20 stand for the sequences that nvcc wrote in their place (`popc`, exact division, generic
//! addresses that it resolved). Of them only what no sequence replaces is looked at, and all of what
//! the program wrote itself as inline assembly.

use std::collections::HashMap;
use std::ops::Range;

use crate::ast::{
    Base, Function, Instruction, Item, Module, Operand, OperandKind, Span, Statement, Symbol,
};
use crate::isa::since::{Since, of_special_register};
use crate::pointers;

/// The pragma of modules whose instructions were written for a later target than they name.
pub const EXPANDED: &str = "margay expanded";

/// A line of the source that the PTX comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: String,
    /// From 1.
    pub line: u32,
    pub column: u32,
}

/// Something that the target does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// As it is written: `atom.global.add.f64`, `%clock64`, `a call of vprintf`.
    pub what: String,
    /// The first target that has it; of what later ones lost, `None`.
    pub since: Option<Since>,
    /// In the PTX text.
    pub span: Span,
    /// The source line in force, then the last one of each other file in the same function, newest first:
    /// of code inlined from a header, the header's line and then the program's.
    pub trail: Vec<Place>,
}

impl Lacking {
    /// In a sentence, for a target as in `sm_50`.
    pub fn message(&self, target: u16) -> String {
        let here = dotted(target);
        match self.since {
            Some(since) if since.suffix.is_some() => {
                format!("{} needs the target {since}; this is sm_{target}", self.what)
            }
            Some(since) => format!(
                "{} needs compute capability {} ({since}); this is {here} (sm_{target})",
                self.what,
                dotted(since.sm)
            ),
            None => format!(
                "{} without .sync is not in compute capability {here} (sm_{target}): from 7.0 on, PTX 6.4 and \
                 later have the form with .sync only",
                self.what
            ),
        }
    }
}

fn dotted(sm: u16) -> String {
    format!("{}.{}", sm / 10, sm % 10)
}

/// What the target lacks, in the order of the text, which is that of the module (for the marks that clang
/// leaves round inline assembly).
pub fn lacking(module: &Module, text: &[u8]) -> Vec<Lacking> {
    let Some(target) = Target::of(module) else { return Vec::new() };
    let mut walk = Walk {
        module,
        target,
        written: if target.expanded { inline_assembly(text) } else { Vec::new() },
        ambiguous: match target.expanded {
            true if target.sm < 20 => pointers::ambiguous(module),
            _ => HashMap::new(),
        },
        files: HashMap::new(),
        registers: HashMap::new(),
        here: Vec::new(),
        calls: Vec::new(),
        found: Vec::new(),
    };
    for item in &module.items {
        if let Item::File(file) = item {
            walk.files.insert(file.index, &file.name);
        }
    }
    for function in module.functions() {
        walk.here.clear();
        if let Some(body) = &function.body {
            walk.statements(function, &body.statements);
        }
    }
    walk.recursion();
    walk.found.sort_by_key(|l| l.span);
    walk.found
}

/// What `.target` says.
#[derive(Clone, Copy)]
struct Target {
    sm: u16,
    suffix: Option<char>,
    /// `map_f64_to_f32`: instructions on doubles are those on singles.
    demotes: bool,
    expanded: bool,
    /// `.version` is at least 6.4, which took the votes and shuffles without `.sync` away.
    strict_votes: bool,
}

impl Target {
    /// Of several, the newest: a later `.target` widens what may be used.
    fn of(module: &Module) -> Option<Target> {
        let later = module.items.iter().filter_map(|item| match item {
            Item::Target(target) => Some(target),
            _ => None,
        });
        let mut best: Option<(u16, Option<char>)> = None;
        let mut demotes = false;
        for option in std::iter::once(&module.target).chain(later).flat_map(|t| &t.options) {
            let text = module.name(option.symbol);
            demotes |= text == "map_f64_to_f32";
            let Some(rest) = text.strip_prefix("sm_").or(text.strip_prefix("compute_")) else {
                continue;
            };
            let suffix = rest.chars().last().filter(char::is_ascii_alphabetic);
            let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
            best = best.max(digits.parse().ok().map(|sm| (sm, suffix)));
        }
        let expanded = module.items.iter().any(|item| match item {
            Item::Pragma(pragma) => pragma.strings.iter().any(|s| s == EXPANDED),
            _ => false,
        });
        let version = (module.version.major, module.version.minor);
        let (sm, suffix) = best?;
        Some(Target { sm, suffix, demotes, expanded, strict_votes: version >= (6, 4) })
    }

    fn has(&self, since: Since) -> bool {
        // Which of the later targets have a feature of an `a` or `f` is for each to say.
        self.sm >= since.sm && (since.suffix.is_none() || self.suffix.is_some())
    }
}

struct Walk<'m> {
    module: &'m Module,
    target: Target,
    /// Where inline assembly stands in the text.
    written: Vec<Range<usize>>,
    /// Accesses by pointers that nvcc could not have resolved.
    ambiguous: HashMap<u32, String>,
    files: HashMap<u32, &'m str>,
    /// What is known of a name as a special register.
    registers: HashMap<Symbol, Option<u16>>,
    /// The last line of each file in this function, newest last.
    here: Vec<(u32, u32, u32)>,
    /// Caller, callee, and the call.
    calls: Vec<(Symbol, Symbol, Span, Vec<Place>)>,
    found: Vec<Lacking>,
}

impl<'m> Walk<'m> {
    fn statements(&mut self, function: &'m Function, statements: &'m [Statement]) {
        for statement in statements {
            match statement {
                Statement::Block(block) => self.statements(function, &block.statements),
                Statement::File(file) => {
                    self.files.insert(file.index, &file.name);
                }
                Statement::Loc(loc) => {
                    self.here.retain(|(file, ..)| *file != loc.file);
                    if let Some(at) = &loc.inlined {
                        self.here.retain(|(file, ..)| *file != at.file);
                        self.here.push((at.file, at.line, at.column));
                    }
                    // Line 0 is of code that no line stands for.
                    if loc.line != 0 {
                        self.here.push((loc.file, loc.line, loc.column));
                    }
                }
                Statement::Instruction(inst) => self.instruction(function, inst),
                Statement::Label(_)
                | Statement::Variable(_)
                | Statement::Pragma(_)
                | Statement::BranchTargets(_)
                | Statement::CallTargets(_)
                | Statement::CallPrototype(_)
                | Statement::Section(_)
                | Statement::Dwarf(_) => {}
            }
        }
    }

    fn trail(&self) -> Vec<Place> {
        let place = |&(file, line, column): &(u32, u32, u32)| {
            let file = (*self.files.get(&file)?).to_owned();
            Some(Place { file, line, column })
        };
        self.here.iter().rev().filter_map(place).collect()
    }

    fn lacks(&mut self, what: String, since: Option<Since>, span: Span) {
        let trail = self.trail();
        self.found.push(Lacking { what, since, span, trail });
    }

    fn instruction(&mut self, function: &Function, inst: &Instruction) {
        let target = self.target;
        let start = inst.opcode_span.start as usize;
        let own = !target.expanded || self.written.iter().any(|range| range.contains(&start));
        let mut since = inst.since();
        if !own {
            since.sm = replaced(inst, since.sm);
        } else if since.sm == 13 && target.demotes {
            since.sm = 10;
        }
        if !target.has(since) {
            let what = match inst.opcode() {
                "call" => "an indirect call (of a virtual function, or by a pointer)".to_owned(),
                _ => format!("`{}`", written(inst)),
            };
            self.lacks(what, Some(since), inst.opcode_span);
            return;
        }
        if let Some(spaces) = self.ambiguous.get(&inst.opcode_span.start) {
            let what = format!("`{}` by a pointer that may be to {spaces} memory", written(inst));
            self.lacks(what, Some(Since { sm: 20, suffix: None }), inst.opcode_span);
        }
        if target.strict_votes && target.sm >= 70 && matches!(inst.opcode(), "shfl" | "vote") {
            self.lacks(format!("`{}`", written(inst)), None, inst.opcode_span);
        }
        for operand in &inst.operands {
            self.operand(operand);
        }
        if target.sm < 20
            && let Some(call) = inst.call()
            && let OperandKind::Name(callee) = call.target.kind
        {
            let name = self.module.name(callee);
            if matches!(name, "vprintf" | "malloc" | "free" | "__assertfail") {
                let since = Since { sm: 20, suffix: None };
                self.lacks(format!("a call of {name}()"), Some(since), inst.opcode_span);
            }
            let trail = self.trail();
            self.calls.push((function.name.symbol, callee, inst.opcode_span, trail));
        }
    }

    fn operand(&mut self, operand: &Operand) {
        match &operand.kind {
            OperandKind::Name(name) | OperandKind::Not(name) => self.register(*name, operand.span),
            OperandKind::Member { base, .. }
            | OperandKind::Offset { base, .. }
            | OperandKind::Element { base, .. } => self.register(*base, operand.span),
            OperandKind::Address(address) => {
                if let Base::Name(name) = address.base {
                    self.register(name, operand.span);
                }
            }
            OperandKind::Negate(inner) => self.operand(inner),
            OperandKind::Vector(list) | OperandKind::Bracket(list) | OperandKind::List(list) => {
                for one in list {
                    self.operand(one);
                }
            }
            OperandKind::Pair(pair) => {
                self.operand(&pair.0);
                self.operand(&pair.1);
            }
            OperandKind::Immediate(_) | OperandKind::Sink => {}
        }
    }

    fn register(&mut self, name: Symbol, span: Span) {
        let module = self.module;
        let since =
            *self.registers.entry(name).or_insert_with(|| of_special_register(module.name(name)));
        if let Some(sm) = since.filter(|sm| *sm > self.target.sm) {
            let what = format!("`{}`", module.name(name));
            self.lacks(what, Some(Since { sm, suffix: None }), span);
        }
    }

    /// Calls that close a cycle, which needs a stack: from sm_20 on.
    fn recursion(&mut self) {
        let calls = std::mem::take(&mut self.calls);
        let reaches = |from: Symbol, to: Symbol| {
            let (mut seen, mut next) = (vec![from], vec![from]);
            while let Some(at) = next.pop() {
                if at == to {
                    return true;
                }
                for (_, callee, ..) in calls.iter().filter(|(caller, ..)| *caller == at) {
                    if !seen.contains(callee) {
                        seen.push(*callee);
                        next.push(*callee);
                    }
                }
            }
            false
        };
        for (caller, callee, span, trail) in &calls {
            if reaches(*callee, *caller) {
                self.found.push(Lacking {
                    what: format!("the recursive call of {}()", self.module.name(*callee)),
                    since: Some(Since { sm: 20, suffix: None }),
                    span: *span,
                    trail: trail.clone(),
                });
            }
        }
    }
}

/// Since when there is what an instruction of expanded code stands for.
fn replaced(inst: &Instruction, since: u16) -> u16 {
    let name = inst.opcode();
    match name.split('.').next().unwrap_or(name) {
        // nvcc found out the space of an address, or took it for global memory.
        "atom" | "red" if since == 20 && !inst.has("f32") && !inst.has("shared") => {
            if inst.types().iter().any(|ty| ty.bits() == 64) { 12 } else { 11 }
        }
        "atom" | "red" | "bar" | "barrier" | "membar" | "fence" | "vote" | "match" | "shfl"
        | "activemask" | "redux" | "elect" | "call" | "tex" | "tld4" | "txq" | "suld" | "sust"
        | "sured" | "suq" | "nanosleep" | "pmevent" | "cp" | "mbarrier" | "mma" | "wmma"
        | "wgmma" | "ldmatrix" | "stmatrix" | "brx" | "alloca" | "stacksave" | "stackrestore"
        | "prefetch" | "prefetchu" | "ldu" | "discard" | "griddepcontrol" | "setmaxnreg" => since,
        // Arithmetic, loads and stores.
        _ => 10,
    }
}

/// The opcode with its modifiers.
fn written(inst: &Instruction) -> String {
    let mut text = inst.opcode().to_string();
    for modifier in &inst.modifiers {
        text.push('.');
        text.push_str(modifier.name);
    }
    text
}

/// Where clang's marks say that inline assembly stands.
fn inline_assembly(text: &[u8]) -> Vec<Range<usize>> {
    const BEGIN: &[u8] = b"// begin inline asm";
    const END: &[u8] = b"// end inline asm";
    let mut found = Vec::new();
    let mut open = None;
    let mut at = 0;
    for line in text.split_inclusive(|b| *b == b'\n') {
        let body = line.trim_ascii();
        if body == BEGIN {
            open = Some(at);
        } else if body == END
            && let Some(start) = open.take()
        {
            found.push(start..at);
        }
        at += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(target: &str, body: &str) -> Vec<String> {
        let text = format!(
            ".version 8.3\n.target {target}\n.address_size 64\n{body}\n.file 1 \"x.cu\"\n.file 2 \"h.h\"\n"
        );
        let module = crate::parse(&text).unwrap_or_else(|e| panic!("{e:?}"));
        let target = Target::of(&module).unwrap().sm;
        let line = |l: &Lacking| {
            let trail: Vec<String> =
                l.trail.iter().map(|p| format!(" {}:{}", p.file, p.line)).collect();
            format!("{}{}", l.message(target), trail.concat())
        };
        lacking(&module, text.as_bytes()).iter().map(line).collect()
    }

    #[test]
    fn an_instruction_of_a_later_target_names_both() {
        let body = ".entry k() { .reg .b64 d; .reg .f64 f;\n.loc 1 7 3\nmov.u64 d, 0;\n.loc 2 9 1\n\
                    atom.global.add.f64 f, [d], f;\nret; }";
        assert_eq!(
            of("sm_50", body),
            [
                "`atom.global.add.f64` needs compute capability 6.0 (sm_60); this is 5.0 (sm_50) h.h:9 x.cu:7"
            ]
        );
        assert_eq!(of("sm_60", body).len(), 0);
    }

    #[test]
    fn forms_of_one_architecture_need_its_suffix() {
        let body = ".entry k() { setmaxnreg.inc.sync.aligned.u32 40; ret; }";
        assert_eq!(
            of("sm_90", body),
            ["`setmaxnreg.inc.sync.aligned.u32` needs the target sm_90a; this is sm_90"]
        );
        assert_eq!(of("sm_90a", body).len(), 0);
    }

    #[test]
    fn votes_without_sync_left_with_7_0() {
        let body = ".entry k() { .reg .pred p; vote.all.pred p, p; ret; }";
        assert_eq!(of("sm_60", body).len(), 0);
        assert!(of("sm_70", body)[0].starts_with("`vote.all.pred` without .sync"));
    }

    #[test]
    fn special_registers_and_doubles() {
        let body = ".entry k() { .reg .b64 d; .reg .f64 f; mov.u64 d, %clock64; add.f64 f, f, f; }";
        assert_eq!(of("sm_12", body).len(), 2);
        assert_eq!(of("sm_12, map_f64_to_f32", body).len(), 1);
        assert_eq!(of("sm_13", body).len(), 1);
        assert_eq!(of("sm_20", body).len(), 0);
    }

    #[test]
    fn of_expanded_code_only_what_nothing_replaces() {
        let body = |inst: &str| {
            format!(
                ".pragma \"margay expanded\";\n.func f() {{ ret; }}\n.entry k() {{ .reg .b32 r; .reg .b64 d;\n\
                 .reg .pred p; .reg .f32 x;\n{inst}\nret; }}"
            )
        };
        for (inst, target, count) in [
            ("popc.b32 r, r;", "sm_13", 0),
            ("// begin inline asm\npopc.b32 r, r;\n// end inline asm", "sm_13", 1),
            ("atom.add.u32 r, [d], r;", "sm_11", 0),
            ("atom.add.u32 r, [d], r;", "sm_10", 1),
            ("atom.add.u64 d, [d], d;", "sm_11", 1),
            ("atom.global.add.f32 x, [d], x;", "sm_13", 1),
            ("ld.u32 r, [d];", "sm_10", 0),
            ("vote.all.pred p, p;", "sm_11", 1),
            ("vote.all.pred p, p;", "sm_12", 0),
            ("bar.red.popc.u32 r, 0, p;", "sm_13", 1),
            ("bar.sync 0;", "sm_10", 0),
            ("call f;", "sm_10", 0),
        ] {
            assert_eq!(of(target, &body(inst)).len(), count, "{inst} on {target}");
        }
    }

    #[test]
    fn indirect_calls_before_2_0() {
        let body = ".entry k() { .reg .b64 d; p: .callprototype _ (); call d, (), p; ret; }";
        assert!(of("sm_13", body)[0].starts_with("an indirect call"), "{:?}", of("sm_13", body));
        assert_eq!(of("sm_20", body).len(), 0);
    }

    #[test]
    fn recursion_before_2_0() {
        let body = ".func f();\n.func g() { call f; ret; }\n.func f() { call g; ret; }\n\
                    .entry k() { call f; ret; }";
        let found = of("sm_13", body);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("the recursive call of f() needs compute capability 2.0"));
        assert_eq!(of("sm_20", body).len(), 0);
    }
}
