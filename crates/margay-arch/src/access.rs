// SPDX-License-Identifier: MIT OR Apache-2.0
//! One memory access of a warp, and what a compute capability makes of it.
//!
//! [`MemoryModel::count`] is the entry: it allocates nothing, so that it can be called on every access
//! of a kernel. [`MemoryModel::detail`](crate::picture) tells the same with lanes, words and segments,
//! for pictures. Both take addresses that are multiples of the width, as the hardware demands.
//!
//! Limit: one instruction at a time. What earlier accesses left in a cache is [`crate::caches`]'
//! business.

use serde::Serialize;

use crate::atomics::SharedAtomic;
use crate::capability::{ComputeCapability, Limits};
use crate::figure::Source;
pub use crate::firsts::first_of;
use crate::firsts::fullest_of;
use crate::{atomics, banks, coalesce, constant, local};

/// The memory that an access names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    Global,
    Shared,
    /// Addresses are offsets in each thread's own local memory.
    Local,
    Constant,
    /// The kernel's parameters: shared memory on 1.x, constant memory from 2.0 on.
    Parameter,
}

/// What an atomic does; it decides whether the hardware has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AtomicOp {
    /// Integer addition, subtraction.
    Add,
    /// Addition of the constant 1: as a reduction on shared memory it is `ATOMS.POPC.INC`, which serves all
    /// lanes at one word together. Elsewhere the same as `Add`.
    AddOne,
    /// Floating-point addition.
    AddFloat,
    Min,
    Max,
    Inc,
    Dec,
    And,
    Or,
    Xor,
    Exchange,
    CompareSwap,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Load,
    Store,
    /// The old value is used: `ATOM`.
    Atomic(AtomicOp),
    /// The old value is not used: `RED`. PTX that says `atom` becomes this too where the result is dead.
    Reduction(AtomicOp),
}

/// PTX's cache operators, as far as they change what is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheOperator {
    /// None written: the compiler's default for the capability.
    #[default]
    Default,
    /// `ca`: at all levels.
    Ca,
    /// `cg`: in L2 only.
    Cg,
    /// `cs`: likely used once.
    Cs,
    /// `lu`: last use.
    Lu,
    /// `cv`: not cached, fetched again.
    Cv,
    /// `wb`: write back at all levels.
    Wb,
    /// `wt`: write through to system memory.
    Wt,
    /// `ld.global.nc`, `__ldg`: the read-only cache.
    Nc,
    /// `ldu`: a uniform read-only load.
    Uniform,
}

/// Width of a shared-memory bank (`cudaDeviceSetSharedMemConfig`); only 3.x listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BankMode {
    #[default]
    FourByte,
    EightByte,
}

/// One instruction of one warp.
#[derive(Clone, Copy, Debug)]
pub struct WarpAccess<'a> {
    pub space: Space,
    pub kind: Kind,
    /// Bytes of a lane, all vector elements together: 1, 2, 4, 8, 16, or 32 (global, from 10.0 on).
    pub width: u32,
    /// Bit n: lane n takes part.
    pub mask: u32,
    /// Byte address in each lane; those outside `mask` mean nothing.
    pub addresses: &'a [u64; 32],
    pub cache: CacheOperator,
}

/// What an access costs. Zero where a figure does not apply to the space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Machine instructions, all rounds of a loop together (a lock loop, a compare-and-swap loop).
    pub instructions: u32,
    /// Requests to the memory pipeline: one for each (half-, quarter-) warp that goes on its own.
    pub requests: u32,
    /// Shared memory: passes through the banks, those of a loop's loads with those of its atomics. On 1.x,
    /// where the manual leaves the choice of the broadcast word open, this is the count when the lowest
    /// waiting lane's word is taken.
    pub wavefronts: u32,
    /// What Nsight Compute's `smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{ld,st,atom}` says.
    /// It differs from `wavefronts` for 64- and 128-bit loads by paired lanes (see [`banks`]) and does not
    /// count the loads of a loop of compare-and-swap.
    pub wavefronts_sass: u32,
    /// The fewest passes that any choice of broadcast words gives; equals `wavefronts` from 2.0 on.
    pub wavefronts_least: u32,
    /// The most; equals `wavefronts` from 2.0 on.
    pub wavefronts_most: u32,
    /// Shared memory: what the same lanes would take were no two in each other's way.
    pub wavefronts_ideal: u32,
    /// Global and local memory: transactions of the size that the capability uses (32, 64, 128 bytes).
    pub transactions: u32,
    /// Global and local memory: 32-byte sectors in those transactions.
    pub sectors: u32,
    /// The fewest sectors that could hold the bytes asked for.
    pub sectors_ideal: u32,
    /// Textures and surfaces: texels that were read or written, each lane's by itself.
    pub texels: u32,
    /// Constant memory: passes beyond the first, one for each further distinct address.
    pub replays: u32,
    /// Lanes times width.
    pub bytes_requested: u32,
    /// Bytes that the transactions move.
    pub bytes_moved: u32,
}

