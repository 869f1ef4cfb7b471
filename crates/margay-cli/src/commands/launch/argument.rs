// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel arguments on the command line: `i32:5`, `buf:f32[1024]=iota`, `@file.npy`.

use std::path::Path;

use super::npy;
use crate::failure::Failure;

/// A number's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

const SCALARS: [(Scalar, &str, &str, usize); 10] = [
    (Scalar::I8, "i8", "|i1", 1),
    (Scalar::U8, "u8", "|u1", 1),
    (Scalar::I16, "i16", "<i2", 2),
    (Scalar::U16, "u16", "<u2", 2),
    (Scalar::I32, "i32", "<i4", 4),
    (Scalar::U32, "u32", "<u4", 4),
    (Scalar::I64, "i64", "<i8", 8),
    (Scalar::U64, "u64", "<u8", 8),
    (Scalar::F32, "f32", "<f4", 4),
    (Scalar::F64, "f64", "<f8", 8),
];

impl Scalar {
    fn row(self) -> &'static (Scalar, &'static str, &'static str, usize) {
        SCALARS.iter().find(|row| row.0 == self).expect("every type has its row")
    }

    /// As on the command line.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// NumPy's name.
    pub fn numpy(self) -> &'static str {
        self.row().2
    }

    pub fn bytes(self) -> usize {
        self.row().3
    }

    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }

    pub fn of_name(name: &str) -> Option<Scalar> {
        SCALARS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    pub fn of_numpy(name: &str) -> Option<Scalar> {
        let plain = |n: &str| n.trim_start_matches(['<', '|', '=']).to_string();
        SCALARS
            .iter()
            .find(|row| plain(row.2) == plain(name) && !name.starts_with('>'))
            .map(|row| row.0)
    }

    /// The bytes of a number as text; `None` if it is none of this type.
    pub fn parse(self, text: &str) -> Option<Vec<u8>> {
        fn int(text: &str) -> Option<i128> {
            let (negative, digits) = match text.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, text),
            };
            let value = match digits.strip_prefix("0x") {
                Some(hex) => i128::from_str_radix(hex, 16).ok()?,
                None => digits.parse().ok()?,
            };
            Some(if negative { -value } else { value })
        }
        Some(match self {
            Scalar::I8 => i8::try_from(int(text)?).ok()?.to_le_bytes().to_vec(),
            Scalar::U8 => u8::try_from(int(text)?).ok()?.to_le_bytes().to_vec(),
            Scalar::I16 => i16::try_from(int(text)?).ok()?.to_le_bytes().to_vec(),
            Scalar::U16 => u16::try_from(int(text)?).ok()?.to_le_bytes().to_vec(),
            Scalar::I32 => i32::try_from(int(text)?).ok()?.to_le_bytes().to_vec(),
            Scalar::U32 => u32::try_from(int(text)?).ok()?.to_le_bytes().to_vec(),
            Scalar::I64 => i64::try_from(int(text)?).ok()?.to_le_bytes().to_vec(),
            Scalar::U64 => u64::try_from(int(text)?).ok()?.to_le_bytes().to_vec(),
            Scalar::F32 => text.parse::<f32>().ok()?.to_le_bytes().to_vec(),
            Scalar::F64 => text.parse::<f64>().ok()?.to_le_bytes().to_vec(),
        })
    }

    /// The number `index`, as `iota` has it.
    fn counted(self, index: usize) -> Vec<u8> {
        let i = index as u64;
        match self {
            Scalar::I8 | Scalar::U8 => vec![i as u8],
            Scalar::I16 | Scalar::U16 => (i as u16).to_le_bytes().to_vec(),
            Scalar::I32 | Scalar::U32 => (i as u32).to_le_bytes().to_vec(),
            Scalar::I64 | Scalar::U64 => i.to_le_bytes().to_vec(),
            Scalar::F32 => (index as f32).to_le_bytes().to_vec(),
            Scalar::F64 => (index as f64).to_le_bytes().to_vec(),
        }
    }

    /// The shortest text that reads back as these bytes.
    pub fn show(self, bytes: &[u8]) -> String {
        fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
            bytes.try_into().expect("an element has its type's size")
        }
        match self {
            Scalar::I8 => i8::from_le_bytes(array(bytes)).to_string(),
            Scalar::U8 => u8::from_le_bytes(array(bytes)).to_string(),
            Scalar::I16 => i16::from_le_bytes(array(bytes)).to_string(),
            Scalar::U16 => u16::from_le_bytes(array(bytes)).to_string(),
            Scalar::I32 => i32::from_le_bytes(array(bytes)).to_string(),
            Scalar::U32 => u32::from_le_bytes(array(bytes)).to_string(),
            Scalar::I64 => i64::from_le_bytes(array(bytes)).to_string(),
            Scalar::U64 => u64::from_le_bytes(array(bytes)).to_string(),
            Scalar::F32 => f32::from_le_bytes(array(bytes)).to_string(),
            Scalar::F64 => f64::from_le_bytes(array(bytes)).to_string(),
        }
    }
}

