// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cuLink…`: several inputs become one image.
//!
//! The image keeps the inputs' PTX, as picked for the linker's device, and is linked again
//! where it is loaded: a magic number, the size of it all, the number of inputs, and for each its
//! register limit (0: none), the sizes of its name and text, name, and text. Numbers are little-endian.
//!
//! Host objects and archives give the containers that they carry. Limit: machine code is not read.

use margay_ir as ir;
use margay_ir::link::LinkError;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};

use crate::error::{CudaError, Result};
use crate::fatbin::Image;
use crate::image::{self, CompileOptions, LoadFailure};

/// The first bytes of a linked image.
pub const MAGIC: &[u8; 8] = b"margay\x01L";
/// Magic, size, count.
const HEAD: usize = 20;
/// Register limit, size of the name, size of the text.
const INPUT_HEAD: usize = 16;

/// One linker invocation.
pub struct Linker {
    sm: u32,
    linker: ir::link::Linker,
    image: Vec<u8>,
    inputs: u32,
    failed: Option<CudaError>,
    complete: bool,
}

/// The error of a link, as measured: duplicates and undefined names are one, disagreement another.
fn failure(errors: &[LinkError]) -> LoadFailure {
    // Measured, for every kind that there is.
    let error = CudaError::InvalidSource;
    let log = errors.iter().map(|e| format!("error   : {e}\n")).collect();
    LoadFailure { error, log }
}

impl Linker {
    /// For a device of compute capability `sm` (times ten).
    pub fn new(sm: u32) -> Linker {
        Linker {
            sm,
            linker: ir::link::Linker::default(),
            image: Vec::new(),
            inputs: 0,
            failed: None,
            complete: false,
        }
    }

    /// `cuLinkAddData`: what is wrong with the input is said at once.
    pub fn add(
        &mut self,
        name: &str,
        image: &Image,
        options: CompileOptions,
    ) -> std::result::Result<(), LoadFailure> {
        if self.complete {
            return Err(CudaError::InvalidValue.into());
        }
        let outcome = self.try_add(name, image, options);
        if let Err(failure) = &outcome {
            self.failed.get_or_insert(failure.error);
        }
        outcome
    }

    /// As [`Linker::add`], for a host object or an archive of them: all containers that it carries. Those of an
    /// archive without PTX for the device are passed over, since a linker takes members as needed.
    pub fn add_host_code(
        &mut self,
        name: &str,
        bytes: &[u8],
        options: CompileOptions,
    ) -> std::result::Result<(), LoadFailure> {
        let refused = || LoadFailure {
            error: CudaError::InvalidImage,
            log: format!(
                "error   : '{name}' is neither an object nor an archive with device code\n"
            ),
        };
        let Ok(archive) = ArchiveFile::parse(bytes) else {
            let found = carried(bytes).filter(|found| !found.is_empty()).ok_or_else(refused)?;
            for container in found {
                self.add(name, &Image::of(container)?, options)?;
            }
            return Ok(());
        };
        for member in archive.members() {
            let Ok(member) = member else { return Err(refused()) };
            let Ok(data) = member.data(bytes) else { return Err(refused()) };
            for container in carried(data).unwrap_or_default() {
                if crate::fatbin::has_code_for(container, self.sm) {
                    let member = String::from_utf8_lossy(member.name());
                    let name = format!("{name}({member})");
                    self.add(&name, &Image::of(container)?, options)?;
                }
            }
        }
        Ok(())
    }

    fn try_add(
        &mut self,
        name: &str,
        image: &Image,
        options: CompileOptions,
    ) -> std::result::Result<(), LoadFailure> {
        if let Image::Linked(bytes) = image {
            for input in inputs(bytes)? {
                self.add_text(input.name, input.text, input.options)?;
            }
            return Ok(());
        }
        self.add_text(name, &image.ptx(self.sm)?, options)
    }

