// SPDX-License-Identifier: MIT OR Apache-2.0
//! What computes a function of the guide's tables here, and what the exact result is.

use margay_exec::semantics::libdevice::eval;
use margay_ir::{Builtin, Ty};

use super::exact::{Exact, operation, plain, round};
use crate::lane::{self, Operand};
use crate::measure::SUBJECTS;

/// A function to be measured.
pub struct Subject {
    pub run: Run,
    pub args: Vec<Ty>,
    /// Types of the results that are compared.
    pub rets: Vec<Ty>,
    /// Exact results; `None` where C leaves them open. Integers are doubles.
    pub reference: Reference,
}

pub type Reference = Option<Box<dyn Fn(&[f64]) -> Option<Vec<Exact>>>>;

pub enum Run {
    Builtin(Builtin),
    /// An instruction on registers.
    Ptx(&'static str),
}

impl Subject {
    /// Results for 32 tuples of arguments, as bits.
    pub fn results(&self, args: &[[u64; 32]]) -> Vec<[u64; 32]> {
        let mut rets = vec![[0; 32]; self.rets.len()];
        match self.run {
            Run::Builtin(b) => eval(b, args, u32::MAX, &mut rets),
            Run::Ptx(text) => {
                let ty = if self.rets[0] == Ty::F32 { "f32" } else { "f64" };
                for l in 0..32 {
                    let ins: Vec<Operand> =
                        args.iter().map(|plane| Operand { ty, bits: plane[l] }).collect();
                    rets[0][l] = lane::run(text, &[ty], &ins).unwrap()[0];
                }
            }
        }
        rets
    }
}

/// Single or double precision.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Width {
    Single,
    Double,
}

fn builtin(name: &str, reference: Reference) -> Option<Subject> {
    let b = Builtin::by_name(&format!("__nv_{name}"))?;
    let (args, rets) = (b.args().to_vec(), b.rets().to_vec());
    Some(Subject { run: Run::Builtin(b), args, rets, reference })
}

fn one(f: impl Fn(&[f64]) -> f64 + 'static) -> Reference {
    Some(Box::new(move |x| Some(vec![plain(f(x))])))
}

/// References of single precision, in double, that serve double precision too: `pxfm`'s own.
const SHARED: [&str; 28] = [
    "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinpi",
    "cospi", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "pow", "cbrt", "rcbrt", "erf", "erfc",
];

/// By the name in the tables. `None` if nothing here computes it.
pub fn subject(name: &str, width: Width) -> Option<Subject> {
    let narrow = width == Width::Single;
    if let Some(intrinsic) = name.strip_prefix("__") {
        return intrinsics(intrinsic, narrow);
    }
    let ptx = |text, operation_name: &'static str, operands| {
        let ty = if narrow { Ty::F32 } else { Ty::F64 };
        Some(Subject {
            run: Run::Ptx(text),
            args: vec![ty; operands],
            rets: vec![ty],
            reference: Some(Box::new(move |x| {
                Some(vec![plain(round(operation(operation_name, x), "rn", narrow))])
            })),
        })
    };
    match (name, narrow) {
        ("x+y", true) => return ptx("add.f32 %0, %1, %2", "add", 2),
        ("x*y", true) => return ptx("mul.f32 %0, %1, %2", "mul", 2),
        ("x/y", true) => return ptx("div.rn.f32 %0, %1, %2", "div", 2),
        ("1/x", true) => return ptx("rcp.rn.f32 %0, %1", "rcp", 1),
        ("x/y(prec-div=false)", _) => return ptx("div.full.f32 %0, %1, %2", "div", 2),
        ("1/x(prec-div=false)", _) => return ptx("rcp.approx.f32 %0, %1", "rcp", 1),
        ("sqrtf(prec-sqrt=false)", _) => return ptx("sqrt.approx.f32 %0, %1", "sqrt", 1),
        ("x+y", false) => return ptx("add.f64 %0, %1, %2", "add", 2),
        ("x*y", false) => return ptx("mul.f64 %0, %1, %2", "mul", 2),
        ("x/y", false) => return ptx("div.rn.f64 %0, %1, %2", "div", 2),
        ("1/x", false) => return ptx("rcp.rn.f64 %0, %1", "rcp", 1),
        _ => {}
    }
    let base = if narrow { name.strip_suffix('f')? } else { name };
    // As clang's headers have it: `long` is `long long`.
    let library = match base {
        "lrint" => "llrint",
        "lround" => "llround",
        "scalbln" => "scalbn",
        other => other,
    };
    let library = format!("{library}{}", if narrow { "f" } else { "" });
    builtin(&library, standard(base, narrow))
}

