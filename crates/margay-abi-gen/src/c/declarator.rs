// SPDX-License-Identifier: MIT OR Apache-2.0
//! C's declarations: a type wound round a name.
//!
//! Limit: types without a name in C are not spelled here; [`super::types`] writes them out in place.

use super::spelled;
use crate::model::{Model, Scalar, Signature, Type};

/// `ty name`, as C declares it. An empty name gives the type alone.
pub fn declare(model: &Model, ty: &Type, name: &str) -> String {
    wind(model, ty, name.to_owned(), false)
}

/// `is_const` is for the type itself, since C writes it beside the base type.
fn wind(model: &Model, ty: &Type, inner: String, is_const: bool) -> String {
    let qualifier = if is_const { "const " } else { "" };
    match ty {
        Type::Scalar(scalar) => join(&format!("{qualifier}{}", scalar_name(*scalar)), &inner),
        Type::Named(name) => join(&format!("{qualifier}{}", spelled(model, name)), &inner),
        Type::Pointer { pointee, is_const: pointee_is_const } => {
            let own = if is_const { "const " } else { "" };
            let star = format!("*{own}{inner}");
            let wrapped = match **pointee {
                Type::Array(..) => format!("({star})"),
                _ => star,
            };
            wind(model, pointee, wrapped.trim_end().to_owned(), *pointee_is_const)
        }
        Type::Array(element, length) => {
            wind(model, element, format!("{inner}[{length}]"), is_const)
        }
        Type::Callback(signature) => {
            let own = if is_const { "const " } else { "" };
            function(model, signature, &format!("(CUDART_CB *{own}{inner})"))
        }
    }
}

/// A function's result, declarator and parameters.
pub fn function(model: &Model, signature: &Signature, declarator: &str) -> String {
    let parameters: Vec<String> = signature
        .parameters
        .iter()
        .map(|parameter| declare(model, &parameter.ty, c_name(&parameter.name)))
        .collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let declarator = format!("{declarator}({parameters})");
    match &signature.result {
        Some(result) => wind(model, result, declarator, false),
        None => format!("void {declarator}"),
    }
}

/// The name in C of what bindgen renamed because Rust reserves it.
pub fn c_name(name: &str) -> &str {
    match name {
        "type_" | "fn_" | "ref_" | "in_" | "async_" => &name[..name.len() - 1],
        _ => name,
    }
}

fn join(base: &str, declarator: &str) -> String {
    if declarator.is_empty() { base.to_owned() } else { format!("{base} {declarator}") }
}

fn scalar_name(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Void => "void",
        Scalar::Char => "char",
        Scalar::UChar => "unsigned char",
        Scalar::UShort => "unsigned short",
        Scalar::Int => "int",
        Scalar::UInt => "unsigned int",
        Scalar::Long => "long",
        Scalar::LongLong => "long long",
        Scalar::ULongLong => "unsigned long long",
        Scalar::Size => "size_t",
        Scalar::U8 => "uint8_t",
        Scalar::U32 => "uint32_t",
        Scalar::U64 => "uint64_t",
        Scalar::I32 => "int32_t",
        Scalar::Float => "float",
        Scalar::Double => "double",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(pointee: Type, is_const: bool) -> Type {
        Type::Pointer { pointee: Box::new(pointee), is_const }
    }

    fn check(ty: Type, expected: &str) {
        assert_eq!(declare(&Model::default(), &ty, "x"), expected);
    }

    #[test]
    fn pointers_and_their_constness() {
        let void = Type::Scalar(Scalar::Void);
        check(pointer(void.clone(), true), "const void *x");
        check(pointer(pointer(void.clone(), true), false), "const void **x");
        check(pointer(pointer(void.clone(), false), true), "void *const *x");
        check(Type::Array(Box::new(pointer(void, false)), 4), "void *x[4]");
    }

    #[test]
    fn a_pointer_to_an_array_is_bracketed() {
        let array = Type::Array(Box::new(Type::Scalar(Scalar::Int)), 3);
        check(pointer(array, false), "int (*x)[3]");
    }

    #[test]
    fn a_callback_takes_its_convention_along() {
        let signature = Signature { parameters: Vec::new(), result: None };
        check(Type::Callback(Box::new(signature)), "void (CUDART_CB *x)(void)");
    }
}
