// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes Rust: the library's types, its exported functions, and the table of their addresses.
//!
//! Invariants: an enumeration is an integer type with constants, since a foreign caller may pass any
//! value; every function of the model is exported, either to an implementation, whose signature rustc
//! then checks, or to the crate's `not_supported`.

use crate::model::*;
use crate::names::{self, PerThread};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// What [`exports`] needs to know of the crate that includes its output.
pub struct ExportOptions<'a> {
    /// Functions that the crate implements, by their C names, each with the path of the Rust function.
    pub implemented: &'a BTreeMap<String, String>,
    /// Path of `fn(&'static str, impl FnOnce() -> T) -> T`: what stands between the C caller and every
    /// implementation, that is a panic's end, and what an API call does first and last.
    pub guard: &'a str,
    /// Path of `fn(&'static str) -> c_uint`: reports a function that is not supported; gives its error code.
    pub not_supported: &'a str,
    /// Path of `fn(*mut T) -> *mut T`: replaces the default stream by the calling thread's.
    pub per_thread_stream: &'a str,
    /// Path of `fn(impl FnOnce() -> T) -> T`: runs with the thread's own default stream as the default.
    pub with_per_thread_stream: &'a str,
}

/// Types and constants, to `include!` into a module of their own.
pub fn types(model: &Model) -> String {
    let mut out = String::new();
    for constant in &model.constants {
        let ty = if constant.is_signed { "i32" } else { "u32" };
        line(&mut out, format_args!("pub const {}: {ty} = {};", constant.name, constant.value));
    }
    let mut seen = BTreeSet::new();
    for enumeration in &model.enumerations {
        let ty = if enumeration.is_signed { "i32" } else { "u32" };
        line(&mut out, format_args!("pub type {} = {ty};", enumeration.name));
        for (name, value) in &enumeration.enumerators {
            if seen.insert(name) {
                line(&mut out, format_args!("pub const {name}: {ty} = {value};"));
            }
        }
    }
    for typedef in &model.typedefs {
        line(&mut out, format_args!("pub type {} = {};", typedef.name, rust_type(&typedef.ty)));
    }
    for record in &model.records {
        write_record(&mut out, record);
    }
    out
}

fn write_record(out: &mut String, record: &Record) {
    let keyword = match record.kind {
        RecordKind::Struct => "struct",
        RecordKind::Union => "union",
    };
    let align = record.align.map(|align| format!(", align({align})")).unwrap_or_default();
    line(out, format_args!("#[repr(C{align})]\n#[derive(Clone, Copy)]"));
    line(out, format_args!("pub {keyword} {} {{", record.name));
    if record.is_opaque() {
        line(out, format_args!("    _opaque: [u8; 0],"));
    }
    for field in &record.fields {
        line(out, format_args!("    pub {}: {},", field.name, rust_type(&field.ty)));
    }
    line(out, format_args!("}}"));
}

/// The exported functions of the library, to `include!` where the types of [`types`] are in scope.
pub fn exports(model: &Model, options: &ExportOptions) -> String {
    let mut out = String::new();
    for function in &model.functions {
        write_export(&mut out, function, options);
    }
    for name in plain_names_only_old(model) {
        // The oldest form of a function that today's headers rename; its signature is not in the
        // bindings, and C's calling convention does not need it for a refusal.
        line(
            &mut out,
            format_args!("#[unsafe(no_mangle)]\npub extern \"C\" fn {name}() -> u32 {{"),
        );
        line(&mut out, format_args!("    {}({name:?})\n}}", options.not_supported));
    }
    out
}

/// Plain names that the bindings lack since headers rename them; the library has the symbol all the same.
fn plain_names_only_old(model: &Model) -> Vec<String> {
    let plain: BTreeSet<&str> = model
        .functions
        .iter()
        .filter_map(|function| Some(names::split_version(&function.name)?.0))
        .filter(|plain| model.function(plain).is_none())
        .collect();
    plain.into_iter().map(str::to_owned).collect()
}

