// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decoded instructions and the lifting of lane functions to 32 lanes.
//!
//! Registers are *planes*: 32 words (class W), 32 double words (D) or one lane mask (P). A frame is
//! one buffer of planes, and an operand is a byte offset into it. Immediates and addresses of
//! symbols are planes as well, broadcast once when a kernel is linked; the lowest bit of an operand
//! says which of the two buffers it is in. So a handler knows planes only and never branches on
//! what its operands are, and constants cost no space in each warp's frame.
//!
//! Handlers that gain from vectors are compiled again for AVX2 with FMA, the hottest also for
//! AVX-512, from one generic body; lane functions round alike on all three, so results do not
//! depend on it (`tests/simd_levels.rs`). Builds for debugging compile them only with the feature
//! `wide-handlers`.

use std::marker::PhantomData;
#[cfg(any(not(debug_assertions), feature = "wide-handlers"))]
use std::sync::OnceLock;

use crate::fault::FaultKind;
use crate::interp::Cx;

/// Lanes of a warp.
pub const WARP: usize = 32;
/// Mask of a full warp.
pub const FULL: u32 = !0;

/// What the dispatch loop does after a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Flow {
    /// Continue with the next instruction.
    Next,
    /// Continue at [`Cx::next`].
    Jump,
    /// Lanes [`Cx::taken`] go to [`Cx::next`], the others to [`Cx::other`].
    Split,
    /// A call, described by the program's call table at the instruction's `aux`.
    Call,
    Ret,
    Exit,
    /// A many-way branch: each lane goes where its index says.
    Table,
    /// Some lanes of the member mask have not arrived: wait here.
    Await,
    /// The same at a `bar.warp`, where lanes at any other `bar.warp` count.
    Meet,
    /// A block or cluster barrier.
    Barrier,
    /// A call of the device run time.
    Syscall,
    /// Executed, and nothing to do for a while.
    Pause,
    /// Not executed: the other warps of the block have a turn first (see [`Cx::hold`]).
    Hold,
    /// [`Cx::fault`] says why.
    Fault,
}

/// Executes one instruction for the lanes of [`Cx::mask`].
///
/// # Safety
/// `Cx` must have been set up for the function that the instruction was decoded for: operands are
/// trusted to lie in its frame.
pub type Handler = unsafe fn(&mut Cx<'_>, &Inst) -> Flow;

/// A decoded instruction. Which fields matter is the handler's affair.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Inst {
    pub handler: Handler,
    /// Destination plane.
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    /// Predicate plane and what to exclusive-or it with; without a guard a plane of all ones.
    pub guard: u32,
    pub guard_xor: u32,
    /// Offset, packed attributes or a code address.
    pub imm: u64,
    /// A fourth operand, or an index into a side table.
    pub aux: u32,
    /// Cache slot of a memory access.
    pub slot: u32,
}

/// A lane value: how it lies in its plane.
pub trait Lane: Copy {
    const ZERO: Self;
    /// # Safety
    /// `p` points to a plane of this class, `lane` is below 32.
    unsafe fn get(p: *const u8, lane: usize) -> Self;
    /// Writes the lanes of `mask`.
    ///
    /// # Safety
    /// `p` points to a plane of this class.
    unsafe fn put(p: *mut u8, values: &[Self; WARP], mask: u32);
}

macro_rules! wide_lane {
    ($t:ty) => {
        impl Lane for $t {
            const ZERO: $t = 0;
            #[inline(always)]
            unsafe fn get(p: *const u8, lane: usize) -> $t {
                // SAFETY: the caller vouches for the plane.
                unsafe { *(p as *const $t).add(lane) }
            }
            #[inline(always)]
            unsafe fn put(p: *mut u8, values: &[$t; WARP], mask: u32) {
                // SAFETY: the caller vouches for the plane, which overlaps no local array.
                let d = unsafe { &mut *(p as *mut [$t; WARP]) };
                if mask == FULL {
                    *d = *values;
                } else {
                    for l in 0..WARP {
                        d[l] = if mask >> l & 1 != 0 { values[l] } else { d[l] };
                    }
                }
            }
        }
    };
}
wide_lane!(u32);
wide_lane!(u64);

impl Lane for bool {
    const ZERO: bool = false;
    #[inline(always)]
    unsafe fn get(p: *const u8, lane: usize) -> bool {
        // SAFETY: the caller vouches for the plane.
        unsafe { *(p as *const u32) >> lane & 1 != 0 }
    }
    #[inline(always)]
    unsafe fn put(p: *mut u8, values: &[bool; WARP], mask: u32) {
        let mut bits = 0u32;
        for (l, &v) in values.iter().enumerate() {
            bits |= (v as u32) << l;
        }
        // SAFETY: the caller vouches for the plane.
        unsafe {
            let d = p as *mut u32;
            *d = (*d & !mask) | (bits & mask);
        }
    }
}

