// SPDX-License-Identifier: MIT OR Apache-2.0
//! The language server: diagnostics as one types, the rule's text and bank conflicts on hover, fixes as
//! quick fixes.
//!
//! Invariant: a text is checked only when no newer one waits. Limits: one thread; documents are synchronised
//! whole; columns are UTF-16, the protocol's default.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, DidSaveTextDocument,
    Notification as _, PublishDiagnostics,
};
use lsp_types::request::{CodeActionRequest, HoverRequest, Request as _};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Diagnostic,
    DiagnosticRelatedInformation, DiagnosticSeverity, DidChangeTextDocumentParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, Hover, HoverContents, HoverParams,
    HoverProviderCapability, Location, MarkupContent, MarkupKind, NumberOrString, Position,
    PublishDiagnosticsParams, Range, ServerCapabilities, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextEdit, Uri, WorkspaceEdit,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::finding::{Finding, Place, Report, Severity};
use crate::{Environment, Settings, check, registry};

/// What holds for a file: the caller knows margay.toml and the headers.
pub type Prepare<'a> = dyn Fn(&Path) -> Result<(Environment, Settings), String> + 'a;

struct Document {
    path: PathBuf,
    text: String,
    version: i32,
    report: Report,
}

/// Serves one client until it says `exit`.
///
/// # Errors
/// When the client breaks the protocol or goes away.
pub fn serve(connection: &Connection, prepare: &Prepare<'_>) -> Result<(), String> {
    let capabilities = ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        code_action_provider: Some(lsp_types::CodeActionProviderCapability::Simple(true)),
        ..ServerCapabilities::default()
    };
    let capabilities = serde_json::to_value(capabilities).map_err(|e| e.to_string())?;
    connection.initialize(capabilities).map_err(|e| e.to_string())?;
    let mut server = Server { connection, prepare, documents: BTreeMap::new() };
    let mut changed: BTreeSet<String> = BTreeSet::new();
    loop {
        // Check what changed only when nothing newer waits.
        let message = if changed.is_empty() {
            connection.receiver.recv().ok()
        } else {
            match connection.receiver.try_recv() {
                Ok(message) => Some(message),
                Err(_) => {
                    for key in std::mem::take(&mut changed) {
                        server.check(&key)?;
                    }
                    continue;
                }
            }
        };
        let Some(message) = message else { return Ok(()) };
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(|e| e.to_string())? {
                    return Ok(());
                }
                // Answers are about the newest text.
                for key in std::mem::take(&mut changed) {
                    server.check(&key)?;
                }
                server.answer(request)?;
            }
            Message::Notification(note) => server.note(note, &mut changed)?,
            Message::Response(_) => {}
        }
    }
}

struct Server<'a> {
    connection: &'a Connection,
    prepare: &'a Prepare<'a>,
    documents: BTreeMap<String, Document>,
}

