// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pictures of accesses, as data: the model's own detail with offsets in the variable.

use margay_arch::{MemoryModel, Source, WarpAccess};

use super::cures::{ORIGIN, addresses, base_of, space_of};
use super::schema::{AccessOnGpu, Bank, BankRequest, Picture, Place, Rule, Segment};
use crate::profile::raw::{RawPattern, RawSite};
use crate::profile::site::{cache_of, kind_of};

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
    let source = match detail.rule.source {
        Source::Manual => "manual",
        Source::Measured => "measured",
        Source::Inferred => "inferred",
        Source::Modelled => "modelled",
    };
    on.rule = Rule {
        source: source.into(),
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
    });
}