/// Functions that call the library of `model`, each found at its first call, with the per-thread variants.
/// `resolve` is the path of `fn(&AtomicPtr<c_void>, &CStr) -> Result<*mut c_void, c_uint>`, whose
/// error such a function returns.
pub fn client(model: &Model, resolve: &str) -> String {
    let mut out = String::new();
    for function in &model.functions {
        let Some(Type::Named(result)) = &function.signature.result else { continue };
        if !is_status(result) {
            continue;
        }
        let variant = names::per_thread(function).map_or("", PerThread::suffix);
        let symbols = [function.name.clone(), format!("{}{variant}", function.name)];
        let count = if variant.is_empty() { 1 } else { 2 };
        for symbol in &symbols[..count] {
            let signature = head(&function.signature, "");
            line(&mut out, format_args!("pub unsafe fn {symbol}{signature} {{"));
            line(
                &mut out,
                format_args!(
                    "    static SLOT: ::core::sync::atomic::AtomicPtr<::core::ffi::c_void> =\n        \
                     ::core::sync::atomic::AtomicPtr::new(::core::ptr::null_mut());"
                ),
            );
            line(&mut out, format_args!("    match {resolve}(&SLOT, c{symbol:?}) {{"));
            line(&mut out, format_args!("        // SAFETY: the symbol has this type."));
            line(
                &mut out,
                format_args!(
                    "        Ok(address) => unsafe {{\n            ::core::mem::transmute::<_, unsafe \
                     extern \"C\" fn{signature}>(address)({})\n        }},",
                    arguments(function).join(", ")
                ),
            );
            line(&mut out, format_args!("        Err(code) => code,\n    }}\n}}"));
        }
    }
    out
}

/// Every symbol that [`exports`] defines, with the per-thread variants.
pub fn exported_names(model: &Model) -> Vec<String> {
    let mut all = plain_names_only_old(model);
    for function in &model.functions {
        all.push(function.name.clone());
        if let Some(variant) = names::per_thread(function) {
            all.push(format!("{}{}", function.name, variant.suffix()));
        }
    }
    all.sort();
    all
}

/// `pub static NAME: &[(&str, Address)]`, sorted by symbol; `Address` is `*const c_void`
/// in a wrapper that is `Sync`, whose path the caller gives.
pub fn address_table(model: &Model, table: &str, address: &str) -> String {
    let mut out = String::new();
    line(&mut out, format_args!("pub static {table}: &[(&str, {address})] = &["));
    for name in exported_names(model) {
        line(
            &mut out,
            format_args!("    ({name:?}, {address}({name} as *const ::core::ffi::c_void)),"),
        );
    }
    line(&mut out, format_args!("];"));
    out
}

/// `pub static NAME: &[(&str, u32, &str, Option<&str>)]`: plain name, first CUDA version, symbol, and
/// the symbol of its per-thread variant, for `cuGetProcAddress`. See [`names::entries`].
pub fn entry_table(
    source: &crate::Source,
    model: &Model,
    table: &str,
) -> Result<String, crate::SourceError> {
    let mut out = String::new();
    line(&mut out, format_args!("pub static {table}: &[(&str, u32, &str, Option<&str>)] = &["));
    for names::Entry { plain, since, symbol } in names::entries(source)? {
        // What only CUDA 11 had is not exported.
        let Some(function) = model.function(&symbol) else { continue };
        let variant =
            names::per_thread(function).map(|variant| format!("{symbol}{}", variant.suffix()));
        line(&mut out, format_args!("    ({plain:?}, {since}, {symbol:?}, {variant:?}),"));
    }
    line(&mut out, format_args!("];"));
    Ok(out)
}

fn write_export(out: &mut String, function: &Function, options: &ExportOptions) {
    let name = &function.name;
    let variant = names::per_thread(function);
    match options.implemented.get(name) {
        Some(path) => {
            let arguments = arguments(function);
            let call = format!("{path}({})", arguments.join(", "));
            write_guarded(out, name, function, &call, options);
            match variant {
                None => {}
                Some(PerThread::Parameter(at)) => {
                    let mut mapped = arguments.clone();
                    mapped[at] = format!("{}({})", options.per_thread_stream, arguments[at]);
                    let call = format!("{path}({})", mapped.join(", "));
                    write_guarded(out, &format!("{name}_ptsz"), function, &call, options);
                }
                Some(PerThread::Elsewhere | PerThread::Implied) => {
                    let call = format!("{}(|| {call})", options.with_per_thread_stream);
                    let symbol = format!("{name}{}", variant.map_or("", PerThread::suffix));
                    write_guarded(out, &symbol, function, &call, options);
                }
            }
        }
        None => {
            write_refusal(out, name, function, options);
            if let Some(variant) = variant {
                write_refusal(out, &format!("{name}{}", variant.suffix()), function, options);
            }
        }
    }
}

