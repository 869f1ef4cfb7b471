// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which row an instruction is an instance of.
//!
//! Modifiers are matched in the row's order. Where no row fits so, a second pass lets modifiers,
//! and the words of the name behind the first, stand in another order, as assemblers do
//! (`ld.u32.global`, `add.sat.rn.f32`), but never swaps two of a kind whose order carries meaning:
//! types, state spaces, matrix layouts.
//! Operands then choose among the rows whose modifiers fit.

use super::{Form, OperandSlot, Shape, Slot};
use crate::instruction::{Operand, OperandKind};
use crate::types::ScalarType;
use smallvec::SmallVec;

/// A row whose modifiers fit.
#[derive(Clone, Debug)]
pub struct Fit {
    pub form: &'static Form,
    /// The modifiers in the order written.
    pub modifiers: Assignment,
}

/// A modifier of an opcode: which slot of the row it fills, its name, and which word it is.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    pub slot: u8,
    pub name: &'static str,
    pub word: u8,
}

/// The modifiers of an opcode, in the order written.
pub type Assignment = SmallVec<[Filled; 8]>;

/// The rows that the dotted words of an opcode fit, in table order. There may be at most 255 words.
pub fn fits(words: &[&str]) -> Vec<Fit> {
    let Some((head, rest)) = words.split_first() else { return Vec::new() };
    let forms = super::table().with_head(head);
    let ordered: Vec<Fit> = forms
        .clone()
        .filter_map(|form| {
            let skipped = form.name.split('.').skip(1);
            let mut words = rest.iter().copied().enumerate();
            for part in skipped {
                words.next().filter(|(_, word)| *word == part)?;
            }
            let words: SmallVec<[(u8, &str); 12]> =
                words.map(|(i, word)| (i as u8 + 1, word)).collect();
            in_order(&form.slots, &words).map(|modifiers| Fit { form, modifiers })
        })
        .collect();
    if !ordered.is_empty() {
        return ordered;
    }
    forms
        .filter_map(|form| {
            let mut words: SmallVec<[(u8, &str); 12]> =
                rest.iter().enumerate().map(|(i, &word)| (i as u8 + 1, word)).collect();
            for part in form.name.split('.').skip(1) {
                let at = words.iter().position(|&(_, word)| word == part)?;
                words.remove(at);
            }
            in_any_order(&form.slots, &words).map(|modifiers| Fit { form, modifiers })
        })
        .collect()
}

fn choice(slot: &Slot, word: &str) -> Option<&'static str> {
    slot.alternatives.iter().copied().find(|&a| a == word)
}

fn in_order(slots: &[Slot], words: &[(u8, &str)]) -> Option<Assignment> {
    fn walk(slots: &[Slot], at: usize, words: &[(u8, &str)], done: &mut Assignment) -> bool {
        let Some(slot) = slots.get(at).filter(|s| !s.after_address) else {
            return words.is_empty();
        };
        if let Some((&(index, word), rest)) = words.split_first()
            && let Some(name) = choice(slot, word)
        {
            done.push(Filled { slot: at as u8, name, word: index });
            if walk(slots, at + 1, rest, done) {
                return true;
            }
            done.pop();
        }
        slot.optional && walk(slots, at + 1, words, done)
    }
    let mut done = Assignment::new();
    walk(slots, 0, words, &mut done).then_some(done)
}

/// Kinds of modifiers among which order carries meaning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Type,
    Space,
    Layout,
    Other,
}

fn kind(word: &str) -> Kind {
    if ScalarType::from_name(word).is_some() {
        return Kind::Type;
    }
    match word.split_once("::").map_or(word, |(first, _)| first) {
        "global" | "shared" | "local" | "param" | "const" => Kind::Space,
        "row" | "col" => Kind::Layout,
        _ => Kind::Other,
    }
}

