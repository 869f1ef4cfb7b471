// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is known of a register over the lanes of a warp.
//!
//! A *linear* value is `base + pat[lane] + u * q[lane]` with scalars `base` and `u` that are known
//! when the code runs and constant patterns, all modulo the register's width. Lane 0 of each pattern
//! is 0, so `base` is the value in lane 0 and a lane-wise op on linear values has as its base the op
//! of the bases. Uniform values are those whose patterns are 0.

use std::rc::Rc;

use margay_ir::{Attr, Inst, IntCmp, Op, Ty, Value};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// A constant for each lane, lane 0 being 0.
pub type Steps = [i64; LANES];

/// The form of a linear value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    pub pat: Steps,
    /// Factors of a second scalar.
    pub q: Option<Steps>,
}

impl Pattern {
    pub const UNIFORM: Pattern = Pattern { pat: [0; LANES], q: None };

    pub fn is_uniform(&self) -> bool {
        self.q.is_none() && self.pat == [0; LANES]
    }

    /// Whether each lane is as many bytes behind the one before.
    pub fn is_row(&self, bytes: i64) -> bool {
        self.q.is_none() && self.pat.iter().zip(0..).all(|(&p, lane)| p == lane * bytes)
    }

    /// The lane from which the second scalar can be read, and its factor there.
    pub fn second_lane(&self) -> Option<(usize, i64)> {
        let q = self.q.as_ref()?;
        let lane = q.iter().position(|&f| f == 1 || f == -1)?;
        Some((lane, q[lane]))
    }
}

/// A linear value: its form and what is known of its base.
#[derive(Clone, Debug, PartialEq)]
pub struct Lin {
    pub form: Pattern,
    /// The base, if it is known.
    pub constant: Option<u64>,
    /// Low bits of the base that are 0, and of the second scalar if there is one.
    pub align: u32,
    pub second_align: u32,
    /// The largest value of any lane, unsigned, if that is known to be small.
    pub most: u64,
}

/// What is known of a register.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Nothing was written to it yet.
    None,
    Lin(Rc<Lin>),
    Varying,
}

impl Lin {
    pub fn uniform() -> Lin {
        Lin { form: Pattern::UNIFORM, constant: None, align: 0, second_align: 0, most: u64::MAX }
    }

    pub fn constant(bits: u64) -> Lin {
        let align = if bits == 0 { 64 } else { bits.trailing_zeros() };
        Lin { form: Pattern::UNIFORM, constant: Some(bits), align, second_align: 0, most: bits }
    }

    /// Steps above a base that is a multiple of `1 << align` and at most `base_most`.
    pub fn steps(pat: Steps, constant: Option<u64>, align: u32, base_most: u64) -> Lin {
        let top = pat.iter().copied().max().unwrap_or(0).max(0) as u64;
        let most = base_most.saturating_add(top);
        Lin { form: Pattern { pat, q: None }, constant, align, second_align: 0, most }
    }

    pub fn is_uniform(&self) -> bool {
        self.form.is_uniform()
    }

    /// The value of each lane, if all is known.
    pub fn known(&self) -> Option<[u64; LANES]> {
        let base = self.constant?;
        if self.form.q.is_some() {
            return None;
        }
        Some(self.form.pat.map(|p| base.wrapping_add(p as u64)))
    }
}

impl Shape {
    pub fn lin(lin: Lin) -> Shape {
        Shape::Lin(Rc::new(lin))
    }

    pub fn uniform() -> Shape {
        Shape::lin(Lin::uniform())
    }

    pub fn is_uniform(&self) -> bool {
        match self {
            Shape::None => true,
            Shape::Lin(l) => l.is_uniform(),
            Shape::Varying => false,
        }
    }

    /// The least that holds for both.
    pub fn join(&self, other: &Shape) -> Shape {
        match (self, other) {
            (Shape::None, s) | (s, Shape::None) => s.clone(),
            (Shape::Lin(a), Shape::Lin(b)) if a.form == b.form => {
                if a == b {
                    return self.clone();
                }
                Shape::lin(Lin {
                    form: a.form.clone(),
                    constant: if a.constant == b.constant { a.constant } else { None },
                    align: a.align.min(b.align),
                    second_align: a.second_align.min(b.second_align),
                    // A loop may raise it for ever.
                    most: if a.most == b.most { a.most } else { u64::MAX },
                })
            }
            (Shape::Lin(_) | Shape::Varying, Shape::Lin(_) | Shape::Varying) => Shape::Varying,
        }
    }
}

