// SPDX-License-Identifier: MIT OR Apache-2.0
//! How being undefined passes from operands to results, bit by bit where that is known.
//!
//! Which side a select takes, and whether a guard holds, is known where the interpreter told of it. Where the value would
//! be needed and is not known, a result counts as undefined only if it is so either way: this may miss, and never
//! accuses wrongly.

use margay_ir::{Inst, Op, Ty, Value};

/// Bits of each lane that are undefined.
pub type Taint = [u64; 32];

/// Undefined bits of one operand in a lane.
#[derive(Clone, Copy)]
pub struct Operand {
    pub taint: u64,
    /// Its value, if it is a constant.
    pub value: Option<u64>,
}

impl Operand {
    pub fn of(value: &Value, taint: impl Fn(u32) -> u64) -> Operand {
        match value {
            Value::Reg(reg) => Operand { taint: taint(reg.0), value: None },
            Value::Imm(bits) => Operand { taint: 0, value: Some(*bits) },
        }
    }
}

/// A bit a byte to eight bits a byte.
pub fn spread(bytes: u8) -> u64 {
    (0..8).filter(|n| bytes >> n & 1 != 0).fold(0, |t, n| t | 0xff << (8 * n))
}

/// Bytes with any undefined bit.
pub fn gather(taint: u64) -> u8 {
    (0..8).filter(|n| taint >> (8 * n) & 0xff != 0).fold(0, |b, n| b | 1 << n)
}

fn width(ty: Ty) -> u64 {
    u64::MAX >> (64 - ty.bits())
}

/// From the lowest undefined bit up: carries go that way.
fn upwards(taint: u64) -> u64 {
    if taint == 0 { 0 } else { u64::MAX << taint.trailing_zeros() }
}

/// Whether an instruction only puts values together, or takes them apart.
pub fn moves(inst: &Inst) -> bool {
    let fields = matches!(inst.op, Op::BfeU | Op::Bfi | Op::Prmt);
    fields || matches!(inst.op, Op::Mov | Op::ZExt | Op::SExt | Op::Trunc | Op::Select)
}

/// Whether bytes only go to other places, as words are taken apart and put together by shifts, too.
pub fn places(inst: &Inst) -> bool {
    let constant = || match inst.srcs.get(1) {
        Some(Value::Imm(bits)) => Some(*bits),
        Some(Value::Reg(_)) | None => None,
    };
    let whole = |bits: u64| (0..8).all(|n| matches!(bits >> (8 * n) & 0xff, 0 | 0xff));
    match inst.op {
        Op::ShrU | Op::Shl => constant().is_some_and(|by| by.is_multiple_of(8)),
        Op::And => constant().is_some_and(whole),
        Op::Or | Op::Shfl => true,
        _ => moves(inst),
    }
}

/// Whether values decide which operands, or whose, an instruction has its result from: see [`margay_exec::observe::Watch::choice`].
pub fn chooses(inst: &Inst) -> bool {
    matches!(inst.op, Op::PAnd | Op::POr | Op::Select | Op::Shfl) || inst.guard.is_some()
}

/// Of two operands that are known to be set, or not, if they are defined: the result of an "and", if one that is not set decides.
fn decided(at: [u64; 2], known: Option<[bool; 2]>, decides: bool) -> u64 {
    let settles = |n: usize| known.is_some_and(|known| at[n] == 0 && known[n] == decides);
    match known {
        Some(_) if settles(0) || settles(1) => 0,
        Some(_) => at[0] | at[1],
        None => at[0] & at[1],
    }
}

/// Where the bits of a field lie: its first bit and their number, which are modulo 256 (PTX ISA, "bfe").
fn field(from: Option<u64>, bits: Option<u64>) -> Option<u64> {
    let (from, bits) = ((from? & 0xff) as u32, (bits? & 0xff) as u32);
    let ones = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
    Some(ones.checked_shl(from).unwrap_or(0))
}

/// Undefined bits of the bytes that `prmt` takes by a constant selector.
fn permuted(a: u64, b: u64, selector: u64) -> u64 {
    let source = a & 0xffff_ffff | b << 32;
    (0..4).fold(0, |out, n| {
        let pick = selector >> (4 * n);
        let byte = source >> (8 * (pick & 7)) & 0xff;
        // All its bits are the sign.
        let byte = if pick & 8 == 0 { byte } else { 0xff * (byte >> 7) };
        out | byte << (8 * n)
    })
}

