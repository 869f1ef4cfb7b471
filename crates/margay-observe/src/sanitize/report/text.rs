// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings in rustc's manner: what happened, both sides with their source, and the likely cure.

use std::collections::BTreeMap;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::sanitize::finding::{Actor, Finding, Severity};
use crate::words::Words;

/// Sources by path; empty where a file cannot be read.
type Sources = BTreeMap<String, String>;

/// All findings. `colour` adds terminal escapes.
pub fn text(findings: &[Finding], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut sources = Sources::new();
    for actor in findings.iter().flat_map(Finding::sides) {
        if let Some(file) = actor.source.file.as_ref().filter(|_| actor.source.text.is_none()) {
            let read = || std::fs::read_to_string(file).unwrap_or_default();
            sources.entry(file.clone()).or_insert_with(read);
        }
    }
    let mut out = String::new();
    for finding in findings {
        out += &one(finding, &sources, &renderer);
        out += "\n\n";
    }
    out
}

/// The bytes of a line from its column on, without the blanks at its ends.
fn span(text: &str, line: u32, column: u32) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for (n, whole) in text.split_inclusive('\n').enumerate() {
        if n + 1 == line as usize {
            let body = whole.trim_end();
            let blank = body.len() - body.trim_start().len();
            let at = (column.saturating_sub(1) as usize).min(body.len());
            let from = if body.is_char_boundary(at) { at.max(blank) } else { blank };
            let from = if column == 0 { blank } else { from };
            // A column names where an expression begins: its first word is enough to find it.
            let word =
                body[from..].find([' ', ';', ')', ',']).map_or(body.len(), |n| from + n.max(1));
            return (from < body.len()).then(|| start + from..start + word);
        }
        start += whole.len();
    }
    None
}

fn label(actor: &Actor, words: Words) -> String {
    format!("{} by {}", actor.action, actor.who(words))
}

fn place(actor: &Actor) -> String {
    let s = &actor.source;
    match &s.file {
        Some(file) => format!("{file}:{}:{}", s.line, s.column),
        None if s.ptx_line != 0 => format!("PTX line {} of {}", s.ptx_line, s.function),
        None => s.function.clone(),
    }
}

fn one(finding: &Finding, sources: &Sources, renderer: &Renderer) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(&finding.message).id(&finding.code);
    let sides: Vec<&Actor> = finding.sides().collect();
    let labels: Vec<String> = sides.iter().map(|a| label(a, finding.words)).collect();
    let places: Vec<String> = sides.iter().map(|a| place(a)).collect();
    let mut elements: Vec<(usize, Option<Snippet<'_, _>>)> = Vec::new();
    for (n, actor) in sides.iter().enumerate() {
        let shown = actor.source.file.as_ref().and_then(|file| {
            // The whole file, or the one line that came with the finding.
            let (text, first) = match &actor.source.text {
                Some(line) => (line, actor.source.line),
                None => (sources.get(file).filter(|t| !t.is_empty())?, 1),
            };
            let range =
                span(text, (actor.source.line + 1).checked_sub(first)?, actor.source.column)?;
            let kind = if n == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
            let annotation = kind.span(range).label(&labels[n]);
            let snippet = Snippet::source(text.as_str()).line_start(first as usize);
            Some(snippet.path(file.as_str()).annotation(annotation))
        });
        elements.push((n, shown));
    }
    let mut group = Group::with_title(title);
    for (n, snippet) in elements {
        group = match snippet {
            Some(snippet) => group.element(snippet),
            // Nothing is known but that it was the host program.
            None if places[n].is_empty() => group.element(Level::NOTE.message(&labels[n])),
            None => group
                .element(Origin::path(places[n].as_str()))
                .element(Level::NOTE.message(&labels[n])),
        };
    }
    let mut facts = Vec::new();
    if !finding.kernel.is_empty() {
        facts.push(format!("in kernel {}", finding.kernel));
    }
    match (&finding.space, &finding.object) {
        (Some(space), Some(object)) => facts.push(format!("{space} memory: {object}")),
        (Some(space), None) => facts.push(format!("{space} memory")),
        (None, Some(object)) => facts.push(object.clone()),
        (None, None) => {}
    }
    facts.extend(finding.life());
    if finding.count > 1 {
        facts.push(format!("{} times at this place", finding.count));
    }
    let facts = facts.join("; ");
    if !facts.is_empty() {
        group = group.element(Level::NOTE.message(facts.as_str()));
    }
    group = group.element(Level::HELP.message(finding.cure.as_str()));
    renderer.render(&[group])
}
