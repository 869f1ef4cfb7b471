// SPDX-License-Identifier: MIT OR Apache-2.0
//! What nvcc's own passes would refuse and clang does not: PTX that an assembler does not take, what the
//! architecture lacks, and rules of the language that clang does not know.
//!
//! Invariant: each message names a line of the source, as far as the PTX knows it, and the capability that has
//! what is missing. Limit: clang 19 does not say where inlined code was called, so of code inlined from a
//! header the last line of the program's own before it is named.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;

use margay_arch::ComputeCapability;
use margay_ptx::capability::Place;
use margay_rules::rules::launches::{atomic_unsupported, function_needs_capability};
use margay_rules::{Environment, Language, Report, Settings, Severity, check, registry, render};
use margay_runtime::image::{self, Problem};

use super::arch::Arch;
use super::build::Session;
use super::options::Options;
use super::{cache::Cache, device_link, headers};
use crate::failure::Failure;

/// Rules about what 1.x lacks, and what a later capability brought.
const OF_OLD: [&str; 6] = ["MG108", "MG109", "MG113", "MG307", "MG309", "MG311"];
/// The rules for a source that an architecture cannot run, to name the place better than PTX does.
const OF_CAPABILITY: [&str; 2] = ["MG307", "MG311"];
const BUILT_IN: &str = "MG114";
const STATIC_MEMBER: &str = "MG115";
const SIGNATURE: &str = "MG116";
const VIRTUAL_ARGUMENT: &str = "MG118";

const ATOMICS: &str = "MG307";
/// The first architecture with all atomics on 64 bits.
const KEPLER_2: u32 = 35;
/// The first architecture with a stack, generic addresses and all else that clang takes for granted.
const FERMI: u32 = 20;

/// Judges the PTX of a source as ptxas would.
pub fn ptx(
    session: &Session,
    options: &Options,
    source: &Path,
    arch: Arch,
    ptx: &str,
) -> Result<(), Failure> {
    let problems = image::problems(ptx.as_bytes());
    if problems.is_empty() {
        return Ok(());
    }
    let lacking = problems.iter().any(|p| !p.trail.is_empty() || p.message.contains("capability"));
    if lacking {
        let report = ruled(session, options, source, arch, &OF_CAPABILITY, None);
        if report.findings.iter().any(|f| f.severity == Severity::Error) {
            eprint!("{}", rendered(&report));
            return Err(Failure::Compile { source_file: source.to_path_buf(), code: 1 });
        }
    }
    const MOST: usize = 20;
    let mut text = String::new();
    for problem in problems.iter().take(MOST) {
        text.push_str(&told(session, source, arch, ptx, problem));
    }
    if let Some(more) = problems.len().checked_sub(MOST).filter(|n| *n > 0) {
        let _ = writeln!(text, "margay: note: {more} more of the kind");
    }
    eprint!("{text}");
    Err(Failure::Compile { source_file: source.to_path_buf(), code: 1 })
}

fn told(session: &Session, source: &Path, arch: Arch, ptx: &str, problem: &Problem) -> String {
    let found = match problem.trail.is_empty() {
        true => trail_at(ptx, problem.line),
        false => problem.trail.clone(),
    };
    let own = |p: &&Place| {
        let file = Path::new(&p.file);
        !file.starts_with(&session.include) && !file.starts_with("/usr")
    };
    let mut text = match found.iter().find(own) {
        // The line of the function's head: clang says no more of code that begins it.
        Some(p) if p.column == 0 => {
            format!("{}:{}: error: in this function: {}\n", p.file, p.line, problem.message)
        }
        Some(p) => format!("{}:{}:{}: error: {}\n", p.file, p.line, p.column, problem.message),
        None => format!("{}: error: {}\n", source.display(), problem.message),
    };
    text = device_link::demangled(&text);
    let line = ptx.lines().nth((problem.line as usize).saturating_sub(1)).unwrap_or_default();
    let _ = writeln!(text, "    PTX line {} for {arch}: {}", problem.line, line.trim());
    text
}