/// Cuts to a width, signed.
pub fn wrap(v: i64, bits: u32) -> i64 {
    if bits >= 64 { v } else { v << (64 - bits) >> (64 - bits) }
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

fn zip(a: &Steps, b: &Steps, f: impl Fn(i64, i64) -> i64) -> Steps {
    std::array::from_fn(|l| f(a[l], b[l]))
}

/// The steps times a constant. The factors of the second scalar stay; the scalar itself grows.
fn scale(p: &Pattern, by: i64, bits: u32) -> Pattern {
    Pattern { pat: p.pat.map(|v| wrap(v.wrapping_mul(by), bits)), q: p.q }
}

/// Steps as a factor and steps of which one is 1 or -1, so that the product with a scalar can be told
/// from one lane.
pub fn factor(steps: &Steps) -> Option<(i64, Steps)> {
    let gcd = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let g = steps.iter().fold(0u64, |g, &s| gcd(g, s.unsigned_abs()));
    if g == 0 || g > i32::MAX as u64 {
        return None;
    }
    let q = steps.map(|s| s / g as i64);
    q.iter().any(|s| s.abs() == 1).then_some((g as i64, q))
}

fn sum(a: &Lin, b: &Lin, bits: u32, subtract: bool) -> Option<Lin> {
    let f =
        |x: i64, y: i64| wrap(if subtract { x.wrapping_sub(y) } else { x.wrapping_add(y) }, bits);
    let pat = zip(&a.form.pat, &b.form.pat, f);
    let q = match (&a.form.q, &b.form.q) {
        (None, None) => None,
        (Some(q), None) => Some(*q),
        // The second scalar changes its sign with the sum's.
        (None, Some(q)) => Some(*q),
        (Some(x), Some(y)) if x == y => Some(*x),
        (Some(_), Some(_)) => return None,
    };
    let constant = match (a.constant, b.constant) {
        (Some(x), Some(y)) if subtract => Some(x.wrapping_sub(y) & mask(bits)),
        (Some(x), Some(y)) => Some(x.wrapping_add(y) & mask(bits)),
        _ => None,
    };
    let most = if subtract || q.is_some() { u64::MAX } else { a.most.saturating_add(b.most) };
    let most = if most <= mask(bits) >> 1 { most } else { u64::MAX };
    let second_align = match (&a.form.q, &b.form.q) {
        (Some(_), None) => a.second_align,
        (None, _) => b.second_align,
        (Some(_), Some(_)) => a.second_align.min(b.second_align),
    };
    let align = a.align.min(b.align);
    Some(Lin { form: Pattern { pat, q }, constant, align, second_align, most })
}

/// The product, at a width that holds it or modulo that width.
fn product(a: &Lin, b: &Lin, bits: u32) -> Option<Lin> {
    let (a, b) = if b.is_uniform() { (a, b) } else { (b, a) };
    if !b.is_uniform() {
        return None;
    }
    let align = a.align.saturating_add(b.align).min(64);
    let most = a.most.saturating_mul(b.most);
    let most = if most <= mask(bits) >> 1 { most } else { u64::MAX };
    if a.is_uniform() {
        let constant = match (a.constant, b.constant) {
            (Some(x), Some(y)) => Some(x.wrapping_mul(y) & mask(bits)),
            _ => None,
        };
        let form = Pattern::UNIFORM;
        return Some(Lin { form, constant, align, second_align: 0, most });
    }
    if let Some(by) = b.constant {
        let form = scale(&a.form, wrap(by as i64, bits), bits);
        let constant = a.constant.map(|x| x.wrapping_mul(by) & mask(bits));
        let most = if form.q.is_some() { u64::MAX } else { most };
        let second_align = a.second_align.saturating_add(by.trailing_zeros()).min(64);
        return Some(Lin { form, constant, align, second_align, most });
    }
    let (q, second_align) = match a.form.q {
        Some(_) if a.form.pat != [0; LANES] => return None,
        Some(q) => (q, a.second_align.saturating_add(b.align).min(64)),
        // The steps become the factors of a scalar that is known at run time.
        None => {
            let (g, q) = factor(&a.form.pat)?;
            (q, b.align.saturating_add(g.trailing_zeros()).min(64))
        }
    };
    let form = Pattern { pat: [0; LANES], q: Some(q) };
    Some(Lin { form, constant: None, align, second_align, most: u64::MAX })
}

/// Whether a linear 32-bit value is known to be the same as a 64-bit one.
pub fn widens(a: &Lin, signed: bool) -> Widening {
    if a.is_uniform() {
        return Widening::Free;
    }
    if a.form.q.is_none() && a.most <= 0x7fff_ffff && a.form.pat.iter().all(|&p| p >= 0) {
        return Widening::Free;
    }
    if let Some(base) = a.constant
        && a.form.q.is_none()
    {
        let base = if signed { base as u32 as i32 as i64 } else { base as u32 as i64 };
        let range = if signed { i32::MIN as i64..=i32::MAX as i64 } else { 0..=u32::MAX as i64 };
        let fits = a.form.pat.iter().all(|&p| range.contains(&(base + p)));
        return if fits { Widening::Free } else { Widening::Never };
    }
    Widening::Checked
}

/// Whether the steps of a 32-bit value survive its widening to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Widening {
    Free,
    /// If a check at run time succeeds.
    Checked,
    Never,
}

