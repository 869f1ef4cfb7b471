// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the variables of a function lie in its local memory. PTX has one array for all of them (`__local_depot0`); clang tells
//! how it is divided by remarks, and `margay cc` puts that into the module, a comment a function: assemblers refuse pragmas that they do not know.

use std::fmt::Write;

/// The variables in a function's depot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub function: String,
    /// Offset and size of each in bytes, in ascending order.
    pub variables: Vec<(u32, u32)>,
}

/// What a line begins with that names a frame.
const COMMENT: &str = "// margay frame ";

/// The flag that has clang tell of frames on its standard error.
pub const CLANG_FLAG: &str = "-Rpass-analysis=stack-frame-layout";

impl Frame {
    /// The line that tells of it.
    pub fn comment(&self) -> String {
        let mut text = format!("{COMMENT}{}", self.function);
        for (offset, size) in &self.variables {
            let _ = write!(text, " {offset}+{size}");
        }
        text
    }

    /// The frame that a line tells of.
    fn of_comment(line: &str) -> Option<Frame> {
        let mut words = line.strip_prefix(COMMENT)?.trim_end().split(' ');
        let function = words.next().filter(|name| !name.is_empty())?.to_owned();
        let variable = |word: &str| {
            let (offset, size) = word.split_once('+')?;
            Some((offset.parse().ok()?, size.parse().ok()?))
        };
        let variables = words.map(variable).collect::<Option<_>>()?;
        Some(Frame { function, variables })
    }

    /// The frames that a module tells of.
    pub fn of_text(ptx: &str) -> Vec<Frame> {
        let starts = ptx.match_indices(COMMENT).map(|(at, _)| at);
        let lines = starts.filter(|&at| at == 0 || ptx.as_bytes()[at - 1] == b'\n');
        lines.filter_map(|at| Frame::of_comment(ptx[at..].lines().next()?)).collect()
    }
}

/// Takes the remarks on frames out of what clang said: only lines that such remarks have.
pub fn taken(said: &str) -> (String, Vec<Frame>) {
    let (mut rest, mut frames) = (String::new(), Vec::new());
    // Lines that belong to whatever comes next.
    let mut held = String::new();
    let mut at = Within::Other;
    for line in said.split_inclusive('\n') {
        let plain = console(line);
        let plain = plain.trim_end();
        // The source that it shows, and whose macros that is from.
        if matches!(at, Within::Shown) && (is_source(plain) || plain.contains(": note: ")) {
            continue;
        }
        if let Within::Remark(text) = &mut at {
            let words = ["Function: ", "Offset: ", "    "];
            if words.iter().any(|word| plain.starts_with(word)) || plain.contains(CLANG_FLAG) {
                text.push_str(plain);
                text.push('\n');
                held.push_str(line);
                if plain.contains(CLANG_FLAG) {
                    frames.extend(frame(text).filter(|frame| !frame.variables.is_empty()));
                    held.clear();
                    at = Within::Shown;
                }
                continue;
            }
        }
        let is_include =
            plain.starts_with("In file included from ") || plain.starts_with("         ");
        // Of source code, and of IR.
        let is_remark =
            plain.ends_with("remark:") || plain.starts_with("remark: ") && plain.ends_with(':');
        at = if is_remark { Within::Remark(String::new()) } else { Within::Other };
        held.push_str(line);
        if matches!(at, Within::Other) && !is_include {
            rest.push_str(&held);
            held.clear();
        }
    }
    rest.push_str(&held);
    (rest, frames)
}

/// Where a line is.
enum Within {
    Other,
    /// Behind the first line of a remark, which may be on a frame.
    Remark(String),
    /// Behind such a one.
    Shown,
}

/// Whether clang shows source, or marks a place in it: a number, or none, and a bar.
fn is_source(plain: &str) -> bool {
    let bar = plain.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    plain.starts_with(' ') && (bar == "|" || bar.starts_with("| "))
}

/// A text without what colours it.
fn console(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(part.split_once('m').map_or("", |(_, text)| text));
    }
    out
}

