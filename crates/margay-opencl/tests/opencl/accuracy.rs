// SPDX-License-Identifier: MIT OR Apache-2.0
//! Worst error of the math functions in units of the last place, over random and edge values, and the
//! specification's table ("Relative Error as ULPs"). `cargo test -p margay-opencl --test opencl accuracy -- --nocapture`
//! prints the figures.
//!
//! `half_` functions may be 8192 units off; of `native_` ones, which are the hardware's, of `mad` and of `lgamma` the
//! implementation defines the error, and only their figures are printed. Functions of `half` are tried on all 65536
//! values, and those of two arguments on random pairs of them.

mod double;
mod float;

use half::f16;

use crate::cl;
use crate::common::*;

type Reference = fn(f64, f64) -> f64;

/// A function with one or two arguments.
#[derive(Clone, Copy)]
struct Function {
    name: &'static str,
    /// How it is called with `x[i]` and `y[i]`; `T s` and `int q` are there for second results.
    call: Option<&'static str>,
    /// Units that the table allows; `None` where the implementation defines it.
    allowed: Option<f64>,
    arguments: u32,
    /// A bound of the random values' magnitude.
    bound: f64,
    /// The function is not defined, or not accurate, beyond the bound.
    within: bool,
    /// The function is defined for NaN.
    nan: bool,
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
    Function {
        name,
        call: None,
        allowed: Some(allowed),
        arguments,
        bound,
        within: false,
        nan: true,
        reference,
    }
}

const fn any(name: &'static str, arguments: u32, bound: f64, reference: Reference) -> Function {
    Function {
        name,
        call: None,
        allowed: None,
        arguments,
        bound,
        within: false,
        nan: true,
        reference,
    }
}

impl Function {
    const fn by(mut self, call: &'static str) -> Function {
        self.call = Some(call);
        self
    }

    /// Not defined for NaN.
    const fn numbers(self) -> Function {
        Function { nan: false, ..self }
    }

    const fn finite(mut self) -> Function {
        self.within = true;
        self
    }

    fn call(&self) -> String {
        match (self.call, self.arguments) {
            (Some(call), _) => call.to_owned(),
            (None, 1) => format!("{}(x[i])", self.name),
            (None, _) => format!("{}(x[i], y[i])", self.name),
        }
    }
}

/// `powr` is not defined for less than zero, nor where `pow` has a conventional value.
fn powr(x: f64, y: f64, pow: Reference) -> f64 {
    let conventional = ((x == 0.0 || x.is_infinite()) && y == 0.0) || (x == 1.0 && y.is_infinite());
    if x < 0.0 || x.is_nan() || y.is_nan() || conventional { f64::NAN } else { pow(x.abs(), y) }
}

/// pxfm's, but where it gives NaN for what is a number.
fn pow(x: f64, y: f64) -> f64 {
    if y == 0.0 || x == 1.0 || x.abs() > 1e300 { libm::pow(x, y) } else { pxfm::f_pow(x, y) }
}

/// The integer of `INTEGER(y[i])`.
fn integer(y: f64) -> i32 {
    // `fmax` takes the number where the other is NaN.
    let number = if y.is_nan() { -300.0 } else { y };
    number.clamp(-300.0, 300.0) as i32
}

/// The real number 1/n is the sum of two doubles.
fn rootn(x: f64, n: i32, pow: Reference) -> f64 {
    let odd = n & 1 != 0;
    if n == 0 || (x < 0.0 && !odd) {
        return f64::NAN;
    }
    let (a, n) = (x.abs(), f64::from(n));
    let high = 1.0 / n;
    let low = (-high).mul_add(n, 1.0) / n;
    let root = pow(a, high);
    let root = if a > 0.0 && a.is_finite() { root.mul_add(low * a.ln(), root) } else { root };
    if odd { root.copysign(x) } else { root }
}

/// pxfm's, but at the poles, where the specification tells the sign.
fn tanpi(x: f64, _: f64) -> f64 {
    match x - x.floor() {
        0.5 if x.floor() % 2.0 == 0.0 => f64::INFINITY,
        0.5 => -f64::INFINITY,
        _ => pxfm::f_tanpi(x),
    }
}

fn fdim(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x > y {
        x - y
    } else {
        0.0
    }
}

