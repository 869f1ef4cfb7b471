// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device code and symbols that a program's object files register before `main`.
//!
//! A fat binary becomes a library of libcuda at its first use; libcuda gives each context its own
//! module of it, with its own variables. Invariant: registering touches no device, except that a
//! binary with managed variables is loaded at once, since the host may use those before any call.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use crate::context;
use crate::cu;
use crate::error::{Error, Result, check};
use crate::sys;

/// What compilers put round a fat binary (`fatbinary_section.h`).
#[repr(C)]
pub struct Wrapper {
    pub magic: c_int,
    pub version: c_int,
    pub data: *const c_void,
    pub filename_or_fatbins: *const c_void,
}

pub const WRAPPER_MAGIC: c_int = 0x466243b1;
/// The wrapper's version after separate compilation: `filename_or_fatbins` is a list of the fat binaries
/// of all objects, which ends with null, and `data` what an offline linker made of them.
const LINK_VERSION: c_int = 2;
const CONTAINER_MAGIC: u32 = 0xba55_ed50;
/// In the header of a container's entry: kinds of code.
const KIND_PTX: u16 = 1;

/// A host variable that stands for a device variable.
struct Variable {
    name: CString,
    host: usize,
    size: usize,
    /// Where nvcc's host code reads a managed variable's address, or 0.
    managed_slot: usize,
}

/// A registered fat binary.
pub struct Binary {
    /// The fat binary's address; after separate compilation one for each object, else exactly one.
    images: Vec<usize>,
    /// Whether the images are objects to link.
    separate: bool,
    variables: Mutex<Vec<Variable>>,
    /// The library's handle as a number, or why there is none.
    library: OnceLock<std::result::Result<usize, u32>>,
}

/// A host function that stands for a kernel.
#[derive(Clone)]
struct Kernel {
    binary: Arc<Binary>,
    name: CString,
    handle: Arc<OnceLock<usize>>,
}

#[derive(Default)]
struct Registry {
    /// By the host function's address.
    kernels: HashMap<usize, Kernel>,
    /// By the host variable's address.
    variables: HashMap<usize, (Arc<Binary>, CString)>,
}

impl Registry {
    /// The managed variable of nvcc's that lies at an address: its host code passes the object itself.
    fn managed_at(&self, address: usize) -> Option<(Arc<Binary>, CString)> {
        let is_it = |binary: &Binary, name: &CString| {
            binary.lock_variables().iter().any(|variable| {
                let slot: *const usize = std::ptr::with_exposed_provenance(variable.managed_slot);
                // SAFETY: a slot is a pointer variable of the program, which lives as long as the
                // program has the binary registered.
                &variable.name == name && !slot.is_null() && unsafe { slot.read() } == address
            })
        };
        let mut all = self.variables.values();
        all.find(|(binary, name)| address != 0 && is_it(binary, name)).cloned()
    }
}

static REGISTRY: OnceLock<RwLock<Registry>> = OnceLock::new();

fn registry() -> &'static RwLock<Registry> {
    REGISTRY.get_or_init(RwLock::default)
}

