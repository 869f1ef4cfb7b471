// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of suppressions: a line each of a code, a kernel, and one place or two.
//!
//! A word is `*`, or has `*` for any part of it; `-` stands for no kernel, and for no place. A place is FILE:LINE, or
//! `@FUNCTION` where no line is known. A word with blanks is in double quotes; a backslash takes a character as it is.
//! One place covers findings that have it as either side; two, those that have both, in whatever order they came.
//!
//! Invariant: what [`saved`] writes, [`read`] understands, and it covers those findings and no other sites.

use std::collections::BTreeSet;
use std::path::Path;

use margay_observe::sanitize::finding::{Actor, Check, Finding};
use margay_observe::sanitize::names::demangled;

use crate::failure::{At, Failure};

/// What a finding has in place of a kernel or a place that it lacks.
const NONE: &str = "-";

/// A word of a line; `None` is any text.
#[derive(Debug, PartialEq, Eq)]
struct Pattern(Vec<Option<char>>);

impl Pattern {
    fn matches(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        // For each part of the pattern, which beginnings of the text it and what is before it match.
        let mut ends = vec![false; text.len() + 1];
        ends[0] = true;
        for part in &self.0 {
            match part {
                None => {
                    let first = ends.iter().position(|end| *end).unwrap_or(ends.len());
                    ends.iter_mut().skip(first).for_each(|end| *end = true);
                }
                Some(c) => {
                    for n in (0..text.len()).rev() {
                        ends[n + 1] = ends[n] && text[n] == *c;
                    }
                    ends[0] = false;
                }
            }
        }
        ends[text.len()]
    }

    fn is(&self, text: &str) -> bool {
        self.0.iter().copied().eq(text.chars().map(Some))
    }

    fn begins_with(&self, text: &str) -> bool {
        self.0.iter().copied().take(text.chars().count()).eq(text.chars().map(Some))
    }

    /// Whether findings may have such a code.
    fn may_be_code(&self) -> bool {
        let slash = self.0.iter().position(|c| *c == Some('/'));
        // A pattern before the slash, or without one, may be anything.
        let check = Pattern(self.0[..slash.unwrap_or(self.0.len())].to_vec());
        match slash {
            None => self.0.contains(&None),
            Some(_) => Check::ALL.iter().any(|c| check.matches(c.name())),
        }
    }

    /// Whether findings may have such a place.
    fn may_be_place(&self) -> bool {
        let colon = self.0.iter().rposition(|c| *c == Some(':'));
        let is_line = |line: &[Option<char>]| {
            !line.is_empty() && line.iter().all(|c| c.is_none_or(|c| c.is_ascii_digit()))
        };
        let has_line = colon.is_some_and(|at| at > 0 && is_line(&self.0[at + 1..]));
        let is_any = self.0.iter().all(Option::is_none);
        has_line || is_any || self.is(NONE) || self.begins_with("@")
    }
}

/// The words of a line; what is wrong with it, if they cannot be told apart.
fn words(line: &str) -> Result<Vec<Pattern>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<Vec<Option<char>>> = None;
    let mut quoted = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '\\' => {
                let c = match chars.next().ok_or("nothing follows the backslash")? {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    c => c,
                };
                word.get_or_insert_default().push(Some(c));
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take().map(Pattern)),
            '*' => word.get_or_insert_default().push(None),
            c => word.get_or_insert_default().push(Some(c)),
        }
    }
    if quoted {
        return Err("a quote is not closed");
    }
    words.extend(word.take().map(Pattern));
    Ok(words)
}

/// A text as a word that stands for it alone.
fn word(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            '\\' | '"' | '*' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    let blank = out.is_empty() || out.contains(char::is_whitespace) || out.starts_with('#');
    if blank { format!("\"{out}\"") } else { out }
}

/// A side's place: FILE:LINE, the function if no line is known, or nothing.
fn place(actor: &Actor) -> String {
    let source = &actor.source;
    let name = source.file.as_deref().and_then(|file| Path::new(file).file_name());
    match name {
        Some(name) => format!("{}:{}", name.to_string_lossy(), source.line),
        None if source.function.is_empty() => NONE.to_owned(),
        None => format!("@{}", source.function),
    }
}

