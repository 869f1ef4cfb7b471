// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parsing of one instruction or terminator.

use smallvec::SmallVec;

use super::lex::{Cursor, Token};
use super::names::{Word, redux_from_word, sreg_from_text};
use super::parse::TextError;
use crate::builtin::Builtin;
use crate::inst::*;
use crate::module::{FuncId, GlobalId};
use crate::ops::{AttrKind, Op, Slot};
use crate::texture::TextureAttr;
use crate::types::{Cache, Round, Scope, Sem, Space, Ty};

type Parsed<T> = Result<T, TextError>;

pub(super) fn reg(c: &mut Cursor) -> Parsed<Reg> {
    c.need('%')?;
    Ok(Reg(c.number()?))
}

fn value(c: &mut Cursor) -> Parsed<Value> {
    if c.peek() == Some(&Token::Punct('%')) {
        return Ok(Value::Reg(reg(c)?));
    }
    Ok(Value::Imm(c.number()?))
}

pub(super) fn call_arg(c: &mut Cursor) -> Parsed<CallArg> {
    if c.eat_word("frame") {
        c.need('[')?;
        let offset = c.number()?;
        c.need(',')?;
        let size = c.number()?;
        c.need(']')?;
        return Ok(CallArg::Frame { offset, size });
    }
    let value = value(c)?;
    c.need(':')?;
    Ok(CallArg::Value(value, c.variant("a type")?))
}

fn call_args(c: &mut Cursor) -> Parsed<Vec<CallArg>> {
    let mut args = Vec::new();
    c.need('(')?;
    while !c.eat(')') {
        if !args.is_empty() {
            c.need(',')?;
        }
        args.push(call_arg(c)?);
    }
    Ok(args)
}

/// The op with its types, from `mnemonic`, `mnemonic.ty` or `mnemonic.ty.from`.
fn op_and_types(word: &str) -> Option<(Op, Ty, Ty)> {
    let find = |m: &str| Op::ALL.iter().copied().find(|op| op.info().mnemonic == m);
    if let Some((head, last)) = word.rsplit_once('.')
        && let Some(last) = Ty::from_word(last)
    {
        if let Some((mnemonic, ty)) = head.rsplit_once('.')
            && let Some(ty) = Ty::from_word(ty)
            && let Some(op) = find(mnemonic)
        {
            return Some((op, ty, last));
        }
        if let Some(op) = find(head)
            && !op.info().srcs.contains(&Slot::F)
        {
            return Some((op, last, last));
        }
    }
    let op = find(word)?;
    match op.info().types {
        [only] => Some((op, *only, *only)),
        _ => None,
    }
}

fn mem_attr(c: &mut Cursor) -> Parsed<MemAttr> {
    let space: Space = c.variant("a state space")?;
    let signed = c.eat_word("signed");
    let sem: Sem = c.eat_variant().unwrap_or_default();
    let scope: Scope = c.eat_variant().unwrap_or_default();
    let cache: Cache = c.eat_variant().unwrap_or_default();
    let offset = if c.eat_key("offset") { c.number()? } else { 0 };
    Ok(MemAttr { space, signed, sem, scope, cache, offset })
}

fn call_attr(c: &mut Cursor) -> Parsed<CallAttr> {
    let callee = if c.eat_key("fn") {
        Callee::Direct(FuncId(c.number()?))
    } else if c.eat_key("to") {
        Callee::Indirect(value(c)?)
    } else {
        return c.error("expected `fn=` or `to=`");
    };
    let top = if c.eat_key("top") { Some(c.number()?) } else { None };
    let args = call_args(c)?;
    c.arrow()?;
    let rets = call_args(c)?;
    Ok(CallAttr { callee, args, rets, top })
}

