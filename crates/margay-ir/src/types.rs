// SPDX-License-Identifier: MIT OR Apache-2.0
//! Value types and register classes.
//!
//! A register holds one value a lane. Its *class* says how wide the plane of 32 values is; the
//! *type* is a property of the operation, not of the register, as in PTX's `.b32`.

/// How a register is stored: one plane of 32 lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// A predicate: one bit a lane, the whole plane is a 32-bit lane mask.
    P,
    /// A 32-bit word a lane. Narrower values live zero-extended in the low bits.
    W,
    /// A 64-bit word a lane. 128-bit values are two of these, low half first.
    D,
}

/// The type an operation works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ty {
    Pred,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
}

impl Ty {
    /// Every type, in declaration order.
    pub const ALL: [Ty; 9] =
        [Ty::Pred, Ty::I8, Ty::I16, Ty::I32, Ty::I64, Ty::F16, Ty::BF16, Ty::F32, Ty::F64];

    /// The register class that holds a value of this type.
    pub const fn class(self) -> Class {
        match self {
            Ty::Pred => Class::P,
            Ty::I8 | Ty::I16 | Ty::I32 | Ty::F16 | Ty::BF16 | Ty::F32 => Class::W,
            Ty::I64 | Ty::F64 => Class::D,
        }
    }

    /// Width in bits; a predicate has 1.
    pub const fn bits(self) -> u32 {
        match self {
            Ty::Pred => 1,
            Ty::I8 => 8,
            Ty::I16 | Ty::F16 | Ty::BF16 => 16,
            Ty::I32 | Ty::F32 => 32,
            Ty::I64 | Ty::F64 => 64,
        }
    }

    /// Whether the type is one of the floating-point formats.
    pub const fn is_float(self) -> bool {
        match self {
            Ty::F16 | Ty::BF16 | Ty::F32 | Ty::F64 => true,
            Ty::Pred | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => false,
        }
    }

    /// The name in IR text.
    pub const fn name(self) -> &'static str {
        match self {
            Ty::Pred => "pred",
            Ty::I8 => "i8",
            Ty::I16 => "i16",
            Ty::I32 => "i32",
            Ty::I64 => "i64",
            Ty::F16 => "f16",
            Ty::BF16 => "bf16",
            Ty::F32 => "f32",
            Ty::F64 => "f64",
        }
    }
}

/// The state spaces of PTX (PTX ISA, "State Spaces"), as an access names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    Generic,
    Global,
    /// Offsets from the start of the block's shared window; with `mapa` also of a cluster peer's.
    Shared,
    /// Per-thread; offsets from the start of the thread's local window.
    Local,
    Const,
    /// The kernel's parameters (read-only, one object a launch): offsets from the start of the
    /// parameter block.
    Param,
}

/// Memory ordering (PTX ISA, "Memory Consistency Model").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Sem {
    #[default]
    Weak,
    Volatile,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
    /// `.mmio.relaxed.sys`.
    Mmio,
}

/// Scope of an ordered access or fence, from the narrowest to the widest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub enum Scope {
    Cta,
    Cluster,
    #[default]
    Gpu,
    Sys,
}

/// Cache operator of a load or a store. Results never depend on it; the memory model's counts do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Cache {
    #[default]
    Default,
    Ca,
    Cg,
    Cs,
    Lu,
    Cv,
    Wb,
    Wt,
    /// `ld.global.nc` and `ldu`: the read-only path.
    NonCoherent,
    /// `ldu`.
    Uniform,
    /// None: the access is a part of an operation on an mbarrier object.
    Mbarrier,
}

/// IEEE rounding direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Round {
    /// To nearest, ties to even.
    #[default]
    Nearest,
    /// To nearest, ties away from zero (`.rna`).
    NearestAway,
    /// Toward zero.
    Zero,
    /// Toward minus infinity.
    Down,
    /// Toward plus infinity.
    Up,
}
