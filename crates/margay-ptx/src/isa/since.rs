// SPDX-License-Identifier: MIT OR Apache-2.0
//! The first target that has an instruction as it is written.
//!
//! A row of the table says since when its form exists; modifiers, types and spaces may ask for more. What
//! they ask stands here, from the "Target ISA Notes" of the manual's sections. Limit: where the manual
//! says nothing of a modifier, the row's word counts, so that nothing legal is ever refused.

use crate::instruction::{Instruction, OperandKind};
use crate::types::ScalarType;

/// A target: the number of `sm_NN`, and `a` or `f` where only such targets have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Since {
    pub sm: u16,
    pub suffix: Option<char>,
}

impl std::fmt::Display for Since {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sm_{}", self.sm)?;
        self.suffix.map_or(Ok(()), |suffix| write!(f, "{suffix}"))
    }
}

const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];
const CACHE_OPERATORS: [&str; 7] = ["ca", "cg", "cs", "lu", "cv", "wb", "wt"];
const SPACES: [&str; 5] = ["const", "global", "local", "param", "shared"];

impl Instruction {
    /// The first target that has the instruction.
    pub fn since(&self) -> Since {
        let (row, suffix) = self.form.sm;
        let name = self.opcode();
        let sm = match name.split('.').next().unwrap_or(name) {
            "add" | "sub" | "mul" | "mad" | "div" | "abs" | "neg" | "min" | "max" | "rcp"
            | "sqrt" | "rsqrt" | "fma" | "set" | "setp" | "selp" | "slct" | "cvt" => {
                self.arithmetic().max(row)
            }
            "ld" | "st" | "ldu" => self.access().max(row),
            "atom" | "red" if name == "atom" || name == "red" => self.atomic(row),
            "bar" if name == "bar" => self.barrier().max(row),
            "membar" if self.has("sys") => row.max(20),
            "fence" if self.has("cluster") => row.max(90),
            "brkpt" => row.max(11),
            "tex" => match () {
                () if self.any(&["2dms", "a2dms"]) => row.max(30),
                () if self.any(&["a1d", "a2d", "cube", "acube"]) => row.max(20),
                () => row,
            },
            "prefetch" if self.any(&["L2::evict_last", "L2::evict_normal"]) => row.max(80),
            // All else is as old as its row.
            _ => row,
        };
        Since { sm, suffix }
    }

    fn any(&self, names: &[&str]) -> bool {
        self.modifiers.iter().any(|m| names.contains(&m.name))
    }

    fn arithmetic(&self) -> u16 {
        let types = self.types();
        let has = |ty| types.contains(&ty);
        let (single, double) = (has(ScalarType::F32), has(ScalarType::F64));
        let rounded = self.any(&ROUNDINGS);
        // `.rn` alone is in 1.x.
        let other_rounding = self.any(&ROUNDINGS[1..]);
        let directed = self.any(&["rm", "rp"]);
        let of_type = if double { 13 } else { 10 };
        let of_form = match self.opcode() {
            "add" | "sub" | "mul" if single && directed => 20,
            "mad" | "div" | "rcp" | "sqrt" if single && rounded => 20,
            "div" | "rcp" | "sqrt" if double && other_rounding => 20,
            "fma" if single => 20,
            "min" | "max" if self.has("xorsign") => 86,
            "min" | "max" if self.has("NaN") => 80,
            "cvt" if has(ScalarType::BF16) => {
                if single {
                    80
                } else {
                    90
                }
            }
            _ => 10,
        };
        of_form.max(of_type)
    }

    /// Whether a state space is written; without one the address is generic.
    fn names_space(&self) -> bool {
        self.modifiers.iter().any(|m| {
            let space = m.name.split(['[', ':']).next().unwrap_or(m.name);
            SPACES.contains(&space)
        })
    }

