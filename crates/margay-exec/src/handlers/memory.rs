// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and stores.
//!
//! After [`super::address::resolve`] a load looks at eight lanes at a time: equal pointers are one
//! read, consecutive ones one vector copy, all else is read lane by lane. Weak accesses of other
//! threads may race with these, as on a card; strong ones (volatile, relaxed, acquire, release) are
//! host atomics, never torn.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use margay_ir::{Class, Space, Ty};

use super::address::{access, resolve, space};
use crate::interp::Cx;
use crate::lanes::{Flow, Handler, Inst, Kernel, Lane, WARP, active, plain, wide};

/// Fuel that a strong load or an atomic takes: a spinning thread gives way after a few hundred.
pub const POLL_COST: i64 = 200;

/// An element in memory and the register class it is loaded into or stored from.
pub trait Element {
    const BYTES: u64;
    /// Whether memory and register hold the same bits.
    const SAME: bool;
    type Reg: Lane;
    /// # Safety
    /// `p` is resolved for `BYTES` bytes.
    unsafe fn read(p: u64) -> Self::Reg;
    /// # Safety
    /// As for `read`.
    unsafe fn read_strong(p: u64) -> Self::Reg;
    /// # Safety
    /// As for `read`, for writing.
    unsafe fn write(p: u64, v: Self::Reg);
    /// # Safety
    /// As for `write`.
    unsafe fn write_strong(p: u64, v: Self::Reg);
}

macro_rules! element {
    ($name:ident, $mem:ty, $via:ty, $reg:ty, $atomic:ty, $same:literal) => {
        pub struct $name;
        impl Element for $name {
            const BYTES: u64 = size_of::<$mem>() as u64;
            const SAME: bool = $same;
            type Reg = $reg;
            #[inline(always)]
            unsafe fn read(p: u64) -> $reg {
                // SAFETY: resolved and aligned.
                (unsafe { *(p as *const $mem) }) as $via as $reg
            }
            #[inline(always)]
            unsafe fn read_strong(p: u64) -> $reg {
                // SAFETY: resolved and aligned.
                let v = unsafe { (*(p as *const $atomic)).load(Ordering::Acquire) };
                v as $mem as $via as $reg
            }
            #[inline(always)]
            unsafe fn write(p: u64, v: $reg) {
                // SAFETY: resolved and aligned.
                unsafe { *(p as *mut $mem) = v as $mem }
            }
            #[inline(always)]
            unsafe fn write_strong(p: u64, v: $reg) {
                // SAFETY: resolved and aligned.
                unsafe { (*(p as *const $atomic)).store(v as _, Ordering::Release) }
            }
        }
    };
}
element!(U8W, u8, u8, u32, AtomicU8, false);
element!(S8W, u8, i8, u32, AtomicU8, false);
element!(U8D, u8, u8, u64, AtomicU8, false);
element!(S8D, u8, i8, u64, AtomicU8, false);
element!(U16W, u16, u16, u32, AtomicU16, false);
element!(S16W, u16, i16, u32, AtomicU16, false);
element!(U16D, u16, u16, u64, AtomicU16, false);
element!(S16D, u16, i16, u64, AtomicU16, false);
element!(U32W, u32, u32, u32, AtomicU32, true);
element!(U32D, u32, u32, u64, AtomicU32, false);
element!(S32D, u32, i32, u64, AtomicU32, false);
element!(U64D, u64, u64, u64, AtomicU64, true);

/// Reads `offset` bytes beyond each pointer into the plane `d`. `stride` is the distance of
/// consecutive lanes in a contiguous access.
#[inline(always)]
unsafe fn gather<E: Element>(p: &[u64; WARP], offset: u64, stride: u64, d: *mut u8, mask: u32) {
    let mut r = [E::Reg::ZERO; WARP];
    for g in 0..4 {
        let g = g * 8;
        let first = p[g];
        let (mut same, mut sequence) = (0, 0);
        for l in 0..8 {
            let distance = p[g + l].wrapping_sub(first);
            same |= distance;
            sequence |= distance ^ (l as u64 * stride);
        }
        // SAFETY: every pointer is resolved for the access, of which this element is a part, and a
        // plane holds 32 lanes.
        unsafe {
            if same == 0 {
                let v = E::read(first + offset);
                for l in 0..8 {
                    r[g + l] = v;
                }
            } else if E::SAME && stride == E::BYTES && sequence == 0 {
                r[g..g + 8].copy_from_slice(&*((first + offset) as *const [E::Reg; 8]));
            } else {
                for l in 0..8 {
                    r[g + l] = E::read(p[g + l] + offset);
                }
            }
        }
    }
    // SAFETY: `d` is a plane of the element's register class.
    unsafe { E::Reg::put(d, &r, mask) }
}

