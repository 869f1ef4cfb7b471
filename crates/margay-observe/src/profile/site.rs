// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction is to the memory model, and where in the source it stands.

use margay_arch::{AtomicOp, CacheOperator, Kind, Space};
use margay_exec::fault::Access;
use margay_exec::program::Program;
use margay_ir as ir;

use super::raw::RawPlace;

/// The constant part of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    pub kind: Kind,
    pub cache: CacheOperator,
}

impl Site {
    /// Of the instruction at `pc`, which made an access.
    pub fn of(program: &Program, pc: u32, access: Access) -> Site {
        let plain = match access {
            Access::Read => Kind::Load,
            Access::Write | Access::Atomic => Kind::Store,
        };
        let Some(inst) = program.inst(pc) else {
            return Site { kind: plain, cache: CacheOperator::Default };
        };
        match &inst.attr {
            ir::Attr::Mem(mem) => Site { kind: plain, cache: cache(mem.cache) },
            // Dead results were taken off when the module was loaded.
            ir::Attr::Atom { op, mem, ftz: _ } => {
                let one = inst.srcs.get(1) == Some(&ir::Value::Imm(1));
                let op = match atomic(*op) {
                    AtomicOp::Add if one => AtomicOp::AddOne,
                    op => op,
                };
                let used = !inst.dsts.is_empty();
                let kind = if used { Kind::Atomic(op) } else { Kind::Reduction(op) };
                Site { kind, cache: cache(mem.cache) }
            }
            ir::Attr::Copy { cache: operator, .. } => Site { kind: plain, cache: cache(*operator) },
            ir::Attr::None
            | ir::Attr::Float(_)
            | ir::Attr::MinMax(_)
            | ir::Attr::IntCmp(_)
            | ir::Attr::FloatCmp { .. }
            | ir::Attr::Clamp(_)
            | ir::Attr::Lop3(_)
            | ir::Attr::Space(_)
            | ir::Attr::Address { .. }
            | ir::Attr::Sreg(_)
            | ir::Attr::Vote(_)
            | ir::Attr::Shfl(_)
            | ir::Attr::Redux(_)
            | ir::Attr::Barrier { .. }
            | ir::Attr::Fence { .. }
            | ir::Attr::Mbarrier { .. }
            | ir::Attr::Call(_)
            | ir::Attr::Builtin(_)
            | ir::Attr::Syscall(_)
            | ir::Attr::Texture(_)
            | ir::Attr::Message(_) => Site { kind: plain, cache: CacheOperator::Default },
        }
    }

    /// Whether it is a read-modify-write.
    pub fn is_atomic(&self) -> bool {
        match self.kind {
            Kind::Atomic(_) | Kind::Reduction(_) => true,
            Kind::Load | Kind::Store => false,
        }
    }
}

/// The memory model's space; events name no generic one.
pub fn space(space: ir::Space) -> Space {
    match space {
        ir::Space::Generic | ir::Space::Global => Space::Global,
        ir::Space::Shared => Space::Shared,
        ir::Space::Local => Space::Local,
        ir::Space::Const => Space::Constant,
        ir::Space::Param => Space::Parameter,
    }
}

/// The space's name in reports.
pub fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Constant => "constant",
        Space::Parameter => "parameter",
    }
}

/// The kind's name in reports, and the atomic's operation.
pub fn kind_name(kind: Kind) -> (&'static str, Option<&'static str>) {
    match kind {
        Kind::Load => ("load", None),
        Kind::Store => ("store", None),
        Kind::Atomic(op) => ("atomic", Some(atomic_name(op))),
        Kind::Reduction(op) => ("reduction", Some(atomic_name(op))),
    }
}

fn atomic_name(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Add => "add",
        AtomicOp::AddOne => "addone",
        AtomicOp::AddFloat => "addfloat",
        AtomicOp::Min => "min",
        AtomicOp::Max => "max",
        AtomicOp::Inc => "inc",
        AtomicOp::Dec => "dec",
        AtomicOp::And => "and",
        AtomicOp::Or => "or",
        AtomicOp::Xor => "xor",
        AtomicOp::Exchange => "exchange",
        AtomicOp::CompareSwap => "compareswap",
    }
}