    fn access(&self) -> u16 {
        let mut sm = if self.names_space() { 10 } else { 20 };
        let wide = self.types().iter().any(|ty| ty.bits() == 64);
        for modifier in &self.modifiers {
            sm = sm.max(match modifier.name {
                name if CACHE_OPERATORS.contains(&name) => 20,
                "shared::cluster" => 90,
                "L2::cache_hint" | "L2::256B" => 80,
                "L2::64B" | "L2::128B" => 75,
                "b128" => 70,
                "v8" => 100,
                "v4" if wide => 100,
                name if name.starts_with("L1::") || name.starts_with("L2::evict") => 70,
                _ => 10,
            });
        }
        sm
    }

    fn atomic(&self, row: u16) -> u16 {
        let types = self.types();
        let has = |ty| types.contains(&ty);
        let shared = self.modifiers.iter().any(|m| m.name.starts_with("shared"));
        let wide = types.iter().any(|ty| ty.bits() == 64);
        let simple = self.any(&["add", "cas", "exch", "inc", "dec"]);
        let adds = self.has("add");
        // Added one by one, packed halves came before single ones; the row is of both.
        let row = if has(ScalarType::F16x2) && row == 70 { 60 } else { row };
        let of_type = match () {
            () if has(ScalarType::BF16) || has(ScalarType::BF16x2) => 90,
            () if types.iter().any(|ty| ty.bits() == 128) => 90,
            () if types.iter().any(|ty| ty.bits() == 16) => 70,
            () if adds && has(ScalarType::F64) => 60,
            () if wide && !simple => 32,
            () if (adds && has(ScalarType::F32)) || (wide && shared) => 20,
            () if wide || shared => 12,
            () => 11,
        };
        let of_space = if self.names_space() { 11 } else { 20 };
        let of_modifiers = self.modifiers.iter().map(|m| match m.name {
            "cluster" | "shared::cluster" => 90,
            "L2::cache_hint" => 80,
            "relaxed" | "acquire" | "release" | "acq_rel" => 70,
            "cta" | "gpu" | "sys" => 60,
            _ => 11,
        });
        of_modifiers.fold(row.max(of_type).max(of_space), u16::max)
    }

    /// `bar.sync` with a number is the only form of 1.x.
    fn barrier(&self) -> u16 {
        let number = match &self.operands[..] {
            [one] => matches!(one.kind, OperandKind::Immediate(_)),
            _ => false,
        };
        match () {
            () if self.has("cta") => 30,
            () if self.has("sync") && number => 10,
            () => 20,
        }
    }
}

