// SPDX-License-Identifier: MIT OR Apache-2.0
//! `.file`, `.loc` and the names of inlined functions, to [`SrcLoc`]s.
//!
//! `inlined_at file line column` names the place of the call. That place was given by an earlier
//! `.loc`, which may itself be inlined: the last one with these numbers is taken, so that chains
//! come out whole.

use std::collections::HashMap;
use std::sync::Arc;

use margay_ptx::ast::{self, Item, SectionItem, SectionValue, Span, Statement, Symbol};

use crate::inst::LocId;
use crate::module::SrcLoc;

#[derive(Debug, Default)]
pub(super) struct Debug {
    pub files: Vec<Arc<str>>,
    pub locs: Vec<SrcLoc>,
    file_numbers: HashMap<u32, u32>,
    /// The `.loc` in force, without PTX line.
    current: SrcLoc,
    /// Last location with a file, line and column.
    last: HashMap<(Option<u32>, u32, u32), u32>,
    strings: Vec<u8>,
    labels: HashMap<Symbol, usize>,
    names: HashMap<(Symbol, i64), Option<Arc<str>>>,
}

impl Debug {
    /// Reads all `.file` and `.section .debug_str` items, which may stand after their uses.
    pub fn new(module: &ast::Module) -> Debug {
        let mut debug = Debug { locs: vec![SrcLoc::default()], ..Debug::default() };
        for item in &module.items {
            match item {
                Item::File(file) => debug.file(file),
                Item::Section(section) => debug.section(section, module),
                Item::Function(function) => {
                    for statement in function.body.iter().flat_map(|b| &b.statements) {
                        match statement {
                            Statement::File(file) => debug.file(file),
                            Statement::Section(section) => debug.section(section, module),
                            _ => {}
                        }
                    }
                }
                Item::Variable(_)
                | Item::Alias(_)
                | Item::Pragma(_)
                | Item::Target(_)
                | Item::Version(_)
                | Item::AddressSize(_)
                | Item::Dwarf(_) => {}
            }
        }
        debug
    }

    /// A `.file` directive; a number that comes again stands for the newer name.
    pub fn file(&mut self, file: &ast::File) {
        let known = self.files.iter().position(|f| **f == *file.name);
        let index = known.unwrap_or_else(|| {
            self.files.push(file.name.as_str().into());
            self.files.len() - 1
        });
        self.file_numbers.insert(file.index, index as u32);
    }

    fn section(&mut self, section: &ast::Section, module: &ast::Module) {
        if module.name(section.name.symbol) != ".debug_str" {
            return;
        }
        for item in &section.items {
            match item {
                SectionItem::Label(name) => {
                    self.labels.insert(name.symbol, self.strings.len());
                }
                SectionItem::Data { ty, values, .. } => {
                    let bytes = (ty.bits() / 8).clamp(1, 8) as usize;
                    for value in values {
                        let bits = match value {
                            SectionValue::Int(imm) => imm.as_u64().unwrap_or(0),
                            SectionValue::Label { .. } | SectionValue::Difference(..) => 0,
                        };
                        self.strings.extend_from_slice(&bits.to_le_bytes()[..bytes]);
                    }
                }
            }
        }
    }

    fn string(&mut self, label: Symbol, offset: i64) -> Option<Arc<str>> {
        if let Some(known) = self.names.get(&(label, offset)) {
            return known.clone();
        }
        let start = self.labels.get(&label).and_then(|at| at.checked_add_signed(offset as isize));
        let text = start.and_then(|at| self.strings.get(at..)).map(|bytes| {
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            Arc::from(String::from_utf8_lossy(&bytes[..end]))
        });
        self.names.insert((label, offset), text.clone());
        text
    }

    /// Forgets the `.loc` in force: a new function begins.
    pub fn reset(&mut self) {
        self.current = SrcLoc::default();
    }

    /// A `.loc` directive.
    pub fn set(&mut self, loc: &ast::Loc) {
        let file = self.file_numbers.get(&loc.file).copied();
        self.current = SrcLoc { file, line: loc.line, column: loc.column, ..SrcLoc::default() };
        if let Some(inlined) = &loc.inlined {
            let call_file = self.file_numbers.get(&inlined.file).copied();
            let key = (call_file, inlined.line, inlined.column);
            let call = match self.last.get(&key) {
                Some(index) => *index,
                None => {
                    self.locs.push(SrcLoc {
                        file: call_file,
                        line: inlined.line,
                        column: inlined.column,
                        ..SrcLoc::default()
                    });
                    let index = self.locs.len() as u32 - 1;
                    self.last.insert(key, index);
                    index
                }
            };
            self.current.inlined_at = Some(call);
            self.current.function = self.string(inlined.function_name.symbol, inlined.offset);
        }
    }

    /// The location of an instruction at `span`.
    pub fn at(&mut self, span: Span, module: &ast::Module) -> LocId {
        let ptx_line = module.lines.line(span);
        let here = SrcLoc { ptx_line, ..self.current.clone() };
        if self.locs.len() == 1 || self.locs.last() != Some(&here) {
            self.locs.push(here);
        }
        let index = self.locs.len() as u32 - 1;
        if self.current.line != 0 {
            self.last.insert((self.current.file, self.current.line, self.current.column), index);
        }
        LocId(index)
    }
}

#[cfg(test)]
mod tests {
    use crate::lower::testing::module;

    #[test]
    fn locations_of_inlined_code_name_function_and_call() {
        let module = module(
            ".entry k() { .reg .b32 r;\n.loc 1 10 3\nmov.u32 r, 1;\n\
             .loc 2 5 1, function_name info+4, inlined_at 1 10 3\nmov.u32 r, 2;\nret; }\n\
             .file 1 \"a.cu\"\n.file 2 \"b.h\"\n\
             .section .debug_str {\ninfo:\n.b8 120, 121, 122, 0\n.b8 102, 111, 111, 0\n}\n",
        );
        let locs: Vec<_> = module.functions[0].blocks[0]
            .insts
            .iter()
            .map(|i| module.locs[i.loc.0 as usize].clone())
            .collect();
        assert_eq!((locs[0].line, locs[0].column, locs[0].ptx_line), (10, 3, 6));
        assert_eq!(module.files[locs[0].file.unwrap() as usize].as_ref(), "a.cu");
        assert_eq!((locs[1].line, locs[1].ptx_line), (5, 8));
        assert_eq!(locs[1].function.as_deref(), Some("foo"));
        let call = &module.locs[locs[1].inlined_at.unwrap() as usize];
        assert_eq!((call.line, call.column), (10, 3));
    }
}
