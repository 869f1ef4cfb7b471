// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exponentials, logarithms and powers.

use super::lane::lane_functions;

/// `__powf`: by way of the logarithm, so a negative base gives NaN as on a card.
fn fast_pow(x: f32, y: f32) -> f32 {
    pxfm::f_exp2f(y * pxfm::f_log2f(x))
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
    pow(x: f64, y: f64) -> f64 { pxfm::f_pow(x, y) }
    powf(x: f32, y: f32) -> f32 { pxfm::f_powf(x, y) }
    powi(x: f64, n: i32) -> f64 { pxfm::f_pow(x, f64::from(n)) }
    powif(x: f32, n: i32) -> f32 { pxfm::f_pow(f64::from(x), f64::from(n)) as f32 }
}
