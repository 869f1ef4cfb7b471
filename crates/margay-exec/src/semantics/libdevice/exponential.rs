// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exponentials, logarithms and powers.

use super::lane::lane_functions;

/// `__powf`: by way of the logarithm, so a negative base gives NaN as on a card.
fn fast_pow(x: f32, y: f32) -> f32 {
    pxfm::f_exp2f(y * pxfm::f_log2f(x))
}

/// Where C99 has a result for zeros, ones and NaN of its own (F.9.4.4); elsewhere `otherwise`.
fn power(x: f64, y: f64, otherwise: impl Fn(f64, f64) -> f64) -> f64 {
    if x == 1.0 || y == 0.0 {
        1.0
    } else if x == 0.0 && y < 0.0 {
        // 2^53 and above are even.
        let odd = y % 2.0 == -1.0;
        if odd { 1.0 / x } else { f64::INFINITY }
    } else {
        otherwise(x, y)
    }
}

fn power_f32(x: f32, y: f32) -> f32 {
    power(x.into(), y.into(), |_, _| pxfm::f_powf(x, y).into()) as f32
}

lane_functions! {
    exp(x: f64) -> f64 { pxfm::f_exp(x) }
    expf(x: f32) -> f32 { pxfm::f_expf(x) }
    exp2(x: f64) -> f64 { pxfm::f_exp2(x) }
    exp2f(x: f32) -> f32 { pxfm::f_exp2f(x) }
    exp10(x: f64) -> f64 { pxfm::f_exp10(x) }
    exp10f(x: f32) -> f32 { pxfm::f_exp10f(x) }
    expm1(x: f64) -> f64 { pxfm::f_expm1(x) }
    expm1f(x: f32) -> f32 { pxfm::f_expm1f(x) }
    fast_expf(x: f32) -> f32 { pxfm::f_expf(x) }
    fast_exp10f(x: f32) -> f32 { pxfm::f_exp10f(x) }
    fast_logf(x: f32) -> f32 { pxfm::f_logf(x) }
    fast_log2f(x: f32) -> f32 { pxfm::f_log2f(x) }
    fast_log10f(x: f32) -> f32 { pxfm::f_log10f(x) }
    fast_powf(x: f32, y: f32) -> f32 { fast_pow(x, y) }
    log(x: f64) -> f64 { pxfm::f_log(x) }
    logf(x: f32) -> f32 { pxfm::f_logf(x) }
    log2(x: f64) -> f64 { pxfm::f_log2(x) }
    log2f(x: f32) -> f32 { pxfm::f_log2f(x) }
    log10(x: f64) -> f64 { pxfm::f_log10(x) }
    log10f(x: f32) -> f32 { pxfm::f_log10f(x) }
    log1p(x: f64) -> f64 { pxfm::f_log1p(x) }
    log1pf(x: f32) -> f32 { pxfm::f_log1pf(x) }
    pow(x: f64, y: f64) -> f64 { power(x, y, pxfm::f_pow) }
    powf(x: f32, y: f32) -> f32 { power_f32(x, y) }
    powi(x: f64, n: i32) -> f64 { power(x, f64::from(n), pxfm::f_pow) }
    powif(x: f32, n: i32) -> f32 { power(f64::from(x), f64::from(n), pxfm::f_pow) as f32 }
}
