// SPDX-License-Identifier: MIT OR Apache-2.0
//! Source files, and the names that debug information leaves out.

use std::collections::BTreeMap;
use std::path::Path;

/// Larger files are generated, and nobody reads them.
const MOST_BYTES: u64 = 1 << 20;

/// The text of the files that can be read.
pub fn read(paths: impl Iterator<Item = String>) -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    for path in paths {
        let at = Path::new(&path);
        let small = at.metadata().is_ok_and(|m| m.is_file() && m.len() <= MOST_BYTES);
        if small && let Ok(bytes) = std::fs::read(at) {
            sources.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    sources
}

/// Names of a function's parameters, from its definition in one of the sources. `function` is its
/// name without template arguments and parameters.
pub fn parameters<'a>(
    sources: impl Iterator<Item = &'a str>,
    function: &str,
    count: usize,
) -> Option<Vec<String>> {
    let name = function.rsplit("::").next().unwrap_or(function);
    if name.is_empty() {
        return None;
    }
    for text in sources {
        for (at, _) in text.match_indices(name) {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            if text[..at].chars().next_back().is_some_and(word) {
                continue;
            }
            let rest = text[at + name.len()..].trim_start();
            if let Some(list) = rest.strip_prefix('(')
                && let Some(names) = names_of(list)
                && names.len() == count
            {
                return Some(names);
            }
        }
    }
    None
}

/// Names in a parameter list up to its closing parenthesis, if a body follows it.
fn names_of(list: &str) -> Option<Vec<String>> {
    let mut depth = 0;
    let mut end = None;
    for (at, c) in list.char_indices().take(4096) {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' if depth == 0 => {
                end = Some(at);
                break;
            }
            ')' | '>' | ']' => depth -= 1,
            ';' | '{' => return None,
            _ => {}
        }
    }
    let end = end?;
    if !list[end + 1..].trim_start().starts_with('{') {
        return None;
    }
    let inside = &list[..end];
    if inside.trim().is_empty() {
        return Some(Vec::new());
    }
    let (mut names, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' if depth == 0 || at == inside.len() => {
                names.push(name_of(&inside[start..at])?);
                start = at + 1;
            }
            _ => {}
        }
    }
    Some(names)
}

/// The last word of `const float *__restrict__ a[]`.
fn name_of(declaration: &str) -> Option<String> {
    let declaration = declaration.split('=').next()?.split('[').next()?.trim_end();
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let name: String = declaration.chars().rev().take_while(|c| word(*c)).collect();
    let name: String = name.chars().rev().collect();
    let starts = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    // A type alone names nothing.
    let alone = declaration.len() == name.len();
    (starts && !alone).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::parameters;

    #[test]
    fn names_come_from_the_definition() {
        let text = "void k(int); __global__ void copy_k(int z) {}\n\
                    template <class T, int N>\n__global__ void k(const float *__restrict__ a,\n\
                    std::array<float, 3> v, T (&b)[4], int n = 7)\n{ }";
        let names = |f, n| parameters([text].into_iter(), f, n);
        assert_eq!(names("k", 4), None, "a reference to an array has its name inside");
        let text = text.replace("T (&b)[4]", "T b[4]");
        let names = |f, n| parameters([&*text].into_iter(), f, n);
        assert_eq!(names("ns::k", 4).unwrap(), ["a", "v", "b", "n"]);
        assert_eq!(names("copy_k", 1).unwrap(), ["z"]);
        assert_eq!(names("k", 2), None);
        assert_eq!(names("absent", 1), None);
    }
}
