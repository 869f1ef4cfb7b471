// SPDX-License-Identifier: MIT OR Apache-2.0
//! Accesses that no other thread of a launch can race with, as their addresses show: what `--check race` need not keep.
//!
//! Of global memory those where no thread of the grid writes what another one reads or writes; of shared memory those where
//! that is so between two barriers of the block. Addresses are sums of block and thread numbers ([`crate::sums`]), and of what
//! loops count or masks let through, which may be any that it can be; one that is none may be anywhere in the allocation that
//! its pointer points into.
//!
//! What the code says is found out once ([`Plan`]); a launch puts its numbers in.
//!
//! Limit: an access whose address is no sum may leave that allocation, by an index that is too large, and meet others in
//! another one: what leaves all that the launch may write can be seen ([`crate::reach::Written`]), this cannot. `--check memory`
//! finds the access itself.

mod bounds;
mod meet;
mod plan;
mod pointers;
mod rounds;

use margay_ir::Space;

use crate::launch::LaunchConfig;
use crate::mem::AddressSpace;
use crate::program::Program;
use crate::reach::root_address;
use crate::sums::{Numbers, Sum, Sums, numbers};

use meet::{Reach, may_meet};
pub(crate) use plan::Plan;
use plan::{Base, Site};
pub(crate) use pointers::pointers;

/// The most pairs of accesses that are compared.
const MOST_PAIRS: usize = 4096;
/// Steps that the searches of a launch take at most, some 10 ns each.
const MOST_STEPS: u32 = 200_000;

/// An access in a launch.
struct Place<'p> {
    site: &'p Site,
    reach: Option<Reach>,
    /// The allocation of global memory that its pointer points into.
    allocation: Option<u64>,
}

/// By address of the code, whether an access races with nothing in this launch; empty if nothing is known.
pub fn alone(program: &Program, config: &LaunchConfig, memory: &AddressSpace) -> Vec<bool> {
    found(program, config, memory).unwrap_or_default()
}

fn found(program: &Program, config: &LaunchConfig, memory: &AddressSpace) -> Option<Vec<bool>> {
    if config.cluster != [1; 3] {
        return None;
    }
    let plan = program.accesses.get_or_init(|| Plan::of(program)).as_ref()?;
    let places = places(plan, program, config, memory)?;
    let mut alone = vec![false; program.code_len() as usize];
    places.iter().filter(|p| p.site.weak).for_each(|p| alone[p.site.pc as usize] = true);
    let (mut pairs, mut left) = (0, MOST_STEPS);
    let mut meet = |a: &Place<'_>, b: &Place<'_>| {
        pairs += 1;
        pairs > MOST_PAIRS || meets(a, b, &mut left)
    };
    let mut compare = |list: &[usize]| {
        for (n, &i) in list.iter().enumerate() {
            for &j in &list[n..] {
                let (a, b) = (&places[i], &places[j]);
                let (x, y) = (a.site.pc as usize, b.site.pc as usize);
                let known = !alone[x] && !alone[y];
                if (a.site.writes || b.site.writes) && !known && meet(a, b) {
                    alone[x] = false;
                    alone[y] = false;
                }
            }
        }
    };
    let is_shared = |n: &usize| places[*n].site.space == Space::Shared;
    let (shared, global): (Vec<usize>, Vec<usize>) = (0..places.len()).partition(is_shared);
    compare(&global);
    match &plan.rounds {
        Some(rounds) => {
            for round in rounds {
                let round: Vec<usize> = round.iter().map(|&k| shared[k]).collect();
                compare(&round);
            }
        }
        None => shared.iter().for_each(|&n| alone[places[n].site.pc as usize] = false),
    }
    Some(alone)
}

/// Where a kernel's accesses go in a launch; `None` if that of one is not known at all.
fn places<'p>(
    plan: &'p Plan,
    program: &Program,
    config: &LaunchConfig,
    memory: &AddressSpace,
) -> Option<Vec<Place<'p>>> {
    let all = numbers(config);
    let of = |numbers| Sums::within_bounds(&plan.steps, config, numbers, program);
    let usual = of(all);
    // Of some threads: neighbouring accesses are mostly the same ones'.
    let mut some: Option<(Numbers, Sums<'_>)> = None;
    let mut found = Vec::with_capacity(plan.sites.len());
    for site in &plan.sites {
        let allocation = || {
            let address = root_address(site.root?, program, config)?;
            memory.find(address).map(|a| a.id)
        };
        let allocation = match site.space {
            Space::Shared => None,
            // Of an OpenCL kernel's parameters some are addresses of shared memory.
            Space::Generic => Some(allocation()?),
            _ => allocation(),
        };
        let mut numbers = all;
        site.conditions.iter().for_each(|c| c.narrow(&mut numbers, &usual));
        let sums = match &mut some {
            _ if numbers == all => &usual,
            // What wraps for others may be a sum for these.
            some => {
                if some.as_ref().is_none_or(|(of, _)| *of != numbers) {
                    *some = Some((numbers, of(numbers)));
                }
                some.as_ref().map_or(&usual, |(_, sums)| sums)
            }
        };
        let sum = match site.base {
            Base::Step(step) => sums.address(step, site.offset),
            Base::Constant(base) => base.checked_add(site.offset).map(Sum::of),
            Base::Unknown => None,
        };
        // A window that is smaller than its addresses.
        let within = |sum: &Sum| {
            site.space != Space::Shared
                || sum.limits(&numbers).is_some_and(|l| l.0 >= 0 && l.1 < 1 << 24)
        };
        let reach = sum.filter(within).map(|sum| Reach { sum, numbers, bytes: site.bytes });
        found.push(Place { site, reach, allocation });
    }
    Some(found)
}

/// Whether one thread's access may touch what another thread's does, within a block if it is of shared memory.
fn meets(a: &Place<'_>, b: &Place<'_>, left: &mut u32) -> bool {
    let shared = a.site.space == Space::Shared;
    if let (Some(x), Some(y)) = (&a.reach, &b.reach) {
        return may_meet(x, y, shared, left);
    }
    match (a.allocation, b.allocation) {
        (Some(x), Some(y)) if !shared => x == y,
        _ => true,
    }
}
