// SPDX-License-Identifier: MIT OR Apache-2.0
//! Worst error of the math functions in units of the last place, over random and edge values, and the
//! specification's table ("Relative Error as ULPs").
//!
//! The reference of the single-precision functions is double precision, rounded once; of the double-precision
//! ones pxfm's correctly rounded functions (whose half a unit is granted). `half_` functions may be 8192 units
//! off; `native_` ones are the hardware's, and only their figures are printed.

use crate::cl;
use crate::common::*;

type Reference = fn(f64, f64) -> f64;

/// A function with one or two arguments.
struct Function {
    name: &'static str,
    /// Units that the table allows; `None` where the implementation defines it.
    allowed: Option<f64>,
    arguments: u32,
    /// A bound of the sample's magnitude.
    bound: f64,
    reference: Reference,
}

const PI: f64 = std::f64::consts::PI;

const fn row(
    name: &'static str,
    allowed: f64,
    arguments: u32,
    bound: f64,
    reference: Reference,
) -> Function {
    Function { name, allowed: Some(allowed), arguments, bound, reference }
}

const fn native(name: &'static str, arguments: u32, bound: f64, reference: Reference) -> Function {
    Function { name, allowed: None, arguments, bound, reference }
}

/// `powr` is not defined for less than zero, nor where `pow` has a conventional value.
fn powr(x: f64, y: f64, pow: Reference) -> f64 {
    if x < 0.0 || (x == 0.0 && y == 0.0) { f64::NAN } else { pow(x, y) }
}

