// SPDX-License-Identifier: MIT OR Apache-2.0
//! Texture and surface instructions: operands to the unit in [`crate::mem::texture`], lane by lane.

use margay_ir::texture::{Geometry, Level, TexelType, TextureAttr, TextureOp, TextureQuery};
use margay_ir::{Class, Opaque, Space};
use smallvec::SmallVec;

use crate::fault::{Access, FaultKind};
use crate::interp::Cx;
use crate::lanes::{Flow, Inst, Kernel, Lane, WARP, active};
use crate::mem::texture::*;
use crate::observe::{Interest, TexelAccess, TextureEvent};

/// A texture instruction: its form and its operands, sources before results.
pub struct TextureSite {
    pub attr: TextureAttr,
    pub sources: SmallVec<[(u32, Class); 16]>,
    pub results: SmallVec<[(u32, Class); 5]>,
}

/// Most results: four texels and a predicate.
const MOST: usize = 5;

/// `tex`, `tld4`, `txq`, `suld`, `sust`, `sured`, `suq`, `istypep`.
pub struct TextureAccess;
impl Kernel for TextureAccess {
    unsafe fn run(cx: &mut Cx<'_>, i: &Inst) -> Flow {
        let site = &cx.env.program.textures[i.aux as usize];
        let watched = cx.interest.contains(Interest::TEXTURES);
        let mut known = Known::default();
        if cx.interpreting {
            cx.reads.note_some();
        }
        // SAFETY: operands were decoded for this frame with these classes.
        if !watched && unsafe { together(cx, site, &mut known) } {
            return Flow::Next;
        }
        let mut seen = Vec::new();
        let mut planes = [[0u64; WARP]; MOST];
        for l in active(cx.mask) {
            let mut sources: SmallVec<[u64; 16]> = SmallVec::new();
            for &(operand, class) in &site.sources {
                // SAFETY: operands were decoded for this frame with these classes.
                sources.push(unsafe {
                    match class {
                        Class::W => u64::from(cx.word(operand, l)),
                        Class::D => cx.double(operand, l),
                        Class::P => u64::from(cx.pred(operand) >> l & 1),
                    }
                });
            }
            let result = match watched {
                true => {
                    let mut told = Told::new(l as u32, sources[0]);
                    let result = lane(cx, &site.attr, &sources, &mut known, &mut told);
                    seen.push(told);
                    result
                }
                false => lane(cx, &site.attr, &sources, &mut known, &mut ()),
            };
            match result {
                Ok(results) => {
                    for (plane, v) in planes.iter_mut().zip(results) {
                        plane[l] = v;
                    }
                }
                Err(kind) => return cx.fail(l, *kind),
            }
        }
        for (plane, &(operand, class)) in planes.iter().zip(&site.results) {
            // SAFETY: as above.
            unsafe {
                match class {
                    Class::W => u32::put(cx.plane(operand), &plane.map(|v| v as u32), cx.mask),
                    Class::D => u64::put(cx.plane(operand), plane, cx.mask),
                    Class::P => bool::put(cx.plane(operand), &plane.map(|v| v & 1 != 0), cx.mask),
                }
            }
        }
        if site.attr.writes() {
            cx.changes += 1;
        }
        if watched {
            report(cx, i, &site.attr, &seen);
        }
        Flow::Next
    }
}

