// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules: compiled device code in a context, with its variables in memory.
//!
//! Invariant: a variable is one object for the life of its module in its context, initialised at
//! load. Shared variables have no address: each block has its own.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use margay_exec::mem::texture::Object;
use margay_exec::program::{LoadedModule, function_handle};
use margay_ir as ir;
use parking_lot::Mutex;

use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::fatbin::Image;
use crate::function::Function;
use crate::handle::{self, Handle};
use crate::image::{self, CompileOptions, LoadFailure};
use crate::limits;
use crate::managed::HostVariables;
use crate::memory::Origin;
use crate::runtime::{self, Runtime};
use crate::signal;

/// A module in a context.
pub struct Module {
    pub handle: Handle,
    pub context: Handle,
    pub device: u32,
    pub loaded: Arc<LoadedModule>,
    /// Handles already given out, so that a name always gives the same one.
    functions: Mutex<HashMap<ir::FuncId, Handle>>,
    /// Bytes of constant variables.
    pub const_bytes: u64,
}

/// A variable as the host sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    pub address: u64,
    pub size: u64,
    pub managed: bool,
}

impl Context {
    /// Loads device code in any form.
    pub fn load_image(
        &self,
        image: &Image,
        options: CompileOptions,
    ) -> std::result::Result<Arc<Module>, LoadFailure> {
        self.check()?;
        let sm = runtime::get().device(self.device)?.gpu.cc().sm();
        self.load_ir(image::compile_image(image, sm, options)?)
    }

    /// Loads compiled code: gives its variables memory and values.
    pub fn load_ir(&self, code: Arc<ir::Module>) -> std::result::Result<Arc<Module>, LoadFailure> {
        self.load_bound(code, &HostVariables::default())
    }

    /// As [`Context::load_ir`], with host variables that are the storage of managed ones.
    pub fn load_bound(
        &self,
        code: Arc<ir::Module>,
        host: &HostVariables,
    ) -> std::result::Result<Arc<Module>, LoadFailure> {
        let device = runtime::get().device(self.device)?;
        if let Some(log) = limits::exceeded(&code, device.gpu.limits) {
            return Err(LoadFailure { error: CudaError::InvalidPtx, log });
        }
        self.load_checked(code, host)
    }

    /// Loads a program of OpenCL C: local memory is held against the device's when a kernel is enqueued. With
    /// warnings of it, a line each.
    pub fn load_opencl(
        &self,
        code: Arc<ir::Module>,
    ) -> std::result::Result<(Arc<Module>, String), LoadFailure> {
        let limits = runtime::get().device(self.device)?.gpu.limits;
        let log = limits::module_and_parameters(&code, limits);
        if !log.is_empty() {
            return Err(LoadFailure { error: CudaError::InvalidPtx, log });
        }
        let most = limits.shared_per_block.value;
        let line = |(name, bytes): (&str, u32)| {
            format!(
                "warning: kernel '{name}' has {bytes} bytes of local memory, the device has {most} \
                 (CL_DEVICE_LOCAL_MEM_SIZE): it cannot be enqueued\n"
            )
        };
        let warnings = limits::too_much_shared(&code, limits).map(line).collect();
        Ok((self.load_checked(code, &HostVariables::default())?, warnings))
    }

    fn load_checked(
        &self,
        code: Arc<ir::Module>,
        host: &HostVariables,
    ) -> std::result::Result<Arc<Module>, LoadFailure> {
        let (addresses, valued) = self.place_variables(&code, host)?;
        static UIDS: AtomicU32 = AtomicU32::new(1);
        let uid = UIDS.fetch_add(1, Ordering::Relaxed);
        initialise(&code, &addresses, &valued, uid);
        bind_opaque(&code, &addresses);
        let is_const = |g: &&ir::Global| g.space == ir::Space::Const;
        let const_bytes = code.globals.iter().filter(is_const).map(|g| g.size).sum();
        let module = Arc::new(Module {
            handle: handle::fresh(),
            context: self.handle,
            device: self.device,
            loaded: Arc::new(LoadedModule { ir: code, addresses, uid }),
            functions: Mutex::default(),
            const_bytes,
        });
        runtime::get().modules.insert(module.handle, module.clone());
        self.fifo.flush();
        Ok(module)
    }

    /// Addresses by variable, and those that have their values already.
    fn place_variables(
        &self,
        code: &ir::Module,
        host: &HostVariables,
    ) -> Result<(Vec<u64>, HashSet<u64>)> {
        let mut addresses: Vec<u64> = Vec::with_capacity(code.globals.len());
        let mut valued = HashSet::new();
        for global in &code.globals {
            let (size, align, name) = (global.size, global.align.max(1), &global.name);
            let address = match global.space {
                ir::Space::Const => self.allocate_constant(size, align, name),
                ir::Space::Global | ir::Space::Generic
                    if let Some(to) = host.find(name).filter(|_| global.managed) =>
                {
                    // As `margay cc` aligns those that begin a page, and behind which it pads the last; where each object
                    // may bring a variable, the linker takes one without what is behind it.
                    let own_pages = align >= signal::page() && global.linkage != ir::Linkage::Weak;
                    self.bind_managed(to, size, own_pages).map(|first| {
                        if !first {
                            valued.insert(to.address);
                        }
                        to.address
                    })
                }
                ir::Space::Global | ir::Space::Generic => {
                    let origin = match global.managed {
                        true => Origin::ManagedVariable,
                        false => Origin::Variable,
                    };
                    self.allocate_aligned(size, align, origin, 0, name)
                }
                ir::Space::Shared | ir::Space::Local | ir::Space::Param => Ok(0),
            };
            match address {
                Ok(address) => addresses.push(address),
                Err(error) => {
                    for address in addresses.into_iter().filter(|a| *a != 0) {
                        runtime::get().free_variable(address);
                    }
                    return Err(error);
                }
            }
        }
        Ok((addresses, valued))
    }
}