/// A handler's generic body, before a vector width is chosen.
pub trait Kernel {
    /// # Safety
    /// As for [`Handler`].
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow;
}

unsafe fn baseline<K: Kernel>(cx: &mut Cx<'_>, i: &Inst) -> Flow {
    // SAFETY: same contract.
    unsafe { K::run(cx, i) }
}

#[cfg(all(target_arch = "x86_64", any(not(debug_assertions), feature = "wide-handlers")))]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
unsafe fn avx2<K: Kernel>(cx: &mut Cx<'_>, i: &Inst) -> Flow {
    // SAFETY: same contract.
    unsafe { K::run(cx, i) }
}

#[cfg(all(target_arch = "x86_64", any(not(debug_assertions), feature = "wide-handlers")))]
#[target_feature(
    enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512cd"
)]
unsafe fn avx512<K: Kernel>(cx: &mut Cx<'_>, i: &Inst) -> Flow {
    // SAFETY: same contract.
    unsafe { K::run(cx, i) }
}

#[cfg(any(not(debug_assertions), feature = "wide-handlers"))]
/// Vector extensions that handlers are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    Baseline,
    Avx2,
    Avx512,
}

#[cfg(any(not(debug_assertions), feature = "wide-handlers"))]
/// The widest set that this processor has; `MARGAY_SIMD=baseline|avx2` lowers it, for tests.
pub fn width() -> Width {
    static WIDTH: OnceLock<Width> = OnceLock::new();
    *WIDTH.get_or_init(|| {
        let wish = std::env::var("MARGAY_SIMD").unwrap_or_default();
        if wish == "baseline" {
            return Width::Baseline;
        }
        #[cfg(target_arch = "x86_64")]
        {
            let v3 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("f16c");
            let v4 = v3
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512cd");
            if v4 && wish != "avx2" {
                return Width::Avx512;
            }
            if v3 {
                return Width::Avx2;
            }
        }
        Width::Baseline
    })
}

/// The handler of a kernel that programs spend their time in. Builds for debugging, which would not
/// vectorise anyway, compile the baseline only.
pub fn hot<K: Kernel>() -> Handler {
    #[cfg(all(target_arch = "x86_64", any(not(debug_assertions), feature = "wide-handlers")))]
    match width() {
        Width::Avx512 => return avx512::<K>,
        Width::Avx2 => return avx2::<K>,
        Width::Baseline => {}
    }
    baseline::<K>
}

/// The handler of a kernel whose lanes gain from vectors: AVX2 does, where there is more.
pub fn wide<K: Kernel>() -> Handler {
    #[cfg(all(target_arch = "x86_64", any(not(debug_assertions), feature = "wide-handlers")))]
    match width() {
        Width::Avx512 | Width::Avx2 => return avx2::<K>,
        Width::Baseline => {}
    }
    baseline::<K>
}

/// The handler of a kernel that is compiled once.
pub fn plain<K: Kernel>() -> Handler {
    baseline::<K>
}

/// Conjures a lane function from its type alone. Only function items and closures that capture
/// nothing get here.
#[inline(always)]
pub fn conjure<F: Copy>() -> F {
    const { assert!(size_of::<F>() == 0) };
    // SAFETY: a zero-sized `Copy` type has one value and no bytes; callers were handed one.
    unsafe { std::mem::zeroed() }
}

/// `d = f(a)` in all lanes.
pub struct Lift1<A, R, F>(PhantomData<(A, R, F)>);
/// `d = f(a, b)` in all lanes.
pub struct Lift2<A, B, R, F>(PhantomData<(A, B, R, F)>);
/// `d = f(a, b, c)` in all lanes.
pub struct Lift3<A, B, C, R, F>(PhantomData<(A, B, C, R, F)>);
/// `d = f(a, b, c, e)` in all lanes.
pub struct Lift4<A, B, C, E, R, F>(PhantomData<(A, B, C, E, R, F)>);

impl<A: Lane, R: Lane, F: Fn(A) -> R + Copy> Kernel for Lift1<A, R, F> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let f = conjure::<F>();
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let (a, d) = (cx.plane(i.a), cx.plane(i.d));
            let mut r = [R::ZERO; WARP];
            for (l, r) in r.iter_mut().enumerate() {
                *r = f(A::get(a, l));
            }
            R::put(d, &r, cx.mask);
        }
        Flow::Next
    }
}

impl<A: Lane, B: Lane, R: Lane, F: Fn(A, B) -> R + Copy> Kernel for Lift2<A, B, R, F> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let f = conjure::<F>();
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let (a, b, d) = (cx.plane(i.a), cx.plane(i.b), cx.plane(i.d));
            let mut r = [R::ZERO; WARP];
            for (l, r) in r.iter_mut().enumerate() {
                *r = f(A::get(a, l), B::get(b, l));
            }
            R::put(d, &r, cx.mask);
        }
        Flow::Next
    }
}

