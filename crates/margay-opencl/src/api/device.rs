// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices.

use std::ffi::c_void;

use opencl_sys::*;

use super::give_list;
use super::platform::{MARGAY, name_version, names, version};
use crate::Result;
use crate::answer::{Answer, offer};
use crate::command;
use crate::device::{Device, platform, platform_of};
use crate::image;
use crate::memory::ALIGNMENT;
use crate::object::{self, Object};

/// What all devices have, and so the platform.
pub const EXTENSIONS: &[(&str, cl_version)] = &[
    ("cl_khr_3d_image_writes", version(1, 0, 0)),
    ("cl_khr_byte_addressable_store", version(1, 0, 0)),
    ("cl_khr_create_command_queue", version(1, 0, 0)),
    ("cl_khr_extended_versioning", version(1, 0, 0)),
    ("cl_khr_fp16", version(1, 0, 0)),
    ("cl_khr_fp64", version(1, 0, 0)),
    ("cl_khr_global_int32_base_atomics", version(1, 0, 0)),
    ("cl_khr_global_int32_extended_atomics", version(1, 0, 0)),
    ("cl_khr_icd", version(1, 0, 0)),
    ("cl_khr_image2d_from_buffer", version(1, 0, 0)),
    ("cl_khr_int64_base_atomics", version(1, 0, 0)),
    ("cl_khr_int64_extended_atomics", version(1, 0, 0)),
    ("cl_khr_local_int32_base_atomics", version(1, 0, 0)),
    ("cl_khr_local_int32_extended_atomics", version(1, 0, 0)),
    ("cl_khr_subgroup_ballot", version(1, 0, 0)),
    ("cl_khr_subgroup_clustered_reduce", version(1, 0, 0)),
    ("cl_khr_subgroup_extended_types", version(1, 0, 0)),
    ("cl_khr_subgroup_non_uniform_arithmetic", version(1, 0, 0)),
    ("cl_khr_subgroup_non_uniform_vote", version(1, 0, 0)),
    ("cl_khr_subgroup_rotate", version(1, 0, 0)),
    ("cl_khr_subgroup_shuffle", version(1, 0, 0)),
    ("cl_khr_subgroup_shuffle_relative", version(1, 0, 0)),
    ("cl_khr_subgroups", version(1, 0, 0)),
    ("cl_khr_suggested_local_work_size", version(1, 0, 0)),
];

/// Optional features of OpenCL C 3.0.
const FEATURES: &[&str] = &[
    "__opencl_c_3d_image_writes",
    "__opencl_c_atomic_order_acq_rel",
    "__opencl_c_atomic_order_seq_cst",
    "__opencl_c_atomic_scope_all_devices",
    "__opencl_c_atomic_scope_device",
    "__opencl_c_fp64",
    "__opencl_c_generic_address_space",
    "__opencl_c_images",
    "__opencl_c_int64",
    "__opencl_c_program_scope_global_variables",
    "__opencl_c_read_write_images",
    "__opencl_c_subgroups",
    "__opencl_c_work_group_collective_functions",
];

/// What a device is, besides possibly the default.
fn kind(device: &Device) -> cl_device_type {
    if device.gpu.card.accelerator { CL_DEVICE_TYPE_ACCELERATOR } else { CL_DEVICE_TYPE_GPU }
}

