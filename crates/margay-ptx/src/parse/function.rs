// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions: head, directives, and the statements of the body.

use super::{MOST_BLOCKS, Parser};
use crate::ast::{
    Block, CallPrototype, Function, FunctionDirective, FunctionKind, Item, Linkage, Module, Name,
    StateSpace, Statement, TargetList, Variable,
};
use crate::lex::{Problem, Result, begins_name};
use crate::span::Span;

/// Whether a directive begins an item of module scope.
pub(super) fn begins_item(word: &str) -> bool {
    let others = [
        "entry",
        "func",
        "file",
        "section",
        "alias",
        "pragma",
        "target",
        "version",
        "address_size",
    ];
    others.contains(&word)
        || Linkage::from_name(word).is_some()
        || StateSpace::from_name(word).is_some()
}

/// A block whose `}` has not come yet.
#[derive(Default)]
struct Open {
    statements: Vec<Statement>,
    start: u32,
}

impl Parser<'_> {
    /// A function or a variable of module scope, with its linkage.
    pub(super) fn linked_item(&mut self, module: &mut Module) -> Result<()> {
        let start = self.lex.pos();
        let linkage = self.linkage();
        let mut attributes = Vec::new();
        while self.lex.peek_directive() == Some("attribute") {
            attributes.extend(self.attributes()?);
        }
        match self.lex.peek_directive() {
            Some(word @ ("entry" | "func")) => {
                self.lex.take_directive(word);
                let kind = if word == "entry" { FunctionKind::Entry } else { FunctionKind::Func };
                let mut function = Function {
                    linkage,
                    kind,
                    attributes,
                    returns: Vec::new(),
                    name: Name { symbol: self.intern(""), span: Span::default() },
                    params: Vec::new(),
                    directives: Vec::new(),
                    body: None,
                    span: Span::default(),
                };
                self.function(&mut function)?;
                function.span = self.lex.span_from(start);
                module.items.push(Item::Function(Box::new(function)));
                Ok(())
            }
            Some(word) if StateSpace::from_name(word).is_some() => {
                self.variables(start, linkage, attributes, |v| {
                    module.items.push(Item::Variable(Box::new(v)))
                })
            }
            Some(_) | None => Err(self.lex.unexpected(["a directive of module scope"])),
        }
    }

    fn linkage(&mut self) -> Option<Linkage> {
        let word = self.lex.peek_directive()?;
        let linkage = Linkage::from_name(word)?;
        self.lex.take_directive(word);
        Some(linkage)
    }

    /// What follows `.entry` or `.func`.
    fn function(&mut self, function: &mut Function) -> Result<()> {
        while self.lex.peek_directive() == Some("attribute") {
            function.attributes.extend(self.attributes()?);
        }
        if function.kind == FunctionKind::Func && self.lex.peek() == Some(b'(') {
            function.returns = self.parameters(true)?;
        }
        function.name = self.name("the function's name")?;
        if self.lex.peek() == Some(b'(') {
            function.params = self.parameters(true)?;
        }
        function.directives = self.function_directives()?;
        if self.lex.eat(b';') {
            return Ok(());
        }
        if self.lex.peek() != Some(b'{') {
            // Before PTX 2.0 compilers left the semicolon of a prototype out.
            if self.lex.peek_directive().is_some_and(begins_item) {
                return Ok(());
            }
            return Err(self.lex.unexpected(["`{`", "`;`", "a directive of the function"]));
        }
        function.body = Some(self.body());
        Ok(())
    }

    fn function_directives(&mut self) -> Result<Vec<FunctionDirective>> {
        std::iter::from_fn(|| self.function_directive().transpose()).collect()
    }

    /// `( … )`; in a prototype, parameters need no names.
    fn parameters(&mut self, named: bool) -> Result<Vec<Variable>> {
        self.lex.expect(b'(')?;
        let mut parameters = Vec::new();
        if self.lex.eat(b')') {
            return Ok(parameters);
        }
        loop {
            parameters.push(self.parameter(named)?);
            if self.lex.eat(b')') {
                return Ok(parameters);
            }
            if !self.lex.eat(b',') {
                return Err(self.lex.unexpected(["`,`", "`)`"]));
            }
        }
    }

    /// The body from `{` to `}`. Errors in statements are reported here, and parsing goes on.
    fn body(&mut self) -> Block {
        let mut open: Vec<Open> = Vec::new();
        loop {
            let next = self.lex.peek();
            let start = self.lex.pos();
            match next {
                Some(b'{') if open.len() < MOST_BLOCKS => {
                    self.lex.bump();
                    open.push(Open { statements: Vec::new(), start });
                    continue;
                }
                Some(b'{') => {
                    self.report(Problem::new(
                        Span::new(start, start + 1),
                        "blocks nested too deeply",
                    ));
                    return Block::default();
                }
                Some(b'}') => {
                    self.lex.bump();
                    let Some(Open { statements, start }) = open.pop() else {
                        return Block::default();
                    };
                    let block = Block { statements, span: self.lex.span_from(start) };
                    match open.last_mut() {
                        Some(outer) => outer.statements.push(Statement::Block(block)),
                        None => return block,
                    }
                    continue;
                }
                Some(_) => {}
                None => {
                    // After an error, the brace may have been skipped with it.
                    if self.problems.is_empty() {
                        let problem = self.lex.unexpected(["`}`"]);
                        self.report(problem);
                    }
                    return Block::default();
                }
            }
            let Some(block) = open.last_mut() else { return Block::default() };
            if let Err(problem) = self.statement(&mut block.statements) {
                if !self.report(problem) {
                    return Block::default();
                }
                if self.lex.pos() == start && self.lex.peek() == Some(b'}') {
                    continue;
                }
                self.lex.skip_statement();
            }
        }
    }

    fn statement(&mut self, into: &mut Vec<Statement>) -> Result<()> {
        let start = self.lex.pos();
        let statement = match self.lex.peek() {
            Some(b'@') if self.lex.at(1) == b'@' => Statement::Dwarf(self.dwarf_line()?),
            Some(b'@') => {
                let guard = self.guard()?;
                Statement::Instruction(Box::new(self.instruction(Some(guard))?))
            }
            Some(b'.') => match self.lex.peek_directive() {
                Some("loc") => Statement::Loc(Box::new(self.loc()?)),
                Some("pragma") => Statement::Pragma(self.pragma()?),
                Some("file") => Statement::File(self.file()?),
                Some("section") => Statement::Section(self.section()?),
                Some(word @ ("branchtargets" | "calltargets" | "callprototype")) => {
                    let message = format!("`.{word}` without a label");
                    let length = word.len() as u32 + 1;
                    return Err(Problem::new(Span::new(start, start + length), message)
                        .expecting(["a label before it"]));
                }
                Some(_) | None => {
                    let linkage = self.linkage();
                    let mut attributes = Vec::new();
                    while self.lex.peek_directive() == Some("attribute") {
                        attributes.extend(self.attributes()?);
                    }
                    let declares = self
                        .lex
                        .peek_directive()
                        .is_some_and(|w| StateSpace::from_name(w).is_some());
                    if !declares {
                        return Err(self.lex.unexpected(["a declaration", "`.loc`", "`.pragma`"]));
                    }
                    return self.variables(start, linkage, attributes, |v| {
                        into.push(Statement::Variable(Box::new(v)))
                    });
                }
            },
            Some(b) if begins_name(b) => match self.label()? {
                Some(label) => self.labelled(label)?,
                None => Statement::Instruction(Box::new(self.instruction(None)?)),
            },
            Some(_) | None => return Err(self.lex.unexpected(["a statement"])),
        };
        into.push(statement);
        Ok(())
    }

    /// `name:`; nothing is consumed when no colon follows the name.
    fn label(&mut self) -> Result<Option<Name>> {
        let before = self.lex.clone();
        if let Some((text, span)) = self.lex.name()
            && self.lex.at(0) != b'.'
            && self.lex.eat(b':')
        {
            return Ok(Some(Name { symbol: self.intern(text), span }));
        }
        self.lex = before;
        Ok(None)
    }

    /// What a label stands before: a list of targets, a prototype, or any statement.
    fn labelled(&mut self, label: Name) -> Result<Statement> {
        match self.lex.peek_directive() {
            Some(word @ ("branchtargets" | "calltargets")) => {
                self.lex.take_directive(word);
                let mut targets = Vec::new();
                loop {
                    let name = self.name("a target")?;
                    targets.push((name, self.range()?));
                    if self.lex.eat(b';') {
                        break;
                    }
                    if !self.lex.eat(b',') {
                        return Err(self.lex.unexpected(["`,`", "`;`"]));
                    }
                }
                let list =
                    TargetList { label, targets, span: self.lex.span_from(label.span.start) };
                Ok(if word == "branchtargets" {
                    Statement::BranchTargets(list)
                } else {
                    Statement::CallTargets(list)
                })
            }
            Some("callprototype") => {
                self.lex.take_directive("callprototype");
                let returns = if self.lex.peek() == Some(b'(') {
                    self.parameters(false)?
                } else {
                    Vec::new()
                };
                let name = self.name("`_`")?;
                let params = if self.lex.peek() == Some(b'(') {
                    self.parameters(false)?
                } else {
                    Vec::new()
                };
                let directives = self.function_directives()?;
                self.lex.expect(b';')?;
                let span = self.lex.span_from(label.span.start);
                Ok(Statement::CallPrototype(Box::new(CallPrototype {
                    label,
                    returns,
                    name,
                    params,
                    directives,
                    span,
                })))
            }
            Some(_) | None => Ok(Statement::Label(label)),
        }
    }
}
