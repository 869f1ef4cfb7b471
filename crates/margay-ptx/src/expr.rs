// SPDX-License-Identifier: MIT OR Apache-2.0
//! Constant expressions (PTX ISA, "Constant Expressions"), folded as they are read.
//!
//! Integers are 64 bits, `.s64` or `.u64`, and wrap; C's operators, precedence and conversions.
//! Floating-point expressions take signs, `+ - * /`, comparison and parentheses. Nesting is limited.

use crate::ast::Immediate;
use crate::lex::{Lexer, Problem, Result};
use crate::span::Span;

/// How deeply parentheses, signs and conditionals may nest.
const DEPTH: u32 = 64;

/// The value of `WARP_SZ`, which is the same on every target there is.
const WARP_SZ: u64 = 32;

/// Binary operators, longest spelling first, with C's binding strength.
const BINARY: [(&str, Op, u8); 18] = [
    ("<<", Op::Shl, 8),
    (">>", Op::Shr, 8),
    ("<=", Op::Le, 7),
    (">=", Op::Ge, 7),
    ("==", Op::Eq, 6),
    ("!=", Op::Ne, 6),
    ("&&", Op::LogicalAnd, 2),
    ("||", Op::LogicalOr, 1),
    ("<", Op::Lt, 7),
    (">", Op::Gt, 7),
    ("*", Op::Mul, 10),
    ("/", Op::Div, 10),
    ("%", Op::Rem, 10),
    ("+", Op::Add, 9),
    ("-", Op::Sub, 9),
    ("&", Op::And, 5),
    ("^", Op::Xor, 4),
    ("|", Op::Or, 3),
];

/// Binding strength of the terms of a sum.
const PRODUCT: u8 = 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    Mul,
    Div,
    Rem,
    Add,
    Sub,
    Shl,
    Shr,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    Ne,
    And,
    Xor,
    Or,
    LogicalAnd,
    LogicalOr,
}

/// An expression with all operators.
pub(crate) fn expression(lex: &mut Lexer) -> Result<Immediate> {
    conditional(lex, DEPTH)
}

/// A term of a sum: what follows the sign in `name+4*8-2`.
pub(crate) fn product(lex: &mut Lexer) -> Result<Immediate> {
    binary(lex, PRODUCT, DEPTH)
}

/// Whether an expression can begin with what comes next.
pub(crate) fn begins(lex: &mut Lexer) -> bool {
    match lex.peek() {
        Some(b'0'..=b'9' | b'-' | b'+' | b'!' | b'~' | b'(') => true,
        Some(b'.') => lex.at(1).is_ascii_digit(),
        Some(b'W') => lex.clone().name().is_some_and(|(name, _)| name == "WARP_SZ"),
        Some(_) | None => false,
    }
}

fn deeper(lex: &mut Lexer, depth: u32) -> Result<u32> {
    depth.checked_sub(1).ok_or_else(|| {
        lex.peek();
        Problem::new(Span::new(lex.pos(), lex.pos() + 1), "expression nested too deeply")
    })
}

fn conditional(lex: &mut Lexer, depth: u32) -> Result<Immediate> {
    let depth = deeper(lex, depth)?;
    let condition = binary(lex, 0, depth)?;
    if !lex.eat(b'?') {
        return Ok(condition);
    }
    let yes = conditional(lex, depth)?;
    lex.expect(b':')?;
    let no = conditional(lex, depth)?;
    Ok(if truth(condition) { yes } else { no })
}

fn operator(lex: &mut Lexer, least: u8) -> Option<(Op, u8)> {
    lex.peek()?;
    let &(text, op, strength) =
        BINARY.iter().find(|(text, ..)| text.bytes().enumerate().all(|(i, b)| lex.at(i) == b))?;
    if strength < least {
        return None;
    }
    // `%` may also begin the name of a register, which cannot follow a value.
    lex.advance(text.len());
    Some((op, strength))
}

fn binary(lex: &mut Lexer, least: u8, depth: u32) -> Result<Immediate> {
    lex.peek();
    let start = lex.pos();
    let mut left = unary(lex, depth)?;
    while let Some((op, strength)) = operator(lex, least) {
        let depth = deeper(lex, depth)?;
        let right = binary(lex, strength + 1, depth)?;
        let span = lex.span_from(start);
        left = apply(op, left, right).map_err(|what| Problem::new(span, what))?;
    }
    Ok(left)
}

