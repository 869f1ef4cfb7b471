// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samplers, and from a coordinate to texels of one dimension.

use super::format::Texel;

/// What a coordinate outside of the image means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum AddressMode {
    Wrap,
    #[default]
    Clamp,
    Mirror,
    /// The border colour.
    Border,
}

/// How texels, or mip levels, are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    #[default]
    Point,
    Linear,
}

/// How a texture is sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    pub address: [AddressMode; 3],
    pub filter: Filter,
    /// Coordinates are in [0, 1) rather than in texels. Without, [`AddressMode::Wrap`] and
    /// [`AddressMode::Mirror`] act as [`AddressMode::Clamp`].
    pub normalized: bool,
    pub mip_filter: Filter,
    /// Added to the level of detail, and the range that the sum is held to.
    pub bias: f32,
    pub min_level: f32,
    pub max_level: f32,
    /// Most samples along the longer axis of a gradient; 0 and 1 are isotropic.
    pub anisotropy: u32,
    /// Bits of the colour outside of the image with [`AddressMode::Border`], as the view reads them.
    pub border: Texel,
    /// Filters of a cube reach over its edges.
    pub seamless: bool,
}

impl Default for Sampler {
    /// Texel coordinates, clamped, not filtered.
    fn default() -> Sampler {
        Sampler {
            address: [AddressMode::Clamp; 3],
            filter: Filter::Point,
            normalized: false,
            mip_filter: Filter::Point,
            bias: 0.0,
            min_level: 0.0,
            max_level: f32::MAX,
            anisotropy: 0,
            border: [0; 4],
            seamless: false,
        }
    }
}

impl Sampler {
    /// The mode in force for dimension `at`.
    pub fn mode(&self, at: usize) -> AddressMode {
        match (self.address[at.min(2)], self.normalized) {
            (AddressMode::Wrap | AddressMode::Mirror, false) => AddressMode::Clamp,
            (mode, _) => mode,
        }
    }
}

/// The texel that index `i` means among `n`; `None` is the border.
pub(super) fn texel_index(mode: AddressMode, i: i64, n: u32) -> Option<u32> {
    let n = i64::from(n.max(1));
    let at = match mode {
        AddressMode::Wrap => i.rem_euclid(n),
        AddressMode::Mirror => {
            let at = i.rem_euclid(2 * n);
            if at < n { at } else { 2 * n - 1 - at }
        }
        AddressMode::Clamp => i.clamp(0, n - 1),
        AddressMode::Border if (0..n).contains(&i) => i,
        AddressMode::Border => return None,
    };
    Some(at as u32)
}

/// A position in texels, of a coordinate in a dimension of `n` texels. NaN counts as 0.
pub(super) fn position(coordinate: f32, normalized: bool, n: u32) -> f64 {
    let x = f64::from(coordinate);
    let x = if normalized { x * f64::from(n) } else { x };
    if x.is_nan() {
        return 0.0;
    }
    // Far away all that counts is where a period begins, which is exact below this.
    let far = (1u64 << 44) as f64;
    if x.is_infinite() {
        return far.copysign(x);
    }
    if x.abs() < far { x } else { (x % (2.0 * f64::from(n.max(1)))) + far.copysign(x) }
}

/// The lower of the two texels that a linear filter weighs, and the weight of the upper one in
/// 1/256: the coordinate less one half, rounded to 8 bits of fraction (as recorded).
pub(super) fn linear(position: f64) -> (i64, u32) {
    let fixed = ((position - 0.5) * 256.0 + 0.5).floor() as i64;
    (fixed >> 8, (fixed & 255) as u32)
}