/// The places of a finding's sides, in an order that does not depend on which came first.
fn places(finding: &Finding) -> Vec<String> {
    let mut places: Vec<String> = finding.sides().map(place).collect();
    places.sort();
    places
}

fn kernel(finding: &Finding) -> &str {
    if finding.kernel.is_empty() { NONE } else { &finding.kernel }
}

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Suppression {
    code: Pattern,
    kernel: Pattern,
    places: Vec<Pattern>,
}

impl Suppression {
    fn parse(line: &str) -> Result<Suppression, &'static str> {
        let mut words = words(line)?.into_iter();
        let (Some(code), Some(kernel)) = (words.next(), words.next()) else {
            return Err("a suppression is a code, a kernel and FILE:LINE, each or `*`");
        };
        let places: Vec<Pattern> = words.collect();
        if !matches!(places.len(), 1 | 2) {
            return Err("a suppression is a code, a kernel, and FILE:LINE once or twice");
        }
        if !code.may_be_code() {
            return Err("no finding has such a code: it is one such as race/streams, race/* or *");
        }
        if !places.iter().all(Pattern::may_be_place) {
            return Err("a place is FILE:LINE, @FUNCTION, `-` for none, or `*`");
        }
        Ok(Suppression { code, kernel, places })
    }

    pub fn covers(&self, finding: &Finding) -> bool {
        let is_named =
            |name: &str| self.kernel.matches(name) || self.kernel.matches(&demangled(name));
        // Of two launches either may be named.
        let mut others = finding.sides().filter(|a| finding.code == "race/streams" && !a.host);
        let is_of_kernel =
            is_named(kernel(finding)) || others.any(|a| is_named(&a.source.function));
        self.code.matches(&finding.code) && is_of_kernel && self.covers_places(&places(finding))
    }

    fn covers_places(&self, theirs: &[String]) -> bool {
        match (self.places.as_slice(), theirs) {
            ([place], []) => place.matches(NONE),
            ([place], theirs) => theirs.iter().any(|t| place.matches(t)),
            ([a, b], [x, y]) => (a.matches(x) && b.matches(y)) || (a.matches(y) && b.matches(x)),
            _ => false,
        }
    }
}

/// The line that covers a finding.
fn line(finding: &Finding) -> String {
    let mut words = vec![word(&finding.code), word(kernel(finding))];
    let places = places(finding);
    match places.as_slice() {
        [] => words.push(NONE.to_owned()),
        // Of more than two sides the first stands for all.
        [first, second, ..] if places.len() == 2 => words.extend([word(first), word(second)]),
        [first, ..] => words.push(word(first)),
    }
    words.join(" ")
}

/// A file that covers these findings.
pub fn saved(findings: &[Finding]) -> String {
    let head = "# code kernel file:line (of both sides, if there are two); * is any, - is none\n";
    let mut known = BTreeSet::new();
    let lines = findings.iter().map(line).filter(|line| known.insert(line.clone()));
    lines.fold(head.to_owned(), |text, line| text + &line + "\n")
}

