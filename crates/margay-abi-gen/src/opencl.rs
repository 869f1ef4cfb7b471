// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL's exports and the dispatch table that the ICD loader calls through, from the `opencl-sys` crate's
//! function types and its copy of `cl_icd.h`.
//!
//! How an implementation looks follows from the C signature: where the last parameter is `errcode_ret`, the
//! Rust function lacks it and returns `Result<T, cl_int>`; where the result is `cl_int`, it returns
//! `Result<(), cl_int>`; else it returns what C returns.
//!
//! Invariant: the table has every field of `cl_icd.h` in its order, and none is null: a function that is not
//! implemented refuses.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use syn::{GenericArgument, Item, PathArguments, ReturnType, Type};

use crate::SourceError;

/// A C function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Names and Rust types.
    pub parameters: Vec<(String, String)>,
    /// `None` for void.
    pub result: Option<String>,
}

impl Function {
    /// Whether the error comes back through the last parameter.
    fn has_errcode(&self) -> bool {
        self.parameters.last().is_some_and(|(name, _)| name == "errcode_ret")
    }
}

/// The functions of OpenCL.
#[derive(Clone, Debug, Default)]
pub struct Api {
    /// In the order of the dispatch table.
    pub dispatch: Vec<Function>,
    /// Fields of the table that hold no function yet.
    pub reserved: Vec<String>,
    /// Extension functions that are asked for by name.
    pub extensions: Vec<Function>,
}

/// How exports reach the code behind them; paths of Rust functions.
pub struct ExportOptions<'a> {
    /// Implemented functions and their paths.
    pub implemented: &'a BTreeMap<String, String>,
    /// `fn(&'static str, impl FnOnce() -> Result<(), cl_int>) -> cl_int`.
    pub guard: &'a str,
    /// `unsafe fn(&'static str, *mut cl_int, impl FnOnce() -> Result<T, cl_int>) -> T`.
    pub creates: &'a str,
    /// `fn(&'static str, impl FnOnce() -> T) -> T`.
    pub plain: &'a str,
    /// `fn(&'static str) -> cl_int`: the answer of what is not implemented.
    pub refused: &'a str,
}

/// Reads the bindings; `extensions` are functions of `cl_ext.h` that are exported too.
pub fn api(extensions: &[&str]) -> Result<Api, SourceError> {
    let root = Path::new(env!("MARGAY_OPENCL_SYS_ROOT")).join("src");
    let read = |name: &str| {
        let path = root.join(name);
        std::fs::read_to_string(&path)
            .map_err(|cause| SourceError::Read { path: path.display().to_string(), cause })
    };
    let mut types = function_types(&read("cl_function_types.rs")?)?;
    let more = ["cl_ext.rs", "cl_gl.rs", "cl_egl.rs", "cl_d3d10.rs", "cl_d3d11.rs"];
    for file in more.into_iter().chain(["cl_dx9_media_sharing.rs"]) {
        types.extend(function_types(&read(file)?)?);
    }
    let icd = syn::parse_file(&read("cl_icd.rs")?)?;
    let table = icd.items.iter().find_map(|item| match item {
        Item::Struct(s) if s.ident == "_cl_icd_dispatch" => Some(s),
        _ => None,
    });
    let missing = |what: &str| {
        let text = format!("opencl-sys does not declare {what}");
        SourceError::Parse(syn::Error::new(proc_macro2::Span::call_site(), text))
    };
    let table = table.ok_or_else(|| missing("_cl_icd_dispatch"))?;
    let find = |name: &str| types.get(name).cloned().ok_or_else(|| missing(name));
    let fields = table.fields.iter().filter(|f| !f.attrs.iter().any(needs_feature));
    let mut dispatch = Vec::new();
    let mut reserved = Vec::new();
    for field in fields {
        let Some(name) = field.ident.as_ref().map(ToString::to_string) else { continue };
        match text_of(&field.ty).as_str() {
            "intptr_t" => reserved.push(name),
            _ => dispatch.push(find(&name)?),
        }
    }
    let extensions = extensions.iter().map(|name| find(name)).collect::<Result<_, _>>()?;
    Ok(Api { dispatch, reserved, extensions })
}

/// Whether an item is there only with a feature, of which we ask for none.
fn needs_feature(attribute: &syn::Attribute) -> bool {
    let condition = attribute.meta.require_list().ok().filter(|l| l.path.is_ident("cfg"));
    condition.is_some_and(|l| l.tokens.to_string().starts_with("feature"))
}

/// All `pub type NAME_t = Option<unsafe extern "C" fn(…) -> …>` of a file.
fn function_types(text: &str) -> Result<BTreeMap<String, Function>, SourceError> {
    let mut out = BTreeMap::new();
    for item in syn::parse_file(text)?.items {
        let Item::Type(alias) = item else { continue };
        let name = alias.ident.to_string();
        let (Some(name), Some(bare)) = (name.strip_suffix("_t"), bare_function(&alias.ty)) else {
            continue;
        };
        let parameters = bare.inputs.iter().enumerate().map(|(at, input)| {
            let name = input.name.as_ref().map_or(format!("arg{at}"), |(n, _)| n.to_string());
            (name, text_of(&input.ty))
        });
        let result = match &bare.output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => Some(text_of(ty)),
        };
        let parameters = parameters.collect();
        out.insert(name.to_owned(), Function { name: name.to_owned(), parameters, result });
    }
    Ok(out)
}

