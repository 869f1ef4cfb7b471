// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses that are sums of multiples of block and thread numbers, with a launch's parameters and dimensions put in; and of
//! numbers that are not known, where that they are within bounds is enough ([`crate::alone`]).

use margay_ir::{AddrOf, Attr, Inst, Op, Space, Sreg, Ty, Value};

use crate::counters::most_turns;
use crate::launch::LaunchConfig;
use crate::program::Program;
use crate::steps::{Counts, Side, Step, Steps, signed};

/// The least and the largest number of each of a thread's: of its block in the grid, then its own in the block.
pub(crate) type Numbers = [(i64, i64); 6];

/// Those of a launch.
pub(crate) fn numbers(config: &LaunchConfig) -> Numbers {
    let all = [config.grid, config.block];
    std::array::from_fn(|n| (0, i64::from(all[n / 3][n % 3]) - 1))
}

/// A multiple of `per`, by a number from 0 to `last` that may be any, and another one each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Any {
    pub per: i64,
    /// 0 if there is none.
    pub last: i64,
}

/// Of which a sum has at most so many.
const ANY: usize = 3;

/// A number that is a constant and a multiple of each of the block's three numbers and of the thread's, signed and exact:
/// no step on the way to it wraps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub constant: i64,
    pub per: [i64; 6],
    /// What is not known of it; nothing but for those who ask for it ([`Sums::within_bounds`]).
    pub any: [Any; ANY],
}

impl Sum {
    pub fn of(constant: i64) -> Sum {
        Sum { constant, ..Sum::default() }
    }

    /// A multiple of a number from 0 to `last`.
    fn any(per: i64, last: i64) -> Sum {
        let mut sum = Sum::default();
        sum.any[0] = if last == 0 { Any::default() } else { Any { per, last } };
        sum
    }

    pub fn plus(&self, other: &Sum) -> Option<Sum> {
        let mut all = *self;
        all.constant = all.constant.checked_add(other.constant)?;
        for (to, b) in all.per.iter_mut().zip(&other.per) {
            *to = to.checked_add(*b)?;
        }
        for own in other.any.iter().filter(|own| own.last != 0) {
            let same = |to: &&mut Any| to.last == 0 || to.per == own.per;
            let to = all.any.iter_mut().find(same)?;
            *to = Any { per: own.per, last: to.last.checked_add(own.last)? };
        }
        Some(all)
    }

    pub fn times(&self, factor: i64) -> Option<Sum> {
        if factor == 0 {
            return Some(Sum::default());
        }
        let mut all = *self;
        let any = all.any.iter_mut().map(|own| &mut own.per);
        for to in all.per.iter_mut().chain([&mut all.constant]).chain(any) {
            *to = to.checked_mul(factor)?;
        }
        Some(all)
    }

    /// A part of it, where nothing is left over.
    fn over(&self, parts: i64) -> Option<Sum> {
        let mut all = *self;
        let any = all.any.iter_mut().map(|own| &mut own.per);
        for n in all.per.iter_mut().chain([&mut all.constant]).chain(any) {
            *n = (*n % parts == 0).then_some(*n / parts)?;
        }
        Some(all)
    }

    /// Whether each thread has one number, which its own say.
    pub fn is_known(&self) -> bool {
        self.any.iter().all(|own| own.last == 0)
    }

    /// The least and the largest value where a thread's numbers are these; `None` beyond 64 bits.
    pub fn limits(&self, numbers: &Numbers) -> Option<(i64, i64)> {
        let (mut least, mut most) = (self.constant, self.constant);
        for (per, (first, last)) in self.per.iter().zip(numbers) {
            let ends = [per.checked_mul(*first)?, per.checked_mul(*last)?];
            least = least.checked_add(ends[0].min(ends[1]))?;
            most = most.checked_add(ends[0].max(ends[1]))?;
        }
        for own in &self.any {
            let end = own.per.checked_mul(own.last)?;
            least = least.checked_add(end.min(0))?;
            most = most.checked_add(end.max(0))?;
        }
        Some((least, most))
    }

    fn product(&self, other: &Sum) -> Option<Sum> {
        match (self.as_constant(), other.as_constant()) {
            (Some(factor), _) => other.times(factor),
            (_, Some(factor)) => self.times(factor),
            (None, None) => None,
        }
    }

    pub fn as_constant(&self) -> Option<i64> {
        (self.per == [0; 6] && self.is_known()).then_some(self.constant)
    }
}

/// The sums of all steps in one launch.
pub(crate) struct Sums<'a> {
    config: &'a LaunchConfig,
    /// Of the threads that they are for.
    numbers: Numbers,
    /// Whose variables have addresses.
    program: Option<&'a Program>,
    /// What is within bounds will do.
    bounds: bool,
    of: Vec<Option<Sum>>,
}

