// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arithmetic whose result is known exactly, as a double and what it lacks, and how that rounds.

/// `hi + lo`, with `lo` below half of `hi`'s last place. Of `lo` only sign and magnitude count.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    pub hi: f64,
    pub lo: f64,
}

pub fn plain(hi: f64) -> Exact {
    Exact { hi, lo: 0.0 }
}

fn two_sum(a: f64, b: f64) -> Exact {
    let hi = a + b;
    let other = hi - a;
    Exact { hi, lo: (a - (hi - other)) + (b - other) }
}

/// Arguments of a rounded operation: sum, product, quotient, square root, or a fused one.
pub fn operation(name: &str, x: &[f64]) -> Exact {
    let exact = match name {
        "add" => two_sum(x[0], x[1]),
        "sub" => two_sum(x[0], -x[1]),
        "mul" => {
            let hi = x[0] * x[1];
            Exact { hi, lo: x[0].mul_add(x[1], -hi) }
        }
        "div" => {
            let hi = x[0] / x[1];
            Exact { hi, lo: (-hi).mul_add(x[1], x[0]) / x[1] }
        }
        "rcp" => {
            let hi = 1.0 / x[0];
            Exact { hi, lo: (-hi).mul_add(x[0], 1.0) / x[0] }
        }
        "sqrt" => {
            let hi = x[0].sqrt();
            Exact { hi, lo: (-hi).mul_add(hi, x[0]) / hi }
        }
        "rsqrt" => {
            let root = x[0].sqrt();
            let rest = (-root).mul_add(root, x[0]) / (2.0 * root);
            let hi = 1.0 / root;
            Exact { hi, lo: ((-hi).mul_add(root, 1.0) - hi * rest) / root }
        }
        "fma" | "fmaf" => {
            let hi = x[0].mul_add(x[1], x[2]);
            let p = x[0] * x[1];
            let low = two_sum(x[2], x[0].mul_add(x[1], -p));
            let high = two_sum(p, low.hi);
            let rest = two_sum((high.hi - hi) + high.lo, low.lo);
            Exact { hi, lo: if rest.hi != 0.0 { rest.hi } else { rest.lo } }
        }
        other => panic!("{other} is no operation"),
    };
    if exact.hi.is_finite() && exact.lo.is_finite() { exact } else { plain(exact.hi) }
}

/// Whether the exact value is above (1), at (0) or below (-1) a float near it.
fn side(exact: Exact, r: f64) -> f64 {
    let difference = if exact.hi == r { exact.lo } else { exact.hi - r };
    if difference == 0.0 { 0.0 } else { difference.signum() }
}

fn neighbour(r: f64, up: bool, narrow: bool) -> f64 {
    match (narrow, up) {
        (true, true) => f64::from((r as f32).next_up()),
        (true, false) => f64::from((r as f32).next_down()),
        (false, true) => r.next_up(),
        (false, false) => r.next_down(),
    }
}

/// Rounds to float or double in one of PTX's directions: rn, rz, ru, rd.
pub fn round(exact: Exact, mode: &str, narrow: bool) -> f64 {
    let Exact { hi, lo } = exact;
    if !hi.is_finite() {
        return hi;
    }
    let r = if narrow { f64::from(hi as f32) } else { hi };
    let side = side(exact, r);
    match mode {
        "rn" if narrow && lo != 0.0 && r.is_finite() => {
            // The double may be the middle of two floats, and the rest decide.
            let middle = hi != r && {
                let other = neighbour(r, hi > r, true);
                (hi - r).abs() == (other - hi).abs()
            };
            let up = lo > 0.0;
            let above = if hi > r { neighbour(r, true, true) } else { r };
            let below = if hi > r { r } else { neighbour(r, false, true) };
            if !middle {
                r
            } else if up {
                above
            } else {
                below
            }
        }
        "rn" => r,
        "ru" if side > 0.0 => neighbour(r, true, narrow),
        "rd" if side < 0.0 => neighbour(r, false, narrow),
        "rz" if side != 0.0 && (side > 0.0) != (hi > 0.0) => neighbour(r, hi < 0.0, narrow),
        "ru" | "rd" | "rz" => r,
        other => panic!("{other} is no direction"),
    }
}
