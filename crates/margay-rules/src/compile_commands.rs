// SPDX-License-Identifier: MIT OR Apache-2.0
//! compile_commands.json: the flags that a build gives a file.
//!
//! Of a command only what changes the program's meaning is taken: folders, macros, the language standard, the
//! architecture and `-rdc`. nvcc's and clang's spellings are both understood.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::front::Environment;

#[derive(Debug, Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    arguments: Option<Vec<String>>,
}

/// A compilation database.
#[derive(Debug)]
pub struct Database {
    entries: Vec<Entry>,
}

impl Database {
    /// Reads a database: the file, or the folder that it lies in.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(path: &Path) -> Result<Database, String> {
        let path =
            if path.is_dir() { path.join("compile_commands.json") } else { path.to_path_buf() };
        let name = path.display();
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("{name}: cannot read: {e}"))?;
        let entries = serde_json::from_str(&text)
            .map_err(|e| format!("{name}: is no compilation database: {e}"))?;
        Ok(Database { entries })
    }

    /// Adds the flags of a file; `false` if the database does not have it.
    pub fn apply(&self, file: &Path, environment: &mut Environment) -> bool {
        let real = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_path_buf());
        let wanted = real(file);
        let Some(entry) = self.entries.iter().find(|e| real(&e.directory.join(&e.file)) == wanted)
        else {
            return false;
        };
        let words = match (&entry.arguments, &entry.command) {
            (Some(words), _) => words.clone(),
            (None, Some(line)) => split(line),
            (None, None) => Vec::new(),
        };
        take(&words, &entry.directory, environment);
        true
    }
}

/// Splits a shell line: quotes and backslashes, nothing else.
fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    let mut quote = None;
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => word.get_or_insert_default().push(c),
            (_, '\\') => word.get_or_insert_default().extend(characters.next()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn take(words: &[String], directory: &Path, environment: &mut Environment) {
    let mut rest = words.iter().skip(1).peekable();
    while let Some(word) = rest.next() {
        let body = word.trim_start_matches('-');
        if !word.starts_with('-') {
            continue;
        }
        let folder =
            |flag: &str, path: &str| [flag.to_string(), directory.join(path).display().to_string()];
        let mut value_of = |names: &[&str]| -> Option<String> {
            for name in names {
                if let Some(value) = body.strip_prefix(name) {
                    let value = value.strip_prefix('=').unwrap_or(value);
                    return if value.is_empty() {
                        rest.next().cloned()
                    } else {
                        Some(value.into())
                    };
                }
            }
            None
        };
        if let Some(path) = value_of(&["include-path", "isystem", "system-include"]) {
            environment.flags.extend(folder("-I", &path));
        } else if let Some(file) = value_of(&["pre-include", "include"]) {
            environment.flags.extend(["-include".to_string(), file]);
        } else if let Some(standard) = value_of(&["cl-std", "std"]) {
            environment.standard = Some(standard.replace("gnu++", "c++"));
        } else if let Some(arch) = value_of(&[
            "gpu-architecture",
            "cuda-gpu-arch",
            "offload-arch",
            "arch",
            "generate-code",
            "gencode",
        ]) {
            let name = arch.split(['=', ',']).find(|w| w.contains('_')).unwrap_or(&arch);
            if let Ok(capability) = name.parse::<margay_arch::ComputeCapability>()
                && capability.limits().is_some()
            {
                environment.capability = capability;
            }
        } else if matches!(
            body,
            "rdc=true" | "relocatable-device-code=true" | "dc" | "device-c" | "fgpu-rdc"
        ) {
            environment.relocatable = true;
        } else if word.starts_with("-I") {
            if let Some(path) = value_of(&["I"]) {
                environment.flags.extend(folder("-I", &path));
            }
        } else if word.starts_with("-D") || word.starts_with("-U") {
            let flag = &word[..2];
            if let Some(value) = value_of(&[&flag[1..]]) {
                environment.flags.push(format!("{flag}{value}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nvcc_and_clang_lines() {
        let mut environment =
            Environment::new(Vec::new(), margay_arch::ComputeCapability::new(9, 0));
        let line = "nvcc -gencode arch=compute_75,code=sm_75 -I../inc -DA=1 -D 'B=\"x y\"' -std=c++14 -rdc=true -c x.cu -o x.o";
        take(&split(line), Path::new("/p/build"), &mut environment);
        assert_eq!(environment.capability.sm(), 75);
        assert_eq!(environment.flags, ["-I", "/p/build/../inc", "-DA=1", "-DB=\"x y\""]);
        assert_eq!(environment.standard.as_deref(), Some("c++14"));
        assert!(environment.relocatable);
        take(
            &split("clang++ --cuda-gpu-arch=sm_60 -isystem /s x.cu"),
            Path::new("/p"),
            &mut environment,
        );
        assert_eq!(environment.capability.sm(), 60);
        assert_eq!(environment.flags[4..], ["-I", "/s"]);
    }
}
