// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that other kernels call, which OpenCL C allows ("Restrictions": "a kernel function can call another kernel")
//! and PTX does not: an `.entry` is no target of a `call`.
//!
//! Such a kernel becomes two: a function of another name with its body, which every call goes to, and a kernel of its own
//! name that does nothing but call it. Local variables of the body are variables of every kernel that reaches it, as the
//! specification lets an implementation have it.
//!
//! Works on the text of LLVM IR as clang leaves it before any optimisation, all modules of a program at once.

use std::borrow::Cow;
use std::collections::HashSet;

/// Behind the name of a kernel: the function with its body. No identifier of OpenCL C has it.
const BODY: &str = "$body";

/// The modules with every called kernel in two; untouched where there is none.
pub fn split<'a>(modules: &[&'a String]) -> Vec<Cow<'a, str>> {
    let kernels: HashSet<&str> =
        modules.iter().flat_map(|m| m.lines()).filter_map(defined).collect();
    let calls = modules.iter().flat_map(|m| m.lines()).filter_map(called);
    let called: HashSet<&str> = calls.filter(|name| kernels.contains(name)).collect();
    let rewritten = |module: &'a String| match called.is_empty() {
        true => Cow::Borrowed(module.as_str()),
        false => Cow::Owned(rewrite(module, &called)),
    };
    modules.iter().map(|module| rewritten(module)).collect()
}

/// The kernel that a line defines.
fn defined(line: &str) -> Option<&str> {
    line.strip_prefix("define ").and_then(named)
}

/// The function that a line calls with the calling convention of kernels.
fn called(line: &str) -> Option<&str> {
    line.split_once("call ").and_then(|(_, call)| named(call))
}

fn declared(line: &str) -> Option<&str> {
    line.strip_prefix("declare ").and_then(named)
}

/// The name behind the calling convention.
fn named(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("_kernel void @")?;
    rest.split_once('(').map(|(name, _)| name)
}

fn rewrite(module: &str, split: &HashSet<&str>) -> String {
    let mut out = String::with_capacity(module.len() + 1024);
    let mut wrappers = String::new();
    // Of metadata, behind all that the module has.
    let mut next = module.lines().filter_map(node).map(|(number, _)| number + 1).max().unwrap_or(0);
    for line in module.lines() {
        let is_definition = defined(line).is_some();
        let name = defined(line).or_else(|| called(line)).or_else(|| declared(line));
        let Some(name) = name.filter(|name| split.contains(name)) else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let renamed =
            without_convention(line).replacen(&format!("@{name}("), &format!("@{name}{BODY}("), 1);
        match is_definition {
            true => {
                wrappers.push_str(&wrapper(module, line, name, &mut next));
                out.push_str(&without_kernel_metadata(&renamed));
            }
            false => out.push_str(&renamed),
        }
        out.push('\n');
    }
    out + &wrappers
}

/// The number and the text of a line of metadata.
fn node(line: &str) -> Option<(u32, &str)> {
    let (number, text) = line.strip_prefix('!')?.split_once(" = ")?;
    Some((number.parse().ok()?, text))
}

/// A function's calling convention is C's, which no word stands for.
fn without_convention(line: &str) -> String {
    let word = line.split(' ').find(|word| word.ends_with("_kernel")).unwrap_or_default();
    line.replacen(&format!("{word} "), "", 1)
}

/// A definition's line without what makes a kernel of it.
fn without_kernel_metadata(line: &str) -> String {
    let Some((head, tail)) = line.rsplit_once(") ") else { return line.to_owned() };
    let mut out = format!("{head})");
    let mut words = tail.split(' ');
    while let Some(word) = words.next() {
        let value = if word.starts_with('!') { words.next() } else { None };
        if value.is_some() && word != "!dbg" {
            continue;
        }
        for word in [Some(word), value].into_iter().flatten() {
            out.push(' ');
            out.push_str(word);
        }
    }
    out
}

