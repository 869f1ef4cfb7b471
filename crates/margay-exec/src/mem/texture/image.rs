// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images: texels in memory, by level, layer, slice, row and column.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::format::Format;

/// Size and kind of an image. A dimension that an image lacks is 0: a 1D image has height and depth
/// 0, a 2D image depth 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dimensions {
    pub width: u32,
    pub height: u32,
    pub depth: u32,
    /// Layers of an array, six for each cube; 0 if the image is no array.
    pub layers: u32,
    /// The layers are faces of cubes.
    pub cube: bool,
    /// Mip levels, at least 1.
    pub levels: u32,
}

impl Dimensions {
    /// A single-level image that is no array.
    pub const fn plain(width: u32, height: u32, depth: u32) -> Dimensions {
        Dimensions { width, height, depth, layers: 0, cube: false, levels: 1 }
    }
}

/// Where a level's texels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Bytes from the image's start.
    pub offset: u64,
    /// Texels; at least 1 each.
    pub width: u32,
    pub height: u32,
    pub depth: u32,
    /// Bytes from row to row, from slice to slice, and from layer to layer.
    pub row: u64,
    pub slice: u64,
    pub layer: u64,
}

/// Zeroed memory that an image owns.
struct Own {
    at: NonNull<u8>,
    layout: Layout,
    /// Counts the images of the process.
    number: u64,
}

static OWN_IMAGES: AtomicU64 = AtomicU64::new(0);

/// Where the texels of an image are, for whoever models the memory under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// In an allocation, rows one behind the other, with the device's addresses.
    Linear,
    /// In an array of its own, whose layout an API does not tell. `plane` tells the slices, layers and levels of
    /// image number `image` apart: it is the byte at which one begins here. `tiled`: the plane has rows.
    Opaque { image: u64, plane: u64, tiled: bool },
}

// SAFETY: the memory is owned; accesses go through raw pointers that race like a card's.
unsafe impl Send for Own {}
// SAFETY: as above.
unsafe impl Sync for Own {}

impl Own {
    fn new(bytes: u64) -> Result<Own, ImageError> {
        let bytes = usize::try_from(bytes.max(64)).map_err(|_| ImageError::TooLarge)?;
        let layout = Layout::from_size_align(bytes, 64).map_err(|_| ImageError::TooLarge)?;
        // SAFETY: the size is not zero.
        let at = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(ImageError::TooLarge)?;
        Ok(Own { at, layout, number: OWN_IMAGES.fetch_add(1, Ordering::Relaxed) })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.at.as_ptr(), self.layout) };
    }
}

enum Storage {
    /// The image's own memory.
    Own(Own),
    /// Memory of an allocation.
    Linear { address: u64, bytes: u64 },
}

/// An image, or some levels of one.
#[derive(Clone)]
pub struct Image {
    storage: Arc<Storage>,
    pub dimensions: Dimensions,
    pub format: Format,
    levels: Arc<[Level]>,
    /// As it was made: layers that a surface sees as rows are none.
    has_rows: bool,
}

/// Why an image cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    #[error("the image has no texels, or too many levels for its size")]
    Empty,
    #[error("the image is larger than any memory")]
    TooLarge,
    #[error("rows overlap: the pitch is less than a row's bytes")]
    Pitch,
}

impl Image {
    /// Zero-filled texels of its own.
    pub fn new(dimensions: Dimensions, format: Format) -> Result<Image, ImageError> {
        let (levels, bytes) = lay_out(dimensions, format)?;
        let storage = Arc::new(Storage::Own(Own::new(bytes)?));
        let has_rows = dimensions.height > 0;
        Ok(Image { storage, dimensions, format, levels: levels.into(), has_rows })
    }

    /// Bytes that [`Image::new`] would take.
    pub fn size_of(dimensions: Dimensions, format: Format) -> Result<u64, ImageError> {
        lay_out(dimensions, format).map(|(_, bytes)| bytes)
    }

    /// A view of memory that an allocation holds: rows `pitch` bytes apart (0: without gaps), slices
    /// `slice` bytes apart (0: without gaps).
    pub fn linear(
        address: u64,
        dimensions: Dimensions,
        format: Format,
        pitch: u64,
        slice: u64,
    ) -> Result<Image, ImageError> {
        let Dimensions { width, height, depth, layers, .. } = dimensions;
        if width == 0 || dimensions.levels != 1 {
            return Err(ImageError::Empty);
        }
        let row_bytes = u64::from(width) * u64::from(format.bytes());
        let row = if pitch == 0 { row_bytes } else { pitch };
        let rows = u64::from(height.max(1));
        let slices = u64::from(depth.max(1)) * u64::from(layers.max(1));
        let least = row.checked_mul(rows).ok_or(ImageError::TooLarge)?;
        let slice = if slice == 0 { least } else { slice };
        if row < row_bytes || (slices > 1 && slice < least) {
            return Err(ImageError::Pitch);
        }
        let last = slice.checked_mul(slices - 1);
        let last = last.and_then(|l| l.checked_add(row.checked_mul(rows - 1)?));
        let bytes = last.and_then(|l| l.checked_add(row_bytes)).ok_or(ImageError::TooLarge)?;
        address.checked_add(bytes).ok_or(ImageError::TooLarge)?;
        let (height, depth) = (height.max(1), depth.max(1));
        let level = Level { offset: 0, width, height, depth, row, slice, layer: slice };
        let storage = Arc::new(Storage::Linear { address, bytes });
        Ok(Image { storage, dimensions, format, levels: [level].into(), has_rows: false })
    }

