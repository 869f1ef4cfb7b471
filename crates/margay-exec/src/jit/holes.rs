// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where accesses of shared memory are not noted but reported, as the watch might turn them away: those that touch one of a
//! few ranges of it. Of each access the code looks up its first address, in a row of bytes that is made here
//! ([`Notes::odd`](margay_codegen::Notes::odd)).
//!
//! Invariant: a row has a byte that is not 0 wherever any lane of the access, there or not, would touch a hole.

use std::ops::Range;

use margay_codegen::WatchedAccess;
use margay_ir::Space;

use super::kernel::Kernel;
use super::watching::AccessSite;
use crate::interp::Cx;

/// How often rows are made anew for other holes: where these are of blocks that differ, that takes longer than reports do.
const MOST_MADE: u32 = 64;
/// Bytes of a word, as a shift.
const WORD: u32 = 2;

/// The rows of a worker's kernels.
#[derive(Default)]
pub struct Holes {
    tables: Vec<Table>,
    made: u32,
}

struct Table {
    of: *const Kernel,
    holes: Vec<Range<u64>>,
    /// Of accesses that are alike one.
    _rows: Vec<Box<[u8]>>,
    /// By access: a row's first byte.
    starts: Vec<*const u8>,
    words: u64,
}

/// An access that wants a row, and its bytes.
type Wanted<'k> = (&'k WatchedAccess, u32);

/// Has the code note accesses from now on but for those that touch these, when it notes any. False if it is to note none.
pub(super) fn set(cx: &mut Cx<'_>, holes: Vec<Range<u64>>) -> bool {
    let of = cx.rooms[0].kernel();
    let tallies = &mut cx.tallies;
    let known = tallies.holes.tables.iter().position(|table| std::ptr::eq(table.of, of));
    let n = match known {
        Some(n) if tallies.holes.tables[n].holes == holes => n,
        _ => {
            // SAFETY: a program keeps its kernels, and the launch its program.
            let Some(kernel) = (unsafe { of.as_ref() }) else { return false };
            if !holes.is_empty() {
                tallies.holes.made += 1;
                if tallies.holes.made > MOST_MADE {
                    return false;
                }
            }
            let sites = &tallies.accesses;
            let table = Table::new(kernel, sites, holes, u64::from(cx.env.shared_size));
            match known {
                Some(n) => tallies.holes.tables[n] = table,
                None => tallies.holes.tables.push(table),
            }
            known.unwrap_or(tallies.holes.tables.len() - 1)
        }
    };
    let table = &tallies.holes.tables[n];
    (tallies.notes.odd, tallies.notes.words) = (table.starts.as_ptr(), table.words);
    true
}

