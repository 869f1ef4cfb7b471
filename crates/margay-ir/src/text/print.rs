// SPDX-License-Identifier: MIT OR Apache-2.0
//! Printing of modules, variables and functions.

use std::fmt::{self, Display, Formatter};

use super::names::Word;
use super::print_inst::{List, Quoted};
use crate::inst::{Block, BlockId, LocId};
use crate::module::*;
use crate::types::Class;

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.ptx_version;
        writeln!(
            f,
            "module version={major}.{minor} sm={} target={} address_bits={}",
            self.sm,
            Quoted(&self.target),
            self.address_bits
        )?;
        for file in &self.files {
            writeln!(f, "file {}", Quoted(file))?;
        }
        for loc in &self.locs {
            writeln!(f, "{loc}")?;
        }
        for global in &self.globals {
            writeln!(f, "{global}")?;
        }
        for function in &self.functions {
            writeln!(f)?;
            write!(f, "{function}")?;
        }
        Ok(())
    }
}

impl Display for SrcLoc {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "loc line={} column={} ptx_line={}", self.line, self.column, self.ptx_line)?;
        if let Some(file) = self.file {
            write!(f, " file={file}")?;
        }
        if let Some(at) = self.inlined_at {
            write!(f, " inlined_at={at}")?;
        }
        if let Some(function) = &self.function {
            write!(f, " function={}", Quoted(function))?;
        }
        Ok(())
    }
}

impl Display for Global {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "var {} {} {} size={} align={}",
            Quoted(&self.name),
            self.space.word(),
            self.linkage.word(),
            self.size,
            self.align
        )?;
        if self.managed {
            f.write_str(" managed")?;
        }
        if self.dynamic_shared {
            f.write_str(" dynamic_shared")?;
        }
        if let Some(opaque) = self.opaque {
            write!(f, " {}", opaque.word())?;
        }
        if !self.init.is_empty() {
            f.write_str(" init=\"")?;
            for byte in &self.init {
                write!(f, "{byte:02x}")?;
            }
            f.write_str("\"")?;
        }
        for r in &self.relocs {
            let (kind, index) = match r.target {
                RelocTarget::Global(id) => ("var", id.0),
                RelocTarget::Func(id) => ("fn", id.0),
            };
            write!(
                f,
                " reloc({kind}={index} offset={} width={} shift={} addend={}{})",
                r.offset,
                r.width,
                r.shift,
                r.addend,
                if r.generic { " generic" } else { "" }
            )?;
        }
        Ok(())
    }
}

/// `w*3 p d*2`.
fn class_runs(regs: &[Class]) -> String {
    let mut text = String::new();
    for run in regs.chunk_by(|a, b| a == b) {
        text.push(' ');
        text.push_str(run[0].word());
        if run.len() > 1 {
            text.push_str(&format!("*{}", run.len()));
        }
    }
    text
}

fn write_param(f: &mut Formatter<'_>, word: &str, p: &Param) -> fmt::Result {
    write!(
        f,
        "  {word} {} offset={} size={} align={}",
        Quoted(&p.name),
        p.offset,
        p.size,
        p.align
    )?;
    if let Some(place) = &p.place {
        write!(f, " place={place}")?;
    }
    if let Some(space) = p.pointee {
        write!(f, " pointee={}", space.word())?;
    }
    writeln!(f)
}

fn write_limits(f: &mut Formatter<'_>, limits: &LaunchLimits) -> fmt::Result {
    if *limits == LaunchLimits::default() {
        return Ok(());
    }
    f.write_str("  limits")?;
    let triples = [
        ("maxntid", limits.maxntid),
        ("reqntid", limits.reqntid),
        ("reqnctapercluster", limits.reqnctapercluster),
    ];
    for (key, value) in triples {
        if let Some(value) = value {
            write!(f, " {key}=[{}]", List(&value))?;
        }
    }
    let numbers = [
        ("minnctapersm", limits.minnctapersm),
        ("maxnreg", limits.maxnreg),
        ("maxclusterrank", limits.maxclusterrank),
    ];
    for (key, value) in numbers {
        if let Some(value) = value {
            write!(f, " {key}={value}")?;
        }
    }
    if limits.explicit_cluster {
        f.write_str(" explicit_cluster")?;
    }
    writeln!(f)
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let word = if self.is_entry { "entry" } else { "func" };
        writeln!(f, "{word} {} {} {{", Quoted(&self.name), self.linkage.word())?;
        if self.param_size != 0 {
            writeln!(f, "  param_size {}", self.param_size)?;
        }
        for p in &self.params {
            write_param(f, "param", p)?;
        }
        for p in &self.rets {
            write_param(f, "result", p)?;
        }
        if (self.frame_size, self.frame_align) != (0, 0) {
            writeln!(f, "  frame size={} align={}", self.frame_size, self.frame_align)?;
        }
        for (offset, size) in &self.locals {
            writeln!(f, "  local offset={offset} size={size}")?;
        }
        write_limits(f, &self.limits)?;
        if self.address_taken {
            writeln!(f, "  address_taken")?;
        }
        for u in &self.unsupported {
            let (form, reason) = (Quoted(&u.form), Quoted(&u.reason));
            writeln!(f, "  unsupported {form} {reason} ptx_line={}", u.ptx_line)?;
        }
        if !self.regs.is_empty() {
            writeln!(f, "  regs{}", class_runs(&self.regs))?;
        }
        for (i, block) in self.blocks.iter().enumerate() {
            write_block(f, BlockId(i as u32), block)?;
        }
        writeln!(f, "}}")
    }
}

fn write_block(f: &mut Formatter<'_>, id: BlockId, block: &Block) -> fmt::Result {
    match &block.label {
        Some(label) => writeln!(f, "{id} {}:", Quoted(label))?,
        None => writeln!(f, "{id}:")?,
    }
    for inst in &block.insts {
        writeln!(f, "  {inst}")?;
    }
    write!(f, "  {}", block.term)?;
    if block.term_loc != LocId::default() {
        write!(f, " !{}", block.term_loc.0)?;
    }
    writeln!(f)
}
