// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions on the 32 lanes of a warp: the formulas of [`Scalar`] in loops that become vector code.
//!
//! Each loop is compiled for every [`Level`] and gives the same bits at each. The module is meant to be
//! built with optimisation in every profile.

use std::marker::PhantomData;
use std::sync::OnceLock;

use crate::scalar::Scalar;
use crate::table::{Checked, Function, table};
use crate::value::{F32, F64, I32, I64};
use crate::{approx, double, remainder, rounded, simd, single, units};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// The values of 32 lanes: bit patterns, zero-extended.
pub type Plane = [u64; LANES];

/// Computes the lanes of `mask`: argument planes in, result planes out; other lanes of the results
/// keep what they held. The numbers of planes are those of [`Function::args`] and
/// [`Function::rets`].
pub type PlaneFn = fn(args: &[Plane], mask: u32, rets: &mut [Plane]);

/// Vector extensions that loops are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the architecture has.
    Baseline,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL.
    Avx512,
}

impl Level {
    /// The widest level that this processor has; `MARGAY_SIMD=baseline|avx2` lowers it, for tests.
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            let wish = match std::env::var("MARGAY_SIMD").as_deref() {
                Ok("baseline") => Level::Baseline,
                Ok("avx2") => Level::Avx2,
                Ok(_) | Err(_) => Level::Avx512,
            };
            wish.min(Level::of_processor())
        })
    }

    /// The widest level that this processor has.
    pub fn of_processor() -> Level {
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
            let avx512 = avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            if avx512 {
                return Level::Avx512;
            }
            if avx2 {
                return Level::Avx2;
            }
        }
        Level::Baseline
    }
}

/// A raw lane of an argument or a result.
trait Raw: Copy + Default {
    fn extend(self) -> u64;
    fn flag(set: bool) -> Self;
}
impl Raw for () {
    fn extend(self) -> u64 {
        0
    }
    fn flag(_set: bool) {}
}
impl Raw for u32 {
    #[inline(always)]
    fn extend(self) -> u64 {
        self.into()
    }
    #[inline(always)]
    fn flag(set: bool) -> u32 {
        u32::from(set)
    }
}
impl Raw for u64 {
    #[inline(always)]
    fn extend(self) -> u64 {
        self
    }
    #[inline(always)]
    fn flag(set: bool) -> u64 {
        u64::from(set)
    }
}

/// A lane's type.
trait Lane: Copy {
    type Raw: Raw;
    fn cut(bits: u64) -> Self::Raw;
    fn load(raw: Self::Raw) -> Self;
    fn store(self) -> Self::Raw;
}

macro_rules! lane {
    ($($value:ident $host:ident $raw:ident $from:expr, $to:expr;)*) => { $(
        impl Lane for $value<Scalar> {
            type Raw = $raw;
            #[inline(always)]
            fn cut(bits: u64) -> $raw {
                bits as $raw
            }
            #[inline(always)]
            fn load(raw: $raw) -> Self {
                let from: fn($raw) -> $host = $from;
                $value { o: Scalar, v: from(raw) }
            }
            #[inline(always)]
            fn store(self) -> $raw {
                let to: fn($host) -> $raw = $to;
                to(self.v)
            }
        }
        impl LaneResults for $value<Scalar> {
            type First = $raw;
            type Second = ();
            #[inline(always)]
            fn raw(self) -> ($raw, (), bool) {
                (self.store(), (), false)
            }
        }
        impl HostArgs for $host {
            fn load(args: &[Plane], lane: usize) -> $host {
                <$value<Scalar> as Lane>::load(<$value<Scalar> as Lane>::cut(args[0][lane])).v
            }
        }
        impl HostResults for $host {
            fn store(self, rets: &mut [Plane], lane: usize) {
                rets[0][lane] = $value { o: Scalar, v: self }.store().extend();
            }
        }
    )* };
}

/// What a formula returns in a lane: one or two results, and whether the lane is a slow one.
trait LaneResults {
    type First: Raw;
    type Second: Raw;
    fn raw(self) -> (Self::First, Self::Second, bool);
}

/// What the function of a slow lane takes.
trait HostArgs {
    fn load(args: &[Plane], lane: usize) -> Self;
}

impl<A: HostArgs, B: HostArgs> HostArgs for (A, B) {
    fn load(args: &[Plane], lane: usize) -> Self {
        (A::load(args, lane), B::load(&args[1..], lane))
    }
}

impl<A: HostArgs, B: HostArgs, C: HostArgs> HostArgs for (A, B, C) {
    fn load(args: &[Plane], lane: usize) -> Self {
        (A::load(args, lane), B::load(&args[1..], lane), C::load(&args[2..], lane))
    }
}

/// What the function of a slow lane returns.
trait HostResults {
    fn store(self, rets: &mut [Plane], lane: usize);
}

lane! {
    F32 f32 u32 f32::from_bits, f32::to_bits;
    F64 f64 u64 f64::from_bits, f64::to_bits;
    I32 i32 u32 |v| v as i32, |v| v as u32;
    I64 i64 u64 |v| v as i64, |v| v as u64;
}

impl<A: Lane, B: Lane> LaneResults for (A, B) {
    type First = A::Raw;
    type Second = B::Raw;
    #[inline(always)]
    fn raw(self) -> (A::Raw, B::Raw, bool) {
        (self.0.store(), self.1.store(), false)
    }
}

impl<T: LaneResults> LaneResults for Checked<T, Scalar> {
    type First = T::First;
    type Second = T::Second;
    #[inline(always)]
    fn raw(self) -> (T::First, T::Second, bool) {
        let (first, second, _) = self.value.raw();
        (first, second, self.slow.v)
    }
}

