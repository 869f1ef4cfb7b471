// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device attributes: what `cudaDeviceGetAttribute` and `cudaGetDeviceProperties` come from.
//!
//! For the H200 every value is what a card answered (`tests/contract/attributes.h200.txt`); for other
//! cards the limits are `margay-arch`'s, and the rest follows the compute capability's guide. What
//! margay does not implement is answered with 0.

use std::ffi::c_int;

use margay_runtime::device::Device;
use margay_runtime::{CudaError, Result};

use super::{device, give, required};
use crate::sys::*;

/// PCI slot of the first virtual device.
pub const FIRST_SLOT: c_int = 6;

pub unsafe fn cuDeviceGetAttribute(
    to: *mut c_int,
    attribute: CUdevice_attribute,
    dev: CUdevice,
) -> Result<()> {
    let device = device(dev)?;
    required(to)?;
    unsafe { give(to, value(device, attribute)?) }
}

/// Texture and surface extents of a generation (CUDA C++ Programming Guide, "Technical
/// Specifications per Compute Capability").
struct Extents {
    width_1d: i32,
    linear_1d: i32,
    width_2d: i32,
    height_2d: i32,
    edge_3d: i32,
    layered: i32,
    layers: i32,
    surface_1d: i32,
    surface_2d: [i32; 2],
    surface_3d: i32,
}

const FIRST: Extents = Extents {
    width_1d: 8192,
    linear_1d: 1 << 27,
    width_2d: 65536,
    height_2d: 32768,
    edge_3d: 2048,
    layered: 8192,
    layers: 512,
    surface_1d: 8192,
    surface_2d: [8192, 8192],
    surface_3d: 0,
};
const FERMI: Extents = Extents {
    width_1d: 65536,
    height_2d: 65535,
    layered: 16384,
    layers: 2048,
    surface_1d: 65536,
    surface_2d: [65536, 32768],
    surface_3d: 2048,
    ..FIRST
};
const KEPLER: Extents = Extents { edge_3d: 4096, surface_3d: 4096, ..FERMI };
const PASCAL: Extents = Extents {
    width_1d: 131072,
    linear_1d: 1 << 28,
    width_2d: 131072,
    height_2d: 65536,
    edge_3d: 16384,
    layered: 32768,
    layers: 2048,
    surface_1d: 32768,
    surface_2d: [131072, 65536],
    surface_3d: 16384,
};

fn extents(sm: u32) -> &'static Extents {
    match sm {
        0..20 => &FIRST,
        20..30 => &FERMI,
        30..60 => &KEPLER,
        60.. => &PASCAL,
    }
}

/// What a card has and margay does not implement yet: answered with 0, so that programs take their
/// other way. (On the recorded card each is set.)
fn is_missing(attribute: CUdevice_attribute) -> bool {
    matches!(
        attribute,
        CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS
            | CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS
            | CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING
            | CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED
            | CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    )
}