    fn add_text(
        &mut self,
        name: &str,
        text: &[u8],
        options: CompileOptions,
    ) -> std::result::Result<(), LoadFailure> {
        let module = image::lower_for(text, self.sm, options)?;
        self.linker.add(name, module).map_err(|e| failure(&[e]))?;
        self.inputs += 1;
        self.image.extend(options.max_registers.unwrap_or(0).to_le_bytes());
        self.image.extend((name.len() as u32).to_le_bytes());
        self.image.extend((text.len() as u64).to_le_bytes());
        self.image.extend(name.as_bytes());
        self.image.extend(text);
        Ok(())
    }

    /// `cuLinkComplete`: the image, which stays where it is as long as the linker.
    pub fn complete(&mut self) -> std::result::Result<&[u8], LoadFailure> {
        match self.failed {
            // Measured.
            Some(CudaError::InvalidSource) => return Err(CudaError::InvalidSource.into()),
            Some(_) => return Err(CudaError::Unknown.into()),
            None => {}
        }
        if self.inputs == 0 {
            return Err(CudaError::InvalidValue.into());
        }
        if !self.complete {
            let mut linker = std::mem::take(&mut self.linker);
            let linked = add_device_runtime(&mut linker, self.sm);
            let linked = linked.and_then(|()| linker.finish().map_err(|e| failure(&e)));
            let linked = linked.and_then(|module| image::verified(&module));
            if let Err(failure) = linked {
                self.failed = Some(failure.error);
                return Err(failure);
            }
            let mut head = MAGIC.to_vec();
            head.extend(((HEAD + self.image.len()) as u64).to_le_bytes());
            head.extend(self.inputs.to_le_bytes());
            self.image.splice(0..0, head);
            self.complete = true;
        }
        Ok(&self.image)
    }
}

/// The containers in an object's sections; `None` if it is no object.
fn carried(object: &[u8]) -> Option<Vec<&[u8]>> {
    let file = object::File::parse(object).ok()?;
    let mut found = Vec::new();
    for section in ["__nv_relfatbin", ".nv_fatbin"] {
        let data = file.section_by_name(section).and_then(|section| section.data().ok());
        let mut rest = data.unwrap_or_default();
        while let Some(Ok(Image::Container(bytes))) = (rest.len() >= 16).then(|| Image::of(rest)) {
            found.push(bytes);
            rest = &rest[bytes.len().next_multiple_of(8).min(rest.len())..];
        }
    }
    Some(found)
}

/// The size of a linked image, from its first 16 bytes; `None` if it makes no sense.
pub(crate) fn image_size(head: &[u8]) -> Option<usize> {
    let size = u64::from_le_bytes(head.get(8..16)?.try_into().ok()?);
    (HEAD as u64..1 << 31).contains(&size).then_some(size as usize)
}

struct Input<'a> {
    name: &'a str,
    text: &'a [u8],
    options: CompileOptions,
}

/// Reads a linked image.
fn inputs(image: &[u8]) -> Result<Vec<Input<'_>>> {
    fn take<'a>(rest: &mut &'a [u8], bytes: u64) -> Result<&'a [u8]> {
        let bytes = usize::try_from(bytes).ok().filter(|b| *b <= rest.len());
        let (part, after) = rest.split_at(bytes.ok_or(CudaError::InvalidImage)?);
        *rest = after;
        Ok(part)
    }
    fn number(rest: &mut &[u8], bytes: u64) -> Result<u64> {
        let part = take(rest, bytes)?;
        Ok(part.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }
    let mut rest = image.get(16..).ok_or(CudaError::InvalidImage)?;
    let count = number(&mut rest, 4)?;
    if count == 0 || count > (rest.len() / INPUT_HEAD) as u64 {
        return Err(CudaError::InvalidImage);
    }
    let mut found = Vec::new();
    for _ in 0..count {
        let max_registers = Some(number(&mut rest, 4)? as u32).filter(|n| *n != 0);
        let (name, text) = (number(&mut rest, 4)?, number(&mut rest, 8)?);
        let name = std::str::from_utf8(take(&mut rest, name)?);
        let name = name.map_err(|_| CudaError::InvalidImage)?;
        let text = take(&mut rest, text)?;
        found.push(Input { name, text, options: CompileOptions { max_registers } });
    }
    match rest.is_empty() {
        true => Ok(found),
        false => Err(CudaError::InvalidImage),
    }
}