/// The source lines in force at a line of a PTX text that need not parse: the last of each file in the same
/// function, newest first.
fn trail_at(ptx: &str, line: u32) -> Vec<Place> {
    let words = |text: &'_ str| -> Vec<String> {
        text.split(|c: char| c.is_whitespace() || c == ',')
            .filter(|w| !w.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let mut files = std::collections::HashMap::new();
    for text in ptx.lines().filter_map(|l| l.trim().strip_prefix(".file")) {
        if let (Some(number), Some(name)) = (words(text).first(), text.split('"').nth(1)) {
            files.insert(number.clone(), name.to_owned());
        }
    }
    let mut found: Vec<Place> = Vec::new();
    for text in ptx.lines().take(line as usize) {
        // A function's head stands at the start of its line, as nothing of its body does.
        if text.starts_with(".visible") || text.starts_with(".func") || text.starts_with(".entry") {
            found.clear();
        }
        let Some(numbers) = text.trim().strip_prefix(".loc").map(words) else { continue };
        let number = |at: usize| numbers.get(at).and_then(|n| n.parse::<u32>().ok());
        let (Some(file), Some(line @ 1..), Some(column)) =
            (numbers.first().and_then(|n| files.get(n)), number(1), number(2))
        else {
            continue;
        };
        found.retain(|p| p.file != *file);
        found.insert(0, Place { file: file.clone(), line, column });
    }
    found
}

/// Checks a source by the rules that nvcc's front end has and clang's has not. Returns warnings.
pub fn source(
    session: &Session,
    options: &Options,
    source: &Path,
    texts: &[String],
) -> Result<String, Failure> {
    let archs = options.architectures();
    let oldest = archs.iter().min().copied().unwrap_or_else(super::arch::native);
    let mut codes: Vec<&'static str> = Vec::new();
    if oldest.number < FERMI {
        codes.extend(OF_OLD);
    }
    // clang writes loops in place of the atomics on 64 bits that came with 3.5, which nvcc has not before.
    if (FERMI..KEPLER_2).contains(&oldest.number) && texts.iter().any(|t| t.contains("atomic")) {
        codes.push(ATOMICS);
    }
    // Parsing twice more takes a second: only what has the words can be wrong. clang itself refuses the other
    // built-in variables' addresses; `warpSize` is an `int` to it.
    if texts.iter().any(|t| may_address_warp_size(t)) {
        codes.push(BUILT_IN);
    }
    if texts.iter().any(|t| t.lines().any(may_be_static_member)) {
        codes.push(STATIC_MEMBER);
    }
    if texts.iter().any(|t| asks_for_architecture_outside_functions(t)) {
        codes.push(SIGNATURE);
    }
    if texts.iter().any(|t| t.contains("virtual")) {
        codes.push(VIRTUAL_ARGUMENT);
    }
    if codes.is_empty() {
        return Ok(String::new());
    }
    // nvcc lets these two pass, and the launch goes wrong.
    let gentle = [SIGNATURE, VIRTUAL_ARGUMENT];
    let report = ruled(session, options, source, oldest, &codes, Some(&gentle));
    if let Some(why) = report.unreadable.as_ref().filter(|_| oldest.number < FERMI) {
        eprintln!("margay: note: not checked for what {oldest} lacks: {why}");
    }
    let text = rendered(&report);
    if report.findings.iter().any(|f| f.severity == Severity::Error) {
        eprint!("{text}");
        return Err(Failure::Compile { source_file: source.to_path_buf(), code: 1 });
    }
    Ok(text)
}

/// Whether a text may take the address of `warpSize`.
fn may_address_warp_size(text: &str) -> bool {
    text.match_indices("warpSize").any(|(at, _)| {
        let before = text[..at].trim_end_matches(|c: char| c.is_whitespace() || "(:".contains(c));
        before.ends_with('&') && !before.ends_with("&&")
    })
}

/// Whether a line may declare a static data member with a memory space.
fn may_be_static_member(line: &str) -> bool {
    const SPACES: [&str; 4] = ["__device__", "__constant__", "__shared__", "__managed__"];
    let head = line.split(['=', ';']).next().unwrap_or(line);
    head.contains("static ") && SPACES.iter().any(|s| head.contains(s)) && !head.contains('(')
}

/// Whether `__CUDA_ARCH__` decides about what stands outside of functions and classes.
fn asks_for_architecture_outside_functions(text: &str) -> bool {
    let mut depth = 0_usize;
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or(line).trim();
        if line.starts_with('#') {
            if depth == 0 && line.contains("__CUDA_ARCH__") {
                return true;
            }
            continue;
        }
        // What stands in these is outside all the same; their closing braces find nothing to close.
        let plain = line.starts_with("namespace") || line.starts_with("extern");
        for c in line.chars() {
            match c {
                '{' if !plain => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    false
}

fn rendered(report: &Report) -> String {
    render::text::render(report, std::io::stderr().is_terminal())
}

/// What rules find in a source. Those of `gentle` warn, the others speak as they do in `margay check`.
fn ruled(
    session: &Session,
    options: &Options,
    source: &Path,
    arch: Arch,
    codes: &[&'static str],
    gentle: Option<&[&'static str]>,
) -> Report {
    let capability = ComputeCapability::from_sm(arch.number);
    let version = options.cuda_version.unwrap_or(headers::VERSIONS[0]);
    let include =
        vec![session.include.clone(), headers::version_directory(&session.include, version)];
    let mut environment = Environment::new(include, capability);
    environment.cuda_version = version;
    environment.standard = options.standard.clone();
    environment.flags = options.common.clone();
    environment.relocatable = options.relocatable;
    environment.newest_sm = session.clang.newest_sm();
    environment.precompiled = Some(Cache::open().root.join("precompiled"));
    let mut settings = Settings { language: Some(Language::Cuda), ..Settings::default() };
    for rule in registry::all() {
        let severity = match () {
            () if !codes.contains(&rule.code) => Severity::Off,
            () if gentle.is_some_and(|g| g.contains(&rule.code)) => Severity::Warning,
            () => rule.severity,
        };
        settings.severities.insert(rule.code, severity);
    }
    let mut report = check::file(source, &environment, &settings);
    // clang has spoken for itself.
    report.findings.retain(|f| !f.by_clang && f.code.is_some_and(|c| codes.contains(&c)));
    report
}

/// What clang said of a failed device pass, with the capability that has what it did not find.
pub fn explained(said: &str, arch: Arch) -> String {
    let capability = ComputeCapability::from_sm(arch.number);
    let mut notes: Vec<String> = Vec::new();
    let mut note = |text: String| {
        if !notes.contains(&text) {
            notes.push(text);
        }
    };
    for line in said.lines().filter(|l| l.contains("error:")) {
        let named =
            |before: &str| line.split_once(before)?.1.split_once('\'').map(|(name, _)| name);
        if let Some(name) = named("use of undeclared identifier '") {
            if let Some(since) = function_needs_capability::since(name).filter(|s| *s > capability)
            {
                note(format!(
                    "{name}() needs compute capability {since}; this is {capability} ({arch})"
                ));
            } else if name.starts_with("atomic") {
                note(atomics(name, capability, arch));
            }
        }
        if let Some(name) = named("no matching function for call to '")
            && name.starts_with("atomic")
        {
            note(atomics(name, capability, arch));
        }
    }
    notes.iter().map(|n| format!("margay: note: {n}\n")).collect()
}

/// The types that later capabilities brought to an atomic function.
fn atomics(name: &str, capability: ComputeCapability, arch: Arch) -> String {
    let later: Vec<String> = atomic_unsupported::later(name, capability.sm())
        .into_iter()
        .map(|(what, sm)| format!("{what} from {} on", ComputeCapability::from_sm(sm)))
        .collect();
    match later.is_empty() {
        true => format!("{name}() has no such form on compute capability {capability} ({arch})"),
        false => format!(
            "{name}() on compute capability {capability} ({arch}) lacks what later ones have: {}",
            later.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clang_does_not_find_names_its_capability() {
        let arch = Arch::parse("sm_20").unwrap();
        let said = "x.cu:3:5: error: use of undeclared identifier '__shfl_sync'\n\
                    x.cu:4:5: error: use of undeclared identifier 'foo'\n";
        assert_eq!(
            explained(said, arch),
            "margay: note: __shfl_sync() needs compute capability 3.0; this is 2.0 (sm_20)\n"
        );
        let said = "x.cu:3:5: error: no matching function for call to 'atomicAdd'\n";
        let note = explained(said, Arch::parse("sm_50").unwrap());
        assert!(note.contains("double from 6.0 on"), "{note}");
        assert_eq!(explained("x.cu:3:5: error: expected ';'\n", arch), "");
    }

    #[test]
    fn what_makes_a_source_worth_a_second_look() {
        let arch = asks_for_architecture_outside_functions;
        assert!(arch("#ifdef __CUDA_ARCH__\ntypedef float real;\n#endif\n"));
        assert!(arch("namespace n {\nvoid f() {\n}\n#if __CUDA_ARCH__ < 600\n"));
        assert!(!arch(
            "__global__ void k() {\n  if (x) {\n  }\n#if __CUDA_ARCH__ < 600\n#endif\n}\n"
        ));
        assert!(may_be_static_member("  static __device__ int n;"));
        assert!(may_be_static_member("  __constant__ static float t[4] = {f(1)};"));
        assert!(!may_be_static_member("  static __device__ int f(int n);"));
        assert!(!may_be_static_member("  static int n;"));
    }

    #[test]
    fn lines_of_text_that_does_not_parse() {
        let ptx = ".visible .entry a()\n{\n\t.loc\t1 3 1\n}\n.visible .entry k()\n{\n\t.loc\t2 7 3 // h.h\n\
                   \t.loc\t1 9 0\n\tjunk.x;\n\t.loc 1 12 1\n}\n\t.file\t1 \"/x.cu\"\n\t.file\t2 \"/h.h\"\n";
        let trail = trail_at(ptx, 9);
        let places: Vec<(&str, u32)> = trail.iter().map(|p| (&*p.file, p.line)).collect();
        assert_eq!(places, [("/x.cu", 9), ("/h.h", 7)]);
    }
}
