// SPDX-License-Identifier: MIT OR Apache-2.0
//! The instruction table: one row a PTX form, as the manual writes it.

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
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Form {}

/// A place for one modifier.
#[derive(Debug)]
pub struct Slot {
    /// The manual's word for it (`rnd`, `type`, `sem`), or the modifier itself when it is fixed.
    pub name: &'static str,
    /// What may stand there, without dots.
    pub alternatives: Vec<&'static str>,
    /// Whether it may be left out.
    pub optional: bool,
}
