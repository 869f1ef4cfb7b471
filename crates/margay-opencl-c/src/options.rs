// SPDX-License-Identifier: MIT OR Apache-2.0
//! Build options (OpenCL API, "Compiler Options" and "Linker Options").
//!
//! Invariant: an option that is not one of the specification's, or of the few more that the module names, is
//! refused by name; none is dropped. What an option asks for happens in clang unless a field here says so.

/// The language version that `-cl-std` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standard {
    Cl10,
    Cl11,
    Cl12,
    Cl20,
    Cl30,
}

impl Standard {
    /// As clang writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Standard::Cl10 => "CL1.0",
            Standard::Cl11 => "CL1.1",
            Standard::Cl12 => "CL1.2",
            Standard::Cl20 => "CL2.0",
            Standard::Cl30 => "CL3.0",
        }
    }
}

/// An option that cannot be accepted, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{option}: {why}")]
pub struct BadOption {
    pub option: String,
    pub why: &'static str,
}

/// Parsed options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// As given.
    pub text: String,
    /// For clang, in order.
    pub clang: Vec<String>,
    pub standard: Standard,
    /// `-cl-kernel-arg-info`.
    pub argument_info: bool,
    /// `-cl-opt-disable`.
    pub unoptimised: bool,
    /// `-cl-denorms-are-zero`: single-precision denormals are flushed.
    pub flush_denormals: bool,
    /// `-cl-fast-relaxed-math` or `-cl-unsafe-math-optimizations`.
    pub relaxed_math: bool,
    /// `-cl-uniform-work-group-size`.
    pub uniform_groups: bool,
    /// `-create-library`.
    pub library: bool,
    /// No option of the program's: indices that lie outside of their array call a function of the library, and the program goes
    /// on.
    pub check_indices: bool,
    /// No option of the program's: variables that have no value yet get what a function returns of which LLVM knows nothing.
    pub mark_undefined: bool,
    /// `-const-cache-bytes=N`: the size of the constant cache that the profile shows.
    pub constant_cache_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            text: String::new(),
            clang: Vec::new(),
            // "If the -cl-std build option is not specified, the highest OpenCL C 1.x language version
            // supported by each device is used."
            standard: Standard::Cl12,
            argument_info: false,
            unoptimised: false,
            flush_denormals: false,
            relaxed_math: false,
            uniform_groups: false,
            library: false,
            check_indices: false,
            mark_undefined: false,
            constant_cache_bytes: None,
        }
    }
}

impl Options {
    /// Whether the program has clang compute what is written. Else other code might give other results.
    fn computes_as_written(&self) -> bool {
        let free = |word: &String| {
            ["-cl-mad-enable", "-cl-no-signed-zeros", "-cl-finite-math-only"]
                .contains(&word.as_str())
        };
        !self.relaxed_math && !self.clang.iter().any(free)
    }

    /// Whether variables without a value are marked. Unoptimised they all lie in memory, where it is known what was written.
    pub(crate) fn marks_undefined(&self) -> bool {
        self.mark_undefined && !self.unoptimised && self.computes_as_written()
    }

