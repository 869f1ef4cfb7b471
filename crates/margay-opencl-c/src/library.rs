// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in functions: this crate's sources (`library/`), compiled once for an architecture and cached,
//! and libclc's for the rest. Where both define a function, this crate's is taken, since it is linked first.

use std::path::PathBuf;

use crate::clang::Clang;
use crate::{BuildError, cache, compile};

/// The sources; each is one translation unit. Linked in this order, each takes only what those before it
/// need: a file stands before those whose functions it calls.
const SOURCES: &[(&str, &str)] = &[
    (
        "subgroup.cl",
        concat!(include_str!("../library/lanes.cl"), include_str!("../library/subgroup.cl")),
    ),
    ("group.cl", concat!(include_str!("../library/lanes.cl"), include_str!("../library/group.cl"))),
    ("scratch.c", include_str!("../library/scratch.c")),
    ("image.cl", include_str!("../library/image.cl")),
    ("integer.cl", include_str!("../library/integer.cl")),
    ("half.cl", include_str!("../library/half.cl")),
    ("convert.cl", include_str!("../library/convert.cl")),
    ("atomic.cl", include_str!("../library/atomic.cl")),
    ("math.cl", include_str!("../library/math.cl")),
    ("work_item.cl", include_str!("../library/work_item.cl")),
];

/// Bitcode of one library file.
pub fn files(clang: &Clang, sm: u32) -> Result<Vec<PathBuf>, BuildError> {
    let mut out = Vec::new();
    for (name, source) in SOURCES {
        let sm_text = sm.to_string();
        let key = cache::key([
            clang.version.as_bytes(),
            name.as_bytes(),
            source.as_bytes(),
            compile::LIBRARY_RECIPE.as_bytes(),
            sm_text.as_bytes(),
        ]);
        let path = cache::directory().join(format!("{key}-{name}.bc"));
        if !path.is_file() {
            let bitcode = compile::library_file(clang, sm, name, source)?;
            cache::store(&path, &bitcode).map_err(|error| {
                BuildError::Setup(format!("{}: cannot write: {error}", path.display()))
            })?;
        }
        out.push(path);
    }
    out.push(clang.libclc.clone());
    Ok(out)
}
