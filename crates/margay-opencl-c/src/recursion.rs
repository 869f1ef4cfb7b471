// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recursion, which OpenCL C forbids ("Restrictions") and clang compiles: a cycle of calls is an error of the build.
//!
//! Reads the text of LLVM IR as clang leaves it before any optimisation: each call of the source is a call there, and
//! there are none through pointers, which OpenCL C forbids, too.

use std::collections::HashMap;
use std::fmt::Write as _;

/// A call in a function's body.
#[derive(Clone, Copy, Debug)]
struct Call<'a> {
    callee: &'a str,
    /// The number of the place in the module's debug information.
    place: Option<&'a str>,
    /// Of the modules.
    module: usize,
}

#[derive(Default)]
struct Calls<'a> {
    /// By caller, in the order of the source.
    of: Vec<(&'a str, Vec<Call<'a>>)>,
    index: HashMap<&'a str, usize>,
    /// Of each module, metadata by its number.
    nodes: Vec<HashMap<&'a str, &'a str>>,
    /// How functions are called in the source, by symbol.
    names: HashMap<&'a str, String>,
}

/// The errors for the log, each with the way around its cycle; empty if no function calls itself.
pub fn errors<'a>(modules: impl IntoIterator<Item = &'a str>) -> String {
    let mut calls = Calls::default();
    for module in modules {
        calls.read(module);
    }
    let mut log = String::new();
    for cycle in calls.cycles() {
        calls.tell(&cycle, &mut log);
    }
    log
}

impl<'a> Calls<'a> {
    fn read(&mut self, ir: &'a str) {
        let nodes: HashMap<&str, &str> = ir
            .lines()
            .filter_map(|line| line.strip_prefix('!')?.split_once(" = "))
            .filter(|(number, _)| number.bytes().all(|b| b.is_ascii_digit()))
            .collect();
        let module = self.nodes.len();
        let mut inside: Option<usize> = None;
        for line in ir.lines() {
            if let Some(symbol) = line.strip_prefix("define ").and_then(symbol) {
                let subprogram = marked(line, "!dbg !").and_then(|number| nodes.get(number));
                if let Some(name) = subprogram.and_then(|node| field(node, "name: \"", '"')) {
                    self.names.insert(symbol, name.to_owned());
                }
                inside = Some(self.of.len());
                self.index.insert(symbol, self.of.len());
                self.of.push((symbol, Vec::new()));
            } else if line == "}" {
                inside = None;
            } else if let Some(at) = inside
                && let Some((_, call)) = line.split_once("call ")
                && let Some(callee) = symbol(call)
            {
                let place = marked(line, "!dbg !");
                self.of[at].1.push(Call { callee, place, module });
            }
        }
        self.nodes.push(nodes);
    }

    /// One way around for each function that leads back to one that is on the way to it.
    fn cycles(&self) -> Vec<Vec<Call<'a>>> {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Not,
            OnTheWay,
            Done,
        }
        let mut seen = vec![Seen::Not; self.of.len()];
        let mut found = Vec::new();
        for first in 0..self.of.len() {
            if seen[first] != Seen::Not {
                continue;
            }
            seen[first] = Seen::OnTheWay;
            // Functions on the way from the first, each with the call that is to be followed next.
            let mut way: Vec<(usize, usize)> = vec![(first, 0)];
            while let Some((at, next)) = way.last_mut() {
                let Some(call) = self.of[*at].1.get(*next) else {
                    seen[*at] = Seen::Done;
                    way.pop();
                    continue;
                };
                *next += 1;
                // What is declared only calls nothing of the program's.
                let Some(&callee) = self.index.get(call.callee) else { continue };
                match seen[callee] {
                    Seen::Done => {}
                    Seen::Not => {
                        seen[callee] = Seen::OnTheWay;
                        way.push((callee, 0));
                    }
                    Seen::OnTheWay => {
                        let from = way.iter().position(|(f, _)| *f == callee).unwrap_or(0);
                        let followed = way[from..].iter().map(|&(f, next)| self.of[f].1[next - 1]);
                        found.push(followed.collect());
                    }
                }
            }
        }
        found
    }

    fn name(&self, symbol: &'a str) -> &str {
        self.names.get(symbol).map_or(symbol, String::as_str)
    }

    /// Appends the error of a cycle, and a note for each further call in it.
    fn tell(&self, cycle: &[Call<'a>], log: &mut String) {
        // The last call leads back to the caller of the first.
        let callers = cycle.iter().map(|c| c.callee).cycle().skip(cycle.len() - 1);
        let head = self.name(cycle.last().map_or("", |c| c.callee));
        for (i, (call, caller)) in cycle.iter().zip(callers).enumerate() {
            let (place, caller, callee) =
                (self.place(call), self.name(caller), self.name(call.callee));
            // Text always takes more.
            let _ = match (i, cycle.len()) {
                (0, 1) => writeln!(
                    log,
                    "{place}: error: recursion is not supported in OpenCL C: '{head}' calls itself"
                ),
                (0, _) => {
                    let way: Vec<&str> = cycle.iter().map(|c| self.name(c.callee)).collect();
                    let way = way.join(" -> ");
                    writeln!(
                        log,
                        "{place}: error: recursion is not supported in OpenCL C: {head} -> {way}"
                    )
                }
                _ => writeln!(log, "{place}: note: '{caller}' calls '{callee}' here"),
            };
        }
    }

    /// `file:line:column` of a call, as clang writes it.
    fn place(&self, call: &Call<'a>) -> String {
        let nodes = &self.nodes[call.module];
        let node = |number: Option<&'a str>| number.and_then(|n| nodes.get(n).copied());
        let location = node(call.place).unwrap_or("");
        let number = |name: &str| field(location, name, ',').unwrap_or("0").to_owned();
        // The file of the innermost scope: a block has one of its own behind `#line` and in headers.
        let scope = node(field(location, "scope: !", ','));
        let file = node(scope.and_then(|scope| field(scope, "file: !", ',')));
        let file = file.and_then(|file| field(file, "filename: \"", '"'));
        let file = file.unwrap_or(crate::compile::SOURCE_NAME);
        format!("{file}:{}:{}", number("line: "), number("column: "))
    }
}

