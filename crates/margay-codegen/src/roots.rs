// SPDX-License-Identifier: MIT OR Apache-2.0
//! From which pointer an address is computed: accesses through one pointer nearly always stay within
//! one allocation, so they share what is known of it. Nothing but speed rests on this.

use margay_ir::analysis::origins::{Origin, origins};
use margay_ir::{AddrOf, Attr, Function, Op, Space, Value};

/// Where a pointer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// The kernel's parameter at this byte.
    Param(u32),
    /// A variable of the module.
    Variable(u32),
}

/// The pointer behind each register, if there is one.
pub fn roots(f: &Function) -> Vec<Option<Root>> {
    let found = origins(f, vec![Origin::None; f.regs.len()], |inst| {
        match (inst.op, &inst.attr, inst.srcs.as_slice()) {
            (Op::Ld, Attr::Mem(m), [Value::Imm(base)]) if m.space == Space::Param => {
                Some(Origin::One(Root::Param((*base as i64 + m.offset) as u32)))
            }
            (Op::Addr, Attr::Address { of: AddrOf::Global(id), .. }, _) => {
                Some(Origin::One(Root::Variable(id.0)))
            }
            _ => None,
        }
    });
    found.into_iter().map(Origin::one).collect()
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