/// Looks a texture up for all lanes at once, where that is known how. False leaves all to be done.
///
/// # Safety
/// The site's operands are planes of the frame, of the classes that it says.
#[inline(always)]
unsafe fn together(cx: &Cx<'_>, site: &TextureSite, known: &mut Known) -> bool {
    let attr = &site.attr;
    let TextureOp::Sample(level) = attr.op else { return false };
    let words = matches!(attr.texel, TexelType::F32 | TexelType::U32 | TexelType::S32);
    let mask = cx.mask;
    let words = words && site.results.iter().all(|r| r.1 == Class::W);
    if mask == 0 || level == Level::Gradient || attr.resident || !words {
        return false;
    }
    let handles = 1 + usize::from(attr.sampler);
    let class = |n: usize| if n < handles { Class::D } else { Class::W };
    if site.sources.iter().enumerate().any(|(n, s)| s.1 != class(n)) {
        return false;
    }
    let mut sources = site.sources.iter().map(|s| s.0);
    let mut next = || sources.next().unwrap_or(0);
    // SAFETY: by the contract.
    let one = |operand: u32| unsafe {
        let first = cx.double(operand, (mask.trailing_zeros() & 31) as usize);
        active(mask).all(|l| cx.double(operand, l) == first).then_some(first)
    };
    // SAFETY: by the contract.
    let lanes = |operand: u32| unsafe {
        let mut words = [0; WARP];
        for (l, word) in words.iter_mut().enumerate() {
            *word = cx.word(operand, l);
        }
        words
    };
    let Some(handle) = one(next()) else { return false };
    let own = match attr.sampler {
        true => match one(next()) {
            Some(own) => Some(own),
            None => return false,
        },
        false => None,
    };
    let layer = if attr.geometry.layered() { lanes(next()) } else { [0; WARP] };
    let count = attr.geometry.coordinates();
    let mut coordinates = [[0; WARP]; 3];
    coordinates.iter_mut().take(count).for_each(|c| *c = lanes(next()));
    if level == Level::Given {
        // Of one level it is always that.
        next();
    }
    let mut offset = [[0; WARP]; 3];
    if attr.offset {
        offset.iter_mut().take(count).for_each(|o| *o = lanes(next()));
    }
    let integer = !attr.float_coords;
    let lookups = Lookups { count, coordinates, integer, layer, offset };
    // What is wrong with an object, the first lane says.
    let Ok(own) = own.map(|own| sampler(cx, known, own)).transpose() else { return false };
    let Ok(object) = object(cx, known, handle) else { return false };
    let Ok((view, sampler)) = sampled(object, own, attr.geometry) else { return false };
    let mut texels = [[0; WARP]; 4];
    if !view.sample_warp(&sampler, &lookups, mask, &mut texels) {
        return false;
    }
    for (texel, result) in texels.iter().zip(&site.results) {
        // SAFETY: by the contract.
        unsafe { u32::put(cx.plane(result.0), texel, mask) };
    }
    true
}

/// Looks at a lane's access.
trait Look: Taps {
    /// Anybody does.
    const LOOKS: bool;
    fn image(&mut self, image: &Image, filter: Option<Filter>);
    fn lands(&mut self, at: Option<Landing>, bytes: u32);
}

impl Look for () {
    const LOOKS: bool = false;
    #[inline(always)]
    fn image(&mut self, _: &Image, _: Option<Filter>) {}
    #[inline(always)]
    fn lands(&mut self, _: Option<Landing>, _: u32) {}
}

/// What a lane's access was, for observers.
struct Told {
    lane: u32,
    handle: u64,
    image: Option<(Image, Option<Filter>)>,
    texels: SmallVec<[TexelAccess; 8]>,
    outside: u32,
}

impl Told {
    fn new(lane: u32, handle: u64) -> Told {
        Told { lane, handle, image: None, texels: SmallVec::new(), outside: 0 }
    }

    fn push(&mut self, level: u32, at: Landing, bytes: u32) {
        let Some((image, _)) = &self.image else { return };
        let row = image.texels(level, at.layer, [0, at.y, at.z]);
        let address = row.map_or(0, |row| row.wrapping_add(at.x as usize).addr() as u64);
        let Landing { layer, x, y, z } = at;
        self.texels.push(TexelAccess { lane: self.lane, level, layer, x, y, z, bytes, address });
    }
}

impl Taps for Told {
    fn texel(&mut self, level: u32, layer: u32, texel: Option<[u32; 3]>) {
        let bytes = self.image.as_ref().map_or(1, |(image, _)| image.format.bytes());
        match texel {
            Some([x, y, z]) => self.push(level, Landing { layer, x: x * bytes, y, z }, bytes),
            None => self.outside += 1,
        }
    }
}

impl Look for Told {
    const LOOKS: bool = true;
    fn image(&mut self, image: &Image, filter: Option<Filter>) {
        self.image = Some((image.clone(), filter));
    }

    fn lands(&mut self, at: Option<Landing>, bytes: u32) {
        match at {
            Some(at) => self.push(0, at, bytes),
            None => self.outside += 1,
        }
    }
}

