// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warp-wide ops whose lanes came by different ways.
//!
//! PTX asks that the lanes of a member mask execute the same op with the same qualifiers, not that
//! they do so in one activation of a function, or at one address: a function called from both
//! sides of a branch shuffles across both calls. So when fragments wait at equal ops and together
//! are all that their masks name, the operands of each lane are gathered from its own frame into a
//! scratch one, the op runs once, and each lane's results go back to where it came from.

use margay_ir::Class;

use super::{Fragment, State, Warp};
use crate::handlers::warp_ops::HAS_PREDICATE;
use crate::interp::Cx;
use crate::lanes::{Flow, Inst, WARP, active};
use crate::program::{MeetSite, Program};

/// Bytes of one plane of any class.
const PLANE: usize = WARP * 8;
/// Places of the result, the predicate result, and the number of planes; sources come first.
const RESULT: usize = 4;
const PREDICATE: usize = 5;
const PLANES: usize = 6;

#[repr(align(64))]
struct Scratch([u8; PLANES * PLANE]);

/// The op that an awaiting fragment is at.
fn site<'p>(program: &'p Program, f: &Fragment) -> Option<(&'p Inst, &'p MeetSite)> {
    if f.state != State::Await {
        return None;
    }
    let inst = program.code.get(f.pc as usize)?;
    let site = program.meets.get((inst.imm as usize).checked_sub(1)?)?;
    Some((inst, site))
}

/// Copies the lanes of `mask` from plane to plane.
///
/// # Safety
/// Both are planes of `class` and do not overlap.
unsafe fn copy(from: *const u8, to: *mut u8, class: Class, mask: u32) {
    // SAFETY: by the contract; lanes are below 32.
    unsafe {
        match class {
            Class::P => {
                let d = to as *mut u32;
                *d = (*d & !mask) | (*(from as *const u32) & mask);
            }
            Class::W => {
                for l in active(mask) {
                    *(to as *mut u32).add(l) = *(from as *const u32).add(l);
                }
            }
            Class::D => {
                for l in active(mask) {
                    *(to as *mut u64).add(l) = *(from as *const u64).add(l);
                }
            }
        }
    }
}

impl Warp {
    /// The plane of an operand of fragment `f`.
    fn plane(&self, cx: &Cx<'_>, f: &Fragment, operand: u32) -> *mut u8 {
        let base = if operand & 1 == 0 { self.frame(f.frame).regs.as_ptr() } else { cx.bases[1] };
        // SAFETY: the operand was decoded for the function whose frame this is, or is a constant.
        unsafe { base.add((operand & !1) as usize) }
    }

    /// The member masks that the lanes of a waiting fragment name, together.
    fn named(&self, cx: &Cx<'_>, f: &Fragment, inst: &Inst, site: &MeetSite) -> u32 {
        let operands = [inst.a, inst.b, inst.c, inst.aux];
        let masks = self.plane(cx, f, operands[(site.sources.len().max(1) - 1) & 3]);
        // SAFETY: the last source is a W plane of masks.
        active(f.mask).fold(0, |m, l| m | unsafe { *(masks as *const u32).add(l) })
    }

    /// Runs the op that fragment `at` waits for, together with the fragments that wait at equal
    /// ones, if no lane that is needed is missing. Returns whether it did; all that took part are
    /// ready then.
    pub(super) fn join(&mut self, cx: &mut Cx<'_>, at: usize) -> bool {
        let program = cx.env.program;
        let Some((inst, site_here)) = site(program, &self.fragments[at]) else { return false };
        // Only those that are needed take part, and whom they need in turn.
        let mut party = vec![at];
        let mut have = self.fragments[at].mask;
        let mut needs = self.named(cx, &self.fragments[at], inst, site_here) & self.alive;
        while needs & !have != 0 {
            let more = (0..self.fragments.len()).find_map(|n| {
                let f = &self.fragments[n];
                let (inst, there) = site(program, f)?;
                (f.mask & needs & !have != 0 && there == site_here)
                    .then(|| (n, f.mask, self.named(cx, f, inst, there)))
            });
            let Some((n, mask, named)) = more else { return false };
            party.push(n);
            have |= mask;
            needs |= named & self.alive;
        }

        let mut scratch = Scratch([0; PLANES * PLANE]);
        let planes = scratch.0.as_mut_ptr();
        // SAFETY (of every use): there are so many planes.
        let place = |n: usize| unsafe { planes.add(n * PLANE) };
        let mut op = *inst;
        for &n in &party {
            let f = &self.fragments[n];
            let i = &program.code[f.pc as usize];
            let sources = [i.a, i.b, i.c, i.aux];
            for (s, &class) in site_here.sources.iter().enumerate() {
                // SAFETY: equal sites have operands of equal classes.
                unsafe { copy(self.plane(cx, f, sources[s]), place(s), class, f.mask) };
            }
        }
        let operand = |n: usize| (n * PLANE) as u32;
        [op.a, op.b, op.c, op.aux] = [operand(0), operand(1), operand(2), operand(3)];
        op.d = operand(RESULT);
        op.slot = operand(PREDICATE) | HAS_PREDICATE;
        let (frame, mask, exec) = (cx.bases[0], cx.mask, cx.exec);
        (cx.bases[0], cx.mask, cx.exec) = (planes, have, have);
        // SAFETY: `cx` is set up for the scratch frame, which the op's operands lie in.
        let flow = unsafe { (op.handler)(cx, &op) };
        (cx.bases[0], cx.mask, cx.exec) = (frame, mask, exec);
        if flow != Flow::Next {
            return false;
        }
        for &n in &party {
            let f = self.fragments[n];
            let i = &program.code[f.pc as usize];
            // SAFETY: as for the sources.
            unsafe {
                if let Some(class) = site_here.dst {
                    copy(place(RESULT), self.plane(cx, &f, i.d), class, f.mask);
                }
                if i.slot & HAS_PREDICATE != 0 {
                    let to = self.plane(cx, &f, i.slot & !HAS_PREDICATE);
                    copy(place(PREDICATE), to, Class::P, f.mask);
                }
            }
            cx.warp_instructions += 1;
            cx.thread_instructions += f.mask.count_ones() as u64;
            self.fragments[n].state = State::Ready;
            self.fragments[n].pc += 1;
        }
        true
    }
}