/// `most` is the largest number below 1, `round` the format's rounding.
fn fract(x: f64, most: f64, round: fn(f64) -> f64) -> f64 {
    if x.is_nan() {
        x
    } else if x.is_infinite() {
        0.0
    } else {
        round(x - x.floor()).min(most)
    }
}

fn ilogb(x: f64, _: f64) -> f64 {
    if x == 0.0 {
        f64::from(i32::MIN)
    } else if x.is_finite() {
        f64::from(libm::ilogb(x))
    } else {
        f64::from(i32::MAX)
    }
}

fn quotient(x: f64, y: f64) -> f64 {
    let defined = x.is_finite() && !y.is_nan() && y != 0.0;
    if defined { f64::from(libm::remquo(x, y).1 % 128) } else { 0.0 }
}

fn gamma_sign(x: f64, _: f64) -> f64 {
    if x < 0.0 && x.floor() != x && x.floor() % 2.0 != 0.0 { -1.0 } else { 1.0 }
}

/// Half, single or double precision.
trait Precision: Copy + Default {
    const TYPE: &'static str;
    /// Bits behind the leading one; least and most exponent.
    const FORMAT: (f64, f64, f64);
    /// What the reference itself may be off, in units, where it is not exact.
    const REFERENCE: f64;
    /// Beside those of all formats.
    const EDGES: &'static [f64];
    /// All values, if they are few.
    const ALL: Option<fn(u16) -> Self> = None;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
}

impl Precision for f16 {
    const TYPE: &'static str = "half";
    const FORMAT: (f64, f64, f64) = (10.0, -14.0, 15.0);
    const REFERENCE: f64 = 1e-6;
    const EDGES: &'static [f64] = &[65504.0, -65504.0, 6e-8, -6e-8, 6.1035e-5];
    const ALL: Option<fn(u16) -> f16> = Some(f16::from_bits);
    fn of(value: f64) -> f16 {
        f16::from_f64(value)
    }
    fn wide(self) -> f64 {
        self.to_f64()
    }
}

impl Precision for f32 {
    const TYPE: &'static str = "float";
    const FORMAT: (f64, f64, f64) = (23.0, -126.0, 127.0);
    const REFERENCE: f64 = 1e-6;
    const EDGES: &'static [f64] = &[
        f32::MIN_POSITIVE as f64,
        1e-40,
        -1e-40,
        f32::MAX as f64,
        f32::MIN as f64,
        8_388_607.5,
        4_194_304.5,
        88.72,
        -103.9,
    ];
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
    const REFERENCE: f64 = 0.5;
    const EDGES: &'static [f64] = &[
        f64::MIN_POSITIVE,
        1e-310,
        -1e-310,
        f64::MAX,
        f64::MIN,
        4_503_599_627_370_495.5,
        709.7,
        -745.1,
    ];
    fn of(value: f64) -> f64 {
        value
    }
    fn wide(self) -> f64 {
        self
    }
}

/// Edges of every format.
const EDGES: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    1.5,
    -1.5,
    10.0,
    -10.0,
    0.25,
    0.999,
    1.001,
    100.0,
    0.1,
    f64::INFINITY,
    -f64::INFINITY,
    f64::NAN,
];

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

/// Random values; the generator is Knuth's.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of either sign, spread over all scales up to the bound.
    fn within(&mut self, bound: f64) -> f64 {
        let magnitude = if self.next() < 0.5 {
            self.next() * bound
        } else {
            bound * (-40.0 * self.next()).exp()
        };
        if self.next() < 0.5 { -magnitude } else { magnitude }
    }
}

/// Arguments of a function: edges, each with each, and random ones, or all that there are.
fn sample<T: Precision>(
    function: &Function,
    random: &mut Random,
    count: usize,
) -> (Vec<T>, Vec<T>) {
    let mut pairs: Vec<(T, T)> = Vec::new();
    let edges: Vec<f64> = EDGES.iter().chain(T::EDGES).copied().collect();
    for x in &edges {
        let others = if function.arguments == 1 { &edges[..1] } else { &edges[..] };
        pairs.extend(others.iter().map(|y| (T::of(*x), T::of(*y))));
    }
    match T::ALL {
        Some(value) if function.arguments == 1 => {
            pairs.extend((0..=u16::MAX).map(|bits| (value(bits), value(0))));
        }
        Some(value) => {
            let mut next = || value((random.next() * 65536.0) as u16);
            pairs.extend((0..count).map(|_| (next(), next())));
        }
        None => {
            let mut next = || T::of(random.within(function.bound));
            pairs.extend((0..count).map(|_| (next(), next())));
        }
    }
    let inside = |v: T| {
        (!function.within || v.wide().abs() <= function.bound)
            && (function.nan || !v.wide().is_nan())
    };
    pairs.into_iter().filter(|(x, y)| inside(*x) && inside(*y)).unzip()
}

