// SPDX-License-Identifier: MIT OR Apache-2.0
//! Integer expressions in `tid`, as an index in CUDA C++ is written: `tid*33`, `(tid & ~1) << 2`,
//! `tid < 16 ? tid : 0`.
//!
//! C's operators and precedence on 64-bit integers; `tid` and `lane` are the lane, 0 to 31. Overflow,
//! division by zero and shifts beyond 63 are errors, not values.

/// What is wrong with an expression, and at which character of it, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    pub at: usize,
    pub what: String,
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    Number(i64),
    Lane,
    Unary(&'static str, Box<Expression>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// condition, then, else
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
}

/// Binary operators, longest first where one begins with another, and how tightly they bind.
const BINARY: [(&str, u8); 18] = [
    ("<<", 8),
    (">>", 8),
    ("<=", 7),
    (">=", 7),
    ("==", 6),
    ("!=", 6),
    ("&&", 2),
    ("||", 1),
    ("*", 10),
    ("/", 10),
    ("%", 10),
    ("+", 9),
    ("-", 9),
    ("<", 7),
    (">", 7),
    ("&", 5),
    ("^", 4),
    ("|", 3),
];

/// Brackets and operators in each other, at most.
const DEPTH: u32 = 100;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl Expression {
    /// Reads the whole text.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        // A long chain of operators would nest as deeply when it is evaluated.
        if text.len() > 1000 {
            return Err(ExpressionError { at: 0, what: "longer than 1000 characters".into() });
        }
        let mut parser = Parser { text, at: 0, depth: 0 };
        let expression = parser.choice()?;
        parser.space();
        match parser.rest().chars().next() {
            None => Ok(expression),
            Some(c) => Err(parser.error(format!("`{c}` where an operator or the end should be"))),
        }
    }

    /// The value for a lane.
    pub fn value(&self, lane: i64) -> Result<i64, String> {
        Ok(match self {
            Expression::Number(n) => *n,
            Expression::Lane => lane,
            Expression::Unary(op, operand) => {
                let value = operand.value(lane)?;
                match *op {
                    "-" => value.checked_neg().ok_or("the value overflows")?,
                    "~" => !value,
                    _ => i64::from(value == 0),
                }
            }
            Expression::Choice(condition, then, otherwise) => {
                let taken = if condition.value(lane)? != 0 { then } else { otherwise };
                taken.value(lane)?
            }
            Expression::Binary("&&", left, right) => {
                i64::from(left.value(lane)? != 0 && right.value(lane)? != 0)
            }
            Expression::Binary("||", left, right) => {
                i64::from(left.value(lane)? != 0 || right.value(lane)? != 0)
            }
            Expression::Binary(op, left, right) => {
                binary(op, left.value(lane)?, right.value(lane)?)?
            }
        })
    }
}

