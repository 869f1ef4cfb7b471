// SPDX-License-Identifier: MIT OR Apache-2.0
//! Atomic read-modify-write operations.
//!
//! On global memory they are host atomics, sequentially consistent, so that blocks on other workers
//! and the host's own threads see them whole. A block's shared memory is only ever touched by the
//! worker that runs its cluster, and a plain update is as atomic as can be. Lanes go in ascending
//! order.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use margay_ir::{AtomOp, Space, Ty};
use portable_atomic::AtomicU128;

use super::address::{access, resolve, space};
use super::memory::POLL_COST;
use crate::interp::Cx;
use crate::lanes::{Flow, Handler, Inst, Kernel, Lane, WARP, active, plain};
use crate::semantics::float::{double, single};
use crate::semantics::half_float::{bf16, f16};
use crate::semantics::int::{w16, w32, w64};

/// A memory cell and the register class of its value.
pub trait Cell: Copy + PartialEq {
    type Reg: Lane + PartialEq;
    const BYTES: u64;
    /// Replaces the value at `p` by `f` of it, as one step for every thread of the process.
    /// Returns the old one.
    ///
    /// # Safety
    /// `p` is resolved for an atomic access of this width.
    unsafe fn update(p: u64, f: impl Fn(Self::Reg) -> Self::Reg) -> Self::Reg;
    /// The same without other threads.
    ///
    /// # Safety
    /// As for `update`, and no other thread touches the cell.
    unsafe fn update_alone(p: u64, f: impl Fn(Self::Reg) -> Self::Reg) -> Self::Reg;
}

macro_rules! cell {
    ($t:ty, $reg:ty, $atomic:ty) => {
        impl Cell for $t {
            type Reg = $reg;
            const BYTES: u64 = size_of::<$t>() as u64;
            #[inline(always)]
            unsafe fn update(p: u64, f: impl Fn($reg) -> $reg) -> $reg {
                // SAFETY: resolved and aligned.
                let cell = unsafe { &*(p as *const $atomic) };
                let mut old = cell.load(Ordering::Relaxed);
                loop {
                    let new = f(old as $reg) as $t;
                    match cell.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::SeqCst) {
                        Ok(_) => return old as $reg,
                        Err(now) => old = now,
                    }
                }
            }
            #[inline(always)]
            unsafe fn update_alone(p: u64, f: impl Fn($reg) -> $reg) -> $reg {
                // SAFETY: resolved, aligned, and ours alone.
                unsafe {
                    let cell = p as *mut $t;
                    let old = *cell as $reg;
                    *cell = f(old) as $t;
                    old
                }
            }
        }
    };
}
cell!(u16, u32, AtomicU16);
cell!(u32, u32, AtomicU32);
cell!(u64, u64, AtomicU64);

/// `atom` and `red`: address `a`, operand `b`, and for `cas` the new value `c`.
struct Atom<const SPACE: u8, const KEEP: bool, C, F>(PhantomData<(C, F)>);

impl<const SPACE: u8, const KEEP: bool, C, F> Kernel for Atom<SPACE, KEEP, C, F>
where
    C: Cell,
    F: Fn(C::Reg, C::Reg, C::Reg) -> C::Reg + Copy,
{
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        let f = crate::lanes::conjure::<F>();
        let mut p = [0; WARP];
        let mut r = [C::Reg::ZERO; WARP];
        let mut changed = false;
        // SAFETY: operands were decoded for this frame, and pointers are resolved.
        unsafe {
            if !resolve::<SPACE, { access::ATOMIC }>(cx, i, C::BYTES, &mut p) {
                return Flow::Fault;
            }
            let (b, c) = (cx.plane(i.b), cx.plane(i.c));
            for l in active(cx.mask) {
                let (b, c) = (C::Reg::get(b, l), C::Reg::get(c, l));
                let old = if SPACE == space::SHARED {
                    C::update_alone(p[l], |v| f(v, b, c))
                } else if cx.rehearses {
                    // Nothing is stored.
                    C::update(p[l], |v| v)
                } else {
                    C::update(p[l], |v| f(v, b, c))
                };
                changed |= f(old, b, c) != old;
                r[l] = old;
            }
            if KEEP {
                C::Reg::put(cx.plane(i.d), &r, cx.mask);
            }
        }
        cx.changes += changed as u64;
        cx.polls += 1;
        cx.fuel -= POLL_COST;
        Flow::Next
    }
}