/// Writes initial bytes and the addresses in them.
fn initialise(code: &ir::Module, addresses: &[u64], valued: &HashSet<u64>, uid: u32) {
    for (global, &address) in code.globals.iter().zip(addresses) {
        if address == 0 || valued.contains(&address) {
            continue;
        }
        let mut bytes = global.init.clone();
        bytes.truncate(global.size as usize);
        for reloc in &global.relocs {
            let target = match reloc.target {
                ir::RelocTarget::Global(id) => addresses.get(id.0 as usize).copied().unwrap_or(0),
                ir::RelocTarget::Func(id) => function_handle(uid, id),
            };
            let value = target.wrapping_add_signed(reloc.addend);
            let value = value.checked_shr(reloc.shift.into()).unwrap_or(0).to_le_bytes();
            let width = usize::from(reloc.width).min(8);
            let end = reloc.offset as usize + width;
            if end as u64 > global.size {
                continue;
            }
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[end - width..end].copy_from_slice(&value[..width]);
        }
        // SAFETY: the variable's memory was allocated with `size` bytes, and `bytes` is no longer.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len());
        }
    }
}

/// Makes the addresses of textures, samplers and surfaces handles.
fn bind_opaque(code: &ir::Module, addresses: &[u64]) {
    let objects = runtime::get().memory.objects();
    for (global, &address) in code.globals.iter().zip(addresses) {
        let object = match global.opaque {
            _ if address == 0 => continue,
            None => continue,
            Some(ir::Opaque::Sampler) => {
                let fields = ir::texture::SamplerFields::from_bytes(&global.init);
                Object::Sampler(crate::texture::sampler_of(fields))
            }
            Some(kind) => Object::Unbound(kind),
        };
        objects.bind(address, object);
    }
}

impl Module {
    /// `cuModuleGetFunction`: kernels only.
    pub fn function(self: &Arc<Self>, name: &str) -> Result<Arc<Function>> {
        let id = self.loaded.ir.function(name).ok_or(CudaError::NotFound)?;
        self.function_by_id(id)
    }

    /// A kernel by its number.
    pub(crate) fn function_by_id(self: &Arc<Self>, id: ir::FuncId) -> Result<Arc<Function>> {
        let code = self.loaded.ir.functions.get(id.0 as usize).ok_or(CudaError::NotFound)?;
        if !code.is_entry || code.blocks.is_empty() {
            return Err(CudaError::NotFound);
        }
        let functions = &runtime::get().functions;
        let mut handles = self.functions.lock();
        if let Some(function) = handles.get(&id).and_then(|h| functions.get(*h)) {
            return Ok(function);
        }
        let function = Arc::new(Function::of(self, id));
        functions.insert(function.handle, function.clone());
        handles.insert(id, function.handle);
        Ok(function)
    }

    /// Names of the kernels, in the module's order.
    pub fn kernel_names(&self) -> Vec<String> {
        let functions = self.loaded.ir.functions.iter();
        let kernels = functions.filter(|f| f.is_entry && !f.blocks.is_empty());
        kernels.map(|f| f.name.to_string()).collect()
    }

    /// `cuModuleGetGlobal`.
    pub fn variable(&self, name: &str) -> Result<Variable> {
        let id = self.loaded.ir.global(name).ok_or(CudaError::NotFound)?;
        let address = self.loaded.addresses.get(id.0 as usize).copied().unwrap_or(0);
        let global = &self.loaded.ir.globals[id.0 as usize];
        match address {
            0 => Err(CudaError::NotFound),
            address => Ok(Variable { address, size: global.size, managed: global.managed }),
        }
    }

    /// Bytes of the variables in global memory.
    pub fn global_bytes(&self) -> u64 {
        let is_global = |g: &&ir::Global| match g.space {
            ir::Space::Global | ir::Space::Generic => true,
            ir::Space::Const | ir::Space::Shared | ir::Space::Local | ir::Space::Param => false,
        };
        self.loaded.ir.globals.iter().filter(is_global).map(|g| g.size).sum()
    }

    /// Frees the variables.
    pub(crate) fn release(&self) {
        for &address in self.loaded.addresses.iter().filter(|a| **a != 0) {
            runtime::get().memory.objects().remove(address);
            runtime::get().free_variable(address);
        }
    }
}

impl Runtime {
    /// `cuModuleUnload`.
    pub fn unload_module(&self, handle: Handle) -> Result<()> {
        let module = self.modules.get(handle).ok_or(CudaError::InvalidHandle)?;
        if crate::runtime::unloading_at_exit() {
            return Ok(());
        }
        if let Some(context) = self.contexts.get(module.context) {
            context.drain();
            context.fifo.flush();
        }
        let module = self.modules.remove(handle).ok_or(CudaError::InvalidHandle)?;
        self.functions.drain_where(|f| f.module.handle == handle);
        self.texture_references.drain_where(|r| r.module == handle);
        module.release();
        Ok(())
    }
}
