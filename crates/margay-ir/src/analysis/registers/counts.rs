// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures that are counts of operations.

use std::collections::HashSet;

use super::MOST;
use super::features::Features;
use crate::builtin::Builtin;
use crate::inst::{AddrOf, Attr, Inst, Sreg, Value};
use crate::module::{Function, LaunchLimits};
use crate::ops::Op;
use crate::types::{Class, Space, Ty};

fn words_of(class: Class) -> u32 {
    match class {
        Class::P => 0,
        Class::W => 1,
        Class::D => 2,
    }
}

impl Features {
    pub(super) fn count(&mut self, function: &Function) {
        self.parameters = function.param_size;
        self.bases = function.params.iter().filter(|p| p.size == 8).count() as u32;
        self.frame = (function.frame_size / 4).min(1024);
        self.bound = bound(&function.limits);
        self.threads = function.limits.maxntid.map_or(0, |n| n.iter().product());
        let mut floats = HashSet::new();
        let mut doubles = HashSet::new();
        let mut addresses = HashSet::new();
        let mut coordinates = HashSet::new();
        for inst in function.blocks.iter().flat_map(|b| &b.insts) {
            for v in &inst.srcs {
                if let (Value::Imm(bits), true) = (v, inst.ty.is_float()) {
                    if inst.ty == Ty::F64 { &mut doubles } else { &mut floats }.insert(*bits);
                }
            }
            if let (Attr::Mem(mem), Some(Value::Reg(r))) = (&inst.attr, inst.srcs.first())
                && matches!(mem.space, Space::Global | Space::Generic)
            {
                addresses.insert(*r);
            }
            if let Attr::Sreg(s) = &inst.attr
                && matches!(s, Sreg::Tid(_) | Sreg::CtaId(_))
            {
                coordinates.insert(*s);
            }
            if let Attr::Mem(mem) = &inst.attr {
                self.offsets += u32::from(mem.offset != 0 && mem.space != Space::Param);
            }
            self.memory(function, inst);
            self.arithmetic(inst);
        }
        self.constants_f = floats.len() as u32;
        self.constants_f64 = doubles.len() as u32;
        self.addresses = addresses.len() as u32;
        self.coordinates = coordinates.len() as u32;
    }

    fn memory(&mut self, function: &Function, inst: &Inst) {
        let loaded: u32 = inst.dsts.iter().map(|r| words_of(function.regs[r.0 as usize])).sum();
        match (inst.op, &inst.attr) {
            (Op::Ld, Attr::Mem(mem)) => {
                let variable = matches!(inst.srcs.first(), Some(Value::Reg(_)));
                match mem.space {
                    Space::Global | Space::Generic => self.loads += 1,
                    Space::Shared => self.loads_shared += 1,
                    Space::Local => self.loads_local += 1,
                    Space::Const | Space::Param => self.loads_constant += u32::from(variable),
                }
                if mem.space != Space::Param {
                    self.widest = self.widest.max(loaded);
                    self.wide_loads += u32::from(inst.dsts.len() > 1);
                }
            }
            (Op::St, Attr::Mem(mem)) => {
                match mem.space {
                    Space::Shared => self.stores_shared += 1,
                    Space::Local | Space::Param => self.stores_local += 1,
                    Space::Global | Space::Generic | Space::Const => self.stores += 1,
                }
                let words = |v: &Value| match v {
                    Value::Reg(r) => words_of(function.regs[r.0 as usize]),
                    Value::Imm(_) => 1,
                };
                self.widest = self.widest.max(inst.srcs.iter().skip(1).map(words).sum());
            }
            (Op::Bar | Op::BarRed | Op::BarCluster, _) => self.barriers += 1,
            (Op::Atom | Op::AtomWide, _) => self.atomics += 1,
            (Op::Shfl | Op::Vote | Op::Ballot | Op::Redux | Op::MatchAny | Op::MatchAll, _) => {
                self.shuffles += 1;
            }
            (Op::Tex | Op::SurfStore, _) => self.textures += 1,
            (Op::Call, _) => {
                self.calls += 1;
                self.called += 1;
            }
            (Op::Syscall, _) => self.calls += 1,
            (Op::Addr, Attr::Address { of: AddrOf::Local(_), .. }) => self.loads_local += 1,
            _ => {}
        }
    }

