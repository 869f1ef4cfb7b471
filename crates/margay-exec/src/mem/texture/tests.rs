// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texture unit against an H200's recorded reads, and against the manual where nothing is recorded.

use super::*;

fn image_of(dimensions: Dimensions, texels: &[f32]) -> Image {
    let format = Format::new(ChannelKind::F32, 1).unwrap();
    let image = Image::new(dimensions, format).unwrap();
    let mut texels = texels.iter();
    for layer in 0..image.layers() {
        for z in 0..dimensions.depth.max(1) {
            for y in 0..dimensions.height.max(1) {
                let row = image.texels(0, layer, [0, y, z]).unwrap().cast::<f32>();
                for x in 0..dimensions.width as usize {
                    // SAFETY: a row of the image.
                    unsafe { row.add(x).write(*texels.next().unwrap()) };
                }
            }
        }
    }
    image
}

fn at(coordinates: &[f32]) -> Lookup {
    let mut all = [0.0; 3];
    all[..coordinates.len()].copy_from_slice(coordinates);
    Lookup {
        coordinates: all,
        integer: None,
        count: coordinates.len(),
        layer: 0,
        detail: Detail::Base,
        offset: [0; 3],
    }
}

#[test]
fn every_recorded_read_of_an_h200() {
    let path =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/h200/texture_filtering.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let (_, texels) = lines.next().unwrap().split_once(": ").unwrap();
    let texels: Vec<f32> = texels.split(' ').map(|t| t.parse().unwrap()).collect();
    let image = image_of(Dimensions::plain(8, 4, 0), &texels);
    let view = View { image, normalized: false };
    let mut rows = 0;
    for line in lines.skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let mode = match fields[0] {
            "wrap" => AddressMode::Wrap,
            "clamp" => AddressMode::Clamp,
            "mirror" => AddressMode::Mirror,
            "border" => AddressMode::Border,
            other => panic!("mode {other}"),
        };
        let filter = match fields[1] {
            "point" => Filter::Point,
            "linear" => Filter::Linear,
            other => panic!("filter {other}"),
        };
        let normalized = fields[2] == "1";
        let sampler = Sampler { address: [mode; 3], filter, normalized, ..Sampler::default() };
        let [x, y, value] = [3, 4, 5].map(|f: usize| fields[f].parse::<f32>().unwrap());
        let texel = view.sample(&sampler, &at(&[x, y]));
        assert_eq!(f32::from_bits(texel[0]), value, "{line}");
        rows += 1;
    }
    assert_eq!(rows, 2400);
}

#[test]
fn layers_slices_and_levels() {
    let numbers: Vec<f32> = (0..24).map(|n| n as f32).collect();
    let layered = Dimensions { layers: 3, ..Dimensions::plain(4, 2, 0) };
    let view = View { image: image_of(layered, &numbers), normalized: false };
    let sampler = Sampler::default();
    let read = |layer: u32, x: f32, y: f32| {
        f32::from_bits(view.sample(&sampler, &Lookup { layer, ..at(&[x, y]) })[0])
    };
    assert_eq!(read(1, 2.5, 1.5), 14.0);
    assert_eq!(read(99, 0.0, 0.0), 16.0, "the last layer");

    let view = View { image: image_of(Dimensions::plain(2, 3, 4), &numbers), normalized: false };
    let linear = Sampler { filter: Filter::Linear, ..sampler };
    let read = |p: [f32; 3]| f32::from_bits(view.sample(&linear, &at(&p))[0]);
    assert_eq!(read([0.5, 0.5, 0.5]), 0.0);
    assert_eq!(read([1.0, 0.5, 0.5]), 0.5);
    assert_eq!(read([0.5, 0.5, 2.0]), 9.0);

    let format = Format::new(ChannelKind::F32, 1).unwrap();
    let dimensions = Dimensions { levels: 3, ..Dimensions::plain(4, 4, 0) };
    let image = Image::new(dimensions, format).unwrap();
    for level in 0..3u32 {
        for y in 0..4u32 >> level {
            let row = image.texels(level, 0, [0, y, 0]).unwrap().cast::<f32>();
            for x in 0..4usize >> level {
                // SAFETY: a row of the level.
                unsafe { row.add(x).write(level as f32) };
            }
        }
    }
    assert!(image.texels(2, 0, [1, 0, 0]).is_none());
    let view = View { image, normalized: false };
    let sampler = Sampler {
        normalized: true,
        filter: Filter::Linear,
        mip_filter: Filter::Linear,
        ..Sampler::default()
    };
    let read = |detail: Detail| {
        f32::from_bits(view.sample(&sampler, &Lookup { detail, ..at(&[0.3, 0.6]) })[0])
    };
    assert_eq!(read(Detail::Base), 0.0);
    assert_eq!(read(Detail::Given(1.25)), 1.25);
    assert_eq!(read(Detail::Given(9.0)), 2.0);
    // Two texels a step: level 1.
    assert_eq!(read(Detail::Gradient([0.5, 0.0, 0.0], [0.0, 0.25, 0.0])), 1.0);
}