impl<A: HostResults, B: HostResults> HostResults for (A, B) {
    fn store(self, rets: &mut [Plane], lane: usize) {
        self.0.store(rets, lane);
        self.1.store(&mut rets[1..], lane);
    }
}

/// Copies the lanes of `mask`.
#[inline(always)]
fn merge<T: Raw>(from: &[T; LANES], mask: u32, to: &mut Plane) {
    for l in 0..LANES {
        to[l] = if mask >> l & 1 != 0 { from[l].extend() } else { to[l] };
    }
}

/// Raw lanes of an argument. A loop of its own: the others then have one width of lane.
#[inline(always)]
fn gather<T: Lane>(plane: &Plane) -> [T::Raw; LANES] {
    let mut raw = [T::Raw::default(); LANES];
    for l in 0..LANES {
        raw[l] = T::cut(plane[l]);
    }
    raw
}

/// Runs a formula in all lanes and keeps those of `mask`; returns the slow ones of them.
#[inline(always)]
fn run<R: LaneResults>(mask: u32, rets: &mut [Plane], formula: impl Fn(usize) -> R) -> u32 {
    let mut first = [R::First::default(); LANES];
    let mut second = [R::Second::default(); LANES];
    let mut slow = [R::First::default(); LANES];
    for l in 0..LANES {
        let (a, b, s) = formula(l).raw();
        first[l] = a;
        second[l] = b;
        slow[l] = R::First::flag(s);
    }
    merge(&first, mask, &mut rets[0]);
    if size_of::<R::Second>() != 0 {
        merge(&second, mask, &mut rets[1]);
    }
    let mut lanes = 0;
    for (l, s) in slow.iter().enumerate() {
        lanes |= (s.extend() as u32) << l;
    }
    lanes & mask
}

#[inline(always)]
fn lane_by_lane<A: HostArgs, R: HostResults>(
    function: fn(A) -> R,
    args: &[Plane],
    mask: u32,
    rets: &mut [Plane],
) {
    for l in (0..LANES).filter(|l| mask >> l & 1 != 0) {
        function(A::load(args, l)).store(rets, l);
    }
}

/// A row of the table.
trait Row {
    fn run(args: &[Plane], mask: u32, rets: &mut [Plane]);
}

/// The slow lanes of a row.
struct Slow<R>(PhantomData<R>);

fn baseline<R: Row>(args: &[Plane], mask: u32, rets: &mut [Plane]) {
    R::run(args, mask, rets);
}

#[cfg(target_arch = "x86_64")]
fn avx2<R: Row>(args: &[Plane], mask: u32, rets: &mut [Plane]) {
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
    fn wide<R: Row>(args: &[Plane], mask: u32, rets: &mut [Plane]) {
        R::run(args, mask, rets);
    }
    // SAFETY: `plane_fn` gives this out only where the processor has the features.
    unsafe { wide::<R>(args, mask, rets) }
}

#[cfg(target_arch = "x86_64")]
fn avx512<R: Row>(args: &[Plane], mask: u32, rets: &mut [Plane]) {
    #[target_feature(
        enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
    )]
    fn wide<R: Row>(args: &[Plane], mask: u32, rets: &mut [Plane]) {
        R::run(args, mask, rets);
    }
    // SAFETY: `plane_fn` gives this out only where the processor has the features.
    unsafe { wide::<R>(args, mask, rets) }
}

fn at_level<R: Row>(level: Level) -> PlaneFn {
    #[cfg(target_arch = "x86_64")]
    match level.min(Level::of_processor()) {
        Level::Avx512 => return avx512::<R>,
        Level::Avx2 => return avx2::<R>,
        Level::Baseline => {}
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = level;
    baseline::<R>
}

macro_rules! rows {
    ($( $variant:ident $name:literal ($($arg:ident: $ty:ident),*) -> ($($ret:ident)*)
        = $formula:expr $(, slow $slow:expr)?; )*) => {
        mod rows {
            $( pub struct $variant; )*
        }
        $(
            impl Row for rows::$variant {
                #[inline(always)]
                fn run(args: &[Plane], mask: u32, rets: &mut [Plane]) {
                    let [$($arg),*] = args else { unreachable!("wrong number of arguments") };
                    $( let $arg = gather::<$ty<Scalar>>($arg); )*
                    let formula = $formula;
                    let slow = run(mask, rets, |l| formula($( $ty::load($arg[l]) ),*));
                    if slow != 0 {
                        Slow::<rows::$variant>::run(args, slow, rets);
                    }
                }
            }

            impl Row for Slow<rows::$variant> {
                #[inline(always)]
                fn run(_args: &[Plane], _mask: u32, _rets: &mut [Plane]) {
                    $( lane_by_lane($slow, _args, _mask, _rets); )?
                }
            }
        )*

        /// The function of planes, to be looked up once and called often. The processor's own level
        /// bounds `level`.
        pub fn plane_fn(function: Function, level: Level) -> PlaneFn {
            match function { $( Function::$variant => at_level::<rows::$variant>(level), )* }
        }

        /// Computes slow lanes (see [`Emitted::slow`](crate::Emitted::slow)): planes as for
        /// [`PlaneFn`]. Does nothing for a function without slow lanes.
        #[cold]
        pub fn slow(function: Function, args: &[Plane], mask: u32, rets: &mut [Plane]) {
            let run = match function {
                $( Function::$variant => at_level::<Slow<rows::$variant>>(Level::best()), )*
            };
            run(args, mask, rets);
        }
    };
}
table!(rows);