impl Server<'_> {
    fn send(&self, message: Message) -> Result<(), String> {
        self.connection.sender.send(message).map_err(|_| "the client is gone".to_string())
    }

    fn note(&mut self, note: Notification, changed: &mut BTreeSet<String>) -> Result<(), String> {
        match note.method.as_str() {
            DidOpenTextDocument::METHOD => {
                let Some(p) = read::<DidOpenTextDocumentParams>(note.params) else { return Ok(()) };
                let document = p.text_document;
                let Some(path) = path_of(&document.uri) else { return Ok(()) };
                let key = document.uri.as_str().to_string();
                changed.insert(key.clone());
                self.documents.insert(
                    key,
                    Document {
                        path,
                        text: document.text,
                        version: document.version,
                        report: Report::default(),
                    },
                );
            }
            DidChangeTextDocument::METHOD => {
                let Some(p) = read::<DidChangeTextDocumentParams>(note.params) else {
                    return Ok(());
                };
                let key = p.text_document.uri.as_str().to_string();
                if let Some(document) = self.documents.get_mut(&key)
                    && let Some(last) = p.content_changes.into_iter().next_back()
                {
                    document.text = last.text;
                    document.version = p.text_document.version;
                    changed.insert(key);
                }
            }
            DidSaveTextDocument::METHOD => {
                // A header or margay.toml may have changed: everything that is open is checked anew.
                changed.extend(self.documents.keys().cloned());
            }
            DidCloseTextDocument::METHOD => {
                let Some(p) = read::<DidCloseTextDocumentParams>(note.params) else {
                    return Ok(());
                };
                let uri = p.text_document.uri;
                self.documents.remove(uri.as_str());
                changed.remove(uri.as_str());
                self.publish(uri, Vec::new(), None)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn check(&mut self, key: &str) -> Result<(), String> {
        let Some(document) = self.documents.get_mut(key) else { return Ok(()) };
        document.report = match (self.prepare)(&document.path) {
            Ok((environment, settings)) => {
                check::text(&document.path, &document.text, &environment, &settings)
            }
            Err(why) => Report { unreadable: Some(why), ..Report::default() },
        };
        let document = &self.documents[key];
        let report = &document.report;
        let mut list: Vec<Diagnostic> = report
            .findings
            .iter()
            .filter(|f| f.place.as_ref().is_some_and(|p| p.file == document.path))
            .map(|f| diagnostic(f, report))
            .collect();
        if list.is_empty()
            && let Some(why) = &report.unreadable
        {
            list.push(Diagnostic {
                severity: Some(DiagnosticSeverity::ERROR),
                source: Some("margay".into()),
                message: why.clone(),
                ..Diagnostic::default()
            });
        }
        let version = document.version;
        match key.parse() {
            Ok(uri) => self.publish(uri, list, Some(version)),
            Err(_) => Ok(()),
        }
    }

    fn publish(
        &self,
        uri: Uri,
        diagnostics: Vec<Diagnostic>,
        version: Option<i32>,
    ) -> Result<(), String> {
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        let note = Notification::new(PublishDiagnostics::METHOD.to_string(), params);
        self.send(Message::Notification(note))
    }

    fn answer(&mut self, request: Request) -> Result<(), String> {
        let id = request.id.clone();
        let response = match request.method.as_str() {
            HoverRequest::METHOD => match read::<HoverParams>(request.params) {
                Some(p) => good(id, self.hover(&p)),
                None => bad(id),
            },
            CodeActionRequest::METHOD => match read::<CodeActionParams>(request.params) {
                Some(p) => good(id, self.actions(&p)),
                None => bad(id),
            },
            other => Response::new_err(
                id,
                ErrorCode::MethodNotFound as i32,
                format!("margay does not answer {other}"),
            ),
        };
        self.send(Message::Response(response))
    }

    /// The rule's text on a finding, and what the banks do on an access to a shared array.
    fn hover(&self, params: &HoverParams) -> Option<Hover> {
        let at = &params.text_document_position_params;
        let document = self.documents.get(at.text_document.uri.as_str())?;
        let offset = offset_of(&document.text, at.position);
        let mut parts: Vec<String> = Vec::new();
        if let Ok((environment, settings)) = (self.prepare)(&document.path)
            && let Some(banks) =
                check::banks_at(&document.path, &document.text, &environment, &settings, offset)
        {
            parts.push(banks);
        }
        for finding in &document.report.findings {
            let here = finding.place.as_ref().is_some_and(|p| {
                p.file == document.path && p.start <= offset && offset <= p.end.max(p.start + 1)
            });
            if let Some(rule) = finding.code.and_then(registry::find).filter(|_| here) {
                parts.push(rule.explain());
            }
        }
        parts.dedup();
        (!parts.is_empty()).then(|| Hover {
            contents: HoverContents::Markup(MarkupContent {
                kind: MarkupKind::Markdown,
                value: parts.join("\n---\n"),
            }),
            range: None,
        })
    }

    fn actions(&self, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
        let uri = &params.text_document.uri;
        let Some(document) = self.documents.get(uri.as_str()) else { return Vec::new() };
        let wanted = offset_of(&document.text, params.range.start)
            ..=offset_of(&document.text, params.range.end);
        let mut actions = Vec::new();
        for finding in &document.report.findings {
            let (Some(fix), Some(place)) = (&finding.fix, &finding.place) else { continue };
            let own = |p: &Place| p.file == document.path;
            if !own(place) || place.end < *wanted.start() || place.start > *wanted.end() {
                continue;
            }
            if !fix.edits.iter().all(|e| own(&e.place)) {
                continue;
            }
            let edits: Vec<TextEdit> = fix
                .edits
                .iter()
                .map(|e| TextEdit::new(range_of(&document.text, &e.place), e.replacement.clone()))
                .collect();
            // The protocol's own type for the map of changes has URIs as keys.
            #[allow(clippy::mutable_key_type)]
            let changes = std::collections::HashMap::from([(uri.clone(), edits)]);
            actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title: fix.title.clone(),
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: Some(vec![diagnostic(finding, &document.report)]),
                is_preferred: Some(fix.safe),
                edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
                ..CodeAction::default()
            }));
        }
        actions
    }
}