fn widen(a: &Lin, signed: bool) -> Option<Lin> {
    if widens(a, signed) == Widening::Never {
        return None;
    }
    let constant =
        a.constant.map(|c| if signed { c as u32 as i32 as u64 } else { c as u32 as u64 });
    let most = if !signed && a.is_uniform() { a.most.min(u32::MAX as u64) } else { a.most };
    let most = if most <= 0x7fff_ffff || !signed { most } else { u64::MAX };
    let (align, second_align) = (a.align.min(32), a.second_align.min(32));
    Some(Lin { form: a.form.clone(), constant, align, second_align, most })
}

/// Whether an op is one by which a 64-bit value keeps what 32 bits of it have: a shift to the right that undoes one to the
/// left, or a mask. OpenCL's compilers narrow what `get_global_id` gives so.
pub fn may_narrow(inst: &Inst) -> bool {
    match (inst.op, inst.srcs.as_slice()) {
        (Op::ShrS, [_, Value::Imm(n)]) => inst.ty == Ty::I64 && (1..=32).contains(n),
        (Op::And, [_, Value::Imm(m)]) => inst.ty == Ty::I64 && *m == u64::from(u32::MAX),
        _ => false,
    }
}

/// The range in which a narrowed value's lanes must lie to keep their steps, from its least number on: [`may_narrow`].
pub fn narrowed_range(inst: &Inst) -> (i64, u64) {
    match (inst.op, &inst.srcs[1]) {
        (Op::ShrS, Value::Imm(n)) => (i64::MIN >> n, 1 << (64 - n)),
        _ => (0, 1 << 32),
    }
}

/// The range of a narrowed value's second scalar, from which no product with a factor reaches 63 bits; as above.
pub const SECOND: (i64, u64) = (-(1 << 40), 1 << 41);

/// A linear value after [`may_narrow`], if its lanes lie in [`narrowed_range`] and its second scalar in [`SECOND`].
fn narrow(inst: &Inst, a: &Lin) -> Option<Lin> {
    /// Numbers of a random generator have larger steps, and would hardly ever stay in the range.
    const LARGEST: u64 = 1 << 20;
    let mut all = a.clone();
    if let (Op::ShrS, Value::Imm(n)) = (inst.op, inst.srcs[1]) {
        // Nothing may go but zeros.
        let n = n as u32;
        let second = a.form.q.is_none() || a.second_align >= n;
        if !second || a.align < n || a.form.pat.iter().any(|p| p & ((1 << n) - 1) != 0) {
            return None;
        }
        all.form.pat = a.form.pat.map(|p| p >> n);
        all.constant = a.constant.map(|c| (c as i64 >> n) as u64);
        (all.align, all.second_align) = (a.align - n, a.second_align.saturating_sub(n));
        all.most = if a.most <= i64::MAX as u64 { a.most >> n } else { u64::MAX };
    } else {
        all.constant = a.constant.map(|c| c & u64::from(u32::MAX));
        all.most = a.most.min(u64::from(u32::MAX));
        (all.align, all.second_align) = (a.align.min(32), a.second_align.min(32));
    }
    let steps = || all.form.pat.iter().chain(all.form.q.iter().flatten());
    if steps().any(|p| p.unsigned_abs() > LARGEST) {
        return None;
    }
    let (least, count) = narrowed_range(inst);
    match (all.constant, all.form.q) {
        // Known to the bit, so there is nothing to check later.
        (Some(c), None) => {
            let fits = |p: &i64| ((c as i64).wrapping_add(*p).wrapping_sub(least) as u64) < count;
            all.form.pat.iter().all(fits).then_some(all)
        }
        _ => Some(all),
    }
}