fn unary(lex: &mut Lexer, depth: u32) -> Result<Immediate> {
    let depth = deeper(lex, depth)?;
    let start = {
        lex.peek();
        lex.pos()
    };
    match lex.peek() {
        Some(b'-') => {
            lex.bump();
            Ok(match unary(lex, depth)? {
                Immediate::Int { bits, signed } => {
                    Immediate::Int { bits: bits.wrapping_neg(), signed }
                }
                Immediate::F32(bits) => Immediate::F32(bits ^ 1 << 31),
                Immediate::F64(bits) => Immediate::F64(bits ^ 1 << 63),
            })
        }
        Some(b'+') => {
            lex.bump();
            unary(lex, depth)
        }
        Some(b'!') => {
            lex.bump();
            let value = unary(lex, depth)?;
            Ok(int(u64::from(!truth(value))))
        }
        Some(b'~') => {
            lex.bump();
            match unary(lex, depth)? {
                Immediate::Int { bits, signed } => Ok(Immediate::Int { bits: !bits, signed }),
                Immediate::F32(_) | Immediate::F64(_) => {
                    Err(Problem::new(lex.span_from(start), "`~` of a floating-point constant"))
                }
            }
        }
        Some(b'(') => {
            lex.bump();
            if let Some(word @ ("s64" | "u64")) = lex.peek_directive() {
                lex.take_directive(word);
                lex.expect(b')')?;
                return match unary(lex, depth)? {
                    Immediate::Int { bits, .. } => {
                        Ok(Immediate::Int { bits, signed: word == "s64" })
                    }
                    Immediate::F32(_) | Immediate::F64(_) => {
                        Err(Problem::new(lex.span_from(start), "cast of a floating-point constant"))
                    }
                };
            }
            let value = conditional(lex, depth)?;
            lex.expect(b')')?;
            Ok(value)
        }
        Some(b'0'..=b'9' | b'.') => lex.number(),
        Some(b'W') if begins(lex) => {
            lex.name();
            Ok(int(WARP_SZ))
        }
        Some(_) | None => Err(lex.unexpected(["a constant"])),
    }
}

const fn int(bits: u64) -> Immediate {
    Immediate::Int { bits, signed: true }
}

fn truth(value: Immediate) -> bool {
    match value {
        Immediate::Int { bits, .. } => bits != 0,
        Immediate::F32(_) | Immediate::F64(_) => value.as_f64() != Some(0.0),
    }
}

fn apply(
    op: Op,
    left: Immediate,
    right: Immediate,
) -> std::result::Result<Immediate, &'static str> {
    match (left, right) {
        (Immediate::Int { bits: a, signed: sa }, Immediate::Int { bits: b, signed: sb }) => {
            integer(op, a, sa, b, sb)
        }
        _ => {
            let (Some(a), Some(b)) = (left.as_f64(), right.as_f64()) else {
                return Err("integer and floating-point constants in one expression");
            };
            let double = |v: f64| Ok(Immediate::F64(v.to_bits()));
            let truth = |v: bool| Ok(int(u64::from(v)));
            match op {
                Op::Add => double(a + b),
                Op::Sub => double(a - b),
                Op::Mul => double(a * b),
                Op::Div => double(a / b),
                Op::Lt => truth(a < b),
                Op::Gt => truth(a > b),
                Op::Le => truth(a <= b),
                Op::Ge => truth(a >= b),
                Op::Eq => truth(a == b),
                Op::Ne => truth(a != b),
                Op::LogicalAnd => truth(a != 0.0 && b != 0.0),
                Op::LogicalOr => truth(a != 0.0 || b != 0.0),
                Op::Rem | Op::Shl | Op::Shr | Op::And | Op::Xor | Op::Or => {
                    Err("integer operator on a floating-point constant")
                }
            }
        }
    }
}

