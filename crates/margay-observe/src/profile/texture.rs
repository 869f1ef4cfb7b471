// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses through the texture unit: where their texels lie, and what one instruction did to one texture.
//!
//! Limit: *modelled* ([`margay_arch::texture`]). Texels cost the same on every GPU; which of their sectors hit
//! a cache is told for the program's own.

use margay_arch::texture::{count, tiled};
use margay_arch::{Counts, Kind};
use margay_exec::fault::Access;
use margay_exec::mem::texture::{Filter, Image, Placement};
use margay_exec::observe::{TexelAccess, TextureEvent};
use margay_ir::texture::{Level, TextureAttr, TextureOp};

use super::hierarchy::{LaunchCaches, OwnL1};
use super::raw::{CacheCounts, RawTexel, RawTexture, Sums};

/// Where images of their own lie, far from every allocation.
const WINDOW: u64 = 1 << 62;
/// Most texels of an access that are kept for its picture.
const MOST_TEXELS: usize = 256;

/// The address of a texel in the modelled memory.
fn address(image: &Image, t: &TexelAccess) -> u64 {
    let row = image.levels().get(t.level as usize).map_or(0, |l| l.width * image.format.bytes());
    match image.placement(t.level, t.layer, t.z) {
        Placement::Linear => t.address,
        // A plane in tiles may be padded to as much as 512 times its bytes.
        Placement::Opaque { image, plane, tiled: true } => {
            WINDOW | image << 41 | ((plane << 9) + tiled(t.x, t.y, row))
        }
        Placement::Opaque { image, plane, tiled: false } => {
            let rows = u64::from(t.y) * u64::from(row);
            WINDOW | image << 41 | (plane + rows + u64::from(t.x))
        }
    }
}

/// The address that it would have in an array, if it lies in rows now and there are several.
fn in_array(image: &Image, t: &TexelAccess) -> Option<u64> {
    let level = image.levels().get(t.level as usize)?;
    let rows = level.height > 1 && image.placement(t.level, t.layer, t.z) == Placement::Linear;
    let plane = u64::from(t.layer) << 32 | u64::from(t.z) << 16;
    rows.then(|| plane << 9 | tiled(t.x, t.y, level.width * image.format.bytes()))
}

/// Name of the operation: PTX's.
pub fn operation(attr: &TextureAttr) -> &'static str {
    match attr.op {
        TextureOp::Sample(Level::Gradient) => "tex.grad",
        TextureOp::Sample(Level::Base | Level::Given) if attr.float_coords => "tex",
        TextureOp::Sample(Level::Base | Level::Given) => "tex.s32",
        TextureOp::Gather(_) => "tld4",
        TextureOp::Query { .. } => "txq",
        TextureOp::Load { .. } => "suld",
        TextureOp::Store { .. } => "sust",
        TextureOp::Reduce { .. } => "sured",
    }
}

/// All accesses of one instruction to one texture.
#[derive(Clone, Default)]
pub struct TextureCounts {
    pub kind: &'static str,
    pub executions: u64,
    pub lanes: u64,
    pub sums: Sums,
    pub caches: CacheCounts,
    pub form: RawTexture,
    /// Sectors that texels in rows would take in tiles.
    in_array: u64,
    /// Sectors above the least of the access whose texels are kept.
    worst: Option<u32>,
}

impl TextureCounts {
    /// Counts an access.
    pub fn add(&mut self, e: &TextureEvent<'_>, caches: &LaunchCaches<'_>, own: &mut OwnL1) {
        let mut sectors = Vec::new();
        let place = |t: &TexelAccess| (address(e.image, t), t.bytes);
        let reached: Vec<(u64, u32)> = e.texels.iter().map(place).collect();
        let counts = count(e.mask, &reached, &mut sectors);
        let kind = match e.access {
            Access::Read => Kind::Load,
            Access::Write | Access::Atomic => Kind::Store,
        };
        caches.look_texture(own, (&sectors, kind), e.at.smid, &mut self.caches);
        self.kind = match e.access {
            Access::Read => "load",
            Access::Write => "store",
            Access::Atomic => "reduction",
        };
        if self.executions == 0 {
            self.form.describe(e);
        }
        self.executions += 1;
        self.lanes += u64::from(e.mask.count_ones());
        self.sums.add(&counts, 1);
        self.form.used.outside += u64::from(e.outside);
        self.form.used.filter = match (self.form.used.filter.take(), filter_name(e.filter)) {
            (Some(one), Some(other)) if one != other => Some("mixed".into()),
            (one, other) => one.or(other.map(str::to_owned)),
        };
        let arrayed: Vec<(u64, u32)> =
            e.texels.iter().filter_map(|t| Some((in_array(e.image, t)?, t.bytes))).collect();
        self.in_array += u64::from(count(e.mask, &arrayed, &mut sectors).sectors);
        self.keep(e, &counts, &reached);
    }

    /// Keeps the texels of the access that moves most for nothing.
    fn keep(&mut self, e: &TextureEvent<'_>, counts: &Counts, reached: &[(u64, u32)]) {
        let excess = counts.sectors.saturating_sub(counts.sectors_ideal);
        if self.worst.is_some_and(|worst| worst >= excess) {
            return;
        }
        self.worst = Some(excess);
        self.form.mask = e.mask;
        let unit = e.image.format.bytes().max(1);
        let texels = e.texels.iter().zip(reached).take(MOST_TEXELS);
        self.form.texels = texels
            .map(|(t, &(address, bytes))| RawTexel {
                lane: t.lane,
                at: [t.x / unit, t.y, t.z],
                layer: t.layer,
                level: t.level,
                sector: (address / 32) & 0xffff_ffff,
                within: (address % 32) as u32,
                bytes,
            })
            .collect();
    }

    /// What the report takes.
    pub fn form(&self) -> RawTexture {
        let mut form = self.form.clone();
        let rows = form.used.layout == "rows" && form.used.size[1] > 1;
        form.used.sectors_in_array = rows.then_some(self.in_array);
        form
    }

    /// Adds what another worker or launch counted.
    pub fn merge(&mut self, other: &TextureCounts) {
        if self.executions == 0 {
            *self = other.clone();
            return;
        }
        self.executions += other.executions;
        self.lanes += other.lanes;
        self.sums.merge(&other.sums);
        self.caches.merge(&other.caches);
        self.form.used.outside += other.form.used.outside;
        if self.form.used.filter != other.form.used.filter {
            self.form.used.filter = Some("mixed".into());
        }
        self.in_array += other.in_array;
        if other.worst > self.worst {
            self.worst = other.worst;
            self.form.mask = other.form.mask;
            self.form.texels.clone_from(&other.form.texels);
        }
    }
}

fn filter_name(filter: Option<Filter>) -> Option<&'static str> {
    filter.map(|filter| match filter {
        Filter::Point => "point",
        Filter::Linear => "linear",
    })
}

impl RawTexture {
    fn describe(&mut self, e: &TextureEvent<'_>) {
        let level = e.image.levels().first();
        let d = e.image.dimensions;
        self.used.operation = operation(e.attr).into();
        self.used.geometry = e.attr.geometry.word().into();
        self.used.texel_bytes = e.image.format.bytes();
        self.used.size = [d.width, d.height, d.depth];
        self.used.layers = d.layers;
        self.used.levels = d.levels;
        self.used.layout = match e.image.placement(0, 0, 0) {
            Placement::Opaque { tiled: true, .. } => "tiles",
            Placement::Opaque { tiled: false, .. } | Placement::Linear => "rows",
        }
        .into();
        self.pitch = level.map_or(0, |l| l.row);
    }
}
