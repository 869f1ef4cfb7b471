// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks one file: parse for each pass, take clang's diagnostics, add the rules' findings, sort out
//! duplicates and what comments allow.
//!
//! Invariant: every outcome is a [`Report`]; nothing here panics on any input.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::analysis::Facts;
use crate::finding::{Edit, Finding, Fix, Label, Place, Report, Severity, Sources, position};
use crate::front::diagnostics::{self, Category, Diagnostic, Level, Spot};
use crate::front::{Environment, Language, Pass, Unit, precompiled};
use crate::registry;
use crate::rule::Rule;
use crate::rules::functions::arch_dependent_signature::{self, Signature};
use crate::rules::functions::{
    builtin_variable_written, device_called_from_host, device_function_address_on_host,
};
use crate::rules::opencl::{space_changed, string_literal_space};
use crate::rules::variables::device_variable_at_function_scope;
use crate::suppress::Allowed;
use crate::tree::Tree;

/// The largest file that is read, unless the settings say otherwise.
pub const LARGEST: u64 = 4 << 20;

/// The stack of a pass: trees of generated code are deep. Only what is used is ever touched.
const STACK: usize = 512 << 20;

/// What the user decides about rules.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Severities by code.
    pub severities: BTreeMap<&'static str, Severity>,
    /// The largest file in bytes; [`LARGEST`] if `None`.
    pub largest: Option<u64>,
    /// What files are, whatever their ending.
    pub language: Option<Language>,
}

impl Settings {
    /// The severity of a rule.
    pub fn severity(&self, rule: &Rule) -> Severity {
        self.severities.get(rule.code).copied().unwrap_or(rule.severity)
    }
}

fn unreadable(why: String) -> Report {
    Report { unreadable: Some(why), ..Report::default() }
}

/// Reads the file and checks it.
pub fn file(path: &Path, environment: &Environment, settings: &Settings) -> Report {
    let name = path.display();
    let size = match std::fs::metadata(path) {
        Err(e) => return unreadable(format!("{name}: cannot read: {e}")),
        Ok(m) if m.is_dir() => return unreadable(format!("{name}: is a folder; name its files")),
        Ok(m) => m.len(),
    };
    let largest = settings.largest.unwrap_or(LARGEST);
    if size > largest {
        return unreadable(format!(
            "{name}: has {:.1} MiB, and `margay check` reads up to {:.1} MiB; `--max-file-size` raises that",
            size as f64 / 1_048_576.0,
            largest as f64 / 1_048_576.0
        ));
    }
    match std::fs::read(path) {
        Err(e) => unreadable(format!("{name}: cannot read: {e}")),
        Ok(bytes) => match text_of(bytes) {
            Ok(text) => self::text(path, &text, environment, settings),
            Err(what) => unreadable(format!("{name}: {what}")),
        },
    }
}

/// Source text, or why it is none.
fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(b"\x7fELF") {
        return Err("is an ELF file, not source text".into());
    }
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        return Err(format!("is not text: byte {at} is NUL"));
    }
    let odd = bytes.iter().filter(|b| **b < 9 || (14..32).contains(*b)).count();
    if odd * 50 > bytes.len() {
        return Err("is not text: too many control characters".into());
    }
    // Comments in Latin-1 are common and harmless.
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| {
        e.into_bytes().iter().map(|b| if b.is_ascii() { *b as char } else { '?' }).collect()
    }))
}

/// Checks a text as if it were the file's.
pub fn text(path: &Path, text: &str, environment: &Environment, settings: &Settings) -> Report {
    let Some(language) = settings.language.or_else(|| Language::of(path)) else {
        return unreadable(format!(
            "{}: is neither CUDA (.cu, .cuh) nor OpenCL C (.cl); `--language cuda|opencl` says what it is",
            path.display()
        ));
    };
    let passes: &[Pass] = match language {
        Language::Cuda => &[Pass::Host, Pass::Device],
        Language::OpenCl => &[Pass::Device],
    };
    let results: Vec<Result<PassResult, String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = passes
            .iter()
            .map(|pass| {
                let job = move || run_pass(path, text, environment, settings, language, *pass);
                std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, job)
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| match thread {
                Err(e) => Err(format!("cannot start a thread: {e}")),
                Ok(thread) => thread
                    .join()
                    .unwrap_or_else(|_| Err("internal error: a rule failed on this file".into())),
            })
            .collect()
    });
    assemble(path, text, settings, results)
}

