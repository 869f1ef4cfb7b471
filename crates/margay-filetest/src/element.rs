// SPDX-License-Identifier: MIT OR Apache-2.0
//! Element types of buffers: literals to bytes, and bytes to literals.

use std::fmt;

/// What a buffer holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    Bf16,
    F32,
    F64,
}

impl Element {
    pub fn of_name(name: &str) -> Option<Element> {
        Some(match name {
            "u8" | "b8" => Element::U8,
            "u16" | "b16" => Element::U16,
            "u32" | "b32" => Element::U32,
            "u64" | "b64" => Element::U64,
            "s8" => Element::S8,
            "s16" => Element::S16,
            "s32" => Element::S32,
            "s64" => Element::S64,
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "f32" => Element::F32,
            "f64" => Element::F64,
            _ => return None,
        })
    }

    pub fn bytes(self) -> usize {
        match self {
            Element::U8 | Element::S8 => 1,
            Element::U16 | Element::S16 | Element::F16 | Element::Bf16 => 2,
            Element::U32 | Element::S32 | Element::F32 => 4,
            Element::U64 | Element::S64 | Element::F64 => 8,
        }
    }

    fn is_float(self) -> bool {
        matches!(self, Element::F16 | Element::Bf16 | Element::F32 | Element::F64)
    }

    fn is_signed(self) -> bool {
        matches!(self, Element::S8 | Element::S16 | Element::S32 | Element::S64)
    }

    /// The bit pattern of a literal. Hexadecimal is the pattern itself, also for floats; integers
    /// may be negative whatever their sign.
    pub fn literal(self, text: &str) -> Option<u64> {
        let bits = 8 * self.bytes() as u32;
        if let Some(hex) = text.strip_prefix("0x") {
            let value = u64::from_str_radix(&hex.replace('_', ""), 16).ok()?;
            return (bits == 64 || value >> bits == 0).then_some(value);
        }
        if self.is_float() {
            let value: f64 = text.parse().ok()?;
            return Some(match self {
                Element::F16 => half::f16::from_f64(value).to_bits().into(),
                Element::Bf16 => half::bf16::from_f64(value).to_bits().into(),
                Element::F32 => text.parse::<f32>().ok()?.to_bits().into(),
                _ => value.to_bits(),
            });
        }
        let value: i128 = text.replace('_', "").parse().ok()?;
        let in_range = value >= -(1 << (bits - 1)) && value < 1 << bits;
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        in_range.then_some(value as u64 & mask)
    }

    /// A literal that gives these bits: decimal where that is exact and short.
    pub fn show(self, bits: u64) -> String {
        let width = 8 * self.bytes() as u32;
        if self.is_float() {
            let decimal = match self {
                Element::F16 => half::f16::from_bits(bits as u16).to_string(),
                Element::Bf16 => half::bf16::from_bits(bits as u16).to_string(),
                Element::F32 => f32::from_bits(bits as u32).to_string(),
                _ => f64::from_bits(bits).to_string(),
            };
            if decimal.len() < 12 && self.literal(&decimal) == Some(bits) {
                return decimal;
            }
            return format!("{bits:#0w$x}", w = width as usize / 4 + 2);
        }
        if self.is_signed() {
            return ((bits << (64 - width)) as i64 >> (64 - width)).to_string();
        }
        if bits < 1000 { bits.to_string() } else { format!("{bits:#x}") }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Element::U8 => "u8",
            Element::U16 => "u16",
            Element::U32 => "u32",
            Element::U64 => "u64",
            Element::S8 => "s8",
            Element::S16 => "s16",
            Element::S32 => "s32",
            Element::S64 => "s64",
            Element::F16 => "f16",
            Element::Bf16 => "bf16",
            Element::F32 => "f32",
            Element::F64 => "f64",
        })
    }
}

