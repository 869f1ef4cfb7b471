// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies.

use std::ffi::c_void;

use margay_runtime::copy::{Extent, Side, Where};
use margay_runtime::{CudaError, Result};

use super::{handle, healthy, own_stream, required, rt, stream_of};
use crate::sys::*;

fn host(pointer: *const c_void) -> u64 {
    pointer.expose_provenance() as u64
}

fn linear(to: Side, from: Side, bytes: usize) -> Result<()> {
    let context = healthy()?;
    let stream = own_stream(&context)?;
    context.copy(&stream, to, from, Extent::linear(bytes as u64))
}

fn linear_async(to: Side, from: Side, bytes: usize, stream: CUstream) -> Result<()> {
    let context = healthy()?;
    let stream = stream_of(&context, stream)?;
    let owner = stream.owner()?;
    owner.copy_async(&stream, to, from, Extent::linear(bytes as u64))
}

fn any(address: u64) -> Side {
    Side::linear(address, Where::Any)
}

fn on_device(address: u64) -> Side {
    Side::linear(address, Where::Device)
}

fn on_host(pointer: *const c_void) -> Side {
    Side::linear(host(pointer), Where::Host)
}

pub unsafe fn cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> Result<()> {
    linear(any(to), any(from), bytes)
}

pub unsafe fn cuMemcpyAsync(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    linear_async(any(to), any(from), bytes, stream)
}

fn check_contexts(a: CUcontext, b: CUcontext) -> Result<()> {
    let rt = rt()?;
    rt.context(handle(a))?;
    rt.context(handle(b)).map(drop)
}

pub unsafe fn cuMemcpyPeer(
    to: CUdeviceptr,
    to_context: CUcontext,
    from: CUdeviceptr,
    from_context: CUcontext,
    bytes: usize,
) -> Result<()> {
    check_contexts(to_context, from_context)?;
    // Work of the source's context comes first, as on a card.
    rt()?.context(handle(from_context))?.synchronize()?;
    linear(on_device(to), on_device(from), bytes)
}

pub unsafe fn cuMemcpyPeerAsync(
    to: CUdeviceptr,
    to_context: CUcontext,
    from: CUdeviceptr,
    from_context: CUcontext,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    check_contexts(to_context, from_context)?;
    linear_async(on_device(to), on_device(from), bytes, stream)
}

pub unsafe fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) -> Result<()> {
    linear(on_device(to), on_host(from), bytes)
}

pub unsafe fn cuMemcpyHtoDAsync_v2(
    to: CUdeviceptr,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    linear_async(on_device(to), on_host(from), bytes, stream)
}

pub unsafe fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) -> Result<()> {
    linear(on_host(to), on_device(from), bytes)
}

pub unsafe fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    linear_async(on_host(to), on_device(from), bytes, stream)
}

pub unsafe fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> Result<()> {
    linear(on_device(to), on_device(from), bytes)
}

pub unsafe fn cuMemcpyDtoDAsync_v2(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    linear_async(on_device(to), on_device(from), bytes, stream)
}

/// One side of a descriptor, as all its forms have it.
struct End {
    kind: CUmemorytype,
    host: *const c_void,
    device: CUdeviceptr,
    array: CUarray,
    x: usize,
    y: usize,
    z: usize,
    pitch: usize,
    height: usize,
}

impl End {
    /// Where the copy starts, and its strides.
    fn side(&self, extent: &Extent) -> Result<Side> {
        let (base, place) = match self.kind {
            CU_MEMORYTYPE_HOST => (host(self.host), Where::Host),
            CU_MEMORYTYPE_DEVICE => (self.device, Where::Device),
            CU_MEMORYTYPE_UNIFIED => (self.device, Where::Any),
            CU_MEMORYTYPE_ARRAY => {
                let at = [self.x as u64, self.y as u64, self.z as u64];
                return super::array::find(self.array)?.side(at, *extent);
            }
            _ => return Err(CudaError::InvalidValue),
        };
        let width = extent.width as usize;
        // A pitch of 0 means rows without gaps.
        let pitch = if self.pitch == 0 { width + self.x } else { self.pitch };
        if pitch < width + self.x && (extent.height > 1 || extent.depth > 1) {
            return Err(CudaError::InvalidValue);
        }
        let height = if self.height == 0 { extent.height as usize + self.y } else { self.height };
        let slice = pitch.checked_mul(height).ok_or(CudaError::InvalidValue)?;
        let offset = self
            .z
            .checked_mul(slice)
            .and_then(|o| o.checked_add(self.y.checked_mul(pitch)?))
            .and_then(|o| o.checked_add(self.x));
        let address = offset.and_then(|o| base.checked_add(o as u64));
        Ok(Side {
            address: address.filter(|_| base != 0).ok_or(CudaError::InvalidValue)?,
            place,
            pitch: pitch as u64,
            slice: slice as u64,
        })
    }
}