/// The first target that has a special register; `None` for those that all have, and for other names.
pub fn of_special_register(name: &str) -> Option<u16> {
    let name = name.strip_prefix('%')?;
    Some(match name {
        "clock64" | "nwarpid" | "nsmid" | "pm4" | "pm5" | "pm6" | "pm7" => 20,
        "dynamic_smem_size" | "total_smem_size" => 20,
        "globaltimer" | "globaltimer_lo" | "globaltimer_hi" => 30,
        "current_graph_exec" => 50,
        "aggr_smem_size" | "is_explicit_cluster" => 90,
        _ if name.starts_with("lanemask_") => 20,
        _ if name.starts_with("reserved_smem_") => 80,
        "clusterid" | "nclusterid" | "cluster_ctaid" | "cluster_nctaid" | "cluster_ctarank"
        | "cluster_nctarank" => 90,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::ast::Statement;

    fn since(text: &str) -> String {
        let module = format!(
            ".version 8.6 .target sm_100a .address_size 64 .entry k() {{ .reg .pred p; .reg .b32 r; {text}; }}"
        );
        let module = crate::parse(&module).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        let body = module.functions().next().unwrap().body.as_ref().unwrap();
        let Some(Statement::Instruction(inst)) = body.statements.last() else { panic!("{text}") };
        inst.since().to_string()
    }

    /// By the notes of the manual's sections.
    #[test]
    fn modifiers_types_and_spaces_ask_for_more_than_the_row() {
        for (text, expected) in [
            ("add.f32 a, b, c", "sm_10"),
            ("add.rz.f32 a, b, c", "sm_10"),
            ("add.rp.f32 a, b, c", "sm_20"),
            ("add.f64 a, b, c", "sm_13"),
            ("mad.f32 a, b, c, d", "sm_10"),
            ("mad.rn.f32 a, b, c, d", "sm_20"),
            ("fma.rn.f32 a, b, c, d", "sm_20"),
            ("fma.rn.f64 a, b, c, d", "sm_13"),
            ("div.full.f32 a, b, c", "sm_10"),
            ("div.rn.f32 a, b, c", "sm_20"),
            ("div.rn.f64 a, b, c", "sm_13"),
            ("sqrt.rm.f64 a, b", "sm_20"),
            ("setp.lt.f64 p, a, b", "sm_13"),
            ("min.NaN.f32 a, b, c", "sm_80"),
            ("cvt.rn.bf16.f32 a, b", "sm_80"),
            ("cvt.rn.bf16.s32 a, b", "sm_90"),
            ("popc.b32 a, b", "sm_20"),
            ("ld.global.u32 a, [b]", "sm_10"),
            ("ld.u32 a, [b]", "sm_20"),
            ("ld.global.cg.u32 a, [b]", "sm_20"),
            ("ld.global.nc.u32 a, [b]", "sm_32"),
            ("ld.acquire.gpu.u32 a, [b]", "sm_70"),
            ("ld.global.L2::128B.u32 a, [b]", "sm_75"),
            ("st.shared::cluster.u32 [a], b", "sm_90"),
            ("atom.global.add.u32 a, [b], c", "sm_11"),
            ("atom.shared.add.u32 a, [b], c", "sm_12"),
            ("atom.global.add.u64 a, [b], c", "sm_12"),
            ("atom.shared.cas.b64 a, [b], c, d", "sm_20"),
            ("atom.add.u32 a, [b], c", "sm_20"),
            ("atom.global.max.u64 a, [b], c", "sm_32"),
            ("atom.global.add.f32 a, [b], c", "sm_20"),
            ("atom.global.add.f64 a, [b], c", "sm_60"),
            ("red.global.add.noftz.f16x2 [b], c", "sm_60"),
            ("red.global.add.noftz.f16 [b], c", "sm_70"),
            ("red.global.add.noftz.bf16x2 [b], c", "sm_90"),
            ("atom.global.cta.add.u32 a, [b], c", "sm_60"),
            ("atom.acquire.gpu.global.add.u32 a, [b], c", "sm_70"),
            ("atom.global.cas.b16 a, [b], c, d", "sm_70"),
            ("bar.sync 0", "sm_10"),
            ("bar.sync 1, 64", "sm_20"),
            ("bar.sync r", "sm_20"),
            ("bar.red.popc.u32 r, 0, p", "sm_20"),
            ("bar.arrive 1, 64", "sm_20"),
            ("membar.gl", "sm_10"),
            ("membar.sys", "sm_20"),
            ("vote.all.pred p, p", "sm_12"),
            ("vote.ballot.b32 r, p", "sm_20"),
            ("shfl.sync.idx.b32 r, a, b, c, d", "sm_30"),
            ("match.any.sync.b32 r, a, b", "sm_70"),
            ("setmaxnreg.inc.sync.aligned.u32 40", "sm_90a"),
        ] {
            assert_eq!(since(text), expected, "{text}");
        }
    }

    #[test]
    fn special_registers() {
        let of = super::of_special_register;
        assert_eq!((of("%tid"), of("%clock"), of("%laneid")), (None, None, None));
        assert_eq!((of("%lanemask_lt"), of("%clock64")), (Some(20), Some(20)));
        assert_eq!((of("%cluster_ctarank"), of("clock64")), (Some(90), None));
    }
}
