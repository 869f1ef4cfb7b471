// SPDX-License-Identifier: MIT OR Apache-2.0
//! Worst error of the single-precision functions in units of the last place, over random and edge values,
//! against double precision, and the specification's table ("Relative Error as ULPs").

use crate::cl;
use crate::common::*;

type Reference = fn(f64, f64) -> f64;

const PI: f64 = std::f64::consts::PI;

/// Name, allowed ulp, arguments, a bound of the sample's magnitude, reference.
const FUNCTIONS: &[(&str, f64, u32, f64, Reference)] =
    &[
        ("acos", 4.0, 1, 1.0, |x, _| x.acos()),
        ("acospi", 5.0, 1, 1.0, |x, _| x.acos() / PI),
        ("asin", 4.0, 1, 1.0, |x, _| x.asin()),
        ("asinpi", 5.0, 1, 1.0, |x, _| x.asin() / PI),
        ("atan", 5.0, 1, 1e30, |x, _| x.atan()),
        ("atanpi", 5.0, 1, 1e30, |x, _| x.atan() / PI),
        ("atan2", 6.0, 2, 1e10, |x, y| x.atan2(y)),
        ("atan2pi", 6.0, 2, 1e10, |x, y| x.atan2(y) / PI),
        ("cbrt", 2.0, 1, 1e30, |x, _| x.cbrt()),
        ("cos", 4.0, 1, 1e4, |x, _| x.cos()),
        ("cosh", 4.0, 1, 80.0, |x, _| x.cosh()),
        ("exp", 3.0, 1, 80.0, |x, _| x.exp()),
        ("exp2", 3.0, 1, 120.0, |x, _| x.exp2()),
        ("exp10", 3.0, 1, 37.0, |x, _| 10f64.powf(x)),
        ("expm1", 3.0, 1, 80.0, |x, _| x.exp_m1()),
        ("fdim", 0.0, 2, 1e10, |x, y| (x - y).max(0.0)),
        ("fmod", 0.0, 2, 1e4, |x, y| x % y),
        ("hypot", 4.0, 2, 1e10, |x, y| x.hypot(y)),
        ("log", 3.0, 1, 1e30, |x, _| x.ln()),
        ("log1p", 2.0, 1, 1e10, |x, _| x.ln_1p()),
        ("log2", 3.0, 1, 1e30, |x, _| x.log2()),
        ("log10", 3.0, 1, 1e30, |x, _| x.log10()),
        ("pow", 16.0, 2, 20.0, |x, y| x.powf(y)),
        ("powr", 16.0, 2, 20.0, |x, y| {
            if x < 0.0 || (x == 0.0 && y == 0.0) { f64::NAN } else { x.powf(y) }
        }),
        ("rsqrt", 2.0, 1, 1e30, |x, _| 1.0 / x.sqrt()),
        ("sin", 4.0, 1, 1e4, |x, _| x.sin()),
        ("sinh", 4.0, 1, 80.0, |x, _| x.sinh()),
        ("sqrt", 0.0, 1, 1e30, |x, _| x.sqrt()),
        ("tan", 5.0, 1, 1e4, |x, _| x.tan()),
        ("tanh", 5.0, 1, 20.0, |x, _| x.tanh()),
        ("half_sin", 8192.0, 1, 1e4, |x, _| x.sin()),
        ("half_exp", 8192.0, 1, 80.0, |x, _| x.exp()),
    ];

fn ulp(got: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if got == rounded || (got.is_nan() && rounded.is_nan()) {
        return 0.0;
    }
    // Results near zero or infinity count in the format's smallest and largest steps.
    let exponent = exact.abs().log2().floor().clamp(-126.0, 127.0);
    (f64::from(got) - exact).abs() / (exponent - 23.0).exp2()
}

#[test]
fn within_the_specifications_table() {
    const COUNT: usize = 2048;
    let setup = Setup::new(0);
    let mut source = String::new();
    for (name, _, arguments, _, _) in FUNCTIONS {
        let call = if *arguments == 1 { "x[i]" } else { "x[i], y[i]" };
        source += &format!(
            "kernel void t_{name}(global const float *x, global const float *y, global float *o) \
             {{ size_t i = get_global_id(0); o[i] = {name}({call}); }}\n"
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
    for (name, allowed, _, bound, reference) in FUNCTIONS {
        // Magnitudes spread over all scales up to the bound.
        let mut sample = || -> Vec<f32> {
            let edges = [0.0, -0.0, 1.0, -1.0, 0.5, f32::MIN_POSITIVE, 1e-40];
            let rest = (edges.len()..COUNT).map(|_| {
                let magnitude = if random() < 0.5 {
                    random() * bound
                } else {
                    bound * (-40.0 * random()).exp()
                };
                (if random() < 0.5 { -magnitude } else { magnitude }) as f32
            });
            edges.into_iter().filter(|e| f64::from(e.abs()) <= *bound).chain(rest).collect()
        };
        let (x, mut y) = (sample(), sample());
        y.resize(x.len(), 1.5);
        let (a, b, out) = (setup.buffer(&x), setup.buffer(&y), setup.buffer(&vec![0f32; x.len()]));
        let (full, mut error) = (std::ffi::CString::new(format!("t_{name}")).unwrap(), 0);
        let kernel = cl!(clCreateKernel(program, full.as_ptr(), &mut error));
        assert_eq!(
            (error, set(kernel, 0, &a), set(kernel, 1, &b), set(kernel, 2, &out)),
            (0, 0, 0, 0)
        );
        assert_eq!(setup.run(kernel, x.len(), None), 0);
        let values = setup.read::<f32>(out, x.len());
        let mut worst = (0.0, 0.0f32, 0.0f32, 0.0f32);
        for ((x, y), got) in x.iter().zip(&y).zip(&values) {
            let error = ulp(*got, reference(f64::from(*x), f64::from(*y)));
            if error > worst.0 || error.is_nan() {
                worst = (error, *x, *y, *got);
            }
        }
        let (error, x, y, got) = worst;
        println!("{name:10} {error:8.3} ulp of {allowed}, at ({x:e}, {y:e}) = {got:e}");
        // A correctly rounded function is half a unit off at most.
        if error.is_nan() || error > allowed.max(0.500_001) {
            wrong.push(format!("{name}: {error} ulp at ({x:e}, {y:e}) = {got:e}"));
        }
        for mem in [a, b, out] {
            cl!(clReleaseMemObject(mem));
        }
        cl!(clReleaseKernel(kernel));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
