// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lookups of a warp beside those of one lane after the other.

use super::*;
use crate::lanes::WARP;

/// Numbers that differ.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }

    fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// Mostly in and around `size` texels, on their edges too; sometimes what no image has.
    fn coordinate(&mut self, size: u32, normalized: bool) -> f32 {
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -3e9, 5e6, -0.0, 1e-40];
        if self.below(200) == 0 {
            return self.pick(&odd);
        }
        let texels = self.below(512 * size) as f32 / 256.0 - size as f32 / 2.0;
        let texels = if self.below(4) == 0 { texels.round() + 0.5 } else { texels };
        if normalized { texels / size as f32 } else { texels }
    }
}

const KINDS: [ChannelKind; 8] = [
    ChannelKind::U8,
    ChannelKind::U16,
    ChannelKind::U32,
    ChannelKind::S8,
    ChannelKind::S16,
    ChannelKind::S32,
    ChannelKind::F16,
    ChannelKind::F32,
];
const MODES: [AddressMode; 4] =
    [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border];
/// Coordinates, and the image: powers of two and others, layers, one that is larger than what is asked of it.
const IMAGES: [(usize, [u32; 4]); 8] = [
    (1, [8, 0, 0, 0]),
    (1, [7, 0, 0, 3]),
    (2, [8, 4, 0, 0]),
    (2, [5, 3, 0, 0]),
    (2, [16, 9, 0, 4]),
    (3, [4, 8, 2, 0]),
    (3, [3, 5, 6, 0]),
    (1, [6, 4, 0, 0]),
];

fn image(numbers: &mut Numbers, format: Format, [width, height, depth, layers]: [u32; 4]) -> Image {
    let dimensions = Dimensions { depth, ..Dimensions::plain(width, height, layers) };
    let image = Image::new(dimensions, format).unwrap();
    let floats = format.kind == ChannelKind::F32;
    for layer in 0..image.layers() {
        for z in 0..depth.max(1) {
            for y in 0..height.max(1) {
                let row = image.texels(0, layer, [0, y, z]).unwrap();
                for n in 0..(width * format.bytes()) as usize / 4 {
                    let few = [0, 0x8000_0000, 0x7f80_0000, 0x7fc0_0001, 1];
                    let word = match floats {
                        true if numbers.below(20) == 0 => numbers.pick(&few),
                        true => (numbers.next() as f32 / 1e9).to_bits(),
                        false => numbers.next() ^ numbers.next() << 1,
                    };
                    // SAFETY: a row of the image.
                    unsafe { row.add(4 * n).cast::<u32>().write_unaligned(word) };
                }
            }
        }
    }
    image
}

#[test]
fn a_warp_reads_what_its_lanes_read() {
    let mut numbers = Numbers(1);
    let (mut together, mut linear) = (0, 0);
    for round in 0..8000 {
        let (count, size) = IMAGES[round % IMAGES.len()];
        let kind = numbers.pick(&KINDS);
        let format = Format::new(kind, numbers.pick(&[1, 2, 4])).unwrap();
        let image = image(&mut numbers, format, size);
        let view = View { image, normalized: numbers.below(2) == 0 };
        let sampler = Sampler {
            address: [0; 3].map(|_| numbers.pick(&MODES)),
            filter: numbers.pick(&[Filter::Point, Filter::Linear]),
            normalized: numbers.below(2) == 0,
            border: [0x3f00_0000, 2, 0x4000_0000, 0],
            ..Sampler::default()
        };
        let integer = numbers.below(4) == 0;
        let offsets = numbers.below(3) == 0;
        let mut lookups = Lookups {
            count,
            coordinates: [[0; WARP]; 3],
            integer,
            layer: [0; WARP],
            offset: [[0; WARP]; 3],
        };
        for l in 0..WARP {
            for (d, &n) in size[..3].iter().enumerate().take(count) {
                lookups.coordinates[d][l] = match integer {
                    true => numbers.below(3 * n.max(1)).wrapping_sub(n),
                    false => numbers.coordinate(n.max(1), sampler.normalized).to_bits(),
                };
                if offsets {
                    lookups.offset[d][l] = numbers.below(16).wrapping_sub(8);
                }
            }
            lookups.layer[l] = numbers.below(6);
        }
        let mask = numbers.pick(&[u32::MAX, 1, 0x8000_0000, 0x00ff_00f0]);
        let mut out = [[0; WARP]; 4];
        if !view.sample_warp(&sampler, &lookups, mask, &mut out) {
            continue;
        }
        together += 1;
        linear += u32::from(sampler.filter == Filter::Linear && !integer && view.reads_float());
        for l in (0..WARP).filter(|l| mask >> l & 1 != 0) {
            let words = lookups.coordinates.map(|c| c[l]);
            let lookup = Lookup {
                coordinates: words.map(f32::from_bits),
                integer: integer.then_some(words.map(|w| w as i32)),
                count,
                layer: lookups.layer[l],
                detail: Detail::Base,
                offset: lookups.offset.map(|o| o[l] as i32),
            };
            let alone = view.sample(&sampler, &lookup);
            let nan = |bits: u32| f32::from_bits(bits).is_nan();
            for (c, (&own, found)) in alone.iter().zip(out.map(|plane| plane[l])).enumerate() {
                // The payload of a NaN that arithmetic gave is the processor's.
                let same = own == found || (view.reads_float() && nan(own) && nan(found));
                assert!(
                    same,
                    "{c} of {lookup:?}: {own:#x}, {found:#x}; {format:?} {size:?} {sampler:?}"
                );
            }
        }
    }
    // Nothing is shown if hardly anything is read together.
    assert!(together > 3000 && linear > 300, "{together} {linear}");
}
