// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions and reinterpretations.
//!
//! To integers as PTX `cvt`: clamped to the type's range; NaN gives 0 from `f32` to 32 bits, and
//! only the highest bit set wherever 64 bits take part.

use super::lane::lane_functions;

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Nearest,
    Zero,
    Down,
    Up,
}

/// Whether a value rounded to nearest must move down or up by one place, given on which side of
/// the exact value it came to lie.
fn step(rounded_vs_exact: std::cmp::Ordering, negative: bool, direction: Direction) -> i32 {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let down = direction == Direction::Down || (direction == Direction::Zero && !negative);
    let up = direction == Direction::Up || (direction == Direction::Zero && negative);
    match rounded_vs_exact {
        Greater if down => -1,
        Less if up => 1,
        Greater | Less | Equal => 0,
    }
}

fn move_f32(x: f32, step: i32) -> f32 {
    match step {
        ..0 => x.next_down(),
        0 => x,
        1.. => x.next_up(),
    }
}

fn narrow(x: f64, direction: Direction) -> f32 {
    let nearest = x as f32;
    match f64::from(nearest).partial_cmp(&x) {
        Some(side) => move_f32(nearest, step(side, x.is_sign_negative(), direction)),
        None => f32::NAN,
    }
}

fn integer_to_f32(n: i128, direction: Direction) -> f32 {
    let nearest = n as f32;
    move_f32(nearest, step((nearest as i128).cmp(&n), n < 0, direction))
}

fn integer_to_f64(n: i128, direction: Direction) -> f64 {
    let nearest = n as f64;
    match step((nearest as i128).cmp(&n), n < 0, direction) {
        ..0 => nearest.next_down(),
        0 => nearest,
        1.. => nearest.next_up(),
    }
}

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
    double2float_rn(x: f64) -> f32 { narrow(x, Direction::Nearest) }
    double2float_rz(x: f64) -> f32 { narrow(x, Direction::Zero) }
    double2float_rd(x: f64) -> f32 { narrow(x, Direction::Down) }
    double2float_ru(x: f64) -> f32 { narrow(x, Direction::Up) }
    int2float_rn(n: i32) -> f32 { integer_to_f32(n.into(), Direction::Nearest) }
    int2float_rz(n: i32) -> f32 { integer_to_f32(n.into(), Direction::Zero) }
    int2float_rd(n: i32) -> f32 { integer_to_f32(n.into(), Direction::Down) }
    int2float_ru(n: i32) -> f32 { integer_to_f32(n.into(), Direction::Up) }
    uint2float_rn(n: u32) -> f32 { integer_to_f32(n.into(), Direction::Nearest) }
    uint2float_rz(n: u32) -> f32 { integer_to_f32(n.into(), Direction::Zero) }
    uint2float_rd(n: u32) -> f32 { integer_to_f32(n.into(), Direction::Down) }
    uint2float_ru(n: u32) -> f32 { integer_to_f32(n.into(), Direction::Up) }
    ll2float_rn(n: i64) -> f32 { integer_to_f32(n.into(), Direction::Nearest) }
    ll2double_rn(n: i64) -> f64 { integer_to_f64(n.into(), Direction::Nearest) }
    ll2float_rz(n: i64) -> f32 { integer_to_f32(n.into(), Direction::Zero) }
    ll2double_rz(n: i64) -> f64 { integer_to_f64(n.into(), Direction::Zero) }
    ll2float_rd(n: i64) -> f32 { integer_to_f32(n.into(), Direction::Down) }
    ll2double_rd(n: i64) -> f64 { integer_to_f64(n.into(), Direction::Down) }
    ll2float_ru(n: i64) -> f32 { integer_to_f32(n.into(), Direction::Up) }
    ll2double_ru(n: i64) -> f64 { integer_to_f64(n.into(), Direction::Up) }
    ull2float_rn(n: u64) -> f32 { integer_to_f32(n.into(), Direction::Nearest) }
    ull2double_rn(n: u64) -> f64 { integer_to_f64(n.into(), Direction::Nearest) }
    ull2float_rz(n: u64) -> f32 { integer_to_f32(n.into(), Direction::Zero) }
    ull2double_rz(n: u64) -> f64 { integer_to_f64(n.into(), Direction::Zero) }
    ull2float_rd(n: u64) -> f32 { integer_to_f32(n.into(), Direction::Down) }
    ull2double_rd(n: u64) -> f64 { integer_to_f64(n.into(), Direction::Down) }
    ull2float_ru(n: u64) -> f32 { integer_to_f32(n.into(), Direction::Up) }
    ull2double_ru(n: u64) -> f64 { integer_to_f64(n.into(), Direction::Up) }
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
