// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sampling: levels of detail, weights, sums (CUDA C++ Programming Guide, "Texture Fetching").

use smallvec::SmallVec;

use super::address::{AddressMode, Filter, Sampler, linear, position, texel_index};
use super::cube;
use super::format::{ChannelKind, Texel};
use super::image::Image;

/// An image as a texture reads it.
#[derive(Clone)]
pub struct View {
    pub image: Image,
    /// Narrow integers read as [0, 1] or [-1, 1].
    pub normalized: bool,
}

/// Where the level of detail comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detail {
    /// Level 0, before the sampler's bias and range.
    Base,
    Given(f32),
    /// Derivatives of the coordinates by x and by y, in the coordinates' own unit.
    Gradient([f32; 3], [f32; 3]),
}

/// One lane's texture access.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lookup {
    /// As many as the geometry has; a cube's are a direction. Bits of integers with `integer`.
    pub coordinates: [f32; 3],
    /// Texel indices take the coordinates' place, unfiltered.
    pub integer: Option<[i32; 3]>,
    /// Number of coordinates.
    pub count: usize,
    /// Layer of an array (of cubes), clamped to those that there are.
    pub layer: u32,
    pub detail: Detail,
    /// Added to texel indices.
    pub offset: [i32; 3],
}

/// Is told of the texels that a lookup reads.
pub trait Taps {
    /// A texel of a level and a layer; `None` is the border, which no memory holds.
    fn texel(&mut self, level: u32, layer: u32, texel: Option<[u32; 3]>);
}

/// Nobody looks.
impl Taps for () {
    #[inline(always)]
    fn texel(&mut self, _: u32, _: u32, _: Option<[u32; 3]>) {}
}

/// A weighted texel: `None` is the border.
type Tap = (u32, Option<[u32; 3]>, u32);

/// Where a level is sampled.
struct Spot {
    level: u32,
    /// First layer of the array's element: a cube's first face.
    layer: u32,
    face: Option<u32>,
    coordinates: [f32; 3],
}

impl View {
    /// Whether texels read as floats.
    pub fn reads_float(&self) -> bool {
        self.image.format.reads_float(self.normalized)
    }

    /// `tex`.
    pub fn sample(&self, sampler: &Sampler, lookup: &Lookup) -> Texel {
        self.sample_told(sampler, lookup, &mut ())
    }

    /// [`View::sample`]; `told` learns of each texel that has a weight.
    pub fn sample_told(&self, sampler: &Sampler, lookup: &Lookup, told: &mut impl Taps) -> Texel {
        if let Some(index) = lookup.integer {
            return self.fetch(sampler, lookup, index, told);
        }
        let spot = self.spot(lookup);
        let (detail, taps, step) = self.detail(sampler, lookup);
        if taps <= 1 {
            return self.levels(sampler, lookup, &spot, detail, told);
        }
        // Equally weighted samples along the longer axis.
        let mut sum = [0f64; 4];
        for tap in 0..taps {
            let along = (f64::from(tap) + 0.5) / f64::from(taps) - 0.5;
            let mut at = spot.coordinates;
            for (c, s) in at.iter_mut().zip(step) {
                *c = (f64::from(*c) + along * f64::from(s)) as f32;
            }
            let spot = Spot { coordinates: at, ..spot };
            let texel = self.levels(sampler, lookup, &spot, detail, told);
            for (s, v) in sum.iter_mut().zip(texel) {
                *s += f64::from(f32::from_bits(v));
            }
        }
        sum.map(|s| ((s / f64::from(taps)) as f32).to_bits())
    }

    /// `tld4`: one component of the texels that a linear filter would weigh, counter-clockwise from
    /// the lower left.
    pub fn gather(&self, sampler: &Sampler, lookup: &Lookup, component: usize) -> Texel {
        self.gather_told(sampler, lookup, component, &mut ())
    }