/// The frame that a remark tells of.
fn frame(remark: &str) -> Option<Frame> {
    let function = remark.lines().find_map(|line| line.strip_prefix("Function: "))?;
    let function = function.split(" [-R").next()?.trim();
    let variable = |line: &str| {
        let rest = line.strip_prefix("Offset: [SP+")?;
        let (offset, rest) = rest.split_once("], Type: Variable, ")?;
        let size = rest.split_once("Size: ")?.1;
        let size = size.split(|c: char| !c.is_ascii_digit()).next()?;
        let (offset, size) = (offset.parse().ok()?, size.parse().ok()?);
        (size > 0).then_some((offset, size))
    };
    let mut variables: Vec<(u32, u32)> = remark.lines().filter_map(variable).collect();
    variables.sort_unstable();
    Some(Frame { function: function.to_owned(), variables })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_into_comments_and_come_out() {
        let frame = Frame { function: "_Z1kPi".to_owned(), variables: vec![(0, 20), (48, 8)] };
        assert_eq!(frame.comment(), "// margay frame _Z1kPi 0+20 48+8");
        let more = "  // margay frame x 0+1\n// margay frame \n// margay frame k 0-1\n// margay frame k 0+x\n";
        let text = format!("{}\r\n{more}.target sm_90\n{}", frame.comment(), frame.comment());
        assert_eq!(Frame::of_text(&text), [frame.clone(), frame]);
    }

    #[test]
    fn remarks_are_taken_from_between_warnings() {
        let said = "a.cu:3:7: warning: unused variable 'x' [-Wunused-variable]\n    3 |   int x;\n      |       ^\n\
                    In file included from a.cu:1:\n./a.h:5:1: \u{1b}[0;34mremark: \u{1b}[0m\nFunction: _Z1kPi\n\
                    Offset: [SP+8], Type: Variable, Align: 4, Size: 20\nOffset: [SP-8], Type: Spill, Align: 8, Size: 8\n\
                    Offset: [SP+0], Type: Variable, Align: 4, Size: 4 [-Rpass-analysis=stack-frame-layout]\n\
                    \u{20}   5 | __global__ void k(int *out) {\n      | ^\n\
                    In file included from a.cu:2:\nIn file included from ./b.h:1:\n./c.h:1:1: warning: old\n    1 | x\n\
                    2 warnings generated when compiling for sm_90.\n";
        let (rest, frames) = taken(said);
        assert_eq!(
            frames,
            [Frame { function: "_Z1kPi".to_owned(), variables: vec![(0, 4), (8, 20)] }]
        );
        let kept = "a.cu:3:7: warning: unused variable 'x' [-Wunused-variable]\n    3 |   int x;\n      |       ^\n\
                    In file included from a.cu:2:\nIn file included from ./b.h:1:\n./c.h:1:1: warning: old\n    1 | x\n\
                    2 warnings generated when compiling for sm_90.\n";
        assert_eq!(rest, kept);
        // What is no more of the remark, and what only looks like an end of one.
        let remark = "t.cu:1:0: remark: \nFunction: k\nOffset: [SP+0], Type: Variable, Align: 4, Size: 4\n    a @ t.cu:3 [-Rpass-analysis=stack-frame-layout]\n\
                      \u{20}   1 | __global__ void k() { printf(\"k: error: x\"); }\n      | ^\n";
        let fatal = "fatal error: error in backend: Cannot select\nIn function: k\n";
        let (rest, frames) = taken(&format!("{remark}{fatal}{remark}"));
        assert_eq!((rest.as_str(), frames.len()), (fatal, 2));
        let (rest, frames) = taken(&remark.replace("t.cu:1:0: remark: ", "remark: t.cu:1:0: "));
        assert_eq!((rest.as_str(), frames.len()), ("", 1));
        let other = "t.cu:1:0: remark: \nsomething else\n    1 | x\n";
        assert_eq!(taken(other).0, other);
        assert_eq!(taken(""), (String::new(), Vec::new()));
        assert_eq!(taken("what is this\n").0, "what is this\n");
    }
}
