// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA's device run time: kernels that launch kernels (CUDA C++ Programming Guide, "CUDA Dynamic Parallelism").
//!
//! What device code asks for is kept with the grid that asks ([`grid::Grid`]) and runs once that grid has ended, in the
//! order in which it was asked for; a launch by the host has ended when all of its descendants have. CUDA promises no
//! more: a grid and its children may or may not run at once, and the order of the launches is one that every stream,
//! event and tail launch of the device allows. `cudaDeviceSynchronize` of code for CUDA before 12 runs what was asked
//! for so far.
//!
//! Limit: a grid that waits for its own child through memory waits for ever.

mod calls;
pub(crate) mod functions;
pub(crate) mod graph;
pub(crate) mod grid;
mod strings;

pub use calls::set_driver;
pub use graph::Unfit;

use crate::error::CudaError;
pub(crate) use functions::ptx_of;

/// An error that device code sees, with its number in `cudaError_t` (CUDA Runtime API, "Data types used by CUDA
/// Runtime"). The driver's errors have the same numbers there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Error(pub u32);

impl Error {
    pub const INVALID_CONFIGURATION: Error = Error(9);
    pub const SYNC_DEPTH_EXCEEDED: Error = Error(68);
    pub const LAUNCH_PENDING_COUNT_EXCEEDED: Error = Error(69);
    pub const INVALID_DEVICE_FUNCTION: Error = Error(98);
    pub const INVALID_VALUE: Error = Error(CudaError::InvalidValue.code());
    pub const MEMORY_ALLOCATION: Error = Error(CudaError::OutOfMemory.code());
    pub const INVALID_DEVICE: Error = Error(CudaError::InvalidDevice.code());
    pub const INVALID_RESOURCE_HANDLE: Error = Error(CudaError::InvalidHandle.code());
    pub const LAUNCH_OUT_OF_RESOURCES: Error = Error(CudaError::LaunchOutOfResources.code());
    pub const NOT_SUPPORTED: Error = Error(CudaError::NotSupported.code());
}

impl From<CudaError> for Error {
    fn from(error: CudaError) -> Error {
        Error(error.code())
    }
}