struct PassResult {
    findings: Vec<Finding>,
    sources: Sources,
    /// The first message that says that the text is no program.
    syntax: Option<String>,
    signatures: Vec<Signature>,
}

fn run_pass(
    path: &Path,
    text: &str,
    environment: &Environment,
    settings: &Settings,
    language: Language,
    pass: Pass,
) -> Result<PassResult, String> {
    crate::front::library::attach()?;
    let (arguments, precompiled) = precompiled::arguments(environment, language, pass);
    let mut unit = Unit::parse(path, Some(text), &arguments);
    if let Some(stale) = precompiled
        && unit.as_ref().map_or(true, precompiled::refused)
    {
        // Headers or clang changed: do without, and let the next check make it anew.
        let _ = std::fs::remove_file(stale);
        unit = Unit::parse(path, Some(text), &environment.arguments(language, pass));
    }
    let unit = unit?;
    let said = diagnostics::of(&unit);
    let mut sources = Sources::default();
    sources.add(path.to_path_buf(), text.to_string());
    let mut findings: Vec<Finding> = Vec::new();
    let mut syntax = None;
    for diagnostic in &said {
        if is_dropped(diagnostic, environment, path, text) {
            continue;
        }
        let stops = diagnostic.level == Level::Fatal
            || (diagnostic.level == Level::Error && diagnostic.category == Category::Syntax);
        let mut finding = of_clang(diagnostic, language, settings, environment);
        if finding.code.is_none()
            && finding.place.as_ref().is_some_and(|p| {
                p.file == path && builtin_variable_written::is_builtin(text, p, &finding.message)
            })
        {
            finding.code = Some(builtin_variable_written::RULE.code);
            finding.help = vec![builtin_variable_written::RULE.summary.to_string()];
        }
        if finding.code == Some(device_called_from_host::RULE.code)
            && finding.place.as_ref().is_some_and(|p| {
                p.file == path && device_function_address_on_host::is_address(text, p)
            })
        {
            finding.code = Some(device_function_address_on_host::RULE.code);
            finding.help = vec![device_function_address_on_host::RULE.summary.to_string()];
        }
        // clang says the same of a string literal as of any pointer.
        if finding.code == Some(space_changed::RULE.code)
            && finding.message.contains("'__constant char *'")
            && finding.place.as_ref().is_some_and(|p| string_literal_space::is_literal(text, p))
        {
            finding.code = Some(string_literal_space::RULE.code);
            finding.help = vec![string_literal_space::RULE.summary.to_string()];
        }
        // A message that is a rule's is about the language, whichever part of clang speaks.
        if stops && finding.code.is_none() && syntax.is_none() {
            syntax = Some(diagnostic.message.clone());
        }
        if let Some(place) = finding.place.as_mut().filter(|p| p.file == path) {
            widen(place, text);
        }
        findings.push(finding);
    }
    let mut signatures = Vec::new();
    if syntax.is_none() {
        let tree = Tree::build(unit, pass, language);
        for file in &tree.files {
            sources.add(file.path.clone(), file.text.clone());
        }
        let facts = Facts::new(&tree, environment);
        for finding in &mut findings {
            if finding.code == Some(device_variable_at_function_scope::RULE.code) {
                device_variable_at_function_scope::complete(&facts, finding);
            }
        }
        for rule in registry::all() {
            let severity = settings.severity(rule);
            let wanted = match rule.group {
                crate::rule::Group::OpenCl => language == Language::OpenCl,
                crate::rule::Group::Hints | crate::rule::Group::Barriers => true,
                _ => language == Language::Cuda,
            };
            if severity == Severity::Off || !wanted || !rule.holds.includes(environment.capability)
            {
                continue;
            }
            if let Some(check) = rule.check {
                let mut own = Vec::new();
                check(&facts, &mut own);
                for mut finding in own {
                    finding.severity = severity;
                    findings.push(finding);
                }
            }
        }
        signatures = arch_dependent_signature::signatures(&facts);
    }
    // Files that only clang's messages name.
    for finding in &findings {
        let places = finding.place.iter().chain(finding.more.iter().map(|l| &l.place));
        for place in places {
            if sources.text(&place.file).is_empty()
                && let Ok(bytes) = std::fs::read(&place.file)
                && let Ok(text) = text_of(bytes)
            {
                sources.add(place.file.clone(), text);
            }
        }
    }
    Ok(PassResult { findings, sources, syntax, signatures })
}