    fn arithmetic(&mut self, inst: &Inst) {
        use Op::{
            Abs, Add, And, BRev, BfeS, BfeU, Bfi, DivS, DivU, FAdd, FCmp, FDiv, FFma, FMax, FMin,
            FMul, FRcp, FSqrt, FSub, FToF, FToS, FToU, ICmp, Lop3, Mad, MadWideS, MadWideU, MaxS,
            MaxU, MinS, MinU, Mul, MulHiS, MulHiU, MulWideS, MulWideU, Neg, Not, Or, Prmt, RemS,
            RemU, SExt, SToF, Select, ShfL, ShfR, Shl, ShrS, ShrU, Sub, Trunc, UToF, Xor, ZExt,
        };
        let double = inst.ty == Ty::F64;
        let pick = |a: &mut u32, b: &mut u32| if double { *b += 1 } else { *a += 1 };
        match inst.op {
            FDiv => pick(&mut self.divisions_f32, &mut self.divisions_f64),
            FSqrt | FRcp => pick(&mut self.roots_f32, &mut self.roots_f64),
            DivS | DivU | RemS | RemU => {
                if matches!(inst.srcs.get(1), Some(Value::Imm(_))) {
                    self.divisions_constant += 1;
                } else if inst.ty == Ty::I64 {
                    self.divisions_i64 += 1;
                } else {
                    self.divisions_i32 += 1;
                }
            }
            Op::Builtin => self.routine(inst),
            _ => {}
        }
        match inst.op {
            FAdd | FSub | FMul | FFma | FMin | FMax | FDiv | FSqrt => match inst.ty {
                Ty::F64 => self.f64 += 1,
                Ty::F32 => self.f32 += 1,
                _ => self.f16 += 1,
            },
            Add | Sub | Mul | Mad | Neg | Abs if inst.ty == Ty::I64 => self.i64 += 1,
            _ => {}
        }
        match inst.op {
            Mul | Mad | MulHiS | MulHiU | MulWideS | MulWideU | MadWideS | MadWideU => {
                self.products += 1;
            }
            And | Or | Xor | Not | Shl | ShrS | ShrU | Lop3 | Prmt | ShfL | ShfR | Bfi | BfeS
            | BfeU | BRev => self.logic += 1,
            SExt | ZExt | Trunc | FToF | FToS | FToU | SToF | UToF => self.conversions += 1,
            Select | MinS | MinU | MaxS | MaxU | FMin | FMax => self.selects += 1,
            ICmp | FCmp => self.comparisons += 1,
            _ => {}
        }
    }

    fn routine(&mut self, inst: &Inst) {
        let Attr::Builtin(builtin) = &inst.attr else { return };
        let (name, double) = (builtin.name().trim_start_matches("__nv_"), is_double(*builtin));
        let any = |of: &[&str]| of.iter().any(|part| name.contains(part));
        let (single, wide) = if any(&["fast_"]) {
            return;
        } else if any(&["sin", "cos", "tan"])
            && !name.starts_with('a')
            && !any(&["sinh", "cosh", "tanh", "pi"])
        {
            (&mut self.trigonometric_f32, &mut self.trigonometric_f64)
        } else if any(&[
            "pow",
            "gamma",
            "bessel",
            "erf",
            "norm",
            "j0",
            "j1",
            "jn",
            "y0",
            "y1",
            "yn",
            "fmod",
            "remainder",
        ]) {
            (&mut self.powers_f32, &mut self.powers_f64)
        } else if any(&["exp", "log"]) {
            (&mut self.exponentials_f32, &mut self.exponentials_f64)
        } else {
            (&mut self.routines_f32, &mut self.routines_f64)
        };
        *(if double { wide } else { single }) += 1;
    }
}

/// The most registers under which the blocks that launch bounds ask for are resident on 9.0, by its 65,536 registers;
/// 255 without bounds. A run-time reckons with the GPU that it has.
fn bound(limits: &LaunchLimits) -> u32 {
    const ALL: u32 = 65_536;
    let threads = limits.reqntid.or(limits.maxntid).map(|n| {
        let threads = n.iter().fold(1u32, |p, n| p.saturating_mul((*n).max(1)));
        threads.min(1024).next_multiple_of(32) * limits.minnctapersm.unwrap_or(1).max(1)
    });
    let by_threads = threads.map_or(MOST, |threads| ALL / threads / 8 * 8);
    // More blocks than can ever be are a wish that nothing grants.
    let by_threads = if by_threads < 16 { MOST } else { by_threads };
    limits.maxnreg.unwrap_or(MOST).min(by_threads).min(MOST)
}

fn is_double(builtin: Builtin) -> bool {
    builtin.args().first() == Some(&Ty::F64)
}
