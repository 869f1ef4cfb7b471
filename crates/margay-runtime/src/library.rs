// SPDX-License-Identifier: MIT OR Apache-2.0
//! Libraries: device code that is loaded once and appears in every context that uses it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use margay_ir as ir;
use parking_lot::Mutex;

use crate::context::Context;
use crate::error::{CudaError, Result};
use crate::fatbin::Image;
use crate::function::Function;
use crate::handle::{self, Handle};
use crate::image::{self, CompileOptions, LoadFailure};
use crate::managed::HostVariables;
use crate::module::Module;
use crate::runtime::Runtime;

/// What a library was made from, kept for devices that are used later.
enum Source {
    Ptx(Vec<u8>),
    Container(Vec<u8>),
    Linked(Vec<u8>),
}

/// A library.
pub struct Library {
    pub handle: Handle,
    source: Source,
    options: CompileOptions,
    /// Storage of managed variables.
    host: HostVariables,
    /// Compiled code by compute capability.
    compiled: Mutex<HashMap<u32, Arc<ir::Module>>>,
    /// The module in each context.
    modules: Mutex<HashMap<Handle, Arc<Module>>>,
    kernels: Mutex<HashMap<String, Handle>>,
    /// Names in the library's order, as compiled first.
    names: Vec<String>,
    /// Whether stderr has the reason why it does not load.
    explained: AtomicBool,
}

/// A kernel of a library: a function in whichever context is current.
pub struct Kernel {
    pub handle: Handle,
    pub library: Handle,
    pub name: String,
}

impl Runtime {
    /// `cuLibraryLoadData`; `sm` is the device to compile for at once, `host` the storage of managed
    /// variables.
    pub fn load_library(
        &self,
        image: &Image,
        sm: u32,
        options: CompileOptions,
        host: HostVariables,
    ) -> std::result::Result<Arc<Library>, LoadFailure> {
        let source = match image {
            Image::Ptx(text) => Source::Ptx(text.to_vec()),
            Image::Container(bytes) => Source::Container(bytes.to_vec()),
            Image::Linked(bytes) => Source::Linked(bytes.to_vec()),
            // Refused, with the reason on stderr.
            Image::Elf => Source::Ptx(image.ptx(sm)?.into_owned()),
        };
        let code = image::compile_image(image, sm, options)?;
        let entries = code.functions.iter().filter(|f| f.is_entry && !f.blocks.is_empty());
        let names = entries.map(|f| f.name.to_string()).collect();
        let library = Arc::new(Library {
            handle: handle::fresh(),
            source,
            options,
            host,
            compiled: Mutex::new(HashMap::from([(sm, code)])),
            modules: Mutex::default(),
            kernels: Mutex::default(),
            names,
            explained: AtomicBool::new(false),
        });
        self.libraries.insert(library.handle, library.clone());
        Ok(library)
    }

    /// `cuLibraryUnload`.
    pub fn unload_library(&self, handle: Handle) -> Result<()> {
        let library = self.libraries.remove(handle).ok_or(CudaError::InvalidHandle)?;
        self.kernels.drain_where(|k| k.library == handle);
        let modules = std::mem::take(&mut *library.modules.lock());
        for module in modules.into_values() {
            // A context that has gone took its module along.
            let _ = self.unload_module(module.handle);
        }
        library.host.unbind(self);
        Ok(())
    }

    /// A launchable function from a `CUfunction` or a `CUkernel`, which may stand for one.
    pub fn launchable(&self, handle: Handle, context: &Context) -> Result<Arc<Function>> {
        if let Some(function) = self.functions.get(handle) {
            return Ok(function);
        }
        let kernel = self.kernels.get(handle).ok_or(CudaError::InvalidHandle)?;
        self.kernel_function(&kernel, context)
    }

    /// `cuKernelGetFunction`.
    pub fn kernel_function(&self, kernel: &Kernel, context: &Context) -> Result<Arc<Function>> {
        let library = self.libraries.get(kernel.library).ok_or(CudaError::InvalidHandle)?;
        library.module(context)?.function(&kernel.name)
    }
}

impl Library {
    /// The library's module in a context, loaded at first use.
    pub fn module(&self, context: &Context) -> Result<Arc<Module>> {
        let mut modules = self.modules.lock();
        if let Some(module) = modules.get(&context.handle) {
            return Ok(module.clone());
        }
        let code = self.code_for(context)?;
        let module = context.load_bound(code, &self.host).map_err(|f| self.refused(f))?;
        modules.insert(context.handle, module.clone());
        Ok(module)
    }

    /// The load was asked for long ago, so there is no log to write to: stderr has the reason, once.
    fn refused(&self, failure: LoadFailure) -> CudaError {
        if !failure.log.is_empty() && !self.explained.swap(true, Ordering::Relaxed) {
            let log = failure.log.trim_end();
            crate::report::warn(&format!("the device code was refused: {log}"));
        }
        failure.error
    }

    fn code_for(&self, context: &Context) -> Result<Arc<ir::Module>> {
        let sm = crate::runtime::get().device(context.device)?.gpu.cc().sm();
        let mut compiled = self.compiled.lock();
        if let Some(code) = compiled.get(&sm) {
            return Ok(code.clone());
        }
        let image = match &self.source {
            Source::Ptx(text) => Image::Ptx(Cow::Borrowed(text)),
            Source::Container(bytes) => Image::Container(bytes),
            Source::Linked(bytes) => Image::Linked(bytes),
        };
        let code = image::compile_image(&image, sm, self.options);
        let code = code.map_err(|f| self.refused(f))?;
        compiled.insert(sm, code.clone());
        Ok(code)
    }

    /// `cuLibraryGetKernel`.
    pub fn kernel(&self, name: &str) -> Result<Handle> {
        if !self.names.iter().any(|n| n == name) {
            return Err(CudaError::NotFound);
        }
        let mut kernels = self.kernels.lock();
        if let Some(handle) = kernels.get(name) {
            return Ok(*handle);
        }
        let kernel =
            Kernel { handle: handle::fresh(), library: self.handle, name: name.to_owned() };
        let handle = kernel.handle;
        kernels.insert(name.to_owned(), handle);
        crate::runtime::get().kernels.insert(handle, Arc::new(kernel));
        Ok(handle)
    }

    /// Names of the kernels, in the library's order.
    pub fn kernel_names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn forget_context(&self, context: Handle) {
        self.modules.lock().remove(&context);
    }
}