    /// [`View::gather`]; `told` learns of the four texels.
    pub fn gather_told(
        &self,
        sampler: &Sampler,
        lookup: &Lookup,
        component: usize,
        told: &mut impl Taps,
    ) -> Texel {
        let spot = self.spot(lookup);
        let level = &self.image.levels()[0];
        let at = |d: usize, n: u32| {
            let x = position(spot.coordinates[d], sampler.normalized || spot.face.is_some(), n);
            linear(x).0 + i64::from(lookup.offset[d])
        };
        let (i, j) = (at(0, level.width), at(1, level.height));
        let corners = [(i, j + 1), (i + 1, j + 1), (i + 1, j), (i, j)];
        corners.map(|(i, j)| {
            let tap = self.tap(sampler, &spot, [i, j, 0], 2);
            self.read(sampler, 0, tap.0, tap.1, told)[component & 3]
        })
    }

    /// Finds a cube's face; other coordinates stay.
    fn spot(&self, lookup: &Lookup) -> Spot {
        let layers = self.image.layers();
        if self.image.dimensions.cube {
            let (face, [s, t]) = cube::face_of(lookup.coordinates);
            let cubes = (layers / 6).max(1);
            let layer = lookup.layer.min(cubes - 1) * 6;
            return Spot { level: 0, layer, face: Some(face), coordinates: [s, t, 0.0] };
        }
        let layer = lookup.layer.min(layers - 1);
        Spot { level: 0, layer, face: None, coordinates: lookup.coordinates }
    }

    fn fetch(
        &self,
        sampler: &Sampler,
        lookup: &Lookup,
        index: [i32; 3],
        told: &mut impl Taps,
    ) -> Texel {
        let last = self.image.levels().len() as u32 - 1;
        let level = match lookup.detail {
            Detail::Given(level) => (level.max(0.0) as u32).min(last),
            Detail::Base | Detail::Gradient(..) => 0,
        };
        let layer = lookup.layer.min(self.image.layers() - 1);
        let spot = Spot { level, layer, face: None, coordinates: [0.0; 3] };
        let at = |d: usize| i64::from(index[d]) + i64::from(lookup.offset[d]);
        let (layer, texel, _) = self.tap(sampler, &spot, [at(0), at(1), at(2)], lookup.count);
        self.read(sampler, level, layer, texel, told)
    }

    /// Level of detail after bias and range; number of samples and the step they are spread over.
    fn detail(&self, sampler: &Sampler, lookup: &Lookup) -> (f32, u32, [f32; 3]) {
        let size = &self.image.levels()[0];
        let size = [size.width, size.height, size.depth];
        let (mut level, mut taps, mut step) = (0.0, 1, [0.0; 3]);
        match lookup.detail {
            Detail::Base => {}
            Detail::Given(given) => level = if given.is_nan() { 0.0 } else { given },
            Detail::Gradient(dx, dy) => {
                let length = |d: [f32; 3]| {
                    let texels = (0..lookup.count).map(|at| {
                        let scale = if sampler.normalized { f64::from(size[at]) } else { 1.0 };
                        // A cube's direction spans two units from edge to edge.
                        let scale = if self.image.dimensions.cube { scale / 2.0 } else { scale };
                        (f64::from(d[at]) * scale).powi(2)
                    });
                    texels.sum::<f64>().sqrt()
                };
                let (x, y) = (length(dx), length(dy));
                let (major, minor) = if x >= y { (x, y) } else { (y, x) };
                let most = f64::from(sampler.anisotropy.clamp(1, 16));
                let wanted = if minor > 0.0 { (major / minor).ceil() } else { most };
                let samples = wanted.clamp(1.0, most);
                level = (major / samples).max(f64::from(f32::MIN_POSITIVE)).log2() as f32;
                if samples > 1.0 && !self.image.dimensions.cube {
                    taps = samples as u32;
                    step = if x >= y { dx } else { dy };
                }
            }
        }
        let least = sampler.min_level.max(0.0);
        (level + sampler.bias, taps, step).clamp_level(least, sampler.max_level.max(least))
    }

