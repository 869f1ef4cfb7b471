// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a function on samples and keeps the worst error.

use margay_ir::Ty;

use super::exact::{Exact, plain};
use super::guide::{Allowed, allowed};
use super::stored::Row;
use super::subject::{Run, Subject};
use crate::common::{Device, Run as Launch};

/// The worst of a function's samples.
#[derive(Default)]
pub struct Measured {
    pub samples: usize,
    /// Of the errors that are bounded in last places, in absolute or in relative terms.
    pub ulps: Option<f64>,
    pub absolute: Option<f64>,
    pub relative: Option<f64>,
    /// Error over bound, and where.
    share: f64,
    at: Vec<f64>,
    pub failures: Vec<String>,
}

impl Measured {
    pub fn row(&self, name: &str, rule: &str, exact: usize) -> String {
        let mut worst = Vec::new();
        worst.extend(self.ulps.map(|e| format!("{e:.3} ulp")));
        worst.extend(self.absolute.map(|e| format!("{e:.3e}")));
        worst.extend(self.relative.map(|e| format!("{e:.3e} relative")));
        let at: Vec<String> = self.at.iter().map(|x| format!("{x:e}")).collect();
        let (worst, at) = (worst.join(", "), at.join(", "));
        format!("| `{name}` | {rule} | {worst} | {at} | {} | {exact} |", self.samples)
    }

    /// One result against the exact one.
    fn compare(&mut self, args: &[f64], ty: Ty, bits: u64, exact: Exact, rule: &str) {
        let r = match ty {
            Ty::F32 => f64::from(f32::from_bits(bits as u32)),
            Ty::F64 => f64::from_bits(bits),
            Ty::I32 => f64::from(bits as i32),
            _ => bits as i64 as f64,
        };
        let limit = allowed(rule, args);
        if limit == Allowed::Unstated {
            return;
        }
        self.samples += 1;
        let narrow = ty == Ty::F32;
        let largest = if narrow { f64::from(f32::MAX) } else { f64::MAX };
        let hi = exact.hi;
        let overflows = hi.is_finite() && narrow && (hi as f32).is_infinite();
        let special = !hi.is_finite() || overflows;
        if special || !r.is_finite() {
            // The largest float is next to what overflows; an exact function must overflow.
            let next = (overflows || hi.is_infinite()) && limit != Allowed::Ulps(0.0);
            let right = (hi.is_nan() && r.is_nan())
                || (hi.is_infinite() && r == hi)
                || (overflows && r.is_infinite() && (r > 0.0) == (hi > 0.0))
                || (next && r.abs() >= largest && (r > 0.0) == (hi > 0.0))
                || (r.is_infinite()
                    && hi.abs() >= largest * (1.0 - 1e-6)
                    && (r > 0.0) == (hi > 0.0));
            if !right {
                self.failures.push(format!("{args:?} = {r:e}, not {hi:e}"));
            }
            return;
        }
        let error = ((r - hi) - exact.lo).abs();
        let (digits, least) = if narrow { (24, -126) } else { (53, -1022) };
        let exponent = ((hi.abs().to_bits() >> 52) as i32 - 1023).max(least) - (digits - 1);
        // In two steps: the unit of a subnormal double is subnormal itself.
        let ulps = error * 2f64.powi(-exponent / 2) * 2f64.powi(-exponent - -exponent / 2);
        let relative = if hi == 0.0 { error } else { error / hi.abs() };
        let (value, bound, worst) = match limit {
            Allowed::Ulps(n) => (ulps, n, &mut self.ulps),
            Allowed::Absolute(e) => (error, e, &mut self.absolute),
            // Subnormal results may be off by one of their units.
            Allowed::Relative(e) => (relative, e + error_of_unit(hi, least), &mut self.relative),
            Allowed::Unstated => return,
        };
        *worst = Some(worst.unwrap_or(0.0).max(value));
        let share = if bound > 0.0 { value / bound } else { value };
        if share > self.share || self.at.is_empty() {
            (self.share, self.at) = (share, args.to_vec());
        }
        if value > bound || value.is_nan() {
            self.failures.push(format!("{args:?} = {r:e}, not {hi:e}: {value} beyond {bound}"));
        }
    }
}

