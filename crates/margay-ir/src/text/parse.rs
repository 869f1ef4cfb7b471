// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parsing of modules, variables and functions.

use super::lex::Cursor;
use super::parse_inst::{block_id, call_arg, inst, loc, term};
use crate::inst::{Block, Inst};
use crate::module::*;
use crate::texture::Opaque;
use crate::types::Class;

/// IR text that does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("IR line {line}: {message}")]
pub struct TextError {
    /// From 1.
    pub line: u32,
    pub message: String,
}

type Parsed<T> = Result<T, TextError>;

/// Reads one instruction, as `Display` prints it.
pub fn parse_inst(text: &str) -> Result<Inst, TextError> {
    let mut c = Cursor::new(text)?;
    let inst = inst(&mut c)?;
    c.line_end()?;
    Ok(inst)
}

/// Reads a module, as `Display` prints it. `;` begins a comment.
pub fn parse_module(text: &str) -> Result<Module, TextError> {
    let mut c = Cursor::new(text)?;
    c.skip_blank_lines();
    let mut module = header(&mut c)?;
    while c.peek().is_some() {
        if c.eat_word("file") {
            module.files.push(c.quoted()?.into());
        } else if c.eat_word("loc") {
            module.locs.push(src_loc(&mut c)?);
        } else if c.eat_word("var") {
            module.globals.push(global(&mut c)?);
        } else if c.eat_word("entry") {
            module.functions.push(function(&mut c, true)?);
        } else if c.eat_word("func") {
            module.functions.push(function(&mut c, false)?);
        } else {
            return c.error("expected `file`, `loc`, `var`, `entry` or `func`");
        }
        c.line_end()?;
    }
    Ok(module)
}

fn header(c: &mut Cursor) -> Parsed<Module> {
    if !c.eat_word("module") || !c.eat_key("version") {
        return c.error("expected `module version=`");
    }
    let version = c.number_text()?;
    let parts = version.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    let Some(ptx_version) = parts else {
        return c.error(format!("`{version}` is not a version"));
    };
    let sm = c.key("sm")?;
    if !c.eat_key("target") {
        return c.error("expected `target=`");
    }
    let target = c.quoted()?;
    let address_bits = c.key("address_bits")?;
    c.line_end()?;
    Ok(Module { ptx_version, sm, target, address_bits, ..Module::default() })
}

fn src_loc(c: &mut Cursor) -> Parsed<SrcLoc> {
    let mut loc = SrcLoc {
        line: c.key("line")?,
        column: c.key("column")?,
        ptx_line: c.key("ptx_line")?,
        ..SrcLoc::default()
    };
    if c.eat_key("file") {
        loc.file = Some(c.number()?);
    }
    if c.eat_key("inlined_at") {
        loc.inlined_at = Some(c.number()?);
    }
    if c.eat_key("function") {
        loc.function = Some(c.quoted()?.into());
    }
    Ok(loc)
}

fn hex_bytes(c: &mut Cursor) -> Parsed<Vec<u8>> {
    let text = c.quoted()?;
    let digits: Option<Vec<u8>> = text.chars().map(|d| d.to_digit(16).map(|v| v as u8)).collect();
    match digits {
        Some(digits) if digits.len() % 2 == 0 => {
            Ok(digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect())
        }
        _ => c.error("expected pairs of hexadecimal digits"),
    }
}

fn reloc(c: &mut Cursor) -> Parsed<Reloc> {
    c.need('(')?;
    let target = if c.eat_key("var") {
        RelocTarget::Global(GlobalId(c.number()?))
    } else {
        RelocTarget::Func(FuncId(c.key("fn")?))
    };
    let reloc = Reloc {
        target,
        offset: c.key("offset")?,
        width: c.key("width")?,
        shift: c.key("shift")?,
        addend: c.key("addend")?,
        generic: c.eat_word("generic"),
    };
    c.need(')')?;
    Ok(reloc)
}

fn global(c: &mut Cursor) -> Parsed<Global> {
    let name = c.quoted()?.into();
    let space = c.variant("a state space")?;
    let linkage = c.variant("a linkage")?;
    let size = c.key("size")?;
    let align = c.key("align")?;
    let managed = c.eat_word("managed");
    let dynamic_shared = c.eat_word("dynamic_shared");
    let kinds = [Opaque::Texture, Opaque::Sampler, Opaque::Surface];
    let opaque = kinds.into_iter().find(|kind| c.eat_word(kind.word()));
    let init = if c.eat_key("init") { hex_bytes(c)? } else { Vec::new() };
    let mut relocs = Vec::new();
    while c.eat_word("reloc") {
        relocs.push(reloc(c)?);
    }
    Ok(Global { name, space, size, align, init, relocs, linkage, managed, dynamic_shared, opaque })
}

