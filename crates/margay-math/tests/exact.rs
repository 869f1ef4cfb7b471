// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions that are rounded once, in a given direction, and remainders, against exact arithmetic: at all
//! pairs of edge values, and at random ones whose exponents lie near one another, anywhere, or at the
//! formats' ends.

use std::cmp::Ordering;

use margay_math::Function;
use margay_math::planes::{Level, Plane, plane_fn};
use rustc_apfloat::ieee::{Double, Single};
use rustc_apfloat::{Float, Round, Status, StatusAnd};

const DIRECTIONS: [(&str, Round); 3] =
    [("rz", Round::TowardZero), ("rd", Round::TowardNegative), ("ru", Round::TowardPositive)];

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Numbers of a format with a mantissa of `m` bits and `e` exponents: `n` of them for one operation.
    fn operands(&mut self, n: usize, m: u32, e: u64) -> Vec<u64> {
        let (kind, near, at) = (self.next() % 8, self.next() % e, self.next());
        let low = [at % (2 * u64::from(m)), 2 * u64::from(m)][usize::from(kind == 0)];
        (0..n)
            .map(|_| {
                let r = self.next();
                let exponent = match kind {
                    // Sums and quotients cancel.
                    1..=3 => (near + r % 5).saturating_sub(2).min(e - 1),
                    // Products that underflow, and that overflow.
                    4 => (e / 4 + r % low.max(1)) % e,
                    5 => (3 * e / 4).saturating_sub(r % low.max(1)) % e,
                    6 => r % (2 * u64::from(m)) % e,
                    _ => r % (e + 1),
                };
                // Few bits, of which products and roots are exact or next to it.
                let bits = match (r >> 40) % 4 {
                    0 => self.next() & ((1 << m) - 1) & !((1 << (m / 2)) - 1),
                    1 => [0, 1, (1 << m) - 1, 1 << (m - 1)][(r >> 48) as usize % 4],
                    _ => self.next() & ((1 << m) - 1),
                };
                let exponent = exponent.min(e);
                (r >> 60 & 1) << (m + e.count_ones()) | exponent << m | bits
            })
            .collect()
    }
}

/// Edge values of a format, by the bits that its mantissa and its exponents have.
fn edges(m: u32, e: u64) -> Vec<u64> {
    let one = (e / 2) << m;
    let positive = [
        0,
        1,
        2,
        3,
        (1 << m) - 1,
        1 << m,
        (1 << m) + 1,
        one - 1,
        one,
        one + 1,
        one + (3 << (m - 1)),
        (one + (60 << m)) | 1,
        one - (60 << m),
        (e << m) - (1 << m),
        (e << m) - 1,
        e << m,
        (e << m) + (1 << (m - 1)),
    ];
    let sign = 1 << (m + e.count_ones());
    positive.iter().flat_map(|v| [*v, *v | sign]).collect()
}

const NAN32: u64 = 0x7fff_ffff;
const NAN64: u64 = 0xfff8_0000_0000_0000;

fn single(r: StatusAnd<Single>) -> u64 {
    if r.value.is_nan() { NAN32 } else { r.value.to_bits() as u64 }
}
fn double(r: StatusAnd<Double>) -> u64 {
    if r.value.is_nan() { NAN64 } else { r.value.to_bits() as u64 }
}

/// A root by trying: to nearest, and a neighbour if the square of that is on the wrong side.
fn root<F: Float>(x: F, near: F, round: Round) -> F {
    if !near.is_finite_non_zero() {
        return near;
    }
    // near² against x, exactly: x - near² in one rounding has that sign unless it underflows.
    let (scale, half) = if x.ilogb() < -200 { (400, 200) } else { (0, 0) };
    let (x, n) = (x.scalbn(scale), near.scalbn(half));
    let rest = (-n).mul_add_r(n, x, Round::NearestTiesToEven).value;
    match rest.partial_cmp(&F::ZERO) {
        Some(Ordering::Less) if round != Round::TowardPositive => near.next_down().value,
        Some(Ordering::Greater) if round == Round::TowardPositive => near.next_up().value,
        _ => near,
    }
}

type Reference = Box<dyn Fn(&[u64]) -> u64>;

