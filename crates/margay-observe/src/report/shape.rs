// SPDX-License-Identifier: MIT OR Apache-2.0
//! The regularity in a warp's addresses, if there is one.

use crate::profile::raw::RawPattern;

/// How the active lanes' addresses go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One lane only.
    Single,
    /// All the same.
    Uniform,
    /// So many bytes from each lane to the next.
    Stride(i64),
    /// Groups of so many lanes with a stride inside, and a distance from group to group.
    Rows { lanes: u32, stride: i64, row: i64 },
    /// None that is known: the addresses depend on data.
    Scattered,
}

impl Shape {
    /// The shape of a pattern.
    pub fn of(pattern: &RawPattern) -> Shape {
        let mut lanes: Vec<(i64, i64)> = Vec::with_capacity(32);
        let active = (0..32).filter(|l| pattern.mask >> l & 1 != 0);
        lanes.extend(active.zip(pattern.distances.iter().copied()));
        if lanes.len() < 2 {
            return Shape::Single;
        }
        if let Some(stride) = stride(&lanes) {
            return if stride == 0 { Shape::Uniform } else { Shape::Stride(stride) };
        }
        for size in [16, 8, 4, 2] {
            if let Some(shape) = rows(&lanes, size) {
                return shape;
            }
        }
        Shape::Scattered
    }
}

/// The one stride of these lanes (number and distance).
fn stride(lanes: &[(i64, i64)]) -> Option<i64> {
    let (first, second) = (lanes.first()?, lanes.get(1)?);
    let (gap, step) = (second.0 - first.0, second.1 - first.1);
    let stride = step / gap;
    let fits = |l: &(i64, i64)| l.1 - first.1 == (l.0 - first.0) * stride;
    (step % gap == 0 && lanes.iter().all(fits)).then_some(stride)
}

fn rows(lanes: &[(i64, i64)], size: i64) -> Option<Shape> {
    let group = |n: i64| lanes.iter().filter(move |l| l.0 / size == n).copied().collect::<Vec<_>>();
    let groups: Vec<(i64, Vec<(i64, i64)>)> =
        (0..32 / size).map(|n| (n, group(n))).filter(|(_, g)| !g.is_empty()).collect();
    let mut inside = None;
    for (_, g) in groups.iter().filter(|(_, g)| g.len() > 1) {
        let s = stride(g)?;
        if *inside.get_or_insert(s) != s {
            return None;
        }
    }
    let inside = inside?;
    // Where each group's first lane is, or would be.
    let starts: Vec<(i64, i64)> =
        groups.iter().map(|(n, g)| (*n, g[0].1 - (g[0].0 % size) * inside)).collect();
    let row = stride(&starts)?;
    Some(Shape::Rows { lanes: size as u32, stride: inside, row })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(mask: u32, f: impl Fn(i64) -> i64) -> Shape {
        let lanes: Vec<i64> = (0..32).filter(|l| mask >> l & 1 != 0).map(f).collect();
        let distances = lanes.iter().map(|d| d - lanes[0]).collect();
        Shape::of(&RawPattern { mask, distances, ..RawPattern::default() })
    }

    #[test]
    fn regular_ones_are_recognised() {
        assert_eq!(shape(!0, |_| 8), Shape::Uniform);
        assert_eq!(shape(!0, |l| l * 132), Shape::Stride(132));
        assert_eq!(shape(0x5555, |l| l * -4), Shape::Stride(-4));
        assert_eq!(shape(1 << 9, |l| l), Shape::Single);
        assert_eq!(
            shape(!0, |l| l % 16 * 4 + l / 16 * 4096),
            Shape::Rows { lanes: 16, stride: 4, row: 4096 }
        );
        assert_eq!(shape(!0, |l| l / 8 * 64), Shape::Rows { lanes: 8, stride: 0, row: 64 });
        assert_eq!(shape(!0, |l| (l * 7919) % 1021), Shape::Scattered);
    }
}