/// One attribute.
pub fn value(device: &Device, attribute: CUdevice_attribute) -> Result<c_int> {
    let (limits, card) = (device.gpu.limits, device.gpu.card);
    let sm = device.gpu.cc().sm();
    if let Some(value) = textures(extents(sm), sm, attribute) {
        return Ok(value);
    }
    if is_missing(attribute) {
        return Ok(0);
    }
    let from = |first: u32| c_int::from(sm >= first);
    let int = |n: u32| c_int::try_from(n).unwrap_or(c_int::MAX);
    Ok(match attribute {
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK => int(limits.max_threads_per_block.value),
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X => int(limits.max_block.value[0]),
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y => int(limits.max_block.value[1]),
        CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z => int(limits.max_block.value[2]),
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X => int(limits.max_grid.value[0]),
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y => int(limits.max_grid.value[1]),
        CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z => int(limits.max_grid.value[2]),
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => int(limits.shared_per_block.value),
        CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY => int(limits.constant_memory.value),
        CU_DEVICE_ATTRIBUTE_WARP_SIZE => int(margay_arch::Limits::WARP_SIZE),
        CU_DEVICE_ATTRIBUTE_MAX_PITCH => c_int::MAX,
        CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK => int(limits.max_registers_per_block.value),
        CU_DEVICE_ATTRIBUTE_CLOCK_RATE => int(card.clock_khz.value),
        CU_DEVICE_ATTRIBUTE_GPU_OVERLAP => c_int::from(limits.async_engines.value > 0),
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => int(card.sm_count.value),
        CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT => 0,
        CU_DEVICE_ATTRIBUTE_INTEGRATED => c_int::from(card.integrated),
        CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY => 1,
        CU_DEVICE_ATTRIBUTE_COMPUTE_MODE => 0,
        CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS => c_int::from(limits.concurrent_kernels.value > 1),
        CU_DEVICE_ATTRIBUTE_ECC_ENABLED => c_int::from(card.ecc),
        CU_DEVICE_ATTRIBUTE_PCI_BUS_ID => 0,
        CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID => FIRST_SLOT + device.ordinal as c_int,
        CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID => 0,
        CU_DEVICE_ATTRIBUTE_TCC_DRIVER => 0,
        CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE => int(card.memory_clock_khz.value),
        CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH => int(card.memory_bus_bits.value),
        CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE => int(card.l2_bytes.value),
        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR => int(limits.max_threads_per_sm.value),
        CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT => int(limits.async_engines.value),
        CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING => c_int::from(limits.unified_addressing.value),
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => int(limits.cc.major),
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => int(limits.cc.minor),
        CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED => from(35),
        CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED => {
            c_int::from(matches!(sm, 20..30 | 35..40 | 52..))
        }
        CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED => from(20),
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => int(limits.shared_per_sm.value),
        CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR => int(limits.registers_per_sm.value),
        CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY => c_int::from(limits.managed_memory.value),
        CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD | CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID => 0,
        CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED => 0,
        CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO => {
            int(limits.single_to_double_ratio.value)
        }
        CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS => 0,
        CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS => {
            c_int::from(limits.concurrent_managed_access.value)
        }
        CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED => {
            c_int::from(limits.compute_preemption.value)
        }
        CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM => 1,
        CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS
        | CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR
        | CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED => 1,
        CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES => {
            CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR as c_int
        }
        CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1
        | CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1
        | CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1 => 0,
        CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH => c_int::from(limits.cooperative_launch.value),
        CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH => {
            c_int::from(limits.cooperative_launch.value)
        }
        CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => {
            int(limits.shared_per_block_optin.value)
        }
        CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES => 0,
        CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED => 1,
        CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
        | CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST => 0,
        CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED => 0,
        CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR => int(limits.max_blocks_per_sm.value),
        CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED => from(80),
        // Five eighths of the second-level cache on the cards that can keep lines (measured).
        CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE if sm >= 80 => {
            int(card.l2_bytes.value / 8 * 5)
        }
        CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE => 0,
        CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE if sm >= 80 => 128 << 20,
        CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE => 0,
        CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK => int(limits.shared_reserved.value),
        CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED => 1,
        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED => 1,
        CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH => c_int::from(limits.max_cluster.value > 0),
        CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT => 1 + 3 * from(90),
        CU_DEVICE_ATTRIBUTE_NUMA_CONFIG => 0,
        CU_DEVICE_ATTRIBUTE_NUMA_ID => -1,
        CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_MPS_ENABLED
        | CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID
        | CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK
        | CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH
        | CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED => 0,
        // The identification of the recorded card; other cards have none here.
        CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID if card.alias == "h200" => 0x2335_10de,
        CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID if card.alias == "h200" => 0x18be_10de,
        CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID | CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID => 0,
        CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED
        | CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED => 0,
        _ => return Err(CudaError::InvalidValue),
    })
}

fn textures(e: &Extents, sm: u32, attribute: CUdevice_attribute) -> Option<c_int> {
    let modern = sm >= 60;
    Some(match attribute {
        CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT if sm >= 20 => 512,
        CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT => 256,
        CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT => 512,
        CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT => 32,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH => e.width_1d,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH => e.width_2d,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT => e.height_2d,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH => e.edge_3d,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH => e.layered,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS => e.layers,
        CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER => c_int::from(sm >= 20),
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT => {
            if sm >= 20 {
                e.layered
            } else {
                0
            }
        }
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE => e.edge_3d / 2,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE => e.edge_3d * 2,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH => {
            if sm >= 20 {
                e.layered
            } else {
                0
            }
        }
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS => {
            if sm >= 20 {
                2046
            } else {
                0
            }
        }
        CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH => e.surface_1d,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH => e.surface_2d[0],
        CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT => e.surface_2d[1],
        CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH => e.surface_3d,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT => e.layered,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS => e.layers,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH => e.linear_1d,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH if modern => 131072,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH => 65000,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT => 65000,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH if modern => 2097120,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH => 1048544,
        CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT
        | CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH => {
            if sm >= 30 {
                e.layered
            } else {
                0
            }
        }
        _ => return None,
    })
}