fn standard(base: &str, narrow: bool) -> Reference {
    let rounded = move |x: f64| if narrow { f64::from(x as f32) } else { x };
    if base == "sqrt" {
        return Some(Box::new(move |x| {
            Some(vec![plain(round(operation("sqrt", x), "rn", narrow))])
        }));
    }
    // The shared reference gives NaN at both ends: the stored samples go on to -26.
    if base == "erfcx" && !narrow {
        return Some(Box::new(|x| match x[0] {
            x if x > 1e150 => Some(vec![plain(0.5641895835477563 / x)]),
            x if x < -25.0 => None,
            x => Some(vec![plain(pxfm::f_erfcx(x))]),
        }));
    }
    if SHARED.contains(&base) || narrow {
        let known = SUBJECTS.iter().find(|s| s.function.name() == format!("__nv_{base}f"));
        if let Some(known) = known {
            let f = known.reference;
            return one(f);
        }
    }
    match base {
        "sincos" => {
            Some(Box::new(|x| Some([pxfm::f_sin(x[0]), pxfm::f_cos(x[0])].map(plain).into())))
        }
        "sincospi" => {
            Some(Box::new(|x| Some([pxfm::f_sinpi(x[0]), pxfm::f_cospi(x[0])].map(plain).into())))
        }
        "hypot" => one(|x| libm::hypot(x[0], x[1])),
        "fma" => {
            Some(Box::new(move |x| Some(vec![plain(round(operation("fma", x), "rn", narrow))])))
        }
        "frexp" => Some(Box::new(|x| {
            let (fraction, exponent) = libm::frexp(x[0]);
            x[0].is_finite().then(|| vec![plain(fraction), plain(exponent.into())])
        })),
        // The product in double precision is exact for floats.
        "ldexp" | "scalbn" | "scalbln" => {
            one(move |x| rounded(libm::scalbn(x[0], x[1].clamp(-4000.0, 4000.0) as i32)))
        }
        "logb" => one(|x| {
            if x[0] == 0.0 {
                f64::NEG_INFINITY
            } else if x[0].is_finite() {
                f64::from(libm::frexp(x[0]).1 - 1)
            } else {
                x[0].abs()
            }
        }),
        "ilogb" => Some(Box::new(|x| {
            let ordinary = x[0].is_finite() && x[0] != 0.0;
            ordinary.then(|| vec![plain(f64::from(libm::frexp(x[0]).1 - 1))])
        })),
        "fmod" => one(|x| x[0] % x[1]),
        "remainder" => one(|x| remainder(x[0], x[1]).0),
        "remquo" => Some(Box::new(|x| {
            let ordinary = x.iter().all(|v| v.is_finite()) && x[1] != 0.0;
            let (rest, quotient) = remainder(x[0], x[1]);
            ordinary.then(|| vec![plain(rest), plain(quotient)])
        })),
        "modf" => Some(Box::new(|x| {
            let fraction = if x[0].is_infinite() { 0.0 } else { x[0] - x[0].trunc() };
            Some([fraction.copysign(x[0]), x[0].trunc()].map(plain).into())
        })),
        "fdim" => Some(Box::new(move |x| {
            let nan = x.iter().any(|v| v.is_nan());
            let difference = round(operation("sub", x), "rn", narrow);
            Some(vec![plain(if nan {
                f64::NAN
            } else if x[0] > x[1] {
                difference
            } else {
                0.0
            })])
        })),
        "trunc" => one(|x| x[0].trunc()),
        "round" => one(|x| x[0].round()),
        "rint" | "nearbyint" => one(|x| x[0].round_ties_even()),
        "ceil" => one(|x| x[0].ceil()),
        "floor" => one(|x| x[0].floor()),
        "lrint" | "llrint" => integer(f64::round_ties_even),
        "lround" | "llround" => integer(f64::round),
        _ => None,
    }
}

