// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions and reinterpretations.
//!
//! To integers as PTX `cvt`: clamped to the type's range; NaN gives 0 from `f32` to 32 bits, and
//! only the highest bit set wherever 64 bits take part.

use super::lane::lane_functions;

lane_functions! {
    float2int_rn(x: f32) -> i32 { if x.is_nan() { 0 } else { x.round_ties_even() as i32 } }
    float2int_rz(x: f32) -> i32 { if x.is_nan() { 0 } else { x.trunc() as i32 } }
    float2int_rd(x: f32) -> i32 { if x.is_nan() { 0 } else { x.floor() as i32 } }
    float2int_ru(x: f32) -> i32 { if x.is_nan() { 0 } else { x.ceil() as i32 } }
    float2uint_rn(x: f32) -> u32 { if x.is_nan() { 0 } else { x.round_ties_even() as u32 } }
    float2uint_rz(x: f32) -> u32 { if x.is_nan() { 0 } else { x.trunc() as u32 } }
    float2uint_rd(x: f32) -> u32 { if x.is_nan() { 0 } else { x.floor() as u32 } }
    float2uint_ru(x: f32) -> u32 { if x.is_nan() { 0 } else { x.ceil() as u32 } }
    float2ll_rn(x: f32) -> i64 { if x.is_nan() { i64::MIN } else { x.round_ties_even() as i64 } }
    float2ll_rz(x: f32) -> i64 { if x.is_nan() { i64::MIN } else { x.trunc() as i64 } }
    float2ll_rd(x: f32) -> i64 { if x.is_nan() { i64::MIN } else { x.floor() as i64 } }
    float2ll_ru(x: f32) -> i64 { if x.is_nan() { i64::MIN } else { x.ceil() as i64 } }
    float2ull_rn(x: f32) -> u64 { if x.is_nan() { 1 << 63 } else { x.round_ties_even() as u64 } }
    float2ull_rz(x: f32) -> u64 { if x.is_nan() { 1 << 63 } else { x.trunc() as u64 } }
    float2ull_rd(x: f32) -> u64 { if x.is_nan() { 1 << 63 } else { x.floor() as u64 } }
    float2ull_ru(x: f32) -> u64 { if x.is_nan() { 1 << 63 } else { x.ceil() as u64 } }
    double2int_rn(x: f64) -> i32 { if x.is_nan() { i32::MIN } else { x.round_ties_even() as i32 } }
    double2int_rz(x: f64) -> i32 { if x.is_nan() { i32::MIN } else { x.trunc() as i32 } }
    double2int_rd(x: f64) -> i32 { if x.is_nan() { i32::MIN } else { x.floor() as i32 } }
    double2int_ru(x: f64) -> i32 { if x.is_nan() { i32::MIN } else { x.ceil() as i32 } }
    double2uint_rn(x: f64) -> u32 { if x.is_nan() { 1 << 31 } else { x.round_ties_even() as u32 } }
    double2uint_rz(x: f64) -> u32 { if x.is_nan() { 1 << 31 } else { x.trunc() as u32 } }
    double2uint_rd(x: f64) -> u32 { if x.is_nan() { 1 << 31 } else { x.floor() as u32 } }
    double2uint_ru(x: f64) -> u32 { if x.is_nan() { 1 << 31 } else { x.ceil() as u32 } }
    double2ll_rn(x: f64) -> i64 { if x.is_nan() { i64::MIN } else { x.round_ties_even() as i64 } }
    double2ll_rz(x: f64) -> i64 { if x.is_nan() { i64::MIN } else { x.trunc() as i64 } }
    double2ll_rd(x: f64) -> i64 { if x.is_nan() { i64::MIN } else { x.floor() as i64 } }
    double2ll_ru(x: f64) -> i64 { if x.is_nan() { i64::MIN } else { x.ceil() as i64 } }
    double2ull_rn(x: f64) -> u64 { if x.is_nan() { 1 << 63 } else { x.round_ties_even() as u64 } }
    double2ull_rz(x: f64) -> u64 { if x.is_nan() { 1 << 63 } else { x.trunc() as u64 } }
    double2ull_rd(x: f64) -> u64 { if x.is_nan() { 1 << 63 } else { x.floor() as u64 } }
    double2ull_ru(x: f64) -> u64 { if x.is_nan() { 1 << 63 } else { x.ceil() as u64 } }
    double2float_rn(x: f64) -> f32 { x as f32 }
    int2float_rn(n: i32) -> f32 { n as f32 }
    uint2float_rn(n: u32) -> f32 { n as f32 }
    ll2float_rn(n: i64) -> f32 { n as f32 }
    ll2double_rn(n: i64) -> f64 { n as f64 }
    ull2float_rn(n: u64) -> f32 { n as f32 }
    ull2double_rn(n: u64) -> f64 { n as f64 }
    int2double_rn(n: i32) -> f64 { f64::from(n) }
    uint2double_rn(n: u32) -> f64 { f64::from(n) }
    llrint(x: f64) -> i64 { if x.is_nan() { i64::MIN } else { x.round_ties_even() as i64 } }
    llrintf(x: f32) -> i64 { if x.is_nan() { i64::MIN } else { x.round_ties_even() as i64 } }
    llround(x: f64) -> i64 { if x.is_nan() { i64::MIN } else { x.round() as i64 } }
    llroundf(x: f32) -> i64 { if x.is_nan() { i64::MIN } else { x.round() as i64 } }
    float2half_rn(x: f32) -> u16 { if x.is_nan() { 0x7fff } else { half::f16::from_f32(x).to_bits() } }
    half2float(h: u16) -> f32 { half::f16::from_bits(h).to_f32() }
    double2hiint(x: u64) -> u32 { (x >> 32) as u32 }
    double2loint(x: u64) -> u32 { x as u32 }
    hiloint2double(hi: u32, lo: u32) -> u64 { u64::from(hi) << 32 | u64::from(lo) }
    double_as_longlong(x: u64) -> u64 { x }
    longlong_as_double(x: u64) -> u64 { x }
    float_as_int(x: u32) -> u32 { x }
    float_as_uint(x: u32) -> u32 { x }
    int_as_float(x: u32) -> u32 { x }
    uint_as_float(x: u32) -> u32 { x }
}
