// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random lane-wise instructions, from the table of PTX's forms itself: whatever margay parses and
//! lowers takes part without anybody having to list it here.
//!
//! Which register class an operand takes is found by trying: an instruction that compiles alone is
//! well-formed.

use std::collections::HashMap;

use margay_ptx::isa::{self, Form, Shape};

use super::random::Random;
use crate::compile::compile;

/// A register class by its letter in the kernels made here: `p`, `h` (16 bits), `r` (32), `d` (64).
pub type Class = char;

/// An operand of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    Def(Class),
    /// `p|q`, both written.
    DefPair(Class),
    /// A result of which a part is written: `d.b0`.
    DefPart(&'static str),
    Use(Class),
    /// Perhaps negated, perhaps of a part: `-a.h1`.
    UsePart(bool, &'static str),
    /// `{!}p`
    UsePredicate(bool),
    /// A constant below the number.
    Constant(u32),
}

/// An instruction without its registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    pub opcode: String,
    pub operands: Vec<Operand>,
}

/// Names of the table under which lane-wise instructions stand.
const NAMES: &[&str] = &[
    "add",
    "sub",
    "mul",
    "mad",
    "mul24",
    "mad24",
    "sad",
    "div",
    "rem",
    "abs",
    "neg",
    "min",
    "max",
    "popc",
    "clz",
    "bfind",
    "fns",
    "brev",
    "bfe",
    "bfi",
    "szext",
    "bmsk",
    "dp4a",
    "dp2a",
    "add.cc",
    "addc",
    "sub.cc",
    "subc",
    "madc",
    "testp",
    "copysign",
    "fma",
    "rcp",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "lg2",
    "ex2",
    "tanh",
    "set",
    "setp",
    "selp",
    "slct",
    "and",
    "or",
    "xor",
    "not",
    "cnot",
    "lop3",
    "shf",
    "shl",
    "shr",
    "prmt",
    "cvt",
    "cvt.pack",
    "vadd",
    "vsub",
    "vabsdiff",
    "vmin",
    "vmax",
    "vshl",
    "vshr",
    "vmad",
    "vset",
    "vadd2",
    "vsub2",
    "vavrg2",
    "vabsdiff2",
    "vmin2",
    "vmax2",
    "vset2",
    "vadd4",
    "vsub4",
    "vavrg4",
    "vabsdiff4",
    "vmin4",
    "vmax4",
    "vset4",
];

/// Names that stand in every program and deserve more than their share.
const OFTEN: &[&str] = &[
    "add", "sub", "mul", "mad", "and", "or", "xor", "shl", "shr", "setp", "selp", "cvt", "fma",
    "min", "max", "neg", "abs", "div", "rem", "shf", "prmt", "bfe", "lop3",
];

/// Makes templates; remembers what was tried.
pub struct Palette {
    forms: HashMap<&'static str, Vec<&'static Form>>,
    known: HashMap<String, Option<Template>>,
}

const PARTS: &[&str] = &[".b0", ".b1", ".b2", ".b3", ".h0", ".h1"];

impl Default for Palette {
    fn default() -> Palette {
        let mut forms: HashMap<&'static str, Vec<&'static Form>> = HashMap::new();
        for form in &isa::table().forms {
            if NAMES.contains(&form.name) {
                forms.entry(form.name).or_default().push(form);
            }
        }
        Palette { forms, known: HashMap::new() }
    }
}

impl Palette {
    /// A random instruction that compiles.
    pub fn template(&mut self, random: &mut Random) -> Template {
        loop {
            let names = if random.chance(55) { OFTEN } else { NAMES };
            let name = *random.pick(names);
            let Some(forms) = self.forms.get(name) else { continue };
            let form = *random.pick(forms);
            if let Some(template) = self.instance(form, random) {
                return template;
            }
        }
    }

    fn instance(&mut self, form: &'static Form, random: &mut Random) -> Option<Template> {
        let mut opcode = form.name.to_owned();
        for slot in &form.slots {
            if slot.optional && random.chance(65) {
                continue;
            }
            opcode.push('.');
            let word: &&str = random.pick(&slot.alternatives);
            opcode.push_str(word);
        }
        let mut shapes = Vec::new();
        for slot in &form.operands {
            if !slot.optional || random.chance(30) {
                shapes.push(if slot.name == "immLut" { Shape::List } else { slot.shape });
            }
        }
        // Parts of registers and signs, which only these have.
        let video = form.name.starts_with('v');
        let parts: Vec<Option<&'static str>> = shapes
            .iter()
            .map(|_| (video && random.chance(30)).then(|| *random.pick(PARTS)))
            .collect();
        let key = format!("{opcode} {parts:?} {shapes:?}");
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = find(&opcode, &shapes, &parts, form.name);
        self.known.insert(key, found.clone());
        found
    }
}

/// The class that a type's word names.
fn class_of(word: &str) -> Option<Class> {
    match word {
        "u16" | "s16" | "b16" | "f16" | "bf16" | "u8" | "s8" => Some('h'),
        "u32" | "s32" | "b32" | "f32" | "f16x2" | "bf16x2" | "u16x2" | "s16x2" | "tf32" => {
            Some('r')
        }
        "u64" | "s64" | "b64" | "f64" => Some('d'),
        "pred" => Some('p'),
        _ => None,
    }
}