/// The kind of these names.
pub fn kind_of(kind: &str, operation: Option<&str>) -> Kind {
    let op = match operation.unwrap_or("") {
        "addone" => AtomicOp::AddOne,
        "addfloat" => AtomicOp::AddFloat,
        "min" => AtomicOp::Min,
        "max" => AtomicOp::Max,
        "inc" => AtomicOp::Inc,
        "dec" => AtomicOp::Dec,
        "and" => AtomicOp::And,
        "or" => AtomicOp::Or,
        "xor" => AtomicOp::Xor,
        "exchange" => AtomicOp::Exchange,
        "compareswap" => AtomicOp::CompareSwap,
        _ => AtomicOp::Add,
    };
    match kind {
        "store" => Kind::Store,
        "atomic" => Kind::Atomic(op),
        "reduction" => Kind::Reduction(op),
        _ => Kind::Load,
    }
}

/// The name of a cache operator, if one was written.
pub fn cache_name(cache: CacheOperator) -> Option<&'static str> {
    match cache {
        CacheOperator::Default => None,
        CacheOperator::Ca => Some("ca"),
        CacheOperator::Cg => Some("cg"),
        CacheOperator::Cs => Some("cs"),
        CacheOperator::Lu => Some("lu"),
        CacheOperator::Cv => Some("cv"),
        CacheOperator::Wb => Some("wb"),
        CacheOperator::Wt => Some("wt"),
        CacheOperator::Nc => Some("nc"),
        CacheOperator::Uniform => Some("uniform"),
    }
}

/// The operator of a name.
pub fn cache_of(name: Option<&str>) -> CacheOperator {
    match name.unwrap_or("") {
        "ca" => CacheOperator::Ca,
        "cg" => CacheOperator::Cg,
        "cs" => CacheOperator::Cs,
        "lu" => CacheOperator::Lu,
        "cv" => CacheOperator::Cv,
        "wb" => CacheOperator::Wb,
        "wt" => CacheOperator::Wt,
        "nc" => CacheOperator::Nc,
        "uniform" => CacheOperator::Uniform,
        _ => CacheOperator::Default,
    }
}

fn cache(cache: ir::Cache) -> CacheOperator {
    match cache {
        ir::Cache::Default | ir::Cache::Mbarrier => CacheOperator::Default,
        ir::Cache::Ca => CacheOperator::Ca,
        ir::Cache::Cg => CacheOperator::Cg,
        ir::Cache::Cs => CacheOperator::Cs,
        ir::Cache::Lu => CacheOperator::Lu,
        ir::Cache::Cv => CacheOperator::Cv,
        ir::Cache::Wb => CacheOperator::Wb,
        ir::Cache::Wt => CacheOperator::Wt,
        ir::Cache::NonCoherent => CacheOperator::Nc,
        ir::Cache::Uniform => CacheOperator::Uniform,
    }
}

fn atomic(op: ir::AtomOp) -> AtomicOp {
    match op {
        ir::AtomOp::Add => AtomicOp::Add,
        ir::AtomOp::FAdd => AtomicOp::AddFloat,
        ir::AtomOp::MinS | ir::AtomOp::MinU | ir::AtomOp::FMin => AtomicOp::Min,
        ir::AtomOp::MaxS | ir::AtomOp::MaxU | ir::AtomOp::FMax => AtomicOp::Max,
        ir::AtomOp::Inc => AtomicOp::Inc,
        ir::AtomOp::Dec => AtomicOp::Dec,
        ir::AtomOp::And => AtomicOp::And,
        ir::AtomOp::Or => AtomicOp::Or,
        ir::AtomOp::Xor => AtomicOp::Xor,
        ir::AtomOp::Exch => AtomicOp::Exchange,
        ir::AtomOp::Cas => AtomicOp::CompareSwap,
    }
}

/// Where a location stands, innermost first.
pub fn places(module: &ir::Module, loc: ir::LocId) -> (u32, Vec<RawPlace>) {
    let mut places = Vec::new();
    let mut at = module.locs.get(loc.0 as usize);
    let ptx_line = at.map_or(0, |l| l.ptx_line);
    while let Some(here) = at {
        // A chain longer than any inlining is a circle in the debug information.
        if here.line == 0 || places.len() >= 64 {
            break;
        }
        let file = here.file.and_then(|f| module.files.get(f as usize));
        places.push(RawPlace {
            file: file.map(|f| f.to_string()).unwrap_or_default(),
            line: here.line,
            column: here.column,
            function: here.function.as_deref().map(str::to_owned),
        });
        at = here.inlined_at.and_then(|n| module.locs.get(n as usize));
    }
    (ptx_line, places)
}
