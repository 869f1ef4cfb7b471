// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic to nearest by its name with a direction: the host's own. (Calls of these are ops of the
//! intermediate representation, and come here through tables of functions only.)

use super::lane::lane_functions;

lane_functions! {
    fadd_rn(a: f32, b: f32) -> f32 { a + b }
    fsub_rn(a: f32, b: f32) -> f32 { a - b }
    fmul_rn(a: f32, b: f32) -> f32 { a * b }
    fdiv_rn(a: f32, b: f32) -> f32 { a / b }
    frcp_rn(a: f32) -> f32 { 1.0 / a }
    fsqrt_rn(a: f32) -> f32 { a.sqrt() }
    fmaf_rn(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    fmaf_ieee_rn(a: f32, b: f32, c: f32) -> f32 { a.mul_add(b, c) }
    dadd_rn(a: f64, b: f64) -> f64 { a + b }
    dsub_rn(a: f64, b: f64) -> f64 { a - b }
    dmul_rn(a: f64, b: f64) -> f64 { a * b }
    ddiv_rn(a: f64, b: f64) -> f64 { a / b }
    drcp_rn(a: f64) -> f64 { 1.0 / a }
    dsqrt_rn(a: f64) -> f64 { a.sqrt() }
    fma_rn(a: f64, b: f64, c: f64) -> f64 { a.mul_add(b, c) }
}
