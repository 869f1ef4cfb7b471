// SPDX-License-Identifier: MIT OR Apache-2.0
//! Containers of device code: `margay cc`'s, clang's and nvcc's all have the same layout.
//!
//! A container is a header (magic 0xBA55ED50, header size, size of the rest) and entries, each a
//! header and a payload: PTX or ELF, plain or compressed with LZ4 or zstd. nvcc embeds it behind a
//! wrapper (magic 0x466243B1) that points to it.
//!
//! Invariant: within the size that the header states, damaged bytes give an error, never a panic
//! and never a read beyond. The size itself must be believed: the C interface has no other.

use std::borrow::Cow;
use std::io::Read;

use crate::error::{CudaError, Result};
use crate::link;

const CONTAINER: u32 = 0xBA55_ED50;
const WRAPPER: u32 = 0x4662_43B1;
const ELF: &[u8] = b"\x7fELF";
/// An entry of PTX.
pub const KIND_PTX: u16 = 1;
const KIND_ELF: u16 = 2;
/// An entry of `margay cc`'s for what nvcc makes machine code of: PTX that is run on the GPUs alone that would
/// run that machine code. Without a payload its text is that of the next PTX in the container. The word at byte
/// 48 is the letter of an `sm_90a`, or 0. NVIDIA's driver skips kinds that it does not know.
pub const KIND_IMAGE: u16 = 0x4d47;
/// `flags` bits of an entry.
const COMPRESSED_LZ4: u64 = 0x2000;
const COMPRESSED_ZSTD: u64 = 0x8000;
/// No sane module is larger once unpacked.
const LARGEST: u64 = 1 << 30;

/// What `cuModuleLoadData` was given.
#[derive(Debug)]
pub enum Image<'a> {
    Ptx(Cow<'a, [u8]>),
    Container(&'a [u8]),
    /// What `cuLinkComplete` gave.
    Linked(&'a [u8]),
    /// A cubin.
    Elf,
}

impl Image<'_> {
    /// Finds out what a pointer from the program leads to.
    ///
    /// # Safety
    /// `address` leads to a container, a wrapper, an ELF file, or NUL-terminated text, complete.
    pub unsafe fn at<'a>(address: *const u8) -> Result<Image<'a>> {
        if address.is_null() {
            return Err(CudaError::InvalidValue);
        }
        // SAFETY: even the shortest text has the bytes that are compared, up to its NUL.
        let starts_with = |magic: &[u8]| {
            magic.iter().enumerate().all(|(i, &byte)| unsafe { *address.add(i) } == byte)
        };
        if starts_with(&WRAPPER.to_le_bytes()) {
            // SAFETY: a wrapper is magic, version, and the container's address.
            let inner = unsafe { address.add(8).cast::<*const u8>().read_unaligned() };
            let inner_is_wrapper =
                // SAFETY: a wrapper points to a container, whose magic is four bytes.
                !inner.is_null() && unsafe { inner.cast::<u32>().read_unaligned() } == WRAPPER;
            if inner_is_wrapper {
                return Err(CudaError::InvalidImage);
            }
            // SAFETY: as the caller promises.
            return unsafe { Image::at(inner) };
        }
        if starts_with(&CONTAINER.to_le_bytes()) {
            // SAFETY: a container has a header of 16 bytes, which states the size of the rest.
            let header = unsafe { std::slice::from_raw_parts(address, 16) };
            let size = container_size(header).ok_or(CudaError::InvalidImage)?;
            // SAFETY: as the caller promises.
            return Ok(Image::Container(unsafe { std::slice::from_raw_parts(address, size) }));
        }
        if starts_with(link::MAGIC) {
            // SAFETY: a linked image has a header of 20 bytes, which states the whole size.
            let header = unsafe { std::slice::from_raw_parts(address, 16) };
            let size = link::image_size(header).ok_or(CudaError::InvalidImage)?;
            // SAFETY: as the caller promises.
            return Ok(Image::Linked(unsafe { std::slice::from_raw_parts(address, size) }));
        }
        if starts_with(ELF) {
            return Ok(Image::Elf);
        }
        // SAFETY: text ends with NUL.
        let text = unsafe { std::ffi::CStr::from_ptr(address.cast()) };
        Ok(Image::Ptx(Cow::Borrowed(text.to_bytes())))
    }

    /// The same for bytes whose end is known (files).
    pub fn of(bytes: &[u8]) -> Result<Image<'_>> {
        if bytes.starts_with(&CONTAINER.to_le_bytes()) {
            let size = container_size(bytes).filter(|size| *size <= bytes.len());
            return Ok(Image::Container(&bytes[..size.ok_or(CudaError::InvalidImage)?]));
        }
        if bytes.starts_with(link::MAGIC) {
            let size = link::image_size(bytes).filter(|size| *size <= bytes.len());
            return Ok(Image::Linked(&bytes[..size.ok_or(CudaError::InvalidImage)?]));
        }
        if bytes.starts_with(ELF) {
            return Ok(Image::Elf);
        }
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        Ok(Image::Ptx(Cow::Borrowed(&bytes[..end])))
    }

    /// The PTX to use on a device of compute capability `sm` (times ten).
    pub fn ptx(&self, sm: u32) -> Result<Cow<'_, [u8]>> {
        match self {
            Image::Ptx(_) if Policy::of_process() == Policy::ImagesOnly => Err(disabled()),
            Image::Ptx(text) => Ok(Cow::Borrowed(text)),
            Image::Elf => Err(only_machine_code()),
            // It has several.
            Image::Linked(_) => Err(CudaError::InvalidImage),
            Image::Container(bytes) => pick(bytes, sm, Policy::of_process()),
        }
    }
}

