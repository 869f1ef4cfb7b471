// SPDX-License-Identifier: MIT OR Apache-2.0
//! The notation of the instruction table, and its translation into [`Form`]s.
//!
//! A file of the table is lines of text that read like the manual:
//!
//! ```text
//! .rnd = .rn .rz                       a set of alternatives, named; several names may share one
//! # add  fragment-of-the-manual        what follows are the forms of `add`
//! @ ptx 1.0 sm_10                      since when; holds for the rows below
//! add{.rnd}{.sat}.f32 d, a, b          a row: modifiers in order, optional ones in braces, operands
//! // why                               a comment on what follows
//! ```
//!
//! A modifier that names a set stands for one of it, any other for itself. Sets before the first
//! `#` hold for the file, those after one until the next; `.m64n<8-256:8>k16` stands for n = 8,
//! 16, … 256. Operands: `d` a value, `[a]` an address, `[a, b]` a texture, surface or tensor,
//! `{a, b}` a vector of that length, `{e}` one of any, `(a)` a list, `p|q` a pair, `p{|q}` perhaps one,
//! `{!}c` perhaps negated, `{-}a` perhaps negative, `a{.asel}` perhaps selected, `{, b}` optional,
//! `[a]{.unified}` an address that a modifier may follow.
//!
//! Limit: the notation is checked here only as far as a wrong row must not go unseen; the tests
//! parse a sample of every row.

use super::{Form, OperandSlot, Shape, Slot};
use std::collections::{HashMap, HashSet};

/// Translates the table's files, in order.
pub(super) fn compile(files: &[&'static str]) -> Result<Vec<Form>, String> {
    let mut forms = Vec::new();
    let mut sets = HashSet::new();
    for file in files {
        compile_file(file, &mut forms, &mut sets)?;
    }
    // A set that is not in sight would silently become a modifier of that name.
    for form in &forms {
        if let Some(slot) =
            form.slots.iter().find(|s| sets.contains(s.name) && s.alternatives == [s.name])
        {
            return Err(format!("no set `.{}` for `{}`", slot.name, form.text));
        }
    }
    Ok(forms)
}

type Sets = HashMap<&'static str, Vec<&'static str>>;

fn compile_file(
    file: &'static str,
    forms: &mut Vec<Form>,
    all: &mut HashSet<&'static str>,
) -> Result<(), String> {
    let (mut shared, mut own) = (Sets::new(), Sets::new());
    let mut heading: Option<(&'static str, &'static str)> = None;
    let mut since = ((1, 0), (10, None));
    for line in file.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//")) {
        if let Some(text) = line.strip_prefix('#') {
            let mut words = text.split_whitespace();
            heading = match (words.next(), words.next(), words.next()) {
                (Some(name), Some(section), None) => Some((name, section)),
                _ => return Err(format!("heading `{line}`")),
            };
            own.clear();
        } else if let Some(text) = line.strip_prefix('@') {
            since = parse_since(text).ok_or_else(|| format!("since `{line}`"))?;
        } else if line.starts_with('.') {
            let (names, values) = line.split_once('=').ok_or_else(|| format!("set `{line}`"))?;
            let mut alternatives = Vec::new();
            for value in values.split_whitespace() {
                let value = value.strip_prefix('.').ok_or_else(|| format!("value in `{line}`"))?;
                expand(value, &mut alternatives)?;
            }
            let sets = if heading.is_some() { &mut own } else { &mut shared };
            for name in names.split_whitespace() {
                sets.insert(&name[1..], alternatives.clone());
                all.insert(&name[1..]);
            }
        } else {
            let (name, section) = heading.ok_or_else(|| format!("row before heading: `{line}`"))?;
            let rest =
                line.strip_prefix(name).ok_or_else(|| format!("row not of `{name}`: `{line}`"))?;
            let (modifiers, operands) = rest.split_once(' ').unwrap_or((rest, ""));
            let lookup = |m: &'static str| own.get(m).or_else(|| shared.get(m));
            for slots in
                parse_slots(modifiers, &lookup).ok_or_else(|| format!("modifiers of `{line}`"))?
            {
                let mut slots = slots;
                let operands = parse_operands(operands, &mut slots)
                    .ok_or_else(|| format!("operands of `{line}`"))?;
                forms.push(Form {
                    id: forms.len() as u16,
                    name,
                    text: line,
                    section,
                    ptx: since.0,
                    sm: since.1,
                    slots,
                    operands,
                });
            }
        }
    }
    Ok(())
}

type Since = ((u8, u8), (u16, Option<char>));

fn parse_since(text: &str) -> Option<Since> {
    let mut words = text.split_whitespace();
    let (Some("ptx"), Some(ptx), Some(sm), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return None;
    };
    let (major, minor) = ptx.split_once('.')?;
    let sm = sm.strip_prefix("sm_")?;
    let suffix = sm.chars().last().filter(char::is_ascii_alphabetic);
    let number = sm.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    Some(((major.parse().ok()?, minor.parse().ok()?), (number, suffix)))
}

