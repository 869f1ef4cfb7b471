// SPDX-License-Identifier: MIT OR Apache-2.0
//! Directives other than declarations and functions: debugging, pragmas, aliases, and those that
//! tune a function.

use super::Parser;
use crate::ast::{
    Alias, File, FunctionDirective, FunctionDirectiveKind, InlinedAt, Loc, Name, Pragma,
    ScalarType, Section, SectionItem, SectionValue,
};
use crate::expr;
use crate::lex::{Result, begins_name};

impl Parser<'_> {
    /// `.file index "name" {, timestamp, size}`
    pub(super) fn file(&mut self) -> Result<File> {
        let start = self.lex.take_directive("file").start;
        let index = self.small("a file index")?;
        let name = self.lex.string()?.to_string();
        let mut timestamp_size = None;
        if self.lex.eat(b',') {
            let timestamp = self.integer("a timestamp")?;
            self.lex.expect(b',')?;
            timestamp_size = Some((timestamp, self.integer("a file size")?));
        }
        let span = self.lex.span_from(start);
        self.lex.eat(b';');
        Ok(File { index, name, timestamp_size, span })
    }

    /// `.loc file line column {, function_name label {+ imm}, inlined_at file line column}`
    pub(super) fn loc(&mut self) -> Result<Loc> {
        let start = self.lex.take_directive("loc").start;
        let file = self.small("a file index")?;
        let line = self.small("a line")?;
        let column = self.small("a column")?;
        let mut inlined = None;
        if self.lex.eat(b',') {
            self.keyword("function_name")?;
            let function_name = self.label_or_section("a label in `.debug_str`")?;
            let offset = self.offset()?;
            self.lex.expect(b',')?;
            self.keyword("inlined_at")?;
            inlined = Some(InlinedAt {
                function_name,
                offset,
                file: self.small("a file index")?,
                line: self.small("a line")?,
                column: self.small("a column")?,
            });
        }
        let span = self.lex.span_from(start);
        self.lex.eat(b';');
        Ok(Loc { file, line, column, inlined, span })
    }

    fn keyword(&mut self, word: &str) -> Result<()> {
        self.lex.peek();
        let before = self.lex.clone();
        match self.lex.name() {
            Some((name, _)) if name == word => Ok(()),
            _ => {
                self.lex = before;
                Err(self.lex.unexpected([format!("`{word}`")]))
            }
        }
    }

    /// A name, or the name of a section with its dot.
    fn label_or_section(&mut self, what: &str) -> Result<Name> {
        match self.lex.peek_directive() {
            Some(word) => {
                let span = self.lex.take_directive(word);
                let symbol = self.intern(&format!(".{word}"));
                Ok(Name { symbol, span })
            }
            None => self.name(what),
        }
    }

    /// `.pragma "a", "b";`
    pub(super) fn pragma(&mut self) -> Result<Pragma> {
        let start = self.lex.take_directive("pragma").start;
        let strings = self.pragma_strings()?;
        Ok(Pragma { strings, span: self.lex.span_from(start) })
    }

    fn pragma_strings(&mut self) -> Result<Vec<String>> {
        let mut strings = vec![self.lex.string()?.to_string()];
        while self.lex.eat(b',') {
            strings.push(self.lex.string()?.to_string());
        }
        self.lex.expect(b';')?;
        Ok(strings)
    }

    /// `.alias a, b;`
    pub(super) fn alias(&mut self) -> Result<Alias> {
        let start = self.lex.take_directive("alias").start;
        let alias = self.name("a function")?;
        self.lex.expect(b',')?;
        let aliasee = self.name("a function")?;
        self.lex.expect(b';')?;
        Ok(Alias { alias, aliasee, span: self.lex.span_from(start) })
    }

    /// `.section .debug_info { … }`
    pub(super) fn section(&mut self) -> Result<Section> {
        let start = self.lex.take_directive("section").start;
        let name = self.label_or_section("a section, such as `.debug_info`")?;
        self.lex.expect(b'{')?;
        let mut items = Vec::new();
        while !self.lex.eat(b'}') {
            items.push(self.section_item()?);
        }
        Ok(Section { name, items, span: self.lex.span_from(start) })
    }

    fn section_item(&mut self) -> Result<SectionItem> {
        const TYPES: [ScalarType; 4] =
            [ScalarType::B8, ScalarType::B16, ScalarType::B32, ScalarType::B64];
        if self.lex.peek().is_some_and(begins_name) {
            let label = self.name("a label")?;
            self.lex.expect(b':')?;
            return Ok(SectionItem::Label(label));
        }
        let found = self
            .lex
            .peek_directive()
            .and_then(|w| Some((w, ScalarType::from_name(w).filter(|t| TYPES.contains(t))?)));
        let Some((word, ty)) = found else {
            return Err(self
                .lex
                .unexpected(["`.b8`", "`.b16`", "`.b32`", "`.b64`", "a label", "`}`"]));
        };
        let start = self.lex.take_directive(word).start;
        let mut values = Vec::new();
        loop {
            values.push(self.section_value()?);
            if !self.lex.eat(b',') {
                break;
            }
        }
        let span = self.lex.span_from(start);
        self.lex.eat(b';');
        Ok(SectionItem::Data { ty, values, span })
    }

    fn section_value(&mut self) -> Result<SectionValue> {
        if expr::begins(&mut self.lex) {
            return Ok(SectionValue::Int(expr::expression(&mut self.lex)?));
        }
        let symbol = self.label_or_section("a constant or a label")?.symbol;
        if self.lex.peek() == Some(b'-') {
            let before = self.lex.clone();
            self.lex.bump();
            if self.lex.peek().is_some_and(begins_name) && !expr::begins(&mut self.lex) {
                return Ok(SectionValue::Difference(symbol, self.name("a label")?.symbol));
            }
            self.lex = before;
        }
        Ok(SectionValue::Label { symbol, offset: self.offset()? })
    }

    /// The directive of a function that comes next, if one does.
    pub(super) fn function_directive(&mut self) -> Result<Option<FunctionDirective>> {
        use FunctionDirectiveKind as Kind;
        let Some(word) = self.lex.peek_directive() else { return Ok(None) };
        self.lex.peek();
        let start = self.lex.pos();
        let list: Option<fn(Vec<u32>) -> Kind> = match word {
            "maxntid" => Some(Kind::MaxNTid),
            "reqntid" => Some(Kind::ReqNTid),
            "reqnctapercluster" => Some(Kind::ReqNCtaPerCluster),
            _ => None,
        };
        let number: Option<fn(u32) -> Kind> = match word {
            "maxnreg" => Some(Kind::MaxNReg),
            "minnctapersm" => Some(Kind::MinNCtaPerSm),
            "maxnctapersm" => Some(Kind::MaxNCtaPerSm),
            "maxclusterrank" => Some(Kind::MaxClusterRank),
            "abi_preserve" => Some(Kind::AbiPreserve),
            "abi_preserve_control" => Some(Kind::AbiPreserveControl),
            _ => None,
        };
        let kind = if let Some(kind) = list {
            self.lex.take_directive(word);
            let mut extents = vec![self.small("a number")?];
            while extents.len() < 3 && self.lex.eat(b',') {
                extents.push(self.small("a number")?);
            }
            kind(extents)
        } else if let Some(kind) = number {
            self.lex.take_directive(word);
            kind(self.small("a number")?)
        } else {
            let kind = match word {
                "noreturn" => Kind::NoReturn,
                "explicitcluster" => Kind::ExplicitCluster,
                "blocksareclusters" => Kind::BlocksAreClusters,
                "pragma" => {
                    self.lex.take_directive(word);
                    let strings = self.pragma_strings()?;
                    return Ok(Some(FunctionDirective {
                        kind: Kind::Pragma(strings),
                        span: self.lex.span_from(start),
                    }));
                }
                _ => return Ok(None),
            };
            self.lex.take_directive(word);
            kind
        };
        Ok(Some(FunctionDirective { kind, span: self.lex.span_from(start) }))
    }
}
