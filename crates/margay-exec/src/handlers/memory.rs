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
use portable_atomic::AtomicU128;

use super::address::{access, observe_groups, resolve, space};
use crate::interp::Cx;
use crate::lanes::{FULL, Flow, Handler, Inst, Kernel, Lane, WARP, active, hot, plain, wide};

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

/// Whether a strong access goes as 16 bytes in one: two halves of a `.b128` must not come from two
/// stores. Memory that may be mapped for reading alone is left out, as a host without AVX loads by exchanging.
#[inline(always)]
const fn whole<const SPACE: u8, E: Element>(n: u64) -> bool {
    n == 2 && E::BYTES == 8 && !matches!(SPACE, space::CONST | space::PARAM)
}

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

/// Which groups of eight lanes hold one address, and which hold consecutive elements of `stride`
/// bytes: a bit each.
#[inline(always)]
fn classify(plane: &[u64; WARP], stride: u64) -> (u32, u32) {
    #[cfg(all(target_arch = "x86_64", any(not(debug_assertions), feature = "wide-handlers")))]
    if crate::lanes::width() >= crate::lanes::Width::Avx2 {
        // SAFETY: the processor has AVX2.
        return unsafe { classify_avx2(plane, stride) };
    }
    let (mut uniform, mut consecutive) = (0, 0);
    for g in 0..4 {
        let (mut same, mut sequence) = (0, 0);
        for l in 0..8 {
            let distance = plane[g * 8 + l].wrapping_sub(plane[g * 8]);
            same |= distance;
            sequence |= distance ^ (l as u64 * stride);
        }
        uniform |= ((same == 0) as u32) << g;
        consecutive |= ((sequence == 0) as u32) << g;
    }
    (uniform, consecutive)
}

/// The same in vectors: compilers leave the loop scalar.
#[cfg(all(target_arch = "x86_64", any(not(debug_assertions), feature = "wide-handlers")))]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn classify_avx2(plane: &[u64; WARP], stride: u64) -> (u32, u32) {
    use std::arch::x86_64::*;
    let s = stride as i64;
    let (low, high) =
        (_mm256_setr_epi64x(0, s, 2 * s, 3 * s), _mm256_setr_epi64x(4 * s, 5 * s, 6 * s, 7 * s));
    let (mut uniform, mut consecutive) = (0, 0);
    for g in 0..4 {
        // SAFETY: the plane holds 32 lanes.
        unsafe {
            let at = plane.as_ptr().add(g * 8);
            let first = _mm256_set1_epi64x(*at as i64);
            let a = _mm256_sub_epi64(_mm256_loadu_si256(at as *const __m256i), first);
            let b = _mm256_sub_epi64(_mm256_loadu_si256(at.add(4) as *const __m256i), first);
            let same = _mm256_or_si256(a, b);
            let sequence = _mm256_or_si256(_mm256_xor_si256(a, low), _mm256_xor_si256(b, high));
            uniform |= (_mm256_testz_si256(same, same) as u32) << g;
            consecutive |= (_mm256_testz_si256(sequence, sequence) as u32) << g;
        }
    }
    (uniform, consecutive)
}

/// Host pointers of the first lanes of four groups, each of which is uniform or consecutive (bits
/// of `consecutive`), if all bytes that they stand for are in bounds and aligned.
#[inline(always)]
fn group_starts<const SPACE: u8, const ACCESS: u8>(
    cx: &Cx<'_>,
    i: &Inst,
    plane: &[u64; WARP],
    consecutive: u32,
    bytes: u64,
) -> Option<[u64; 4]> {
    let (lo, hi, base) = match SPACE {
        space::SHARED => (0, cx.shared_size, cx.shared as u64),
        space::GLOBAL | space::GENERIC => {
            let e = &cx.extents[super::address::slot(i)];
            let allowed = ACCESS == access::READ || e.writable;
            if !allowed || cx.epoch != cx.env.memory.epoch() {
                return None;
            }
            (e.lo, e.hi, 0)
        }
        _ => return None,
    };
    let mut starts = [0; 4];
    let mut good = true;
    for (g, start) in starts.iter_mut().enumerate() {
        let a = plane[g * 8].wrapping_add(i.imm);
        let length = if consecutive >> g & 1 != 0 { 8 * bytes } else { bytes };
        good &= a >= lo && a <= hi && hi - a.min(hi) >= length && a & (bytes - 1) == 0;
        *start = a.wrapping_add(base);
    }
    good.then_some(starts)
}

