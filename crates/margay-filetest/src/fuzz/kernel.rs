// SPDX-License-Identifier: MIT OR Apache-2.0
//! A random kernel as a tree of statements, which a minimiser can cut, and its text.

use std::fmt::Write as _;

/// Of every module made here.
pub const HEADER: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n";

/// A statement. In text, `{break}` and `{continue}` stand for labels of the loop around it.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// One instruction, or some that only make sense together.
    Lines(Vec<String>),
    If {
        /// `%p1` or `!%p1`.
        pred: String,
        then: Vec<Stmt>,
        els: Vec<Stmt>,
    },
    Loop {
        /// Sets the counter, which a pass lowers by one down to zero.
        init: Vec<String>,
        counter: String,
        /// As `while`; else as `do … while`, with at least one pass.
        test_first: bool,
        /// Lanes in which this holds begin in the middle of the body.
        side_entry: Option<String>,
        body: Vec<Stmt>,
    },
    /// `brx.idx`; the index is below the number of arms.
    Switch { index: String, arms: Vec<Vec<Stmt>> },
}

/// What is launched.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    pub seed: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub sm: u32,
    /// Bodies of device functions: of a 32-bit and a 64-bit number, to a 32-bit one.
    pub functions: Vec<Vec<Stmt>>,
    /// Sets registers that later statements rely on.
    pub prologue: Vec<String>,
    pub body: Vec<Stmt>,
    /// Stores what the registers hold.
    pub epilogue: Vec<Stmt>,
    pub shared_bytes: u32,
    pub local_bytes: u32,
    pub constants: Vec<u32>,
    /// Contents of the read-only buffer, and sizes of the two that are written.
    pub input: Vec<u32>,
    pub out_bytes: u32,
    pub sums_bytes: u32,
    pub number: u32,
    pub wide: u64,
}

/// Names of the parameters, in order.
pub const PARAMS: &[(&str, &str)] =
    &[("inp", "u64"), ("out", "u64"), ("sums", "u64"), ("number", "u32"), ("wide", "u64")];

struct Writer {
    text: String,
    labels: u32,
    /// Labels to leave and to go on at, of the loops around.
    loops: Vec<(String, String)>,
}

impl Writer {
    fn line(&mut self, line: &str) {
        // A statement that leaves a loop which was cut away goes with it.
        let (leave, next) = match self.loops.last() {
            Some((leave, next)) => (leave.clone(), next.clone()),
            None if line.contains("{break}") || line.contains("{continue}") => return,
            None => Default::default(),
        };
        let line = line.replace("{break}", &leave).replace("{continue}", &next);
        let _ = writeln!(self.text, "    {line}");
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("$L{}", self.labels)
    }

    fn place(&mut self, label: &str) {
        let _ = writeln!(self.text, "{label}:");
    }

    fn all(&mut self, stmts: &[Stmt]) {
        stmts.iter().for_each(|s| self.stmt(s));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Lines(lines) => {
                // Each copy of a group has its own labels.
                let (own, mut lines) = (self.labels, lines.clone());
                if lines.iter().any(|l| l.contains("{own}")) {
                    self.labels += 1;
                    lines.iter_mut().for_each(|l| *l = l.replace("{own}", &format!("$O{own}")));
                }
                lines.iter().for_each(|l| self.line(l));
            }
            Stmt::If { pred, then, els } => {
                let (other, end) = (self.label(), self.label());
                let turned = match pred.strip_prefix('!') {
                    Some(p) => p.to_owned(),
                    None => format!("!{pred}"),
                };
                self.line(&format!("@{turned} bra {other};"));
                self.all(then);
                if !els.is_empty() {
                    self.line(&format!("bra {end};"));
                }
                self.place(&other);
                self.all(els);
                self.place(&end);
            }
            Stmt::Loop { init, counter, test_first, side_entry, body } => {
                let (head, middle, next, end) =
                    (self.label(), self.label(), self.label(), self.label());
                init.iter().for_each(|l| self.line(l));
                let q = format!("%q{}", &counter[2..]);
                if *test_first {
                    self.line(&format!("setp.eq.u32 {q}, {counter}, 0;"));
                    self.line(&format!("@{q} bra {end};"));
                }
                if let Some(pred) = side_entry {
                    self.line(&format!("@{pred} bra {middle};"));
                }
                self.place(&head);
                self.loops.push((end.clone(), next.clone()));
                let (first, second) = body.split_at(body.len() / 2);
                self.all(first);
                self.place(&middle);
                self.all(second);
                self.loops.pop();
                self.place(&next);
                self.line(&format!("add.s32 {counter}, {counter}, -1;"));
                self.line(&format!("setp.gt.s32 {q}, {counter}, 0;"));
                self.line(&format!("@{q} bra {head};"));
                self.place(&end);
            }
            Stmt::Switch { index, arms } => {
                let table = self.label();
                let labels: Vec<String> = arms.iter().map(|_| self.label()).collect();
                let end = self.label();
                self.place(&table);
                self.line(&format!(".branchtargets {};", labels.join(", ")));
                self.line(&format!("brx.idx {index}, {table};"));
                for (label, arm) in labels.iter().zip(arms) {
                    self.place(label);
                    self.all(arm);
                    self.line(&format!("bra {end};"));
                }
                self.place(&end);
            }
        }
    }
}

