// SPDX-License-Identifier: MIT OR Apache-2.0
//! `printf` formatting, as device code may use it (CUDA C++ Programming Guide, "Formatted Output").
//!
//! `%[flags][width][.precision][size]type` with flags `# blank 0 + -`, width as a number or `*`,
//! precision as a number, sizes `hh h l ll`, and types `c d i o u p s x X a A e E f F g G`, or `%%`.
//!
//! A call has at most 32 arguments: a conversion that needs one beyond is copied as it stands, as the
//! guide says.
//!
//! What is none of these is copied as it stands and takes no argument: so does a card, with
//! the sizes `z j t`, the precision `.*` and `%5%` too. (Where another conversion follows such a
//! one, a card prints leftovers; here that conversion takes the next argument.)

pub mod opencl;

/// Where the arguments come from, in order.
pub trait Arguments {
    type Error;
    /// The next 32-bit argument.
    fn word(&mut self) -> Result<u32, Self::Error>;
    /// The next 64-bit argument: integer, pointer, or double.
    fn double(&mut self) -> Result<u64, Self::Error>;
    /// The next argument as a string of at most `limit` bytes.
    fn string(&mut self, limit: usize) -> Result<Vec<u8>, Self::Error>;
}

/// Arguments that one call may have beside its format.
const MOST_ARGUMENTS: usize = 32;

/// Widths and precisions are clamped to this.
const MOST: usize = 1 << 12;

#[derive(Clone, Copy, Default)]
struct Spec {
    alternate: bool,
    zero: bool,
    left: bool,
    plus: bool,
    space: bool,
    width: usize,
    /// The width is an argument.
    open_width: bool,
    precision: Option<usize>,
    /// Bits of an integer argument.
    bits: u32,
}

/// Formats into `out`. Returns the number of arguments consumed by conversions.
pub fn format<A: Arguments>(
    text: &[u8],
    args: &mut A,
    out: &mut Vec<u8>,
) -> Result<usize, A::Error> {
    let mut at = 0;
    let (mut used, mut taken) = (0, 0);
    while at < text.len() {
        if text[at] != b'%' {
            out.push(text[at]);
            at += 1;
            continue;
        }
        let start = at;
        at += 1;
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
        if text.get(at) == Some(&b'*') {
            at += 1;
            spec.open_width = true;
        } else {
            (spec.width, at) = number(text, at);
        }
        if text.get(at) == Some(&b'.') {
            let (precision, next) = number(text, at + 1);
            spec.precision = Some(precision);
            at = next;
        }
        loop {
            match text.get(at) {
                Some(b'h') => spec.bits = if spec.bits == 16 { 8 } else { 16 },
                Some(b'l') => spec.bits = 64,
                _ => break,
            }
            at += 1;
        }
        let Some(&kind) = text.get(at) else {
            out.extend_from_slice(&text[start..]);
            break;
        };
        at += 1;
        if kind == b'%' && at == start + 2 {
            out.push(b'%');
            continue;
        }
        if !b"diuoxXcspfFeEgGaA".contains(&kind) {
            out.extend_from_slice(&text[start..at]);
            continue;
        }
        let needed = 1 + usize::from(spec.open_width);
        if taken + needed > MOST_ARGUMENTS {
            out.extend_from_slice(&text[start..at]);
            continue;
        }
        taken += needed;
        used += 1;
        if spec.open_width {
            let width = args.word()? as i32;
            spec.left |= width < 0;
            spec.width = (width.unsigned_abs() as usize).min(MOST);
        }
        match kind {
            b'd' | b'i' => {
                let v = integer(&spec, args)?;
                decimal(out, &spec, v);
            }
            b'u' | b'o' | b'x' | b'X' => {
                let v = integer(&spec, args)?;
                unsigned(out, &spec, kind, v);
            }
            b'c' => {
                let c = args.word()? as u8;
                field(out, &spec, &[c]);
            }
            b's' => {
                let s = args.string(spec.precision.unwrap_or(usize::MAX))?;
                field(out, &spec, &s);
            }
            b'p' => {
                let p = args.double()?;
                let s = if p == 0 { "(nil)".to_owned() } else { format!("{p:#x}") };
                field(out, &spec, s.as_bytes());
            }
            // `f F e E g G a A`.
            _ => {
                let v = f64::from_bits(args.double()?);
                float(out, &spec, kind, v);
            }
        }
    }
    Ok(used)
}

