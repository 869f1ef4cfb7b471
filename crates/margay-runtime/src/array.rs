// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA arrays and mipmapped arrays: images with handles.
//!
//! Invariant: an array is destroyed only after its context's work has ended, so that copies and
//! kernels under way may use its texels. A level of a mipmapped array shares the whole's texels.

use std::collections::HashMap;
use std::sync::Arc;

use margay_exec::mem::texture::{Dimensions, Format, Image, ImageError};
use parking_lot::Mutex;

use crate::context::Context;
use crate::copy::{Extent, Side, Where};
use crate::error::{CudaError, Result};
use crate::handle::{self, Handle};
use crate::runtime::{self, Runtime};

/// A CUDA array, or one level of a mipmapped one.
pub struct Array {
    pub handle: Handle,
    pub context: Handle,
    pub device: u32,
    pub image: Image,
    /// `CUarray_format` and `CUDA_ARRAY3D_*` as given.
    pub api_format: u32,
    pub flags: u32,
    /// The mipmapped array that it is a level of.
    pub parent: Option<Handle>,
    charged: u64,
}

/// A mipmapped array.
pub struct MipmappedArray {
    pub handle: Handle,
    pub context: Handle,
    pub device: u32,
    pub image: Image,
    pub api_format: u32,
    pub flags: u32,
    charged: u64,
    levels: Mutex<HashMap<u32, Handle>>,
}

fn refusal(error: ImageError) -> CudaError {
    match error {
        ImageError::Empty | ImageError::Pitch => CudaError::InvalidValue,
        ImageError::TooLarge => CudaError::OutOfMemory,
    }
}

impl Context {
    fn make_image(&self, dimensions: Dimensions, format: Format) -> Result<(Image, u64)> {
        self.check()?;
        let bytes = Image::size_of(dimensions, format).map_err(refusal)?;
        // Card memory goes in pieces of this size.
        let charged = bytes.checked_next_multiple_of(512).ok_or(CudaError::OutOfMemory)?;
        let device = runtime::get().device(self.device)?;
        device.reserve(charged)?;
        match Image::new(dimensions, format) {
            Ok(image) => Ok((image, charged)),
            Err(error) => {
                device.give_back(charged);
                Err(refusal(error))
            }
        }
    }

    /// `cuArray3DCreate`.
    pub fn create_array(
        &self,
        dimensions: Dimensions,
        format: Format,
        api_format: u32,
        flags: u32,
    ) -> Result<Arc<Array>> {
        let (image, charged) = self.make_image(dimensions, format)?;
        let (context, device) = (self.handle, self.device);
        let handle = handle::fresh();
        let parent = None;
        let array =
            Arc::new(Array { handle, context, device, image, api_format, flags, parent, charged });
        runtime::get().arrays.insert(handle, array.clone());
        Ok(array)
    }

    /// `cuMipmappedArrayCreate`.
    pub fn create_mipmapped(
        &self,
        dimensions: Dimensions,
        format: Format,
        api_format: u32,
        flags: u32,
    ) -> Result<Arc<MipmappedArray>> {
        let (image, charged) = self.make_image(dimensions, format)?;
        let (context, device) = (self.handle, self.device);
        let handle = handle::fresh();
        let levels = Mutex::default();
        let array = Arc::new(MipmappedArray {
            handle,
            context,
            device,
            image,
            api_format,
            flags,
            charged,
            levels,
        });
        runtime::get().mipmapped_arrays.insert(handle, array.clone());
        Ok(array)
    }
}

impl Array {
    /// One side of a copy that starts `x` bytes into row `y` of slice or layer `z`.
    pub fn side(&self, [x, y, z]: [u64; 3], extent: Extent) -> Result<Side> {
        let level = &self.image.levels()[0];
        let row_bytes = u64::from(level.width) * u64::from(self.image.format.bytes());
        let layered = self.image.dimensions.layers > 0;
        let slices = if layered { self.image.layers() } else { level.depth };
        let fits =
            |at: u64, count: u64, most: u64| at.checked_add(count).is_some_and(|end| end <= most);
        let inside = fits(x, extent.width, row_bytes)
            && fits(y, extent.height, level.height.into())
            && fits(z, extent.depth, slices.into());
        if !inside {
            return Err(CudaError::InvalidValue);
        }
        let (layer, slice) = if layered { (z as u32, 0) } else { (0, z as u32) };
        let row = self.image.texels(0, layer, [0, y as u32, slice]);
        let row = row.ok_or(CudaError::InvalidValue)?.expose_provenance() as u64;
        let stride = if layered { level.layer } else { level.slice };
        Ok(Side { address: row + x, place: Where::Array, pitch: level.row, slice: stride })
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.image.levels()[0].width) * u64::from(self.image.format.bytes())
    }
}

impl MipmappedArray {
    /// `cuMipmappedArrayGetLevel`: the same handle each time.
    pub fn level(&self, level: u32) -> Result<Arc<Array>> {
        let rt = runtime::get();
        let mut levels = self.levels.lock();
        if let Some(array) = levels.get(&level).and_then(|h| rt.arrays.get(*h)) {
            return Ok(array);
        }
        let image = self.image.level_view(level).ok_or(CudaError::InvalidValue)?;
        let array = Arc::new(Array {
            handle: handle::fresh(),
            context: self.context,
            device: self.device,
            image,
            api_format: self.api_format,
            flags: self.flags,
            parent: Some(self.handle),
            charged: 0,
        });
        rt.arrays.insert(array.handle, array.clone());
        levels.insert(level, array.handle);
        Ok(array)
    }
}

impl Runtime {
    /// The array with this handle.
    pub fn array(&self, handle: Handle) -> Result<Arc<Array>> {
        self.arrays.get(handle).ok_or(CudaError::InvalidHandle)
    }

    /// `cuArrayDestroy`: a level of a mipmapped array goes with the whole.
    pub fn destroy_array(&self, handle: Handle) -> Result<()> {
        let array = self.array(handle)?;
        if array.parent.is_some() {
            return Err(CudaError::InvalidValue);
        }
        if let Some(owner) = self.contexts.get(array.context) {
            owner.drain();
        }
        let array = self.arrays.remove(handle).ok_or(CudaError::InvalidHandle)?;
        self.device(array.device)?.give_back(array.charged);
        Ok(())
    }

    /// `cuMipmappedArrayDestroy`.
    pub fn destroy_mipmapped(&self, handle: Handle) -> Result<()> {
        let array = self.mipmapped_arrays.get(handle).ok_or(CudaError::InvalidHandle)?;
        if let Some(owner) = self.contexts.get(array.context) {
            owner.drain();
        }
        let array = self.mipmapped_arrays.remove(handle).ok_or(CudaError::InvalidHandle)?;
        self.arrays.drain_where(|a| a.parent == Some(handle));
        self.device(array.device)?.give_back(array.charged);
        Ok(())
    }

    /// Frees the arrays of a context that ends.
    pub(crate) fn release_context_arrays(&self, context: Handle) {
        for array in self.arrays.drain_where(|a| a.context == context) {
            if let Ok(device) = self.device(array.device) {
                device.give_back(array.charged);
            }
        }
        for array in self.mipmapped_arrays.drain_where(|a| a.context == context) {
            if let Ok(device) = self.device(array.device) {
                device.give_back(array.charged);
            }
        }
    }
}
