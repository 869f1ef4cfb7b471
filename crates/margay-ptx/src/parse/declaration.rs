// SPDX-License-Identifier: MIT OR Apache-2.0
//! Declarations of variables, registers and parameters, and their initialisers.

use super::{MOST_NESTING, Parser};
use crate::ast::{
    Attribute, Immediate, Init, InitKind, Linkage, Name, PtrAttribute, ScalarType, StateSpace,
    Variable,
};
use crate::expr;
use crate::lex::{Problem, Result, begins_name};
use crate::span::Span;

/// What stands before the name in a declaration.
struct Head {
    start: u32,
    linkage: Option<Linkage>,
    attributes: Vec<Attribute>,
    space: StateSpace,
    bank: Option<u32>,
    align: Option<u32>,
    vector: Option<u8>,
    ty: ScalarType,
    ptr: Option<PtrAttribute>,
}

impl Parser<'_> {
    /// `.space … .type a, b = …;` with what stood before the space; calls `each` for every name.
    pub(super) fn variables(
        &mut self,
        start: u32,
        linkage: Option<Linkage>,
        attributes: Vec<Attribute>,
        mut each: impl FnMut(Variable),
    ) -> Result<()> {
        let head = self.declaration_head(start, linkage, attributes)?;
        loop {
            each(self.declarator(&head, true)?);
            if self.lex.eat(b';') {
                return Ok(());
            }
            if !self.lex.eat(b',') {
                return Err(self.lex.unexpected(["`,`", "`;`"]));
            }
        }
    }

    /// One parameter of a function or a prototype, where it may be without a name.
    pub(super) fn parameter(&mut self, named: bool) -> Result<Variable> {
        self.lex.peek();
        let head = self.declaration_head(self.lex.pos(), None, Vec::new())?;
        self.declarator(&head, named)
    }

    fn declaration_head(
        &mut self,
        start: u32,
        linkage: Option<Linkage>,
        attributes: Vec<Attribute>,
    ) -> Result<Head> {
        let spaces = || StateSpace::ALL.iter().map(|s| format!("`.{}`", s.name()));
        let Some((word, space)) =
            self.lex.peek_directive().and_then(|w| Some((w, StateSpace::from_name(w)?)))
        else {
            return Err(self.lex.unexpected(spaces()));
        };
        self.lex.take_directive(word);
        let mut head = Head {
            start,
            linkage,
            attributes,
            space,
            bank: None,
            align: None,
            vector: None,
            ty: ScalarType::B32,
            ptr: None,
        };
        if self.lex.eat(b'[') {
            head.bank = Some(self.small("a bank")?);
            self.lex.expect(b']')?;
        }
        let mut ty = None;
        while let Some(word) = self.lex.peek_directive() {
            match word {
                "align" => {
                    self.lex.take_directive(word);
                    head.align = Some(self.small("an alignment")?);
                }
                "v2" | "v4" | "v8" if head.vector.is_none() => {
                    self.lex.take_directive(word);
                    head.vector = Some(word.as_bytes()[1] - b'0');
                }
                "attribute" => head.attributes.extend(self.attributes()?),
                "ptr" if ty.is_some() && head.ptr.is_none() => {
                    self.lex.take_directive(word);
                    head.ptr = Some(self.ptr_attribute()?);
                }
                _ => match ScalarType::from_name(word) {
                    Some(found) if ty.is_none() => {
                        self.lex.take_directive(word);
                        ty = Some(found);
                    }
                    Some(_) | None => break,
                },
            }
        }
        let Some(ty) = ty else {
            return Err(self.lex.unexpected(["a type", "`.align`", "`.v2`", "`.v4`"]));
        };
        head.ty = ty;
        Ok(head)
    }

    /// What follows `.ptr`.
    fn ptr_attribute(&mut self) -> Result<PtrAttribute> {
        let mut ptr = PtrAttribute { space: None, align: None };
        while let Some(word) = self.lex.peek_directive() {
            match (word, StateSpace::from_name(word)) {
                ("align", _) if ptr.align.is_none() => {
                    self.lex.take_directive(word);
                    ptr.align = Some(self.small("an alignment")?);
                }
                (_, Some(space)) if ptr.space.is_none() => {
                    self.lex.take_directive(word);
                    ptr.space = Some(space);
                }
                _ => break,
            }
        }
        Ok(ptr)
    }

    /// `.attribute(.managed, .unified(1, 2))`
    pub(super) fn attributes(&mut self) -> Result<Vec<Attribute>> {
        self.lex.take_directive("attribute");
        self.lex.expect(b'(')?;
        let mut attributes = Vec::new();
        loop {
            match self.lex.peek_directive() {
                Some(word @ "managed") => {
                    self.lex.take_directive(word);
                    attributes.push(Attribute::Managed);
                }
                Some(word @ "unified") => {
                    self.lex.take_directive(word);
                    self.lex.expect(b'(')?;
                    let high = self.integer("an integer")?;
                    self.lex.expect(b',')?;
                    let low = self.integer("an integer")?;
                    self.lex.expect(b')')?;
                    attributes.push(Attribute::Unified(high, low));
                }
                Some(_) | None => return Err(self.lex.unexpected(["`.managed`", "`.unified`"])),
            }
            if self.lex.eat(b')') {
                return Ok(attributes);
            }
            self.lex.expect(b',')?;
        }
    }

    /// `name`, `%r<10>`, `name[4][]`, each perhaps `= …`.
    fn declarator(&mut self, head: &Head, named: bool) -> Result<Variable> {
        let name = if !named && matches!(self.lex.peek(), Some(b',' | b')' | b'[')) {
            Name { symbol: self.intern("_"), span: Span::new(self.lex.last_end, self.lex.last_end) }
        } else {
            self.declared_name()?
        };
        let range = self.range()?;
        let mut dims = Vec::new();
        while self.lex.eat(b'[') {
            if self.lex.eat(b']') {
                dims.push(None);
                continue;
            }
            dims.push(Some(self.integer("an array size")?));
            self.lex.expect(b']')?;
        }
        let init = if self.lex.eat(b'=') { Some(self.initialiser(MOST_NESTING)?) } else { None };
        Ok(Variable {
            linkage: head.linkage,
            attributes: head.attributes.clone(),
            space: head.space,
            bank: head.bank,
            align: head.align,
            vector: head.vector,
            ty: head.ty,
            ptr: head.ptr,
            name,
            range,
            dims,
            init,
            span: self.lex.span_from(head.start),
        })
    }

    /// A name that may be a lone `%` or `$`, as in `%<10>`.
    fn declared_name(&mut self) -> Result<Name> {
        if matches!(self.lex.peek(), Some(b'%' | b'$')) && self.lex.at(1) == b'<' {
            let start = self.lex.pos();
            let text = if self.lex.at(0) == b'%' { "%" } else { "$" };
            self.lex.bump();
            return Ok(Name { symbol: self.intern(text), span: self.lex.span_from(start) });
        }
        self.name("a name")
    }

    /// `<N>` after a name.
    pub(super) fn range(&mut self) -> Result<Option<u32>> {
        if !self.lex.eat(b'<') {
            return Ok(None);
        }
        if !self.lex.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.lex.unexpected(["a number of names"]));
        }
        // Not an expression: `>` ends it.
        let start = self.lex.pos();
        let count = self.lex.number()?.as_u64().and_then(|n| u32::try_from(n).ok());
        let Some(count) = count else {
            return Err(Problem::new(self.lex.span_from(start), "number of names is out of range"));
        };
        self.lex.expect(b'>')?;
        Ok(Some(count))
    }

    fn initialiser(&mut self, depth: u32) -> Result<Init> {
        let next = self.lex.peek();
        let start = self.lex.pos();
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Problem::new(Span::new(start, start + 1), "initialiser nested too deeply"));
        };
        let kind = match next {
            Some(b'{') => {
                self.lex.bump();
                let mut items = Vec::new();
                let mut closed = self.lex.eat(b'}');
                while !closed {
                    items.push(self.initialiser(depth)?);
                    closed = self.lex.eat(b'}');
                    if !closed && !self.lex.eat(b',') {
                        return Err(self.lex.unexpected(["`,`", "`}`"]));
                    }
                }
                InitKind::List(items)
            }
            Some(_) if expr::begins(&mut self.lex) => {
                let value = expr::expression(&mut self.lex)?;
                match (value, self.lex.peek()) {
                    (Immediate::Int { bits: mask, .. }, Some(b'(')) => {
                        self.lex.bump();
                        let value = Box::new(self.initialiser(depth)?);
                        self.lex.expect(b')')?;
                        InitKind::Mask { mask, value }
                    }
                    _ => InitKind::Immediate(value),
                }
            }
            Some(b) if begins_name(b) => {
                let name = self.name("a name")?;
                if self.symbols.name(name.symbol) == "generic" && self.lex.eat(b'(') {
                    let symbol = self.name("a variable")?.symbol;
                    self.lex.expect(b')')?;
                    let offset = self.offset()?;
                    InitKind::Address { symbol, offset, generic: true }
                } else if self.lex.eat(b'=') {
                    InitKind::Field {
                        field: name.symbol,
                        value: Box::new(self.initialiser(depth)?),
                    }
                } else {
                    InitKind::Address {
                        symbol: name.symbol,
                        offset: self.offset()?,
                        generic: false,
                    }
                }
            }
            Some(_) | None => return Err(self.lex.unexpected(["an initialiser"])),
        };
        Ok(Init { kind, span: self.lex.span_from(start) })
    }
}
