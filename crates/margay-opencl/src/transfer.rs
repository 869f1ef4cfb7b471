// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies: lines, rectangles, patterns.
//!
//! Invariant: every range was checked against its object when the command was made.

use opencl_sys::CL_INVALID_VALUE;

use crate::Result;
use crate::device::platform;

/// A rectangle's place in memory: bytes, rows and slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    pub origin: [u64; 3],
    pub row_pitch: u64,
    pub slice_pitch: u64,
}

impl Layout {
    /// Fills in pitches of 0 and checks them against the region (the rules of the rectangle copies).
    pub fn new(
        origin: [u64; 3],
        region: [u64; 3],
        row_pitch: u64,
        slice_pitch: u64,
    ) -> Result<Layout> {
        if region.contains(&0) {
            return Err(CL_INVALID_VALUE);
        }
        let row_pitch = if row_pitch == 0 { region[0] } else { row_pitch };
        let least = region[1].checked_mul(row_pitch).ok_or(CL_INVALID_VALUE)?;
        let slice_pitch = if slice_pitch == 0 { least } else { slice_pitch };
        if row_pitch < region[0] || slice_pitch < least || !slice_pitch.is_multiple_of(row_pitch) {
            return Err(CL_INVALID_VALUE);
        }
        Ok(Layout { origin, row_pitch, slice_pitch })
    }

    /// Bytes in one line.
    pub fn line(offset: u64, size: u64) -> Layout {
        Layout { origin: [offset, 0, 0], row_pitch: size, slice_pitch: size }
    }

    /// Offset of a byte of the rectangle; `None` if it does not fit 64 bits.
    fn at(&self, x: u64, y: u64, z: u64) -> Option<u64> {
        let [ox, oy, oz] = self.origin;
        let row = oy.checked_add(y)?.checked_mul(self.row_pitch)?;
        let slice = oz.checked_add(z)?.checked_mul(self.slice_pitch)?;
        ox.checked_add(x)?.checked_add(row)?.checked_add(slice)
    }

    /// One past the last byte of a region.
    pub fn end(&self, region: [u64; 3]) -> Option<u64> {
        self.at(region[0] - 1, region[1] - 1, region[2] - 1)?.checked_add(1)
    }

    /// Where the rectangle begins.
    pub fn offset(&self) -> Option<u64> {
        self.at(0, 0, 0)
    }

    /// Where each row of the region begins.
    pub fn rows(self, region: [u64; 3]) -> impl Iterator<Item = u64> {
        (0..region[2])
            .flat_map(move |z| (0..region[1]).map(move |y| self.at(0, y, z).unwrap_or_default()))
    }
}

/// Lets those who watch the program know.
pub fn told(to: u64, from: Option<u64>, bytes: u64) {
    if let Some(platform) = platform() {
        platform.runtime.observed_copy(to, from, bytes);
    }
}

/// Copies that are ready to run.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    /// Addresses.
    pub from: u64,
    pub to: u64,
}

impl Copy {
    /// # Safety
    /// Both ranges are mapped for the copy; they may overlap.
    pub unsafe fn bytes(self, count: u64) {
        told(self.to, Some(self.from), count);
        // SAFETY: the caller promises it.
        unsafe {
            std::ptr::copy(self.from as *const u8, self.to as *mut u8, count as usize);
        }
    }

    /// # Safety
    /// The rectangles are mapped; within one object they do not overlap.
    pub unsafe fn rectangle(self, region: [u64; 3], from: Layout, to: Layout) {
        for (a, b) in from.rows(region).zip(to.rows(region)) {
            // SAFETY: the caller promises it.
            unsafe { Copy { from: self.from + a, to: self.to + b }.bytes(region[0]) };
        }
    }
}

/// Repeats a pattern.
///
/// # Safety
/// The range is mapped and writable.
pub unsafe fn fill(to: u64, size: u64, pattern: &[u8]) {
    told(to, None, size);
    let mut at = to;
    let end = to + size;
    while at < end {
        let count = (pattern.len() as u64).min(end - at);
        // SAFETY: the caller promises it.
        unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), at as *mut u8, count as usize) };
        at += count;
    }
}

/// Fills a rectangle, whose rows are a number of patterns long.
///
/// # Safety
/// The rectangle is mapped and writable.
pub unsafe fn fill_rectangle(to: u64, region: [u64; 3], layout: Layout, pattern: &[u8]) {
    for row in layout.rows(region) {
        // SAFETY: the caller promises it.
        unsafe { fill(to + row, region[0], pattern) };
    }
}

/// Whether two rectangles of one buffer overlap (the specification's `check_copy_overlap`).
pub fn overlap(region: [u64; 3], from: Layout, to: Layout) -> bool {
    let spans = |l: Layout| (l.at(0, 0, 0).unwrap_or(0), l.end(region).unwrap_or(u64::MAX));
    let ((a0, a1), (b0, b1)) = (spans(from), spans(to));
    if a1 <= b0 || b1 <= a0 {
        return false;
    }
    if from.row_pitch != to.row_pitch || from.slice_pitch != to.slice_pitch {
        return true;
    }
    // With equal pitches both are boxes of one grid, unless a row wraps around.
    let split = |l: Layout| {
        let first = l.at(0, 0, 0).unwrap_or(0);
        let (z, rest) = (first / l.slice_pitch, first % l.slice_pitch);
        [rest % l.row_pitch, rest / l.row_pitch, z]
    };
    let (a, b) = (split(from), split(to));
    let wraps = |o: [u64; 3]| {
        o[0] + region[0] > from.row_pitch || (o[1] + region[1]) * from.row_pitch > from.slice_pitch
    };
    if wraps(a) || wraps(b) {
        return true;
    }
    (0..3).all(|d| a[d] < b[d] + region[d] && b[d] < a[d] + region[d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rectangles() {
        let source: Vec<u8> = (0..64).collect();
        let mut target = vec![0u8; 16];
        let region = [2, 2, 2];
        let from = Layout::new([1, 1, 0], region, 4, 16).unwrap();
        let to = Layout::new([0; 3], region, 0, 0).unwrap();
        assert_eq!((from.end(region), to.end(region)), (Some(27), Some(8)));
        let copy = Copy { from: source.as_ptr() as u64, to: target.as_mut_ptr() as u64 };
        // SAFETY: both are inside.
        unsafe { copy.rectangle(region, from, to) };
        assert_eq!(target[..8], [5, 6, 9, 10, 21, 22, 25, 26]);
        assert!(Layout::new([0; 3], [4, 1, 1], 2, 0).is_err());
        assert!(Layout::new([0; 3], [0, 1, 1], 0, 0).is_err());
    }

    #[test]
    fn overlaps() {
        let region = [2, 2, 1];
        let at = |x, y| Layout::new([x, y, 0], region, 8, 64).unwrap();
        assert!(overlap(region, at(0, 0), at(1, 1)));
        assert!(!overlap(region, at(0, 0), at(2, 0)));
        assert!(!overlap(region, at(0, 0), at(0, 2)));
    }
}
