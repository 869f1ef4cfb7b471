// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a texture or surface instruction does (PTX ISA, "Texture Instructions", "Surface
//! Instructions"), and the operands that follow from it.
//!
//! Invariant: operands are in one fixed order, [`TextureAttr::args`]; a form spells as one word and
//! reads back equal ([`TextureAttr::word`], [`TextureAttr::from_word`]).

use smallvec::SmallVec;

use crate::types::Ty;

macro_rules! words {
    ($(#[$doc:meta])* $enum:ident { $($(#[$vdoc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum { $($(#[$vdoc])* $variant,)* }

        impl $enum {
            /// Every value.
            pub const ALL: &'static [$enum] = &[$($enum::$variant),*];

            /// PTX's word, without the dot.
            pub const fn word(self) -> &'static str {
                match self { $($enum::$variant => $name),* }
            }

            /// The value with this word.
            pub fn from_word(word: &str) -> Option<$enum> {
                match word { $($name => Some($enum::$variant),)* _ => None }
            }
        }
    };
}

words! {
    /// Shape of the texture or surface.
    Geometry {
        D1 = "1d", D2 = "2d", D3 = "3d",
        /// Arrays of 1D and 2D layers.
        A1 = "a1d", A2 = "a2d",
        Cube = "cube",
        /// Array of cubes.
        ACube = "acube",
    }
}

impl Geometry {
    /// Coordinates without the layer.
    pub const fn coordinates(self) -> usize {
        match self {
            Geometry::D1 | Geometry::A1 => 1,
            Geometry::D2 | Geometry::A2 => 2,
            Geometry::D3 | Geometry::Cube | Geometry::ACube => 3,
        }
    }

    /// Whether a layer index comes first.
    pub const fn layered(self) -> bool {
        match self {
            Geometry::A1 | Geometry::A2 | Geometry::ACube => true,
            Geometry::D1 | Geometry::D2 | Geometry::D3 | Geometry::Cube => false,
        }
    }
}

words! {
    /// The type of the data registers.
    TexelType {
        U32 = "u32", S32 = "s32", F32 = "f32", F16 = "f16", F16x2 = "f16x2",
        B8 = "b8", B16 = "b16", B32 = "b32", B64 = "b64", U64 = "u64", S64 = "s64",
    }
}

impl TexelType {
    /// The IR type of one data register.
    pub const fn ty(self) -> Ty {
        match self {
            TexelType::U32 | TexelType::S32 | TexelType::F16x2 | TexelType::B32 => Ty::I32,
            TexelType::F32 => Ty::F32,
            TexelType::F16 => Ty::F16,
            TexelType::B8 => Ty::I8,
            TexelType::B16 => Ty::I16,
            TexelType::B64 | TexelType::U64 | TexelType::S64 => Ty::I64,
        }
    }

    /// Bytes of one element in memory.
    pub const fn bytes(self) -> u32 {
        match self {
            TexelType::B8 => 1,
            TexelType::B16 | TexelType::F16 => 2,
            TexelType::U32
            | TexelType::S32
            | TexelType::F32
            | TexelType::F16x2
            | TexelType::B32 => 4,
            TexelType::B64 | TexelType::U64 | TexelType::S64 => 8,
        }
    }
}

words! {
    /// What a query asks.
    TextureQuery {
        Width = "width", Height = "height", Depth = "depth",
        ChannelDataType = "channel_data_type", ChannelOrder = "channel_order",
        NormalizedCoords = "normalized_coords", ArraySize = "array_size",
        NumMipmapLevels = "num_mipmap_levels", NumSamples = "num_samples",
        ForceUnnormalizedCoords = "force_unnormalized_coords", FilterMode = "filter_mode",
        AddrMode0 = "addr_mode_0", AddrMode1 = "addr_mode_1", AddrMode2 = "addr_mode_2",
        MemoryLayout = "memory_layout",
        /// `istypep`: whether the handle is of this kind.
        IsTexture = "texref", IsSampler = "samplerref", IsSurface = "surfref",
    }
}

words! {
    /// What an access outside of a surface does.
    OutOfBounds { Trap = "trap", Clamp = "clamp", Zero = "zero", }
}

words! {
    /// Read-modify-write on a surface.
    SurfaceReduction {
        Add = "add", MinS = "min.s", MinU = "min.u", MaxS = "max.s", MaxU = "max.u",
        And = "and", Or = "or",
    }
}

words! {
    /// Where the level of detail comes from.
    Level {
        /// The base level.
        Base = "base",
        /// An operand.
        Given = "level",
        /// Derivatives of the coordinates.
        Gradient = "grad",
    }
}

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TextureOp {
    /// `tex`.
    Sample(Level),
    /// `tld4`: one component (0 to 3) of the four texels that a filter would weigh.
    Gather(u8),
    /// `txq`, `suq`, `istypep`; `level` if a mipmap level is an operand.
    Query { what: TextureQuery, level: bool },
    /// `suld`; formatted accesses (`.p`) convert and count texels, others are of bytes.
    Load { formatted: bool },
    /// `sust`.
    Store { formatted: bool },
    /// `sured`.
    Reduce { op: SurfaceReduction, formatted: bool },
}