/// What a load may use, by the CUDA C++ Programming Guide, "CUDA Environment Variables".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Policy {
    #[default]
    Everything,
    /// `CUDA_FORCE_PTX_JIT=1`: machine code is ignored.
    PtxOnly,
    /// `CUDA_DISABLE_PTX_JIT=1`: PTX is ignored.
    ImagesOnly,
}

impl Policy {
    /// What the process's environment says now.
    pub fn of_process() -> Policy {
        let is_on = |name| std::env::var_os(name).is_some_and(|value| value == "1");
        match (is_on("CUDA_FORCE_PTX_JIT"), is_on("CUDA_DISABLE_PTX_JIT")) {
            (true, _) => Policy::PtxOnly,
            (false, true) => Policy::ImagesOnly,
            (false, false) => Policy::Everything,
        }
    }
}

fn disabled() -> CudaError {
    crate::report::warn(
        "CUDA_DISABLE_PTX_JIT=1 forbids to translate PTX, and the program has no image for this device",
    );
    CudaError::JitCompilationDisabled
}

fn only_machine_code() -> CudaError {
    crate::report::warn(
        "the program's device code is machine code only (a cubin), which margay cannot run; build \
         it with PTX: nvcc -gencode arch=compute_XX,code=compute_XX, or margay cc",
    );
    CudaError::NoBinaryForGpu
}

/// Header and rest; `None` if the header makes no sense.
fn container_size(header: &[u8]) -> Option<usize> {
    let head = u64::from(u16_at(header, 6)?);
    let size = head.checked_add(u64_at(header, 8)?)?;
    (head >= 16 && size <= LARGEST).then_some(size as usize)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

struct Entry<'a> {
    kind: u16,
    sm: u32,
    flags: u64,
    /// The letter of an image for `sm_90a`, or 0.
    suffix: u64,
    unpacked: u64,
    payload: &'a [u8],
}

impl Entry<'_> {
    /// Whether a device runs this image: one of the same major capability that is not older, and of an
    /// architecture with a letter that one alone (CUDA C++ Programming Guide, "Binary Compatibility").
    fn is_image_for(&self, sm: u32) -> bool {
        match self.suffix {
            0 => self.sm / 10 == sm / 10 && self.sm <= sm,
            _ => self.sm == sm,
        }
    }
}

/// Reads the entry at the start of `bytes`, and what follows it.
fn entry(bytes: &[u8]) -> Option<(Entry<'_>, &[u8])> {
    let head = u32_at(bytes, 4)? as usize;
    let stored = usize::try_from(u64_at(bytes, 8)?).ok()?;
    let packed = u32_at(bytes, 16)? as usize;
    let flags = u64_at(bytes, 40)?;
    if head < 48 {
        return None;
    }
    let area = bytes.get(head..head.checked_add(stored)?)?;
    let is_packed = flags & (COMPRESSED_LZ4 | COMPRESSED_ZSTD) != 0;
    // The stored size is padded; a compressed payload has its own size.
    let payload = if is_packed { area.get(..packed)? } else { area };
    let unpacked = if head >= 64 { u64_at(bytes, 56)? } else { 0 };
    let kind = u16_at(bytes, 0)?;
    let suffix = if kind == KIND_IMAGE { u64_at(bytes, 48)? } else { 0 };
    let entry = Entry { kind, sm: u32_at(bytes, 28)?, flags, suffix, unpacked, payload };
    Some((entry, &bytes[head + stored..]))
}

