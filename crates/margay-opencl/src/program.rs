// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: source, builds for each device, and binaries.
//!
//! A binary is this crate's own: a magic word and JSON, which holds LLVM IR (compiled objects and libraries)
//! or PTX (executables). It is for the compute capability that it says, and newer ones.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use margay_opencl_c::{BuildError, Executable, Object as CompiledObject, Options};
use margay_runtime::module::Module;
use opencl_sys::{
    CL_BUILD_ERROR, CL_BUILD_IN_PROGRESS, CL_BUILD_NONE, CL_BUILD_PROGRAM_FAILURE,
    CL_BUILD_SUCCESS, CL_COMPILE_PROGRAM_FAILURE, CL_COMPILER_NOT_AVAILABLE, CL_INVALID_BINARY,
    CL_INVALID_DEVICE, CL_INVALID_KERNEL_DEFINITION, CL_INVALID_KERNEL_NAME, CL_INVALID_OPERATION,
    CL_INVALID_PROGRAM, CL_INVALID_PROGRAM_EXECUTABLE, CL_LINK_PROGRAM_FAILURE,
    CL_LINKER_NOT_AVAILABLE, CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
    CL_PROGRAM_BINARY_TYPE_EXECUTABLE, CL_PROGRAM_BINARY_TYPE_LIBRARY, CL_PROGRAM_BINARY_TYPE_NONE,
    cl_int, cl_uint,
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::context::Context;
use crate::device::{Device, platform};
use crate::object::{Id, Object, Table};
use crate::sources;

const MAGIC: &[u8; 12] = b"MARGAYCL\x01\0\0\0";

/// What a program is for one device.
#[derive(Clone)]
pub struct Build {
    pub status: cl_int,
    pub options: Options,
    pub log: String,
    pub code: Code,
    pub loaded: Option<Arc<Loaded>>,
}

impl Default for Build {
    fn default() -> Build {
        let (options, log) = (Options::default(), String::new());
        Build { status: CL_BUILD_NONE, options, log, code: Code::None, loaded: None }
    }
}

/// Compiled code.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub enum Code {
    #[default]
    None,
    Object(CompiledObject),
    Library(CompiledObject),
    Executable(Executable),
}

impl Code {
    /// `CL_PROGRAM_BINARY_TYPE`.
    pub fn kind(&self) -> cl_uint {
        match self {
            Code::None => CL_PROGRAM_BINARY_TYPE_NONE,
            Code::Object(_) => CL_PROGRAM_BINARY_TYPE_COMPILED_OBJECT,
            Code::Library(_) => CL_PROGRAM_BINARY_TYPE_LIBRARY,
            Code::Executable(_) => CL_PROGRAM_BINARY_TYPE_EXECUTABLE,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Binary {
    sm: u32,
    options: String,
    code: Code,
}

/// A module in a runtime context.
pub struct Loaded(pub Arc<Module>);

impl Drop for Loaded {
    fn drop(&mut self) {
        if let Some(platform) = platform() {
            // Gone already if the program ends.
            let _ = platform.runtime.unload_module(self.0.handle);
        }
    }
}

/// A program.
pub struct Program {
    id: Id,
    pub context: Arc<Context>,
    pub devices: Vec<Arc<Device>>,
    /// What it was made from; `None` for binaries and linked programs.
    pub source: Option<String>,
    /// One for each device.
    pub builds: Mutex<Vec<Build>>,
    /// Made by `clLinkProgram`, and so never built.
    pub linked: bool,
    /// Kernel objects of it: while there are any, it cannot be built again.
    pub kernels: AtomicU32,
}

static PROGRAMS: Table<Program> = Table::new();

impl Object for Program {
    const INVALID: cl_int = CL_INVALID_PROGRAM;
    fn table() -> &'static Table<Self> {
        &PROGRAMS
    }
    fn id(&self) -> &Id {
        &self.id
    }
}

/// Which call a failed build belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Build,
    Compile,
    Link,
}

impl Step {
    /// Clang is both the compiler and the linker.
    fn unavailable(self) -> cl_int {
        match self {
            Step::Build | Step::Compile => CL_COMPILER_NOT_AVAILABLE,
            Step::Link => CL_LINKER_NOT_AVAILABLE,
        }
    }

    fn failure(self) -> cl_int {
        match self {
            Step::Build => CL_BUILD_PROGRAM_FAILURE,
            Step::Compile => CL_COMPILE_PROGRAM_FAILURE,
            Step::Link => CL_LINK_PROGRAM_FAILURE,
        }
    }
}

/// A call that builds, until it is dropped.
pub struct Building<'a> {
    program: &'a Program,
    /// Places of devices, and the state of their builds before.
    before: Vec<(usize, cl_int)>,
}

