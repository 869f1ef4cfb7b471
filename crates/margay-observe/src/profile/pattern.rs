// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where lanes went, so that it can be recognised when it comes again.
//!
//! Invariant: two accesses of one pattern cost the same on every GPU. Banks repeat every 256 bytes,
//! the largest segment has 128, the lock of a shared atomic is chosen by bits 2 to 9, and the tag bank of a
//! global one by bits up to 16, hence the alignment of the base.

use margay_arch::Space;
use margay_exec::observe::GroupedEvent;

/// A multiple of the base that two accesses of one pattern may be apart.
pub fn period(space: Space, is_atomic: bool) -> u64 {
    match (space, is_atomic) {
        (Space::Shared, true) => 1024,
        (Space::Global, true) => 128 << 10,
        (Space::Global | Space::Shared, false) => 256,
        (Space::Local | Space::Constant | Space::Parameter, _) => 256,
    }
}

/// Lanes and where they went, relative to the lowest active lane's address rounded down to the period.
#[derive(Clone)]
#[repr(C)]
pub struct Pattern {
    /// The distances; in inactive lanes the lowest active one's.
    near: [i32; 32],
    /// The distances, where not all are below 2 GB; `near` means nothing then.
    far: Option<Box<[u64; 32]>>,
    pub mask: u32,
}

impl Default for Pattern {
    /// Of no lanes.
    fn default() -> Pattern {
        Pattern { near: [0; 32], far: None, mask: 0 }
    }
}

impl PartialEq for Pattern {
    #[inline(always)]
    fn eq(&self, other: &Pattern) -> bool {
        let alike = match (&self.far, &other.far) {
            (None, None) => alike(&self.near, &other.near),
            (own, others) => own == others,
        };
        self.mask == other.mask && alike
    }
}

/// The base that the addresses of an access are relative to: that of the lowest active lane, rounded down to the period.
#[inline(always)]
pub fn base_of(mask: u32, addresses: &[u64; 32], period: u64) -> u64 {
    addresses[(mask.trailing_zeros() & 31) as usize] & !(period - 1)
}

impl Pattern {
    /// The pattern of an access with this base.
    #[cfg(test)]
    pub fn of(mask: u32, addresses: &[u64; 32], base: u64) -> Pattern {
        let mut pattern = Pattern::default();
        pattern.set(mask, addresses, base);
        pattern
    }

    /// Makes it the pattern of an access with this base: moved, it would be written twice.
    #[inline(always)]
    pub fn set(&mut self, mask: u32, addresses: &[u64; 32], base: u64) {
        self.mask = mask;
        if put_distances(&mut self.near, mask, addresses, base) {
            if self.far.is_some() {
                self.far = None;
            }
        } else {
            self.set_far(addresses, base);
        }
    }

    /// [`Pattern::set`], and whether it was that of such an access before.
    #[inline(always)]
    pub fn renew(&mut self, mask: u32, addresses: &[u64; 32], base: u64) -> bool {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            let (fits, same) = unsafe {
                match mask {
                    u32::MAX => {
                        wide::renew_distances::<true>(&mut self.near, mask, addresses, base)
                    }
                    _ => wide::renew_distances::<false>(&mut self.near, mask, addresses, base),
                }
            };
            let same = same && fits && self.mask == mask && self.far.is_none();
            self.mask = mask;
            if !fits {
                self.set_far(addresses, base);
            } else if self.far.is_some() {
                self.far = None;
            }
            return same;
        }
        let same = self.is(mask, addresses, base);
        if !same {
            self.set(mask, addresses, base);
        }
        same
    }

    #[cold]
    fn set_far(&mut self, addresses: &[u64; 32], base: u64) {
        let lead = addresses[(self.mask.trailing_zeros() & 31) as usize];
        let address = |l: usize| if self.mask >> l & 1 != 0 { addresses[l] } else { lead };
        let far = std::array::from_fn(|l| address(l).wrapping_sub(base));
        self.far = Some(Box::new(far));
    }

    /// Whether an access with this base is of this pattern, if that can be told at once.
    #[inline(always)]
    pub fn is(&self, mask: u32, addresses: &[u64; 32], base: u64) -> bool {
        self.mask == mask && self.far.is_none() && has_distances(&self.near, mask, addresses, base)
    }

    /// The distances from the base; in inactive lanes the lowest active one's.
    #[inline]
    pub fn relative(&self) -> [u64; 32] {
        match &self.far {
            None => self.near.map(|distance| i64::from(distance) as u64),
            Some(far) => **far,
        }
    }

    /// A number for finding it.
    #[inline(always)]
    pub fn hash(&self) -> u64 {
        let sum = self.far.as_ref().map_or_else(
            || sum_of_products(&self.near),
            |far| far.iter().zip(&KEYS).fold(0, |sum, (d, k)| (sum ^ d).wrapping_mul(*k)),
        );
        let mixed = (sum ^ u64::from(self.mask)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 32
    }
}