impl Counts {
    /// Passes that bank conflicts cost.
    pub fn bank_conflicts(&self) -> u32 {
        self.wavefronts.saturating_sub(self.wavefronts_ideal)
    }

    /// Adds another access's figures.
    pub fn add(&mut self, other: &Counts) {
        self.instructions += other.instructions;
        self.requests += other.requests;
        self.wavefronts += other.wavefronts;
        self.wavefronts_sass += other.wavefronts_sass;
        self.wavefronts_least += other.wavefronts_least;
        self.wavefronts_most += other.wavefronts_most;
        self.wavefronts_ideal += other.wavefronts_ideal;
        self.transactions += other.transactions;
        self.sectors += other.sectors;
        self.sectors_ideal += other.sectors_ideal;
        self.texels += other.texels;
        self.replays += other.replays;
        self.bytes_requested += other.bytes_requested;
        self.bytes_moved += other.bytes_moved;
    }
}

/// Capabilities whose memory pipelines follow the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Generation {
    /// 1.0, 1.1: a half-warp coalesces in order or not at all.
    Tesla10,
    /// 1.2, 1.3: segments that shrink.
    Tesla12,
    /// 2.x: 128-byte lines, 32 banks.
    Fermi,
    /// 3.x: banks of 64 bits, global loads through L2.
    Kepler,
    /// 5.x: 32-byte sectors, native shared atomics.
    Maxwell,
    /// 6.x.
    Pascal,
    /// 7.0 on: 128-byte lines of four sectors.
    Volta,
}

impl Generation {
    /// The generation of a capability.
    pub fn of(cc: ComputeCapability) -> Generation {
        match (cc.major, cc.minor) {
            (0 | 1, 0 | 1) => Generation::Tesla10,
            (0 | 1, _) => Generation::Tesla12,
            (2, _) => Generation::Fermi,
            (3 | 4, _) => Generation::Kepler,
            (5, _) => Generation::Maxwell,
            (6, _) => Generation::Pascal,
            (7.., _) => Generation::Volta,
        }
    }

    /// Half-warps go separately.
    pub fn is_tesla(self) -> bool {
        matches!(self, Generation::Tesla10 | Generation::Tesla12)
    }
}

/// Where the rule that gave a count comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    pub source: Source,
    /// The manual's section, the card, or what it was concluded from.
    pub place: &'static str,
    /// The rule in one sentence.
    pub text: &'static str,
}

/// The rules of one capability with one setting of its knobs. Small and `Copy`.
#[derive(Clone, Copy, Debug)]
pub struct MemoryModel {
    pub cc: ComputeCapability,
    pub generation: Generation,
    pub bank_mode: BankMode,
    /// Global loads without a cache operator go through L1. Set by [`MemoryModel::new`] to the
    /// capability's default; `-Xptxas -dlcm=cg` or `ca` changes it.
    pub global_loads_in_l1: bool,
}

impl MemoryModel {
    /// The model with the capability's defaults.
    pub fn new(limits: &Limits) -> MemoryModel {
        let cc = limits.cc;
        MemoryModel {
            cc,
            generation: Generation::of(cc),
            bank_mode: BankMode::FourByte,
            global_loads_in_l1: coalesce::loads_use_l1_by_default(cc),
        }
    }

    /// Sets the width of the banks; capabilities other than 3.x keep theirs.
    pub fn with_bank_mode(mut self, mode: BankMode) -> MemoryModel {
        if self.generation == Generation::Kepler {
            self.bank_mode = mode;
        }
        self
    }

    /// As `-Xptxas -dlcm=ca` (true) or `cg` (false).
    pub fn with_global_loads_in_l1(mut self, through: bool) -> MemoryModel {
        self.global_loads_in_l1 = through;
        self
    }

    /// What the access costs. Allocates nothing.
    pub fn count(&self, access: &WarpAccess<'_>) -> Counts {
        self.count_knowing(access, None)
    }

    /// [`MemoryModel::count`] for who knows how many different 32-byte sectors the lanes' addresses are in.
    pub fn count_of_sectors(&self, access: &WarpAccess<'_>, sectors: u32) -> Counts {
        self.count_knowing(access, Some(sectors))
    }

