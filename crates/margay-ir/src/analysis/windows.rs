// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which window of generic addresses an address lies in, by what it is computed from: clang tells spaces within a function, and not
//! of what a function that it did not put inside is given. Nothing but speed may rest on this: whoever uses it asks whether an
//! address is there.

use super::liveness::for_each_def;
use crate::inst::*;
use crate::module::*;
use crate::ops::Op;
use crate::types::{Class, Space};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Found {
    /// No window that is known.
    None,
    One(Space),
    Several,
}

impl Found {
    fn join(self, other: Found) -> Found {
        match (self, other) {
            (Found::None, x) | (x, Found::None) => x,
            (Found::One(a), Found::One(b)) if a == b => self,
            (Found::One(_) | Found::Several, Found::One(_) | Found::Several) => Found::Several,
        }
    }

    fn one(self) -> Option<Space> {
        match self {
            Found::One(space) => Some(space),
            Found::None | Found::Several => None,
        }
    }
}

fn result(inst: &Inst, found: &[Found]) -> Found {
    let of = |v: Value| match v {
        Value::Reg(r) => found[r.0 as usize],
        Value::Imm(_) => Found::None,
    };
    match (inst.op, &inst.attr, inst.srcs.as_slice()) {
        (Op::Cvta, Attr::Space(space @ (Space::Shared | Space::Local)), _) => Found::One(*space),
        (Op::Mov | Op::Sub, _, [a, ..]) => of(*a),
        (Op::Add | Op::Select, _, [a, b, ..]) => of(*a).join(of(*b)),
        (Op::MadWideS | Op::MadWideU | Op::Mad, _, [_, _, c]) => of(*c),
        _ => Found::None,
    }
}

/// What the registers of a function hold, where its parameters hold what is given.
fn solve(f: &Function, params: impl Iterator<Item = Found>) -> Vec<Found> {
    let mut found = vec![Found::None; f.regs.len()];
    for (param, given) in f.params.iter().zip(params) {
        if let Some(CallArg::Value(Value::Reg(r), _)) = param.place {
            found[r.0 as usize] = given;
        }
    }
    let mut changed = true;
    while changed {
        changed = false;
        for inst in f.blocks.iter().flat_map(|b| &b.insts) {
            let new = result(inst, &found);
            for_each_def(inst, |r| {
                let slot = &mut found[r.0 as usize];
                if f.regs[r.0 as usize] == Class::D && slot.join(new) != *slot {
                    *slot = slot.join(new);
                    changed = true;
                }
            });
        }
    }
    found
}

/// For each register that holds generic addresses of shared or of local memory, which of the two; parameters of a device function
/// hold what [`note`] said of them.
pub fn windows(f: &Function) -> Vec<Option<Space>> {
    let given = f.params.iter().map(|p| match p.pointee {
        Some(space) if !f.is_entry => Found::One(space),
        Some(_) | None => Found::None,
    });
    solve(f, given).into_iter().map(Found::one).collect()
}

/// Says of each parameter of the device functions, as its [`Param::pointee`], which window it points to in all calls of which that
/// is known.
pub fn note(functions: &mut [Function]) {
    let none = |f: &Function| vec![Found::None; f.params.len()];
    let mut given: Vec<Vec<Found>> = functions.iter().map(none).collect();
    let taken: Vec<usize> = (0..functions.len()).filter(|&n| functions[n].address_taken).collect();
    let calls = |f: &Function| f.blocks.iter().flat_map(|b| &b.insts).any(|i| i.op == Op::Call);
    let callers: Vec<usize> = (0..functions.len()).filter(|&n| calls(&functions[n])).collect();
    // Each pass carries what is given one call further; of chains that are longer than this nothing is said.
    for _ in 0..8 {
        let before = given.clone();
        for &n in &callers {
            let f = &functions[n];
            let found = solve(f, before[n].iter().copied());
            for inst in f.blocks.iter().flat_map(|b| &b.insts) {
                let Attr::Call(call) = &inst.attr else { continue };
                let direct = match call.callee {
                    Callee::Direct(id) => Some(id.0 as usize),
                    Callee::Indirect(_) => None,
                };
                let reached = match &direct {
                    Some(id) => std::slice::from_ref(id),
                    None => taken.as_slice(),
                };
                for &id in reached {
                    if given.get(id).is_none_or(|to| to.len() != call.args.len()) {
                        continue;
                    }
                    for (to, arg) in given[id].iter_mut().zip(&call.args) {
                        if let CallArg::Value(Value::Reg(r), _) = arg {
                            *to = to.join(found[r.0 as usize]);
                        }
                    }
                }
            }
        }
        if given == before {
            break;
        }
    }
    for (f, given) in functions.iter_mut().zip(given).filter(|(f, _)| !f.is_entry) {
        for (param, found) in f.params.iter_mut().zip(given) {
            param.pointee = found.one();
        }
    }
}