/// An argument of a kernel.
pub enum Argument {
    /// Passed by value.
    Value { scalar: Scalar, bytes: Vec<u8> },
    /// A device buffer, whose address is passed.
    Buffer { scalar: Scalar, shape: Vec<usize>, bytes: Vec<u8> },
    /// Bytes of OpenCL's local memory, whose place is passed.
    Local { bytes: u32 },
}

/// What the forms are, for messages and the help text.
pub const FORMS: &str = "TYPE:VALUE, buf:TYPE[N]=zeros|ones|iota|VALUE,VALUE…|@FILE.npy, or @FILE.npy, or local:BYTES; \
                         TYPE is i8 u8 i16 u16 i32 u32 i64 u64 f32 f64";

impl Argument {
    /// Reads an argument, and the file that it names.
    pub fn parse(text: &str) -> Result<Argument, Failure> {
        if let Some(file) = text.strip_prefix('@') {
            let array = npy::read(Path::new(file))?;
            return Ok(Argument::Buffer {
                scalar: array.scalar,
                shape: array.shape,
                bytes: array.bytes,
            });
        }
        let wrong =
            |what: &str| Failure::Usage(format!("argument `{text}`: {what}; expected {FORMS}"));
        let (kind, value) = text.split_once(':').ok_or_else(|| wrong("no type"))?;
        if kind == "local" {
            let bytes = value.parse().ok().filter(|n| *n > 0);
            return Ok(Argument::Local {
                bytes: bytes.ok_or_else(|| wrong("no number of bytes"))?,
            });
        }
        if kind != "buf" {
            let scalar = Scalar::of_name(kind).ok_or_else(|| wrong("unknown type"))?;
            let bytes =
                scalar.parse(value).ok_or_else(|| wrong("the value does not fit the type"))?;
            return Ok(Argument::Value { scalar, bytes });
        }
        let (declared, fill) = value.split_once('=').unwrap_or((value, "zeros"));
        let (name, count) = declared.split_once('[').ok_or_else(|| wrong("no [N]"))?;
        let scalar = Scalar::of_name(name).ok_or_else(|| wrong("unknown element type"))?;
        let count: usize = count
            .strip_suffix(']')
            .and_then(|n| n.parse().ok())
            .filter(|n| *n > 0)
            .ok_or_else(|| wrong("N is no size"))?;
        let size = count
            .checked_mul(scalar.bytes())
            .filter(|s| *s <= 1 << 36)
            .ok_or_else(|| wrong("too large"))?;
        let bytes: Vec<u8> = match fill {
            "zeros" => vec![0; size],
            "ones" => scalar.counted(1).repeat(count),
            "iota" => (0..count).flat_map(|i| scalar.counted(i)).collect(),
            file if file.starts_with('@') => {
                let array = npy::read(Path::new(&file[1..]))?;
                if array.scalar != scalar || array.bytes.len() != size {
                    let shape: Vec<String> = array.shape.iter().map(usize::to_string).collect();
                    return Err(Failure::Usage(format!(
                        "argument `{text}`: the file holds {}[{}]",
                        array.scalar.name(),
                        shape.join("][")
                    )));
                }
                array.bytes
            }
            list => {
                // One value fills the buffer; several are its first elements, zeros follow.
                let values: Option<Vec<Vec<u8>>> =
                    list.split(',').map(|v| scalar.parse(v.trim())).collect();
                let values = values.ok_or_else(|| wrong("a value does not fit the type"))?;
                if values.len() > count {
                    return Err(wrong("more values than elements"));
                }
                let mut bytes =
                    if values.len() == 1 { values[0].repeat(count) } else { values.concat() };
                bytes.resize(size, 0);
                bytes
            }
        };
        Ok(Argument::Buffer { scalar, shape: vec![count], bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(text: &str) -> Vec<u8> {
        match Argument::parse(text).unwrap() {
            Argument::Buffer { bytes, .. } => bytes,
            Argument::Value { .. } | Argument::Local { .. } => panic!("{text} is no buffer"),
        }
    }

    #[test]
    fn forms() {
        assert_eq!(buffer("buf:u16[3]=iota"), [0, 0, 1, 0, 2, 0]);
        assert_eq!(buffer("buf:i8[4]=-1,2"), [255, 2, 0, 0]);
        assert_eq!(buffer("buf:i8[3]=7"), [7, 7, 7]);
        assert_eq!(buffer("buf:f32[2]=ones"), [0, 0, 128, 63, 0, 0, 128, 63]);
        let Argument::Value { bytes, .. } = Argument::parse("u32:0xffffffff").unwrap() else {
            panic!("a value");
        };
        assert_eq!(bytes, [255; 4]);
    }

    #[test]
    fn mistakes() {
        for text in
            ["5", "i32:x", "u8:256", "buf:f32", "buf:f32[0]", "buf:i8[1]=1,2", "q:1", "@none.npy"]
        {
            assert!(Argument::parse(text).is_err(), "{text}");
        }
    }
}