fn write_guarded(out: &mut String, symbol: &str, f: &Function, call: &str, o: &ExportOptions) {
    line(out, format_args!("#[unsafe(no_mangle)]"));
    line(out, format_args!("pub unsafe extern \"C\" fn {symbol}{} {{", head(&f.signature, "")));
    line(out, format_args!("    // SAFETY: the caller keeps the C function's contract."));
    line(out, format_args!("    {}({symbol:?}, || unsafe {{ {call} }})\n}}", o.guard));
}

fn write_refusal(out: &mut String, symbol: &str, function: &Function, options: &ExportOptions) {
    line(out, format_args!("#[unsafe(no_mangle)]"));
    let head = head(&function.signature, "_");
    line(out, format_args!("pub unsafe extern \"C\" fn {symbol}{head} {{"));
    match &function.signature.result {
        None => line(out, format_args!("    {}({symbol:?});\n}}", options.not_supported)),
        Some(Type::Named(name)) if is_status(name) => {
            line(out, format_args!("    {}({symbol:?})\n}}", options.not_supported))
        }
        Some(_) => {
            // A function that answers with a value has no way to refuse but an all-zero value.
            line(out, format_args!("    {}({symbol:?});", options.not_supported));
            line(out, format_args!("    // SAFETY: results of the API are integers, pointers and"));
            line(out, format_args!("    // structures of them, for which zero is a value."));
            line(out, format_args!("    unsafe {{ ::core::mem::zeroed() }}\n}}"));
        }
    }
}

/// Whether a result type is the API's error code.
fn is_status(name: &str) -> bool {
    ["cudaError_t", "cudaError", "CUresult", "cudaError_enum"].contains(&name)
}

fn arguments(function: &Function) -> Vec<String> {
    (0..function.signature.parameters.len()).map(|at| parameter_name(function, at)).collect()
}

fn parameter_name(function: &Function, at: usize) -> String {
    let name = &function.signature.parameters[at].name;
    if name.is_empty() { format!("arg{at}") } else { name.clone() }
}

fn head(signature: &Signature, prefix: &str) -> String {
    let parameters: Vec<String> = signature
        .parameters
        .iter()
        .enumerate()
        .map(|(at, parameter)| {
            let name = match parameter.name.as_str() {
                "" => format!("arg{at}"),
                name => name.to_owned(),
            };
            format!("{prefix}{name}: {}", rust_type(&parameter.ty))
        })
        .collect();
    let result =
        signature.result.as_ref().map(|ty| format!(" -> {}", rust_type(ty))).unwrap_or_default();
    format!("({}){result}", parameters.join(", "))
}

/// The Rust spelling of a type.
pub fn rust_type(ty: &Type) -> String {
    match ty {
        Type::Scalar(scalar) => match scalar {
            Scalar::Void => "::core::ffi::c_void",
            Scalar::Char => "::core::ffi::c_char",
            Scalar::UChar => "::core::ffi::c_uchar",
            Scalar::UShort => "::core::ffi::c_ushort",
            Scalar::Int => "::core::ffi::c_int",
            Scalar::UInt => "::core::ffi::c_uint",
            Scalar::Long => "::core::ffi::c_long",
            Scalar::LongLong => "::core::ffi::c_longlong",
            Scalar::ULongLong => "::core::ffi::c_ulonglong",
            Scalar::Size => "usize",
            Scalar::U8 => "u8",
            Scalar::U32 => "u32",
            Scalar::U64 => "u64",
            Scalar::I32 => "i32",
            Scalar::Float => "f32",
            Scalar::Double => "f64",
        }
        .to_owned(),
        Type::Named(name) => name.clone(),
        Type::Pointer { pointee, is_const } => {
            let mutability = if *is_const { "const" } else { "mut" };
            format!("*{mutability} {}", rust_type(pointee))
        }
        Type::Array(element, length) => format!("[{}; {length}]", rust_type(element)),
        Type::Callback(signature) => {
            format!("::core::option::Option<unsafe extern \"C\" fn{}>", head(signature, ""))
        }
    }
}

fn line(out: &mut String, text: std::fmt::Arguments) {
    // Writing to a `String` cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}
