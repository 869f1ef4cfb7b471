// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lookups of a warp at once, where they are usual ones: an image without further levels, of one dimension to three,
//! coordinates that are not far away. What comes is what [`View::sample`] gives, to the bit.

use crate::lanes::{WARP, active};

use super::address::{AddressMode, Filter, Sampler};
use super::filter::{View, tap_weights, upper};
use super::format::{ChannelKind, Format, Order};
use super::image::Level;

/// The operands of a warp's lookups in one texture.
pub struct Lookups {
    /// Number of coordinates.
    pub count: usize,
    /// Bits of floats, or of texel indices with `integer`.
    pub coordinates: [[u32; WARP]; 3],
    pub integer: bool,
    /// Layer of an array.
    pub layer: [u32; WARP],
    /// Added to texel indices.
    pub offset: [[u32; WARP]; 3],
}

/// How a filter sums.
#[derive(Clone, Copy, PartialEq)]
enum Sums {
    Floats,
    /// Bytes and halves of words, as numbers of 16 bits: what a number of the format counts there.
    Fixed(u32),
}

impl View {
    /// [`View::sample`] of all lanes of `mask`; false if they have to be sampled one by one.
    #[expect(clippy::needless_range_loop, reason = "loops over lanes become vectors as they stand")]
    #[inline(always)]
    pub fn sample_warp(
        &self,
        sampler: &Sampler,
        lookups: &Lookups,
        mask: u32,
        out: &mut [[u32; WARP]; 4],
    ) -> bool {
        let image = &self.image;
        let Format { kind, order, srgb } = image.format;
        let usual = matches!(order, Order::R | Order::Rg | Order::Rgba) && !srgb;
        let [level] = image.levels() else { return false };
        let count = lookups.count;
        if !usual || kind.is_packed() || image.dimensions.cube || !(1..=3).contains(&count) {
            return false;
        }
        let linear = !lookups.integer && sampler.filter == Filter::Linear && self.reads_float();
        // An index with 8 bits of fraction has to fit into 32.
        let far = if linear { 1 << 22 } else { 1 << 30 };
        let sizes = [level.width, level.height, level.depth];
        if sizes[..count].iter().any(|&n| n == 0 || n >= far) {
            return false;
        }
        let sums = match (linear, kind) {
            (false, _) => None,
            (true, ChannelKind::F32) => Some(Sums::Floats),
            (true, ChannelKind::U8) => Some(Sums::Fixed(257)),
            (true, ChannelKind::U16) => Some(Sums::Fixed(1)),
            (true, _) => return false,
        };
        let (mut low, mut parts) = ([[0i32; WARP]; 3], [[0i32; WARP]; 3]);
        let mut lost = 0;
        for d in 0..count {
            let scale = if sampler.normalized { f64::from(sizes[d]) } else { 1.0 };
            for l in 0..WARP {
                let bits = lookups.coordinates[d][l];
                let offset = lookups.offset[d][l] as i32;
                let (index, part) = if lookups.integer {
                    (i64::from(bits as i32), 0)
                } else {
                    let x = f64::from(f32::from_bits(bits)) * scale;
                    let near = x.abs() < f64::from(far);
                    lost |= u32::from(!near) << l;
                    let x = if near { x } else { 0.0 };
                    let fixed = if linear { (x - 0.5) * 256.0 + 0.5 } else { x };
                    let fixed = floor(fixed);
                    if linear { (i64::from(fixed >> 8), fixed & 255) } else { (fixed.into(), 0) }
                };
                let index = index + i64::from(offset);
                lost |= u32::from(index.unsigned_abs() >= u64::from(far)) << l;
                (low[d][l], parts[d][l]) = (index as i32, part);
            }
        }
        if lost & mask != 0 {
            return false;
        }
        let base = image.base().cast_const();
        let place = Place {
            level,
            layers: image.layers(),
            layer: &lookups.layer,
            bytes: image.format.bytes(),
        };
        let Some(sums) = sums else {
            let mut outside = 0;
            for d in 0..count {
                outside |= fold(sampler.mode(d), sizes[d] as i32, &mut low[d]);
            }
            let mut at = [0; WARP];
            place.of([&low[0], &low[1], &low[2]], &mut at);
            let one = if self.reads_float() { 1f32.to_bits() } else { 1 };
            let channels = image.format.channels() as usize;
            for (c, plane) in out.iter_mut().enumerate() {
                *plane = [if c == 3 { one } else { 0 }; WARP];
            }
            for l in active(mask & !outside) {
                let at = base.wrapping_add(at[l]);
                // SAFETY: `fold` gives indices of the image; linear images were checked by the caller
                // against the allocations.
                unsafe {
                    match kind {
                        ChannelKind::U32 | ChannelKind::S32 | ChannelKind::F32 => {
                            for c in 0..channels {
                                out[c][l] = at.add(4 * c).cast::<u32>().read_unaligned();
                            }
                        }
                        ChannelKind::U8 => {
                            for c in 0..channels {
                                let byte = u32::from(at.add(c).read());
                                out[c][l] = byte;
                            }
                        }
                        _ => {
                            let texel = image.format.read(at, self.normalized);
                            for c in 0..4 {
                                out[c][l] = texel[c];
                            }
                        }
                    }
                }
            }
            if kind == ChannelKind::U8 && self.normalized {
                for plane in out.iter_mut().take(channels) {
                    for byte in plane {
                        *byte = (*byte as f32 / 255.0).to_bits();
                    }
                }
            }
            for l in active(mask & outside) {
                for c in 0..4 {
                    out[c][l] = sampler.border[c];
                }
            }
            return true;
        };
        // The lower and the upper index of each dimension.
        let mut ends = [low, low];
        let mut outside = 0;
        for d in 0..count {
            for i in &mut ends[1][d] {
                *i += 1;
            }
            for end in &mut ends {
                outside |= fold(sampler.mode(d), sizes[d] as i32, &mut end[d]);
            }
        }
        if outside & mask != 0 {
            return false;
        }
        let taps = 1 << count;
        let mut weights = [[0u32; WARP]; 8];
        let mut at = [[0usize; WARP]; 8];
        for tap in 0..taps {
            let upper = upper(tap, count);
            let end = |d: usize| &ends[usize::from(upper[d])][d];
            place.of([end(0), end(1), end(2)], &mut at[tap]);
        }
        for l in 0..WARP {
            let part = [parts[0][l] as u32, parts[1][l] as u32, parts[2][l] as u32];
            let own = tap_weights(part, count);
            for tap in 0..taps {
                weights[tap][l] = own[tap];
            }
        }
        *out = [[0; WARP], [0; WARP], [0; WARP], [1f32.to_bits(); WARP]];
        let size = kind.bytes() as usize;
        let channels = image.format.channels() as usize;
        match sums {
            Sums::Floats => {
                for c in 0..channels {
                    let mut sum = [std::iter::empty::<f64>().sum::<f64>(); WARP];
                    for tap in 0..taps {
                        for l in active(mask) {
                            let w = weights[tap][l];
                            if w == 0 {
                                continue;
                            }
                            let p = base.wrapping_add(at[tap][l] + 4 * c);
                            // SAFETY: as above.
                            let v = f32::from_bits(unsafe { p.cast::<u32>().read_unaligned() });
                            sum[l] += f64::from(w) * f64::from(v);
                        }
                    }
                    for l in 0..WARP {
                        out[c][l] = ((sum[l] / 256.0) as f32).to_bits();
                    }
                }
            }
            Sums::Fixed(step) => {
                for c in 0..channels {
                    let mut sum = [0u32; WARP];
                    for tap in 0..taps {
                        for l in active(mask) {
                            let p = base.wrapping_add(at[tap][l] + c * size);
                            // SAFETY: as above.
                            let v = unsafe {
                                match size {
                                    1 => u32::from(p.read()),
                                    _ => u32::from(p.cast::<u16>().read_unaligned()),
                                }
                            };
                            sum[l] += weights[tap][l] * step * v;
                        }
                    }
                    for l in 0..WARP {
                        out[c][l] = ((f64::from((sum[l] + 128) >> 8) / 65535.0) as f32).to_bits();
                    }
                }
            }
        }
        true
    }
}

