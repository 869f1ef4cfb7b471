// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the launches of a file and wraps each for clang: `k<<<g, b>>>(x)` becomes
//! `MARGAY_LAUNCH(k<<<g, b>>>(x))`, in other words, without a line break more or less.
//!
//! Limit: this reads tokens, not C++. The kernel's name is read backwards from `<<<`: a name with its
//! qualifiers and template arguments, or something in brackets.

/// What goes before the kernel's name, and after the arguments. No macro: the launch may have commas in template
/// arguments, and may stand in a macro itself.
const BEFORE: &str = "::margay::launched([&] __host__ __device__ { ";
const AFTER: &str = "; })";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    /// One character, but for `::`, `->`, `<<<` and `>>>`.
    Mark,
    /// A string, a character or a number.
    Literal,
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
    start: usize,
}

impl Token<'_> {
    fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The text with its launches wrapped; `None` if it has none.
pub fn rewritten(text: &str) -> Option<String> {
    if !text.contains("<<<") {
        return None;
    }
    let tokens = tokens(text);
    let mut inserts: Vec<(usize, &str)> = Vec::new();
    for at in (0..tokens.len()).filter(|at| tokens[*at].text == "<<<") {
        if let Some((start, end)) = extent(&tokens, at) {
            inserts.push((tokens[start].start, BEFORE));
            inserts.push((tokens[end].end(), AFTER));
        }
    }
    if inserts.is_empty() {
        return None;
    }
    inserts.sort_by_key(|(at, _)| *at);
    let mut out = String::with_capacity(text.len() + inserts.len() * 48);
    let mut done = 0;
    for (at, what) in inserts {
        out.push_str(&text[done..at]);
        out.push_str(what);
        done = at;
    }
    out.push_str(&text[done..]);
    Some(out)
}

/// The first and last token of the launch whose `<<<` is at `open`.
fn extent(tokens: &[Token<'_>], open: usize) -> Option<(usize, usize)> {
    let mut depth = 0u32;
    let mut close = None;
    for (at, token) in tokens.iter().enumerate().skip(open + 1) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.checked_sub(1)?,
            ">>>" if depth == 0 => {
                close = Some(at);
                break;
            }
            ";" if depth == 0 => return None,
            _ => {}
        }
    }
    let call = close? + 1;
    if tokens.get(call)?.text != "(" {
        return None;
    }
    let end = matching(tokens, call)?;
    Some((name_before(tokens, open)?, end))
}