fn param(c: &mut Cursor) -> Parsed<Param> {
    Ok(Param {
        name: c.quoted()?.into(),
        offset: c.key("offset")?,
        size: c.key("size")?,
        align: c.key("align")?,
        place: if c.eat_key("place") { Some(call_arg(c)?) } else { None },
        pointee: if c.eat_key("pointee") { Some(c.variant("a state space")?) } else { None },
    })
}

fn triple(c: &mut Cursor) -> Parsed<[u32; 3]> {
    c.need('[')?;
    let x = c.number()?;
    c.need(',')?;
    let y = c.number()?;
    c.need(',')?;
    let z = c.number()?;
    c.need(']')?;
    Ok([x, y, z])
}

fn limits(c: &mut Cursor) -> Parsed<LaunchLimits> {
    let mut l = LaunchLimits::default();
    while !c.at_line_end() {
        if c.eat_key("maxntid") {
            l.maxntid = Some(triple(c)?);
        } else if c.eat_key("reqntid") {
            l.reqntid = Some(triple(c)?);
        } else if c.eat_key("reqnctapercluster") {
            l.reqnctapercluster = Some(triple(c)?);
        } else if c.eat_key("minnctapersm") {
            l.minnctapersm = Some(c.number()?);
        } else if c.eat_key("maxnreg") {
            l.maxnreg = Some(c.number()?);
        } else if c.eat_key("maxclusterrank") {
            l.maxclusterrank = Some(c.number()?);
        } else if c.eat_word("explicit_cluster") {
            l.explicit_cluster = true;
        } else {
            return c.error("expected a launch limit");
        }
    }
    Ok(l)
}

/// More registers than any compiler makes; keeps hostile text from filling memory.
const MAX_REGS: usize = 1 << 24;

fn regs(c: &mut Cursor) -> Parsed<Vec<Class>> {
    let mut regs = Vec::new();
    while !c.at_line_end() {
        let class = c.variant("a register class")?;
        let count: usize = if c.eat('*') { c.number()? } else { 1 };
        if count > MAX_REGS - regs.len() {
            return c.error("too many registers");
        }
        regs.resize(regs.len() + count, class);
    }
    Ok(regs)
}

fn function(c: &mut Cursor, is_entry: bool) -> Parsed<Function> {
    let name = c.quoted()?.into();
    let linkage = c.variant("a linkage")?;
    let mut f = Function { name, linkage, is_entry, ..Function::default() };
    c.need('{')?;
    c.line_end()?;
    loop {
        if c.eat_word("param_size") {
            f.param_size = c.number()?;
        } else if c.eat_word("param") {
            let p = param(c)?;
            f.params.push(p);
        } else if c.eat_word("result") {
            let p = param(c)?;
            f.rets.push(p);
        } else if c.eat_word("frame") {
            f.frame_size = c.key("size")?;
            f.frame_align = c.key("align")?;
        } else if c.eat_word("local") {
            f.locals.push((c.key("offset")?, c.key("size")?));
        } else if c.eat_word("limits") {
            f.limits = limits(c)?;
        } else if c.eat_word("address_taken") {
            f.address_taken = true;
        } else if c.eat_word("unsupported") {
            let form = c.quoted()?;
            let reason = c.quoted()?;
            f.unsupported.push(Unsupported { form, reason, ptx_line: c.key("ptx_line")? });
        } else if c.eat_word("regs") {
            f.regs = regs(c)?;
        } else {
            break;
        }
        c.line_end()?;
    }
    while !c.eat('}') {
        let block = block(c, f.blocks.len())?;
        f.blocks.push(block);
    }
    Ok(f)
}

fn block(c: &mut Cursor, index: usize) -> Parsed<Block> {
    if block_id(c)?.0 as usize != index {
        return c.error(format!("expected block b{index}"));
    }
    let label = if c.eat(':') {
        None
    } else {
        let label = c.quoted()?.into();
        c.need(':')?;
        Some(label)
    };
    c.line_end()?;
    let mut insts = Vec::new();
    loop {
        if let Some(term) = term(c)? {
            let term_loc = loc(c)?;
            c.line_end()?;
            return Ok(Block { label, insts, term, term_loc });
        }
        insts.push(inst(c)?);
        c.line_end()?;
    }
}
