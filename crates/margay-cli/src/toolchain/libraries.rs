// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where `libcuda.so.1`, `libcudart.so.*` and the OpenCL driver are: `MARGAY_LIB_DIR`, an installation's `lib/margay`, or,
//! beside a cargo build, `margay-lib/` with links to what cargo built.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use crate::failure::{At, Failure};

/// The directory for `-L` and `LD_LIBRARY_PATH`.
pub fn directory() -> Result<PathBuf, Failure> {
    if let Some(dir) = env::var_os("MARGAY_LIB_DIR") {
        return Ok(PathBuf::from(dir));
    }
    let exe = env::current_exe()
        .and_then(fs::canonicalize)
        .at(Path::new("/proc/self/exe"), "cannot find margay's own place")?;
    let bin = exe.parent().unwrap_or(Path::new("/"));
    let installed = bin.join("../lib/margay");
    if installed.join("libcuda.so.1").exists() {
        return installed.canonicalize().at(&installed, "cannot resolve");
    }
    linked(bin)
}

/// `<bin>/margay-lib`, with the names that programs ask the dynamic linker for.
fn linked(bin: &Path) -> Result<PathBuf, Failure> {
    let dir = bin.join("margay-lib");
    let names: [(&str, [&str; 2], &[&str]); 3] = [
        ("libcuda.so.1", ["libcuda.so", "libmargay_cuda.so"], &["libcuda.so", "libcuda.so.1"]),
        (
            "libcudart.so.12",
            ["libcudart.so", "libmargay_cudart.so"],
            &["libcudart.so", "libcudart.so.12"],
        ),
        ("libcudart.so.13", ["libcudart13.so", "libmargay_cudart13.so"], &["libcudart.so.13"]),
    ];
    for (what, built, links) in names {
        let Some(target) = built.iter().map(|n| bin.join(n)).find(|p| p.exists()) else {
            return Err(Failure::Work(format!(
                "{what} is neither in {} nor in an installation's lib/margay; build it with \
                 `cargo build --workspace`, or name its directory in MARGAY_LIB_DIR",
                bin.display()
            )));
        };
        fs::create_dir_all(&dir).at(&dir, "cannot create")?;
        for link in links {
            let link = dir.join(link);
            if fs::read_link(&link).is_ok_and(|at| at == target) {
                continue;
            }
            // Made beside it and renamed: another process may be doing the same.
            let staged = dir.join(format!(".{}.{}", std::process::id(), what));
            let _ = fs::remove_file(&staged);
            symlink(&target, &staged)
                .and_then(|()| fs::rename(&staged, &link))
                .or_else(|e| if link.exists() { Ok(()) } else { Err::<(), io::Error>(e) })
                .at(&link, "cannot create")?;
        }
    }
    Ok(dir)
}

/// The directory whose `.icd` file leads OpenCL's loader to `libmargay_opencl.so`; `None` where that was not
/// built or installed.
pub fn vendors(libraries: &Path) -> Result<Option<PathBuf>, Failure> {
    let dir = libraries.join("vendors");
    if dir.join("margay.icd").exists() {
        return Ok(Some(dir));
    }
    let beside = [libraries.to_path_buf(), libraries.join("..")];
    let found = beside.iter().map(|d| d.join("libmargay_opencl.so")).find(|p| p.exists());
    let Some(library) = found.and_then(|p| p.canonicalize().ok()) else { return Ok(None) };
    fs::create_dir_all(&dir).at(&dir, "cannot create")?;
    // Written beside its place and renamed: another process may be doing the same.
    let staged = dir.join(format!(".{}", std::process::id()));
    fs::write(&staged, format!("{}\n", library.display())).at(&staged, "cannot write")?;
    fs::rename(&staged, dir.join("margay.icd")).at(&dir, "cannot rename")?;
    Ok(Some(dir))
}

/// What links a program with the runtime library whose ABI is that of the headers.
pub fn runtime(cuda_version: u32) -> &'static str {
    if cuda_version >= 13000 { "-l:libcudart.so.13" } else { "-lcudart" }
}