/// Odd numbers without a pattern.
pub(super) const KEYS: [u64; 32] = {
    let mut keys = [0; 32];
    let (mut n, mut state) = (0, 0x2545_f491_4f6c_dd1d_u64);
    while n < 32 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        keys[n] = (state ^ state >> 29) | 1 << 32 | 1;
        n += 1;
    }
    keys
};

/// Writes the distances from `base`, of inactive lanes that of the first active one. Tells whether they fit.
#[inline(always)]
fn put_distances(near: &mut [i32; 32], mask: u32, addresses: &[u64; 32], base: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe {
            match mask {
                u32::MAX => wide::put_distances::<true>(near, mask, addresses, base),
                _ => wide::put_distances::<false>(near, mask, addresses, base),
            }
        };
    }
    let mut all_fit = true;
    for (near, distance) in near.iter_mut().zip(distances(mask, addresses, base)) {
        *near = distance as i32;
        all_fit &= i64::from(*near) == distance;
    }
    all_fit
}

/// Whether these are the distances.
#[inline(always)]
fn has_distances(near: &[i32; 32], mask: u32, addresses: &[u64; 32], base: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe {
            match mask {
                u32::MAX => wide::has_distances::<true>(near, mask, addresses, base),
                _ => wide::has_distances::<false>(near, mask, addresses, base),
            }
        };
    }
    near.iter().zip(distances(mask, addresses, base)).all(|(near, d)| i64::from(*near) == d)
}

fn distances(mask: u32, addresses: &[u64; 32], base: u64) -> impl Iterator<Item = i64> {
    let lead = addresses[(mask.trailing_zeros() & 31) as usize];
    let address = move |l: usize| if mask >> l & 1 != 0 { addresses[l] } else { lead };
    (0..32).map(move |l| address(l).wrapping_sub(base) as i64)
}

#[inline(always)]
fn alike(a: &[i32; 32], b: &[i32; 32]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { wide::alike(a, b) };
    }
    a == b
}

/// The sum of the products of neighbours, each with a key of its own added.
#[inline(always)]
fn sum_of_products(near: &[i32; 32]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { wide::sum_of_products(near) };
    }
    sum_of_products_plain(near)
}

fn sum_of_products_plain(near: &[i32; 32]) -> u64 {
    let keyed = |n: usize| u64::from((near[n] as u32).wrapping_add(WORD_KEYS[n] as u32));
    (0..16).fold(0u64, |sum, n| sum.wrapping_add(keyed(2 * n) * keyed(2 * n + 1)))
}

/// The upper halves of the keys.
const WORD_KEYS: [i32; 32] = {
    let mut keys = [0; 32];
    let mut n = 0;
    while n < 32 {
        keys[n] = (KEYS[n] >> 32) as i32;
        n += 1;
    }
    keys
};