fn read<T: DeserializeOwned>(value: serde_json::Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

fn good(id: lsp_server::RequestId, value: impl Serialize) -> Response {
    Response::new_ok(id, value)
}

fn bad(id: lsp_server::RequestId) -> Response {
    Response::new_err(id, ErrorCode::InvalidParams as i32, "malformed parameters".into())
}

fn diagnostic(finding: &Finding, report: &Report) -> Diagnostic {
    let place = finding.place.as_ref();
    let range = place.map_or(Range::default(), |p| range_of(report.sources.text(&p.file), p));
    let related: Vec<DiagnosticRelatedInformation> = finding
        .more
        .iter()
        .filter_map(|label| {
            let uri = uri_of(&label.place.file)?;
            let range = range_of(report.sources.text(&label.place.file), &label.place);
            let location = Location { uri, range };
            Some(DiagnosticRelatedInformation { location, message: label.text.clone() })
        })
        .collect();
    let mut message = finding.message.clone();
    for line in finding.notes.iter().chain(&finding.help) {
        message.push('\n');
        message.push_str(line);
    }
    let code = finding
        .code
        .map(str::to_string)
        .or_else(|| (!finding.option.is_empty()).then(|| finding.option.clone()));
    Diagnostic {
        range,
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Hint | Severity::Off => DiagnosticSeverity::HINT,
        }),
        code: code.map(NumberOrString::String),
        source: Some(if finding.by_clang { "clang" } else { "margay" }.into()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..Diagnostic::default()
    }
}

/// A byte as line and UTF-16 column, both from 0.
fn position_of(text: &str, offset: usize) -> Position {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |n| n + 1);
    let column = before[start..].encode_utf16().count();
    Position::new(before.matches('\n').count() as u32, column as u32)
}

fn range_of(text: &str, place: &Place) -> Range {
    Range::new(position_of(text, place.start), position_of(text, place.end))
}

/// The byte of a position; past the end of its line, the line's end.
fn offset_of(text: &str, position: Position) -> usize {
    let mut start = 0;
    for _ in 0..position.line {
        match text[start..].find('\n') {
            Some(at) => start += at + 1,
            None => return text.len(),
        }
    }
    let line = text[start..].split('\n').next().unwrap_or("");
    let mut units = 0;
    for (at, c) in line.char_indices() {
        if units >= position.character as usize {
            return start + at;
        }
        units += c.len_utf16();
    }
    start + line.len()
}

/// The path of a `file:` URI.
fn path_of(uri: &Uri) -> Option<PathBuf> {
    let text = uri.as_str().strip_prefix("file://")?;
    let path = &text[text.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let hex = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

fn uri_of(path: &Path) -> Option<Uri> {
    let mut text = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                text.push(byte as char);
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_utf16() {
        let text = "a\nb𝄞c\n";
        assert_eq!(position_of(text, text.find('c').unwrap()), Position::new(1, 3));
        assert_eq!(offset_of(text, Position::new(1, 3)), text.find('c').unwrap());
        assert_eq!(offset_of(text, Position::new(9, 0)), text.len());
        assert_eq!(offset_of(text, Position::new(0, 50)), 1);
    }

    #[test]
    fn paths_go_both_ways() {
        let path = PathBuf::from("/a b/x#y.cu");
        assert_eq!(path_of(&uri_of(&path).unwrap()), Some(path));
    }
}
