// SPDX-License-Identifier: MIT OR Apache-2.0
//! The instruction table: one row a PTX form, as the manual writes it.
//!
//! The rows stand in the files of this folder, in the notation of [`rows`]; to add an instruction,
//! add a row. [`table`] translates them once a process. A row says which modifiers may stand in which
//! order and what shape the operands have; it does not say which types go together beyond what
//! the manual's own lines say, nor does it look at the module's version or target.

mod arith;
mod control;
mod convert;
pub mod matching;
mod memory;
pub mod rows;
pub mod sample;
pub mod since;
mod sync;
mod tcgen05;
mod tensor;
mod texture;
mod video;

use std::collections::HashMap;
use std::sync::LazyLock;

/// One row of the table.
#[derive(Debug)]
pub struct Form {
    /// Position in the table.
    pub id: u16,
    /// The instruction's name as the manual heads it (`add`, `cp.async.bulk`).
    pub name: &'static str,
    /// The row as written in the table.
    pub text: &'static str,
    /// The fragment of the manual's section about it.
    pub section: &'static str,
    /// First PTX version that has the form.
    pub ptx: (u8, u8),
    /// First target that has it: the number of `sm_NN`, and `a` or `f` for arch-specific forms.
    pub sm: (u16, Option<char>),
    /// Places for modifiers, in order.
    pub slots: Vec<Slot>,
    /// Places for operands, in order.
    pub operands: Vec<OperandSlot>,
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Form {}

/// A place for one modifier.
#[derive(Clone, Debug)]
pub struct Slot {
    /// The row's word for it (`rnd`, `type`, `sem`), or the modifier itself when it is fixed.
    pub name: &'static str,
    /// What may stand there, without dots.
    pub alternatives: Vec<&'static str>,
    /// Whether it may be left out.
    pub optional: bool,
    /// Whether it is written behind the address operand: `ld`'s `[a].unified`.
    pub after_address: bool,
}

/// A place for one operand.
#[derive(Clone, Debug)]
pub struct OperandSlot {
    /// The row's word for it: `d`, `a`, `cache-policy`.
    pub name: &'static str,
    pub shape: Shape,
    /// Whether it may be left out.
    pub optional: bool,
}

/// What may stand in an operand's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A register, variable, label, constant, vector, element or component; not negated.
    Value,
    /// `{!}p`
    Predicate,
    /// `{-}a`, for video instructions.
    Signed,
    /// `p|q`
    Pair,
    /// `p{|q}`
    MaybePair,
    /// `[a]`
    Address,
    /// `[a, …]` of so many parts.
    Bracket { fewest: u8, most: u8 },
    /// `{a, b}`; of any length when there is none.
    Vector { length: Option<u8> },
    /// `(a, b)`
    List,
}

/// All forms, and where to find them.
#[derive(Debug)]
pub struct Table {
    /// In the order of the files; `forms[i].id == i`.
    pub forms: Vec<Form>,
    /// The forms whose name begins with this word: `cp` for `cp.async.bulk`.
    heads: HashMap<&'static str, Vec<u16>>,
}

impl Table {
    /// The forms whose name's first word (up to a dot) is `head`, in table order.
    pub fn with_head(&self, head: &str) -> impl Iterator<Item = &Form> + Clone {
        self.heads.get(head).into_iter().flatten().map(|&id| &self.forms[id as usize])
    }

    /// Every first word of a name, in no order.
    pub fn heads(&self) -> impl Iterator<Item = &'static str> {
        self.heads.keys().copied()
    }
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let files = [
        arith::ROWS,
        convert::ROWS,
        memory::ROWS,
        texture::ROWS,
        control::ROWS,
        sync::ROWS,
        tensor::ROWS,
        tcgen05::ROWS,
        video::ROWS,
    ];
    // The text is a constant of this crate, so this fails in every test or never.
    let forms = rows::compile(&files).unwrap_or_else(|e| panic!("instruction table: {e}"));
    let mut heads: HashMap<&'static str, Vec<u16>> = HashMap::new();
    for form in &forms {
        heads.entry(form.name.split('.').next().unwrap_or(form.name)).or_default().push(form.id);
    }
    Table { forms, heads }
});

/// The instruction table.
pub fn table() -> &'static Table {
    &TABLE
}
