// SPDX-License-Identifier: MIT OR Apache-2.0
//! f16 and bf16: computed in f32 and narrowed once, as the interpreter does (`semantics/half_float.rs` in
//! `margay-exec`, whose bounds and reasons hold here). Operands sit in the low half of a word, results leave the high
//! half 0, and every NaN that an operation makes is `0x7fff`.

use margay_ir::{Attr, Class, FloatAttr, Inst, MinMaxAttr, Op, Round, Ty};

use super::Gen;
use super::float::compare_name;
use super::int::{constant, suffix, typed};

const SIGN: i64 = 0x8000;
const NAN: i64 = 0x7fff;

fn is_half(ty: Ty) -> bool {
    matches!(ty, Ty::F16 | Ty::BF16)
}

/// Whether code is made for an operation on halves, or a conversion from or to them.
pub fn has_lowering(inst: &Inst) -> bool {
    let plain = |a: FloatAttr| !a.sat && !a.relu && !a.ftz;
    match (inst.op, &inst.attr) {
        (Op::FToF, Attr::Float(a)) => match (inst.ty, inst.from) {
            // There is no subnormal to flush.
            (Ty::F32, Ty::F16) => !a.sat && !a.relu,
            (Ty::F32, Ty::BF16) => plain(*a),
            (Ty::F16 | Ty::BF16, Ty::F32) => plain(*a) && a.round == Round::Nearest,
            _ => false,
        },
        (Op::FAdd | Op::FSub | Op::FMul | Op::FFma, Attr::Float(a)) => {
            is_half(inst.ty) && plain(*a) && a.round == Round::Nearest
        }
        (Op::FNeg | Op::FAbs, Attr::Float(a)) => is_half(inst.ty) && plain(*a),
        (Op::FMin | Op::FMax, Attr::MinMax(a)) => {
            let MinMaxAttr { xorsign_abs, abs, ftz, .. } = *a;
            is_half(inst.ty) && !xorsign_abs && !abs && !ftz
        }
        (Op::FCmp, Attr::FloatCmp { ftz, .. }) => is_half(inst.ty) && !ftz,
        _ => false,
    }
}

