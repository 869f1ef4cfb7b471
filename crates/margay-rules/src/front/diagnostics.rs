// SPDX-License-Identifier: MIT OR Apache-2.0
//! clang's diagnostics as plain data.

use std::path::PathBuf;

use clang_sys as cx;

use super::cx as get;
use super::unit::Unit;

/// How bad clang finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Note,
    Warning,
    Error,
    /// clang stopped: a missing include and the like.
    Fatal,
}

/// What part of clang spoke: it decides between "the program is wrong" and "this is no program".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// The preprocessor, or the parser: the text could not be read.
    Syntax,
    /// Everything after.
    Semantic,
}

/// A place that a diagnostic names. Offsets are bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    pub file: PathBuf,
    pub start: u32,
    pub end: u32,
}

/// An edit that clang proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    pub spot: Spot,
    pub replacement: String,
}

/// One message of clang's and the notes below it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub level: Level,
    pub category: Category,
    pub message: String,
    /// The warning's flag: `-Wunused-value`.
    pub option: String,
    pub spot: Option<Spot>,
    pub edits: Vec<Edit>,
    pub notes: Vec<Diagnostic>,
}

/// All messages of a parse.
pub fn of(unit: &Unit) -> Vec<Diagnostic> {
    // SAFETY: the set is disposed of after its last use; each diagnostic of the set too.
    unsafe {
        let set = cx::clang_getDiagnosticSetFromTU(unit.raw());
        let all = read_set(set);
        cx::clang_disposeDiagnosticSet(set);
        all
    }
}

/// # Safety
/// `set` must be alive.
unsafe fn read_set(set: cx::CXDiagnosticSet) -> Vec<Diagnostic> {
    // SAFETY: indices are below the set's length; each diagnostic is disposed of once.
    unsafe {
        (0..cx::clang_getNumDiagnosticsInSet(set))
            .map(|i| {
                let one = cx::clang_getDiagnosticInSet(set, i);
                let read = read(one);
                cx::clang_disposeDiagnostic(one);
                read
            })
            .collect()
    }
}

/// # Safety
/// `one` must be alive.
unsafe fn read(one: cx::CXDiagnostic) -> Diagnostic {
    // SAFETY: getters on a living diagnostic; strings are freed by `string`; the child set belongs to it and
    // must not be freed.
    unsafe {
        let level = match cx::clang_getDiagnosticSeverity(one) {
            cx::CXDiagnostic_Fatal => Level::Fatal,
            cx::CXDiagnostic_Error => Level::Error,
            cx::CXDiagnostic_Warning => Level::Warning,
            _ => Level::Note,
        };
        let category = get::string(cx::clang_getDiagnosticCategoryText(one));
        let syntax = category.contains("Parse") || category.contains("Lexical");
        let at = get::place(cx::clang_getDiagnosticLocation(one));
        let spot = file_name(at.file).map(|file| {
            let mut spot = Spot { file, start: at.offset, end: at.offset };
            for i in 0..cx::clang_getDiagnosticNumRanges(one) {
                let (from, to) = get::ends(cx::clang_getDiagnosticRange(one, i));
                let covers =
                    from.file == at.file && from.offset <= at.offset && at.offset < to.offset;
                if covers && spot.end == spot.start {
                    (spot.start, spot.end) = (from.offset, to.offset);
                }
            }
            spot
        });
        let edits = (0..cx::clang_getDiagnosticNumFixIts(one))
            .filter_map(|i| {
                let mut range = cx::clang_getNullRange();
                let text = get::string(cx::clang_getDiagnosticFixIt(one, i, &mut range));
                let (from, to) = get::ends(range);
                let spot = Spot { file: file_name(from.file)?, start: from.offset, end: to.offset };
                Some(Edit { spot, replacement: text })
            })
            .collect();
        let message = get::string(cx::clang_getDiagnosticSpelling(one));
        let option = get::string(cx::clang_getDiagnosticOption(one, std::ptr::null_mut()));
        let notes = read_set(cx::clang_getChildDiagnostics(one));
        let category = if syntax { Category::Syntax } else { Category::Semantic };
        Diagnostic { level, category, message, option, spot, edits, notes }
    }
}

/// The path of a file handle, as it was opened.
pub(crate) fn file_name(file: cx::CXFile) -> Option<PathBuf> {
    if file.is_null() {
        return None;
    }
    // SAFETY: the handle is not null and its unit lives.
    let name = get::string(unsafe { cx::clang_getFileName(file) });
    (!name.is_empty()).then(|| PathBuf::from(name))
}
