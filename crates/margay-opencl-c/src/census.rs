// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every function that clang's own header declares for these devices is there: each prototype is called, and nothing
//! but libdevice's functions, which the engine has, stays without a body.

use std::collections::BTreeSet;

use crate::clang::Clang;
use crate::compile::{language, target};
use crate::library;
use crate::options::Standard;

const SM: u32 = 90;

struct Prototype<'a> {
    result: &'a str,
    name: &'a str,
    parameters: Vec<String>,
}

/// The prototypes of the preprocessed header that are for devices without depth images, multi-sample images, pipes and
/// queues of their own, as CL_DEVICE_EXTENSIONS and CL_DEVICE_OPENCL_C_FEATURES say.
fn prototypes(header: &str) -> Vec<Prototype<'_>> {
    let statements =
        header.split(';').filter_map(|s| s.split_once("__attribute__((overloadable))"));
    let mut out = Vec::new();
    for (before, mut rest) in statements {
        while let Some(after) = rest.trim_start().strip_prefix("__attribute__((") {
            rest = after.split_once("))").map_or("", |(_, rest)| rest);
        }
        let result = before.rsplit(['\n', '}']).next().unwrap_or(before).trim();
        let Some((name, parameters)) = rest.trim().split_once('(') else { continue };
        let parameters = parameters.trim_end().trim_end_matches(')').replace('\n', " ");
        if ["...", "depth_t", "msaa", "pipe", "queue_t"]
            .iter()
            .any(|none| parameters.contains(none))
        {
            continue;
        }
        let parameters: Vec<String> = match parameters.trim() {
            "" | "void" => Vec::new(),
            list => list.split(',').map(|p| unnamed(p.trim()).to_owned()).collect(),
        };
        out.push(Prototype { result, name: name.trim(), parameters });
    }
    out
}

/// A parameter without its name.
fn unnamed(parameter: &str) -> &str {
    let last = parameter.rsplit([' ', '*']).next().unwrap_or("");
    let bare = last.trim_end_matches(|c: char| c.is_ascii_digit());
    let types = [
        "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "half", "float",
        "double", "size_t", "bool", "void", "const", "restrict", "volatile",
    ];
    let is_type = last.is_empty()
        || types.contains(&bare)
        || bare.ends_with("_t")
        || bare.starts_with("memory_")
        || bare.starts_with("atomic_")
        || bare == "cl_mem_fence_flags";
    if is_type { parameter } else { parameter[..parameter.len() - last.len()].trim_end() }
}

/// Runs clang; its standard output.
fn clang(clang: &Clang, args: &[String], input: &str) -> String {
    let output = clang.run(args, input.as_bytes()).expect("clang starts");
    assert!(output.success, "{}", output.log);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The functions of an IR text whose lines begin so.
fn functions<'a>(ir: &'a str, kind: &str) -> BTreeSet<&'a str> {
    let lines = ir.lines().filter(|line| line.starts_with(kind));
    let name = |line: &'a str| line.split_once('@')?.1.split_once('(').map(|(name, _)| name);
    lines.filter_map(name).filter(|n| !n.starts_with("llvm.") && !n.starts_with("__nv_")).collect()
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn every_function_of_the_specification_has_a_body() {
    let Ok(found) = Clang::find() else {
        eprintln!("skipped: every_function_of_the_specification_has_a_body: no clang with libclc");
        return;
    };
    for (standard, least) in [(Standard::Cl12, 10_000), (Standard::Cl30, 11_000)] {
        let common = [language(standard), target(found, SM), words(&["-Wno-everything"])].concat();
        let preprocess = words(&["-include", "opencl-c.h", "-E", "-P", "-"]);
        let header = clang(found, &[&common[..], &preprocess].concat(), "");
        let all = prototypes(&header);
        assert!(all.len() > least, "only {} prototypes", all.len());
        let mut calls = "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n".to_owned();
        for (i, Prototype { result, name, parameters }) in all.iter().enumerate() {
            let declared: Vec<String> =
                parameters.iter().enumerate().map(|(k, p)| format!("{p} a{k}")).collect();
            let given: Vec<String> = (0..parameters.len()).map(|k| format!("a{k}")).collect();
            let back = if *result == "void" { "" } else { "return " };
            calls += &format!(
                "{result} call{i}({}) {{ {back}{name}({}); }}\n",
                declared.join(", "),
                given.join(", ")
            );
        }
        let emit = words(&["-O0", "-S", "-emit-llvm", "-o", "-", "-"]);
        let ir = clang(found, &[&common[..], &emit].concat(), &calls);
        let mut link = [words(&["-x", "ir", "-Wno-everything"]), target(found, SM)].concat();
        for file in library::files(found, SM).expect("the library compiles") {
            for word in ["-mlink-builtin-bitcode", &file.display().to_string()] {
                link.extend(words(&["-Xclang", word]));
            }
        }
        let linked = clang(found, &[&link[..], &emit].concat(), &ir);
        let missing = functions(&linked, "declare ");
        assert!(missing.is_empty(), "{}: {missing:?}", standard.name());
    }
}

/// Each file of the library calls only what comes after it, for that is the order in which they are linked.
#[test]
fn the_librarys_files_stand_in_the_order_of_their_calls() {
    let Ok(found) = Clang::find() else {
        eprintln!(
            "skipped: the_librarys_files_stand_in_the_order_of_their_calls: no clang with libclc"
        );
        return;
    };
    let files = library::files(found, SM).expect("the library compiles");
    // No pass, or what nothing calls would go.
    let read = "-Wno-everything -O0 -Xclang -disable-llvm-passes -S -emit-llvm -o -";
    let read: Vec<&str> = read.split(' ').collect();
    let text = |file: &std::path::PathBuf| {
        let file = file.display().to_string();
        let args = [words(&["-x", "ir"]), target(found, SM), words(&read), vec![file]].concat();
        clang(found, &args, "")
    };
    let mut below = BTreeSet::new();
    for file in files.iter().rev() {
        let ir = text(file);
        let open: Vec<_> =
            functions(&ir, "declare ").into_iter().filter(|f| !below.contains(*f)).collect();
        assert!(open.is_empty(), "{}: {open:?}", file.display());
        below.extend(functions(&ir, "define ").into_iter().map(str::to_owned));
    }
}
