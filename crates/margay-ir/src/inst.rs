// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions, their attributes, blocks and terminators.

use smallvec::SmallVec;

use crate::builtin::Builtin;
use crate::module::{FuncId, GlobalId, Param};
use crate::ops::Op;
use crate::texture::TextureAttr;
use crate::types::{Cache, Round, Scope, Sem, Space, Ty};

/// A virtual register: an index into [`crate::module::Function::regs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    Reg(Reg),
    /// A bit pattern, the same in all lanes, zero-extended from the operand's width.
    /// For a predicate 0 or 1.
    Imm(u64),
}

/// `@p` or `@!p`: the lanes in which an instruction has effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    pub pred: Reg,
    pub negated: bool,
}

/// Index into [`crate::module::Module::locs`]; 0 is "unknown".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct LocId(pub u32);

/// One instruction. Which fields matter is the op's row in [`crate::ops`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    pub op: Op,
    pub ty: Ty,
    /// Second type, for conversions; equal to `ty` elsewhere.
    pub from: Ty,
    pub dsts: SmallVec<[Reg; 2]>,
    pub srcs: SmallVec<[Value; 4]>,
    pub guard: Option<Guard>,
    pub attr: Attr,
    pub loc: LocId,
}

/// Rounding and range of a floating-point operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FloatAttr {
    pub round: Round,
    /// Subnormal f32 inputs and results become zero of the same sign.
    pub ftz: bool,
    /// Clamp to [0, 1], NaN to +0. For conversions to integer: clamping is always on.
    pub sat: bool,
    /// Clamp below at +0, NaN stays canonical NaN (`fma.relu`, `cvt.relu`).
    pub relu: bool,
}

/// Modifiers of `min` and `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct MinMaxAttr {
    pub ftz: bool,
    /// NaN if either input is.
    pub nan: bool,
    /// Sign of the result is the exclusive or of the signs; the comparison is of magnitudes.
    pub xorsign_abs: bool,
    /// Compare magnitudes (`.abs`, redux only).
    pub abs: bool,
}

/// Integer comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntCmp {
    Eq,
    Ne,
    LtS,
    LeS,
    GtS,
    GeS,
    LtU,
    LeU,
    GtU,
    GeU,
}

impl IntCmp {
    /// The one that holds of `b` and `a` where this one holds of `a` and `b`.
    pub const fn mirrored(self) -> IntCmp {
        match self {
            IntCmp::Eq | IntCmp::Ne => self,
            IntCmp::LtS => IntCmp::GtS,
            IntCmp::GtS => IntCmp::LtS,
            IntCmp::LeS => IntCmp::GeS,
            IntCmp::GeS => IntCmp::LeS,
            IntCmp::LtU => IntCmp::GtU,
            IntCmp::GtU => IntCmp::LtU,
            IntCmp::LeU => IntCmp::GeU,
            IntCmp::GeU => IntCmp::LeU,
        }
    }

    /// The one that holds where this one does not.
    pub const fn opposite(self) -> IntCmp {
        match self {
            IntCmp::Eq => IntCmp::Ne,
            IntCmp::Ne => IntCmp::Eq,
            IntCmp::LtS => IntCmp::GeS,
            IntCmp::GeS => IntCmp::LtS,
            IntCmp::GtS => IntCmp::LeS,
            IntCmp::LeS => IntCmp::GtS,
            IntCmp::LtU => IntCmp::GeU,
            IntCmp::GeU => IntCmp::LtU,
            IntCmp::GtU => IntCmp::LeU,
            IntCmp::LeU => IntCmp::GtU,
        }
    }
}

/// Floating-point comparisons; the `U` forms hold if an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatCmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    EqU,
    NeU,
    LtU,
    LeU,
    GtU,
    GeU,
    /// Both are numbers.
    Num,
    /// One is NaN.
    Nan,
}

/// Of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemAttr {
    pub space: Space,
    /// Loads of narrow types: sign-extend into the destination's class (`ld.s8` to a 32- or
    /// 64-bit register). Otherwise zero-extended.
    pub signed: bool,
    pub sem: Sem,
    pub scope: Scope,
    pub cache: Cache,
    /// Bytes added to the address.
    pub offset: i64,
}

impl MemAttr {
    /// A weak access without hints, zero-extended.
    pub fn plain(space: Space) -> MemAttr {
        MemAttr {
            space,
            signed: false,
            sem: Sem::Weak,
            scope: Scope::default(),
            cache: Cache::default(),
            offset: 0,
        }
    }

    /// The access is known to be of this space. In a thread's own memory order is nothing that anybody could tell, so it is weak
    /// there, `volatile` too.
    pub fn enter(&mut self, space: Space) {
        self.space = space;
        if space == Space::Local {
            (self.sem, self.scope) = (Sem::Weak, Scope::default());
        }
    }
}

