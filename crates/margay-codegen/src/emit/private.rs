// SPDX-License-Identifier: MIT OR Apache-2.0
//! Local memory that only the code itself reaches: word by word of all lanes, as on a card, so that
//! equal addresses are one vector access.
//!
//! Byte `a` of lane `l` lies at `(a / 4) * 128 + l * 4 + a % 4` from the warp's part. The engine puts
//! it into the interpreter's order, lane by lane, when it takes a block over.

use margay_ir::{Attr, Class, Function, Inst, MemAttr, Op, Space, Value};

use super::value::{Val, scalar, vector};
use super::watch::Kind;
use super::{Gen, io, vector_of};
use crate::shape::LANES;
use crate::{LOCAL_START, Options, Reason};

const GUEST: &str = "!alias.scope !2, !noalias !1";

/// Address of the function's local frame, in every lane, if that is known.
pub fn frame(f: &Function) -> Option<u64> {
    f.is_entry.then(|| LOCAL_START.next_multiple_of(f.frame_align.max(1)) as u64)
}

/// Whether nothing but direct loads and stores reaches local memory.
pub fn is_private(f: &Function, options: &Options) -> bool {
    let reaches = |inst: &Inst| match &inst.attr {
        Attr::Space(space) => *space == Space::Local,
        Attr::Mem(m) if m.space == Space::Local => {
            !(matches!(inst.op, Op::Ld | Op::St) && Gen::is_direct(inst, m))
        }
        Attr::Atom { mem, .. } => mem.space == Space::Local,
        _ => matches!(inst.op, Op::Call | Op::Syscall | Op::CpAsync),
    };
    options.blocks && options.full && f.frame_size != 0 && {
        !f.blocks.iter().flat_map(|b| &b.insts).any(reaches)
    }
}

/// Where the words of an access are.
enum Words {
    /// One host address for all lanes, and the byte in the word.
    Same(String, u64),
    /// Host base, indices of words, and the bits to shift by.
    Each(String, String, String),
}

