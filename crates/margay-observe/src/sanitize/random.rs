// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers for tests that try many cases.

/// Random numbers below what is asked for (at most 2^31), the same each time.
pub fn random(mut seed: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % below
    }
}