fn in_any_order(slots: &[Slot], words: &[(u8, &str)]) -> Option<Assignment> {
    let mut done = Assignment::new();
    for &(index, word) in words {
        let after = match kind(word) {
            Kind::Other => None,
            k => done.iter().filter(|f| kind(f.name) == k).map(|f| f.slot).max(),
        };
        let free = |i: usize| !done.iter().any(|f| f.slot as usize == i);
        let from = after.map_or(0, |s| s as usize + 1);
        let (i, name) = (from..slots.len())
            .filter(|&i| free(i) && !slots[i].after_address)
            .find_map(|i| choice(&slots[i], word).map(|name| (i, name)))?;
        done.push(Filled { slot: i as u8, name, word: index });
    }
    let filled = |i: usize| done.iter().any(|f| f.slot as usize == i);
    slots.iter().enumerate().all(|(i, s)| s.optional || filled(i)).then_some(done)
}

/// Which slot each operand fills; `Err` gives the index of the first operand that no assignment
/// gets past (the number of operands when some are missing).
pub fn assign(
    form: &Form,
    operands: &[Operand],
    has: &dyn Fn(&str) -> bool,
) -> Result<SmallVec<[u8; 8]>, usize> {
    let mut done = SmallVec::new();
    let mut furthest = 0;
    if walk(&form.operands, 0, operands, 0, has, &mut done, &mut furthest) {
        Ok(done)
    } else {
        Err(furthest)
    }
}

fn walk(
    slots: &[OperandSlot],
    at: usize,
    operands: &[Operand],
    index: usize,
    has: &dyn Fn(&str) -> bool,
    done: &mut SmallVec<[u8; 8]>,
    furthest: &mut usize,
) -> bool {
    *furthest = (*furthest).max(index);
    let Some(slot) = slots.get(at) else {
        return index == operands.len();
    };
    let wanted = required_by(slot.name).map(|names| names.iter().any(|n| has(n)));
    if wanted != Some(false)
        && let Some(operand) = operands.get(index)
        && slot.shape.accepts(&operand.kind)
    {
        done.push(at as u8);
        if walk(slots, at + 1, operands, index + 1, has, done, furthest) {
            return true;
        }
        done.pop();
    }
    slot.optional
        && wanted != Some(true)
        && walk(slots, at + 1, operands, index, has, done, furthest)
}

/// The modifiers one of which an optional operand of this name goes with; it is there if, and only
/// if, such a modifier is.
pub fn required_by(operand: &str) -> Option<&'static [&'static str]> {
    match operand {
        "cache-policy" => Some(&["L2::cache_hint"]),
        "ctaMask" => {
            Some(&["multicast::cluster", "multicast::cluster::16b", "multicast::cluster::32b"])
        }
        "byteMask" => Some(&["cp_mask"]),
        "im2colInfo" => Some(&["im2col", "im2col::w", "im2col::w::128"]),
        "scale-factor" => Some(&["scaled::n2::ue8m0"]),
        _ => None,
    }
}

impl Shape {
    /// Whether an operand may stand in a place of this shape.
    pub fn accepts(self, kind: &OperandKind) -> bool {
        use OperandKind as K;
        match kind {
            K::Name(_) | K::Member { .. } | K::Immediate(_) => {
                matches!(self, Shape::Value | Shape::Predicate | Shape::Signed | Shape::MaybePair)
            }
            K::Offset { .. } => matches!(self, Shape::Value | Shape::Signed),
            K::Sink => matches!(self, Shape::Value | Shape::MaybePair),
            K::Element { .. } => matches!(self, Shape::Value | Shape::Address),
            K::Not(_) => self == Shape::Predicate,
            K::Negate(_) => self == Shape::Signed,
            K::Vector(items) => match self {
                Shape::Value | Shape::MaybePair => true,
                Shape::Vector { length } => length.is_none_or(|n| n as usize == items.len()),
                Shape::Predicate
                | Shape::Signed
                | Shape::Pair
                | Shape::Address
                | Shape::Bracket { .. }
                | Shape::List => false,
            },
            K::Pair(_) => matches!(self, Shape::Pair | Shape::MaybePair),
            K::Address(_) => self == Shape::Address,
            K::Bracket(parts) => match self {
                Shape::Bracket { fewest, most } => {
                    (fewest as usize..=most as usize).contains(&parts.len())
                }
                _ => false,
            },
            K::List(_) => self == Shape::List,
        }
    }
}