/// Tells observers of the lanes' accesses, object by object.
#[cold]
#[inline(never)]
fn report(cx: &mut Cx<'_>, i: &Inst, attr: &TextureAttr, seen: &[Told]) {
    let access = match attr.op {
        TextureOp::Query { .. } => return,
        TextureOp::Sample(_) | TextureOp::Gather(_) | TextureOp::Load { .. } => Access::Read,
        TextureOp::Store { .. } => Access::Write,
        TextureOp::Reduce { .. } => Access::Atomic,
    };
    let at = cx.event_at(cx.env.program.pc_of(i));
    let Some(watch) = &mut cx.watch else { return };
    let mut done = 0u32;
    for first in seen {
        if done >> first.lane & 1 != 0 {
            continue;
        }
        let Some((image, filter)) = &first.image else { continue };
        let (mut mask, mut outside, mut texels) = (0, 0, Vec::new());
        for lane in seen.iter().filter(|l| l.handle == first.handle) {
            mask |= 1 << lane.lane;
            outside += lane.outside;
            texels.extend_from_slice(&lane.texels);
        }
        done |= mask;
        watch.texture(&TextureEvent {
            at,
            attr,
            access,
            handle: first.handle,
            image,
            filter: *filter,
            mask,
            texels: &texels,
            outside,
        });
    }
}

/// The object that lanes before this one used.
#[derive(Default)]
struct Known {
    main: Option<(u64, std::sync::Arc<Object>)>,
    sampler: Option<(u64, Sampler)>,
}

type Lanes<T> = Result<T, Box<FaultKind>>;

fn wrong(address: u64, access: Access, why: &'static str) -> Box<FaultKind> {
    let space = Space::Generic;
    Box::new(FaultKind::IllegalAddress { space, address, bytes: 0, access, nearest: None, why })
}

fn object<'k>(cx: &Cx<'_>, known: &'k mut Known, handle: u64) -> Lanes<&'k Object> {
    if known.main.as_ref().is_none_or(|(h, _)| *h != handle) {
        let dead = "no live texture, sampler or surface has this handle";
        let found = cx.env.memory.objects().get(handle);
        let found = found.ok_or_else(|| wrong(handle, Access::Read, dead))?;
        let image = match &*found {
            Object::Texture(texture) => Some(&texture.view.image),
            Object::Surface(image) => Some(image),
            Object::Image(both) => Some(&both.view.image),
            Object::Sampler(_) | Object::Unbound(_) => None,
        };
        if let Some((address, bytes)) = image.and_then(Image::range) {
            let e = cx.env.memory.extent(address);
            if e.lo > address || e.hi < address || e.hi - address < bytes {
                let gone = "the memory under this texture is no longer allocated";
                return Err(wrong(address, Access::Read, gone));
            }
        }
        known.main = Some((handle, found));
    }
    match &known.main {
        Some((_, object)) => Ok(object),
        None => Err(wrong(handle, Access::Read, "no object")),
    }
}

fn sampler(cx: &Cx<'_>, known: &mut Known, handle: u64) -> Lanes<Sampler> {
    if let Some((h, sampler)) = known.sampler
        && h == handle
    {
        return Ok(sampler);
    }
    let found = cx.env.memory.objects().get(handle);
    let sampler = match found.as_deref() {
        Some(Object::Sampler(sampler)) => *sampler,
        // A texture reference may stand for its own sampler.
        Some(Object::Texture(texture)) => texture.sampler,
        Some(Object::Surface(_) | Object::Image(_) | Object::Unbound(_)) | None => {
            return Err(wrong(handle, Access::Read, "no live sampler has this handle"));
        }
    };
    known.sampler = Some((handle, sampler));
    Ok(sampler)
}

/// What a texture access reads, and how; `own` is the sampler that the access names. Else why it cannot.
fn sampled(
    object: &Object,
    own: Option<Sampler>,
    geometry: Geometry,
) -> Result<(&View, Sampler), &'static str> {
    let (view, sampler) = match object {
        Object::Texture(texture) => (&texture.view, own.unwrap_or(texture.sampler)),
        Object::Image(both) => {
            (&both.view, Sampler { border: both.border, ..own.unwrap_or_default() })
        }
        Object::Unbound(_) => return Err("nothing is bound to this texture reference"),
        Object::Sampler(_) | Object::Surface(_) => return Err("the handle is not a texture's"),
    };
    let cube = matches!(geometry, Geometry::Cube | Geometry::ACube);
    match cube == view.image.dimensions.cube {
        true => Ok((view, sampler)),
        false => Err("a cube access needs a cube map"),
    }
}

