// SPDX-License-Identifier: MIT OR Apache-2.0
//! The linker: `cuLink…`.
//!
//! Invariant: the option arrays of `cuLinkCreate` are the program's until `cuLinkDestroy`, as the
//! manual says; logs and times are written to them at every call.

use std::ffi::{c_char, c_uint, c_void};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use margay_runtime::fatbin::Image;
use margay_runtime::handle::{self as handles, Table};
use margay_runtime::image::LoadFailure;
use margay_runtime::link::Linker;
use margay_runtime::{CudaError, Result};

use super::jit::Options;
use super::{give, handle, healthy, opaque, required, rt, text};
use crate::sys::*;

/// One invocation with what it reports to.
struct State {
    linker: Linker,
    options: Options,
    log: String,
    spent: Duration,
}

// SAFETY: the pointers in the options are the program's buffers, which no thread of ours owns.
unsafe impl Send for State {}

static STATES: LazyLock<Table<Mutex<State>>> = LazyLock::new(Table::default);

fn find(state: CUlinkState) -> Result<Arc<Mutex<State>>> {
    STATES.get(handle(state)).ok_or(CudaError::InvalidHandle)
}

/// A panic inside a linker must not take the state's other users along.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Runs one step, and writes logs and the time spent so far.
    unsafe fn step<T>(
        &mut self,
        step: impl FnOnce(&mut Linker) -> std::result::Result<T, LoadFailure>,
    ) -> Result<T> {
        let start = Instant::now();
        let outcome = step(&mut self.linker);
        self.spent += start.elapsed();
        if let Err(failure) = &outcome {
            self.options.warn(&failure.log);
            self.log += &failure.log;
        }
        // SAFETY: the module's header.
        unsafe { self.options.report(&self.log, self.spent) };
        outcome.map_err(|failure| failure.error)
    }
}

pub unsafe fn cuLinkCreate_v2(
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
    to: *mut CUlinkState,
) -> Result<()> {
    let context = healthy()?;
    required(to)?;
    let options = unsafe { Options::read(count, options, values)? };
    let linker = Linker::new(rt()?.device(context.device)?.gpu.cc().sm());
    let state = State { linker, options, log: String::new(), spent: Duration::ZERO };
    let handle = handles::fresh();
    STATES.insert(handle, Arc::new(Mutex::new(state)));
    unsafe { give(to, opaque(handle)) }
}

/// An input as the program calls it.
fn input(kind: CUjitInputType, bytes: &[u8]) -> Result<Image<'_>> {
    let refuse = |what: &str| {
        margay_runtime::report::warn(&format!("linking {what} is not supported; link PTX instead"));
        Err(CudaError::NotSupported)
    };
    match kind {
        CU_JIT_INPUT_PTX => match Image::of(bytes)? {
            text @ Image::Ptx(_) => Ok(text),
            Image::Container(_) | Image::Linked(_) | Image::Elf => Err(CudaError::InvalidPtx),
        },
        CU_JIT_INPUT_FATBINARY => match Image::of(bytes)? {
            container @ Image::Container(_) => Ok(container),
            Image::Ptx(_) | Image::Linked(_) | Image::Elf => Err(CudaError::InvalidImage),
        },
        CU_JIT_INPUT_CUBIN => match Image::of(bytes)? {
            // An earlier link's result, or machine code, which is refused with the reason.
            image @ (Image::Linked(_) | Image::Elf) => Ok(image),
            Image::Ptx(_) | Image::Container(_) => Err(CudaError::InvalidImage),
        },
        // `add` takes these.
        CU_JIT_INPUT_OBJECT | CU_JIT_INPUT_LIBRARY => Err(CudaError::InvalidValue),
        CU_JIT_INPUT_NVVM => refuse("NVVM IR"),
        _ => Err(CudaError::InvalidValue),
    }
}

unsafe fn add(
    state: CUlinkState,
    kind: CUjitInputType,
    bytes: &[u8],
    name: &str,
    options: Options,
) -> Result<()> {
    let state = find(state)?;
    let mut state = lock(&state);
    let mut compile = options.compile;
    compile.max_registers = compile.max_registers.or(state.options.compile.max_registers);
    let step = |linker: &mut Linker| match kind {
        CU_JIT_INPUT_OBJECT | CU_JIT_INPUT_LIBRARY => linker.add_host_code(name, bytes, compile),
        _ => linker.add(name, &input(kind, bytes)?, compile),
    };
    unsafe { state.step(step) }
}

#[expect(clippy::too_many_arguments, reason = "cuda.h")]
pub unsafe fn cuLinkAddData_v2(
    state: CUlinkState,
    kind: CUjitInputType,
    data: *mut c_void,
    size: usize,
    name: *const c_char,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) -> Result<()> {
    healthy()?;
    find(state)?;
    required(data)?;
    if size == 0 || isize::try_from(size).is_err() {
        return Err(CudaError::InvalidValue);
    }
    unsafe {
        let options = Options::read(count, options, values)?;
        let name = if name.is_null() { "<input>" } else { text(name)? };
        // SAFETY: the program's data, of the size that it gave.
        let bytes = std::slice::from_raw_parts(data.cast::<u8>(), size);
        add(state, kind, bytes, name, options)
    }
}

pub unsafe fn cuLinkAddFile_v2(
    state: CUlinkState,
    kind: CUjitInputType,
    path: *const c_char,
    count: c_uint,
    options: *mut CUjit_option,
    values: *mut *mut c_void,
) -> Result<()> {
    healthy()?;
    find(state)?;
    unsafe {
        let options = Options::read(count, options, values)?;
        let path = text(path)?;
        let bytes = super::module::read_file(path)?;
        add(state, kind, &bytes, path, options)
    }
}

pub unsafe fn cuLinkComplete(
    state: CUlinkState,
    image: *mut *mut c_void,
    size: *mut usize,
) -> Result<()> {
    healthy()?;
    required(image)?;
    let state = find(state)?;
    let mut state = lock(&state);
    unsafe {
        // The linker's vector stays as it is until the state is destroyed.
        let (start, bytes) =
            state.step(|linker| linker.complete().map(|i| (i.as_ptr(), i.len())))?;
        super::offer(size, bytes);
        give(image, start.cast_mut().cast())
    }
}

pub unsafe fn cuLinkDestroy(state: CUlinkState) -> Result<()> {
    rt()?;
    STATES.remove(handle(state)).map(drop).ok_or(CudaError::InvalidHandle)
}