fn binary(op: &str, a: i64, b: i64) -> Result<i64, String> {
    let shift = || u32::try_from(b).ok().filter(|&s| s < 64).ok_or(format!("shifts by {b}"));
    let checked = match op {
        "+" => a.checked_add(b),
        "-" => a.checked_sub(b),
        "*" => a.checked_mul(b),
        "/" | "%" if b == 0 => return Err("divides by zero".into()),
        "/" => a.checked_div(b),
        "%" => a.checked_rem(b),
        "<<" => a.checked_mul(1i64.checked_shl(shift()?).unwrap_or(0)),
        ">>" => Some(a >> shift()?),
        "&" => Some(a & b),
        "^" => Some(a ^ b),
        "|" => Some(a | b),
        "<" => Some(i64::from(a < b)),
        ">" => Some(i64::from(a > b)),
        "<=" => Some(i64::from(a <= b)),
        ">=" => Some(i64::from(a >= b)),
        "==" => Some(i64::from(a == b)),
        "!=" => Some(i64::from(a != b)),
        other => unreachable!("`{other}` is no operator of the table"),
    };
    checked.ok_or_else(|| "the value overflows".into())
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn error(&self, what: impl Into<String>) -> ExpressionError {
        ExpressionError { at: self.at, what: what.into() }
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn choice(&mut self) -> Result<Expression, ExpressionError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.error("nested too deeply"));
        }
        let condition = self.operators(0)?;
        let result = if self.eat("?") {
            let then = self.choice()?;
            if !self.eat(":") {
                return Err(self.error("`?` without its `:`"));
            }
            let otherwise = self.choice()?;
            Expression::Choice(condition.into(), then.into(), otherwise.into())
        } else {
            condition
        };
        self.depth -= 1;
        Ok(result)
    }

    /// Operators that bind tighter than `least`.
    fn operators(&mut self, least: u8) -> Result<Expression, ExpressionError> {
        let mut left = self.operand()?;
        loop {
            self.space();
            let next = BINARY.iter().find(|(token, _)| self.rest().starts_with(token));
            let Some(&(token, binding)) = next.filter(|(_, binding)| *binding > least) else {
                return Ok(left);
            };
            self.at += token.len();
            let right = self.operators(binding)?;
            left = Expression::Binary(token, left.into(), right.into());
        }
    }

    fn operand(&mut self) -> Result<Expression, ExpressionError> {
        for op in ["-", "~", "!"] {
            if self.eat(op) {
                self.depth += 1;
                if self.depth > DEPTH {
                    return Err(self.error("nested too deeply"));
                }
                let operand = self.operand()?;
                self.depth -= 1;
                return Ok(Expression::Unary(op, operand.into()));
            }
        }
        if self.eat("(") {
            let inner = self.choice()?;
            return if self.eat(")") { Ok(inner) } else { Err(self.error("`(` without its `)`")) };
        }
        self.space();
        let length =
            self.rest().find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '.'));
        let word = &self.rest()[..length.unwrap_or(self.rest().len())];
        let value = match word {
            "" => {
                return Err(self.error(match self.rest().chars().next() {
                    None => "it ends where a number or `tid` should be".to_owned(),
                    Some(c) => format!("`{c}` where a number or `tid` should be"),
                }));
            }
            "tid" | "lane" | "threadIdx.x" => Expression::Lane,
            _ if word.starts_with(|c: char| c.is_ascii_digit()) => {
                let hex = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
                let number = match hex {
                    Some(digits) => i64::from_str_radix(digits, 16),
                    None => word.parse(),
                };
                Expression::Number(
                    number.map_err(|_| self.error(format!("`{word}` is no number")))?,
                )
            }
            _ => return Err(self.error(format!("`{word}` is unknown; the variable is `tid`"))),
        };
        self.at += word.len();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, lane: i64) -> i64 {
        Expression::parse(text).unwrap().value(lane).unwrap()
    }

    #[test]
    fn precedence_is_c_s() {
        assert_eq!(at("tid*33", 2), 66);
        assert_eq!(at("1+2*3", 0), 7);
        assert_eq!(at("10-3-2", 0), 5);
        assert_eq!(at("1 << 2 + 1", 0), 8);
        assert_eq!(at("tid & 1 == 1", 3), 1);
        assert_eq!(at("(tid & ~1) << 2", 5), 16);
        assert_eq!(at("tid < 16 ? tid : 31 - tid", 20), 11);
        assert_eq!(at("lane ^ 0x1f", 1), 30);
        assert_eq!(at("-tid % 7", 3), -3);
        assert_eq!(at("0 && 1/0 || !0", 0), 1);
    }

    #[test]
    fn errors_name_their_place() {
        let error = |text: &str| {
            let e = Expression::parse(text).unwrap_err();
            (e.at, e.what)
        };
        assert_eq!(error("tid*"), (4, "it ends where a number or `tid` should be".into()));
        assert_eq!(error("i*4"), (0, "`i` is unknown; the variable is `tid`".into()));
        assert_eq!(error("(tid"), (4, "`(` without its `)`".into()));
        assert_eq!(error("tid 4"), (4, "`4` where an operator or the end should be".into()));
        assert_eq!(error("99999999999999999999").0, 0);
        assert!(error(&"(".repeat(900)).1.contains("deeply"));
        assert!(error(&"-".repeat(900)).1.contains("deeply"));
        assert!(error(&"1+".repeat(900)).1.contains("longer"));
        for (text, what) in
            [("1/(tid-1)", "zero"), ("1<<64", "shifts"), ("9223372036854775807+1", "over")]
        {
            assert!(
                Expression::parse(text).unwrap().value(1).unwrap_err().contains(what),
                "{text}"
            );
        }
    }
}
