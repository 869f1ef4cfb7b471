// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether two accesses by different threads may touch the same byte.

use crate::sums::{Numbers, Sum};

/// Steps of a search, after which the two are taken to meet.
const PATIENCE: u32 = 2000;

/// Where an access goes: its address, of which threads, and how many bytes from there on.
#[derive(Clone, Debug)]
pub struct Reach {
    pub sum: Sum,
    pub numbers: Numbers,
    pub bytes: i64,
}

/// A whole number with its factor, from a least to a largest one.
#[derive(Clone, Copy)]
struct Term {
    per: i64,
    first: i64,
    last: i64,
    /// It tells two threads apart if it is not 0.
    tells: bool,
}

/// Whether a thread's access by `a` may touch what another thread's by `b` does; `within`: of the same block. `left` are the
/// steps that all searches may take.
pub fn may_meet(a: &Reach, b: &Reach, within: bool, left: &mut u32) -> bool {
    let mut own = PATIENCE.min(*left);
    let before = own;
    let meets = search(a, b, within, &mut own).unwrap_or(true);
    *left -= before - own;
    meets
}

/// As [`may_meet`]; `None` beyond 64 bits.
fn search(a: &Reach, b: &Reach, within: bool, left: &mut u32) -> Option<bool> {
    let own = if within { 3 } else { 0 };
    let mut terms = Vec::with_capacity(12);
    let ends = |reach: &Reach, n: usize| reach.numbers[n];
    // Both know the number of their block.
    for n in 0..own {
        let per = a.sum.per[n].checked_sub(b.sum.per[n])?;
        let (first, last) = ends(a, n);
        terms.push(Term { per, first, last, tells: false });
    }
    // With factors alike it is the distance of two threads that counts, and any other than 0 are two.
    let alike = a.sum.per[own..] == b.sum.per[own..];
    for n in own..6 {
        let (from, to) = (ends(a, n), ends(b, n));
        if alike {
            let (first, last) = (from.0.checked_sub(to.1)?, from.1.checked_sub(to.0)?);
            terms.push(Term { per: a.sum.per[n], first, last, tells: true });
        } else {
            terms.push(Term { per: a.sum.per[n], first: from.0, last: from.1, tells: false });
            let per = b.sum.per[n].checked_neg()?;
            terms.push(Term { per, first: to.0, last: to.1, tells: false });
        }
    }
    // Whatever one has of these, the other may have any.
    for own in &a.sum.any {
        terms.push(Term { per: own.per, first: 0, last: own.last, tells: false });
    }
    for own in &b.sum.any {
        let per = own.per.checked_neg()?;
        terms.push(Term { per, first: 0, last: own.last, tells: false });
    }
    if terms.iter().any(|t| t.first > t.last) {
        // Nobody makes one of the two.
        return Some(false);
    }
    // What does not count for the address may still be another thread's.
    let free = |t: &Term| t.per == 0 && t.tells && (t.first, t.last) != (0, 0);
    let others = !alike || terms.iter().any(free);
    terms.retain(|t| t.per != 0 && (t.first, t.last) != (0, 0));
    terms.sort_by_key(|t| std::cmp::Reverse(t.per.unsigned_abs()));
    // How far those from each on reach.
    let mut reach = vec![(0i64, 0i64); terms.len() + 1];
    for (n, t) in terms.iter().enumerate().rev() {
        let (x, y) = (t.per.checked_mul(t.first)?, t.per.checked_mul(t.last)?);
        let (low, high) = reach[n + 1];
        reach[n] = (low.checked_add(x.min(y))?, high.checked_add(x.max(y))?);
    }
    let distance = a.sum.constant.checked_sub(b.sum.constant)?;
    let wanted = (1 - a.bytes, b.bytes - 1);
    reaches(&terms, &reach, distance, wanted, others, left)
}

