// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fat binary: PTX for several architectures in the layout that nvcc's containers have, uncompressed.
//!
//! What nvcc embeds as machine code for `sm_80` is here an image of a kind of margay's own, which others skip. Its
//! text, if the PTX beside it is the same, is that: the image is empty then and stands before the PTX.

use margay_runtime::fatbin::{KIND_IMAGE, KIND_PTX};

use super::arch::{Arch, Code};

const MAGIC: u32 = 0xBA55_ED50;
/// 64-bit addresses, Linux host.
const FLAGS: u64 = 0x11;

/// The code of one compilation.
pub struct Compiled<'a> {
    /// What is embedded of it, machine code first.
    pub codes: Vec<Code>,
    /// The architecture that the text says it is for.
    pub marked: Arch,
    pub ptx: &'a str,
}

/// Packs compilations. The PTX version of each entry is read from its `.version` line.
pub fn pack(modules: &[Compiled<'_>]) -> Vec<u8> {
    let mut body = Vec::new();
    for module in modules {
        let has_ptx = module.codes.iter().any(|code| matches!(code, Code::Ptx(_)));
        for code in &module.codes {
            match code {
                Code::Machine(arch) => {
                    let text = if has_ptx { "" } else { module.ptx };
                    entry(&mut body, KIND_IMAGE, *arch, module.ptx, text);
                }
                Code::Ptx(_) => entry(&mut body, KIND_PTX, module.marked, module.ptx, module.ptx),
            }
        }
    }
    let mut out = Vec::with_capacity(16 + body.len());
    out.extend(MAGIC.to_le_bytes());
    out.extend(1_u16.to_le_bytes());
    out.extend(16_u16.to_le_bytes());
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(body);
    out
}

fn entry(body: &mut Vec<u8>, kind: u16, arch: Arch, ptx: &str, text: &str) {
    let mut payload = text.as_bytes().to_vec();
    if !payload.is_empty() {
        payload.push(0);
        payload.resize(payload.len().next_multiple_of(8), 0);
    }
    let (major, minor) = ptx_version(ptx);
    body.extend(kind.to_le_bytes());
    body.extend(0x0101_u16.to_le_bytes());
    body.extend(64_u32.to_le_bytes());
    body.extend((payload.len() as u64).to_le_bytes());
    body.extend(0_u32.to_le_bytes()); // compressed size: not compressed
    body.extend(0_u32.to_le_bytes());
    body.extend(minor.to_le_bytes());
    body.extend(major.to_le_bytes());
    body.extend(arch.number.to_le_bytes());
    body.extend(0_u32.to_le_bytes()); // no name
    body.extend(0_u32.to_le_bytes());
    body.extend(FLAGS.to_le_bytes());
    // Of an image the letter of `sm_90a`; otherwise unused.
    let suffix = arch.suffix.filter(|_| kind == KIND_IMAGE).map_or(0, u64::from);
    body.extend(suffix.to_le_bytes());
    body.extend(0_u64.to_le_bytes()); // uncompressed size: not compressed
    body.extend(payload);
}

fn ptx_version(ptx: &str) -> (u16, u16) {
    let number = ptx.lines().find_map(|l| l.trim().strip_prefix(".version")).unwrap_or("0.0");
    let (major, minor) = number.trim().split_once('.').unwrap_or(("0", "0"));
    (major.parse().unwrap_or(0), minor.trim().parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_its_sizes_and_versions() {
        let ptx = "//\n.version 8.3\n.target sm_90\n".to_string();
        let marked = Arch::parse("sm_90").unwrap();
        let bytes = pack(&[Compiled { codes: vec![Code::Ptx(marked)], marked, ptx: &ptx }]);
        assert_eq!(bytes[0..4], MAGIC.to_le_bytes());
        assert_eq!(u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize, bytes.len() - 16);
        assert_eq!((bytes[16 + 24], bytes[16 + 26]), (3, 8));
        assert_eq!(bytes[16 + 28], 90);
        assert_eq!((bytes.len() - 16 - 64) % 8, 0);
    }
}