/// The result of a lane-wise integer op on linear operands, if it is linear. Every operand is linear.
pub fn apply(inst: &Inst, a: &[&Lin]) -> Option<Lin> {
    let bits = inst.ty.bits();
    let wide = matches!(inst.ty, Ty::I32 | Ty::I64);
    let steps = |v: u64| wrap(v as i64, bits);
    // One constant for all lanes: of other values `constant` is lane 0's.
    let same = |l: &Lin| l.constant.filter(|_| l.is_uniform());
    let shift = |n: &Lin| same(n).filter(|&n| n < bits as u64).map(|n| n as u32);
    let found = match inst.op {
        Op::Mov => Some((*a[0]).clone()),
        Op::ICmp if wide => same_form(inst, a).or_else(|| same_side(inst, a)),
        Op::Add if wide => sum(a[0], a[1], bits, false),
        Op::Sub if wide => sum(a[0], a[1], bits, true),
        Op::Mul if wide => product(a[0], a[1], bits),
        Op::Mad if wide => product(a[0], a[1], bits).and_then(|p| sum(&p, a[2], bits, false)),
        Op::MulWideS | Op::MulWideU | Op::MadWideS | Op::MadWideU => {
            let signed = matches!(inst.op, Op::MulWideS | Op::MadWideS);
            let p = match (widen(a[0], signed), widen(a[1], signed)) {
                (Some(x), Some(y)) => product(&x, &y, 64),
                _ => None,
            };
            match a.get(2) {
                Some(c) => p.and_then(|p| sum(&p, c, 64, false)),
                None => p,
            }
        }
        Op::SExt if inst.ty == Ty::I64 && inst.from == Ty::I32 => widen(a[0], true),
        Op::ZExt if inst.ty == Ty::I64 && inst.from == Ty::I32 => widen(a[0], false),
        Op::Trunc if inst.ty == Ty::I32 && inst.from == Ty::I64 => {
            let mut l = (*a[0]).clone();
            l.form = scale(&l.form, 1, 32);
            l.constant = l.constant.map(|c| c & mask(32));
            l.align = l.align.min(32);
            l.second_align = l.second_align.min(32);
            l.most = if l.most <= 0x7fff_ffff { l.most } else { u64::MAX };
            Some(l)
        }
        Op::Shl if wide => shift(a[1]).and_then(|n| {
            let by = Lin::constant(1u64 << n);
            product(a[0], &by, bits)
        }),
        Op::ShrU | Op::ShrS if wide && !a[0].is_uniform() => shift(a[1]).and_then(|n| {
            if a[0].form.q.is_none() && a[0].most <= mask(bits) >> 1 && a[0].most >> n == 0 {
                return Some(Lin::constant(0));
            }
            // Nothing is carried out of the bits that go.
            low_steps(a[0], n)?;
            let signed = inst.op == Op::ShrS;
            // Of a negative number nothing is known.
            let small = a[0].most <= mask(bits) >> 1;
            let most = if signed && !small { u64::MAX } else { a[0].most >> n };
            let shift_right = |c: u64| match signed {
                true => (wrap(c as i64, bits) >> n) as u64 & mask(bits),
                false => c >> n,
            };
            Some(Lin {
                form: Pattern::UNIFORM,
                constant: a[0].constant.map(shift_right),
                align: a[0].align.saturating_sub(n),
                second_align: 0,
                most,
            })
        }),
        Op::And if wide && !a[0].is_uniform() => same(a[1]).and_then(|m| {
            // Steps below an aligned base: the mask takes the steps or the base.
            if m.wrapping_add(1).is_power_of_two() && m != 0 {
                if a[0].form.q.is_none() && a[0].most <= m {
                    return Some((*a[0]).clone());
                }
                let n = m.trailing_ones();
                let low = low_steps(a[0], n)?;
                return Some(Lin::steps(low, Some(0), 64, 0));
            }
            let n = m.trailing_zeros();
            if steps(m) == -(1i64 << n.min(62)) {
                low_steps(a[0], n)?;
                let mut l = Lin::uniform();
                l.constant = a[0].constant.map(|c| c & m);
                l.align = a[0].align;
                l.most = a[0].most;
                return Some(l);
            }
            masked(a[0], m)
        }),
        // What changes nothing.
        Op::Or | Op::Xor if wide && same(a[1]) == Some(0) => Some((*a[0]).clone()),
        Op::Or | Op::Xor if wide && same(a[0]) == Some(0) => Some((*a[1]).clone()),
        Op::Or if wide && !a[0].is_uniform() && a[1].is_uniform() => a[1].constant.and_then(|m| {
            // Bits that no lane has are added.
            let a0 = a[0];
            let ok = a0.form.q.is_none()
                && a0.form.pat.iter().all(|&p| p >= 0 && (p as u64) & m == 0)
                && a0.align
                    >= 64 - a0.form.pat.iter().fold(0, |x, &p| x | p as u64 | m).leading_zeros();
            ok.then(|| sum(a0, a[1], bits, false)).flatten()
        }),
        _ => None,
    };
    if let Some(l) = found {
        return Some(l);
    }
    if may_narrow(inst)
        && !a[0].is_uniform()
        && let Some(l) = narrow(inst, a[0])
    {
        return Some(l);
    }
    if a.iter().all(|l| l.is_uniform()) {
        let mut l = Lin::uniform();
        match inst.op {
            Op::And if wide => {
                l.most = a[0].most.min(a[1].most);
                l.align = a[0].align.max(a[1].align);
            }
            Op::ShrU if wide => {
                if let Some(n) = shift(a[1]) {
                    l.most = a[0].most >> n;
                    l.align = a[0].align.saturating_sub(n);
                }
            }
            _ => {}
        }
        return Some(l);
    }
    None
}

