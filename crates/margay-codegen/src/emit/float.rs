// SPDX-License-Identifier: MIT OR Apache-2.0
//! Floating point on the host's own instructions, each rounded once and never contracted. What the
//! host has no instruction for is left to handlers.

use margay_ir::{Attr, Class, FloatAttr, FloatCmp, Inst, MinMaxAttr, Op, Round, Ty};

use super::Gen;
use super::int::{constant, suffix, typed};

fn is_single_or_double(ty: Ty) -> bool {
    matches!(ty, Ty::F32 | Ty::F64)
}

fn attr(inst: &Inst) -> Option<FloatAttr> {
    match inst.attr {
        Attr::Float(a) => Some(a),
        _ => None,
    }
}

/// Arithmetic whose NaN results may wait to be made canonical, and to which all NaNs are one.
pub fn is_native(inst: &Inst) -> bool {
    if !is_single_or_double(inst.ty) {
        return false;
    }
    match inst.op {
        Op::FAdd | Op::FSub | Op::FMul | Op::FFma | Op::FDiv | Op::FSqrt | Op::FRcp => attr(inst)
            .is_some_and(|a| {
                a.round == Round::Nearest && !a.relu && (inst.ty == Ty::F32 || !a.sat)
            }),
        Op::FNeg | Op::FAbs => attr(inst).is_some_and(|a| !a.sat && !a.relu),
        Op::FRound => {
            attr(inst).is_some_and(|a| !a.sat && !a.relu && !a.ftz && a.round != Round::NearestAway)
        }
        Op::FMin | Op::FMax => matches!(
            inst.attr,
            Attr::MinMax(MinMaxAttr { nan: false, xorsign_abs: false, abs: false, .. })
        ),
        _ => false,
    }
}

/// Whether there is code for the op.
pub fn has_lowering(inst: &Inst) -> bool {
    let plain = || attr(inst).is_some_and(|a| !a.sat && !a.relu && !a.ftz);
    let nearest = || attr(inst).is_some_and(|a| a.round == Round::Nearest);
    if super::half::has_lowering(inst) {
        return true;
    }
    match inst.op {
        Op::FCmp => is_single_or_double(inst.ty),
        Op::SToF | Op::UToF => {
            is_single_or_double(inst.ty)
                && matches!(inst.from, Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64)
                && plain()
                && nearest()
        }
        Op::FToF => {
            plain()
                && match (inst.ty, inst.from) {
                    (Ty::F64, Ty::F32) => true,
                    (Ty::F32, Ty::F64) => nearest(),
                    _ => false,
                }
        }
        // The result is clamped to its type's range in any case.
        Op::FToS | Op::FToU => attr(inst).is_some_and(|a| {
            !a.relu && a.round != Round::NearestAway && (!a.ftz || inst.from == Ty::F32)
        }),
        _ => is_native(inst),
    }
}

