// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine's names for memory accesses, by generation, so that a report can be held against a
//! disassembly.
//!
//! 7.5 to 12.0 were read in ptxas 13.0's output (`tests/vectors/h200/machine_names.txt`); older names are
//! those of NVIDIA's "CUDA Binary Utilities" and, for 1.x, of its public disassemblers. Limit: the stem and
//! the width, not every suffix that a compiler adds.

use serde::Serialize;

use crate::access::{AtomicOp, CacheOperator, Generation, Kind, MemoryModel, Space};
use crate::atomics::{SharedAtomic, shared_way};
use crate::figure::Source;

/// The machine instructions of one access; `loops` if they are repeated until all lanes are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Machine {
    /// In program order; the unused ones are empty.
    pub names: [&'static str; 3],
    /// `.64`, `.128`, `.U8`: the width as the disassembly shows it.
    pub width: &'static str,
    pub loops: bool,
    pub source: Source,
}

impl Machine {
    /// As `LDS.64`, or `LDSLK STSUL (loop)`.
    pub fn text(&self) -> String {
        let names: Vec<String> = (self.names.iter())
            .filter(|n| !n.is_empty())
            .map(|n| format!("{n}{}", self.width))
            .collect();
        format!("{}{}", names.join(" "), if self.loops { " (loop)" } else { "" })
    }
}

const fn width_suffix(generation: Generation, kind: Kind, width: u32) -> &'static str {
    match (generation, kind, width) {
        (Generation::Tesla10 | Generation::Tesla12, _, 1) => ".U8",
        (Generation::Tesla10 | Generation::Tesla12, _, 2) => ".U16",
        (Generation::Tesla10 | Generation::Tesla12, _, 8) => ".U64",
        (Generation::Tesla10 | Generation::Tesla12, _, 16) => ".S128",
        (_, _, 1) => ".U8",
        (_, _, 2) => ".U16",
        (_, _, 8) => ".64",
        (_, _, 16) => ".128",
        (_, _, 32) => ".256",
        (_, _, _) => "",
    }
}

/// The instructions for an access of `width` bytes a lane.
pub fn machine(
    model: &MemoryModel,
    space: Space,
    kind: Kind,
    width: u32,
    cache: CacheOperator,
) -> Machine {
    let generation = model.generation;
    let (names, loops) = match (space, kind) {
        (Space::Local, kind) => (one(local(generation, kind)), false),
        (Space::Global, Kind::Load) => (one(global_load(model, cache)), false),
        (Space::Global, Kind::Store) => (one(global_store(generation)), false),
        (Space::Global, Kind::Atomic(op)) => (one(global_atomic(generation, op)), false),
        (Space::Global, Kind::Reduction(op)) => (one(global_reduction(model, op)), false),
        (Space::Shared, Kind::Load) => (one(shared_load(generation)), false),
        (Space::Shared, Kind::Store) => (one(shared_store(generation)), false),
        (Space::Shared, Kind::Atomic(op) | Kind::Reduction(op)) => {
            shared_atomic(generation, kind, op, width)
        }
        (Space::Constant, _) => (one(if generation.is_tesla() { "MOV c[]" } else { "LDC" }), false),
        // Parameters are operands of the instructions that use them, or loaded like their memory.
        (Space::Parameter, _) if generation.is_tesla() => (one("MOV g[]"), false),
        (Space::Parameter, _) => (one("LDC"), false),
    };
    let source = match model.cc.sm() {
        75 | 80 | 90 | 100 | 120 => Source::Measured,
        20..=74 => Source::Manual,
        _ => Source::Inferred,
    };
    Machine { names, width: width_suffix(generation, kind, width), loops, source }
}

const fn one(name: &'static str) -> [&'static str; 3] {
    [name, "", ""]
}

const fn local(generation: Generation, kind: Kind) -> &'static str {
    match (generation, kind) {
        (Generation::Tesla10 | Generation::Tesla12, Kind::Load) => "LLD",
        (Generation::Tesla10 | Generation::Tesla12, _) => "LST",
        (_, Kind::Load) => "LDL",
        (_, Kind::Store | Kind::Atomic(_) | Kind::Reduction(_)) => "STL",
    }
}

