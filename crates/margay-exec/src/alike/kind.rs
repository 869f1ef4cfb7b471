// SPDX-License-Identifier: MIT OR Apache-2.0
//! What of a register is the same in all blocks of a launch, or moves with the block's number.

use margay_ir::{Attr, Function, Inst, IntCmp, Op, Reg, Space, Sreg, Term, Ty, Value};

use super::steps::{Picks, What, is_by};
use crate::launch::LaunchConfig;
use crate::semantics::eval;

/// What a value goes by from one block to another, for a step in each of the three numbers of the block.
pub type Moves = [i64; 3];

pub const STILL: Moves = [0; 3];

/// What a register holds, by thread and moment, in a block beside what it holds in another that has gone the same ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Not known yet.
    Unset,
    /// These bits in every thread, always.
    Fixed(u64),
    /// The same.
    Common,
    /// The same, moved.
    Moves(Moves),
    /// The smaller or the larger of two that move apart, by the register that it was written to. It may be compared with what
    /// is fixed, as its operands are.
    Extreme(Reg),
    /// Anything: it comes from memory, say.
    Data,
}

impl Kind {
    /// By how much it moves; `None` if that is not known.
    pub fn moves(self) -> Option<Moves> {
        match self {
            Kind::Fixed(_) | Kind::Common => Some(STILL),
            Kind::Moves(by) => Some(by),
            Kind::Unset | Kind::Data | Kind::Extreme(_) => None,
        }
    }

    pub fn is_still(self) -> bool {
        matches!(self, Kind::Fixed(_) | Kind::Common)
    }

    fn fixed(self) -> Option<u64> {
        match self {
            Kind::Fixed(bits) => Some(bits),
            _ => None,
        }
    }

    /// What moves so, in a register of this type.
    fn moving(by: Moves, ty: Ty) -> Kind {
        let by = if ty == Ty::I32 { by.map(|n| i64::from(n as i32)) } else { by };
        if by == STILL { Kind::Common } else { Kind::Moves(by) }
    }

    /// A register that is written at several places.
    pub fn or(self, other: Kind) -> Kind {
        match (self, other) {
            (Kind::Unset, one) | (one, Kind::Unset) => one,
            (a, b) if a == b => a,
            (a, b) if a.is_still() && b.is_still() => Kind::Common,
            _ => Kind::Data,
        }
    }
}

fn plus(a: Moves, b: Moves) -> Moves {
    std::array::from_fn(|d| a[d].wrapping_add(b[d]))
}

fn times(a: Moves, factor: i64) -> Moves {
    a.map(|n| n.wrapping_mul(factor))
}

/// The largest power of two that all steps are multiples of, as an exponent.
fn even(by: Moves) -> u32 {
    by.iter().filter(|n| **n != 0).map(|n| n.trailing_zeros()).min().unwrap_or(63)
}

/// Whether an op gives the smaller of two, and whether by sign.
fn signs(op: Op) -> Option<(bool, bool)> {
    match op {
        Op::MinS => Some((true, true)),
        Op::MinU => Some((true, false)),
        Op::MaxS => Some((false, true)),
        Op::MaxU => Some((false, false)),
        _ => None,
    }
}

/// Kinds of a launch's registers, and what must hold for them to be that.
pub struct Kinds<'a> {
    config: &'a LaunchConfig,
    pub of: Vec<Kind>,
    /// By register: whether it is the smaller or larger of two, and only compared, as a type and by sign or not.
    compared: Vec<Option<(Ty, bool)>>,
}

