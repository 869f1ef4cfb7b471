// SPDX-License-Identifier: MIT OR Apache-2.0
//! Volatile, relaxed, acquiring and releasing accesses (PTX ISA, *Memory Consistency Model*).
//!
//! Each lane's element is one access of the processor, as a weak one's is: aligned elements of up to 8 bytes are never torn, in
//! vectors neither. What is left is that LLVM must not move, repeat or leave out what another thread of the host could tell, and
//! that nothing goes before an acquire or behind a release. Shared memory is touched by the block's own thread of the host alone,
//! so nothing of that can be told there, and strong accesses are as weak ones.
//!
//! Elements of a pair of 64 bits, which may be a `.b128` that must not be torn, are left to their handler, and so are accesses to
//! `.mmio`, in code that is watched, whose observers ask for the access's order, and under guards.

use margay_ir::{Inst, MemAttr, Sem, Space, Ty};

use super::Gen;

impl Gen<'_> {
    /// Whether code is made for an access, weak or strong; else it is its handler's.
    pub(super) fn has_code(&self, inst: &Inst, mem: &MemAttr) -> bool {
        if Self::is_direct(inst, mem) {
            return true;
        }
        let known = match mem.sem {
            Sem::Volatile | Sem::Relaxed | Sem::Acquire | Sem::Release => true,
            Sem::Weak | Sem::AcqRel | Sem::SeqCst | Sem::Mmio => false,
        };
        let access = Self::access(inst, mem);
        let may_be_one = access.count == 2 && access.size == 8;
        known
            && inst.guard.is_none()
            && matches!(inst.ty, Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64)
            && matches!(mem.space, Space::Shared | Space::Global | Space::Generic)
            && !may_be_one
            && !self.options.watched.any()
    }

    /// Whether that code is written here: a team leaves no trace, which a strong access may.
    pub(super) fn is_written(&self, inst: &Inst, mem: &MemAttr) -> bool {
        self.has_code(inst, mem) && (mem.sem == Sem::Weak || self.team.is_none())
    }

    /// Before an access is made: what has to be done by then.
    pub(super) fn order_before(&mut self, mem: &MemAttr) {
        self.order(mem, Sem::Release, "fence release");
    }

    /// After it: what must not begin before.
    pub(super) fn order_after(&mut self, mem: &MemAttr) {
        self.order(mem, Sem::Acquire, "fence acquire");
    }

    /// A fence of the access's own if it has this order, else one for the compiler.
    fn order(&mut self, mem: &MemAttr, own: Sem, fence: &str) {
        if mem.sem == Sem::Weak || mem.space == Space::Shared {
            return;
        }
        match mem.sem == own {
            true => self.line(fence),
            false => self.line("fence syncscope(\"singlethread\") seq_cst"),
        }
    }

    /// For a strong load, whoever makes it: in a loop it may be one that waits for somebody, who must get his turn.
    pub(super) fn count_poll_in_loops(&mut self, mem: &MemAttr) {
        if mem.sem != Sem::Weak && self.around.inside {
            self.count_poll();
        }
    }
}
