// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory sets: 8, 16 and 32 bits, in one and two dimensions, at once or in stream order.

use std::ffi::{c_uchar, c_uint, c_ushort};

use margay_runtime::Result;
use margay_runtime::copy::Element;

use super::{healthy, own_stream, stream_of};
use crate::sys::*;

fn now(to: u64, pitch: usize, value: Element, width: usize, height: usize) -> Result<()> {
    let context = healthy()?;
    let stream = own_stream(&context)?;
    let size = (width as u64, height as u64);
    context.fill(&stream, to, pitch as u64, value, size, true)
}

fn later(
    to: u64,
    pitch: usize,
    value: Element,
    (width, height): (usize, usize),
    stream: CUstream,
) -> Result<()> {
    let context = healthy()?;
    let stream = stream_of(&context, stream)?;
    let size = (width as u64, height as u64);
    stream.owner()?.fill(&stream, to, pitch as u64, value, size, false)
}

pub unsafe fn cuMemsetD8_v2(to: CUdeviceptr, value: c_uchar, count: usize) -> Result<()> {
    now(to, 0, Element::Byte(value), count, 1)
}

pub unsafe fn cuMemsetD16_v2(to: CUdeviceptr, value: c_ushort, count: usize) -> Result<()> {
    now(to, 0, Element::Half(value), count, 1)
}

pub unsafe fn cuMemsetD32_v2(to: CUdeviceptr, value: c_uint, count: usize) -> Result<()> {
    now(to, 0, Element::Word(value), count, 1)
}

pub unsafe fn cuMemsetD2D8_v2(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uchar,
    width: usize,
    height: usize,
) -> Result<()> {
    now(to, pitch, Element::Byte(value), width, height)
}

pub unsafe fn cuMemsetD2D16_v2(
    to: CUdeviceptr,
    pitch: usize,
    value: c_ushort,
    width: usize,
    height: usize,
) -> Result<()> {
    now(to, pitch, Element::Half(value), width, height)
}

pub unsafe fn cuMemsetD2D32_v2(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uint,
    width: usize,
    height: usize,
) -> Result<()> {
    now(to, pitch, Element::Word(value), width, height)
}

pub unsafe fn cuMemsetD8Async(
    to: CUdeviceptr,
    value: c_uchar,
    count: usize,
    stream: CUstream,
) -> Result<()> {
    later(to, 0, Element::Byte(value), (count, 1), stream)
}

pub unsafe fn cuMemsetD16Async(
    to: CUdeviceptr,
    value: c_ushort,
    count: usize,
    stream: CUstream,
) -> Result<()> {
    later(to, 0, Element::Half(value), (count, 1), stream)
}

pub unsafe fn cuMemsetD32Async(
    to: CUdeviceptr,
    value: c_uint,
    count: usize,
    stream: CUstream,
) -> Result<()> {
    later(to, 0, Element::Word(value), (count, 1), stream)
}

pub unsafe fn cuMemsetD2D8Async(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uchar,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result<()> {
    later(to, pitch, Element::Byte(value), (width, height), stream)
}

pub unsafe fn cuMemsetD2D16Async(
    to: CUdeviceptr,
    pitch: usize,
    value: c_ushort,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result<()> {
    later(to, pitch, Element::Half(value), (width, height), stream)
}

pub unsafe fn cuMemsetD2D32Async(
    to: CUdeviceptr,
    pitch: usize,
    value: c_uint,
    width: usize,
    height: usize,
    stream: CUstream,
) -> Result<()> {
    later(to, pitch, Element::Word(value), (width, height), stream)
}
