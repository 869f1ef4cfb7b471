// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches in LLVM IR, as clang wrote it and before any pass changed it.
//!
//! For `k<<<g, b, s, t>>>(x)` clang writes `if (!__cudaPushCallConfiguration(g, b, s, t)) k(x)`. The first call
//! becomes loads of the six dimensions, and the second a call of a launcher, which takes the kernel's address, the
//! configuration and the arguments. One launcher serves all kernels with parameters of the same types.
//!
//! Invariant: every call of `__cudaPushCallConfiguration` is replaced, or the outcome is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The beginning of all launchers' names.
pub const LAUNCHER: &str = "__margay_launch_";
const PUSH: &str = "@__cudaPushCallConfiguration(";

/// A launcher's name and, for each parameter of its kernels, the bytes of one that has a number's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    pub name: String,
    pub sizes: Vec<Option<u32>>,
}

/// The text with its launches replaced, and the launchers that it calls.
pub fn lowered(ir: &str) -> Result<(String, Vec<Launcher>), String> {
    let lines: Vec<&str> = ir.lines().collect();
    let mut replaced: BTreeMap<usize, String> = BTreeMap::new();
    let mut launchers: BTreeMap<String, Launcher> = BTreeMap::new();
    let mut declarations = String::new();
    let mut kernels = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        if !line.contains(PUSH) || !line.trim_start().starts_with('%') {
            continue;
        }
        let number = replaced.len();
        let call =
            kernel_call(&lines, at).ok_or("clang wrote a launch in a way that is not known")?;
        let (result, rest) = line.split_once(" = ").ok_or("a call without its result")?;
        let (config, _) = arguments(rest, rest.find(PUSH).ok_or("no call")?)?;
        let values: Vec<&str> = config.iter().map(|a| value_of(a)).collect();
        let &[grid, block, shared, stream] = values.as_slice() else {
            return Err("a configuration of another shape".into());
        };
        let mut loads = String::new();
        let mut dims = Vec::new();
        for (name, pointer) in [("g", grid), ("b", block)] {
            for axis in 0..3 {
                let to = format!("%margay.{number}.{name}{axis}");
                let _ = writeln!(
                    loads,
                    "  {to}.at = getelementptr i8, ptr {pointer}, i64 {}",
                    axis * 4
                );
                let _ = writeln!(loads, "  {to} = load i32, ptr {to}.at, align 4");
                dims.push(format!("i32 {to}"));
            }
        }
        let _ = write!(loads, "{result} = add i32 0, 0");
        replaced.insert(at, loads);

        let line = lines[call];
        let open = line.find("call void ").ok_or("no call")?;
        let (callee, after) = line[open + "call void ".len()..].split_once('(').ok_or("no call")?;
        let from = line.len() - after.len() - 1;
        let (passed, end) = arguments(line, from)?;
        let types: Vec<&str> =
            passed.iter().map(|a| a[..a.len() - value_of(a).len()].trim()).collect();
        let key = types.join(", ");
        let count = launchers.len();
        let launcher = launchers.entry(key.clone()).or_insert_with(|| {
            let name = format!("{LAUNCHER}{count}");
            let comma = if key.is_empty() { "" } else { ", " };
            let _ = writeln!(
                declarations,
                "declare void @{name}(ptr, i32, i32, i32, i32, i32, i32, i64, ptr{comma}{key}) nounwind"
            );
            Launcher { name, sizes: types.iter().map(|ty| size_of(ty)).collect() }
        });
        // The place in the source is what is kept of what follows.
        let place = line[end..].find(", !dbg ").map_or("", |p| &line[end + p..]);
        if callee.starts_with('@') {
            kernels.insert(callee.trim());
        }
        let mut words = vec![format!("ptr {}", callee.trim())];
        words.extend(dims);
        words.push(format!("i64 {shared}"));
        words.push(format!("ptr {stream}"));
        words.extend(passed.iter().map(|a| (*a).to_owned()));
        let name = &launcher.name;
        replaced.insert(call, format!("  call void @{name}({}){place}", words.join(", ")));
    }
    let mut out = String::with_capacity(ir.len() + 4096);
    let marks = marks(&lines, &kernels);
    for (at, line) in lines.iter().enumerate() {
        match &marks {
            Some((list, marked, _)) if *list == at => out.push_str(marked),
            _ => out.push_str(replaced.get(&at).map_or(line, String::as_str)),
        }
        out.push('\n');
    }
    out.extend(marks.map(|(_, _, lines)| lines));
    out.push_str(&declarations);
    let mut launchers: Vec<Launcher> = launchers.into_values().collect();
    launchers.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((out, launchers))
}

