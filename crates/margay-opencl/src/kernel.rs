// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels and their arguments.
//!
//! Invariant: a set argument has the size that the kernel's parameter has. Memory objects are held weakly,
//! as the specification wants it: only commands keep them alive.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use margay_opencl_c::{Argument, Space};
use margay_runtime::function::Function;
use margay_runtime::launch::SharedArgument;
use opencl_sys::{
    CL_INVALID_ARG_INDEX, CL_INVALID_ARG_SIZE, CL_INVALID_ARG_VALUE, CL_INVALID_CONTEXT,
    CL_INVALID_KERNEL, CL_INVALID_KERNEL_ARGS, CL_INVALID_MEM_OBJECT,
    CL_INVALID_PROGRAM_EXECUTABLE, CL_INVALID_SAMPLER, CL_MEM_OBJECT_IMAGE1D,
    CL_MEM_OBJECT_IMAGE1D_ARRAY, CL_MEM_OBJECT_IMAGE1D_BUFFER, CL_MEM_OBJECT_IMAGE2D,
    CL_MEM_OBJECT_IMAGE2D_ARRAY, CL_MEM_OBJECT_IMAGE3D, CL_MEM_READ_ONLY, CL_MEM_WRITE_ONLY,
    cl_int,
};
use parking_lot::Mutex;

use crate::Result;
use crate::device::Device;
use crate::memory::{self, Mem, Storage, Svm};
use crate::object::{self, Id, Object, Table};
use crate::program::{Loaded, Program};
use crate::sampler::Sampler;

/// The value of an argument.
#[derive(Clone, Default)]
pub enum Value {
    #[default]
    Unset,
    Bytes(Vec<u8>),
    /// And its handle.
    Buffer(Weak<Mem>, usize),
    /// A null pointer to global or constant memory.
    Null,
    /// Bytes of local memory.
    Local(u64),
    Svm(u64),
    /// What the texture unit knows the sampler by.
    Sampler(u64),
}

/// A kernel's code on one device.
#[derive(Clone)]
pub struct OnDevice {
    pub device: Arc<Device>,
    pub function: Arc<Function>,
    /// Keeps the module.
    _loaded: Arc<Loaded>,
}

/// A kernel.
pub struct Kernel {
    id: Id,
    pub program: Arc<Program>,
    pub info: margay_opencl_c::Kernel,
    /// Built with `-cl-kernel-arg-info`.
    pub argument_info: bool,
    /// Remainders at the far sides of a range are allowed.
    pub non_uniform: bool,
    pub on: Vec<OnDevice>,
    pub values: Mutex<Vec<Value>>,
    /// `CL_KERNEL_EXEC_INFO_SVM_PTRS`.
    pub svm: Mutex<Vec<Arc<Storage>>>,
}

static KERNELS: Table<Kernel> = Table::new();

