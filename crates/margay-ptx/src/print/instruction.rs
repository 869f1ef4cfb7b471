// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions, their operands, and constants, as text.

use super::Printer;
use crate::ast::*;
use std::fmt::{self, Write};

impl Printer<'_> {
    pub(super) fn immediate(&mut self, value: Immediate) -> fmt::Result {
        match value {
            // Its magnitude has no `.s64` literal.
            Immediate::Int { bits, signed: true } if bits == 1 << 63 => {
                write!(self, "{}-1", i64::MIN + 1)
            }
            Immediate::Int { bits, signed: true } => write!(self, "{}", bits as i64),
            Immediate::Int { bits, signed: false } => write!(self, "{bits}U"),
            Immediate::F32(bits) => write!(self, "0f{bits:08X}"),
            Immediate::F64(bits) => write!(self, "0d{bits:016X}"),
        }
    }

    pub(super) fn offset(&mut self, symbol: Symbol, offset: i64) -> fmt::Result {
        self.out.push_str(self.name(symbol));
        self.plus(offset)
    }

    pub(super) fn plus(&mut self, offset: i64) -> fmt::Result {
        match offset {
            0 => Ok(()),
            i64::MIN => write!(self, "-{}-1", i64::MAX),
            _ => write!(self, "{offset:+}"),
        }
    }

    pub(super) fn instruction(&mut self, inst: &Instruction) -> fmt::Result {
        if let Some(guard) = inst.guard {
            let not = if guard.negated { "!" } else { "" };
            write!(self, "@{not}{} ", self.name(guard.predicate.symbol))?;
        }
        self.out.push_str(inst.form.name);
        let behind =
            |m: &&Modifier| inst.form.slots.get(m.slot as usize).is_some_and(|s| s.after_address);
        for modifier in inst.modifiers.iter().filter(|m| !behind(m)) {
            write!(self, ".{}", modifier.name)?;
        }
        for (i, operand) in inst.operands.iter().enumerate() {
            self.out.push_str(if i == 0 { " " } else { ", " });
            self.operand(operand)?;
            if matches!(operand.kind, OperandKind::Address(_) | OperandKind::Element { .. }) {
                for modifier in inst.modifiers.iter().filter(behind) {
                    write!(self, ".{}", modifier.name)?;
                }
            }
        }
        self.out.push(';');
        Ok(())
    }

    fn operand(&mut self, operand: &Operand) -> fmt::Result {
        match &operand.kind {
            OperandKind::Name(symbol) => {
                self.out.push_str(self.name(*symbol));
                Ok(())
            }
            OperandKind::Member { base, member } => {
                write!(self, "{}.{}", self.name(*base), self.name(*member))
            }
            OperandKind::Immediate(value) => self.immediate(*value),
            OperandKind::Sink => {
                self.out.push('_');
                Ok(())
            }
            OperandKind::Not(symbol) => write!(self, "!{}", self.name(*symbol)),
            OperandKind::Negate(operand) => {
                self.out.push('-');
                self.operand(operand)
            }
            OperandKind::Vector(items) => self.operands('{', items, '}'),
            OperandKind::Pair(pair) => {
                self.operand(&pair.0)?;
                self.out.push('|');
                self.operand(&pair.1)
            }
            OperandKind::Address(address) => {
                self.out.push('[');
                self.address(address)?;
                self.out.push(']');
                Ok(())
            }
            // An offset of 0 is still the address of a variable, not its value.
            OperandKind::Offset { base, offset: 0 } => write!(self, "{}+0", self.name(*base)),
            OperandKind::Offset { base, offset } => self.offset(*base, *offset),
            OperandKind::Element { base, index } => {
                write!(self, "{}[", self.name(*base))?;
                self.address(index)?;
                self.out.push(']');
                Ok(())
            }
            OperandKind::Bracket(items) => self.operands('[', items, ']'),
            OperandKind::List(items) => self.operands('(', items, ')'),
        }
    }

    fn operands(&mut self, open: char, items: &[Operand], close: char) -> fmt::Result {
        self.out.push(open);
        for (i, item) in items.iter().enumerate() {
            self.comma(i);
            self.operand(item)?;
        }
        self.out.push(close);
        Ok(())
    }

    fn address(&mut self, address: &Address) -> fmt::Result {
        match address.base {
            Base::Name(symbol) => self.offset(symbol, address.offset),
            Base::Absolute(bits) => write!(self, "{}", bits.wrapping_add(address.offset as u64)),
        }
    }
}
