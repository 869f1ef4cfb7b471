// SPDX-License-Identifier: MIT OR Apache-2.0
//! What work-items read of the range that they belong to.

/// A range of work-items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub dimensions: u32,
    pub offset: [u64; 3],
    pub global: [u64; 3],
    /// Of a whole work-group.
    pub local: [u32; 3],
}

impl Range {
    /// The environment registers of a grid that begins with the work-group `first`, as
    /// `library/work_item.cl` reads them.
    pub fn environment(&self, first: [u32; 3]) -> [u32; 32] {
        let mut env = [0; 32];
        env[0] = self.dimensions;
        // 1 and 2 are the cooperative grid's.
        for (d, first) in first.into_iter().enumerate() {
            let wide = |env: &mut [u32; 32], at: usize, value: u64| {
                env[at + 2 * d] = value as u32;
                env[at + 2 * d + 1] = (value >> 32) as u32;
            };
            wide(&mut env, 3, self.offset[d]);
            env[9 + d] = self.global[d].div_ceil(u64::from(self.local[d])) as u32;
            env[12 + d] = first;
            env[15 + d] = self.local[d];
            wide(&mut env, 18, self.global[d]);
        }
        env
    }
}
