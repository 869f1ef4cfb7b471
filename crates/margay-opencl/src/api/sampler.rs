// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samplers.

use std::ffi::c_void;

use opencl_sys::*;

use crate::Result;
use crate::answer::Answer;
use crate::context::Context;
use crate::object::{self, Object};
use crate::sampler::Sampler;

fn create(
    context: cl_context,
    (normalized, addressing, filter): (cl_bool, cl_addressing_mode, cl_filter_mode),
    listed: Vec<u64>,
) -> Result<cl_sampler> {
    let context = object::get::<Context>(context)?;
    if !matches!(normalized, CL_FALSE | CL_TRUE) {
        return Err(CL_INVALID_VALUE);
    }
    let how = (normalized == CL_TRUE, addressing, filter);
    Sampler::check(how.0, how.1, how.2)?;
    Ok(object::publish(|id| Sampler::new(id, context, how, listed)).handle())
}

pub unsafe fn clCreateSampler(
    context: cl_context,
    normalized_coords: cl_bool,
    addressing_mode: cl_addressing_mode,
    filter_mode: cl_filter_mode,
) -> Result<cl_sampler> {
    create(context, (normalized_coords, addressing_mode, filter_mode), Vec::new())
}

pub unsafe fn clCreateSamplerWithProperties(
    context: cl_context,
    sampler_properties: *const cl_sampler_properties,
) -> Result<cl_sampler> {
    let mut how = (CL_TRUE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST);
    let mut listed: Vec<u64> = Vec::new();
    let mut at = sampler_properties;
    while !at.is_null() {
        // SAFETY: the list ends with zero, which has not been reached.
        let name = unsafe { at.read_unaligned() };
        if name == 0 {
            listed.push(0);
            break;
        }
        // SAFETY: a value follows a name.
        let value = unsafe { at.add(1).read_unaligned() };
        if listed.iter().step_by(2).any(|n| *n == name) {
            return Err(CL_INVALID_VALUE);
        }
        let small = u32::try_from(value).map_err(|_| CL_INVALID_VALUE)?;
        match u32::try_from(name) {
            Ok(CL_SAMPLER_NORMALIZED_COORDS) => how.0 = small,
            Ok(CL_SAMPLER_ADDRESSING_MODE) => how.1 = small,
            Ok(CL_SAMPLER_FILTER_MODE) => how.2 = small,
            _ => return Err(CL_INVALID_VALUE),
        }
        listed.extend([name, value]);
        // SAFETY: the next name, or the end.
        at = unsafe { at.add(2) };
    }
    create(context, how, listed)
}

pub unsafe fn clRetainSampler(sampler: cl_sampler) -> Result<()> {
    object::retain::<Sampler>(sampler)
}

pub unsafe fn clReleaseSampler(sampler: cl_sampler) -> Result<()> {
    object::release::<Sampler>(sampler)
}

pub unsafe fn clGetSamplerInfo(
    sampler: cl_sampler,
    param_name: cl_sampler_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let sampler = object::get::<Sampler>(sampler)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    match param_name {
        CL_SAMPLER_REFERENCE_COUNT => answer.value(object::references(&*sampler)),
        CL_SAMPLER_CONTEXT => answer.value(sampler.context.handle()),
        CL_SAMPLER_NORMALIZED_COORDS => answer.flag(sampler.normalized),
        CL_SAMPLER_ADDRESSING_MODE => answer.value(sampler.addressing),
        CL_SAMPLER_FILTER_MODE => answer.value(sampler.filter),
        CL_SAMPLER_PROPERTIES => answer.slice(&sampler.listed),
        _ => Err(CL_INVALID_VALUE),
    }
}