/// Finds classes for the operands.
fn find(
    opcode: &str,
    shapes: &[Shape],
    parts: &[Option<&'static str>],
    name: &str,
) -> Option<Template> {
    let words: Vec<Class> = opcode.split('.').filter_map(class_of).collect();
    let first = words.first().copied().unwrap_or('r');
    let last = words.last().copied().unwrap_or('r');
    let predicate = matches!(name, "setp" | "testp");
    let mut tries: Vec<Vec<Class>> = Vec::new();
    let n = shapes.len();
    let mut add = |classes: Vec<Class>| {
        if !tries.contains(&classes) {
            tries.push(classes);
        }
    };
    let result = if predicate { 'p' } else { first };
    let wide = if opcode.contains(".wide") { widened(first) } else { result };
    let mut usual: Vec<Class> = vec![last; n];
    if n > 0 {
        usual[0] = wide;
    }
    add(usual.clone());
    // The last operand, or the last two, are words: amounts, positions, addends of sums.
    for words in 1..n.min(3) {
        let mut own = usual.clone();
        own[n - words..].fill('r');
        add(own);
    }
    // The addend is as wide as the result.
    if n == 4 {
        let mut own = usual.clone();
        own[3] = wide;
        add(own);
    }
    for result in ['r', 'h', 'd', 'p'] {
        for source in [last, first, 'r', 'h', 'd'] {
            let mut own = vec![source; n];
            own[0] = result;
            add(own.clone());
            own[n - 1] = 'r';
            add(own.clone());
            own[n - 1] = result;
            add(own);
        }
    }
    tries.into_iter().find_map(|classes| {
        let operands: Option<Vec<Operand>> = shapes
            .iter()
            .zip(&classes)
            .zip(parts)
            .enumerate()
            .map(|(i, ((shape, &class), part))| operand(*shape, i, class, *part))
            .collect();
        let template = Template { opcode: opcode.to_owned(), operands: operands? };
        compiles(&template).then_some(template)
    })
}

fn widened(class: Class) -> Class {
    if class == 'h' { 'r' } else { 'd' }
}

fn operand(shape: Shape, i: usize, class: Class, part: Option<&'static str>) -> Option<Operand> {
    Some(match (shape, i) {
        (Shape::Value, 0) => match part {
            Some(part) => Operand::DefPart(part),
            None => Operand::Def(class),
        },
        (Shape::Pair | Shape::MaybePair, 0) => Operand::DefPair(class),
        (Shape::Value, _) => match part {
            Some(part) => Operand::UsePart(false, part),
            None => Operand::Use(class),
        },
        (Shape::Signed, _) => match part {
            Some(part) => Operand::UsePart(i.is_multiple_of(2), part),
            None => Operand::Use('r'),
        },
        (Shape::Predicate, _) => Operand::UsePredicate(i.is_multiple_of(2)),
        // The stand-in for a table of logic.
        (Shape::List, _) => Operand::Constant(256),
        (
            Shape::Pair
            | Shape::MaybePair
            | Shape::Address
            | Shape::Bracket { .. }
            | Shape::Vector { .. },
            _,
        ) => return None,
    })
}

/// Whether the instruction alone is a program that margay runs.
fn compiles(template: &Template) -> bool {
    let mut n = 0;
    let operands: Vec<String> = template
        .operands
        .iter()
        .map(|o| {
            n += 1;
            match o {
                Operand::Def(c) | Operand::Use(c) => format!("%{c}{n}"),
                Operand::DefPair(c) => format!("%{c}{n}|%p0"),
                Operand::DefPart(part) => format!("%r{n}{part}"),
                Operand::UsePart(minus, part) => {
                    format!("{}%r{n}{part}", if *minus { "-" } else { "" })
                }
                Operand::UsePredicate(not) => format!("{}%p{n}", if *not { "!" } else { "" }),
                Operand::Constant(_) => "0x6a".to_owned(),
            }
        })
        .collect();
    // Else nothing would be left of it.
    let used = match template.operands.first() {
        Some(Operand::Def('p') | Operand::DefPair('p')) => {
            "selp.u32 %r0, 1, 0, %p1;\nst.global.b32 [%d0], %r0;\n".to_owned()
        }
        Some(Operand::Def(c) | Operand::DefPair(c)) => {
            let bits = if *c == 'h' {
                16
            } else if *c == 'r' {
                32
            } else {
                64
            };
            format!("st.global.b{bits} [%d0], %{c}1;\n")
        }
        Some(Operand::DefPart(_)) => "st.global.b32 [%d0], %r1;\n".to_owned(),
        Some(
            Operand::Use(_)
            | Operand::UsePart(..)
            | Operand::UsePredicate(_)
            | Operand::Constant(_),
        )
        | None => String::new(),
    };
    let text = format!(
        "{}.visible .entry k()\n{{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n\
         .reg .b64 %d<8>;\n{} {};\n{}ret;\n}}\n",
        super::kernel::HEADER,
        template.opcode,
        operands.join(", "),
        used
    );
    compile(&text).is_ok_and(|m| m.functions.iter().all(|f| f.unsupported.is_empty()))
}
