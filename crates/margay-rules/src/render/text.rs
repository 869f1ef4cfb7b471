// SPDX-License-Identifier: MIT OR Apache-2.0
//! Findings in rustc's manner.

use annotate_snippets::{
    Annotation, AnnotationKind, Group, Level, Origin, Patch, Renderer, Snippet,
};

use crate::finding::{Finding, Place, Report, Severity, Sources};
use crate::registry;

/// All findings, and a line that counts them. `colour` adds terminal escapes.
pub fn render(report: &Report, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let mut out = String::new();
    for finding in &report.findings {
        out.push_str(&one(finding, &report.sources, &renderer));
        out.push_str("\n\n");
    }
    out
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint | Severity::Off => Level::INFO.with_name("hint"),
    }
}

fn range(place: &Place, text: &str) -> std::ops::Range<usize> {
    let clamp = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, mut end) = (clamp(place.start), clamp(place.end.max(place.start)));
    // Of a construct over several lines its head is enough.
    if let Some(line) = text[start..end].find('\n') {
        end = start + line;
    }
    start..end
}

fn annotation<'a>(
    kind: AnnotationKind,
    place: &Place,
    text: &'a str,
    label: &'a str,
) -> Annotation<'a> {
    let spot = kind.span(range(place, text));
    if label.is_empty() { spot } else { spot.label(label) }
}

fn one(finding: &Finding, sources: &Sources, renderer: &Renderer) -> String {
    let id = match finding.code {
        Some(code) => code.to_string(),
        None => finding.option.clone(),
    };
    let mut title = level(finding.severity).primary_title(&finding.message);
    if !id.is_empty() {
        title = title.id(id.as_str());
    }
    let names: Vec<String> = sources.iter().map(|(path, _)| path.display().to_string()).collect();
    let name_of = |place: &Place| {
        let at = sources.iter().position(|(path, _)| *path == place.file);
        at.map_or("", |i| names[i].as_str())
    };
    let mut main =
        match &finding.place {
            Some(place) if !sources.text(&place.file).is_empty() => {
                let text = sources.text(&place.file);
                let mut snippet = Snippet::source(text)
                    .path(name_of(place))
                    .annotation(annotation(AnnotationKind::Primary, place, text, &finding.label));
                for label in finding.more.iter().filter(|l| l.place.file == place.file) {
                    snippet = snippet.annotation(annotation(
                        AnnotationKind::Context,
                        &label.place,
                        text,
                        &label.text,
                    ));
                }
                title.element(snippet)
            }
            Some(place) => title.element(Origin::path(place.file.display().to_string())),
            None => Group::with_title(title),
        };
    for note in &finding.notes {
        main = main.element(Level::NOTE.message(note));
    }
    for help in &finding.help {
        main = main.element(Level::HELP.message(help));
    }
    let explain = finding
        .code
        .and_then(registry::find)
        .map(|rule| format!("{}; `margay check --explain {}` has more", rule.name, rule.code));
    if let Some(explain) = &explain {
        main = main.element(Level::NOTE.message(explain));
    }
    let mut groups = vec![main];
    for label in &finding.more {
        if finding.place.as_ref().is_none_or(|p| p.file != label.place.file) {
            let text = sources.text(&label.place.file);
            let snippet = Snippet::source(text).path(name_of(&label.place)).annotation(annotation(
                AnnotationKind::Primary,
                &label.place,
                text,
                "",
            ));
            groups.push(Level::NOTE.secondary_title(&label.text).element(snippet));
        }
    }
    if let Some(fix) = &finding.fix
        && let Some(first) = fix.edits.first()
    {
        let text = sources.text(&first.place.file);
        let mut snippet = Snippet::source(text).path(name_of(&first.place));
        let mut edits: Vec<_> =
            fix.edits.iter().filter(|e| e.place.file == first.place.file).collect();
        edits.sort_by_key(|e| e.place.start);
        for edit in edits {
            let end = edit.place.end.min(text.len());
            let start = edit.place.start.min(end);
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                snippet = snippet.patch(Patch::new(start..end, edit.replacement.as_str()));
            }
        }
        groups.push(Level::HELP.secondary_title(&fix.title).element(snippet));
    }
    renderer.render(&groups)
}
