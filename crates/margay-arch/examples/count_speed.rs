// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the rules take: nanoseconds for one access of a warp whose addresses data decide, which nothing that came before tells of. So
//! much more than unobserved such an access takes at least where it is counted.
//!
//! `cargo run --release -p margay-arch --example count_speed`

use std::hint::black_box;
use std::time::Instant;

use margay_arch::Kind;
use margay_arch::access::{first_of, passes};

/// Accesses, more than a processor can learn by heart.
const ACCESSES: usize = 4096;
const TURNS: usize = 300;

/// The least of some turns.
fn nanoseconds(accesses: &[[u64; 32]], count: impl Fn(&[u64; 32]) -> u32) -> f64 {
    let turn = |_| {
        let began = Instant::now();
        for addresses in accesses {
            black_box(count(black_box(addresses)));
        }
        began.elapsed().as_secs_f64() * 1e9 / accesses.len() as f64
    };
    (0..TURNS).map(turn).fold(f64::MAX, f64::min)
}

fn main() {
    let mut state = 1u64;
    let mut below = move |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    let mut random = |from: u64, bytes: u64| -> Vec<[u64; 32]> {
        let mut access = || std::array::from_fn(|_| from + 4 * below(bytes / 4));
        (0..ACCESSES).map(|_| access()).collect()
    };
    for (name, bytes) in
        [("4 KiB", 4 << 10), ("64 KiB", 64 << 10), ("512 KiB", 512 << 10), ("4 GiB", 4 << 30)]
    {
        let accesses = random(0x7f00_0000_0000, bytes);
        let each = nanoseconds(&accesses, |a| first_of(u32::MAX, a, 5));
        println!("sectors of global memory, words anywhere in {name}: {each:.1} ns");
    }
    for (name, bytes) in [("1 KiB", 1 << 10), ("8 KiB", 8 << 10), ("48 KiB", 48 << 10)] {
        let accesses = random(0, bytes);
        let each =
            nanoseconds(&accesses, |a| passes(Kind::Load, 4, u32::MAX, a).unwrap_or_default());
        println!("banks of shared memory, words anywhere in {name}: {each:.1} ns");
    }
}