/// Loads by groups of lanes, if the addresses have such a pattern and are good.
#[inline(always)]
unsafe fn load_groups<const SPACE: u8, E: Element>(cx: &mut Cx<'_>, i: &Inst) -> bool {
    // SAFETY: operands were decoded for this frame; the groups' bytes are checked.
    unsafe {
        let plane = &*(cx.plane(i.a) as *const [u64; WARP]);
        let (uniform, consecutive) = classify(plane, E::BYTES);
        let consecutive = if E::SAME { consecutive & !uniform } else { 0 };
        if uniform | consecutive != 0xf {
            return false;
        }
        let starts = group_starts::<SPACE, { access::READ }>(cx, i, plane, consecutive, E::BYTES);
        let Some(starts) = starts else { return false };
        if cx.observing {
            observe_groups::<SPACE, { access::READ }>(cx, i, E::BYTES, consecutive);
        }
        cx.counters[(i.slot >> super::address::SLOT_BITS) as usize] += 1;
        let d = cx.plane(i.d) as *mut E::Reg;
        for (g, &start) in starts.iter().enumerate() {
            let to = &mut *(d.add(g * 8) as *mut [E::Reg; 8]);
            if consecutive >> g & 1 != 0 {
                *to = *(start as *const [E::Reg; 8]);
            } else {
                *to = [E::read(start); 8];
            }
        }
    }
    true
}

/// Stores by groups of lanes. Of lanes that store to one address the last wins.
#[inline(always)]
unsafe fn store_groups<const SPACE: u8, E: Element>(cx: &mut Cx<'_>, i: &Inst) -> bool {
    // SAFETY: operands were decoded for this frame; the groups' bytes are checked.
    unsafe {
        let plane = &*(cx.plane(i.a) as *const [u64; WARP]);
        let (uniform, consecutive) = classify(plane, E::BYTES);
        let consecutive = if E::SAME { consecutive & !uniform } else { 0 };
        if uniform | consecutive != 0xf {
            return false;
        }
        let starts = group_starts::<SPACE, { access::WRITE }>(cx, i, plane, consecutive, E::BYTES);
        let Some(starts) = starts else { return false };
        if cx.observing {
            observe_groups::<SPACE, { access::WRITE }>(cx, i, E::BYTES, consecutive);
        }
        cx.counters[(i.slot >> super::address::SLOT_BITS) as usize] += 1;
        if cx.rehearses && is_seen(SPACE) {
            return true;
        }
        let s = cx.plane(i.b) as *const E::Reg;
        for (g, &start) in starts.iter().enumerate() {
            if consecutive >> g & 1 != 0 {
                *(start as *mut [E::Reg; 8]) = *(s.add(g * 8) as *const [E::Reg; 8]);
            } else {
                E::write(start, *s.add(g * 8 + 7));
            }
        }
    }
    true
}

/// Whether others than the block see what is stored in a space.
const fn is_seen(space: u8) -> bool {
    space != space::SHARED && space != space::LOCAL
}

/// The handler of an access that [`load_groups`] or [`store_groups`] leaves.
#[inline(always)]
fn slow<const SPACE: u8, K: Kernel>() -> Handler {
    if SPACE == space::GLOBAL || SPACE == space::SHARED { hot::<K>() } else { wide::<K>() }
}

/// Whether accesses of a space may go by groups of lanes.
const fn grouped(code: u8) -> bool {
    matches!(code, space::GLOBAL | space::SHARED | space::GENERIC)
}