const fn shared_load(generation: Generation) -> &'static str {
    match generation {
        Generation::Tesla10 | Generation::Tesla12 => "G2R",
        Generation::Fermi
        | Generation::Kepler
        | Generation::Maxwell
        | Generation::Pascal
        | Generation::Volta => "LDS",
    }
}

const fn shared_store(generation: Generation) -> &'static str {
    match generation {
        Generation::Tesla10 | Generation::Tesla12 => "R2G",
        Generation::Fermi
        | Generation::Kepler
        | Generation::Maxwell
        | Generation::Pascal
        | Generation::Volta => "STS",
    }
}

/// `ldu` exists as an instruction on 2.x only (guide 4.2, F.4.4); ptxas makes a plain load of it for 7.5
/// and later (measured), and 3.0 to 7.2 are taken to do the same (inferred: their instruction tables
/// have no LDU).
fn global_load(model: &MemoryModel, cache: CacheOperator) -> &'static str {
    match (model.generation, cache) {
        (Generation::Tesla10 | Generation::Tesla12, _) => "GLD",
        (Generation::Fermi, CacheOperator::Uniform) => "LDU",
        (Generation::Fermi, _) => "LD",
        // Kepler's LDG is the read-only cache's load, from 3.2 on.
        (Generation::Kepler, CacheOperator::Nc) if model.cc.minor >= 2 => "LDG",
        (Generation::Kepler, _) => "LD",
        (Generation::Volta, CacheOperator::Nc) => "LDG.E.CONSTANT",
        (Generation::Volta, _) => "LDG.E",
        (Generation::Maxwell | Generation::Pascal, CacheOperator::Nc) => "LDG.E.CI",
        (Generation::Maxwell | Generation::Pascal, _) => "LDG.E",
    }
}

const fn global_store(generation: Generation) -> &'static str {
    match generation {
        Generation::Tesla10 | Generation::Tesla12 => "GST",
        Generation::Fermi | Generation::Kepler => "ST",
        Generation::Maxwell | Generation::Pascal | Generation::Volta => "STG.E",
    }
}

const fn global_atomic(generation: Generation, op: AtomicOp) -> &'static str {
    match (generation, op) {
        (Generation::Tesla10 | Generation::Tesla12, _) => "GATOM",
        (Generation::Volta, AtomicOp::CompareSwap) => "ATOMG.E.CAS",
        (Generation::Volta, AtomicOp::Exchange) => "ATOMG.E.EXCH",
        (Generation::Volta, AtomicOp::Add | AtomicOp::AddOne | AtomicOp::AddFloat) => "ATOMG.E.ADD",
        (Generation::Volta, _) => "ATOMG.E",
        (_, AtomicOp::CompareSwap) => "ATOM.E.CAS",
        (_, AtomicOp::Exchange) => "ATOM.E.EXCH",
        (_, AtomicOp::Add | AtomicOp::AddOne | AtomicOp::AddFloat) => "ATOM.E.ADD",
        (_, _) => "ATOM.E",
    }
}

fn global_reduction(model: &MemoryModel, op: AtomicOp) -> &'static str {
    match op {
        // A swap whose old value is unused is still an ATOM.
        AtomicOp::Exchange | AtomicOp::CompareSwap => global_atomic(model.generation, op),
        _ if model.generation.is_tesla() => "GRED",
        _ if model.cc.major >= 9 => "REDG.E",
        _ => "RED.E",
    }
}