fn error_of_unit(hi: f64, least: i32) -> f64 {
    if hi != 0.0 && hi.abs() < 2f64.powi(least) { 1.0 } else { 0.0 }
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

const EDGES: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    2.0,
    3.0,
    1e-310,
    5e-324,
    1.401298464324817e-45,
    1.1754942106924411e-38,
    1.1754943508222875e-38,
    2.2250738585072014e-308,
    3.4028234663852886e38,
    f64::MAX,
    -1.7e38,
    0.9999999403953552,
];

/// A sample: edges, all bits, or magnitudes near each other.
fn sample(random: &mut Random, ty: Ty, turn: usize, place: u32, common: u64) -> u64 {
    let r = random.next();
    let edges = EDGES.len();
    if turn < edges * edges {
        let edge = EDGES[turn / edges.pow(place % 2) % edges];
        return match ty {
            Ty::F32 => u64::from((edge as f32).to_bits()),
            Ty::F64 => edge.to_bits(),
            _ => [0, 1, u64::MAX, 30, 1000, 3, 31, 1 << 31][turn % 8],
        };
    }
    let (fraction, bias, all) = match ty {
        Ty::F32 => (23, 127u64, 254),
        Ty::F64 => (52, 1023, 2046),
        _ => return (r as i32 >> ((r >> 32) % 32)) as u32 as u64,
    };
    let kept = r & ((1 << fraction) - 1) | (r >> 63) << (if fraction == 23 { 31 } else { 63 });
    match common & 3 {
        0 if ty == Ty::F32 => r & 0xffff_ffff,
        0 => r,
        1 | 2 => kept | (bias - 8 + (random.next() >> 40) % 16) << fraction,
        _ => kept | ((common >> 8) % (all - 4) + (random.next() >> 40) % 5) << fraction,
    }
}

/// Measures on edges and random samples, where the subject has a reference for them.
pub fn measure(subject: &Subject, rule: &str, measured: &mut Measured) {
    let Some(reference) = &subject.reference else { return };
    let samples = match (&subject.run, &subject.args[..]) {
        (Run::Ptx(_), _) => 4096,
        (Run::Builtin(_), [Ty::F32]) => 80_000,
        (Run::Builtin(_), _) => 30_000,
    };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for block in 0..samples / 32 {
        let mut planes = vec![[0; 32]; subject.args.len()];
        for l in 0..32 {
            let common = random.next();
            for (place, (plane, ty)) in planes.iter_mut().zip(&subject.args).enumerate() {
                plane[l] = sample(&mut random, *ty, block * 32 + l, place as u32, common);
            }
        }
        let results = subject.results(&planes);
        for l in 0..32 {
            let args = values(subject, &planes, l);
            let Some(exact) = reference(&args) else { continue };
            assert_eq!(exact.len(), results.len());
            for ((ty, plane), exact) in subject.rets.iter().zip(&results).zip(exact) {
                measured.compare(&args, *ty, plane[l], exact, rule);
            }
        }
    }
}

fn values(subject: &Subject, planes: &[[u64; 32]], l: usize) -> Vec<f64> {
    let value = |(ty, plane): (&Ty, &[u64; 32])| match ty {
        Ty::F32 => f64::from(f32::from_bits(plane[l] as u32)),
        Ty::F64 => f64::from_bits(plane[l]),
        _ => f64::from(plane[l] as i32),
    };
    subject.args.iter().zip(planes).map(value).collect()
}

/// Measures on stored samples.
pub fn measure_stored(subject: &Subject, row: &Row, rule: &str, measured: &mut Measured) {
    for (args, exact) in row.args.chunks(32).zip(row.values.chunks(32)) {
        let mut planes = vec![[0; 32]; subject.args.len()];
        for (l, sample) in args.iter().enumerate() {
            for ((plane, ty), x) in planes.iter_mut().zip(&subject.args).zip(sample) {
                plane[l] = match ty {
                    Ty::F32 => u64::from((*x as f32).to_bits()),
                    Ty::F64 => x.to_bits(),
                    _ => *x as i32 as u32 as u64,
                };
            }
        }
        let results = subject.results(&planes);
        for (l, (sample, exact)) in args.iter().zip(exact).enumerate() {
            measured.compare(sample, subject.rets[0], results[0][l], plain(*exact), rule);
        }
    }
}