/// Where texels lie.
struct Place<'a> {
    level: &'a Level,
    layers: u32,
    layer: &'a [u32; WARP],
    bytes: u32,
}

impl Place<'_> {
    /// Offsets of the lanes' texels.
    #[inline(always)]
    fn of(&self, [x, y, z]: [&[i32; WARP]; 3], at: &mut [usize; WARP]) {
        let l = self.level;
        for lane in 0..WARP {
            let layer = u64::from(self.layer[lane].min(self.layers - 1));
            let row =
                l.offset + layer * l.layer + z[lane] as u64 * l.slice + y[lane] as u64 * l.row;
            at[lane] = (row + x[lane] as u64 * u64::from(self.bytes)) as usize;
        }
    }
}

/// Of numbers that 32 bits hold.
#[inline(always)]
fn floor(x: f64) -> i32 {
    let whole = x as i32;
    whole - i32::from(f64::from(whole) > x)
}

/// The texels that indices mean, and for which lanes that is the border.
#[inline(always)]
fn fold(mode: AddressMode, n: i32, at: &mut [i32; WARP]) -> u32 {
    let mut outside = 0;
    match mode {
        AddressMode::Clamp => {
            for i in at {
                *i = (*i).max(0).min(n - 1);
            }
        }
        AddressMode::Border => {
            for (l, i) in at.iter_mut().enumerate() {
                outside |= u32::from(*i < 0 || *i >= n) << l;
                *i = (*i).max(0).min(n - 1);
            }
        }
        AddressMode::Wrap if (n as u32).is_power_of_two() => {
            for i in at {
                *i &= n - 1;
            }
        }
        AddressMode::Wrap => {
            for i in at {
                *i = i.rem_euclid(n);
            }
        }
        AddressMode::Mirror => {
            for i in at {
                let there = i.rem_euclid(2 * n);
                *i = if there < n { there } else { 2 * n - 1 - there };
            }
        }
    }
    outside
}
