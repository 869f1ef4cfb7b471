// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operands.

use super::{MOST_NESTING, Parser};
use crate::ast::{Address, Base, Immediate, Operand, OperandKind};
use crate::expr;
use crate::lex::{Problem, Result, begins_name};
use crate::span::Span;

impl Parser<'_> {
    /// An operand; `lists` says whether `(` begins an argument list rather than an expression.
    pub(super) fn operand(&mut self, lists: bool) -> Result<Operand> {
        self.nested_operand(lists, MOST_NESTING)
    }

    fn nested_operand(&mut self, lists: bool, depth: u32) -> Result<Operand> {
        let next = self.lex.peek();
        let start = self.lex.pos();
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Problem::new(Span::new(start, start + 1), "operand nested too deeply"));
        };
        let kind = match next {
            Some(b'[') => self.bracket(depth)?,
            Some(b'{') => {
                let items = self.sequence(b'{', b'}', depth)?;
                if items.is_empty() {
                    return Err(Problem::new(self.lex.span_from(start), "empty vector"));
                }
                OperandKind::Vector(items)
            }
            Some(b'(') if lists => OperandKind::List(self.sequence(b'(', b')', depth)?),
            Some(b'!') if begins_name(self.after_sign()) => {
                self.lex.bump();
                OperandKind::Not(self.name("a predicate register")?.symbol)
            }
            Some(b'-') if begins_name(self.after_sign()) && self.after_sign() != b'W' => {
                self.lex.bump();
                OperandKind::Negate(Box::new(self.nested_operand(false, depth)?))
            }
            Some(_) if expr::begins(&mut self.lex) => {
                OperandKind::Immediate(expr::expression(&mut self.lex)?)
            }
            Some(b) if begins_name(b) => self.named()?,
            Some(_) | None => return Err(self.lex.unexpected(["an operand"])),
        };
        let operand = Operand { kind, span: self.lex.span_from(start) };
        let first_of_pair = matches!(
            operand.kind,
            OperandKind::Name(_) | OperandKind::Sink | OperandKind::Vector(_)
        );
        if first_of_pair && self.lex.eat(b'|') {
            let second = self.nested_operand(false, depth)?;
            if !matches!(second.kind, OperandKind::Name(_) | OperandKind::Sink) {
                return Err(Problem::new(second.span, "the second of a pair must be a register")
                    .expecting(["`_`"]));
            }
            let kind = OperandKind::Pair(Box::new((operand, second)));
            return Ok(Operand { kind, span: self.lex.span_from(start) });
        }
        Ok(operand)
    }

    /// The first byte after a one-byte sign and blanks.
    fn after_sign(&self) -> u8 {
        (1..).map(|i| self.lex.at(i)).take(16).find(|b| !matches!(b, b' ' | b'\t')).unwrap_or(0)
    }

    /// An operand that begins with a name.
    fn named(&mut self) -> Result<OperandKind> {
        let Some((text, _)) = self.lex.name() else {
            return Err(self.lex.unexpected(["a name"]));
        };
        if text == "_" {
            return Ok(OperandKind::Sink);
        }
        let symbol = self.intern(text);
        // A component follows its register without a space.
        if self.lex.at(0) == b'.' && begins_component(self.lex.at(1)) {
            self.lex.bump();
            let member = self.name("a component")?.symbol;
            return Ok(OperandKind::Member { base: symbol, member });
        }
        match self.lex.peek() {
            Some(b'+' | b'-') => Ok(OperandKind::Offset { base: symbol, offset: self.offset()? }),
            Some(b'[') => {
                self.lex.bump();
                let index = self.address()?;
                self.lex.expect(b']')?;
                Ok(OperandKind::Element { base: symbol, index })
            }
            _ => Ok(OperandKind::Name(symbol)),
        }
    }

    /// `base + offset`, without brackets.
    fn address(&mut self) -> Result<Address> {
        if expr::begins(&mut self.lex) {
            let start = self.lex.pos();
            return match expr::expression(&mut self.lex)? {
                Immediate::Int { bits, .. } => {
                    Ok(Address { base: Base::Absolute(bits), offset: 0 })
                }
                Immediate::F32(_) | Immediate::F64(_) => {
                    Err(Problem::new(self.lex.span_from(start), "an address must be an integer"))
                }
            };
        }
        let base = Base::Name(self.name("a register, a variable or an integer")?.symbol);
        Ok(Address { base, offset: self.offset()? })
    }

    /// `[a]`, `[a+4]`, `[tex, {x, y}]`.
    fn bracket(&mut self, depth: u32) -> Result<OperandKind> {
        self.lex.bump();
        self.lex.peek();
        let start = self.lex.pos();
        let address = self.address()?;
        let span = self.lex.span_from(start);
        if self.lex.eat(b']') {
            return Ok(OperandKind::Address(address));
        }
        if self.lex.peek() != Some(b',') {
            return Err(self.lex.unexpected(["`]`", "`,`", "`+`"]));
        }
        let kind = match address {
            Address { base: Base::Name(symbol), offset: 0 } => OperandKind::Name(symbol),
            Address { base: Base::Name(base), offset } => OperandKind::Offset { base, offset },
            Address { base: Base::Absolute(bits), .. } => {
                OperandKind::Immediate(Immediate::Int { bits, signed: i64::try_from(bits).is_ok() })
            }
        };
        let mut parts = vec![Operand { kind, span }];
        while self.lex.eat(b',') {
            parts.push(self.nested_operand(false, depth)?);
        }
        if !self.lex.eat(b']') {
            return Err(self.lex.unexpected(["`]`", "`,`"]));
        }
        Ok(OperandKind::Bracket(parts))
    }

    /// `{a, b}` or `(a, b)`, perhaps empty.
    fn sequence(&mut self, open: u8, close: u8, depth: u32) -> Result<Vec<Operand>> {
        self.lex.expect(open)?;
        let mut items = Vec::new();
        if self.lex.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(self.nested_operand(false, depth)?);
            if self.lex.eat(close) {
                return Ok(items);
            }
            if !self.lex.eat(b',') {
                return Err(self.lex.unexpected([format!("`{}`", close as char), "`,`".into()]));
            }
        }
    }
}

fn begins_component(b: u8) -> bool {
    b.is_ascii_alphabetic()
}
