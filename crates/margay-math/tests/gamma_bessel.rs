// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gamma and Bessel functions where samples seldom come: special values, integers, the ends of the
//! range, and the doubles next to zeros.

use margay_math::planes::{Level, plane_fn};
use margay_math::{Function, Type};

fn eval(function: Function, args: &[f64]) -> f64 {
    let planes: Vec<[u64; 32]> = function
        .args()
        .iter()
        .zip(args)
        .map(|(ty, x)| match ty {
            Type::I32 => [u64::from(*x as i32 as u32); 32],
            Type::F64 => [x.to_bits(); 32],
            Type::F32 | Type::I64 => unreachable!("functions in double precision"),
        })
        .collect();
    let mut rets = [[0; 32]];
    plane_fn(function, Level::best())(&planes, 1, &mut rets);
    f64::from_bits(rets[0][0])
}

/// The same bits, or NaN both.
fn check(function: Function, args: &[f64], expected: f64) {
    let result = eval(function, args);
    let same = result.to_bits() == expected.to_bits() || result.is_nan() && expected.is_nan();
    assert!(same, "{}{args:?} = {result:e}, not {expected:e}", function.name());
}

#[test]
fn special_values() {
    use Function::*;
    let inf = f64::INFINITY;
    for (function, x, expected) in [
        (Tgamma, 0.0, inf),
        (Tgamma, -0.0, -inf),
        (Tgamma, inf, inf),
        (Tgamma, -inf, f64::NAN),
        (Tgamma, -1.0, f64::NAN),
        (Tgamma, -1e300, f64::NAN),
        (Tgamma, 5e-324, inf),
        (Tgamma, -5e-324, -inf),
        // Below 0 for an odd integer below, above 0 for an even one.
        (Tgamma, -190.5, -0.0),
        (Tgamma, -191.5, 0.0),
        (Lgamma, 0.0, inf),
        (Lgamma, -0.0, inf),
        (Lgamma, inf, inf),
        (Lgamma, -inf, inf),
        (Lgamma, -3.0, inf),
        (Lgamma, -1e300, inf),
        (Lgamma, 1.0, 0.0),
        (Lgamma, 2.0, 0.0),
        (CylBesselI0, 0.0, 1.0),
        (CylBesselI0, -inf, inf),
        (CylBesselI1, -0.0, -0.0),
        (CylBesselI1, -inf, -inf),
        (CylBesselI1, 1e-323, 5e-324),
        (J0, -0.0, 1.0),
        (J0, -inf, 0.0),
        (J1, -0.0, -0.0),
        (J1, inf, 0.0),
        (Y0, -0.0, -inf),
        (Y0, -1.0, f64::NAN),
        (Y0, -1e300, f64::NAN),
        (Y0, inf, 0.0),
        (Y1, 0.0, -inf),
        (Y1, 1e-309, -inf),
        (Y1, -inf, f64::NAN),
        (Y1, inf, 0.0),
    ] {
        check(function, &[x], expected);
    }
    for function in [Tgamma, Lgamma, CylBesselI0, CylBesselI1, J0, J1, Y0, Y1] {
        check(function, &[f64::NAN], f64::NAN);
    }
}

#[test]
fn small_integers_have_factorials() {
    let mut factorial = 1.0;
    for n in 1..24 {
        check(Function::Tgamma, &[f64::from(n)], factorial);
        factorial *= f64::from(n);
    }
}

#[test]
fn the_last_finite_results() {
    for (function, first_infinite) in [
        (Function::Tgamma, 171.62437695630274_f64),
        (Function::Lgamma, 2.5599833278516387e305),
        (Function::CylBesselI0, 713.9869085439683),
        (Function::CylBesselI1, 713.9876098185423),
    ] {
        // A few units before: the error may be as large.
        let before = f64::from_bits(first_infinite.to_bits() - 3);
        assert_eq!(eval(function, &[first_infinite * 1.000001]), f64::INFINITY);
        let last = eval(function, &[before]);
        assert!(last > 1.797e308 && last < f64::INFINITY, "{}: {last:e}", function.name());
    }
}

/// Values from mpmath.
#[test]
fn errors_next_to_zeros_are_relative() {
    for (function, x, expected) in [
        (Function::J0, 2.404825557695773, -6.10876525973673e-17),
        (Function::J0, 5.520078110286311, -2.7522649432621832e-17),
        (Function::J1, 3.8317059702075125, -6.149807356994906e-17),
        (Function::J1, 7.015586669815619, 2.825339409478929e-17),
        (Function::Y0, 0.8935769662791675, -2.3389279284062102e-17),
        (Function::Y0, 3.957678419314858, -4.3331064642935194e-17),
        (Function::Y0, 7.086051060301773, 2.651448172550504e-17),
        (Function::Y1, 2.197141326031017, 2.513306678922122e-17),
        (Function::Y1, 5.429681040794135, 1.4165786380203692e-16),
        (Function::Lgamma, 1.0000000000000002, -1.2816762426960008e-16),
        (Function::Lgamma, 1.9999999999999998, -9.387698065543117e-17),
    ] {
        let result = eval(function, &[x]);
        let error = ((result - expected) / expected).abs();
        assert!(error < 6e-16, "{}({x:?}) = {result:e}, not {expected:e}", function.name());
    }
}

#[test]
fn orders() {
    use Function::*;
    for x in [0.25, 3.5, 7.75, 9.0, 1e5, 3e9, 1e300, f64::INFINITY] {
        for (of_order, functions) in [(Jn, [J0, J1]), (Yn, [Y0, Y1])] {
            for (n, function) in functions.into_iter().enumerate() {
                check(of_order, &[n as f64, x], eval(function, &[x]));
            }
            check(of_order, &[-1.0, x], f64::NAN);
            check(of_order, &[3.0, f64::NAN], f64::NAN);
        }
    }
    // Each order from its neighbours, across the border between formula and lanes.
    for n in 1..20 {
        let n = f64::from(n);
        for x in [0.5, 2.5, 6.5, 10.0, 25.0] {
            for f in [Jn, Yn] {
                let [before, here, after] = [-1.0, 0.0, 1.0].map(|d| eval(f, &[n + d, x]));
                let sum = 2.0 * n / x * here - before;
                let scale = after.abs().max(before.abs());
                assert!((sum - after).abs() < 1e-13 * scale, "{}({n}, {x})", f.name());
            }
        }
    }
    check(Jn, &[3.0, -0.0], -0.0);
    check(Jn, &[2.0, -0.0], 0.0);
    check(Jn, &[9.0, f64::NEG_INFINITY], -0.0);
    check(Yn, &[5.0, 0.0], f64::NEG_INFINITY);
    check(Yn, &[5.0, 1e-300], f64::NEG_INFINITY);
    check(Yn, &[5.0, -1.0], f64::NAN);
}
