// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scopes of a function: what a name means at a place.
//!
//! PTX has one name space; `{ }` opens a scope, for labels too. `%r<100>` declares a hundred names,
//! which come into being when they are first used.

use std::collections::HashMap;

use margay_ptx::ast::{self, Name, ScalarType, Symbol};

use crate::inst::{BlockId, Reg};
use crate::module::{FuncId, GlobalId};

/// A scalar register with its declared type, whose width decides extensions and truncations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegVar {
    pub reg: Reg,
    pub ty: ScalarType,
}

/// Where a `.param` variable of a device function, or an argument slot of a call, lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Accessed whole only: a register that holds `size` bytes.
    Reg { reg: Reg, size: u32 },
    /// In the function's frame.
    Frame { offset: u32, size: u32 },
}

/// What a name stands for inside a function.
#[derive(Clone, Debug)]
pub(crate) enum Entity {
    Reg(RegVar),
    /// A `.reg .v2` or `.v4` variable.
    Vector {
        ty: ScalarType,
        regs: Vec<Reg>,
    },
    /// A 128-bit register: low and high half.
    Wide([Reg; 2]),
    /// A `.local` variable: its byte in the frame.
    Local {
        offset: u32,
    },
    /// A kernel parameter: its byte in the parameter block.
    KernelParam {
        offset: u32,
    },
    Slot(Slot),
    Global(GlobalId),
    Func(FuncId),
    Label(BlockId),
    BranchTargets(Vec<(Name, Option<u32>)>),
    /// `.calltargets` and `.callprototype` tell nothing that the call's operands do not.
    CallTargets,
    /// A name that exists and that margay cannot use yet: why.
    Unusable(&'static str),
}

/// The names of one `{ }`.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub names: HashMap<Symbol, Entity>,
    /// Parametrised register declarations: prefix, type, count.
    pub ranges: Vec<(String, ScalarType, u32)>,
}

impl Scope {
    /// The type of a register that a `prefix<count>` declaration of this scope covers.
    pub fn in_range(&self, name: &str) -> Option<ScalarType> {
        self.ranges.iter().find_map(|(prefix, ty, count)| {
            let digits = name.strip_prefix(prefix.as_str())?;
            let canonical = digits.bytes().all(|b| b.is_ascii_digit())
                && (digits == "0" || !digits.starts_with('0'));
            (canonical && digits.parse::<u32>().ok()? < *count).then_some(*ty)
        })
    }
}

/// Names of module scope.
#[derive(Clone, Debug)]
pub(crate) enum ModuleName {
    Func(FuncId),
    Global(GlobalId),
    Unusable(&'static str),
}

impl ModuleName {
    pub fn entity(&self) -> Entity {
        match self {
            ModuleName::Func(id) => Entity::Func(*id),
            ModuleName::Global(id) => Entity::Global(*id),
            ModuleName::Unusable(why) => Entity::Unusable(why),
        }
    }
}

/// Number of elements of a variable: the product of its extents and its vector length. `None` if
/// an extent is open or the product exceeds 2^48.
pub(crate) fn element_count(var: &ast::Variable) -> Option<u64> {
    var.dims.iter().try_fold(u64::from(var.vector.unwrap_or(1)), |count, dim| {
        count.checked_mul((*dim)?).filter(|n| *n < 1 << 48)
    })
}

/// Size and alignment in bytes of a variable (PTX ISA, "Alignment"): by default a variable is
/// aligned to its element, a vector to the whole vector.
pub(crate) fn size_and_align(var: &ast::Variable) -> Option<(u64, u64)> {
    let element = u64::from(var.ty.bits().div_ceil(8));
    let natural = element * u64::from(var.vector.unwrap_or(1));
    let align = var.align.map_or(natural, u64::from).max(1);
    Some((element * element_count(var)?, align))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parametrised_names_are_canonical_numbers_below_the_count() {
        let scope = Scope {
            ranges: vec![("%r".into(), ScalarType::B32, 12), ("%r1".into(), ScalarType::B64, 3)],
            ..Scope::default()
        };
        assert_eq!(scope.in_range("%r0"), Some(ScalarType::B32));
        assert_eq!(scope.in_range("%r11"), Some(ScalarType::B32));
        assert_eq!(scope.in_range("%r12"), Some(ScalarType::B64));
        for no in ["%r", "%r00", "%r13", "%rd1", "%r+1", "%r99999999999"] {
            assert_eq!(scope.in_range(no), None, "{no}");
        }
    }
}
