// SPDX-License-Identifier: MIT OR Apache-2.0
//! The platform and its devices.

use std::sync::{Arc, OnceLock};

use margay_arch::Gpu;
use margay_runtime::Runtime;
use opencl_sys::{CL_INVALID_DEVICE, CL_INVALID_PLATFORM, cl_int};

use crate::Result;
use crate::object::{self, Id, Object, Table};

/// The oldest architecture that clang compiles OpenCL C for.
pub const OLDEST_SM: u32 = 20;

/// A virtual GPU.
pub struct Device {
    id: Id,
    /// Of the runtime's devices.
    pub ordinal: u32,
    pub gpu: Gpu,
}

static DEVICES: Table<Device> = Table::new();

impl Object for Device {
    const INVALID: cl_int = CL_INVALID_DEVICE;
    fn table() -> &'static Table<Self> {
        &DEVICES
    }
    fn id(&self) -> &Id {
        &self.id
    }
}

impl Device {
    /// Compute capability times ten.
    pub fn sm(&self) -> u32 {
        self.gpu.cc().sm()
    }
}

/// The one platform.
pub struct Platform {
    id: Id,
    pub runtime: &'static Runtime,
    pub devices: Vec<Arc<Device>>,
}

static PLATFORMS: Table<Platform> = Table::new();

impl Object for Platform {
    const INVALID: cl_int = CL_INVALID_PLATFORM;
    fn table() -> &'static Table<Self> {
        &PLATFORMS
    }
    fn id(&self) -> &Id {
        &self.id
    }
}

/// The platform, made at the first call; `None` if there is no device.
pub fn platform() -> Option<&'static Arc<Platform>> {
    static PLATFORM: OnceLock<Option<Arc<Platform>>> = OnceLock::new();
    let made = PLATFORM.get_or_init(|| {
        let runtime = margay_runtime::init().ok()?;
        let able = runtime.devices.iter().filter(|d| {
            let able = d.gpu.cc().sm() >= OLDEST_SM;
            if !able {
                margay_runtime::report::warn(&format!(
                    "{} is no OpenCL device: clang compiles OpenCL C for compute capability 2.0 and newer",
                    d.gpu.card.name
                ));
            }
            able
        });
        let device = |d: &margay_runtime::device::Device| {
            object::publish(|id| Device { id, ordinal: d.ordinal, gpu: d.gpu })
        };
        let devices: Vec<_> = able.map(device).collect();
        if devices.is_empty() {
            return None;
        }
        crate::sampler::bind_all(runtime.memory.objects());
        Some(object::publish(|id| Platform { id, runtime, devices }))
    });
    // After a fork the child has no worker threads.
    made.as_ref().filter(|_| margay_runtime::initialized().is_ok())
}

/// The platform that a call means: null is the only one.
pub fn platform_of(handle: *mut std::ffi::c_void) -> Result<&'static Arc<Platform>> {
    let platform = platform().ok_or(CL_INVALID_PLATFORM)?;
    match handle.is_null() || handle == platform.handle() {
        true => Ok(platform),
        false => Err(CL_INVALID_PLATFORM),
    }
}