impl Gen<'_> {
    fn float_of(&mut self, x: &str, ty: Ty, wide: bool) -> String {
        if let Some(known) = self.floats.get(x) {
            return known.clone();
        }
        let (i, f) = names(ty);
        let float = self.ins(format!("bitcast {} {x} to {}", typed(i, wide), typed(f, wide)));
        if x.starts_with('%') {
            self.floats.insert(x.to_owned(), float.clone());
        }
        float
    }

    fn bits_of(&mut self, x: &str, ty: Ty, wide: bool) -> String {
        let (i, f) = names(ty);
        let bits = self.ins(format!("bitcast {} {x} to {}", typed(f, wide), typed(i, wide)));
        self.floats.insert(bits.clone(), x.to_owned());
        bits
    }

    /// A subnormal f32 becomes zero of its sign; on bits.
    pub(super) fn flush_bits(&mut self, x: &str, wide: bool) -> String {
        let t = typed("i32", wide);
        let k = |v: i64| constant("i32", v, wide);
        let size = self.ins(format!("and {t} {x}, {}", k(0x7fff_ffff)));
        let small = self.ins(format!("icmp ult {t} {size}, {}", k(0x0080_0000)));
        let sign = self.ins(format!("and {t} {x}, {}", k(i32::MIN as i64)));
        self.ins(format!("select {} {small}, {t} {sign}, {t} {x}", typed("i1", wide)))
    }

    pub fn float_op(&mut self, inst: &Inst, a: &[String], wide: bool) -> Option<String> {
        if super::half::has_lowering(inst) {
            return self.half_op(inst, a, wide);
        }
        let ty = inst.ty;
        let p = typed("i1", wide);
        match inst.op {
            Op::SToF | Op::UToF => {
                let bits = inst.from.bits();
                let have = if inst.from.class() == Class::D { 64 } else { 32 };
                let x = self.resize(&a[0], have, bits, wide);
                let op = if inst.op == Op::SToF { "sitofp" } else { "uitofp" };
                let (from, to) = (typed(&format!("i{bits}"), wide), typed(names(ty).1, wide));
                let f = self.ins(format!("{op} {from} {x} to {to}"));
                return Some(self.bits_of(&f, ty, wide));
            }
            Op::FToF => {
                let x = self.float_of(&a[0], inst.from, wide);
                let (from, to) = (typed(names(inst.from).1, wide), typed(names(ty).1, wide));
                let op = if ty == Ty::F64 { "fpext" } else { "fptrunc" };
                let f = self.ins(format!("{op} {from} {x} to {to}"));
                return Some(self.bits_of(&f, ty, wide));
            }
            Op::FToS | Op::FToU => return self.integer_of(inst, &a[0], wide),
            _ => {}
        }
        let ftz = match inst.attr {
            Attr::Float(a) => a.ftz,
            Attr::MinMax(a) => a.ftz,
            Attr::FloatCmp { ftz, .. } => ftz,
            _ => false,
        } && ty == Ty::F32;
        let mut args = Vec::new();
        for x in a {
            let x = if ftz { self.flush_bits(x, wide) } else { x.clone() };
            args.push(x);
        }
        let (int, float) = names(ty);
        let (it, ft) = (typed(int, wide), typed(float, wide));
        let sfx = suffix(if ty == Ty::F64 { "f64" } else { "f32" }, wide);
        if matches!(inst.op, Op::FNeg | Op::FAbs) {
            let sign = if ty == Ty::F64 { i64::MIN } else { i32::MIN as i64 };
            let (op, k) = if inst.op == Op::FNeg { ("xor", sign) } else { ("and", !sign) };
            let k = if ty == Ty::F32 { k as i32 as i64 } else { k };
            let signed = self.ins(format!("{op} {it} {}, {}", args[0], constant(int, k, wide)));
            if ty == Ty::F32 {
                return Some(signed);
            }
            // A double's NaN is quieted and keeps its sign.
            let x = self.float_of(&args[0], ty, wide);
            let nan = self.ins(format!("fcmp uno {ft} {x}, {x}"));
            let quiet = self.quieted(&args[0], wide);
            return Some(self.ins(format!("select {p} {nan}, {it} {quiet}, {it} {signed}")));
        }
        let f: Vec<String> = args.iter().map(|x| self.float_of(x, ty, wide)).collect();
        if ty == Ty::F64
            && let Some(result) = self.double_op(inst.op, &f, wide)
        {
            return Some(self.bits_of(&result, ty, wide));
        }
        let result = match inst.op {
            Op::FAdd => self.ins(format!("fadd {ft} {}, {}", f[0], f[1])),
            Op::FSub => self.ins(format!("fsub {ft} {}, {}", f[0], f[1])),
            Op::FMul => self.ins(format!("fmul {ft} {}, {}", f[0], f[1])),
            Op::FFma => self.call(&format!("fma{sfx}"), &ft, &[&f[0], &f[1], &f[2]], ""),
            Op::FDiv => self.ins(format!("fdiv {ft} {}, {}", f[0], f[1])),
            Op::FRcp => {
                let one = constant(float, "1.0", wide);
                self.ins(format!("fdiv {ft} {one}, {}", f[0]))
            }
            Op::FSqrt => self.call(&format!("sqrt{sfx}"), &ft, &[&f[0]], ""),
            Op::FRound => {
                let name = round_name(attr(inst)?.round)?;
                self.call(&format!("{name}{sfx}"), &ft, &[&f[0]], "")
            }
            Op::FMin | Op::FMax => {
                let max = inst.op == Op::FMax;
                let (cmp, tie) = if max { ("ogt", "and") } else { ("olt", "or") };
                let better = self.ins(format!("fcmp {cmp} {ft} {}, {}", f[0], f[1]));
                let alone = self.ins(format!("fcmp uno {ft} {}, {}", f[1], f[1]));
                let first = self.ins(format!("or {p} {better}, {alone}"));
                let r = self.ins(format!("select {p} {first}, {it} {}, {it} {}", args[0], args[1]));
                let equal = self.ins(format!("fcmp oeq {ft} {}, {}", f[0], f[1]));
                let both = self.ins(format!("{tie} {it} {}, {}", args[0], args[1]));
                let r = self.ins(format!("select {p} {equal}, {it} {both}, {it} {r}"));
                if ty == Ty::F32 {
                    return Some(r);
                }
                // Of two NaNs that of the second operand.
                let x = self.float_of(&r, ty, wide);
                let nan = self.ins(format!("fcmp uno {ft} {x}, {x}"));
                let quiet = self.quieted(&args[1], wide);
                return Some(self.ins(format!("select {p} {nan}, {it} {quiet}, {it} {r}")));
            }
            Op::FCmp => {
                let Attr::FloatCmp { cmp, .. } = inst.attr else { return None };
                let cmp = compare_name(cmp);
                return Some(self.ins(format!("fcmp {cmp} {ft} {}, {}", f[0], f[1])));
            }
            _ => return None,
        };
        let mut bits = self.bits_of(&result, ty, wide);
        if ftz {
            bits = match inst.op {
                Op::FMul | Op::FFma => self.flush_tiny(inst, &f, &bits, wide),
                Op::FDiv => self.flush_tiny_quotient(&f, &bits, wide),
                _ => bits,
            };
            bits = self.flush_bits(&bits, wide);
        }
        if attr(inst).is_some_and(|a| a.sat) {
            // NaN and what is below become +0.
            let x = self.float_of(&bits, ty, wide);
            let (zero, one) = (constant(float, "0.0", wide), constant(float, "1.0", wide));
            let above = self.ins(format!("fcmp ogt {ft} {x}, {zero}"));
            let low = self.ins(format!("select {p} {above}, {ft} {x}, {ft} {zero}"));
            let over = self.ins(format!("fcmp ogt {ft} {low}, {one}"));
            let r = self.ins(format!("select {p} {over}, {ft} {one}, {ft} {low}"));
            bits = self.bits_of(&r, ty, wide);
        }
        Some(bits)
    }

    /// The bits of a double with the quiet bit set.
    fn quieted(&mut self, x: &str, wide: bool) -> String {
        let (t, quiet) = (typed("i64", wide), constant("i64", 1i64 << 51, wide));
        self.ins(format!("or {t} {x}, {quiet}"))
    }

    /// Arithmetic on doubles, whose NaN keeps its bits: a card prefers that of the second operand of a
    /// sum, difference or product. The host's instructions prefer their first, so operands change
    /// places, and the instructions are written as such, because LLVM takes sums for commutative and
    /// NaNs for alike. Of `fma` the first factor's NaN goes before the addend's here, which is the
    /// other way round on a card.
    fn double_op(&mut self, op: Op, f: &[String], wide: bool) -> Option<String> {
        let one = || constant("double", "1.0", wide);
        let (mnemonic, args) = match op {
            Op::FAdd => ("vadd", vec![f[1].clone(), f[0].clone()]),
            Op::FMul => ("vmul", vec![f[1].clone(), f[0].clone()]),
            Op::FDiv => ("vdiv", vec![f[0].clone(), f[1].clone()]),
            Op::FRcp => ("vdiv", vec![one(), f[0].clone()]),
            // b * a + c
            Op::FFma => ("vfmadd132", vec![f[1].clone(), f[2].clone(), f[0].clone()]),
            // a - b as -(b * 1) + a, which rounds alike.
            Op::FSub => ("vfnmadd132", vec![f[1].clone(), f[0].clone(), one()]),
            _ => return None,
        };
        let lanes = match (wide, self.vector_bits) {
            (false, _) => 1,
            (true, 512) => 8,
            (true, _) => 4,
        };
        let ty = if wide { format!("<{lanes} x double>") } else { "double".to_owned() };
        let (suffix, class) = match (wide, lanes) {
            (false, _) => ("sd", "x"),
            (true, 8) => ("pd", "v"),
            (true, _) => ("pd", "x"),
        };
        // Without the prefix the assembler, too, lets sources change places where that saves a byte.
        let prefix = if class == "x" { "{vex3} " } else { "" };
        let (text, constraints) = match args.len() {
            2 => (
                format!("{prefix}{mnemonic}{suffix} $2, $1, $0"),
                format!("={class},{class},{class}"),
            ),
            _ => (format!("{mnemonic}{suffix} $3, $2, $0"), format!("={class},0,{class},{class}")),
        };
        if !wide {
            let list: Vec<String> = args.iter().map(|a| format!("{ty} {a}")).collect();
            let list = list.join(", ");
            return Some(self.ins(format!("call {ty} asm \"{text}\", \"{constraints}\"({list})")));
        }
        let mut parts = Vec::new();
        for from in (0..self.width()).step_by(lanes) {
            let pick = super::vector_of("i32", (from..from + lanes).map(|l| l as i64));
            let list: Vec<String> = args
                .iter()
                .map(|a| {
                    let part = self.ins(format!(
                        "shufflevector <32 x double> {a}, <32 x double> poison, <{lanes} x i32> {pick}"
                    ));
                    format!("{ty} {part}")
                })
                .collect();
            let list = list.join(", ");
            parts.push(self.ins(format!("call {ty} asm \"{text}\", \"{constraints}\"({list})")));
        }
        // Pairs of parts, until there is one.
        let mut width = lanes;
        while parts.len() > 1 {
            let all = super::vector_of("i32", (0..width * 2).map(|l| l as i64));
            parts = parts
                .chunks(2)
                .map(|pair| {
                    let t = format!("<{width} x double>");
                    let (a, b) = (&pair[0], &pair[1]);
                    let n = width * 2;
                    self.ins(format!("shufflevector {t} {a}, {t} {b}, <{n} x i32> {all}"))
                })
                .collect();
            width *= 2;
        }
        parts.pop()
    }

    /// `.ftz` also makes zero what only rounds to the smallest normal as a subnormal would: the same
    /// operation on scaled operands tells.
    fn flush_tiny(&mut self, inst: &Inst, f: &[String], bits: &str, wide: bool) -> String {
        let ft = typed("float", wide);
        // 2^32 and 2^-94.
        let scale = constant("float", "4294967296.0", wide);
        let limit = constant("float", "0x3A10000000000000", wide);
        let x = self.ins(format!("fmul {ft} {}, {scale}", f[0]));
        let scaled = if inst.op == Op::FMul {
            self.ins(format!("fmul {ft} {x}, {}", f[1]))
        } else {
            let z = self.ins(format!("fmul {ft} {}, {scale}", f[2]));
            self.call(&format!("fma{}", suffix("f32", wide)), &ft, &[&x, &f[1], &z], "")
        };
        let size = self.call(&format!("fabs{}", suffix("f32", wide)), &ft, &[&scaled], "");
        let small = self.ins(format!("fcmp olt {ft} {size}, {limit}"));
        let t = typed("i32", wide);
        let sign = self.ins(format!("and {t} {bits}, {}", constant("i32", i32::MIN, wide)));
        self.ins(format!("select {} {small}, {t} {sign}, {t} {bits}", typed("i1", wide)))
    }

    /// The same of a quotient. No two floats have one between 1 - 2^-24 and 1, so where it is the smallest normal and not exactly,
    /// it lies half way to the greatest subnormal.
    fn flush_tiny_quotient(&mut self, f: &[String], bits: &str, wide: bool) -> String {
        let (ft, t, p) = (typed("float", wide), typed("i32", wide), typed("i1", wide));
        let least = 0x0080_0000;
        // 2^-126.
        let exact = constant("float", "0x3810000000000000", wide);
        let exact = self.ins(format!("fmul {ft} {}, {exact}", f[1]));
        let abs = format!("fabs{}", suffix("f32", wide));
        let sizes = [&f[0], &exact].map(|x| self.call(&abs, &ft, &[x], ""));
        let other = self.ins(format!("fcmp one {ft} {}, {}", sizes[0], sizes[1]));
        let size = self.ins(format!("and {t} {bits}, {}", constant("i32", 0x7fff_ffff, wide)));
        let is_least = self.ins(format!("icmp eq {t} {size}, {}", constant("i32", least, wide)));
        let small = self.ins(format!("and {p} {is_least}, {other}"));
        let sign = self.ins(format!("and {t} {bits}, {}", constant("i32", i32::MIN as i64, wide)));
        self.ins(format!("select {p} {small}, {t} {sign}, {t} {bits}"))
    }

    fn integer_of(&mut self, inst: &Inst, x: &str, wide: bool) -> Option<String> {
        let attr = attr(inst)?;
        let x = match inst.from {
            Ty::F16 | Ty::BF16 => self.widened_half(x, inst.from, wide),
            Ty::F32 if attr.ftz => {
                let x = self.flush_bits(x, wide);
                self.float_of(&x, inst.from, wide)
            }
            _ => self.float_of(x, inst.from, wide),
        };
        let single = inst.from != Ty::F64;
        let ft = typed(if single { "float" } else { "double" }, wide);
        let sfx = suffix(if single { "f32" } else { "f64" }, wide);
        let name = round_name(attr.round)?;
        let r = self.call(&format!("{name}{sfx}"), &ft, &[&x], "");
        let bits = inst.ty.bits();
        let it = typed(&format!("i{bits}"), wide);
        let op = if inst.op == Op::FToS { "fptosi" } else { "fptoui" };
        let full = if wide {
            format!("@llvm.{op}.sat.v32i{bits}.v32{}", if single { "f32" } else { "f64" })
        } else {
            format!("@llvm.{op}.sat.i{bits}.{}", if single { "f32" } else { "f64" })
        };
        self.declare(format!("declare {it} {full}({ft})"));
        let mut v = self.ins(format!("call {it} {full}({ft} {r})"));
        // NaN is 0, as the conversion has it, or only the top bit.
        if !single || bits == 64 {
            let nan = self.ins(format!("fcmp uno {ft} {x}, {x}"));
            let top = constant(&format!("i{bits}"), i64::MIN >> (64 - bits), wide);
            v = self.ins(format!("select {} {nan}, {it} {top}, {it} {v}", typed("i1", wide)));
        }
        if bits < 32 {
            v = self.ins(format!("zext {it} {v} to {}", typed("i32", wide)));
        }
        Some(v)
    }
}

/// LLVM's name of a comparison.
pub(super) fn compare_name(cmp: FloatCmp) -> &'static str {
    match cmp {
        FloatCmp::Eq => "oeq",
        FloatCmp::Ne => "one",
        FloatCmp::Lt => "olt",
        FloatCmp::Le => "ole",
        FloatCmp::Gt => "ogt",
        FloatCmp::Ge => "oge",
        FloatCmp::EqU => "ueq",
        FloatCmp::NeU => "une",
        FloatCmp::LtU => "ult",
        FloatCmp::LeU => "ule",
        FloatCmp::GtU => "ugt",
        FloatCmp::GeU => "uge",
        FloatCmp::Num => "ord",
        FloatCmp::Nan => "uno",
    }
}

fn names(ty: Ty) -> (&'static str, &'static str) {
    if ty == Ty::F64 { ("i64", "double") } else { ("i32", "float") }
}

fn round_name(round: Round) -> Option<&'static str> {
    match round {
        Round::Nearest => Some("roundeven"),
        Round::Zero => Some("trunc"),
        Round::Down => Some("floor"),
        Round::Up => Some("ceil"),
        Round::NearestAway => None,
    }
}
