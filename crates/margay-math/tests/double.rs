// SPDX-License-Identifier: MIT OR Apache-2.0
//! Double precision against 40-digit references, within the documented errors.

use std::collections::BTreeMap;

use margay_math::planes::{Level, plane_fn};
use margay_math::{Function, Type};

/// Written by `libdevice_reference.py` beside it: a name, arguments, and the exact value as the
/// nearest double and what that lacks.
const REFERENCES: &str = include_str!("data/libdevice_reference.txt");

/// Bounds of the CUDA C++ Programming Guide, in units in the last place.
const DOCUMENTED: &[(&str, f64)] = &[
    ("sin", 2.0),
    ("cos", 2.0),
    ("tan", 2.0),
    ("sinpi", 2.0),
    ("cospi", 2.0),
    ("asin", 2.0),
    ("acos", 2.0),
    ("atan", 2.0),
    ("atan2", 2.0),
    ("sinh", 2.0),
    ("cosh", 1.0),
    ("tanh", 1.0),
    ("asinh", 3.0),
    ("acosh", 3.0),
    ("atanh", 2.0),
    ("exp", 1.0),
    ("exp2", 1.0),
    ("exp10", 1.0),
    ("expm1", 1.0),
    ("log", 1.0),
    ("log2", 1.0),
    ("log10", 1.0),
    ("log1p", 1.0),
    ("pow", 2.0),
    ("cbrt", 1.0),
    ("rcbrt", 1.0),
    ("rsqrt", 1.0),
    ("hypot", 2.0),
    ("rhypot", 1.0),
    ("norm3d", 2.0),
    ("rnorm3d", 1.0),
    ("norm4d", 2.0),
    ("rnorm4d", 1.0),
    ("erf", 2.0),
    ("erfc", 5.0),
    ("erfcx", 4.0),
    ("normcdf", 5.0),
    ("erfinv", 5.0),
    ("erfcinv", 6.0),
    ("normcdfinv", 8.0),
    ("tgamma", 10.0),
    ("lgamma", 4.0),
    ("cyl_bessel_i0", 6.0),
    ("cyl_bessel_i1", 6.0),
    ("j0", 7.0),
    ("j1", 7.0),
    ("y0", 7.0),
    ("y1", 7.0),
];

#[test]
fn double_precision_is_within_the_documented_bounds() {
    let mut worst: BTreeMap<&str, (f64, u32, String)> = BTreeMap::new();
    for line in REFERENCES.lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let Some((name, _)) = DOCUMENTED.iter().find(|(n, _)| *n == name) else { continue };
        let function = Function::by_name(&format!("__nv_{name}")).unwrap();
        let numbers: Vec<u64> = words.map(|w| u64::from_str_radix(w, 16).unwrap()).collect();
        let arity = function.args().len();
        assert_eq!(function.rets(), [Type::F64]);
        let args: Vec<[u64; 32]> = numbers[..arity].iter().map(|v| [*v; 32]).collect();
        let mut rets = [[0; 32]];
        plane_fn(function, Level::best())(&args, 1 << 9, &mut rets);
        let result = f64::from_bits(rets[0][9]);
        let [value, lacks] = [arity, arity + 1].map(|i| f64::from_bits(numbers[i]));
        let exponent = (value.abs().to_bits() >> 52) as i32 - 1023;
        let mut unit = f64::powi(2.0, exponent.max(-1022) - 52);
        // There the bound is an absolute one: 7 of these.
        if ["j0", "j1", "y0", "y1"].contains(name) && f64::from_bits(numbers[0]).abs() >= 8.0 {
            unit = 5e-12 / 7.0;
        }
        let error = ((result - value) - lacks).abs() / unit;
        let entry = worst.entry(name).or_default();
        entry.1 += 1;
        if error > entry.0 || error.is_nan() {
            let args: Vec<f64> = numbers[..arity].iter().map(|v| f64::from_bits(*v)).collect();
            entry.0 = error;
            entry.2 = format!("{args:?} = {result:e}, not {value:e}");
        }
    }
    let mut failures = Vec::new();
    for (name, bound) in DOCUMENTED {
        let (error, samples, example) = &worst[name];
        println!("__nv_{name:8} {error:6.3} of {bound} ({samples} samples): {example}");
        assert!(*samples >= 20, "{name}");
        if error.is_nan() || error > bound {
            failures.push(format!("{name}: {error} ulp of {bound}: {example}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
