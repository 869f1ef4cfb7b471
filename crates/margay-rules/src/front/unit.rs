// SPDX-License-Identifier: MIT OR Apache-2.0
//! One parse of one file: a translation unit of libclang's that frees itself.
//!
//! Invariant: a `Unit` stays on the thread that made it (its pointers make it `!Send`), where the library is
//! attached; cursors are used only while their unit lives.

use std::ffi::CString;
use std::path::Path;

use clang_sys as cx;

use super::library;

/// A parsed file.
pub struct Unit {
    index: cx::CXIndex,
    unit: cx::CXTranslationUnit,
}

impl Unit {
    /// Parses `path`, with `text` in its place if the editor has another than the disk.
    ///
    /// # Errors
    /// When libclang is missing, or gives no translation unit at all; a program's errors are diagnostics.
    pub fn parse(path: &Path, text: Option<&str>, arguments: &[String]) -> Result<Unit, String> {
        Unit::parse_with(path, text, arguments, cx::CXTranslationUnit_KeepGoing)
    }

    /// Parses a header for `clang_saveTranslationUnit`.
    ///
    /// # Errors
    /// As [`Unit::parse`].
    pub(super) fn parse_for_saving(path: &Path, arguments: &[String]) -> Result<Unit, String> {
        let options = cx::CXTranslationUnit_Incomplete | cx::CXTranslationUnit_ForSerialization;
        Unit::parse_with(path, None, arguments, options)
    }

    fn parse_with(
        path: &Path,
        text: Option<&str>,
        arguments: &[String],
        options: cx::CXTranslationUnit_Flags,
    ) -> Result<Unit, String> {
        library::attach()?;
        let no_nul = |s: &str| CString::new(s).map_err(|_| format!("{s:?} has a NUL byte"));
        let name = no_nul(&path.to_string_lossy())?;
        let owned: Vec<CString> =
            arguments.iter().map(|a| no_nul(a)).collect::<Result<_, String>>()?;
        let pointers: Vec<*const std::ffi::c_char> = owned.iter().map(|a| a.as_ptr()).collect();
        let contents = text.unwrap_or_default();
        let mut unsaved = cx::CXUnsavedFile {
            Filename: name.as_ptr(),
            Contents: contents.as_ptr().cast(),
            Length: contents.len() as std::ffi::c_ulong,
        };
        let count = i32::try_from(pointers.len()).map_err(|_| "too many arguments".to_string())?;
        // SAFETY: all strings outlive the call; libclang copies the unsaved text; the handles are freed by Drop.
        unsafe {
            // Declarations of precompiled headers are not the program's.
            let index = cx::clang_createIndex(1, 0);
            let mut unit: cx::CXTranslationUnit = std::ptr::null_mut();
            let code = cx::clang_parseTranslationUnit2(
                index,
                name.as_ptr(),
                pointers.as_ptr(),
                count,
                &mut unsaved,
                u32::from(text.is_some()),
                options,
                &mut unit,
            );
            if code != cx::CXError_Success || unit.is_null() {
                cx::clang_disposeIndex(index);
                return Err(match code {
                    cx::CXError_Crashed => "clang itself crashed on this file".into(),
                    cx::CXError_InvalidArguments => "clang refused its arguments".into(),
                    cx::CXError_ASTReadError => "clang could not read its own tree".into(),
                    other => format!("clang gave no tree (code {other}); its options may be wrong"),
                });
            }
            Ok(Unit { index, unit })
        }
    }

    /// The root cursor.
    pub fn root(&self) -> cx::CXCursor {
        // SAFETY: the unit lives.
        unsafe { cx::clang_getTranslationUnitCursor(self.unit) }
    }

    pub(crate) fn raw(&self) -> cx::CXTranslationUnit {
        self.unit
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        // SAFETY: both were made by `parse` and are freed once, the unit before its index.
        unsafe {
            cx::clang_disposeTranslationUnit(self.unit);
            cx::clang_disposeIndex(self.index);
        }
    }
}