/// All entries, in order; an image without a text of its own has that of the PTX after it.
fn listed(container: &[u8]) -> Result<Vec<Entry<'_>>> {
    let head = usize::from(u16_at(container, 6).ok_or(CudaError::InvalidImage)?);
    let mut rest = container.get(head..).ok_or(CudaError::InvalidImage)?;
    let mut all: Vec<Entry> = Vec::new();
    while rest.len() >= 48 {
        let (entry, next) = entry(rest).ok_or(CudaError::InvalidImage)?;
        if entry.kind == KIND_PTX {
            for image in all.iter_mut().rev().take_while(|e| e.kind == KIND_IMAGE) {
                if image.payload.is_empty() {
                    image.payload = entry.payload;
                    image.flags = entry.flags;
                    image.unpacked = entry.unpacked;
                }
            }
        }
        all.push(entry);
        rest = next;
    }
    Ok(all)
}

/// The entry for a device: an image for it, else the PTX of the newest target that is not newer than it.
fn best<'a, 'e>(entries: &'e [Entry<'a>], sm: u32, policy: Policy) -> Option<&'e Entry<'a>> {
    let images = entries.iter().filter(|e| e.kind == KIND_IMAGE && e.is_image_for(sm));
    let ptx = entries.iter().filter(|e| e.kind == KIND_PTX && e.sm <= sm);
    // Of equals the first, as a container may have the same target twice.
    let newest =
        |all: Vec<&'e Entry<'a>>| all.into_iter().rev().max_by_key(|e| (e.sm, e.suffix != 0));
    let image = newest(images.collect()).filter(|_| policy != Policy::PtxOnly);
    image.or_else(|| newest(ptx.collect()).filter(|_| policy != Policy::ImagesOnly))
}

fn pick(container: &[u8], sm: u32, policy: Policy) -> Result<Cow<'_, [u8]>> {
    let entries = listed(container)?;
    if let Some(entry) = best(&entries, sm, policy) {
        return unpack(entry);
    }
    let of = |kind| entries.iter().filter(move |e| e.kind == kind);
    if policy == Policy::ImagesOnly && of(KIND_PTX).any(|e| e.sm <= sm) {
        return Err(disabled());
    }
    let names = |kind| {
        let all: Vec<String> = of(kind).map(|e| format!("sm_{}", e.sm)).collect();
        (!all.is_empty()).then(|| all.join(", "))
    };
    let images = names(KIND_IMAGE).filter(|_| policy != Policy::PtxOnly);
    let newer = of(KIND_PTX).map(|e| e.sm).max();
    match (images, newer) {
        (Some(images), None) => crate::report::warn(&format!(
            "the program's device code is machine code for {images} without PTX, the device is sm_{sm}: \
             choose another GPU (MARGAY_GPU=sm_XX), or add -gencode arch=compute_XX,code=compute_XX"
        )),
        (_, Some(newer)) => crate::report::warn(&format!(
            "the program's PTX is for sm_{newer} and newer, the device is sm_{sm}; choose \
             another GPU (MARGAY_GPU=sm_{newer}) or compile for sm_{sm}"
        )),
        (None, None) if policy == Policy::PtxOnly && names(KIND_IMAGE).is_some() => {
            crate::report::warn(
                "CUDA_FORCE_PTX_JIT=1 asks for PTX, and the program has none: add -gencode \
                 arch=compute_XX,code=compute_XX",
            );
        }
        (None, None) if names(KIND_ELF).is_some() => return Err(only_machine_code()),
        (None, None) => {}
    }
    Err(CudaError::NoBinaryForGpu)
}

/// What a load on a device takes from a container, and the target it is for.
pub fn chosen(container: &[u8], sm: u32) -> Result<Option<(u32, Vec<u8>)>> {
    let entries = listed(container)?;
    let entry = best(&entries, sm, Policy::of_process());
    entry.map(|e| Ok((e.sm, unpack(e)?.into_owned()))).transpose()
}

/// What one entry of a container is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// PTX, unpacked.
    Ptx(Vec<u8>),
    /// `margay cc`'s machine code: PTX for the GPUs of one capability.
    Image(Vec<u8>),
    /// Machine code of NVIDIA's GPUs.
    MachineCode,
    /// Something else, by the number of its kind.
    Other(u16),
}

