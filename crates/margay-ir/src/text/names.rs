// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words of the text form for the enums of types and attributes, each table read in both
//! directions.

use crate::inst::{
    AtomOp, BarKind, BarOrder, FloatCmp, IntCmp, MbarrierOp, ReduxOp, ShflMode, Sreg, Syscall,
    VoteMode,
};
use crate::module::Linkage;
use crate::types::{Cache, Class, Round, Scope, Sem, Space, Ty};

/// An enum whose variants have one word each.
pub(super) trait Word: Sized + Copy {
    fn word(self) -> &'static str;
    fn from_word(word: &str) -> Option<Self>;
}

macro_rules! words {
    ($( $ty:ident { $( $variant:ident $word:literal )* } )*) => {
        $(
            impl Word for $ty {
                fn word(self) -> &'static str {
                    match self { $( $ty::$variant => $word, )* }
                }
                fn from_word(word: &str) -> Option<Self> {
                    match word { $( $word => Some($ty::$variant), )* _ => None }
                }
            }
        )*
    };
}

words! {
    Class { P "p" W "w" D "d" }
    Space {
        Generic "generic" Global "global" Shared "shared" Local "local" Const "const" Param "param"
    }
    Sem {
        Weak "weak" Volatile "volatile" Relaxed "relaxed" Acquire "acquire" Release "release"
        AcqRel "acq_rel" SeqCst "seq_cst" Mmio "mmio"
    }
    Scope { Cta "cta" Cluster "cluster" Gpu "gpu" Sys "sys" }
    Cache {
        Default "default" Ca "ca" Cg "cg" Cs "cs" Lu "lu" Cv "cv" Wb "wb" Wt "wt"
        NonCoherent "nc" Uniform "ldu" Mbarrier "mbarrier"
    }
    Round { Nearest "rn" NearestAway "rna" Zero "rz" Down "rm" Up "rp" }
    IntCmp {
        Eq "eq" Ne "ne" LtS "lt.s" LeS "le.s" GtS "gt.s" GeS "ge.s"
        LtU "lt.u" LeU "le.u" GtU "gt.u" GeU "ge.u"
    }
    FloatCmp {
        Eq "eq" Ne "ne" Lt "lt" Le "le" Gt "gt" Ge "ge"
        EqU "equ" NeU "neu" LtU "ltu" LeU "leu" GtU "gtu" GeU "geu" Num "num" Nan "nan"
    }
    AtomOp {
        And "and" Or "or" Xor "xor" Exch "exch" Cas "cas" Add "add" Inc "inc" Dec "dec"
        MinS "min.s" MinU "min.u" MaxS "max.s" MaxU "max.u" FAdd "fadd" FMin "fmin" FMax "fmax"
    }
    VoteMode { All "all" Any "any" Uni "uni" }
    ShflMode { Up "up" Down "down" Bfly "bfly" Idx "idx" }
    BarKind {
        Sync "sync" Arrive "arrive" Wait "wait"
        RedPopc "popc" RedAnd "and" RedOr "or"
    }
    MbarrierOp {
        Init "init" Inval "inval" Arrive "arrive" ArriveNoComplete "arrive.no_complete"
        ArriveDrop "arrive_drop" ExpectTx "expect_tx" CompleteTx "complete_tx" Wait "wait"
    }
    BarOrder { All "all" Shared "shared" Global "global" Nothing "nothing" }
    Syscall {
        Vprintf "vprintf" Printf "printf" Malloc "malloc" Free "free" AssertFail "assertfail"
        Runtime "runtime"
    }
    Linkage {
        Internal "internal" Visible "visible" Weak "weak" Common "common" Extern "extern"
    }
}

impl Word for Ty {
    fn word(self) -> &'static str {
        self.name()
    }
    fn from_word(word: &str) -> Option<Ty> {
        Ty::ALL.into_iter().find(|t| t.name() == word)
    }
}