fn shared_atomic(
    generation: Generation,
    kind: Kind,
    op: AtomicOp,
    width: u32,
) -> ([&'static str; 3], bool) {
    match shared_way(generation, kind, width) {
        SharedAtomic::LockLoop if generation.is_tesla() => (["G2R.LCK", "R2G.UNL", ""], true),
        SharedAtomic::LockLoop => (["LDSLK", "STSUL", ""], true),
        SharedAtomic::CompareSwapLoop => (["LDS", "ATOMS.CAST.SPIN", ""], true),
        SharedAtomic::NativeCompareSwap => (one("ATOMS.CAS"), false),
        SharedAtomic::NativeCount => (one("ATOMS.POPC.INC"), false),
        SharedAtomic::Native => {
            let name = match op {
                AtomicOp::Add | AtomicOp::AddOne | AtomicOp::AddFloat => "ATOMS.ADD",
                AtomicOp::Min => "ATOMS.MIN",
                AtomicOp::Max => "ATOMS.MAX",
                AtomicOp::Inc => "ATOMS.INC",
                AtomicOp::Dec => "ATOMS.DEC",
                AtomicOp::And => "ATOMS.AND",
                AtomicOp::Or => "ATOMS.OR",
                AtomicOp::Xor => "ATOMS.XOR",
                AtomicOp::Exchange => "ATOMS.EXCH",
                AtomicOp::CompareSwap => "ATOMS.CAS",
            };
            (one(name), false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ComputeCapability;

    fn text(sm: u32, space: Space, kind: Kind, width: u32) -> String {
        let limits = ComputeCapability::from_sm(sm).limits().unwrap();
        machine(&MemoryModel::new(limits), space, kind, width, CacheOperator::Default).text()
    }

    /// The names that the issue of each generation is known by.
    #[test]
    fn by_generation() {
        let add = Kind::Atomic(AtomicOp::Add);
        let red = Kind::Reduction(AtomicOp::Add);
        let rows = [
            (
                13,
                [
                    "GLD",
                    "GST",
                    "GATOM",
                    "GRED",
                    "G2R",
                    "R2G",
                    "G2R.LCK R2G.UNL (loop)",
                    "LLD",
                    "LST",
                ],
            ),
            (
                20,
                [
                    "LD",
                    "ST",
                    "ATOM.E.ADD",
                    "RED.E",
                    "LDS",
                    "STS",
                    "LDSLK STSUL (loop)",
                    "LDL",
                    "STL",
                ],
            ),
            (
                35,
                [
                    "LD",
                    "ST",
                    "ATOM.E.ADD",
                    "RED.E",
                    "LDS",
                    "STS",
                    "LDSLK STSUL (loop)",
                    "LDL",
                    "STL",
                ],
            ),
            (
                61,
                ["LDG.E", "STG.E", "ATOM.E.ADD", "RED.E", "LDS", "STS", "ATOMS.ADD", "LDL", "STL"],
            ),
            (
                90,
                [
                    "LDG.E",
                    "STG.E",
                    "ATOMG.E.ADD",
                    "REDG.E",
                    "LDS",
                    "STS",
                    "ATOMS.ADD",
                    "LDL",
                    "STL",
                ],
            ),
        ];
        for (sm, names) in rows {
            let got = [
                text(sm, Space::Global, Kind::Load, 4),
                text(sm, Space::Global, Kind::Store, 4),
                text(sm, Space::Global, add, 4),
                text(sm, Space::Global, red, 4),
                text(sm, Space::Shared, Kind::Load, 4),
                text(sm, Space::Shared, Kind::Store, 4),
                text(sm, Space::Shared, add, 4),
                text(sm, Space::Local, Kind::Load, 4),
                text(sm, Space::Local, Kind::Store, 4),
            ];
            assert_eq!(got.each_ref().map(String::as_str), names, "sm_{sm}");
        }
    }

    /// Every name that is claimed for 9.0 stands in a disassembly of ptxas's code for it.
    #[test]
    fn as_disassembled() {
        let text = include_str!("../../../tests/vectors/h200/machine_names.txt");
        let limits = ComputeCapability::new(9, 0).limits().unwrap();
        let model = MemoryModel::new(limits);
        let code = text.split("sm_").find_map(|part| part.strip_prefix("90\n")).unwrap();
        let kinds = [
            Kind::Load,
            Kind::Store,
            Kind::Atomic(AtomicOp::Add),
            Kind::Atomic(AtomicOp::CompareSwap),
            Kind::Reduction(AtomicOp::Add),
        ];
        for space in [Space::Global, Space::Shared, Space::Local, Space::Constant] {
            for kind in kinds {
                let atomic = !matches!(kind, Kind::Load | Kind::Store);
                if atomic && matches!(space, Space::Local | Space::Constant)
                    || space == Space::Constant && kind == Kind::Store
                {
                    continue;
                }
                let machine = machine(&model, space, kind, 4, CacheOperator::Default);
                for name in machine.names.iter().filter(|n| !n.is_empty()) {
                    assert!(code.contains(name), "{name}");
                }
            }
        }
        // A uniform load is a plain one.
        assert!(!text.contains("LDU"));
    }
}
