// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ranges of work-items, cut into grids.
//!
//! Whole work-groups are one grid; where the range is no multiple of the work-group in a dimension, the
//! remainder there is a grid of smaller groups. Dimensions beyond the device's grid limits are cut as well.
//! A grid knows of the whole range what `envreg` tells it (`margay-opencl-c/library/work_item.cl` reads it).

use std::sync::Arc;

use margay_opencl_c::Range;
use margay_runtime::launch::{LaunchRequest, RunFailure};
use opencl_sys::{
    CL_INVALID_GLOBAL_OFFSET, CL_INVALID_GLOBAL_WORK_SIZE, CL_INVALID_WORK_DIMENSION,
    CL_INVALID_WORK_GROUP_SIZE, CL_INVALID_WORK_ITEM_SIZE, CL_OUT_OF_RESOURCES,
};

use crate::Result;
use crate::command;
use crate::context::Context;
use crate::kernel::{Captured, Kernel, OnDevice};

/// A part of a range whose groups are all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub first_group: [u32; 3],
    pub groups: [u32; 3],
    pub local: [u32; 3],
}

/// Most groups of a grid in a dimension, of every device.
const MOST_GROUPS: [u64; 3] = [0x7fff_ffff, 0xffff, 0xffff];
/// Group numbers are 32 bits wide.
const MOST_ALL: u64 = 0xffff_fffe;

/// Checks sizes against a kernel and its device; chooses the work-group where none is given.
pub fn check(
    kernel: &Kernel,
    on: &OnDevice,
    offset: Option<&[usize]>,
    global: Option<&[usize]>,
    local: Option<&[usize]>,
    dimensions: u32,
) -> Result<Range> {
    if !(1..=3).contains(&dimensions) {
        return Err(CL_INVALID_WORK_DIMENSION);
    }
    // A range that is not given is empty since OpenCL 2.1, as one with a size of zero.
    let global = global.unwrap_or(&[0]);
    let wide = |list: Option<&[usize]>, rest: u64| {
        let mut out = [rest; 3];
        for (to, from) in out.iter_mut().zip(list.unwrap_or_default()) {
            *to = *from as u64;
        }
        out
    };
    let (global, offset) = (wide(Some(global), 1), wide(offset, 0));
    if global.iter().zip(&offset).any(|(g, o)| g.checked_add(*o).is_none()) {
        return Err(CL_INVALID_GLOBAL_OFFSET);
    }
    let limits = on.device.gpu.limits;
    let required = kernel.info.required_size;
    let local = match local {
        Some(local) => {
            let local = wide(Some(local), 1);
            if local.contains(&0) {
                return Err(CL_INVALID_WORK_GROUP_SIZE);
            }
            // Both errors may hold: PoCL's tests ask for this one.
            let volume = local.iter().try_fold(1u64, |all, n| all.checked_mul(*n));
            if volume.is_none_or(|n| n > u64::from(limits.max_threads_per_block.value)) {
                return Err(CL_INVALID_WORK_GROUP_SIZE);
            }
            let most = &limits.max_block.value;
            if local.iter().zip(most).any(|(n, most)| *n > u64::from(*most)) {
                return Err(CL_INVALID_WORK_ITEM_SIZE);
            }
            local.map(|n| n as u32)
        }
        None => required.unwrap_or_else(|| choose(global, 256, &limits.max_block.value)),
    };
    if required.is_some_and(|r| r != local) {
        return Err(CL_INVALID_WORK_GROUP_SIZE);
    }
    let most = on.function.max_threads().map_err(|_| CL_OUT_OF_RESOURCES)?;
    let volume: u64 = local.iter().map(|n| u64::from(*n)).product();
    if volume > u64::from(most) {
        return Err(CL_INVALID_WORK_GROUP_SIZE);
    }
    let divides = global.iter().zip(local).all(|(g, l)| g.is_multiple_of(u64::from(l)));
    if !divides && !kernel.non_uniform {
        return Err(CL_INVALID_WORK_GROUP_SIZE);
    }
    if global.iter().zip(local).any(|(g, l)| g.div_ceil(u64::from(l)) > MOST_ALL) {
        return Err(CL_INVALID_GLOBAL_WORK_SIZE);
    }
    Ok(Range { dimensions, offset, global, local })
}

