// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures of accesses, as data: the model's own detail with offsets in the variable.

use std::collections::{BTreeMap, BTreeSet};

use margay_arch::texture::{self, TextureAccess};
use margay_arch::{MemoryModel, WarpAccess};

use super::cures::{ORIGIN, addresses, base_of, space_of};
use super::schema::{AccessOnGpu, Bank, BankRequest, Picture, Place, Rule, Segment};
use crate::profile::raw::{RawPattern, RawSite, RawTexture};
use crate::profile::site::{cache_of, kind_of};

/// Fills in what the model says of an access through the texture unit, and the texels of the one that is kept.
pub fn fill_texture(
    on: &mut AccessOnGpu,
    model: &MemoryModel,
    form: &RawTexture,
    with_picture: bool,
) {
    let access = match &*form.operation {
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

/// Fills in what the model says of one execution of a pattern.
pub fn fill(
    on: &mut AccessOnGpu,
    model: &MemoryModel,
    site: &RawSite,
    pattern: &RawPattern,
    with_picture: bool,
) {
    let start = ORIGIN + base_of(pattern);
    let addresses = addresses(pattern, |o| o);
    let detail = model.detail(&WarpAccess {
        space: space_of(&site.space),
        kind: kind_of(&site.kind, site.operation.as_deref()),
        width: site.width,
        mask: pattern.mask,
        addresses: &addresses,
        cache: cache_of(site.cache.as_deref()),
    });
    on.machine = detail.machine.text();
    on.rule = Rule {
        source: detail.rule.source.word().into(),
        place: detail.rule.place.into(),
        text: detail.rule.text.into(),
    };
    if !with_picture {
        return;
    }
    let offset = |address: u64| (address as i64).wrapping_sub(start);
    // Interleaved local addresses have no place in a variable.
    let local = site.space == "local";
    let segment = |s: &margay_arch::picture::Segment| Segment {
        offset: if local { s.address as i64 & 0xffff } else { offset(s.address) },
        bytes: s.bytes,
        bytes_used: s.bytes_used,
        lanes: s.lanes.clone(),
    };
    on.picture = Some(Picture {
        wavefronts: detail.counts.wavefronts,
        sectors: detail.counts.sectors,
        transactions: detail.counts.transactions,
        requests: detail.counts.requests,
        bank_requests: detail
            .bank_requests
            .iter()
            .map(|r| BankRequest {
                lanes: r.lanes.clone(),
                banks: r
                    .banks
                    .iter()
                    .map(|b| Bank {
                        bank: b.bank,
                        passes: b.passes,
                        words: b
                            .words
                            .iter()
                            .map(|w| Place { offset: offset(w.address), lanes: w.lanes.clone() })
                            .collect(),
                    })
                    .collect(),
            })
            .collect(),
        segments: detail.segments.iter().map(segment).collect(),
        places: detail
            .places
            .iter()
            .map(|p| Place { offset: offset(p.address), lanes: p.lanes.clone() })
            .collect(),
        texels: Vec::new(),
    });
}
