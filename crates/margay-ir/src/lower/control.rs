// SPDX-License-Identifier: MIT OR Apache-2.0
//! Branches, returns and traps.

use margay_ptx::ast::{Instruction, ModifierCursor};

use super::{Lower, Lowered, Stop};

pub(super) fn lower(
    _l: &mut Lower<'_, '_>,
    _inst: &Instruction,
    _m: &mut ModifierCursor<'_>,
) -> Lowered {
    Err(Stop::unsupported("no lowering yet"))
}
