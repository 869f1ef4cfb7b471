// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay toolkit`: a directory laid out as a CUDA toolkit is, for build systems that look for one.
//!
//! Invariant: nothing in it is NVIDIA's. `bin/nvcc` runs `margay cc`; the headers and libraries are
//! margay's own, of one CUDA version.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::failure::{At, Failure};
use crate::toolchain::options::Options;
use crate::toolchain::{cache, headers, libraries};

/// Lay out a directory as a CUDA toolkit, for CMake and Makefiles.
#[derive(clap::Args)]
#[command(after_help = "\
It has bin/nvcc, which runs `margay cc`, include/ and lib64/. Examples:
  margay toolkit ~/margay-cuda
  cmake -B build -DCMAKE_CUDA_COMPILER=$HOME/margay-cuda/bin/nvcc
  make CUDA_HOME=$HOME/margay-cuda
  margay run build/app")]
pub struct Args {
    /// The directory; an older toolkit of margay's in it is replaced.
    directory: PathBuf,
    /// The CUDA version whose API its headers and libraries have: 12.9 (the default), 13.0, 12.4 or 11.8.
    #[arg(long, value_name = "VERSION")]
    cuda_version: Option<String>,
}

/// Names the file that says whose the directory is.
const MARK: &str = "margay-toolkit";

/// Makes the directory.
pub fn run(args: Args) -> Result<u8, Failure> {
    let version = match &args.cuda_version {
        Some(text) => Options::parse(&["--cuda-version".to_string(), text.clone()])?.cuda_version,
        None => None,
    };
    let version = version.unwrap_or(headers::VERSIONS[0]);
    let root = std::path::absolute(&args.directory).at(&args.directory, "cannot resolve")?;
    if root.join("bin/nvcc").exists() && !root.join(MARK).exists() {
        return Err(Failure::Usage(format!(
            "{}: another CUDA toolkit is there; choose a new directory",
            root.display()
        )));
    }
    let libraries = libraries::directory()?;
    for directory in ["bin", "include", "lib64/stubs", "nvvm/libdevice"] {
        let path = root.join(directory);
        fs::create_dir_all(&path).at(&path, "cannot create")?;
    }
    write(&root.join(MARK), &format!("{}\n", env!("CARGO_PKG_VERSION")))?;
    let number = format!("{}.{}", version / 1000, version % 1000 / 10);
    // What CMake's FindCUDAToolkit reads where it cannot run nvcc.
    let described = serde_json::json!({
        "cuda": { "name": "CUDA SDK (margay)", "version": format!("{number}.0") }
    });
    write(&root.join("version.json"), &format!("{described}\n"))?;
    compiler(&root, &number)?;
    include(&root.join("include"), version)?;
    lib(&root.join("lib64"), &libraries, version)?;
    println!("{}", root.display());
    Ok(0)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).at(path, "cannot write")
}

/// `bin/nvcc`, which also works through a link to it.
fn compiler(root: &Path, version: &str) -> Result<(), Failure> {
    let own =
        env::current_exe().at(Path::new("/proc/self/exe"), "cannot find margay's own place")?;
    let quoted = own.display().to_string().replace('\'', "'\\''");
    let path = root.join("bin/nvcc");
    write(
        &path,
        &format!(
            "#!/bin/sh\n# margay's stand-in for nvcc\n\
             here=$(readlink -f \"$0\")\n\
             exec '{quoted}' cc --cuda-version {version} --as-nvcc=\"${{here%/bin/nvcc}}\" \"$@\"\n"
        ),
    )?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
        .at(&path, "cannot make executable")
}

/// The headers, with those of the version among them, for host compilers too.
fn include(to: &Path, version: u32) -> Result<(), Failure> {
    let from = headers::directory(&cache::Cache::open().root)?;
    copy_all(&from, to, true)?;
    copy_all(&headers::version_directory(&from, version), to, false)?;
    // Without `margay cc` nobody else says which version it is.
    let path = to.join("margay/version.h");
    let text = fs::read_to_string(&path).at(&path, "cannot read")?;
    let own = "#define MARGAY_CUDA_VERSION ";
    let text: String = text
        .lines()
        .map(|line| match line.starts_with(own) {
            true => format!("{own}{version}\n"),
            false => format!("{line}\n"),
        })
        .collect();
    write(&path, &text)
}

fn copy_all(from: &Path, to: &Path, leave_versions: bool) -> Result<(), Failure> {
    fs::create_dir_all(to).at(to, "cannot create")?;
    for entry in fs::read_dir(from).at(from, "cannot read")? {
        let entry = entry.at(from, "cannot read")?;
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() {
            if !leave_versions || !name.to_string_lossy().starts_with("cuda-") {
                copy_all(&path, &to.join(name), false)?;
            }
        } else {
            fs::copy(&path, to.join(name)).at(&path, "cannot copy")?;
        }
    }
    Ok(())
}

/// Links to the libraries, and what stands for those that margay has no need of.
fn lib(to: &Path, libraries: &Path, version: u32) -> Result<(), Failure> {
    let runtime = if version >= 13000 { "libcudart.so.13" } else { "libcudart.so.12" };
    for (link, target) in [
        ("libcudart.so", runtime),
        (runtime, runtime),
        ("libcuda.so.1", "libcuda.so.1"),
        ("stubs/libcuda.so", "libcuda.so.1"),
    ] {
        let link = to.join(link);
        let _ = fs::remove_file(&link);
        symlink(libraries.join(target), &link).at(&link, "cannot create")?;
    }
    // The runtime is a shared library in any case, and launches from device code need no library.
    write(&to.join("libcudart_static.a"), "/* margay's runtime is shared */ INPUT(-lcudart)\n")?;
    write(&to.join("libcudadevrt.a"), "!<arch>\n")
}