/// Read-modify-write operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomOp {
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Add,
    Inc,
    Dec,
    MinS,
    MinU,
    MaxS,
    MaxU,
    FAdd,
    FMin,
    FMax,
}

/// What an address is taken of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddrOf {
    /// A module variable, in its own space's numbering. Global and constant addresses are generic.
    Global(GlobalId),
    /// A function's handle for indirect calls.
    Func(FuncId),
    /// Byte in the current function's local frame, as a local-space address.
    Local(u32),
    /// Byte in the kernel's parameter block.
    Param(u32),
}

/// Special registers (PTX ISA, "Special Registers").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sreg {
    /// `%tid`, and the rest by dimension 0 to 2.
    Tid(u8),
    NTid(u8),
    CtaId(u8),
    NCtaId(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaId(u8),
    ClusterNCtaId(u8),
    ClusterCtaRank,
    ClusterNCtaRank,
    IsExplicitCluster,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    Clock,
    ClockHi,
    Clock64,
    GlobalTimer,
    GlobalTimerLo,
    GlobalTimerHi,
    /// `%pm0` … `%pm7` and `%pm0_64` …: zero without a profiler.
    Pm(u8),
    /// `%envreg0` … `%envreg31`.
    EnvReg(u8),
    TotalSmemSize,
    AggrSmemSize,
    DynamicSmemSize,
    ReservedSmemOffset(u8),
    CurrentGraphExec,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VoteMode {
    All,
    Any,
    Uni,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShflMode {
    Up,
    Down,
    Bfly,
    Idx,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduxOp {
    Add,
    MinS,
    MinU,
    MaxS,
    MaxU,
    And,
    Or,
    Xor,
    FMin { abs: bool, nan: bool },
    FMax { abs: bool, nan: bool },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarKind {
    Sync,
    Arrive,
    /// `Wait` exists only for cluster barriers.
    Wait,
    RedPopc,
    RedAnd,
    RedOr,
}

/// Which accesses before a barrier come before those after it, by the program's words. Execution orders all of them; who
/// checks a program asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BarOrder {
    #[default]
    All,
    /// Those of shared memory: OpenCL's `CLK_LOCAL_MEM_FENCE` alone.
    Shared,
    /// Those of global memory: `CLK_GLOBAL_MEM_FENCE` alone.
    Global,
    /// None: `.relaxed` of an arrival at the cluster's barrier.
    Nothing,
}

/// What a thread does to an mbarrier object (PTX ISA, "mbarrier"), and what the operand of [`Op::Mbarrier`] is then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MbarrierOp {
    /// Arrivals that each phase awaits.
    Init,
    /// Nothing.
    Inval,
    /// How often it arrives.
    Arrive,
    /// The same, with the promise that the phase does not end by it.
    ArriveNoComplete,
    /// How often it arrives and leaves for good.
    ArriveDrop,
    /// Bytes that the phase also awaits.
    ExpectTx,
    /// Bytes that have come.
    CompleteTx,
    /// 1 if the phase that it waits for was over.
    Wait,
}

/// Where an argument or a result of a call lives on one side of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallArg {
    /// In a register (for an argument also an immediate) of this type.
    Value(Value, Ty),
    /// Bytes of the function's local frame.
    Frame { offset: u32, size: u32 },
}

impl CallArg {
    /// Bytes that it passes.
    pub fn size(&self) -> u32 {
        match self {
            CallArg::Value(_, ty) => ty.bits().div_ceil(8),
            CallArg::Frame { size, .. } => *size,
        }
    }

    /// Whether these are what a function declares.
    pub fn agree(passed: &[CallArg], declared: &[Param]) -> bool {
        passed.len() == declared.len()
            && passed.iter().zip(declared).all(|(arg, param)| arg.size() == param.size)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Callee {
    Direct(FuncId),
    /// A function handle in a D register.
    Indirect(Value),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallAttr {
    pub callee: Callee,
    pub args: Vec<CallArg>,
    pub rets: Vec<CallArg>,
    /// Where in the caller's frame that of the function ends which the call was in, if it was put into another.
    pub top: Option<u32>,
}

/// Functions of the device run time that need more than lane values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syscall {
    /// `vprintf(format, args)`: generic addresses; returns the number of arguments.
    Vprintf,
    /// `printf(format, args)` of OpenCL C, whose vectors lie in `args` as the target's C does it;
    /// returns 0, or -1 if the format is wrong.
    Printf,
    Malloc,
    Free,
    /// `__assertfail(message, file, line, function, char_size)`.
    AssertFail,
    /// `__margay_device_runtime(function, …)`: a function of CUDA's device run time by its number, with its arguments
    /// as ten 64-bit words, of which the last may mean nothing; returns what that function returns. With `n` in
    /// the upper half of `function`, the first argument is the generic address of `n` words that stand in its place.
    Runtime,
}

impl Syscall {
    /// Types of the arguments, and of the result if there is one. The result may be left unused:
    /// then the instruction has no destination.
    pub const fn signature(self) -> (&'static [Ty], Option<Ty>) {
        match self {
            Syscall::Vprintf | Syscall::Printf => (&[Ty::I64, Ty::I64], Some(Ty::I32)),
            Syscall::Malloc => (&[Ty::I64], Some(Ty::I64)),
            Syscall::Free => (&[Ty::I64], None),
            Syscall::AssertFail => (&[Ty::I64, Ty::I64, Ty::I32, Ty::I64, Ty::I64], None),
            Syscall::Runtime => {
                const I64: Ty = Ty::I64;
                (&[Ty::I32, I64, I64, I64, I64, I64, I64, I64, I64, I64, I64], Some(I64))
            }
        }
    }
}

impl Sreg {
    /// Width in which the register is read: 32, 64, or both for the performance counters.
    pub const fn widths(self) -> &'static [Ty] {
        match self {
            Sreg::GridId | Sreg::Clock64 | Sreg::GlobalTimer | Sreg::CurrentGraphExec => &[Ty::I64],
            Sreg::Pm(_) => &[Ty::I32, Ty::I64],
            Sreg::Tid(_)
            | Sreg::NTid(_)
            | Sreg::CtaId(_)
            | Sreg::NCtaId(_)
            | Sreg::LaneId
            | Sreg::WarpId
            | Sreg::NWarpId
            | Sreg::SmId
            | Sreg::NSmId
            | Sreg::ClusterId(_)
            | Sreg::NClusterId(_)
            | Sreg::ClusterCtaId(_)
            | Sreg::ClusterNCtaId(_)
            | Sreg::ClusterCtaRank
            | Sreg::ClusterNCtaRank
            | Sreg::IsExplicitCluster
            | Sreg::LaneMaskEq
            | Sreg::LaneMaskLe
            | Sreg::LaneMaskLt
            | Sreg::LaneMaskGe
            | Sreg::LaneMaskGt
            | Sreg::Clock
            | Sreg::ClockHi
            | Sreg::GlobalTimerLo
            | Sreg::GlobalTimerHi
            | Sreg::EnvReg(_)
            | Sreg::TotalSmemSize
            | Sreg::AggrSmemSize
            | Sreg::DynamicSmemSize
            | Sreg::ReservedSmemOffset(_) => &[Ty::I32],
        }
    }
}

/// What an op carries beyond its operands; which variant is fixed by the op's row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Attr {
    None,
    Float(FloatAttr),
    MinMax(MinMaxAttr),
    IntCmp(IntCmp),
    FloatCmp {
        cmp: FloatCmp,
        ftz: bool,
    },
    /// Funnel shifts: clamp the amount at 32, or else take it modulo 32.
    Clamp(bool),
    Lop3(u8),
    Mem(MemAttr),
    /// `ftz`: subnormals flush where the address is in global memory; shared memory keeps them.
    Atom {
        op: AtomOp,
        mem: MemAttr,
        ftz: bool,
    },
    /// Bytes written to shared memory by `cp.async` (4, 8, 16), offsets added to both addresses.
    Copy {
        bytes: u32,
        shared_offset: i64,
        global_offset: i64,
        cache: Cache,
    },
    Space(Space),
    Address {
        of: AddrOf,
        addend: i64,
    },
    Sreg(Sreg),
    Vote(VoteMode),
    Shfl(ShflMode),
    Redux(ReduxOp),
    /// `aligned` promises that all threads of the warp arrive together.
    Barrier {
        kind: BarKind,
        aligned: bool,
        orders: BarOrder,
    },
    Fence {
        sem: Sem,
        scope: Scope,
    },
    Mbarrier {
        op: MbarrierOp,
        mem: MemAttr,
    },
    Call(Box<CallAttr>),
    Builtin(Builtin),
    Syscall(Syscall),
    Texture(TextureAttr),
    /// For `unsupported`: the PTX form and why.
    Message(Box<str>),
}

/// A basic block: an index into [`crate::module::Function::blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The PTX label, if it had one.
    pub label: Option<Box<str>>,
    pub insts: Vec<Inst>,
    pub term: Term,
    /// Of the terminator.
    pub term_loc: LocId,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    Br(BlockId),
    /// `@p bra then; bra els`.
    CondBr {
        pred: Reg,
        negated: bool,
        then: BlockId,
        els: BlockId,
    },
    /// `brx.idx`: an index outside the table is a fault (`InvalidPc`).
    BrTable {
        index: Value,
        targets: Vec<BlockId>,
    },
    /// Return from a function; in an entry the same as `Exit`.
    Ret,
    /// End the thread.
    Exit,
}