/// Messages about clang's own limits, not about the language.
fn is_dropped(diagnostic: &Diagnostic, environment: &Environment, path: &Path, text: &str) -> bool {
    let message = diagnostic.message.as_str();
    // clang has no launches in device code; nvcc has them with separate compilation.
    let launches = || {
        let at = diagnostic.spot.as_ref().filter(|s| s.file == path).map(|s| s.start as usize);
        let after = at.and_then(|at| text.get(at..)).unwrap_or("");
        after.split([';', '{', '}']).next().unwrap_or("").contains("<<<")
    };
    if environment.relocatable
        && environment.capability.sm() >= 35
        && (message.starts_with("reference to __global__ function")
            || diagnostic
                .notes
                .iter()
                .any(|n| n.message.contains("call to __global__ function from")))
        && launches()
    {
        return true;
    }
    // Of our headers' section for managed variables; what is wrong with such a variable has a rule.
    message.contains("causes a section type conflict with")
        || (message == "CUDA device code does not support va_arg"
            && environment.cuda_version >= crate::rules::functions::variadic_device::FROM)
        || message == "#pragma once in main file"
}

/// clang often names a point; the word that starts there is easier to see.
fn widen(place: &mut Place, text: &str) {
    if place.end == place.start {
        let rest = text.get(place.start..).unwrap_or("");
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        place.end = place.start + word;
    }
}

fn place_of(spot: &Spot) -> Place {
    Place { file: spot.file.clone(), start: spot.start as usize, end: spot.end as usize }
}

fn of_clang(
    diagnostic: &Diagnostic,
    language: Language,
    settings: &Settings,
    environment: &Environment,
) -> Finding {
    let notes = diagnostic.notes.iter().map(|n| n.message.as_str());
    let full: String =
        std::iter::once(diagnostic.message.as_str()).chain(notes).collect::<Vec<_>>().join("\n");
    let rule = registry::all().find(|r| {
        let opencl = r.group == crate::rule::Group::OpenCl;
        opencl == (language == Language::OpenCl)
            && r.holds.includes(environment.capability)
            && r.claims(&full)
    });
    let own = match diagnostic.level {
        Level::Fatal | Level::Error => Severity::Error,
        Level::Warning => Severity::Warning,
        Level::Note => Severity::Hint,
    };
    // What stops the compiler stays an error, whatever the settings say.
    let severity = match rule {
        Some(rule) if own < Severity::Error => {
            settings.severities.get(rule.code).copied().unwrap_or(own)
        }
        Some(_) | None => own,
    };
    let mut finding = Finding {
        code: rule.map(|r| r.code),
        option: diagnostic.option.clone(),
        by_clang: true,
        severity,
        message: diagnostic.message.clone(),
        place: diagnostic.spot.as_ref().map(place_of),
        label: String::new(),
        more: Vec::new(),
        notes: Vec::new(),
        help: Vec::new(),
        fix: None,
    };
    for note in &diagnostic.notes {
        // Where a macro of our headers comes from helps nobody.
        if note.message.starts_with("expanded from macro '__") {
            continue;
        }
        match &note.spot {
            Some(spot) => {
                finding.more.push(Label { place: place_of(spot), text: note.message.clone() });
            }
            None => finding.notes.push(note.message.clone()),
        }
    }
    if let Some(rule) = rule {
        finding.help.push(rule.summary.to_string());
    }
    if !diagnostic.edits.is_empty() {
        let edits = diagnostic
            .edits
            .iter()
            .map(|e| Edit { place: place_of(&e.spot), replacement: e.replacement.clone() });
        finding.fix = Some(Fix {
            title: "clang proposes".into(),
            edits: edits.collect(),
            // clang attaches an edit to an error when it went on as if it had been made.
            safe: diagnostic.level >= Level::Error,
        });
    }
    finding
}