#[inline(always)]
unsafe fn scatter<E: Element>(p: &[u64; WARP], offset: u64, stride: u64, s: *const u8, mask: u32) {
    for g in 0..4 {
        let g = g * 8;
        let lanes = mask >> g & 0xff;
        let first = p[g];
        // SAFETY: every active lane's pointer is resolved for writing; the plane holds 32 lanes.
        unsafe {
            if E::SAME && stride == E::BYTES && lanes == 0xff {
                let mut sequence = 0;
                for l in 0..8 {
                    sequence |= p[g + l].wrapping_sub(first) ^ (l as u64 * stride);
                }
                if sequence == 0 {
                    let from = &*((s as *const E::Reg).add(g) as *const [E::Reg; 8]);
                    *((first + offset) as *mut [E::Reg; 8]) = *from;
                    continue;
                }
            }
            for l in active(lanes) {
                E::write(p[g + l] + offset, E::Reg::get(s, g + l));
            }
        }
    }
}

/// `ld` of `c` elements into the planes listed at `aux`, or of one into `d`.
pub struct Load<const SPACE: u8, E>(PhantomData<E>);
/// A strong `ld`.
pub struct LoadStrong<const SPACE: u8, E>(PhantomData<E>);
/// `st`, likewise.
pub struct Store<const SPACE: u8, E>(PhantomData<E>);
/// A strong `st`.
pub struct StoreStrong<const SPACE: u8, E>(PhantomData<E>);

impl<const SPACE: u8, E: Element> Kernel for Load<SPACE, E> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        let n = i.c as u64;
        let mut p = [0; WARP];
        // SAFETY: operands were decoded for this frame.
        unsafe {
            if n == 1 {
                if !resolve::<SPACE, { access::READ }>(cx, i, E::BYTES, &mut p) {
                    return Flow::Fault;
                }
                gather::<E>(&p, 0, E::BYTES, cx.plane(i.d), cx.mask);
            } else {
                if !resolve::<SPACE, { access::READ }>(cx, i, n * E::BYTES, &mut p) {
                    return Flow::Fault;
                }
                for e in 0..n {
                    let d = cx.plane(cx.env.program.extra[(i.aux as u64 + e) as usize]);
                    gather::<E>(&p, e * E::BYTES, n * E::BYTES, d, cx.mask);
                }
            }
        }
        Flow::Next
    }
}

impl<const SPACE: u8, E: Element> Kernel for LoadStrong<SPACE, E> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        let n = i.c as u64;
        let mut p = [0; WARP];
        // SAFETY: operands were decoded for this frame, and pointers are resolved.
        unsafe {
            if !resolve::<SPACE, { access::READ }>(cx, i, n * E::BYTES, &mut p) {
                return Flow::Fault;
            }
            for e in 0..n {
                let listed = || cx.env.program.extra[(i.aux as u64 + e) as usize];
                let d = if n == 1 { i.d } else { listed() };
                let mut r = [E::Reg::ZERO; WARP];
                for l in active(cx.mask) {
                    r[l] = E::read_strong(p[l] + e * E::BYTES);
                }
                E::Reg::put(cx.plane(d), &r, cx.mask);
            }
        }
        cx.polls += 1;
        cx.fuel -= POLL_COST;
        Flow::Next
    }
}

impl<const SPACE: u8, E: Element> Kernel for Store<SPACE, E> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        let n = i.c as u64;
        let mut p = [0; WARP];
        // SAFETY: operands were decoded for this frame.
        unsafe {
            if !resolve::<SPACE, { access::WRITE }>(cx, i, n * E::BYTES, &mut p) {
                return Flow::Fault;
            }
            if n == 1 {
                scatter::<E>(&p, 0, E::BYTES, cx.plane(i.b), cx.mask);
            } else {
                for e in 0..n {
                    let s = cx.plane(cx.env.program.extra[(i.aux as u64 + e) as usize]);
                    scatter::<E>(&p, e * E::BYTES, n * E::BYTES, s, cx.mask);
                }
            }
        }
        if SPACE != space::LOCAL {
            cx.changes += 1;
        }
        Flow::Next
    }
}