    /// What has clang check indices. Trailing arrays of one element are taken for open ones. Where the program allows
    /// clang to compute otherwise than written, more branches might give other results: nothing is checked then.
    pub(crate) fn index_checks(&self) -> &'static [&'static str] {
        match self.check_indices && self.computes_as_written() {
            true => &[
                "-Xclang",
                "-fsanitize=array-bounds",
                "-Xclang",
                "-fsanitize-recover=array-bounds",
                "-Xclang",
                "-fsanitize-minimal-runtime",
                "-fstrict-flex-arrays=1",
            ],
            false => &[],
        }
    }

    /// Reads what a program passes to `clBuildProgram`, `clCompileProgram` or `clLinkProgram`.
    pub fn parse(text: &str) -> Result<Options, BadOption> {
        let mut out = Options { text: text.to_owned(), ..Options::default() };
        let words = words(text)?;
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let bad = |why| BadOption { option: word.clone(), why };
            match word.as_str() {
                "-D" | "-I" => {
                    let value = words.next().ok_or_else(|| bad("needs a value"))?;
                    out.clang.extend([word, value]);
                }
                "-w"
                | "-Werror"
                | "-cl-single-precision-constant"
                | "-cl-mad-enable"
                | "-cl-no-signed-zeros"
                | "-cl-finite-math-only"
                | "-cl-strict-aliasing"
                | "-cl-fp32-correctly-rounded-divide-sqrt" => out.clang.push(word),
                "-cl-denorms-are-zero" => {
                    out.flush_denormals = true;
                    out.clang.push(word);
                }
                "-cl-unsafe-math-optimizations" | "-cl-fast-relaxed-math" => {
                    out.relaxed_math = true;
                    out.clang.push(word);
                }
                "-cl-uniform-work-group-size" => out.uniform_groups = true,
                // Lines are always told.
                "-g" => {}
                // Sub-groups always progress independently of each other.
                "-cl-no-subgroup-ifp" => {}
                "-cl-opt-disable" => out.unoptimised = true,
                "-cl-kernel-arg-info" => out.argument_info = true,
                "-create-library" => out.library = true,
                "-enable-link-options" if out.library => {}
                "-enable-link-options" => return Err(bad("only with -create-library before it")),
                "-x" | "-spir-std=1.2" => return Err(bad("SPIR binaries are not supported")),
                // Not of the specification, but passed by programs to every clang-based compiler.
                "-O0" => out.unoptimised = true,
                "-O1" | "-O2" | "-O3" => out.unoptimised = false,
                "-Wall" | "-Wextra" => out.clang.push(word),
                other if other.starts_with("-D") || other.starts_with("-I") => out.clang.push(word),
                other if other.starts_with("-cl-std=") => {
                    out.standard = match &other["-cl-std=".len()..] {
                        "CL1.0" => Standard::Cl10,
                        "CL1.1" => Standard::Cl11,
                        "CL1.2" => Standard::Cl12,
                        "CL2.0" => Standard::Cl20,
                        "CL3.0" => Standard::Cl30,
                        _ => return Err(bad("expected CL1.0, CL1.1, CL1.2, CL2.0 or CL3.0")),
                    };
                }
                other if other.starts_with("-const-cache-bytes=") => {
                    let number = other["-const-cache-bytes=".len()..].parse().ok();
                    let number = number.filter(|n: &u64| *n > 0 && *n <= 1 << 30);
                    out.constant_cache_bytes =
                        Some(number.ok_or_else(|| bad("expected a number of bytes up to 1 GiB"))?);
                }
                _ => return Err(bad("unknown build option")),
            }
        }
        Ok(out)
    }
}

/// Splits at blanks; quotes group, and a backslash takes the next character as it is.
fn words(text: &str) -> Result<Vec<String>, BadOption> {
    let mut out = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                // Before anything but a quote, a blank or itself it is an ordinary character.
                let next = chars.clone().next();
                let special = next.filter(|n| matches!(n, '"' | '\'' | '\\' | ' '));
                word.get_or_insert_default().push(special.unwrap_or('\\'));
                if special.is_some() {
                    chars.next();
                }
            }
            (None, c) if c.is_whitespace() => out.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(BadOption { option: text.to_owned(), why: "a quote is not closed" });
    }
    out.extend(word);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes() {
        assert_eq!(words(r#" -I "a b"/c  -DX='1 2' "#).unwrap(), ["-I", "a b/c", "-DX=1 2"]);
        assert_eq!(words(r#"-DS=\"x\" a\ b"#).unwrap(), ["-DS=\"x\"", "a b"]);
        assert!(words("-D 'x").is_err());
    }

    #[test]
    fn the_specifications_options() {
        let o = Options::parse("-D N=4 -Iinc -cl-std=CL3.0 -cl-kernel-arg-info -w").unwrap();
        assert_eq!(o.clang, ["-D", "N=4", "-Iinc", "-w"]);
        assert!(o.standard == Standard::Cl30 && o.argument_info);
        let o = Options::parse("-const-cache-bytes=16384").unwrap();
        assert_eq!(o.constant_cache_bytes, Some(16384));
    }

    #[test]
    fn what_is_no_option_is_named() {
        for (text, option) in [
            ("-D", "-D"),
            ("-foo", "-foo"),
            ("-cl-std=CL9", "-cl-std=CL9"),
            ("-const-cache-bytes=x", "-const-cache-bytes=x"),
            ("file.c", "file.c"),
            ("-enable-link-options", "-enable-link-options"),
        ] {
            assert_eq!(Options::parse(text).unwrap_err().option, option);
        }
    }
}