impl Gen<'_> {
    /// Writes a load or store. False if there is no code for it.
    pub fn private_access(&mut self, n: usize, inst: &Inst, mem: &MemAttr) -> bool {
        let write = inst.op == Op::St;
        let size = inst.ty.bits() as u64 / 8;
        let count = if write { inst.srcs.len() as u64 - 1 } else { inst.dsts.len() as u64 };
        let address = self.bits(inst.srcs[0], Class::D);
        let words = match &address {
            Val::Lin { lin, .. } if lin.is_uniform() && lin.constant.is_some() => {
                let at = lin.constant.unwrap_or(0).wrapping_add(mem.offset as u64);
                let own = frame(self.f).unwrap_or(0) + self.f.frame_size as u64;
                let bounds = self.variable(n, 1).map_or(0..own, |own| own.first..own.end);
                let end = at.checked_add(size * count);
                let fits = at >= bounds.start && end.is_some_and(|end| end <= bounds.end);
                if !fits || !at.is_multiple_of(size * count) {
                    // It faults, or leaves its variable.
                    return false;
                }
                let base = self.own_local();
                let at_word = self.ins(format!("add i64 {base}, {}", at / 4 * 128));
                Words::Same(at_word, at % 4)
            }
            v => self.checked_words(n, v, mem.offset, size * count),
        };
        self.watch_access(n, &Self::access(inst, mem), &address, Kind::Plain, None);
        for e in 0..count {
            let step = e * size;
            if write {
                let value = inst.srcs[1 + e as usize];
                let class = match value {
                    Value::Reg(r) => self.class(r),
                    Value::Imm(_) => inst.ty.class(),
                };
                let v = self.bits(value, class);
                let all = self.spread(&v, class);
                self.put_words(&words, step, size, &all, class);
            } else {
                let r = inst.dsts[e as usize];
                let class = self.class(r);
                let name = self.get_words(&words, step, size, class, mem.signed);
                self.put(r, Val::Vec { name, addr: None });
            }
        }
        true
    }

    /// Host address of the running warp's local memory.
    fn own_local(&mut self) -> String {
        let local = self.io_load("i64", io!(local));
        let stride = self.io_load("i64", io!(local_stride));
        let bytes = self.ins(format!("mul i64 {stride}, {LANES}"));
        let warp = self.warp_number(64);
        let skip = self.ins(format!("mul i64 {bytes}, {warp}"));
        self.ins(format!("add i64 {local}, {skip}"))
    }

    /// An address that is known when the code runs; leaves where it is not good.
    fn checked_words(&mut self, n: usize, address: &Val, offset: i64, bytes: u64) -> Words {
        let (first, lim) = self.local_bounds(n, bytes);
        let exit = self.exit(Reason::Interpret, n, None);
        match address {
            Val::Lin { base, lin, .. } if lin.is_uniform() => {
                let at = self.ins(format!("add i64 {base}, {offset}"));
                let inside = self.add64(&at, -(first as i64));
                let mut ok = self.ins(format!("icmp ult i64 {inside}, {lim}"));
                if bytes > 1 {
                    let odd = self.ins(format!("and i64 {at}, {}", bytes - 1));
                    let even = self.ins(format!("icmp eq i64 {odd}, 0"));
                    ok = self.ins(format!("and i1 {ok}, {even}"));
                }
                self.expect_inside(&ok, &exit);
                let base = self.own_local();
                if bytes < 4 {
                    // The byte in the word is not known here.
                    let each = self.splat("i64", &at);
                    return self.words_of(&base, &each);
                }
                let skip = self.ins(format!("shl i64 {at}, 5"));
                Words::Same(self.ins(format!("add i64 {base}, {skip}")), 0)
            }
            v => {
                let all = self.spread(v, Class::D);
                let more = self.splat("i64", &offset.to_string());
                let at = self.ins(format!("add <32 x i64> {all}, {more}"));
                let most = self.splat("i64", &lim);
                let inside = match first {
                    0 => at.clone(),
                    _ => self.ins(format!("sub <32 x i64> {at}, splat (i64 {first})")),
                };
                let mut good = self.ins(format!("icmp ult <32 x i64> {inside}, {most}"));
                if bytes > 1 {
                    let odd = self.ins(format!("and <32 x i64> {at}, splat (i64 {})", bytes - 1));
                    let even = self.ins(format!("icmp eq <32 x i64> {odd}, zeroinitializer"));
                    good = self.ins(format!("and <32 x i1> {good}, {even}"));
                }
                let ok = self.every(&good);
                self.expect_inside(&ok, &exit);
                let base = self.own_local();
                self.words_of(&base, &at)
            }
        }
    }

    fn words_of(&mut self, base: &str, at: &str) -> Words {
        let low = self.ins(format!("trunc <32 x i64> {at} to <32 x i32>"));
        let word = self.ins(format!("lshr <32 x i32> {low}, splat (i32 2)"));
        let row = self.ins(format!("shl <32 x i32> {word}, splat (i32 5)"));
        let lanes = vector_of("i32", 0..LANES as i64);
        let index = self.ins(format!("or <32 x i32> {row}, {lanes}"));
        let byte = self.ins(format!("and <32 x i32> {low}, splat (i32 3)"));
        let bits = self.ins(format!("shl <32 x i32> {byte}, splat (i32 3)"));
        Words::Each(base.to_owned(), index, bits)
    }

    /// One word of all lanes, `more` words further on.
    fn word(&mut self, words: &Words, more: u64) -> String {
        match words {
            Words::Same(at, _) => {
                let at = self.ins(format!("add i64 {at}, {}", more * 128));
                let p = self.ins(format!("inttoptr i64 {at} to ptr"));
                self.ins(format!("load <32 x i32>, ptr {p}, align 64, {GUEST}"))
            }
            Words::Each(base, index, _) => {
                let p = self.word_pointers(base, index, more);
                let lanes = self.lanes();
                let f = "@llvm.masked.gather.v32i32.v32p0";
                self.declare(format!(
                    "declare <32 x i32> {f}(<32 x ptr>, i32, <32 x i1>, <32 x i32>)"
                ));
                self.ins(format!(
                    "call <32 x i32> {f}(<32 x ptr> {p}, i32 4, <32 x i1> {lanes}, <32 x i32> \
                     zeroinitializer), {GUEST}"
                ))
            }
        }
    }

    fn word_pointers(&mut self, base: &str, index: &str, more: u64) -> String {
        let base = self.ins(format!("add i64 {base}, {}", more * 128));
        let p = self.ins(format!("inttoptr i64 {base} to ptr"));
        let wide = self.ins(format!("sext <32 x i32> {index} to <32 x i64>"));
        self.ins(format!("getelementptr i32, ptr {p}, <32 x i64> {wide}"))
    }

    fn put_word(&mut self, words: &Words, more: u64, value: &str) {
        let lanes = self.lanes();
        match words {
            Words::Same(at, _) => {
                let at = self.ins(format!("add i64 {at}, {}", more * 128));
                let p = self.ins(format!("inttoptr i64 {at} to ptr"));
                if self.all() {
                    self.line(format!("store <32 x i32> {value}, ptr {p}, align 64, {GUEST}"));
                    return;
                }
                let f = "@llvm.masked.store.v32i32.p0";
                self.declare(format!("declare void {f}(<32 x i32>, ptr, i32, <32 x i1>)"));
                self.line(format!(
                    "call void {f}(<32 x i32> {value}, ptr {p}, i32 64, <32 x i1> {lanes}), {GUEST}"
                ));
            }
            Words::Each(base, index, _) => {
                let p = self.word_pointers(base, index, more);
                let f = "@llvm.masked.scatter.v32i32.v32p0";
                self.declare(format!("declare void {f}(<32 x i32>, <32 x ptr>, i32, <32 x i1>)"));
                self.line(format!(
                    "call void {f}(<32 x i32> {value}, <32 x ptr> {p}, i32 4, <32 x i1> {lanes}), \
                     {GUEST}"
                ));
            }
        }
    }

    /// The bits to shift a word by for an element of less than a word.
    fn shift_of(words: &Words, step: u64) -> (u64, String) {
        match words {
            Words::Same(_, byte) => {
                let at = byte + step;
                (at / 4, format!("splat (i32 {})", at % 4 * 8))
            }
            // Vectors of such elements begin at a word, or lie in one.
            Words::Each(..) => (step / 4, String::new()),
        }
    }

    fn get_words(
        &mut self,
        words: &Words,
        step: u64,
        size: u64,
        class: Class,
        signed: bool,
    ) -> String {
        if size == 8 {
            let low = self.word(words, step / 4);
            let high = self.word(words, step / 4 + 1);
            let low = self.ins(format!("zext <32 x i32> {low} to <32 x i64>"));
            let high = self.ins(format!("zext <32 x i32> {high} to <32 x i64>"));
            let high = self.ins(format!("shl <32 x i64> {high}, splat (i64 32)"));
            return self.ins(format!("or <32 x i64> {low}, {high}"));
        }
        let (more, mut bits) = Self::shift_of(words, step);
        let mut v = self.word(words, more);
        if size < 4 {
            if let Words::Each(_, _, own) = words {
                bits = self.ins(format!("add <32 x i32> {own}, splat (i32 {})", step % 4 * 8));
            }
            v = self.ins(format!("lshr <32 x i32> {v}, {bits}"));
            let ty = format!("<32 x i{}>", size * 8);
            v = self.ins(format!("trunc <32 x i32> {v} to {ty}"));
            let op = if signed { "sext" } else { "zext" };
            return self.ins(format!("{op} {ty} {v} to {}", vector(class)));
        }
        if class == Class::D {
            let op = if signed { "sext" } else { "zext" };
            return self.ins(format!("{op} <32 x i32> {v} to <32 x i64>"));
        }
        v
    }

    fn put_words(&mut self, words: &Words, step: u64, size: u64, all: &str, class: Class) {
        let mut low = all.to_owned();
        if class == Class::D {
            low = self.ins(format!("trunc <32 x {}> {all} to <32 x i32>", scalar(class)));
        }
        if size == 8 {
            let high = self.ins(format!("lshr <32 x i64> {all}, splat (i64 32)"));
            let high = self.ins(format!("trunc <32 x i64> {high} to <32 x i32>"));
            self.put_word(words, step / 4, &low);
            self.put_word(words, step / 4 + 1, &high);
            return;
        }
        let (more, mut bits) = Self::shift_of(words, step);
        if size < 4 {
            if let Words::Each(_, _, own) = words {
                bits = self.ins(format!("add <32 x i32> {own}, splat (i32 {})", step % 4 * 8));
            }
            let ones = (1u32 << (size * 8)) - 1;
            let cut = self.ins(format!("and <32 x i32> {low}, splat (i32 {ones})"));
            let new = self.ins(format!("shl <32 x i32> {cut}, {bits}"));
            let hole = self.ins(format!("shl <32 x i32> splat (i32 {ones}), {bits}"));
            let keep = self.ins(format!("xor <32 x i32> {hole}, splat (i32 -1)"));
            let old = self.word(words, more);
            let old = self.ins(format!("and <32 x i32> {old}, {keep}"));
            low = self.ins(format!("or <32 x i32> {old}, {new}"));
        }
        self.put_word(words, more, &low);
    }
}
