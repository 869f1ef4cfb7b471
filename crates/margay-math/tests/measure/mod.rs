// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors of single-precision functions, in units in the last place of the exact result, against
//! references in double precision (the `pxfm` and `libm` crates, written by others).

use margay_math::planes::{LANES, Level, Plane, plane_fn};
use margay_math::{Function, Type};

/// How a function is measured.
pub struct Subject {
    pub function: Function,
    /// The result in double precision. Integer arguments come as doubles.
    pub reference: fn(&[f64]) -> f64,
    pub bound: Bound,
}

/// What the CUDA C++ Programming Guide, or PTX's manual, allows.
#[derive(Clone, Copy)]
pub enum Bound {
    /// Units in the last place, over the full range.
    Ulps(f64),
    /// Absolute error for arguments in a range; beyond it the error grows with the argument.
    Absolute { error: f64, from: f64, to: f64 },
    /// Units in the last place or, where the result is small, an absolute error.
    UlpsOrAbsolute(f64, f64),
    /// Units in the last place, plus so many for each unit of the (first) argument.
    Growing(f64, f64),
    /// Relative error.
    Relative(f64),
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

macro_rules! subjects {
    ($($function:ident $args:pat => $reference:expr, $bound:expr;)*) => {
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
    Expf [x] => pxfm::f_exp(*x), Ulps(1.0);
    Exp2f [x] => pxfm::f_exp2(*x), Ulps(2.0);
    Exp10f [x] => pxfm::f_exp10(*x), Ulps(2.0);
    Expm1f [x] => pxfm::f_expm1(*x), Ulps(1.0);
    Logf [x] => pxfm::f_log(*x), Ulps(1.0);
    Log2f [x] => pxfm::f_log2(*x), Ulps(1.0);
    Log10f [x] => pxfm::f_log10(*x), Ulps(2.0);
    Log1pf [x] => pxfm::f_log1p(*x), Ulps(1.0);
    Sinf [x] => pxfm::f_sin(*x), Ulps(2.0);
    Cosf [x] => pxfm::f_cos(*x), Ulps(2.0);
    Tanf [x] => pxfm::f_tan(*x), Ulps(4.0);
    Sinpif [x] => pxfm::f_sinpi(*x), Ulps(1.0);
    Cospif [x] => pxfm::f_cospi(*x) + 0.0, Ulps(1.0);
    Asinf [x] => pxfm::f_asin(*x), Ulps(2.0);
    Acosf [x] => pxfm::f_acos(*x), Ulps(2.0);
    Atanf [x] => pxfm::f_atan(*x), Ulps(2.0);
    Sinhf [x] => pxfm::f_sinh(*x), Ulps(3.0);
    Coshf [x] => pxfm::f_cosh(*x), Ulps(2.0);
    Tanhf [x] => pxfm::f_tanh(*x), Ulps(2.0);
    Asinhf [x] => pxfm::f_asinh(*x), Ulps(3.0);
    Acoshf [x] => pxfm::f_acosh(*x), Ulps(4.0);
    Atanhf [x] => pxfm::f_atanh(*x), Ulps(3.0);
    Sqrtf [x] => x.sqrt(), Ulps(0.5);
    Rsqrtf [x] => 1.0 / x.sqrt(), Ulps(2.0);
    Cbrtf [x] => pxfm::f_cbrt(*x), Ulps(1.0);
    Rcbrtf [x] => pxfm::f_rcbrt(*x), Ulps(1.0);
    Erff [x] => pxfm::f_erf(*x), Ulps(2.0);
    Erfcf [x] => pxfm::f_erfc(*x), Ulps(4.0);
    // The reference gives NaN where the result overflows in double precision.
    Erfcxf [x] => if *x < -26.0 { f64::INFINITY } else { pxfm::f_erfcx(*x) }, Ulps(4.0);
    Erfinvf [x] => pxfm::f_erfinv(*x), Ulps(2.0);
    Erfcinvf [x] => erfcinv(*x), Ulps(4.0);
    Normcdff [x] => normcdf(*x), Ulps(5.0);
    Normcdfinvf [x] => 0.0 - std::f64::consts::SQRT_2 * erfcinv(2.0 * x), Ulps(5.0);
    FastExpf [x] => pxfm::f_exp(*x), Growing(2.0, 1.173);
    FastExp10f [x] => pxfm::f_exp10(*x), Growing(2.0, 2.97);
    FastLogf [x] => pxfm::f_log(*x), UlpsOrAbsolute(3.0, 3.59e-7);
    FastLog2f [x] => pxfm::f_log2(*x), UlpsOrAbsolute(2.0, 2.38e-7);
    FastLog10f [x] => pxfm::f_log10(*x), UlpsOrAbsolute(3.0, 1.19e-7);
    FastSinf [x] => pxfm::f_sin(*x), Absolute { error: 3.59e-7, from: -PERIOD / 2.0, to: PERIOD / 2.0 };
    FastCosf [x] => pxfm::f_cos(*x), Absolute { error: 3.22e-7, from: -PERIOD / 2.0, to: PERIOD / 2.0 };
    SinApprox [x] => pxfm::f_sin(*x), Absolute { error: 6.74e-7, from: -PERIOD, to: PERIOD };
    CosApprox [x] => pxfm::f_cos(*x), Absolute { error: 6.74e-7, from: -PERIOD, to: PERIOD };
    Ex2Approx [x] => pxfm::f_exp2(*x), Ulps(2.0);
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
    FastFdividef [a, b] => fast_divide(*a, *b), Ulps(2.0);
    DivApprox [a, b] => fast_divide(*a, *b), Ulps(2.0);
    DivFull [a, b] => a / b, Ulps(2.0);
};

impl Subject {
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
                Ulps(_) | UlpsOrAbsolute(..) | Growing(..) | Relative(_) => false,
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
    pub fn new(samples: u64) -> Stratified {
        Stratified { state: 0x9e37_79b9_7f4a_7c15, left: samples.div_ceil(LANES as u64) }
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
