// SPDX-License-Identifier: MIT OR Apache-2.0
//! Surfaces: unfiltered reads, writes and reductions (PTX ISA, "Surface Instructions").

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};

use margay_ir::texture::{OutOfBounds, SurfaceReduction, TexelType};

use super::format::{ChannelKind, Texel};
use super::image::Image;

pub use margay_ir::texture::OutOfBounds as Outside;

/// A data register's content, in the low bits.
pub type Element = u64;

/// Why a surface access faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SurfaceFault {
    #[error("the coordinates lie outside of the surface")]
    Outside,
    #[error("the byte coordinate is not a multiple of the access's size")]
    Misaligned,
    #[error("the surface's format does not take this access")]
    Format,
}

type Checked<T> = Result<T, SurfaceFault>;

/// One access: where, and what lies outside.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub layer: u32,
    pub coordinates: [i32; 3],
    /// Number of coordinates.
    pub count: usize,
    pub outside: OutOfBounds,
}

/// Where a surface access lands, after clamping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landing {
    pub layer: u32,
    /// Bytes from the row's start.
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl Image {
    /// Where an access of `bytes` bytes at a byte coordinate lands; of a texel with `bytes` 0, at a texel
    /// coordinate. `None`: outside, and to be ignored.
    pub fn landing(&self, spot: &Spot, bytes: u32) -> Checked<Option<Landing>> {
        let level = &self.levels()[0];
        let texel = self.format.bytes();
        let unit = if bytes == 0 { texel } else { bytes };
        let row_bytes = i64::from(level.width) * i64::from(texel);
        let mut x = i64::from(spot.coordinates[0]) * if bytes == 0 { i64::from(texel) } else { 1 };
        if x % i64::from(unit) != 0 {
            return Err(SurfaceFault::Misaligned);
        }
        let sizes = [level.height, level.depth].map(i64::from);
        let mut rest = [0i64; 2];
        for (at, value) in rest.iter_mut().enumerate().take(spot.count.saturating_sub(1)) {
            *value = i64::from(spot.coordinates[at + 1]);
        }
        let mut layer = i64::from(spot.layer);
        let last = row_bytes - i64::from(unit);
        let most = [sizes[0] - 1, sizes[1] - 1];
        let layers = i64::from(self.layers());
        let inside = (0..=last).contains(&x)
            && (0..=most[0]).contains(&rest[0])
            && (0..=most[1]).contains(&rest[1])
            && layer < layers;
        if !inside {
            match spot.outside {
                OutOfBounds::Trap => return Err(SurfaceFault::Outside),
                OutOfBounds::Zero => return Ok(None),
                OutOfBounds::Clamp if last < 0 => return Err(SurfaceFault::Outside),
                OutOfBounds::Clamp => {
                    x = x.clamp(0, last / i64::from(unit) * i64::from(unit));
                    rest = [rest[0].clamp(0, most[0]), rest[1].clamp(0, most[1])];
                    layer = layer.min(layers - 1);
                }
            }
        }
        let [y, z] = rest.map(|v| v as u32);
        Ok(Some(Landing { layer: layer as u32, x: x as u32, y, z }))
    }

    /// Host pointer of what [`Image::landing`] finds.
    fn surface_at(&self, spot: &Spot, bytes: u32) -> Checked<Option<*mut u8>> {
        let Some(at) = self.landing(spot, bytes)? else { return Ok(None) };
        let row = self.texels(0, at.layer, [0, at.y, at.z]).ok_or(SurfaceFault::Outside)?;
        Ok(Some(row.wrapping_add(at.x as usize)))
    }

    /// `suld.b`: elements of `bytes` bytes.
    pub fn surface_load(&self, spot: &Spot, bytes: u32, out: &mut [Element]) -> Checked<()> {
        out.fill(0);
        let Some(at) = self.surface_at(spot, bytes * out.len() as u32)? else { return Ok(()) };
        for (n, v) in out.iter_mut().enumerate() {
            // SAFETY: `surface_at` found room for all elements.
            *v = unsafe {
                let at = at.add(n * bytes as usize);
                match bytes {
                    1 => u64::from(at.read()),
                    2 => u64::from(at.cast::<u16>().read_unaligned()),
                    4 => u64::from(at.cast::<u32>().read_unaligned()),
                    _ => at.cast::<u64>().read_unaligned(),
                }
            };
        }
        Ok(())
    }

    /// `sust.b`.
    pub fn surface_store(&self, spot: &Spot, bytes: u32, data: &[Element]) -> Checked<()> {
        let Some(at) = self.surface_at(spot, bytes * data.len() as u32)? else { return Ok(()) };
        for (n, &v) in data.iter().enumerate() {
            // SAFETY: `surface_at` found room for all elements.
            unsafe {
                let at = at.add(n * bytes as usize);
                match bytes {
                    1 => at.write(v as u8),
                    2 => at.cast::<u16>().write_unaligned(v as u16),
                    4 => at.cast::<u32>().write_unaligned(v as u32),
                    _ => at.cast::<u64>().write_unaligned(v),
                }
            }
        }
        Ok(())
    }

    /// `suld.p`: a texel, converted to the register type.
    pub fn surface_load_texel(&self, spot: &Spot, normalized: bool) -> Checked<Texel> {
        match self.surface_at(spot, 0)? {
            // SAFETY: a texel of the surface.
            Some(at) => Ok(unsafe { self.format.read(at, normalized) }),
            None => Ok([0; 4]),
        }
    }

    /// `sust.p`: a texel, converted from the register type.
    pub fn surface_store_texel(&self, spot: &Spot, texel: Texel, ty: TexelType) -> Checked<()> {
        let float = match ty {
            TexelType::F32 => true,
            // Untyped bits are what the surface holds.
            TexelType::B32 => self.format.kind.is_float(),
            _ => false,
        };
        let kind = self.format.kind;
        let integer = !float && kind.is_float();
        let wide = float && matches!(kind, ChannelKind::U32 | ChannelKind::S32);
        if integer || wide {
            return Err(SurfaceFault::Format);
        }
        if let Some(at) = self.surface_at(spot, 0)? {
            // SAFETY: a texel of the surface.
            unsafe { self.format.write(at, texel, float) };
        }
        Ok(())
    }

    /// `sured`: an atomic change of 4 or 8 bytes; formatted ones count texels.
    pub fn surface_reduce(
        &self,
        spot: &Spot,
        op: SurfaceReduction,
        ty: TexelType,
        value: Element,
        formatted: bool,
    ) -> Checked<()> {
        let bytes = ty.bytes();
        if formatted && self.format.bytes() != bytes {
            return Err(SurfaceFault::Format);
        }
        let Some(at) = self.surface_at(spot, if formatted { 0 } else { bytes })? else {
            return Ok(());
        };
        if at.addr() % bytes as usize != 0 {
            return Err(SurfaceFault::Misaligned);
        }
        let order = Ordering::SeqCst;
        // SAFETY: aligned, and room for the element was found.
        unsafe {
            if bytes == 8 {
                let (u, s) = (&*at.cast::<AtomicU64>(), &*at.cast::<AtomicI64>());
                match op {
                    SurfaceReduction::Add => drop(u.fetch_add(value, order)),
                    SurfaceReduction::MinU => drop(u.fetch_min(value, order)),
                    SurfaceReduction::MaxU => drop(u.fetch_max(value, order)),
                    SurfaceReduction::MinS => drop(s.fetch_min(value as i64, order)),
                    SurfaceReduction::MaxS => drop(s.fetch_max(value as i64, order)),
                    SurfaceReduction::And => drop(u.fetch_and(value, order)),
                    SurfaceReduction::Or => drop(u.fetch_or(value, order)),
                }
                return Ok(());
            }
            let (u, s) = (&*at.cast::<AtomicU32>(), &*at.cast::<AtomicI32>());
            let v = value as u32;
            match op {
                SurfaceReduction::Add => drop(u.fetch_add(v, order)),
                SurfaceReduction::MinU => drop(u.fetch_min(v, order)),
                SurfaceReduction::MaxU => drop(u.fetch_max(v, order)),
                SurfaceReduction::MinS => drop(s.fetch_min(v as i32, order)),
                SurfaceReduction::MaxS => drop(s.fetch_max(v as i32, order)),
                SurfaceReduction::And => drop(u.fetch_and(v, order)),
                SurfaceReduction::Or => drop(u.fetch_or(v, order)),
            }
        }
        Ok(())
    }
}
