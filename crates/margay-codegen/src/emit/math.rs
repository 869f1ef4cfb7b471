// SPDX-License-Identifier: MIT OR Apache-2.0
//! The device library and PTX's approximations: `margay-math`'s formulas, written as vector code. The
//! interpreter computes the same formulas, so both engines give the same bits.
//!
//! Where a formula says that some lanes need more than it has, the interpreter's handler computes the
//! whole operation again; that is rare.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::rc::Rc;

use margay_ir::{Attr, Class, FloatAttr, Inst, Op, Round, Ty};
use margay_math::{Function, Ops, Type, Value, emit};

use super::Gen;
use super::value::Val;
use crate::shape::{Lin, Shape};

/// Text that grows; values are numbers of names.
struct Text {
    out: String,
    next: u32,
    names: Vec<String>,
    declares: Vec<String>,
    /// Addresses of tables, which are constants of the module by their index here.
    tables: Vec<&'static [f64]>,
}

/// A handle as [`Ops`] wants it.
#[derive(Clone, Copy)]
struct Lanes<'a>(&'a RefCell<Text>);

/// Name of a value.
#[derive(Clone, Copy)]
struct Name(u32);

const F32: &str = "<32 x float>";
const F64: &str = "<32 x double>";
const I32: &str = "<32 x i32>";
const I64: &str = "<32 x i64>";
const M: &str = "<32 x i1>";

impl Lanes<'_> {
    fn keep(self, name: String) -> Name {
        let mut t = self.0.borrow_mut();
        t.names.push(name);
        Name(t.names.len() as u32 - 1)
    }

    fn get(self, n: Name) -> String {
        self.0.borrow().names[n.0 as usize].clone()
    }

    fn ins(self, text: String) -> Name {
        let name = {
            let mut t = self.0.borrow_mut();
            t.next += 1;
            let name = format!("%v{}", t.next);
            let _ = writeln!(t.out, "  {name} = {text}");
            name
        };
        self.keep(name)
    }

    /// `op type a, b`.
    fn two(self, op: &str, ty: &str, a: Name, b: Name) -> Name {
        self.ins(format!("{op} {ty} {}, {}", self.get(a), self.get(b)))
    }

    /// `op from a to to`.
    fn cast(self, op: &str, from: &str, a: Name, to: &str) -> Name {
        self.ins(format!("{op} {from} {} to {to}", self.get(a)))
    }

    /// An intrinsic on values of one type.
    fn call(self, name: &str, ty: &str, args: &[Name]) -> Name {
        let sfx = if ty == F32 { "v32f32" } else { "v32f64" };
        let types = vec![ty; args.len()].join(", ");
        let d = format!("declare {ty} @llvm.{name}.{sfx}({types})");
        self.0.borrow_mut().declares.push(d);
        let list: Vec<String> = args.iter().map(|&a| format!("{ty} {}", self.get(a))).collect();
        self.ins(format!("call {ty} @llvm.{name}.{sfx}({})", list.join(", ")))
    }

    fn choose(self, m: Name, ty: &str, a: Name, b: Name) -> Name {
        let (m, a, b) = (self.get(m), self.get(a), self.get(b));
        self.ins(format!("select {M} {m}, {ty} {a}, {ty} {b}"))
    }
}

