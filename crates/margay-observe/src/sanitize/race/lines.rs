// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines of a page: none, one, or all of them, as what takes little of a page often takes one.

use std::ops::{Index, IndexMut};

/// Something of each line, as far as there is one.
#[derive(Debug)]
pub struct Lines<T> {
    all: Box<[T]>,
    /// Which line is the first.
    from: usize,
}

impl<T> Default for Lines<T> {
    fn default() -> Lines<T> {
        Lines { all: Box::default(), from: 0 }
    }
}

impl<T: Default> Lines<T> {
    #[inline]
    pub fn get(&self, line: usize) -> Option<&T> {
        self.all.get(line.wrapping_sub(self.from))
    }

    #[inline]
    pub fn get_mut(&mut self, line: usize) -> Option<&mut T> {
        self.all.get_mut(line.wrapping_sub(self.from))
    }

    /// A line, once it is there; of so many.
    #[inline]
    pub fn make(&mut self, line: usize, count: usize) -> &mut T {
        if self.get(line).is_none() {
            self.grow(line, count);
        }
        &mut self[line]
    }

    #[cold]
    fn grow(&mut self, line: usize, count: usize) {
        if self.all.is_empty() {
            (self.all, self.from) = (Box::new([T::default()]), line);
            return;
        }
        let mut all: Box<[T]> = (0..count.max(line + 1)).map(|_| T::default()).collect();
        let own = std::mem::take(&mut self.all).into_iter();
        all.iter_mut().skip(self.from).zip(own).for_each(|(to, own)| *to = own);
        (self.all, self.from) = (all, 0);
    }

    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.all.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.all.iter_mut()
    }
}

impl<T> Index<usize> for Lines<T> {
    type Output = T;

    #[inline]
    fn index(&self, line: usize) -> &T {
        &self.all[line - self.from]
    }
}

impl<T> IndexMut<usize> for Lines<T> {
    #[inline]
    fn index_mut(&mut self, line: usize) -> &mut T {
        &mut self.all[line - self.from]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_line_makes_all() {
        let mut lines = Lines::<u32>::default();
        assert_eq!((lines.get(0), lines.get(3)), (None, None));
        *lines.make(3, 8) = 5;
        assert_eq!((lines.get(2), lines.get(3), lines.get(4)), (None, Some(&5), None));
        assert_eq!(lines.iter().count(), 1);
        *lines.make(1, 8) = 6;
        assert_eq!((lines[1], lines[3], lines[7]), (6, 5, 0));
        assert_eq!(lines.iter().count(), 8);
        assert_eq!(lines.get_mut(8), None);
    }
}
