// SPDX-License-Identifier: MIT OR Apache-2.0
//! Module scope: the header, and the items after it.

use super::{MOST_ERRORS, Parser};
use crate::ast::{AddressSize, DwarfLine, Item, LineIndex, Module, Name, Symbols, Target, Version};
use crate::lex::{Problem, Result};

impl Parser<'_> {
    /// The whole text. `None` when the header is missing; errors are in `self.problems`.
    pub(super) fn module(&mut self) -> Option<Module> {
        let header = self.header();
        let (version, target) = match header {
            Ok(header) => header,
            Err(problem) => {
                self.report(problem);
                return None;
            }
        };
        let mut module = Module {
            version,
            target,
            address_size: None,
            items: Vec::new(),
            frames: Vec::new(),
            symbols: Symbols::default(),
            lines: LineIndex::default(),
        };
        while self.problems.len() < MOST_ERRORS && self.lex.peek().is_some() {
            let start = self.lex.pos();
            match self.item(&mut module) {
                Ok(()) => {}
                Err(problem) => {
                    if !self.report(problem) {
                        break;
                    }
                    self.skip_item(start);
                }
            }
        }
        Some(module)
    }

    /// Goes on behind an item with an error in it: behind its `;`, or at a line that begins with a
    /// directive of module scope.
    fn skip_item(&mut self, start: u32) {
        // An item that made no progress would be tried again for ever.
        let stuck = self.lex.pos() == start;
        if stuck && self.lex.eat(b'}') {
            return;
        }
        if stuck || !self.lex.peek_directive().is_some_and(super::function::begins_item) {
            self.lex.skip_statement();
        }
        while self.lex.eat(b'}') {}
    }

    fn header(&mut self) -> Result<(Version, Target)> {
        if !self.lex.eat_directive("version") {
            return Err(self.lex.unexpected(["`.version`"]));
        }
        let version = self.version()?;
        if !self.lex.eat_directive("target") {
            return Err(self.lex.unexpected(["`.target`"]));
        }
        Ok((version, self.target()?))
    }

    /// What follows `.version`.
    fn version(&mut self) -> Result<Version> {
        let start = self.lex.last_end - ".version".len() as u32;
        if !self.lex.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.lex.unexpected(["a version, such as `8.3`"]));
        }
        let from = self.lex.pos();
        let text = self.lex.dotted();
        let parts =
            text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        let span = self.lex.span_from(start);
        match parts {
            Some((major, minor)) => Ok(Version { major, minor, span }),
            None => {
                Err(Problem::new(self.lex.span_from(from), format!("`{text}` is not a version"))
                    .expecting(["two numbers and a dot"]))
            }
        }
    }

    /// What follows `.target`.
    fn target(&mut self) -> Result<Target> {
        let start = self.lex.last_end - ".target".len() as u32;
        let mut options: Vec<Name> = vec![self.name("a target, such as `sm_90`")?];
        while self.lex.eat(b',') {
            options.push(self.name("a platform option")?);
        }
        Ok(Target { options, span: self.lex.span_from(start) })
    }

    fn address_size(&mut self) -> Result<AddressSize> {
        let start = self.lex.last_end - ".address_size".len() as u32;
        let from = {
            self.lex.peek();
            self.lex.pos()
        };
        let bits = self.small("an address size")?;
        if bits != 32 && bits != 64 {
            return Err(Problem::new(self.lex.span_from(from), format!("address size {bits}"))
                .expecting(["32", "64"]));
        }
        Ok(AddressSize { bits, span: self.lex.span_from(start) })
    }

    fn item(&mut self, module: &mut Module) -> Result<()> {
        if self.lex.peek() == Some(b'@') {
            module.items.push(Item::Dwarf(self.dwarf_line()?));
            return Ok(());
        }
        let Some(word) = self.lex.peek_directive() else {
            return Err(self.lex.unexpected(["a directive"]));
        };
        let item = match word {
            "version" => {
                self.lex.take_directive(word);
                Item::Version(self.version()?)
            }
            "target" => {
                self.lex.take_directive(word);
                Item::Target(self.target()?)
            }
            "address_size" => {
                self.lex.take_directive(word);
                let size = self.address_size()?;
                if module.address_size.is_none() && module.items.is_empty() {
                    module.address_size = Some(size);
                    return Ok(());
                }
                Item::AddressSize(size)
            }
            "file" => Item::File(self.file()?),
            "section" => Item::Section(self.section()?),
            "alias" => Item::Alias(self.alias()?),
            "pragma" => Item::Pragma(self.pragma()?),
            _ => return self.linked_item(module),
        };
        module.items.push(item);
        Ok(())
    }

    /// A deprecated `@@DWARF` line.
    pub(super) fn dwarf_line(&mut self) -> Result<DwarfLine> {
        let start = self.lex.pos();
        if self.lex.at(1) == b'@' {
            self.lex.advance(2);
            if let Some(("DWARF", _)) = self.lex.name() {
                let text = self.lex.rest_of_line().to_string();
                return Ok(DwarfLine { text, span: self.lex.span_from(start) });
            }
        }
        Err(self.lex.unexpected(["`@@DWARF`"]))
    }
}
