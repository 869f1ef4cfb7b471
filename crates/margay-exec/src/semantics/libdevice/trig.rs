// SPDX-License-Identifier: MIT OR Apache-2.0
//! Trigonometric and hyperbolic functions. The `fast` ones are as accurate as the others, which is
//! within the bounds of `__sinf` and its like. Adding 0 turns -0 into +0: the cosine's zeros are positive.

use super::lane::lane_functions;

lane_functions! {
    acos(x: f64) -> f64 { pxfm::f_acos(x) }
    acosf(x: f32) -> f32 { pxfm::f_acosf(x) }
    acosh(x: f64) -> f64 { pxfm::f_acosh(x) }
    acoshf(x: f32) -> f32 { pxfm::f_acoshf(x) }
    asin(x: f64) -> f64 { pxfm::f_asin(x) }
    asinf(x: f32) -> f32 { pxfm::f_asinf(x) }
    asinh(x: f64) -> f64 { pxfm::f_asinh(x) }
    asinhf(x: f32) -> f32 { pxfm::f_asinhf(x) }
    atan(x: f64) -> f64 { pxfm::f_atan(x) }
    atanf(x: f32) -> f32 { pxfm::f_atanf(x) }
    atan2(y: f64, x: f64) -> f64 { pxfm::f_atan2(y, x) }
    atan2f(y: f32, x: f32) -> f32 { pxfm::f_atan2f(y, x) }
    atanh(x: f64) -> f64 { pxfm::f_atanh(x) }
    atanhf(x: f32) -> f32 { pxfm::f_atanhf(x) }
    cos(x: f64) -> f64 { pxfm::f_cos(x) }
    cosf(x: f32) -> f32 { pxfm::f_cosf(x) }
    cosh(x: f64) -> f64 { pxfm::f_cosh(x) }
    coshf(x: f32) -> f32 { pxfm::f_coshf(x) }
    cospi(x: f64) -> f64 { pxfm::f_cospi(x) + 0.0 }
    cospif(x: f32) -> f32 { pxfm::f_cospif(x) + 0.0 }
    fast_cosf(x: f32) -> f32 { pxfm::f_cosf(x) }
    fast_sinf(x: f32) -> f32 { pxfm::f_sinf(x) }
    fast_sincosf(x: f32) -> (f32, f32) { (pxfm::f_sinf(x), pxfm::f_cosf(x)) }
    fast_tanf(x: f32) -> f32 { pxfm::f_sinf(x) / pxfm::f_cosf(x) }
    sin(x: f64) -> f64 { pxfm::f_sin(x) }
    sinf(x: f32) -> f32 { pxfm::f_sinf(x) }
    sincos(x: f64) -> (f64, f64) { (pxfm::f_sin(x), pxfm::f_cos(x)) }
    sincosf(x: f32) -> (f32, f32) { (pxfm::f_sinf(x), pxfm::f_cosf(x)) }
    sincospi(x: f64) -> (f64, f64) { (pxfm::f_sinpi(x), pxfm::f_cospi(x) + 0.0) }
    sincospif(x: f32) -> (f32, f32) { (pxfm::f_sinpif(x), pxfm::f_cospif(x) + 0.0) }
    sinh(x: f64) -> f64 { if x == 0.0 { x } else { pxfm::f_sinh(x) } }
    sinhf(x: f32) -> f32 { pxfm::f_sinhf(x) }
    sinpi(x: f64) -> f64 { pxfm::f_sinpi(x) }
    sinpif(x: f32) -> f32 { pxfm::f_sinpif(x) }
    tan(x: f64) -> f64 { pxfm::f_tan(x) }
    tanf(x: f32) -> f32 { pxfm::f_tanf(x) }
    tanh(x: f64) -> f64 { pxfm::f_tanh(x) }
    tanhf(x: f32) -> f32 { pxfm::f_tanhf(x) }
}
