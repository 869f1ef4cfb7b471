// SPDX-License-Identifier: MIT OR Apache-2.0
//! Directives that clang's back end cannot write, added to its PTX: `.attribute(.managed)`,
//! `.reqnctapercluster` and `.maxnreg`.
//!
//! clang drops `section` and `annotate` attributes on the way to PTX but keeps them in LLVM IR; there
//! [`Marks::from_ir`] reads them. Invariant: a mark that finds no place in the PTX is an error.

use std::collections::BTreeMap;

/// What the sources ask for beyond clang's PTX.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    pub managed: Vec<String>,
    /// Kernel name to its three cluster dimensions.
    pub clusters: BTreeMap<String, [u32; 3]>,
    /// Kernel name to its register limit.
    pub registers: BTreeMap<String, u32>,
}

impl Marks {
    /// The words in a source that make the IR worth reading.
    pub fn possible_in(source: &str) -> bool {
        ["__managed__", "__cluster_dims__", "__maxnreg__"].iter().any(|w| source.contains(w))
    }

    /// Reads the marks out of textual LLVM IR.
    pub fn from_ir(ir: &str) -> Marks {
        let mut marks = Marks::default();
        let mut strings = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        let mut annotations = "";
        for line in ir.lines() {
            let Some((name, rest)) = line.strip_prefix('@').and_then(|l| l.split_once(" = "))
            else {
                continue;
            };
            if name == "llvm.global.annotations" {
                annotations = rest;
            } else if rest.contains("section \"margay_managed\"") {
                if !rest.contains("external ") {
                    marks.managed.push(name.trim_matches('"').to_string());
                }
            } else if let Some(text) = between(rest, "c\"margay.", "\\00\"") {
                strings.insert(name, text);
            } else if rest.contains("section \"llvm.metadata\"") {
                // `constant { i32, i32 } { i32 2, i32 1 }`
                if let Some(list) = rest.split("} {").nth(1).and_then(|l| l.split('}').next()) {
                    let values: Vec<u32> = list
                        .split(',')
                        .filter_map(|v| v.trim().strip_prefix("i32 ")?.parse().ok())
                        .collect();
                    numbers.insert(name, values);
                }
            }
        }
        // `{ ptr @kernel, ptr @.str, ptr @.file, i32 2, ptr @.args }`
        for entry in annotations.split("{ ptr @").skip(1) {
            let mut fields = entry.split(", ");
            let kernel = fields.next().unwrap_or_default().trim_matches('"').to_string();
            let global = |field: Option<&str>| {
                let name = field?.strip_prefix("ptr @")?;
                Some(name.split([' ', '}', ']']).next().unwrap_or(name).to_string())
            };
            let (Some(text), args) = (global(fields.next()), global(fields.nth(2))) else {
                continue;
            };
            let values = args.and_then(|a| numbers.get(a.as_str())).cloned().unwrap_or_default();
            match strings.get(text.as_str()).copied() {
                Some("cluster_dims") => {
                    let at = |i: usize| values.get(i).copied().unwrap_or(1);
                    marks.clusters.insert(kernel, [at(0), at(1), at(2)]);
                }
                Some("maxnreg") => {
                    marks.registers.insert(kernel, values.first().copied().unwrap_or(0));
                }
                Some(_) | None => {}
            }
        }
        marks
    }

    fn is_empty(&self) -> bool {
        self.managed.is_empty() && self.clusters.is_empty() && self.registers.is_empty()
    }
}

