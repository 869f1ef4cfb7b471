// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernels a program has and what their arguments are, from clang's metadata in LLVM IR text
//! (`-cl-kernel-arg-info`): one `!kernel_arg_…` list each on a kernel's `define` line.
//!
//! Limit: reads the text that clang 17 to 19 writes, not any LLVM IR.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// An argument's address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Space {
    Private,
    Global,
    Constant,
    Local,
}

/// A kernel's argument, in the words of the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    pub space: Space,
    /// `read_only`, `write_only`, `read_write` or `none`.
    pub access: String,
    pub type_name: String,
    /// With typedefs resolved.
    pub base_type: String,
    /// Of `const`, `restrict`, `volatile`, `pipe`.
    pub qualifiers: Vec<String>,
    pub name: String,
}

impl Argument {
    pub fn is_image(&self) -> bool {
        self.base_type.starts_with("image") && self.base_type.ends_with("_t")
    }

    pub fn is_sampler(&self) -> bool {
        self.base_type == "sampler_t"
    }
}

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    pub name: String,
    pub arguments: Vec<Argument>,
    /// `reqd_work_group_size`.
    pub required_size: Option<[u32; 3]>,
    /// `work_group_size_hint`.
    pub size_hint: Option<[u32; 3]>,
    /// As in the source, for `CL_KERNEL_ATTRIBUTES`.
    pub attributes: String,
}

/// The kernels of a module, in its order.
pub fn kernels(ir: &str) -> Vec<Kernel> {
    let mut nodes: HashMap<&str, &str> = HashMap::new();
    for line in ir.lines().filter(|l| l.starts_with('!')) {
        if let Some((id, node)) = line.split_once(" = ") {
            nodes.insert(id, node);
        }
    }
    let defines = ir.lines().filter(|l| l.starts_with("define ") && l.contains("!kernel_arg_"));
    let is_kernel = |l: &&str| l.contains("_kernel void @");
    let plain = ir.lines().filter(|l| l.starts_with("define ") && !l.contains("!kernel_arg_"));
    defines.chain(plain).filter(is_kernel).filter_map(|line| kernel(line, &nodes)).collect()
}

fn kernel(line: &str, nodes: &HashMap<&str, &str>) -> Option<Kernel> {
    let (_, rest) = line.split_once(" void @")?;
    let name = rest.split('(').next()?.trim_matches('"').to_owned();
    let list = |kind: &str| -> Vec<String> {
        let mark = format!("!{kind} ");
        let id = line.split_once(&mark).map(|(_, after)| after.split(' ').next().unwrap_or(""));
        id.and_then(|id| nodes.get(id)).map(|node| items(node)).unwrap_or_default()
    };
    let spaces = list("kernel_arg_addr_space");
    let (access, types) = (list("kernel_arg_access_qual"), list("kernel_arg_type"));
    let (bases, quals) = (list("kernel_arg_base_type"), list("kernel_arg_type_qual"));
    let names = list("kernel_arg_name");
    let at = |list: &[String], i: usize| list.get(i).cloned().unwrap_or_default();
    let arguments = spaces.iter().enumerate().map(|(i, space)| Argument {
        // SPIR's numbers.
        space: match space.as_str() {
            "1" => Space::Global,
            "2" => Space::Constant,
            "3" => Space::Local,
            _ => Space::Private,
        },
        access: at(&access, i),
        type_name: at(&types, i),
        base_type: at(&bases, i),
        qualifiers: at(&quals, i).split_whitespace().map(str::to_owned).collect(),
        name: at(&names, i),
    });
    let size = |kind: &str| -> Option<[u32; 3]> {
        let numbers: Vec<u32> = list(kind).iter().filter_map(|n| n.parse().ok()).collect();
        numbers.try_into().ok()
    };
    let required_size = size("reqd_work_group_size");
    let size_hint = size("work_group_size_hint");
    let mut attributes = Vec::new();
    if let Some([x, y, z]) = required_size {
        attributes.push(format!("reqd_work_group_size({x},{y},{z})"));
    }
    if let Some([x, y, z]) = size_hint {
        attributes.push(format!("work_group_size_hint({x},{y},{z})"));
    }
    if let Some(ty) = vector_hint(line, nodes) {
        attributes.push(format!("vec_type_hint({ty})"));
    }
    let arguments = arguments.collect();
    let attributes = attributes.join(" ");
    Some(Kernel { name, arguments, required_size, size_hint, attributes })
}

