// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of single-precision functions, in units in the last place of the exact result, against
//! references in double precision (the `pxfm` and `libm` crates, written by others).

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use margay_math::planes::{LANES, Level, Plane, plane_fn};
use margay_math::{Function, Type};

/// How a function is measured.
pub struct Subject {
    pub function: Function,
    /// The result in double precision. Integer arguments come as doubles.
    pub reference: fn(&[f64]) -> f64,
    pub bound: Bound,
    /// The double-precision twin, which tells what the reference need not look at.
    pub twin: Option<Function>,
    pub parity: Parity,
}

/// What becomes of the result where the argument is negated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Parity {
    Odd,
    Even,
    Neither,
}

const fn parity(function: Function) -> Parity {
    match function {
        Function::Sinf
        | Function::Tanf
        | Function::Sinpif
        | Function::Asinf
        | Function::Atanf
        | Function::Sinhf
        | Function::Tanhf
        | Function::Asinhf
        | Function::Atanhf
        | Function::Cbrtf
        | Function::Rcbrtf
        | Function::Erff
        | Function::CylBesselI1f
        | Function::J1f
        | Function::FastSinf
        | Function::SinApprox
        | Function::TanhApprox => Parity::Odd,
        Function::Cosf
        | Function::Cospif
        | Function::Coshf
        | Function::CylBesselI0f
        | Function::J0f
        | Function::FastCosf
        | Function::CosApprox => Parity::Even,
        _ => Parity::Neither,
    }
}

/// What the CUDA C++ Programming Guide, or PTX's manual, allows.
#[derive(Clone, Copy)]
pub enum Bound {
    /// Units in the last place, over the full range.
    Ulps(f64),
    /// The same, where no argument and no result is subnormal: there the bits are a card's.
    OfNormals(f64),
    /// Absolute error for arguments in a range; beyond it the error grows with the argument.
    Absolute { error: f64, from: f64, to: f64 },
    /// Units in the last place or, where the result is small, an absolute error.
    UlpsOrAbsolute(f64, f64),
    /// Units in the last place, plus so many for each unit of the (first) argument.
    Growing(f64, f64),
    /// Relative error.
    Relative(f64),
    /// Units in the last place for magnitudes below 8, an absolute error from there on.
    Below8(f64, f64),
    /// Units in the last place, except in an interval.
    Outside { ulps: f64, from: f64, to: f64 },
}

/// The worst of a measurement.
#[derive(Clone, Default)]
pub struct Worst {
    /// Error as a fraction of what the bound allows.
    pub share: f64,
    pub ulps: f64,
    pub args: Vec<f64>,
    pub result: f64,
    pub samples: u64,
    /// The first of the results that should be infinite, zero or NaN and are not, or the reverse.
    pub special: Option<String>,
}

impl Worst {
    /// The worse of two, and what both looked at.
    fn or(self, other: Worst) -> Worst {
        let samples = self.samples + other.samples;
        let special = self.special.clone().or(other.special.clone());
        let worse = if other.share > self.share { other } else { self };
        Worst { samples, special, ..worse }
    }
}

macro_rules! subjects {
    ($($function:ident $args:pat => $reference:expr, $bound:expr $(, twin $twin:ident)?;)*) => {
        &[ $( Subject {
            function: Function::$function,
            reference: |args| {
                match args {
                    $args => $reference,
                    #[allow(unreachable_patterns)]
                    _ => unreachable!("wrong number of arguments"),
                }
            },
            bound: $bound,
            twin: [$(Function::$twin)?].first().copied(),
            parity: parity(Function::$function),
        } ),* ]
    };
}

use Bound::*;