fn address_of(c: &mut Cursor) -> Parsed<AddrOf> {
    Ok(if c.eat_key("var") {
        AddrOf::Global(GlobalId(c.number()?))
    } else if c.eat_key("fn") {
        AddrOf::Func(FuncId(c.number()?))
    } else if c.eat_key("local") {
        AddrOf::Local(c.number()?)
    } else if c.eat_key("param") {
        AddrOf::Param(c.number()?)
    } else {
        return c.error("expected `var=`, `fn=`, `local=` or `param=`");
    })
}

fn attr(c: &mut Cursor, kind: AttrKind) -> Parsed<Attr> {
    Ok(match kind {
        AttrKind::None => Attr::None,
        AttrKind::Float => Attr::Float(FloatAttr {
            round: c.eat_variant::<Round>().unwrap_or_default(),
            ftz: c.eat_word("ftz"),
            sat: c.eat_word("sat"),
            relu: c.eat_word("relu"),
        }),
        AttrKind::MinMax => Attr::MinMax(MinMaxAttr {
            ftz: c.eat_word("ftz"),
            nan: c.eat_word("nan"),
            xorsign_abs: c.eat_word("xorsign_abs"),
            abs: c.eat_word("abs"),
        }),
        AttrKind::IntCmp => Attr::IntCmp(c.variant("an integer comparison")?),
        AttrKind::FloatCmp => {
            Attr::FloatCmp { cmp: c.variant("a comparison")?, ftz: c.eat_word("ftz") }
        }
        AttrKind::Clamp => match c.any_word()?.as_str() {
            "clamp" => Attr::Clamp(true),
            "wrap" => Attr::Clamp(false),
            other => return c.error(format!("expected `clamp` or `wrap`, found `{other}`")),
        },
        AttrKind::Lop3 => Attr::Lop3(c.key("table")?),
        AttrKind::Mem => Attr::Mem(mem_attr(c)?),
        AttrKind::Atom => Attr::Atom {
            op: c.variant("an atomic operation")?,
            mem: mem_attr(c)?,
            ftz: c.eat_word("ftz"),
        },
        AttrKind::Copy => Attr::Copy {
            bytes: c.key("bytes")?,
            shared_offset: c.key("shared_offset")?,
            global_offset: c.key("global_offset")?,
            cache: c.eat_variant().unwrap_or_default(),
        },
        AttrKind::Space => Attr::Space(c.variant("a state space")?),
        AttrKind::Address => Attr::Address {
            of: address_of(c)?,
            addend: if c.eat_key("addend") { c.number()? } else { 0 },
        },
        AttrKind::Sreg => {
            let name = c.any_word()?;
            match sreg_from_text(&name) {
                Some(sreg) => Attr::Sreg(sreg),
                None => return c.error(format!("`{name}` is not a special register")),
            }
        }
        AttrKind::Vote => Attr::Vote(c.variant("a vote mode")?),
        AttrKind::Shfl => Attr::Shfl(c.variant("a shuffle mode")?),
        AttrKind::Redux => {
            let name = c.any_word()?;
            let (abs, nan) = (c.eat_word("abs"), c.eat_word("nan"));
            match redux_from_word(&name, abs, nan) {
                Some(op) => Attr::Redux(op),
                None => return c.error(format!("`{name}` is not a reduction")),
            }
        }
        AttrKind::Barrier => Attr::Barrier {
            kind: c.variant("a barrier operation")?,
            aligned: c.eat_word("aligned"),
            orders: match c.eat_key("orders") {
                true => c.variant("what the barrier orders")?,
                false => BarOrder::All,
            },
        },
        AttrKind::Fence => {
            Attr::Fence { sem: c.variant("an ordering")?, scope: c.variant("a scope")? }
        }
        AttrKind::Mbarrier => {
            Attr::Mbarrier { op: c.variant("an operation on an mbarrier")?, mem: mem_attr(c)? }
        }
        AttrKind::Call => Attr::Call(Box::new(call_attr(c)?)),
        AttrKind::Builtin => {
            let name = c.any_word()?;
            match Builtin::by_name(&name) {
                Some(builtin) => Attr::Builtin(builtin),
                None => return c.error(format!("`{name}` is not a device-library function")),
            }
        }
        AttrKind::Syscall => Attr::Syscall(c.variant("a system call")?),
        AttrKind::Texture => {
            let form = c.quoted()?;
            match TextureAttr::from_word(&form) {
                Some(texture) => Attr::Texture(texture),
                None => return c.error(format!("`{form}` is not a form of texture access")),
            }
        }
        AttrKind::Message => Attr::Message(c.quoted()?.into()),
    })
}