/// Of the single-precision functions.
const SINGLE: &[Function] = &[
    row("acos", 4.0, 1, 1.0, |x, _| x.acos()),
    row("acosh", 4.0, 1, 1e10, |x, _| x.acosh()),
    row("acospi", 5.0, 1, 1.0, |x, _| x.acos() / PI),
    row("asin", 4.0, 1, 1.0, |x, _| x.asin()),
    row("asinh", 4.0, 1, 1e10, |x, _| pxfm::f_asinh(x)),
    row("asinpi", 5.0, 1, 1.0, |x, _| x.asin() / PI),
    row("atan", 5.0, 1, 1e30, |x, _| x.atan()),
    row("atanh", 5.0, 1, 1.0, |x, _| pxfm::f_atanh(x)),
    row("atanpi", 5.0, 1, 1e30, |x, _| x.atan() / PI),
    row("atan2", 6.0, 2, 1e10, |x, y| x.atan2(y)),
    row("atan2pi", 6.0, 2, 1e10, |x, y| x.atan2(y) / PI),
    row("cbrt", 2.0, 1, 1e30, |x, _| x.cbrt()),
    row("cos", 4.0, 1, 1e4, |x, _| x.cos()),
    row("cosh", 4.0, 1, 80.0, |x, _| x.cosh()),
    row("cospi", 4.0, 1, 1e3, |x, _| pxfm::f_cospi(x)),
    row("erf", 16.0, 1, 4.0, |x, _| pxfm::f_erf(x)),
    row("erfc", 16.0, 1, 8.0, |x, _| pxfm::f_erfc(x)),
    row("exp", 3.0, 1, 80.0, |x, _| x.exp()),
    row("exp2", 3.0, 1, 120.0, |x, _| x.exp2()),
    row("exp10", 3.0, 1, 37.0, |x, _| 10f64.powf(x)),
    row("expm1", 3.0, 1, 80.0, |x, _| x.exp_m1()),
    row("fdim", 0.0, 2, 1e10, |x, y| (x - y).max(0.0)),
    row("fmod", 0.0, 2, 1e4, |x, y| x % y),
    row("hypot", 4.0, 2, 1e10, |x, y| x.hypot(y)),
    row("log", 3.0, 1, 1e30, |x, _| x.ln()),
    row("log1p", 2.0, 1, 1e10, |x, _| x.ln_1p()),
    row("log2", 3.0, 1, 1e30, |x, _| x.log2()),
    row("log10", 3.0, 1, 1e30, |x, _| x.log10()),
    row("pow", 16.0, 2, 20.0, |x, y| x.powf(y)),
    row("powr", 16.0, 2, 20.0, |x, y| powr(x, y, f64::powf)),
    row("rsqrt", 2.0, 1, 1e30, |x, _| 1.0 / x.sqrt()),
    row("sin", 4.0, 1, 1e4, |x, _| x.sin()),
    row("sinh", 4.0, 1, 80.0, |x, _| x.sinh()),
    row("sinpi", 4.0, 1, 1e3, |x, _| pxfm::f_sinpi(x)),
    row("sqrt", 0.0, 1, 1e30, |x, _| x.sqrt()),
    row("tan", 5.0, 1, 1e4, |x, _| x.tan()),
    row("tanh", 5.0, 1, 20.0, |x, _| x.tanh()),
    row("tanpi", 6.0, 1, 1e3, |x, _| pxfm::f_tanpi(x)),
    row("tgamma", 16.0, 1, 30.0, |x, _| if x == 0.0 { 1.0 / x } else { libm::tgamma(x) }),
    row("half_cos", 8192.0, 1, 6e4, |x, _| x.cos()),
    row("half_divide", 8192.0, 2, 1e10, |x, y| x / y),
    row("half_exp", 8192.0, 1, 80.0, |x, _| x.exp()),
    row("half_exp2", 8192.0, 1, 120.0, |x, _| x.exp2()),
    row("half_exp10", 8192.0, 1, 37.0, |x, _| 10f64.powf(x)),
    row("half_log", 8192.0, 1, 1e30, |x, _| x.ln()),
    row("half_log2", 8192.0, 1, 1e30, |x, _| x.log2()),
    row("half_log10", 8192.0, 1, 1e30, |x, _| x.log10()),
    row("half_powr", 8192.0, 2, 20.0, |x, y| powr(x, y, f64::powf)),
    row("half_recip", 8192.0, 1, 1e30, |x, _| 1.0 / x),
    row("half_rsqrt", 8192.0, 1, 1e30, |x, _| 1.0 / x.sqrt()),
    row("half_sin", 8192.0, 1, 6e4, |x, _| x.sin()),
    row("half_sqrt", 8192.0, 1, 1e30, |x, _| x.sqrt()),
    row("half_tan", 8192.0, 1, 6e4, |x, _| x.tan()),
    native("native_cos", 1, 3.0, |x, _| x.cos()),
    native("native_divide", 2, 1e10, |x, y| x / y),
    native("native_exp", 1, 80.0, |x, _| x.exp()),
    native("native_exp2", 1, 120.0, |x, _| x.exp2()),
    native("native_exp10", 1, 37.0, |x, _| 10f64.powf(x)),
    native("native_log", 1, 1e30, |x, _| x.ln()),
    native("native_log2", 1, 1e30, |x, _| x.log2()),
    native("native_log10", 1, 1e30, |x, _| x.log10()),
    native("native_powr", 2, 20.0, |x, y| powr(x, y, f64::powf)),
    native("native_recip", 1, 1e30, |x, _| 1.0 / x),
    native("native_rsqrt", 1, 1e30, |x, _| 1.0 / x.sqrt()),
    native("native_sin", 1, 3.0, |x, _| x.sin()),
    native("native_sqrt", 1, 1e30, |x, _| x.sqrt()),
    native("native_tan", 1, 1.5, |x, _| x.tan()),
];