fn hypot(x: &[f64]) -> f64 {
    if x.iter().any(|v| v.is_infinite()) {
        return f64::INFINITY;
    }
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn normcdf(x: f64) -> f64 {
    if x.is_infinite() {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    // √½ and what the nearest double lacks.
    let (high, low) = (std::f64::consts::FRAC_1_SQRT_2, -4.833646656726457e-17);
    let t = -x * high;
    let rest = (-x).mul_add(high, -t) + -x * low;
    let erfc = pxfm::f_erfc(t);
    if erfc == 0.0 || !erfc.is_finite() {
        return 0.5 * erfc;
    }
    0.5 * (erfc - rest * std::f64::consts::FRAC_2_SQRT_PI * pxfm::f_exp(-t * t))
}

fn erfcinv(p: f64) -> f64 {
    if p > 1.0 { -pxfm::f_erfcinv(2.0 - p) } else { pxfm::f_erfcinv(p) }
}

/// The reference's zeros far below have the wrong sign: the function is negative where the next
/// integer below is odd.
fn tgamma(x: f64) -> f64 {
    match x {
        0.0 => 1.0 / x,
        f64::NEG_INFINITY..-100.0 if x != x.floor() => {
            if (x.floor() * 0.5).fract() == 0.0 {
                0.0
            } else {
                -0.0
            }
        }
        _ => pxfm::f_tgamma(x),
    }
}

fn bessel_y(x: f64, y: fn(f64) -> f64) -> f64 {
    match x {
        ..0.0 => f64::NAN,
        0.0 => f64::NEG_INFINITY,
        _ => y(x),
    }
}

fn power(x: f64, y: f64) -> f64 {
    if x == 1.0 || y == 0.0 { 1.0 } else { libm::pow(x, y) }
}

fn fast_divide(a: f64, b: f64) -> f64 {
    if b.abs() > 2f64.powi(126) && b.is_finite() { a / (b.signum() * f64::INFINITY) } else { a / b }
}

/// Of the fast sine, whose error is bounded near 0 only.
const PERIOD: f64 = std::f64::consts::TAU;

/// The functions that are measured.
pub const SUBJECTS: &[Subject] = subjects! {
    Expf [x] => pxfm::f_exp(*x), Ulps(1.0), twin Exp;
    Exp2f [x] => pxfm::f_exp2(*x), Ulps(2.0), twin Exp2;
    Exp10f [x] => pxfm::f_exp10(*x), Ulps(2.0), twin Exp10;
    Expm1f [x] => pxfm::f_expm1(*x), Ulps(1.0), twin Expm1;
    Logf [x] => pxfm::f_log(*x), Ulps(1.0), twin Log;
    Log2f [x] => pxfm::f_log2(*x), Ulps(1.0), twin Log2;
    Log10f [x] => pxfm::f_log10(*x), Ulps(2.0), twin Log10;
    Log1pf [x] => pxfm::f_log1p(*x), Ulps(1.0), twin Log1p;
    Sinf [x] => pxfm::f_sin(*x), Ulps(2.0), twin Sin;
    Cosf [x] => pxfm::f_cos(*x), Ulps(2.0), twin Cos;
    Tanf [x] => pxfm::f_tan(*x), Ulps(4.0), twin Tan;
    Sinpif [x] => pxfm::f_sinpi(*x), Ulps(1.0), twin Sinpi;
    Cospif [x] => pxfm::f_cospi(*x) + 0.0, Ulps(1.0), twin Cospi;
    Asinf [x] => pxfm::f_asin(*x), Ulps(2.0), twin Asin;
    Acosf [x] => pxfm::f_acos(*x), Ulps(2.0), twin Acos;
    Atanf [x] => pxfm::f_atan(*x), Ulps(2.0), twin Atan;
    Sinhf [x] => pxfm::f_sinh(*x), Ulps(3.0), twin Sinh;
    Coshf [x] => pxfm::f_cosh(*x), Ulps(2.0), twin Cosh;
    Tanhf [x] => pxfm::f_tanh(*x), Ulps(2.0), twin Tanh;
    Asinhf [x] => pxfm::f_asinh(*x), Ulps(3.0), twin Asinh;
    Acoshf [x] => pxfm::f_acosh(*x), Ulps(4.0), twin Acosh;
    Atanhf [x] => pxfm::f_atanh(*x), Ulps(3.0), twin Atanh;
    Sqrtf [x] => x.sqrt(), Ulps(0.5), twin Sqrt;
    Rsqrtf [x] => 1.0 / x.sqrt(), Ulps(2.0), twin Rsqrt;
    Cbrtf [x] => pxfm::f_cbrt(*x), Ulps(1.0), twin Cbrt;
    Rcbrtf [x] => pxfm::f_rcbrt(*x), Ulps(1.0), twin Rcbrt;
    Erff [x] => pxfm::f_erf(*x), Ulps(2.0), twin Erf;
    Erfcf [x] => pxfm::f_erfc(*x), Ulps(4.0), twin Erfc;
    // The reference gives NaN where the result overflows in double precision.
    Erfcxf [x] => if *x < -26.0 { f64::INFINITY } else { pxfm::f_erfcx(*x) }, Ulps(4.0), twin Erfcx;
    Erfinvf [x] => if *x == 0.0 { *x } else { pxfm::f_erfinv(*x) }, Ulps(2.0), twin Erfinv;
    Erfcinvf [x] => erfcinv(*x), Ulps(4.0), twin Erfcinv;
    Normcdff [x] => normcdf(*x), Ulps(5.0), twin Normcdf;
    Normcdfinvf [x] => 0.0 - std::f64::consts::SQRT_2 * erfcinv(2.0 * x), Ulps(5.0), twin Normcdfinv;
    Tgammaf [x] => tgamma(*x), Ulps(5.0), twin Tgamma;
    Lgammaf [x] => pxfm::f_lgamma(*x), Outside { ulps: 6.0, from: -10.001, to: -2.264 }, twin Lgamma;
    CylBesselI0f [x] => pxfm::f_i0(*x), Ulps(6.0), twin CylBesselI0;
    CylBesselI1f [x] => pxfm::f_i1(*x), Ulps(6.0), twin CylBesselI1;
    J0f [x] => pxfm::f_j0(*x), Below8(9.0, 2.2e-6), twin J0;
    J1f [x] => pxfm::f_j1(*x), Below8(9.0, 2.2e-6), twin J1;
    Y0f [x] => bessel_y(*x, pxfm::f_y0), Below8(9.0, 2.2e-6), twin Y0;
    Y1f [x] => bessel_y(*x, pxfm::f_y1), Below8(9.0, 2.2e-6), twin Y1;
    FastExpf [x] => pxfm::f_exp(*x), Growing(2.0, 1.173), twin Exp;
    FastExp10f [x] => pxfm::f_exp10(*x), Growing(2.0, 2.97), twin Exp10;
    FastLogf [x] => pxfm::f_log(*x), UlpsOrAbsolute(3.0, 3.59e-7), twin Log;
    FastLog2f [x] => pxfm::f_log2(*x), UlpsOrAbsolute(2.0, 2.38e-7), twin Log2;
    FastLog10f [x] => pxfm::f_log10(*x), UlpsOrAbsolute(3.0, 1.19e-7), twin Log10;
    FastSinf [x] => pxfm::f_sin(*x), Absolute { error: 3.59e-7, from: -PERIOD / 2.0, to: PERIOD / 2.0 };
    FastCosf [x] => pxfm::f_cos(*x), Absolute { error: 4.18e-7, from: -PERIOD / 2.0, to: PERIOD / 2.0 };
    SinApprox [x] => pxfm::f_sin(*x), Absolute { error: 6.74e-7, from: -PERIOD, to: PERIOD };
    CosApprox [x] => pxfm::f_cos(*x), Absolute { error: 6.74e-7, from: -PERIOD, to: PERIOD };
    Ex2Approx [x] => pxfm::f_exp2(*x), OfNormals(2.0);
    Lg2Approx [x] => pxfm::f_log2(*x), UlpsOrAbsolute(2.0, 2.38e-7);
    RcpApprox [x] => 1.0 / x, Ulps(1.0);
    SqrtApprox [x] => x.sqrt(), Ulps(1.0);
    RsqrtApprox [x] => 1.0 / x.sqrt(), Relative(1.2762e-7);
    TanhApprox [x] => pxfm::f_tanh(*x), Relative(4.88e-4);
    Powf [x, y] => power(*x, *y), Ulps(4.0);
    Powif [x, n] => power(*x, *n), Ulps(4.0);
    Atan2f [y, x] => pxfm::f_atan2(*y, *x), Ulps(3.0);
    Hypotf x => hypot(x), Ulps(3.0);
    Rhypotf x => 1.0 / hypot(x), Ulps(2.0);
    Norm3df x => hypot(x), Ulps(3.0);
    Rnorm3df x => 1.0 / hypot(x), Ulps(2.0);
    Norm4df x => hypot(x), Ulps(3.0);
    Rnorm4df x => 1.0 / hypot(x), Ulps(2.0);
    FastFdividef [a, b] => fast_divide(*a, *b), OfNormals(2.0);
    DivApprox [a, b] => fast_divide(*a, *b), OfNormals(2.0);
    DivFull [a, b] => a / b, OfNormals(2.0);
};

/// Parts that a measurement is made in.
const PARTS: u64 = 256;

impl Subject {
    /// Measures all arguments at a stride where there is one, else samples: in parts, on all processors. The result does not
    /// depend on how many those are.
    pub fn worst(&self, stride: u64, samples: u64) -> Worst {
        let next = AtomicU64::new(0);
        let parts: Mutex<Vec<(u64, Worst)>> = Mutex::default();
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    loop {
                        let part = next.fetch_add(1, Ordering::Relaxed);
                        if part >= PARTS {
                            break;
                        }
                        let worst = self.worst_of_part(part, stride, samples.div_ceil(PARTS));
                        parts.lock().expect("no part panics").push((part, worst));
                    }
                });
            }
        });
        let mut parts = parts.into_inner().expect("no part panics");
        parts.sort_by_key(|(part, _)| *part);
        parts.into_iter().map(|(_, worst)| worst).fold(Worst::default(), Worst::or)
    }

    /// One of [`PARTS`] parts.
    fn worst_of_part(&self, part: u64, stride: u64, samples: u64) -> Worst {
        let types = self.function.args();
        let mirrored = self.twin.is_some() && self.parity != Parity::Neither;
        let end: u64 = if mirrored { 1 << 31 } else { 1 << 32 };
        let block = stride * LANES as u64;
        let mut next = part * block;
        let one = |args: &mut [Plane]| {
            args[0] = std::array::from_fn(|l| (next + l as u64 * stride) & 0xffff_ffff);
            let is_there = next < end;
            next += PARTS * block;
            is_there
        };
        let mut sampled = Stratified::new(samples, part);
        let several = |args: &mut [Plane]| sampled.fill(types, args);
        match (types.len(), self.twin) {
            (1, Some(twin)) => self.screen(twin, one),
            (1, None) => self.measure(one),
            (_, Some(twin)) => self.screen(twin, several),
            (_, None) => self.measure(several),
        }
    }

    /// Measures on blocks of 32 argument tuples, as bit patterns, until there is none.
    pub fn measure(&self, mut block: impl FnMut(&mut [Plane]) -> bool) -> Worst {
        let types = self.function.args();
        let run = plane_fn(self.function, Level::best());
        let mut worst = Worst::default();
        let mut args = vec![[0; LANES]; types.len()];
        let mut rets = vec![[0; LANES]; 1];
        let mut values = vec![0.0; types.len()];
        while block(&mut args) {
            run(&args, u32::MAX, &mut rets);
            for l in 0..LANES {
                for ((value, plane), ty) in values.iter_mut().zip(&args).zip(types) {
                    *value = match ty {
                        Type::F32 => f32::from_bits(plane[l] as u32).into(),
                        Type::F64 => f64::from_bits(plane[l]),
                        Type::I32 => f64::from(plane[l] as i32),
                        Type::I64 => plane[l] as i64 as f64,
                    };
                }
                let exact = (self.reference)(&values);
                self.compare(&values, rets[0][l] as u32, exact, &mut worst);
            }
            worst.samples += LANES as u64;
        }
        worst
    }

    /// As [`Subject::measure`], but the reference looks only where the twin disagrees by as much as
    /// the worst so far, and at one block in 4096. (Where both round alike, the error is half a
    /// unit.) The blocks of an odd or even function of one argument are those without a sign: with
    /// one, it need only give the same bits.
    pub fn screen(&self, twin: Function, mut block: impl FnMut(&mut [Plane]) -> bool) -> Worst {
        let types = self.function.args();
        let run = plane_fn(self.function, Level::best());
        let run_twin = plane_fn(twin, Level::best());
        let mut worst = Worst::default();
        let mut args = vec![[0; LANES]; types.len()];
        let mut wide = vec![[0; LANES]; types.len()];
        let mut rets = vec![[0; LANES]; 1];
        let mut twins = vec![[0; LANES]; 1];
        let mut mirror = vec![[0; LANES]; 1];
        let mirrored = types.len() == 1 && self.parity != Parity::Neither;
        let mut blocks = 0u64;
        let mut values = vec![0.0; types.len()];
        while block(&mut args) {
            run(&args, u32::MAX, &mut rets);
            for ((plane, from), ty) in wide.iter_mut().zip(&args).zip(types) {
                for (to, bits) in plane.iter_mut().zip(from) {
                    *to = match ty {
                        Type::F32 => f64::from(f32::from_bits(*bits as u32)).to_bits(),
                        Type::F64 | Type::I32 | Type::I64 => *bits,
                    };
                }
            }
            run_twin(&wide, u32::MAX, &mut twins);
            let mut differ = [0u64; LANES];
            for l in 0..LANES {
                let twin = f64::from_bits(twins[0][l]);
                let bits = if twin.is_nan() { 0x7fff_ffff } else { (twin as f32).to_bits() };
                differ[l] = u64::from(bits) ^ rets[0][l];
            }
            if mirrored {
                // The negated arguments: the same results, negated for an odd function.
                let flip = if self.parity == Parity::Odd { 1 << 31 } else { 0 };
                let negated = [args[0].map(|v| v ^ 1 << 31)];
                run(&negated, u32::MAX, &mut mirror);
                for l in 0..LANES {
                    let nan = rets[0][l] == 0x7fff_ffff && mirror[0][l] == 0x7fff_ffff;
                    if mirror[0][l] != rets[0][l] ^ flip && !nan && worst.special.is_none() {
                        let x = f32::from_bits(args[0][l] as u32);
                        worst.special = Some(format!("[-{x:e}] is not as for the opposite"));
                    }
                }
                worst.samples += LANES as u64;
            }
            for l in (0..LANES).filter(|l| differ[*l] != 0 || blocks.is_multiple_of(4096)) {
                for ((value, plane), ty) in values.iter_mut().zip(&wide).zip(types) {
                    *value = match ty {
                        Type::I32 => f64::from(plane[l] as i32),
                        Type::F32 | Type::F64 | Type::I64 => f64::from_bits(plane[l]),
                    };
                }
                let bits = rets[0][l] as u32;
                let mut trial = Worst { share: worst.share - 1e-4, ..Worst::default() };
                self.compare(&values, bits, f64::from_bits(twins[0][l]), &mut trial);
                if blocks.is_multiple_of(4096) || trial.special.is_some() || !trial.args.is_empty()
                {
                    self.compare(&values, bits, (self.reference)(&values), &mut worst);
                }
            }
            worst.samples += LANES as u64;
            blocks += 1;
        }
        worst
    }

    fn compare(&self, args: &[f64], bits: u32, exact: f64, worst: &mut Worst) {
        let result = f64::from(f32::from_bits(bits));
        let nearest = exact as f32;
        if exact.is_nan() || exact.is_infinite() || exact == 0.0 || nearest.is_infinite() {
            let right = if exact.is_nan() {
                bits == 0x7fff_ffff
            } else if exact.is_finite() && exact != 0.0 {
                // Rounds to infinity: the largest float is as near.
                result.abs() >= f64::from(f32::MAX) && result.signum() == exact.signum()
            } else {
                bits == nearest.to_bits()
            };
            let excused = match self.bound {
                Absolute { from, to, .. } => args[0] < from || args[0] > to || result == 0.0,
                Ulps(_)
                | OfNormals(_)
                | UlpsOrAbsolute(..)
                | Growing(..)
                | Relative(_)
                | Below8(..)
                | Outside { .. } => false,
            };
            if !right && !excused && worst.special.is_none() {
                worst.special = Some(format!("{args:?}: {result:e} ({bits:08x}), not {exact:e}"));
            }
            return;
        }
        let exponent = ((exact.abs().to_bits() >> 52) as i32 - 1023).max(-126);
        // 2^(exponent - 23)
        let unit = f64::from_bits(((exponent - 23 + 1023) as u64) << 52);
        let error = (result - exact).abs();
        let ulps = error / unit;
        let share = match self.bound {
            Ulps(n) => ulps / n,
            OfNormals(n) => {
                let least = f64::from(f32::MIN_POSITIVE);
                let subnormal = |v: f64| v != 0.0 && v.abs() < least;
                if subnormal(exact) || args.iter().any(|v| subnormal(*v)) {
                    return;
                }
                ulps / n
            }
            Below8(n, _) if args[0].abs() < 8.0 => ulps / n,
            Below8(_, bound) => error / bound,
            Outside { from, to, .. } if from < args[0] && args[0] < to => return,
            Outside { ulps: n, .. } => ulps / n,
            Absolute { error: bound, from, to } => {
                if args[0] < from || args[0] > to {
                    return;
                }
                error / bound
            }
            UlpsOrAbsolute(n, absolute) => (ulps / n).min(error / absolute),
            Growing(n, slope) => ulps / (n + (slope * args[0]).abs().floor()),
            Relative(bound) => {
                error / exact.abs() / bound - if exponent == -126 { 1.0 } else { 0.0 }
            }
        };
        if share > worst.share || share.is_nan() {
            worst.share = if share.is_nan() { f64::INFINITY } else { share };
            worst.ulps = ulps;
            worst.args = args.to_vec();
            worst.result = result;
        }
    }
}