fn number(text: &[u8], mut at: usize) -> (usize, usize) {
    let mut n = 0usize;
    while let Some(d) = text.get(at).filter(|c| c.is_ascii_digit()) {
        n = (n * 10 + (d - b'0') as usize).min(MOST);
        at += 1;
    }
    (n, at)
}

fn integer<A: Arguments>(spec: &Spec, args: &mut A) -> Result<u64, A::Error> {
    if spec.bits == 64 { args.double() } else { args.word().map(u64::from) }
}

/// `d i` of the low `bits` of a value.
fn decimal(out: &mut Vec<u8>, spec: &Spec, v: u64) {
    let up = 64 - spec.bits;
    let v = (v << up) as i64 >> up;
    let digits = v.unsigned_abs().to_string();
    number_field(out, spec, sign(spec, v < 0), "", &digits);
}

/// `u o x X` of the low `bits` of a value.
fn unsigned(out: &mut Vec<u8>, spec: &Spec, kind: u8, v: u64) {
    let v = v & (u64::MAX >> (64 - spec.bits));
    let (prefix, digits) = match kind {
        b'u' => ("", v.to_string()),
        b'o' => ("", format!("{v:o}")),
        b'x' => ("0x", format!("{v:x}")),
        _ => ("0X", format!("{v:X}")),
    };
    let prefix = if spec.alternate && v != 0 { prefix } else { "" };
    let octal = kind == b'o' && spec.alternate && !digits.starts_with('0');
    let digits = if octal { format!("0{digits}") } else { digits };
    number_field(out, spec, "", prefix, &digits);
}

fn sign(spec: &Spec, negative: bool) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

fn pad(out: &mut Vec<u8>, byte: u8, n: usize) {
    out.resize(out.len() + n, byte);
}

fn field(out: &mut Vec<u8>, spec: &Spec, text: &[u8]) {
    let missing = spec.width.saturating_sub(text.len());
    if !spec.left {
        pad(out, b' ', missing);
    }
    out.extend_from_slice(text);
    if spec.left {
        pad(out, b' ', missing);
    }
}

/// An integer: the precision is the least number of digits, and turns the flag `0` off.
fn number_field(out: &mut Vec<u8>, spec: &Spec, sign: &str, prefix: &str, digits: &str) {
    let digits = if spec.precision == Some(0) && digits == "0" { "" } else { digits };
    let least = spec.precision.unwrap_or(0);
    let zeros = least.saturating_sub(digits.len());
    let zero = spec.zero && spec.precision.is_none();
    let body = format!("{}{digits}", "0".repeat(zeros));
    padded(out, spec, zero, sign, prefix, &body);
}

fn padded(out: &mut Vec<u8>, spec: &Spec, zero: bool, sign: &str, prefix: &str, body: &str) {
    let missing = spec.width.saturating_sub(sign.len() + prefix.len() + body.len());
    let zero = zero && !spec.left;
    if !spec.left && !zero {
        pad(out, b' ', missing);
    }
    out.extend_from_slice(sign.as_bytes());
    out.extend_from_slice(prefix.as_bytes());
    if zero {
        pad(out, b'0', missing);
    }
    out.extend_from_slice(body.as_bytes());
    if spec.left {
        pad(out, b' ', missing);
    }
}

