// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texture unit's memory: how an array's texels lie, and what a warp's access moves.
//!
//! *Modelled.* NVIDIA does not say how an opaque array is laid out, nor how the unit groups lanes. What is
//! taken: the block-linear layout that Tegra's Technical Reference Manual describes (a "group of bytes" is 64
//! bytes wide and 8 rows high; a sector of 32 bytes holds 16 bytes of each of two rows), and lanes that go four at a
//! time, as quads. Memory under a linear or pitched texture lies as it was allocated.

use serde::Serialize;

use crate::access::{Counts, Generation, MemoryModel, Rule};
use crate::figure::Source;

/// What moves at a time, in bytes.
pub const SECTOR: u32 = 32;
/// Bytes of a row that one sector of a tiled plane has; it has two rows.
pub const SECTOR_WIDTH: u32 = 16;
/// Width in bytes, and height in rows, of the tiles that a plane is laid out in.
pub const TILE: (u32, u32) = (64, 8);

/// The rule that reports name.
pub const RULE: Rule = Rule {
    source: Source::Modelled,
    place: "Tegra X1 Technical Reference Manual, block-linear surfaces; quads of lanes",
    text: "lanes go in quads; the different 32-byte sectors that a warp's texels lie in, in an array of 16 bytes by \
           2 rows each",
};

/// Offset in a plane of the byte `x` of row `y`, where rows have `row` bytes and lie in tiles.
pub fn tiled(x: u32, y: u32, row: u32) -> u64 {
    let across = u64::from(row.div_ceil(TILE.0).max(1));
    let tile = u64::from(y / TILE.1) * across + u64::from(x / TILE.0);
    let (x, y) = (x % TILE.0, y % TILE.1);
    let within = (x / 32) * 256 + (y / 2) * 64 + (x % 32 / 16) * 32 + (y % 2) * 16 + x % 16;
    tile * 512 + u64::from(within)
}

/// What a warp's access through the texture unit costs: `reached` has for each texel its address and its bytes, in
/// any order. The numbers of the different sectors go to `sectors`, ascending.
pub fn count(mask: u32, reached: &[(u64, u32)], sectors: &mut Vec<u64>) -> Counts {
    let mut texels = reached.to_vec();
    texels.sort_unstable();
    texels.dedup();
    let size = u64::from(SECTOR);
    sectors.clear();
    for &(address, bytes) in &texels {
        sectors.extend(address / size..=(address + u64::from(bytes.max(1)) - 1) / size);
    }
    sectors.sort_unstable();
    sectors.dedup();
    let quads = (0..8).filter(|q| mask >> (4 * q) & 0xf != 0).count() as u32;
    let distinct: u32 = texels.iter().map(|t| t.1).sum();
    let moved = sectors.len() as u32;
    Counts {
        instructions: u32::from(mask != 0),
        requests: quads,
        transactions: moved,
        sectors: moved,
        sectors_ideal: distinct.div_ceil(SECTOR),
        texels: reached.len() as u32,
        bytes_requested: reached.iter().map(|r| r.1).sum(),
        bytes_moved: moved * SECTOR,
        ..Counts::default()
    }
}

/// What goes through the texture unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextureAccess {
    /// Filtered, or at the nearest texel: `tex` with float coordinates.
    Sample,
    /// Of a texel by its integer coordinates: `tex` with integer coordinates.
    Fetch,
    /// `tld4`.
    Gather,
    /// With derivatives of the coordinates: `tex.grad`.
    Gradient,
    SurfaceLoad,
    SurfaceStore,
    SurfaceReduction,
}

/// The machine's name for an access, as "CUDA Binary Utilities" and, for 1.x, public disassemblers have it.
pub fn machine(model: &MemoryModel, access: TextureAccess) -> &'static str {
    let tesla = model.generation.is_tesla();
    let kepler = model.generation == Generation::Kepler;
    match access {
        TextureAccess::Sample => "TEX",
        TextureAccess::Gradient if tesla => "TEX",
        TextureAccess::Gradient => "TXD",
        // 1.x has one instruction for both.
        TextureAccess::Fetch if tesla => "TEX",
        TextureAccess::Fetch => "TLD",
        TextureAccess::Gather if tesla => "",
        TextureAccess::Gather => "TLD4",
        TextureAccess::SurfaceLoad if tesla => "",
        TextureAccess::SurfaceLoad if kepler => "SUCLAMP SULDGA",
        TextureAccess::SurfaceLoad => "SULD",
        TextureAccess::SurfaceStore if tesla => "",
        TextureAccess::SurfaceStore if kepler => "SUCLAMP SUSTGA",
        TextureAccess::SurfaceStore => "SUST",
        TextureAccess::SurfaceReduction if tesla => "",
        TextureAccess::SurfaceReduction if kepler => "SUCLAMP SUEAU RED",
        TextureAccess::SurfaceReduction => "SURED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tegra's manual: every byte of a tile has a place of its own, and a sector is 16 bytes by 2 rows.
    #[test]
    fn a_tile_is_filled() {
        let mut seen = vec![None; 2 * 512];
        for y in 0..8 {
            for x in 0..128 {
                let at = tiled(x, y, 128) as usize;
                assert_eq!(seen[at].replace((x, y)), None);
            }
        }
        let sector: Vec<(u32, u32)> = seen[32..64].iter().map(|p| p.unwrap()).collect();
        assert_eq!((sector[0], sector[31]), ((16, 0), (31, 1)));
        assert_eq!(tiled(0, 8, 128), 1024, "the next row of tiles");
        assert_eq!(tiled(32, 0, 64), 256);
        assert_eq!(tiled(0, 2, 64), 64);
    }

    #[test]
    fn sectors_of_rows_and_columns() {
        let mut sectors = Vec::new();
        let mut cost = |mask: u32, at: &dyn Fn(u32) -> u64| {
            let lanes = (0..32).filter(|l| mask >> l & 1 != 0);
            let reached: Vec<(u64, u32)> = lanes.map(|l| (at(l), 4)).collect();
            count(mask, &reached, &mut sectors)
        };
        // 32 texels of 4 bytes in a row: half of each sector is another row's.
        let row = cost(!0, &|l| tiled(4 * l, 0, 256));
        assert_eq!((row.requests, row.texels, row.sectors, row.sectors_ideal), (8, 32, 8, 4));
        // A block of 8 x 4 texels: what an array is for.
        let block = cost(!0, &|l| tiled(4 * (l % 8), l / 8, 256));
        assert_eq!((block.sectors, block.sectors_ideal), (4, 4));
        // A column of rows, and of tiles.
        assert_eq!(cost(!0, &|l| u64::from(l) * 256).sectors, 32);
        assert_eq!(cost(!0, &|l| tiled(0, l, 256)).sectors, 16);
        assert_eq!(cost(0x11, &|_| 64).requests, 2);
        assert_eq!(cost(0x11, &|_| 64).bytes_requested, 8);
        assert_eq!(cost(0x1, &|_| 30).sectors, 2, "over a border");
        assert_eq!(cost(0, &|_| 0), Counts::default());
    }
}