impl Ops for Lanes<'_> {
    type F32 = Name;
    type F64 = Name;
    type I32 = Name;
    type I64 = Name;
    type Mask = Name;

    fn const_f32(self, v: f32) -> Name {
        // LLVM writes a float as the bits of the double of its value; NaN only by its own bits.
        let bits = self.keep(format!("splat (i32 {})", v.to_bits() as i32));
        self.cast("bitcast", I32, bits, F32)
    }
    fn const_f64(self, v: f64) -> Name {
        let bits = self.keep(format!("splat (i64 {})", v.to_bits() as i64));
        self.cast("bitcast", I64, bits, F64)
    }
    fn const_i32(self, v: i32) -> Name {
        self.keep(format!("splat (i32 {v})"))
    }
    fn const_i64(self, v: i64) -> Name {
        self.keep(format!("splat (i64 {v})"))
    }
    fn add_f32(self, a: Name, b: Name) -> Name {
        self.two("fadd", F32, a, b)
    }
    fn sub_f32(self, a: Name, b: Name) -> Name {
        self.two("fsub", F32, a, b)
    }
    fn mul_f32(self, a: Name, b: Name) -> Name {
        self.two("fmul", F32, a, b)
    }
    fn div_f32(self, a: Name, b: Name) -> Name {
        self.two("fdiv", F32, a, b)
    }
    fn fma_f32(self, a: Name, b: Name, c: Name) -> Name {
        self.call("fma", F32, &[a, b, c])
    }
    fn sqrt_f32(self, a: Name) -> Name {
        self.call("sqrt", F32, &[a])
    }
    fn abs_f32(self, a: Name) -> Name {
        self.call("fabs", F32, &[a])
    }
    fn rint_f32(self, a: Name) -> Name {
        self.call("roundeven", F32, &[a])
    }
    fn floor_f32(self, a: Name) -> Name {
        self.call("floor", F32, &[a])
    }
    fn ceil_f32(self, a: Name) -> Name {
        self.call("ceil", F32, &[a])
    }
    fn trunc_f32(self, a: Name) -> Name {
        self.call("trunc", F32, &[a])
    }
    fn neg_f32(self, a: Name) -> Name {
        self.ins(format!("fneg {F32} {}", self.get(a)))
    }
    fn eq_f32(self, a: Name, b: Name) -> Name {
        self.two("fcmp oeq", F32, a, b)
    }
    fn lt_f32(self, a: Name, b: Name) -> Name {
        self.two("fcmp olt", F32, a, b)
    }
    fn le_f32(self, a: Name, b: Name) -> Name {
        self.two("fcmp ole", F32, a, b)
    }
    fn is_nan_f32(self, a: Name) -> Name {
        self.two("fcmp uno", F32, a, a)
    }
    fn select_f32(self, m: Name, a: Name, b: Name) -> Name {
        self.choose(m, F32, a, b)
    }
    fn copysign_f32(self, a: Name, sign: Name) -> Name {
        self.call("copysign", F32, &[a, sign])
    }
    fn add_f64(self, a: Name, b: Name) -> Name {
        self.two("fadd", F64, a, b)
    }
    fn sub_f64(self, a: Name, b: Name) -> Name {
        self.two("fsub", F64, a, b)
    }
    fn mul_f64(self, a: Name, b: Name) -> Name {
        self.two("fmul", F64, a, b)
    }
    fn div_f64(self, a: Name, b: Name) -> Name {
        self.two("fdiv", F64, a, b)
    }
    fn fma_f64(self, a: Name, b: Name, c: Name) -> Name {
        self.call("fma", F64, &[a, b, c])
    }
    fn sqrt_f64(self, a: Name) -> Name {
        self.call("sqrt", F64, &[a])
    }
    fn abs_f64(self, a: Name) -> Name {
        self.call("fabs", F64, &[a])
    }
    fn rint_f64(self, a: Name) -> Name {
        self.call("roundeven", F64, &[a])
    }
    fn floor_f64(self, a: Name) -> Name {
        self.call("floor", F64, &[a])
    }
    fn ceil_f64(self, a: Name) -> Name {
        self.call("ceil", F64, &[a])
    }
    fn trunc_f64(self, a: Name) -> Name {
        self.call("trunc", F64, &[a])
    }
    fn neg_f64(self, a: Name) -> Name {
        self.ins(format!("fneg {F64} {}", self.get(a)))
    }
    fn eq_f64(self, a: Name, b: Name) -> Name {
        self.two("fcmp oeq", F64, a, b)
    }
    fn lt_f64(self, a: Name, b: Name) -> Name {
        self.two("fcmp olt", F64, a, b)
    }
    fn le_f64(self, a: Name, b: Name) -> Name {
        self.two("fcmp ole", F64, a, b)
    }
    fn is_nan_f64(self, a: Name) -> Name {
        self.two("fcmp uno", F64, a, a)
    }
    fn select_f64(self, m: Name, a: Name, b: Name) -> Name {
        self.choose(m, F64, a, b)
    }
    fn copysign_f64(self, a: Name, sign: Name) -> Name {
        self.call("copysign", F64, &[a, sign])
    }
    fn add_i32(self, a: Name, b: Name) -> Name {
        self.two("add", I32, a, b)
    }
    fn sub_i32(self, a: Name, b: Name) -> Name {
        self.two("sub", I32, a, b)
    }
    fn mul_i32(self, a: Name, b: Name) -> Name {
        self.two("mul", I32, a, b)
    }
    fn and_i32(self, a: Name, b: Name) -> Name {
        self.two("and", I32, a, b)
    }
    fn or_i32(self, a: Name, b: Name) -> Name {
        self.two("or", I32, a, b)
    }
    fn xor_i32(self, a: Name, b: Name) -> Name {
        self.two("xor", I32, a, b)
    }
    fn shl_i32(self, a: Name, b: Name) -> Name {
        self.two("shl", I32, a, b)
    }
    fn shr_i32(self, a: Name, b: Name) -> Name {
        self.two("lshr", I32, a, b)
    }
    fn sar_i32(self, a: Name, b: Name) -> Name {
        self.two("ashr", I32, a, b)
    }
    fn eq_i32(self, a: Name, b: Name) -> Name {
        self.two("icmp eq", I32, a, b)
    }
    fn lt_i32(self, a: Name, b: Name) -> Name {
        self.two("icmp slt", I32, a, b)
    }
    fn ult_i32(self, a: Name, b: Name) -> Name {
        self.two("icmp ult", I32, a, b)
    }
    fn select_i32(self, m: Name, a: Name, b: Name) -> Name {
        self.choose(m, I32, a, b)
    }
    fn add_i64(self, a: Name, b: Name) -> Name {
        self.two("add", I64, a, b)
    }
    fn sub_i64(self, a: Name, b: Name) -> Name {
        self.two("sub", I64, a, b)
    }
    fn mul_i64(self, a: Name, b: Name) -> Name {
        self.two("mul", I64, a, b)
    }
    fn and_i64(self, a: Name, b: Name) -> Name {
        self.two("and", I64, a, b)
    }
    fn or_i64(self, a: Name, b: Name) -> Name {
        self.two("or", I64, a, b)
    }
    fn xor_i64(self, a: Name, b: Name) -> Name {
        self.two("xor", I64, a, b)
    }
    fn shl_i64(self, a: Name, b: Name) -> Name {
        self.two("shl", I64, a, b)
    }
    fn shr_i64(self, a: Name, b: Name) -> Name {
        self.two("lshr", I64, a, b)
    }
    fn sar_i64(self, a: Name, b: Name) -> Name {
        self.two("ashr", I64, a, b)
    }
    fn eq_i64(self, a: Name, b: Name) -> Name {
        self.two("icmp eq", I64, a, b)
    }
    fn lt_i64(self, a: Name, b: Name) -> Name {
        self.two("icmp slt", I64, a, b)
    }
    fn ult_i64(self, a: Name, b: Name) -> Name {
        self.two("icmp ult", I64, a, b)
    }
    fn select_i64(self, m: Name, a: Name, b: Name) -> Name {
        self.choose(m, I64, a, b)
    }
    fn and_mask(self, a: Name, b: Name) -> Name {
        self.two("and", M, a, b)
    }
    fn or_mask(self, a: Name, b: Name) -> Name {
        self.two("or", M, a, b)
    }
    fn not_mask(self, a: Name) -> Name {
        self.ins(format!("xor {M} {}, splat (i1 true)", self.get(a)))
    }
    fn f32_as_i32(self, a: Name) -> Name {
        self.cast("bitcast", F32, a, I32)
    }
    fn i32_as_f32(self, a: Name) -> Name {
        self.cast("bitcast", I32, a, F32)
    }
    fn f64_as_i64(self, a: Name) -> Name {
        self.cast("bitcast", F64, a, I64)
    }
    fn i64_as_f64(self, a: Name) -> Name {
        self.cast("bitcast", I64, a, F64)
    }
    fn f32_to_f64(self, a: Name) -> Name {
        self.cast("fpext", F32, a, F64)
    }
    fn f64_to_f32(self, a: Name) -> Name {
        self.cast("fptrunc", F64, a, F32)
    }
    fn i32_to_f32(self, a: Name) -> Name {
        self.cast("sitofp", I32, a, F32)
    }
    fn i32_to_f64(self, a: Name) -> Name {
        self.cast("sitofp", I32, a, F64)
    }
    fn i64_to_f64(self, a: Name) -> Name {
        self.cast("sitofp", I64, a, F64)
    }
    fn sign_extend(self, a: Name) -> Name {
        self.cast("sext", I32, a, I64)
    }
    fn zero_extend(self, a: Name) -> Name {
        self.cast("zext", I32, a, I64)
    }
    fn truncate(self, a: Name) -> Name {
        self.cast("trunc", I64, a, I32)
    }
    fn lookup_f64(self, table: &'static [f64], index: Name) -> Name {
        let n = {
            let mut t = self.0.borrow_mut();
            match t.tables.iter().position(|known| std::ptr::eq(*known, table)) {
                Some(n) => n,
                None => {
                    t.tables.push(table);
                    t.tables.len() - 1
                }
            }
        };
        let last = table.len() - 1;
        let index = self.get(index);
        // Lanes that do not run may hold anything.
        let d = format!("declare {I32} @llvm.umin.v32i32({I32}, {I32})");
        self.0.borrow_mut().declares.push(d);
        let safe = self
            .ins(format!("call {I32} @llvm.umin.v32i32({I32} {index}, {I32} splat (i32 {last}))"));
        let wide = self.cast("zext", I32, safe, I64);
        let p = self.ins(format!("getelementptr double, ptr @table{n}, {I64} {}", self.get(wide)));
        let f = "@llvm.masked.gather.v32f64.v32p0";
        let d = format!("declare {F64} {f}(<32 x ptr>, i32, {M}, {F64})");
        self.0.borrow_mut().declares.push(d);
        self.ins(format!(
            "call {F64} {f}(<32 x ptr> {}, i32 8, {M} splat (i1 true), {F64} zeroinitializer)",
            self.get(p)
        ))
    }
}

