// SPDX-License-Identifier: MIT OR Apache-2.0
//! SIMD in a word: `…2` on two halfwords, `…4` on four bytes.

use super::lane::lane_functions;

/// Applies `f` to the parts of `WIDTH` bits, zero-extended, and keeps the low bits of each result.
fn unsigned<const WIDTH: u32>(a: u32, b: u32, f: impl Fn(i32, i32) -> i32) -> u32 {
    let mask = (1 << WIDTH) - 1;
    let part = |v: u32, at: u32| ((v >> at) & mask) as i32;
    (0..32 / WIDTH)
        .map(|i| i * WIDTH)
        .map(|at| (f(part(a, at), part(b, at)) as u32 & mask) << at)
        .fold(0, |all, one| all | one)
}

/// The same, sign-extended.
fn signed<const WIDTH: u32>(a: u32, b: u32, f: impl Fn(i32, i32) -> i32) -> u32 {
    let extend = |v: i32| v << (32 - WIDTH) >> (32 - WIDTH);
    unsigned::<WIDTH>(a, b, |x, y| f(extend(x), extend(y)))
}

/// The sum of the parts.
fn sum<const WIDTH: u32>(v: u32) -> u32 {
    (0..32 / WIDTH).map(|i| (v >> (i * WIDTH)) & ((1 << WIDTH) - 1)).sum()
}

lane_functions! {
    vabs2(a: u32) -> u32 { signed::<16>(a, 0, |x, _| x.abs()) }
    vabsss2(a: u32) -> u32 { signed::<16>(a, 0, |x, _| x.abs().min(32767)) }
    vneg2(a: u32) -> u32 { signed::<16>(a, 0, |x, _| -x) }
    vnegss2(a: u32) -> u32 { signed::<16>(a, 0, |x, _| (-x).min(32767)) }
    vabsdiffs2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| (x - y).abs()) }
    vabsdiffu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| (x - y).abs()) }
    vadd2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| x + y) }
    vsub2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| x - y) }
    vaddss2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| (x + y).clamp(-32768, 32767)) }
    vsubss2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| (x - y).clamp(-32768, 32767)) }
    vaddus2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| (x + y).min(0xffff)) }
    vsubus2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| (x - y).max(0)) }
    vavgs2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| (x + y + i32::from(x + y >= 0)) >> 1) }
    vavgu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| (x + y + 1) >> 1) }
    vhaddu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| (x + y) >> 1) }
    vmaxs2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| x.max(y)) }
    vmaxu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| x.max(y)) }
    vmins2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| x.min(y)) }
    vminu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| x.min(y)) }
    vsads2(a: u32, b: u32) -> u32 { sum::<16>(signed::<16>(a, b, |x, y| (x - y).abs())) }
    vsadu2(a: u32, b: u32) -> u32 { sum::<16>(unsigned::<16>(a, b, |x, y| (x - y).abs())) }
    vcmpeq2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| -i32::from(x == y)) }
    vcmpne2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| -i32::from(x != y)) }
    vcmpges2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| -i32::from(x >= y)) }
    vcmpgeu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| -i32::from(x >= y)) }
    vcmpgts2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| -i32::from(x > y)) }
    vcmpgtu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| -i32::from(x > y)) }
    vcmples2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| -i32::from(x <= y)) }
    vcmpleu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| -i32::from(x <= y)) }
    vcmplts2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| -i32::from(x < y)) }
    vcmpltu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| -i32::from(x < y)) }
    vseteq2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| i32::from(x == y)) }
    vsetne2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| i32::from(x != y)) }
    vsetges2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| i32::from(x >= y)) }
    vsetgeu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| i32::from(x >= y)) }
    vsetgts2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| i32::from(x > y)) }
    vsetgtu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| i32::from(x > y)) }
    vsetles2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| i32::from(x <= y)) }
    vsetleu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| i32::from(x <= y)) }
    vsetlts2(a: u32, b: u32) -> u32 { signed::<16>(a, b, |x, y| i32::from(x < y)) }
    vsetltu2(a: u32, b: u32) -> u32 { unsigned::<16>(a, b, |x, y| i32::from(x < y)) }
    vabs4(a: u32) -> u32 { signed::<8>(a, 0, |x, _| x.abs()) }
    vabsss4(a: u32) -> u32 { signed::<8>(a, 0, |x, _| x.abs().min(127)) }
    vneg4(a: u32) -> u32 { signed::<8>(a, 0, |x, _| -x) }
    vnegss4(a: u32) -> u32 { signed::<8>(a, 0, |x, _| (-x).min(127)) }
    vabsdiffs4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| (x - y).abs()) }
    vabsdiffu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| (x - y).abs()) }
    vadd4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| x + y) }
    vsub4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| x - y) }
    vaddss4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| (x + y).clamp(-128, 127)) }
    vsubss4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| (x - y).clamp(-128, 127)) }
    vaddus4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| (x + y).min(0xff)) }
    vsubus4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| (x - y).max(0)) }
    vavgs4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| (x + y + i32::from(x + y >= 0)) >> 1) }
    vavgu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| (x + y + 1) >> 1) }
    vhaddu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| (x + y) >> 1) }
    vmaxs4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| x.max(y)) }
    vmaxu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| x.max(y)) }
    vmins4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| x.min(y)) }
    vminu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| x.min(y)) }
    vsads4(a: u32, b: u32) -> u32 { sum::<8>(signed::<8>(a, b, |x, y| (x - y).abs())) }
    vsadu4(a: u32, b: u32) -> u32 { sum::<8>(unsigned::<8>(a, b, |x, y| (x - y).abs())) }
    vcmpeq4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| -i32::from(x == y)) }
    vcmpne4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| -i32::from(x != y)) }
    vcmpges4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| -i32::from(x >= y)) }
    vcmpgeu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| -i32::from(x >= y)) }
    vcmpgts4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| -i32::from(x > y)) }
    vcmpgtu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| -i32::from(x > y)) }
    vcmples4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| -i32::from(x <= y)) }
    vcmpleu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| -i32::from(x <= y)) }
    vcmplts4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| -i32::from(x < y)) }
    vcmpltu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| -i32::from(x < y)) }
    vseteq4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| i32::from(x == y)) }
    vsetne4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| i32::from(x != y)) }
    vsetges4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| i32::from(x >= y)) }
    vsetgeu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| i32::from(x >= y)) }
    vsetgts4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| i32::from(x > y)) }
    vsetgtu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| i32::from(x > y)) }
    vsetles4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| i32::from(x <= y)) }
    vsetleu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| i32::from(x <= y)) }
    vsetlts4(a: u32, b: u32) -> u32 { signed::<8>(a, b, |x, y| i32::from(x < y)) }
    vsetltu4(a: u32, b: u32) -> u32 { unsigned::<8>(a, b, |x, y| i32::from(x < y)) }
}
