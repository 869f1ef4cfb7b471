// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tokens of the text form. Line ends are tokens: an instruction is one line.

use super::names::Word;
use super::parse::TextError;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A letter or `_`, then letters, digits, `_` and `.`.
    Word(String),
    /// A digit (or `-` and a digit), then letters, digits and `.`; checked when it is used.
    Number(String),
    Quoted(String),
    Arrow,
    Punct(char),
    Newline,
}

/// Tokens with a place in them.
pub(super) struct Cursor {
    tokens: Vec<(Token, u32)>,
    at: usize,
}

fn escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<char> {
    match chars.next()? {
        'n' => Some('\n'),
        'u' => {
            if chars.next()? != '{' {
                return None;
            }
            let mut code = String::new();
            loop {
                match chars.next()? {
                    '}' => break,
                    c => code.push(c),
                }
            }
            char::from_u32(u32::from_str_radix(&code, 16).ok()?)
        }
        c @ ('"' | '\\') => Some(c),
        _ => None,
    }
}

impl Cursor {
    pub(super) fn new(text: &str) -> Result<Cursor, TextError> {
        let mut tokens = Vec::new();
        let mut line = 1;
        let mut chars = text.chars().peekable();
        let error = |line, message: &str| TextError { line, message: message.to_string() };
        while let Some(c) = chars.next() {
            let rest = |first: char, chars: &mut std::iter::Peekable<std::str::Chars<'_>>| {
                let mut word = String::from(first);
                while let Some(&c) = chars.peek() {
                    if !(c.is_ascii_alphanumeric() || c == '_' || c == '.') {
                        break;
                    }
                    word.push(c);
                    chars.next();
                }
                word
            };
            let token = match c {
                '\n' => {
                    tokens.push((Token::Newline, line));
                    line += 1;
                    continue;
                }
                c if c.is_whitespace() => continue,
                ';' => {
                    // A comment, to the end of the line.
                    while chars.peek().is_some_and(|&c| c != '\n') {
                        chars.next();
                    }
                    continue;
                }
                '"' => {
                    let mut s = String::new();
                    loop {
                        match chars.next() {
                            Some('"') => break,
                            Some('\\') => {
                                let c = escape(&mut chars);
                                s.push(c.ok_or_else(|| error(line, "unknown escape in a string"))?);
                            }
                            Some('\n') | None => return Err(error(line, "string without end")),
                            Some(c) => s.push(c),
                        }
                    }
                    Token::Quoted(s)
                }
                '-' if chars.peek() == Some(&'>') => {
                    chars.next();
                    Token::Arrow
                }
                '-' if chars.peek().is_some_and(char::is_ascii_digit) => {
                    Token::Number(rest('-', &mut chars))
                }
                c if c.is_ascii_digit() => Token::Number(rest(c, &mut chars)),
                c if c.is_ascii_alphabetic() || c == '_' => Token::Word(rest(c, &mut chars)),
                c => Token::Punct(c),
            };
            tokens.push((token, line));
        }
        tokens.push((Token::Newline, line));
        Ok(Cursor { tokens, at: 0 })
    }

    /// An error at the next token.
    pub(super) fn error<T>(&self, message: impl Into<String>) -> Result<T, TextError> {
        let line = self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |t| t.1);
        Err(TextError { line, message: message.into() })
    }

    fn expected<T>(&self, what: &str) -> Result<T, TextError> {
        match self.peek() {
            Some(Token::Newline) => self.error(format!("expected {what} before the line's end")),
            Some(token) => self.error(format!("expected {what}, found {token:?}")),
            None => self.error(format!("expected {what} before the text's end")),
        }
    }

    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|t| &t.0)
    }

    fn peek_second(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1).map(|t| &t.0)
    }

    pub(super) fn at_line_end(&self) -> bool {
        matches!(self.peek(), Some(Token::Newline) | None)
    }

    pub(super) fn skip_blank_lines(&mut self) {
        while self.peek() == Some(&Token::Newline) {
            self.at += 1;
        }
    }

    pub(super) fn line_end(&mut self) -> Result<(), TextError> {
        if !self.at_line_end() {
            return self.expected("the line's end");
        }
        self.skip_blank_lines();
        Ok(())
    }

    pub(super) fn eat(&mut self, punct: char) -> bool {
        let found = self.peek() == Some(&Token::Punct(punct));
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn need(&mut self, punct: char) -> Result<(), TextError> {
        if self.eat(punct) { Ok(()) } else { self.expected(&format!("`{punct}`")) }
    }

    pub(super) fn arrow(&mut self) -> Result<(), TextError> {
        if self.peek() == Some(&Token::Arrow) {
            self.at += 1;
            return Ok(());
        }
        self.expected("`->`")
    }

    pub(super) fn any_word(&mut self) -> Result<String, TextError> {
        if let Some(Token::Word(word)) = self.peek() {
            let word = word.clone();
            self.at += 1;
            return Ok(word);
        }
        self.expected("a word")
    }

    pub(super) fn peek_word(&self) -> Option<&str> {
        match self.peek() {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    /// Takes the word if it is the next token, and not a key (`word=`).
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found =
            self.peek_word() == Some(word) && self.peek_second() != Some(&Token::Punct('='));
        if found {
            self.at += 1;
        }
        found
    }

    /// Takes `key=` if it comes next.
    pub(super) fn eat_key(&mut self, key: &str) -> bool {
        let found = self.peek_word() == Some(key) && self.peek_second() == Some(&Token::Punct('='));
        if found {
            self.at += 2;
        }
        found
    }

    /// A variant by its word, if one comes next.
    pub(super) fn eat_variant<W: Word>(&mut self) -> Option<W> {
        if self.peek_second() == Some(&Token::Punct('=')) {
            return None;
        }
        let found = self.peek_word().and_then(W::from_word);
        if found.is_some() {
            self.at += 1;
        }
        found
    }

    pub(super) fn variant<W: Word>(&mut self, what: &str) -> Result<W, TextError> {
        match self.eat_variant() {
            Some(v) => Ok(v),
            None => self.expected(what),
        }
    }

    pub(super) fn quoted(&mut self) -> Result<String, TextError> {
        if let Some(Token::Quoted(s)) = self.peek() {
            let s = s.clone();
            self.at += 1;
            return Ok(s);
        }
        self.expected("a string")
    }

    pub(super) fn number_text(&mut self) -> Result<String, TextError> {
        if let Some(Token::Number(n)) = self.peek() {
            let n = n.clone();
            self.at += 1;
            return Ok(n);
        }
        self.expected("a number")
    }

    /// A decimal or hexadecimal number that fits `N`.
    pub(super) fn number<N: TryFrom<i128>>(&mut self) -> Result<N, TextError> {
        let text = self.number_text()?;
        let value = match text.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16),
            None => text.parse(),
        };
        match value.ok().and_then(|v| N::try_from(v).ok()) {
            Some(n) => Ok(n),
            None => {
                self.at -= 1;
                self.error(format!("number {text} is malformed or out of range"))
            }
        }
    }

    pub(super) fn key<N: TryFrom<i128>>(&mut self, key: &str) -> Result<N, TextError> {
        if self.eat_key(key) { self.number() } else { self.expected(&format!("`{key}=`")) }
    }
}