fn run(ends: (End, End), extent: Extent, stream: Option<CUstream>) -> Result<()> {
    let context = healthy()?;
    let (to, from) = ends;
    if extent.width == 0 || extent.height == 0 || extent.depth == 0 {
        return Ok(());
    }
    let (to, from) = (to.side(&extent)?, from.side(&extent)?);
    match stream {
        None => context.copy(&*own_stream(&context)?, to, from, extent),
        Some(stream) => {
            let stream = stream_of(&context, stream)?;
            stream.owner()?.copy_async(&stream, to, from, extent)
        }
    }
}

unsafe fn copy_2d(copy: *const CUDA_MEMCPY2D, stream: Option<CUstream>) -> Result<()> {
    required(copy)?;
    // SAFETY: not null, and the program's to read.
    let c = unsafe { copy.read_unaligned() };
    let to = End {
        kind: c.dstMemoryType,
        host: c.dstHost,
        device: c.dstDevice,
        array: c.dstArray,
        x: c.dstXInBytes,
        y: c.dstY,
        z: 0,
        pitch: c.dstPitch,
        height: 0,
    };
    let from = End {
        kind: c.srcMemoryType,
        host: c.srcHost,
        device: c.srcDevice,
        array: c.srcArray,
        x: c.srcXInBytes,
        y: c.srcY,
        z: 0,
        pitch: c.srcPitch,
        height: 0,
    };
    let extent = Extent { width: c.WidthInBytes as u64, height: c.Height as u64, depth: 1 };
    run((to, from), extent, stream)
}

pub unsafe fn cuMemcpy2D_v2(copy: *const CUDA_MEMCPY2D) -> Result<()> {
    unsafe { copy_2d(copy, None) }
}

pub unsafe fn cuMemcpy2DUnaligned_v2(copy: *const CUDA_MEMCPY2D) -> Result<()> {
    unsafe { copy_2d(copy, None) }
}

pub unsafe fn cuMemcpy2DAsync_v2(copy: *const CUDA_MEMCPY2D, stream: CUstream) -> Result<()> {
    unsafe { copy_2d(copy, Some(stream)) }
}

/// Both ends and the extent of a 3D copy: CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER name them alike.
macro_rules! ends_3d {
    ($c:ident) => {{
        let to = End {
            kind: $c.dstMemoryType,
            host: $c.dstHost,
            device: $c.dstDevice,
            array: $c.dstArray,
            x: $c.dstXInBytes,
            y: $c.dstY,
            z: $c.dstZ,
            pitch: $c.dstPitch,
            height: $c.dstHeight,
        };
        let from = End {
            kind: $c.srcMemoryType,
            host: $c.srcHost,
            device: $c.srcDevice,
            array: $c.srcArray,
            x: $c.srcXInBytes,
            y: $c.srcY,
            z: $c.srcZ,
            pitch: $c.srcPitch,
            height: $c.srcHeight,
        };
        let extent = Extent {
            width: $c.WidthInBytes as u64,
            height: $c.Height as u64,
            depth: $c.Depth as u64,
        };
        (to, from, extent)
    }};
}

/// Both ends of a copy as the runtime takes them, for a graph's node.
pub(super) unsafe fn sides_3d(copy: *const CUDA_MEMCPY3D) -> Result<(Side, Side, Extent)> {
    required(copy)?;
    // SAFETY: not null, and the program's to read.
    let c = unsafe { copy.read_unaligned() };
    if c.srcLOD != 0 || c.dstLOD != 0 {
        return Err(CudaError::InvalidValue);
    }
    let (to, from, extent) = ends_3d!(c);
    Ok((to.side(&extent)?, from.side(&extent)?, extent))
}

unsafe fn copy_3d(copy: *const CUDA_MEMCPY3D, stream: Option<CUstream>) -> Result<()> {
    required(copy)?;
    // SAFETY: not null, and the program's to read.
    let c = unsafe { copy.read_unaligned() };
    if c.srcLOD != 0 || c.dstLOD != 0 {
        return Err(CudaError::InvalidValue);
    }
    let (to, from, extent) = ends_3d!(c);
    run((to, from), extent, stream)
}

pub unsafe fn cuMemcpy3D_v2(copy: *const CUDA_MEMCPY3D) -> Result<()> {
    unsafe { copy_3d(copy, None) }
}

pub unsafe fn cuMemcpy3DAsync_v2(copy: *const CUDA_MEMCPY3D, stream: CUstream) -> Result<()> {
    unsafe { copy_3d(copy, Some(stream)) }
}

