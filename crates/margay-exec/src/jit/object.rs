// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading an object: its sections go to one mapping, relocated, which then becomes executable.
//!
//! Invariant: an object is not trusted, since it may come from a file. Every offset is checked, and a
//! relocation or symbol that is not expected is an error.

use object::read::elf::ElfFile64;
use object::{
    Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionKind,
    SymbolSection, elf,
};

/// Executable memory.
pub struct Mapping {
    at: *mut u8,
    bytes: usize,
}

impl Mapping {
    /// Its address and bytes.
    pub fn range(&self) -> (u64, usize) {
        (self.at as u64, self.bytes)
    }
}

// SAFETY: read and executed only, once made.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: our own mapping, which no code runs in any more.
        unsafe { libc::munmap(self.at.cast(), self.bytes) };
    }
}

unsafe extern "C" {
    fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8;
    fn memset(to: *mut u8, value: i32, n: usize) -> *mut u8;
    fn memmove(to: *mut u8, from: *const u8, n: usize) -> *mut u8;
}

/// Functions that a compiler may call without being told.
fn external(name: &str) -> Option<u64> {
    match name {
        "memcpy" => Some(memcpy as *const () as u64),
        "memset" => Some(memset as *const () as u64),
        "memmove" => Some(memmove as *const () as u64),
        _ => None,
    }
}

/// Bytes of a jump to an absolute address.
const STUB: usize = 16;
const STUBS: usize = 3;

/// Loads an object; returns its memory and the address of `symbol`.
pub fn load(bytes: &[u8], symbol: &str) -> Result<(Mapping, u64), String> {
    let bad = |e: object::Error| e.to_string();
    let file: ElfFile64<'_> = ElfFile64::parse(bytes).map_err(bad)?;
    let loaded = |kind: SectionKind| {
        matches!(
            kind,
            SectionKind::Text
                | SectionKind::ReadOnlyData
                | SectionKind::ReadOnlyDataWithRel
                | SectionKind::ReadOnlyString
        )
    };
    let mut at = 0u64;
    let mut places = std::collections::HashMap::new();
    for s in file.sections().filter(|s| loaded(s.kind())) {
        let align = s.align().max(1);
        if !align.is_power_of_two() || align > 4096 || s.size() > 1 << 28 {
            return Err("a section of unlikely shape".to_owned());
        }
        at = at.next_multiple_of(align);
        places.insert(s.index(), at);
        at += s.size();
    }
    let stubs_at = at.next_multiple_of(16);
    let total = (stubs_at as usize + STUB * STUBS).next_multiple_of(4096);
    // SAFETY: a fresh anonymous mapping.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            total,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err("no memory for code".to_owned());
    }
    let mapping = Mapping { at: memory.cast(), bytes: total };
    let base = memory as u64;
    // SAFETY: the mapping has so many bytes and nobody else knows it yet.
    let image = unsafe { std::slice::from_raw_parts_mut(mapping.at, total) };
    for s in file.sections() {
        if let Some(&place) = places.get(&s.index()) {
            let data = s.data().map_err(bad)?;
            image[place as usize..place as usize + data.len()].copy_from_slice(data);
        }
    }
    let mut stubs: Vec<&str> = Vec::new();
    let mut patches = Vec::new();
    for s in file.sections() {
        let Some(&place) = places.get(&s.index()) else { continue };
        for (offset, r) in s.relocations() {
            let RelocationTarget::Symbol(index) = r.target() else {
                return Err("a relocation without a symbol".to_owned());
            };
            let sym = file.symbol_by_index(index).map_err(bad)?;
            let target = match sym.section() {
                SymbolSection::Section(section) => {
                    let section = places.get(&section).ok_or("a symbol outside what is loaded")?;
                    base + section + sym.address()
                }
                _ => {
                    let name = sym.name().map_err(bad)?;
                    external(name).ok_or_else(|| format!("code calls `{name}`"))?;
                    let known = stubs.iter().position(|s| *s == name);
                    let n = known.unwrap_or(stubs.len());
                    if known.is_none() {
                        stubs.push(match name {
                            "memcpy" => "memcpy",
                            "memset" => "memset",
                            _ => "memmove",
                        });
                    }
                    base + stubs_at + (n * STUB) as u64
                }
            };
            patches.push((place + offset, target, r));
        }
    }
    for (n, name) in stubs.iter().enumerate() {
        let Some(address) = external(name) else { continue };
        // movabs rax, address; jmp rax
        let mut code = vec![0x48, 0xb8];
        code.extend_from_slice(&address.to_le_bytes());
        code.extend_from_slice(&[0xff, 0xe0]);
        let from = stubs_at as usize + n * STUB;
        image[from..from + code.len()].copy_from_slice(&code);
    }
    for (place, target, r) in patches {
        let RelocationFlags::Elf { r_type } = r.flags() else {
            return Err("a relocation that is not ELF's".to_owned());
        };
        let value = (target as i64).wrapping_add(r.addend());
        let here = (base + place) as i64;
        let place = place as usize;
        match r_type {
            elf::R_X86_64_64 => {
                let to = image.get_mut(place..place + 8).ok_or("a relocation out of bounds")?;
                to.copy_from_slice(&value.to_le_bytes());
            }
            elf::R_X86_64_PC32 | elf::R_X86_64_PLT32 => {
                let to = image.get_mut(place..place + 4).ok_or("a relocation out of bounds")?;
                let near = i32::try_from(value.wrapping_sub(here)).map_err(|e| e.to_string())?;
                to.copy_from_slice(&near.to_le_bytes());
            }
            elf::R_X86_64_PC64 => {
                let to = image.get_mut(place..place + 8).ok_or("a relocation out of bounds")?;
                to.copy_from_slice(&value.wrapping_sub(here).to_le_bytes());
            }
            other => return Err(format!("relocation type {other} is not known")),
        }
    }
    let entry =
        file.symbols().find(|s| s.name() == Ok(symbol)).ok_or("the object lacks the function")?;
    let SymbolSection::Section(section) = entry.section() else {
        return Err("the function is not in the object".to_owned());
    };
    let section = places.get(&section).ok_or("the function is in no code section")?;
    let at = section + entry.address();
    if at >= stubs_at {
        return Err("the function lies outside".to_owned());
    }
    // SAFETY: our own mapping.
    let done = unsafe { libc::mprotect(memory, total, libc::PROT_READ | libc::PROT_EXEC) };
    if done != 0 {
        return Err("the host allows no executable memory".to_owned());
    }
    Ok((mapping, base + at))
}
