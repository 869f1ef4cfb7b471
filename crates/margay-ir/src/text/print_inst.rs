// SPDX-License-Identifier: MIT OR Apache-2.0
//! Printing of one instruction or terminator.

use std::fmt::{self, Display, Formatter};

use super::names::{Word, redux_word, sreg_text};
use crate::inst::*;
use crate::ops::Slot;
use crate::types::{Cache, Round, Scope, Sem};

/// A string in quotes, with escapes that the parser reads back.
pub(super) struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                c if c.is_control() => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

/// Items with `, ` between them.
pub(super) struct List<'a, T>(pub &'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{item}")?;
        }
        Ok(())
    }
}

impl Display for Reg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

impl Display for BlockId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "b{}", self.0)
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Reg(r) => write!(f, "{r}"),
            Value::Imm(bits) => write!(f, "{bits:#x}"),
        }
    }
}

impl Display for CallArg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            CallArg::Value(value, ty) => write!(f, "{value}:{}", ty.name()),
            CallArg::Frame { offset, size } => write!(f, "frame[{offset}, {size}]"),
        }
    }
}

/// Words of an attribute, space-separated inside one pair of braces.
#[derive(Default)]
struct Words(String);

impl Words {
    fn word(&mut self, word: &str) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push(' ');
        }
        self.0.push_str(word);
        self
    }

    fn flag(&mut self, on: bool, word: &str) -> &mut Self {
        if on {
            self.word(word);
        }
        self
    }

    fn value(&mut self, key: &str, value: impl Display) -> &mut Self {
        self.word(&format!("{key}={value}"))
    }

    fn mem(&mut self, mem: &MemAttr) -> &mut Self {
        self.word(mem.space.word()).flag(mem.signed, "signed");
        self.flag(mem.sem != Sem::default(), mem.sem.word());
        self.flag(mem.scope != Scope::default(), mem.scope.word());
        self.flag(mem.cache != Cache::default(), mem.cache.word());
        if mem.offset != 0 {
            self.value("offset", mem.offset);
        }
        self
    }
}

fn attr_words(attr: &Attr) -> Words {
    let mut w = Words::default();
    match attr {
        Attr::None => {}
        Attr::Float(a) => {
            w.flag(a.round != Round::default(), a.round.word());
            w.flag(a.ftz, "ftz").flag(a.sat, "sat").flag(a.relu, "relu");
        }
        Attr::MinMax(a) => {
            w.flag(a.ftz, "ftz").flag(a.nan, "nan").flag(a.xorsign_abs, "xorsign_abs");
            w.flag(a.abs, "abs");
        }
        Attr::IntCmp(cmp) => {
            w.word(cmp.word());
        }
        Attr::FloatCmp { cmp, ftz } => {
            w.word(cmp.word()).flag(*ftz, "ftz");
        }
        Attr::Clamp(clamp) => {
            w.word(if *clamp { "clamp" } else { "wrap" });
        }
        Attr::Lop3(table) => {
            w.value("table", format_args!("{table:#x}"));
        }
        Attr::Mem(mem) => {
            w.mem(mem);
        }
        Attr::Atom { op, mem, ftz } => {
            w.word(op.word()).mem(mem).flag(*ftz, "ftz");
        }
        Attr::Copy { bytes, shared_offset, global_offset, cache } => {
            w.value("bytes", bytes);
            w.value("shared_offset", shared_offset).value("global_offset", global_offset);
            w.flag(*cache != Cache::default(), cache.word());
        }
        Attr::Space(space) => {
            w.word(space.word());
        }
        Attr::Address { of, addend } => {
            match of {
                AddrOf::Global(id) => w.value("var", id.0),
                AddrOf::Func(id) => w.value("fn", id.0),
                AddrOf::Local(offset) => w.value("local", offset),
                AddrOf::Param(offset) => w.value("param", offset),
            };
            if *addend != 0 {
                w.value("addend", addend);
            }
        }
        Attr::Sreg(sreg) => {
            w.word(&sreg_text(*sreg));
        }
        Attr::Vote(mode) => {
            w.word(mode.word());
        }
        Attr::Shfl(mode) => {
            w.word(mode.word());
        }
        Attr::Redux(op) => {
            w.word(redux_word(*op));
            if let ReduxOp::FMin { abs, nan } | ReduxOp::FMax { abs, nan } = op {
                w.flag(*abs, "abs").flag(*nan, "nan");
            }
        }
        Attr::Barrier { kind, aligned, orders } => {
            w.word(kind.word()).flag(*aligned, "aligned");
            if *orders != BarOrder::All {
                w.value("orders", orders.word());
            }
        }
        Attr::Fence { sem, scope } => {
            w.word(sem.word()).word(scope.word());
        }
        Attr::Mbarrier { op, mem } => {
            w.word(op.word()).mem(mem);
        }
        Attr::Call(call) => {
            match call.callee {
                Callee::Direct(id) => w.value("fn", id.0),
                Callee::Indirect(value) => w.value("to", value),
            };
            if let Some(top) = call.top {
                w.value("top", top);
            }
            w.word(&format!("({})", List(&call.args))).word("->");
            w.word(&format!("({})", List(&call.rets)));
        }
        Attr::Builtin(builtin) => {
            w.word(builtin.name());
        }
        Attr::Syscall(call) => {
            w.word(call.word());
        }
        Attr::Texture(texture) => {
            w.word(&Quoted(&texture.word()).to_string());
        }
        Attr::Message(text) => {
            w.word(&Quoted(text).to_string());
        }
    }
    w
}

impl Display for Inst {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let info = self.op.info();
        if !self.dsts.is_empty() {
            write!(f, "{} = ", List(&self.dsts))?;
        }
        f.write_str(info.mnemonic)?;
        let converts = info.srcs.contains(&Slot::F);
        if converts || self.from != self.ty {
            write!(f, ".{}.{}", self.ty.name(), self.from.name())?;
        } else if info.types != [self.ty] {
            write!(f, ".{}", self.ty.name())?;
        }
        let words = attr_words(&self.attr).0;
        if !words.is_empty() {
            write!(f, " {{{words}}}")?;
        }
        if !self.srcs.is_empty() {
            write!(f, " {}", List(&self.srcs))?;
        }
        if let Some(guard) = self.guard {
            write!(f, " @{}{}", if guard.negated { "!" } else { "" }, guard.pred)?;
        }
        if self.loc != LocId::default() {
            write!(f, " !{}", self.loc.0)?;
        }
        Ok(())
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Term::Br(to) => write!(f, "br {to}"),
            Term::CondBr { pred, negated, then, els } => {
                write!(f, "condbr {}{pred}, {then}, {els}", if *negated { "!" } else { "" })
            }
            Term::BrTable { index, targets } => write!(f, "brtable {index}, [{}]", List(targets)),
            Term::Ret => f.write_str("ret"),
            Term::Exit => f.write_str("exit"),
        }
    }
}