/// The grids that make up the range; none if it is empty.
pub fn parts(range: &Range) -> Vec<Part> {
    let pieces: [Vec<(u32, u32, u32)>; 3] = std::array::from_fn(|d| {
        let local = u64::from(range.local[d]);
        let (whole, rest) = (range.global[d] / local, range.global[d] % local);
        let mut out = Vec::new();
        let mut first = 0;
        while first < whole {
            let count = (whole - first).min(MOST_GROUPS[d]);
            out.push((first as u32, count as u32, range.local[d]));
            first += count;
        }
        if rest > 0 {
            out.push((whole as u32, 1, rest as u32));
        }
        out
    });
    let mut out = Vec::new();
    for z in &pieces[2] {
        for y in &pieces[1] {
            for x in &pieces[0] {
                out.push(Part {
                    first_group: [x.0, y.0, z.0],
                    groups: [x.1, y.1, z.1],
                    local: [x.2, y.2, z.2],
                });
            }
        }
    }
    out
}

/// Runs the range to its end.
fn run(range: &Range, context: &Context, on: &OnDevice, captured: &Captured) -> Result<()> {
    let runtime = context.on(&on.device)?;
    for part in parts(range) {
        let request = LaunchRequest {
            grid: part.groups,
            block: part.local,
            cluster: None,
            dynamic_shared: captured.dynamic_local as u32,
            cooperative: false,
            params: captured.params.clone(),
            shared_arguments: captured.local_arguments.clone(),
        };
        let result = runtime.run(&on.function, request, range.environment(part.first_group));
        result.map(drop).map_err(|failure| {
            let text =
                margay_runtime::report::opencl_failure(&on.function, &failure, part.first_group);
            command::report_at_end(text);
            match failure {
                RunFailure::Refused(_)
                | RunFailure::LocalMemory { .. }
                | RunFailure::Stopped(_) => CL_OUT_OF_RESOURCES,
            }
        })?;
    }
    Ok(())
}

/// A work-group of at most `most` items that divides the range.
pub fn choose(global: [u64; 3], most: u32, limits: &[u32; 3]) -> [u32; 3] {
    let mut left = most;
    let mut out = [1; 3];
    for d in 0..3 {
        let cap = left.min(limits[d]);
        // The largest divisor that fits; a power of two times 32 comes out wherever there is one.
        let divides = |n: &u32| global[d].is_multiple_of(u64::from(*n));
        out[d] = (1..=cap).rev().find(divides).unwrap_or(1);
        left /= out[d];
    }
    out
}

/// Keeps what a command needs.
pub struct Launch {
    pub context: Arc<Context>,
    pub on: OnDevice,
    pub range: Range,
    pub captured: Captured,
}

impl Launch {
    pub fn run(self) -> Result<()> {
        run(&self.range, &self.context, &self.on, &self.captured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_grids_of_their_own() {
        let range =
            Range { dimensions: 2, offset: [5, 0, 0], global: [10, 3, 1], local: [4, 2, 1] };
        let parts = parts(&range);
        assert_eq!(parts.len(), 4);
        let items: u64 = parts
            .iter()
            .map(|p| p.groups.iter().zip(p.local).map(|(g, l)| u64::from(g * l)).product::<u64>())
            .sum();
        assert_eq!(items, 30);
        assert_eq!(parts[3], Part { first_group: [2, 1, 0], groups: [1; 3], local: [2, 1, 1] });
        let env = range.environment(parts[1].first_group);
        assert_eq!((env[0], env[3], env[9], env[12], env[15], env[18]), (2, 5, 3, 2, 4, 10));
    }

    #[test]
    fn long_dimensions_are_cut() {
        let range = Range { dimensions: 2, offset: [0; 3], global: [1, 100_000, 1], local: [1; 3] };
        let groups: Vec<u32> = parts(&range).iter().map(|p| p.groups[1]).collect();
        assert_eq!(groups, [0xffff, 100_000 - 0xffff]);
        let none = Range { dimensions: 1, offset: [0; 3], global: [0, 1, 1], local: [1; 3] };
        assert!(parts(&none).is_empty());
    }

    #[test]
    fn chosen_groups_divide() {
        assert_eq!(choose([1000, 1, 1], 256, &[1024, 1024, 64]), [250, 1, 1]);
        assert_eq!(choose([1024, 1024, 1], 256, &[1024, 1024, 64]), [256, 1, 1]);
        assert_eq!(choose([7, 9, 1], 256, &[1024, 1024, 64]), [7, 9, 1]);
    }
}