/// What clang's code generator would say of calls of functions that must not be called (`__attribute__((error))`), had
/// it the source.
pub fn forbidden(ir: &str) -> String {
    let mut out = String::new();
    let attributes = |group: &str| {
        let begin = format!("attributes {group} = {{");
        ir.lines()
            .find(|line| line.starts_with(&begin))?
            .split_once("\"dontcall-error\"=\"")?
            .1
            .split('"')
            .next()
    };
    for line in ir.lines().filter(|line| line.starts_with("declare ")) {
        let Some((head, group)) = line.rsplit_once(") #") else { continue };
        let Some(message) = attributes(&format!("#{group}")) else { continue };
        let name =
            head.split_once('@').and_then(|(_, rest)| rest.split('(').next()).unwrap_or_default();
        let call = format!("@{name}(");
        for call in ir.lines().filter(|l| l.contains(&call) && l.contains(" call ")) {
            let place = call
                .rsplit_once("!dbg ")
                .and_then(|(_, rest)| place(ir, rest.split(',').next()?))
                .unwrap_or_default();
            let _ = writeln!(out, "{place}error: call to '{name}': {message}");
        }
    }
    out
}

/// `file:line:column: ` of a location.
fn place(ir: &str, location: &str) -> Option<String> {
    let node = |id: &str| {
        let begin = format!("{} = ", id.trim());
        ir.lines().find_map(|line| line.strip_prefix(&begin))
    };
    let field = |text: &str, name: &str| {
        let rest = text.split_once(&format!("{name}: "))?.1;
        Some(rest.split([',', ')']).next()?.trim_matches('"').to_owned())
    };
    let at = node(location)?;
    let scope = field(at, "scope")?;
    let file = field(node(&field(node(&scope)?, "file")?)?, "filename")?;
    Some(format!("{file}:{}:{}: ", field(at, "line")?, field(at, "column")?))
}

/// The list of marks with those of kernels that other files define, which clang leaves unmarked: the list's line, its
/// new text, and the marks.
fn marks(lines: &[&str], kernels: &BTreeSet<&str>) -> Option<(usize, String, String)> {
    const LIST: &str = "!nvvm.annotations = !{";
    let list = lines.iter().position(|line| line.starts_with(LIST))?;
    let number = |line: &&str| line.strip_prefix('!')?.split_once(" = ")?.0.parse::<u64>().ok();
    let first = lines.iter().filter_map(number).max()? + 1;
    let (mut listed, mut marks) = (lines[list].trim_end_matches('}').to_owned(), String::new());
    let declared = |name: &&&str| {
        let call = format!(" {name}(");
        lines.iter().any(|line| line.starts_with("declare ") && line.contains(&call))
    };
    for (next, name) in (first..).zip(kernels.iter().filter(declared)) {
        let _ = write!(listed, ", !{next}");
        let _ = writeln!(marks, "!{next} = !{{ptr {name}, !\"kernel\", i32 1}}");
    }
    Some((list, listed + "}", marks))
}

/// The line of the kernel's call that belongs to the configuration at `push`.
fn kernel_call(lines: &[&str], push: usize) -> Option<usize> {
    let branch = lines[push..].iter().position(|line| line.trim_start().starts_with("br i1 "))?;
    let mut targets = lines[push + branch].split("label %").skip(1);
    let label = |text: &str| text.split([',', ' ']).next().map(str::to_owned);
    let (end, begin) = (label(targets.next()?)?, label(targets.next()?)?);
    let is = |line: &str, label: &str| {
        line.strip_prefix(label).is_some_and(|rest| rest.starts_with(':'))
    };
    let begin = push + lines[push..].iter().position(|line| is(line, &begin))?;
    let end = begin + lines[begin..].iter().position(|line| is(line, &end))?;
    let is_call = |line: &str| line.contains("call void ") && !line.contains("call void @llvm.");
    (begin..end).rev().find(|at| is_call(lines[*at]))
}