/// Whether some choice of the terms' numbers leads from `at` to a place in `wanted`; not by zeros alone unless `others`.
fn reaches(
    terms: &[Term],
    reach: &[(i64, i64)],
    at: i64,
    wanted: (i64, i64),
    others: bool,
    left: &mut u32,
) -> Option<bool> {
    *left = left.checked_sub(1)?;
    let Some((term, rest)) = terms.split_first() else {
        return Some(others && (wanted.0..=wanted.1).contains(&at));
    };
    // What the others can make up for.
    let (low, high) = reach[1];
    let from = wanted.0.checked_sub(at)?.checked_sub(high)?;
    let to = wanted.1.checked_sub(at)?.checked_sub(low)?;
    let size = term.per.checked_abs()?;
    let (from, to) =
        if term.per > 0 { (from, to) } else { (to.checked_neg()?, from.checked_neg()?) };
    let first = -(from.checked_neg()?.div_euclid(size));
    let (first, last) = (first.max(term.first), to.div_euclid(size).min(term.last));
    let mut n = first;
    while n <= last {
        let next = at.checked_add(term.per.checked_mul(n)?)?;
        let others = others || term.tells && n != 0;
        if reaches(rest, &reach[1..], next, wanted, others, left)? {
            return Some(true);
        }
        n += 1;
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(constant: i64, per: [i64; 6], block: i64, bytes: i64) -> Reach {
        let numbers = [(0, 2), (0, 1), (0, 0), (0, block - 1), (0, 2), (0, 0)];
        Reach { sum: Sum { constant, per, ..Sum::default() }, numbers, bytes }
    }

    fn meet(a: &Reach, b: &Reach, within: bool) -> bool {
        may_meet(a, b, within, &mut 10_000)
    }

    /// Thread by thread.
    fn truth(a: &Reach, b: &Reach, within: bool) -> bool {
        let all = |r: &Reach| {
            let mut found = vec![[0i64; 6]];
            for n in 0..6 {
                let (first, last) = r.numbers[n];
                let more = |t: &[i64; 6]| {
                    let t = *t;
                    (first..=last).map(move |v| {
                        let mut t = t;
                        t[n] = v;
                        t
                    })
                };
                found = found.iter().flat_map(more).collect();
            }
            let at =
                |t: &[i64; 6]| r.sum.constant + (0..6).map(|n| r.sum.per[n] * t[n]).sum::<i64>();
            found.into_iter().map(|t| (t, at(&t))).collect::<Vec<_>>()
        };
        let (of_a, of_b) = (all(a), all(b));
        of_a.iter().any(|(t, x)| {
            of_b.iter().any(|(u, y)| {
                t != u && (!within || t[..3] == u[..3]) && *x < y + b.bytes && *y < x + a.bytes
            })
        })
    }

    #[test]
    fn who_never_meets_does_not_meet() {
        let mut state = 7u64;
        let mut one_of = |list: &[i64]| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            list[(state >> 33) as usize % list.len()]
        };
        let (mut apart, mut exact) = (0, 0);
        for _ in 0..2000 {
            let mut per = || {
                [
                    one_of(&[0, 16, 32, -16]),
                    one_of(&[0, 48, 96]),
                    0,
                    one_of(&[0, 4, 4, 4, 8, -4]),
                    one_of(&[0, 16, 96, 12]),
                    0,
                ]
            };
            let (p, mut q) = (per(), per());
            if one_of(&[0, 1]) == 0 {
                q = p;
            }
            let (x, y) = (4 * one_of(&[0, 1, 2, 5, 40]), 4 * one_of(&[0, 3, 7]));
            let (a, mut b) = (reach(x, p, 4, one_of(&[1, 4, 8])), reach(y, q, 4, 4));
            b.numbers[3].0 = one_of(&[0, 0, 2]);
            let within = one_of(&[0, 1]) == 1;
            let (found, truth) = (meet(&a, &b, within), truth(&a, &b, within));
            assert!(found || !truth, "{a:?} {b:?} {within}");
            apart += usize::from(!found);
            exact += usize::from(found == truth);
        }
        assert!(apart > 300 && exact > 1500, "{apart} apart, {exact} exact");
    }

    #[test]
    fn a_long_row_is_each_threads_own() {
        let numbers = [(0, 1 << 20), (0, 0), (0, 0), (0, 255), (0, 0), (0, 0)];
        let row = Reach {
            sum: Sum { constant: 1 << 40, per: [1024, 0, 0, 4, 0, 0], ..Sum::default() },
            numbers,
            bytes: 4,
        };
        assert!(!meet(&row, &row, false));
        let right = Reach { sum: Sum { constant: (1 << 40) + 4, ..row.sum }, ..row.clone() };
        assert!(meet(&row, &right, false));
        // Who has no steps left does not know.
        assert!(may_meet(&row, &row, false, &mut 0));
        let far = Reach { sum: Sum { constant: 1 << 50, ..row.sum }, ..row.clone() };
        assert!(!meet(&row, &far, false));
    }
}