/// Reads sources in the order of [`TextureAttr::args`].
struct Reader<'a>(std::slice::Iter<'a, u64>);

impl Reader<'_> {
    fn double(&mut self) -> u64 {
        self.0.next().copied().unwrap_or(0)
    }

    fn word(&mut self) -> u32 {
        self.double() as u32
    }

    fn words(&mut self, n: usize) -> [u32; 3] {
        let mut out = [0; 3];
        out.iter_mut().take(n).for_each(|w| *w = self.word());
        out
    }
}

/// One lane's access.
fn lane(
    cx: &Cx<'_>,
    attr: &TextureAttr,
    sources: &[u64],
    known: &mut Known,
    told: &mut impl Look,
) -> Lanes<SmallVec<[u64; MOST]>> {
    let mut r = Reader(sources.iter());
    let handle = r.double();
    let geometry = attr.geometry;
    let count = geometry.coordinates();
    match attr.op {
        TextureOp::Query { what, level } => {
            let level = if level { r.word() } else { 0 };
            if let TextureQuery::IsTexture | TextureQuery::IsSampler | TextureQuery::IsSurface =
                what
            {
                let kind = cx.env.memory.objects().get(handle).map(|o| o.kind());
                let wanted = match what {
                    TextureQuery::IsTexture => Opaque::Texture,
                    TextureQuery::IsSampler => Opaque::Sampler,
                    _ => Opaque::Surface,
                };
                return Ok(SmallVec::from_slice(&[u64::from(kind == Some(wanted))]));
            }
            let answer = query(object(cx, known, handle)?, what, level);
            let answer = answer.ok_or_else(|| {
                wrong(handle, Access::Read, "the object does not answer this query")
            })?;
            Ok(SmallVec::from_slice(&[u64::from(answer)]))
        }
        TextureOp::Sample(_) | TextureOp::Gather(_) => {
            let own = attr.sampler.then(|| r.double());
            let layer = if geometry.layered() { r.word() } else { 0 };
            let words = r.words(count);
            let detail = match attr.op {
                TextureOp::Sample(Level::Given) if attr.float_coords => {
                    Detail::Given(f32::from_bits(r.word()))
                }
                TextureOp::Sample(Level::Given) => Detail::Given(r.word() as i32 as f32),
                TextureOp::Sample(Level::Gradient) => {
                    let (x, y) = (r.words(count), r.words(count));
                    Detail::Gradient(x.map(f32::from_bits), y.map(f32::from_bits))
                }
                _ => Detail::Base,
            };
            let offset = if attr.offset { r.words(count).map(|o| o as i32) } else { [0; 3] };
            let lookup = Lookup {
                coordinates: words.map(f32::from_bits),
                integer: (!attr.float_coords).then_some(words.map(|w| w as i32)),
                count,
                layer,
                detail,
                offset,
            };
            let own = own.map(|own| sampler(cx, known, own)).transpose()?;
            let (view, sampler) = sampled(object(cx, known, handle)?, own, geometry)
                .map_err(|why| wrong(handle, Access::Read, why))?;
            let filters = attr.float_coords && view.reads_float();
            told.image(&view.image, filters.then_some(sampler.filter));
            let texel = match attr.op {
                TextureOp::Gather(component) => {
                    view.gather_told(&sampler, &lookup, usize::from(component), told)
                }
                _ => view.sample_told(&sampler, &lookup, told),
            };
            let mut out = registers(texel, attr, view.reads_float());
            if attr.resident {
                out.push(1);
            }
            Ok(out)
        }
        TextureOp::Load { .. } | TextureOp::Store { .. } | TextureOp::Reduce { .. } => {
            surface(cx, attr, handle, r, known, told)
        }
    }
}

