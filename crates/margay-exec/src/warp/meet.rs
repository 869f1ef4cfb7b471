// SPDX-License-Identifier: MIT OR Apache-2.0
//! Warp-wide ops whose lanes came by different ways.
//!
//! PTX asks that the lanes of a member mask execute the same op with the same qualifiers, not that
//! they do so in one activation of a function, or at one address: a function called from both
//! sides of a branch shuffles across both calls. So when lanes wait at equal ops and together are
//! all that their masks name, the operands of each are gathered from its own frame into a scratch
//! one, the op runs once, and each lane's results go back to where it came from.

use margay_ir::{Attr, Class};

use super::{Fragment, State, Warp};
use crate::handlers::warp_ops::{HAS_PREDICATE, sources};
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

    /// Runs the op that fragment `at` waits for, for all lanes that wait at equal ones and lack
    /// nobody. Lanes of a fragment that do lack some stay behind, so that a tile of the warp need
    /// not wait for another's. Returns whether any lane went on.
    pub(super) fn join(&mut self, cx: &mut Cx<'_>, at: usize) -> bool {
        let program = cx.env.program;
        let Some((inst, here)) = site(program, &self.fragments[at]) else { return false };
        let mut party = Vec::new();
        let (mut named, mut places) = ([0u32; WARP], [0u32; WARP]);
        let mut have = 0;
        for (n, f) in self.fragments.iter().enumerate() {
            let Some((inst, there)) = site(program, f) else { continue };
            if there != here {
                continue;
            }
            let operands = [inst.a, inst.b, inst.c, inst.aux];
            let masks = self.plane(cx, f, operands[(here.sources.len().max(1) - 1) & 3]);
            for l in active(f.mask) {
                // SAFETY: the last source is a W plane of masks.
                named[l] = unsafe { *(masks as *const u32).add(l) };
                places[l] = f.pc;
            }
            have |= f.mask;
            party.push(n);
        }
        loop {
            let all = active(have)
                .filter(|&l| named[l] & self.alive & !have == 0)
                .fold(0, |m, l| m | 1 << l);
            if all == have {
                break;
            }
            have = all;
        }
        party.retain(|&n| self.fragments[n].mask & have != 0);
        if party.is_empty() {
            return false;
        }

        if party.len() > 1 {
            self.report_places(cx, (self.fragments[at].pc, have), &named, &places);
        }
        let mut scratch = Scratch([0; PLANES * PLANE]);
        let planes = scratch.0.as_mut_ptr();
        // SAFETY (of every use): there are so many planes.
        let place = |n: usize| unsafe { planes.add(n * PLANE) };
        for &n in &party {
            let f = &self.fragments[n];
            let i = &program.code[f.pc as usize];
            let sources = [i.a, i.b, i.c, i.aux];
            for (s, &class) in here.sources.iter().enumerate() {
                // SAFETY: equal sites have operands of equal classes.
                unsafe { copy(self.plane(cx, f, sources[s]), place(s), class, f.mask & have) };
            }
        }
        let operand = |n: usize| (n * PLANE) as u32;
        let mut op = *inst;
        [op.a, op.b, op.c, op.aux] = [operand(0), operand(1), operand(2), operand(3)];
        op.d = operand(RESULT);
        op.slot = operand(PREDICATE) | HAS_PREDICATE;
        let (frame, mask, exec) = (cx.bases[0], cx.mask, cx.exec);
        (cx.bases[0], cx.mask, cx.exec) = (planes, have, have);
        let shuffle = match program.inst(self.fragments[at].pc).map(|inst| &inst.attr) {
            // SAFETY: as for the handler.
            Some(&Attr::Shfl(mode)) => Some((have, unsafe { sources(cx, &op, mode) })),
            _ => None,
        };
        // SAFETY: `cx` is set up for the scratch frame, which the op's operands lie in.
        let flow = unsafe { (op.handler)(cx, &op) };
        (cx.bases[0], cx.mask, cx.exec) = (frame, mask, exec);
        if flow != Flow::Next {
            return false;
        }
        for &n in &party {
            let f = self.fragments[n];
            let i = &program.code[f.pc as usize];
            let goes = f.mask & have;
            // SAFETY: as for the sources.
            unsafe {
                if let Some(class) = here.dst {
                    copy(place(RESULT), self.plane(cx, &f, i.d), class, goes);
                }
                if i.slot & HAS_PREDICATE != 0 {
                    let to = self.plane(cx, &f, i.slot & !HAS_PREDICATE);
                    copy(place(PREDICATE), to, Class::P, goes);
                }
            }
            cx.report_shared(f.pc, goes, shuffle);
            cx.warp_instructions += 1;
            cx.thread_instructions += goes.count_ones() as u64;
            if goes != f.mask {
                self.fragments.push(Fragment { mask: f.mask & !goes, ..f });
            }
            let pc = f.pc + 1;
            self.fragments[n] = Fragment { mask: goes, pc, state: State::Ready, ..f };
        }
        true
    }
}