/// The undefined bits of a result, in one lane; and whether it was computed rather than moved. `choice` are the operands that
/// decide, in that lane, if they are known.
pub fn result(inst: &Inst, s: &[Operand], choice: Option<[bool; 2]>) -> (u64, bool) {
    let any = s.iter().fold(0, |t, o| t | o.taint);
    if any == 0 {
        return (0, false);
    }
    let all = width(inst.ty);
    let at = |n: usize| s.get(n).map_or(0, |o: &Operand| o.taint);
    let constant = |n: usize| s.get(n).and_then(|o: &Operand| o.value);
    match inst.op {
        Op::Mov | Op::ZExt | Op::Trunc => (any & all, false),
        Op::SExt => {
            let from = width(inst.from);
            let sign = from & !(from >> 1);
            let upper = if any & sign != 0 { all & !from } else { 0 };
            (any & from | upper, false)
        }
        Op::Select if at(2) != 0 => (all, true),
        Op::Select => match choice {
            Some([first, _]) => (if first { at(0) } else { at(1) }, false),
            None => (at(0) & at(1), false),
        },
        Op::PAnd => (decided([at(0), at(1)], choice, false), true),
        Op::POr => (decided([at(0), at(1)], choice, true), true),
        Op::And => match (constant(0), constant(1)) {
            (_, Some(mask)) | (Some(mask), _) => (any & mask & all, true),
            (None, None) => (any & all, true),
        },
        Op::Or => match (constant(0), constant(1)) {
            (_, Some(mask)) | (Some(mask), _) => (any & !mask & all, true),
            (None, None) => (any & all, true),
        },
        Op::Xor if s.len() == 2 && inst.srcs[0] == inst.srcs[1] => (0, true),
        Op::Xor | Op::Not => (any & all, true),
        Op::Shl => match constant(1) {
            Some(by) if by < 64 => (at(0) << by & all, true),
            Some(_) => (0, true),
            None => (all, true),
        },
        Op::ShrU => match constant(1) {
            Some(by) if by < 64 => ((at(0) & all) >> by, true),
            Some(_) => (0, true),
            None => (all, true),
        },
        Op::BfeU => match (field(constant(1), constant(2)), constant(1)) {
            (Some(ones), Some(from)) => {
                let bits = (at(0) & all & ones).checked_shr(from as u32 & 0xff).unwrap_or(0);
                (bits, false)
            }
            _ => (all, true),
        },
        Op::Bfi => match (field(constant(2), constant(3)), constant(2)) {
            (Some(ones), Some(from)) => {
                let inserted = at(0).checked_shl(from as u32 & 0xff).unwrap_or(0) & ones;
                ((inserted | at(1) & !ones) & all, false)
            }
            _ => (all, true),
        },
        Op::Prmt => match constant(2) {
            Some(selector) => (permuted(at(0), at(1), selector), false),
            None => (all, true),
        },
        Op::Add | Op::Sub | Op::Mul => (upwards(any) & all, true),
        // Whatever else computes: any undefined bit may matter to all.
        _ => (all, true),
    }
}

#[cfg(test)]
mod tests {
    use margay_ir::text::parse_module;

    use super::*;

    /// The undefined bits of an instruction's result.
    fn bits(inst: &str, taints: &[u64], choice: Option<[bool; 2]>) -> u64 {
        let text = format!(
            "module version=8.0 sm=90 target=\"sm_90\" address_bits=64\n\
             entry \"k\" visible {{\nregs w*3 p*3\nb0:\n {inst}\n exit\n}}\n"
        );
        let module = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let inst = &module.functions[0].blocks[0].insts[0];
        let operand = |(n, value)| Operand::of(value, |_| taints.get(n).copied().unwrap_or(0));
        let operands: Vec<Operand> = inst.srcs.iter().enumerate().map(operand).collect();
        result(inst, &operands, choice).0
    }

    #[test]
    fn a_false_operand_decides_an_and_and_a_true_one_an_or() {
        let (and, or) = ("%5 = pand %3, %4", "%5 = por %3, %4");
        assert_eq!(bits(and, &[0, 1], Some([false, true])), 0);
        assert_eq!(bits(and, &[0, 1], Some([true, false])), 1);
        assert_eq!(bits(or, &[1, 0], Some([false, true])), 0);
        assert_eq!(bits(or, &[1, 0], Some([true, false])), 1);
        // An undefined one decides nothing, whatever it is.
        assert_eq!(bits(and, &[1, 1], Some([false, false])), 1);
        assert_eq!((bits(and, &[0, 1], None), bits(or, &[1, 1], None)), (0, 1));
    }

    #[test]
    fn a_select_is_as_the_side_that_it_takes() {
        let select = "%2 = select.i32 %0, %1, %3";
        assert_eq!(bits(select, &[0xff, 0], Some([true, false])), 0xff);
        assert_eq!(bits(select, &[0xff, 0], Some([false, false])), 0);
        assert_eq!(bits(select, &[0xff, 0], None), 0);
        assert_eq!(bits(select, &[0, 0, 1], Some([true, false])), u64::from(u32::MAX));
    }

    #[test]
    fn bytes_go_where_they_are_put() {
        assert_eq!(bits("%2 = bfi.i32 %0, %1, 0x18, 0x8", &[0xff, 0], None), 0xff00_0000);
        assert_eq!(bits("%2 = bfi.i32 %0, %1, 0x8, 0x8", &[0, 0xff00_ff00], None), 0xff00_0000);
        assert_eq!(bits("%2 = bfe.u.i32 %0, 0x8, 0x8", &[0xff00_0000], None), 0);
        assert_eq!(bits("%2 = bfe.u.i32 %0, 0x18, 0x8", &[0xff00_0000], None), 0xff);
        assert_eq!(bits("%2 = prmt %0, %1, 0x5140", &[0xff, 0], None), 0xff);
        assert_eq!(bits("%2 = prmt %0, %1, 0x5140", &[0, 0xff00], None), 0xff00_0000);
    }
}
