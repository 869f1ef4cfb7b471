// SPDX-License-Identifier: MIT OR Apache-2.0
//! A hash for small keys that nobody chooses in order to collide: sites are looked up a few times in each launch.

use std::hash::{BuildHasherDefault, Hasher};

/// A map by such keys.
pub type Map<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<Mixer>>;

/// Multiplies what it is given into one number.
#[derive(Default)]
pub struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.mix(byte.into()));
    }
    fn write_u32(&mut self, n: u32) {
        self.mix(n.into());
    }
    fn write_u64(&mut self, n: u64) {
        self.mix(n);
    }
    fn write_usize(&mut self, n: usize) {
        self.mix(n as u64);
    }
    fn write_isize(&mut self, n: isize) {
        self.mix(n as u64);
    }
}