/// The bracket that closes the one at `open`.
fn matching(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut depth = 0u32;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The bracket that opens the one at `close`.
fn opening(tokens: &[Token<'_>], close: usize) -> Option<usize> {
    let mut depth = 0u32;
    for at in (0..=close).rev() {
        match tokens[at].text {
            ")" | "]" | "}" => depth += 1,
            "(" | "[" | "{" => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// The `<` of the template arguments that end at `close`.
fn opening_angle(tokens: &[Token<'_>], close: usize) -> Option<usize> {
    let mut depth = 0i32;
    let mut at = close;
    loop {
        match tokens[at].text {
            ">" => depth += 1,
            "<" => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            ")" | "]" | "}" => at = opening(tokens, at)?,
            ";" | "{" | "(" | "[" => return None,
            _ => {}
        }
        at = at.checked_sub(1)?;
    }
}

/// The first token of the expression that ends before `open`.
fn name_before(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    let mut at = open.checked_sub(1)?;
    loop {
        // One operand, from its end.
        match (tokens[at].kind, tokens[at].text) {
            (Kind::Word, "operator") => return None,
            (Kind::Word, _) => {}
            (Kind::Mark, ">") => {
                at = opening_angle(tokens, at)?.checked_sub(1)?;
                if tokens[at].kind != Kind::Word || tokens[at].text == "operator" {
                    return None;
                }
            }
            (Kind::Mark, ")" | "]") => {
                at = opening(tokens, at)?;
                // A call or an element: what is called or indexed comes before.
                let more = at.checked_sub(1).is_some_and(|b| match tokens[b].text {
                    ")" => !is_condition(tokens, b),
                    "]" | ">" => true,
                    text => tokens[b].kind == Kind::Word && !is_keyword(text),
                });
                if more {
                    at -= 1;
                    continue;
                }
            }
            (Kind::Mark | Kind::Literal, _) => return None,
        }
        // What qualifies it.
        let mut before = at.checked_sub(1);
        if before.is_some_and(|b| tokens[b].text == "template") {
            at -= 1;
            before = at.checked_sub(1);
        }
        match before.map(|b| tokens[b].text) {
            Some("::") => {
                at -= 1;
                match at.checked_sub(1).map(|b| tokens[b]) {
                    Some(b) if (b.kind == Kind::Word && !is_keyword(b.text)) || b.text == ">" => {
                        at -= 1
                    }
                    _ => return Some(at),
                }
            }
            Some("." | "->") => at = at.checked_sub(2)?,
            _ => return Some(at),
        }
    }
}

/// Whether the bracket at `close` ends the condition of a statement.
fn is_condition(tokens: &[Token<'_>], close: usize) -> bool {
    let word = opening(tokens, close).and_then(|open| open.checked_sub(1));
    word.is_some_and(|at| {
        matches!(tokens[at].text, "if" | "while" | "for" | "switch" | "constexpr")
    })
}

/// Words that end no operand.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "return"
            | "else"
            | "do"
            | "case"
            | "if"
            | "while"
            | "for"
            | "switch"
            | "throw"
            | "co_return"
    )
}

/// The tokens of C++ text, without comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80;
    while at < bytes.len() {
        let start = at;
        let rest = &text[at..];
        let kind = match bytes[at] {
            b if b.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'\\' => {
                at += 1;
                continue;
            }
            _ if rest.starts_with("//") => {
                // A comment goes on after a line that ends in a backslash.
                let mut end = at;
                loop {
                    end = text[end..].find('\n').map_or(text.len(), |n| end + n);
                    if end < text.len() && text[..end].trim_end_matches('\r').ends_with('\\') {
                        end += 1;
                        continue;
                    }
                    break;
                }
                at = end;
                continue;
            }
            _ if rest.starts_with("/*") => {
                at = rest[2..].find("*/").map_or(text.len(), |n| at + n + 4);
                continue;
            }
            b'"' => {
                let raw = out.last().is_some_and(|t: &Token<'_>| {
                    t.end() == at && matches!(t.text, "R" | "LR" | "uR" | "UR" | "u8R")
                });
                at = if raw { raw_end(text, at) } else { quoted_end(bytes, at) };
                Kind::Literal
            }
            b'\'' => {
                at = quoted_end(bytes, at);
                Kind::Literal
            }
            b if b.is_ascii_digit() => {
                // A digit separator is no quote.
                while at < bytes.len()
                    && (word(bytes[at])
                        || bytes[at] == b'.'
                        || (bytes[at] == b'\'' && bytes.get(at + 1).is_some_and(|b| word(*b))))
                {
                    at += 1;
                }
                Kind::Literal
            }
            b if word(b) => {
                while at < bytes.len() && word(bytes[at]) {
                    at += 1;
                }
                Kind::Word
            }
            _ => {
                let long = ["<<<", ">>>", "::", "->"].into_iter().find(|m| rest.starts_with(m));
                // Template arguments of template arguments may end in `>>>` as well; see `joined`.
                at += long.map_or(1, str::len);
                Kind::Mark
            }
        };
        out.push(Token { kind, text: &text[start..at], start });
    }
    joined(out)
}

/// Takes apart each `>>>` that no `<<<` before it waits for: three template argument lists end there.
fn joined(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut waiting = 0u32;
    let mut out = Vec::with_capacity(tokens.len());
    for token in tokens {
        match token.text {
            "<<<" => waiting += 1,
            ">>>" if waiting > 0 => waiting -= 1,
            ">>>" => {
                for n in 0..3 {
                    let start = token.start + n;
                    out.push(Token { text: &token.text[n..n + 1], start, ..token });
                }
                continue;
            }
            ";" => waiting = 0,
            _ => {}
        }
        out.push(token);
    }
    out
}

fn quoted_end(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != quote && bytes[at] != b'\n' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    let mut end = (at + 1).min(bytes.len());
    // Not into the middle of a character.
    while end < bytes.len() && bytes[end] & 0xc0 == 0x80 {
        end += 1;
    }
    end
}

fn raw_end(text: &str, start: usize) -> usize {
    let rest = &text[start + 1..];
    let Some(open) = rest.find('(') else { return text.len() };
    let close = format!("){}\"", &rest[..open]);
    rest[open..].find(&close).map_or(text.len(), |n| start + 1 + open + n + close.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The launches of a text, as they are wrapped.
    fn found(text: &str) -> Vec<String> {
        let Some(out) = rewritten(text) else { return Vec::new() };
        assert_eq!(out.replace(BEFORE, "").replace(AFTER, ""), text);
        assert_eq!(out.lines().count(), text.lines().count());
        let parts = out.split(BEFORE).skip(1);
        parts.map(|p| p.split(AFTER).next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn kernels_by_all_their_names() {
        for launch in [
            "k<<<1, 2>>>(a, b)",
            "k <<< dim3(1, 2), f(x) >>> ()",
            "ns::k<T, 3><<<g, b, 0, s>>>(x[1], f(y))",
            "::k<A<B>><<<g, b>>>(x)",
            "k<A<B<C>>><<<g, b>>>(x)",
            "T::template run<int><<<g, b>>>()",
            "(*f)<<<1, 1>>>(x)",
            "table[i]<<<1, 1>>>(x)",
            "get(1)<<<1, 1>>>(x)",
            "s.kernel<<<1, 1>>>(x)",
            "p->kernel<<<1, 1>>>(\")\")",
            "k<(N > 1)><<<1, 1>>>(x)",
            "k<<<1, 1>>>(')', /* ) */ x)",
        ] {
            for around in [
                ("", ";"),
                ("if (n) ", ";"),
                ("for (;;) ", ";"),
                ("else ", "; y();"),
                ("x < y; ", ", z;"),
                ("return ", ";"),
            ] {
                assert_eq!(found(&format!("{}{launch}{}", around.0, around.1)), [launch]);
            }
        }
    }

    #[test]
    fn what_is_no_launch() {
        for text in [
            "// k<<<1, 1>>>(x);",
            "/* k<<<1, 1>>>(x); */",
            "\"k<<<1, 1>>>(x);\"",
            "R\"x(k<<<1, 1>>>(x);)x\"",
            "friend S &operator<<<>(S &, T);",
            "k<<<1, 1>>>;",
            "<<<<<<< HEAD",
            "k<<<1, 1",
            "a << b >> c",
        ] {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn several_in_one_line_and_in_macros() {
        assert_eq!(found("a<<<1,1>>>(); b<<<1,1>>>();").len(), 2);
        assert_eq!(found("#define L(k, ...) k<<<g, \\\n  b>>>(__VA_ARGS__)\n").len(), 1);
        assert_eq!(found("A<B<C<int>>> x; k<<<1, 1>>>(x);"), ["k<<<1, 1>>>(x)"]);
        assert_eq!(found("int n = 1'000; k<<<1, 1>>>(n);").len(), 1);
        assert_eq!(found("/* \u{fc} */ k<<<1, 1>>>(\"\u{fc}\");").len(), 1);
    }
}
