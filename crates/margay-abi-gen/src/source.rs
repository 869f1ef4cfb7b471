// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a `sys` module of cudarc into a [`Model`].
//!
//! Invariant: an item that is not understood is an error that names it, never left out in silence; only
//! cudarc's own loader functions and operator impls are passed over, since they are no part of the ABI.

use crate::condition::{self, Version};
use crate::model::*;
use proc_macro2::Span;
use std::collections::BTreeSet;
use std::path::Path;
use syn::{Expr, Fields, GenericArgument, Item, Lit, PathArguments, ReturnType, UnOp};

/// What can go wrong in reading the bindings.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error("cannot read {path}: {cause}")]
    Read { path: String, cause: std::io::Error },
    #[error("cannot parse the bindings: {0}")]
    Parse(#[from] syn::Error),
    #[error("the bindings do not know CUDA {0}")]
    UnknownVersion(Version),
}

/// A parsed `sys` module, with the items of every CUDA version.
pub struct Source {
    file: syn::File,
    versions: BTreeSet<Version>,
}

impl Source {
    pub fn read(path: &Path) -> Result<Source, SourceError> {
        let text = std::fs::read_to_string(path)
            .map_err(|cause| SourceError::Read { path: path.display().to_string(), cause })?;
        Source::parse(&text)
    }

    pub fn parse(text: &str) -> Result<Source, SourceError> {
        let file = syn::parse_file(text)?;
        let versions =
            file.items.iter().flat_map(|item| condition::mentioned(attributes(item))).collect();
        Ok(Source { file, versions })
    }

    /// The CUDA versions that the bindings describe, oldest first.
    pub fn versions(&self) -> impl DoubleEndedIterator<Item = Version> + '_ {
        self.versions.iter().copied()
    }

    /// The ABI of one version.
    pub fn model(&self, version: Version) -> Result<Model, SourceError> {
        if !self.versions.contains(&version) {
            return Err(SourceError::UnknownVersion(version));
        }
        let mut model = Model::default();
        let mut aliases = Vec::new();
        for item in &self.file.items {
            if condition::holds(attributes(item), version)? {
                read_item(item, &mut model, &mut aliases)?;
            }
        }
        for (enumeration, name, target) in aliases {
            let value = match target {
                AliasTarget::Value(value) => value,
                AliasTarget::Enumerator(target) => model.enumerator(&target).ok_or_else(|| {
                    syn::Error::new(
                        Span::call_site(),
                        format!("{name} stands for {target}, which is not declared"),
                    )
                })?,
            };
            let enumeration =
                model.enumerations.iter_mut().find(|item| item.name == enumeration).ok_or_else(
                    || syn::Error::new(Span::call_site(), format!("{name} is of no enumeration")),
                )?;
            enumeration.enumerators.push((name, value));
        }
        Ok(model)
    }

    /// The ABI of all versions in `range`; where they differ, the newest.
    pub fn union(&self, range: impl std::ops::RangeBounds<Version>) -> Result<Model, SourceError> {
        let mut union = Model::default();
        for version in self.versions.range(range).rev() {
            union.absorb_older(self.model(*version)?);
        }
        Ok(union)
    }
}

enum AliasTarget {
    Value(i64),
    Enumerator(String),
}

type Alias = (String, String, AliasTarget);