#[test]
fn formats_read_and_write() {
    let mut bytes = [0u8; 16];
    let at = bytes.as_mut_ptr();
    let f = |v: f32| v.to_bits();
    // SAFETY: 16 bytes, and no format is larger.
    unsafe {
        let rgba = Format::new(ChannelKind::U8, 4).unwrap();
        rgba.write(at, [0, 255, 300, 7], false);
        assert_eq!(rgba.read(at, false), [0, 255, 255, 7], "integers saturate");
        assert_eq!(rgba.read(at, true)[1], f(1.0));
        let bgra = Format { order: Order::Bgra, ..rgba };
        assert_eq!(bgra.read(at, false), [255, 255, 0, 7]);
        let r = Format::new(ChannelKind::S16, 1).unwrap();
        r.write(at, [f(-2.0), 0, 0, 0], true);
        assert_eq!(r.read(at, true), [f(-1.0), 0, 0, f(1.0)]);
        assert_eq!(r.read(at, false), [-32767i32 as u32, 0, 0, 1]);
        let half = Format::new(ChannelKind::F16, 2).unwrap();
        half.write(at, [f(1.5), f(-0.25), 0, 0], true);
        assert_eq!(half.read(at, false), [f(1.5), f(-0.25), 0, f(1.0)]);
        let packed = Format { kind: ChannelKind::Packed565, order: Order::Rgb, srgb: false };
        packed.write(at, [f(1.0), f(0.0), f(1.0), 0], true);
        assert_eq!(packed.read(at, true), [f(1.0), 0, f(1.0), f(1.0)]);
        let intensity = Format { kind: ChannelKind::U8, order: Order::Intensity, srgb: false };
        intensity.write(at, [f(1.0), 0, 0, 0], true);
        assert_eq!(intensity.read(at, true), [f(1.0); 4]);
    }
}

#[test]
fn surfaces_hold_to_their_bounds() {
    let image = image_of(Dimensions::plain(4, 2, 0), &[0.0; 8]);
    let spot = |x, y, outside| Spot { layer: 0, coordinates: [x, y, 0], count: 2, outside };
    image.surface_store(&spot(12, 1, Outside::Trap), 4, &[7]).unwrap();
    let load = |x, y, outside| {
        let mut out = [99];
        image.surface_load(&spot(x, y, outside), 4, &mut out).map(|()| out[0])
    };
    assert_eq!(load(12, 1, Outside::Trap), Ok(7));
    assert_eq!(load(16, 1, Outside::Trap), Err(SurfaceFault::Outside));
    assert_eq!(load(-4, 1, Outside::Zero), Ok(0));
    assert_eq!(load(400, 9, Outside::Clamp), Ok(7));
    assert_eq!(load(3, 0, Outside::Trap), Err(SurfaceFault::Misaligned));
    let mut wide = [0; 4];
    assert_eq!(
        image.surface_load(&spot(16, 0, Outside::Clamp), 4, &mut wide),
        Ok(()),
        "a whole row"
    );
    assert_eq!(
        image.surface_load(&spot(4, 0, Outside::Trap), 8, &mut wide),
        Err(SurfaceFault::Misaligned)
    );
}

#[test]
fn impossible_images_are_refused() {
    let format = Format::new(ChannelKind::F32, 4).unwrap();
    assert!(Format::new(ChannelKind::U8, 3).is_none());
    assert_eq!(Image::new(Dimensions::plain(0, 1, 0), format).err(), Some(ImageError::Empty));
    let levels = Dimensions { levels: 5, ..Dimensions::plain(8, 8, 0) };
    assert_eq!(Image::new(levels, format).err(), Some(ImageError::Empty));
    let huge = Dimensions::plain(u32::MAX, u32::MAX, u32::MAX);
    assert_eq!(Image::new(huge, format).err(), Some(ImageError::TooLarge));
    let plain = Dimensions::plain(8, 8, 0);
    assert_eq!(Image::linear(4096, plain, format, 100, 0).err(), Some(ImageError::Pitch));
    assert_eq!(Image::linear(u64::MAX - 64, plain, format, 0, 0).err(), Some(ImageError::TooLarge));
}

#[test]
fn strange_coordinates_stay_inside() {
    let numbers: Vec<f32> = (0..32).map(|n| n as f32).collect();
    let view = View { image: image_of(Dimensions::plain(8, 4, 0), &numbers), normalized: false };
    for mode in [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border] {
        for filter in [Filter::Point, Filter::Linear] {
            for x in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38, -1e38, f32::MIN_POSITIVE] {
                let sampler =
                    Sampler { address: [mode; 3], filter, normalized: true, ..Sampler::default() };
                let v = f32::from_bits(view.sample(&sampler, &at(&[x, x]))[0]);
                assert!((0.0..=31.0).contains(&v), "{mode:?} {filter:?} {x}: {v}");
            }
        }
    }
}