/// `ld` of `c` elements into the planes listed at `aux`, or of one into `d`.
pub struct Load<const SPACE: u8, E>(PhantomData<E>);
/// A [`Load`] whose addresses have no pattern, or of some lanes, or of several elements.
struct LoadEach<const SPACE: u8, E>(PhantomData<E>);
/// A strong `ld`.
pub struct LoadStrong<const SPACE: u8, E>(PhantomData<E>);
/// `st`, likewise.
pub struct Store<const SPACE: u8, E>(PhantomData<E>);
/// As [`LoadEach`], for stores.
struct StoreEach<const SPACE: u8, E>(PhantomData<E>);
/// A strong `st`.
pub struct StoreStrong<const SPACE: u8, E>(PhantomData<E>);

impl<const SPACE: u8, E: Element> Kernel for Load<SPACE, E> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        if cx.mask == 0 {
            return Flow::Next;
        }
        // SAFETY: operands were decoded for this frame.
        unsafe {
            if grouped(SPACE) && cx.mask == FULL && i.c == 1 && load_groups::<SPACE, E>(cx, i) {
                return Flow::Next;
            }
            // A function of its own, so that the fast path needs no stack.
            slow::<SPACE, LoadEach<SPACE, E>>()(cx, i)
        }
    }
}

impl<const SPACE: u8, E: Element> Kernel for LoadEach<SPACE, E> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let n = i.c as u64;
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let mut p = [0; WARP];
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
            if whole::<SPACE, E>(n) {
                let (mut low, mut high) = ([0; WARP], [0; WARP]);
                for l in active(cx.mask) {
                    let v = (*(p[l] as *const AtomicU128)).load(Ordering::Acquire);
                    (low[l], high[l]) = (v as u64, (v >> 64) as u64);
                }
                let at = i.aux as usize;
                u64::put(cx.plane(cx.env.program.extra[at]), &low, cx.mask);
                u64::put(cx.plane(cx.env.program.extra[at + 1]), &high, cx.mask);
                cx.polls += 1;
                cx.fuel -= POLL_COST;
                return Flow::Next;
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
        if (SPACE == space::GLOBAL || SPACE == space::GENERIC) && cx.hold {
            cx.hold = false;
            return Flow::Hold;
        }
        // SAFETY: operands were decoded for this frame.
        unsafe {
            if grouped(SPACE) && cx.mask == FULL && i.c == 1 && store_groups::<SPACE, E>(cx, i) {
                cx.changes += 1;
                return Flow::Next;
            }
            slow::<SPACE, StoreEach<SPACE, E>>()(cx, i)
        }
    }
}

impl<const SPACE: u8, E: Element> Kernel for StoreEach<SPACE, E> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let n = i.c as u64;
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let mut p = [0; WARP];
            if !resolve::<SPACE, { access::WRITE }>(cx, i, n * E::BYTES, &mut p) {
                return Flow::Fault;
            }
            if cx.rehearses && is_seen(SPACE) {
                // Nothing is stored, but for what the scheduler sees.
            } else if n == 1 {
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
            if cx.rehearses && is_seen(SPACE) {
                cx.changes += 1;
                return Flow::Next;
            }
            if whole::<SPACE, E>(n) {
                let at = i.aux as usize;
                let low = cx.plane(cx.env.program.extra[at]);
                let high = cx.plane(cx.env.program.extra[at + 1]);
                for l in active(cx.mask) {
                    let v = u128::from(u64::get(low, l)) | u128::from(u64::get(high, l)) << 64;
                    (*(p[l] as *const AtomicU128)).store(v, Ordering::Release);
                }
                cx.changes += u64::from(SPACE != space::LOCAL);
                return Flow::Next;
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
            (Space::Global, false) => by_element!(hot, $weak, space::GLOBAL, $ty, $class, $signed),
            (Space::Shared, false) => by_element!(hot, $weak, space::SHARED, $ty, $class, $signed),
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