    /// Samples the level, or the two, that `detail` stands for.
    fn levels(
        &self,
        sampler: &Sampler,
        lookup: &Lookup,
        spot: &Spot,
        detail: f32,
        told: &mut impl Taps,
    ) -> Texel {
        let last = self.image.levels().len() as u32 - 1;
        let detail = f64::from(detail).clamp(0.0, f64::from(last));
        let mut at = |level: u32| {
            self.filtered(sampler, lookup, &Spot { level: level.min(last), ..*spot }, told)
        };
        match sampler.mip_filter {
            Filter::Point => at((detail + 0.5).floor() as u32),
            Filter::Linear => {
                let fixed = (detail * 256.0 + 0.5).floor() as u32;
                let (level, fraction) = (fixed >> 8, fixed & 255);
                if fraction == 0 || !self.reads_float() {
                    return at(level);
                }
                let (low, high) = (at(level), at(level + 1));
                weigh(&[(256 - fraction, low), (fraction, high)], Precision::Single)
            }
        }
    }

    fn filtered(
        &self,
        sampler: &Sampler,
        lookup: &Lookup,
        spot: &Spot,
        told: &mut impl Taps,
    ) -> Texel {
        let level = &self.image.levels()[spot.level as usize];
        let sizes = [level.width, level.height, level.depth];
        let dims = if spot.face.is_some() { 2 } else { lookup.count };
        let normalized = sampler.normalized || spot.face.is_some();
        let places = [0, 1, 2].map(|d| position(spot.coordinates[d], normalized, sizes[d]));
        if sampler.filter == Filter::Point || !self.reads_float() {
            let at = [0, 1, 2].map(|d| places[d].floor() as i64 + i64::from(lookup.offset[d]));
            let (layer, texel, _) = self.tap(sampler, spot, at, dims);
            return self.read(sampler, spot.level, layer, texel, told);
        }
        let taps = weights(&places, dims);
        let mut texels: SmallVec<[(u32, Texel); 8]> = SmallVec::new();
        let mut missing = 0;
        for (weight, at) in taps {
            if weight == 0 {
                continue;
            }
            let at = [0, 1, 2].map(|d| at[d] + i64::from(lookup.offset[d]));
            let (layer, texel, corner) = self.tap(sampler, spot, at, dims);
            if corner != 0 {
                // Three faces meet: the fourth texel is the others' mean.
                missing += weight;
                continue;
            }
            texels.push((weight, self.read(sampler, spot.level, layer, texel, told)));
        }
        if missing > 0 && !texels.is_empty() {
            let each = missing / texels.len() as u32;
            let rest = missing - each * texels.len() as u32;
            texels.iter_mut().for_each(|t| t.0 += each);
            texels[0].0 += rest;
        }
        weigh(&texels, self.precision())
    }

    /// What a filter's sum is rounded to.
    fn precision(&self) -> Precision {
        match self.image.format.kind {
            ChannelKind::U8 | ChannelKind::U16 => Precision::Fixed(65535.0),
            ChannelKind::S8 | ChannelKind::S16 => Precision::Fixed(32767.0),
            ChannelKind::F16 => Precision::Half,
            ChannelKind::U32 | ChannelKind::S32 | ChannelKind::F32 => Precision::Single,
            ChannelKind::Packed565 | ChannelKind::Packed555 | ChannelKind::Packed101010 => {
                Precision::Fixed(65535.0)
            }
        }
    }

    /// Layer and texel of an index in every dimension; the last is 1 beyond a cube's corner.
    fn tap(&self, sampler: &Sampler, spot: &Spot, at: [i64; 3], dims: usize) -> Tap {
        let level = &self.image.levels()[spot.level as usize];
        if let Some(face) = spot.face {
            if sampler.seamless {
                return match cube::across(face, [at[0], at[1]], level.width) {
                    Some((face, [i, j])) => (spot.layer + face, Some([i, j, 0]), 0),
                    None => (spot.layer + face, None, 1),
                };
            }
            let clamp = |i: i64| texel_index(AddressMode::Clamp, i, level.width).unwrap_or(0);
            return (spot.layer + face, Some([clamp(at[0]), clamp(at[1]), 0]), 0);
        }
        let sizes = [level.width, level.height, level.depth];
        let mut texel = [0; 3];
        for d in 0..dims.min(3) {
            match texel_index(sampler.mode(d), at[d], sizes[d]) {
                Some(index) => texel[d] = index,
                None => return (spot.layer, None, 0),
            }
        }
        (spot.layer, Some(texel), 0)
    }