fn float(out: &mut Vec<u8>, spec: &Spec, kind: u8, v: f64) {
    let sign = sign(spec, v.is_sign_negative());
    let m = v.abs();
    if !m.is_finite() {
        let text = if m.is_nan() { "nan" } else { "inf" };
        let text = if kind.is_ascii_uppercase() { text.to_uppercase() } else { text.to_owned() };
        return padded(out, spec, false, sign, "", &text);
    }
    let (prefix, body) = match kind.to_ascii_lowercase() {
        b'f' => ("", fixed(m, spec.precision.unwrap_or(6), spec.alternate)),
        b'e' => ("", scientific(m, spec.precision.unwrap_or(6), spec.alternate)),
        b'a' => ("0x", hexadecimal(m, spec.precision, spec.alternate)),
        _ => ("", general(m, spec)),
    };
    let upper = kind.is_ascii_uppercase();
    let body = if upper { body.to_uppercase() } else { body };
    let prefix = if upper { prefix.to_uppercase() } else { prefix.to_owned() };
    padded(out, spec, spec.zero, sign, &prefix, &body);
}

fn fixed(m: f64, precision: usize, point: bool) -> String {
    let mut s = format!("{m:.precision$}");
    if precision == 0 && point {
        s.push('.');
    }
    s
}

