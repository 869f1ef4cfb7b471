// SPDX-License-Identifier: MIT OR Apache-2.0
//! `libmargay_jit.so`: LLVM 19 behind four C functions.
//!
//! It turns the text of an LLVM module into a relocatable object and knows nothing of margay, so
//! that everything else builds and runs without LLVM. The engine opens the library when it first
//! wants machine code; where it, or LLVM, is missing the interpreter serves.
//!
//! Invariant: no panic and no error crosses the border other than as a status and a message. An
//! internal error of LLVM's code generator ends the process, as LLVM offers no other way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{
    CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple,
};

/// Version of this interface. Changes with any of its functions or structures.
pub const VERSION: u32 = 1;

/// Bytes handed to the caller, who gives them back to [`margay_jit_free`].
#[repr(C)]
pub struct Bytes {
    pub data: *mut u8,
    pub length: usize,
}

/// Bytes lent by the caller.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    pub data: *const u8,
    pub length: usize,
}

impl Text {
    /// # Safety
    /// `data` points to `length` bytes, or `length` is 0.
    unsafe fn get(&self) -> Result<&str, String> {
        if self.length == 0 {
            return Ok("");
        }
        // SAFETY: by the contract.
        let bytes = unsafe { std::slice::from_raw_parts(self.data, self.length) };
        std::str::from_utf8(bytes).map_err(|e| e.to_string())
    }
}

impl Bytes {
    fn of(bytes: &[u8]) -> Bytes {
        let boxed: Box<[u8]> = bytes.into();
        let length = boxed.len();
        Bytes { data: Box::into_raw(boxed).cast(), length }
    }
}

/// The version of the interface that this library was built with.
#[unsafe(no_mangle)]
pub extern "C" fn margay_jit_version() -> u32 {
    VERSION
}

/// Frees what another function of this library wrote.
///
/// # Safety
/// `bytes` came from this library and was not freed before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn margay_jit_free(bytes: Bytes) {
    if !bytes.data.is_null() {
        let slice = std::ptr::slice_from_raw_parts_mut(bytes.data, bytes.length);
        // SAFETY: made by `Bytes::of` from a box of this length.
        drop(unsafe { Box::from_raw(slice) });
    }
}

/// The name of this machine's processor and its features, as LLVM writes them, on two lines.
///
/// # Safety
/// `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn margay_jit_host(out: *mut Bytes) {
    let name = TargetMachine::get_host_cpu_name().to_string();
    let features = TargetMachine::get_host_cpu_features().to_string();
    // SAFETY: by the contract.
    unsafe { out.write(Bytes::of(format!("{name}\n{features}").as_bytes())) };
}

/// Compiles a module of LLVM's text form to an ELF object for this machine. Returns 0 and the
/// object, or 1 and a message. `passes` is a pipeline as `opt -passes` takes it; `level` is the
/// code generator's, 0 to 3.
///
/// # Safety
/// Each text points to its bytes, and `out` may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn margay_jit_compile(
    module: Text,
    cpu: Text,
    features: Text,
    passes: Text,
    level: u32,
    out: *mut Bytes,
) -> i32 {
    let work = || -> Result<Vec<u8>, String> {
        // SAFETY: by the contract.
        let (module, cpu, features, passes) =
            unsafe { (module.get()?, cpu.get()?, features.get()?, passes.get()?) };
        compile(module, cpu, features, passes, level)
    };
    let result = catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err("the code generator panicked".to_owned()));
    let (status, bytes) = match result {
        Ok(object) => (0, Bytes::of(&object)),
        Err(message) => (1, Bytes::of(message.as_bytes())),
    };
    // SAFETY: by the contract.
    unsafe { out.write(bytes) };
    status
}

/// Leaves out the pass with which LLVM's x86 backend moves words of bits into mask registers, on processors that have those of 64
/// bits (AVX512-BW). It walks all values that are joined to a value, and begins again at each of them, so its time grows by the square
/// of how many joins of masks a function has: minutes, for one whose other passes take seconds. LLVM has no attribute for that, only an
/// option of the process.
fn set_options() {
    let arguments = [c"margay".as_ptr(), c"-disable-x86-domain-reassignment".as_ptr()];
    // SAFETY: so many C strings, that live as long as the process. What LLVM does not know it tells nobody of, and goes on.
    unsafe {
        LLVMParseCommandLineOptions(arguments.len() as i32, arguments.as_ptr(), std::ptr::null());
    }
}

/// See [`margay_jit_compile`].
pub fn compile(
    module: &str,
    cpu: &str,
    features: &str,
    passes: &str,
    level: u32,
) -> Result<Vec<u8>, String> {
    static READY: Once = Once::new();
    READY.call_once(|| {
        Target::initialize_x86(&InitializationConfig::default());
        set_options();
    });
    let triple = TargetTriple::create("x86_64-unknown-linux-gnu");
    let level = match level {
        0 => OptimizationLevel::None,
        1 => OptimizationLevel::Less,
        2 => OptimizationLevel::Default,
        _ => OptimizationLevel::Aggressive,
    };
    let machine = Target::from_triple(&triple)
        .map_err(|e| e.to_string())?
        .create_target_machine(&triple, cpu, features, level, RelocMode::PIC, CodeModel::Small)
        .ok_or("LLVM makes no code for this processor")?;
    let context = Context::create();
    let mut text = Vec::with_capacity(module.len() + 1);
    text.extend_from_slice(module.as_bytes());
    text.push(0);
    let buffer = MemoryBuffer::create_from_memory_range_copy(&text, "kernel");
    let module = context.create_module_from_ir(buffer).map_err(|e| e.to_string())?;
    // Wrong text must not reach the passes: they would crash the process.
    module.verify().map_err(|e| e.to_string())?;
    module.set_triple(&triple);
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    module.run_passes(passes, &machine, PassBuilderOptions::create()).map_err(|e| e.to_string())?;
    let object =
        machine.write_to_memory_buffer(&module, FileType::Object).map_err(|e| e.to_string())?;
    Ok(object.as_slice().to_vec())
}