fn attributes(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn read_item(item: &Item, model: &mut Model, aliases: &mut Vec<Alias>) -> syn::Result<()> {
    match item {
        Item::Const(item) => model.constants.push(Constant {
            name: item.ident.to_string(),
            value: integer(&item.expr)?,
            is_signed: read_type(&item.ty)? == Type::Scalar(Scalar::I32),
        }),
        Item::Enum(item) => {
            let mut enumerators = Vec::new();
            for variant in &item.variants {
                let (_, value) = variant.discriminant.as_ref().ok_or_else(|| {
                    syn::Error::new_spanned(variant, "an enumerator without a value")
                })?;
                enumerators.push((variant.ident.to_string(), integer(value)?));
            }
            model.enumerations.push(Enumeration {
                name: item.ident.to_string(),
                is_signed: representation(&item.attrs)?.is_signed,
                enumerators,
            });
        }
        Item::Struct(item) => read_struct(item, model)?,
        Item::Union(item) => model.records.push(Record {
            kind: RecordKind::Union,
            name: item.ident.to_string(),
            align: representation(&item.attrs)?.align,
            fields: fields(item.fields.named.iter())?,
        }),
        Item::Type(item) => {
            model.typedefs.push(Typedef { name: item.ident.to_string(), ty: read_type(&item.ty)? })
        }
        Item::Use(item) => read_use(&item.tree, model),
        Item::Impl(item) => read_impl(item, aliases)?,
        Item::Fn(item) => {
            let is_api = matches!(item.vis, syn::Visibility::Public(_))
                && !["is_culib_present", "culib"].contains(&&*item.sig.ident.to_string());
            if is_api {
                model.functions.push(read_function(&item.sig)?);
            }
        }
        Item::ExternCrate(_) => {}
        other => return Err(syn::Error::new_spanned(other, "an item that is not known here")),
    }
    Ok(())
}

fn read_struct(item: &syn::ItemStruct, model: &mut Model) -> syn::Result<()> {
    let name = item.ident.to_string();
    match &item.fields {
        // A tuple struct round an integer is an enumeration whose values bindgen ORs.
        Fields::Unnamed(_) => {
            model.enumerations.push(Enumeration { name, is_signed: false, enumerators: Vec::new() })
        }
        Fields::Named(named) => {
            let mut fields = fields(named.named.iter())?;
            fields.retain(|field| field.name != "_unused");
            model.records.push(Record {
                kind: RecordKind::Struct,
                name,
                align: representation(&item.attrs)?.align,
                fields,
            });
        }
        Fields::Unit => return Err(syn::Error::new_spanned(item, "a struct without a body")),
    }
    Ok(())
}

fn read_use(tree: &syn::UseTree, model: &mut Model) {
    // `use self::cudaError as cudaError_t` is C's typedef of an enum; other imports are Rust's own.
    if let syn::UseTree::Path(path) = tree
        && path.ident == "self"
        && let syn::UseTree::Rename(rename) = &*path.tree
    {
        model.typedefs.push(Typedef {
            name: rename.rename.to_string(),
            ty: Type::Named(rename.ident.to_string()),
        });
    }
}

fn read_impl(item: &syn::ItemImpl, aliases: &mut Vec<Alias>) -> syn::Result<()> {
    if item.trait_.is_some() {
        return Ok(());
    }
    let Type::Named(enumeration) = read_type(&item.self_ty)? else {
        return Err(syn::Error::new_spanned(item, "an impl of an unnamed type"));
    };
    for inner in &item.items {
        let syn::ImplItem::Const(constant) = inner else {
            return Err(syn::Error::new_spanned(
                inner,
                "an associated item that is not known here",
            ));
        };
        let target = match &constant.expr {
            Expr::Path(path) => AliasTarget::Enumerator(last_segment(&path.path)?),
            Expr::Call(call) if call.args.len() == 1 => AliasTarget::Value(integer(&call.args[0])?),
            other => return Err(syn::Error::new_spanned(other, "neither a name nor a value")),
        };
        aliases.push((enumeration.clone(), constant.ident.to_string(), target));
    }
    Ok(())
}

fn read_function(signature: &syn::Signature) -> syn::Result<Function> {
    let mut parameters = Vec::new();
    for input in &signature.inputs {
        let syn::FnArg::Typed(input) = input else {
            return Err(syn::Error::new_spanned(input, "a method among functions"));
        };
        let syn::Pat::Ident(name) = &*input.pat else {
            return Err(syn::Error::new_spanned(input, "a parameter without a name"));
        };
        parameters.push(Parameter { name: name.ident.to_string(), ty: read_type(&input.ty)? });
    }
    let result = read_result(&signature.output)?;
    Ok(Function { name: signature.ident.to_string(), signature: Signature { parameters, result } })
}

fn read_result(output: &ReturnType) -> syn::Result<Option<Type>> {
    match output {
        ReturnType::Default => Ok(None),
        ReturnType::Type(_, ty) => Ok(Some(read_type(ty)?)),
    }
}

fn fields<'a>(fields: impl Iterator<Item = &'a syn::Field>) -> syn::Result<Vec<Parameter>> {
    fields
        .map(|field| {
            let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            Ok(Parameter { name, ty: read_type(&field.ty)? })
        })
        .collect()
}

