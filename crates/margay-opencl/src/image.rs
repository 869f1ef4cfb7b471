// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images: their formats, their shapes, and what the texture unit makes of them.
//!
//! An image's texels lie in a buffer of its own, or of the program's, at the pitches that the program gave or
//! without gaps. Kernels get a handle of the texture unit.
//!
//! Invariant: a shape has at least one texel, its pitches hold its rows and slices, and its texels lie inside the
//! memory object.

#![allow(non_upper_case_globals, reason = "Khronos's names, in patterns")]

use margay_exec::mem::texture::{
    Both, ChannelKind, Dimensions, Format, Image, Object, Order, View,
};
use opencl_sys::*;

use crate::Result;
use crate::device::platform;
use crate::transfer::Layout;

/// Channel orders of the texture unit; the last say whether colours are sRGB-coded.
const ORDERS: &[(cl_channel_order, Order, bool)] = &[
    (CL_R, Order::R, false),
    (CL_A, Order::A, false),
    (CL_RG, Order::Rg, false),
    (CL_RA, Order::Ra, false),
    (CL_RGB, Order::Rgb, false),
    (CL_RGBA, Order::Rgba, false),
    (CL_BGRA, Order::Bgra, false),
    (CL_ARGB, Order::Argb, false),
    (CL_ABGR, Order::Abgr, false),
    (CL_INTENSITY, Order::Intensity, false),
    (CL_LUMINANCE, Order::Luminance, false),
    (CL_sRGBA, Order::Rgba, true),
    (CL_sBGRA, Order::Bgra, true),
];

/// Orders that the specification has and no device here.
const OTHER_ORDERS: &[cl_channel_order] = &[CL_Rx, CL_RGx, CL_RGBx, CL_DEPTH, CL_sRGB, CL_sRGBx];

/// Channel types; the last says whether integers read as floats.
const TYPES: &[(cl_channel_type, ChannelKind, bool)] = &[
    (CL_SNORM_INT8, ChannelKind::S8, true),
    (CL_SNORM_INT16, ChannelKind::S16, true),
    (CL_UNORM_INT8, ChannelKind::U8, true),
    (CL_UNORM_INT16, ChannelKind::U16, true),
    (CL_UNORM_SHORT_565, ChannelKind::Packed565, true),
    (CL_UNORM_SHORT_555, ChannelKind::Packed555, true),
    (CL_UNORM_INT_101010, ChannelKind::Packed101010, true),
    (CL_SIGNED_INT8, ChannelKind::S8, false),
    (CL_SIGNED_INT16, ChannelKind::S16, false),
    (CL_SIGNED_INT32, ChannelKind::S32, false),
    (CL_UNSIGNED_INT8, ChannelKind::U8, false),
    (CL_UNSIGNED_INT16, ChannelKind::U16, false),
    (CL_UNSIGNED_INT32, ChannelKind::U32, false),
    (CL_HALF_FLOAT, ChannelKind::F16, false),
    (CL_FLOAT, ChannelKind::F32, false),
];

/// Whether the specification joins this order and this type ("Image Format Descriptor").
fn joined(order: cl_channel_order, ty: cl_channel_type) -> bool {
    let normalized = matches!(ty, CL_UNORM_INT8 | CL_UNORM_INT16 | CL_SNORM_INT8 | CL_SNORM_INT16);
    match order {
        CL_R | CL_A | CL_RG | CL_RA | CL_RGBA | CL_Rx | CL_RGx => !packed(ty),
        CL_INTENSITY | CL_LUMINANCE => normalized || matches!(ty, CL_HALF_FLOAT | CL_FLOAT),
        CL_RGB | CL_RGBx => packed(ty),
        CL_ARGB | CL_BGRA | CL_ABGR => {
            matches!(ty, CL_UNORM_INT8 | CL_SNORM_INT8 | CL_SIGNED_INT8 | CL_UNSIGNED_INT8)
        }
        CL_sRGB | CL_sRGBx | CL_sRGBA | CL_sBGRA => ty == CL_UNORM_INT8,
        CL_DEPTH => matches!(ty, CL_UNORM_INT16 | CL_FLOAT),
        _ => false,
    }
}

fn packed(ty: cl_channel_type) -> bool {
    matches!(ty, CL_UNORM_SHORT_565 | CL_UNORM_SHORT_555 | CL_UNORM_INT_101010)
}

/// A format that kernels can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageFormat {
    pub order: cl_channel_order,
    pub ty: cl_channel_type,
    pub format: Format,
    /// Integers read as floats.
    pub normalized: bool,
}

