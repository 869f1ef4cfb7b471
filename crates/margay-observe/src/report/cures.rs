// SPDX-License-Identifier: MIT OR Apache-2.0
//! Changes to a program, as changes to its addresses: the model counts what is left of a cost.
//!
//! Invariant: a cure is told only with what the model says of the very accesses that were seen. What
//! moves a variable is counted on all accesses to it, so that one that helps a column and hurts the
//! rows is not told.

use margay_arch::access::first_lanes;
use margay_arch::{Kind, MemoryModel, Space, WarpAccess};

use crate::profile::raw::{RawPattern, RawSite, Sums};
use crate::profile::site::{cache_of, kind_of};

/// Keeps offsets positive; a multiple of every period.
pub const ORIGIN: i64 = 1 << 40;

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `by` more bytes after every `pitch`.
    Pad { pitch: i64, by: i64 },
    /// The column is exchanged with column xor row, in rows of `pitch` bytes and elements of `width`.
    Swizzle { pitch: i64, width: i64 },
    /// Structures of `size` bytes become an array for each member of `width`.
    MemberArrays { size: i64, width: i64 },
    /// Words of 8 bytes become two arrays of 4.
    SplitWords,
    /// Elements of less than 4 bytes have a word each.
    WordEach { width: i64 },
    /// Each active lane takes the element after the one before it, from an aligned start.
    InOrder,
    /// As `InOrder`, from where it started.
    Consecutive,
    /// The start is moved down to a multiple of 128.
    Align,
    /// One lane for each different address.
    OneLaneEach,
    /// The same addresses in another space.
    Move(Space),
}

/// Address modulo 128 KB of the variable that a pattern is in.
pub fn base_of(pattern: &RawPattern) -> i64 {
    (i64::from(pattern.alignment) - pattern.first).rem_euclid(128 << 10)
}

/// The lanes' addresses, with room below and above.
pub fn addresses(pattern: &RawPattern, change: impl Fn(i64) -> i64) -> [u64; 32] {
    let base = base_of(pattern);
    let mut out = [0; 32];
    let mut distances = pattern.distances.iter();
    for (l, o) in out.iter_mut().enumerate() {
        if pattern.mask >> l & 1 != 0
            && let Some(distance) = distances.next()
        {
            *o = (ORIGIN + base + change(pattern.first + distance)) as u64;
        }
    }
    out
}

fn floor(a: i64, b: i64) -> (i64, i64) {
    (a.div_euclid(b), a.rem_euclid(b))
}

/// Where the lanes of a pattern go after a change.
#[derive(Clone, Copy, Debug)]
pub struct Changed {
    pub space: Space,
    pub kind: Kind,
    pub width: u32,
    pub mask: u32,
    pub addresses: [u64; 32],
}

/// The access, changed. Of words that are split into several, number `part`.
pub fn changed(site: &RawSite, pattern: &RawPattern, change: Option<Change>, part: i64) -> Changed {
    let (width, mask) = (site.width, pattern.mask);
    let w = i64::from(width);
    let same = Changed {
        space: space_of(&site.space),
        kind: kind_of(&site.kind, site.operation.as_deref()),
        width,
        mask,
        addresses: [0; 32],
    };
    let moved = |f: &dyn Fn(i64) -> i64| Changed { addresses: addresses(pattern, f), ..same };
    match change {
        None => moved(&|o| o),
        Some(Change::Pad { pitch, by }) => moved(&|o| o + o.div_euclid(pitch) * by),
        Some(Change::Swizzle { pitch, width }) => moved(&|o| {
            let (row, within) = floor(o, pitch);
            let (column, rest) = floor(within, width);
            let columns = pitch / width;
            row * pitch + (column ^ row.rem_euclid(columns)) % columns * width + rest
        }),
        Some(Change::MemberArrays { size, width }) => moved(&|o| {
            let (n, within) = floor(o, size);
            let (member, rest) = floor(within, width);
            // Arrays begin at multiples of what every rule counts in.
            member * (1 << 24) + n * width + rest
        }),
        Some(Change::SplitWords) => {
            Changed { width: width.min(4), ..moved(&|o| part * (1 << 24) + o.div_euclid(w) * 4) }
        }
        Some(Change::WordEach { width }) => moved(&|o| o.div_euclid(width) * 4),
        Some(Change::InOrder | Change::Consecutive) => {
            let mut at = [0; 32];
            let start = match change {
                Some(Change::InOrder) => ORIGIN,
                _ => ORIGIN + i64::from(pattern.alignment),
            };
            let lanes = (0..32).filter(|l| mask >> l & 1 != 0);
            for (n, l) in lanes.enumerate() {
                // Half-warps of 1.x count from their own lanes.
                let n = if mask == u32::MAX { l } else { n };
                at[l] = (start + n as i64 * w) as u64;
            }
            Changed { addresses: at, ..same }
        }
        Some(Change::Align) => {
            let over = i64::from(pattern.alignment) % 128;
            moved(&|o| o - over)
        }
        Some(Change::OneLaneEach) => {
            let same = moved(&|o| o);
            let mask = first_lanes(mask, |l| same.addresses[l]);
            Changed { mask, ..same }
        }
        Some(Change::Move(to)) => Changed { space: to, kind: Kind::Load, ..moved(&|o| o) },
    }
}

/// What one execution of a pattern costs after a change; without one, what it does.
pub fn cost(
    model: &MemoryModel,
    site: &RawSite,
    pattern: &RawPattern,
    change: Option<Change>,
) -> Sums {
    let parts = match change {
        Some(Change::SplitWords) => i64::from(site.width / 4).max(1),
        _ => 1,
    };
    let mut sums = Sums::default();
    for part in 0..parts {
        let Changed { space, kind, width, mask, addresses } = changed(site, pattern, change, part);
        let cache = cache_of(site.cache.as_deref());
        let access = WarpAccess { space, kind, width, mask, addresses: &addresses, cache };
        sums.add(&model.count(&access), 1);
    }
    sums
}

/// The space of a name.
pub fn space_of(name: &str) -> Space {
    match name {
        "shared" => Space::Shared,
        "local" => Space::Local,
        "constant" => Space::Constant,
        "parameter" => Space::Parameter,
        _ => Space::Global,
    }
}

/// The same over all kept patterns of these sites.
pub fn total<'a>(
    model: &MemoryModel,
    sites: impl Iterator<Item = &'a RawSite>,
    change: Option<Change>,
) -> Sums {
    let mut all = Sums::default();
    for site in sites {
        for pattern in &site.patterns {
            let one = cost(model, site, pattern, change);
            all.merge(&one.times(pattern.count));
        }
    }
    all
}
