// SPDX-License-Identifier: MIT OR Apache-2.0
//! Matrix instructions of a warp, composed of shuffles and multiply-adds: `mma` on 16 × 8 tiles,
//! and `ldmatrix` (PTX ISA, "Warp-level Matrix Instructions").
//!
//! Every lane works out the four elements of the result that it holds: rows g and g + 8, columns 2t
//! and 2t + 1, where g is the lane number over 4 and t the rest. Row g of A lies in the four lanes of
//! the same g, column n of B in the four lanes with g = n.
//!
//! Sums of floats are rounded to `f32` after each product, in ascending order; the manual leaves that
//! open. Not here: accumulation in `f16`, 8 × 8 tiles, fp8 and 4-bit elements, sparse and scaled forms.

use margay_ptx::ast::{Instruction, ModifierCursor, ScalarType};

use super::function::Lower;
use super::memory::take_space;
use super::{Lowered, Stop};
use crate::inst::*;
use crate::ops::Op;
use crate::types::{Class, Space, Ty};

const FULL_WARP: Value = Value::Imm(0xffff_ffff);

pub(super) fn lower(
    l: &mut Lower<'_, '_>,
    inst: &Instruction,
    m: &mut ModifierCursor<'_>,
) -> Lowered {
    m.take("sync");
    m.take("aligned");
    match inst.opcode() {
        "mma" => l.mma(inst, m),
        "ldmatrix" => l.ldmatrix(inst, m),
        _ => Err(Stop::unsupported("the engine has no such instruction yet")),
    }
}

/// How a 32-bit register of A or B is cut into elements.
#[derive(Clone, Copy)]
enum Element {
    /// Two of a 16-bit float.
    Half(Ty),
    /// One, of which the upper 19 bits count.
    Tf32,
    /// Four bytes, signed or not.
    Byte { signed: bool },
}

impl Element {
    fn of(ty: ScalarType) -> Option<Element> {
        Some(match ty {
            ScalarType::F16 => Element::Half(Ty::F16),
            ScalarType::BF16 => Element::Half(Ty::BF16),
            ScalarType::TF32 => Element::Tf32,
            ScalarType::S8 => Element::Byte { signed: true },
            ScalarType::U8 => Element::Byte { signed: false },
            _ => return None,
        })
    }

    fn in_word(self) -> usize {
        match self {
            Element::Half(_) => 2,
            Element::Tf32 => 1,
            Element::Byte { .. } => 4,
        }
    }
}

/// Where the lane stands in its tile.
struct Place {
    /// The first lane of its four: 4 g.
    four: Value,
    /// t.
    rest: Value,
}

impl Lower<'_, '_> {
    fn word_op(&mut self, op: Op, a: Value, b: u64) -> Value {
        self.value(op, Ty::I32, &[a, Value::Imm(b)], Attr::None)
    }

    fn lane_place(&mut self) -> Place {
        let lane = self.value(Op::Sreg, Ty::I32, &[], Attr::Sreg(Sreg::LaneId));
        Place { four: self.word_op(Op::And, lane, 0x1c), rest: self.word_op(Op::And, lane, 3) }
    }

    /// The word that another lane holds.
    fn shuffled(&mut self, word: Value, lane: Value) -> Value {
        let srcs = [word, lane, Value::Imm(31), FULL_WARP];
        self.value(Op::Shfl, Ty::I32, &srcs, Attr::Shfl(ShflMode::Idx))
    }

    /// Element `i` of a word, as an `f32` or an `i32`.
    fn element_of(&mut self, word: Value, kind: Element, i: usize) -> Value {
        match kind {
            Element::Half(ty) => {
                let bits = match i {
                    0 => self.word_op(Op::And, word, 0xffff),
                    _ => self.word_op(Op::ShrU, word, 16),
                };
                let attr = Attr::Float(FloatAttr::default());
                self.value_from(Op::FToF, Ty::F32, ty, &[bits], attr)
            }
            Element::Tf32 => self.word_op(Op::And, word, 0xffff_e000),
            Element::Byte { signed } => {
                let op = if signed { Op::BfeS } else { Op::BfeU };
                let srcs = [word, Value::Imm(8 * i as u64), Value::Imm(8)];
                self.value(op, Ty::I32, &srcs, Attr::None)
            }
        }
    }

