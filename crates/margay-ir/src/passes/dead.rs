// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions whose results nobody reads, and atomics that become reductions.

use crate::analysis::effects::{Effect, effect};
use crate::analysis::liveness::Liveness;
use crate::module::Function;
use crate::ops::Op;

/// Rounds of removal: chains through several blocks need more than one.
const ROUNDS: usize = 4;

/// Removes instructions without effect whose results are never read. Loads stay, since they may
/// fault. An atomic whose old value nobody reads gives up its destination.
pub fn remove(function: &mut Function) {
    for _ in 0..ROUNDS {
        let liveness = Liveness::new(function);
        let mut dead = Vec::new();
        liveness.for_each_dead(
            function,
            |inst| effect(inst.op) == Effect::None && !inst.dsts.is_empty(),
            |block, index| dead.push((block, index)),
        );
        let mut removed = false;
        // Each block's instructions come last first.
        for (block, index) in dead {
            let insts = &mut function.blocks[block].insts;
            if effect(insts[index].op) == Effect::None {
                insts[index].op = Op::Mov;
                insts[index].dsts.clear();
                removed = true;
            } else if insts[index].op == Op::Atom {
                insts[index].dsts.clear();
            }
        }
        if !removed {
            return;
        }
        for block in &mut function.blocks {
            block.insts.retain(|i| i.op != Op::Mov || !i.dsts.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::parse_module;

    #[test]
    fn unread_results_go_and_loads_stay() {
        let text = "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\n\
             entry \"k\" visible {\nregs w*4 d p\nb0:\n\
             %0 = mov.i32 0x1\n%1 = add.i32 %0, %0\n%2 = ld.i32 {global} %4\n\
             %3 = atom.i32 {add global} %4, 0x1\n\
             condbr %5, b1, b2\nb1:\nbr b2\nb2:\nst.i32 {global} %4, %0\nexit\n}\n";
        let mut function = parse_module(text).expect("text").functions.remove(0);
        remove(&mut function);
        let text: Vec<String> = function.blocks[0].insts.iter().map(|i| i.to_string()).collect();
        assert_eq!(
            text,
            ["%0 = mov.i32 0x1", "%2 = ld.i32 {global} %4", "atom.i32 {add global} %4, 0x1"]
        );
    }
}
