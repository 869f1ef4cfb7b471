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

/// `-Xptxas -dlcm` and `-dscm`: gives loads and stores of global and generic addresses a cache operator,
/// where they have none and are plain ones.
pub fn with_caching(ptx: &str, load: Option<&str>, store: Option<&str>) -> String {
    let mut out = String::with_capacity(ptx.len() + 256);
    for line in ptx.split_inclusive('\n') {
        let body = line.trim_start();
        // Behind a guard (`@%p1 st.global…`).
        let body = match body.strip_prefix('@') {
            Some(guarded) => guarded.split_once(char::is_whitespace).map_or("", |(_, rest)| rest),
            None => body,
        }
        .trim_start();
        let (opcode, _) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
        match cached(opcode, load, store) {
            Some(new) => {
                let at = line.len() - body.len();
                out.push_str(&line[..at]);
                out.push_str(&new);
                out.push_str(&body[opcode.len()..]);
            }
            None => out.push_str(line),
        }
    }
    out
}

/// The opcode with its cache operator; `None` if it takes none.
fn cached(opcode: &str, load: Option<&str>, store: Option<&str>) -> Option<String> {
    let mut parts: Vec<&str> = opcode.split('.').collect();
    let kind = match parts[0] {
        "ld" => load?,
        "st" => store?,
        _ => return None,
    };
    // Anything else (another space, .nc, .volatile, .relaxed, .cg …) has its own way.
    let at = if parts.get(1) == Some(&"global") { 2 } else { 1 };
    let is_type = |p: &str| p.starts_with(['u', 's', 'b', 'f']) && p[1..].parse::<u32>().is_ok();
    let plain = match parts.get(at..)? {
        [last] => is_type(last),
        [vector, last] => matches!(*vector, "v2" | "v4") && is_type(last),
        _ => false,
    };
    if !plain {
        return None;
    }
    parts.insert(at, kind);
    Some(parts.join("."))
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
    fn plain_loads_and_stores_get_a_cache_operator() {
        let ptx = "\tld.global.f32 \t%f1, [%rd1];\n\t@%p1 ld.v4.u32 {%r1}, [%rd1];\n\tst.global.v2.f64 [%rd2], {};\n\
                   \tld.param.u64 %rd1, [p];\n\tld.global.nc.f32 %f1, [%rd1];\n\tld.volatile.global.u32 %r1, [%rd1];\n\
                   \tst.shared.u32 [s], %r1;\n\tld.global.cs.f32 %f1, [%rd1];\n";
        let both = with_caching(ptx, Some("cg"), Some("wt"));
        let wanted = ptx
            .replace("ld.global.f32", "ld.global.cg.f32")
            .replace("ld.v4.u32", "ld.cg.v4.u32")
            .replace("st.global.v2.f64", "st.global.wt.v2.f64");
        assert_eq!(both, wanted);
        assert_eq!(with_caching(ptx, None, None), ptx);
    }

    #[test]
    fn a_mark_without_a_place_is_an_error() {
        let marks = Marks { managed: vec!["y".into()], ..Marks::default() };
        assert!(apply(".visible .global .align 4 .u32 x;\n", &marks, None).is_err());
    }
}
