// SPDX-License-Identifier: MIT OR Apache-2.0
//! PTX inside of what compilers make: fat binaries, and the objects, libraries and programs that hold them.
//!
//! Invariant: of each fat binary the PTX is shown that a module load would choose, so that what is read
//! is what runs.

use std::path::Path;

use margay_runtime::fatbin::{self, Content, Image};
use object::{Object, ObjectSection};

use crate::failure::{At, Failure};
use crate::toolchain::device_link::containers;

/// Sections that hold fat binaries: of whole programs, and of relocatable device code.
const SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];

/// The file's bytes if it is a fat binary or an ELF file, by what it begins with.
pub fn read(file: &Path) -> Result<Option<Vec<u8>>, Failure> {
    if !file.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::read(file).at(file, "cannot read")?;
    let known = match Image::of(&bytes) {
        Ok(Image::Container(_) | Image::Elf | Image::Linked(_)) => true,
        Ok(Image::Ptx(_)) => false,
        // The head of a fat binary whose rest is not there.
        Err(_) => true,
    };
    Ok(known.then_some(bytes))
}

/// The PTX of each fat binary in the file, for a device of compute capability `sm` (times ten).
pub fn ptx(file: &Path, bytes: &[u8], sm: u32) -> Result<Vec<Vec<u8>>, Failure> {
    let name = file.display();
    match Image::of(bytes) {
        Ok(Image::Container(container)) => Ok(vec![chosen(file, container, sm)?]),
        Ok(Image::Elf) => of_elf(file, bytes, sm),
        Ok(Image::Linked(_) | Image::Ptx(_)) => Err(Failure::Unsupported(format!(
            "{name}: a linked image of cuLinkComplete, which holds margay's own form of the code; keep the PTX \
             that was linked"
        ))),
        Err(_) => Err(damaged(file)),
    }
}

fn damaged(file: &Path) -> Failure {
    Failure::Work(format!(
        "{}: a fat binary that is damaged or cut short: its entries do not fit its size",
        file.display()
    ))
}

fn of_elf(file: &Path, bytes: &[u8], sm: u32) -> Result<Vec<Vec<u8>>, Failure> {
    let name = file.display();
    let elf = object::File::parse(bytes)
        .map_err(|error| Failure::Work(format!("{name}: no ELF file that can be read: {error}")))?;
    let mut found = Vec::new();
    for section in SECTIONS.iter().filter_map(|s| elf.section_by_name(s)) {
        let data = section.uncompressed_data().map_err(|_| damaged(file))?;
        for bytes in containers(&data) {
            let Ok(Image::Container(container)) = Image::of(bytes) else {
                return Err(damaged(file));
            };
            found.push(chosen(file, container, sm)?);
        }
    }
    if !found.is_empty() {
        return Ok(found);
    }
    /// `EM_CUDA`.
    const CUDA: u16 = 190;
    let machine = bytes.get(18..20).map(|b| u16::from_le_bytes([b[0], b[1]]));
    Err(match machine {
        Some(CUDA) => Failure::Unsupported(format!(
            "{name}: a cubin, which is machine code only; build PTX with it: nvcc -gencode \
             arch=compute_XX,code=compute_XX, or margay cc"
        )),
        Some(_) | None => Failure::Work(format!(
            "{name}: an ELF file without CUDA device code; expected a .cu, .cl or .ptx file, or a fat binary"
        )),
    })
}

/// The PTX that a module load would take; a note says what else there is.
fn chosen(file: &Path, container: &[u8], sm: u32) -> Result<Vec<u8>, Failure> {
    let name = file.display();
    let entries = fatbin::entries(container).map_err(|_| damaged(file))?;
    let targets = |wanted: fn(&Content) -> bool| -> Vec<String> {
        let mut list: Vec<u32> =
            entries.iter().filter(|(_, content)| wanted(content)).map(|(sm, _)| *sm).collect();
        list.sort_unstable();
        list.dedup();
        list.iter().map(|sm| format!("sm_{sm}")).collect()
    };
    let ptx = targets(|c| matches!(c, Content::Ptx(_)));
    let images = targets(|c| matches!(c, Content::Image(_)));
    let machine = targets(|c| matches!(c, Content::MachineCode));
    let mut holds = Vec::new();
    for (what, list) in [("images", &images), ("PTX", &ptx), ("machine code", &machine)] {
        if !list.is_empty() {
            holds.push(format!("{what} for {}", list.join(", ")));
        }
    }
    let holds = holds.join(" and ");
    let chosen = fatbin::chosen(container, sm).map_err(|_| damaged(file))?;
    let Some((target, text)) = chosen else {
        return Err(match (ptx.is_empty() && images.is_empty(), machine.is_empty()) {
            (false, _) => Failure::Work(format!(
                "{name}: a fat binary with {holds}, which sm_{sm} cannot run; choose another with --arch"
            )),
            (true, false) => Failure::Unsupported(format!(
                "{name}: a fat binary with machine code only (for {}); build PTX with it: nvcc -gencode \
                 arch=compute_XX,code=compute_XX, or margay cc",
                machine.join(", ")
            )),
            (true, true) => Failure::Work(format!("{name}: a fat binary without device code")),
        });
    };
    let mut all: Vec<&String> = ptx.iter().chain(&images).chain(&machine).collect();
    all.sort();
    all.dedup();
    if all.len() > 1 {
        eprintln!(
            "margay: note: {name}: a fat binary with {holds}; this is what is for sm_{target}"
        );
    }
    Ok(text)
}
