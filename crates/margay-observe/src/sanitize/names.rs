// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++ names as the programmer wrote them.

/// The text with every C++ symbol in it demangled.
pub fn demangled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("_Z") {
        let (before, symbol) = rest.split_at(at);
        let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '.');
        let (symbol, after) = symbol.split_at(symbol.find(ends).unwrap_or(symbol.len()));
        out += before;
        // The middle of a word is no symbol's start.
        if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            out += symbol;
            rest = after;
            continue;
        }
        // A function's own variable is named after the function, and demangles to it: once is enough.
        match after.strip_prefix("::") {
            Some(inner) if inner.starts_with("_ZZ") => rest = inner,
            Some(_) | None => {
                let parsed = cpp_demangle::Symbol::new(symbol).ok();
                let plain = parsed.and_then(|s| s.demangle(&Default::default()).ok());
                out += plain.as_deref().unwrap_or(symbol);
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_in_a_text_are_demangled() {
        assert_eq!(demangled("in _Z4treePi, byte 4"), "in tree(int*), byte 4");
        assert_eq!(demangled("`_Z4treePi::_ZZ4treePiE1s`"), "`tree(int*)::s`");
        assert_eq!(demangled("a file_Zone"), "a file_Zone");
    }
}