    fn mma(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let other = || Stop::unsupported("the engine has no matrix product of this shape and type");
        let depth = match m.take_any(&["m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"]) {
            Some("m16n8k4") => 4,
            Some("m16n8k8") => 8,
            Some("m16n8k16") => 16,
            Some(_) => 32,
            None => return Err(other()),
        };
        if !m.take("row") || !m.take("col") {
            return Err(other());
        }
        let saturate = m.take("satfinite");
        let [d_ty, a_ty, b_ty, c_ty] = m.types()[..] else { return Err(other()) };
        let (Some(a_kind), Some(b_kind)) = (Element::of(a_ty), Element::of(b_ty)) else {
            return Err(other());
        };
        let sum = match (a_kind, b_kind) {
            (Element::Half(a), Element::Half(b)) if a == b => ScalarType::F32,
            (Element::Tf32, Element::Tf32) => ScalarType::F32,
            (Element::Byte { .. }, Element::Byte { .. }) => ScalarType::S32,
            _ => return Err(other()),
        };
        if d_ty != sum || c_ty != sum {
            return Err(other());
        }
        // Each of these takes one register of B and two of A: the four lanes' words in turn.
        let parts = depth / (4 * a_kind.in_word());
        let a = self.src_elements(self.operand(inst, 1)?, ScalarType::B32)?;
        let b = self.src_elements(self.operand(inst, 2)?, ScalarType::B32)?;
        let c = self.src_elements(self.operand(inst, 3)?, sum)?;
        let d = self.dst_elements(self.operand(inst, 0)?, sum)?;
        if parts == 0 || (a.len(), b.len(), c.len(), d.len()) != (2 * parts, parts, 4, 4) {
            return Err(Stop::error(inst.opcode_span, "the fragments have other sizes"));
        }
        self.branch_if_guarded(|l| {
            let place = l.lane_place();
            let column = l.word_op(Op::Shl, place.rest, 3);
            let is_float = sum == ScalarType::F32;
            let mut sums: Vec<Value> = if is_float { c.clone() } else { vec![Value::Imm(0); 4] };
            for part in 0..parts {
                for four in 0..4 {
                    let row_lane = l.word_op(Op::Add, place.four, four);
                    let rows =
                        [l.shuffled(a[2 * part], row_lane), l.shuffled(a[2 * part + 1], row_lane)];
                    let columns = [0, 4].map(|next| {
                        let lane = l.word_op(Op::Add, column, next + four);
                        l.shuffled(b[part], lane)
                    });
                    for i in 0..a_kind.in_word() {
                        let rows = rows.map(|word| l.element_of(word, a_kind, i));
                        let columns = columns.map(|word| l.element_of(word, b_kind, i));
                        for (at, sum) in sums.iter_mut().enumerate() {
                            let srcs = [rows[at / 2], columns[at % 2], *sum];
                            *sum = if is_float {
                                let attr = Attr::Float(FloatAttr::default());
                                l.value(Op::FFma, Ty::F32, &srcs, attr)
                            } else {
                                l.value(Op::Mad, Ty::I32, &srcs, Attr::None)
                            };
                        }
                    }
                }
            }
            for ((dst, sum), start) in d.iter().zip(sums).zip(c) {
                if is_float {
                    l.mov(Ty::F32, *dst, sum);
                } else {
                    let op = if saturate { Op::AddSatS } else { Op::Add };
                    l.emit(op, Ty::I32, &[*dst], &[start, sum], Attr::None);
                }
            }
        });
        Ok(())
    }

    fn ldmatrix(&mut self, inst: &Instruction, m: &mut ModifierCursor<'_>) -> Lowered {
        let count = match m.take_any(&["x1", "x2", "x4"]) {
            Some("x1") => 1,
            Some("x2") => 2,
            Some(_) => 4,
            None => return Err(Stop::unsupported("the engine has no such matrix load")),
        };
        let said = if m.take("shared::cta") { Some(Space::Shared) } else { take_space(inst, m) };
        let transposed = m.take("trans");
        if !m.take("m8n8") || m.next_type() != Some(ScalarType::B16) {
            return Err(Stop::unsupported("the engine loads matrices of 8 x 8 halfwords only"));
        }
        let address = self.operand(inst, 1)?;
        let place = self.place(address)?;
        let space = self.access_space(said, &place, address)?;
        let dsts = self.dst_elements(self.operand(inst, 0)?, ScalarType::B32)?;
        if dsts.len() != count {
            return Err(Stop::error(inst.opcode_span, format!("{count} registers are needed")));
        }
        let attr = Attr::Mem(MemAttr { offset: place.offset, ..MemAttr::plain(space) });
        self.branch_if_guarded(|l| {
            let Place { four, rest } = l.lane_place();
            let group = l.word_op(Op::ShrU, four, 2);
            // The rows' addresses are in the lanes, eight for each matrix.
            let low = l.value_from(Op::Trunc, Ty::I32, Ty::I64, &[place.base], Attr::None);
            let high = l.value(Op::ShrU, Ty::I64, &[place.base, Value::Imm(32)], Attr::None);
            let high = l.value_from(Op::Trunc, Ty::I32, Ty::I64, &[high], Attr::None);
            let row = |l: &mut Self, lane: Value, bytes: Value| {
                let [low, high, bytes] = [l.shuffled(low, lane), l.shuffled(high, lane), bytes]
                    .map(|w| l.value_from(Op::ZExt, Ty::I64, Ty::I32, &[w], Attr::None));
                let high = l.value(Op::Shl, Ty::I64, &[high, Value::Imm(32)], Attr::None);
                let base = l.value(Op::Or, Ty::I64, &[low, high], Attr::None);
                l.value(Op::Add, Ty::I64, &[base, bytes], Attr::None)
            };
            let mut words = Vec::new();
            for first in (0..8 * count as u64).step_by(8) {
                words.push(if transposed {
                    let bytes = l.word_op(Op::Shl, group, 1);
                    let double = l.word_op(Op::Shl, rest, 1);
                    let halves = [0, 1].map(|next| {
                        let lane = l.word_op(Op::Add, double, first + next);
                        let at = row(l, lane, bytes);
                        l.value_in(Class::W, Op::Ld, Ty::I16, &[at], attr.clone())
                    });
                    let high = l.word_op(Op::Shl, halves[1], 16);
                    l.value(Op::Or, Ty::I32, &[halves[0], high], Attr::None)
                } else {
                    let lane = l.word_op(Op::Add, group, first);
                    let bytes = l.word_op(Op::Shl, rest, 2);
                    let at = row(l, lane, bytes);
                    l.value(Op::Ld, Ty::I32, &[at], attr.clone())
                });
            }
            for (dst, word) in dsts.iter().zip(words) {
                l.mov(Ty::I32, *dst, word);
            }
        });
        Ok(())
    }
}