/// The formula of an instruction, if it has one.
fn function_of(inst: &Inst) -> Option<Function> {
    if let Attr::Builtin(b) = inst.attr {
        return Function::by_name(b.name());
    }
    let Attr::Float(a) = inst.attr else { return None };
    if a.sat || a.relu {
        return None;
    }
    if let Round::Zero | Round::Down | Round::Up = a.round {
        return directed(inst, a.round);
    }
    let op = match inst.op {
        Op::FRcpApprox => "rcp.approx",
        Op::FDivApprox => "div.approx",
        Op::FDivFull => "div.full",
        Op::FSqrtApprox => "sqrt.approx",
        Op::FRsqrtApprox => "rsqrt.approx",
        Op::FEx2 => "ex2.approx",
        Op::FLg2 => "lg2.approx",
        Op::FSin => "sin.approx",
        Op::FCos => "cos.approx",
        Op::FTanh => "tanh.approx",
        _ => return None,
    };
    let ty = match inst.ty {
        Ty::F32 => "f32",
        // The reciprocal in double precision exists with .ftz only.
        Ty::F64 if inst.op == Op::FRcpApprox => return Function::by_name("rcp.approx.ftz.f64"),
        Ty::F64 => "f64",
        _ => return None,
    };
    let ftz = if a.ftz { ".ftz" } else { "" };
    Function::by_name(&format!("{op}{ftz}.{ty}"))
}

