// SPDX-License-Identifier: MIT OR Apache-2.0
//! NumPy's `.npy` files: one array of numbers (NEP 1, "The .npy format").
//!
//! Limit: little-endian arrays in C order.

use std::path::Path;

use super::argument::Scalar;
use crate::failure::{At, Failure};

const MAGIC: &[u8] = b"\x93NUMPY";

/// An array: its element type, its shape, its bytes.
pub struct Array {
    pub scalar: Scalar,
    pub shape: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Array, Failure> {
    let bytes = std::fs::read(path).at(path, "cannot read")?;
    parse(&bytes).map_err(|what| Failure::Usage(format!("{}: {what}", path.display())))
}

fn parse(bytes: &[u8]) -> Result<Array, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("no .npy file")?;
    let (length, body) = match rest {
        [1, _, a, b, body @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), body),
        [2 | 3, _, a, b, c, d, body @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, body),
        _ => return Err("the .npy version is unknown".into()),
    };
    let header = body.get(..length).ok_or("the header is cut off")?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is no text")?;
    let field = |name: &str| {
        let after = header.split_once(&format!("'{name}':"))?.1.trim_start();
        Some(after)
    };
    let descr = field("descr").and_then(|f| f.strip_prefix('\'')?.split('\'').next());
    let scalar = descr.and_then(Scalar::of_numpy).ok_or_else(|| {
        format!("elements of type {} are not supported", descr.unwrap_or("(structured)"))
    })?;
    if !field("fortran_order").is_some_and(|f| f.starts_with("False")) {
        return Err("the array is in Fortran order".into());
    }
    let shape = field("shape").and_then(|f| f.strip_prefix('(')?.split(')').next());
    let shape: Option<Vec<usize>> = shape
        .map(|list| {
            list.split(',')
                .map(str::trim)
                .filter(|n| !n.is_empty())
                .map(|n| n.parse().ok())
                .collect()
        })
        .unwrap_or(None);
    let shape = shape.ok_or("the shape is unreadable")?;
    let size = shape
        .iter()
        .try_fold(scalar.bytes(), |all, n| all.checked_mul(*n))
        .ok_or("the shape is too large")?;
    let data = &body[length..];
    if data.len() < size {
        return Err(format!(
            "the data is cut off: {} of {size} bytes, which its shape asks for, are there",
            data.len()
        ));
    }
    let data = &data[..size];
    Ok(Array { scalar, shape, bytes: data.to_vec() })
}

/// Writes a file.
pub fn write(path: &Path, scalar: Scalar, shape: &[usize], bytes: &[u8]) -> Result<(), Failure> {
    let dims: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if dims.len() == 1 { "," } else { "" };
    let mut header = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
        scalar.numpy(),
        dims.join(", ")
    );
    // Magic, version, length and header fill a multiple of 64 bytes; the header ends with a newline.
    let total = (10 + header.len() + 1).next_multiple_of(64);
    header.push_str(&" ".repeat(total - 10 - header.len() - 1));
    header.push('\n');
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend(u16::try_from(header.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(bytes);
    std::fs::write(path, out).at(path, "cannot write")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.npy");
        write(&path, Scalar::I16, &[2, 3], &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]).unwrap();
        let array = read(&path).unwrap();
        assert_eq!((array.scalar, array.shape.as_slice()), (Scalar::I16, &[2, 3][..]));
        assert_eq!(array.bytes[10], 6);
        assert_eq!((std::fs::read(&path).unwrap().len() - 12) % 64, 0);
    }

    #[test]
    fn what_is_no_array() {
        assert!(parse(b"PK").is_err());
        assert!(parse(b"\x93NUMPY\x01\x00\xff\x00{").is_err());
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }\n";
        let mut cut = MAGIC.to_vec();
        cut.extend([1, 0, text.len() as u8, 0]);
        cut.extend(text.as_bytes());
        assert!(parse(&cut).is_err());
    }
}