/// The function that a definition or a call names: the first `@`, unless an assembler's text comes before it.
fn symbol(text: &str) -> Option<&str> {
    let (before, rest) = text.split_once('@')?;
    if before.contains(" asm ") || before.starts_with("asm ") {
        return None;
    }
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(name, _)| name),
        None => rest.split_once('(').map(|(name, _)| name),
    }
}

/// What stands behind a mark, to the next character that ends a word.
fn marked<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(mark)?;
    rest.split([' ', ',', ')']).next()
}

/// A field of a metadata node.
fn field<'a>(node: &'a str, mark: &str, end: char) -> Option<&'a str> {
    let (_, rest) = node.split_once(mark)?;
    rest.split([end, ')']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const IR: &str = "define dso_local void @leaf() #0 !dbg !3 {\n  ret void, !dbg !9\n}\n\
        define dso_local i32 @_Z4evenj(i32 noundef %0) #0 !dbg !4 {\n\
        \x20 %2 = call i32 asm \"mov.u32 $0, @x(\", \"=r\"(), !dbg !9\n\
        \x20 call void @leaf() #3, !dbg !9\n\
        \x20 %4 = call i32 @odd(i32 noundef %3) #3, !dbg !10\n  ret i32 %4\n}\n\
        define dso_local i32 @odd(i32 noundef %0) #0 !dbg !5 {\n\
        \x20 %2 = call i32 @llvm.umin.i32(i32 %0, i32 1)\n\
        \x20 %4 = tail call i32 @_Z4evenj(i32 noundef %3) #3, !dbg !11\n  ret i32 %4\n}\n\
        !1 = !DIFile(filename: \"program.cl\", directory: \"/\")\n\
        !2 = !DIFile(filename: \"odd.h\", directory: \"/\")\n\
        !3 = distinct !DISubprogram(name: \"leaf\", scope: !1, file: !1, line: 1)\n\
        !4 = distinct !DISubprogram(name: \"even\", linkageName: \"_Z4evenj\", scope: !1, file: !1, line: 2)\n\
        !5 = distinct !DISubprogram(name: \"odd\", scope: !2, file: !2, line: 1)\n\
        !9 = !DILocation(line: 2, column: 1, scope: !4)\n\
        !10 = !DILocation(line: 3, column: 30, scope: !4)\n\
        !11 = !DILocation(line: 1, column: 20, scope: !5)\n";

    #[test]
    fn a_cycle_is_told_from_call_to_call() {
        let expected = "program.cl:3:30: error: recursion is not supported in OpenCL C: even -> odd -> even\n\
                        odd.h:1:20: note: 'odd' calls 'even' here\n";
        assert_eq!(errors([IR]), expected);
    }

    #[test]
    fn a_function_that_calls_itself_across_nothing() {
        let ir = "define void @f() !dbg !2 {\n  call void @f(), !dbg !3\n  ret void\n}\n\
                  !1 = !DIFile(filename: \"program.cl\", directory: \"/\")\n\
                  !2 = distinct !DISubprogram(name: \"f\", file: !1)\n\
                  !3 = !DILocation(line: 4, column: 2, scope: !2)\n";
        let expected =
            "program.cl:4:2: error: recursion is not supported in OpenCL C: 'f' calls itself\n";
        assert_eq!(errors([ir]), expected);
        assert_eq!(
            errors(["define void @f() {\n  call void @g()\n}\ndefine void @g() {\n}\n"]),
            ""
        );
    }

    #[test]
    fn a_cycle_through_two_modules() {
        let one = "declare void @g()\ndefine void @f() {\n  call void @g()\n}\n";
        let two = "declare void @f()\ndefine void @g() {\n  call void @f()\n}\n";
        assert_eq!((errors([one]), errors([two])), (String::new(), String::new()));
        assert!(errors([one, two]).contains("f -> g -> f"));
    }
}
