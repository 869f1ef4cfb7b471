// SPDX-License-Identifier: MIT OR Apache-2.0
//! The scanner: bytes to words, numbers and strings, on demand.
//!
//! What a character means depends on the place (a dot begins a directive, a modifier, a component or a
//! fraction), so the parser asks for what it wants and there is no stream of tokens. Every step
//! takes time proportional to the bytes it passes.

use crate::ast::Immediate;
use crate::span::Span;

/// An error before it gets its line and column.
#[derive(Debug)]
pub(crate) struct Problem {
    pub span: Span,
    pub message: String,
    pub expected: Vec<String>,
}

pub(crate) type Result<T> = std::result::Result<T, Box<Problem>>;

impl From<Box<Problem>> for Problem {
    fn from(problem: Box<Problem>) -> Problem {
        *problem
    }
}

impl Problem {
    pub fn new(span: Span, message: impl Into<String>) -> Box<Problem> {
        Box::new(Problem { span, message: message.into(), expected: Vec::new() })
    }

    pub fn expecting<S: Into<String>>(
        mut self: Box<Self>,
        expected: impl IntoIterator<Item = S>,
    ) -> Box<Problem> {
        self.expected.extend(expected.into_iter().map(Into::into));
        self
    }
}

/// A place in the text.
#[derive(Clone)]
pub(crate) struct Lexer<'a> {
    pub text: &'a str,
    bytes: &'a [u8],
    pos: usize,
    /// End of the last thing that was consumed.
    pub last_end: u32,
}

/// Whether an identifier may begin with this byte.
pub(crate) fn begins_name(b: u8) -> bool {
    b.is_ascii_alphabetic() || matches!(b, b'_' | b'$' | b'%')
}

