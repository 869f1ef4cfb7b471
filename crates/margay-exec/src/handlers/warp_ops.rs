// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ops across the lanes of a warp: vote, match, shuffle, reduce, elect, `bar.warp`.
//!
//! With a member mask, and from compute capability 7.0 on, such an op waits until every lane of the
//! mask that has not exited is in the fragment that executes it: the handler answers
//! [`Flow::Await`], and the scheduler merges fragments and tries again, or runs the op once for
//! lanes of several frames. Below 7.0, and for the forms without a mask, it works on the lanes that
//! are together. `imm` is 0 without a mask, else one more than the index of the op's site.
//!
//! Each lane names its own mask; lanes of different masks (tiles of a warp) are served apart.

use margay_ir::{Attr, Inst as IrInst, Op, ReduxOp, ShflMode, Ty, VoteMode};

use crate::interp::Cx;
use crate::lanes::{Flow, Handler, Inst, Kernel, Lane, WARP, active, plain};
use crate::observe::{Interest, WarpSyncEvent};
use crate::semantics::float::single;

/// Flag in [`Inst::slot`]: the rest of it is the plane of a second, predicate destination.
pub const HAS_PREDICATE: u32 = 2;

/// Whether every lane that the member masks name has arrived.
///
/// # Safety
/// `masks` is a W plane of the frame.
#[inline(always)]
unsafe fn arrived(cx: &mut Cx<'_>, i: &Inst, masks: u32) -> bool {
    if i.imm == 0 {
        return true;
    }
    if cx.interest.contains(Interest::WARP_SYNCS) {
        // SAFETY: by the contract.
        unsafe { observe(cx, i, masks) };
    }
    if cx.env.machine.sm < 70 {
        return true;
    }
    let mut named = 0;
    for l in active(cx.mask) {
        // SAFETY: by the contract.
        named |= unsafe { cx.word(masks, l) };
    }
    named & cx.view.alive & !cx.mask == 0
}

/// Reports the arrival of lanes with their member masks.
///
/// # Safety
/// `masks` is a W plane of the frame.
#[cold]
#[inline(never)]
unsafe fn observe(cx: &mut Cx<'_>, i: &Inst, masks: u32) {
    let mut named = [0; WARP];
    for l in active(cx.mask) {
        // SAFETY: by the contract.
        named[l] = unsafe { cx.word(masks, l) };
    }
    // An op that lanes of several frames execute together runs from a copy, which has no address.
    let Some(pc) = cx.env.program.find_pc(i) else { return };
    let (at, mask, alive) = (cx.event_at(pc), cx.mask, cx.view.alive);
    if let Some(watch) = &mut cx.watch {
        watch.warp_sync(&WarpSyncEvent { at, mask, alive, named: &named, places: None });
    }
}

/// Calls `f` for each distinct member mask with the mask as named, and the active lanes that name it.
///
/// # Safety
/// `masks` is a W plane of the frame.
#[inline(always)]
unsafe fn groups(cx: &mut Cx<'_>, masks: u32, mut f: impl FnMut(&mut Cx<'_>, u32, u32)) {
    let mut left = cx.mask;
    while left != 0 {
        // SAFETY: by the contract.
        let member = unsafe { cx.word(masks, (left.trailing_zeros() & 31) as usize) };
        let mut lanes = 0;
        for l in active(left) {
            // SAFETY: by the contract.
            lanes |= ((unsafe { cx.word(masks, l) } == member) as u32) << l;
        }
        f(cx, member, lanes);
        left &= !lanes;
    }
}

/// # Safety
/// `d` is a P plane of the frame.
unsafe fn put_mask(cx: &Cx<'_>, d: u32, bits: u32) {
    // SAFETY: by the contract.
    unsafe {
        let d = cx.plane(d) as *mut u32;
        *d = (*d & !cx.mask) | (bits & cx.mask);
    }
}