/// The entries of a container in order, each with its target (`sm_90` is 90).
pub fn entries(container: &[u8]) -> Result<Vec<(u32, Content)>> {
    let content = |entry: &Entry| {
        let content = match entry.kind {
            KIND_PTX => Content::Ptx(unpack(entry)?.into_owned()),
            KIND_IMAGE => Content::Image(unpack(entry)?.into_owned()),
            KIND_ELF => Content::MachineCode,
            other => Content::Other(other),
        };
        Ok((entry.sm, content))
    };
    listed(container)?.iter().map(content).collect()
}

/// Whether a container has code that runs on a device.
pub fn has_code_for(container: &[u8], sm: u32) -> bool {
    listed(container).is_ok_and(|entries| best(&entries, sm, Policy::of_process()).is_some())
}

fn unpack<'a>(entry: &Entry<'a>) -> Result<Cow<'a, [u8]>> {
    if entry.unpacked > LARGEST {
        return Err(CudaError::InvalidImage);
    }
    let text: Cow<'a, [u8]> = if entry.flags & COMPRESSED_LZ4 != 0 {
        let plain = lz4_flex::block::decompress(entry.payload, entry.unpacked as usize);
        Cow::Owned(plain.map_err(|_| CudaError::InvalidImage)?)
    } else if entry.flags & COMPRESSED_ZSTD != 0 {
        let mut plain = Vec::new();
        let decoder = ruzstd::decoding::StreamingDecoder::new(entry.payload);
        let mut decoder = decoder.map_err(|_| CudaError::InvalidImage)?.take(LARGEST);
        decoder.read_to_end(&mut plain).map_err(|_| CudaError::InvalidImage)?;
        Cow::Owned(plain)
    } else {
        Cow::Borrowed(entry.payload)
    };
    let end = text.iter().position(|b| *b == 0).unwrap_or(text.len());
    Ok(match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[..end]),
        Cow::Owned(mut text) => {
            text.truncate(end);
            Cow::Owned(text)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(entries: &[(u16, u32, u64, &[u8], usize)]) -> Vec<u8> {
        let mut body = Vec::new();
        for &(kind, sm, flags, payload, unpacked) in entries {
            let padded = payload.len().next_multiple_of(8);
            body.extend(kind.to_le_bytes());
            body.extend(0x101u16.to_le_bytes());
            body.extend(64u32.to_le_bytes());
            body.extend((padded as u64).to_le_bytes());
            body.extend((payload.len() as u32).to_le_bytes());
            body.extend([0; 8]);
            body.extend(sm.to_le_bytes());
            body.extend([0; 8]);
            body.extend(flags.to_le_bytes());
            body.extend([0; 8]);
            body.extend((unpacked as u64).to_le_bytes());
            body.extend(payload);
            body.resize(body.len() + padded - payload.len(), 0);
        }
        let mut out = CONTAINER.to_le_bytes().to_vec();
        out.extend(1u16.to_le_bytes());
        out.extend(16u16.to_le_bytes());
        out.extend((body.len() as u64).to_le_bytes());
        out.extend(body);
        out
    }

    fn text(bytes: &[u8], sm: u32) -> Result<String> {
        let image = Image::of(bytes)?;
        image.ptx(sm).map(|t| String::from_utf8_lossy(&t).into_owned())
    }

    #[test]
    fn picks_the_newest_that_fits() {
        let (a, b, c) = (&b".target sm_50"[..], &b".target sm_80"[..], &b".target sm_90\0"[..]);
        let image = container(&[
            (2, 90, 0, b"ELF", 0),
            (1, 50, 0, a, 0),
            (1, 80, 0, b, 0),
            (1, 90, 0, c, 0),
        ]);
        assert_eq!(text(&image, 90).unwrap(), ".target sm_90");
        assert_eq!(text(&image, 89).unwrap(), ".target sm_80");
        assert_eq!(text(&image, 70).unwrap(), ".target sm_50");
        assert_eq!(text(&image, 35), Err(CudaError::NoBinaryForGpu));
        let elf = container(&[(2, 90, 0, b"ELF", 0)]);
        assert_eq!(text(&elf, 90), Err(CudaError::NoBinaryForGpu));
    }

    #[test]
    fn images_run_on_their_major_capability_alone() {
        let (a, b) = (&b".target sm_70"[..], &b".target sm_60\0"[..]);
        let alone = container(&[(KIND_IMAGE, 70, 0, a, 0)]);
        let pick = |bytes: &[u8], sm, policy| {
            pick(bytes, sm, policy).map(|t| String::from_utf8_lossy(&t).into_owned())
        };
        for (sm, runs) in [(60, false), (70, true), (75, true), (80, false), (90, false)] {
            let expected =
                if runs { Ok(".target sm_70".into()) } else { Err(CudaError::NoBinaryForGpu) };
            assert_eq!(pick(&alone, sm, Policy::Everything), expected, "sm_{sm}");
        }
        assert_eq!(pick(&alone, 70, Policy::PtxOnly), Err(CudaError::NoBinaryForGpu));
        // With PTX of an older target beside it.
        let both = container(&[(KIND_IMAGE, 70, 0, a, 0), (KIND_PTX, 60, 0, b, 0)]);
        for (sm, policy, expected) in [
            (70, Policy::Everything, Ok(".target sm_70")),
            (90, Policy::Everything, Ok(".target sm_60")),
            (70, Policy::PtxOnly, Ok(".target sm_60")),
            (70, Policy::ImagesOnly, Ok(".target sm_70")),
            (90, Policy::ImagesOnly, Err(CudaError::JitCompilationDisabled)),
            (50, Policy::Everything, Err(CudaError::NoBinaryForGpu)),
        ] {
            assert_eq!(pick(&both, sm, policy), expected.map(String::from), "sm_{sm} {policy:?}");
        }
        // An image without a text has that of the PTX after it.
        let shared = container(&[(KIND_IMAGE, 75, 0, b"", 0), (KIND_PTX, 70, 0, a, 0)]);
        assert_eq!(pick(&shared, 75, Policy::ImagesOnly).as_deref(), Ok(".target sm_70"));
        assert_eq!(pick(&shared, 70, Policy::ImagesOnly), Err(CudaError::JitCompilationDisabled));
    }

    #[test]
    fn an_image_with_a_letter_runs_on_its_architecture_alone() {
        let mut bytes = container(&[(KIND_IMAGE, 80, 0, b".target sm_80a", 0)]);
        assert!(has_code_for(&bytes, 86));
        bytes[16 + 48] = b'a';
        assert!(has_code_for(&bytes, 80) && !has_code_for(&bytes, 86));
    }

    #[test]
    fn all_entries_are_listed() {
        let image =
            container(&[(2, 90, 0, b"ELF", 0), (1, 50, 0, b".target sm_50", 0), (8, 7, 0, b"", 0)]);
        let ptx = Content::Ptx(b".target sm_50".to_vec());
        let expected = [(90, Content::MachineCode), (50, ptx), (7, Content::Other(8))];
        assert_eq!(entries(&image).unwrap(), expected);
        assert_eq!(entries(&image[..image.len() - 70]), Err(CudaError::InvalidImage));
    }

    #[test]
    fn unpacks_both_compressions() {
        let plain = b".version 8.0 .target sm_52 ".repeat(40);
        let lz4 = lz4_flex::block::compress(&plain);
        let image = container(&[(1, 52, COMPRESSED_LZ4, &lz4, plain.len())]);
        assert_eq!(text(&image, 90).unwrap().as_bytes(), plain);
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let zstd = ruzstd::encoding::compress_to_vec(&plain[..], level);
        let image = container(&[(1, 52, COMPRESSED_ZSTD, &zstd, plain.len())]);
        assert_eq!(text(&image, 90).unwrap().as_bytes(), plain);
    }

    #[test]
    fn damage_is_an_error() {
        let plain = b".version 8.0 .target sm_52 ".repeat(4);
        let lz4 = lz4_flex::block::compress(&plain);
        let good = container(&[(1, 52, COMPRESSED_LZ4, &lz4, plain.len())]);
        for cut in 0..good.len() {
            // No cut may panic; what still parses is text.
            drop(text(&good[..cut], 90));
        }
        for at in 4..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0xff;
            drop(text(&bad, 90));
        }
        let mut long = good.clone();
        long[16 + 8] = 0xff;
        assert_eq!(text(&long, 90), Err(CudaError::InvalidImage));
    }

    #[test]
    fn text_ends_at_nul() {
        assert_eq!(text(b".version 7.0\0junk", 90).unwrap(), ".version 7.0");
        // SAFETY: a NUL-terminated text and null.
        unsafe {
            assert!(matches!(Image::at(c"//".as_ptr().cast()), Ok(Image::Ptx(_))));
            assert!(matches!(Image::at(std::ptr::null()), Err(CudaError::InvalidValue)));
        }
    }
}