pub unsafe fn clGetDeviceIDs(
    platform: cl_platform_id,
    device_type: cl_device_type,
    num_entries: cl_uint,
    devices: *mut cl_device_id,
    num_devices: *mut cl_uint,
) -> Result<()> {
    let platform = platform_of(platform)?;
    let known = CL_DEVICE_TYPE_DEFAULT
        | CL_DEVICE_TYPE_CPU
        | CL_DEVICE_TYPE_GPU
        | CL_DEVICE_TYPE_ACCELERATOR
        | CL_DEVICE_TYPE_CUSTOM;
    if device_type != CL_DEVICE_TYPE_ALL && (device_type == 0 || device_type & !known != 0) {
        return Err(CL_INVALID_DEVICE_TYPE);
    }
    let by_default = |n: usize| n == 0 && device_type & CL_DEVICE_TYPE_DEFAULT != 0;
    let devices_of = platform.devices.iter().enumerate();
    let wanted = devices_of.filter(|(n, d)| device_type & kind(d) != 0 || by_default(*n));
    let list: Vec<cl_device_id> = wanted.map(|(_, d)| d.handle()).collect();
    // SAFETY: the caller keeps the contract.
    unsafe { give_list(&list, num_entries, devices, num_devices)? };
    if list.is_empty() { Err(CL_DEVICE_NOT_FOUND) } else { Ok(()) }
}

pub unsafe fn clRetainDevice(device: cl_device_id) -> Result<()> {
    // Root devices live as long as the process.
    object::get::<Device>(device).map(drop)
}

pub unsafe fn clReleaseDevice(device: cl_device_id) -> Result<()> {
    object::get::<Device>(device).map(drop)
}

pub unsafe fn clCreateSubDevices(
    in_device: cl_device_id,
    properties: *const cl_device_partition_property,
    _num_devices: cl_uint,
    _out_devices: *mut cl_device_id,
    _num_devices_ret: *mut cl_uint,
) -> Result<()> {
    object::get::<Device>(in_device)?;
    // No way of partitioning is supported, as CL_DEVICE_PARTITION_PROPERTIES says.
    let _ = properties;
    Err(CL_INVALID_VALUE)
}

pub unsafe fn clSetDefaultDeviceCommandQueue(
    context: cl_context,
    device: cl_device_id,
    command_queue: cl_command_queue,
) -> Result<()> {
    let context = object::get::<crate::context::Context>(context)?;
    if !context.has(&*object::get::<Device>(device)?) {
        return Err(CL_INVALID_DEVICE);
    }
    // There are no queues on the device, whichever this one is.
    let _ = command_queue;
    Err(CL_INVALID_OPERATION)
}

pub unsafe fn clGetDeviceAndHostTimer(
    device: cl_device_id,
    device_timestamp: *mut cl_ulong,
    host_timestamp: *mut cl_ulong,
) -> Result<()> {
    object::get::<Device>(device)?;
    if device_timestamp.is_null() || host_timestamp.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    let now = command::now();
    // SAFETY: not null, and the caller keeps the contract.
    unsafe {
        offer(device_timestamp, now);
        offer(host_timestamp, now);
    }
    Ok(())
}

pub unsafe fn clGetHostTimer(device: cl_device_id, host_timestamp: *mut cl_ulong) -> Result<()> {
    object::get::<Device>(device)?;
    if host_timestamp.is_null() {
        return Err(CL_INVALID_VALUE);
    }
    // SAFETY: not null, and the caller keeps the contract.
    unsafe { offer(host_timestamp, command::now()) };
    Ok(())
}