/// The formula of an operation in a direction other than to nearest: by the device library's name.
fn directed(inst: &Inst, round: Round) -> Option<Function> {
    // Away from zero what is subnormal may become the least normal number, unless that is a zero before.
    if let (Attr::Float(FloatAttr { ftz: true, .. }), Round::Down | Round::Up) = (&inst.attr, round)
    {
        let stem = match (inst.op, inst.ty, inst.from) {
            (Op::FMul, Ty::F32, _) => Some("mul"),
            (Op::FDiv, Ty::F32, _) => Some("div"),
            (Op::FRcp, Ty::F32, _) => Some("rcp"),
            (Op::FFma, Ty::F32, _) => Some("fma"),
            (Op::FToF, Ty::F32, Ty::F64) => Some("cvt"),
            _ => None,
        };
        if let Some(stem) = stem {
            let suffix = if round == Round::Down { "rm" } else { "rp" };
            let from = if stem == "cvt" { ".f64" } else { "" };
            return Function::by_name(&format!("{stem}.{suffix}.ftz.f32{from}"));
        }
    }
    let stem = match (inst.op, inst.ty, inst.from) {
        (Op::FAdd, Ty::F32, _) => "fadd",
        (Op::FSub, Ty::F32, _) => "fsub",
        (Op::FMul, Ty::F32, _) => "fmul",
        (Op::FDiv, Ty::F32, _) => "fdiv",
        (Op::FRcp, Ty::F32, _) => "frcp",
        (Op::FSqrt, Ty::F32, _) => "fsqrt",
        (Op::FFma, Ty::F32, _) => "fmaf",
        (Op::FAdd, Ty::F64, _) => "dadd",
        (Op::FSub, Ty::F64, _) => "dsub",
        (Op::FMul, Ty::F64, _) => "dmul",
        (Op::FDiv, Ty::F64, _) => "ddiv",
        (Op::FRcp, Ty::F64, _) => "drcp",
        (Op::FSqrt, Ty::F64, _) => "dsqrt",
        (Op::FFma, Ty::F64, _) => "fma",
        (Op::FToF, Ty::F32, Ty::F64) => "double2float",
        (Op::SToF, Ty::F32, Ty::I32) => "int2float",
        (Op::UToF, Ty::F32, Ty::I32) => "uint2float",
        (Op::SToF, Ty::F32, Ty::I64) => "ll2float",
        (Op::UToF, Ty::F32, Ty::I64) => "ull2float",
        (Op::SToF, Ty::F64, Ty::I64) => "ll2double",
        (Op::UToF, Ty::F64, Ty::I64) => "ull2double",
        _ => return None,
    };
    let suffix = match round {
        Round::Zero => "rz",
        Round::Down => "rd",
        Round::Up => "ru",
        _ => return None,
    };
    Function::by_name(&format!("__nv_{stem}_{suffix}"))
}

