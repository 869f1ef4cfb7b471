// SPDX-License-Identifier: MIT OR Apache-2.0
//! The printer: [`Module`] to text.
//!
//! Parsing what is printed gives the same tree but for spans, and printing that gives the same text.
//! Comments, layout and the spelling of constants are not kept.

mod instruction;

use crate::ast::*;
use std::fmt::{self, Write};

/// Writes a module as PTX text.
pub fn print(module: &Module) -> String {
    let mut printer = Printer { module, out: String::new(), indent: 0 };
    // Writing to a string does not fail.
    let _ = printer.module();
    printer.out
}

struct Printer<'a> {
    module: &'a Module,
    out: String,
    indent: usize,
}

impl Write for Printer<'_> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.out.push_str(s);
        Ok(())
    }
}

impl<'a> Printer<'a> {
    fn name(&self, symbol: Symbol) -> &'a str {
        self.module.symbols.name(symbol)
    }

    fn line(&mut self) {
        self.out.push('\n');
        self.out.extend(std::iter::repeat_n('\t', self.indent));
    }

    fn module(&mut self) -> fmt::Result {
        let module = self.module;
        self.version(&module.version)?;
        self.target(&module.target)?;
        if let Some(size) = module.address_size {
            self.line();
            write!(self, ".address_size {}", size.bits)?;
        }
        for frame in &module.frames {
            self.line();
            self.out.push_str(&frame.comment());
        }
        for item in &module.items {
            self.line();
            match item {
                Item::Function(f) => self.function(f)?,
                Item::Variable(v) => {
                    self.variable(v)?;
                    self.out.push(';');
                }
                Item::File(f) => self.file(f)?,
                Item::Section(s) => self.section(s)?,
                Item::Alias(a) => write!(
                    self,
                    ".alias {}, {};",
                    self.name(a.alias.symbol),
                    self.name(a.aliasee.symbol)
                )?,
                Item::Pragma(p) => self.pragma(&p.strings)?,
                Item::Target(t) => self.target(t)?,
                Item::Version(v) => self.version(v)?,
                Item::AddressSize(s) => write!(self, ".address_size {}", s.bits)?,
                Item::Dwarf(d) => write!(self, "@@DWARF {}", d.text)?,
            }
        }
        self.out.push('\n');
        Ok(())
    }

    fn version(&mut self, version: &Version) -> fmt::Result {
        write!(self, ".version {}.{}", version.major, version.minor)
    }

    fn target(&mut self, target: &Target) -> fmt::Result {
        self.line();
        self.out.push_str(".target ");
        self.names(target.options.iter().map(|n| n.symbol));
        Ok(())
    }

    fn names(&mut self, symbols: impl Iterator<Item = Symbol>) {
        for (i, symbol) in symbols.enumerate() {
            self.comma(i);
            self.out.push_str(self.name(symbol));
        }
    }

    fn comma(&mut self, i: usize) {
        if i > 0 {
            self.out.push_str(", ");
        }
    }

    fn file(&mut self, file: &File) -> fmt::Result {
        write!(self, ".file {} \"{}\"", file.index, file.name)?;
        if let Some((timestamp, size)) = file.timestamp_size {
            write!(self, ", {timestamp}, {size}")?;
        }
        Ok(())
    }

    fn pragma(&mut self, strings: &[String]) -> fmt::Result {
        self.out.push_str(".pragma ");
        for (i, string) in strings.iter().enumerate() {
            self.comma(i);
            write!(self, "\"{string}\"")?;
        }
        self.out.push(';');
        Ok(())
    }

    fn section(&mut self, section: &Section) -> fmt::Result {
        write!(self, ".section {} {{", self.name(section.name.symbol))?;
        for item in &section.items {
            self.line();
            match item {
                SectionItem::Label(name) => write!(self, "{}:", self.name(name.symbol))?,
                SectionItem::Data { ty, values, span: _ } => {
                    write!(self, ".{} ", ty.name())?;
                    for (i, value) in values.iter().enumerate() {
                        self.comma(i);
                        match *value {
                            SectionValue::Int(value) => self.immediate(value)?,
                            SectionValue::Label { symbol, offset } => {
                                self.offset(symbol, offset)?
                            }
                            SectionValue::Difference(a, b) => {
                                write!(self, "{}-{}", self.name(a), self.name(b))?
                            }
                        }
                    }
                }
            }
        }
        self.line();
        self.out.push('}');
        Ok(())
    }

    fn function(&mut self, f: &Function) -> fmt::Result {
        if let Some(linkage) = f.linkage {
            write!(self, ".{} ", linkage.name())?;
        }
        self.out.push_str(match f.kind {
            FunctionKind::Entry => ".entry ",
            FunctionKind::Func => ".func ",
        });
        self.attributes(&f.attributes)?;
        if !f.returns.is_empty() {
            self.parameters(&f.returns)?;
            self.out.push(' ');
        }
        self.out.push_str(self.name(f.name.symbol));
        self.parameters(&f.params)?;
        self.function_directives(&f.directives)?;
        match &f.body {
            None => self.out.push(';'),
            Some(body) => {
                self.line();
                self.block(body)?;
            }
        }
        Ok(())
    }

    fn parameters(&mut self, params: &[Variable]) -> fmt::Result {
        self.out.push('(');
        for (i, param) in params.iter().enumerate() {
            self.comma(i);
            self.variable(param)?;
        }
        self.out.push(')');
        Ok(())
    }

    fn function_directives(&mut self, directives: &[FunctionDirective]) -> fmt::Result {
        use FunctionDirectiveKind as Kind;
        for directive in directives {
            self.out.push(' ');
            match &directive.kind {
                Kind::MaxNReg(n) => write!(self, ".maxnreg {n}")?,
                Kind::MaxNTid(list) => self.extents(".maxntid", list)?,
                Kind::ReqNTid(list) => self.extents(".reqntid", list)?,
                Kind::MinNCtaPerSm(n) => write!(self, ".minnctapersm {n}")?,
                Kind::MaxNCtaPerSm(n) => write!(self, ".maxnctapersm {n}")?,
                Kind::NoReturn => self.out.push_str(".noreturn"),
                Kind::Pragma(strings) => self.pragma(strings)?,
                Kind::ReqNCtaPerCluster(list) => self.extents(".reqnctapercluster", list)?,
                Kind::ExplicitCluster => self.out.push_str(".explicitcluster"),
                Kind::MaxClusterRank(n) => write!(self, ".maxclusterrank {n}")?,
                Kind::BlocksAreClusters => self.out.push_str(".blocksareclusters"),
                Kind::AbiPreserve(n) => write!(self, ".abi_preserve {n}")?,
                Kind::AbiPreserveControl(n) => write!(self, ".abi_preserve_control {n}")?,
            }
        }
        Ok(())
    }

    fn extents(&mut self, word: &str, list: &[u32]) -> fmt::Result {
        write!(self, "{word} ")?;
        for (i, n) in list.iter().enumerate() {
            self.comma(i);
            write!(self, "{n}")?;
        }
        Ok(())
    }

    fn attributes(&mut self, attributes: &[Attribute]) -> fmt::Result {
        if attributes.is_empty() {
            return Ok(());
        }
        self.out.push_str(".attribute(");
        for (i, attribute) in attributes.iter().enumerate() {
            self.comma(i);
            match attribute {
                Attribute::Managed => self.out.push_str(".managed"),
                Attribute::Unified(high, low) => write!(self, ".unified({high}, {low})")?,
            }
        }
        self.out.push_str(") ");
        Ok(())
    }

    fn variable(&mut self, v: &Variable) -> fmt::Result {
        if let Some(linkage) = v.linkage {
            write!(self, ".{} ", linkage.name())?;
        }
        write!(self, ".{}", v.space.name())?;
        if let Some(bank) = v.bank {
            write!(self, "[{bank}]")?;
        }
        self.out.push(' ');
        self.attributes(&v.attributes)?;
        if let Some(align) = v.align {
            write!(self, ".align {align} ")?;
        }
        if let Some(n) = v.vector {
            write!(self, ".v{n} ")?;
        }
        write!(self, ".{} ", v.ty.name())?;
        if let Some(ptr) = v.ptr {
            self.out.push_str(".ptr ");
            if let Some(space) = ptr.space {
                write!(self, ".{} ", space.name())?;
            }
            if let Some(align) = ptr.align {
                write!(self, ".align {align} ")?;
            }
        }
        self.out.push_str(self.name(v.name.symbol));
        if let Some(range) = v.range {
            write!(self, "<{range}>")?;
        }
        for dim in &v.dims {
            match dim {
                Some(n) => write!(self, "[{n}]")?,
                None => self.out.push_str("[]"),
            }
        }
        if let Some(init) = &v.init {
            self.out.push_str(" = ");
            self.init(init)?;
        }
        Ok(())
    }

    fn init(&mut self, init: &Init) -> fmt::Result {
        match &init.kind {
            InitKind::List(items) => {
                self.out.push('{');
                for (i, item) in items.iter().enumerate() {
                    self.comma(i);
                    self.init(item)?;
                }
                self.out.push('}');
                Ok(())
            }
            InitKind::Immediate(value) => self.immediate(*value),
            InitKind::Address { symbol, offset, generic: false } => self.offset(*symbol, *offset),
            InitKind::Address { symbol, offset, generic: true } => {
                write!(self, "generic({})", self.name(*symbol))?;
                self.plus(*offset)
            }
            InitKind::Mask { mask, value } => {
                write!(self, "0x{mask:X}(")?;
                self.init(value)?;
                self.out.push(')');
                Ok(())
            }
            InitKind::Field { field, value } => {
                write!(self, "{} = ", self.name(*field))?;
                self.init(value)
            }
        }
    }

    fn block(&mut self, block: &Block) -> fmt::Result {
        self.out.push('{');
        self.indent += 1;
        for statement in &block.statements {
            self.line();
            self.statement(statement)?;
        }
        self.indent -= 1;
        self.line();
        self.out.push('}');
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> fmt::Result {
        match statement {
            Statement::Label(name) => write!(self, "{}:", self.name(name.symbol)),
            Statement::Instruction(inst) => self.instruction(inst),
            Statement::Variable(v) => {
                self.variable(v)?;
                self.out.push(';');
                Ok(())
            }
            Statement::Block(block) => self.block(block),
            Statement::Loc(loc) => self.loc(loc),
            Statement::Pragma(p) => self.pragma(&p.strings),
            Statement::BranchTargets(list) => self.target_list(".branchtargets", list),
            Statement::CallTargets(list) => self.target_list(".calltargets", list),
            Statement::CallPrototype(p) => {
                write!(self, "{}: .callprototype ", self.name(p.label.symbol))?;
                if !p.returns.is_empty() {
                    self.parameters(&p.returns)?;
                    self.out.push(' ');
                }
                self.out.push_str(self.name(p.name.symbol));
                self.parameters(&p.params)?;
                self.function_directives(&p.directives)?;
                self.out.push(';');
                Ok(())
            }
            Statement::File(f) => self.file(f),
            Statement::Section(s) => self.section(s),
            Statement::Dwarf(d) => write!(self, "@@DWARF {}", d.text),
        }
    }

    fn loc(&mut self, loc: &Loc) -> fmt::Result {
        write!(self, ".loc {} {} {}", loc.file, loc.line, loc.column)?;
        if let Some(i) = &loc.inlined {
            self.out.push_str(", function_name ");
            self.offset(i.function_name.symbol, i.offset)?;
            write!(self, ", inlined_at {} {} {}", i.file, i.line, i.column)?;
        }
        Ok(())
    }

    fn target_list(&mut self, word: &str, list: &TargetList) -> fmt::Result {
        write!(self, "{}: {word} ", self.name(list.label.symbol))?;
        for (i, (name, range)) in list.targets.iter().enumerate() {
            self.comma(i);
            self.out.push_str(self.name(name.symbol));
            if let Some(n) = range {
                write!(self, "<{n}>")?;
            }
        }
        self.out.push(';');
        Ok(())
    }
}