/// Registers of a class that a text names: one more than the highest.
fn registers(text: &str, class: char) -> usize {
    let bytes = text.as_bytes();
    let mut most = 0;
    for (at, _) in text.match_indices(&format!("%{class}")) {
        let digits = bytes[at + 2..].iter().take_while(|b| b.is_ascii_digit()).count();
        if let Ok(n) = text[at + 2..at + 2 + digits].parse::<usize>() {
            most = most.max(n + 1);
        }
    }
    most
}

fn declared(body: &str) -> String {
    let mut text = String::new();
    for (class, ty) in
        [('p', "pred"), ('q', "pred"), ('h', "b16"), ('r', "b32"), ('c', "b32"), ('d', "b64")]
    {
        let n = registers(body, class);
        if n > 0 {
            let _ = writeln!(text, "    .reg .{ty} %{class}<{n}>;");
        }
    }
    text
}

impl Kernel {
    /// The module's text, without a launch.
    pub fn text(&self) -> String {
        let mut text = HEADER.to_owned();
        if !self.constants.is_empty() {
            let words: Vec<String> = self.constants.iter().map(|w| format!("{w:#x}")).collect();
            let _ = writeln!(
                text,
                ".const .align 16 .b32 table[{}] = {{{}}};",
                words.len(),
                words.join(", ")
            );
        }
        let mut writer = Writer { text: String::new(), labels: 0, loops: Vec::new() };
        for (n, body) in self.functions.iter().enumerate() {
            writer.line("ld.param.b32 %r0, [a];");
            writer.line("ld.param.b64 %d0, [b];");
            writer.all(body);
            let own = std::mem::take(&mut writer.text);
            let _ = write!(
                text,
                ".func (.param .b32 result) f{n}(.param .b32 a, .param .b64 b)\n{{\n\
                 {}{own}    st.param.b32 [result], %r0;\n    ret;\n}}\n",
                declared(&format!("{own}%r0 %d0"))
            );
        }
        let params: Vec<String> =
            PARAMS.iter().map(|(name, ty)| format!(".param .{ty} {name}")).collect();
        self.prologue.iter().for_each(|l| writer.line(l));
        writer.all(&self.body);
        writer.all(&self.epilogue);
        writer.line("ret;");
        let _ = write!(
            text,
            ".visible .entry k({})\n{{\n{}",
            params.join(", "),
            declared(&writer.text)
        );
        for (space, name, bytes) in
            [("shared", "block", self.shared_bytes), ("local", "own", self.local_bytes)]
        {
            if writer.text.contains(&format!(", {name};")) {
                let _ = writeln!(text, "    .{space} .align 16 .b8 {name}[{bytes}];");
            }
        }
        text + &writer.text + "}\n"
    }

    /// Statements in all, for a report.
    pub fn size(&self) -> usize {
        fn count(stmts: &[Stmt]) -> usize {
            stmts
                .iter()
                .map(|s| match s {
                    Stmt::Lines(lines) => lines.len(),
                    Stmt::If { then, els, .. } => 1 + count(then) + count(els),
                    Stmt::Loop { body, .. } => 1 + count(body),
                    Stmt::Switch { arms, .. } => 1 + arms.iter().map(|a| count(a)).sum::<usize>(),
                })
                .sum()
        }
        let functions: usize = self.functions.iter().map(|f| count(f)).sum();
        functions + count(&self.body) + count(&self.epilogue)
    }

    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub fn all_threads(&self) -> u32 {
        self.threads() * self.grid.iter().product::<u32>()
    }
}