/// To an integer of 64 bits, where it fits.
fn integer(f: fn(f64) -> f64) -> Reference {
    Some(Box::new(move |x| (x[0].abs() < 2f64.powi(63)).then(|| vec![plain(f(x[0]))])))
}

/// IEEE 754's remainder, and the quotient's sign and low three bits, from exact ones of C's `fmod`.
fn remainder(a: f64, b: f64) -> (f64, f64) {
    if a.is_nan() || b.is_nan() || a.is_infinite() || b == 0.0 {
        return (f64::NAN, 0.0);
    }
    let (x, y) = (a.abs(), b.abs());
    if b.is_infinite() {
        return (a, 0.0);
    }
    let mut rest = x % (8.0 * y);
    let mut quotient = 0u32;
    for bit in [4u32, 2, 1] {
        let part = f64::from(bit) * y;
        if part.is_finite() && rest >= part {
            rest -= part;
            quotient += bit;
        }
    }
    // Where it decides, the difference is exact; twice the rest might overflow.
    let up = rest > y - rest || rest == y - rest && quotient % 2 == 1;
    if up {
        rest -= y;
        quotient = (quotient + 1) % 8;
    }
    let sign = if a.is_sign_negative() { -1.0 } else { 1.0 };
    let quotient = f64::from(quotient) * sign * b.signum();
    (if rest == 0.0 { 0f64.copysign(a) } else { rest * sign }, quotient)
}

fn intrinsics(name: &str, narrow: bool) -> Option<Subject> {
    if let Some((stem, mode)) = name.split_once('_')
        && let Some(mode) = ["rn", "rz", "ru", "rd"].into_iter().find(|m| *m == mode)
    {
        let operation_name = match stem.strip_prefix(if narrow { 'f' } else { 'd' }) {
            Some("maf") => "fma",
            Some(stem) if stem != "ma" => stem,
            _ => stem,
        }
        .to_owned();
        let reference: Reference = Some(Box::new(move |x| {
            // Beyond, what a double lacks is itself too small for a double, or the sum too large.
            let within =
                |v: &f64| *v == 0.0 || (2f64.powi(-300)..2f64.powi(300)).contains(&v.abs());
            (narrow || x.iter().all(within))
                .then(|| vec![plain(round(operation(&operation_name, x), mode, narrow))])
        }));
        return builtin(name, reference);
    }
    let fast = |library: &str| {
        let known = SUBJECTS.iter().find(|s| s.function.name() == format!("__nv_{library}"))?;
        builtin(library, one(known.reference))
    };
    let lookup = |library: &'static str| {
        let b = Builtin::by_name(library).expect(library);
        move |x: &[f64]| {
            let planes: Vec<[u64; 32]> =
                x.iter().map(|v| [u64::from((*v as f32).to_bits()); 32]).collect();
            let mut rets = [[0; 32]];
            eval(b, &planes, 1, &mut rets);
            f64::from(f32::from_bits(rets[0][0] as u32))
        }
    };
    match name {
        "fdividef" => fast("fast_fdividef"),
        "expf" => fast("fast_expf"),
        "exp10f" => fast("fast_exp10f"),
        "logf" => fast("fast_logf"),
        "log2f" => fast("fast_log2f"),
        "log10f" => fast("fast_log10f"),
        "sinf" => fast("fast_sinf"),
        "cosf" => fast("fast_cosf"),
        "sincosf" => builtin(
            "fast_sincosf",
            Some(Box::new(|x| Some([pxfm::f_sin(x[0]), pxfm::f_cos(x[0])].map(plain).into()))),
        ),
        "tanf" => {
            let (sine, cosine) = (lookup("__nv_fast_sinf"), lookup("__nv_fast_cosf"));
            builtin("fast_tanf", one(move |x| sine(x) / cosine(x)))
        }
        "powf" => {
            let log2 = lookup("__nv_fast_log2f");
            builtin(
                "fast_powf",
                one(move |x| pxfm::f_exp2(f64::from((x[1] as f32) * (log2(&x[..1]) as f32)))),
            )
        }
        "tanhf" => Some(Subject {
            run: Run::Ptx("tanh.approx.f32 %0, %1"),
            args: vec![Ty::F32],
            rets: vec![Ty::F32],
            reference: one(|x| pxfm::f_tanh(x[0])),
        }),
        _ => None,
    }
}
