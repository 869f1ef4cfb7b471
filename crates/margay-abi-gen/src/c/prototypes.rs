// SPDX-License-Identifier: MIT OR Apache-2.0
//! C's prototypes: plain names for numbered functions, per-thread variants, default arguments in C++.
//!
//! Limit: default arguments are the preprocessor's and so in no binding; they are listed here.

use super::declarator::{c_name, declare};
use super::line;
use crate::model::{Function, Model, Type};
use crate::names;
use std::collections::BTreeMap;

pub fn write(out: &mut String, model: &Model, convention: &str) {
    write_names(out, model);
    line(out, "#if defined(__cplusplus)\n#define MARGAY_DEFAULT(value) = value\nextern \"C\" {");
    line(out, "#else\n#define MARGAY_DEFAULT(value)\n#endif");
    for function in &model.functions {
        line(out, format_args!("{};", prototype(model, function, convention)));
    }
    line(out, "#if defined(__cplusplus)\n}\n#endif\n#undef MARGAY_DEFAULT");
}

/// The macros that make a plain name the symbol that a program of this version calls.
fn write_names(out: &mut String, model: &Model) {
    let renamed: BTreeMap<String, String> = names::renamed(model).into_iter().collect();
    let variant = |name: &str| {
        let function = model.function(name)?;
        Some(format!("{name}{}", names::per_thread(function)?.suffix()))
    };
    line(out, "#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || \\");
    line(out, "    defined(CUDART_API_PER_THREAD_DEFAULT_STREAM)");
    for (plain, numbered) in &renamed {
        let symbol = variant(numbered).unwrap_or_else(|| numbered.clone());
        line(out, format_args!("#define {plain} {symbol}"));
    }
    for function in &model.functions {
        if let Some(symbol) = variant(&function.name) {
            // A macro is not expanded within itself, so both forms of the name reach the variant.
            line(out, format_args!("#define {} {symbol}", function.name));
        }
    }
    line(out, "#else");
    for (plain, numbered) in &renamed {
        line(out, format_args!("#define {plain} {numbered}"));
    }
    line(out, "#endif");
}

fn prototype(model: &Model, function: &Function, convention: &str) -> String {
    let parameters: Vec<String> = function
        .signature
        .parameters
        .iter()
        .map(|parameter| {
            let declaration = declare(model, &parameter.ty, c_name(&parameter.name));
            match default_argument(function, &parameter.name, &parameter.ty) {
                Some(value) => format!("{declaration} MARGAY_DEFAULT({value})"),
                None => declaration,
            }
        })
        .collect();
    let parameters = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
    let declarator = format!("{convention} {}({parameters})", function.name);
    match &function.signature.result {
        Some(result) => declare(model, result, &declarator),
        None => format!("void {declarator}"),
    }
}

/// Default arguments other than a last `stream`, as (functions, parameter, value).
const DEFAULTS: &[(&[&str], &str, &str)] = &[
    (&["cudaMallocManaged"], "flags", "cudaMemAttachGlobal"),
    (&["cudaStreamAttachMemAsync"], "length", "0"),
    (&["cudaStreamAttachMemAsync"], "flags", "cudaMemAttachSingle"),
    (&["cudaStreamWaitEvent", "cudaGraphInstantiate"], "flags", "0"),
    (&["cudaMallocArray", "cudaMalloc3DArray", "cudaMallocMipmappedArray"], "flags", "0"),
    (&["cudaMallocArray"], "height", "0"),
    (&["cudaMemcpyToSymbol", "cudaMemcpyFromSymbol"], "offset", "0"),
    (&["cudaMemcpyToSymbol"], "kind", "cudaMemcpyHostToDevice"),
    (&["cudaMemcpyFromSymbol"], "kind", "cudaMemcpyDeviceToHost"),
    (&["cudaMemcpyArrayToArray", "cudaMemcpy2DArrayToArray"], "kind", "cudaMemcpyDeviceToDevice"),
    (&["cudaEventRecordWithFlags"], "flags", "0"),
    (&["cudaGetDriverEntryPoint", "cudaGetDriverEntryPointByVersion"], "driverStatus", "NULL"),
];

fn default_argument(function: &Function, parameter: &str, ty: &Type) -> Option<&'static str> {
    let name = function.name.as_str();
    let is_stream = matches!(ty, Type::Named(name) if name == "cudaStream_t");
    if is_stream && has_default_stream(function, parameter) {
        return Some("0");
    }
    DEFAULTS
        .iter()
        .find(|(functions, of, _)| *of == parameter && functions.contains(&name))
        .map(|(_, _, value)| *value)
}

/// Copies, sets, events, graphics and external semaphores: a stream that may be left out.
fn has_default_stream(function: &Function, parameter: &str) -> bool {
    let name = function.name.as_str();
    let has_one = ["cudaMemcpy", "cudaMemset", "cudaMemPrefetchAsync", "cudaEventRecord"]
        .iter()
        .chain(&["cudaGraphicsMap", "cudaGraphicsUnmap", "cudaSignalExternal", "cudaWaitExternal"])
        .any(|prefix| name.starts_with(prefix));
    let is_last = function.signature.parameters.last().is_some_and(|last| last.name == parameter);
    has_one && !name.contains("Batch") && (is_last || name == "cudaEventRecordWithFlags")
}