/// Of the double-precision functions.
const DOUBLE: &[Function] = &[
    row("acos", 4.0, 1, 1.0, |x, _| pxfm::f_acos(x)),
    row("acosh", 4.0, 1, 1e100, |x, _| pxfm::f_acosh(x)),
    row("acospi", 5.0, 1, 1.0, |x, _| pxfm::f_acospi(x)),
    row("asin", 4.0, 1, 1.0, |x, _| pxfm::f_asin(x)),
    row("asinh", 4.0, 1, 1e100, |x, _| pxfm::f_asinh(x)),
    row("asinpi", 5.0, 1, 1.0, |x, _| pxfm::f_asinpi(x)),
    row("atan", 5.0, 1, 1e100, |x, _| pxfm::f_atan(x)),
    row("atanh", 5.0, 1, 1.0, |x, _| pxfm::f_atanh(x)),
    row("atanpi", 5.0, 1, 1e100, |x, _| pxfm::f_atanpi(x)),
    row("atan2", 6.0, 2, 1e10, pxfm::f_atan2),
    row("atan2pi", 6.0, 2, 1e10, pxfm::f_atan2pi),
    row("cbrt", 2.0, 1, 1e100, |x, _| pxfm::f_cbrt(x)),
    row("cos", 4.0, 1, 1e6, |x, _| pxfm::f_cos(x)),
    row("cosh", 4.0, 1, 700.0, |x, _| pxfm::f_cosh(x)),
    row("cospi", 4.0, 1, 1e3, |x, _| pxfm::f_cospi(x)),
    row("erf", 16.0, 1, 6.0, |x, _| pxfm::f_erf(x)),
    row("erfc", 16.0, 1, 20.0, |x, _| pxfm::f_erfc(x)),
    row("exp", 3.0, 1, 700.0, |x, _| pxfm::f_exp(x)),
    row("exp2", 3.0, 1, 1000.0, |x, _| pxfm::f_exp2(x)),
    row("exp10", 3.0, 1, 300.0, |x, _| pxfm::f_exp10(x)),
    row("expm1", 3.0, 1, 700.0, |x, _| pxfm::f_expm1(x)),
    row("fdim", 0.0, 2, 1e10, |x, y| (x - y).max(0.0)),
    row("fmod", 0.0, 2, 1e4, |x, y| x % y),
    row("hypot", 4.0, 2, 1e100, pxfm::f_hypot),
    row("log", 3.0, 1, 1e300, |x, _| pxfm::f_log(x)),
    row("log1p", 2.0, 1, 1e100, |x, _| pxfm::f_log1p(x)),
    row("log2", 3.0, 1, 1e300, |x, _| pxfm::f_log2(x)),
    row("log10", 3.0, 1, 1e300, |x, _| pxfm::f_log10(x)),
    row("pow", 16.0, 2, 100.0, pxfm::f_pow),
    row("powr", 16.0, 2, 100.0, |x, y| powr(x, y, pxfm::f_pow)),
    row("rsqrt", 2.0, 1, 1e300, |x, _| pxfm::f_rsqrt(x)),
    row("sin", 4.0, 1, 1e6, |x, _| pxfm::f_sin(x)),
    row("sinh", 4.0, 1, 700.0, |x, _| pxfm::f_sinh(x)),
    row("sinpi", 4.0, 1, 1e3, |x, _| pxfm::f_sinpi(x)),
    row("sqrt", 0.0, 1, 1e300, |x, _| x.sqrt()),
    row("tan", 5.0, 1, 1e6, |x, _| pxfm::f_tan(x)),
    row("tanh", 5.0, 1, 20.0, |x, _| pxfm::f_tanh(x)),
    row("tanpi", 6.0, 1, 1e3, |x, _| pxfm::f_tanpi(x)),
];

/// Single or double precision.
trait Precision: Copy + Default {
    const TYPE: &'static str;
    /// Bits behind the leading one; least and most exponent.
    const FORMAT: (f64, f64, f64);
    const EDGES: &'static [f64];
    /// What the reference itself may be off, in units.
    const REFERENCE: f64;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
}