fn assemble(
    path: &Path,
    text: &str,
    settings: &Settings,
    results: Vec<Result<PassResult, String>>,
) -> Report {
    let mut report = Report::default();
    report.sources.add(path.to_path_buf(), text.to_string());
    let mut all: Vec<Finding> = Vec::new();
    let mut signatures = Vec::new();
    for result in results {
        match result {
            Err(why) => {
                let why = format!("{}: {why}", path.display());
                report.unreadable.get_or_insert(why);
            }
            Ok(pass) => {
                if let Some(message) = pass.syntax {
                    let why = format!("{}: does not parse: {message}", path.display());
                    report.unreadable.get_or_insert(why);
                }
                report.sources.merge(pass.sources);
                signatures.push(pass.signatures);
                all.extend(pass.findings);
            }
        }
    }
    let rule = &arch_dependent_signature::RULE;
    if let [host, device] = signatures.as_slice()
        && report.unreadable.is_none()
        && settings.severity(rule) > Severity::Off
    {
        for mut finding in arch_dependent_signature::across(host, device) {
            finding.severity = settings.severity(rule);
            all.push(finding);
        }
    }
    let mut comments: BTreeMap<PathBuf, Allowed> = BTreeMap::new();
    let own: Vec<PathBuf> = report.sources.iter().map(|(p, _)| p.clone()).collect();
    for file in own {
        let allowed = Allowed::read(&file, report.sources.text(&file));
        if file == path {
            all.extend(allowed.unknown.iter().cloned());
        }
        comments.insert(file, allowed);
    }
    all.retain(|f| {
        f.severity > Severity::Off
            && f.place.as_ref().is_none_or(|p| {
                let text = report.sources.text(&p.file);
                !comments.get(&p.file).is_some_and(|c| c.allows(f, text))
            })
    });
    report.findings = without_repeats(all, &report.sources);
    report
}

/// One finding for what both passes say, or clang and a rule.
fn without_repeats(all: Vec<Finding>, sources: &Sources) -> Vec<Finding> {
    let line = |f: &Finding| {
        f.place.as_ref().map(|p| (p.file.clone(), position(sources.text(&p.file), p.start).line))
    };
    let mut kept: Vec<Finding> = Vec::new();
    // clang's first, so that a rule of the same code and line yields to it.
    let (clang, ours): (Vec<_>, Vec<_>) = all.into_iter().partition(|f| f.by_clang);
    for finding in clang.into_iter().chain(ours) {
        let repeated = kept.iter().any(|k| {
            (k.place == finding.place && k.message == finding.message)
                || (!finding.by_clang
                    && finding.code.is_some()
                    && k.code == finding.code
                    && (k.place == finding.place || (k.by_clang && line(k) == line(&finding))))
        });
        if !repeated {
            kept.push(finding);
        } else if finding.fix.is_some() {
            // clang's words, our cure.
            let same = |k: &&mut Finding| k.code == finding.code && line(k) == line(&finding);
            if let Some(first) = kept.iter_mut().find(same).filter(|k| k.fix.is_none()) {
                first.fix = finding.fix;
            }
        }
    }
    kept.sort_by(|a, b| {
        (a.place.as_ref(), a.code, &a.message).cmp(&(b.place.as_ref(), b.code, &b.message))
    });
    kept
}

/// What an access to a shared array does to the banks, in Markdown, if there is one at this byte.
pub fn banks_at(
    path: &Path,
    text: &str,
    environment: &Environment,
    settings: &Settings,
    offset: usize,
) -> Option<String> {
    let language = settings.language.or_else(|| Language::of(path))?;
    let job = || {
        crate::front::library::attach().ok()?;
        let (arguments, _) = precompiled::arguments(environment, language, Pass::Device);
        let unit = Unit::parse(path, Some(text), &arguments).ok()?;
        let tree = Tree::build(unit, Pass::Device, language);
        let facts = Facts::new(&tree, environment);
        let access = facts.device_accesses().into_iter().find(|a| {
            let place = facts.place(a.node);
            place.file == path && place.start <= offset && offset <= place.end
        })?;
        let banks = facts.banks(&access)?;
        let [x, y, z] = banks.block;
        let shape = if banks.assumed {
            "a warp of 32 threads in x".to_string()
        } else {
            format!("its launches' block of {x} × {y} × {z}")
        };
        let verdict = match banks.degree() {
            0 | 1 => "no bank conflict".to_string(),
            degree => format!("**{degree}-way bank conflict**"),
        };
        Some(format!(
            "`{}`: {verdict} on {} ({} passes, {} without conflicts; {shape})\n",
            tree.text(access.node),
            facts.capability(),
            banks.counts.wavefronts,
            banks.counts.wavefronts_ideal
        ))
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, job).ok()?;
        thread.join().ok().flatten()
    })
}