/// Whether subnormal floats among an operation's operands and results are to become zeros: of those that
/// approximate, the formula does that.
fn flushes(inst: &Inst) -> bool {
    matches!(inst.attr, Attr::Float(a) if a.ftz && a.round != Round::Nearest)
}

/// Whether an instruction has a formula.
pub(super) fn has_formula(inst: &Inst) -> bool {
    function_of(inst).is_some()
}

impl Gen<'_> {
    /// Writes a function of the device library or an approximation. False if there is no formula.
    pub fn formula(&mut self, n: usize, inst: &Inst) -> bool {
        let Some(function) = function_of(inst) else { return false };
        if inst.guard.is_some()
            || inst.dsts.len() != function.rets().len()
            || inst.srcs.len() != function.args().len()
        {
            return false;
        }
        let class = |t: Type| match t {
            Type::F32 | Type::I32 => Class::W,
            Type::F64 | Type::I64 => Class::D,
        };
        let wrong = |(r, t): (&margay_ir::Reg, &Type)| self.class(*r) != class(*t);
        if inst.dsts.iter().zip(function.rets()).any(wrong) {
            return false;
        }
        let flush = flushes(inst);
        let mut args = Vec::new();
        for (&v, &t) in inst.srcs.iter().zip(function.args()) {
            let v = self.bits(v, class(t));
            let mut v = self.spread(&v, class(t));
            if flush && t == Type::F32 {
                v = self.flush_bits(&v, true);
            }
            args.push((v, t));
        }
        self.save_for_handler(n, inst);
        let text = RefCell::new(Text {
            out: String::new(),
            next: self.next,
            names: Vec::new(),
            declares: Vec::new(),
            tables: std::mem::take(&mut self.tables),
        });
        let lanes = Lanes(&text);
        let values: Vec<Value<Lanes<'_>>> = args
            .into_iter()
            .map(|(name, t)| {
                let bits = lanes.keep(name);
                match t {
                    Type::F32 => Value::F32(lanes.i32_as_f32(bits)),
                    Type::F64 => Value::F64(lanes.i64_as_f64(bits)),
                    Type::I32 => Value::I32(bits),
                    Type::I64 => Value::I64(bits),
                }
            })
            .collect();
        let emitted = emit(lanes, function, &values);
        let (mut results, slow) = match emitted {
            Some(e) => {
                let bits: Vec<String> = e
                    .results
                    .iter()
                    .map(|r| match *r {
                        Value::F32(x) => lanes.get(lanes.f32_as_i32(x)),
                        Value::F64(x) => lanes.get(lanes.f64_as_i64(x)),
                        Value::I32(x) | Value::I64(x) => lanes.get(x),
                    })
                    .collect();
                (bits, e.slow.map(|m| lanes.get(m)))
            }
            None => (Vec::new(), None),
        };
        let text = text.into_inner();
        self.next = text.next;
        self.tables = text.tables;
        if results.len() != inst.dsts.len() {
            return false;
        }
        self.out.push_str(&text.out);
        self.declares.extend(text.declares);
        for (r, &t) in results.iter_mut().zip(function.rets()) {
            if flush && t == Type::F32 {
                *r = self.flush_bits(r, true);
            }
        }
        let Some(slow) = slow else {
            self.put_formula(inst, results);
            return true;
        };
        if let Some(part) = &self.part {
            // All lanes run there; where one needs more, nothing has been done yet.
            let (word, failed) = (format!("i{}", part.lanes), part.failed.clone());
            let bits = self.ins(format!("bitcast <32 x i1> {slow} to {word}"));
            let ok = self.ins(format!("icmp eq {word} {bits}, 0"));
            self.expect(&ok, &failed);
            self.put_formula(inst, results);
            return true;
        }
        let bits = self.ins(format!("bitcast <32 x i1> {slow} to i32"));
        let mask = self.mask.clone();
        let bits = self.ins(format!("and i32 {bits}, {mask}"));
        let ok = self.ins(format!("icmp eq i32 {bits}, 0"));
        let (other, join) = (self.label(), self.label());
        let from = self.here();
        self.line(format!("br i1 {ok}, label %{join}, label %{other}, !prof !0"));
        let slow_values = self.slow_path(n, inst, &other, &join, None);
        self.begin(&join);
        let mut joined = Vec::new();
        for ((&r, fast), (name, block)) in inst.dsts.iter().zip(results).zip(slow_values) {
            let ty = super::value::vector(self.class(r));
            joined.push(self.ins(format!("phi {ty} [ {fast}, %{from} ], [ {name}, %{block} ]")));
        }
        self.put_formula(inst, joined);
        true
    }

    /// The results, of a lane that runs where all of these have the same.
    fn put_formula(&mut self, inst: &Inst, results: Vec<String>) {
        for (&r, name) in inst.dsts.iter().zip(results) {
            if matches!(self.facts.shape(r), Shape::Varying) {
                self.put(r, Val::Vec { name, addr: None });
                continue;
            }
            debug_assert!(self.part.is_none() || self.all(), "of a part lane 0 is one of its own");
            let lane = self.running_lane();
            let ty = super::value::vector(self.class(r));
            let base = self.ins(format!("extractelement {ty} {name}, i32 {lane}"));
            self.put(r, Val::Lin { base, u: None, lin: Rc::new(Lin::uniform()) });
        }
    }
}