fn continues_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$')
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, bytes: text.as_bytes(), pos: 0, last_end: 0 }
    }

    /// Where the next thing begins, after [`Lexer::peek`].
    pub fn pos(&self) -> u32 {
        self.pos as u32
    }

    pub fn at(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    /// The next byte, past white space and comments; `None` at the end.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.at(0) {
                b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => self.pos += 1,
                b'/' if self.at(1) == b'/' => self.skip_line(),
                b'/' if self.at(1) == b'*' => match self.text[self.pos + 2..].find("*/") {
                    Some(i) => self.pos += i + 4,
                    // Left for `unexpected` to report.
                    None => return Some(b'/'),
                },
                // A line marker that a preprocessor leaves behind.
                b'#' if self.begins_line() && self.is_line_marker() => self.skip_line(),
                0 if self.pos >= self.bytes.len() => return None,
                b => return Some(b),
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.pos..];
        self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
    }

    fn begins_line(&self) -> bool {
        let before = &self.bytes[..self.pos];
        before.iter().rev().take_while(|&&b| b != b'\n').all(|b| matches!(b, b' ' | b'\t'))
    }

    fn is_line_marker(&self) -> bool {
        let rest = &self.bytes[self.pos + 1..];
        let rest = rest.trim_ascii_start();
        rest.first().is_some_and(u8::is_ascii_digit) || rest.starts_with(b"line")
    }

    pub fn bump(&mut self) {
        self.advance(1);
    }

    pub fn advance(&mut self, bytes: usize) {
        self.pos += bytes;
        self.last_end = self.pos as u32;
    }

    /// Consumes `b` if it is next.
    pub fn eat(&mut self, b: u8) -> bool {
        let found = self.peek() == Some(b);
        if found {
            self.bump();
        }
        found
    }

    pub fn expect(&mut self, b: u8) -> Result<()> {
        if self.eat(b) { Ok(()) } else { Err(self.unexpected([format!("`{}`", b as char)])) }
    }

    /// The span from `start` to the end of what was last consumed.
    pub fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.last_end.max(start))
    }

    /// An error about whatever comes next.
    pub fn unexpected<S: Into<String>>(
        &mut self,
        expected: impl IntoIterator<Item = S>,
    ) -> Box<Problem> {
        let next = self.peek();
        let start = self.pos as u32;
        let (length, message) = match next {
            None => (0, "unexpected end of the text".to_string()),
            Some(b'/') if self.at(1) == b'*' => (2, "comment without end".to_string()),
            Some(b'#') if self.begins_line() => {
                (1, "preprocessor directives are not supported".to_string())
            }
            Some(0) => (1, "unexpected NUL byte".to_string()),
            Some(_) => {
                let rest = &self.text[self.pos..];
                let word = rest
                    .bytes()
                    .take_while(|&b| continues_name(b) || b == b'.' || b == b'%')
                    .count()
                    .min(60);
                let length =
                    if word > 0 { word } else { rest.chars().next().map_or(1, char::len_utf8) };
                (length, format!("unexpected `{}`", rest[..length].escape_debug()))
            }
        };
        Problem::new(Span::new(start, start + length as u32), message).expecting(expected)
    }

    /// The name that comes next, if one does; `%` and `$` belong to names.
    pub fn name(&mut self) -> Option<(&'a str, Span)> {
        let b = self.peek()?;
        if !begins_name(b) {
            return None;
        }
        let rest = &self.bytes[self.pos + 1..];
        let length = 1 + rest.iter().take_while(|&&b| continues_name(b)).count();
        if length == 1 && matches!(b, b'$' | b'%') {
            return None;
        }
        let start = self.pos;
        self.advance(length);
        Some((&self.text[start..start + length], Span::new(start as u32, self.last_end)))
    }

    /// The word after a dot that comes next (a directive), without the dot.
    pub fn peek_directive(&mut self) -> Option<&'a str> {
        if self.peek()? != b'.' {
            return None;
        }
        let rest = &self.bytes[self.pos + 1..];
        let length = rest.iter().take_while(|&&b| b.is_ascii_alphanumeric() || b == b'_').count();
        (length > 0).then(|| &self.text[self.pos + 1..self.pos + 1 + length])
    }

    /// Consumes the directive `word`, which [`Lexer::peek_directive`] gave.
    pub fn take_directive(&mut self, word: &str) -> Span {
        let start = self.pos as u32;
        self.advance(word.len() + 1);
        self.span_from(start)
    }

    pub fn eat_directive(&mut self, word: &str) -> bool {
        let found = self.peek_directive() == Some(word);
        if found {
            self.take_directive(word);
        }
        found
    }

    /// A word of modifiers: letters, digits, `_`, `:`, and dots between them, all without spaces.
    /// A bank may follow `.const`.
    pub fn dotted(&mut self) -> &'a str {
        let start = self.pos;
        loop {
            let rest = &self.bytes[self.pos..];
            let n = rest
                .iter()
                .take_while(|&&b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':'))
                .count();
            self.pos += n;
            if n == 0 || self.at(0) != b'[' || !self.text[start..self.pos].ends_with(".const") {
                break;
            }
            let digits =
                self.bytes[self.pos + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
            if digits == 0 || self.at(digits + 1) != b']' {
                break;
            }
            self.pos += digits + 2;
        }
        self.last_end = self.pos as u32;
        &self.text[start..self.pos]
    }

    /// A string in double quotes, without them. Strings have no escapes and end on their line.
    pub fn string(&mut self) -> Result<&'a str> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected(["a string"]));
        }
        let start = self.pos + 1;
        let rest = &self.bytes[start..];
        match rest.iter().position(|&b| b == b'"' || b == b'\n') {
            Some(n) if rest[n] == b'"' => {
                self.advance(n + 2);
                Ok(&self.text[start..start + n])
            }
            _ => Err(Problem::new(
                Span::new(self.pos as u32, self.pos as u32 + 1),
                "string without end",
            )),
        }
    }

    /// The rest of the line, consumed.
    pub fn rest_of_line(&mut self) -> &'a str {
        let start = self.pos;
        self.skip_line();
        self.last_end = self.pos as u32;
        self.text[start..self.pos].trim()
    }

    /// A number: integers in all four bases, `0f` and `0d` bits, decimal fractions.
    pub fn number(&mut self) -> Result<Immediate> {
        self.peek();
        let start = self.pos;
        let rest = &self.bytes[start..];
        let run =
            |from: usize, ok: fn(&u8) -> bool| rest.iter().skip(from).take_while(|b| ok(b)).count();
        let word = run(0, u8::is_ascii_alphanumeric);
        let text = &self.text[start..start + word];
        let span = Span::new(start as u32, (start + word.max(1)) as u32);
        let bad = |what: &str| Problem::new(span, format!("`{text}` is not {what}"));
        match (rest.first(), rest.get(1)) {
            (Some(b'0'), Some(b'f' | b'F')) => {
                let bits = exact_hex(&text[2..], 8)
                    .ok_or_else(|| bad("a single: `0f` takes 8 hexadecimal digits"))?;
                self.advance(word);
                return Ok(Immediate::F32(bits as u32));
            }
            (Some(b'0'), Some(b'd' | b'D')) => {
                let bits = exact_hex(&text[2..], 16)
                    .ok_or_else(|| bad("a double: `0d` takes 16 hexadecimal digits"))?;
                self.advance(word);
                return Ok(Immediate::F64(bits));
            }
            _ => {}
        }
        let whole = run(0, u8::is_ascii_digit);
        let fraction =
            if rest.get(whole) == Some(&b'.') { 1 + run(whole + 1, u8::is_ascii_digit) } else { 0 };
        let mut exponent = 0;
        if matches!(rest.get(whole + fraction), Some(b'e' | b'E')) && whole + fraction > 0 {
            let sign = usize::from(matches!(rest.get(whole + fraction + 1), Some(b'+' | b'-')));
            let digits = run(whole + fraction + 1 + sign, u8::is_ascii_digit);
            exponent = if digits > 0 { 1 + sign + digits } else { 0 };
        }
        if (fraction > 0 || exponent > 0) && (whole > 0 || fraction > 1) {
            let length = whole + fraction + exponent;
            let text = &self.text[start..start + length];
            let value: f64 = text.parse().map_err(|_| bad("a number"))?;
            if value.is_infinite() {
                return Err(Problem::new(
                    Span::new(start as u32, (start + length) as u32),
                    "constant overflows a double",
                ));
            }
            self.advance(length);
            return Ok(Immediate::F64(value.to_bits()));
        }
        if whole == 0 {
            return Err(self.unexpected(["a number"]));
        }
        let (digits, suffix) = match text.strip_suffix('U') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let parsed = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => u64::from_str_radix(&digits[2..], 16),
            [b'0', b'b' | b'B', ..] => u64::from_str_radix(&digits[2..], 2),
            [b'0', _, ..] => u64::from_str_radix(&digits[1..], 8),
            _ => digits.parse(),
        };
        let bits = parsed.map_err(|_| bad("an integer of 64 bits"))?;
        self.advance(word);
        Ok(Immediate::Int { bits, signed: !suffix && i64::try_from(bits).is_ok() })
    }

    /// Skips to the end of a statement, after an error in it: past `;`, or before the `}` that
    /// closes the block. Says whether anything is left.
    pub fn skip_statement(&mut self) -> bool {
        let mut depth = 0u32;
        while let Some(b) = self.peek() {
            match b {
                b';' if depth == 0 => {
                    self.bump();
                    return true;
                }
                b'{' => depth += 1,
                b'}' if depth == 0 => return true,
                b'}' => depth -= 1,
                b'"' => {
                    let rest = &self.bytes[self.pos + 1..];
                    self.pos +=
                        rest.iter().position(|&b| b == b'"' || b == b'\n').unwrap_or(rest.len());
                }
                b'/' if self.at(1) == b'*' => {
                    self.pos = self.bytes.len();
                    return false;
                }
                _ => {}
            }
            self.pos = (self.pos + 1).min(self.bytes.len());
            while !self.text.is_char_boundary(self.pos) {
                self.pos += 1;
            }
        }
        false
    }
}

fn exact_hex(digits: &str, count: usize) -> Option<u64> {
    (digits.len() == count && digits.bytes().all(|b| b.is_ascii_hexdigit()))
        .then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
}