/// A list such as `[1, 0x10, 7*3, 0..8, 0..64 by 8]` to bit patterns: literals, repetitions
/// (`value*count`) and integer ranges without their end.
pub fn parse_list(element: Element, text: &str) -> Result<Vec<u64>, String> {
    let inner = text
        .trim()
        .strip_prefix('[')
        .and_then(|t| t.strip_suffix(']'))
        .ok_or_else(|| format!("`{text}` is not a list in brackets"))?;
    let mut values = Vec::new();
    let mask = if element.bytes() == 8 { u64::MAX } else { (1 << (8 * element.bytes())) - 1 };
    for item in inner.split(',').map(str::trim).filter(|i| !i.is_empty()) {
        let literal = |t: &str| {
            element.literal(t.trim()).ok_or_else(|| format!("`{t}` is not a value of {element}"))
        };
        if let Some((value, count)) = item.split_once('*') {
            let count: usize =
                count.trim().parse().map_err(|_| format!("`{item}`: bad repetition"))?;
            let value = literal(value)?;
            values.extend(std::iter::repeat_n(value, count));
        } else if let Some((from, to)) = item.split_once("..") {
            let (to, by) = to.split_once(" by ").unwrap_or((to, "1"));
            let number = |t: &str| -> Result<i64, String> {
                t.trim().parse().map_err(|_| format!("`{item}`: bad range"))
            };
            let (from, to, by) = (number(from)?, number(to)?, number(by)?);
            if by == 0 {
                return Err(format!("`{item}`: a step of 0"));
            }
            let mut at = from;
            while if by > 0 { at < to } else { at > to } {
                values.push(if element.is_float() {
                    literal(&at.to_string())?
                } else {
                    at as u64 & mask
                });
                at += by;
            }
        } else {
            values.push(literal(item)?);
        }
    }
    Ok(values)
}

/// Bit patterns to a list that [`parse_list`] reads, with repetitions folded.
pub fn show_list(element: Element, values: &[u64]) -> String {
    let mut items = Vec::new();
    for run in values.chunk_by(|a, b| a == b) {
        let literal = element.show(run[0]);
        if run.len() > 3 {
            items.push(format!("{literal}*{}", run.len()));
        } else {
            items.extend(std::iter::repeat_n(literal, run.len()));
        }
    }
    format!("[{}]", items.join(", "))
}

pub fn to_bytes(element: Element, values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()[..element.bytes()].to_vec()).collect()
}

pub fn from_bytes(element: Element, bytes: &[u8]) -> Vec<u64> {
    bytes
        .chunks_exact(element.bytes())
        .map(|chunk| chunk.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals() {
        assert_eq!(Element::S8.literal("-1"), Some(0xff));
        assert_eq!(Element::U8.literal("256"), None);
        assert_eq!(Element::F32.literal("1.5"), Some(0x3fc0_0000));
        assert_eq!(Element::F32.literal("0x7fffffff"), Some(0x7fff_ffff));
        assert_eq!(Element::F16.literal("-2"), Some(0xc000));
        assert_eq!(Element::U64.literal("18446744073709551615"), Some(u64::MAX));
        assert_eq!(Element::F64.literal("-inf"), Some(f64::NEG_INFINITY.to_bits()));
    }

    #[test]
    fn lists_go_both_ways() {
        let list = parse_list(Element::U32, "[1, 7*5, 0..4, 9..5 by -2, -1]").unwrap();
        assert_eq!(list, [1, 7, 7, 7, 7, 7, 0, 1, 2, 3, 9, 7, 0xffff_ffff]);
        for element in [Element::S16, Element::F32, Element::Bf16, Element::U64, Element::F64] {
            let values = [0, 1, 1, 1, 1, 0x7fff, 0x8000];
            let text = show_list(element, &values);
            assert_eq!(parse_list(element, &text).unwrap(), values, "{text}");
            assert_eq!(from_bytes(element, &to_bytes(element, &values)), values);
        }
        assert!(parse_list(Element::U32, "[1").is_err());
        assert!(parse_list(Element::U32, "[x]").is_err());
    }
}