impl Table {
    /// For shared memory of so many bytes.
    fn new(
        kernel: &Kernel,
        sites: &[Option<AccessSite>],
        holes: Vec<Range<u64>>,
        bytes: u64,
    ) -> Table {
        let words = if holes.is_empty() { 0 } else { bytes.div_ceil(1 << WORD) };
        // Of whom: none is of all that touch no hole.
        let mut rows: Vec<(Option<Wanted<'_>>, Box<[u8]>)> = Vec::new();
        let mut numbers = Vec::with_capacity(kernel.watched.len());
        for access in &kernel.watched {
            let site = sites.get(access.pc as usize).copied().flatten();
            let site = site.filter(|site| site.space == Space::Shared && words > 0);
            let wanted = site.map(|site| (access, site.bytes));
            let alike = |(other, _): &(Option<Wanted<'_>>, _)| match (wanted, other) {
                (Some((a, bytes)), Some((b, others))) => a.form == b.form && bytes == *others,
                (None, None) => true,
                (Some(_), None) | (None, Some(_)) => false,
            };
            let known = rows.iter().position(alike);
            numbers.push(known.unwrap_or_else(|| {
                let row = match wanted {
                    Some((access, bytes)) => row(access, bytes, &holes, words),
                    None => vec![0; words as usize + 1].into(),
                };
                rows.push((wanted, row));
                rows.len() - 1
            }));
        }
        let rows: Vec<Box<[u8]>> = rows.into_iter().map(|(_, row)| row).collect();
        let starts = numbers.into_iter().map(|n| rows[n].as_ptr()).collect();
        Table { of: kernel, holes, _rows: rows, starts, words }
    }
}

/// The row of an access of so many bytes a lane.
fn row(access: &WatchedAccess, bytes: u32, holes: &[Range<u64>], words: u64) -> Box<[u8]> {
    let mut row = vec![0; words as usize + 1];
    // What begins beyond the memory is for the watch.
    row[words as usize] = 1;
    // An address that follows from two scalars may be any.
    if access.form.q.is_some() {
        row.fill(1);
        return row.into();
    }
    for hole in holes {
        for &step in &access.form.pat {
            // First addresses from which this lane's bytes end behind where the hole starts, and start before its end.
            let from =
                (hole.start as i64).saturating_sub(step).saturating_sub(i64::from(bytes) - 1);
            let last = (hole.end as i64 - 1).saturating_sub(step);
            if last >= 0 {
                let words = from.max(0) as u64 >> WORD..(last as u64 >> WORD).saturating_add(1);
                let here = words.start as usize..(words.end as usize).min(row.len());
                row.get_mut(here).into_iter().flatten().for_each(|odd| *odd = 1);
            }
        }
    }
    row.into()
}

#[cfg(test)]
mod tests {
    use margay_codegen::{LANES, Pattern};

    use super::*;

    /// Where an access is noted, no lane touches a hole; and where it is not, one is near.
    #[test]
    fn a_row_has_each_place_from_which_a_lane_touches_a_hole() {
        let mut seed = 7u64;
        let mut next = move |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let (mut noted, mut odd) = (0, 0);
        for _ in 0..600 {
            let words = 1 + next(300);
            let size = 4 * words;
            let bytes = [1u32, 2, 4, 8, 16][next(5) as usize];
            let step = [0, i64::from(bytes), -i64::from(bytes), 132, -68][next(5) as usize];
            let form = match next(4) {
                0 => Pattern { pat: std::array::from_fn(|_| next(200) as i64 - 100), q: None },
                _ => Pattern { pat: std::array::from_fn(|lane| step * lane as i64), q: None },
            };
            let holes: Vec<Range<u64>> = (0..1 + next(3))
                .map(|_| {
                    let from = next(size);
                    from..(from + 1 + next(9)).min(size)
                })
                .collect();
            let access = WatchedAccess::told(3, form.clone());
            let row = row(&access, bytes, &holes, words);
            assert_eq!(row.len() as u64, words + 1);
            assert_eq!(row[words as usize], 1, "what is beyond");
            let touches = |base: i64, near: i64| {
                (0..LANES).any(|lane| {
                    let at = base + form.pat[lane];
                    let meets = |hole: &Range<u64>| {
                        at < hole.end as i64 + near
                            && at + i64::from(bytes) + near > hole.start as i64
                    };
                    holes.iter().any(meets)
                })
            };
            for base in 0..size {
                let is_odd = row[(base >> WORD) as usize] != 0;
                assert!(is_odd || !touches(base as i64, 0), "{base}, {holes:?}, {bytes}");
                assert!(!is_odd || touches(base as i64, 3), "{base}, {holes:?}, {bytes}");
                (noted, odd) = (noted + u32::from(!is_odd), odd + u32::from(is_odd));
            }
        }
        assert!(noted > 10_000 && odd > 10_000, "{noted} {odd}");
    }

    /// Of two scalars nobody knows where they lead.
    #[test]
    fn what_follows_from_two_scalars_is_never_noted() {
        let form = Pattern { pat: [0; LANES], q: Some([4; LANES]) };
        let hole = 8..9;
        let row = row(&WatchedAccess::told(3, form), 4, std::slice::from_ref(&hole), 16);
        assert!(row.iter().all(|&odd| odd == 1));
    }
}