/// `redux` operations; `abs` and `nan` follow as words of their own.
pub(super) fn redux_word(op: ReduxOp) -> &'static str {
    match op {
        ReduxOp::Add => "add",
        ReduxOp::MinS => "min.s",
        ReduxOp::MinU => "min.u",
        ReduxOp::MaxS => "max.s",
        ReduxOp::MaxU => "max.u",
        ReduxOp::And => "and",
        ReduxOp::Or => "or",
        ReduxOp::Xor => "xor",
        ReduxOp::FMin { .. } => "fmin",
        ReduxOp::FMax { .. } => "fmax",
    }
}

pub(super) fn redux_from_word(word: &str, abs: bool, nan: bool) -> Option<ReduxOp> {
    Some(match word {
        "add" => ReduxOp::Add,
        "min.s" => ReduxOp::MinS,
        "min.u" => ReduxOp::MinU,
        "max.s" => ReduxOp::MaxS,
        "max.u" => ReduxOp::MaxU,
        "and" => ReduxOp::And,
        "or" => ReduxOp::Or,
        "xor" => ReduxOp::Xor,
        "fmin" => ReduxOp::FMin { abs, nan },
        "fmax" => ReduxOp::FMax { abs, nan },
        _ => return None,
    })
}

const DIMENSIONS: [&str; 3] = ["x", "y", "z"];

macro_rules! sregs {
    (plain { $( $p:ident $pw:literal )* } by_dimension { $( $d:ident $dw:literal )* }
     numbered { $( $n:ident $nw:literal )* }) => {
        /// A special register as PTX names it, without the per cent sign.
        pub(super) fn sreg_text(sreg: Sreg) -> String {
            match sreg {
                $( Sreg::$p => $pw.to_string(), )*
                $( Sreg::$d(i) => match DIMENSIONS.get(usize::from(i)) {
                    Some(d) => format!("{}.{d}", $dw),
                    None => format!("{}.{i}", $dw),
                }, )*
                $( Sreg::$n(i) => format!("{}.{i}", $nw), )*
            }
        }

        pub(super) fn sreg_from_text(text: &str) -> Option<Sreg> {
            match text {
                $( $pw => return Some(Sreg::$p), )*
                _ => {}
            }
            let (name, index) = text.rsplit_once('.')?;
            let index = match DIMENSIONS.iter().position(|d| *d == index) {
                Some(i) => i as u8,
                None => index.parse().ok()?,
            };
            match name {
                $( $dw => Some(Sreg::$d(index)), )*
                $( $nw => Some(Sreg::$n(index)), )*
                _ => None,
            }
        }
    };
}

sregs! {
    plain {
        LaneId "laneid" WarpId "warpid" NWarpId "nwarpid" SmId "smid" NSmId "nsmid" GridId "gridid"
        ClusterCtaRank "cluster_ctarank" ClusterNCtaRank "cluster_nctarank"
        IsExplicitCluster "is_explicit_cluster"
        LaneMaskEq "lanemask_eq" LaneMaskLe "lanemask_le" LaneMaskLt "lanemask_lt"
        LaneMaskGe "lanemask_ge" LaneMaskGt "lanemask_gt"
        Clock "clock" ClockHi "clock_hi" Clock64 "clock64"
        GlobalTimer "globaltimer" GlobalTimerLo "globaltimer_lo" GlobalTimerHi "globaltimer_hi"
        TotalSmemSize "total_smem_size" AggrSmemSize "aggr_smem_size"
        DynamicSmemSize "dynamic_smem_size" CurrentGraphExec "current_graph_exec"
    }
    by_dimension {
        Tid "tid" NTid "ntid" CtaId "ctaid" NCtaId "nctaid"
        ClusterId "clusterid" NClusterId "nclusterid"
        ClusterCtaId "cluster_ctaid" ClusterNCtaId "cluster_nctaid"
    }
    numbered { Pm "pm" EnvReg "envreg" ReservedSmemOffset "reserved_smem_offset" }
}