macro_rules! warp_op {
    ($(#[$doc:meta])* $name:ident [$($g:tt)*] [$($a:tt)*], $masks:ident, |$cx:ident, $i:ident| $body:block) => {
        $(#[$doc])*
        struct $name $($g)*;
        impl $($g)* Kernel for $name $($a)* {
            unsafe fn run($cx: &mut Cx<'_>, $i: &Inst) -> Flow {
                if $cx.mask == 0 {
                    return Flow::Next;
                }
                // SAFETY: operands were decoded for this frame, and lanes are below 32.
                unsafe {
                    if !arrived($cx, $i, $i.$masks) {
                        return Flow::Await;
                    }
                    $body
                }
                Flow::Next
            }
        }
    };
}

struct Vote<const MODE: u8>;
impl<const MODE: u8> Kernel for Vote<MODE> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        // SAFETY: operands were decoded for this frame.
        unsafe {
            if !arrived(cx, i, i.b) {
                return Flow::Await;
            }
            let p = cx.pred(i.a);
            let mut holds = 0;
            groups(cx, i.b, |_, _, lanes| {
                let yes = p & lanes;
                let result = match MODE {
                    0 => yes == lanes,
                    1 => yes != 0,
                    _ => yes == lanes || yes == 0,
                };
                holds |= if result { lanes } else { 0 };
            });
            put_mask(cx, i.d, holds);
        }
        Flow::Next
    }
}

warp_op!(
    /// Lanes whose predicate holds.
    Ballot [] [], b, |cx, i| {
        let p = cx.pred(i.a);
        let mut r = [0u32; WARP];
        groups(cx, i.b, |_, _, lanes| {
            for l in active(lanes) {
                r[l] = p & lanes;
            }
        });
        u32::put(cx.plane(i.d), &r, cx.mask);
    }
);

struct MatchAny<const WIDE: bool>;
impl<const WIDE: bool> Kernel for MatchAny<WIDE> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        // SAFETY: operands were decoded for this frame.
        unsafe {
            if !arrived(cx, i, i.b) {
                return Flow::Await;
            }
            let mut r = [0u32; WARP];
            let all: [u64; WARP] = std::array::from_fn(|l| value::<WIDE>(cx, i.a, l));
            groups(cx, i.b, |_, _, lanes| {
                // Each value once: mostly there are few.
                let mut rest = lanes;
                while rest != 0 {
                    let own = all[rest.trailing_zeros() as usize & 31];
                    let bits = all.iter().enumerate().map(|(l, v)| u32::from(*v == own) << l);
                    let same = bits.fold(0, |all, bit| all | bit) & lanes;
                    active(same).for_each(|l| r[l] = same);
                    rest &= !same;
                }
            });
            u32::put(cx.plane(i.d), &r, cx.mask);
        }
        Flow::Next
    }
}

/// # Safety
/// `operand` is a plane of the class that `WIDE` says.
unsafe fn value<const WIDE: bool>(cx: &Cx<'_>, operand: u32, l: usize) -> u64 {
    // SAFETY: by the contract.
    unsafe { if WIDE { cx.double(operand, l) } else { cx.word(operand, l) as u64 } }
}

struct MatchAll<const WIDE: bool>;
impl<const WIDE: bool> Kernel for MatchAll<WIDE> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        // SAFETY: operands were decoded for this frame.
        unsafe {
            if !arrived(cx, i, i.b) {
                return Flow::Await;
            }
            let mut r = [0u32; WARP];
            let mut agreeing = 0;
            groups(cx, i.b, |cx, _, lanes| {
                let first = value::<WIDE>(cx, i.a, lanes.trailing_zeros() as usize);
                if active(lanes).all(|l| value::<WIDE>(cx, i.a, l) == first) {
                    agreeing |= lanes;
                    for l in active(lanes) {
                        r[l] = lanes;
                    }
                }
            });
            u32::put(cx.plane(i.d), &r, cx.mask);
            if i.slot & HAS_PREDICATE != 0 {
                put_mask(cx, i.slot & !HAS_PREDICATE, agreeing);
            }
        }
        Flow::Next
    }
}

/// The lane whose value a lane has from `shfl`, and whether it is inside its segment: by the manual's own pseudo-code. Modes are in
/// the order of [`ShflMode`].
#[inline(always)]
fn source<const MODE: u8>(lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (lane, b) = (lane as i32, (b & 31) as i32);
    let (clamp, segment) = ((c & 31) as i32, (c >> 8 & 31) as i32);
    let least = lane & segment;
    let most = least | (clamp & !segment);
    let (from, ok) = match MODE {
        0 => (lane - b, lane - b >= most),
        1 => (lane + b, lane + b <= most),
        2 => (lane ^ b, lane ^ b <= most),
        _ => {
            let from = least | (b & !segment);
            (from, from <= most)
        }
    };
    (if ok { from & 31 } else { lane } as u32, ok)
}