impl Precision for f32 {
    const TYPE: &'static str = "float";
    const FORMAT: (f64, f64, f64) = (23.0, -126.0, 127.0);
    const EDGES: &'static [f64] = &[0.0, -0.0, 1.0, -1.0, 0.5, f32::MIN_POSITIVE as f64, 1e-40];
    const REFERENCE: f64 = 1e-6;
    fn of(value: f64) -> f32 {
        value as f32
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Precision for f64 {
    const TYPE: &'static str = "double";
    const FORMAT: (f64, f64, f64) = (52.0, -1022.0, 1023.0);
    const EDGES: &'static [f64] = &[0.0, -0.0, 1.0, -1.0, 0.5, f64::MIN_POSITIVE, 1e-310];
    const REFERENCE: f64 = 0.5;
    fn of(value: f64) -> f64 {
        value
    }
    fn wide(self) -> f64 {
        self
    }
}

/// The error in units of the last place of the exact result.
fn ulp<T: Precision>(got: T, exact: f64) -> f64 {
    let (rounded, got) = (T::of(exact).wide(), got.wide());
    if got == rounded || (got.is_nan() && rounded.is_nan()) {
        return 0.0;
    }
    let (bits, least, most) = T::FORMAT;
    // Results near zero or infinity count in the format's smallest and largest steps.
    let exponent = exact.abs().log2().floor().clamp(least, most);
    // In two steps, for a double holds no unit of its denormals squared.
    let half = ((exponent - bits) / 2.0).trunc();
    (got - exact).abs() / half.exp2() / (exponent - bits - half).exp2()
}

fn measure<T: Precision>(functions: &[Function]) {
    const COUNT: usize = 1024;
    let setup = Setup::new(0);
    let mut source = String::new();
    for Function { name, arguments, .. } in functions {
        let call = if *arguments == 1 { "x[i]" } else { "x[i], y[i]" };
        source += &format!(
            "kernel void t_{name}(global const {0} *x, global const {0} *y, global {0} *o) \
             {{ size_t i = get_global_id(0); o[i] = {name}({call}); }}\n",
            T::TYPE
        );
    }
    let (program, result, log) = setup.build(&source, "");
    assert_eq!(result, 0, "{log}");
    let mut seed = 7u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut wrong = Vec::new();
    for Function { name, allowed, bound, reference, .. } in functions {
        // Magnitudes spread over all scales up to the bound.
        let mut sample = || -> Vec<T> {
            let rest = (T::EDGES.len()..COUNT).map(|_| {
                let magnitude = if random() < 0.5 {
                    random() * bound
                } else {
                    bound * (-40.0 * random()).exp()
                };
                T::of(if random() < 0.5 { -magnitude } else { magnitude })
            });
            let edges = T::EDGES.iter().filter(|e| e.abs() <= *bound).map(|e| T::of(*e));
            edges.chain(rest).collect()
        };
        let (x, mut y) = (sample(), sample());
        y.resize(x.len(), T::of(1.5));
        let zeros = vec![T::default(); x.len()];
        let (a, b, out) = (setup.buffer(&x), setup.buffer(&y), setup.buffer(&zeros));
        let (full, mut error) = (std::ffi::CString::new(format!("t_{name}")).unwrap(), 0);
        let kernel = cl!(clCreateKernel(program, full.as_ptr(), &mut error));
        assert_eq!(
            (error, set(kernel, 0, &a), set(kernel, 1, &b), set(kernel, 2, &out)),
            (0, 0, 0, 0)
        );
        assert_eq!(setup.run(kernel, x.len(), None), 0);
        let values = setup.read::<T>(out, x.len());
        let mut worst = (0.0, 0.0, 0.0, 0.0);
        for ((x, y), got) in x.iter().zip(&y).zip(&values) {
            let (x, y) = (x.wide(), y.wide());
            let error = ulp(*got, reference(x, y));
            // The hardware's functions flush denormals and saturate: nobody says by how many units.
            let counts = allowed.is_some() || (error.is_finite() && x.abs() > 1e-30);
            if counts && (error > worst.0 || error.is_nan()) {
                worst = (error, x, y, got.wide());
            }
        }
        let (error, x, y, got) = worst;
        let limit = allowed.map_or("any".to_owned(), |a| a.to_string());
        println!(
            "{:6} {name:14} {error:10.3} ulp of {limit:>5}, at ({x:e}, {y:e}) = {got:e}",
            T::TYPE
        );
        // A correctly rounded function is half a unit off at most.
        let limit = allowed.map(|a| a.max(0.5) + T::REFERENCE);
        if limit.is_some_and(|limit| error.is_nan() || error > limit) {
            wrong.push(format!("{name}: {error} ulp at ({x:e}, {y:e}) = {got:e}"));
        }
        for mem in [a, b, out] {
            cl!(clReleaseMemObject(mem));
        }
        cl!(clReleaseKernel(kernel));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn single_precision_is_within_the_specifications_table() {
    measure::<f32>(SINGLE);
}

#[test]
fn double_precision_is_within_the_specifications_table() {
    measure::<f64>(DOUBLE);
}