/// Build options, and which values they leave out of the table.
#[derive(Clone, Copy)]
struct Mode {
    options: &'static str,
    /// Numbers below the normal ones may be zero, as arguments and as results.
    flushes: bool,
    /// Arguments and results are finite.
    finite: bool,
}

const PLAIN: Mode = Mode { options: "", flushes: false, finite: false };

impl Mode {
    fn judges<T: Precision>(self, arguments: [f64; 2], exact: f64) -> bool {
        let normal = |v: f64| v == 0.0 || v.abs() >= T::FORMAT.1.exp2();
        let mut values = arguments.into_iter().chain([exact]);
        values.all(|v| (!self.flushes || normal(v)) && (!self.finite || v.is_finite()))
    }
}

fn measure<T: Precision>(functions: &[Function], mode: Mode) {
    let setup = Setup::new(0);
    let mut source = format!(
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable
        typedef {0} T; typedef {0}2 T2; typedef {0}3 T3; typedef {0}4 T4;
        #define INTEGER(v) (int)fmin(fmax((v), (T)-300), (T)300)\n",
        T::TYPE
    );
    for (n, function) in functions.iter().enumerate() {
        source += &format!(
            "kernel void t{n}(global const T *x, global const T *y, global T *o) \
             {{ size_t i = get_global_id(0); T s; int q; o[i] = {}; }}\n",
            function.call()
        );
    }
    let (program, result, log) = setup.build(&source, mode.options);
    assert_eq!(result, 0, "{log}");
    if !mode.options.is_empty() {
        println!("with {}:", mode.options);
    }
    let (mut random, mut wrong) = (Random(7), Vec::new());
    for (n, function) in functions.iter().enumerate() {
        let Function { name, allowed, reference, .. } = function;
        let count = if mode.options.is_empty() { 1 << 14 } else { 1 << 11 };
        let (x, y) = sample::<T>(function, &mut random, count);
        let zeros = vec![T::default(); x.len()];
        let (a, b, out) = (setup.buffer(&x), setup.buffer(&y), setup.buffer(&zeros));
        let (full, mut error) = (std::ffi::CString::new(format!("t{n}")).unwrap(), 0);
        let kernel = cl!(clCreateKernel(program, full.as_ptr(), &mut error));
        let set = (set(kernel, 0, &a), set(kernel, 1, &b), set(kernel, 2, &out));
        assert_eq!((error, set, setup.run(kernel, x.len(), None)), (0, (0, 0, 0), 0));
        let values = setup.read::<T>(out, x.len());
        let mut worst = (0.0, 0.0, 0.0, 0.0);
        for ((x, y), got) in x.iter().zip(&y).zip(&values) {
            let (x, y) = (x.wide(), y.wide());
            let exact = reference(x, y);
            if !mode.judges::<T>([x, y], exact) {
                continue;
            }
            let error = ulp(*got, exact);
            // Where nobody says by how many units, infinities and what is flushed do not count.
            let counts = allowed.is_some() || (error.is_finite() && x.abs() > 1e-30);
            if counts && (error > worst.0 || error.is_nan()) {
                worst = (error, x, y, got.wide());
            }
        }
        let (error, at_x, at_y, got) = worst;
        let limit = allowed.map_or("any".to_owned(), |a| a.to_string());
        println!(
            "{:6} {name:17} {error:10.3} ulp of {limit:>6}, {:5} values, worst at ({at_x:e}, {at_y:e}) = {got:e}",
            T::TYPE,
            x.len()
        );
        // What is to be correctly rounded has an exact reference, and is the nearest number to it.
        let limit = allowed.map(|a| if a == 0.0 { 0.5 } else { a + T::REFERENCE });
        if limit.is_some_and(|limit| error.is_nan() || error > limit) {
            wrong.push(format!("{name}: {error} ulp at ({at_x:e}, {at_y:e}) = {got:e}"));
        }
        for mem in [a, b, out] {
            cl!(clReleaseMemObject(mem));
        }
        cl!(clReleaseKernel(kernel));
    }
    cl!(clReleaseProgram(program));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn single_precision_is_within_the_specifications_table() {
    measure::<f32>(float::BOTH, PLAIN);
    measure::<f32>(float::SINGLE, PLAIN);
}

#[test]
fn double_precision_is_within_the_specifications_table() {
    measure::<f64>(double::DOUBLE, PLAIN);
}

/// The table of `half` allows 1 to 4 units; a single-precision function, rounded once, is within one.
#[test]
fn half_precision_is_within_the_specifications_table() {
    let of_half = |f: &Function| Function { allowed: f.allowed.map(|a| a.min(1.0)), ..*f };
    measure::<f16>(float::HALF, PLAIN);
    measure::<f16>(&float::BOTH.iter().map(of_half).collect::<Vec<_>>(), PLAIN);
}

/// The table has absolute bounds for them: `max * max * (2n - 1) * EPSILON`, and with 3 for a component of `cross`,
/// where `max` is the largest magnitude of the components.
#[test]
fn dot_and_cross_are_within_the_specifications_table() {
    let setup = Setup::new(0);
    let source = "kernel void f(global const float *a, global const float *b, global float *o) {
        size_t i = get_global_id(0);
        o[i * 5] = dot(vload2(0, a + i * 4), vload2(0, b + i * 4));
        o[i * 5 + 1] = dot(vload4(i, a), vload4(i, b));
        vstore3(cross(vload3(0, a + i * 4), vload3(0, b + i * 4)), 0, o + i * 5 + 2);
    }";
    const N: usize = 4096;
    let mut random = Random(5);
    let mut vectors = || (0..N * 4).map(|_| random.within(1e4) as f32).collect::<Vec<_>>();
    let (a, b) = (vectors(), vectors());
    let (x, y, out) = (setup.buffer(&a), setup.buffer(&b), setup.buffer(&vec![0f32; N * 5]));
    for options in ["", "-cl-mad-enable", "-cl-fast-relaxed-math"] {
        let kernel = setup.kernel(source, options, "f");
        assert_eq!((set(kernel, 0, &x), set(kernel, 1, &y), set(kernel, 2, &out)), (0, 0, 0));
        assert_eq!(setup.run(kernel, N, None), 0);
        let got = setup.read::<f32>(out, N * 5);
        let mut worst = [0f64; 3];
        for ((a, b), got) in a.chunks(4).zip(b.chunks(4)).zip(got.chunks(5)) {
            let wide = |v: &[f32]| v.iter().map(|v| f64::from(*v)).collect::<Vec<_>>();
            let (a, b, got) = (wide(a), wide(b), wide(got));
            let most = |n: usize| a[..n].iter().chain(&b[..n]).fold(0f64, |m, v| m.max(v.abs()));
            let dot = |n: usize| (0..n).map(|i| a[i] * b[i]).sum::<f64>();
            let unit = |n: usize, times: f64| most(n) * most(n) * times * f64::from(f32::EPSILON);
            let component = |i: usize, j: usize| a[i] * b[j] - a[j] * b[i];
            worst[0] = worst[0].max((got[0] - dot(2)).abs() / unit(2, 3.0));
            worst[1] = worst[1].max((got[1] - dot(4)).abs() / unit(4, 7.0));
            for (k, (i, j)) in [(1, 2), (2, 0), (0, 1)].into_iter().enumerate() {
                worst[2] = worst[2].max((got[2 + k] - component(i, j)).abs() / unit(3, 3.0));
            }
        }
        println!("dot, dot of four, cross: {worst:.3?} of the bounds with `{options}`");
        assert!(worst.iter().all(|w| *w <= 1.0) && worst.iter().any(|w| *w > 0.0), "{worst:?}");
    }
}

/// The options change which values count, and no bound: `-cl-fast-relaxed-math` allows more than the table, and no
/// function here makes use of it.
#[test]
fn build_options_keep_the_specifications_table() {
    let with = |options| Mode { options, ..PLAIN };
    let flushes = Mode { flushes: true, ..with("-cl-denorms-are-zero") };
    let relaxed = Mode { flushes: true, finite: true, ..with("-cl-fast-relaxed-math") };
    for mode in [with("-cl-opt-disable"), flushes, relaxed] {
        measure::<f32>(float::BOTH, mode);
        measure::<f32>(float::SINGLE, mode);
    }
    measure::<f64>(double::DOUBLE, relaxed);
}
