// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sample instructions for the rows of the table, so that a test can try every row without anybody
//! having to write them down.
//!
//! A sample is syntax: its registers are undeclared and its types need not go together.

use super::{Form, OperandSlot, Shape};
use crate::isa::matching;

/// Instructions of this form, each with its semicolon: one without anything optional, one with
/// everything, and one for each alternative of each modifier.
pub fn samples(form: &Form) -> Vec<String> {
    let bare: Vec<Option<usize>> = form.slots.iter().map(|s| (!s.optional).then_some(0)).collect();
    let full: Vec<Option<usize>> = form.slots.iter().map(|_| Some(0)).collect();
    let mut texts = vec![text(form, &bare, false), text(form, &full, true)];
    for (i, slot) in form.slots.iter().enumerate() {
        for alternative in 0..slot.alternatives.len() {
            let mut chosen = bare.clone();
            chosen[i] = Some(alternative);
            texts.push(text(form, &chosen, true));
        }
    }
    texts.dedup();
    texts
}

fn text(form: &Form, chosen: &[Option<usize>], optional: bool) -> String {
    let mut text = form.name.to_string();
    let names: Vec<&str> =
        form.slots.iter().zip(chosen).filter_map(|(s, c)| c.map(|c| s.alternatives[c])).collect();
    let mut behind = String::new();
    for (slot, &choice) in form.slots.iter().zip(chosen) {
        let Some(choice) = choice else { continue };
        let into = if slot.after_address { &mut behind } else { &mut text };
        into.push('.');
        into.push_str(slot.alternatives[choice]);
    }
    let mut separator = " ";
    for (i, slot) in form.operands.iter().enumerate() {
        let present = match matching::required_by(slot.name) {
            Some(wanted) => wanted.iter().any(|w| names.contains(w)),
            None => !slot.optional || optional,
        };
        if present {
            text.push_str(separator);
            text.push_str(&operand(slot, i, optional));
            if slot.shape == Shape::Address {
                text.push_str(&std::mem::take(&mut behind));
            }
            separator = ", ";
        }
    }
    text.push(';');
    text
}

fn operand(slot: &OperandSlot, i: usize, full: bool) -> String {
    match slot.shape {
        Shape::Value => format!("%v{i}"),
        Shape::Predicate => format!("{}%p{i}", if full { "!" } else { "" }),
        Shape::Signed => format!("{}%v{i}.h1", if full { "-" } else { "" }),
        Shape::Pair => format!("%v{i}|%p{i}"),
        Shape::MaybePair => {
            format!("%v{i}{}", if full { format!("|%p{i}") } else { String::new() })
        }
        Shape::Address => format!("[%a{i}{}]", if full { "+16" } else { "" }),
        Shape::Bracket { fewest, most } => {
            let middle = if full && most > fewest { format!("%s{i}, ") } else { String::new() };
            format!("[%a{i}, {middle}{{%x{i}, %y{i}}}]")
        }
        Shape::Vector { length } => {
            let items: Vec<String> =
                (0..length.unwrap_or(2)).map(|n| format!("%v{i}_{n}")).collect();
            format!("{{{}}}", items.join(", "))
        }
        Shape::List => format!("(%v{i}, 7)"),
    }
}