/// The function of `Option<fn…>`.
fn bare_function(ty: &Type) -> Option<&syn::TypeBareFn> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|s| s.ident == "Option")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(Type::BareFn(bare)) => Some(bare),
        _ => None,
    }
}

fn text_of(ty: &Type) -> String {
    use quote::ToTokens;
    ty.to_token_stream().to_string()
}

/// The exported C functions.
pub fn exports(api: &Api, options: &ExportOptions) -> String {
    let mut out = String::new();
    for function in api.dispatch.iter().chain(&api.extensions) {
        export(&mut out, function, options);
    }
    out
}

fn export(out: &mut String, function: &Function, options: &ExportOptions) {
    let Function { name, parameters, result } = function;
    let implemented = options.implemented.get(name);
    let hide = if implemented.is_some() { "" } else { "_" };
    let head: Vec<String> = parameters
        .iter()
        .map(|(p, ty)| format!("{}{p}: {ty}", if p == "errcode_ret" { "" } else { hide }))
        .collect();
    let ret = result.as_ref().map(|r| format!(" -> {r}")).unwrap_or_default();
    let names: Vec<&str> = parameters.iter().map(|(p, _)| p.as_str()).collect();
    let body = match (implemented, function.has_errcode(), result.as_deref()) {
        (Some(path), true, _) => {
            let passed = names[..names.len() - 1].join(", ");
            format!("unsafe {{ {}({name:?}, errcode_ret, || {path}({passed})) }}", options.creates)
        }
        (Some(path), false, Some("cl_int")) => {
            format!("{}({name:?}, || unsafe {{ {path}({}) }})", options.guard, names.join(", "))
        }
        (Some(path), false, _) => {
            format!("{}({name:?}, || unsafe {{ {path}({}) }})", options.plain, names.join(", "))
        }
        (None, true, _) => format!(
            "unsafe {{ {}({name:?}, errcode_ret, || Err::<*mut _, _>({}({name:?}))) }}",
            options.creates, options.refused
        ),
        (None, false, Some("cl_int")) => format!("{}({name:?})", options.refused),
        (None, false, Some(_)) => {
            format!("{}({name:?}); ::core::ptr::null_mut()", options.refused)
        }
        (None, false, None) => format!("{}({name:?});", options.refused),
    };
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        out,
        "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn {name}({}){ret} {{\n    \
         // SAFETY: the caller keeps the C function's contract.\n    {body}\n}}",
        head.join(", ")
    );
}

/// `pub static DISPATCH: cl_icd_dispatch`, and `pub static NAMES: &[(&str, Address)]` for
/// `clGetExtensionFunctionAddress`, sorted; `Address` is `*const c_void` in a wrapper that is `Sync`.
pub fn tables(api: &Api, address: &str) -> String {
    let mut out = String::from("pub static DISPATCH: cl_icd_dispatch = cl_icd_dispatch {\n");
    for function in &api.dispatch {
        let _ = writeln!(out, "    {0}: Some({0}),", function.name);
    }
    for name in &api.reserved {
        let _ = writeln!(out, "    {name}: 0,");
    }
    let _ = writeln!(out, "}};\npub static NAMES: &[(&str, {address})] = &[");
    let mut names: Vec<&str> =
        api.dispatch.iter().chain(&api.extensions).map(|f| f.name.as_str()).collect();
    names.sort_unstable();
    for name in names {
        let _ = writeln!(out, "    ({name:?}, {address}({name} as *const ::core::ffi::c_void)),");
    }
    out.push_str("];\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_that_of_the_khronos_header() {
        let api = api(&["clIcdGetPlatformIDsKHR"]).unwrap();
        let names: Vec<&str> = api.dispatch.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names[..3], ["clGetPlatformIDs", "clGetPlatformInfo", "clGetDeviceIDs"]);
        assert_eq!(names[65], "clGetExtensionFunctionAddress");
        assert!(names.contains(&"clSetContextDestructorCallback"));
        let create = api.dispatch.iter().find(|f| f.name == "clCreateBuffer").unwrap();
        assert!(create.has_errcode() && create.result.as_deref() == Some("cl_mem"));
        // Where the loader's own header is installed, the order is compared with it.
        if let Ok(header) = std::fs::read_to_string("/usr/include/CL/cl_icd.h") {
            let fields = header.lines().filter_map(|l| l.trim().strip_prefix("cl_api_"));
            let fields: Vec<&str> = fields
                .map(|l| l.split([' ', ';']).next().unwrap_or_default())
                .filter(|n| names.contains(n))
                .collect();
            // A newer table has more at its end.
            assert_eq!(fields, names[..fields.len()]);
            assert!(fields.len() > 140);
        }
    }
}