/// The arguments of the call whose bracket opens at or after `from`, and where the bracket closes.
fn arguments(line: &str, from: usize) -> Result<(Vec<&str>, usize), String> {
    let open = from + line[from..].find('(').ok_or("a call without arguments")?;
    let (mut depth, mut start, mut out, mut quoted) = (0, open + 1, Vec::new(), false);
    for (at, c) in line[open..].char_indices().map(|(n, c)| (open + n, c)) {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => {
                depth -= 1;
                if depth == 0 {
                    if !line[start..at].trim().is_empty() {
                        out.push(line[start..at].trim());
                    }
                    return Ok((out, at + 1));
                }
            }
            ',' if depth == 1 => {
                out.push(line[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    Err("a call that does not end on its line".into())
}

/// The value of an argument, without type and attributes: what follows the last space outside of brackets, or a
/// constant expression.
fn value_of(argument: &str) -> &str {
    // `getelementptr inbounds (i8, ptr @x, i64 4)`: the words before the bracket are part of it.
    let expressions = [
        "getelementptr ",
        "inttoptr ",
        "ptrtoint ",
        "addrspacecast ",
        "bitcast ",
        "add ",
        "sub ",
        "trunc ",
    ];
    let begins = |at: &usize| {
        argument[..*at].ends_with(' ') && expressions.iter().any(|e| argument[*at..].starts_with(e))
    };
    let (mut depth, mut last) = (0, 0);
    for (at, c) in argument.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth -= 1,
            _ => {}
        }
        if depth == 0 && begins(&at) {
            return &argument[at..];
        }
        if depth == 0 && c == ' ' {
            last = at + 1;
        }
    }
    &argument[last..]
}

/// Bytes of a number, which PTX widens where it passes it to a function.
fn size_of(ty: &str) -> Option<u32> {
    match ty.split(' ').next()? {
        "i1" | "i8" => Some(1),
        "i16" | "half" | "bfloat" => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IR: &str = "\
define void @p(ptr %0) {
  %8 = call i32 @__cudaPushCallConfiguration(ptr noundef byval(%struct.dim3) align 4 %3, ptr noundef byval(%struct.dim3) align 4 %4, i64 noundef 16, ptr noundef null) #9, !dbg !95
  %9 = icmp ne i32 %8, 0, !dbg !95
  br i1 %9, label %16, label %10, !dbg !95

10:                                               ; preds = %1
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %5, ptr align 8 %15, i64 8, i1 false), !dbg !95
  call void @k(ptr noundef getelementptr inbounds (i8, ptr @x, i64 4), i8 noundef signext 5, ptr noundef byval(%struct.short4) align 8 %5) #10, !dbg !96
  br label %16, !dbg !95

16:                                               ; preds = %10, %1
  ret void
}
";

    #[test]
    fn a_launch_is_one_call() {
        let (out, launchers) = lowered(IR).unwrap();
        assert!(!out.contains("PushCall"), "{out}");
        assert!(out.contains("%8 = add i32 0, 0\n"));
        assert!(out.contains("%margay.0.b2.at = getelementptr i8, ptr %4, i64 8\n"));
        assert!(out.contains(
            "call void @__margay_launch_0(ptr @k, i32 %margay.0.g0, i32 %margay.0.g1, i32 %margay.0.g2, i32 %margay.0.b0, \
             i32 %margay.0.b1, i32 %margay.0.b2, i64 16, ptr null, ptr noundef getelementptr inbounds (i8, ptr @x, i64 4), \
             i8 noundef signext 5, ptr noundef byval(%struct.short4) align 8 %5), !dbg !96\n"
        ), "{out}");
        assert!(out.contains(
            "declare void @__margay_launch_0(ptr, i32, i32, i32, i32, i32, i32, i64, ptr, ptr noundef, i8 noundef signext, \
             ptr noundef byval(%struct.short4) align 8) nounwind\n"
        ), "{out}");
        assert_eq!(
            launchers,
            [Launcher { name: "__margay_launch_0".into(), sizes: vec![None, Some(1), None] }]
        );
    }

    #[test]
    fn kernels_of_other_files_are_marked() {
        let marks = "declare void @k(ptr noundef, i8 noundef signext)\n!nvvm.annotations = !{!3}\n!3 = !{ptr @p, !\"kernel\", i32 1}\n";
        let (out, _) = lowered(&format!("{IR}{marks}")).unwrap();
        assert!(out.contains("!nvvm.annotations = !{!3, !4}\n"), "{out}");
        assert!(out.contains("!4 = !{ptr @k, !\"kernel\", i32 1}\n"), "{out}");
    }

    #[test]
    fn calls_that_must_not_be_have_their_places() {
        let ir = "  %3 = call i32 @no() #8, !dbg !9, !srcloc !2\ndeclare i32 @no() #4\ndeclare i32 @yes() #5\n\
                  attributes #4 = { convergent \"dontcall-error\"=\"not so\" \"x\"=\"y\" }\nattributes #5 = { convergent }\n\
                  !1 = !DIFile(filename: \"a.cu\", directory: \"/d\")\n\
                  !7 = distinct !DISubprogram(name: \"p\", scope: !1, file: !1, line: 3)\n\
                  !9 = !DILocation(line: 5, column: 6, scope: !7)\n";
        assert_eq!(forbidden(ir), "a.cu:5:6: error: call to 'no': not so\n");
        assert_eq!(forbidden(IR), "");
    }

    #[test]
    fn what_is_not_known_is_an_error() {
        assert!(lowered(&IR.replace("br i1", "switch")).is_err());
        assert!(lowered(&IR.replace("call void @k", "call i32 @k")).is_err());
        assert_eq!(lowered("define void @k() {\n").unwrap().1, []);
    }
}