/// Texel components in the form that the data registers have.
fn registers(texel: Texel, attr: &TextureAttr, float: bool) -> SmallVec<[u64; MOST]> {
    let half = |v: u32| match float {
        true => u64::from(half::f16::from_f32(f32::from_bits(v)).to_bits()),
        false => u64::from(v & 0xffff),
    };
    match attr.texel {
        TexelType::F16x2 => {
            [0, 2].map(|c| half(texel[c]) | half(texel[c + 1]) << 16).into_iter().collect()
        }
        TexelType::F16 => texel.map(half).into_iter().collect(),
        _ => texel.map(u64::from).into_iter().take(usize::from(attr.count)).collect(),
    }
}

/// Tells where a surface access lands. What is wrong with the place, the access itself says.
fn look_at_surface<L: Look>(told: &mut L, image: &Image, attr: &TextureAttr, spot: &Spot) {
    if !L::LOOKS {
        return;
    }
    told.image(image, None);
    let formatted = match attr.op {
        TextureOp::Load { formatted }
        | TextureOp::Store { formatted }
        | TextureOp::Reduce { formatted, .. } => formatted,
        TextureOp::Sample(_) | TextureOp::Gather(_) | TextureOp::Query { .. } => false,
    };
    let wide = match formatted {
        true => image.format.bytes(),
        false => attr.texel.bytes() * u32::from(attr.count),
    };
    if let Ok(at) = image.landing(spot, if formatted { 0 } else { wide }) {
        told.lands(at, wide);
    }
}

fn surface(
    cx: &Cx<'_>,
    attr: &TextureAttr,
    handle: u64,
    mut r: Reader<'_>,
    known: &mut Known,
    told: &mut impl Look,
) -> Lanes<SmallVec<[u64; MOST]>> {
    let layer = if attr.geometry.layered() { r.word() } else { 0 };
    let count = attr.geometry.coordinates();
    let coordinates = r.words(count).map(|w| w as i32);
    let spot = Spot { layer, coordinates, count, outside: attr.outside };
    let access = if attr.writes() { Access::Write } else { Access::Read };
    let image = match object(cx, known, handle)? {
        Object::Surface(image) => image,
        Object::Image(both) => &both.surface,
        Object::Unbound(_) => {
            return Err(wrong(handle, access, "nothing is bound to this surface reference"));
        }
        Object::Texture(_) | Object::Sampler(_) => {
            return Err(wrong(handle, access, "the handle is not a surface's"));
        }
    };
    let bytes = attr.texel.bytes();
    look_at_surface(told, image, attr, &spot);
    let mut out: SmallVec<[u64; MOST]> = SmallVec::new();
    let mut data: SmallVec<[u64; 4]> = SmallVec::new();
    let done = match attr.op {
        TextureOp::Load { formatted: false } => {
            out.resize(attr.count.into(), 0);
            image.surface_load(&spot, bytes, &mut out)
        }
        TextureOp::Load { formatted: true } => {
            let float = attr.texel == TexelType::F32;
            image.surface_load_texel(&spot, float).map(|texel| {
                out.extend(texel.map(u64::from).into_iter().take(attr.count.into()));
            })
        }
        TextureOp::Store { formatted } => {
            data.extend((0..attr.count).map(|_| r.double()));
            match formatted {
                false => image.surface_store(&spot, bytes, &data),
                true => {
                    let mut texel: Texel = [0; 4];
                    texel.iter_mut().zip(&data).for_each(|(t, d)| *t = *d as u32);
                    image.surface_store_texel(&spot, texel, attr.texel)
                }
            }
        }
        TextureOp::Reduce { op, formatted } => {
            image.surface_reduce(&spot, op, attr.texel, r.double(), formatted)
        }
        TextureOp::Sample(_) | TextureOp::Gather(_) | TextureOp::Query { .. } => Ok(()),
    };
    match done {
        Ok(()) => Ok(out),
        Err(SurfaceFault::Outside) => {
            Err(wrong(handle, access, "the coordinates lie outside of the surface"))
        }
        Err(SurfaceFault::Misaligned) => {
            let space = Space::Generic;
            let address = coordinates[0] as i64 as u64;
            Err(Box::new(FaultKind::Misaligned { space, address, bytes, access }))
        }
        Err(SurfaceFault::Format) => {
            Err(wrong(handle, access, "the surface's format does not take this access"))
        }
    }
}

