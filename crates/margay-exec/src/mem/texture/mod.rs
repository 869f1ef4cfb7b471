// SPDX-License-Identifier: MIT OR Apache-2.0
//! The texture unit: images, samplers, and what `tex`, `tld4`, `txq`, `suld`, `sust` and `sured` do
//! with them. CUDA's arrays, texture and surface objects and OpenCL's images are made of these.
//!
//! How an API uses it:
//!
//! 1. make an [`Image`]: [`Image::new`] for an opaque array of its own (1D, 2D, 3D, layers, cubes, mip
//!    levels), or [`Image::linear`] over memory that an allocation holds (pitched rows). Copy to and
//!    from it with [`Image::texels`], which gives a host pointer to a row.
//! 2. describe how texels are read: [`Format`] (channels, [`ChannelKind`], [`Order`]) and, for an
//!    element that is an integer and shall read as [0, 1] or [-1, 1], `normalized`: a [`View`].
//! 3. put [`Object::Texture`] (a view and its [`Sampler`]), [`Object::Sampler`] alone (independent
//!    mode: OpenCL's), [`Object::Surface`], or [`Object::Image`], which is a texture without a sampler and
//!    a surface in one, into the process's [`Objects`] ([`crate::mem::AddressSpace::objects`]); the 64-bit handle that comes back is what a kernel
//!    gets as a `.texref`, `.samplerref`, `.surfref` or `.b64` parameter.
//!
//! Filtering is an H200's, bit for bit on every recorded row (`texture_filtering.csv`): coordinates
//! less one half round to 8 bits of fraction; of the four weights one is the product rounded to
//! 1/256 and the others follow so that they sum to one; the weighted sum is exact and rounds once;
//! integers filter in 16-bit fixed point and halves in halves (`texture_reads.csv`).
//!
//! Invariant: no address of a texel is formed that its image does not have. Linear images are
//! checked against the allocations on every access of a warp.
//! Limit: no block-compressed formats, no multi-sampling, no depth comparison. Filters between mip
//! levels may be off by two units of 1/256; across a cube's edges they read the own face's edge
//! unless the sampler is seamless, where an H200 does otherwise.

mod address;
mod cube;
mod filter;
mod format;
mod image;
mod objects;
mod quick;
mod surface;

pub use address::{AddressMode, Filter, Sampler};
pub use filter::{Detail, Lookup, Taps, View};
pub use format::{ChannelKind, Format, Order, Texel};
pub use image::{Dimensions, Image, ImageError, Level, Placement};
pub use margay_ir::Opaque;
pub use objects::{Both, Object, Objects, Texture};
pub use quick::Lookups;
pub use surface::{Element, Landing, Outside, Spot, SurfaceFault};

#[cfg(test)]
mod quick_tests;
#[cfg(test)]
mod tests;
