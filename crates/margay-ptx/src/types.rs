// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scalar types and state spaces (PTX ISA, "State Spaces, Types, and Variables").
//!
//! The names are those of the manual without the dot. One list declares each set, so that the enum,
//! its names and the look-up cannot drift apart.

macro_rules! named {
    ($(#[$doc:meta])* $enum:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $enum { $($(#[$vdoc])* $variant,)* }

        impl $enum {
            /// Every value, in declaration order.
            pub const ALL: &'static [$enum] = &[$($enum::$variant),*];

            /// The name in PTX text, without the dot.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$variant => $name),* }
            }

            /// The value with this name (no dot).
            pub fn from_name(name: &str) -> Option<$enum> {
                match name { $($name => Some($enum::$variant),)* _ => None }
            }
        }
    };
}

named! {
    /// A type as a declaration or an instruction's modifier names it: fundamental, packed,
    /// alternate floating-point, sub-byte, or opaque.
    ScalarType {
        Pred = "pred",
        B1 = "b1", B4 = "b4", B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", B128 = "b128",
        U2 = "u2", U4 = "u4", U8 = "u8", U16 = "u16", U32 = "u32", U64 = "u64",
        S2 = "s2", S4 = "s4", S8 = "s8", S16 = "s16", S32 = "s32", S64 = "s64",
        U8x4 = "u8x4", S8x4 = "s8x4",
        U16x2 = "u16x2", S16x2 = "s16x2", U32x2 = "u32x2", S32x2 = "s32x2",
        F16 = "f16", F16x2 = "f16x2", F32 = "f32", F32x2 = "f32x2", F64 = "f64",
        BF16 = "bf16", BF16x2 = "bf16x2", TF32 = "tf32",
        E4M3 = "e4m3", E5M2 = "e5m2", E2M3 = "e2m3", E3M2 = "e3m2", E2M1 = "e2m1",
        UE8M0 = "ue8m0", UE4M3 = "ue4m3", S2F6 = "s2f6",
        E4M3x2 = "e4m3x2", E5M2x2 = "e5m2x2", E2M3x2 = "e2m3x2", E3M2x2 = "e3m2x2",
        E2M1x2 = "e2m1x2", UE8M0x2 = "ue8m0x2", UE5M3x2 = "ue5m3x2", S2F6x2 = "s2f6x2",
        E4M3x4 = "e4m3x4", E5M2x4 = "e5m2x4", E2M3x4 = "e2m3x4", E3M2x4 = "e3m2x4",
        E2M1x4 = "e2m1x4",
        Texref = "texref", Samplerref = "samplerref", Surfref = "surfref",
    }
}

impl ScalarType {
    /// Width in bits of one value. A predicate has 1; the opaque types have 64, the size of the
    /// handle that a kernel parameter carries.
    pub const fn bits(self) -> u32 {
        use ScalarType::*;
        match self {
            Pred | B1 => 1,
            U2 | S2 => 2,
            B4 | U4 | S4 | E2M1 => 4,
            E2M3 | E3M2 => 6,
            B8 | U8 | S8 | E4M3 | E5M2 | UE8M0 | UE4M3 | S2F6 | E2M1x2 => 8,
            B16 | U16 | S16 | F16 | BF16 => 16,
            E4M3x2 | E5M2x2 | E2M3x2 | E3M2x2 | UE8M0x2 | UE5M3x2 | S2F6x2 | E2M1x4 => 16,
            B32 | U32 | S32 | F32 | TF32 | F16x2 | BF16x2 | U16x2 | S16x2 | U8x4 | S8x4 => 32,
            E4M3x4 | E5M2x4 | E2M3x4 | E3M2x4 => 32,
            B64 | U64 | S64 | F64 | F32x2 | U32x2 | S32x2 => 64,
            Texref | Samplerref | Surfref => 64,
            B128 => 128,
        }
    }

    /// Whether the type is `.u*`, `.s*` or a packed form of these.
    pub const fn is_integer(self) -> bool {
        use ScalarType::*;
        matches!(
            self,
            U2 | U4
                | U8
                | U16
                | U32
                | U64
                | S2
                | S4
                | S8
                | S16
                | S32
                | S64
                | U16x2
                | S16x2
                | U32x2
                | S32x2
                | U8x4
                | S8x4
        )
    }

    /// Whether the type is a signed integer or a packed form of one.
    pub const fn is_signed(self) -> bool {
        use ScalarType::*;
        matches!(self, S2 | S4 | S8 | S16 | S32 | S64 | S16x2 | S32x2 | S8x4)
    }

    /// Whether the type is untyped bits (`.b1` to `.b128`).
    pub const fn is_bits(self) -> bool {
        use ScalarType::*;
        matches!(self, B1 | B4 | B8 | B16 | B32 | B64 | B128)
    }

    /// Whether the type is a floating-point format, packed or not.
    pub const fn is_float(self) -> bool {
        use ScalarType::*;
        !self.is_integer()
            && !self.is_bits()
            && !matches!(self, Pred | Texref | Samplerref | Surfref | S2F6 | S2F6x2)
    }
}

named! {
    /// A state space in which a declaration puts a variable.
    StateSpace {
        Reg = "reg", Sreg = "sreg", Const = "const", Global = "global", Local = "local",
        Param = "param", Shared = "shared",
        /// Deprecated: texture memory, bound through the API (PTX 1.x).
        Tex = "tex",
    }
}

named! {
    /// How a name is seen by other modules (PTX ISA, "Linking Directives").
    Linkage { Extern = "extern", Visible = "visible", Weak = "weak", Common = "common", }
}