/// `atom.b128`: address `a`, the low half of the first value `b` and of the old one `d`; the others' planes
/// are listed at `aux`: the old value's upper half, the first value's, and for `cas` both of the new one.
struct AtomWide<const SPACE: u8, const CAS: bool>;

impl<const SPACE: u8, const CAS: bool> Kernel for AtomWide<SPACE, CAS> {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        let mut p = [0; WARP];
        let (mut low, mut high) = ([0u64; WARP], [0u64; WARP]);
        let mut changed = false;
        // SAFETY: operands were decoded for this frame, and pointers are resolved, so aligned to 16 bytes.
        unsafe {
            if !resolve::<SPACE, { access::ATOMIC }>(cx, i, 16, &mut p) {
                return Flow::Fault;
            }
            let listed = |n: u32| cx.plane(cx.env.program.extra[(i.aux + n) as usize]);
            let whole = |low: *const u8, high: *const u8, l: usize| {
                u128::from(u64::get(low, l)) | u128::from(u64::get(high, l)) << 64
            };
            for l in active(cx.mask) {
                let first = whole(cx.plane(i.b), listed(1), l);
                let cell = &*(p[l] as *const AtomicU128);
                let old = if CAS {
                    let new = whole(listed(2), listed(3), l);
                    let old = cell
                        .compare_exchange(first, new, Ordering::SeqCst, Ordering::SeqCst)
                        .unwrap_or_else(|found| found);
                    changed |= old == first && new != old;
                    old
                } else {
                    let old = cell.swap(first, Ordering::SeqCst);
                    changed |= old != first;
                    old
                };
                (low[l], high[l]) = (old as u64, (old >> 64) as u64);
            }
            let upper = listed(0);
            u64::put(cx.plane(i.d), &low, cx.mask);
            u64::put(upper, &high, cx.mask);
        }
        cx.changes += changed as u64;
        cx.polls += 1;
        cx.fuel -= POLL_COST;
        Flow::Next
    }
}

/// The handler of an atomic of 128 bits; `None` if there is no such.
pub fn wide(op: AtomOp, space: Space) -> Option<Handler> {
    Some(match (space, op) {
        (Space::Shared, AtomOp::Exch) => plain::<AtomWide<{ space::SHARED }, false>>(),
        (Space::Shared, AtomOp::Cas) => plain::<AtomWide<{ space::SHARED }, true>>(),
        (Space::Global, AtomOp::Exch) => plain::<AtomWide<{ space::GLOBAL }, false>>(),
        (Space::Global, AtomOp::Cas) => plain::<AtomWide<{ space::GLOBAL }, true>>(),
        (Space::Generic, AtomOp::Exch) => plain::<AtomWide<{ space::GENERIC }, false>>(),
        (Space::Generic, AtomOp::Cas) => plain::<AtomWide<{ space::GENERIC }, true>>(),
        (
            _,
            AtomOp::And
            | AtomOp::Or
            | AtomOp::Xor
            | AtomOp::Add
            | AtomOp::Inc
            | AtomOp::Dec
            | AtomOp::MinS
            | AtomOp::MinU
            | AtomOp::MaxS
            | AtomOp::MaxU
            | AtomOp::FAdd
            | AtomOp::FMin
            | AtomOp::FMax,
        )
        | (Space::Local | Space::Const | Space::Param, _) => return None,
    })
}

fn build<C, F>(space: Space, keep: bool, _: F) -> Option<Handler>
where
    C: Cell,
    F: Fn(C::Reg, C::Reg, C::Reg) -> C::Reg + Copy,
{
    Some(match (space, keep) {
        (Space::Shared, true) => plain::<Atom<{ space::SHARED }, true, C, F>>(),
        (Space::Shared, false) => plain::<Atom<{ space::SHARED }, false, C, F>>(),
        (Space::Global, true) => plain::<Atom<{ space::GLOBAL }, true, C, F>>(),
        (Space::Global, false) => plain::<Atom<{ space::GLOBAL }, false, C, F>>(),
        (Space::Generic, true) => plain::<Atom<{ space::GENERIC }, true, C, F>>(),
        (Space::Generic, false) => plain::<Atom<{ space::GENERIC }, false, C, F>>(),
        (Space::Local | Space::Const | Space::Param, _) => return None,
    })
}