impl ImageFormat {
    /// The texture unit's format, or the error that the specification names.
    pub fn of(given: &cl_image_format) -> Result<ImageFormat> {
        let (order, ty) = (given.image_channel_order, given.image_channel_data_type);
        if !joined(order, ty) {
            return Err(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR);
        }
        if OTHER_ORDERS.contains(&order) {
            return Err(CL_IMAGE_FORMAT_NOT_SUPPORTED);
        }
        let found = ORDERS.iter().find(|o| o.0 == order).zip(TYPES.iter().find(|t| t.0 == ty));
        let (&(_, shape, srgb), &(_, kind, normalized)) =
            found.ok_or(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR)?;
        let format = Format { kind, order: shape, srgb };
        Ok(ImageFormat { order, ty, format, normalized })
    }

    pub fn given(self) -> cl_image_format {
        cl_image_format { image_channel_order: self.order, image_channel_data_type: self.ty }
    }

    /// Bytes of a texel.
    pub fn bytes(self) -> u64 {
        u64::from(self.format.bytes())
    }

    /// Whether kernels write it: sRGB is for reading (there is no `cl_khr_srgb_image_writes`).
    pub fn writable(self) -> bool {
        !self.format.srgb
    }

    /// The texel of `fill_color`: four floats for what reads as floats, four integers for others.
    pub fn texel(self, color: [u32; 4]) -> Vec<u8> {
        let mut bytes = vec![0u8; self.format.bytes() as usize];
        let float = self.format.reads_float(self.normalized);
        // SAFETY: the bytes of one texel.
        unsafe { self.format.write(bytes.as_mut_ptr(), color, float) };
        bytes
    }

    /// The colour outside, for CLK_ADDRESS_CLAMP: without alpha it is opaque black.
    fn border(self) -> [u32; 4] {
        let one = match self.format.reads_float(self.normalized) {
            true => 1f32.to_bits(),
            false => 1,
        };
        match self.order {
            CL_R | CL_RG | CL_RGB | CL_LUMINANCE => [0, 0, 0, one],
            _ => [0; 4],
        }
    }
}

/// All formats that kernels can read, or write if `written`.
pub fn formats(written: bool) -> Vec<cl_image_format> {
    let given = |o: cl_channel_order, t: cl_channel_type| cl_image_format {
        image_channel_order: o,
        image_channel_data_type: t,
    };
    let all = ORDERS.iter().flat_map(|o| TYPES.iter().map(move |t| given(o.0, t.0)));
    let fits = |f: &cl_image_format| ImageFormat::of(f).is_ok_and(|f| !written || f.writable());
    all.filter(fits).collect()
}

/// Size limits of every device, in texels.
pub const MOST_2D: usize = 32768;
pub const MOST_3D: usize = 16384;
pub const MOST_BUFFER: usize = 1 << 27;
pub const MOST_LAYERS: usize = 2048;
/// For images over a buffer: rows begin at multiples of so many texels, the buffer at so many.
pub const PITCH_ALIGNMENT: u32 = 1;
pub const BASE_ALIGNMENT: u32 = 1;

/// What an image looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub kind: cl_mem_object_type,
    pub format: ImageFormat,
    pub width: u64,
    /// 0 where the image has none.
    pub height: u64,
    pub depth: u64,
    pub layers: u64,
    /// Bytes from row to row, and from slice to slice or layer to layer (0 where there are none).
    pub row_pitch: u64,
    pub slice_pitch: u64,
}