fn integer(
    op: Op,
    a: u64,
    sa: bool,
    b: u64,
    sb: bool,
) -> std::result::Result<Immediate, &'static str> {
    // The usual conversions: unsigned if either is; shifts have the left operand's type.
    let signed = sa && sb;
    let value = |bits| Ok(Immediate::Int { bits, signed });
    let truth = |v: bool| Ok(int(u64::from(v)));
    let (x, y) = (a as i64, b as i64);
    match op {
        Op::Add => value(a.wrapping_add(b)),
        Op::Sub => value(a.wrapping_sub(b)),
        Op::Mul => value(a.wrapping_mul(b)),
        Op::Div | Op::Rem if b == 0 => Err("division by zero"),
        Op::Div if signed => value(x.wrapping_div(y) as u64),
        Op::Div => value(a / b),
        Op::Rem if signed => value(x.wrapping_rem(y) as u64),
        Op::Rem => value(a % b),
        Op::Shl => Ok(Immediate::Int { bits: if b < 64 { a << b } else { 0 }, signed: sa }),
        Op::Shr if sa => Ok(Immediate::Int { bits: (x >> b.min(63)) as u64, signed: true }),
        Op::Shr => Ok(Immediate::Int { bits: if b < 64 { a >> b } else { 0 }, signed: false }),
        Op::Lt => truth(if signed { x < y } else { a < b }),
        Op::Gt => truth(if signed { x > y } else { a > b }),
        Op::Le => truth(if signed { x <= y } else { a <= b }),
        Op::Ge => truth(if signed { x >= y } else { a >= b }),
        Op::Eq => truth(a == b),
        Op::Ne => truth(a != b),
        Op::And => value(a & b),
        Op::Xor => value(a ^ b),
        Op::Or => value(a | b),
        Op::LogicalAnd => truth(a != 0 && b != 0),
        Op::LogicalOr => truth(a != 0 || b != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(text: &str) -> Immediate {
        expression(&mut Lexer::new(text)).unwrap_or_else(|p| panic!("{text}: {}", p.message))
    }

    #[test]
    fn precedence_is_that_of_c() {
        assert_eq!(fold("1 + 2 * 3 << 1"), int(14));
        assert_eq!(fold("1 | 2 ^ 3 & 6"), int(1));
        assert_eq!(fold("10 - 4 - 3"), int(3));
        assert_eq!(fold("5 > 3 ? 7 : 9"), int(7));
        assert_eq!(fold("!0 + ~0"), int(0));
        assert_eq!(fold("-(7 / 2) % 2"), int((-1i64) as u64));
        assert_eq!(fold("WARP_SZ * 2"), int(64));
    }

    #[test]
    fn unsignedness_spreads() {
        assert_eq!(fold("0xFFFFFFFFFFFFFFFF"), Immediate::Int { bits: u64::MAX, signed: false });
        assert_eq!(fold("-1 > 0U"), int(1));
        assert_eq!(fold("(.s64)0xFFFFFFFFFFFFFFFF < 0"), int(1));
        assert_eq!(fold("0x10U"), Immediate::Int { bits: 16, signed: false });
        assert_eq!((fold("0777"), fold("0b101")), (int(511), int(5)));
    }

    #[test]
    fn floats_keep_their_bits() {
        assert_eq!(fold("0f3F800000"), Immediate::F32(0x3f80_0000));
        assert_eq!(fold("-0f00000000"), Immediate::F32(0x8000_0000));
        assert_eq!(fold("0d7FF8000000000001"), Immediate::F64(0x7ff8_0000_0000_0001));
        assert_eq!(fold("1.5e1"), Immediate::F64(15.0f64.to_bits()));
        assert_eq!(fold("1e3"), Immediate::F64(1000.0f64.to_bits()));
        assert_eq!(fold("1.0 / 4."), Immediate::F64(0.25f64.to_bits()));
    }

    #[test]
    fn errors_are_errors() {
        for text in [
            "1 / 0",
            "5 % 0",
            "0f12",
            "0x1FFFFFFFFFFFFFFFF",
            "1.5 & 1.0",
            "1.0 / 4",
            "",
            "(1",
            "~1.0",
            "08",
        ] {
            assert!(expression(&mut Lexer::new(text)).is_err(), "{text}");
        }
        let deep = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(expression(&mut Lexer::new(&deep)).is_err());
        assert!(expression(&mut Lexer::new(&"-".repeat(100_000))).is_err());
    }
}