unsafe fn copy_3d_peer(copy: *const CUDA_MEMCPY3D_PEER, stream: Option<CUstream>) -> Result<()> {
    required(copy)?;
    // SAFETY: not null, and the program's to read.
    let c = unsafe { copy.read_unaligned() };
    check_contexts(c.dstContext, c.srcContext)?;
    if c.srcLOD != 0 || c.dstLOD != 0 {
        return Err(CudaError::InvalidValue);
    }
    let (to, from, extent) = ends_3d!(c);
    run((to, from), extent, stream)
}

pub unsafe fn cuMemcpy3DPeer(copy: *const CUDA_MEMCPY3D_PEER) -> Result<()> {
    unsafe { copy_3d_peer(copy, None) }
}

pub unsafe fn cuMemcpy3DPeerAsync(copy: *const CUDA_MEMCPY3D_PEER, stream: CUstream) -> Result<()> {
    unsafe { copy_3d_peer(copy, Some(stream)) }
}

/// Rows of an array and of linear memory, from a byte of the array on: a copy of one dimension may
/// run over the ends of rows (the manual limits it to 1D arrays; drivers do not).
fn array_linear(
    array: CUarray,
    offset: usize,
    bytes: usize,
    linear: Side,
    into: bool,
    stream: Option<CUstream>,
) -> Result<()> {
    let context = healthy()?;
    let array = super::array::find(array)?;
    let row = array.row_bytes();
    let whole = offset.checked_add(bytes).ok_or(CudaError::InvalidValue)?;
    let rows = u64::from(array.image.levels()[0].height);
    if whole as u64 > row * rows
        || array.image.dimensions.layers.max(array.image.dimensions.depth) > 1
    {
        return Err(CudaError::InvalidValue);
    }
    let (mut at, mut left, mut address) = (offset as u64, bytes as u64, linear.address);
    while left > 0 {
        let (x, y) = (at % row, at / row);
        let part = left.min(row - x);
        let extent = Extent::linear(part);
        let texels = array.side([x, y, 0], extent)?;
        let flat = Side { address, ..linear };
        let (to, from) = if into { (texels, flat) } else { (flat, texels) };
        match stream {
            None => context.copy(&*own_stream(&context)?, to, from, extent)?,
            Some(stream) => {
                let stream = stream_of(&context, stream)?;
                stream.owner()?.copy_async(&stream, to, from, extent)?;
            }
        }
        (at, left, address) = (at + part, left - part, address + part);
    }
    Ok(())
}

pub unsafe fn cuMemcpyHtoA_v2(
    to: CUarray,
    offset: usize,
    from: *const c_void,
    bytes: usize,
) -> Result<()> {
    array_linear(to, offset, bytes, on_host(from), true, None)
}

pub unsafe fn cuMemcpyHtoAAsync_v2(
    to: CUarray,
    offset: usize,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    array_linear(to, offset, bytes, on_host(from), true, Some(stream))
}

pub unsafe fn cuMemcpyAtoH_v2(
    to: *mut c_void,
    from: CUarray,
    offset: usize,
    bytes: usize,
) -> Result<()> {
    array_linear(from, offset, bytes, on_host(to), false, None)
}

pub unsafe fn cuMemcpyAtoHAsync_v2(
    to: *mut c_void,
    from: CUarray,
    offset: usize,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    array_linear(from, offset, bytes, on_host(to), false, Some(stream))
}

pub unsafe fn cuMemcpyDtoA_v2(
    to: CUarray,
    offset: usize,
    from: CUdeviceptr,
    bytes: usize,
) -> Result<()> {
    array_linear(to, offset, bytes, on_device(from), true, None)
}

pub unsafe fn cuMemcpyAtoD_v2(
    to: CUdeviceptr,
    from: CUarray,
    offset: usize,
    bytes: usize,
) -> Result<()> {
    array_linear(from, offset, bytes, on_device(to), false, None)
}

pub unsafe fn cuMemcpyAtoA_v2(
    to: CUarray,
    to_offset: usize,
    from: CUarray,
    from_offset: usize,
    bytes: usize,
) -> Result<()> {
    let context = healthy()?;
    let (to, from) = (super::array::find(to)?, super::array::find(from)?);
    let extent = Extent::linear(bytes as u64);
    let place = |offset: usize, row: u64| [offset as u64 % row, offset as u64 / row, 0];
    let to = to.side(place(to_offset, to.row_bytes()), extent)?;
    let from = from.side(place(from_offset, from.row_bytes()), extent)?;
    context.copy(&*own_stream(&context)?, to, from, extent)
}
