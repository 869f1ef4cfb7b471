// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of `cuModuleLoadDataEx` and `cuLibraryLoadData`: chiefly the log buffers.
//!
//! Limit: options that steer ptxas's code generation have nothing to steer here and are accepted;
//! unknown ones are refused.

use std::ffi::{c_char, c_uint, c_void};
use std::time::{Duration, Instant};

use margay_runtime::image::{CompileOptions, LoadFailure};
use margay_runtime::{CudaError, Result};

use crate::sys::*;

/// A text buffer of the program.
#[derive(Clone, Copy, Default)]
struct Log {
    buffer: usize,
    size: u32,
    /// Index of the size's option, whose value becomes the size used.
    size_at: Option<usize>,
}

/// The options of one call.
pub struct Options {
    values: *mut *mut c_void,
    info: Log,
    error: Log,
    wall_time_at: Option<usize>,
    /// What goes to the compiler.
    pub compile: CompileOptions,
    start: Instant,
}

impl Options {
    /// Reads the option arrays.
    pub unsafe fn read(
        count: c_uint,
        names: *mut CUjit_option,
        values: *mut *mut c_void,
    ) -> Result<Options> {
        let mut options = Options {
            values,
            info: Log::default(),
            error: Log::default(),
            wall_time_at: None,
            compile: CompileOptions::default(),
            start: Instant::now(),
        };
        if count > 0 && (names.is_null() || values.is_null()) {
            return Err(CudaError::InvalidValue);
        }
        for at in 0..count as usize {
            // SAFETY: both arrays have `count` elements.
            let (name, value) = unsafe { (names.add(at).read(), values.add(at).read().addr()) };
            match name {
                CU_JIT_INFO_LOG_BUFFER => options.info.buffer = value,
                CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES => {
                    options.info.size = value as u32;
                    options.info.size_at = Some(at);
                }
                CU_JIT_ERROR_LOG_BUFFER => options.error.buffer = value,
                CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES => {
                    options.error.size = value as u32;
                    options.error.size_at = Some(at);
                }
                CU_JIT_MAX_REGISTERS if value > 0 => {
                    options.compile.max_registers = Some(value as u32);
                }
                CU_JIT_WALL_TIME => options.wall_time_at = Some(at),
                other if other >= CU_JIT_NUM_OPTIONS => return Err(CudaError::InvalidValue),
                _ => {}
            }
        }
        Ok(options)
    }

    /// Writes logs and times, and turns a failure into its error.
    pub unsafe fn finish<T>(&self, outcome: std::result::Result<T, LoadFailure>) -> Result<T> {
        let log = match &outcome {
            Ok(_) => "",
            Err(failure) => &failure.log,
        };
        self.warn(log);
        // SAFETY: as the caller promises.
        unsafe { self.report(log, self.start.elapsed()) };
        outcome.map_err(|failure| failure.error)
    }

    /// Says on stderr what has no buffer to go to.
    pub fn warn(&self, log: &str) {
        if !log.is_empty() && self.error.buffer == 0 {
            let log = log.trim_end();
            margay_runtime::report::warn(&format!("the device code was refused: {log}"));
        }
    }

    /// Writes the logs and the time.
    pub unsafe fn report(&self, log: &str, spent: Duration) {
        // SAFETY: the buffers are the program's, of the sizes that it gave.
        unsafe {
            self.write(&self.error, log.trim_end());
            self.write(&self.info, "");
            if let Some(at) = self.wall_time_at {
                self.values.add(at).cast::<f32>().write(spent.as_secs_f32() * 1e3);
            }
        }
    }

    unsafe fn write(&self, log: &Log, text: &str) {
        let mut used = 0;
        if log.buffer != 0 && log.size > 0 {
            let kept = &text.as_bytes()[..text.len().min(log.size as usize - 1)];
            let to = std::ptr::with_exposed_provenance_mut::<c_char>(log.buffer);
            // SAFETY: `size` bytes are the program's to write; `kept` leaves one for the NUL.
            unsafe {
                std::ptr::copy_nonoverlapping(kept.as_ptr(), to.cast(), kept.len());
                to.add(kept.len()).write(0);
            }
            used = kept.len();
        }
        if let Some(at) = log.size_at {
            // SAFETY: the option's own slot, which the manual says is written.
            unsafe { self.values.add(at).cast::<c_uint>().write(used as c_uint) };
        }
    }
}
