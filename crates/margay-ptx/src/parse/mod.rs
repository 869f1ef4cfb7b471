// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parser: text to [`Module`].
//!
//! Recursive descent without recursion where the guest chooses the depth: blocks are a stack, and
//! operands, initialisers and expressions nest to a limit. After an error the parser goes on behind
//! the statement, so that one run reports several. Time is linear in the text.

mod declaration;
mod directive;
mod function;
mod instruction;
mod module;
mod operand;

use crate::ast::{Module, Name};
use crate::diagnostic::Diagnostic;
use crate::frames::Frame;
use crate::lex::{Lexer, Problem, Result};
use crate::span::{LineIndex, Span};
use crate::symbol::{Symbol, Symbols};
use std::collections::HashMap;
use std::rc::Rc;

/// After so many errors the parser gives up.
const MOST_ERRORS: usize = 64;

/// How deeply blocks may nest.
const MOST_BLOCKS: usize = 256;

/// How deeply initialisers and operands may nest.
const MOST_NESTING: u32 = 32;

/// Parses a module.
///
/// # Errors
/// All the errors found, in the order of the text; at least one, at most 64.
pub fn parse(source: &str) -> std::result::Result<Module, Vec<Diagnostic>> {
    if u32::try_from(source.len()).is_err() {
        let message = "the text is longer than 4 GiB".to_string();
        let position = LineIndex::default().locate(0);
        return Err(vec![Diagnostic {
            span: Span::default(),
            position,
            message,
            expected: Vec::new(),
        }]);
    }
    let mut parser = Parser {
        lex: Lexer::new(source),
        symbols: Symbols::default(),
        problems: Vec::new(),
        opcodes: HashMap::default(),
    };
    let module = parser.module();
    let lines = LineIndex::new(source);
    let Parser { symbols, problems, .. } = parser;
    match module {
        Some(module) if problems.is_empty() => {
            let frames = Frame::of_text(source);
            Ok(Module { symbols, lines, frames, ..module })
        }
        _ => Err(problems
            .into_iter()
            .map(|p| Diagnostic {
                span: p.span,
                position: lines.locate(p.span.start),
                message: p.message,
                expected: p.expected,
            })
            .collect()),
    }
}

/// Parses a module from bytes as they come from a file or a driver call.
///
/// NUL bytes at the end are dropped. A byte that is not part of UTF-8 text is taken for U+001A, which is
/// an error but in comments and strings; so all spans hold for `bytes` too.
///
/// # Errors
/// As [`parse`].
pub fn parse_bytes(bytes: &[u8]) -> std::result::Result<Module, Vec<Diagnostic>> {
    parse(&text_of(bytes))
}

/// The text that [`parse_bytes`] parses, of the same length up to the NUL bytes at the end.
pub fn text_of(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1);
    let bytes = &bytes[..end];
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.into();
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '\u{1a}'));
    }
    text.into()
}

struct Parser<'a> {
    lex: Lexer<'a>,
    symbols: Symbols,
    problems: Vec<Problem>,
    /// What the opcodes written so far stand for.
    opcodes: HashMap<&'a str, Rc<[instruction::Candidate]>, hashbrown::DefaultHashBuilder>,
}

impl<'a> Parser<'a> {
    fn intern(&mut self, name: &str) -> Symbol {
        self.symbols.intern(name)
    }

    /// A name, or an error that says what it would have been of.
    fn name(&mut self, what: &str) -> Result<Name> {
        match self.lex.name() {
            Some((name, span)) => Ok(Name { symbol: self.intern(name), span }),
            None => Err(self.lex.unexpected([what])),
        }
    }

    /// Notes an error; `false` when there have been enough.
    fn report(&mut self, problem: impl Into<Problem>) -> bool {
        self.problems.push(problem.into());
        self.problems.len() < MOST_ERRORS
    }

    /// A non-negative integer constant of 32 bits, which may be an expression.
    fn small(&mut self, what: &str) -> Result<u32> {
        self.lex.peek();
        let start = self.lex.pos();
        let value = self.integer(what)?;
        u32::try_from(value)
            .map_err(|_| Problem::new(self.lex.span_from(start), format!("{what} is out of range")))
    }

    /// An integer constant, which may be an expression.
    fn integer(&mut self, what: &str) -> Result<u64> {
        if !crate::expr::begins(&mut self.lex) {
            return Err(self.lex.unexpected([what]));
        }
        let start = self.lex.pos();
        let value = crate::expr::expression(&mut self.lex)?;
        value.as_u64().ok_or_else(|| {
            Problem::new(self.lex.span_from(start), format!("{what} must be an integer"))
        })
    }

    /// `+ term - term …` after a name; 0 when there is none.
    fn offset(&mut self) -> Result<i64> {
        let mut sum = 0i64;
        loop {
            let start = {
                self.lex.peek();
                self.lex.pos()
            };
            let negative = if self.lex.eat(b'+') {
                false
            } else if self.lex.eat(b'-') {
                true
            } else {
                return Ok(sum);
            };
            let term = crate::expr::product(&mut self.lex)?;
            let Some(term) = term.as_i64() else {
                return Err(Problem::new(
                    self.lex.span_from(start),
                    "an offset must be an integer",
                ));
            };
            sum = if negative { sum.wrapping_sub(term) } else { sum.wrapping_add(term) };
        }
    }
}
