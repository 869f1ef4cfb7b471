// SPDX-License-Identifier: MIT OR Apache-2.0
//! An instruction: the table row it matched, its modifiers and its operands.
//!
//! Lowering consumes modifiers by the row's slot name or by their own name through a
//! [`ModifierCursor`], and asks at the end what was left, so that no modifier is dropped:
//!
//! ```
//! # let module = margay_ptx::parse(".version 7.0 .target sm_70 .address_size 64
//! # .entry f() { .reg .f32 a; add.rn.ftz.f32 a, a, 0f3F800000; }").unwrap();
//! # use margay_ptx::ast::{Statement, ScalarType};
//! # let body = module.functions().next().unwrap().body.as_ref().unwrap();
//! # let Statement::Instruction(inst) = &body.statements[1] else { panic!() };
//! assert_eq!(inst.opcode(), "add");
//! let mut m = inst.cursor();
//! let rounding = m.slot("rnd");           // Some("rn"): what stands in the row's `{.rnd}` slot
//! let ftz = m.take("ftz");                // true
//! let sat = m.take("sat");                // false
//! let ty = m.next_type();                 // Some(ScalarType::F32)
//! assert_eq!((rounding, ftz, sat, ty), (Some("rn"), true, false, Some(ScalarType::F32)));
//! assert!(m.unconsumed().is_none());      // else: Unsupported, at the modifier's span
//! ```

use crate::ast::{Immediate, Name};
use crate::isa::{Form, matching};
use crate::span::Span;
use crate::symbol::Symbol;
use crate::types::ScalarType;
use smallvec::SmallVec;

/// `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    pub negated: bool,
    pub predicate: Name,
    pub span: Span,
}

/// One modifier as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modifier {
    /// Without the leading dot: `f32`, `shared::cta`, `m16n8k16`.
    pub name: &'static str,
    /// Index into [`Form::slots`] of the slot that it fills.
    pub slot: u8,
    pub span: Span,
}

impl Modifier {
    /// The scalar type that the modifier names, if it names one.
    pub fn scalar_type(&self) -> Option<ScalarType> {
        ScalarType::from_name(self.name)
    }
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub guard: Option<Guard>,
    /// The row of the instruction table.
    pub form: &'static Form,
    /// In the order written.
    pub modifiers: SmallVec<[Modifier; 4]>,
    pub operands: SmallVec<[Operand; 4]>,
    /// From the guard to the semicolon.
    pub span: Span,
    /// The opcode with its modifiers.
    pub opcode_span: Span,
}

impl Instruction {
    /// The instruction's name as the manual heads it: `add`, `cp.async.bulk`, `mbarrier.try_wait`.
    pub fn opcode(&self) -> &'static str {
        self.form.name
    }

    /// A cursor over the modifiers, none consumed.
    pub fn cursor(&self) -> ModifierCursor<'_> {
        ModifierCursor { modifiers: &self.modifiers, form: self.form, taken: 0 }
    }

    /// Whether a modifier of this name (no dot) is written.
    pub fn has(&self, name: &str) -> bool {
        self.modifiers.iter().any(|m| m.name == name)
    }

    /// The modifiers that are scalar types, in order: `cvt.rn.f32.s32` gives `[F32, S32]`.
    pub fn types(&self) -> SmallVec<[ScalarType; 4]> {
        self.modifiers.iter().filter_map(Modifier::scalar_type).collect()
    }

    /// The operand in the row's place of this name (`"d"`, `"cache-policy"`, `"ctaMask"`), which
    /// resolves optional operands; `None` when it is left out or the row has no such place.
    pub fn operand(&self, name: &str) -> Option<&Operand> {
        let slots = matching::assign(self.form, &self.operands, &|m| self.has(m)).ok()?;
        let at = slots.iter().position(|&s| self.form.operands[s as usize].name == name)?;
        self.operands.get(at)
    }

    /// The parts of a `call`; `None` for other instructions.
    pub fn call(&self) -> Option<Call<'_>> {
        if self.form.name != "call" {
            return None;
        }
        let mut rest = &self.operands[..];
        let returns = list_of(&mut rest);
        let (target, tail) = rest.split_first()?;
        rest = tail;
        let arguments = list_of(&mut rest);
        Some(Call { returns, target, arguments, targets: rest.first() })
    }
}

fn list_of<'a>(rest: &mut &'a [Operand]) -> &'a [Operand] {
    match *rest {
        [Operand { kind: OperandKind::List(items), .. }, tail @ ..] => {
            *rest = tail;
            items
        }
        _ => &[],
    }
}

