// SPDX-License-Identifier: MIT OR Apache-2.0
//! `printf` as OpenCL C has it (OpenCL C specification, "printf"): `%[flags][width][.precision]
//! [vector][length]conversion` with vectors `v2 v3 v4 v8 v16` and lengths `hh h hl l`.
//!
//! Invariant: what is no conversion of the specification is copied as it stands, takes no argument and
//! makes the call fail.

use half::f16;

use super::{Arguments, Spec, decimal, field, float, number, unsigned};

/// Arguments that may be vectors.
pub trait Varargs: Arguments {
    /// The next argument of this many bytes, aligned to the power of two that holds it.
    fn bytes(&mut self, size: u64) -> Result<Vec<u8>, Self::Error>;
}

/// A conversion as written.
struct Conversion {
    spec: Spec,
    /// Components; 1 is a scalar.
    width: u64,
    /// Bytes of a component that is in a vector.
    component: u64,
    kind: u8,
}

/// Formats into `out`; tells whether every conversion was one.
pub fn format<A: Varargs>(text: &[u8], args: &mut A, out: &mut Vec<u8>) -> Result<bool, A::Error> {
    let mut good = true;
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'%' {
            out.push(text[at]);
            at += 1;
            continue;
        }
        if text.get(at + 1) == Some(&b'%') {
            out.push(b'%');
            at += 2;
            continue;
        }
        let (conversion, next) = conversion(text, at + 1);
        match conversion {
            Some(conversion) => print(&conversion, args, out)?,
            None => {
                good = false;
                out.extend_from_slice(&text[at..next.min(text.len())]);
            }
        }
        at = next;
    }
    Ok(good)
}

/// Reads a conversion after its `%`.
fn conversion(text: &[u8], mut at: usize) -> (Option<Conversion>, usize) {
    let mut spec = Spec { bits: 32, ..Spec::default() };
    while let Some(&flag) = text.get(at) {
        match flag {
            b'#' => spec.alternate = true,
            b'0' => spec.zero = true,
            b'-' => spec.left = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            _ => break,
        }
        at += 1;
    }
    (spec.width, at) = number(text, at);
    if text.get(at) == Some(&b'.') {
        let (precision, next) = number(text, at + 1);
        spec.precision = Some(precision);
        at = next;
    }
    let mut width = 1;
    if text.get(at) == Some(&b'v') {
        let (n, next) = number(text, at + 1);
        at = next;
        if !matches!(n, 2 | 3 | 4 | 8 | 16) {
            return (None, at);
        }
        width = n as u64;
    }
    let start = at;
    while matches!(text.get(at), Some(b'h' | b'l')) {
        at += 1;
    }
    let component = match &text[start..at] {
        // Without a length a vector is undefined; 32 bits are what programs mean.
        b"" | b"hl" => 4,
        b"hh" => 1,
        b"h" => 2,
        // `ll` is reserved; 64 bits are what programs mean.
        b"l" | b"ll" => 8,
        _ => return (None, at),
    };
    spec.bits = 8 * component as u32;
    let Some(&kind) = text.get(at) else { return (None, at) };
    at += 1;
    let known = match kind {
        b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => true,
        b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => component != 1,
        b'c' | b's' | b'p' => width == 1 && start + 1 == at,
        _ => false,
    };
    let conversion = Conversion { spec, width, component, kind };
    (known.then_some(conversion), at)
}

fn print<A: Varargs>(c: &Conversion, args: &mut A, out: &mut Vec<u8>) -> Result<(), A::Error> {
    if c.width > 1 {
        let bytes = args.bytes(c.width * c.component)?;
        for (i, component) in bytes.chunks_exact(c.component as usize).enumerate() {
            if i > 0 {
                out.push(b',');
            }
            let mut value = [0; 8];
            value[..component.len()].copy_from_slice(component);
            let value = u64::from_le_bytes(value);
            let real = match c.component {
                2 => f16::from_bits(value as u16).to_f64(),
                4 => f64::from(f32::from_bits(value as u32)),
                _ => f64::from_bits(value),
            };
            scalar(c, value, real, out);
        }
        return Ok(());
    }
    match c.kind {
        b'c' => {
            let c_ = args.word()? as u8;
            field(out, &c.spec, &[c_]);
        }
        b's' => {
            let s = args.string(c.spec.precision.unwrap_or(usize::MAX))?;
            field(out, &c.spec, &s);
        }
        b'p' => {
            let p = args.double()?;
            let s = if p == 0 { "(nil)".to_owned() } else { format!("{p:#x}") };
            field(out, &c.spec, s.as_bytes());
        }
        b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => {
            let value = if c.component == 8 { args.double()? } else { args.word()?.into() };
            scalar(c, value, 0.0, out);
        }
        // Floating-point arguments are doubles, whatever their own type.
        _ => {
            let real = f64::from_bits(args.double()?);
            scalar(c, 0, real, out);
        }
    }
    Ok(())
}

fn scalar(c: &Conversion, value: u64, real: f64, out: &mut Vec<u8>) {
    match c.kind {
        b'd' | b'i' => decimal(out, &c.spec, value),
        b'u' | b'o' | b'x' | b'X' => unsigned(out, &c.spec, c.kind, value),
        _ => float(out, &c.spec, c.kind, real),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arguments as the target lays them out.
    struct Bytes(Vec<u8>, usize);

    impl Bytes {
        fn take(&mut self, size: usize) -> Vec<u8> {
            let at = self.1.next_multiple_of(size.next_power_of_two());
            self.1 = at + size.next_power_of_two();
            self.0[at..at + size].to_vec()
        }
    }

    impl Arguments for Bytes {
        type Error = ();
        fn word(&mut self) -> Result<u32, ()> {
            Ok(u32::from_le_bytes(self.take(4).try_into().unwrap()))
        }
        fn double(&mut self) -> Result<u64, ()> {
            Ok(u64::from_le_bytes(self.take(8).try_into().unwrap()))
        }
        fn string(&mut self, _: usize) -> Result<Vec<u8>, ()> {
            self.take(8);
            Ok(b"text".to_vec())
        }
    }

    impl Varargs for Bytes {
        fn bytes(&mut self, size: u64) -> Result<Vec<u8>, ()> {
            Ok(self.take(size as usize))
        }
    }

    fn check(text: &str, bytes: Vec<u8>, expected: &str, good: bool) {
        let mut padded = bytes;
        padded.resize(64, 0);
        let mut out = Vec::new();
        let result = format(text.as_bytes(), &mut Bytes(padded, 0), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected);
        assert_eq!(result, Ok(good));
    }

    #[test]
    fn the_specifications_examples() {
        let floats = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|f| f.to_le_bytes()).collect();
        check("f4 = %2.2v4hlf\n", floats, "f4 = 1.00,2.00,3.00,4.00\n", true);
        check("uc = %#v4hhx\n", vec![0xfa, 0xfb, 0xfc, 0xfd], "uc = 0xfa,0xfb,0xfc,0xfd\n", true);
        let s: Vec<u8> = [1i16, -2].iter().flat_map(|f| f.to_le_bytes()).collect();
        check("%v2hd%%", s, "1,-2%", true);
    }

    #[test]
    fn what_is_no_conversion_is_copied() {
        check("%v5d %q", vec![], "%v5d %q", false);
        check("%", vec![], "%", false);
        check("%d", 7u32.to_le_bytes().to_vec(), "7", true);
    }
}