impl<const SPACE: u8, E: Element> Kernel for StoreStrong<SPACE, E> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        let n = i.c as u64;
        let mut p = [0; WARP];
        // SAFETY: operands were decoded for this frame, and pointers are resolved.
        unsafe {
            if !resolve::<SPACE, { access::WRITE }>(cx, i, n * E::BYTES, &mut p) {
                return Flow::Fault;
            }
            for e in 0..n {
                let listed = || cx.env.program.extra[(i.aux as u64 + e) as usize];
                let s = cx.plane(if n == 1 { i.b } else { listed() });
                for l in active(cx.mask) {
                    E::write_strong(p[l] + e * E::BYTES, E::Reg::get(s, l));
                }
            }
        }
        if SPACE != space::LOCAL {
            cx.changes += 1;
        }
        Flow::Next
    }
}

/// `prefetch` and other hints, which never fault.
pub struct Hint;
impl Kernel for Hint {
    unsafe fn run(_: &mut Cx<'_>, _: &Inst) -> Flow {
        Flow::Next
    }
}

macro_rules! by_element {
    ($pick:ident, $k:ident, $sp:expr, $ty:expr, $class:expr, $signed:expr) => {
        match ($ty, $class, $signed) {
            (Ty::I8, Class::W, false) => $pick::<$k<{ $sp }, U8W>>(),
            (Ty::I8, Class::W, true) => $pick::<$k<{ $sp }, S8W>>(),
            (Ty::I8, Class::D, false) => $pick::<$k<{ $sp }, U8D>>(),
            (Ty::I8, Class::D, true) => $pick::<$k<{ $sp }, S8D>>(),
            (Ty::I16, Class::W, false) => $pick::<$k<{ $sp }, U16W>>(),
            (Ty::I16, Class::W, true) => $pick::<$k<{ $sp }, S16W>>(),
            (Ty::I16, Class::D, false) => $pick::<$k<{ $sp }, U16D>>(),
            (Ty::I16, Class::D, true) => $pick::<$k<{ $sp }, S16D>>(),
            (Ty::I32, Class::W, _) => $pick::<$k<{ $sp }, U32W>>(),
            (Ty::I32, Class::D, false) => $pick::<$k<{ $sp }, U32D>>(),
            (Ty::I32, Class::D, true) => $pick::<$k<{ $sp }, S32D>>(),
            (Ty::I64, Class::D, _) => $pick::<$k<{ $sp }, U64D>>(),
            (Ty::I64, Class::W, _)
            | (Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64, Class::P, _)
            | (Ty::Pred | Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64, _, _) => return None,
        }
    };
}

macro_rules! by_space {
    ($weak:ident, $strong:ident, $sp:expr, $is_strong:expr, $ty:expr, $class:expr, $signed:expr) => {
        match ($sp, $is_strong) {
            (Space::Global, false) => by_element!(wide, $weak, space::GLOBAL, $ty, $class, $signed),
            (Space::Shared, false) => by_element!(wide, $weak, space::SHARED, $ty, $class, $signed),
            (Space::Generic, false) => {
                by_element!(wide, $weak, space::GENERIC, $ty, $class, $signed)
            }
            (Space::Local, false) => by_element!(wide, $weak, space::LOCAL, $ty, $class, $signed),
            (Space::Const, _) => by_element!(plain, $weak, space::CONST, $ty, $class, $signed),
            (Space::Param, _) => by_element!(plain, $weak, space::PARAM, $ty, $class, $signed),
            (Space::Global, true) => {
                by_element!(plain, $strong, space::GLOBAL, $ty, $class, $signed)
            }
            (Space::Generic, true) => {
                by_element!(plain, $strong, space::GENERIC, $ty, $class, $signed)
            }
            (Space::Shared, true) => {
                by_element!(plain, $strong, space::SHARED, $ty, $class, $signed)
            }
            (Space::Local, true) => by_element!(plain, $strong, space::LOCAL, $ty, $class, $signed),
        }
    };
}

/// The handler of a load; `None` if the combination of type and class is not legal.
pub fn load(sp: Space, strong: bool, ty: Ty, class: Class, signed: bool) -> Option<Handler> {
    Some(by_space!(Load, LoadStrong, sp, strong, ty, class, signed))
}

/// The handler of a store; `None` if the combination of type and class is not legal.
pub fn store(sp: Space, strong: bool, ty: Ty, class: Class) -> Option<Handler> {
    Some(by_space!(Store, StoreStrong, sp, strong, ty, class, false))
}