fn texel(i: u32) -> f32 {
    (i * 37 % 101) as f32 / 7.0
}

/// Fills a level as `record/textures.cu` does, from number `from` on.
fn fill(image: &Image, level: u32, from: u32) {
    let at = image.levels()[level as usize];
    let mut i = from;
    for layer in 0..image.layers() {
        for z in 0..at.depth {
            for y in 0..at.height {
                for x in 0..at.width {
                    let to = image.texels(level, layer, [x, y, z]).unwrap();
                    // SAFETY: a texel of the image's format.
                    unsafe {
                        match image.format.kind {
                            ChannelKind::U8 => to.write((i * 37 % 256) as u8),
                            ChannelKind::S16 => to.cast::<i16>().write((i * 7919) as i16),
                            ChannelKind::F16 => {
                                to.cast::<u16>().write((0x3000 + i * 211 % 0x1000) as u16);
                            }
                            _ => to.cast::<f32>().write(texel(i)),
                        }
                    }
                    i += 1;
                }
            }
        }
    }
}

/// The reads that `record/textures.cu` recorded.
#[test]
fn other_recorded_reads_of_an_h200() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/h200/texture_reads.csv");
    let text = std::fs::read_to_string(path).unwrap();
    let mut wrong = std::collections::BTreeMap::<&str, (u32, u32, f32)>::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |f: &str| f32::from_bits(u32::from_str_radix(f, 16).unwrap());
        let [x, y, z, value] = [1, 2, 3, 4].map(|f: usize| number(fields[f]));
        let cube = fields[0].starts_with("cube");
        let (kind, dimensions) = match fields[0] {
            "line" => (ChannelKind::F32, Dimensions::plain(8, 0, 0)),
            "volume" => (ChannelKind::F32, Dimensions::plain(8, 4, 4)),
            "bytes" => (ChannelKind::U8, Dimensions::plain(8, 4, 0)),
            "shorts" => (ChannelKind::S16, Dimensions::plain(8, 4, 0)),
            "halves" => (ChannelKind::F16, Dimensions::plain(8, 4, 0)),
            "mips" => (ChannelKind::F32, Dimensions { levels: 3, ..Dimensions::plain(8, 8, 0) }),
            "gather" => (ChannelKind::F32, Dimensions::plain(8, 4, 0)),
            _ => {
                let plain = Dimensions::plain(4, 4, 0);
                (ChannelKind::F32, Dimensions { layers: 6, cube: true, ..plain })
            }
        };
        let image = Image::new(dimensions, Format::new(kind, 1).unwrap()).unwrap();
        (0..dimensions.levels).for_each(|level| fill(&image, level, level * 64));
        let point = matches!(fields[0], "cube" | "gather");
        let sampler = Sampler {
            address: [AddressMode::Wrap; 3],
            filter: if point { Filter::Point } else { Filter::Linear },
            normalized: true,
            mip_filter: Filter::Linear,
            max_level: if fields[0] == "mips" { 2.0 } else { 0.0 },
            ..Sampler::default()
        };
        let view = View { image, normalized: matches!(fields[0], "bytes" | "shorts") };
        let lookup = match fields[0] {
            "line" => at(&[x]),
            "volume" => at(&[x, y, z]),
            "mips" => Lookup { detail: Detail::Given(z * 2.0), ..at(&[x, y]) },
            _ if cube => at(&[x * 2.0 - 1.0, y * 2.0 - 1.0, z * 2.0 - 1.0]),
            _ => at(&[x, y]),
        };
        let read = match fields[0] {
            "gather" => view.gather(&sampler, &lookup, 0),
            _ => view.sample(&sampler, &lookup),
        };
        let got = f32::from_bits(read[0]);
        let row = wrong.entry(fields[0]).or_default();
        row.0 += 1;
        if got.to_bits() != value.to_bits() {
            row.1 += 1;
            row.2 = row.2.max((got - value).abs());
            if row.1 <= 3 {
                println!("{line}: {x} {y} {z}: card {value}, margay {got}");
            }
        }
    }
    println!("{wrong:?}");
    assert_eq!(wrong.values().map(|w| w.0).sum::<u32>(), 2700);
    for (kind, (_, different, most)) in wrong {
        // Two ties of three-dimensional weights, and how two levels' weights round, are not known:
        // both are one or two units of 1/256. Nor is what a filter reads across a cube's edges.
        match kind {
            "volume" => assert!(different <= 2 && most < 0.06, "{different} {most}"),
            "mips" => assert!(most < 0.07, "{most}"),
            "cube_linear" => assert!(different < 150, "{different}"),
            _ => assert_eq!(different, 0, "{kind}"),
        }
    }
}