impl Drop for Building<'_> {
    fn drop(&mut self) {
        let mut builds = self.program.builds.lock();
        // What has been built says so itself.
        for (i, status) in &self.before {
            if builds[*i].status == CL_BUILD_IN_PROGRESS {
                builds[*i].status = *status;
            }
        }
    }
}

impl Program {
    pub fn new(
        id: Id,
        context: Arc<Context>,
        devices: Vec<Arc<Device>>,
        source: Option<String>,
        builds: Vec<Build>,
    ) -> Program {
        let (builds, kernels) = (Mutex::new(builds), AtomicU32::new(0));
        Program { id, context, devices, source, linked: false, builds, kernels }
    }

    /// As what `clLinkProgram` makes.
    pub fn into_linked(mut self) -> Program {
        self.linked = true;
        self
    }

    /// Whether a call has not ended that builds it for one of the devices.
    pub fn is_building(&self, devices: &[Arc<Device>]) -> bool {
        let builds = self.builds.lock();
        let mut indices = devices.iter().filter_map(|d| self.index(d).ok());
        indices.any(|i| builds[i].status == CL_BUILD_IN_PROGRESS)
    }

    /// Begins to build for the devices; CL_INVALID_OPERATION if another call has not ended that does so.
    pub fn begin(&self, devices: &[Arc<Device>]) -> Result<Building<'_>> {
        let mut builds = self.builds.lock();
        let indices = devices.iter().map(|d| self.index(d)).collect::<Result<Vec<_>>>()?;
        if indices.iter().any(|i| builds[*i].status == CL_BUILD_IN_PROGRESS) {
            return Err(CL_INVALID_OPERATION);
        }
        let begin = |i: usize| (i, std::mem::replace(&mut builds[i].status, CL_BUILD_IN_PROGRESS));
        let before = indices.into_iter().map(begin).collect();
        Ok(Building { program: self, before })
    }

    /// The place of a device among the program's.
    pub fn index(&self, device: &Device) -> Result<usize> {
        self.devices.iter().position(|d| d.ordinal == device.ordinal).ok_or(CL_INVALID_DEVICE)
    }

    /// Builds for one device, with `make` giving the code and the log.
    pub fn build_for(
        &self,
        device: &Device,
        options: &Options,
        step: Step,
        make: impl FnOnce() -> std::result::Result<(Code, String), BuildError>,
    ) -> Result<()> {
        let index = self.index(device)?;
        let mut build = Build { options: options.clone(), ..Build::default() };
        let result = match make() {
            Ok((code, log)) => {
                build.log = log;
                let wanted = options.constant_cache_bytes.and_then(|n| u32::try_from(n).ok());
                if let Some((bytes, platform)) = wanted.zip(platform()) {
                    platform.runtime.choose_constant_cache(bytes);
                }
                match self.load(device, &code) {
                    Ok((loaded, warnings)) => {
                        build.log += &warnings;
                        build.loaded = loaded;
                        build.code = code;
                        Ok(())
                    }
                    Err(log) => {
                        build.log += &log;
                        Err(step.failure())
                    }
                }
            }
            Err(BuildError::Program(log)) => {
                build.log = log;
                Err(step.failure())
            }
            Err(BuildError::Setup(text)) => {
                margay_runtime::report::warn(&text);
                build.log = text;
                Err(step.unavailable())
            }
        };
        build.status = if result.is_ok() { CL_BUILD_SUCCESS } else { CL_BUILD_ERROR };
        self.builds.lock()[index] = build;
        result
    }

    /// Loads an executable.
    fn load(
        &self,
        device: &Device,
        code: &Code,
    ) -> std::result::Result<(Option<Arc<Loaded>>, String), String> {
        let executable = match code {
            Code::Executable(executable) => executable,
            Code::None | Code::Object(_) | Code::Library(_) => return Ok((None, String::new())),
        };
        let context = self.context.on(device).map_err(|_| "no such device".to_owned())?;
        let compiled = margay_runtime::image::compile(executable.ptx.as_bytes(), device.sm());
        let module = compiled.and_then(|mut ir| {
            let watched = platform().is_some_and(|p| p.runtime.is_watched());
            if let Some(source) = self.source.as_ref().filter(|_| watched) {
                sources::attach(Arc::make_mut(&mut ir), source);
            }
            context.load_opencl(ir)
        });
        let (module, warnings) = module.map_err(|failure| match failure.log.is_empty() {
            true => format!("error: {}\n", failure.error),
            false => failure.log.replace("error   : ", "error: "),
        })?;
        Ok((Some(Arc::new(Loaded(module))), warnings))
    }

    /// Compiles the source for a device, and links it unless only an object is wanted.
    pub fn translate(
        source: &str,
        headers: &[(String, String)],
        options: &Options,
        device: &Device,
        link: bool,
    ) -> std::result::Result<(Code, String), BuildError> {
        let mut options = options.clone();
        if let Some(settings) = platform().map(|p| &p.runtime.settings) {
            options.check_indices = settings.checks_memory();
            options.mark_undefined = settings.checks_initialisation();
        }
        let options = &options;
        if link && headers.is_empty() {
            let (executable, log) = margay_opencl_c::build(source, options, device.sm())?;
            return Ok((Code::Executable(executable), log));
        }
        let (object, mut log) = margay_opencl_c::compile(source, headers, options, device.sm())?;
        if !link {
            return Ok((Code::Object(object), log));
        }
        match margay_opencl_c::link(&[object], options, device.sm()) {
            Ok((executable, more)) => {
                log += &more;
                Ok((Code::Executable(executable), log))
            }
            Err(BuildError::Program(more)) => Err(BuildError::Program(log + &more)),
            Err(setup @ BuildError::Setup(_)) => Err(setup),
        }
    }

    /// The binary for one device; empty if there is none.
    pub fn binary(&self, index: usize) -> Vec<u8> {
        let builds = self.builds.lock();
        let Some(build) = builds.get(index) else { return Vec::new() };
        if matches!(build.code, Code::None) {
            return Vec::new();
        }
        let sm = self.devices[index].sm();
        let binary = Binary { sm, options: build.options.text.clone(), code: build.code.clone() };
        let mut out = MAGIC.to_vec();
        // Strings and numbers always serialise.
        out.extend(serde_json::to_vec(&binary).unwrap_or_default());
        out
    }

    /// Reads a binary for a device.
    pub fn from_binary(bytes: &[u8], device: &Device) -> Result<Build> {
        let body = bytes.strip_prefix(MAGIC).ok_or(CL_INVALID_BINARY)?;
        let binary: Binary = serde_json::from_slice(body).map_err(|_| CL_INVALID_BINARY)?;
        if binary.sm > device.sm() || matches!(binary.code, Code::None) {
            return Err(CL_INVALID_BINARY);
        }
        let options = Options::parse(&binary.options).map_err(|_| CL_INVALID_BINARY)?;
        Ok(Build { options, code: binary.code, ..Build::default() })
    }

    /// A kernel, which must be the same on all devices that there is an executable for.
    pub fn kernel_info(&self, name: &str) -> Result<margay_opencl_c::Kernel> {
        let builds = self.builds.lock();
        let built = builds.iter().filter_map(|b| match &b.code {
            Code::Executable(e) if b.status == CL_BUILD_SUCCESS => Some(&e.kernels),
            Code::Executable(_) | Code::None | Code::Object(_) | Code::Library(_) => None,
        });
        let found: Vec<_> = built.map(|all| all.iter().find(|k| k.name == name)).collect();
        let first = found.iter().copied().flatten().next();
        let first = match (found.is_empty(), first) {
            (true, _) => return Err(CL_INVALID_PROGRAM_EXECUTABLE),
            (false, None) => return Err(CL_INVALID_KERNEL_NAME),
            (false, Some(first)) => first,
        };
        let kind = |a: &margay_opencl_c::Argument| (a.space, a.access.clone(), a.type_name.clone());
        let same = |k: &Option<&margay_opencl_c::Kernel>| {
            k.is_some_and(|k| k.arguments.iter().map(kind).eq(first.arguments.iter().map(kind)))
        };
        match found.iter().all(same) {
            true => Ok(first.clone()),
            false => Err(CL_INVALID_KERNEL_DEFINITION),
        }
    }

    /// The kernels of the first device that has an executable, or none.
    pub fn kernel_infos(&self) -> Option<Vec<margay_opencl_c::Kernel>> {
        self.builds.lock().iter().find_map(|b| match &b.code {
            Code::Executable(e) if b.status == CL_BUILD_SUCCESS => Some(e.kernels.clone()),
            Code::Executable(_) | Code::None | Code::Object(_) | Code::Library(_) => None,
        })
    }
}
