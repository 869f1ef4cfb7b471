// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands for a row: for each place a few that its types suggest, tried in turn.
//!
//! Limit: at most [`MOST`] combinations an alternative.

use margay_ptx::isa::{Form, OperandSlot, Shape, matching};
use margay_ptx::types::ScalarType;

use super::Outcome;

/// Combinations of operands that are tried before an alternative counts as untried.
const MOST: usize = 300;

/// Which alternative of each modifier; `None` leaves an optional one out.
pub type Choice = Vec<Option<usize>>;

/// The row without anything optional, and one change each: every alternative of every modifier.
pub fn choices(form: &Form) -> Vec<Choice> {
    let bare: Choice = form.slots.iter().map(|s| (!s.optional).then_some(0)).collect();
    let mut all = vec![bare.clone()];
    for (at, slot) in form.slots.iter().enumerate() {
        for alternative in 0..slot.alternatives.len() {
            let mut choice = bare.clone();
            choice[at] = Some(alternative);
            if !all.contains(&choice) {
                all.push(choice);
            }
        }
    }
    all
}

const HEADER: &str = "\
.version 9.0
.target sm_100a
.address_size 64
.global .align 128 .b8 g[1024];
.const .align 16 .b8 c[64];
.shared .align 128 .b8 s[1024];
.global .texref t;
.global .surfref u;
.global .samplerref sam;
.func (.reg .b32 out) f(.reg .b32 in) { mov.b32 out, in; ret; }
.visible .entry k(.param .b64 a, .param .b32 b) {
.reg .pred %p<8>; .reg .b16 %h<16>; .reg .b32 %r<160>; .reg .b64 %d<80>; .reg .b128 %q<8>;
.reg .f32 %f<80>; .reg .f64 %fd<8>;
proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);
table: .branchtargets done;
callees: .calltargets f;
";

/// A register of so many bits that can hold the type, the `n`th.
fn register(ty: ScalarType, n: usize) -> String {
    match (ty, ty.bits()) {
        (ScalarType::Pred, _) => format!("%p{}", n % 8),
        (_, 0..=16) => format!("%h{}", n % 16),
        (_, 17..=32) => format!("%r{n}"),
        (_, 33..=64) => format!("%d{n}"),
        (_, _) => format!("%q{}", n % 8),
    }
}

/// The types that the chosen modifiers name, in order.
fn types(names: &[&str]) -> Vec<ScalarType> {
    names.iter().filter_map(|name| ScalarType::from_name(name)).collect()
}

/// What may stand in a place, the likeliest first.
fn candidates(form: &Form, slot: &OperandSlot, at: usize, names: &[&str]) -> Vec<String> {
    let named = types(names);
    let first = named.first().copied().unwrap_or(ScalarType::B32);
    let last = named.last().copied().unwrap_or(ScalarType::B32);
    let likely = if at == 0 { [first, last] } else { [last, first] };
    let plain = |n: usize| {
        let mut all: Vec<String> = likely.iter().map(|ty| register(*ty, n)).collect();
        all.extend(["%r", "%d", "%h", "%p"].map(|class| format!("{class}{}", n % 8)));
        all.extend(["1", "16", "0f3F800000", "0d3FF0000000000000", "g", "s"].map(String::from));
        all.push(format!("%q{}", n % 8));
        all.extend(["f", "table", "t", "%tid"].map(String::from));
        // Elsewhere a label would be a value of its own, which is another question.
        if matches!(form.name, "bra" | "brx.idx") {
            all.push("done".to_owned());
        }
        all
    };
    let vector = |lengths: &[usize]| {
        let mut all = Vec::new();
        for length in lengths {
            let likely = likely.map(|ty| register(ty, 0));
            for class in likely.iter().map(String::as_str).chain(["%r0", "%d0", "%h0", "%f0"]) {
                let stem = class.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
                let items: Vec<String> =
                    (0..*length).map(|i| format!("{stem}{}", at * 16 % 64 + i)).collect();
                all.push(format!("{{{}}}", items.join(", ")));
            }
        }
        all
    };
    let mut all = match slot.shape {
        Shape::Value if slot.name == "tlist" => vec!["table".to_owned()],
        // Fragments of matrices are vectors of registers.
        Shape::Value if form.name == "mma" => vector(&[4, 2, 1]),
        Shape::Value => {
            let mut all = plain(at + 1);
            // `mov` and `call` take vectors where the row has a plain operand.
            all.extend(vector(&[2, 4]));
            all
        }
        Shape::Predicate => vec!["%p1".to_owned(), "!%p1".to_owned()],
        Shape::Signed => plain(at + 1),
        Shape::Pair => {
            let mut all = vec!["%p1|%p2".to_owned()];
            all.extend(plain(at + 1).iter().take(6).map(|v| format!("{v}|%p3")));
            all
        }
        Shape::MaybePair => plain(at + 1).into_iter().take(6).collect(),
        Shape::Address => ["%d9", "g", "s", "c", "a", "%r9"].map(|a| format!("[{a}]")).to_vec(),
        Shape::Bracket { most, .. } => {
            let mut all = Vec::new();
            for object in ["t", "u", "%d9", "g"] {
                for middle in ["", ", sam", ", %d8"] {
                    for coordinates in [
                        "{%r1}",
                        "{%r1, %r2}",
                        "{%r1, %r2, %r3, %r4}",
                        "{%f1, %f2}",
                        "{%f1, %f2, %f3, %f4}",
                    ] {
                        if most > 2 || middle.is_empty() {
                            all.push(format!("[{object}{middle}, {coordinates}]"));
                        }
                    }
                }
            }
            all
        }
        Shape::Vector { length } => match length {
            Some(length) => vector(&[usize::from(length)]),
            None => vector(&[4, 2, 1, 8, 3, 16, 32, 64, 128]),
        },
        Shape::List => vec!["(%r1)".to_owned(), "()".to_owned()],
    };
    let mut seen = std::collections::HashSet::new();
    all.retain(|text| seen.insert(text.clone()));
    all
}