    /// [`MemoryModel::count`] for a load or store of `width` bytes of global memory by so many lanes, at so many different
    /// addresses, which are in so many different 32-byte sectors. `None` where that is not all there is to know.
    pub fn count_places(
        &self,
        width: u32,
        (lanes, places): (u32, u32),
        sectors: u32,
    ) -> Option<Counts> {
        self.is_simple().then(|| Counts {
            instructions: 1,
            requests: 1,
            transactions: sectors,
            sectors,
            sectors_ideal: (places * width).div_ceil(32).min(sectors),
            bytes_requested: lanes * width,
            bytes_moved: 32 * sectors,
            ..Counts::default()
        })
    }

    /// Whether [`MemoryModel::count_places`] knows all there is to know, and [`passes`] is what an access to shared memory costs.
    pub fn is_simple(&self) -> bool {
        self.generation >= Generation::Maxwell
    }

    /// Whether what an access to global memory costs depends on where its segments are even if all lanes are at one address: on 1.0 and 1.1
    /// a lane alone is coalesced at the place that is its own.
    pub fn minds_places(&self) -> bool {
        self.generation == Generation::Tesla10
    }

    /// Whether stores to shared memory cost what loads by the same lanes do.
    pub fn stores_like_loads(&self, width: u32) -> bool {
        match self.generation {
            Generation::Tesla10 | Generation::Tesla12 => false,
            Generation::Fermi | Generation::Kepler => true,
            // Wider loads by lanes that agree are merged.
            Generation::Maxwell | Generation::Pascal | Generation::Volta => width <= 4,
        }
    }

    fn count_knowing(&self, access: &WarpAccess<'_>, sectors: Option<u32>) -> Counts {
        if access.mask == 0 {
            return Counts::default();
        }
        let mut counts = match (access.space, access.kind) {
            (Space::Shared, Kind::Load | Kind::Store) => banks::count(self, access),
            (Space::Shared, Kind::Atomic(_) | Kind::Reduction(_)) => {
                atomics::count_shared(self, access)
            }
            (Space::Global, Kind::Load | Kind::Store) => coalesce::count(self, access, sectors),
            (Space::Global, Kind::Atomic(_) | Kind::Reduction(_)) => {
                atomics::count_global(self, access)
            }
            // PTX has no atomics on local or constant memory.
            (Space::Local, _) => local::count(self, access),
            (Space::Constant, _) => constant::count(self, access),
            (Space::Parameter, _) if self.generation.is_tesla() => banks::count(self, access),
            (Space::Parameter, _) => constant::count(self, access),
        };
        counts.bytes_requested = access.mask.count_ones() * access.width;
        counts
    }
}

/// How many different addresses the lanes of a load or store of global memory are at, or a number that makes no difference to the
/// fewest sectors that could hold what they ask for. They are in so many sectors.
#[inline]
pub fn fewest_places(width: u32, (mask, addresses): (u32, &[u64; 32]), sectors: u32) -> u32 {
    let ideal = |places: u32| (places * width).div_ceil(32).min(sectors);
    let lanes = mask.count_ones();
    match ideal(sectors) == ideal(lanes) {
        true => lanes,
        false => distinct(mask, addresses, 0),
    }
}

/// Passes through the banks of an access to shared memory from 5.0 on, of which nothing else needs to be known: there is one
/// request, and one pass at best. `None` if it is not so simple.
#[inline]
pub fn passes(kind: Kind, width: u32, mask: u32, addresses: &[u64; 32]) -> Option<u32> {
    match kind {
        _ if width > 4 => None,
        Kind::Load | Kind::Store => Some(banks::deepest(addresses, mask, 4)),
        Kind::Atomic(_) | Kind::Reduction(_) => {
            match atomics::shared_way(Generation::Maxwell, kind, width) {
                SharedAtomic::NativeCount => Some(banks::deepest(addresses, mask, 4)),
                SharedAtomic::Native => Some(fullest_of(mask, addresses, 2, 32)),
                SharedAtomic::NativeCompareSwap
                | SharedAtomic::CompareSwapLoop
                | SharedAtomic::LockLoop => None,
            }
        }
    }
}

/// The active lanes of a mask, lowest first.
pub(crate) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let lane = rest.trailing_zeros();
        rest &= rest - 1;
        Some(lane as usize)
    })
}

/// The mask of group `index` of `32 / size` groups of neighbouring lanes.
pub(crate) fn group(size: u32, index: u32) -> u32 {
    if size == 32 { u32::MAX } else { ((1u32 << size) - 1) << (size * index) }
}

/// Counts distinct values that come one by one. Neighbouring lanes mostly ascend, so rising runs are cheap.
pub(crate) struct Distinct {
    values: [u64; 32],
    len: usize,
    highest: u64,
}

impl Distinct {
    pub(crate) fn new() -> Distinct {
        Distinct { values: [0; 32], len: 0, highest: 0 }
    }