impl Shape {
    /// Checks a description; pitches of 0 become those without gaps. `pitched`: the program may give pitches.
    pub fn of(desc: &cl_image_desc, format: ImageFormat, pitched: bool) -> Result<Shape> {
        let wrong = Err(CL_INVALID_IMAGE_DESCRIPTOR);
        let kind = desc.image_type;
        let high = matches!(
            kind,
            CL_MEM_OBJECT_IMAGE2D | CL_MEM_OBJECT_IMAGE3D | CL_MEM_OBJECT_IMAGE2D_ARRAY
        );
        let layered = matches!(kind, CL_MEM_OBJECT_IMAGE1D_ARRAY | CL_MEM_OBJECT_IMAGE2D_ARRAY);
        let deep = kind == CL_MEM_OBJECT_IMAGE3D;
        let flat = matches!(kind, CL_MEM_OBJECT_IMAGE1D | CL_MEM_OBJECT_IMAGE1D_BUFFER);
        if !(high || layered || flat) || desc.num_mip_levels != 0 || desc.num_samples != 0 {
            return wrong;
        }
        let width = desc.image_width;
        let height = if high { desc.image_height } else { 0 };
        let depth = if deep { desc.image_depth } else { 0 };
        let layers = if layered { desc.image_array_size } else { 0 };
        if width == 0 || (high && height == 0) || (deep && depth == 0) || (layered && layers == 0) {
            // Of a size rather than of a description, says the specification.
            return Err(CL_INVALID_IMAGE_SIZE);
        }
        let most = match kind {
            CL_MEM_OBJECT_IMAGE1D_BUFFER => MOST_BUFFER,
            CL_MEM_OBJECT_IMAGE3D => MOST_3D,
            _ => MOST_2D,
        };
        if width > most || height > most || depth > MOST_3D || layers > MOST_LAYERS {
            return Err(CL_INVALID_IMAGE_SIZE);
        }
        let [row, slice] = [desc.image_row_pitch, desc.image_slice_pitch].map(|p| p as u64);
        if !pitched && (row != 0 || slice != 0) {
            return wrong;
        }
        let least = width as u64 * format.bytes();
        let row_pitch = if row == 0 { least } else { row };
        if row_pitch < least || !row_pitch.is_multiple_of(format.bytes()) {
            return wrong;
        }
        let slices = deep || layered;
        let least = row_pitch.checked_mul(height.max(1) as u64).ok_or(CL_INVALID_IMAGE_SIZE)?;
        let slice_pitch = match (slices, slice) {
            (false, _) => 0,
            (true, 0) => least,
            (true, slice) if slice < least || !slice.is_multiple_of(row_pitch) => return wrong,
            (true, slice) => slice,
        };
        let [width, height, depth, layers] = [width, height, depth, layers].map(|n| n as u64);
        let shape = Shape { kind, format, width, height, depth, layers, row_pitch, slice_pitch };
        shape.bytes().map(|_| shape).ok_or(CL_INVALID_IMAGE_SIZE)
    }

    /// Bytes from the first texel to the end of the last row, with the gaps between.
    pub fn bytes(&self) -> Option<u64> {
        match self.slices() {
            0 => self.row_pitch.checked_mul(self.height.max(1)),
            n => self.slice_pitch.checked_mul(n),
        }
    }

    fn slices(&self) -> u64 {
        self.depth.max(self.layers)
    }

    /// What an origin and a region count in each dimension.
    fn sizes(&self) -> [u64; 3] {
        match self.kind {
            CL_MEM_OBJECT_IMAGE1D_ARRAY => [self.width, self.layers, 1],
            _ => [self.width, self.height.max(1), self.slices().max(1)],
        }
    }

    /// Where a region lies, in bytes from the image's start; and the region with its rows in bytes.
    pub fn place(&self, origin: [u64; 3], region: [u64; 3]) -> Result<([u64; 3], Layout)> {
        let sizes = self.sizes();
        for d in 0..3 {
            let end = origin[d].checked_add(region[d]);
            if region[d] == 0 || end.is_none_or(|end| end > sizes[d]) {
                return Err(CL_INVALID_VALUE);
            }
        }
        let texel = self.format.bytes();
        let layout = Layout {
            origin: [origin[0] * texel, origin[1], origin[2]],
            row_pitch: match self.kind {
                CL_MEM_OBJECT_IMAGE1D_ARRAY => self.slice_pitch,
                _ => self.row_pitch,
            },
            slice_pitch: match self.slices() {
                0 => self.row_pitch * self.height.max(1),
                _ => self.slice_pitch,
            },
        };
        Ok(([region[0] * texel, region[1], region[2]], layout))
    }

    /// The layout of the program's memory for a region, pitches of 0 being those without gaps.
    pub fn host(&self, region: [u64; 3], row_pitch: u64, slice_pitch: u64) -> Result<Layout> {
        let row = region[0] * self.format.bytes();
        // The rows of a 1D array are its layers, `slice_pitch` apart.
        let (row_pitch, slice_pitch) = match self.kind {
            CL_MEM_OBJECT_IMAGE1D_ARRAY if slice_pitch != 0 => (slice_pitch, 0),
            _ => (row_pitch, slice_pitch),
        };
        if slice_pitch != 0 && self.slices() == 0 {
            return Err(CL_INVALID_VALUE);
        }
        Layout::new([0; 3], [row, region[1], region[2]], row_pitch, slice_pitch)
    }

