// SPDX-License-Identifier: MIT OR Apache-2.0
//! Headers for tests: the tree's own, and those that the build generates for a CUDA version.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use margay_arch::ComputeCapability;
use margay_rules::Environment;
use margay_rules::rule::Example;

/// The folders of headers.
pub fn include() -> Vec<PathBuf> {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOLDERS
        .get_or_init(|| {
            let root = Path::new(env!("CARGO_MANIFEST_DIR"));
            let generated = Path::new(env!("CARGO_TARGET_TMPDIR")).join("headers");
            std::fs::create_dir_all(&generated).expect("a folder for headers");
            for (name, text) in margay_abi_gen::c_headers(12090).expect("generated headers") {
                // An unchanged file keeps its time, and the precompiled headers stay good.
                let path = generated.join(name);
                if std::fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
                    std::fs::write(path, text).expect("writable");
                }
            }
            vec![root.join("../../include").canonicalize().expect("include/"), generated]
        })
        .clone()
}

/// The environment of an example.
pub fn environment(example: &Example) -> Environment {
    let mut environment = Environment::new(include(), ComputeCapability::from_sm(example.sm));
    environment.precompiled = Some(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("precompiled"));
    environment.cuda_version = example.cuda_version;
    environment.standard = example.standard.map(String::from);
    environment
}
