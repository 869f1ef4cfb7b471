// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures of accesses, as data: the model's own detail with offsets in the variable.

use std::collections::{BTreeMap, BTreeSet};

use margay_arch::picture::Detail;
use margay_arch::texture::{self, TextureAccess};
use margay_arch::{MemoryModel, WarpAccess};

use super::cures::{Change, ORIGIN, base_of, changed};
use super::schema::{AccessOnGpu, Bank, BankRequest, Picture, Place, Rule, Segment};
use crate::profile::raw::{RawPattern, RawSite, RawTexture};
use crate::profile::site::cache_of;

/// Fills in what the model says of an access through the texture unit, and the texels of the one that is kept.
pub fn fill_texture(
    on: &mut AccessOnGpu,
    model: &MemoryModel,
    form: &RawTexture,
    with_picture: bool,
) {
    let access = match &*form.used.operation {
        "tex.s32" => TextureAccess::Fetch,
        "tex.grad" => TextureAccess::Gradient,
        "tld4" => TextureAccess::Gather,
        "suld" => TextureAccess::SurfaceLoad,
        "sust" => TextureAccess::SurfaceStore,
        "sured" => TextureAccess::SurfaceReduction,
        _ => TextureAccess::Sample,
    };
    on.machine = texture::machine(model, access).into();
    on.rule = Rule {
        source: texture::RULE.source.word().into(),
        place: texture::RULE.place.into(),
        text: texture::RULE.text.into(),
    };
    if !with_picture {
        return;
    }
    // A texel may lie across the border of two sectors.
    let mut sectors: BTreeMap<u64, (Vec<u8>, BTreeSet<u32>)> = BTreeMap::new();
    for t in &form.texels {
        for byte in t.within..t.within + t.bytes {
            let entry = sectors.entry(t.sector + u64::from(byte / texture::SECTOR)).or_default();
            entry.1.insert(byte % texture::SECTOR);
            if entry.0.last() != Some(&(t.lane as u8)) && !entry.0.contains(&(t.lane as u8)) {
                entry.0.push(t.lane as u8);
            }
        }
    }
    let quads = (0..8).filter(|q| form.mask >> (4 * q) & 0xf != 0).count() as u32;
    let segment = |(sector, (lanes, bytes)): (u64, (Vec<u8>, BTreeSet<u32>))| Segment {
        offset: (sector * u64::from(texture::SECTOR)) as i64,
        bytes: texture::SECTOR,
        bytes_used: bytes.len() as u32,
        lanes,
    };
    let segments: Vec<Segment> = sectors.into_iter().map(segment).collect();
    on.picture = Some(Picture {
        sectors: segments.len() as u32,
        transactions: segments.len() as u32,
        requests: quads,
        segments,
        texels: form.texels.clone(),
        ..Picture::default()
    });
}

/// Fills in what the model says of one execution of a pattern, and of the same after the cure.
pub fn fill(
    on: &mut AccessOnGpu,
    model: &MemoryModel,
    site: &RawSite,
    pattern: &RawPattern,
    with_picture: bool,
) {
    let start = ORIGIN + base_of(pattern);
    let detail = |change| {
        let c = changed(site, pattern, change, 0);
        let cache = cache_of(site.cache.as_deref());
        let (space, kind, width, mask) = (c.space, c.kind, c.width, c.mask);
        model.detail(&WarpAccess { space, kind, width, mask, addresses: &c.addresses, cache })
    };
    let now = detail(None);
    on.machine = now.machine.text();
    on.rule = Rule {
        source: now.rule.source.word().into(),
        place: now.rule.place.into(),
        text: now.rule.text.into(),
    };
    if !with_picture {
        return;
    }
    // Interleaved local addresses have no place in a variable.
    on.picture = Some(picture(&now, start, site.space == "local"));
    let Some(cure) = on.finding.as_mut().and_then(|finding| finding.cure.as_mut()) else { return };
    let drawn = cure.change.filter(|change| match change {
        Change::Pad { .. }
        | Change::Swizzle { .. }
        | Change::MemberArrays { .. }
        | Change::WordEach { .. }
        | Change::InOrder
        | Change::Consecutive
        | Change::Align
        | Change::OneLaneEach => true,
        // Several accesses, or another kind of memory.
        Change::SplitWords | Change::Move(_) => false,
    });
    cure.picture = drawn.map(|change| picture(&detail(Some(change)), start, false));
}

/// The model's detail with offsets from `start`.
fn picture(detail: &Detail, start: i64, local: bool) -> Picture {
    let offset = |address: u64| (address as i64).wrapping_sub(start);
    let segment = |s: &margay_arch::picture::Segment| Segment {
        offset: if local { s.address as i64 & 0xffff } else { offset(s.address) },
        bytes: s.bytes,
        bytes_used: s.bytes_used,
        lanes: s.lanes.clone(),
    };
    let place =
        |address: u64, lanes: &Vec<u8>| Place { offset: offset(address), lanes: lanes.clone() };
    let bank = |b: &margay_arch::picture::Bank| Bank {
        bank: b.bank,
        passes: b.passes,
        words: b.words.iter().map(|w| place(w.address, &w.lanes)).collect(),
    };
    let request = |r: &margay_arch::picture::BankRequest| BankRequest {
        lanes: r.lanes.clone(),
        banks: r.banks.iter().map(bank).collect(),
    };
    Picture {
        wavefronts: detail.counts.wavefronts,
        sectors: detail.counts.sectors,
        transactions: detail.counts.transactions,
        requests: detail.counts.requests,
        bank_requests: detail.bank_requests.iter().map(request).collect(),
        segments: detail.segments.iter().map(segment).collect(),
        places: detail.places.iter().map(|p| place(p.address, &p.lanes)).collect(),
        texels: Vec::new(),
    }
}
