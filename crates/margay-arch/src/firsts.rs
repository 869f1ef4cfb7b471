// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which lanes are the first at their value: what sectors, words and addresses are counted by.
//!
//! Accesses whose addresses follow from data never come twice, so this runs once or twice for each. It compares all pairs of
//! lanes, in vectors, and the narrower the range of the values the more lanes a vector holds.

use crate::access::{lanes, turns};

/// For each distinct value that lanes of the mask have, the lowest of its lanes. The `shift` lowest bits of values do not count.
#[inline]
pub fn first_of(mask: u32, values: &[u64; 32], shift: u32) -> u32 {
    if mask == 0 {
        return 0;
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { wide::first_of(mask, values, shift) };
    }
    far(mask, values, shift)
}

/// A bit for each place that lanes of the mask are at: their values without the `shift` lowest bits, modulo `places`, a power of
/// two up to 64.
#[inline]
pub(crate) fn places_of(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { wide::places_of(mask, values, shift, places) };
    }
    places_of_plain(mask, values, shift, places)
}

/// The most different values at one place: without their `shift` lowest bits, modulo `places`, a power of two up to 32.
#[inline]
pub(crate) fn deepest_of(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> u32 {
    if mask == 0 {
        return 0;
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { wide::deepest_of(mask, values, shift, places) };
    }
    deepest_of_plain(mask, values, shift, places)
}

/// The most lanes at one place, whatever their values: as for [`deepest_of`].
#[inline]
pub(crate) fn fullest_of(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { wide::fullest_of(mask, values, shift, places) };
    }
    fullest_of_plain(mask, values, shift, places)
}