    /// One level as an image of its own, with the same texels.
    pub fn level_view(&self, level: u32) -> Option<Image> {
        let at = *self.levels.get(level as usize)?;
        let d = self.dimensions;
        let size = |whole: u32, now: u32| if whole == 0 { 0 } else { now };
        let dimensions = Dimensions {
            width: at.width,
            height: size(d.height, at.height),
            depth: size(d.depth, at.depth),
            levels: 1,
            ..d
        };
        Some(Image { dimensions, levels: [at].into(), ..self.clone() })
    }

    /// Some levels as an image of its own, with the same texels.
    pub fn levels_view(&self, first: u32, last: u32) -> Option<Image> {
        let part = self.levels.get(first as usize..=last as usize)?;
        let top = self.level_view(first)?;
        let dimensions = Dimensions { levels: part.len() as u32, ..top.dimensions };
        Some(Image { dimensions, levels: part.into(), ..self.clone() })
    }

    /// The first level with its layers as rows (of a 1D array) or slices (of a 2D array), which is how
    /// surface instructions reach the layers of any image.
    pub fn layers_as_dimension(&self) -> Image {
        let (d, level) = (self.dimensions, self.levels[0]);
        let levels = |level| Arc::from([level]);
        match (d.layers, d.height) {
            (0, _) => self.level_view(0).unwrap_or_else(|| self.clone()),
            (layers, 0) => Image {
                dimensions: Dimensions::plain(d.width, layers, 0),
                levels: levels(Level { height: layers, row: level.layer, ..level }),
                ..self.clone()
            },
            (layers, height) => Image {
                dimensions: Dimensions::plain(d.width, height, layers),
                levels: levels(Level { depth: layers, slice: level.layer, ..level }),
                ..self.clone()
            },
        }
    }

    /// The same texels read in another format of the same size.
    pub fn with_format(&self, format: Format) -> Option<Image> {
        (format.bytes() == self.format.bytes()).then(|| Image { format, ..self.clone() })
    }

    /// The levels, the largest first.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Address and length of the allocation that the image lies in, if it has no texels of its own.
    pub fn range(&self) -> Option<(u64, u64)> {
        match &*self.storage {
            Storage::Own(_) => None,
            Storage::Linear { address, bytes } => Some((*address, *bytes)),
        }
    }

    /// Where the texels of a slice are.
    pub fn placement(&self, level: u32, layer: u32, z: u32) -> Placement {
        match (&*self.storage, self.levels.get(level as usize)) {
            (Storage::Own(own), Some(l)) => Placement::Opaque {
                image: own.number,
                plane: l.offset + u64::from(layer) * l.layer + u64::from(z) * l.slice,
                tiled: self.has_rows,
            },
            (Storage::Own(_) | Storage::Linear { .. }, _) => Placement::Linear,
        }
    }

    /// Bytes of the levels that this image has, as they lie here.
    pub fn bytes(&self) -> u64 {
        let layers = u64::from(self.layers());
        self.levels.iter().map(|l| l.layer * layers).sum()
    }

    /// Whether both share their texels.
    pub fn same_storage(&self, other: &Image) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }

    /// Layers, 1 for an image that is no array.
    pub fn layers(&self) -> u32 {
        self.dimensions.layers.max(1)
    }

    pub(super) fn base(&self) -> *mut u8 {
        match &*self.storage {
            Storage::Own(own) => own.at.as_ptr(),
            Storage::Linear { address, .. } => *address as *mut u8,
        }
    }

    /// A host pointer to a texel: the row goes on for the rest of the level's width. `z` is a slice
    /// of a 3D image. `None` outside of the image. Reading or writing through it is sound while the
    /// image lives and, for linear images, while the allocation does.
    pub fn texels(&self, level: u32, layer: u32, [x, y, z]: [u32; 3]) -> Option<*mut u8> {
        let l = self.levels.get(level as usize)?;
        if x >= l.width || y >= l.height || z >= l.depth || layer >= self.layers() {
            return None;
        }
        let offset = l.offset
            + u64::from(layer) * l.layer
            + u64::from(z) * l.slice
            + u64::from(y) * l.row
            + u64::from(x) * u64::from(self.format.bytes());
        Some(self.base().wrapping_add(offset as usize))
    }
}

/// Levels with rows without gaps, and the bytes of all.
fn lay_out(d: Dimensions, format: Format) -> Result<(Vec<Level>, u64), ImageError> {
    let longest = d.width.max(d.height).max(d.depth);
    let most = 32 - longest.leading_zeros();
    if d.width == 0 || d.levels == 0 || d.levels > most || (d.depth > 0 && d.height == 0) {
        return Err(ImageError::Empty);
    }
    let layers = u64::from(d.layers.max(1));
    let (mut out, mut offset) = (Vec::new(), 0u64);
    for n in 0..d.levels {
        let shrink = |size: u32| (size >> n).max(1);
        let (width, height, depth) = (shrink(d.width), shrink(d.height), shrink(d.depth));
        let row = u64::from(width) * u64::from(format.bytes());
        let slice = row.checked_mul(u64::from(height));
        let layer = slice.and_then(|s| s.checked_mul(u64::from(depth)));
        let (Some(slice), Some(layer)) = (slice, layer) else { return Err(ImageError::TooLarge) };
        out.push(Level { offset, width, height, depth, row, slice, layer });
        let end = layer.checked_mul(layers).and_then(|bytes| offset.checked_add(bytes));
        offset = end.and_then(|e| e.checked_next_multiple_of(64)).ok_or(ImageError::TooLarge)?;
    }
    Ok((out, offset))
}
