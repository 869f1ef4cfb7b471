// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bench kernels on an OpenCL platform of this machine: PoCL, Oclgrind, or margay itself.

use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::time::Instant;

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, Device};
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MEM_READ_WRITE};
use opencl3::platform::get_platforms;
use opencl3::program::Program;
use opencl3::types::CL_BLOCKING;

use super::case::{Argument, Case};

/// Where Debian's oclgrind keeps its platform, which it does not register with the loader.
const OCLGRIND: &str = "/usr/lib/oclgrind/liboclgrind-rt-icd.so";

/// A folder that names the machine's platforms, Oclgrind and this build of margay to the loader; with `pocl` that library
/// in place of the machine's PoCL.
pub fn vendors(root: &Path, pocl: Option<&str>) -> Result<PathBuf, String> {
    let folder = root.join("target/bench-vendors");
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    // What another run named is not to stay.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(failed)?;
    }
    std::fs::create_dir_all(&folder).map_err(failed)?;
    for entry in std::fs::read_dir("/etc/OpenCL/vendors").into_iter().flatten().flatten() {
        std::fs::copy(entry.path(), folder.join(entry.file_name())).map_err(failed)?;
    }
    // The library of the same build.
    let ours = std::env::current_exe().map_err(failed)?.with_file_name("libmargay_opencl.so");
    let pocl = pocl.map(std::fs::canonicalize).transpose().map_err(|e| format!("--pocl: {e}"))?;
    let libraries = [
        ("oclgrind.icd", Some(Path::new(OCLGRIND))),
        ("margay.icd", Some(&ours)),
        ("pocl.icd", pocl.as_deref()),
    ];
    for (name, library) in libraries {
        if let Some(library) = library.filter(|l| l.exists()) {
            std::fs::write(folder.join(name), format!("{}\n", library.display()))
                .map_err(failed)?;
        }
    }
    Ok(folder)
}

pub struct Platform {
    /// Name and version as the platform says them.
    pub title: String,
    context: Context,
    queue: CommandQueue,
}

/// A case whose programs are built and whose buffers exist.
pub struct Prepared {
    kernels: Vec<Kernel>,
    buffers: Vec<Buffer<u8>>,
}

/// The first platform whose name contains `name`, if the loader and the platform are there.
pub fn open(name: &str) -> Option<Platform> {
    let platforms = std::panic::catch_unwind(get_platforms).ok()?.ok()?;
    let platform = platforms
        .into_iter()
        .find(|p| p.name().is_ok_and(|n| n.to_lowercase().contains(&name.to_lowercase())))?;
    let id = *platform.get_devices(CL_DEVICE_TYPE_ALL).ok()?.first()?;
    let context = Context::from_device(&Device::new(id)).ok()?;
    let queue = CommandQueue::create_default(&context, 0).ok()?;
    let title = format!("{} ({})", platform.name().ok()?, platform.version().ok()?.trim());
    Some(Platform { title, context, queue })
}

impl Platform {
    pub fn prepare(&self, root: &Path, case: &Case) -> Result<Prepared, String> {
        let folder = root.join("benches/kernels");
        let read = |file: &str| {
            std::fs::read_to_string(folder.join(file)).map_err(|e| format!("{file}: {e}"))
        };
        let source = read(&format!("{}.cu", case.name))?
            .replace("#include \"dialect.h\"", &read("dialect.h")?);
        let program = Program::create_and_build_from_source(&self.context, &source, "")
            .map_err(|log| format!("{}: {log}", case.name))?;
        let mut kernels = Vec::new();
        for launch in &case.launches {
            kernels.push(Kernel::create(&program, launch.kernel).map_err(|e| e.to_string())?);
        }
        let mut buffers = Vec::new();
        for buffer in &case.buffers {
            // SAFETY: no host pointer is given.
            let made = unsafe {
                Buffer::create(&self.context, CL_MEM_READ_WRITE, buffer.bytes(), null_mut())
            };
            buffers.push(made.map_err(|e| e.to_string())?);
        }
        Ok(Prepared { kernels, buffers })
    }

    pub fn fill(&self, prepared: &mut Prepared, contents: &[Vec<u8>]) -> Result<(), String> {
        for (buffer, bytes) in prepared.buffers.iter_mut().zip(contents) {
            // SAFETY: the write is blocking and as long as the buffer.
            unsafe { self.queue.enqueue_write_buffer(buffer, CL_BLOCKING, 0, bytes, &[]) }
                .map_err(|e| e.to_string())?;
        }
        Ok(())
    }

    /// Milliseconds of all launches, from the first call to the end of the last kernel.
    pub fn run(&self, prepared: &Prepared, case: &Case) -> Result<f64, String> {
        let start = Instant::now();
        for (launch, kernel) in case.launches.iter().zip(&prepared.kernels) {
            let mut call = ExecuteKernel::new(kernel);
            for &argument in &launch.arguments {
                // SAFETY: sizes are those of the kernel's parameters; the buffers outlive the queue's work.
                unsafe {
                    match argument {
                        Argument::Buffer(i) => call.set_arg(&prepared.buffers[i]),
                        Argument::Scalar(i) => call.set_arg(&case.scalars[i]),
                        Argument::Word(word) => call.set_arg(&word),
                    };
                }
            }
            let global = [0, 1].map(|d| (launch.grid[d] * launch.block[d]) as usize);
            let local = launch.block.map(|n| n as usize);
            call.set_global_work_sizes(&global).set_local_work_sizes(&local);
            // SAFETY: all arguments are set.
            unsafe { call.enqueue_nd_range(&self.queue) }.map_err(|e| e.to_string())?;
        }
        self.queue.finish().map_err(|e| e.to_string())?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }

    pub fn read(&self, prepared: &Prepared, index: usize, bytes: usize) -> Result<Vec<u8>, String> {
        let mut out = vec![0; bytes];
        // SAFETY: the read is blocking and as long as the buffer.
        unsafe {
            self.queue.enqueue_read_buffer(&prepared.buffers[index], CL_BLOCKING, 0, &mut out, &[])
        }
        .map_err(|e| e.to_string())?;
        Ok(out)
    }
}