pub(super) fn loc(c: &mut Cursor) -> Parsed<LocId> {
    if c.eat('!') { Ok(LocId(c.number()?)) } else { Ok(LocId::default()) }
}

pub(super) fn inst(c: &mut Cursor) -> Parsed<Inst> {
    let mut dsts = SmallVec::new();
    if c.peek() == Some(&Token::Punct('%')) {
        dsts.push(reg(c)?);
        while c.eat(',') {
            dsts.push(reg(c)?);
        }
        c.need('=')?;
    }
    let word = c.any_word()?;
    let Some((op, ty, from)) = op_and_types(&word) else {
        return c.error(format!("`{word}` is not an operation with its types"));
    };
    let kind = op.info().attr;
    let has_words = c.eat('{');
    let optional = matches!(kind, AttrKind::None | AttrKind::Float | AttrKind::MinMax);
    if !has_words && !optional {
        return c.error(format!("`{word}` lacks its attribute in braces"));
    }
    let attr = match (has_words, kind) {
        (false, AttrKind::Float) => Attr::Float(FloatAttr::default()),
        (false, AttrKind::MinMax) => Attr::MinMax(MinMaxAttr::default()),
        (false, _) => Attr::None,
        (true, kind) => attr(c, kind)?,
    };
    if has_words {
        c.need('}')?;
    }
    let mut srcs = SmallVec::new();
    if matches!(c.peek(), Some(Token::Punct('%') | Token::Number(_))) {
        srcs.push(value(c)?);
        while c.eat(',') {
            srcs.push(value(c)?);
        }
    }
    let guard = if c.eat('@') {
        let negated = c.eat('!');
        Some(Guard { pred: reg(c)?, negated })
    } else {
        None
    };
    let loc = loc(c)?;
    Ok(Inst { op, ty, from, dsts, srcs, guard, attr, loc })
}

pub(super) fn block_id(c: &mut Cursor) -> Parsed<BlockId> {
    let word = c.any_word()?;
    match word.strip_prefix('b').and_then(|n| n.parse().ok()) {
        Some(n) => Ok(BlockId(n)),
        None => c.error(format!("expected a block such as `b0`, found `{word}`")),
    }
}

/// A terminator, if one comes next.
pub(super) fn term(c: &mut Cursor) -> Parsed<Option<Term>> {
    if c.eat_word("br") {
        return Ok(Some(Term::Br(block_id(c)?)));
    }
    if c.eat_word("condbr") {
        let negated = c.eat('!');
        let pred = reg(c)?;
        c.need(',')?;
        let then = block_id(c)?;
        c.need(',')?;
        return Ok(Some(Term::CondBr { pred, negated, then, els: block_id(c)? }));
    }
    if c.eat_word("brtable") {
        let index = value(c)?;
        c.need(',')?;
        c.need('[')?;
        let mut targets = Vec::new();
        while !c.eat(']') {
            if !targets.is_empty() {
                c.need(',')?;
            }
            targets.push(block_id(c)?);
        }
        return Ok(Some(Term::BrTable { index, targets }));
    }
    if c.eat_word("ret") {
        return Ok(Some(Term::Ret));
    }
    if c.eat_word("exit") {
        return Ok(Some(Term::Exit));
    }
    Ok(None)
}
