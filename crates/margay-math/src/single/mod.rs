// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single precision.

pub mod bessel;
pub mod error;
pub mod exponential;
pub mod fast;
pub mod gamma;
pub mod hyperbolic;
pub mod inverse;
pub mod logarithm;
pub mod parts;
pub mod power;
pub mod roots;
pub mod tables;
pub mod trig;
