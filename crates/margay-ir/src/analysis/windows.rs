// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which window of generic addresses an address lies in, by what it is computed from: clang tells spaces within a function, and not
//! of what a function that it did not put inside is given. Nothing but speed may rest on this: whoever uses it asks whether an
//! address is there.

use super::origins::{Origin, origins};
use crate::inst::*;
use crate::module::*;
use crate::ops::Op;
use crate::types::Space;

/// What the registers of a function hold, where its parameters hold what is given.
fn solve(f: &Function, given: impl Iterator<Item = Origin<Space>>) -> Vec<Origin<Space>> {
    let mut found = vec![Origin::None; f.regs.len()];
    for (param, given) in f.params.iter().zip(given) {
        if let Some(CallArg::Value(Value::Reg(r), _)) = param.place {
            found[r.0 as usize] = given;
        }
    }
    origins(f, found, |inst| match (inst.op, &inst.attr) {
        (Op::Cvta, Attr::Space(space @ (Space::Shared | Space::Local))) => {
            Some(Origin::One(*space))
        }
        // Of global memory, or no generic address.
        (Op::Cvta | Op::CvtaTo, _) => Some(Origin::None),
        _ => None,
    })
}

/// For each register that holds generic addresses of shared or of local memory, which of the two; parameters of a device function
/// hold what [`note`] said of them.
pub fn windows(f: &Function) -> Vec<Option<Space>> {
    let generic = |inst: &Inst| match &inst.attr {
        Attr::Mem(mem) | Attr::Atom { mem, .. } => mem.space == Space::Generic,
        _ => false,
    };
    if !f.blocks.iter().flat_map(|b| &b.insts).any(generic) {
        return vec![None; f.regs.len()];
    }
    let given = f.params.iter().map(|p| match p.pointee {
        Some(space) if !f.is_entry => Origin::One(space),
        Some(_) | None => Origin::None,
    });
    solve(f, given).into_iter().map(Origin::one).collect()
}

/// Says of each parameter of the device functions, as its [`Param::pointee`], which window it points to in all calls of which that
/// is known.
pub fn note(functions: &mut [Function]) {
    let none = |f: &Function| vec![Origin::None; f.params.len()];
    let mut given: Vec<Vec<Origin<Space>>> = functions.iter().map(none).collect();
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