fn fullest_of_plain(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> u32 {
    let mut lanes_at = [0u8; 32];
    for lane in lanes(mask) {
        lanes_at[(values[lane] >> shift) as usize & (places as usize - 1) & 31] += 1;
    }
    lanes_at.into_iter().max().unwrap_or(0).into()
}

fn deepest_of_plain(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> u32 {
    let mut depths = [0u8; 32];
    for lane in lanes(first_of(mask, values, shift)) {
        depths[(values[lane] >> shift) as usize & (places as usize - 1) & 31] += 1;
    }
    depths.into_iter().max().unwrap_or(0).into()
}

fn places_of_plain(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> u64 {
    let place = |lane: usize| (values[lane] >> shift) as u32 & (places - 1);
    lanes(mask).fold(0, |used, lane| used | 1 << place(lane))
}

/// For values in a range of any size.
#[cold]
fn far(mask: u32, values: &[u64; 32], shift: u32) -> u32 {
    turns::<64>(mask, |lane| {
        let value = values[lane] >> shift;
        ((value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u32, value)
    })
    .1
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// [`super::first_of`] for a mask that is not empty.
    #[target_feature(enable = "avx2")]
    pub fn first_of(mask: u32, values: &[u64; 32], shift: u32) -> u32 {
        match from_lead(mask, values, shift) {
            Some((own, bits)) => firsts(mask, own, bits),
            None => super::far(mask, values, shift),
        }
    }

    /// [`super::deepest_of`] for a mask that is not empty.
    #[target_feature(enable = "avx2")]
    pub fn deepest_of(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> u32 {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512vpopcntdq")
            // SAFETY: the processor has all three.
            && let Some(most) = unsafe { deepest_at_once(mask, values, shift, places) }
        {
            return most;
        }
        let near = match mask {
            u32::MAX => deepest_near::<true>(mask, values, shift, places),
            _ => deepest_near::<false>(mask, values, shift, places),
        };
        if let Some(most) = near {
            return most;
        }
        let Some((own, bits)) = from_lead(mask, values, shift) else {
            return super::deepest_of_plain(mask, values, shift, places);
        };
        // What differs from the first active one's value by the same number of places is at the same place.
        let below = _mm256_set1_epi32(places as i32 - 1);
        let place = own.map(|own| _mm256_and_si256(own, below));
        let halves = _mm256_packus_epi16(narrow(place[0], place[1]), narrow(place[2], place[3]));
        let places = _mm256_permute4x64_epi64::<0xd8>(halves);
        // No other lane is at that of one that is not a first.
        most_at_one(places, bytes_of(firsts(mask, own, bits)))
    }

    /// [`super::deepest_of`] for a mask that is not empty, `FULL` if that is all lanes; none where values are large. Which lane is where
    /// does not matter, so halves of vectors need not be put in order.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn deepest_near<const FULL: bool>(
        mask: u32,
        values: &[u64; 32],
        shift: u32,
        places: u32,
    ) -> Option<u32> {
        let shift_by = _mm_cvtsi32_si128(shift as i32);
        let lead = _mm256_set1_epi64x(values[(mask.trailing_zeros() & 31) as usize] as i64);
        let mut all = _mm256_setzero_si256();
        let mut four = |n: usize| {
            // SAFETY: four values from there on are within the 32.
            let mut v = unsafe { _mm256_loadu_si256(values.as_ptr().add(4 * n).cast()) };
            if !FULL {
                // Once more what is there already changes nothing.
                v = _mm256_blendv_epi8(lead, v, lanes(mask >> (4 * n)));
            }
            let v = _mm256_srl_epi64(v, shift_by);
            all = _mm256_or_si256(all, v);
            _mm256_castsi256_ps(v)
        };
        let mut eight =
            |n: usize| _mm256_castps_si256(_mm256_shuffle_ps::<0x88>(four(2 * n), four(2 * n + 1)));
        let mut sixteen = |n: usize| _mm256_packus_epi32(eight(2 * n), eight(2 * n + 1));
        let own = [sixteen(0), sixteen(1)];
        if _mm256_testz_si256(all, _mm256_set1_epi64x(!0x7fff)) == 0 {
            return None;
        }
        let [low, high] = repeats(own, _mm256_set1_epi16(-1));
        let below = _mm256_set1_epi16(places as i16 - 1);
        let place = own.map(|own| _mm256_and_si256(own, below));
        let firsts = _mm256_xor_si256(_mm256_packs_epi16(low, high), _mm256_set1_epi8(-1));
        Some(most_at_one(_mm256_packus_epi16(place[0], place[1]), firsts))
    }

    /// All ones in those of two vectors of 16 bits that have a value of one before them, or that of `nowhere` before them all.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn repeats(own: [__m256i; 2], nowhere: __m256i) -> [__m256i; 2] {
        let before = [halves_before(nowhere, own[0]), halves_before(own[0], own[1])];
        let same = |any, own, all: &[__m256i]| {
            let like =
                |any, before: &__m256i| _mm256_or_si256(any, _mm256_cmpeq_epi16(own, *before));
            all.iter().fold(any, like)
        };
        let zero = _mm256_setzero_si256();
        let high = same(zero, own[1], &before[1][1..]);
        [same(zero, own[0], &before[0][1..]), same(high, own[1], &before[0])]
    }

    /// [`super::deepest_of`] for a mask that is not empty, by vectors of 16; none where values are far apart.
    #[inline]
    #[target_feature(enable = "avx2,avx512f,avx512cd,avx512vpopcntdq")]
    fn deepest_at_once(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> Option<u32> {
        let lead = mask.trailing_zeros() & 31;
        let shift_by = _mm_cvtsi32_si128(shift as i32);
        let lead_value = _mm512_set1_epi64((values[lead as usize] >> shift) as i64);
        // What differs in a value from the first active one's. Inactive lanes have 0, as that one has.
        let eight = |n: usize| {
            // SAFETY: eight values from there on are within the 32.
            let v = unsafe { _mm512_loadu_si512(values.as_ptr().add(8 * n).cast()) };
            let v = _mm512_srl_epi64(v, shift_by);
            _mm512_maskz_xor_epi64((mask >> (8 * n)) as u8, v, lead_value)
        };
        let all = [eight(0), eight(1), eight(2), eight(3)];
        let any = _mm512_or_si512(_mm512_or_si512(all[0], all[1]), _mm512_or_si512(all[2], all[3]));
        let far = _mm512_set1_epi64(!0x7fff_ffff);
        if _mm512_test_epi64_mask(any, far) != 0 {
            return None;
        }
        let narrow = |low, high| {
            let low = _mm512_castsi256_si512(_mm512_cvtepi64_epi32(low));
            _mm512_inserti64x4::<1>(low, _mm512_cvtepi64_epi32(high))
        };
        let (low, high) = (narrow(all[0], all[1]), narrow(all[2], all[3]));
        let repeats = |v| {
            let before = _mm512_conflict_epi32(v);
            u32::from(_mm512_test_epi32_mask(before, before))
        };
        // Lanes that are the first at their value. Those that are not are at no place: each at one of its own.
        let first = |repeated: u32| mask & !repeated | 1 << lead;
        let nowhere = _mm512_or_si512(
            _mm512_set1_epi32(i32::MIN),
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
        );
        let low_firsts = first(repeats(low)) as u16;
        let low = _mm512_mask_mov_epi32(nowhere, low_firsts, low);
        // For each lane of the upper half: whether one of the lower half has its value, and how many are at its place.
        let place = _mm512_set1_epi32(i32::MIN | (places as i32 - 1));
        let (mut least, mut at_place) = (_mm512_set1_epi32(-1), _mm512_setzero_si512());
        let one = _mm512_set1_epi32(1);
        macro_rules! turned {
            ($($by:literal)*) => { $(
                let differs = _mm512_xor_si512(_mm512_alignr_epi32::<$by>(low, low), high);
                least = _mm512_min_epu32(least, differs);
                let same = _mm512_testn_epi32_mask(differs, place);
                at_place = _mm512_mask_add_epi32(at_place, same, at_place, one);
            )* };
        }
        turned!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        let again = u32::from(_mm512_testn_epi32_mask(least, least));
        let high_firsts = (first((repeats(high) | again) << 16) >> 16) as u16;
        let high = _mm512_mask_mov_epi32(nowhere, high_firsts, high);
        let before = |v| _mm512_popcnt_epi32(_mm512_conflict_epi32(_mm512_and_si512(v, place)));
        let most = |lanes, v| _mm512_reduce_max_epu32(_mm512_maskz_mov_epi32(lanes, v));
        let high_before = _mm512_add_epi32(at_place, before(high));
        Some(1 + most(low_firsts, before(low)).max(most(high_firsts, high_before)))
    }

    /// [`super::fullest_of`].
    #[target_feature(enable = "avx2")]
    pub fn fullest_of(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> u32 {
        if mask == 0 {
            return 0;
        }
        let shift_by = _mm_cvtsi32_si128(shift as i32);
        let below = _mm256_set1_epi64x(i64::from(places - 1));
        let eight = |n: usize| {
            let four = |n: usize| {
                // SAFETY: four values from there on are within the 32.
                let v = unsafe { _mm256_loadu_si256(values.as_ptr().add(4 * n).cast()) };
                _mm256_castsi256_ps(_mm256_and_si256(_mm256_srl_epi64(v, shift_by), below))
            };
            let lower = _mm256_shuffle_ps::<0x88>(four(2 * n), four(2 * n + 1));
            _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(lower))
        };
        let halves = _mm256_packus_epi16(narrow(eight(0), eight(1)), narrow(eight(2), eight(3)));
        most_at_one(_mm256_permute4x64_epi64::<0xd8>(halves), bytes_of(mask))
    }

    /// The most of those lanes, of which there is one at least, that are at one place: bytes below 32.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn most_at_one(places: __m256i, lanes: __m256i) -> u32 {
        // No other lane is at that of one that does not count.
        let nowhere = _mm256_set1_epi8(-1);
        let others = _mm256_blendv_epi8(nowhere, places, lanes);
        let own = _mm256_blendv_epi8(_mm256_set1_epi8(-2), places, lanes);
        let mut before_it = _mm256_setzero_si256();
        for before in &bytes_before(nowhere, others)[1..] {
            before_it = _mm256_sub_epi8(before_it, _mm256_cmpeq_epi8(own, *before));
        }
        let (low, high) =
            (_mm256_castsi256_si128(before_it), _mm256_extracti128_si256::<1>(before_it));
        // There is a minimum of halves only, which are those of pairs here.
        let most = _mm_max_epu8(low, high);
        let most = _mm_max_epu8(most, _mm_srli_epi16::<8>(most));
        let least = _mm_minpos_epu16(_mm_sub_epi16(
            _mm_set1_epi16(0xff),
            _mm_and_si128(most, _mm_set1_epi16(0xff)),
        ));
        256 - (_mm_cvtsi128_si32(least) as u32 & 0xffff)
    }

    /// All ones in the bytes of a mask's bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bytes_of(mask: u32) -> __m256i {
        let which = _mm256_setr_epi64x(
            0,
            0x0101_0101_0101_0101,
            0x0202_0202_0202_0202,
            0x0303_0303_0303_0303,
        );
        let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
        let spread = _mm256_shuffle_epi8(_mm256_set1_epi32(mask as i32), which);
        _mm256_cmpeq_epi8(_mm256_and_si256(spread, bit), bit)
    }

    /// In so many bits numbers differ, if they do.
    #[derive(Clone, Copy)]
    enum Bits {
        Byte,
        Half,
        Word,
    }

    /// The lanes that are the first at theirs of these numbers.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn firsts(mask: u32, own: [__m256i; 4], bits: Bits) -> u32 {
        let narrow = matches!(bits, Bits::Byte);
        if !narrow && is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512cd") {
            // SAFETY: the processor has both.
            let repeated = unsafe { words_at_once(own) };
            return mask & !repeated | 1 << (mask.trailing_zeros() & 31);
        }
        narrow_firsts(mask, own, bits)
    }

    /// [`firsts`] without AVX-512.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn narrow_firsts(mask: u32, own: [__m256i; 4], bits: Bits) -> u32 {
        let repeated = match bits {
            Bits::Byte => bytes(own),
            Bits::Half => halves(own),
            Bits::Word => words(own),
        };
        mask & !repeated | 1 << (mask.trailing_zeros() & 31)
    }

    /// [`super::first_of`] and [`super::deepest_of`] as processors without AVX-512 find them, where values are near.
    #[cfg(test)]
    #[target_feature(enable = "avx2")]
    pub fn without_more(
        mask: u32,
        values: &[u64; 32],
        shift: u32,
        places: u32,
    ) -> (Option<u32>, Option<u32>) {
        let firsts =
            from_lead(mask, values, shift).map(|(own, bits)| narrow_firsts(mask, own, bits));
        (firsts, deepest_near::<false>(mask, values, shift, places))
    }

    /// How far values are from the first active one's, which inactive lanes have too, without the `shift` lowest bits; none if
    /// that takes more than 32 bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn from_lead(mask: u32, values: &[u64; 32], shift: u32) -> Option<([__m256i; 4], Bits)> {
        let lead = mask.trailing_zeros() & 31;
        let shift_by = _mm_cvtsi32_si128(shift as i32);
        // Values may be a little below the first active one's, and shifts are of numbers without a sign.
        const BEFORE: u64 = 1 << 48;
        let start = (values[lead as usize] >> shift << shift).wrapping_sub(BEFORE);
        let start_by = _mm256_set1_epi64x(start as i64);
        let before_by = _mm256_set1_epi64x((BEFORE >> shift) as i64);
        // From the first active one on: that has 0, like what is before lane 0, and so have inactive ones.
        let from = |four: usize| {
            // SAFETY: four values from there on are within the 32.
            let v = unsafe { _mm256_loadu_si256(values.as_ptr().add(4 * four).cast()) };
            let v = _mm256_srl_epi64(_mm256_sub_epi64(v, start_by), shift_by);
            let v = _mm256_sub_epi64(v, before_by);
            _mm256_castsi256_ps(_mm256_and_si256(v, lanes(mask >> (4 * four))))
        };
        let zero = _mm256_setzero_si256();
        let (mut own, mut beyond) = ([zero; 4], zero);
        // Bits that are set if numbers are not within 7 or 15 bits, and a sign.
        let (mut byte, mut half) = (zero, zero);
        for (eight, own) in own.iter_mut().enumerate() {
            let (a, b) = (from(2 * eight), from(2 * eight + 1));
            let lower = _mm256_castps_si256(_mm256_shuffle_ps::<0x88>(a, b));
            let upper = _mm256_castps_si256(_mm256_shuffle_ps::<0xdd>(a, b));
            let signs = _mm256_srai_epi32::<31>(lower);
            beyond = _mm256_or_si256(beyond, _mm256_xor_si256(upper, signs));
            byte = _mm256_or_si256(byte, _mm256_add_epi32(lower, _mm256_set1_epi32(1 << 7)));
            half = _mm256_or_si256(half, _mm256_add_epi32(lower, _mm256_set1_epi32(1 << 15)));
            *own = _mm256_permute4x64_epi64::<0xd8>(lower);
        }
        let has = |v: __m256i, bits: i32| _mm256_testz_si256(v, _mm256_set1_epi32(bits)) == 0;
        if has(beyond, !0) {
            None
        } else if !has(byte, !0xff) {
            Some((own, Bits::Byte))
        } else if !has(half, !0xffff) {
            Some((own, Bits::Half))
        } else {
            Some((own, Bits::Word))
        }
    }

    /// [`super::places_of`].
    #[target_feature(enable = "avx2")]
    pub fn places_of(mask: u32, values: &[u64; 32], shift: u32, places: u32) -> u64 {
        let shift_by = _mm_cvtsi32_si128(shift as i32);
        let (below, one) = (_mm256_set1_epi64x(i64::from(places - 1)), _mm256_set1_epi64x(1));
        let mut used = _mm256_setzero_si256();
        for four in 0..8 {
            // SAFETY: four values from there on are within the 32.
            let v = unsafe { _mm256_loadu_si256(values.as_ptr().add(4 * four).cast()) };
            let place = _mm256_and_si256(_mm256_srl_epi64(v, shift_by), below);
            let bit = _mm256_and_si256(_mm256_sllv_epi64(one, place), lanes(mask >> (4 * four)));
            used = _mm256_or_si256(used, bit);
        }
        let two = _mm_or_si128(_mm256_castsi256_si128(used), _mm256_extracti128_si256::<1>(used));
        (_mm_cvtsi128_si64(two) | _mm_extract_epi64::<1>(two)) as u64
    }

    /// All ones in those of four lanes that are in a mask.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn lanes(mask: u32) -> __m256i {
        let bit = _mm256_setr_epi64x(1, 2, 4, 8);
        _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(mask.into()), bit), bit)
    }

    /// The lower halves of two vectors of words, in order.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn narrow(low: __m256i, high: __m256i) -> __m256i {
        let half = _mm256_set1_epi32(0xffff);
        let both = _mm256_packus_epi32(_mm256_and_si256(low, half), _mm256_and_si256(high, half));
        _mm256_permute4x64_epi64::<0xd8>(both)
    }

    /// Values that differ in their lowest 8 bits, or not at all: the lanes that have a value of a lane before them, or that of
    /// the zeros before them all.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn bytes(own: [__m256i; 4]) -> u32 {
        let byte = _mm256_set1_epi16(0xff);
        let low = _mm256_and_si256(narrow(own[0], own[1]), byte);
        let high = _mm256_and_si256(narrow(own[2], own[3]), byte);
        let own = _mm256_permute4x64_epi64::<0xd8>(_mm256_packus_epi16(low, high));
        let mut any = _mm256_setzero_si256();
        for before in &bytes_before(any, own)[1..] {
            any = _mm256_or_si256(any, _mm256_cmpeq_epi8(own, *before));
        }
        _mm256_movemask_epi8(any) as u32
    }

    /// [`bytes`] for 16 bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(own: [__m256i; 4]) -> u32 {
        let own = [narrow(own[0], own[1]), narrow(own[2], own[3])];
        let any = repeats(own, _mm256_setzero_si256());
        let both = _mm256_packs_epi16(any[0], any[1]);
        _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0xd8>(both)) as u32
    }

    /// [`bytes`] for 32 bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn words(own: [__m256i; 4]) -> u32 {
        let zero = _mm256_setzero_si256();
        let before = [
            words_before(zero, own[0]),
            words_before(own[0], own[1]),
            words_before(own[1], own[2]),
            words_before(own[2], own[3]),
        ];
        let mut mask = 0;
        for (n, own) in own.into_iter().enumerate() {
            let all = before[n][1..].iter().chain(before[..n].as_flattened());
            let like =
                |any, before: &__m256i| _mm256_or_si256(any, _mm256_cmpeq_epi32(own, *before));
            let any = all.fold(zero, like);
            mask |= (_mm256_movemask_ps(_mm256_castsi256_ps(any)) as u32) << (8 * n);
        }
        mask
    }

    /// [`bytes`] for 32 bits, by vectors of 16; the zeros before them all do not count.
    #[inline]
    #[target_feature(enable = "avx2,avx512f,avx512cd")]
    fn words_at_once(own: [__m256i; 4]) -> u32 {
        let both = |low, high| _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
        let (low, high) = (both(own[0], own[1]), both(own[2], own[3]));
        let repeats = |v| {
            let before = _mm512_conflict_epi32(v);
            u32::from(_mm512_test_epi32_mask(before, before))
        };
        // Zero where the upper half has a value of the lower one.
        let mut least = _mm512_xor_si512(low, high);
        macro_rules! turned {
            ($($by:literal)*) => { $(
                let turned = _mm512_alignr_epi32::<$by>(low, low);
                least = _mm512_min_epu32(least, _mm512_xor_si512(turned, high));
            )* };
        }
        turned!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        let again = u32::from(_mm512_testn_epi32_mask(least, least));
        repeats(low) | (repeats(high) | again) << 16
    }

    /// A function that gives the vectors that begin each one element more before `own`, from that itself on, where `other` is before
    /// it. None goes by way of memory, where a vector that was stored in two parts has to be waited for.
    macro_rules! before {
        ($name:ident, $count:literal of $bytes:literal: $($near:literal)*, $($far:literal)*) => {
            #[inline]
            #[target_feature(enable = "avx2")]
            fn $name(other: __m256i, own: __m256i) -> [__m256i; $count] {
                let half = _mm256_permute2x128_si256::<0x21>(other, own);
                [
                    own,
                    $(_mm256_alignr_epi8::<{ 16 - $near * $bytes }>(own, half),)*
                    half,
                    $(_mm256_alignr_epi8::<{ 32 - $far * $bytes }>(half, other),)*
                ]
            }
        };
    }
    before!(bytes_before, 32 of 1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15,
        17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    before!(halves_before, 16 of 2: 1 2 3 4 5 6 7, 9 10 11 12 13 14 15);
    before!(words_before, 8 of 4: 1 2 3, 5 6 7);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of 8, 16, 32 and 64 bits, with few and with many of them alike.
    #[test]
    fn each_value_has_one_first_lane() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 17
        };
        for n in 0..20_000u32 {
            let mask = match n % 4 {
                0 => u32::MAX,
                1 => 1 << (next() % 32),
                2 => next() as u32 & next() as u32,
                _ => next() as u32,
            };
            let (range, apart, shift) = (1 + next() % 60, next() % 48, (n / 4) % 7);
            // Anywhere, or small as in shared memory.
            let base = match n % 3 {
                0 => 0,
                _ => (next() & !0xff).wrapping_sub(if n % 8 < 4 { 0 } else { 1 << 46 }),
            };
            let values: [u64; 32] =
                std::array::from_fn(|_| base.wrapping_add((next() % range) << apart));
            let of = |lane: usize| values[lane] >> shift;
            let first = |lane: usize| {
                mask >> lane & 1 != 0 && !(0..lane).any(|l| mask >> l & 1 != 0 && of(l) == of(lane))
            };
            let expected = (0..32).fold(0, |m, lane| m | u32::from(first(lane)) << lane);
            assert_eq!(first_of(mask, &values, shift), expected, "{mask:#x} {values:x?} {shift}");
            if mask != 0 {
                assert_eq!(far(mask, &values, shift), expected);
            }
            for places in [8, 16, 32, 64] {
                let used = places_of_plain(mask, &values, shift, places);
                assert_eq!(places_of(mask, &values, shift, places), used);
                if places > 32 {
                    continue;
                }
                let depth = |place| {
                    let at = |lane: usize| of(lane) % u64::from(places) == place;
                    lanes(expected).filter(|&lane| at(lane)).count() as u32
                };
                let deepest = (0..places.into()).map(depth).max();
                assert_eq!(Some(deepest_of(mask, &values, shift, places)), deepest);
                #[cfg(target_arch = "x86_64")]
                if mask != 0 && is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    let found = unsafe { wide::without_more(mask, &values, shift, places) };
                    assert!(found.0.is_none_or(|firsts| firsts == expected));
                    assert!(found.1.is_none_or(|most| Some(most) == deepest));
                    let small = lanes(mask).all(|lane| of(lane) < 1 << 15);
                    assert_eq!(found.1.is_some(), small, "{mask:#x} {values:x?} {shift}");
                }
                assert_eq!(Some(deepest_of_plain(mask, &values, shift, places)), deepest);
                let fullest = fullest_of_plain(mask, &values, shift, places);
                assert_eq!(fullest_of(mask, &values, shift, places), fullest);
            }
        }
    }
}
