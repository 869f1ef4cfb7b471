// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses that no other thread of a launch can race with, as their addresses show: what `--check race` need not keep.
//!
//! Of global memory those where no thread of the grid writes what another one reads or writes; of shared memory those where
//! that is so between two barriers of the block. Addresses are sums of block and thread numbers ([`crate::sums`]); one that is
//! none may be anywhere in the allocation that its pointer points into.
//!
//! Limit: an access whose address is no sum may leave that allocation, by an index that is too large, and meet others in
//! another one: what leaves all that the launch may write can be seen ([`crate::reach::Written`]), this cannot. `--check memory`
//! finds the access itself.

mod bounds;
mod meet;
mod pointers;
mod rounds;

use margay_ir::analysis::cfg::Cfg;
use margay_ir::{Attr, Function, Inst, MemAttr, Op, Sem, Space, Value};

use crate::jit::definitions;
use crate::launch::LaunchConfig;
use crate::mem::AddressSpace;
use crate::program::{Code, Program};
use crate::reach::root_address;
use crate::sums::{Steps, Sum, Sums, numbers};

use bounds::Bounds;
use meet::{Reach, may_meet};
use pointers::pointers;

/// The most pairs of accesses that are compared.
const MOST_PAIRS: usize = 4096;

/// An access of global or shared memory.
struct Site<'f> {
    pc: u32,
    /// Its block, and its place there.
    at: (usize, usize),
    inst: &'f Inst,
    shared: bool,
    writes: bool,
    /// A plain load or store; others are told to a check whatever they do.
    weak: bool,
    reach: Option<Reach>,
    /// The allocation of global memory that its pointer points into.
    allocation: Option<u64>,
}

/// By address of the code, whether an access races with nothing in this launch; empty if nothing is known.
pub fn alone(program: &Program, config: &LaunchConfig, memory: &AddressSpace) -> Vec<bool> {
    found(program, config, memory).unwrap_or_default()
}

fn found(program: &Program, config: &LaunchConfig, memory: &AddressSpace) -> Option<Vec<bool>> {
    if config.cluster != [1; 3] || program.insts().any(|inst| !is_known(inst)) {
        return None;
    }
    let f = &program.module.ir.functions[program.functions.first()?.id.0 as usize];
    let mut sites = sites(program, f, config, memory)?;
    let cfg = Cfg::new(f);
    reaches(&mut sites, program, (f, &cfg), config);
    let mut alone = vec![false; program.code_len() as usize];
    sites.iter().filter(|s| s.weak).for_each(|s| alone[s.pc as usize] = true);
    let mut pairs = 0;
    let mut meet = |a: &Site<'_>, b: &Site<'_>| {
        pairs += 1;
        pairs > MOST_PAIRS || meets(a, b)
    };
    let mut compare = |list: &[usize]| {
        for (n, &i) in list.iter().enumerate() {
            for &j in &list[n..] {
                let (a, b) = (&sites[i], &sites[j]);
                let known = !alone[a.pc as usize] && !alone[b.pc as usize];
                if (a.writes || b.writes) && !known && meet(a, b) {
                    alone[a.pc as usize] = false;
                    alone[b.pc as usize] = false;
                }
            }
        }
    };
    let of = |shared: bool| move |(_, s): &(usize, &Site<'_>)| s.shared == shared;
    let global: Vec<usize> = sites.iter().enumerate().filter(of(false)).map(|(n, _)| n).collect();
    compare(&global);
    let shared: Vec<usize> = sites.iter().enumerate().filter(of(true)).map(|(n, _)| n).collect();
    if !shared.is_empty() {
        let places: Vec<(usize, usize)> = shared.iter().map(|&n| sites[n].at).collect();
        match rounds::rounds(f, &cfg, &places) {
            Some(rounds) => {
                for round in rounds {
                    let round: Vec<usize> = round.into_iter().map(|k| shared[k]).collect();
                    compare(&round);
                }
            }
            None => shared.iter().for_each(|&n| alone[sites[n].pc as usize] = false),
        }
    }
    Some(alone)
}

/// Whether an instruction is one of those that accesses are found of, or accesses nothing that others do.
fn is_known(inst: &Inst) -> bool {
    match (inst.op, &inst.attr) {
        (Op::Ld | Op::St, Attr::Mem(_)) | (Op::Atom, Attr::Atom { .. }) => true,
        // What is called is looked at, too.
        (op, _) => op == Op::Call || op.accesses_nothing(),
    }
}

/// Whether an instruction of a function that is called accesses nothing that other threads do, and waits for nobody.
fn only_computes(inst: &Inst) -> bool {
    is_private(inst) || !matches!(inst.op, Op::Ld | Op::St | Op::Atom | Op::Bar)
}

/// The accesses of a kernel; `None` if the space of one is not known.
fn sites<'f>(
    program: &'f Program,
    f: &'f Function,
    config: &LaunchConfig,
    memory: &AddressSpace,
) -> Option<Vec<Site<'f>>> {
    let pointers = pointers(f);
    let mut found = Vec::new();
    let mut block = (usize::MAX, 0);
    for pc in 0..program.code_len() {
        let view = program.instruction(pc)?;
        if !std::ptr::eq(view.function, f) {
            match view.code {
                Code::Inst(inst) if !only_computes(inst) => return None,
                Code::Inst(_) | Code::Term(_) | Code::Nothing => continue,
            }
        }
        let b = view.block as usize;
        block = if block.0 == b { (b, block.1 + 1) } else { (b, 0) };
        let Code::Inst(inst) = view.code else { continue };
        if !matches!(inst.op, Op::Ld | Op::St | Op::Atom) || is_private(inst) {
            continue;
        }
        let mem = mem_of(inst)?;
        let reg = match inst.srcs.first() {
            Some(&Value::Reg(r)) => Some(r),
            Some(Value::Imm(_)) | None => None,
        };
        let allocation = || {
            let address = root_address(pointers[reg?.0 as usize]?, program, config)?;
            memory.find(address).map(|a| a.id)
        };
        let (shared, allocation) = match mem.space {
            Space::Shared => (true, None),
            Space::Global => (false, allocation()),
            // Of an OpenCL kernel's parameters some are addresses of shared memory.
            Space::Generic => (false, Some(allocation()?)),
            _ => return None,
        };
        let weak = inst.op != Op::Atom && mem.sem == Sem::Weak;
        let (at, writes) = (block, inst.op != Op::Ld);
        found.push(Site { pc, at, inst, shared, writes, weak, reach: None, allocation });
    }
    Some(found)
}

