// SPDX-License-Identifier: MIT OR Apache-2.0
//! Double precision. The ways are those of single precision; sums of two doubles carry what one
//! cannot where the bounds ask for it.

pub mod bessel;
pub mod error;
pub mod error_inverse;
pub mod exponential;
pub mod gamma;
pub mod hyperbolic;
pub mod inverse;
pub mod logarithm;
pub mod orders;
pub mod parts;
pub mod power;
pub mod roots;
pub mod tables;
pub mod trig;