    fn read(
        &self,
        sampler: &Sampler,
        level: u32,
        layer: u32,
        texel: Option<[u32; 3]>,
        told: &mut impl Taps,
    ) -> Texel {
        told.texel(level, layer, texel);
        match texel.and_then(|texel| self.image.texels(level, layer, texel)) {
            // SAFETY: `texels` gives a texel of the image; linear images were checked by the
            // caller against the allocations.
            Some(at) => unsafe { self.image.format.read(at, self.normalized) },
            None => sampler.border,
        }
    }
}

/// Holds the level to the sampler's range.
trait ClampLevel {
    fn clamp_level(self, least: f32, most: f32) -> Self;
}

impl ClampLevel for (f32, u32, [f32; 3]) {
    fn clamp_level(self, least: f32, most: f32) -> Self {
        (self.0.max(least).min(most), self.1, self.2)
    }
}

/// The texels of a linear filter with their weights, which sum to 256.
fn weights(places: &[f64; 3], dims: usize) -> SmallVec<[(u32, [i64; 3]); 8]> {
    let dims = dims.clamp(1, 3);
    let (mut low, mut parts) = ([0; 3], [0; 3]);
    for d in 0..dims {
        (low[d], parts[d]) = linear(places[d]);
    }
    let weights = tap_weights(parts, dims);
    let tap = |n: usize| {
        let upper = upper(n, dims);
        (weights[n], std::array::from_fn(|d| low[d] + i64::from(upper[d])))
    };
    (0..1 << dims).map(tap).collect()
}

/// Which indices of a tap are the upper ones of their dimensions; sums take the taps in their order.
#[inline(always)]
pub(super) fn upper(tap: usize, dims: usize) -> [bool; 3] {
    let bit = |n: usize| tap >> n & 1 != 0;
    match dims {
        3 => [bit(1), bit(0), bit(2)],
        _ => [bit(0), bit(1), false],
    }
}

/// Weights of the taps, in 1/256, by those of the upper indices.
#[inline(always)]
pub(super) fn tap_weights([a, b, c]: [u32; 3], dims: usize) -> [u32; 8] {
    let plane = |a: u32, b: u32| {
        // Only this product is rounded; the sums of rows and columns stay exact.
        let both = (a * b + 128) >> 8;
        [256 + both - a - b, a - both, b - both, both]
    };
    match dims {
        1 => [256 - a, a, 0, 0, 0, 0, 0, 0],
        2 => {
            let [p, q, r, s] = plane(a, b);
            [p, q, r, s, 0, 0, 0, 0]
        }
        _ => {
            // Measured: x and z first, then y, with ties up at the upper x only.
            let plane = plane(a, c);
            let up = |n: usize| (plane[n] * b + 127 + (n as u32 & 1)) >> 8;
            std::array::from_fn(|tap| match tap & 1 {
                0 => plane[tap / 2] - up(tap / 2),
                _ => up(tap / 2),
            })
        }
    }
}

/// What the unit computes in: integers stay fixed-point numbers of 16 bits, halves halves (measured;
/// for signed bytes and packed formats inferred).
#[derive(Clone, Copy)]
enum Precision {
    /// So many steps for 1.
    Fixed(f64),
    Half,
    Single,
}

/// The sum of float texels, by weights in 1/256: exact, and rounded once.
fn weigh(texels: &[(u32, Texel)], precision: Precision) -> Texel {
    [0, 1, 2, 3].map(|c| {
        let terms = texels.iter().filter(|(w, _)| *w != 0);
        let values = terms.map(|(w, t)| (f64::from(*w), f64::from(f32::from_bits(t[c]))));
        let sum = match precision {
            Precision::Fixed(one) => {
                let steps: f64 = values.map(|(w, v)| w * (v * one).round()).sum();
                (steps / 256.0 + 0.5).floor() / one
            }
            Precision::Half => {
                let sum: f64 = values.map(|(w, v)| w * v).sum();
                half::f16::from_f64(sum / 256.0).to_f64()
            }
            Precision::Single => values.map(|(w, v)| w * v).sum::<f64>() / 256.0,
        };
        (sum as f32).to_bits()
    })
}
