// SPDX-License-Identifier: MIT OR Apache-2.0
//! libclang's C interface with Rust's types. Each function needs `library::attach` on its thread, which
//! [`super::unit::Unit`] guarantees: it is the only source of cursors, and it is not `Send`.

use std::ffi::CStr;

use clang_sys as cx;

/// Takes the text out of a string of libclang's and frees it.
pub fn string(text: cx::CXString) -> String {
    // SAFETY: the string came from libclang and is disposed of once; its C text lives until then.
    unsafe {
        let pointer = cx::clang_getCString(text);
        let owned = if pointer.is_null() {
            String::new()
        } else {
            CStr::from_ptr(pointer).to_string_lossy().into_owned()
        };
        cx::clang_disposeString(text);
        owned
    }
}

/// The direct children of a cursor, in source order.
pub fn children(cursor: cx::CXCursor) -> Vec<cx::CXCursor> {
    extern "C" fn push(
        child: cx::CXCursor,
        _parent: cx::CXCursor,
        data: cx::CXClientData,
    ) -> cx::CXChildVisitResult {
        // SAFETY: `data` is the vector below, which outlives the visit and is used by this callback alone.
        unsafe { (*data.cast::<Vec<cx::CXCursor>>()).push(child) };
        cx::CXChildVisit_Continue
    }
    let mut list: Vec<cx::CXCursor> = Vec::new();
    // SAFETY: the callback does not unwind: pushing to a vector only aborts.
    unsafe { cx::clang_visitChildren(cursor, push, (&raw mut list).cast()) };
    list
}

/// A place in a file, by libclang's handle.
#[derive(Clone, Copy)]
pub struct Place {
    pub file: cx::CXFile,
    pub offset: u32,
}

/// Where a location lies in a file: inside a macro's argument the argument, else the macro's use.
pub fn place(location: cx::CXSourceLocation) -> Place {
    let mut place = Place { file: std::ptr::null_mut(), offset: 0 };
    // SAFETY: the out parameters may be null or point to variables of the right type.
    unsafe {
        cx::clang_getFileLocation(
            location,
            &mut place.file,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            &mut place.offset,
        );
    }
    place
}

/// The ends of a range.
pub fn ends(range: cx::CXSourceRange) -> (Place, Place) {
    // SAFETY: plain getters on a range by value.
    unsafe { (place(cx::clang_getRangeStart(range)), place(cx::clang_getRangeEnd(range))) }
}

macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident: $from:ty => $to:ty = $function:ident;)*) => {
        $($(#[$doc])* pub fn $name(x: $from) -> $to {
            // SAFETY: a getter that takes a handle of a living translation unit by value.
            unsafe { cx::$function(x) }
        })*
    };
}

getters! {
    kind: cx::CXCursor => cx::CXCursorKind = clang_getCursorKind;
    extent: cx::CXCursor => cx::CXSourceRange = clang_getCursorExtent;
    location: cx::CXCursor => cx::CXSourceLocation = clang_getCursorLocation;
    referenced: cx::CXCursor => cx::CXCursor = clang_getCursorReferenced;
    canonical: cx::CXCursor => cx::CXCursor = clang_getCanonicalCursor;
    hash: cx::CXCursor => u32 = clang_hashCursor;
    binary_operator: cx::CXCursor => cx::CXBinaryOperatorKind = clang_getCursorBinaryOperatorKind;
    unary_operator: cx::CXCursor => cx::CXUnaryOperatorKind = clang_getCursorUnaryOperatorKind;
    type_of: cx::CXCursor => cx::CXType = clang_getCursorType;
    type_kind_canonical: cx::CXType => cx::CXType = clang_getCanonicalType;
    pointee: cx::CXType => cx::CXType = clang_getPointeeType;
    element: cx::CXType => cx::CXType = clang_getArrayElementType;
    array_size: cx::CXType => i64 = clang_getArraySize;
    size_of: cx::CXType => i64 = clang_Type_getSizeOf;
    align_of: cx::CXType => i64 = clang_Type_getAlignOf;
    address_space: cx::CXType => u32 = clang_getAddressSpace;
    type_declaration: cx::CXType => cx::CXCursor = clang_getTypeDeclaration;
    function_result: cx::CXType => cx::CXType = clang_getResultType;
}

pub fn is_null(cursor: cx::CXCursor) -> bool {
    // SAFETY: as the getters.
    unsafe { cx::clang_Cursor_isNull(cursor) != 0 || cx::clang_isInvalid(kind(cursor)) != 0 }
}

pub fn equal(a: cx::CXCursor, b: cx::CXCursor) -> bool {
    // SAFETY: as the getters.
    unsafe { cx::clang_equalCursors(a, b) != 0 }
}

pub fn is_definition(cursor: cx::CXCursor) -> bool {
    // SAFETY: as the getters.
    unsafe { cx::clang_isCursorDefinition(cursor) != 0 }
}

pub fn is_variadic(ty: cx::CXType) -> bool {
    // SAFETY: as the getters.
    unsafe { cx::clang_isFunctionTypeVariadic(ty) != 0 }
}

pub fn is_const(ty: cx::CXType) -> bool {
    // SAFETY: as the getters.
    unsafe { cx::clang_isConstQualifiedType(ty) != 0 }
}

pub fn is_volatile(ty: cx::CXType) -> bool {
    // SAFETY: as the getters.
    unsafe { cx::clang_isVolatileQualifiedType(ty) != 0 }
}

pub fn is_virtual(method: cx::CXCursor) -> bool {
    // SAFETY: as the getters.
    unsafe { cx::clang_CXXMethod_isVirtual(method) != 0 }
}

pub fn is_virtual_base(base: cx::CXCursor) -> bool {
    // SAFETY: as the getters.
    unsafe { cx::clang_isVirtualBase(base) != 0 }
}

pub fn in_system_header(cursor: cx::CXCursor) -> bool {
    // SAFETY: as the getters.
    unsafe { cx::clang_Location_isInSystemHeader(location(cursor)) != 0 }
}

pub fn argument_type(ty: cx::CXType, index: u32) -> cx::CXType {
    // SAFETY: an index out of range gives an invalid type.
    unsafe { cx::clang_getArgType(ty, index) }
}

pub fn spelling(cursor: cx::CXCursor) -> String {
    // SAFETY: as the getters; the string is freed by `string`.
    string(unsafe { cx::clang_getCursorSpelling(cursor) })
}

pub fn type_spelling(ty: cx::CXType) -> String {
    // SAFETY: as the getters; the string is freed by `string`.
    string(unsafe { cx::clang_getTypeSpelling(ty) })
}

/// The value of an integer constant expression, by clang's evaluator.
pub fn evaluate_integer(cursor: cx::CXCursor) -> Option<i64> {
    // SAFETY: the result is null or disposed of here, after its last use.
    unsafe {
        let result = cx::clang_Cursor_Evaluate(cursor);
        if result.is_null() {
            return None;
        }
        let value = (cx::clang_EvalResult_getKind(result) == cx::CXEval_Int)
            .then(|| cx::clang_EvalResult_getAsLongLong(result));
        cx::clang_EvalResult_dispose(result);
        value
    }
}