/// Compares a function with its reference at all pairs of edges and at `samples` random operands.
fn compare(name: &str, formats: &[(u32, u64)], samples: usize, reference: &Reference) {
    let function = Function::by_name(&format!("__nv_{name}")).unwrap_or_else(|| panic!("{name}"));
    let run = plane_fn(function, Level::best());
    let n = formats.len();
    let (m, e) = formats[0];
    let mut rows: Vec<Vec<u64>> = Vec::new();
    let edges = edges(m, e);
    for &a in &edges {
        for &b in &edges {
            for &c in &edges {
                rows.push([a, b, c][..n].to_vec());
                if n < 3 {
                    break;
                }
            }
            if n < 2 {
                break;
            }
        }
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..samples {
        rows.push(random.operands(n, m, e));
        // The third cancels the product of the others.
        if n == 3 && rows.len().is_multiple_of(2) {
            let row = rows.last_mut().unwrap();
            let product = f64::from_bits(row[0]) * f64::from_bits(row[1]);
            let of_single = f32::from_bits(row[0] as u32) * f32::from_bits(row[1] as u32);
            let bits = if m == 52 { (-product).to_bits() } else { (-of_single).to_bits().into() };
            row[2] = bits.wrapping_add(random.next() % 3);
        }
    }
    for chunk in rows.chunks(32) {
        let mut args = vec![[0; 32]; n];
        for (lane, row) in chunk.iter().enumerate() {
            for (plane, v) in args.iter_mut().zip(row) {
                plane[lane] = *v;
            }
        }
        let mut rets: Vec<Plane> = vec![[0; 32]; function.rets().len()];
        run(&args, u32::MAX, &mut rets);
        for (lane, row) in chunk.iter().enumerate() {
            let got = rets[0][lane];
            let expected = reference(row);
            assert_eq!(got, expected, "{name}{row:x?}: {got:x}, not {expected:x}");
        }
    }
}

const F32: (u32, u64) = (23, 255);
const F64: (u32, u64) = (52, 2047);

#[test]
fn single_precision_is_rounded_in_the_direction() {
    let f = |v: u64| Single::from_bits(v.into());
    for (suffix, round) in DIRECTIONS {
        let cases: [(&str, usize, Reference); 7] = [
            ("fadd", 2, Box::new(move |v| single(f(v[0]).add_r(f(v[1]), round)))),
            ("fsub", 2, Box::new(move |v| single(f(v[0]).sub_r(f(v[1]), round)))),
            ("fmul", 2, Box::new(move |v| single(f(v[0]).mul_r(f(v[1]), round)))),
            ("fdiv", 2, Box::new(move |v| single(f(v[0]).div_r(f(v[1]), round)))),
            ("frcp", 1, Box::new(move |v| single(f(0x3f80_0000).div_r(f(v[0]), round)))),
            ("fmaf", 3, Box::new(move |v| single(f(v[0]).mul_add_r(f(v[1]), f(v[2]), round)))),
            (
                "fsqrt",
                1,
                Box::new(move |v| {
                    let near = f32::from_bits(v[0] as u32).sqrt();
                    let near = Single::from_bits(near.to_bits().into());
                    // In a wider format the square is exact.
                    single(Status::OK.and(root_of_single(f(v[0]), near, round)))
                }),
            ),
        ];
        for (stem, n, reference) in cases {
            compare(&format!("{stem}_{suffix}"), &vec![F32; n], 200_000, &reference);
        }
    }
}

/// As [`root`]; floats squared are exact in double precision.
fn root_of_single(x: Single, near: Single, round: Round) -> Single {
    if !near.is_finite_non_zero() {
        return near;
    }
    let value = |v: Single| f64::from(f32::from_bits(v.to_bits() as u32));
    let square = value(near) * value(near);
    if square > value(x) && round != Round::TowardPositive {
        near.next_down().value
    } else if square < value(x) && round == Round::TowardPositive {
        near.next_up().value
    } else {
        near
    }
}

#[test]
fn double_precision_is_rounded_in_the_direction() {
    let f = |v: u64| Double::from_bits(v.into());
    for (suffix, round) in DIRECTIONS {
        let cases: [(&str, usize, Reference); 7] = [
            ("dadd", 2, Box::new(move |v| double(f(v[0]).add_r(f(v[1]), round)))),
            ("dsub", 2, Box::new(move |v| double(f(v[0]).sub_r(f(v[1]), round)))),
            ("dmul", 2, Box::new(move |v| double(f(v[0]).mul_r(f(v[1]), round)))),
            ("ddiv", 2, Box::new(move |v| double(f(v[0]).div_r(f(v[1]), round)))),
            ("drcp", 1, Box::new(move |v| double(f(1f64.to_bits()).div_r(f(v[0]), round)))),
            ("fma", 3, Box::new(move |v| double(f(v[0]).mul_add_r(f(v[1]), f(v[2]), round)))),
            (
                "dsqrt",
                1,
                Box::new(move |v| {
                    let near = f64::from_bits(v[0]).sqrt().to_bits();
                    double(Status::OK.and(root(f(v[0]), f(near), round)))
                }),
            ),
        ];
        for (stem, n, reference) in cases {
            compare(&format!("{stem}_{suffix}"), &vec![F64; n], 200_000, &reference);
        }
    }
}

#[test]
fn conversions_are_rounded_in_the_direction() {
    for (suffix, round) in DIRECTIONS {
        let narrow: Reference = Box::new(move |v| {
            let mut loses = false;
            let wide = Double::from_bits(v[0].into());
            use rustc_apfloat::FloatConvert;
            let r: StatusAnd<Single> = wide.convert_r(round, &mut loses);
            single(r)
        });
        compare(&format!("double2float_{suffix}"), &[F64], 400_000, &narrow);
        // An integer's bits as those of a number: all lengths of numbers.
        let integer = |signed: bool, bits: u32, v: u64| {
            let v = v & (u64::MAX >> (64 - bits));
            if signed && v >> (bits - 1) != 0 {
                (true, u128::from(v.wrapping_neg() & (u64::MAX >> (64 - bits))))
            } else {
                (false, u128::from(v))
            }
        };
        let to_single = move |signed, bits| -> Reference {
            Box::new(move |v| {
                let (negative, size) = integer(signed, bits, v[0]);
                let turned = if negative { -round } else { round };
                let r = Single::from_u128_r(size, turned);
                single(if negative { r.map(|x| -x) } else { r })
            })
        };
        let to_double = move |signed| -> Reference {
            Box::new(move |v| {
                let (negative, size) = integer(signed, 64, v[0]);
                let turned = if negative { -round } else { round };
                let r = Double::from_u128_r(size, turned);
                double(if negative { r.map(|x| -x) } else { r })
            })
        };
        compare(&format!("int2float_{suffix}"), &[F32], 200_000, &to_single(true, 32));
        compare(&format!("uint2float_{suffix}"), &[F32], 200_000, &to_single(false, 32));
        compare(&format!("ll2float_{suffix}"), &[F64], 200_000, &to_single(true, 64));
        compare(&format!("ull2float_{suffix}"), &[F64], 200_000, &to_single(false, 64));
        compare(&format!("ll2double_{suffix}"), &[F64], 200_000, &to_double(true));
        compare(&format!("ull2double_{suffix}"), &[F64], 200_000, &to_double(false));
    }
}

#[test]
fn remainders_are_exact() {
    let f = |v: u64| Double::from_bits(v.into());
    let s = |v: u64| Single::from_bits(v.into());
    let cases: [(&str, (u32, u64), Reference); 4] = [
        ("fmod", F64, Box::new(move |v| double(f(v[0]).c_fmod(f(v[1]))))),
        ("fmodf", F32, Box::new(move |v| single(s(v[0]).c_fmod(s(v[1]))))),
        ("remainder", F64, Box::new(move |v| double(f(v[0]).ieee_rem(f(v[1]))))),
        ("remainderf", F32, Box::new(move |v| single(s(v[0]).ieee_rem(s(v[1]))))),
    ];
    for (name, format, reference) in &cases {
        compare(name, &[*format; 2], 300_000, reference);
    }
}

#[test]
fn quotients_have_their_low_bits() {
    let mut random = Random(7);
    for round in 0..20_000u32 {
        // Whole numbers, so that the quotient is one of integers; every other one is a tie or next to it.
        let b = (random.next() >> (14 + random.next() % 40)) as i64 | 1;
        let times = (random.next() >> (40 + random.next() % 22)) as i64;
        let a = match round % 2 {
            0 => (random.next() >> (14 + random.next() % 50)) as i64,
            _ => (b.min(1 << 20) * (2 * times + 1) / 2 + (round / 2 % 3) as i64 - 1).abs(),
        };
        let b = if round % 2 == 0 { b } else { b.min(1 << 20) };
        let (q, r) = (a / b, a % b);
        let up = 2 * r > b || 2 * r == b && q % 2 == 1;
        let low = ((q + i64::from(up)) & 7) as i32;
        let rest = if up { r - b } else { r };
        for (sa, sb) in [(1, 1), (1, -1), (-1, 1), (-1, -1)] {
            let args = [(a * sa) as f64, (b * sb) as f64];
            check_quotient(Function::Remquo, args, (rest * sa) as f64, low * (sa * sb) as i32);
            if a < 1 << 24 && b < 1 << 24 {
                check_quotient(Function::Remquof, args, (rest * sa) as f64, low * (sa * sb) as i32);
            }
        }
    }
}

fn check_quotient(function: Function, args: [f64; 2], rest: f64, low: i32) {
    let single = function == Function::Remquof;
    let bits = |v: f64| if single { u64::from((v as f32).to_bits()) } else { v.to_bits() };
    let mut rets = [[0; 32]; 2];
    plane_fn(function, Level::best())(&args.map(|v| [bits(v); 32]), u32::MAX, &mut rets);
    // A rest of zero has the dividend's sign, which a whole number has not.
    let rest = if rest == 0.0 { rest.copysign(args[0]) } else { rest };
    assert_eq!(rets[0][3], bits(rest), "{args:?}");
    assert_eq!(rets[1][3] as u32 as i32, low, "{args:?}");
}
