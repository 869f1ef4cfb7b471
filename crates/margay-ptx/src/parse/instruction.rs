// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions: opcode and modifiers against the table, then operands.

use super::Parser;
use crate::ast::{Guard, Instruction, Modifier};
use crate::isa::{self, matching};
use crate::lex::{Lexer, Problem, Result};
use crate::span::Span;
use smallvec::SmallVec;
use std::rc::Rc;

/// Modifiers that one instruction may have; the longest row has fewer.
const MOST_MODIFIERS: usize = 32;

/// A row that an opcode's text fits, with places relative to the opcode's start.
pub(super) struct Candidate {
    fit: matching::Fit,
    places: SmallVec<[(u32, u32); 8]>,
}

impl<'a> Parser<'a> {
    /// `@p` or `@!p`.
    pub(super) fn guard(&mut self) -> Result<Guard> {
        let start = self.lex.pos();
        self.lex.expect(b'@')?;
        let negated = self.lex.eat(b'!');
        let predicate = self.name("a predicate register")?;
        Ok(Guard { negated, predicate, span: self.lex.span_from(start) })
    }

    /// An instruction from its opcode, which comes next, to the semicolon.
    pub(super) fn instruction(&mut self, guard: Option<Guard>) -> Result<Instruction> {
        match self.lex.peek() {
            Some(b) if b.is_ascii_alphabetic() => {}
            _ => return Err(self.lex.unexpected(["an instruction"])),
        }
        let start = self.lex.pos();
        let text = self.lex.dotted();
        let candidates = self.candidates(start, text)?;
        let opcode_span = self.lex.span_from(start);
        let lists = candidates.first().is_some_and(|c| c.fit.form.name == "call");
        let mut operands = SmallVec::new();
        let mut trailing: Option<(&'a str, Span)> = None;
        let next = self.lex.peek();
        if matches!(next, Some(b'}' | b'.' | b'@') | None) {
            return Err(self.lex.unexpected(["an operand", "`;`"]));
        }
        if next != Some(b';') {
            loop {
                operands.push(self.operand(lists)?);
                if let Some(word) = self.lex.peek_directive() {
                    trailing = Some((word, self.lex.take_directive(word)));
                }
                if !self.lex.eat(b',') {
                    break;
                }
            }
        }
        let end = self.lex.last_end;
        if !self.lex.eat(b';') {
            return Err(self.lex.unexpected(["`,`", "`;`"]));
        }
        let mut furthest = (0, &candidates[0]);
        for candidate in &*candidates {
            let form = candidate.fit.form;
            let extra = match trailing {
                None => None,
                Some((word, span)) => {
                    let slot = form.slots.iter().position(|s| s.after_address && s.name == word);
                    let Some(slot) = slot else { continue };
                    Some(Modifier { name: form.slots[slot].name, slot: slot as u8, span })
                }
            };
            let has = |name: &str| candidate.fit.modifiers.iter().any(|m| m.name == name);
            match matching::assign(form, &operands, &has) {
                Ok(_) => {
                    let placed = candidate.fit.modifiers.iter().zip(&candidate.places);
                    let written = placed.map(|(m, &(from, to))| Modifier {
                        name: m.name,
                        slot: m.slot,
                        span: Span::new(start + from, start + to),
                    });
                    let modifiers = written.chain(extra).collect();
                    let first = guard.map_or(start, |g| g.span.start);
                    let span = self.lex.span_from(first);
                    return Ok(Instruction { guard, form, modifiers, operands, span, opcode_span });
                }
                Err(index) if index > furthest.0 => furthest = (index, candidate),
                Err(_) => {}
            }
        }
        let rows = candidates.iter().map(|c| format!("`{}`", c.fit.form.text)).take(4);
        if let Some((word, span)) = trailing
            && !candidates
                .iter()
                .any(|c| c.fit.form.slots.iter().any(|s| s.after_address && s.name == word))
        {
            return Err(Problem::new(
                span,
                format!("`.{word}` cannot follow an operand of `{text}`"),
            )
            .expecting(rows));
        }
        let (index, _) = furthest;
        let (span, message) = match operands.get(index) {
            Some(operand) => {
                let message = if candidates.iter().all(|c| c.fit.form.operands.len() <= index) {
                    format!("too many operands for `{text}`")
                } else {
                    format!("operand {} of `{text}` does not fit", index + 1)
                };
                (operand.span, message)
            }
            None => (Span::new(end, end + 1), format!("too few operands for `{text}`")),
        };
        Err(Problem::new(span, message).expecting(rows))
    }

    /// The rows that fit an opcode whose text without inner spaces is `text`.
    fn candidates(&mut self, start: u32, text: &'a str) -> Result<Rc<[Candidate]>> {
        let mut words = SmallVec::<[(&'a str, u32); 12]>::new();
        let mut at = 0;
        for word in text.split('.') {
            words.push((word, at));
            at += word.len() as u32 + 1;
        }
        // Modifiers may stand apart: `tex.2d .v4`. Such an opcode is not remembered.
        let mut apart = false;
        while self.lex.peek() == Some(b'.') && self.lex.at(1).is_ascii_alphanumeric() {
            apart = true;
            let from = self.lex.pos() + 1 - start;
            let more = self.lex.dotted();
            let mut at = from;
            for word in more[1..].split('.') {
                words.push((word, at));
                at += word.len() as u32 + 1;
            }
        }
        if !apart && let Some(known) = self.opcodes.get(text) {
            return Ok(known.clone());
        }
        if words.len() > MOST_MODIFIERS {
            return Err(Problem::new(self.lex.span_from(start), "too many modifiers"));
        }
        let names: SmallVec<[&str; 12]> = words.iter().map(|w| w.0).collect();
        let fits = matching::fits(&names);
        if fits.is_empty() {
            return Err(explain(&self.lex, start, &words));
        }
        let candidates: Rc<[Candidate]> = fits
            .into_iter()
            .map(|fit| {
                let place = |m: &matching::Filled| {
                    let (word, at) = words[m.word as usize];
                    // The span of a modifier begins at its dot.
                    (at - 1, at + word.len() as u32)
                };
                let places = fit.modifiers.iter().map(place).collect();
                Candidate { fit, places }
            })
            .collect();
        if !apart {
            self.opcodes.insert(text, candidates.clone());
        }
        Ok(candidates)
    }
}

/// Why no row fits: an unknown opcode, or the first modifier that no row has in its place.
fn explain(lex: &Lexer, start: u32, words: &[(&str, u32)]) -> Box<Problem> {
    let opcode = words[0].0;
    let opcode_span = Span::new(start, start + opcode.len() as u32);
    let all: Vec<&str> = words.iter().map(|w| w.0).collect();
    let head: Vec<&isa::Form> = isa::table().with_head(opcode).collect();
    if head.is_empty() {
        let near = nearest(opcode, isa::table().heads());
        return Problem::new(opcode_span, format!("unknown instruction `{opcode}`"))
            .expecting(near.map(|n| format!("`{n}`")));
    }
    // The longest beginning that is the beginning of some row, and what may follow it.
    let mut reached = 0;
    let mut next: Vec<&'static str> = Vec::new();
    for form in head {
        let (length, follow) = prefix(form, &all);
        if length > reached {
            reached = length;
            next.clear();
        }
        if length == reached {
            next.extend(follow);
        }
    }
    let mut seen = std::collections::HashSet::new();
    next.retain(|n| seen.insert(*n));
    let span_of = |i: usize| {
        let (word, at) = words[i];
        Span::new(start + at - 1, start + at + word.len() as u32)
    };
    let whole = all.join(".");
    let Some(&(word, _)) = words.get(reached) else {
        let place = Span::new(lex.last_end.max(start + 1) - 1, lex.last_end);
        let message = format!("`{whole}` is not complete");
        return Problem::new(place, message)
            .expecting(next.iter().take(12).map(|n| format!("`.{n}`")));
    };
    let known = isa::table().with_head(opcode).any(|f| {
        f.name.split('.').any(|n| n == word)
            || f.slots.iter().any(|s| s.alternatives.contains(&word))
    });
    let message = if known {
        format!("`.{word}` cannot stand here in `{whole}`")
    } else {
        format!("`{opcode}` has no modifier `.{word}`")
    };
    let near = nearest(word, next.iter().copied());
    let expected: Vec<String> = match near {
        Some(near) => vec![format!("`.{near}`")],
        None => next.iter().take(12).map(|n| format!("`.{n}`")).collect(),
    };
    Problem::new(span_of(reached), message).expecting(expected)
}

/// How many words from the start a row matches, and what it would take next.
fn prefix(form: &'static isa::Form, words: &[&str]) -> (usize, Vec<&'static str>) {
    let mut n = 0;
    for part in form.name.split('.') {
        if words.get(n) != Some(&part) {
            return (n, vec![part]);
        }
        n += 1;
    }
    let mut at = 0;
    loop {
        let mut follow = Vec::new();
        let mut hit = None;
        for (i, slot) in form.slots.iter().enumerate().skip(at).filter(|(_, s)| !s.after_address) {
            follow.extend(&slot.alternatives);
            if words.get(n).is_some_and(|w| slot.alternatives.contains(w)) {
                hit = Some(i);
                break;
            }
            if !slot.optional {
                break;
            }
        }
        match hit {
            Some(i) => {
                n += 1;
                at = i + 1;
            }
            None => return (n, follow),
        }
    }
}

/// The name that differs from `word` by the fewest edits, if by few.
fn nearest(word: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let word = word.as_bytes();
    if word.len() > 40 {
        return None;
    }
    let few = if word.len() <= 4 { 1 } else { 2 };
    let near = names.map(|name| (distance(word, name.as_bytes()), name)).filter(|&(d, _)| d <= few);
    near.min().map(|(_, name)| name)
}

/// Insertions, deletions, replacements and swaps of neighbours that make `b` of `a`.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut next = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = row[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            next[j] = replaced.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                next[j] = next[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}
