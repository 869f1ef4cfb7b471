// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a shared-memory access does to the banks, where its addresses are known up to a common offset.
//!
//! The warp's shape comes from the kernel's launches if they agree; otherwise a warp is taken to be 32
//! neighbours in x, and [`Banks::assumed`] says so.

use margay_arch::{CacheOperator, Counts, Kind as AccessKind, MemoryModel, Space, WarpAccess};

use super::access::Access;
use super::value::{Affine, Symbol};
use super::{Facts, Side};
use crate::tree::{DeclId, Kind, NodeId, Unary};

/// The banks' view of one access.
pub struct Banks {
    pub counts: Counts,
    /// Bytes of a lane.
    pub width: u32,
    /// Threads of a block in x, y and z that the lanes were placed by.
    pub block: [i64; 3],
    /// No launch said so.
    pub assumed: bool,
    /// Elements between neighbours in x.
    pub stride: i64,
}

impl Banks {
    /// How many times as long as without conflicts.
    pub fn degree(&self) -> u32 {
        self.counts.wavefronts / self.counts.wavefronts_ideal.max(1)
    }
}

impl Facts<'_> {
    /// The banks of an access to a shared array.
    pub fn banks(&self, access: &Access) -> Option<Banks> {
        let tree = self.tree;
        if !self.is_shared(access.root) || tree[access.node].dependent {
            return None;
        }
        let index = self.element_index(access)?;
        if index.symbols().any(|s| !self.is_placed(s)) {
            return None;
        }
        let strides = [index.stride(0)?, index.stride(1)?, index.stride(2)?];
        let width = u32::try_from(tree.type_of(access.node).size()?).ok()?;
        if !matches!(width, 1 | 2 | 4 | 8 | 16) {
            return None;
        }
        let (block, assumed) = match self.block_of(tree.function_of(access.node)?) {
            Some(block) => (block, false),
            None => ([32, 1, 1], true),
        };
        // An assumed shape must fit the array.
        if assumed && let Some(bytes) = tree.decl_type(access.root).size() {
            let reach = strides[0].checked_abs()?.checked_mul(31)?.checked_mul(i64::from(width))?;
            if tree.decl_type(access.root).length().is_some()
                && reach >= i64::try_from(bytes).ok()?
            {
                return None;
            }
        }
        let threads = block[0].checked_mul(block[1])?.checked_mul(block[2])?;
        let lanes = threads.clamp(1, 32);
        let mut offsets = [0i64; 32];
        for lane in 0..lanes {
            let place = [lane % block[0], lane / block[0] % block[1], lane / block[0] / block[1]];
            let mut offset = 0i64;
            for d in 0..3 {
                offset = offset.checked_add(strides[d].checked_mul(place[d])?)?;
            }
            offsets[lane as usize] = offset.checked_mul(i64::from(width))?;
        }
        let lowest = *offsets.iter().min()?;
        let mut addresses = [0u64; 32];
        for (address, offset) in addresses.iter_mut().zip(offsets) {
            *address = u64::try_from(offset - lowest).ok()?;
        }
        let mask = if lanes == 32 { u32::MAX } else { (1u32 << lanes) - 1 };
        let kind = if access.writes { AccessKind::Store } else { AccessKind::Load };
        let counts = MemoryModel::new(self.limits).count(&WarpAccess {
            space: Space::Shared,
            kind,
            width,
            mask,
            addresses: &addresses,
            cache: CacheOperator::Default,
        });
        Some(Banks { counts, width, block, assumed, stride: strides[0] })
    }

    /// A shared array: CUDA's `__shared__`, OpenCL's `local`.
    pub fn is_shared(&self, variable: DeclId) -> bool {
        if !self.is_opencl() {
            return self.tree[variable].qualifiers.shared;
        }
        let spelling = self.tree.decl_type(variable).canonical_spelling();
        spelling.contains("__local")
    }

    /// A constant array: CUDA's `__constant__`, OpenCL's `constant`.
    pub fn is_constant(&self, variable: DeclId) -> bool {
        if !self.is_opencl() {
            return self.tree[variable].qualifiers.constant;
        }
        self.tree.decl_type(variable).canonical_spelling().contains("__constant")
    }

    /// A symbol whose value in each lane is known up to a common offset.
    fn is_placed(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Variable(variable) => self.certainly_uniform(variable, 0),
            Symbol::Thread(_)
            | Symbol::Global(_)
            | Symbol::Block(_)
            | Symbol::BlockSize(_)
            | Symbol::GridSize(_) => true,
        }
    }

    /// A variable that has one value in all threads of a warp at each place of the program.
    pub fn certainly_uniform(&self, variable: DeclId, depth: u32) -> bool {
        let tree = self.tree;
        let decl = &tree[variable];
        if depth > 8 {
            return false;
        }
        match decl.kind {
            Kind::Parameter => decl.function.is_some_and(|f| self.is_kernel(f)),
            Kind::Variable => {
                let simple = tree.writes(variable).iter().all(|w| match tree[*w].kind {
                    Kind::Assign(_) => true,
                    Kind::Unary(operator) => operator.writes(),
                    _ => false,
                });
                simple
                    && self
                        .values(variable)
                        .iter()
                        .all(|v| self.uniform_expression(*v, variable, depth))
            }
            _ => false,
        }
    }

    fn uniform_expression(&self, node: NodeId, own: DeclId, depth: u32) -> bool {
        let tree = self.tree;
        match self.builtin(node) {
            Some(Symbol::Thread(_) | Symbol::Global(_)) => return false,
            Some(_) => return true,
            None => {}
        }
        match tree[node].kind {
            Kind::Integer | Kind::SizeOf | Kind::Boolean | Kind::Character => true,
            Kind::Reference => tree[node].decl.is_some_and(|d| {
                d == own
                    || matches!(tree[d].kind, Kind::OtherDeclaration)
                    || self.certainly_uniform(d, depth + 1)
            }),
            Kind::Call | Kind::Subscript | Kind::Member | Kind::Lambda => false,
            Kind::Unary(Unary::Dereference | Unary::AddressOf) => false,
            _ => {
                !tree[node].children.is_empty()
                    && tree[node].children.iter().all(|c| self.uniform_expression(*c, own, depth))
            }
        }
    }

    /// The block that all launches of a kernel agree on.
    pub fn block_of(&self, kernel: DeclId) -> Option<[i64; 3]> {
        let mut found = None;
        for launch in self.launches.iter().filter(|l| l.kernel == Some(kernel)) {
            let [Some(x), Some(y), Some(z)] = launch.block else { return None };
            let block = [x, y, z];
            if block.iter().any(|d| *d < 1) || found.is_some_and(|f| f != block) {
                return None;
            }
            found = Some(block);
        }
        found
    }

    /// The accesses of device code to arrays, with the function's side checked.
    pub fn device_accesses(&self) -> Vec<Access> {
        let mut all = Vec::new();
        for &function in &self.tree.functions {
            let side = self.side_of(&self.tree[function]);
            if side == Side::Host {
                continue;
            }
            if let Some(body) = self.tree.body(function).filter(|b| self.on_device(*b)) {
                all.extend(self.accesses(body));
            }
        }
        all
    }

    /// The steps of an index between neighbours in x, if they are known and not zero.
    pub fn varies_in_x(&self, index: &Affine) -> Option<i64> {
        let known = index.symbols().all(|s| self.is_placed(s));
        index.stride(0).filter(|s| known && *s != 0)
    }
}