pub unsafe fn clGetDeviceInfo(
    device: cl_device_id,
    param_name: cl_device_info,
    param_value_size: usize,
    param_value: *mut c_void,
    param_value_size_ret: *mut usize,
) -> Result<()> {
    let device = object::get::<Device>(device)?;
    let answer =
        Answer { size: param_value_size, value: param_value, size_ret: param_value_size_ret };
    let (card, limits) = (device.gpu.card, device.gpu.limits);
    let memory = card.memory_bytes.value;
    let threads = limits.max_threads_per_block.value as usize;
    let independent = device.sm() >= 70;
    let rounding = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST | CL_FP_FMA;
    match param_name {
        CL_DEVICE_TYPE => answer.value(kind(&device)),
        // "mg": of no PCI vendor, and below the identifiers that Khronos gives.
        CL_DEVICE_VENDOR_ID => answer.value(0x6d67u32),
        CL_DEVICE_MAX_COMPUTE_UNITS => answer.value(card.sm_count.value),
        CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS => answer.value(3u32),
        CL_DEVICE_MAX_WORK_GROUP_SIZE => answer.value(threads),
        CL_DEVICE_MAX_WORK_ITEM_SIZES => answer.slice(&limits.max_block.value.map(|n| n as usize)),
        CL_DEVICE_PREFERRED_VECTOR_WIDTH_CHAR
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_SHORT
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_INT
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_LONG
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_DOUBLE
        | CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_CHAR
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_SHORT
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_INT
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_LONG
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE
        | CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF => answer.value(1u32),
        CL_DEVICE_MAX_CLOCK_FREQUENCY => answer.value(card.clock_khz.value / 1000),
        CL_DEVICE_ADDRESS_BITS => answer.value(64u32),
        // A quarter, the least that is allowed.
        CL_DEVICE_MAX_MEM_ALLOC_SIZE => answer.value(most_allocation(&device)),
        CL_DEVICE_IMAGE_SUPPORT => answer.flag(true),
        // Any argument may be one; a texture unit's numbers.
        CL_DEVICE_MAX_READ_IMAGE_ARGS => answer.value(256u32),
        CL_DEVICE_MAX_WRITE_IMAGE_ARGS
        | CL_DEVICE_MAX_READ_WRITE_IMAGE_ARGS
        | CL_DEVICE_MAX_SAMPLERS => answer.value(64u32),
        CL_DEVICE_IMAGE_PITCH_ALIGNMENT => answer.value(image::PITCH_ALIGNMENT),
        CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT => answer.value(image::BASE_ALIGNMENT),
        CL_DEVICE_IMAGE2D_MAX_WIDTH | CL_DEVICE_IMAGE2D_MAX_HEIGHT => answer.value(image::MOST_2D),
        CL_DEVICE_IMAGE3D_MAX_WIDTH
        | CL_DEVICE_IMAGE3D_MAX_HEIGHT
        | CL_DEVICE_IMAGE3D_MAX_DEPTH => answer.value(image::MOST_3D),
        CL_DEVICE_IMAGE_MAX_BUFFER_SIZE => answer.value(image::MOST_BUFFER),
        CL_DEVICE_IMAGE_MAX_ARRAY_SIZE => answer.value(image::MOST_LAYERS),
        CL_DEVICE_MAX_PARAMETER_SIZE => answer.value(most_parameters(&device)),
        CL_DEVICE_MEM_BASE_ADDR_ALIGN => answer.value(8 * ALIGNMENT as u32),
        // Of long16, the largest type.
        CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE => answer.value(128u32),
        CL_DEVICE_SINGLE_FP_CONFIG => answer.value(rounding | CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT),
        CL_DEVICE_DOUBLE_FP_CONFIG => {
            answer.value(rounding | CL_FP_ROUND_TO_ZERO | CL_FP_ROUND_TO_INF)
        }
        CL_DEVICE_HALF_FP_CONFIG => answer.value(rounding),
        CL_DEVICE_GLOBAL_MEM_CACHE_TYPE => answer.value(CL_READ_WRITE_CACHE),
        CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE => answer.value(128u32),
        CL_DEVICE_GLOBAL_MEM_CACHE_SIZE => answer.value(u64::from(card.l2_bytes.value)),
        CL_DEVICE_GLOBAL_MEM_SIZE => answer.value(memory),
        CL_DEVICE_MAX_CONSTANT_BUFFER_SIZE => answer.value(u64::from(limits.constant_memory.value)),
        // Any argument may be one.
        CL_DEVICE_MAX_CONSTANT_ARGS => answer.value((most_parameters(&device) / 8) as u32),
        CL_DEVICE_LOCAL_MEM_TYPE => answer.value(CL_LOCAL),
        CL_DEVICE_LOCAL_MEM_SIZE => answer.value(u64::from(limits.shared_per_block.value)),
        CL_DEVICE_ERROR_CORRECTION_SUPPORT => answer.flag(card.ecc),
        CL_DEVICE_HOST_UNIFIED_MEMORY => answer.flag(card.integrated),
        CL_DEVICE_PROFILING_TIMER_RESOLUTION => answer.value(1usize),
        CL_DEVICE_ENDIAN_LITTLE | CL_DEVICE_AVAILABLE => answer.flag(true),
        CL_DEVICE_COMPILER_AVAILABLE | CL_DEVICE_LINKER_AVAILABLE => {
            answer.flag(margay_opencl_c::available())
        }
        CL_DEVICE_EXECUTION_CAPABILITIES => answer.value(CL_EXEC_KERNEL | CL_EXEC_NATIVE_KERNEL),
        // Also CL_DEVICE_QUEUE_PROPERTIES, its older name.
        CL_DEVICE_QUEUE_ON_HOST_PROPERTIES => {
            answer.value(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE)
        }
        CL_DEVICE_QUEUE_ON_DEVICE_PROPERTIES => answer.value(0 as cl_bitfield),
        CL_DEVICE_QUEUE_ON_DEVICE_PREFERRED_SIZE
        | CL_DEVICE_QUEUE_ON_DEVICE_MAX_SIZE
        | CL_DEVICE_MAX_ON_DEVICE_QUEUES
        | CL_DEVICE_MAX_ON_DEVICE_EVENTS
        | CL_DEVICE_MAX_PIPE_ARGS
        | CL_DEVICE_PIPE_MAX_ACTIVE_RESERVATIONS
        | CL_DEVICE_PIPE_MAX_PACKET_SIZE => answer.value(0u32),
        CL_DEVICE_BUILT_IN_KERNELS => answer.text(""),
        CL_DEVICE_BUILT_IN_KERNELS_WITH_VERSION => answer.bytes(&[]),
        CL_DEVICE_PLATFORM => answer.value(platform().map_or(std::ptr::null_mut(), |p| p.handle())),
        CL_DEVICE_NAME => answer.text(card.name),
        CL_DEVICE_VENDOR => answer.text("margay"),
        CL_DRIVER_VERSION => answer.text(env!("CARGO_PKG_VERSION")),
        CL_DEVICE_PROFILE => answer.text("FULL_PROFILE"),
        CL_DEVICE_VERSION => answer.text(&format!("OpenCL 3.0 {MARGAY}")),
        CL_DEVICE_NUMERIC_VERSION => answer.value(version(3, 0, 0)),
        CL_DEVICE_OPENCL_C_VERSION => answer.text(&format!("OpenCL C 1.2 {MARGAY}")),
        // Of cl_khr_extended_versioning, which OpenCL 3.0 took over without it.
        CL_DEVICE_OPENCL_C_NUMERIC_VERSION_KHR => answer.value(version(1, 2, 0)),
        CL_DEVICE_OPENCL_C_ALL_VERSIONS => {
            let versions = [(1, 0), (1, 1), (1, 2), (3, 0)];
            answer.slice(&versions.map(|(a, b)| name_version("OpenCL C", version(a, b, 0))))
        }
        CL_DEVICE_OPENCL_C_FEATURES => {
            let list: Vec<_> = FEATURES.iter().map(|n| name_version(n, version(3, 0, 0))).collect();
            answer.slice(&list)
        }
        CL_DEVICE_EXTENSIONS => answer.text(&names(EXTENSIONS)),
        CL_DEVICE_EXTENSIONS_WITH_VERSION => {
            let list: Vec<_> = EXTENSIONS.iter().map(|(n, v)| name_version(n, *v)).collect();
            answer.slice(&list)
        }
        CL_DEVICE_PRINTF_BUFFER_SIZE => {
            answer.value((u64::from(card.sm_count.value) << 16).max(1 << 20) as usize)
        }
        CL_DEVICE_PREFERRED_INTEROP_USER_SYNC => answer.flag(true),
        CL_DEVICE_PARENT_DEVICE => answer.value(std::ptr::null_mut::<c_void>()),
        CL_DEVICE_PARTITION_MAX_SUB_DEVICES => answer.value(0u32),
        CL_DEVICE_PARTITION_PROPERTIES => answer.value(0isize),
        CL_DEVICE_PARTITION_AFFINITY_DOMAIN => answer.value(0 as cl_bitfield),
        CL_DEVICE_PARTITION_TYPE => answer.bytes(&[]),
        CL_DEVICE_REFERENCE_COUNT => answer.value(1u32),
        CL_DEVICE_SVM_CAPABILITIES => answer.value(CL_DEVICE_SVM_COARSE_GRAIN_BUFFER),
        CL_DEVICE_PREFERRED_PLATFORM_ATOMIC_ALIGNMENT
        | CL_DEVICE_PREFERRED_GLOBAL_ATOMIC_ALIGNMENT
        | CL_DEVICE_PREFERRED_LOCAL_ATOMIC_ALIGNMENT => answer.value(0u32),
        CL_DEVICE_MAX_GLOBAL_VARIABLE_SIZE | CL_DEVICE_GLOBAL_VARIABLE_PREFERRED_TOTAL_SIZE => {
            answer.value(most_allocation(&device).min(1 << 30) as usize)
        }
        CL_DEVICE_IL_VERSION => answer.text(""),
        CL_DEVICE_ILS_WITH_VERSION => answer.bytes(&[]),
        CL_DEVICE_MAX_NUM_SUB_GROUPS => answer.value((threads / 32) as u32),
        CL_DEVICE_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS => answer.flag(independent),
        CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES => answer.value(
            CL_DEVICE_ATOMIC_ORDER_RELAXED
                | CL_DEVICE_ATOMIC_ORDER_ACQ_REL
                | CL_DEVICE_ATOMIC_ORDER_SEQ_CST
                | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP
                | CL_DEVICE_ATOMIC_SCOPE_DEVICE
                | CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES,
        ),
        CL_DEVICE_ATOMIC_FENCE_CAPABILITIES => answer.value(
            CL_DEVICE_ATOMIC_ORDER_RELAXED
                | CL_DEVICE_ATOMIC_ORDER_ACQ_REL
                | CL_DEVICE_ATOMIC_ORDER_SEQ_CST
                | CL_DEVICE_ATOMIC_SCOPE_WORK_ITEM
                | CL_DEVICE_ATOMIC_SCOPE_WORK_GROUP
                | CL_DEVICE_ATOMIC_SCOPE_DEVICE
                | CL_DEVICE_ATOMIC_SCOPE_ALL_DEVICES,
        ),
        CL_DEVICE_NON_UNIFORM_WORK_GROUP_SUPPORT
        | CL_DEVICE_WORK_GROUP_COLLECTIVE_FUNCTIONS_SUPPORT
        | CL_DEVICE_GENERIC_ADDRESS_SPACE_SUPPORT => answer.flag(true),
        CL_DEVICE_PIPE_SUPPORT => answer.flag(false),
        CL_DEVICE_DEVICE_ENQUEUE_CAPABILITIES => answer.value(0 as cl_bitfield),
        CL_DEVICE_PREFERRED_WORK_GROUP_SIZE_MULTIPLE => answer.value(32usize),
        CL_DEVICE_LATEST_CONFORMANCE_VERSION_PASSED => answer.text(""),
        _ => Err(CL_INVALID_VALUE),
    }
}

/// The largest buffer.
pub fn most_allocation(device: &Device) -> u64 {
    (device.gpu.card.memory_bytes.value / 4).max(128 << 20).min(device.gpu.card.memory_bytes.value)
}

/// Bytes of a kernel's parameters.
fn most_parameters(device: &Device) -> usize {
    // clang's PTX version allows more from compute capability 7.0 on; 4352 holds for all.
    device.gpu.limits.max_parameters.value.min(4352) as usize
}
