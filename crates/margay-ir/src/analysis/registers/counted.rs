// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loops whose number of rounds is known before they are entered: those an assembler unrolls.

use super::super::cfg::Cfg;
use super::super::liveness::for_each_def;
use crate::inst::{Inst, Reg, Term, Value};
use crate::module::Function;
use crate::ops::Op;

/// How a loop counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// By how much a round changes the counter.
    pub step: u32,
    /// Rounds, where the counter starts and stops at constants.
    pub rounds: Option<u32>,
    /// Whether ptxas unrolls it, where it is small and has no fence, as its machine code shows: a loop of one block if
    /// its branch is taken to go round again, and not if it is taken to leave, before a second one that goes
    /// back; a loop of several blocks the other way round.
    pub unrolls: bool,
}

/// Where registers are written.
pub struct Writers {
    places: Vec<Vec<(u32, u32)>>,
}

impl Writers {
    pub fn of(function: &Function) -> Writers {
        let mut places = vec![Vec::new(); function.regs.len()];
        for (b, block) in function.blocks.iter().enumerate() {
            for (i, inst) in block.insts.iter().enumerate() {
                for_each_def(inst, |r| places[r.0 as usize].push((b as u32, i as u32)));
            }
        }
        Writers { places }
    }
}

/// The counter of a loop that has one exit, which compares it with what the loop does not change.
pub fn counter(function: &Function, writers: &Writers, cfg: &Cfg, body: &[u32]) -> Option<Counter> {
    let inside = |b: u32| body.contains(&b);
    let mut exits = body.iter().filter(|&&b| cfg.succs[b as usize].iter().any(|s| !inside(s.0)));
    let exit = *exits.next()?;
    if exits.next().is_some() {
        return None;
    }
    let inst = |&(b, i): &(u32, u32)| &function.blocks[b as usize].insts[i as usize];
    let within = |r: Reg| -> Vec<&Inst> {
        let places = writers.places[r.0 as usize].iter();
        places.filter(|p| inside(p.0)).map(inst).collect()
    };
    let Term::CondBr { pred, then, .. } = &function.blocks[exit as usize].term else {
        return None;
    };
    let unrolls = inside(then.0) == (body.len() == 1);
    let compare = match within(*pred)[..] {
        [compare] if compare.op == Op::ICmp => compare,
        _ => return None,
    };
    // `r` is written once in the loop, as itself plus a constant, perhaps by way of a copy.
    let steps = |r: Reg| -> Option<(u32, Vec<Reg>)> {
        let [mut writer] = within(r)[..] else { return None };
        let mut same = vec![r];
        if let (Op::Mov, Some(Value::Reg(from))) = (writer.op, writer.srcs.first()) {
            same.push(*from);
            let [by] = within(*from)[..] else { return None };
            writer = by;
        }
        let (Op::Add | Op::Sub, [Value::Reg(from), Value::Imm(step)]) =
            (writer.op, &writer.srcs[..])
        else {
            return None;
        };
        let copy_of = |of: Reg| match within(*from)[..] {
            [copy] => copy.op == Op::Mov && copy.srcs.first() == Some(&Value::Reg(of)),
            _ => false,
        };
        if same.contains(from) || copy_of(r) {
            same.push(*from);
            return Some(((*step as i32).unsigned_abs(), same));
        }
        None
    };
    let [a, b] = &compare.srcs[..] else { return None };
    let fixed = |v: &Value| match v {
        Value::Imm(_) => true,
        Value::Reg(r) => within(*r).is_empty(),
    };
    let (counting, bound) = match (a, b) {
        (Value::Reg(r), bound) if fixed(bound) => (*r, bound),
        (bound, Value::Reg(r)) if fixed(bound) => (*r, bound),
        _ => return None,
    };
    let (step, same) = steps(counting)?;
    let start = same.iter().find_map(|r| {
        let before: Vec<&Inst> =
            writers.places[r.0 as usize].iter().filter(|p| !inside(p.0)).map(inst).collect();
        match before[..] {
            [one] if one.op == Op::Mov => match one.srcs.first() {
                Some(Value::Imm(start)) => Some(*start as i32),
                _ => None,
            },
            _ => None,
        }
    });
    let rounds = match (start, bound) {
        (Some(start), Value::Imm(bound)) if step != 0 => {
            Some((i64::from(*bound as i32) - i64::from(start)).unsigned_abs().div_ceil(step.into()))
        }
        _ => None,
    };
    Some(Counter { step, rounds: rounds.map(|r| r.min(1 << 20) as u32), unrolls })
}
