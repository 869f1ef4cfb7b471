// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types, asked of libclang when a rule needs them.

use clang_sys as cx;

use super::Tree;
use crate::front::cx as get;

/// A type; it lives as long as its tree.
#[derive(Clone, Copy)]
pub struct Type<'t> {
    raw: cx::CXType,
    tree: &'t Tree,
}

impl<'t> Type<'t> {
    pub(super) fn new(raw: cx::CXType, tree: &'t Tree) -> Type<'t> {
        Type { raw, tree }
    }

    fn canonical(self) -> cx::CXType {
        get::type_kind_canonical(self.raw)
    }

    fn of(self, raw: cx::CXType) -> Type<'t> {
        Type::new(raw, self.tree)
    }

    /// As written, typedefs kept.
    pub fn spelling(self) -> String {
        get::type_spelling(self.raw)
    }

    /// Typedefs resolved.
    pub fn canonical_spelling(self) -> String {
        get::type_spelling(self.canonical())
    }

    pub fn is_pointer(self) -> bool {
        self.canonical().kind == cx::CXType_Pointer
    }

    pub fn is_reference(self) -> bool {
        matches!(self.canonical().kind, cx::CXType_LValueReference | cx::CXType_RValueReference)
    }

    pub fn is_function(self) -> bool {
        matches!(self.canonical().kind, cx::CXType_FunctionProto | cx::CXType_FunctionNoProto)
    }

    pub fn is_array(self) -> bool {
        matches!(
            self.canonical().kind,
            cx::CXType_ConstantArray
                | cx::CXType_IncompleteArray
                | cx::CXType_VariableArray
                | cx::CXType_DependentSizedArray
        )
    }

    pub fn is_unsized_array(self) -> bool {
        self.canonical().kind == cx::CXType_IncompleteArray
    }

    pub fn is_record(self) -> bool {
        self.canonical().kind == cx::CXType_Record
    }

    pub fn is_void(self) -> bool {
        self.canonical().kind == cx::CXType_Void
    }

    pub fn is_double(self) -> bool {
        matches!(self.canonical().kind, cx::CXType_Double | cx::CXType_LongDouble)
    }

    pub fn is_float(self) -> bool {
        self.canonical().kind == cx::CXType_Float
    }

    pub fn is_integer(self) -> bool {
        (cx::CXType_Bool..=20).contains(&self.canonical().kind)
    }

    pub fn is_const(self) -> bool {
        get::is_const(self.canonical())
    }

    pub fn is_volatile(self) -> bool {
        get::is_volatile(self.canonical())
    }

    /// clang's number: 1 global, 2 local (OpenCL's numbering of the language's own spaces) or the target's.
    pub fn address_space(self) -> u32 {
        get::address_space(self.canonical())
    }

    pub fn pointee(self) -> Type<'t> {
        self.of(get::pointee(self.canonical()))
    }

    /// The element of an array.
    pub fn element(self) -> Type<'t> {
        self.of(get::element(self.canonical()))
    }

    /// The number of elements of an array whose size is constant.
    pub fn length(self) -> Option<u64> {
        u64::try_from(get::array_size(self.canonical())).ok()
    }

    /// Bytes, if the type is complete and not dependent.
    pub fn size(self) -> Option<u64> {
        u64::try_from(get::size_of(self.canonical())).ok()
    }

    pub fn align(self) -> Option<u64> {
        u64::try_from(get::align_of(self.canonical())).ok()
    }

    pub fn result(self) -> Type<'t> {
        self.of(get::function_result(self.canonical()))
    }

    /// The type of a function's parameter; invalid (neither pointer nor anything) if there is none.
    pub fn parameter(self, index: usize) -> Type<'t> {
        self.of(get::argument_type(self.canonical(), index as u32))
    }

    pub fn is_variadic(self) -> bool {
        get::is_variadic(self.canonical())
    }

    /// The declaration of a record type.
    pub(crate) fn declaration(self) -> cx::CXCursor {
        get::type_declaration(self.canonical())
    }

    /// What of a class needs the host's table of virtual functions: "virtual functions", "a virtual base".
    pub fn has_virtual(self) -> Option<&'static str> {
        virtual_in(self.declaration(), 0)
    }

    /// Whether the type, or what an array of it holds, is const. clang keeps the qualifiers of an array's elements
    /// with the canonical array.
    pub fn holds_const(self) -> bool {
        self.at_any_level(Type::is_const)
    }

    /// As [`Type::holds_const`], for volatile.
    pub fn holds_volatile(self) -> bool {
        self.at_any_level(Type::is_volatile)
    }

    fn at_any_level(self, has: impl Fn(Type<'t>) -> bool) -> bool {
        let mut ty = self;
        while !has(ty) {
            if !ty.is_array() {
                return false;
            }
            ty = ty.element();
        }
        true
    }

    /// The innermost element of nested arrays.
    pub fn innermost(self) -> Type<'t> {
        let mut ty = self;
        while ty.is_array() {
            ty = ty.element();
        }
        ty
    }
}

fn virtual_in(record: cx::CXCursor, depth: usize) -> Option<&'static str> {
    if depth > 16 {
        return None;
    }
    get::children(record).into_iter().find_map(|child| match get::kind(child) {
        cx::CXCursor_CXXMethod | cx::CXCursor_Destructor if get::is_virtual(child) => {
            Some("virtual functions")
        }
        cx::CXCursor_CXXBaseSpecifier if get::is_virtual_base(child) => Some("a virtual base"),
        cx::CXCursor_CXXBaseSpecifier => {
            virtual_in(get::type_declaration(get::type_of(child)), depth + 1)
        }
        _ => None,
    })
}
