// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tests of ZLUDA's `mod.rs`: macro calls with a name and arrays of Rust expressions.
//!
//! Limit: it knows the expressions that occur there (literals with suffixes, associated
//! constants, `from_bits`, `from_f32`, one division), and names whatever else it meets.

/// A test of the suite.
#[derive(Debug)]
pub struct Test {
    pub name: String,
    pub values: Values,
}

#[derive(Debug)]
pub enum Values {
    /// Only compiled.
    None,
    /// One thread, an input and an output buffer.
    InOut { input: Vec<u8>, output: Vec<u8> },
    /// 64 threads and an output.
    Warp { output: Vec<u8> },
}

/// All tests, in order.
pub fn tests(source: &str) -> Result<Vec<Test>, String> {
    let text: String = source
        .lines()
        .map(|line| line.split_once("//").map_or(line, |(code, _)| code))
        .collect::<Vec<_>>()
        .join("\n");
    let mut tests = Vec::new();
    for (at, _) in text.match_indices("\ntest_ptx") {
        let rest = &text[at + 1..];
        let open = rest.find("!(").ok_or("a macro call without its arguments")?;
        let word = &rest[..open];
        let body = balanced(&rest[open + 1..]).ok_or("a macro call without its end")?;
        let parts = split(body);
        let name = parts.first().ok_or("a test without a name")?.to_string();
        let wrong = |e: String| format!("{name}: {e}");
        let values = match (word, &parts[1..]) {
            ("test_ptx_warp", [output]) => Values::Warp { output: array(output).map_err(wrong)? },
            ("test_ptx" | "test_ptx_with_32", []) => Values::None,
            ("test_ptx" | "test_ptx_with_32", [input, output]) => Values::InOut {
                input: array(input).map_err(wrong)?,
                output: array(output).map_err(wrong)?,
            },
            _ => return Err(format!("{name}: `{word}` with {} arguments", parts.len())),
        };
        tests.push(Test { name, values });
    }
    Ok(tests)
}

/// The text between an opening parenthesis, which comes first, and its end.
fn balanced(text: &str) -> Option<&str> {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(&text[1..i]);
                }
            }
            _ => {}
        }
    }
    None
}

/// The parts between the commas of the outermost level.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..i].trim());
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|p| !p.is_empty());
    parts
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Int { bytes: usize },
    F16,
    F32,
    F64,
}

fn type_of_name(name: &str) -> Option<Type> {
    Some(match name {
        "u8" | "i8" => Type::Int { bytes: 1 },
        "u16" | "i16" => Type::Int { bytes: 2 },
        "u32" | "i32" => Type::Int { bytes: 4 },
        "u64" | "i64" => Type::Int { bytes: 8 },
        "f32" => Type::F32,
        "f64" => Type::F64,
        "f16" => Type::F16,
        _ => return None,
    })
}

#[derive(Clone, Copy, Debug)]
enum Number {
    Int(i128),
    Real(f64),
    /// A pattern of a float, taken as it is.
    Bits(u64),
}

/// A value and its type, if the expression says one.
fn expression(text: &str) -> Result<(Number, Option<Type>), String> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix('-') {
        return Ok(match expression(rest)? {
            (Number::Int(v), ty) => (Number::Int(-v), ty),
            (Number::Real(v), ty) => (Number::Real(-v), ty),
            (Number::Bits(_), _) => return Err(format!("`{text}`: a negated pattern")),
        });
    }
    if let Some((a, b)) = text.split_once(" / ") {
        let (Number::Real(a), ty) = expression(a)? else { return Err(format!("`{text}`")) };
        let (Number::Real(b), _) = expression(b)? else { return Err(format!("`{text}`")) };
        let quotient = if ty == Some(Type::F32) { f64::from(a as f32 / b as f32) } else { a / b };
        return Ok((Number::Real(quotient), ty));
    }
    if let Some(inner) = text.strip_suffix(".to_bits()") {
        let (value, ty) = expression(inner)?;
        let ty = ty.ok_or_else(|| format!("`{text}`: bits of what?"))?;
        let bytes = to_bytes(value, ty)?;
        let bits = bytes.iter().rev().fold(0i128, |v, b| v << 8 | i128::from(*b));
        return Ok((Number::Int(bits), Some(Type::Int { bytes: bytes.len() })));
    }
    if let Some((path, argument)) = text.split_once("::from_") {
        let ty = type_of_name(path.rsplit("::").next().unwrap_or(path));
        let (kind, argument) = argument.split_once('(').ok_or_else(|| format!("`{text}`"))?;
        let (value, _) = expression(argument.trim_end_matches(')'))?;
        return match (kind, value) {
            ("bits", Number::Int(bits)) => Ok((Number::Bits(bits as u64), ty)),
            ("f32" | "f64", value) => Ok((value, ty)),
            _ => Err(format!("`{text}` is not understood")),
        };
    }
    if let Some((path, constant)) = text.rsplit_once("::") {
        let name = path.rsplit("::").find(|p| type_of_name(p).is_some()).unwrap_or(path);
        let ty = type_of_name(name).ok_or_else(|| format!("`{text}` is not understood"))?;
        let bits = if let Type::Int { bytes } = ty { 8 * bytes as u32 } else { 0 };
        let value = match (constant, name.starts_with('u')) {
            ("NAN", _) => Number::Real(f64::NAN),
            ("INFINITY", _) => Number::Real(f64::INFINITY),
            ("NEG_INFINITY", _) => Number::Real(f64::NEG_INFINITY),
            ("PI", _) => Number::Real(std::f64::consts::PI),
            ("MAX" | "max_value()", true) => Number::Int((1 << bits) - 1),
            ("MAX" | "max_value()", false) => Number::Int((1 << (bits - 1)) - 1),
            ("MIN" | "min_value()", false) => Number::Int(-(1 << (bits - 1))),
            _ => return Err(format!("`{text}` is not understood")),
        };
        return Ok((value, Some(ty)));
    }
    literal(text)
}