/// Bits of arguments of all magnitudes: half of them any bits, half near 1 in magnitude.
pub struct Stratified {
    state: u64,
    left: u64,
}

impl Stratified {
    /// Others for each `part`.
    pub fn new(samples: u64, part: u64) -> Stratified {
        let state = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(2 * part + 1);
        Stratified { state, left: samples.div_ceil(LANES as u64) }
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn fill(&mut self, types: &[Type], args: &mut [Plane]) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        for l in 0..LANES {
            // Of one magnitude in half of the samples, so that sums and quotients cancel.
            let common = self.random();
            for (plane, ty) in args.iter_mut().zip(types) {
                let r = self.random();
                plane[l] = match ty {
                    Type::F32 if common & 1 == 0 => r & 0xffff_ffff,
                    Type::F32 if common & 2 == 0 => {
                        // 2^-8 to 2^8 around 1.
                        (r & 0x807f_ffff) | (119 + (r >> 40) % 16) << 23
                    }
                    Type::F32 => {
                        let exponent = ((common >> 8) % 250 + (r >> 40) % 5).min(254);
                        (r & 0x807f_ffff) | exponent << 23
                    }
                    Type::I32 => (r as i32 >> ((r >> 32) % 32)) as u32 as u64,
                    Type::F64 | Type::I64 => r,
                };
            }
        }
        true
    }
}
