// SPDX-License-Identifier: MIT OR Apache-2.0
//! From which pointer an address is computed: accesses through one pointer nearly always stay within
//! one allocation, so they share what is known of it. Nothing but speed rests on this.

use margay_ir::analysis::liveness::for_each_def;
use margay_ir::{AddrOf, Attr, Class, Function, Inst, Op, Space, Value};

/// Where a pointer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// The kernel's parameter at this byte.
    Param(u32),
    /// A variable of the module.
    Variable(u32),
}

#[derive(Clone, Copy, PartialEq)]
enum Found {
    /// Nothing was written to it yet, or it is no pointer.
    None,
    One(Root),
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
}

fn result(inst: &Inst, found: &[Found]) -> Found {
    let of = |v: Value| match v {
        Value::Reg(r) => found[r.0 as usize],
        Value::Imm(_) => Found::None,
    };
    match (inst.op, &inst.attr, inst.srcs.as_slice()) {
        (Op::Ld, Attr::Mem(m), [Value::Imm(base)]) if m.space == Space::Param => {
            Found::One(Root::Param((*base as i64 + m.offset) as u32))
        }
        (Op::Addr, Attr::Address { of: AddrOf::Global(id), .. }, _) => {
            Found::One(Root::Variable(id.0))
        }
        (Op::Mov | Op::Cvta | Op::CvtaTo | Op::Sub, _, [a, ..]) => of(*a),
        (Op::Add, _, [a, b]) => of(*a).join(of(*b)),
        (Op::Select, _, [a, b, _]) => of(*a).join(of(*b)),
        (Op::MadWideS | Op::MadWideU | Op::Mad, _, [_, _, c]) => of(*c),
        _ => Found::None,
    }
}

/// The pointer behind each register, if there is one.
pub fn roots(f: &Function) -> Vec<Option<Root>> {
    let mut found = vec![Found::None; f.regs.len()];
    loop {
        let mut changed = false;
        for inst in f.blocks.iter().flat_map(|b| &b.insts) {
            let new = result(inst, &found);
            if new == Found::None {
                continue;
            }
            for_each_def(inst, |r| {
                let slot = &mut found[r.0 as usize];
                if f.regs[r.0 as usize] == Class::D && slot.join(new) != *slot {
                    *slot = slot.join(new);
                    changed = true;
                }
            });
        }
        if !changed {
            break;
        }
    }
    let one = |found: &Found| match found {
        Found::One(root) => Some(*root),
        Found::None | Found::Several => None,
    };
    found.iter().map(one).collect()
}

/// Bytes of the parameters through which memory is reached.
pub fn pointers(f: &Function) -> Vec<u32> {
    if !f.is_entry {
        return Vec::new();
    }
    let roots = roots(f);
    let mut found = Vec::new();
    for inst in f.blocks.iter().flat_map(|b| &b.insts) {
        let space = match (inst.op, &inst.attr) {
            (Op::Ld | Op::St, Attr::Mem(m)) => m.space,
            (Op::Atom | Op::AtomWide, Attr::Atom { mem, .. }) => mem.space,
            _ => continue,
        };
        if matches!(space, Space::Global | Space::Generic)
            && let Some(&Value::Reg(r)) = inst.srcs.first()
            && let Some(Root::Param(at)) = roots[r.0 as usize]
            && !found.contains(&at)
        {
            found.push(at);
        }
    }
    found
}
