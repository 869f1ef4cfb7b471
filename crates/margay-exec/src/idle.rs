// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that decide nothing while a kernel stays in a loop: they count how often it has looked at something, say, or are
//! what it would return. Whether threads go in a circle does not depend on them.
//!
//! A register counts in a loop if an instruction there needs it that does more than compute, or that decides where to go on, or
//! that computes another which counts. All others that are set there are idle.

use margay_ir::analysis::effects::{Effect, effect};
use margay_ir::analysis::layout::outermost_loops;
use margay_ir::analysis::liveness::{for_each_def, for_each_use, term_use};
use margay_ir::{BlockId, Class, Function, Inst, Reg};
use smallvec::SmallVec;

use crate::decode::function::class_bytes;
use crate::program::Program;

/// What is idle in the loops of a kernel.
#[derive(Debug)]
pub struct Idle {
    /// The outermost loop that each block of the kernel is in.
    of_block: Vec<Option<u32>>,
    /// For each of them and each register, whether it is idle there.
    loops: Vec<Vec<bool>>,
}

/// Loops that some threads are in.
type Loops = SmallVec<[u32; 4]>;

impl Idle {
    pub fn of(f: &Function) -> Idle {
        let mut of_block = vec![None; f.blocks.len()];
        let mut loops = Vec::new();
        for blocks in outermost_loops(f) {
            let number = loops.len() as u32;
            blocks.iter().for_each(|b| of_block[b.0 as usize] = Some(number));
            loops.push(idle(f, &blocks));
        }
        Idle { of_block, loops }
    }

    /// The loops of the kernel that these addresses are in. Who is in none does not come back to where he is, or does not leave
    /// it.
    pub fn loops(&self, program: &Program, pcs: impl Iterator<Item = u32>) -> Loops {
        let of = |pc: u32| {
            let site = program.sites.get(pc as usize)?;
            self.of_block.get(site.block as usize).copied().flatten()
        };
        let mut loops: Loops = pcs.filter_map(of).collect();
        loops.sort_unstable();
        loops.dedup();
        loops
    }

    /// The planes of the registers that count in some of these loops, with their sizes in bytes; all of them if there is none.
    pub fn planes<'a>(
        &'a self,
        program: &'a Program,
        loops: &'a [u32],
    ) -> impl Iterator<Item = (u32, u32)> + 'a {
        let kernel = &program.functions[0];
        let is_idle =
            move |r: usize| !loops.is_empty() && loops.iter().all(|&l| self.loops[l as usize][r]);
        let registers = kernel.planes.iter().zip(&program.kernel().regs).enumerate();
        let counts = registers.filter(move |&(r, _)| !is_idle(r));
        let words = [kernel.local_base, kernel.local_top].map(|at| (at, class_bytes(Class::W)));
        counts.map(|(_, (&plane, &class))| (plane, class_bytes(class))).chain(words)
    }
}

/// The registers that are idle in a loop of these blocks.
fn idle(f: &Function, blocks: &[BlockId]) -> Vec<bool> {
    let insts = || blocks.iter().flat_map(|b| &f.blocks[b.0 as usize].insts);
    let (mut set, mut counts) = (vec![false; f.regs.len()], vec![false; f.regs.len()]);
    insts().for_each(|inst| for_each_def(inst, |r| set[r.0 as usize] = true));
    let mark = |counts: &mut Vec<bool>, r: Reg| !std::mem::replace(&mut counts[r.0 as usize], true);
    for b in blocks {
        if let Some(r) = term_use(&f.blocks[b.0 as usize].term) {
            mark(&mut counts, r);
        }
    }
    let only_computes = |inst: &Inst| effect(inst.op) == Effect::None;
    loop {
        let mut more = false;
        for inst in insts() {
            let mut needed = !only_computes(inst);
            for_each_def(inst, |r| needed |= counts[r.0 as usize]);
            if needed {
                for_each_use(inst, |r| more |= mark(&mut counts, r));
            }
        }
        if !more {
            break;
        }
    }
    set.iter().zip(counts).map(|(&set, counts)| set && !counts).collect()
}

#[cfg(test)]
mod tests {
    use margay_ir::text::parse_module;

    use super::*;

    /// The idle registers of a kernel's only loop.
    fn idle_of(body: &str) -> Vec<usize> {
        let text = format!(
            "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\n\
             entry \"k\" visible {{\nparam_size 8\nframe size=0 align=1\nregs w*5 d*2 p*2\n{body}\n}}\n"
        );
        let module = parse_module(&text).unwrap();
        let idle = Idle::of(&module.functions[0]);
        assert_eq!(idle.loops.len(), 1, "{idle:?}");
        idle.loops[0].iter().enumerate().filter_map(|(r, &is)| is.then_some(r)).collect()
    }

    /// A loop around `inside`, which looks at a word until it is not 0.
    fn waits(inside: &str) -> Vec<usize> {
        idle_of(&format!(
            "b0:\n%5 = ld.i64 {{param}} 0x0\n%0 = mov.i32 0x0\nbr b1\n\
             b1:\n%1 = ld.i32 {{global}} %5\n{inside}\n%7 = icmp.i32 {{eq}} %1, 0x0\n\
             condbr %7, b1, b2\n\
             b2:\nst.i32 {{global}} %5, %0\nexit"
        ))
    }

    #[test]
    fn what_only_counts_is_idle() {
        assert_eq!(waits("%0 = add.i32 %0, 0x1"), [0]);
        assert_eq!(waits("%2 = add.i32 %0, 0x1\n%0 = mov.i32 %2"), [0, 2]);
        assert_eq!(waits(""), [0usize; 0], "what is not set there cannot change");
    }

    #[test]
    fn what_decides_or_goes_elsewhere_is_not() {
        let ends =
            "%0 = add.i32 %0, 0x1\n%8 = icmp.i32 {lt.s} %0, 0x64\n%1 = select.i32 %1, 0x1, %8";
        assert_eq!(waits(ends), [0usize; 0]);
        let stores = "%0 = add.i32 %0, 0x1\nst.i32 {global} %5, %0";
        assert_eq!(waits(stores), [0usize; 0]);
        let guards =
            "%0 = add.i32 %0, 0x1\n%8 = icmp.i32 {lt.s} %0, 0x64\nst.i32 {global} %5, %1 @%8";
        assert_eq!(waits(guards), [0usize; 0]);
    }
}
