// SPDX-License-Identifier: MIT OR Apache-2.0
//! C's types in an order in which a compiler takes them: tags, enums, then typedefs and bodies, each after
//! what it needs.
//!
//! Invariant: a body comes after the bodies of its by-value members; a typedef comes before its first use.

use super::declarator::{c_name, declare};
use super::{line, spelled};
use crate::model::{Model, Parameter, Record, RecordKind, Type};
use std::collections::BTreeSet;

/// Whether the type is one of those that `vector_types.h` has.
pub fn is_vector(name: &str) -> bool {
    if name == "dim3" {
        return true;
    }
    let Some(element) = name.strip_suffix(['1', '2', '3', '4']) else { return false };
    [
        "char",
        "uchar",
        "short",
        "ushort",
        "int",
        "uint",
        "long",
        "ulong",
        "longlong",
        "ulonglong",
        "float",
        "double",
    ]
    .contains(&element)
}

pub fn keyword(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Struct => "struct",
        RecordKind::Union => "union",
    }
}

/// All types of the model. Those in `shared` are in both APIs' headers and get a guard.
pub fn write(out: &mut String, model: &Model, shared: &BTreeSet<&str>) {
    for record in named_records(model) {
        line(out, format_args!("{};", spelled(model, &record.name)));
    }
    let mut seen = BTreeSet::new();
    for enumeration in &model.enumerations {
        line(out, format_args!("enum {} {{", enumeration.name));
        for (name, value) in &enumeration.enumerators {
            if seen.insert(name) {
                line(out, format_args!("  {name} = {value},"));
            }
        }
        line(out, "};");
    }
    let mut writer = Writer { out, model, shared, done: BTreeSet::new() };
    for typedef in &model.typedefs {
        writer.write_named(&typedef.name);
    }
    for record in named_records(model) {
        writer.write_named(&record.name);
    }
}

fn named_records(model: &Model) -> impl Iterator<Item = &Record> {
    model
        .records
        .iter()
        .filter(|record| !Record::is_nameless(&record.name) && !is_vector(&record.name))
}

struct Writer<'a> {
    out: &'a mut String,
    model: &'a Model,
    shared: &'a BTreeSet<&'a str>,
    done: BTreeSet<String>,
}

impl Writer<'_> {
    /// Writes the typedef or the body of this name, after what it needs, unless it is written already.
    fn write_named(&mut self, name: &str) {
        if is_vector(name) || !self.done.insert(name.to_owned()) {
            return;
        }
        let model = self.model;
        if let Some(typedef) = model.typedefs.iter().find(|typedef| typedef.name == name) {
            self.need(&typedef.ty, false);
            let declaration = declare(model, &typedef.ty, name);
            line(self.out, format_args!("typedef {declaration};"));
        } else if let Some(record) = model.record(name).filter(|record| !record.is_opaque()) {
            for field in &record.fields {
                self.need(&field.ty, true);
            }
            let is_shared = self.shared.contains(name);
            if is_shared {
                line(
                    self.out,
                    format_args!("#ifndef MARGAY_HAS_{name}\n#define MARGAY_HAS_{name}"),
                );
            }
            let body = body(model, record, 1);
            let align = record
                .align
                .map(|align| format!(" __attribute__((aligned({align})))"))
                .unwrap_or_default();
            let keyword = keyword(record.kind);
            line(self.out, format_args!("{keyword}{align} {name} {body};"));
            if is_shared {
                line(self.out, "#endif");
            }
        }
    }

    /// Writes what `ty` mentions: typedefs always, bodies only where the type stands by value.
    fn need(&mut self, ty: &Type, is_by_value: bool) {
        match ty {
            Type::Scalar(_) => {}
            Type::Pointer { pointee, .. } => self.need(pointee, false),
            Type::Array(element, _) => self.need(element, is_by_value),
            Type::Callback(signature) => {
                for parameter in &signature.parameters {
                    self.need(&parameter.ty, false);
                }
                if let Some(result) = &signature.result {
                    self.need(result, false);
                }
            }
            Type::Named(name) => {
                if let Some(record) = self.model.record(name) {
                    if Record::is_nameless(name) {
                        for field in &record.fields {
                            self.need(&field.ty, is_by_value);
                        }
                    } else if is_by_value {
                        self.write_named(name);
                    }
                    return;
                }
                self.write_named(name);
                if let Some(typedef) =
                    self.model.typedefs.iter().find(|typedef| &typedef.name == name)
                {
                    // A typedef does not complete the struct that it names.
                    self.need(&typedef.ty, is_by_value);
                }
            }
        }
    }
}

/// The braces and what is between them. Members whose type has no name are spelled out in place.
fn body(model: &Model, record: &Record, depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut text = String::from("{\n");
    for field in &record.fields {
        line(&mut text, format_args!("{indent}{};", member(model, field, depth)));
    }
    text + &"  ".repeat(depth - 1) + "}"
}

fn member(model: &Model, field: &Parameter, depth: usize) -> String {
    let (nameless, length) = match &field.ty {
        Type::Named(name) => (name, None),
        Type::Array(element, length) => match &**element {
            Type::Named(name) => (name, Some(length)),
            _ => return declare(model, &field.ty, c_name(&field.name)),
        },
        _ => return declare(model, &field.ty, c_name(&field.name)),
    };
    match model.record(nameless).filter(|_| Record::is_nameless(nameless)) {
        None => declare(model, &field.ty, c_name(&field.name)),
        Some(record) => {
            let body = format!("{} {}", keyword(record.kind), body(model, record, depth + 1));
            let array = length.map(|length| format!("[{length}]")).unwrap_or_default();
            if field.name.starts_with("__bindgen_anon") {
                body
            } else {
                format!("{body} {}{array}", c_name(&field.name))
            }
        }
    }
}