/// `!{<4 x float> undef, i32 0}` as `float4`; the number tells whether the type is signed.
fn vector_hint(line: &str, nodes: &HashMap<&str, &str>) -> Option<String> {
    let (_, after) = line.split_once("!vec_type_hint ")?;
    let node = nodes.get(after.split(' ').next()?)?;
    let body = node.strip_prefix("!{")?.strip_suffix('}')?;
    let (ty, signed) = body.rsplit_once(", i32 ")?;
    let ty = ty.trim_end_matches(" undef").trim_end_matches(" poison");
    let (count, element) = match ty.strip_prefix('<').and_then(|t| t.strip_suffix('>')) {
        Some(vector) => vector.split_once(" x ")?,
        None => ("", ty),
    };
    let unsigned = if signed == "0" { "u" } else { "" };
    let name = match element {
        "float" | "double" | "half" => element.to_owned(),
        "i8" => format!("{unsigned}char"),
        "i16" => format!("{unsigned}short"),
        "i32" => format!("{unsigned}int"),
        "i64" => format!("{unsigned}long"),
        _ => return None,
    };
    Some(format!("{name}{count}"))
}

/// The items of `!{i32 1, i32 3}` or `!{!"a", !"b, c"}`.
fn items(node: &str) -> Vec<String> {
    let body = node.trim_start_matches("distinct ").strip_prefix("!{");
    let Some(body) = body.and_then(|b| b.strip_suffix('}')) else { return Vec::new() };
    let mut out = Vec::new();
    let mut rest = body.trim();
    while !rest.is_empty() {
        if let Some(text) = rest.strip_prefix("!\"") {
            let end = text.find('"').unwrap_or(text.len());
            out.push(unescape(&text[..end]));
            rest = text.get(end + 1..).unwrap_or("");
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let item = rest[..end].trim();
            out.push(item.rsplit(' ').next().unwrap_or(item).to_owned());
            rest = &rest[end..];
        }
        rest = rest.trim_start_matches([',', ' ']);
    }
    out
}

/// LLVM writes a byte that is not printable, and quotes, as `\XX`.
fn unescape(text: &str) -> String {
    let mut out = Vec::new();
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let code = (bytes[i] == b'\\').then(|| text.get(i + 1..i + 3)).flatten();
        match code.and_then(|c| u8::from_str_radix(c, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                i += 3;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernels_metadata() {
        let ir = "define dso_local spir_kernel void @k(ptr addrspace(1) %0, i32 %1) #0 !dbg !9 \
                  !kernel_arg_addr_space !1 !kernel_arg_access_qual !2 !kernel_arg_type !3 \
                  !kernel_arg_base_type !4 !kernel_arg_type_qual !5 !kernel_arg_name !6 \
                  !reqd_work_group_size !7 {\n\
                  !1 = !{i32 1, i32 0}\n!2 = !{!\"none\", !\"none\"}\n!3 = !{!\"float*\", !\"myint\"}\n\
                  !4 = !{!\"float*\", !\"int\"}\n!5 = !{!\"const restrict\", !\"\"}\n\
                  !6 = !{!\"a\", !\"n\"}\n!7 = !{i32 8, i32 4, i32 1}\n";
        let [kernel] = &kernels(ir)[..] else { panic!("one kernel") };
        assert_eq!((kernel.name.as_str(), kernel.required_size), ("k", Some([8, 4, 1])));
        assert_eq!(kernel.attributes, "reqd_work_group_size(8,4,1)");
        let [a, n] = &kernel.arguments[..] else { panic!("two arguments") };
        assert_eq!((a.space, a.qualifiers.len()), (Space::Global, 2));
        assert_eq!((n.type_name.as_str(), n.base_type.as_str()), ("myint", "int"));
        assert_eq!((n.space, n.name.as_str()), (Space::Private, "n"));
    }
}
