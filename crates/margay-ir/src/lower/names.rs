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
    /// `.callprototype`: sizes of the arguments and of the results.
    Prototype {
        params: Vec<u32>,
        returns: Vec<u32>,
    },
    /// `.calltargets` tells nothing that the call's operands do not.
    CallTargets,
    /// A name that exists and that margay cannot use yet: why.
    Unusable(&'static str),
}

/// `.reg .v2 .u32 prefix<count>`.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub prefix: String,
    pub ty: ScalarType,
    pub vector: Option<u8>,
    pub count: u32,
}

/// The names of one `{ }`.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub names: HashMap<Symbol, Entity>,
    /// Parametrised register declarations.
    pub ranges: Vec<Range>,
}

impl Scope {
    /// The `prefix<count>` declaration of this scope that covers a name.
    pub fn in_range(&self, name: &str) -> Option<&Range> {
        self.ranges.iter().find(|range| {
            let Some(digits) = name.strip_prefix(range.prefix.as_str()) else { return false };
            let canonical = digits.bytes().all(|b| b.is_ascii_digit())
                && (digits == "0" || !digits.starts_with('0'));
            canonical && digits.parse::<u32>().is_ok_and(|n| n < range.count)
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

/// The sizes that a list of parameters passes one by one: a vector register passes its elements.
/// `None` if one has no size.
pub(crate) fn passed_sizes(vars: &[ast::Variable]) -> Option<Vec<u32>> {
    let mut sizes = Vec::with_capacity(vars.len());
    for var in vars {
        let (size, _) = size_and_align(var)?;
        let elements = match var.space {
            ast::StateSpace::Reg => u32::from(var.vector.unwrap_or(1).max(1)),
            _ => 1,
        };
        let size = u32::try_from(size).ok()? / elements;
        sizes.extend(std::iter::repeat_n(size, elements as usize));
    }
    Some(sizes)
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

    fn range(prefix: &str, ty: ScalarType, count: u32) -> Range {
        Range { prefix: prefix.into(), ty, vector: None, count }
    }

    #[test]
    fn parametrised_names_are_canonical_numbers_below_the_count() {
        let scope = Scope {
            ranges: vec![range("%r", ScalarType::B32, 12), range("%r1", ScalarType::B64, 3)],
            ..Scope::default()
        };
        let ty = |name| scope.in_range(name).map(|r| r.ty);
        assert_eq!(ty("%r0"), Some(ScalarType::B32));
        assert_eq!(ty("%r11"), Some(ScalarType::B32));
        assert_eq!(ty("%r12"), Some(ScalarType::B64));
        for no in ["%r", "%r00", "%r13", "%rd1", "%r+1", "%r99999999999"] {
            assert_eq!(ty(no), None, "{no}");
        }
    }
}