/// `norm` and its like, which read an array: no bound is documented, so theirs is 4 units for up to
/// nine elements, held to so that a wrong one is found.
pub fn measure_norm(name: &str) -> Measured {
    const VECTORS: usize = 1024;
    let mut measured = Measured::default();
    let narrow = name.ends_with('f');
    let (ty, size) = if narrow { ("f32", 4) } else { ("f64", 8) };
    let ptx = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n\
         .extern .func (.param .b{bits} r) __nv_{name}(.param .b32 n, .param .b64 p);\n\
         .visible .entry k(.param .u64 in, .param .u64 out) {{\n\
         .reg .b32 %i, %n; .reg .b64 %a, %b, %o; .reg .{ty} %r;\n\
         mov.u32 %i, %ctaid.x; rem.u32 %n, %i, 9; add.u32 %n, %n, 1;\n\
         ld.param.u64 %a, [in]; ld.param.u64 %b, [out];\n\
         mul.wide.u32 %o, %i, {stride}; add.u64 %a, %a, %o;\n\
         mul.wide.u32 %o, %i, {size}; add.u64 %b, %b, %o;\n\
         {{ .param .b32 x; .param .b64 y; .param .b{bits} z;\n\
         st.param.b32 [x], %n; st.param.b64 [y], %a; call (z), __nv_{name}, (x, y);\n\
         ld.param.{ty} %r, [z]; }}\n st.global.{ty} [%b], %r; ret; }}\n",
        bits = size * 8,
        stride = size * 9,
    );
    let device = Device::new();
    let mut random = Random(7);
    let mut values = vec![0.0; VECTORS * 9];
    for vector in values.chunks_mut(9) {
        let scale = 2f64.powi((random.next() % 200) as i32 - 100);
        for v in vector {
            let x = (random.next() >> 11) as f64 * 2f64.powi(-53) - 0.5;
            *v = if narrow { f64::from((x * scale) as f32) } else { x * scale };
        }
    }
    let narrowed: Vec<f32> = values.iter().map(|v| *v as f32).collect();
    let from = if narrow { device.buffer(&narrowed) } else { device.buffer(&values) };
    let to = device.buffer(&vec![0f64; VECTORS]);
    let module = device.load(&ptx);
    Launch::new(VECTORS as u32, 1).go(&device, &module, "k", &[from, to]).expect("a launch");
    let results: Vec<f64> = if narrow {
        device.read::<f32>(to, VECTORS).into_iter().map(f64::from).collect()
    } else {
        device.read(to, VECTORS)
    };
    for (i, result) in results.into_iter().enumerate() {
        let vector = &values[i * 9..i * 9 + i % 9 + 1];
        // Exact squares, summed with what each sum lacks.
        let (mut sum, mut rest) = (0.0f64, 0.0f64);
        for v in vector {
            let square = v * v;
            let total = sum + square;
            let other = total - sum;
            rest += (sum - (total - other)) + (square - other) + v.mul_add(*v, -square);
            sum = total;
        }
        let root = (sum + rest).sqrt();
        let lacks = ((-root).mul_add(root, sum) + rest) / (2.0 * root);
        let exact = if name.starts_with('r') {
            let hi = 1.0 / root;
            Exact { hi, lo: ((-hi).mul_add(root, 1.0) - hi * lacks) / root }
        } else {
            Exact { hi: root, lo: lacks }
        };
        let (bits, ty) = if narrow {
            (u64::from((result as f32).to_bits()), Ty::F32)
        } else {
            (result.to_bits(), Ty::F64)
        };
        measured.compare(vector, ty, bits, exact, "4");
    }
    measured.at.truncate(3);
    measured
}