fn mem_of(inst: &Inst) -> Option<&MemAttr> {
    match &inst.attr {
        Attr::Mem(mem) | Attr::Atom { mem, .. } => Some(mem),
        _ => None,
    }
}

/// Whether an access is of memory that no other thread writes.
fn is_private(inst: &Inst) -> bool {
    mem_of(inst).is_some_and(|m| matches!(m.space, Space::Local | Space::Param | Space::Const))
}

/// Finds where accesses go.
fn reaches(
    sites: &mut [Site<'_>],
    program: &Program,
    (f, cfg): (&Function, &Cfg),
    config: &LaunchConfig,
) {
    let defs = definitions(f);
    let (mut steps, bounds) = (Steps::default(), Bounds::new(f, cfg, &defs));
    bounds.add_to(&mut steps);
    for site in sites.iter() {
        if let Some(&Value::Reg(r)) = site.inst.srcs.first() {
            steps.add(&defs, r);
        }
    }
    let all = numbers(config);
    let usual = Sums::of_some(&steps, config, all, Some(program));
    for site in sites {
        let Some(mem) = mem_of(site.inst) else { continue };
        let elements = match site.inst.op {
            Op::St => site.inst.srcs.len().saturating_sub(1),
            Op::Ld => site.inst.dsts.len(),
            _ => 1,
        };
        let bytes = i64::from(site.inst.ty.bits() / 8) * elements.max(1) as i64;
        let numbers = bounds.of(site.at.0, site.inst, all, &steps, &usual);
        let sum = match site.inst.srcs.first() {
            Some(&Value::Reg(r)) => {
                // What wraps for others may be a sum for these.
                let step = steps.number(r);
                let some =
                    (numbers != all).then(|| Sums::of_some(&steps, config, numbers, Some(program)));
                step.and_then(|s| some.as_ref().unwrap_or(&usual).address(s, mem.offset))
            }
            Some(&Value::Imm(base)) => {
                i64::try_from(base).ok().and_then(|b| b.checked_add(mem.offset)).map(Sum::of)
            }
            None => None,
        };
        // A window that is smaller than its addresses.
        let within = |sum: &Sum| {
            !site.shared || sum.limits(&numbers).is_some_and(|l| l.0 >= 0 && l.1 < 1 << 24)
        };
        site.reach = sum.filter(within).map(|sum| Reach { sum, numbers, bytes });
    }
}

/// Whether one thread's access may touch what another thread's does, within a block if it is of shared memory.
fn meets(a: &Site<'_>, b: &Site<'_>) -> bool {
    if let (Some(x), Some(y)) = (&a.reach, &b.reach) {
        return may_meet(x, y, a.shared);
    }
    match (a.allocation, b.allocation) {
        (Some(x), Some(y)) if !a.shared => x == y,
        _ => true,
    }
}