/// Reads a file's text; the number of a line and what is wrong with it, if something is.
fn parse(text: &str) -> Result<Vec<Suppression>, (usize, &'static str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(n, line)| Suppression::parse(line).map_err(|wrong| (n, wrong))).collect()
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Vec<Suppression>, Failure> {
    let text = std::fs::read_to_string(path).at(path, "cannot read the suppressions")?;
    parse(&text).map_err(|(n, wrong)| Failure::Usage(format!("{}:{n}: {wrong}", path.display())))
}

#[cfg(test)]
mod tests {
    use margay_observe::sanitize::finding::{Severity, Source};
    use margay_observe::words::Words;

    use super::*;

    fn finding(code: &str, kernel: &str, places: &[(&str, u32)]) -> Finding {
        let actor = |(file, line): &(&str, u32)| Actor {
            action: "write".to_owned(),
            source: Source { file: Some(file.to_string()), line: *line, ..Source::default() },
            ..Actor::default()
        };
        Finding {
            check: Check::Race,
            severity: Severity::Error,
            code: code.to_owned(),
            kernel: kernel.to_owned(),
            message: String::new(),
            cure: String::new(),
            space: None,
            address: None,
            bytes: None,
            object: None,
            words: Words::Cuda,
            actors: places.iter().map(actor).collect(),
            count: 1,
        }
    }

    fn covers(line: &str, finding: &Finding) -> bool {
        Suppression::parse(line).unwrap().covers(finding)
    }

    #[test]
    fn what_is_saved_is_read_and_covers_itself_only() {
        let api = |function: &str| {
            let mut api = finding("memory/invalid-copy", "", &[]);
            let source = Source { function: function.to_owned(), ..Source::default() };
            api.actors = vec![Actor::host("cudaMemcpy", source)];
            api
        };
        let nasty =
            ["/my dir/my file.cu", "a:b.cu", "#.cu", "a\"b\\n.cu", "t\tn\n.cu", "*.cu", "@x"];
        let mut all: Vec<Finding> =
            nasty.iter().map(|f| finding("race/streams", "_Z1kPi", &[(f, 7)])).collect();
        all.extend([
            finding("memory/invalid-copy", "", &[]),
            finding("memory/invalid-copy", "k", &[("b.cu", 1)]),
            finding("race/read-write", "k", &[("b.cu", 9), ("b.cu", 2)]),
            finding("race/read-write", "k", &[("b.cu", 9), ("b.cu", 9)]),
            finding("race/read-write", "k", &[("b.cu", 9), ("b.cu", 3)]),
            api("main"),
            api("f(int *, int)"),
        ]);
        for (n, one) in all.iter().enumerate() {
            let text = saved(&[one.clone(), one.clone()]);
            assert_eq!(text.lines().count(), 2, "{text}");
            let read = parse(&text).unwrap();
            let covered: Vec<usize> =
                (0..all.len()).filter(|m| read.iter().any(|s| s.covers(&all[*m]))).collect();
            assert_eq!(covered, [n], "{text}");
        }
    }

    #[test]
    fn sides_come_in_any_order() {
        let (one, other) = ([("a.cu", 3), ("a.cu", 5)], [("a.cu", 5), ("a.cu", 3)]);
        let (one, other) = (finding("race/host", "k", &one), finding("race/host", "k", &other));
        assert_eq!(line(&one), "race/host k a.cu:3 a.cu:5");
        assert_eq!(line(&one), line(&other));
        // As files of before have it, either side is enough.
        for either in ["race/host k a.cu:3", "race/host k a.cu:5"] {
            assert!(covers(either, &one) && covers(either, &other), "{either}");
        }
        assert!(!covers("race/host k a.cu:3 a.cu:4", &one));
        // Of two launches each has its kernel.
        let mut streams = finding("race/streams", "w", &[("a.cu", 3), ("a.cu", 5)]);
        streams.actors[1].source.function = "r".to_owned();
        assert!(covers("race/streams w a.cu:3", &streams) && covers("race/* r a.cu:5", &streams));
        assert!(!covers("race/* q *", &streams));
        assert!(!covers("race/host k a.cu:3 a.cu:3", &one));
    }

    #[test]
    fn parts_of_words_may_be_any() {
        let race = finding("race/streams", "_Z4treePi", &[("/d/a.cu", 75)]);
        for line in [
            "* * *",
            "race/* * *",
            "race/streams _Z4treePi *",
            "*/streams tree* a.cu:75",
            "race/streams \"tree(int\\*)\" *",
            "race/str*s * *:75",
            "* * a.cu:*",
            "* * *.cu:7*",
        ] {
            assert!(covers(line, &race), "{line}");
        }
        for line in ["race/* - *", "memory/* * *", "* * *:7", "* * b.cu:*", "* * -", "* trees* *"] {
            assert!(!covers(line, &race), "{line}");
        }
        assert!(covers("race/* - -", &finding("race/streams", "", &[])));
    }

    #[test]
    fn what_cannot_be_understood_is_refused_with_its_line() {
        for wrong in [
            "race/streams",
            "race/streams k",
            "race/streams k a.cu:1 a.cu:2 a.cu:3",
            "race k *",
            "rice/streams k *",
            "race/* k a.cu",
            "race/* k a.cu:x",
            "race/* k :7",
            "race/* k \"a b.cu:1",
            "race/* k a.cu:1\\",
            "race/streams k my file.cu:7",
        ] {
            let text = format!("# a comment\n\n{wrong}\n");
            assert_eq!(parse(&text).map_err(|(line, _)| line), Err(3), "{wrong}");
        }
    }
}