/// The lane whose value each lane reads by a `shfl`.
///
/// # Safety
/// `i` is a `shfl` of that mode, decoded for the frame of `cx`.
pub unsafe fn sources(cx: &Cx<'_>, i: &Inst, mode: ShflMode) -> [u8; WARP] {
    let source = match mode {
        ShflMode::Up => source::<0>,
        ShflMode::Down => source::<1>,
        ShflMode::Bfly => source::<2>,
        ShflMode::Idx => source::<3>,
    };
    std::array::from_fn(|l| {
        // SAFETY: by the contract.
        let (b, c) = unsafe { (cx.word(i.b, l), cx.word(i.c, l)) };
        source(l as u32, b, c).0 as u8
    })
}

/// `shfl`. A source lane that is not here gives what its register holds.
struct Shfl<const MODE: u8>;
impl<const MODE: u8> Kernel for Shfl<MODE> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        // SAFETY: operands were decoded for this frame; source lanes are taken modulo 32.
        unsafe {
            if !arrived(cx, i, i.aux) {
                return Flow::Await;
            }
            let mut r = [0u32; WARP];
            let mut inside = 0u32;
            for (l, r) in r.iter_mut().enumerate() {
                let (from, ok) = source::<MODE>(l as u32, cx.word(i.b, l), cx.word(i.c, l));
                inside |= (ok as u32) << l;
                *r = cx.word(i.a, from as usize & 31);
            }
            u32::put(cx.plane(i.d), &r, cx.mask);
            if i.slot & HAS_PREDICATE != 0 {
                put_mask(cx, i.slot & !HAS_PREDICATE, inside);
            }
        }
        Flow::Next
    }
}

/// A reduction of 32-bit values: start from the first lane's.
trait Reduce {
    fn step(a: u32, b: u32) -> u32;
    fn prepare(a: u32) -> u32 {
        a
    }
}
macro_rules! reduce {
    ($($name:ident $f:expr;)*) => { $(
        struct $name;
        impl Reduce for $name {
            fn step(a: u32, b: u32) -> u32 {
                let f: fn(u32, u32) -> u32 = $f;
                f(a, b)
            }
        }
    )* };
}
reduce! {
    RAdd u32::wrapping_add;
    RMinS |a, b| (a as i32).min(b as i32) as u32;
    RMinU u32::min;
    RMaxS |a, b| (a as i32).max(b as i32) as u32;
    RMaxU u32::max;
    RAnd |a, b| a & b;
    ROr |a, b| a | b;
    RXor |a, b| a ^ b;
}
struct RFloat<const MAX: bool, const ABS: bool, const NAN: bool>;
impl<const MAX: bool, const ABS: bool, const NAN: bool> Reduce for RFloat<MAX, ABS, NAN> {
    fn step(a: u32, b: u32) -> u32 {
        single::minmax::<MAX, false, NAN, false>(a, b)
    }
    fn prepare(a: u32) -> u32 {
        if ABS { a & 0x7fff_ffff } else { a }
    }
}

struct Redux<R>(std::marker::PhantomData<R>);
impl<R: Reduce> Kernel for Redux<R> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        // SAFETY: operands were decoded for this frame.
        unsafe {
            if !arrived(cx, i, i.b) {
                return Flow::Await;
            }
            let mut r = [0u32; WARP];
            groups(cx, i.b, |cx, _, lanes| {
                let mut values = active(lanes).map(|l| R::prepare(cx.word(i.a, l)));
                let first = values.next().unwrap_or(0);
                let result = values.fold(first, R::step);
                for l in active(lanes) {
                    r[l] = result;
                }
            });
            u32::put(cx.plane(i.d), &r, cx.mask);
        }
        Flow::Next
    }
}

warp_op!(
    /// The lowest lane of the mask is elected.
    Elect [] [], a, |cx, i| {
        let mut r = [0u32; WARP];
        let mut elected = 0;
        groups(cx, i.a, |_, _, lanes| {
            let leader = lanes.trailing_zeros();
            elected |= 1 << leader;
            for l in active(lanes) {
                r[l] = leader;
            }
        });
        u32::put(cx.plane(i.d), &r, cx.mask);
        if i.slot & HAS_PREDICATE != 0 {
            put_mask(cx, i.slot & !HAS_PREDICATE, elected);
        }
    }
);

