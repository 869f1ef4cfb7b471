// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fat binary: PTX for several architectures in the layout that nvcc's containers have, uncompressed.

use super::arch::Arch;

const MAGIC: u32 = 0xBA55_ED50;
const KIND_PTX: u16 = 1;
/// 64-bit addresses, Linux host.
const FLAGS: u64 = 0x11;

/// Packs PTX texts. The PTX version of each entry is read from its `.version` line.
pub fn pack(modules: &[(Arch, String)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (arch, ptx) in modules {
        let mut payload = ptx.as_bytes().to_vec();
        payload.push(0);
        payload.resize(payload.len().next_multiple_of(8), 0);
        let (major, minor) = ptx_version(ptx);
        body.extend(KIND_PTX.to_le_bytes());
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
        body.extend(0_u64.to_le_bytes());
        body.extend(0_u64.to_le_bytes()); // uncompressed size: not compressed
        body.extend(payload);
    }
    let mut out = Vec::with_capacity(16 + body.len());
    out.extend(MAGIC.to_le_bytes());
    out.extend(1_u16.to_le_bytes());
    out.extend(16_u16.to_le_bytes());
    out.extend((body.len() as u64).to_le_bytes());
    out.extend(body);
    out
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
        let bytes = pack(&[(Arch::parse("sm_90").unwrap(), ptx)]);
        assert_eq!(bytes[0..4], MAGIC.to_le_bytes());
        assert_eq!(u64::from_le_bytes(bytes[8..16].try_into().unwrap()) as usize, bytes.len() - 16);
        assert_eq!((bytes[16 + 24], bytes[16 + 26]), (3, 8));
        assert_eq!(bytes[16 + 28], 90);
        assert_eq!((bytes.len() - 16 - 64) % 8, 0);
    }
}