impl Gen<'_> {
    /// The value of a half as a float.
    pub(super) fn widened_half(&mut self, x: &str, ty: Ty, wide: bool) -> String {
        let (word, float) = (typed("i32", wide), typed("float", wide));
        if ty == Ty::BF16 {
            let bits = self.ins(format!("shl {word} {x}, {}", constant("i32", 16, wide)));
            return self.ins(format!("bitcast {word} {bits} to {float}"));
        }
        let (short, half) = (typed("i16", wide), typed("half", wide));
        let bits = self.ins(format!("trunc {word} {x} to {short}"));
        let h = self.ins(format!("bitcast {short} {bits} to {half}"));
        self.ins(format!("fpext {half} {h} to {float}"))
    }

    /// A float, exact or rounded to odd, as a half.
    fn narrowed_half(&mut self, f: &str, ty: Ty, wide: bool) -> String {
        let (word, float) = (typed("i32", wide), typed("float", wide));
        let k = |v: i64| constant("i32", v, wide);
        let bits = if ty == Ty::BF16 {
            let bits = self.ins(format!("bitcast {float} {f} to {word}"));
            let high = self.ins(format!("lshr {word} {bits}, {}", k(16)));
            let odd = self.ins(format!("and {word} {high}, {}", k(1)));
            let more = self.ins(format!("add {word} {odd}, {}", k(0x7fff)));
            let sum = self.ins(format!("add {word} {bits}, {more}"));
            self.ins(format!("lshr {word} {sum}, {}", k(16)))
        } else {
            let (short, half) = (typed("i16", wide), typed("half", wide));
            let h = self.ins(format!("fptrunc {float} {f} to {half}"));
            let bits = self.ins(format!("bitcast {half} {h} to {short}"));
            self.ins(format!("zext {short} {bits} to {word}"))
        };
        let nan = self.ins(format!("fcmp uno {float} {f}, {f}"));
        self.ins(format!("select {} {nan}, {word} {}, {word} {bits}", typed("i1", wide), k(NAN)))
    }

    /// The lowering of an operation for which there is one.
    pub(super) fn half_op(&mut self, inst: &Inst, a: &[String], wide: bool) -> Option<String> {
        let (word, float, flag) = (typed("i32", wide), typed("float", wide), typed("i1", wide));
        let k = |v: i64| constant("i32", v, wide);
        if inst.op == Op::FToF {
            if inst.ty != Ty::F32 {
                let f = self.ins(format!("bitcast {word} {} to {float}", a[0]));
                return Some(self.narrowed_half(&f, inst.ty, wide));
            }
            let f = self.widened_half(&a[0], inst.from, wide);
            let bits = self.ins(format!("bitcast {float} {f} to {word}"));
            if inst.from == Ty::BF16 {
                // A shift, which keeps a NaN's bits.
                return Some(bits);
            }
            return Some(self.canonical_bits(&bits, Class::W, wide));
        }
        let ty = inst.ty;
        if matches!(inst.op, Op::FNeg | Op::FAbs) {
            let size = self.ins(format!("and {word} {}, {}", a[0], k(NAN)));
            let mut bits = size.clone();
            if inst.op == Op::FNeg {
                let flipped = self.ins(format!("xor {word} {}, {}", a[0], k(SIGN)));
                bits = self.ins(format!("and {word} {flipped}, {}", k(0xffff)));
            }
            let infinity = if ty == Ty::F16 { 0x7c00 } else { 0x7f80 };
            let nan = self.ins(format!("icmp ugt {word} {size}, {}", k(infinity)));
            let chosen = format!("select {flag} {nan}, {word} {}, {word} {bits}", k(NAN));
            return Some(self.ins(chosen));
        }
        let f: Vec<String> = a.iter().map(|x| self.widened_half(x, ty, wide)).collect();
        let two = |g: &mut Self, op: &str| g.ins(format!("{op} {float} {}, {}", f[0], f[1]));
        let result = match (inst.op, &inst.attr) {
            (Op::FCmp, Attr::FloatCmp { cmp, .. }) => {
                let name = compare_name(*cmp);
                return Some(self.ins(format!("fcmp {name} {float} {}, {}", f[0], f[1])));
            }
            (Op::FMin | Op::FMax, Attr::MinMax(attr)) => {
                return Some(self.half_minmax(inst.op, attr, a, &f, wide));
            }
            (Op::FAdd, _) => two(self, "fadd"),
            (Op::FSub, _) => two(self, "fsub"),
            (Op::FMul, _) => two(self, "fmul"),
            (Op::FFma, _) if ty == Ty::F16 => self.fma_of_halves(&f, wide),
            (Op::FFma, _) => self.fma_of_bf16(&f, wide),
            _ => return None,
        };
        Some(self.narrowed_half(&result, ty, wide))
    }

    fn half_minmax(
        &mut self,
        op: Op,
        attr: &MinMaxAttr,
        a: &[String],
        f: &[String],
        wide: bool,
    ) -> String {
        let (word, float, flag) = (typed("i32", wide), typed("float", wide), typed("i1", wide));
        let k = |v: i64| constant("i32", v, wide);
        let [x, y] = [0, 1].map(|n: usize| self.ins(format!("and {word} {}, {}", a[n], k(0xffff))));
        let (cmp, tie) = if op == Op::FMax { ("ogt", "and") } else { ("olt", "or") };
        let better = self.ins(format!("fcmp {cmp} {float} {}, {}", f[0], f[1]));
        let [nan0, nan1] =
            [0, 1].map(|n: usize| self.ins(format!("fcmp uno {float} {}, {}", f[n], f[n])));
        let first = self.ins(format!("or {flag} {better}, {nan1}"));
        let r = self.ins(format!("select {flag} {first}, {word} {x}, {word} {y}"));
        let equal = self.ins(format!("fcmp oeq {float} {}, {}", f[0], f[1]));
        let both = self.ins(format!("{tie} {word} {x}, {y}"));
        let r = self.ins(format!("select {flag} {equal}, {word} {both}, {word} {r}"));
        let join = if attr.nan { "or" } else { "and" };
        let nan = self.ins(format!("{join} {flag} {nan0}, {nan1}"));
        self.ins(format!("select {flag} {nan}, {word} {}, {word} {r}", k(NAN)))
    }

    /// A sum, and what rounding it lost.
    fn two_sum(&mut self, t: &str, p: &str, z: &str) -> (String, String) {
        let s = self.ins(format!("fadd {t} {p}, {z}"));
        let z_part = self.ins(format!("fsub {t} {s}, {p}"));
        let p_part = self.ins(format!("fsub {t} {s}, {z_part}"));
        let p_lost = self.ins(format!("fsub {t} {p}, {p_part}"));
        let z_lost = self.ins(format!("fsub {t} {z}, {z_part}"));
        let lost = self.ins(format!("fadd {t} {p_lost}, {z_lost}"));
        (s, lost)
    }

    /// Rounds a sum to odd, if something was lost.
    fn rounded_to_odd(&mut self, s: &str, lost: &str, double: bool, wide: bool) -> String {
        let (float, int) = if double { ("double", "i64") } else { ("float", "i32") };
        let (t, it, flag) = (typed(float, wide), typed(int, wide), typed("i1", wide));
        let zero = constant(float, "0.0", wide);
        let k = |v: i64| constant(int, v, wide);
        let bits = self.ins(format!("bitcast {t} {s} to {it}"));
        // Not of a NaN.
        let inexact = self.ins(format!("fcmp one {t} {lost}, {zero}"));
        let up = self.ins(format!("fcmp ogt {t} {lost}, {zero}"));
        let positive = self.ins(format!("fcmp ogt {t} {s}, {zero}"));
        let inward = self.ins(format!("xor {flag} {up}, {positive}"));
        let step = self.ins(format!("select {flag} {inward}, {it} {}, {it} {}", k(-1), k(1)));
        let last = self.ins(format!("and {it} {bits}, {}", k(1)));
        let even = self.ins(format!("icmp eq {it} {last}, {}", k(0)));
        let moves = self.ins(format!("and {flag} {inexact}, {even}"));
        let moved = self.ins(format!("add {it} {bits}, {step}"));
        let r = self.ins(format!("select {flag} {moves}, {it} {moved}, {it} {bits}"));
        self.ins(format!("bitcast {it} {r} to {t}"))
    }

    fn fma_of_halves(&mut self, f: &[String], wide: bool) -> String {
        let t = typed("float", wide);
        let p = self.ins(format!("fmul {t} {}, {}", f[0], f[1]));
        let (s, lost) = self.two_sum(&t, &p, &f[2]);
        self.rounded_to_odd(&s, &lost, false, wide)
    }

    fn fma_of_bf16(&mut self, f: &[String], wide: bool) -> String {
        let (single, double) = (typed("float", wide), typed("double", wide));
        let d: Vec<String> =
            f.iter().map(|x| self.ins(format!("fpext {single} {x} to {double}"))).collect();
        let p = self.ins(format!("fmul {double} {}, {}", d[0], d[1]));
        let (s, lost) = self.two_sum(&double, &p, &d[2]);
        let odd = self.rounded_to_odd(&s, &lost, true, wide);
        // To odd once more: towards zero, and the last bit set where that is inexact.
        let (word, flag) = (typed("i32", wide), typed("i1", wide));
        let k = |v: i64| constant("i32", v, wide);
        let near = self.ins(format!("fptrunc {double} {odd} to {single}"));
        let back = self.ins(format!("fpext {single} {near} to {double}"));
        let fabs = format!("fabs{}", suffix("f64", wide));
        let [size, own] = [&back, &odd].map(|x| self.call(&fabs, &double, &[x], ""));
        let beyond = self.ins(format!("fcmp ogt {double} {size}, {own}"));
        let bits = self.ins(format!("bitcast {single} {near} to {word}"));
        let less = self.ins(format!("sub {word} {bits}, {}", k(1)));
        let cut = self.ins(format!("select {flag} {beyond}, {word} {less}, {word} {bits}"));
        let inexact = self.ins(format!("fcmp one {double} {back}, {odd}"));
        let set = self.ins(format!("or {word} {cut}, {}", k(1)));
        let r = self.ins(format!("select {flag} {inexact}, {word} {set}, {word} {cut}"));
        self.ins(format!("bitcast {word} {r} to {single}"))
    }
}
