// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cube maps: directions to faces, and texels beyond a face's edge.

/// A face (0 +x, 1 -x, 2 +y, 3 -y, 4 +z, 5 -z) and coordinates in [0, 1] on it (CUDA C++
/// Programming Guide, "Cubemap Textures").
pub(super) fn face_of([x, y, z]: [f32; 3]) -> (u32, [f32; 2]) {
    let (ax, ay, az) = (x.abs(), y.abs(), z.abs());
    let (face, s, t, m) = if az >= ax && az >= ay {
        if z >= 0.0 { (4, x, -y, az) } else { (5, -x, -y, az) }
    } else if ay >= ax {
        if y >= 0.0 { (2, x, z, ay) } else { (3, x, -z, ay) }
    } else if x >= 0.0 {
        (0, -z, -y, ax)
    } else {
        (1, z, -y, ax)
    };
    if m == 0.0 {
        return (face, [0.5, 0.5]);
    }
    (face, [(s / m + 1.0) / 2.0, (t / m + 1.0) / 2.0])
}

/// The direction of a point of a face, in units of half an edge.
fn direction(face: u32, s: f32, t: f32) -> [f32; 3] {
    match face {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    }
}

/// The face and texel that a texel beyond one edge of a face of `n` by `n` means. Beyond a corner
/// there is none: `None`.
pub(super) fn across(face: u32, [i, j]: [i64; 2], n: u32) -> Option<(u32, [u32; 2])> {
    let edge = i64::from(n);
    let inside = |v: i64| (0..edge).contains(&v);
    match (inside(i), inside(j)) {
        (true, true) => return Some((face, [i as u32, j as u32])),
        (false, false) => return None,
        (true, false) | (false, true) => {}
    }
    // One texel beyond the edge lies on the neighbour, as seen from the cube's middle.
    let at = |v: i64| (2.0 * (v as f32 + 0.5) / n as f32) - 1.0;
    let (face, [s, t]) = face_of(direction(face, at(i), at(j)));
    let texel = |v: f32| ((v * n as f32) as i64).clamp(0, edge - 1) as u32;
    Some((face, [texel(s), texel(t)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_and_back() {
        for face in 0..6 {
            for (s, t) in [(0.25, -0.5), (-0.9, 0.1), (0.0, 0.0)] {
                let (found, [u, v]) = face_of(direction(face, s, t));
                assert_eq!(found, face);
                assert!(((2.0 * u - 1.0) - s).abs() < 1e-6 && ((2.0 * v - 1.0) - t).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn edges_meet_and_corners_do_not() {
        assert_eq!(across(4, [3, 2], 4), Some((4, [3, 2])));
        // To the right of +z is +x, from its left edge.
        assert_eq!(across(4, [4, 2], 4), Some((0, [0, 2])));
        assert_eq!(across(0, [-1, 1], 4), Some((4, [3, 1])));
        assert_eq!(across(4, [-1, -1], 4), None);
    }
}