fn literal(text: &str) -> Result<(Number, Option<Type>), String> {
    let wrong = || format!("`{text}` is not understood");
    let hex = text.starts_with("0x");
    let suffixes = ["u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"];
    let suffix = suffixes.into_iter().find(|s| text.ends_with(s) && !(hex && s.starts_with('f')));
    let digits = text[..text.len() - suffix.map_or(0, str::len)].replace('_', "");
    let ty = suffix.and_then(type_of_name);
    let radix = |d: &str, r| i128::from_str_radix(d, r).map_err(|_| wrong());
    if let Some(d) = digits.strip_prefix("0x") {
        return Ok((Number::Int(radix(d, 16)?), ty));
    }
    if let Some(d) = digits.strip_prefix("0b") {
        return Ok((Number::Int(radix(d, 2)?), ty));
    }
    if digits.contains('.') || matches!(ty, Some(Type::F32 | Type::F64)) {
        return Ok((Number::Real(digits.parse().map_err(|_| wrong())?), ty));
    }
    Ok((Number::Int(radix(&digits, 10)?), ty))
}

fn to_bytes(value: Number, ty: Type) -> Result<Vec<u8>, String> {
    let (bits, bytes) = match (value, ty) {
        (Number::Int(v), Type::Int { bytes }) => (v as u64, bytes),
        (Number::Bits(b), Type::F16) => (b, 2),
        (Number::Bits(b), Type::F32) => (b, 4),
        (Number::Bits(b), Type::F64) => (b, 8),
        (Number::Real(v), Type::F16) => (half::f16::from_f64(v).to_bits().into(), 2),
        (Number::Real(v), Type::F32) => ((v as f32).to_bits().into(), 4),
        (Number::Real(v), Type::F64) => (v.to_bits(), 8),
        (value, ty) => return Err(format!("{value:?} as {ty:?}")),
    };
    Ok(bits.to_le_bytes()[..bytes].to_vec())
}

/// An array's bytes. Its type is the one that an element names, or else Rust's default.
fn array(text: &str) -> Result<Vec<u8>, String> {
    let inner = text
        .strip_prefix('[')
        .and_then(|t| t.strip_suffix(']'))
        .ok_or_else(|| format!("`{text}` is not an array"))?;
    let values = split(inner).into_iter().map(expression).collect::<Result<Vec<_>, _>>()?;
    let named = values.iter().find_map(|v| v.1);
    let real = values.iter().any(|v| matches!(v.0, Number::Real(_)));
    let ty = named.unwrap_or(if real { Type::F64 } else { Type::Int { bytes: 4 } });
    let bytes: Result<Vec<_>, _> = values.into_iter().map(|(v, _)| to_bytes(v, ty)).collect();
    Ok(bytes?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let f32s = |v: &[f32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
        assert_eq!(array("[1u16, 2]").unwrap(), [1, 0, 2, 0]);
        assert_eq!(array("[-1]").unwrap(), [255; 4]);
        assert_eq!(array("[u64::max_value()]").unwrap(), [255; 8]);
        assert_eq!(array("[0b1_1u8,]").unwrap(), [3]);
        assert_eq!(array("[0x1f32]").unwrap(), [0x32, 0x1f, 0, 0]);
        assert_eq!(array("[1.5, 2f32]").unwrap(), f32s(&[1.5, 2.0]));
        let half_pi = std::f32::consts::PI / 2.0;
        assert_eq!(array("[std::f32::consts::PI / 2f32]").unwrap(), f32s(&[half_pi]));
        assert_eq!(array("[half::f16::from_f32(-2.0)]").unwrap(), [0, 0xc0]);
        assert_eq!(array("[f32::from_bits(0x33800000)]").unwrap(), [0, 0, 0x80, 0x33]);
        assert_eq!(array("[half::f16::from_bits(0x38d3)]").unwrap(), [0xd3, 0x38]);
        assert_eq!(array("[i32::MIN, -1]").unwrap(), [0, 0, 0, 0x80, 255, 255, 255, 255]);
        assert!(array("[what(1)]").is_err());
    }

    #[test]
    fn macro_calls() {
        let source = "fn x() {}\ntest_ptx!(a, [1u8], [2u8]); // no\n// test_ptx!(b);\ntest_ptx!(c);\ntest_ptx_warp!(\n    d,\n    [3u8,]\n);\n";
        let found = tests(source).unwrap();
        let names: Vec<&str> = found.iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["a", "c", "d"]);
        assert!(matches!(&found[2].values, Values::Warp { output } if output == &[3]));
    }
}
