// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which memory a launch may write, as far as its code says: what the checks need not follow the reads of.

use std::ops::Range;

use margay_codegen::Root;
use margay_ir::{Attr, Function, Op, Space, Value};

use crate::alone::pointers;
use crate::fault::FaultKind;
use crate::interp::Env;
use crate::launch::LaunchConfig;
use crate::mem::{AddressSpace, AllocationInfo};
use crate::program::Program;

/// Memory that the stores and atomics of a launch reach by their pointers.
///
/// Limit: a store may go to another allocation than the one that its pointer points into. Whoever rests on this must
/// look at what is really stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// `None`: any.
    ranges: Option<Vec<Range<u64>>>,
}

impl Written {
    /// What a launch may write.
    pub fn of(program: &Program, config: &LaunchConfig, memory: &AddressSpace) -> Written {
        Written { ranges: ranges(program, config, memory) }
    }

    /// Whether all memory counts as written.
    pub fn is_all(&self) -> bool {
        self.ranges.is_none()
    }

    /// Whether a part of `memory` may be written.
    pub fn touches(&self, memory: &Range<u64>) -> bool {
        let overlaps = |r: &Range<u64>| r.start < memory.end && memory.start < r.end;
        self.ranges.as_ref().is_none_or(|all| all.iter().any(overlaps))
    }

    /// Whether all of `memory` lies in one allocation that may be written.
    pub fn holds(&self, memory: &Range<u64>) -> bool {
        self.around(memory).is_some()
    }

    /// The allocation that may be written which all of `memory` lies in.
    pub fn around(&self, memory: &Range<u64>) -> Option<Range<u64>> {
        let Some(all) = &self.ranges else { return Some(0..u64::MAX) };
        all.iter().find(|r| r.start <= memory.start && memory.end <= r.end).cloned()
    }
}

/// The address that a root has in a launch.
pub(crate) fn root_address(root: Root, program: &Program, config: &LaunchConfig) -> Option<u64> {
    match root {
        Root::Param(at) => pointer(at, config),
        Root::Variable(id) => program.module.addresses.get(id as usize).copied(),
    }
}

/// Has the fault of the instruction at `pc` name the allocation that its address is computed from, where that is known for sure,
/// and not the nearest one.
pub(crate) fn name_meant(env: &Env<'_>, pc: u32, kind: &mut FaultKind) {
    let FaultKind::IllegalAddress { space, address, nearest, .. } = kind else { return };
    let holds = |near: &AllocationInfo| address.wrapping_sub(near.base) < near.size;
    if !matches!(space, Space::Global | Space::Generic) || nearest.as_ref().is_some_and(holds) {
        return;
    }
    let meant = || {
        let view = env.program.instruction(pc).filter(|view| view.function.is_entry)?;
        let Some(&Value::Reg(reg)) = env.program.inst(pc)?.srcs.first() else { return None };
        let root = pointers(view.function)[reg.0 as usize]?;
        env.memory.find(root_address(root, env.program, env.config)?)
    };
    *nearest = meant().or_else(|| nearest.take());
}

/// The pointer among a launch's parameters that begins at this byte.
pub(crate) fn pointer(at: u32, config: &LaunchConfig) -> Option<u64> {
    let bytes = config.params.get(at as usize..at as usize + 8)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

fn ranges(
    program: &Program,
    config: &LaunchConfig,
    memory: &AddressSpace,
) -> Option<Vec<Range<u64>>> {
    let mut found = Vec::new();
    for root in program.kernels.accesses(program).stored.as_ref()? {
        let address = root_address(*root, program, config)?;
        // Who stores through a pointer to nothing faults.
        let Some(allocation) = memory.find(address) else { continue };
        found.push(allocation.base..allocation.base.saturating_add(allocation.size));
    }
    Some(found)
}

/// The pointers behind everything in a kernel that writes global memory; `None` if one is not known for sure, as of nodes of a
/// list. `calls`: functions that are called may write, by pointers of their own.
pub fn stored(function: &Function, calls: bool) -> Option<Vec<Root>> {
    let roots = pointers(function);
    let mut found = Vec::new();
    for inst in function.blocks.iter().flat_map(|b| &b.insts) {
        let space = match (inst.op, &inst.attr) {
            (Op::St, Attr::Mem(mem)) => mem.space,
            (Op::Atom | Op::AtomWide, Attr::Atom { mem, .. }) => mem.space,
            (Op::Call, _) if calls => return None,
            (Op::Syscall | Op::SurfStore, _) => return None,
            _ => continue,
        };
        if !matches!(space, Space::Global | Space::Generic) {
            continue;
        }
        let Some(&Value::Reg(reg)) = inst.srcs.first() else { return None };
        let root = roots[reg.0 as usize]?;
        if !found.contains(&root) {
            found.push(root);
        }
    }
    Some(found)
}