/// `txq` and `suq`; `None` if the object has no such property.
fn query(object: &Object, what: TextureQuery, level: u32) -> Option<u32> {
    let (image, normalized, sampler) = match object {
        Object::Texture(t) => (Some(&t.view.image), t.view.normalized, Some(&t.sampler)),
        Object::Surface(image) => (Some(image), false, None),
        Object::Image(both) => (Some(&both.view.image), both.view.normalized, None),
        Object::Sampler(sampler) => (None, false, Some(sampler)),
        Object::Unbound(_) => return None,
    };
    let mode = |at: usize| {
        sampler.map(|s| match s.address[at] {
            AddressMode::Wrap => 0,
            AddressMode::Clamp => 2,
            AddressMode::Mirror => 1,
            AddressMode::Border => 4,
        })
    };
    let size = |pick: fn(&crate::mem::texture::Level) -> u32, has: bool| {
        let level = image?.levels().get(level as usize)?;
        Some(if has { pick(level) } else { 0 })
    };
    let dimensions = image.map(|i| i.dimensions);
    match what {
        TextureQuery::Width => size(|l| l.width, true),
        TextureQuery::Height => size(|l| l.height, dimensions?.height > 0),
        TextureQuery::Depth => size(|l| l.depth, dimensions?.depth > 0),
        TextureQuery::ArraySize => {
            let d = dimensions?;
            Some(if d.cube { d.layers / 6 } else { d.layers })
        }
        TextureQuery::NumMipmapLevels => image.map(|i| i.levels().len() as u32),
        TextureQuery::NumSamples => image.map(|_| 1),
        TextureQuery::NormalizedCoords => sampler.map(|s| u32::from(s.normalized)),
        TextureQuery::ForceUnnormalizedCoords => sampler.map(|s| u32::from(!s.normalized)),
        TextureQuery::FilterMode => sampler.map(|s| match s.filter {
            Filter::Point => 0,
            Filter::Linear => 1,
        }),
        TextureQuery::AddrMode0 => mode(0),
        TextureQuery::AddrMode1 => mode(1),
        TextureQuery::AddrMode2 => mode(2),
        TextureQuery::ChannelDataType => image.map(|i| channel_data_type(i.format, normalized)),
        TextureQuery::ChannelOrder => image.map(|i| channel_order(i.format)),
        // Rows lie one behind the other.
        TextureQuery::MemoryLayout => image.map(|_| 0),
        TextureQuery::IsTexture | TextureQuery::IsSampler | TextureQuery::IsSurface => None,
    }
}

/// OpenCL's enumerants, which PTX takes over (PTX ISA, "Channel Data Type and Channel Order Fields").
fn channel_data_type(format: Format, normalized: bool) -> u32 {
    match (format.kind, normalized) {
        (ChannelKind::S8, true) => 0x10d0,
        (ChannelKind::S16, true) => 0x10d1,
        (ChannelKind::U8, true) => 0x10d2,
        (ChannelKind::U16, true) => 0x10d3,
        (ChannelKind::Packed565, _) => 0x10d4,
        (ChannelKind::Packed555, _) => 0x10d5,
        (ChannelKind::Packed101010, _) => 0x10d6,
        (ChannelKind::S8, false) => 0x10d7,
        (ChannelKind::S16, false) => 0x10d8,
        (ChannelKind::S32, _) => 0x10d9,
        (ChannelKind::U8, false) => 0x10da,
        (ChannelKind::U16, false) => 0x10db,
        (ChannelKind::U32, _) => 0x10dc,
        (ChannelKind::F16, _) => 0x10dd,
        (ChannelKind::F32, _) => 0x10de,
    }
}

fn channel_order(format: Format) -> u32 {
    match format.order {
        Order::Rgb if format.srgb => 0x10bf,
        Order::Rgba if format.srgb => 0x10c1,
        Order::Bgra if format.srgb => 0x10c2,
        Order::R => 0x10b0,
        Order::A => 0x10b1,
        Order::Rg => 0x10b2,
        Order::Ra => 0x10b3,
        Order::Rgb => 0x10b4,
        Order::Rgba => 0x10b5,
        Order::Bgra => 0x10b6,
        Order::Argb => 0x10b7,
        Order::Intensity => 0x10b8,
        Order::Luminance => 0x10b9,
        Order::Abgr => 0x10c3,
    }
}