/// The same in vectors: of plain loops compilers make shuffles.
#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// Eight distances.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn eight(list: &[i32; 32], n: usize) -> __m256i {
        let eight: &[i32; 8] = list[8 * n..8 * n + 8].try_into().expect("eight of them");
        // SAFETY: these are 32 bytes.
        unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) }
    }

    /// The lower halves of eight lanes' distances from `base`, and what is not zero if they do not fit.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn eight_distances<const FULL: bool>(
        mask: u32,
        addresses: &[u64; 32],
        base: u64,
        n: usize,
    ) -> (__m256i, __m256i) {
        let lead = addresses[(mask.trailing_zeros() & 31) as usize];
        let (lead, base) = (_mm256_set1_epi64x(lead as i64), _mm256_set1_epi64x(base as i64));
        let four = |n: usize| {
            // SAFETY: four addresses from there on are within the 32.
            let mut all = unsafe { _mm256_loadu_si256(addresses.as_ptr().add(4 * n).cast()) };
            if !FULL {
                let bit = _mm256_setr_epi64x(1, 2, 4, 8);
                let bits = _mm256_and_si256(_mm256_set1_epi64x((mask >> (4 * n)).into()), bit);
                let active = _mm256_cmpeq_epi64(bits, bit);
                all = _mm256_blendv_epi8(lead, all, active);
            }
            _mm256_castsi256_ps(_mm256_sub_epi64(all, base))
        };
        let (low, high) = (four(2 * n), four(2 * n + 1));
        let lower = _mm256_castps_si256(_mm256_shuffle_ps::<0x88>(low, high));
        let upper = _mm256_castps_si256(_mm256_shuffle_ps::<0xdd>(low, high));
        let beyond = _mm256_xor_si256(upper, _mm256_srai_epi32::<31>(lower));
        (_mm256_permute4x64_epi64::<0xd8>(lower), beyond)
    }

    /// [`super::put_distances`]; `FULL`: of all lanes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn put_distances<const FULL: bool>(
        near: &mut [i32; 32],
        mask: u32,
        addresses: &[u64; 32],
        base: u64,
    ) -> bool {
        let mut any = _mm256_setzero_si256();
        for (n, near) in near.chunks_exact_mut(8).enumerate() {
            let (lower, beyond) = eight_distances::<FULL>(mask, addresses, base, n);
            any = _mm256_or_si256(any, beyond);
            // SAFETY: the chunk has 32 bytes.
            unsafe { _mm256_storeu_si256(near.as_mut_ptr().cast(), lower) };
        }
        _mm256_testz_si256(any, any) != 0
    }

    /// [`put_distances`], and whether they were there before.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn renew_distances<const FULL: bool>(
        near: &mut [i32; 32],
        mask: u32,
        addresses: &[u64; 32],
        base: u64,
    ) -> (bool, bool) {
        let (mut any, mut differs) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for n in 0..4 {
            let (lower, beyond) = eight_distances::<FULL>(mask, addresses, base, n);
            any = _mm256_or_si256(any, beyond);
            differs = _mm256_or_si256(differs, _mm256_xor_si256(lower, eight(near, n)));
            // SAFETY: the 32 bytes from there on are within the 32 numbers.
            unsafe { _mm256_storeu_si256(near.as_mut_ptr().add(8 * n).cast(), lower) };
        }
        (_mm256_testz_si256(any, any) != 0, _mm256_testz_si256(differs, differs) != 0)
    }

    /// [`super::has_distances`]; `FULL`: of all lanes.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn has_distances<const FULL: bool>(
        near: &[i32; 32],
        mask: u32,
        addresses: &[u64; 32],
        base: u64,
    ) -> bool {
        let mut any = _mm256_setzero_si256();
        for n in 0..4 {
            let (lower, beyond) = eight_distances::<FULL>(mask, addresses, base, n);
            let differ = _mm256_xor_si256(lower, eight(near, n));
            any = _mm256_or_si256(any, _mm256_or_si256(differ, beyond));
        }
        _mm256_testz_si256(any, any) != 0
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn alike(a: &[i32; 32], b: &[i32; 32]) -> bool {
        let differ = |n| _mm256_xor_si256(eight(a, n), eight(b, n));
        let halves = [_mm256_or_si256(differ(0), differ(1)), _mm256_or_si256(differ(2), differ(3))];
        let all = _mm256_or_si256(halves[0], halves[1]);
        _mm256_testz_si256(all, all) != 0
    }

    /// [`super::sum_of_products`].
    #[inline]
    #[target_feature(enable = "avx2")]
    pub fn sum_of_products(near: &[i32; 32]) -> u64 {
        let products = |n| {
            let keyed = _mm256_add_epi32(eight(near, n), eight(&super::WORD_KEYS, n));
            _mm256_mul_epu32(keyed, _mm256_srli_epi64::<32>(keyed))
        };
        let sums = [
            _mm256_add_epi64(products(0), products(1)),
            _mm256_add_epi64(products(2), products(3)),
        ];
        let sum = _mm256_add_epi64(sums[0], sums[1]);
        let sum = _mm_add_epi64(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
        (_mm_cvtsi128_si64(sum) as u64).wrapping_add(_mm_extract_epi64::<1>(sum) as u64)
    }
}

/// Where all lanes went, by groups of eight neighbours ([`GroupedEvent`]): a shorter name of a pattern.
///
/// Four numbers of 32 bits: the distances of the groups' first lanes from the base. The first is below the period; in its
/// upper byte are the bits of the groups of consecutive elements.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Groups([u64; 2]);

impl Groups {
    /// Of no pattern.
    pub const NONE: Groups = Groups([u64::MAX; 2]);

    /// The groups of an access; none if they are far apart.
    #[inline(always)]
    pub fn of(event: &GroupedEvent, period: u64) -> Option<Groups> {
        let base = event.starts[0] & !(period - 1);
        let mut fits = true;
        let mut start = |n: usize| {
            // SAFETY: it is a reference. Volatile, as a vector of all would wait for the stores of each.
            let start = unsafe { std::ptr::from_ref(&event.starts[n]).read_volatile() };
            let distance = start.wrapping_sub(base) as i64;
            fits &= i64::from(distance as i32) == distance;
            u64::from(distance as u32)
        };
        let first = start(0) | u64::from(event.consecutive) << 24;
        let groups = Groups([first | start(1) << 32, start(2) | start(3) << 32]);
        fits.then_some(groups)
    }

    /// A number for finding the pattern, in the upper bits.
    #[inline(always)]
    pub fn hash(&self) -> u64 {
        let [a, b] = self.0;
        let sum = a.wrapping_mul(KEYS[0]).wrapping_add(b.wrapping_mul(KEYS[1]));
        sum.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of random lanes, near and far, with and without inactive ones.
    #[test]
    fn it_keeps_the_distances_of_active_lanes() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 20
        };
        for n in 0..5000 {
            let mask = if n % 3 == 0 { u32::MAX } else { next() as u32 | 1 << (next() % 32) };
            let bits = 1 + next() % 44;
            let from = next().wrapping_sub(next());
            let addresses: [u64; 32] =
                std::array::from_fn(|_| from.wrapping_add(next() & ((1 << bits) - 1)));
            let base = base_of(mask, &addresses, 256);
            let pattern = Pattern::of(mask, &addresses, base);
            let lead = addresses[mask.trailing_zeros() as usize];
            assert_eq!(base, lead & !255);
            let expected: [u64; 32] = std::array::from_fn(|l| {
                (if mask >> l & 1 != 0 { addresses[l] } else { lead }).wrapping_sub(base)
            });
            assert_eq!(pattern.relative(), expected);
            let is_far = expected.iter().any(|d| i64::from(*d as i32) != *d as i64);
            assert_eq!(pattern.far.is_some(), is_far);
            assert_eq!(sum_of_products(&pattern.near), sum_of_products_plain(&pattern.near));
            let junk =
                std::array::from_fn(|l| if mask >> l & 1 != 0 { addresses[l] } else { next() });
            let same = Pattern::of(mask, &junk, base);
            assert!(same == pattern && same.hash() == pattern.hash());
            assert!(is_far || pattern.is(mask, &junk, base));
            let mut other = addresses;
            other[31 - mask.leading_zeros() as usize] ^= 1 << (next() % 60);
            let moved = base_of(mask, &other, 256);
            assert!(moved != base || !pattern.is(mask, &other, base));
            let other = Pattern::of(mask, &other, moved);
            assert!(other != pattern || moved != base);
            // Whatever it was before.
            let mut again = other;
            let was = again == pattern && !is_far;
            assert_eq!(again.renew(mask, &addresses, base), was);
            assert!(again == pattern && again.hash() == pattern.hash());
            assert_eq!(again.renew(mask, &junk, base), !is_far);
            assert!(again == pattern);
        }
    }
}