impl<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(A, B, C) -> R + Copy> Kernel
    for Lift3<A, B, C, R, F>
{
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let f = conjure::<F>();
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let (a, b, c, d) = (cx.plane(i.a), cx.plane(i.b), cx.plane(i.c), cx.plane(i.d));
            let mut r = [R::ZERO; WARP];
            for (l, r) in r.iter_mut().enumerate() {
                *r = f(A::get(a, l), B::get(b, l), C::get(c, l));
            }
            R::put(d, &r, cx.mask);
        }
        Flow::Next
    }
}

impl<A: Lane, B: Lane, C: Lane, E: Lane, R: Lane, F: Fn(A, B, C, E) -> R + Copy> Kernel
    for Lift4<A, B, C, E, R, F>
{
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let f = conjure::<F>();
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let (a, b, c, e) = (cx.plane(i.a), cx.plane(i.b), cx.plane(i.c), cx.plane(i.aux));
            let d = cx.plane(i.d);
            let mut r = [R::ZERO; WARP];
            for (l, r) in r.iter_mut().enumerate() {
                *r = f(A::get(a, l), B::get(b, l), C::get(c, l), E::get(e, l));
            }
            R::put(d, &r, cx.mask);
        }
        Flow::Next
    }
}

/// `d = f(a, b)` in the active lanes only: for lane functions that cost more than a mask does.
pub struct Each2<A, B, R, F>(PhantomData<(A, B, R, F)>);
/// As [`Each2`], three operands.
pub struct Each3<A, B, C, R, F>(PhantomData<(A, B, C, R, F)>);

impl<A: Lane, B: Lane, R: Lane, F: Fn(A, B) -> R + Copy> Kernel for Each2<A, B, R, F> {
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let f = conjure::<F>();
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let (a, b, d) = (cx.plane(i.a), cx.plane(i.b), cx.plane(i.d));
            let mut r = [R::ZERO; WARP];
            for l in active(cx.mask) {
                r[l] = f(A::get(a, l), B::get(b, l));
            }
            R::put(d, &r, cx.mask);
        }
        Flow::Next
    }
}

impl<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(A, B, C) -> R + Copy> Kernel
    for Each3<A, B, C, R, F>
{
    #[inline(always)]
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let f = conjure::<F>();
        // SAFETY: operands were decoded for this frame.
        unsafe {
            let (a, b, c, d) = (cx.plane(i.a), cx.plane(i.b), cx.plane(i.c), cx.plane(i.d));
            let mut r = [R::ZERO; WARP];
            for l in active(cx.mask) {
                r[l] = f(A::get(a, l), B::get(b, l), C::get(c, l));
            }
            R::put(d, &r, cx.mask);
        }
        Flow::Next
    }
}

/// Lane numbers of a mask, ascending.
#[inline(always)]
pub fn active(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}

pub fn hot1<A: Lane, R: Lane, F: Fn(A) -> R + Copy>(_: F) -> Handler {
    hot::<Lift1<A, R, F>>()
}
pub fn hot2<A: Lane, B: Lane, R: Lane, F: Fn(A, B) -> R + Copy>(_: F) -> Handler {
    hot::<Lift2<A, B, R, F>>()
}
pub fn hot3<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(A, B, C) -> R + Copy>(_: F) -> Handler {
    hot::<Lift3<A, B, C, R, F>>()
}
pub fn un<A: Lane, R: Lane, F: Fn(A) -> R + Copy>(_: F) -> Handler {
    wide::<Lift1<A, R, F>>()
}
pub fn bin<A: Lane, B: Lane, R: Lane, F: Fn(A, B) -> R + Copy>(_: F) -> Handler {
    wide::<Lift2<A, B, R, F>>()
}
pub fn tri<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(A, B, C) -> R + Copy>(_: F) -> Handler {
    wide::<Lift3<A, B, C, R, F>>()
}
pub fn quad<A: Lane, B: Lane, C: Lane, E: Lane, R: Lane, F: Fn(A, B, C, E) -> R + Copy>(
    _: F,
) -> Handler {
    plain::<Lift4<A, B, C, E, R, F>>()
}
pub fn bin_each<A: Lane, B: Lane, R: Lane, F: Fn(A, B) -> R + Copy>(_: F) -> Handler {
    plain::<Each2<A, B, R, F>>()
}
pub fn tri_each<A: Lane, B: Lane, C: Lane, R: Lane, F: Fn(A, B, C) -> R + Copy>(_: F) -> Handler {
    plain::<Each3<A, B, C, R, F>>()
}

/// A guest fault on its way out of a handler: which lane, and what.
#[derive(Debug)]
pub struct LaneFault {
    pub lane: u32,
    pub kind: FaultKind,
}
