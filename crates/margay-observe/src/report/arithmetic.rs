// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions by the unit that they keep busy.
//!
//! The classes are rows of the table "Throughput of Native Arithmetic Instructions" of the CUDA C++
//! Programming Guide, as far as IR tells them apart.

use margay_arch::ComputeCapability;
use margay_arch::throughput::{Operation, rate};
use margay_ir::{Inst, Op, Ty};

/// The class of an instruction; `None` for memory accesses, which are counted by themselves, and
/// for what makes no machine instruction.
pub fn class(inst: &Inst) -> Option<&'static str> {
    let float = |f16, f32, f64| match inst.ty {
        Ty::F16 | Ty::BF16 => f16,
        Ty::F64 => f64,
        Ty::F32 | Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => f32,
    };
    Some(match inst.op {
        Op::FAdd
        | Op::FSub
        | Op::FMul
        | Op::FFma
        | Op::FNeg
        | Op::FAbs
        | Op::FCopySign
        | Op::FRound => float("half", "single", "double"),
        Op::FMin | Op::FMax | Op::FCmp => float("half", "compare", "double"),
        Op::FDiv | Op::FSqrt | Op::FRcp | Op::FDivFull => "division",
        Op::FRcpApprox
        | Op::FDivApprox
        | Op::FSqrtApprox
        | Op::FRsqrtApprox
        | Op::FEx2
        | Op::FLg2
        | Op::FSin
        | Op::FCos
        | Op::FTanh => "special",
        Op::Add | Op::Sub | Op::AddSatS | Op::SubSatS | Op::Neg | Op::Abs => "integer_add",
        Op::Mul
        | Op::MulHiS
        | Op::MulHiU
        | Op::MulWideS
        | Op::MulWideU
        | Op::Mad
        | Op::MadWideS
        | Op::MadWideU => "integer_multiply",
        Op::DivS | Op::DivU | Op::RemS | Op::RemU => "division",
        Op::MinS | Op::MinU | Op::MaxS | Op::MaxU | Op::ICmp => "compare",
        Op::Shl | Op::ShrU | Op::ShrS | Op::ShfL | Op::ShfR => "shift",
        Op::BfeS | Op::BfeU | Op::Bfi => "bit_field",
        Op::BRev => "bit_reverse",
        Op::And | Op::Or | Op::Xor | Op::Not | Op::Lop3 | Op::Prmt => "logic",
        Op::Popc | Op::Fns => "population_count",
        Op::Clz | Op::BFindS | Op::BFindU => "leading_zeros",
        Op::FToF
        | Op::FToS
        | Op::FToU
        | Op::SToF
        | Op::UToF
        | Op::FToTf32
        | Op::FToE4M3
        | Op::FToE5M2
        | Op::E4M3ToF
        | Op::E5M2ToF => {
            let wide = |ty: Ty| ty.bits() == 64;
            let narrow = |ty: Ty| matches!(ty, Ty::I8 | Ty::I16);
            match (wide(inst.ty) || wide(inst.from), narrow(inst.from)) {
                (true, _) => "convert_wide",
                (false, true) => "convert_narrow",
                (false, false) => "convert",
            }
        }
        Op::SExt | Op::ZExt | Op::Trunc | Op::Mov | Op::Select => "move",
        Op::PAnd | Op::POr | Op::PXor | Op::PNot => "predicate",
        Op::Vote | Op::Ballot | Op::MatchAny | Op::MatchAll | Op::ActiveMask | Op::Elect => "vote",
        Op::Shfl => "shuffle",
        Op::Redux => "warp_reduce",
        Op::Bar | Op::BarRed | Op::BarCluster | Op::BarWarp => "barrier",
        Op::Fence => "fence",
        Op::Call => "control",
        Op::Builtin => "library",
        Op::Syscall => "library",
        Op::Ld
        | Op::St
        | Op::Atom
        | Op::AtomWide
        | Op::CpAsync
        | Op::CpAsyncCommit
        | Op::CpAsyncWait
        | Op::Prefetch
        | Op::Cvta
        | Op::CvtaTo
        | Op::IsSpace
        | Op::Mapa
        | Op::GetCtaRank
        | Op::Addr
        | Op::Alloca
        | Op::StackSave
        | Op::StackRestore
        | Op::Sreg
        | Op::NanoSleep
        | Op::Mbarrier
        | Op::Trap
        | Op::Brkpt
        | Op::Unsupported
        | Op::Tex
        | Op::SurfStore => return None,
    })
}

/// Clocks of a multiprocessor's units that one warp instruction of a class takes, where the guide's
/// table has a number.
pub fn clocks(class: &str, cc: ComputeCapability) -> Option<f64> {
    let operation = match class {
        "half" => Operation::Half,
        "single" => Operation::Single,
        "double" => Operation::Double,
        "special" => Operation::Special,
        "integer_add" => Operation::IntegerAdd,
        "integer_multiply" => Operation::IntegerMultiply,
        "shift" => Operation::Shift,
        "compare" => Operation::Compare,
        "bit_field" => Operation::BitField,
        "bit_reverse" => Operation::BitReverse,
        "logic" => Operation::Logic,
        "leading_zeros" => Operation::LeadingZeros,
        "population_count" => Operation::PopulationCount,
        "shuffle" => Operation::Shuffle,
        "vote" => Operation::Vote,
        "convert_narrow" => Operation::ConvertNarrow,
        "convert_wide" => Operation::ConvertWide,
        "convert" => Operation::Convert,
        _ => return None,
    };
    rate(cc, operation).value.clocks_per_warp()
}