impl Object for Kernel {
    const INVALID: cl_int = CL_INVALID_KERNEL;
    fn table() -> &'static Table<Self> {
        &KERNELS
    }
    fn id(&self) -> &Id {
        &self.id
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        self.program.kernels.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Kernel {
    /// The kernel on all devices that the program is built for.
    pub fn of(id: Id, program: &Arc<Program>, info: margay_opencl_c::Kernel) -> Result<Kernel> {
        let mut on = Vec::new();
        let (mut argument_info, mut non_uniform) = (false, true);
        {
            let builds = program.builds.lock();
            for (build, device) in builds.iter().zip(&program.devices) {
                let Some(loaded) = &build.loaded else { continue };
                let function = loaded.0.function(&info.name);
                let function = function.map_err(|_| CL_INVALID_PROGRAM_EXECUTABLE)?;
                argument_info |= build.options.argument_info;
                let may = build.options.standard >= margay_opencl_c::Standard::Cl20;
                non_uniform &= may && !build.options.uniform_groups;
                on.push(OnDevice { device: device.clone(), function, _loaded: loaded.clone() });
            }
        }
        let count = info.arguments.len();
        let parameters = on.first().map_or(0, |d| d.function.code().params.len());
        if on.is_empty() || parameters != count {
            return Err(CL_INVALID_PROGRAM_EXECUTABLE);
        }
        program.kernels.fetch_add(1, Ordering::AcqRel);
        Ok(Kernel {
            id,
            program: program.clone(),
            info,
            argument_info,
            non_uniform,
            on,
            values: Mutex::new(vec![Value::Unset; count]),
            svm: Mutex::default(),
        })
    }

    pub fn on(&self, device: &Device) -> Result<&OnDevice> {
        let found = self.on.iter().find(|d| d.device.ordinal == device.ordinal);
        found.ok_or(CL_INVALID_PROGRAM_EXECUTABLE)
    }

    fn argument(&self, index: u32) -> Result<&Argument> {
        self.info.arguments.get(index as usize).ok_or(CL_INVALID_ARG_INDEX)
    }

    /// Bytes of a parameter.
    fn parameter_size(&self, index: u32) -> usize {
        let first = self.on.first().and_then(|d| d.function.code().params.get(index as usize));
        first.map_or(0, |p| p.size as usize)
    }

    /// `clSetKernelArg`.
    ///
    /// # Safety
    /// `value` is null or has `size` bytes.
    pub unsafe fn set(&self, index: u32, size: usize, value: *const u8) -> Result<()> {
        let argument = self.argument(index)?;
        let pointer_size = size_of::<usize>();
        // SAFETY: the caller promises it, and the size was checked.
        let handle = || unsafe { value.cast::<*mut std::ffi::c_void>().read_unaligned() };
        let set = match argument.space {
            Space::Local if size == 0 => return Err(CL_INVALID_ARG_SIZE),
            Space::Local if !value.is_null() => return Err(CL_INVALID_ARG_VALUE),
            Space::Local => Value::Local(size as u64),
            _ if argument.is_sampler() => {
                if size != pointer_size {
                    return Err(CL_INVALID_ARG_SIZE);
                }
                if value.is_null() {
                    return Err(CL_INVALID_SAMPLER);
                }
                let sampler = object::get::<Sampler>(handle())?;
                if sampler.context.handle() != self.program.context.handle() {
                    return Err(CL_INVALID_CONTEXT);
                }
                Value::Sampler(sampler.argument())
            }
            Space::Global | Space::Constant => {
                if size != pointer_size {
                    return Err(CL_INVALID_ARG_SIZE);
                }
                if value.is_null() || handle().is_null() {
                    if argument.is_image() {
                        return Err(CL_INVALID_MEM_OBJECT);
                    }
                    Value::Null
                } else {
                    let mem = memory::used(handle())?;
                    if mem.context.handle() != self.program.context.handle() {
                        return Err(CL_INVALID_CONTEXT);
                    }
                    fits(argument, &mem)?;
                    Value::Buffer(Arc::downgrade(&mem), mem.id().address())
                }
            }
            Space::Private => {
                if size != self.parameter_size(index) {
                    return Err(CL_INVALID_ARG_SIZE);
                }
                if value.is_null() {
                    return Err(CL_INVALID_ARG_VALUE);
                }
                // SAFETY: the caller promises it.
                Value::Bytes(unsafe { std::slice::from_raw_parts(value, size) }.to_vec())
            }
        };
        self.values.lock()[index as usize] = set;
        Ok(())
    }

    /// `clSetKernelArgSVMPointer`.
    pub fn set_svm(&self, index: u32, address: u64) -> Result<()> {
        match self.argument(index)?.space {
            Space::Global | Space::Constant => {}
            Space::Local | Space::Private => return Err(CL_INVALID_ARG_VALUE),
        }
        if address != 0 && Svm::find(address).is_none() {
            return Err(CL_INVALID_ARG_VALUE);
        }
        self.values.lock()[index as usize] =
            if address == 0 { Value::Null } else { Value::Svm(address) };
        Ok(())
    }

    /// Local bytes that arguments ask for and static variables take.
    pub fn local_bytes(&self, on: &OnDevice) -> Result<u64> {
        let info = on.function.info().map_err(|_| CL_INVALID_PROGRAM_EXECUTABLE)?;
        let local = |v: &Value| if let Value::Local(n) = v { *n } else { 0 };
        let dynamic = self.values.lock().iter().map(local).fold(0, u64::saturating_add);
        Ok(dynamic.saturating_add(info.static_shared.into()))
    }

    /// The parameter block, what local memory it asks for beyond the static, and what must stay alive.
    pub fn capture(&self, on: &OnDevice) -> Result<Captured> {
        let code = on.function.code();
        let info = on.function.info().map_err(|_| CL_INVALID_PROGRAM_EXECUTABLE)?;
        let mut captured = Captured {
            params: vec![0; info.param_size as usize],
            dynamic_local: 0,
            local_arguments: Vec::new(),
            buffers: Vec::new(),
            storage: self.svm.lock().clone(),
        };
        // The largest alignment of a type of OpenCL C, so that any array fits.
        const ALIGN: u64 = 128;
        let mut top = u64::from(info.static_shared);
        for (value, param) in self.values.lock().iter().zip(&code.params) {
            let bytes: Vec<u8> = match value {
                Value::Unset => return Err(CL_INVALID_KERNEL_ARGS),
                Value::Bytes(bytes) => bytes.clone(),
                Value::Null => vec![0; 8],
                Value::Buffer(mem, handle) => {
                    let mem = mem.upgrade().ok_or_else(|| {
                        memory::tell_released(std::ptr::without_provenance_mut(*handle));
                        CL_INVALID_KERNEL_ARGS
                    })?;
                    let address = mem.argument();
                    captured.buffers.push(mem);
                    address.to_le_bytes().to_vec()
                }
                Value::Svm(address) => {
                    let svm = Svm::find(*address).ok_or(CL_INVALID_KERNEL_ARGS)?;
                    captured.storage.push(svm.storage);
                    address.to_le_bytes().to_vec()
                }
                Value::Sampler(handle) => handle.to_le_bytes().to_vec(),
                Value::Local(size) => {
                    let at = top.checked_next_multiple_of(ALIGN).unwrap_or(u64::MAX);
                    top = at.saturating_add(*size);
                    let argument = SharedArgument { param: param.offset, first: at, bytes: *size };
                    captured.local_arguments.push(argument);
                    at.to_le_bytes().to_vec()
                }
            };
            let at = param.offset as usize;
            let place = captured.params.get_mut(at..at + bytes.len());
            place.ok_or(CL_INVALID_KERNEL_ARGS)?.copy_from_slice(&bytes);
        }
        captured.dynamic_local = top - u64::from(info.static_shared);
        Ok(captured)
    }
}

/// Whether a memory object is what the parameter takes.
fn fits(argument: &Argument, mem: &Mem) -> Result<()> {
    let Some(image) = &mem.image else {
        return if argument.is_image() { Err(CL_INVALID_MEM_OBJECT) } else { Ok(()) };
    };
    let kind = match argument.base_type.as_str() {
        "image1d_t" => CL_MEM_OBJECT_IMAGE1D,
        "image1d_buffer_t" => CL_MEM_OBJECT_IMAGE1D_BUFFER,
        "image1d_array_t" => CL_MEM_OBJECT_IMAGE1D_ARRAY,
        "image2d_t" => CL_MEM_OBJECT_IMAGE2D,
        "image2d_array_t" => CL_MEM_OBJECT_IMAGE2D_ARRAY,
        "image3d_t" => CL_MEM_OBJECT_IMAGE3D,
        _ => return Err(CL_INVALID_MEM_OBJECT),
    };
    if kind != image.shape.kind {
        return Err(CL_INVALID_MEM_OBJECT);
    }
    let denied = match argument.access.as_str() {
        "read_only" => CL_MEM_WRITE_ONLY,
        "write_only" => CL_MEM_READ_ONLY,
        _ => CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY,
    };
    let unwritable = argument.access != "read_only" && !image.shape.format.writable();
    if mem.flags & denied != 0 || unwritable { Err(CL_INVALID_ARG_VALUE) } else { Ok(()) }
}

/// Arguments as they are at an enqueue.
pub struct Captured {
    pub params: Vec<u8>,
    pub dynamic_local: u64,
    pub local_arguments: Vec<SharedArgument>,
    pub buffers: Vec<Arc<Mem>>,
    pub storage: Vec<Arc<Storage>>,
}
