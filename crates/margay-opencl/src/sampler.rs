// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samplers. There are only so many: each has one handle of the texture unit, bound when the platform is made,
//! whether a program's host or its source describes it.
//!
//! Invariant: a handle's low bits are the bits that clang gives a sampler in the source (`CLK_…` of `opencl-c.h`);
//! `margay-opencl-c/library/scratch.c` forms the same handle.

use std::sync::Arc;

use margay_exec::mem::texture::{
    AddressMode, Filter, Object as UnitObject, Objects, Sampler as How,
};
use opencl_sys::*;

use crate::Result;
use crate::context::Context;
use crate::object::{Id, Object, Table};

/// Above every address.
const HANDLES: u64 = 0x0c15_0000_0000_0000;
/// `CLK_NORMALIZED_COORDS_TRUE`, `CLK_FILTER_NEAREST`, `CLK_FILTER_LINEAR`.
const NORMALIZED: u64 = 1;
const NEAREST: u64 = 0x10;
const LINEAR: u64 = 0x20;

/// The host's word for an addressing mode, `CLK_ADDRESS_…`, and the unit's.
const MODES: [(cl_addressing_mode, u64, AddressMode); 5] = [
    // Coordinates outside are the program's error; the edge is as good as any.
    (CL_ADDRESS_NONE, 0, AddressMode::Clamp),
    (CL_ADDRESS_CLAMP_TO_EDGE, 2, AddressMode::Clamp),
    (CL_ADDRESS_CLAMP, 4, AddressMode::Border),
    (CL_ADDRESS_REPEAT, 6, AddressMode::Wrap),
    (CL_ADDRESS_MIRRORED_REPEAT, 8, AddressMode::Mirror),
];

/// Binds all handles.
pub fn bind_all(objects: &Objects) {
    for (_, mode, address) in MODES {
        for normalized in [0, NORMALIZED] {
            // A source may leave the filter out, which is then the nearest texel.
            for filter in [0, NEAREST, LINEAR] {
                let how = How {
                    address: [address; 3],
                    filter: if filter == LINEAR { Filter::Linear } else { Filter::Point },
                    normalized: normalized != 0,
                    ..How::default()
                };
                objects.bind(HANDLES | mode | normalized | filter, UnitObject::Sampler(how));
            }
        }
    }
}

/// A sampler of the host's.
pub struct Sampler {
    id: Id,
    pub context: Arc<Context>,
    pub normalized: bool,
    pub addressing: cl_addressing_mode,
    pub filter: cl_filter_mode,
    /// `clCreateSamplerWithProperties`'s list with its zero.
    pub listed: Vec<u64>,
}

static SAMPLERS: Table<Sampler> = Table::new();

impl Object for Sampler {
    const INVALID: cl_int = CL_INVALID_SAMPLER;
    fn table() -> &'static Table<Self> {
        &SAMPLERS
    }
    fn id(&self) -> &Id {
        &self.id
    }
}

impl Sampler {
    pub fn new(
        id: Id,
        context: Arc<Context>,
        (normalized, addressing, filter): (bool, cl_addressing_mode, cl_filter_mode),
        listed: Vec<u64>,
    ) -> Sampler {
        Sampler { id, context, normalized, addressing, filter, listed }
    }

    /// Whether both modes exist, and go together.
    pub fn check(
        normalized: bool,
        addressing: cl_addressing_mode,
        filter: cl_filter_mode,
    ) -> Result<()> {
        let known = MODES.iter().any(|m| m.0 == addressing);
        // Repetition is defined for normalised coordinates only.
        let repeats = matches!(addressing, CL_ADDRESS_REPEAT | CL_ADDRESS_MIRRORED_REPEAT);
        let fits = known && matches!(filter, CL_FILTER_NEAREST | CL_FILTER_LINEAR);
        if fits && (normalized || !repeats) { Ok(()) } else { Err(CL_INVALID_VALUE) }
    }

    /// What a kernel gets.
    pub fn argument(&self) -> u64 {
        let mode = MODES.iter().find(|m| m.0 == self.addressing).map_or(0, |m| m.1);
        let filter = if self.filter == CL_FILTER_LINEAR { LINEAR } else { NEAREST };
        HANDLES | mode | filter | u64::from(self.normalized)
    }
}