/// A comparison of a linear value, on the left, with a uniform one, by what it asks for.
pub struct Bound {
    /// `<` or `<=`, or their opposite.
    pub below: bool,
    pub or_equal: bool,
    pub signed: bool,
}

impl Bound {
    /// `flipped`: the uniform value is on the left.
    pub fn of(cmp: IntCmp, flipped: bool) -> Option<Bound> {
        let (less, or_equal, signed) = match cmp {
            IntCmp::LtS => (true, false, true),
            IntCmp::LeS => (true, true, true),
            IntCmp::GtS => (false, false, true),
            IntCmp::GeS => (false, true, true),
            IntCmp::LtU => (true, false, false),
            IntCmp::LeU => (true, true, false),
            IntCmp::GtU => (false, false, false),
            IntCmp::GeU => (false, true, false),
            IntCmp::Eq | IntCmp::Ne => return None,
        };
        let below = less != flipped;
        // `x > b` is not `x <= b`.
        Some(Bound { below, or_equal: or_equal == below, signed })
    }
}

/// Values of one form without a second scalar are equal in all lanes or in none.
fn same_form(inst: &Inst, a: &[&Lin]) -> Option<Lin> {
    let equality = matches!(inst.attr, Attr::IntCmp(IntCmp::Eq | IntCmp::Ne));
    (equality && a[0].form == a[1].form && a[0].form.q.is_none()).then(Lin::uniform)
}

/// A warp's numbers below a multiple of 32 that they begin at or above are on one side of any other multiple of 32: what
/// `threadIdx.x < 64` asks is alike in all lanes.
fn same_side(inst: &Inst, a: &[&Lin]) -> Option<Lin> {
    let Attr::IntCmp(cmp) = inst.attr else { return None };
    let (steps, bound, flipped) = match (a[0].is_uniform(), a[1].is_uniform()) {
        (false, true) => (a[0], a[1], false),
        (true, false) => (a[1], a[0], true),
        _ => return None,
    };
    // Whether the bound itself is on the lower side.
    let or_equal = Bound::of(cmp, flipped)?.or_equal;
    let top = steps.form.pat.iter().copied().max()?;
    let n = 64 - (top as u64).leading_zeros();
    // Neither sign nor carry lies between.
    let fits = n < inst.ty.bits() && low_steps(steps, n).is_some();
    let whole = match bound.constant {
        Some(c) if or_equal => c.trailing_ones() >= n,
        _ => !or_equal && bound.align >= n,
    };
    (fits && whole).then(Lin::uniform)
}

/// Some bits of a value whose steps and base have none in common: those of the steps beside those of the base.
fn masked(a: &Lin, m: u64) -> Option<Lin> {
    let n = a.align.min(61);
    let steps = low_steps(a, n)?;
    // Bits that the base may have.
    let base =
        a.most.checked_add(1).and_then(u64::checked_next_power_of_two).map_or(u64::MAX, |p| p - 1)
            >> n
            << n;
    let constant = if base & m == 0 { Some(0) } else { a.constant.map(|c| c & m) };
    let align = if constant == Some(0) { 64 } else { n.max(m.trailing_zeros()) };
    Some(Lin::steps(steps.map(|p| p & m as i64), constant, align, base & m))
}

/// The steps, if they lie below bit `n` and the base has zeros there.
fn low_steps(a: &Lin, n: u32) -> Option<Steps> {
    let fits = a.form.q.is_none()
        && a.align >= n
        && n < 62
        && a.form.pat.iter().all(|&p| p >= 0 && p < 1 << n);
    fits.then_some(a.form.pat)
}