/// Tries operands until the lowering takes them or refuses the form itself.
pub fn search(form: &Form, choice: &Choice, lower: impl Fn(&str) -> Outcome) -> Outcome {
    let names: Vec<&str> =
        form.slots.iter().zip(choice).filter_map(|(s, c)| c.map(|c| s.alternatives[c])).collect();
    let (mut opcode, mut behind) = (form.name.to_owned(), String::new());
    for (slot, chosen) in form.slots.iter().zip(choice) {
        let Some(chosen) = chosen else { continue };
        let into = if slot.after_address { &mut behind } else { &mut opcode };
        into.push('.');
        into.push_str(slot.alternatives[*chosen]);
    }
    let present = |slot: &&OperandSlot| match matching::required_by(slot.name) {
        Some(wanted) => wanted.iter().any(|w| names.contains(w)),
        None => !slot.optional,
    };
    let places: Vec<Vec<String>> = form
        .operands
        .iter()
        .filter(present)
        .enumerate()
        .map(|(at, slot)| candidates(form, slot, at, &names))
        .collect();
    let mut last = Outcome::Untried("no operands".to_owned());
    let mut refusal = None;
    for indices in combinations(&places) {
        let operands: Vec<String> = places
            .iter()
            .zip(&indices)
            .map(|(place, index)| {
                let text = place[*index].clone();
                if text.starts_with('[') { text + &behind } else { text }
            })
            .collect();
        let text = format!("{HEADER}{opcode} {};\ndone:\nret;\n}}\n", operands.join(", "));
        match lower(&text) {
            Outcome::Executed => return Outcome::Executed,
            // Another space or type may be taken: the refusal counts only if nothing is.
            Outcome::Unsupported(reason) => {
                refusal.get_or_insert(reason);
                if indices.iter().sum::<usize>() > 8 {
                    break;
                }
            }
            untried @ Outcome::Untried(_) => last = untried,
        }
    }
    refusal.map_or(last, Outcome::Unsupported)
}

/// Indices into each place, those with few departures from the likeliest first.
fn combinations(places: &[Vec<String>]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![0; places.len()]];
    // One place at a time, then two, then all places alike.
    for (at, place) in places.iter().enumerate() {
        for index in 1..place.len() {
            let mut one = vec![0; places.len()];
            one[at] = index;
            all.push(one);
        }
    }
    let longest = places.iter().map(Vec::len).max().unwrap_or(0);
    for index in 1..longest {
        all.push(places.iter().map(|p| index.min(p.len() - 1)).collect());
    }
    let mut pairs = Vec::new();
    for (a, first) in places.iter().enumerate() {
        for (b, second) in places.iter().enumerate().skip(a + 1) {
            for i in 1..first.len().min(8) {
                for j in 1..second.len().min(8) {
                    let mut two = vec![0; places.len()];
                    (two[a], two[b]) = (i, j);
                    pairs.push(two);
                }
            }
        }
    }
    // Whichever two they are: widths and counts of 32 bits beside values of 64 (`bfe.u64`).
    pairs.sort_by_key(|two| two.iter().sum::<usize>());
    all.extend(pairs);
    all.truncate(MOST);
    all
}
