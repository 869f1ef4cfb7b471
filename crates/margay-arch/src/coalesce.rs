// SPDX-License-Identifier: MIT OR Apache-2.0
//! Global memory: the transactions into which a warp's addresses coalesce.

use crate::access::{
    CacheOperator, Counts, Generation, Kind, MemoryModel, Rule, WarpAccess, distinct, group, lanes,
};
use crate::capability::ComputeCapability;
use crate::figure::Source;

/// Whether global loads that say nothing go through L1.
///
/// 2.x: yes (guide 4.2, F.4.2). 3.x and 5.x: no, save by opting in (guide 9.0, H.3.2, H.4.2). 6.0: yes; 6.1 and 6.2
/// follow Maxwell (Pascal tuning guide, 1.4.3.1). 7.0 on: yes (Volta tuning guide, 1.4.3.2).
pub fn loads_use_l1_by_default(cc: ComputeCapability) -> bool {
    match cc.major {
        0 | 1 => false,
        2 => true,
        3..=5 => false,
        6 => cc.minor == 0,
        7.. => true,
    }
}

/// Whether this access goes through L1.
pub fn through_l1(model: &MemoryModel, access: &WarpAccess<'_>) -> bool {
    if access.kind != Kind::Load || model.generation.is_tesla() {
        return false;
    }
    match access.cache {
        CacheOperator::Ca | CacheOperator::Nc => true,
        CacheOperator::Cg | CacheOperator::Cv => false,
        CacheOperator::Default
        | CacheOperator::Cs
        | CacheOperator::Lu
        | CacheOperator::Wb
        | CacheOperator::Wt
        | CacheOperator::Uniform => model.global_loads_in_l1,
    }
}

/// One transaction: an aligned segment and the lanes that it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    pub address: u64,
    pub bytes: u32,
    pub lanes: u32,
}

/// A load or store. `sectors`: how many different ones the lanes' addresses are in, if that is known.
pub(crate) fn count(model: &MemoryModel, access: &WarpAccess<'_>, sectors: Option<u32>) -> Counts {
    let mut counts = Counts { instructions: 1, ..Counts::default() };
    for mask in requests(model, access) {
        counts.requests += 1;
        match segment(model, access) {
            Some(bytes) => {
                let shift = bytes.trailing_zeros();
                let segments = match sectors {
                    Some(known) if bytes == 32 && mask == access.mask => known,
                    Some(_) | None => distinct(mask, access.addresses, shift),
                };
                counts.transactions += segments;
                counts.sectors += segments * (bytes / 32);
                counts.bytes_moved += segments * bytes;
            }
            None => each_transaction(model, access, mask, |t| {
                counts.transactions += 1;
                counts.sectors += t.bytes.div_ceil(32);
                counts.bytes_moved += t.bytes;
            }),
        }
    }
    let simple = counts.requests == 1 && segment(model, access).is_some();
    let apart = if simple { counts.transactions } else { 0 };
    counts.sectors_ideal = ideal_sectors(access, apart, counts.sectors);
    counts
}

/// Bytes of the aligned segments that are moved, one for each that a lane of a request touches; `None` where it is
/// not so simple.
fn segment(model: &MemoryModel, access: &WarpAccess<'_>) -> Option<u32> {
    match model.generation {
        Generation::Tesla10 | Generation::Tesla12 => None,
        Generation::Fermi | Generation::Kepler if through_l1(model, access) => Some(128),
        Generation::Fermi
        | Generation::Kepler
        | Generation::Maxwell
        | Generation::Pascal
        | Generation::Volta => Some(32),
    }
}

/// The fewest sectors that hold the distinct bytes that are asked for, and no more than there are. So many lanes are known to
/// be `apart`: each has an address of its own.
fn ideal_sectors(access: &WarpAccess<'_>, apart: u32, sectors: u32) -> u32 {
    let of = |places: u32| (places * access.width).div_ceil(32).min(sectors);
    let (least, most) = (of(apart), of(access.mask.count_ones()));
    match least == most {
        true => most,
        false => of(distinct(access.mask, access.addresses, 0)),
    }
}

/// The lanes of each request.
pub fn requests<'a>(
    model: &MemoryModel,
    access: &WarpAccess<'a>,
) -> impl Iterator<Item = u32> + use<'a> {
    let size = match (model.generation, access.width) {
        (Generation::Tesla10 | Generation::Tesla12, _) => 16,
        (Generation::Fermi | Generation::Kepler, 8) => 16,
        (Generation::Fermi | Generation::Kepler, 16..) => 8,
        (Generation::Fermi | Generation::Kepler, _) => 32,
        (Generation::Maxwell | Generation::Pascal | Generation::Volta, _) => 32,
    };
    let mask = access.mask;
    (0..32 / size).map(move |index| mask & group(size, index)).filter(|&lanes| lanes != 0)
}

/// Calls `found` with every transaction of a request of the lanes `mask`.
pub fn each_transaction(
    model: &MemoryModel,
    access: &WarpAccess<'_>,
    mask: u32,
    mut found: impl FnMut(Transaction),
) {
    match model.generation {
        Generation::Tesla10 => in_order(access, mask, &mut found),
        Generation::Tesla12 => shrinking(access, mask, &mut found),
        Generation::Fermi
        | Generation::Kepler
        | Generation::Maxwell
        | Generation::Pascal
        | Generation::Volta => {
            aligned(access, mask, segment(model, access).unwrap_or(32), &mut found);
        }
    }
}