fn read_type(ty: &syn::Type) -> syn::Result<Type> {
    match ty {
        syn::Type::Ptr(pointer) => Ok(Type::Pointer {
            pointee: Box::new(read_type(&pointer.elem)?),
            is_const: pointer.const_token.is_some(),
        }),
        syn::Type::Array(array) => {
            let length = usize::try_from(integer(&array.len)?)
                .map_err(|_| syn::Error::new_spanned(array, "a negative length"))?;
            Ok(Type::Array(Box::new(read_type(&array.elem)?), length))
        }
        syn::Type::Path(path) => read_path(&path.path),
        other => Err(syn::Error::new_spanned(other, "a type that is not known here")),
    }
}

fn read_path(path: &syn::Path) -> syn::Result<Type> {
    let Some(last) = path.segments.last() else {
        return Err(syn::Error::new_spanned(path, "an empty path"));
    };
    let name = last.ident.to_string();
    if let PathArguments::AngleBracketed(arguments) = &last.arguments {
        if name == "Option"
            && let Some(GenericArgument::Type(syn::Type::BareFn(function))) = arguments.args.first()
        {
            return Ok(Type::Callback(Box::new(read_callback(function)?)));
        }
        return Err(syn::Error::new_spanned(path, "a generic type that is not known here"));
    }
    Ok(match name.as_str() {
        "c_void" => Type::Scalar(Scalar::Void),
        "c_char" => Type::Scalar(Scalar::Char),
        "c_uchar" => Type::Scalar(Scalar::UChar),
        "c_ushort" => Type::Scalar(Scalar::UShort),
        "c_int" => Type::Scalar(Scalar::Int),
        "c_uint" => Type::Scalar(Scalar::UInt),
        "c_long" => Type::Scalar(Scalar::Long),
        "c_longlong" => Type::Scalar(Scalar::LongLong),
        "c_ulonglong" => Type::Scalar(Scalar::ULongLong),
        "usize" => Type::Scalar(Scalar::Size),
        "u8" => Type::Scalar(Scalar::U8),
        "u32" => Type::Scalar(Scalar::U32),
        "u64" => Type::Scalar(Scalar::U64),
        "i32" => Type::Scalar(Scalar::I32),
        "f32" => Type::Scalar(Scalar::Float),
        "f64" => Type::Scalar(Scalar::Double),
        _ if path.segments.len() == 1 => Type::Named(name),
        _ => return Err(syn::Error::new_spanned(path, "a type from elsewhere")),
    })
}

fn read_callback(function: &syn::TypeBareFn) -> syn::Result<Signature> {
    let parameters = function
        .inputs
        .iter()
        .map(|input| {
            let name = input.name.as_ref().map(|(name, _)| name.to_string()).unwrap_or_default();
            Ok(Parameter { name, ty: read_type(&input.ty)? })
        })
        .collect::<syn::Result<_>>()?;
    Ok(Signature { parameters, result: read_result(&function.output)? })
}

fn last_segment(path: &syn::Path) -> syn::Result<String> {
    path.segments
        .last()
        .map(|segment| segment.ident.to_string())
        .ok_or_else(|| syn::Error::new_spanned(path, "an empty path"))
}

fn integer(value: &Expr) -> syn::Result<i64> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(integer) => integer.base10_parse(),
            other => Err(syn::Error::new_spanned(other, "not an integer")),
        },
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => Ok(-integer(&unary.expr)?),
        other => Err(syn::Error::new_spanned(other, "not an integer")),
    }
}

#[derive(Default)]
struct Representation {
    is_signed: bool,
    align: Option<usize>,
}

fn representation(attributes: &[syn::Attribute]) -> syn::Result<Representation> {
    let mut representation = Representation::default();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("align") {
                let inner;
                syn::parenthesized!(inner in meta.input);
                representation.align = Some(inner.parse::<syn::LitInt>()?.base10_parse()?);
            } else if meta.path.is_ident("i32") {
                representation.is_signed = true;
            } else if !["C", "u32", "transparent"].iter().any(|known| meta.path.is_ident(known)) {
                return Err(meta.error("a representation that is not known here"));
            }
            Ok(())
        })?;
    }
    Ok(representation)
}