/// A texture or surface instruction's attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TextureAttr {
    pub op: TextureOp,
    pub geometry: Geometry,
    pub texel: TexelType,
    /// Data registers: 4 for `tex` (2 of `.f16x2`), 1, 2 or 4 for surfaces.
    pub count: u8,
    /// Coordinates are `.f32`; else `.s32`.
    pub float_coords: bool,
    /// A sampler is an operand of its own (independent texturing mode).
    pub sampler: bool,
    /// Offsets in texels, one for each coordinate, are operands.
    pub offset: bool,
    /// A predicate follows the data: whether the texels are resident (they are).
    pub resident: bool,
    pub outside: OutOfBounds,
}

impl TextureAttr {
    /// A query's attribute.
    pub const fn query(what: TextureQuery, level: bool) -> TextureAttr {
        TextureAttr {
            op: TextureOp::Query { what, level },
            geometry: Geometry::D1,
            texel: TexelType::B32,
            count: 1,
            float_coords: false,
            sampler: false,
            offset: false,
            resident: false,
            outside: OutOfBounds::Trap,
        }
    }

    /// Types of the sources: the handle; the sampler's; the layer; the coordinates; the level, or
    /// the derivatives by x and then by y; offsets; data to write.
    pub fn args(&self) -> SmallVec<[Ty; 16]> {
        let mut out = SmallVec::new();
        out.push(Ty::I64);
        if self.sampler {
            out.push(Ty::I64);
        }
        let dims = self.geometry.coordinates();
        let mut words = |n: usize| out.extend(std::iter::repeat_n(Ty::I32, n));
        match self.op {
            TextureOp::Query { level, .. } => words(usize::from(level)),
            TextureOp::Sample(_)
            | TextureOp::Gather(_)
            | TextureOp::Load { .. }
            | TextureOp::Store { .. }
            | TextureOp::Reduce { .. } => {
                words(usize::from(self.geometry.layered()) + dims);
                match self.op {
                    TextureOp::Sample(Level::Given) => words(1),
                    TextureOp::Sample(Level::Gradient) => words(2 * dims),
                    _ => {}
                }
                if self.offset {
                    words(dims);
                }
                if let TextureOp::Store { .. } | TextureOp::Reduce { .. } = self.op {
                    out.extend(std::iter::repeat_n(self.texel.ty(), usize::from(self.count)));
                }
            }
        }
        out
    }

    /// Types of the results.
    pub fn rets(&self) -> SmallVec<[Ty; 5]> {
        let mut out = SmallVec::new();
        match self.op {
            TextureOp::Store { .. } | TextureOp::Reduce { .. } => {}
            TextureOp::Query { what, .. } => out.push(match what {
                TextureQuery::IsTexture | TextureQuery::IsSampler | TextureQuery::IsSurface => {
                    Ty::Pred
                }
                _ => Ty::I32,
            }),
            TextureOp::Sample(_) | TextureOp::Gather(_) | TextureOp::Load { .. } => {
                out.extend(std::iter::repeat_n(self.texel.ty(), usize::from(self.count)));
                if self.resident {
                    out.push(Ty::Pred);
                }
            }
        }
        out
    }

    /// Whether the op belongs to [`crate::Op::SurfStore`].
    pub const fn writes(&self) -> bool {
        matches!(self.op, TextureOp::Store { .. } | TextureOp::Reduce { .. })
    }

    /// The form as one word, for the text form.
    pub fn word(&self) -> String {
        let p = |formatted: bool| if formatted { "p" } else { "b" };
        let op = match self.op {
            TextureOp::Sample(level) => format!("tex.{}", level.word()),
            TextureOp::Gather(component) => format!("tld4.{component}"),
            TextureOp::Query { what, level } => {
                format!("query{}.{}", if level { "_level" } else { "" }, what.word())
            }
            TextureOp::Load { formatted } => format!("suld.{}", p(formatted)),
            TextureOp::Store { formatted } => format!("sust.{}", p(formatted)),
            TextureOp::Reduce { op, formatted } => {
                format!("sured.{}.{}", p(formatted), op.word().replace('.', "_"))
            }
        };
        let flags = [
            (self.float_coords, 'f'),
            (self.sampler, 's'),
            (self.offset, 'o'),
            (self.resident, 'r'),
        ];
        let flags: String = flags.iter().filter(|(on, _)| *on).map(|(_, c)| *c).collect();
        format!(
            "{op}.g{}.v{}.{}.{}.x{flags}",
            self.geometry.word(),
            self.count,
            self.texel.word(),
            self.outside.word(),
        )
    }