fn scientific(m: f64, precision: usize, point: bool) -> String {
    let s = format!("{m:.precision$e}");
    let (mantissa, exponent) = s.split_once('e').unwrap_or((&s, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let dot = if precision == 0 && point { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{dot}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(m: f64, spec: &Spec) -> String {
    let precision = spec.precision.unwrap_or(6).max(1);
    let rounded = format!("{m:.*e}", precision - 1);
    let exponent: i32 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let in_fixed = exponent >= -4 && exponent < precision as i32;
    let text = if in_fixed {
        fixed(m, (precision as i32 - 1 - exponent) as usize, spec.alternate)
    } else {
        scientific(m, precision - 1, spec.alternate)
    };
    if spec.alternate {
        return text;
    }
    let (mantissa, exponent) = match text.find('e') {
        Some(at) => text.split_at(at),
        None => (text.as_str(), ""),
    };
    if !mantissa.contains('.') {
        return text;
    }
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    format!("{mantissa}{exponent}")
}

/// The digits after `0x` of `%a`: one hexadecimal digit, then as many as are needed or asked for.
fn hexadecimal(m: f64, precision: Option<usize>, point: bool) -> String {
    let bits = m.to_bits();
    let (mut exponent, mut fraction) = ((bits >> 52) as i64, bits & ((1 << 52) - 1));
    let mut lead = 1;
    if exponent == 0 {
        lead = 0;
        exponent = if fraction == 0 { 1023 } else { 1 };
    }
    let mut digits = 13;
    match precision {
        Some(p) if p < 13 => {
            // Round half to even at the last digit that is kept.
            let drop = 4 * (13 - p) as u32;
            let whole = (lead << 52) | fraction;
            let (kept, rest) = (whole >> drop, whole & ((1 << drop) - 1));
            let half = 1u64 << (drop - 1);
            let up = rest > half || (rest == half && kept & 1 != 0);
            let kept = kept + up as u64;
            lead = kept >> (52 - drop);
            fraction = kept & ((1u64 << (52 - drop)) - 1);
            digits = p;
        }
        Some(_) => {}
        None => {
            while digits > 0 && fraction & 0xf == 0 {
                fraction >>= 4;
                digits -= 1;
            }
        }
    }
    let mut s = format!("{lead:x}");
    if digits > 0 {
        s.push_str(&format!(".{fraction:0digits$x}"));
    } else if point {
        s.push('.');
    }
    if let Some(more) = precision.and_then(|p| p.checked_sub(13)) {
        s.push_str(&"0".repeat(more));
    }
    format!("{s}p{:+}", exponent - 1023)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(Vec<u64>, usize);
    impl Arguments for List {
        type Error = ();
        fn word(&mut self) -> Result<u32, ()> {
            self.double().map(|v| v as u32)
        }
        fn double(&mut self) -> Result<u64, ()> {
            self.1 += 1;
            self.0.get(self.1 - 1).copied().ok_or(())
        }
        fn string(&mut self, limit: usize) -> Result<Vec<u8>, ()> {
            self.double().map(|v| format!("string{v}").into_bytes()).map(|mut s| {
                s.truncate(limit);
                s
            })
        }
    }

    #[track_caller]
    fn check(text: &str, args: &[u64], expected: &str) {
        let mut out = Vec::new();
        format(text.as_bytes(), &mut List(args.to_vec(), 0), &mut out).unwrap();
        assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
    }

    #[test]
    fn integers() {
        check(
            "%d|%i|%5d|%-5d|%05d|%+d|% d",
            &[5, -7i64 as u64, 42, 42, -42i64 as u64, 3, 4],
            "5|-7|   42|42   |-0042|+3| 4",
        );
        check(
            "%u|%x|%X|%#x|%o|%#o",
            &[u64::MAX, 255, 255, 255, 8, 8],
            "4294967295|ff|FF|0xff|10|010",
        );
        check(
            "%lld|%llx|%hd|%hhu",
            &[-1i64 as u64, u64::MAX, 0x18000, 0x1ff],
            "-1|ffffffffffffffff|-32768|255",
        );
        check(
            "%.3d|%8.3d|%.0d|%*d|%-*d|%-*.2d|",
            &[7, 7, 0, 4, 1, 3, 2, 4, 9],
            "007|     007||   1|2  |09  |",
        );
    }

    #[test]
    fn floats() {
        let f = |v: f64| v.to_bits();
        check(
            "%f|%.2f|%8.3f|%-8.1f|%08.2f",
            &[f(1.5), f(2.675), f(-1.0), f(9.96), f(-2.625)],
            "1.500000|2.67|  -1.000|10.0    |-0002.62",
        );
        check(
            "%e|%.1E|%g|%g|%g|%G|%#g",
            &[f(12345.678), f(0.00015), f(100000.0), f(1e6), f(0.0001), f(1e-5), f(1.0)],
            "1.234568e+04|1.5E-04|100000|1e+06|0.0001|1E-05|1.00000",
        );
        check(
            "%f|%F|%e|% f",
            &[f(f64::INFINITY), f(f64::NAN.abs()), f(f64::NEG_INFINITY), f(1.0)],
            "inf|NAN|-inf| 1.000000",
        );
        check(
            "%a|%a|%.2a|%A|%a",
            &[f(1.0), f(0.5), f(1.999), f(10.0), f(0.0)],
            "0x1p+0|0x1p-1|0x2.00p+0|0X1.4P+3|0x0p+0",
        );
    }

    #[test]
    fn the_thirty_third_argument_is_not_taken() {
        let args: Vec<u64> = (0..40).collect();
        let taken: String = (0..32).map(|n| format!("{n} ")).collect();
        check(&"%d ".repeat(34), &args, &format!("{taken}%d %d "));
        // An open width is an argument too.
        check(
            &format!("{}%*d|%d", "%d ".repeat(31)),
            &args,
            &format!("{}%*d|31", &taken[..taken.len() - 3]),
        );
    }

    #[test]
    fn the_rest() {
        check(
            "%c%c|%3c|%s|%10s|%-9s|%.3s|%%|%p",
            &[65, 66, 67, 1, 2, 3, 4, 0x1000],
            "AB|  C|string1|   string2|string3  |str|%|0x1000",
        );
        check("100%|%k|%", &[], "100%|%k|%");
        // Measured: a card knows none of these.
        check("%zu|%jd|%td|%.*f|%5%|%*z|", &[], "%zu|%jd|%td|%.*f|%5%|%*z|");
    }
}