/// The parts of `call (returns), target, (arguments), targets;`.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub returns: &'a [Operand],
    /// A function's name, or a register in an indirect call.
    pub target: &'a Operand,
    pub arguments: &'a [Operand],
    /// The label of a `.callprototype` or `.calltargets`, in an indirect call.
    pub targets: Option<&'a Operand>,
}

/// Hands out an instruction's modifiers, each once.
#[derive(Clone, Debug)]
pub struct ModifierCursor<'a> {
    modifiers: &'a [Modifier],
    form: &'static Form,
    taken: u64,
}

impl<'a> ModifierCursor<'a> {
    fn consume(&mut self, mut want: impl FnMut(&Modifier) -> bool) -> Option<&'a Modifier> {
        let (i, m) = self
            .modifiers
            .iter()
            .enumerate()
            .find(|&(i, m)| self.taken & (1 << i) == 0 && want(m))?;
        self.taken |= 1 << i;
        Some(m)
    }

    /// Consumes the modifier of this name (no dot); whether it was there.
    pub fn take(&mut self, name: &str) -> bool {
        self.consume(|m| m.name == name).is_some()
    }

    /// Consumes the first modifier among `names`, in the order written.
    pub fn take_any(&mut self, names: &[&str]) -> Option<&'static str> {
        self.consume(|m| names.contains(&m.name)).map(|m| m.name)
    }

    /// Consumes what fills the row's slot of this name (`"rnd"` for `{.rnd}`); `None` when the
    /// slot is empty or the row has no such slot.
    pub fn slot(&mut self, slot: &str) -> Option<&'static str> {
        let form = self.form;
        self.consume(|m| form.slots.get(m.slot as usize).is_some_and(|s| s.name == slot))
            .map(|m| m.name)
    }

    /// Consumes the next modifier that is a scalar type.
    pub fn next_type(&mut self) -> Option<ScalarType> {
        self.consume(|m| m.scalar_type().is_some()).and_then(Modifier::scalar_type)
    }

    /// Consumes all modifiers that are scalar types, in order.
    pub fn types(&mut self) -> SmallVec<[ScalarType; 4]> {
        std::iter::from_fn(|| self.next_type()).collect()
    }

    /// Consumes `.v2`, `.v4` or `.v8`: the number of elements, 1 when there is none.
    pub fn vector(&mut self) -> u8 {
        match self.take_any(&["v2", "v4", "v8"]) {
            Some("v2") => 2,
            Some("v4") => 4,
            Some(_) => 8,
            None => 1,
        }
    }

    /// The first modifier that nobody consumed.
    pub fn unconsumed(&self) -> Option<&'a Modifier> {
        self.modifiers.iter().enumerate().find(|&(i, _)| self.taken & (1 << i) == 0).map(|(_, m)| m)
    }
}

/// An operand with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operand {
    pub kind: OperandKind,
    pub span: Span,
}

/// What an operand is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// A register, a variable, a label, a function, or a special register (`%laneid`).
    Name(Symbol),
    /// `%tid.x`, `v.r`, and the selectors of video instructions (`a.b0`, `d.h1`, `c.b3210`).
    Member {
        base: Symbol,
        member: Symbol,
    },
    Immediate(Immediate),
    /// `_`
    Sink,
    /// `!p`
    Not(Symbol),
    /// `-a`, in video instructions.
    Negate(Box<Operand>),
    /// `{a, b, c, d}`
    Vector(Vec<Operand>),
    /// `p|q`; the halves are names, sinks or a vector.
    Pair(Box<(Operand, Operand)>),
    /// `[a]`, `[a+8]`, `[1024]`
    Address(Address),
    /// `name+8` outside of brackets: the address of a variable, and an offset.
    Offset {
        base: Symbol,
        offset: i64,
    },
    /// `a[3]`, `a[%r1]`, `a[%r1+4]`: an element of an array (a byte-scaled index, see the manual's
    /// "Arrays as Operands"); the index is an address without its brackets.
    Element {
        base: Symbol,
        index: Address,
    },
    /// `[tex, {x, y}]`, `[tex, sampler, {x, y}]`, `[tensorMap, {x, y}]`: the parts in order.
    Bracket(Vec<Operand>),
    /// `(a, b)`: the argument lists of `call`.
    List(Vec<Operand>),
}

/// `base + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub base: Base,
    /// In bytes; 0 when not written.
    pub offset: i64,
}

/// What an address is relative to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A register or a variable.
    Name(Symbol),
    /// A constant address.
    Absolute(u64),
}
