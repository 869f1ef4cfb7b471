// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares recorded results of single instructions with margay's.
//!
//! The text has a line `# form : types of results < types of sources` for each form, then a line
//! for each combination: the sources' bits, `=`, the results' bits, all hexadecimal. A line that
//! is neither is a difference, so that a damaged file cannot pass.

use crate::lane::{self, Operand};

/// A form's first line, taken apart.
struct Form<'a> {
    text: &'a str,
    outs: Vec<&'static str>,
    ins: Vec<&'static str>,
}

/// The register type for a type of a heading.
fn register(ty: &str) -> Option<&'static str> {
    Some(match ty {
        "b16" | "f16" | "bf16" => "b16",
        "b32" | "f16x2" | "bf16x2" => "b32",
        "b64" => "b64",
        "f32" => "f32",
        "f64" => "f64",
        _ => return None,
    })
}

impl<'a> Form<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (text, types) = line.strip_prefix("# ")?.split_once(" : ")?;
        let (outs, ins) = types.split_once(" < ")?;
        let registers = |list: &str| list.split(' ').map(register).collect::<Option<Vec<_>>>();
        Some(Form { text, outs: registers(outs)?, ins: registers(ins)? })
    }

    /// What differs on a row, if anything.
    fn row(&self, line: &str) -> Option<String> {
        let hex = |text: &str| -> Option<Vec<u64>> {
            text.split_whitespace().map(|w| u64::from_str_radix(w, 16).ok()).collect()
        };
        let parsed = line.split_once('=').and_then(|(a, b)| Some((hex(a)?, hex(b)?)));
        let Some((sources, results)) =
            parsed.filter(|(a, b)| a.len() == self.ins.len() && b.len() == self.outs.len())
        else {
            return Some(format!("{}: no row: {line}", self.text));
        };
        let operands: Vec<Operand> =
            sources.iter().zip(&self.ins).map(|(&bits, &ty)| Operand { ty, bits }).collect();
        match lane::run(self.text, &self.outs, &operands) {
            Ok(ours) if ours == results => None,
            Ok(ours) => Some(format!("{} | {line} | margay {ours:x?}", self.text)),
            Err(why) => Some(format!("{} | {}", self.text, why.lines().next().unwrap_or_default())),
        }
    }
}

/// One form's lines: the number of rows, and what differs.
fn section(lines: &[&str]) -> (usize, Vec<String>) {
    let Some(form) = lines.first().and_then(|line| Form::parse(line)) else {
        return (0, vec![format!("no heading: {:?}", lines.first())]);
    };
    let rows = &lines[1..];
    (rows.len(), rows.iter().filter_map(|line| form.row(line)).collect())
}

/// The number of rows in a recorded text, and what differs.
pub fn compare(text: &str) -> (usize, Vec<String>) {
    let lines: Vec<&str> = text.lines().collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].starts_with('#')).collect();
    let mut sections: Vec<&[&str]> = Vec::new();
    if starts.first() != Some(&0) {
        sections.push(&lines[..starts.first().copied().unwrap_or(lines.len())]);
    }
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    sections.extend(starts.iter().zip(ends).map(|(&from, to)| &lines[from..to]));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let parts: Vec<(usize, Vec<String>)> = std::thread::scope(|scope| {
        let sections = &sections;
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                scope.spawn(move || {
                    let mine = sections.iter().skip(first).step_by(threads);
                    mine.map(|lines| section(lines)).collect::<Vec<_>>()
                })
            })
            .collect();
        workers.into_iter().flat_map(|w| w.join().expect("a worker panicked")).collect()
    });
    let rows = parts.iter().map(|(rows, _)| rows).sum();
    (rows, parts.into_iter().flat_map(|(_, differences)| differences).collect())
}