fn read<T>(work: impl FnOnce(&Registry) -> T) -> T {
    work(&registry().read().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

fn write<T>(work: impl FnOnce(&mut Registry) -> T) -> T {
    work(&mut registry().write().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

impl Binary {
    /// # Safety
    /// `wrapper` is null or points to a wrapper that lives until it is unregistered.
    pub unsafe fn of(wrapper: *const Wrapper) -> Arc<Binary> {
        // SAFETY: as the caller says.
        let wrapper = unsafe { wrapper.as_ref() }.filter(|wrapper| wrapper.magic == WRAPPER_MAGIC);
        let list = wrapper.filter(|wrapper| wrapper.version == LINK_VERSION);
        let list = list.map(|wrapper| wrapper.filename_or_fatbins.cast::<*const c_void>());
        let (images, separate) = match (wrapper, list.filter(|list| !list.is_null())) {
            // SAFETY: the list lives as long as the wrapper, and ends with null.
            (_, Some(list)) => (unsafe { addresses(list) }, true),
            (Some(wrapper), None) => (vec![wrapper.data.expose_provenance()], false),
            (None, None) => (Vec::new(), false),
        };
        let (variables, library) = (Mutex::default(), OnceLock::new());
        Arc::new(Binary { images, separate, variables, library })
    }

    pub fn add_kernel(self: &Arc<Self>, host: *const c_void, name: &CStr) {
        let kernel = Kernel { binary: self.clone(), name: name.to_owned(), handle: Arc::default() };
        write(|registry| registry.kernels.insert(host.addr(), kernel));
    }

    /// `managed_slot` is null but for a managed variable of nvcc's.
    pub fn add_variable(
        self: &Arc<Self>,
        host: *mut c_void,
        name: &CStr,
        size: usize,
        managed_slot: *mut *mut c_void,
    ) {
        let entry = (self.clone(), name.to_owned());
        write(|registry| registry.variables.insert(host.addr(), entry));
        self.lock_variables().push(Variable {
            name: name.to_owned(),
            host: host.expose_provenance(),
            size,
            managed_slot: managed_slot.expose_provenance(),
        });
    }

    fn lock_variables(&self) -> std::sync::MutexGuard<'_, Vec<Variable>> {
        self.variables.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Forgets the binary's symbols and unloads its code.
    pub fn unregister(self: &Arc<Self>) {
        write(|registry| {
            registry.kernels.retain(|_, kernel| !Arc::ptr_eq(&kernel.binary, self));
            registry.variables.retain(|_, (binary, _)| !Arc::ptr_eq(binary, self));
        });
        if let Some(Ok(library)) = self.library.get() {
            // SAFETY: the handle came from cuLibraryLoadData. At process exit libcuda may have
            // gone before us, which is no error of the program.
            unsafe { cu::cuLibraryUnload(std::ptr::with_exposed_provenance_mut(*library)) };
        }
    }

    /// Whether host code may use managed variables of this binary without asking for their address.
    pub fn has_managed(&self) -> bool {
        self.lock_variables().iter().any(|variable| variable.managed_slot != 0)
            || self.declares_managed()
    }

    /// Whether the PTX of `margay cc`, which is not compressed, has managed variables.
    fn declares_managed(&self) -> bool {
        let word = b".attribute(.managed)";
        self.images
            .iter()
            .filter_map(|image| container(*image))
            .any(|bytes| bytes.windows(word.len()).any(|window| window == word))
    }

    /// The library of this binary, loaded if it is not yet. The thread needs a context.
    pub fn library(&self) -> Result<cu::CUlibrary> {
        let outcome = self.library.get_or_init(|| {
            self.load().map(|library| library.expose_provenance()).map_err(|Error(code)| code)
        });
        match outcome {
            Ok(library) => Ok(std::ptr::with_exposed_provenance_mut(*library)),
            Err(code) => Err(Error(*code)),
        }
    }

    fn load(&self) -> Result<cu::CUlibrary> {
        if self.separate {
            return linked(&self.images, |image| self.load_image(image));
        }
        match self.images.first() {
            Some(image) if *image != 0 => {
                self.load_image(std::ptr::with_exposed_provenance(*image))
            }
            Some(_) | None => Err(Error(sys::cudaErrorInvalidKernelImage)),
        }
    }

    fn load_image(&self, image: *const c_void) -> Result<cu::CUlibrary> {
        /// One row of the table that says where managed variables live.
        #[repr(C)]
        struct Row {
            name: *const c_char,
            host: *mut c_void,
            size: usize,
        }
        let variables = self.lock_variables();
        let mut rows: Vec<Row> = variables
            .iter()
            .filter(|variable| variable.managed_slot == 0)
            .map(|variable| Row {
                name: variable.name.as_ptr(),
                host: std::ptr::with_exposed_provenance_mut(variable.host),
                size: variable.size,
            })
            .collect();
        let mut table = cu::CUlibraryHostUniversalFunctionAndDataTable {
            functionTable: null_mut(),
            functionWindowSize: 0,
            dataTable: rows.as_mut_ptr().cast(),
            dataWindowSize: size_of_val(rows.as_slice()),
        };
        let mut options = [cu::CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE];
        let mut values: [*mut c_void; 1] = [(&raw mut table).cast()];
        let count = c_uint::from(self.declares_managed() && !rows.is_empty());
        let mut library = null_mut();
        // SAFETY: the image lives until it is unregistered; the arrays are as long as `count` says.
        check(unsafe {
            cu::cuLibraryLoadData(
                &mut library,
                image,
                null_mut(),
                null_mut(),
                0,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
                count,
            )
        })?;
        if count > 0 {
            // The host may read the variables' first values from now on.
            let mut module = null_mut();
            // SAFETY: the output may be written.
            check(unsafe { cu::cuLibraryGetModule(&mut module, library) })?;
        }
        for variable in variables.iter().filter(|variable| variable.managed_slot != 0) {
            let (mut address, mut bytes) = (0, 0);
            // SAFETY: the outputs may be written; the slot is nvcc's pointer variable.
            unsafe {
                check(cu::cuLibraryGetManaged(
                    &mut address,
                    &mut bytes,
                    library,
                    variable.name.as_ptr(),
                ))?;
                let slot: *mut *mut c_void =
                    std::ptr::with_exposed_provenance_mut(variable.managed_slot);
                slot.write(std::ptr::with_exposed_provenance_mut(address as usize));
            }
        }
        Ok(library)
    }
}

/// The pointers of a list that ends with null.
///
/// # Safety
/// It does end.
unsafe fn addresses(list: *const *const c_void) -> Vec<usize> {
    let mut found = Vec::new();
    loop {
        // SAFETY: no element before this one was the last.
        let address = unsafe { list.add(found.len()).read() };
        if address.is_null() {
            return found;
        }
        found.push(address.expose_provenance());
    }
}

/// The bytes of a registered fat binary, as long as its header says.
fn container<'a>(image: usize) -> Option<&'a [u8]> {
    let image: *const u8 = std::ptr::with_exposed_provenance(image);
    if image.is_null() {
        return None;
    }
    // SAFETY: a registered image starts with a header of 16 bytes: magic, version, header's size,
    // body's size.
    unsafe {
        let magic = image.cast::<u32>().read_unaligned();
        let header = image.add(6).cast::<u16>().read_unaligned();
        let body = image.add(8).cast::<u64>().read_unaligned();
        let size = usize::from(header).checked_add(usize::try_from(body).ok()?)?;
        (magic == CONTAINER_MAGIC).then(|| std::slice::from_raw_parts(image, size))
    }
}

/// Whether a container has PTX that runs on `sm`. An entry's header is: kind, version, its own size, the
/// payload's size, and further on the compute capability.
fn has_ptx(container: &[u8], sm: usize) -> bool {
    let number = |at: usize, bytes: usize| -> Option<usize> {
        let word = container.get(at..at.checked_add(bytes)?)?;
        Some(word.iter().rev().fold(0, |n, byte| n << 8 | usize::from(*byte)))
    };
    let mut at = number(6, 2);
    while let Some(start) = at {
        let is_ptx = number(start, 2) == Some(KIND_PTX.into());
        if is_ptx && number(start + 28, 4).is_some_and(|target| target <= sm) {
            return true;
        }
        let sizes = number(start + 4, 4).zip(number(start + 8, 8));
        // An entry without a size would repeat itself.
        let size = sizes.and_then(|(head, body)| head.checked_add(body)).filter(|n| *n >= 48);
        at = size.and_then(|size| start.checked_add(size)).filter(|next| *next < container.len());
    }
    false
}

/// The compute capability of the current device, times ten.
fn capability() -> Result<usize> {
    let device = context::device(context::current_device()?)?;
    let ask = |attribute| {
        let mut value = 0;
        // SAFETY: the output may be written.
        check(unsafe { cu::cuDeviceGetAttribute(&mut value, attribute, device) })?;
        Ok(usize::try_from(value).unwrap_or(0))
    };
    let major = ask(cu::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    Ok(major * 10 + ask(cu::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?)
}

/// Links the device code of separately compiled objects, and loads the result.
fn linked(
    images: &[usize],
    load: impl FnOnce(*const c_void) -> Result<cu::CUlibrary>,
) -> Result<cu::CUlibrary> {
    let all = || images.iter().filter_map(|image| Some((image, container(*image)?)));
    // NVIDIA's own objects, such as the device run time, may be machine code alone, or for newer devices;
    // where nothing else is there, libcuda says what is wrong.
    let sm = capability()?;
    let some_ptx = all().any(|(_, bytes)| has_ptx(bytes, sm));
    let mut state = null_mut();
    // SAFETY: the output may be written; there are no options.
    check(unsafe { cu::cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state) })?;
    let outcome = (|| {
        for (number, (image, bytes)) in all().enumerate() {
            if some_ptx && !has_ptx(bytes, sm) {
                continue;
            }
            let name = CString::new(format!("object {}", number + 1)).unwrap_or_default();
            // SAFETY: the bytes are the container's, which the linker copies.
            check(unsafe {
                cu::cuLinkAddData_v2(
                    state,
                    cu::CU_JIT_INPUT_FATBINARY,
                    std::ptr::with_exposed_provenance_mut(*image),
                    bytes.len(),
                    name.as_ptr(),
                    0,
                    null_mut(),
                    null_mut(),
                )
            })?;
        }
        let (mut image, mut size) = (null_mut(), 0);
        // SAFETY: the outputs may be written; the image lives until the state is destroyed, and a library
        // keeps a copy.
        check(unsafe { cu::cuLinkComplete(state, &mut image, &mut size) })?;
        load(image)
    })();
    // SAFETY: the state is ours.
    check(unsafe { cu::cuLinkDestroy(state) })?;
    outcome
}

/// The kernel that a host function stands for, or that the pointer itself is a handle of.
pub fn kernel(host: *const c_void) -> Result<cu::CUkernel> {
    if host.is_null() {
        return Err(Error(sys::cudaErrorInvalidDeviceFunction));
    }
    context::ensure()?;
    let Some(kernel) = read(|registry| registry.kernels.get(&host.addr()).cloned()) else {
        return handle_itself(host);
    };
    if let Some(handle) = kernel.handle.get() {
        return Ok(std::ptr::with_exposed_provenance_mut(*handle));
    }
    let library = kernel.binary.library()?;
    let mut found = null_mut();
    // SAFETY: the output may be written; the name ends with NUL.
    let code = unsafe { cu::cuLibraryGetKernel(&mut found, library, kernel.name.as_ptr()) };
    check(code).map_err(|error| match error {
        Error(sys::cudaErrorSymbolNotFound) => Error(sys::cudaErrorInvalidDeviceFunction),
        other => other,
    })?;
    let handle = *kernel.handle.get_or_init(|| found.expose_provenance());
    Ok(std::ptr::with_exposed_provenance_mut(handle))
}

/// The host function that stands for the kernel of this name.
pub fn host_function(name: &CStr) -> Option<*const c_void> {
    let found = read(|registry| {
        let mut all = registry.kernels.iter();
        all.find(|(_, kernel)| kernel.name.as_c_str() == name).map(|(host, _)| *host)
    });
    found.map(std::ptr::with_exposed_provenance)
}

/// A `cudaKernel_t` may stand where a host function is asked for. What is neither of the two is an
/// invalid handle since CUDA 13, and before that an invalid function.
fn handle_itself(host: *const c_void) -> Result<cu::CUkernel> {
    let kernel: cu::CUkernel = host.cast_mut().cast();
    let mut name = null();
    // SAFETY: libcuda looks handles up and dereferences none.
    match check(unsafe { cu::cuKernelGetName(&mut name, kernel) }) {
        Ok(()) => Ok(kernel),
        Err(_) if cfg!(cudart12) => Err(Error(sys::cudaErrorInvalidDeviceFunction)),
        Err(_) => Err(Error(sys::cudaErrorInvalidResourceHandle)),
    }
}

/// A kernel's function in the current context.
pub fn function(host: *const c_void) -> Result<cu::CUfunction> {
    let kernel = kernel(host)?;
    let mut function = null_mut();
    // SAFETY: the output may be written.
    check(unsafe { cu::cuKernelGetFunction(&mut function, kernel) })?;
    Ok(function)
}

/// Address and size in bytes of the device variable that a host variable stands for.
pub fn variable(host: *const c_void) -> Result<(cu::CUdeviceptr, usize)> {
    const INVALID: Error = Error(sys::cudaErrorInvalidSymbol);
    context::ensure()?;
    let known = read(|registry| {
        let by_host = registry.variables.get(&host.addr()).cloned();
        by_host.or_else(|| registry.managed_at(host.addr()))
    });
    let (binary, name) = known.ok_or(INVALID)?;
    let library = binary.library()?;
    let (mut address, mut bytes) = (0, 0);
    // SAFETY: the outputs may be written; the name ends with NUL.
    let code = unsafe { cu::cuLibraryGetGlobal(&mut address, &mut bytes, library, name.as_ptr()) };
    check(code).map_err(|error| match error {
        Error(sys::cudaErrorSymbolNotFound) => INVALID,
        other => other,
    })?;
    Ok((address, bytes))
}
