// SPDX-License-Identifier: MIT OR Apache-2.0
//! The OpenMP twins of `benches/openmp/`, built into one library a set of flags and called in process.

use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use libloading::{Library, Symbol};

use super::case::Case;
use super::data::Aligned;

/// `Arguments` of `benches/openmp/twin.h`.
#[repr(C)]
struct Arguments {
    buffers: *const *mut c_void,
    scalars: *const u32,
}

pub struct Twins {
    /// Never unloaded: threads of OpenMP's library wait in it for more work until the process ends.
    library: ManuallyDrop<Library>,
}

/// The twins with `flags`, or `None` where there is no g++.
pub fn build(root: &Path, name: &str, flags: &[&str]) -> Result<Option<Twins>, String> {
    let folder = root.join("benches/openmp");
    let mut sources: Vec<_> = std::fs::read_dir(&folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "cpp"))
        .collect();
    sources.sort();
    let path = root.join(format!("target/bench-{name}.so"));
    let status = Command::new("g++")
        .args(["-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-o"])
        .arg(&path)
        .args(flags)
        .args(&sources)
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => return Err("benches/openmp does not build".to_owned()),
        Err(_) => return Ok(None),
    }
    // SAFETY: the library is our own and runs no code when it is loaded.
    let library = unsafe { Library::new(&path) }.map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Some(Twins { library: ManuallyDrop::new(library) }))
}

impl Twins {
    /// Whether there is a function of this kind for the case: `twin`, or `other` for another algorithm.
    pub fn has(&self, kind: &str, case: &Case) -> bool {
        // SAFETY: the symbol is only looked for.
        unsafe { self.library.get::<*const c_void>(symbol(kind, case).as_bytes()).is_ok() }
    }

    /// Milliseconds of one run over `buffers`.
    pub fn run(
        &self,
        kind: &str,
        case: &Case,
        buffers: &[Aligned],
        threads: usize,
    ) -> Result<f64, String> {
        // SAFETY: `omp_set_num_threads` takes an int; libgomp came with the library.
        unsafe {
            let set: Symbol<'_, unsafe extern "C" fn(i32)> =
                self.library.get(b"omp_set_num_threads\0").map_err(|e| e.to_string())?;
            set(threads as i32);
        }
        let addresses: Vec<*mut c_void> = buffers.iter().map(|b| b.address().cast()).collect();
        let arguments = Arguments { buffers: addresses.as_ptr(), scalars: case.scalars.as_ptr() };
        let symbol = symbol(kind, case);
        // SAFETY: every twin has this signature, and the case has the buffers that it reads.
        unsafe {
            let twin: Symbol<'_, unsafe extern "C" fn(&Arguments)> =
                self.library.get(symbol.as_bytes()).map_err(|e| e.to_string())?;
            let start = Instant::now();
            twin(&arguments);
            Ok(start.elapsed().as_secs_f64() * 1e3)
        }
    }
}

fn symbol(kind: &str, case: &Case) -> String {
    format!("{kind}_{}\0", case.name)
}