    /// Reads [`Self::word`].
    pub fn from_word(word: &str) -> Option<TextureAttr> {
        let mut parts = word.split('.');
        let op = parts.next()?;
        let formatted = |word: &str| match word {
            "p" => Some(true),
            "b" => Some(false),
            _ => None,
        };
        let op = match op {
            "tex" => TextureOp::Sample(Level::from_word(parts.next()?)?),
            "tld4" => TextureOp::Gather(parts.next()?.parse().ok().filter(|c| *c < 4)?),
            "query" | "query_level" => TextureOp::Query {
                what: TextureQuery::from_word(parts.next()?)?,
                level: op == "query_level",
            },
            "suld" => TextureOp::Load { formatted: formatted(parts.next()?)? },
            "sust" => TextureOp::Store { formatted: formatted(parts.next()?)? },
            "sured" => {
                let formatted = formatted(parts.next()?)?;
                let op = SurfaceReduction::from_word(&parts.next()?.replace('_', "."))?;
                TextureOp::Reduce { op, formatted }
            }
            _ => return None,
        };
        let geometry = Geometry::from_word(parts.next()?.strip_prefix('g')?)?;
        let count = parts.next()?.strip_prefix('v')?.parse().ok()?;
        let texel = TexelType::from_word(parts.next()?)?;
        let outside = OutOfBounds::from_word(parts.next()?)?;
        let flags = parts.next()?.strip_prefix('x')?;
        let valid = matches!(count, 1 | 2 | 4) && flags.chars().all(|c| "fsor".contains(c));
        (valid && parts.next().is_none()).then_some(TextureAttr {
            op,
            geometry,
            texel,
            count,
            float_coords: flags.contains('f'),
            sampler: flags.contains('s'),
            offset: flags.contains('o'),
            resident: flags.contains('r'),
            outside,
        })
    }
}

/// What a variable of an opaque type names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opaque {
    Texture,
    Sampler,
    Surface,
}

impl Opaque {
    /// PTX's type, without the dot.
    pub const fn word(self) -> &'static str {
        match self {
            Opaque::Texture => "texref",
            Opaque::Sampler => "samplerref",
            Opaque::Surface => "surfref",
        }
    }

    /// The kind with this word.
    pub fn from_word(word: &str) -> Option<Opaque> {
        match word {
            "texref" => Some(Opaque::Texture),
            "samplerref" => Some(Opaque::Sampler),
            "surfref" => Some(Opaque::Surface),
            _ => None,
        }
    }
}

/// The sampling fields of an opaque variable's initialiser, in the variable's eight initial bytes:
/// addressing modes of three coordinates (0 wrap, 1 clamp to edge, 2 mirror, 3 clamp to border),
/// filter (0 nearest, 1 linear), and whether coordinates are normalised (0 unsaid, 1 no, 2 yes).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SamplerFields {
    pub address: [u8; 3],
    pub linear: bool,
    pub normalized: Option<bool>,
}

impl SamplerFields {
    /// As a variable's initial bytes.
    pub fn to_bytes(self) -> [u8; 8] {
        let [x, y, z] = self.address;
        let normalized = match self.normalized {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        [x, y, z, u8::from(self.linear), normalized, 0, 0, 0]
    }

    /// Reads [`Self::to_bytes`]; missing bytes are 0.
    pub fn from_bytes(bytes: &[u8]) -> SamplerFields {
        let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
        SamplerFields {
            address: [at(0), at(1), at(2)],
            linear: at(3) != 0,
            normalized: match at(4) {
                1 => Some(false),
                2 => Some(true),
                _ => None,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_read_back() {
        let ops = [
            TextureOp::Sample(Level::Gradient),
            TextureOp::Gather(3),
            TextureOp::Query { what: TextureQuery::ArraySize, level: false },
            TextureOp::Query { what: TextureQuery::Width, level: true },
            TextureOp::Load { formatted: false },
            TextureOp::Store { formatted: true },
            TextureOp::Reduce { op: SurfaceReduction::MinS, formatted: false },
        ];
        for op in ops {
            for &geometry in Geometry::ALL {
                let attr = TextureAttr {
                    op,
                    geometry,
                    count: 4,
                    sampler: true,
                    resident: true,
                    outside: OutOfBounds::Zero,
                    ..TextureAttr::query(TextureQuery::Width, false)
                };
                assert_eq!(TextureAttr::from_word(&attr.word()), Some(attr), "{}", attr.word());
            }
        }
        assert_eq!(TextureAttr::from_word("tex.base.g2d.v3.f32.trap.x"), None);
        assert_eq!(TextureAttr::from_word("tex.base"), None);
    }

    #[test]
    fn sampler_fields_read_back() {
        let fields = SamplerFields { address: [1, 2, 3], linear: true, normalized: Some(true) };
        assert_eq!(SamplerFields::from_bytes(&fields.to_bytes()), fields);
        assert_eq!(SamplerFields::from_bytes(&[]), SamplerFields::default());
    }
}