    /// Takes a value; true if it is new. At most 32 distinct ones.
    #[inline]
    pub(crate) fn insert(&mut self, value: u64) -> bool {
        if self.len == 0 || value > self.highest {
            self.highest = value;
        } else if self.values[..self.len].contains(&value) {
            return false;
        }
        self.values[self.len] = value;
        self.len += 1;
        true
    }

    pub(crate) fn len(&self) -> u32 {
        self.len as u32
    }
}

/// Lanes that want one of several values of a place take turns: each turn serves the value of every place's lowest
/// waiting lane, to all lanes that want it. The number of turns, and the lanes that were the first at their value.
///
/// `wish` gives a lane's place, below `N`, a power of two up to 64, and its value. Written without branches on data: what
/// comes here is mostly random.
#[inline(always)]
pub(crate) fn turns<const N: usize>(mask: u32, wish: impl Fn(usize) -> (u32, u64)) -> (u32, u32) {
    let mut served = [0u64; N];
    let (mut waiting, mut turns, mut firsts) = (mask, 0, 0u32);
    while waiting != 0 {
        let (mut taken, mut left) = (0u64, 0u32);
        while waiting != 0 {
            let lane = waiting.trailing_zeros();
            waiting &= waiting - 1;
            let (place, value) = wish(lane as usize & 31);
            let slot = &mut served[place as usize & (N - 1)];
            let free = taken >> place & 1 == 0;
            *slot = if free { value } else { *slot };
            firsts |= u32::from(free) << lane;
            left |= u32::from(*slot != value) << lane;
            taken |= 1 << place;
        }
        turns += 1;
        waiting = left;
    }
    (turns, firsts)
}

/// For each distinct value that lanes of the mask have, the lowest of its lanes.
#[inline]
pub fn first_lanes(mask: u32, value: impl Fn(usize) -> u64) -> u32 {
    first_of(mask, &std::array::from_fn(value), 0)
}

/// How many distinct values the lanes have, without their `shift` lowest bits.
#[inline]
pub(crate) fn distinct(mask: u32, values: &[u64; 32], shift: u32) -> u32 {
    first_of(mask, values, shift).count_ones()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_and_stores_cost_by_their_places_and_sectors() {
        let mut state = 1u64;
        for n in 0..2000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mask = (state >> 32) as u32 | 1 << (n % 32);
            let width = 1 << (state >> 20 & 3) as u32;
            let addresses: [u64; 32] =
                std::array::from_fn(|l| u64::from(width) * (state >> 50 & 3) * l as u64);
            let places = distinct(mask, &addresses, 0);
            let sectors = distinct(mask, &addresses, 5);
            for gpu in ["h200", "gtx1080", "gtx980", "k40"] {
                let Some(gpu) = crate::find(gpu) else { continue };
                let model = MemoryModel::new(gpu.limits);
                for kind in [Kind::Load, Kind::Store] {
                    let cache = CacheOperator::Default;
                    let (space, addresses) = (Space::Global, &addresses);
                    let access = WarpAccess { space, kind, width, mask, addresses, cache };
                    let lanes = mask.count_ones();
                    let quick = model.count_places(width, (lanes, places), sectors);
                    assert_eq!(quick.is_some(), model.generation >= Generation::Maxwell);
                    assert!(quick.is_none_or(|quick| quick == model.count(&access)));
                }
            }
        }
    }

    #[test]
    fn turns_are_the_most_values_of_a_place() {
        let mut state = 1u64;
        for n in 0..2000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let mask = (state >> 32) as u32;
            let range = 1 + n % 97;
            let of = |lane: usize| ((state >> 7).wrapping_mul(lane as u64 + 1) >> 40) % range;
            let mut values: Vec<u64> = lanes(mask).map(of).collect();
            values.sort_unstable();
            values.dedup();
            assert_eq!(distinct(mask, &std::array::from_fn(of), 0), values.len() as u32);
            let deepest = (0..32).map(|p| values.iter().filter(|v| *v % 32 == p).count()).max();
            let found = turns::<32>(mask, |lane| ((of(lane) % 32) as u32, of(lane)));
            assert_eq!(found, (deepest.unwrap() as u32, first_lanes(mask, of)));
            // Values whose lower halves are alike.
            let far = |lane: usize| of(lane) << 32;
            assert_eq!(first_lanes(mask, far), first_lanes(mask, of));
            let first = |lane: usize| lanes(mask).find(|l| of(*l) == of(lane)) == Some(lane);
            assert!(lanes(mask).all(|l| first_lanes(mask, of) >> l & 1 == u32::from(first(l))));
        }
    }
}
