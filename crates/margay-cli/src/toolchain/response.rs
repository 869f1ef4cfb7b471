// SPDX-License-Identifier: MIT OR Apache-2.0
//! Response files: `@FILE` and nvcc's `--options-file FILE[,FILE…]` stand for the words in the files.
//!
//! Words are separated by white space; quotes and backslashes work as in a shell. A file may not name
//! another one.

use std::path::Path;

use crate::failure::{At, Failure};

/// The arguments, with files replaced by their words.
pub fn expanded(arguments: &[String]) -> Result<Vec<String>, Failure> {
    let mut out = Vec::new();
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let option = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        let files = match (word.strip_prefix('@'), option) {
            (Some(file), _) => file.to_string(),
            (None, Some("options-file" | "optf")) => rest
                .next()
                .cloned()
                .ok_or_else(|| Failure::Usage(format!("{word}: a value is missing")))?,
            (None, Some(body)) => match body.split_once('=') {
                Some(("options-file" | "optf", files)) => files.to_string(),
                Some(_) | None => {
                    out.push(word.clone());
                    continue;
                }
            },
            (None, None) => {
                out.push(word.clone());
                continue;
            }
        };
        for file in files.split(',') {
            let path = Path::new(file);
            let text = std::fs::read_to_string(path).at(path, "cannot read")?;
            let words = split(&text)
                .map_err(|what| Failure::Usage(format!("{}: {what}", path.display())))?;
            if let Some(nested) = words.iter().find(|w| w.starts_with('@')) {
                return Err(Failure::Unsupported(format!(
                    "{file}: {nested}: a file within a file"
                )));
            }
            out.extend(words);
        }
    }
    Ok(out)
}

fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            (c, Some(q)) if c == q => quote = None,
            ('\\', None | Some('"')) => {
                let next = characters.next().ok_or("a backslash ends the file")?;
                word.get_or_insert_default().push(next);
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_whitespace() => words.extend(word.take()),
            (c, None | Some(_)) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote does not end");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes() {
        let words = split("-Ia  \"-DX=\\\"a b\\\"\"\n'-I c' d\\ e ''").unwrap();
        assert_eq!(words, ["-Ia", "-DX=\"a b\"", "-I c", "d e", ""]);
        assert!(split("'open").is_err());
    }

    #[test]
    fn files_stand_for_their_words() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "-O3 a.cu").unwrap();
        let name = file.path().display();
        for line in [vec![format!("@{name}")], vec!["--options-file".into(), name.to_string()]] {
            assert_eq!(expanded(&line).unwrap(), ["-O3", "a.cu"]);
        }
        assert!(expanded(&["@/nowhere".into()]).is_err());
    }
}