/// `bar.warp.sync`. The scheduler also lets fragments at other `bar.warp`s count.
struct BarWarp;
impl Kernel for BarWarp {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        // SAFETY: operands were decoded for this frame.
        if cx.mask == 0 {
            return Flow::Next;
        }
        // SAFETY: as above.
        if !unsafe { arrived(cx, i, i.a) } {
            return Flow::Meet;
        }
        if cx.interest.contains(Interest::WARP_SYNCS) {
            let at = cx.event_at(cx.env.program.pc_of(i));
            // Lanes that come together may be several groups, each of which meets by itself.
            // SAFETY: as above.
            unsafe { groups(cx, i.a, |cx, _, lanes| cx.report_warp_barrier(at, lanes)) };
        }
        Flow::Next
    }
}

/// The member masks that the active lanes name, together.
///
/// # Safety
/// `i` is a `bar.warp` of the frame that `cx` is set up for.
pub unsafe fn bar_warp_needs(cx: &Cx<'_>, i: &Inst) -> u32 {
    // SAFETY: by the contract.
    active(cx.mask).fold(0, |m, l| m | unsafe { cx.word(i.a, l) })
}

/// The handler of a warp-wide op; `None` if the attribute does not fit.
pub fn handler(inst: &IrInst) -> Option<Handler> {
    use std::marker::PhantomData;
    fn redux<R: Reduce>(_: R) -> Handler {
        let _: PhantomData<R> = PhantomData;
        plain::<Redux<R>>()
    }
    let wide = inst.ty == Ty::I64;
    Some(match (inst.op, &inst.attr) {
        (Op::Vote, Attr::Vote(VoteMode::All)) => plain::<Vote<0>>(),
        (Op::Vote, Attr::Vote(VoteMode::Any)) => plain::<Vote<1>>(),
        (Op::Vote, Attr::Vote(VoteMode::Uni)) => plain::<Vote<2>>(),
        (Op::Ballot, _) => plain::<Ballot>(),
        (Op::MatchAny, _) if wide => plain::<MatchAny<true>>(),
        (Op::MatchAny, _) => plain::<MatchAny<false>>(),
        (Op::MatchAll, _) if wide => plain::<MatchAll<true>>(),
        (Op::MatchAll, _) => plain::<MatchAll<false>>(),
        (Op::Shfl, Attr::Shfl(ShflMode::Up)) => plain::<Shfl<0>>(),
        (Op::Shfl, Attr::Shfl(ShflMode::Down)) => plain::<Shfl<1>>(),
        (Op::Shfl, Attr::Shfl(ShflMode::Bfly)) => plain::<Shfl<2>>(),
        (Op::Shfl, Attr::Shfl(ShflMode::Idx)) => plain::<Shfl<3>>(),
        (Op::Redux, Attr::Redux(op)) => match *op {
            ReduxOp::Add => redux(RAdd),
            ReduxOp::MinS => redux(RMinS),
            ReduxOp::MinU => redux(RMinU),
            ReduxOp::MaxS => redux(RMaxS),
            ReduxOp::MaxU => redux(RMaxU),
            ReduxOp::And => redux(RAnd),
            ReduxOp::Or => redux(ROr),
            ReduxOp::Xor => redux(RXor),
            ReduxOp::FMin { abs: false, nan: false } => redux(RFloat::<false, false, false>),
            ReduxOp::FMin { abs: false, nan: true } => redux(RFloat::<false, false, true>),
            ReduxOp::FMin { abs: true, nan: false } => redux(RFloat::<false, true, false>),
            ReduxOp::FMin { abs: true, nan: true } => redux(RFloat::<false, true, true>),
            ReduxOp::FMax { abs: false, nan: false } => redux(RFloat::<true, false, false>),
            ReduxOp::FMax { abs: false, nan: true } => redux(RFloat::<true, false, true>),
            ReduxOp::FMax { abs: true, nan: false } => redux(RFloat::<true, true, false>),
            ReduxOp::FMax { abs: true, nan: true } => redux(RFloat::<true, true, true>),
        },
        (Op::Elect, _) => plain::<Elect>(),
        (Op::BarWarp, _) => plain::<BarWarp>(),
        (_, _) => return None,
    })
}