macro_rules! integers {
    ($space:expr, $keep:expr, $op:expr, $cell:ty, $w:ident) => {
        match $op {
            AtomOp::And => build::<$cell, _>($space, $keep, |v, b, _| v & b),
            AtomOp::Or => build::<$cell, _>($space, $keep, |v, b, _| v | b),
            AtomOp::Xor => build::<$cell, _>($space, $keep, |v, b, _| v ^ b),
            AtomOp::Exch => build::<$cell, _>($space, $keep, |_, b, _| b),
            AtomOp::Cas => {
                build::<$cell, _>(
                    $space,
                    $keep,
                    |v, b, c| {
                        if v as $cell == b as $cell { c } else { v }
                    },
                )
            }
            AtomOp::Add => build::<$cell, _>($space, $keep, |v, b, _| $w::add(v, b)),
            AtomOp::Inc => {
                build::<$cell, _>($space, $keep, |v, b, _| if v >= b { 0 } else { v + 1 })
            }
            AtomOp::Dec => {
                build::<$cell, _>($space, $keep, |v, b, _| if v == 0 || v > b { b } else { v - 1 })
            }
            AtomOp::MinS => build::<$cell, _>($space, $keep, |v, b, _| $w::min_s(v, b)),
            AtomOp::MinU => build::<$cell, _>($space, $keep, |v, b, _| $w::min_u(v, b)),
            AtomOp::MaxS => build::<$cell, _>($space, $keep, |v, b, _| $w::max_s(v, b)),
            AtomOp::MaxU => build::<$cell, _>($space, $keep, |v, b, _| $w::max_u(v, b)),
            AtomOp::FAdd | AtomOp::FMin | AtomOp::FMax => None,
        }
    };
}

macro_rules! floats {
    ($space:expr, $keep:expr, $op:expr, $ftz:expr, $cell:ty, $add:expr, $add_ftz:expr, $min:expr, $max:expr) => {
        match ($op, $ftz) {
            (AtomOp::FAdd, false) => build::<$cell, _>($space, $keep, |v, b, _| $add(v, b)),
            (AtomOp::FAdd, true) => build::<$cell, _>($space, $keep, |v, b, _| $add_ftz(v, b)),
            (AtomOp::FMin, _) => build::<$cell, _>($space, $keep, |v, b, _| $min(v, b)),
            (AtomOp::FMax, _) => build::<$cell, _>($space, $keep, |v, b, _| $max(v, b)),
            (AtomOp::Exch, _) => build::<$cell, _>($space, $keep, |_, b, _| b),
            (
                AtomOp::And
                | AtomOp::Or
                | AtomOp::Xor
                | AtomOp::Cas
                | AtomOp::Add
                | AtomOp::Inc
                | AtomOp::Dec
                | AtomOp::MinS
                | AtomOp::MinU
                | AtomOp::MaxS
                | AtomOp::MaxU,
                _,
            ) => None,
        }
    };
}

/// The handler of an atomic; `None` if the combination is not legal.
pub fn handler(op: AtomOp, ty: Ty, space: Space, ftz: bool, keep: bool) -> Option<Handler> {
    match ty {
        Ty::I16 => integers!(space, keep, op, u16, w16),
        Ty::I32 => integers!(space, keep, op, u32, w32),
        Ty::I64 => integers!(space, keep, op, u64, w64),
        Ty::F16 => floats!(
            space,
            keep,
            op,
            ftz,
            u16,
            f16::add::<false, false>,
            f16::add::<true, false>,
            f16::minmax::<false, false, false, false>,
            f16::minmax::<true, false, false, false>
        ),
        Ty::BF16 => floats!(
            space,
            keep,
            op,
            ftz,
            u16,
            bf16::add::<false, false>,
            bf16::add::<true, false>,
            bf16::minmax::<false, false, false, false>,
            bf16::minmax::<true, false, false, false>
        ),
        Ty::F32 => floats!(
            space,
            keep,
            op,
            ftz,
            u32,
            single::add::<0, false, false>,
            single::add::<0, true, false>,
            single::minmax::<false, false, false, false>,
            single::minmax::<true, false, false, false>
        ),
        // A loop of compare and swap adds the two the other way round, which NaNs tell (measured on an H200).
        Ty::F64 if op == AtomOp::FAdd && space == Space::Shared => {
            build::<u64, _>(space, keep, |v, b, _| double::add::<0>(b, v))
        }
        Ty::F64 => floats!(
            space,
            keep,
            op,
            ftz,
            u64,
            double::add::<0>,
            double::add::<0>,
            double::minmax::<false, false, false>,
            double::minmax::<true, false, false>
        ),
        Ty::Pred | Ty::I8 => None,
    }
}