impl<'a> Sums<'a> {
    pub fn new(steps: &Steps, config: &'a LaunchConfig) -> Sums<'a> {
        let sums =
            Sums { config, numbers: numbers(config), program: None, bounds: false, of: Vec::new() };
        sums.with(steps)
    }

    /// For those threads alone whose numbers are these, of variables, too, and with parts that are not known but within bounds
    /// ([`Any`]).
    pub fn within_bounds(
        steps: &Steps,
        config: &'a LaunchConfig,
        numbers: Numbers,
        program: &'a Program,
    ) -> Sums<'a> {
        let program = Some(program);
        Sums { config, numbers, program, bounds: true, of: Vec::new() }.with(steps)
    }

    fn with(mut self, steps: &Steps) -> Sums<'a> {
        self.of.reserve(steps.all.len());
        for step in &steps.all {
            let sum = self.result(step).and_then(|sum| match &step.counts {
                Some(counts) => self.counted(&sum, counts),
                None => Some(sum),
            });
            self.of.push(sum);
        }
        self
    }

    /// What a loop counts from a number on.
    fn counted(&self, init: &Sum, counts: &Counts) -> Option<Sum> {
        let limits = |side| self.limits(&self.side(side)?);
        let turns = most_turns(limits(counts.from)?, counts.each, counts.how, limits(counts.end)?)?;
        let sum = init.plus(&Sum::any(counts.by, turns - 1))?;
        self.fits(&sum, counts.ty).then_some(sum)
    }

    pub fn side(&self, side: Side) -> Option<Sum> {
        match side {
            Side::Step(step) => self.of[step],
            Side::Constant(value) => Some(Sum::of(value)),
        }
    }

    /// The sum that the address of a step is, with a constant added.
    pub fn address(&self, step: usize, offset: i64) -> Option<Sum> {
        self.of[step]?.plus(&Sum::of(offset))
    }

    /// An operand of a type, as a signed number.
    fn operand(&self, step: &Step, n: usize, ty: Ty) -> Option<Sum> {
        match *step.inst.srcs.get(n)? {
            Value::Reg(_) => self.of[step.from[n]?],
            Value::Imm(bits) => Some(Sum::of(signed(bits, ty))),
        }
    }

    fn result(&self, step: &Step) -> Option<Sum> {
        self.exact(step).or_else(|| self.bounded(step).filter(|_| self.bounds))
    }

    /// What is at least not negative, and how large at most.
    fn bounded(&self, step: &Step) -> Option<Sum> {
        let (inst, ty) = (&step.inst, step.inst.ty);
        let bits = match ty {
            Ty::I32 => 32,
            Ty::I64 => 64,
            _ => return None,
        };
        let constant = |n: usize, ty: Ty| self.operand(step, n, ty)?.as_constant();
        let sum = match inst.op {
            Op::And => {
                let either = [1, 0].into_iter().find_map(|n| constant(n, ty));
                let mask = either.filter(|&mask| mask > 0)?;
                let low = mask.trailing_zeros();
                Sum::any(1 << low, mask >> low)
            }
            Op::ShrU => {
                let by = constant(1, Ty::I32).filter(|&by| (1..bits).contains(&by))?;
                Sum::any(1, (u64::MAX >> (64 - bits) >> by) as i64)
            }
            Op::RemU => Sum::any(1, constant(1, ty).filter(|&by| by > 0)? - 1),
            Op::MinU => {
                let either = [1, 0].into_iter().find_map(|n| constant(n, ty));
                Sum::any(1, either.filter(|&most| most >= 0)?)
            }
            Op::BfeU => {
                let wide = constant(2, Ty::I32).filter(|&wide| (0..bits).contains(&wide))?;
                Sum::any(1, i64::MAX >> (63 - wide))
            }
            Op::ZExt => match inst.from {
                Ty::I8 => Sum::any(1, u8::MAX.into()),
                Ty::I16 => Sum::any(1, u16::MAX.into()),
                _ => return None,
            },
            _ => return None,
        };
        self.fits(&sum, ty).then_some(sum)
    }

    fn exact(&self, step: &Step) -> Option<Sum> {
        let (inst, ty) = (&step.inst, step.inst.ty);
        if !matches!(ty, Ty::I32 | Ty::I64) {
            return None;
        }
        let arg = |n: usize, ty: Ty| self.operand(step, n, ty);
        let sum = match inst.op {
            Op::Mov => arg(0, ty)?,
            Op::Cvta | Op::CvtaTo => match inst.attr {
                Attr::Space(Space::Global | Space::Generic) => arg(0, ty)?,
                _ => return None,
            },
            Op::Add => arg(0, ty)?.plus(&arg(1, ty)?)?,
            Op::Sub => arg(0, ty)?.plus(&arg(1, ty)?.times(-1)?)?,
            Op::Neg => arg(0, ty)?.times(-1)?,
            Op::Mul => arg(0, ty)?.product(&arg(1, ty)?)?,
            Op::Mad => arg(0, ty)?.product(&arg(1, ty)?)?.plus(&arg(2, ty)?)?,
            Op::Shl => match arg(1, Ty::I32)?.as_constant()? {
                n @ 0..63 => arg(0, ty)?.times(1 << n)?,
                _ => return None,
            },
            // With the shift before, the way to widen what was computed in 64 bits and is an `int` in the source.
            Op::ShrS => {
                let n = arg(1, Ty::I32)?.as_constant().filter(|n| (0..63).contains(n))?;
                arg(0, ty)?.over(1 << n)?
            }
            Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU => {
                let factors = [arg(0, Ty::I32)?, arg(1, Ty::I32)?];
                let signed = matches!(inst.op, Op::MulWideS | Op::MadWideS);
                let product = factors[0].product(&factors[1])?;
                let all = match inst.op {
                    Op::MadWideS | Op::MadWideU => product.plus(&arg(2, Ty::I64)?)?,
                    _ => product,
                };
                let mut positive = factors.iter().map(|f| self.limits(f).is_some_and(|l| l.0 >= 0));
                if !signed && !positive.all(|p| p) {
                    return None;
                }
                return self.fits(&all, Ty::I64).then_some(all);
            }
            Op::And => {
                let low = i64::from(u32::MAX);
                arg(1, ty)?.as_constant().filter(|m| *m == low && ty == Ty::I64)?;
                let own = arg(0, ty)?;
                self.limits(&own).filter(|l| l.0 >= 0 && l.1 <= low)?;
                own
            }
            Op::SExt if inst.from == Ty::I32 => arg(0, Ty::I32)?,
            Op::ZExt if inst.from == Ty::I32 => {
                let own = arg(0, Ty::I32)?;
                self.limits(&own).filter(|l| l.0 >= 0)?;
                own
            }
            Op::Trunc if inst.from == Ty::I64 => arg(0, Ty::I64)?,
            Op::Sreg => self.special(inst)?,
            Op::Addr => self.variable(inst)?,
            Op::Ld => self.parameter(inst)?,
            _ => return None,
        };
        self.fits(&sum, ty).then_some(sum)
    }

    fn special(&self, inst: &Inst) -> Option<Sum> {
        let Attr::Sreg(sreg) = inst.attr else { return None };
        let one = |n: usize| {
            let mut sum = Sum::default();
            *sum.per.get_mut(n)? = 1;
            Some(sum)
        };
        let fixed = |all: &[u32; 3], d: u8| Some(Sum::of(*all.get(d as usize)? as i32 as i64));
        match sreg {
            Sreg::CtaId(d @ 0..3) => one(d as usize),
            Sreg::Tid(d @ 0..3) => one(3 + d as usize),
            Sreg::NTid(d) => fixed(&self.config.block, d),
            Sreg::NCtaId(d) => fixed(&self.config.grid, d),
            Sreg::EnvReg(n) => Some(Sum::of(self.config.environment(n) as i32 as i64)),
            _ => None,
        }
    }

    fn parameter(&self, inst: &Inst) -> Option<Sum> {
        let (Attr::Mem(mem), [Value::Imm(base)]) = (&inst.attr, inst.srcs.as_slice()) else {
            return None;
        };
        if mem.space != Space::Param {
            return None;
        }
        let at = usize::try_from(base.wrapping_add(mem.offset as u64)).ok()?;
        let bytes = self.config.params.get(at..)?;
        match inst.ty {
            // One with the highest bit may be a large number in a wide register.
            Ty::I32 => {
                let word = i32::from_le_bytes(*bytes.first_chunk()?);
                (word >= 0).then(|| Sum::of(i64::from(word)))
            }
            _ => Some(Sum::of(i64::from_le_bytes(*bytes.first_chunk()?))),
        }
    }

    /// The address of a variable.
    fn variable(&self, inst: &Inst) -> Option<Sum> {
        let (Attr::Address { of: AddrOf::Global(id), addend }, Some(program)) =
            (&inst.attr, self.program)
        else {
            return None;
        };
        let base = match program.module.ir.globals.get(id.0 as usize)?.space {
            Space::Shared => {
                let mut all = program.shared_variables().iter();
                i64::from(all.find(|(variable, _)| variable == id)?.1)
            }
            Space::Global => i64::try_from(*program.module.addresses.get(id.0 as usize)?).ok()?,
            _ => return None,
        };
        Some(Sum::of(base.checked_add(*addend)?))
    }

    /// The least and the largest value; `None` beyond 64 bits.
    pub fn limits(&self, sum: &Sum) -> Option<(i64, i64)> {
        sum.limits(&self.numbers)
    }

    /// Whether a register of the type has the number itself, signed, for every thread.
    fn fits(&self, sum: &Sum, ty: Ty) -> bool {
        let (least, most) = match ty {
            Ty::I32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        self.limits(sum).is_some_and(|(low, high)| low >= least && high <= most)
    }
}
