// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device library against 60-digit references, within the errors that the CUDA Programming
//! Guide documents (appendix "Mathematical Functions", maximum error in units in the last place).
//!
//! `MARGAY_PRINT_ERRORS=1 cargo test -p margay-exec --test libdevice_accuracy -- --nocapture`
//! prints the worst error of each function. The references come from
//! `data/libdevice_reference.py`.

use std::collections::BTreeMap;

use margay_exec::semantics::libdevice::eval;
use margay_ir::{Builtin, Ty};

/// Documented maximum errors: double precision, single precision.
const DOCUMENTED: &[(&str, f64, f64)] = &[
    ("sin", 2.0, 2.0),
    ("cos", 2.0, 2.0),
    ("tan", 2.0, 4.0),
    ("sinpi", 2.0, 1.0),
    ("cospi", 2.0, 1.0),
    ("asin", 2.0, 2.0),
    ("acos", 2.0, 2.0),
    ("atan", 2.0, 2.0),
    ("atan2", 2.0, 3.0),
    ("sinh", 2.0, 3.0),
    ("cosh", 1.0, 2.0),
    ("tanh", 1.0, 2.0),
    ("asinh", 3.0, 3.0),
    ("acosh", 3.0, 4.0),
    ("atanh", 2.0, 3.0),
    ("exp", 1.0, 1.0),
    ("exp2", 1.0, 2.0),
    ("exp10", 1.0, 2.0),
    ("expm1", 1.0, 1.0),
    ("log", 1.0, 1.0),
    ("log2", 1.0, 1.0),
    ("log10", 1.0, 2.0),
    ("log1p", 1.0, 1.0),
    ("pow", 2.0, 4.0),
    ("cbrt", 1.0, 1.0),
    ("rcbrt", 1.0, 1.0),
    ("rsqrt", 1.0, 2.0),
    ("hypot", 2.0, 3.0),
    ("rhypot", 1.0, 2.0),
    ("norm3d", 2.0, 3.0),
    ("rnorm3d", 1.0, 2.0),
    ("norm4d", 2.0, 3.0),
    ("rnorm4d", 1.0, 2.0),
    ("erf", 2.0, 2.0),
    ("erfc", 5.0, 4.0),
    ("erfcx", 4.0, 4.0),
    ("erfinv", 5.0, 2.0),
    ("erfcinv", 6.0, 4.0),
    ("normcdf", 5.0, 5.0),
    ("normcdfinv", 8.0, 5.0),
    ("tgamma", 10.0, 5.0),
    ("lgamma", 4.0, 6.0),
    ("cyl_bessel_i0", 6.0, 6.0),
    ("cyl_bessel_i1", 6.0, 6.0),
    ("j0", 7.0, 9.0),
    ("j1", 7.0, 9.0),
    ("y0", 7.0, 9.0),
    ("y1", 7.0, 9.0),
];

/// Bessel functions beyond |x| = 8 have an absolute bound instead.
const BESSEL: [&str; 4] = ["j0", "j1", "y0", "y1"];
const BESSEL_ABSOLUTE: (f64, f64) = (5e-12, 2.2e-6);

/// A unit in the last place of a format with `digits` bits and least exponent `least`, at `x`.
fn unit(x: f64, digits: i32, least: i32) -> f64 {
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
    f64::powi(2.0, exponent.max(least) - (digits - 1))
}

fn call(b: Builtin, args: &[f64]) -> f64 {
    let planes: Vec<[u64; 32]> = args
        .iter()
        .zip(b.args())
        .map(|(v, ty)| match ty {
            Ty::F32 => [u64::from((*v as f32).to_bits()); 32],
            Ty::F64 => [v.to_bits(); 32],
            other => panic!("{b:?} takes {other:?}"),
        })
        .collect();
    let mut rets = [[0; 32]];
    eval(b, &planes, 1 << 5, &mut rets);
    match b.rets()[0] {
        Ty::F32 => f64::from(f32::from_bits(rets[0][5] as u32)),
        Ty::F64 => f64::from_bits(rets[0][5]),
        other => panic!("{b:?} returns {other:?}"),
    }
}

#[test]
fn errors_are_within_the_documented_bounds() {
    let mut worst: BTreeMap<String, (f64, String, u32)> = BTreeMap::new();
    for line in include_str!("data/libdevice_reference.txt").lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let numbers: Vec<f64> =
            words.map(|w| f64::from_bits(u64::from_str_radix(w, 16).unwrap())).collect();
        let (args, value) = numbers.split_at(numbers.len() - 2);
        let b = Builtin::by_name(&format!("__nv_{name}")).expect(name);
        let result = call(b, args);
        let narrow = b.rets()[0] == Ty::F32;
        let error = if narrow && value[0].abs() > f64::from(f32::MAX) {
            // May round to the largest float or overflow.
            if result.abs() >= f64::from(f32::MAX) { 0.0 } else { f64::INFINITY }
        } else {
            let (digits, least) = if narrow { (24, -126) } else { (53, -1022) };
            ((result - value[0]) - value[1]).abs() / unit(value[0], digits, least)
        };
        let base = if narrow { name.strip_suffix('f').unwrap_or(name) } else { name };
        if BESSEL.contains(&base) && args[0].abs() >= 8.0 {
            let bound = if narrow { BESSEL_ABSOLUTE.1 } else { BESSEL_ABSOLUTE.0 };
            let absolute = (result - value[0]).abs();
            assert!(absolute <= bound, "{line}: {result} is off by {absolute:e}");
            continue;
        }
        let entry = worst.entry(name.to_string()).or_insert((0.0, String::new(), 0));
        entry.2 += 1;
        if error.is_nan() || error >= entry.0 {
            *entry = (error, format!("{name}{args:?} = {result:e}, not {:e}", value[0]), entry.2);
        }
    }
    let mut failures = String::new();
    for &(base, double, single) in DOCUMENTED {
        for (name, bound) in [(base.to_string(), double), (format!("{base}f"), single)] {
            let (error, example, samples) = &worst[&name];
            if std::env::var_os("MARGAY_PRINT_ERRORS").is_some() {
                println!("{name:16} {error:8.3} of {bound} ({samples} samples): {example}");
            }
            assert!(*samples >= 20, "{name}: only {samples} samples");
            if error.is_nan() || *error > bound {
                failures += &format!("{error:.3} > {bound}: {example}\n");
            }
        }
    }
    assert!(failures.is_empty(), "errors beyond the documented bounds:\n{failures}");
}
