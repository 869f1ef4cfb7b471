// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches of kernels and of host functions.

use std::ffi::{c_uint, c_void};

use margay_runtime::function::Function;
use margay_runtime::launch::LaunchRequest;
use margay_runtime::{CudaError, Result};

use super::{handle, healthy, required, rt, stream_of};
use crate::sys::*;

/// `CU_LAUNCH_PARAM_*` keys of `extra`.
const PARAM_END: usize = 0;
const PARAM_BUFFER_POINTER: usize = 1;
const PARAM_BUFFER_SIZE: usize = 2;

/// Gathers the parameter block from either of the two forms.
pub(super) unsafe fn parameters(
    function: &Function,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Vec<u8>> {
    let code = function.code();
    let size = code.param_size as usize;
    let mut block = vec![0; size];
    if !params.is_null() && !extra.is_null() {
        return Err(CudaError::InvalidValue);
    }
    if !extra.is_null() {
        let (buffer, bytes) = unsafe { extra_buffer(extra)? };
        // Less than the kernel takes is an error, more is cut.
        if bytes < size {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: the program says that the buffer has `bytes` bytes.
        unsafe { std::ptr::copy_nonoverlapping(buffer, block.as_mut_ptr(), size) };
        return Ok(block);
    }
    if params.is_null() && !code.params.is_empty() {
        return Err(CudaError::InvalidValue);
    }
    for (at, param) in code.params.iter().enumerate() {
        // SAFETY: the program's array has an element for each parameter of the kernel.
        let from = unsafe { params.add(at).read() };
        required(from)?;
        let place = block.get_mut(param.offset as usize..(param.offset + param.size) as usize);
        let place = place.ok_or(CudaError::InvalidValue)?;
        // SAFETY: the element leads to a value of the parameter's size.
        unsafe { std::ptr::copy_nonoverlapping(from.cast(), place.as_mut_ptr(), place.len()) };
    }
    Ok(block)
}

/// Buffer and size from the key-value list.
unsafe fn extra_buffer(extra: *mut *mut c_void) -> Result<(*const u8, usize)> {
    let (mut buffer, mut size) = (std::ptr::null::<u8>(), None);
    let mut at = 0;
    loop {
        // SAFETY: the list goes on until its end key, with a value behind each other key.
        let key = unsafe { extra.add(at).read() }.addr();
        if key == PARAM_END {
            break;
        }
        // SAFETY: as above.
        let value = unsafe { extra.add(at + 1).read() };
        required(value)?;
        match key {
            PARAM_BUFFER_POINTER => buffer = value.cast(),
            // SAFETY: the manual has a pointer to the size here.
            PARAM_BUFFER_SIZE => size = Some(unsafe { value.cast::<usize>().read_unaligned() }),
            _ => return Err(CudaError::InvalidValue),
        }
        at += 2;
        if at > 16 {
            return Err(CudaError::InvalidValue);
        }
    }
    match size {
        Some(0) => Ok((buffer, 0)),
        Some(size) if !buffer.is_null() => Ok((buffer, size)),
        Some(_) | None => Err(CudaError::InvalidValue),
    }
}

/// What a launch has besides its arguments.
struct Shape {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    dynamic_shared: c_uint,
    cluster: Option<[u32; 3]>,
    cooperative: bool,
}

unsafe fn launch(
    function: CUfunction,
    shape: Shape,
    stream: CUstream,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<()> {
    let context = healthy()?;
    let function = rt()?.launchable(handle(function), &context)?;
    let stream = stream_of(&context, stream)?;
    let params = unsafe { parameters(&function, params, extra)? };
    let Shape { grid, block, dynamic_shared, cluster, cooperative } = shape;
    let request = LaunchRequest {
        grid,
        block,
        cluster,
        dynamic_shared,
        cooperative,
        params,
        shared_arguments: Vec::new(),
    };
    context.launch(&function, &stream, request)
}

#[expect(clippy::too_many_arguments, reason = "cuda.h")]
pub unsafe fn cuLaunchKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    dynamic_shared: c_uint,
    stream: CUstream,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<()> {
    let shape = Shape {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        dynamic_shared,
        cluster: None,
        cooperative: false,
    };
    unsafe { launch(function, shape, stream, params, extra) }
}

#[expect(clippy::too_many_arguments, reason = "cuda.h")]
pub unsafe fn cuLaunchCooperativeKernel(
    function: CUfunction,
    grid_x: c_uint,
    grid_y: c_uint,
    grid_z: c_uint,
    block_x: c_uint,
    block_y: c_uint,
    block_z: c_uint,
    dynamic_shared: c_uint,
    stream: CUstream,
    params: *mut *mut c_void,
) -> Result<()> {
    let shape = Shape {
        grid: [grid_x, grid_y, grid_z],
        block: [block_x, block_y, block_z],
        dynamic_shared,
        cluster: None,
        cooperative: true,
    };
    unsafe { launch(function, shape, stream, params, std::ptr::null_mut()) }
}

/// Grid and block of a configuration.
pub fn shape_of(config: &CUlaunchConfig) -> ([u32; 3], [u32; 3]) {
    (
        [config.gridDimX, config.gridDimY, config.gridDimZ],
        [config.blockDimX, config.blockDimY, config.blockDimZ],
    )
}

/// The attributes of a configuration.
unsafe fn attributes(config: &CUlaunchConfig) -> Result<Vec<CUlaunchAttribute>> {
    let count = config.numAttrs as usize;
    if count > 0 && config.attrs.is_null() {
        return Err(CudaError::InvalidValue);
    }
    // SAFETY: the program's array has `count` elements.
    Ok((0..count).map(|at| unsafe { config.attrs.add(at).read_unaligned() }).collect())
}

/// The cluster that a configuration asks for.
pub unsafe fn cluster_of(config: &CUlaunchConfig) -> Result<Option<[u32; 3]>> {
    let all = unsafe { attributes(config)? };
    let cluster = all.iter().rev().find(|a| a.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    Ok(cluster.map(|a| {
        // SAFETY: the attribute's kind says which field is set; any bits are integers.
        let d = unsafe { a.value.clusterDim };
        [d.x, d.y, d.z]
    }))
}

pub unsafe fn cuLaunchKernelEx(
    config: *const CUlaunchConfig,
    function: CUfunction,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<()> {
    required(config)?;
    // SAFETY: not null, and the program's to read.
    let config = unsafe { config.read_unaligned() };
    let (grid, block) = shape_of(&config);
    let mut cooperative = false;
    let mut completion = None;
    for attribute in unsafe { attributes(&config)? } {
        match attribute.id {
            // SAFETY: the attribute's kind says which field is set; any bits are integers.
            CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {
                cooperative = unsafe { attribute.value.cooperative } != 0
            }
            CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
                // SAFETY: as above.
                completion = Some(unsafe { attribute.value.programmaticEvent.event });
            }
            CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => {
                // SAFETY: as above.
                completion = Some(unsafe { attribute.value.launchCompletionEvent.event });
            }
            CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => {
                // SAFETY: as above.
                let updatable =
                    unsafe { attribute.value.deviceUpdatableKernelNode.deviceUpdatable } != 0;
                // A launch that becomes no node is refused with either value, as on a card.
                let context = healthy()?;
                if stream_of(&context, config.hStream)?.part().is_none() {
                    return Err(CudaError::NotSupported);
                }
                if updatable {
                    margay_runtime::report::warn(
                        "a kernel node that device code updates (deviceUpdatableKernelNode) is not supported: update \
                         the executable graph from the host",
                    );
                    return Err(CudaError::NotSupported);
                }
            }
            // Read by `cluster_of`.
            CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {}
            // Hints on caches, priorities and order, of which a full serial order is one reading.
            CU_LAUNCH_ATTRIBUTE_IGNORE
            | CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW
            | CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY
            | CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE
            | CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            | CU_LAUNCH_ATTRIBUTE_PRIORITY
            | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP
            | CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN
            | CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION
            | CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            | CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING => {}
            _ => return Err(CudaError::InvalidValue),
        }
    }
    let cluster = unsafe { cluster_of(&config)? };
    let dynamic_shared = config.sharedMemBytes;
    let shape = Shape { grid, block, dynamic_shared, cluster, cooperative };
    unsafe { launch(function, shape, config.hStream, params, extra)? };
    // An event of the launch: the end of the kernel is no earlier than what it stands for.
    if let Some(event) = completion {
        let context = healthy()?;
        let event = super::event::find(event)?;
        event.record(&*stream_of(&context, config.hStream)?)?;
    }
    Ok(())
}

/// The program's pointer, handed back to it on another thread.
pub struct UserData(pub *mut c_void);
// SAFETY: the program passes it so that its function may use it there.
unsafe impl Send for UserData {}
// SAFETY: only the program's function uses it.
unsafe impl Sync for UserData {}

pub unsafe fn cuLaunchHostFunc(stream: CUstream, call: CUhostFn, data: *mut c_void) -> Result<()> {
    let context = healthy()?;
    let stream = stream_of(&context, stream)?;
    let call = call.ok_or(CudaError::InvalidValue)?;
    let data = UserData(data);
    let run = move || {
        let data = &data;
        // SAFETY: the program's function with the program's data, as the manual says.
        unsafe { call(data.0) };
    };
    stream.owner()?.launch_host(&stream, Box::new(run))
}
