// SPDX-License-Identifier: MIT OR Apache-2.0
//! Gamma and Bessel functions.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_4};

use super::lane::lane_functions;

/// Orders from here on go by the leading term of Debye's expansions: a recurrence takes time in
/// proportion to the order, and the term's error falls with it. CUDA bounds errors up to order 128.
const LARGE_ORDER: i32 = 1 << 20;

/// J and Y of a large order, for positive `x`.
fn bessel_of_large_order(n: i32, x: f64) -> (f64, f64) {
    let n = f64::from(n);
    let cube_root = pxfm::f_cbrt(n);
    let d = (x - n) * (x + n);
    let r = d.abs().sqrt();
    if x.is_infinite() {
        (0.0, 0.0)
    } else if d.abs() < 4.0 * n * cube_root {
        // Where the order meets the argument: J and Y at x = n, of n to the power -1/3.
        (0.447_307_318_4 / cube_root, -0.774_759_002_1 / cube_root)
    } else if d > 0.0 {
        let phase = r - n * pxfm::f_acos(n / x) - FRAC_PI_4;
        let amplitude = (FRAC_2_PI / r).sqrt();
        (amplitude * pxfm::f_cos(phase), amplitude * pxfm::f_sin(phase))
    } else {
        let exponent = n * pxfm::f_acosh(n / x) - r;
        let amplitude = (FRAC_2_PI / r).sqrt();
        (0.5 * amplitude * pxfm::f_exp(-exponent), -amplitude * pxfm::f_exp(exponent))
    }
}

/// Orders below 0 are undefined for CUDA, unlike C's.
fn bessel_j(n: i32, x: f64) -> f64 {
    match n {
        ..0 => f64::NAN,
        0 => pxfm::f_j0(x),
        1 => pxfm::f_j1(x),
        2..LARGE_ORDER => libm::jn(n, x),
        LARGE_ORDER.. => {
            let (j, _) = bessel_of_large_order(n, x.abs());
            if x < 0.0 && n % 2 == 1 { -j } else { j }
        }
    }
}

fn bessel_y(n: i32, x: f64) -> f64 {
    match n {
        ..0 => f64::NAN,
        _ if x < 0.0 => f64::NAN,
        _ if x == 0.0 => f64::NEG_INFINITY,
        0 => pxfm::f_y0(x),
        1 => pxfm::f_y1(x),
        2..LARGE_ORDER => libm::yn(n, x),
        LARGE_ORDER.. => bessel_of_large_order(n, x).1,
    }
}

/// Serves single precision too: `pxfm`'s own is 9 units off where results are subnormal.
fn tgamma_of(x: f64) -> f64 {
    if x == 0.0 { 1.0 / x } else { pxfm::f_tgamma(x) }
}

lane_functions! {
    tgamma(x: f64) -> f64 { tgamma_of(x) }
    tgammaf(x: f32) -> f32 { tgamma_of(f64::from(x)) as f32 }
    lgamma(x: f64) -> f64 { pxfm::f_lgamma(x) }
    lgammaf(x: f32) -> f32 { pxfm::f_lgammaf(x) }
    cyl_bessel_i0(x: f64) -> f64 { pxfm::f_i0(x) }
    cyl_bessel_i0f(x: f32) -> f32 { pxfm::f_i0f(x) }
    cyl_bessel_i1(x: f64) -> f64 { pxfm::f_i1(x) }
    cyl_bessel_i1f(x: f32) -> f32 { pxfm::f_i1f(x) }
    j0(x: f64) -> f64 { pxfm::f_j0(x) }
    j0f(x: f32) -> f32 { pxfm::f_j0f(x) }
    j1(x: f64) -> f64 { pxfm::f_j1(x) }
    j1f(x: f32) -> f32 { pxfm::f_j1f(x) }
    jn(n: i32, x: f64) -> f64 { bessel_j(n, x) }
    jnf(n: i32, x: f32) -> f32 { bessel_j(n, f64::from(x)) as f32 }
    y0(x: f64) -> f64 { bessel_y(0, x) }
    y0f(x: f32) -> f32 { bessel_y(0, f64::from(x)) as f32 }
    y1(x: f64) -> f64 { bessel_y(1, x) }
    y1f(x: f32) -> f32 { bessel_y(1, f64::from(x)) as f32 }
    yn(n: i32, x: f64) -> f64 { bessel_y(n, x) }
    ynf(n: i32, x: f32) -> f32 { bessel_y(n, f64::from(x)) as f32 }
}
