// SPDX-License-Identifier: MIT OR Apache-2.0
//! Special registers (PTX ISA, "Special Registers").

use margay_ptx::ast::Span;

use super::function::Lower;
use super::{Lowered, Stop};
use crate::inst::{Attr, Sreg, Value};
use crate::ops::Op;
use crate::types::Ty;

/// A special register by name and dimension, with the width in which it is read.
fn by_name(name: &str, member: Option<&str>) -> Option<(Sreg, Ty)> {
    let dimension = |d: fn(u8) -> Sreg| {
        let index = match member? {
            "x" => 0,
            "y" => 1,
            "z" => 2,
            _ => return None,
        };
        Some((d(index), Ty::I32))
    };
    let numbered = |prefix: &str, suffix: &str, below: u8| {
        let digits = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
        let canonical = digits == "0" || !digits.starts_with('0');
        digits.parse::<u8>().ok().filter(|n| canonical && *n < below)
    };
    let plain = match name {
        "%tid" => return dimension(Sreg::Tid),
        "%ntid" => return dimension(Sreg::NTid),
        "%ctaid" => return dimension(Sreg::CtaId),
        "%nctaid" => return dimension(Sreg::NCtaId),
        "%clusterid" => return dimension(Sreg::ClusterId),
        "%nclusterid" => return dimension(Sreg::NClusterId),
        "%cluster_ctaid" => return dimension(Sreg::ClusterCtaId),
        "%cluster_nctaid" => return dimension(Sreg::ClusterNCtaId),
        "%laneid" => Sreg::LaneId,
        "%warpid" => Sreg::WarpId,
        "%nwarpid" => Sreg::NWarpId,
        "%smid" => Sreg::SmId,
        "%nsmid" => Sreg::NSmId,
        "%gridid" => Sreg::GridId,
        "%cluster_ctarank" => Sreg::ClusterCtaRank,
        "%cluster_nctarank" => Sreg::ClusterNCtaRank,
        "%is_explicit_cluster" => Sreg::IsExplicitCluster,
        "%lanemask_eq" => Sreg::LaneMaskEq,
        "%lanemask_le" => Sreg::LaneMaskLe,
        "%lanemask_lt" => Sreg::LaneMaskLt,
        "%lanemask_ge" => Sreg::LaneMaskGe,
        "%lanemask_gt" => Sreg::LaneMaskGt,
        "%clock" | "%clock_lo" => Sreg::Clock,
        "%clock_hi" => Sreg::ClockHi,
        "%clock64" => Sreg::Clock64,
        "%globaltimer" => Sreg::GlobalTimer,
        "%globaltimer_lo" => Sreg::GlobalTimerLo,
        "%globaltimer_hi" => Sreg::GlobalTimerHi,
        "%total_smem_size" => Sreg::TotalSmemSize,
        "%aggr_smem_size" => Sreg::AggrSmemSize,
        "%dynamic_smem_size" => Sreg::DynamicSmemSize,
        "%current_graph_exec" => Sreg::CurrentGraphExec,
        "%reserved_smem_offset_begin" => Sreg::ReservedSmemOffset(0),
        "%reserved_smem_offset_end" => Sreg::ReservedSmemOffset(1),
        "%reserved_smem_offset_cap" => Sreg::ReservedSmemOffset(2),
        _ => {
            if member.is_some() {
                return None;
            }
            if let Some(n) = numbered("%pm", "_64", 8) {
                return Some((Sreg::Pm(n), Ty::I64));
            }
            if let Some(n) = numbered("%pm", "", 8) {
                return Some((Sreg::Pm(n), Ty::I32));
            }
            if let Some(n) = numbered("%reserved_smem_offset_", "", 2) {
                return Some((Sreg::ReservedSmemOffset(3 + n), Ty::I32));
            }
            return numbered("%envreg", "", 32).map(|n| (Sreg::EnvReg(n), Ty::I32));
        }
    };
    let widths = plain.widths();
    match (member, widths.first()) {
        (None, Some(ty)) => Some((plain, *ty)),
        _ => None,
    }
}

/// The width of a special register, if the name is one.
pub(super) fn bits(name: &str, member: Option<&str>) -> Option<u32> {
    by_name(name, member).map(|(_, ty)| ty.bits())
}

impl Lower<'_, '_> {
    /// Reads a special register into a temporary. The value, and its width in bits; `None` if the
    /// name is none.
    pub(super) fn special(
        &mut self,
        name: &str,
        member: Option<&str>,
        span: Span,
    ) -> Lowered<Option<(Value, u32)>> {
        if let ("%tid" | "%ntid" | "%ctaid" | "%nctaid", Some("w")) = (name, member) {
            // The fourth component exists and is 0.
            return Ok(Some((Value::Imm(0), 32)));
        }
        match by_name(name, member) {
            Some((sreg, ty)) => {
                Ok(Some((self.value(Op::Sreg, ty, &[], Attr::Sreg(sreg)), ty.bits())))
            }
            None if by_name(name, Some("x")).is_some() => {
                Err(Stop::error(span, format!("`{name}` is a vector: name one of its elements")))
            }
            None => Ok(None),
        }
    }

    /// The elements of a special register that is a vector: x, y, z and a zero.
    pub(super) fn special_vector(&mut self, name: &str) -> Option<Vec<Value>> {
        by_name(name, Some("x"))?;
        let mut values = Vec::with_capacity(4);
        for member in ["x", "y", "z"] {
            let (sreg, ty) = by_name(name, Some(member))?;
            values.push(self.value(Op::Sreg, ty, &[], Attr::Sreg(sreg)));
        }
        values.push(Value::Imm(0));
        Some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_manual() {
        assert_eq!(by_name("%tid", Some("y")), Some((Sreg::Tid(1), Ty::I32)));
        assert_eq!(by_name("%pm3_64", None), Some((Sreg::Pm(3), Ty::I64)));
        assert_eq!(by_name("%envreg31", None), Some((Sreg::EnvReg(31), Ty::I32)));
        assert_eq!(by_name("%globaltimer", None), Some((Sreg::GlobalTimer, Ty::I64)));
        for no in ["%envreg32", "%pm8", "%pm03", "%tid", "%r1", "tid"] {
            assert_eq!(by_name(no, None), None, "{no}");
        }
        assert_eq!(by_name("%laneid", Some("x")), None);
    }
}
