// SPDX-License-Identifier: MIT OR Apache-2.0
//! Expectations on single lines: `//~ FAULT kind`, `//~ ERROR words`, `//~ UNSUPPORTED words`.
//! `//~^` means the line above, `//~^^` two above.

use margay_exec::fault::FaultKind;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Fault,
    Error,
    Unsupported,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub kind: Kind,
    /// From 1.
    pub line: u32,
    pub text: String,
}

pub fn parse(source: &str) -> Result<Vec<Annotation>, String> {
    let mut found = Vec::new();
    for (i, line) in source.lines().enumerate() {
        let Some((_, note)) = line.split_once("//~") else { continue };
        let up = note.len() - note.trim_start_matches('^').len();
        let note = note.trim_start_matches('^').trim();
        let (word, text) = note.split_once(' ').unwrap_or((note, ""));
        let kind = match word {
            "FAULT" => Kind::Fault,
            "ERROR" => Kind::Error,
            "UNSUPPORTED" => Kind::Unsupported,
            other => return Err(format!("line {}: `//~ {other}` is no annotation", i + 1)),
        };
        if text.trim().is_empty() {
            return Err(format!("line {}: `//~ {word}` needs more words", i + 1));
        }
        let line = (i + 1 - up.min(i)) as u32;
        found.push(Annotation { kind, line, text: text.trim().to_string() });
    }
    Ok(found)
}

/// The word for a fault in an annotation.
pub fn fault_name(kind: &FaultKind) -> &'static str {
    match kind {
        FaultKind::IllegalAddress { .. } | FaultKind::InvalidFree { .. } => "illegal-address",
        FaultKind::Misaligned { .. } => "misaligned",
        FaultKind::InvalidAddressSpace { .. } => "invalid-address-space",
        FaultKind::InvalidPc { .. } => "invalid-pc",
        FaultKind::IllegalInstruction { .. } | FaultKind::Barrier(_) => "illegal-instruction",
        FaultKind::Trap => "trap",
        FaultKind::Assert { .. } => "assert",
        FaultKind::StackOverflow { .. } => "stack-overflow",
        FaultKind::Timeout { .. } => "timeout",
        FaultKind::Deadlock { .. } => "deadlock",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_found() {
        let found = parse("a\nb //~ FAULT trap\n//~^^ ERROR some words\n").unwrap();
        assert_eq!(found[0], Annotation { kind: Kind::Fault, line: 2, text: "trap".into() });
        assert_eq!(found[1], Annotation { kind: Kind::Error, line: 1, text: "some words".into() });
        assert!(parse("//~ FAILT trap").is_err());
        assert!(parse("//~ FAULT").is_err());
    }
}