/// Links an image again, for the device that it is loaded on.
pub(crate) fn relink(image: &[u8], sm: u32) -> std::result::Result<ir::Module, LoadFailure> {
    let mut linker = ir::link::Linker::default();
    for input in inputs(image)? {
        let module = image::lower_for(input.text, sm, input.options)?;
        linker.add(input.name, module).map_err(|e| failure(&[e]))?;
    }
    add_device_runtime(&mut linker, sm)?;
    linker.finish().map_err(|e| failure(&e))
}

/// Functions of the device run time; NVIDIA's own library of them is machine code.
const DEVICE_RUNTIME: &str = include_str!("device_runtime.ptx");

/// Adds the device run time where the inputs need it and have none.
fn add_device_runtime(
    linker: &mut ir::link::Linker,
    sm: u32,
) -> std::result::Result<(), LoadFailure> {
    let missing = linker.missing();
    let here = |name: &String| DEVICE_RUNTIME.contains(&format!(" {name}("));
    let fixed = missing.iter().any(here).then(|| DEVICE_RUNTIME.to_owned());
    for text in fixed.into_iter().chain(crate::device_runtime::ptx_of(&missing)) {
        let module = image::lower_for(text.as_bytes(), sm, CompileOptions::default())?;
        linker.add("the device run time", module).map_err(|e| failure(&[e]))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = ".version 8.0\n.target sm_50\n.address_size 64\n";

    fn linked() -> Vec<u8> {
        let mut linker = Linker::new(90);
        let calls = format!("{HEADER}.extern .func f();\n.visible .entry k() {{ call f; ret; }}\n");
        let defines = format!("{HEADER}.visible .func f() {{ ret; }}\n");
        let plain = CompileOptions::default();
        let few = CompileOptions { max_registers: Some(24) };
        for (name, text, options) in [("a", calls, few), ("b", defines, plain)] {
            linker.add(name, &Image::of(text.as_bytes()).unwrap(), options).unwrap();
        }
        linker.complete().unwrap().to_vec()
    }

    #[test]
    fn an_image_is_linked_again_where_it_is_loaded() {
        let bytes = linked();
        let image = Image::of(&bytes).unwrap();
        assert!(matches!(image, Image::Linked(_)));
        let module = image::compile_image(&image, 90, CompileOptions::default()).unwrap();
        let kernel = &module.functions[module.function("k").unwrap().0 as usize];
        assert_eq!(kernel.limits.maxnreg, Some(24));
    }

    #[test]
    fn the_device_run_time_is_added_where_it_is_missed() {
        let calls = format!(
            "{HEADER}.extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 h, .param .b32 f);\n\
             .visible .entry k() {{ .param .b64 h; .param .b32 f; .param .b32 r;\n\
             st.param.b64 [h], 0; st.param.b32 [f], 0;\n\
             call (r), cudaCGSynchronize, (h, f); ret; }}\n"
        );
        let mut linker = Linker::new(90);
        let plain = CompileOptions::default();
        linker.add("a", &Image::of(calls.as_bytes()).unwrap(), plain).unwrap();
        let bytes = linker.complete().unwrap().to_vec();
        let module = image::compile_image(&Image::of(&bytes).unwrap(), 90, plain).unwrap();
        let barrier = module.function("cudaCGSynchronize").unwrap();
        assert!(!module.functions[barrier.0 as usize].blocks.is_empty());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        let mut linker = Linker::new(90);
        let refused = linker.add_host_code("x.o", b"junk", CompileOptions::default());
        assert_eq!(refused.unwrap_err().error, CudaError::InvalidImage);
    }

    #[test]
    fn damage_is_an_error() {
        let good = linked();
        let plain = CompileOptions::default();
        let load = |bytes: &[u8]| {
            Image::of(bytes)
                .map_err(LoadFailure::from)
                .and_then(|i| image::compile_image(&i, 90, plain))
                .map(drop)
        };
        assert!(load(&good).is_ok());
        for cut in 0..good.len() {
            assert!(load(&good[..cut]).is_err(), "{cut} bytes");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            drop(load(&bad));
        }
    }
}
