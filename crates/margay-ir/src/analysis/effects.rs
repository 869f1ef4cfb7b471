// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an instruction may do besides writing its destinations.

use crate::ops::Op;

/// What executing an op does that its destinations do not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: without a use of its results the instruction may go.
    None,
    /// It reads memory or fault-prone state: it may fault, so it stays even when unused.
    Reads,
    /// It writes memory, reaches out of the engine, or ends the thread.
    Writes,
    /// It involves other lanes of the warp and may wait for them, or for other warps.
    Converges,
}

/// The effect of an op.
pub const fn effect(op: Op) -> Effect {
    match op {
        Op::Mov
        | Op::Select
        | Op::PAnd
        | Op::POr
        | Op::PXor
        | Op::PNot
        | Op::Add
        | Op::Sub
        | Op::AddSatS
        | Op::SubSatS
        | Op::Mul
        | Op::MulHiS
        | Op::MulHiU
        | Op::MulWideS
        | Op::MulWideU
        | Op::Mad
        | Op::MadWideS
        | Op::MadWideU
        | Op::DivS
        | Op::DivU
        | Op::RemS
        | Op::RemU
        | Op::Neg
        | Op::Abs
        | Op::MinS
        | Op::MinU
        | Op::MaxS
        | Op::MaxU
        | Op::And
        | Op::Or
        | Op::Xor
        | Op::Not
        | Op::Shl
        | Op::ShrU
        | Op::ShrS
        | Op::ShfL
        | Op::ShfR
        | Op::Lop3
        | Op::Prmt
        | Op::Popc
        | Op::Clz
        | Op::BRev
        | Op::BFindS
        | Op::BFindU
        | Op::Fns
        | Op::BfeS
        | Op::BfeU
        | Op::Bfi
        | Op::ICmp
        | Op::SExt
        | Op::ZExt
        | Op::Trunc
        | Op::FAdd
        | Op::FSub
        | Op::FMul
        | Op::FFma
        | Op::FDiv
        | Op::FSqrt
        | Op::FRcp
        | Op::FNeg
        | Op::FAbs
        | Op::FMin
        | Op::FMax
        | Op::FCopySign
        | Op::FCmp
        | Op::FRcpApprox
        | Op::FDivApprox
        | Op::FDivFull
        | Op::FSqrtApprox
        | Op::FRsqrtApprox
        | Op::FEx2
        | Op::FLg2
        | Op::FSin
        | Op::FCos
        | Op::FTanh
        | Op::FToF
        | Op::FRound
        | Op::FToS
        | Op::FToU
        | Op::SToF
        | Op::UToF
        | Op::FToTf32
        | Op::FToE4M3
        | Op::FToE5M2
        | Op::E4M3ToF
        | Op::E5M2ToF
        | Op::Cvta
        | Op::CvtaTo
        | Op::IsSpace
        | Op::Mapa
        | Op::GetCtaRank
        | Op::Addr
        | Op::StackSave
        | Op::Sreg
        | Op::ActiveMask
        | Op::Builtin => Effect::None,
        Op::Ld | Op::Tex => Effect::Reads,
        Op::St
        | Op::SurfStore
        | Op::Atom
        | Op::AtomWide
        | Op::CpAsync
        | Op::CpAsyncCommit
        | Op::CpAsyncWait
        | Op::Prefetch
        | Op::Alloca
        | Op::StackRestore
        | Op::Fence
        | Op::Mbarrier
        | Op::NanoSleep
        | Op::Call
        | Op::Syscall
        | Op::Trap
        | Op::Brkpt
        | Op::Unsupported => Effect::Writes,
        Op::Vote
        | Op::Ballot
        | Op::MatchAny
        | Op::MatchAll
        | Op::Shfl
        | Op::Redux
        | Op::Elect
        | Op::BarWarp
        | Op::Bar
        | Op::BarRed
        | Op::BarCluster => Effect::Converges,
    }
}

/// Whether an instruction with this op may carry a guard. Ops that wait for other threads, and
/// calls, may not: lowering puts them into a block of their own behind a branch, so that an engine
/// sees all lanes of its mask execute them.
pub const fn may_be_guarded(op: Op) -> bool {
    match effect(op) {
        Effect::Converges => false,
        Effect::None | Effect::Reads => true,
        Effect::Writes => !matches!(op, Op::Call),
    }
}