/// The kernel that calls the body: its own line, with a place of its own in the debug information.
fn wrapper(module: &str, line: &str, name: &str, next: &mut u32) -> String {
    let head = line.trim_end_matches('{').trim_end();
    let (from, to) = match (line.find(&format!("@{name}(")), line.rfind(") ")) {
        (Some(at), Some(end)) => (at + name.len() + 2, end),
        _ => return String::new(),
    };
    let arguments = &line[from..to];
    let body = format!("call void @{name}{BODY}({arguments})");
    let subprogram = line.split_once("!dbg !").and_then(|(_, rest)| {
        let number: u32 = rest.split(' ').next()?.parse().ok()?;
        let text = module.lines().filter_map(node).find(|(n, _)| *n == number)?.1;
        Some((number, text))
    });
    let Some((number, text)) = subprogram else {
        return format!("\n{head} {{\n  {body}\n  ret void\n}}\n");
    };
    let (own, place) = (*next, *next + 1);
    *next += 2;
    let head = head.replacen(&format!("!dbg !{number}"), &format!("!dbg !{own}"), 1);
    let start = text.split_once("line: ").and_then(|(_, rest)| rest.split([',', ')']).next());
    format!(
        "\n{head} {{\n  {body}, !dbg !{place}\n  ret void, !dbg !{place}\n}}\n\
         !{own} = {text}\n!{place} = !DILocation(line: {}, scope: !{own})\n",
        start.unwrap_or("0")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLEE: &str = "define dso_local spir_kernel void @inner(ptr addrspace(1) noundef align 4 %0, i32 %1) #0 \
        !dbg !3 !kernel_arg_addr_space !4 {\n  ret void, !dbg !5\n}\n\
        !0 = !{ptr @inner, !\"kernel\", i32 1}\n!4 = !{i32 1, i32 0}\n!5 = !DILocation(line: 8, scope: !3)\n\
        !3 = distinct !DISubprogram(name: \"inner\", line: 7, unit: !1)\n";
    const CALLER: &str = "declare spir_kernel void @inner(ptr addrspace(1), i32) #1\n\
        define dso_local spir_kernel void @outer(ptr addrspace(1) %0) #0 {\n\
        \x20 call spir_kernel void @inner(ptr addrspace(1) %0, i32 1) #2, !dbg !9\n  ret void\n}\n";

    #[test]
    fn a_called_kernel_becomes_two() {
        let (callee, caller) = (CALLEE.to_owned(), CALLER.to_owned());
        let out = split(&[&callee, &caller]);
        assert_eq!(
            out[0],
            "define dso_local void @inner$body(ptr addrspace(1) noundef align 4 %0, i32 %1) #0 !dbg !3 {\n\
             \x20 ret void, !dbg !5\n}\n\
             !0 = !{ptr @inner, !\"kernel\", i32 1}\n!4 = !{i32 1, i32 0}\n!5 = !DILocation(line: 8, scope: !3)\n\
             !3 = distinct !DISubprogram(name: \"inner\", line: 7, unit: !1)\n\n\
             define dso_local spir_kernel void @inner(ptr addrspace(1) noundef align 4 %0, i32 %1) #0 !dbg !6 \
             !kernel_arg_addr_space !4 {\n\
             \x20 call void @inner$body(ptr addrspace(1) noundef align 4 %0, i32 %1), !dbg !7\n\
             \x20 ret void, !dbg !7\n}\n\
             !6 = distinct !DISubprogram(name: \"inner\", line: 7, unit: !1)\n\
             !7 = !DILocation(line: 7, scope: !6)\n"
        );
        assert_eq!(
            out[1],
            "declare void @inner$body(ptr addrspace(1), i32) #1\n\
             define dso_local spir_kernel void @outer(ptr addrspace(1) %0) #0 {\n\
             \x20 call void @inner$body(ptr addrspace(1) %0, i32 1) #2, !dbg !9\n  ret void\n}\n"
        );
    }

    #[test]
    fn kernels_that_nobody_calls_stay() {
        let module = CALLEE.to_owned();
        assert!(matches!(split(&[&module])[..], [Cow::Borrowed(text)] if text == CALLEE));
    }
}