/// One transaction for each segment of `bytes`, a power of two, that a lane touches.
pub(crate) fn aligned(
    access: &WarpAccess<'_>,
    mask: u32,
    bytes: u32,
    found: &mut impl FnMut(Transaction),
) {
    let shift = bytes.trailing_zeros();
    let mut rest = mask;
    while rest != 0 {
        let segment = access.addresses[rest.trailing_zeros() as usize] >> shift;
        let served = lanes(rest)
            .filter(|&lane| access.addresses[lane] >> shift == segment)
            .fold(0, |mask, lane| mask | 1 << lane);
        found(Transaction { address: segment << shift, bytes, lanes: served });
        rest &= !served;
    }
}

/// 1.0 and 1.1: lane k of the half-warp takes word k of an aligned segment, or each goes alone.
fn in_order(access: &WarpAccess<'_>, mask: u32, found: &mut impl FnMut(Transaction)) {
    let width = u64::from(access.width);
    let first = mask.trailing_zeros() as u64;
    let half = first & !15;
    let start = access.addresses[first as usize].wrapping_sub((first - half) * width);
    let coalesced = matches!(width, 4 | 8 | 16)
        && start.is_multiple_of(16 * width)
        && lanes(mask).all(|lane| access.addresses[lane] == start + (lane as u64 - half) * width);
    if !coalesced {
        for lane in lanes(mask) {
            let address = access.addresses[lane] & !31;
            found(Transaction { address, bytes: 32, lanes: 1 << lane });
        }
        return;
    }
    let low = mask & (0xff << half);
    match width {
        16 => {
            found(Transaction { address: start, bytes: 128, lanes: low });
            found(Transaction { address: start + 128, bytes: 128, lanes: mask & !low });
        }
        8 => found(Transaction { address: start, bytes: 128, lanes: mask }),
        _ => found(Transaction { address: start, bytes: 64, lanes: mask }),
    }
}

/// 1.2 and 1.3: the segment of the lowest waiting lane, halved while one half of it is unused.
fn shrinking(access: &WarpAccess<'_>, mask: u32, found: &mut impl FnMut(Transaction)) {
    let whole: u64 = match access.width {
        1 => 32,
        2 => 64,
        _ => 128,
    };
    let mut rest = mask;
    while rest != 0 {
        let mut address = access.addresses[rest.trailing_zeros() as usize] & !(whole - 1);
        let (mut low, mut high, mut served) = (u64::MAX, 0, 0);
        for lane in lanes(rest) {
            let at = access.addresses[lane];
            if at & !(whole - 1) == address {
                served |= 1 << lane;
                low = low.min(at);
                high = high.max(at + u64::from(access.width) - 1);
            }
        }
        let mut bytes = whole;
        // Halves are the same where the bits from the half's size on are.
        while bytes > 32 && (low ^ high) & !(bytes / 2 - 1) == 0 {
            bytes /= 2;
            address = low & !(bytes - 1);
        }
        found(Transaction { address, bytes: bytes as u32, lanes: served });
        rest &= !served;
    }
}

/// The rule for loads and stores, with its source.
pub fn rule(model: &MemoryModel, access: &WarpAccess<'_>) -> Rule {
    match model.generation {
        Generation::Tesla10 => Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, F.3.2.1 Devices of Compute Capability 1.0 and 1.1",
            text: "a half-warp coalesces if lane k takes word k of an aligned segment; else each lane has a \
                   32-byte transaction of its own",
        },
        Generation::Tesla12 => Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, F.3.2.2 Devices of Compute Capability 1.2 and 1.3",
            text: "for each half-warp the segment of the lowest waiting lane, halved while half of it is unused",
        },
        Generation::Fermi | Generation::Kepler if through_l1(model, access) => Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, F.4.2 Global Memory (2.x)",
            text: "one 128-byte line of L1 for each that a lane touches; 8 bytes go as two half-warps, 16 as \
                   four quarter-warps",
        },
        Generation::Fermi | Generation::Kepler => Rule {
            source: Source::Manual,
            place: "CUDA C Programming Guide 4.2, F.4.2 Global Memory (2.x)",
            text: "one 32-byte segment of L2 for each that a lane touches; 8 bytes go as two half-warps, 16 as \
                   four quarter-warps",
        },
        Generation::Maxwell | Generation::Pascal => Rule {
            source: Source::Manual,
            place: "CUDA C Best Practices Guide, 9.2.1 Coalesced Access to Global Memory",
            text: "one 32-byte sector for each that a lane touches",
        },
        Generation::Volta => Rule {
            source: if model.cc == ComputeCapability::new(9, 0) {
                Source::Measured
            } else {
                Source::Manual
            },
            place: if model.cc == ComputeCapability::new(9, 0) {
                "NVIDIA H200, counters of Nsight Compute"
            } else {
                "CUDA C++ Best Practices Guide, 9.2.1 Coalesced Access to Global Memory"
            },
            text: "one 32-byte sector for each that a lane of the warp touches",
        },
    }
}