impl<'a> Kinds<'a> {
    /// `unwritten`: by register, whether it may be read before it is written.
    pub fn new(config: &'a LaunchConfig, f: &Function, unwritten: &[bool]) -> Kinds<'a> {
        let mut compared = vec![None; f.regs.len()];
        let mut written = vec![0u8; f.regs.len()];
        let insts = || f.blocks.iter().flat_map(|b| &b.insts);
        for inst in insts() {
            for r in &inst.dsts {
                let n = &mut written[r.0 as usize];
                *n = n.saturating_add(1);
                let once = *n == 1 && inst.guard.is_none();
                let form = signs(inst.op).map(|(_, signed)| (inst.ty, signed));
                compared[r.0 as usize] = form.filter(|_| once);
            }
        }
        for inst in insts() {
            for r in
                inst.srcs.iter().filter_map(|v| if let Value::Reg(r) = v { Some(r) } else { None })
            {
                let own = &mut compared[r.0 as usize];
                let alike = match inst.attr {
                    Attr::IntCmp(cmp) => {
                        own.filter(|(ty, signed)| *ty == inst.ty && is_by(cmp, *signed))
                    }
                    _ => None,
                };
                *own = alike;
            }
        }
        // Who reads what was not written yet gets a zero.
        let of = unwritten.iter().map(|zero| if *zero { Kind::Fixed(0) } else { Kind::Unset });
        Kinds { config, of: of.collect(), compared }
    }

    /// Whether what an instruction gives is only compared, and the smaller or larger of two that move apart.
    fn is_compared(&self, inst: &Inst) -> bool {
        let apart = || self.arg(inst, 0).moves() != self.arg(inst, 1).moves();
        let [r] = inst.dsts.as_slice() else { return false };
        self.compared[r.0 as usize].is_some() && apart()
    }

    /// A comparison of the smaller or larger of two with what is fixed: its register, and that number.
    pub fn edge(&self, inst: &Inst) -> Option<(Reg, IntCmp, u64)> {
        let Attr::IntCmp(cmp) = inst.attr else { return None };
        match (self.arg(inst, 0), self.arg(inst, 1)) {
            (Kind::Extreme(r), Kind::Fixed(n)) => Some((r, cmp, n)),
            (Kind::Fixed(n), Kind::Extreme(r)) => Some((r, cmp.mirrored(), n)),
            _ => None,
        }
    }

    /// What an instruction that gives the smaller or larger of two must keep, if that is compared with these.
    pub fn edges(&self, inst: &Inst, edges: Vec<(IntCmp, u64)>) -> Option<What> {
        let moves = [self.arg(inst, 0).moves()?, self.arg(inst, 1).moves()?];
        Some(What::Edges { bits: inst.ty.bits(), moves, edges })
    }

    pub fn reg(&self, r: Reg) -> Kind {
        self.of.get(r.0 as usize).copied().unwrap_or(Kind::Data)
    }

    /// What a branch goes by.
    pub fn decider(&self, term: &Term) -> Kind {
        match term {
            Term::CondBr { pred, .. } => self.reg(*pred),
            Term::BrTable { index, .. } => self.value(*index),
            Term::Br(_) | Term::Ret | Term::Exit => Kind::Common,
        }
    }

    pub fn value(&self, v: Value) -> Kind {
        match v {
            Value::Reg(r) => self.reg(r),
            Value::Imm(bits) => Kind::Fixed(bits),
        }
    }

    /// An operand's kind.
    fn arg(&self, inst: &Inst, n: usize) -> Kind {
        inst.srcs.get(n).map_or(Kind::Data, |v| self.value(*v))
    }

    /// What an instruction writes to its destination `n`, and what must hold for that where its operands move.
    pub fn result(&self, inst: &Inst, n: usize) -> (Kind, Option<What>) {
        let sources = inst.srcs.iter().map(|v| self.value(*v));
        let guard = inst.guard.map(|g| self.reg(g.pred));
        let mut all = sources.chain(guard);
        if all.clone().any(|k| k == Kind::Unset) {
            return (Kind::Unset, None);
        }
        // What is left where it is not written is another value.
        if guard.is_some_and(|k| !k.is_still()) {
            return (Kind::Data, None);
        }
        match inst.op {
            Op::Sreg => return (self.special(inst), None),
            Op::Ld => return (self.loaded(inst, n), None),
            Op::Addr | Op::ActiveMask => return (Kind::Common, None),
            op if op < Op::Ld => {}
            Op::Cvta | Op::CvtaTo | Op::IsSpace | Op::Builtin | Op::Vote | Op::Ballot => {}
            Op::MatchAny | Op::MatchAll | Op::Shfl | Op::Redux | Op::Elect => {}
            _ => return (Kind::Data, None),
        }
        if all.clone().any(|k| k == Kind::Data) {
            return (Kind::Data, None);
        }
        if all.all(Kind::is_still) {
            return (self.folded(inst).unwrap_or(Kind::Common), None);
        }
        self.moved(inst, n).unwrap_or((Kind::Data, None))
    }

    /// The bits of a result whose operands are known.
    fn folded(&self, inst: &Inst) -> Option<Kind> {
        let bits: Option<Vec<u64>> = inst.srcs.iter().map(|v| self.value(*v).fixed()).collect();
        // What a guarded instruction leaves is one of two.
        if inst.guard.is_some() || inst.dsts.len() != 1 || inst.op > Op::Ld {
            return None;
        }
        eval::eval(inst.op, inst.ty, inst.from, &inst.attr, &bits?).map(Kind::Fixed)
    }

    fn special(&self, inst: &Inst) -> Kind {
        let Attr::Sreg(sreg) = inst.attr else { return Kind::Data };
        let fixed = |all: &[u32; 3], d: u8| {
            all.get(d as usize).map_or(Kind::Data, |n| Kind::Fixed(u64::from(*n)))
        };
        match sreg {
            Sreg::CtaId(d @ 0..3) if self.config.grid[d as usize] > 1 => {
                let mut by = STILL;
                by[d as usize] = 1;
                Kind::Moves(by)
            }
            Sreg::CtaId(0..3) => Kind::Fixed(0),
            Sreg::NTid(d) => fixed(&self.config.block, d),
            Sreg::NCtaId(d) => fixed(&self.config.grid, d),
            Sreg::EnvReg(n) => Kind::Fixed(u64::from(self.config.environment(n))),
            Sreg::Tid(_)
            | Sreg::LaneId
            | Sreg::WarpId
            | Sreg::NWarpId
            | Sreg::GridId
            | Sreg::LaneMaskEq
            | Sreg::LaneMaskLe
            | Sreg::LaneMaskLt
            | Sreg::LaneMaskGe
            | Sreg::LaneMaskGt
            | Sreg::DynamicSmemSize
            | Sreg::TotalSmemSize => Kind::Common,
            _ => Kind::Data,
        }
    }

    /// Parameters, and constants at one place for all blocks, are the same for all.
    fn loaded(&self, inst: &Inst, n: usize) -> Kind {
        let Attr::Mem(mem) = inst.attr else { return Kind::Data };
        let place = self.arg(inst, 0);
        if !place.is_still() || !matches!(mem.space, Space::Param | Space::Const) {
            return Kind::Data;
        }
        let parameter = || {
            let at = place.fixed().filter(|_| mem.space == Space::Param && inst.guard.is_none())?;
            let bytes = u64::from(inst.ty.bits() / 8);
            let at = at.wrapping_add(mem.offset as u64).wrapping_add(bytes * n as u64);
            let held = self.config.params.get(usize::try_from(at).ok()?..)?;
            match inst.ty {
                Ty::I32 if !mem.signed => Some(u64::from(u32::from_le_bytes(*held.first_chunk()?))),
                Ty::I64 => Some(u64::from_le_bytes(*held.first_chunk()?)),
                _ => None,
            }
        };
        parameter().map_or(Kind::Common, Kind::Fixed)
    }

    /// A result of operands of which one moves at least, and none is data.
    fn moved(&self, inst: &Inst, result: usize) -> Option<(Kind, Option<What>)> {
        let ty = inst.ty;
        let arg = |n: usize| self.arg(inst, n);
        let by = |n: usize| arg(n).moves();
        if !matches!(ty, Ty::I32 | Ty::I64) {
            return None;
        }
        let bits = ty.bits();
        let freely = |moves: Moves| Some((Kind::moving(moves, ty), None));
        let product = |a: usize, b: usize, ty: Ty, signed: bool| -> Option<Moves> {
            let (moving, factor) = match (arg(a).fixed(), arg(b).fixed()) {
                (Some(factor), _) => (by(b)?, factor),
                (_, Some(factor)) => (by(a)?, factor),
                // Moved by a multiple of what differs by thread.
                (None, None) => return (by(a)? == STILL && by(b)? == STILL).then_some(STILL),
            };
            let factor = match (ty, signed) {
                (Ty::I32, true) => i64::from(factor as i32),
                (Ty::I32, false) => i64::from(factor as u32),
                _ => factor as i64,
            };
            Some(times(moving, factor))
        };
        match inst.op {
            Op::Mov => freely(by(0)?),
            Op::Cvta | Op::CvtaTo => match inst.attr {
                Attr::Space(Space::Global | Space::Generic) => freely(by(0)?),
                _ => None,
            },
            Op::Add => freely(plus(by(0)?, by(1)?)),
            Op::Sub => freely(plus(by(0)?, times(by(1)?, -1))),
            Op::Neg | Op::Not => freely(times(by(0)?, -1)),
            Op::Mul => freely(product(0, 1, ty, true)?),
            Op::Mad => freely(plus(product(0, 1, ty, true)?, by(2)?)),
            Op::Shl => match arg(1).fixed()? as u32 {
                n if n >= bits => Some((Kind::Common, None)),
                n => freely(times(by(0)?, 1i64.wrapping_shl(n))),
            },
            Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU => {
                let signed = matches!(inst.op, Op::MulWideS | Op::MadWideS);
                let moving = usize::from(by(0)? == STILL);
                let wide = product(0, 1, Ty::I32, signed)?;
                let wide = match inst.op {
                    Op::MadWideS | Op::MadWideU => plus(wide, by(2)?),
                    _ => wide,
                };
                let moves = by(moving)?;
                // Where only what is added moves nothing is widened.
                let what = (moves != STILL).then(|| What::stays(moving, moves, 32, signed));
                Some((Kind::moving(wide, Ty::I64), what))
            }
            Op::SExt | Op::ZExt if (ty, inst.from) == (Ty::I64, Ty::I32) => {
                let moves = by(0)?;
                let what = What::stays(0, moves, 32, inst.op == Op::SExt);
                Some((Kind::moving(moves, ty), Some(what)))
            }
            Op::Trunc if (ty, inst.from) == (Ty::I32, Ty::I64) => freely(by(0)?),
            Op::And => {
                let (moving, mask) = match arg(1).fixed() {
                    Some(mask) => (0, mask),
                    None => (1, arg(0).fixed()?),
                };
                let mask = if ty == Ty::I32 { mask & 0xffff_ffff } else { mask };
                let moves = by(moving)?;
                let even = even(moves);
                let above = if ty == Ty::I32 { mask | !0 << 32 } else { mask };
                if mask >> even.min(63) == 0 {
                    Some((Kind::Common, None))
                } else if above.leading_ones() + above.trailing_zeros() == 64
                    && above.trailing_zeros() <= even
                {
                    freely(moves)
                } else if (ty, mask) == (Ty::I64, 0xffff_ffff) {
                    Some((Kind::moving(moves, ty), Some(What::low_word(moving, moves))))
                } else if (mask + 1).is_power_of_two() {
                    let of = i64::try_from(mask + 1).ok()?;
                    Some((Kind::Common, Some(What::Multiple { moves, of })))
                } else {
                    None
                }
            }
            Op::Or | Op::Xor => {
                let moving = usize::from(by(0)? == STILL);
                let (moves, other) = (by(moving)?, 1 - moving);
                if by(other)? != STILL {
                    return None;
                }
                let limit = 1u64 << even(moves);
                match arg(other).fixed() {
                    Some(bits) if bits < limit => freely(moves),
                    Some(_) => None,
                    None => {
                        let what = What::Below { operand: other, limit };
                        Some((Kind::moving(moves, ty), Some(what)))
                    }
                }
            }
            Op::ShrU | Op::ShrS => {
                let (moves, n) = (by(0)?, arg(1).fixed()? as u32);
                if n > even(moves) || n >= bits {
                    return None;
                }
                let what = What::stays(0, moves, bits, inst.op == Op::ShrS);
                Some((Kind::moving(moves.map(|m| m >> n), ty), Some(what)))
            }
            Op::DivS | Op::DivU | Op::RemS | Op::RemU => {
                let moves = by(0)?;
                let parts = match ty {
                    Ty::I32 => i64::from(arg(1).fixed()? as i32),
                    _ => arg(1).fixed()? as i64,
                };
                if parts <= 0 || moves.iter().any(|m| m % parts != 0) {
                    return None;
                }
                let what = What::stays_positive(0, moves, bits);
                match inst.op {
                    Op::DivS | Op::DivU => {
                        Some((Kind::moving(moves.map(|m| m / parts), ty), Some(what)))
                    }
                    _ => Some((Kind::Common, Some(what))),
                }
            }
            Op::MinS | Op::MinU | Op::MaxS | Op::MaxU | Op::Select => {
                let moves = [by(0)?, by(1)?];
                if self.is_compared(inst) {
                    return Some((Kind::Extreme(*inst.dsts.first()?), None));
                }
                let how = match signs(inst.op) {
                    Some((least, signed)) if least => Picks::Least(signed),
                    Some((_, signed)) => Picks::Most(signed),
                    None if !arg(2).is_still() => return None,
                    None => Picks::First,
                };
                if how == Picks::First && moves[0] == moves[1] {
                    return freely(moves[0]);
                }
                let main = usize::from(moves[0] == STILL);
                let what = What::Picks { how, bits, moves, main };
                Some((Kind::moving(moves[main], ty), Some(what)))
            }
            // A lane's value goes to another lane.
            Op::Shfl => {
                if !inst.srcs.iter().skip(1).all(|v| self.value(*v).is_still()) {
                    return None;
                }
                match result {
                    0 => freely(by(0)?),
                    // Whether there was one to read.
                    _ => Some((Kind::Common, None)),
                }
            }
            Op::ICmp => {
                let Attr::IntCmp(cmp) = inst.attr else { return None };
                if self.edge(inst).is_some() {
                    return Some((Kind::Common, None));
                }
                Some((Kind::Common, Some(What::Compare { cmp, bits, moves: [by(0)?, by(1)?] })))
            }
            _ => None,
        }
    }
}