    /// Makes the texture unit's object over the memory at `address`; its handle.
    pub fn bind(&self, address: u64) -> Result<u64> {
        let platform = platform().ok_or(CL_OUT_OF_RESOURCES)?;
        let size = |n: u64| u32::try_from(n).map_err(|_| CL_INVALID_IMAGE_SIZE);
        let mut dimensions =
            Dimensions::plain(size(self.width)?, size(self.height)?, size(self.depth)?);
        dimensions.layers = size(self.layers)?;
        let format = self.format.format;
        let image = Image::linear(address, dimensions, format, self.row_pitch, self.slice_pitch);
        let image = image.map_err(|_| CL_INVALID_IMAGE_DESCRIPTOR)?;
        let view = View { image, normalized: self.format.normalized };
        let object = Object::Image(Both::new(view, self.format.border()));
        Ok(platform.runtime.memory.objects().insert(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RGBA8: cl_image_format =
        cl_image_format { image_channel_order: CL_RGBA, image_channel_data_type: CL_UNORM_INT8 };

    fn shape(kind: cl_mem_object_type, sizes: [usize; 4], pitches: [usize; 2]) -> Result<Shape> {
        let desc = cl_image_desc {
            image_type: kind,
            image_width: sizes[0],
            image_height: sizes[1],
            image_depth: sizes[2],
            image_array_size: sizes[3],
            image_row_pitch: pitches[0],
            image_slice_pitch: pitches[1],
            num_mip_levels: 0,
            num_samples: 0,
            buffer: std::ptr::null_mut(),
        };
        Shape::of(&desc, ImageFormat::of(&RGBA8)?, true)
    }

    #[test]
    fn shapes() {
        let s = shape(CL_MEM_OBJECT_IMAGE2D, [3, 2, 0, 0], [16, 0]).unwrap();
        assert_eq!((s.row_pitch, s.slice_pitch, s.bytes()), (16, 0, Some(32)));
        let s = shape(CL_MEM_OBJECT_IMAGE1D_ARRAY, [3, 9, 9, 5], [0, 24]).unwrap();
        assert_eq!((s.height, s.depth, s.bytes()), (0, 0, Some(120)));
        let (region, layout) = s.place([1, 4, 0], [2, 1, 1]).unwrap();
        assert_eq!((region, layout.origin, layout.row_pitch), ([8, 1, 1], [4, 4, 0], 24));
        assert_eq!(s.place([0, 4, 0], [3, 2, 1]), Err(CL_INVALID_VALUE));
        let wrong = |r: Result<Shape>| r.unwrap_err();
        assert_eq!(
            wrong(shape(CL_MEM_OBJECT_IMAGE2D, [3, 2, 0, 0], [8, 0])),
            CL_INVALID_IMAGE_DESCRIPTOR
        );
        assert_eq!(
            wrong(shape(CL_MEM_OBJECT_IMAGE2D, [3, 0, 0, 0], [0; 2])),
            CL_INVALID_IMAGE_SIZE
        );
        assert_eq!(
            wrong(shape(CL_MEM_OBJECT_BUFFER, [3, 1, 1, 1], [0; 2])),
            CL_INVALID_IMAGE_DESCRIPTOR
        );
    }

    #[test]
    fn the_required_formats_are_there() {
        // OpenCL API, "Minimum List of Supported Image Formats".
        let types = [
            CL_UNORM_INT8,
            CL_UNORM_INT16,
            CL_SIGNED_INT8,
            CL_SIGNED_INT16,
            CL_SIGNED_INT32,
            CL_UNSIGNED_INT8,
            CL_UNSIGNED_INT16,
            CL_UNSIGNED_INT32,
            CL_HALF_FLOAT,
            CL_FLOAT,
        ];
        let all = formats(true);
        let has =
            |o, t| all.iter().any(|f| f.image_channel_order == o && f.image_channel_data_type == t);
        for order in [CL_RGBA, CL_R, CL_RG] {
            assert!(types.iter().all(|t| has(order, *t)), "{order:x}");
        }
        assert!(has(CL_BGRA, CL_UNORM_INT8) && !has(CL_sRGBA, CL_UNORM_INT8));
        let wrong = cl_image_format { image_channel_order: CL_RGB, ..RGBA8 };
        assert_eq!(ImageFormat::of(&wrong), Err(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR));
        let depth =
            cl_image_format { image_channel_order: CL_DEPTH, image_channel_data_type: CL_FLOAT };
        assert_eq!(ImageFormat::of(&depth), Err(CL_IMAGE_FORMAT_NOT_SUPPORTED));
    }
}