/// Appends what `value` stands for: itself, or each number of its `<low-high:step>`.
fn expand(value: &'static str, into: &mut Vec<&'static str>) -> Result<(), String> {
    let Some((before, rest)) = value.split_once('<') else {
        into.push(value);
        return Ok(());
    };
    let bounds = || -> Option<(u32, u32, usize, &str)> {
        let (range, after) = rest.split_once('>')?;
        let (bounds, step) = range.split_once(':')?;
        let (low, high) = bounds.split_once('-')?;
        Some((low.parse().ok()?, high.parse().ok()?, step.parse().ok()?, after))
    };
    let (low, high, step, after) = bounds().ok_or_else(|| format!("range in `{value}`"))?;
    for n in (low..=high).step_by(step) {
        // The table lives as long as the process, and so may its names.
        into.push(Box::leak(format!("{before}{n}{after}").into_boxed_str()));
    }
    Ok(())
}

/// The slots of a row's modifiers. A group of two in braces gives two lists, without and with it.
fn parse_slots<'a>(
    text: &'static str,
    lookup: &impl Fn(&'static str) -> Option<&'a Vec<&'static str>>,
) -> Option<Vec<Vec<Slot>>> {
    let mut variants = vec![Vec::new()];
    let mut rest = text;
    while !rest.is_empty() {
        let (group, optional, tail) = if let Some(inner) = rest.strip_prefix('{') {
            let (group, tail) = inner.split_once('}')?;
            (group, true, tail)
        } else {
            let end = rest[1..].find(['.', '{']).map_or(rest.len(), |i| i + 1);
            (&rest[..end], false, &rest[end..])
        };
        let names: Vec<&'static str> = group.strip_prefix('.')?.split('.').collect();
        let slot = |name: &'static str, optional| Slot {
            name,
            alternatives: lookup(name).cloned().unwrap_or_else(|| vec![name]),
            optional,
            after_address: false,
        };
        if let [name] = names[..] {
            variants.iter_mut().for_each(|v: &mut Vec<Slot>| v.push(slot(name, optional)));
        } else {
            let with = variants.iter().map(|v| {
                let mut v = v.clone();
                v.extend(names.iter().map(|&name| slot(name, false)));
                v
            });
            variants = variants.iter().cloned().chain(with).collect();
        }
        rest = tail;
    }
    Some(variants)
}

fn parse_operands(text: &'static str, slots: &mut Vec<Slot>) -> Option<Vec<OperandSlot>> {
    let mut operands = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix("{,") {
            let end = matching(rest)?;
            operands.push(parse_operand(inner[..end - 2].trim(), true, slots)?);
            rest = rest[end + 1..].trim_start();
        } else {
            let end = operand_end(rest);
            operands.push(parse_operand(rest[..end].trim(), false, slots)?);
            rest = rest[end..].trim_start();
        }
        if let Some(tail) = rest.strip_prefix(',') {
            rest = tail.trim_start();
        }
    }
    Some(operands)
}

/// Index of the brace that closes the one at the start.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

/// Where the operand at the start ends: at a comma outside of brackets, or at `{,`.
fn operand_end(text: &str) -> usize {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '{' if depth == 0 && text[i..].starts_with("{,") => return i,
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth == 0 => return i,
            _ => {}
        }
    }
    text.len()
}

fn parse_operand(text: &'static str, optional: bool, slots: &mut Vec<Slot>) -> Option<OperandSlot> {
    let slot = |name, shape| Some(OperandSlot { name, shape, optional });
    if let Some(inner) = text.strip_prefix('[') {
        let (inner, after) = inner.split_once(']')?;
        if let Some(modifier) = after.strip_prefix("{.") {
            let name = modifier.strip_suffix('}')?;
            slots.push(Slot {
                name,
                alternatives: vec![name],
                optional: true,
                after_address: true,
            });
        }
        let parts = inner.split(',').count() as u8;
        let fewest = if inner.contains('{') { parts - 1 } else { parts };
        let name = inner.split([',', ' ']).next()?;
        return match parts {
            1 => slot(name, Shape::Address),
            _ => slot(name, Shape::Bracket { fewest, most: parts }),
        };
    }
    if let Some(name) = text.strip_prefix("{!}") {
        return slot(name, Shape::Predicate);
    }
    if let Some(name) = text.strip_prefix("{-}") {
        return slot(before_selector(name), Shape::Signed);
    }
    if let Some(inner) = text.strip_prefix('{') {
        let inner = inner.strip_suffix('}')?;
        let length = inner.split(',').count() as u8;
        return slot(
            inner.split(',').next()?.trim(),
            Shape::Vector { length: (length > 1).then_some(length) },
        );
    }
    if let Some(inner) = text.strip_prefix('(') {
        return slot(inner.strip_suffix(')')?, Shape::List);
    }
    if let Some((name, _)) = text.split_once("{|") {
        return slot(name, Shape::MaybePair);
    }
    if let Some((name, _)) = text.split_once('|') {
        return slot(name, Shape::Pair);
    }
    slot(before_selector(text), Shape::Value)
}

fn before_selector(text: &'static str) -> &'static str {
    text.split_once("{.").map_or(text, |(name, _)| name)
}
