// SPDX-License-Identifier: MIT OR Apache-2.0
//! The C ABI of one CUDA library, as data: constants, types and functions of one CUDA version, or of several.
//!
//! Invariant: everything is in the order of the source, so what is emitted is the same in every build.
//! Limit: what a preprocessor would know (casts, function macros) is not here; [`crate::macros`] adds it.

use std::collections::BTreeMap;

/// A scalar of C's type system, or `void`, which stands only behind a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    Void,
    Char,
    UChar,
    UShort,
    Int,
    UInt,
    Long,
    LongLong,
    ULongLong,
    /// `size_t`.
    Size,
    U8,
    U32,
    U64,
    I32,
    Float,
    Double,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    Scalar(Scalar),
    /// A typedef, struct, union or enum.
    Named(String),
    Pointer {
        pointee: Box<Type>,
        is_const: bool,
    },
    Array(Box<Type>, usize),
    /// A pointer to a function, which may be null.
    Callback(Box<Signature>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub ty: Type,
}

/// Parameters and result; no result is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    pub parameters: Vec<Parameter>,
    pub result: Option<Type>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub signature: Signature,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    Struct,
    Union,
}

/// A struct or a union. One without fields is opaque: only pointers to it exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub kind: RecordKind,
    pub name: String,
    /// Alignment in bytes, where it is more than the fields ask for.
    pub align: Option<usize>,
    pub fields: Vec<Parameter>,
}

impl Record {
    pub fn is_opaque(&self) -> bool {
        self.fields.is_empty()
    }

    /// bindgen's mark of a type that has no name in C and is spelled out where it is used.
    pub fn is_nameless(name: &str) -> bool {
        name.contains("__bindgen_ty_")
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Enumeration {
    pub name: String,
    /// Whether the representation is `int`; else it is `unsigned int`.
    pub is_signed: bool,
    /// Names and values, aliases after what they alias.
    pub enumerators: Vec<(String, i64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    pub name: String,
    pub value: i64,
    pub is_signed: bool,
}

/// A named type that is not a struct, union or enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Typedef {
    pub name: String,
    pub ty: Type,
}

/// All that the library declares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    pub constants: Vec<Constant>,
    pub enumerations: Vec<Enumeration>,
    pub records: Vec<Record>,
    pub typedefs: Vec<Typedef>,
    pub functions: Vec<Function>,
}

impl Model {
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    pub fn record(&self, name: &str) -> Option<&Record> {
        self.records.iter().find(|record| record.name == name)
    }

    pub fn constant(&self, name: &str) -> Option<i64> {
        self.constants.iter().find(|constant| constant.name == name).map(|c| c.value)
    }

    /// The value of an enumerator; C has one namespace for those of all enumerations.
    pub fn enumerator(&self, name: &str) -> Option<i64> {
        self.enumerations
            .iter()
            .flat_map(|enumeration| &enumeration.enumerators)
            .find(|(enumerator, _)| enumerator == name)
            .map(|(_, value)| *value)
    }

    /// Adds what `older` declares and `self` does not. An enumeration in both gains enumerators.
    pub fn absorb_older(&mut self, older: Model) {
        absorb(&mut self.constants, older.constants, |item| &item.name);
        absorb(&mut self.records, older.records, |item| &item.name);
        absorb(&mut self.typedefs, older.typedefs, |item| &item.name);
        absorb(&mut self.functions, older.functions, |item| &item.name);
        let known: BTreeMap<String, usize> = self
            .enumerations
            .iter()
            .enumerate()
            .map(|(at, item)| (item.name.clone(), at))
            .collect();
        let taken: std::collections::BTreeSet<String> = self
            .enumerations
            .iter()
            .flat_map(|item| item.enumerators.iter().map(|(name, _)| name.clone()))
            .collect();
        for mut enumeration in older.enumerations {
            enumeration.enumerators.retain(|(name, _)| !taken.contains(name));
            match known.get(&enumeration.name) {
                Some(&at) => self.enumerations[at].enumerators.extend(enumeration.enumerators),
                None => self.enumerations.push(enumeration),
            }
        }
        // A name may have become a typedef of a struct, or an enum's alias, in a later version.
        let types: std::collections::BTreeSet<String> = self
            .records
            .iter()
            .map(|item| item.name.clone())
            .chain(self.enumerations.iter().map(|item| item.name.clone()))
            .collect();
        self.typedefs.retain(|item| !types.contains(&item.name));
    }
}

fn absorb<T>(into: &mut Vec<T>, from: Vec<T>, name: impl Fn(&T) -> &String) {
    let known: std::collections::BTreeSet<String> = into.iter().map(|i| name(i).clone()).collect();
    into.extend(from.into_iter().filter(|item| !known.contains(name(item))));
}