/// Writes the marks into the PTX; `all_registers` is `-maxrregcount`, for kernels without their own.
pub fn apply(ptx: &str, marks: &Marks, all_registers: Option<u32>) -> Result<String, String> {
    if marks.is_empty() && all_registers.is_none() {
        return Ok(ptx.to_string());
    }
    let mut out = String::with_capacity(ptx.len() + 256);
    let mut managed: Vec<&str> = marks.managed.iter().map(String::as_str).collect();
    let mut clusters: Vec<&String> = marks.clusters.keys().collect();
    // The kernel whose header we are in, until its `{`.
    let mut header: Option<String> = None;
    for line in ptx.lines() {
        if line.trim_start() != line || line.starts_with("//") {
            out.push_str(line);
        } else if let Some(name) =
            line.strip_prefix(".visible .entry ").or(line.strip_prefix(".entry "))
            && let Some(name) = name.split('(').next()
        {
            header = Some(name.trim().to_string());
            out.push_str(line);
        } else if let Some(kernel) = header.take_if(|_| line.starts_with(['{', ';'])) {
            if line.starts_with('{') {
                if let Some([x, y, z]) = marks.clusters.get(&kernel) {
                    out.push_str(&format!(".reqnctapercluster {x}, {y}, {z}\n"));
                    clusters.retain(|k| **k != kernel);
                }
                if let Some(limit) = marks.registers.get(&kernel).copied().or(all_registers) {
                    out.push_str(&format!(".maxnreg {limit}\n"));
                }
            }
            out.push_str(line);
        } else if let Some(position) = managed.iter().position(|name| declares(line, name)) {
            managed.remove(position);
            out.push_str(&line.replacen(".global ", ".global .attribute(.managed) ", 1));
        } else {
            out.push_str(line);
        }
        out.push('\n');
    }
    match (managed.first(), clusters.first()) {
        (Some(name), _) => Err(format!("the PTX does not define the managed variable `{name}`")),
        (None, Some(name)) => Err(format!("the PTX does not define the kernel `{name}`")),
        (None, None) => Ok(out),
    }
}

/// `.visible .global .align 4 .u32 x = 5;` declares `x`.
fn declares(line: &str, name: &str) -> bool {
    if !line.contains(".global ") {
        return false;
    }
    let declarator = line.split('=').next().unwrap_or(line).trim_end_matches(';').trim_end();
    let last = declarator.rsplit(' ').next().unwrap_or(declarator);
    last.split('[').next() == Some(name)
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    text.split_once(start)?.1.split_once(end).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IR: &str = r#"
@x = dso_local addrspace(1) externally_initialized global i32 5, section "margay_managed", align 4
@_ZL3arr = dso_local addrspace(1) externally_initialized global [3 x float] zeroinitializer, section "margay_managed", align 4
@.str = private unnamed_addr constant [20 x i8] c"margay.cluster_dims\00", section "llvm.metadata"
@.args = private unnamed_addr constant { i32, i32 } { i32 2, i32 1 }, section "llvm.metadata"
@.str2 = private unnamed_addr constant [15 x i8] c"margay.maxnreg\00", section "llvm.metadata"
@.args3 = private unnamed_addr constant { i32 } { i32 64 }, section "llvm.metadata"
@llvm.global.annotations = appending global [2 x { ptr, ptr, ptr, i32, ptr }] [{ ptr, ptr, ptr, i32, ptr } { ptr @_Z1kv, ptr @.str, ptr @.str1, i32 2, ptr @.args }, { ptr, ptr, ptr, i32, ptr } { ptr @_Z2k2v, ptr @.str2, ptr @.str1, i32 3, ptr @.args3 }], section "llvm.metadata"
"#;

    #[test]
    fn marks_travel_from_ir_to_ptx() {
        let marks = Marks::from_ir(IR);
        assert_eq!(marks.managed, ["x", "_ZL3arr"]);
        assert_eq!(marks.clusters["_Z1kv"], [2, 1, 1]);
        assert_eq!(marks.registers["_Z2k2v"], 64);
        let ptx = ".visible .global .align 4 .u32 x = 5;\n.global .align 4 .b8 _ZL3arr[12];\n\
                   .visible .entry _Z1kv()\n{\n ret;\n}\n.visible .entry _Z2k2v(\n .param .u32 p\n)\n{\n}\n";
        let got = apply(ptx, &marks, Some(32)).unwrap();
        assert!(got.contains(".visible .global .attribute(.managed) .align 4 .u32 x = 5;\n"));
        assert!(got.contains("_Z1kv()\n.reqnctapercluster 2, 1, 1\n.maxnreg 32\n{\n"));
        assert!(got.contains(")\n.maxnreg 64\n{\n"));
    }

    #[test]
    fn a_mark_without_a_place_is_an_error() {
        let marks = Marks { managed: vec!["y".into()], ..Marks::default() };
        assert!(apply(".visible .global .align 4 .u32 x;\n", &marks, None).is_err());
    }
}
