// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the lanes' addresses of an access of compiled code lie to each other.

use std::ops::Range;

use margay_exec::observe::PatternedEvent;

/// Forms that a worker keeps.
const KEPT: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Each lane's bytes begin where those of the lane before end.
    Row,
    /// All lanes access the same bytes.
    Same,
    Other,
}

/// The form of an access of all lanes whose addresses follow from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// From the base to the first byte.
    pub low: i64,
    /// From the first byte to the end of the last.
    pub span: u64,
    pub order: Order,
}

impl Form {
    fn of(pattern: &[i64; 32], bytes: u32) -> Form {
        let low = pattern.iter().copied().min().unwrap_or(0);
        let high = pattern.iter().copied().max().unwrap_or(0);
        let follows = |step: i64| pattern.windows(2).all(|p| p[1] - p[0] == step);
        let order = match () {
            () if follows(i64::from(bytes)) => Order::Row,
            () if follows(0) => Order::Same,
            () => Order::Other,
        };
        Form { low, span: (high - low) as u64 + u64::from(bytes), order }
    }
}

/// The least and the greatest address of the lanes of a mask.
#[inline]
pub fn extent(addresses: &[u64; 32], mask: u32) -> (u64, u64) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { extent_by_vectors(addresses, mask) };
    }
    extent_of_each(addresses, mask)
}

/// The same with comparisons of 64 bits in vectors, which x86-64 has not as such.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn extent_by_vectors(addresses: &[u64; 32], mask: u32) -> (u64, u64) {
    extent_of_each(addresses, mask)
}

#[inline(always)]
fn extent_of_each(addresses: &[u64; 32], mask: u32) -> (u64, u64) {
    // Without branches: masks are of all kinds.
    addresses.iter().enumerate().fold((u64::MAX, 0), |(low, high), (lane, &address)| {
        let on = 0u64.wrapping_sub(u64::from(mask >> lane & 1));
        (low.min(address | !on), high.max(address & on))
    })
}

/// Where something of a site is kept, of so many places.
#[inline]
pub fn place(site: u64, places: usize) -> usize {
    // Sites are addresses of large structures.
    (site >> 4 ^ site >> 10) as usize % places
}

/// The forms of the instructions that a worker met.
pub struct Forms(Vec<(u64, Form)>);

impl Default for Forms {
    fn default() -> Forms {
        let none = Form { low: 0, span: 0, order: Order::Other };
        Forms(vec![(0, none); KEPT])
    }
}

impl Forms {
    /// The form of an access, and the address of its first byte. `None` if lanes are missing, or addresses follow from
    /// two numbers.
    #[inline]
    pub fn find(&mut self, event: &PatternedEvent<'_>) -> Option<(u64, Form)> {
        if event.mask != u32::MAX {
            return None;
        }
        let form = self.of(event)?;
        Some((event.base.wrapping_add_signed(form.low), form))
    }

    /// The memory between the first byte and the last of an access by all lanes; `None` where [`Forms::find`] knows none.
    pub fn span(&mut self, event: &PatternedEvent<'_>) -> Option<Range<u64>> {
        self.find(event).map(|(low, form)| low..low.saturating_add(form.span))
    }

    /// The form of an access if all lanes made it. `None` if addresses follow from two numbers.
    #[inline]
    pub fn of(&mut self, event: &PatternedEvent<'_>) -> Option<Form> {
        if event.second.is_some() {
            return None;
        }
        let kept = &mut self.0[place(event.site, KEPT)];
        if kept.0 != event.site {
            *kept = (event.site, Form::of(event.pattern, event.bytes));
        }
        Some(kept.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extent_of_lanes() {
        let addresses = std::array::from_fn(|l| 1000 - 4 * l as u64);
        assert_eq!(extent(&addresses, 0b1010), (988, 996));
        assert_eq!(extent(&addresses, u32::MAX), (876, 1000));
    }

    #[test]
    fn forms() {
        let row = Form::of(&std::array::from_fn(|l| 4 * l as i64 - 8), 4);
        assert_eq!(row, Form { low: -8, span: 128, order: Order::Row });
        let apart = Form::of(&std::array::from_fn(|l| 4 * l as i64), 2);
        assert_eq!(apart, Form { low: 0, span: 126, order: Order::Other });
        assert_eq!(Form::of(&[4; 32], 8), Form { low: 4, span: 8, order: Order::Same });
        let back = Form::of(&std::array::from_fn(|l| -4 * l as i64), 4);
        assert_eq!((back.low, back.order), (-124, Order::Other));
    }
}
