// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--check` of `margay run`: the program runs as a child whose findings come into a directory of
//! ours; when it has ended they are told once a site, and the exit code says whether there were any.

use std::collections::BTreeSet;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use margay_observe::sanitize::finding::{Check, Finding, Findings, Severity};
use margay_observe::sanitize::report;
use margay_observe::sanitize::{CheckReport, Filter};

use super::child;
use crate::failure::{At, Failure};

/// What `--check` and its relatives say.
#[derive(clap::Args)]
pub struct SanitizeArgs {
    /// Check every kernel: memory, race, init, sync (separated by commas), or all.
    #[arg(long, value_name = "CHECKS")]
    check: Option<String>,
    /// With --check: how findings are written.
    #[arg(long, value_parser = ["text", "json", "sarif", "github"], default_value = "text", requires = "check")]
    check_format: String,
    /// With --check: where they are written, instead of standard error.
    #[arg(long, value_name = "FILE", requires = "check")]
    check_output: Option<PathBuf>,
    /// With --check: the exit code if there are errors and the program itself ends with 0.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "check")]
    error_exitcode: u8,
    /// With --check: only kernels whose name contains this.
    #[arg(long, value_name = "TEXT", requires = "check")]
    kernel_filter: Option<String>,
    /// With --check: only these launches, by number from 1: 1,5-8,20-. Those that --kernel-filter leaves
    /// out do not count.
    #[arg(long, value_name = "NUMBERS", requires = "check")]
    launch_filter: Option<String>,
    /// With --check: what a device error ends: the context, as on a card, or only its kernel, so that what
    /// comes after is checked too.
    #[arg(long, value_parser = ["context", "kernel"], default_value = "context", requires = "check")]
    destroy_on_device_error: String,
    /// With --check: findings that this file lists are left out.
    #[arg(long, value_name = "FILE", requires = "check")]
    suppressions: Option<PathBuf>,
    /// With --check: list all findings in a file that --suppressions takes.
    #[arg(long, value_name = "FILE", requires = "check")]
    save_suppressions: Option<PathBuf>,
    /// With --check: run the program so many times, each with another order of blocks and atomics.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "check",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    schedules: u32,
}

/// Checks that were asked for.
pub struct Sanitize {
    checks: BTreeSet<Check>,
    format: String,
    output: Option<PathBuf>,
    error_exitcode: u8,
    kernel_filter: Option<String>,
    launch_filter: Option<String>,
    destroy: String,
    suppressed: Vec<Suppression>,
    save: Option<PathBuf>,
    schedules: u32,
    directory: tempfile::TempDir,
}

/// A line of a file of suppressions: code, kernel and place; `*` is any.
struct Suppression([String; 3]);

impl Suppression {
    fn of(finding: &Finding) -> Suppression {
        let or_any = |text: String| if text.is_empty() { "*".to_owned() } else { text };
        let place = finding.actors.first().map_or(String::new(), |a| {
            let file = a.source.file.as_deref().unwrap_or("");
            let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
            if name.is_empty() { String::new() } else { format!("{name}:{}", a.source.line) }
        });
        Suppression([finding.code.clone(), or_any(finding.kernel.clone()), or_any(place)])
    }

    fn covers(&self, finding: &Finding) -> bool {
        let theirs = Suppression::of(finding);
        self.0.iter().zip(&theirs.0).all(|(own, other)| own == "*" || own == other)
    }
}

fn suppressions(path: &Path) -> Result<Vec<Suppression>, Failure> {
    let text = fs::read_to_string(path).at(path, "cannot read the suppressions")?;
    let lines = text.lines().enumerate().map(|(n, line)| (n, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|(n, line)| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            let wrong = |_| {
                Failure::Usage(format!(
                    "{}:{}: a suppression is a code, a kernel and FILE:LINE, each or `*`",
                    path.display(),
                    n + 1
                ))
            };
            words.try_into().map(Suppression).map_err(wrong)
        })
        .collect()
}

impl SanitizeArgs {
    /// Checks the words; `None` if nothing is to be checked.
    pub fn wanted(&self) -> Result<Option<Sanitize>, Failure> {
        let Some(text) = &self.check else { return Ok(None) };
        let checks = Check::parse_list(text).map_err(|word| {
            Failure::Usage(format!("--check: `{word}` is none of memory, race, init, sync, all"))
        })?;
        if let Some(text) = &self.launch_filter
            && Filter::parse_launches(text).is_none()
        {
            return Err(Failure::Usage(format!(
                "--launch-filter {text}: expected numbers from 1, as in 1,5-8,20-"
            )));
        }
        let suppressed = match &self.suppressions {
            Some(path) => suppressions(path)?,
            None => Vec::new(),
        };
        let directory = tempfile::Builder::new().prefix("margay-check").tempdir();
        let directory = directory.at(&std::env::temp_dir(), "cannot make a directory")?;
        Ok(Some(Sanitize {
            checks,
            format: self.check_format.clone(),
            output: self.check_output.clone(),
            error_exitcode: self.error_exitcode,
            kernel_filter: self.kernel_filter.clone(),
            launch_filter: self.launch_filter.clone(),
            destroy: self.destroy_on_device_error.clone(),
            suppressed,
            save: self.save_suppressions.clone(),
            schedules: self.schedules,
            directory,
        }))
    }
}

impl Sanitize {
    /// Sets the program's environment up.
    pub fn prepare(&self, command: &mut Command) {
        let names: Vec<&str> = self.checks.iter().map(|c| c.name()).collect();
        command.env("MARGAY_CHECK", names.join(",")).env("MARGAY_CHECK_DIR", self.directory.path());
        if let Some(filter) = &self.kernel_filter {
            command.env("MARGAY_CHECK_KERNELS", filter);
        }
        if let Some(filter) = &self.launch_filter {
            command.env("MARGAY_CHECK_LAUNCHES", filter);
        }
        command.env("MARGAY_DESTROY_ON_DEVICE_ERROR", &self.destroy);
    }

    /// Runs the program again with other schedules; returns the first end that was not 0, or `first`.
    pub fn more_schedules(
        &self,
        command: &mut Command,
        first: ExitStatus,
    ) -> Result<ExitStatus, Failure> {
        let mut worst = first;
        for seed in 1..self.schedules {
            command.env("MARGAY_SEED", seed.to_string()).env("MARGAY_LOG", "off");
            let status = child::run(command)?;
            if worst.success() && !status.success() {
                eprintln!("margay: the program failed with --seed {seed}");
                worst = status;
            }
        }
        Ok(worst)
    }

    /// What was found and is not suppressed, with C++ names as the programmer wrote them.
    pub fn found(&self) -> Result<Vec<Finding>, Failure> {
        let (_, _, findings) = self.read()?;
        Ok(self.left(&findings).iter().map(readable).collect())
    }

    fn left(&self, findings: &Findings) -> Vec<Finding> {
        let covered = |f: &&Finding| self.suppressed.iter().any(|s| s.covers(f));
        findings.list().iter().filter(|f| !covered(f)).cloned().collect()
    }

    /// Launches that were checked, launches that the filter left out, and the findings of all processes.
    fn read(&self) -> Result<(u64, u64, Findings), Failure> {
        let path = self.directory.path();
        let (mut launches, mut filtered, mut findings) = (0, 0, Findings::default());
        let mut paths: Vec<PathBuf> = fs::read_dir(path)
            .at(path, "cannot read the findings")?
            .flatten()
            .map(|entry| entry.path())
            .filter(|p| p.extension() == Some("json".as_ref()))
            .collect();
        paths.sort();
        for path in paths {
            let bytes = fs::read(&path).at(&path, "cannot read the findings")?;
            let report: CheckReport = serde_json::from_slice(&bytes)
                .map_err(|e| Failure::Work(format!("the findings cannot be read: {e}")))?;
            launches += report.launches;
            filtered += report.filtered;
            report.findings.into_iter().for_each(|f| findings.add(f));
        }
        Ok((launches, filtered, findings))
    }

    /// Tells what was found. `code` is how the program ended.
    pub fn finish(&self, code: u8) -> Result<u8, Failure> {
        let (launches, filtered, findings) = self.read()?;
        if launches == 0 {
            let why = match filtered {
                0 => "the program launched no kernel on margay's GPU".to_owned(),
                n => format!("the filters left out all {n} launches"),
            };
            eprintln!("margay: checked nothing: {why}");
            return Ok(if code == 0 { 125 } else { code });
        }
        let all = findings.list();
        if let Some(save) = &self.save {
            let mut text = String::from("# code kernel file:line; * is any\n");
            for finding in all {
                text += &format!("{}\n", Suppression::of(finding).0.join(" "));
            }
            fs::write(save, text).at(save, "cannot write the suppressions")?;
        }
        let left = self.left(&findings);
        self.write(launches, &left)?;
        let errors = left.iter().filter(|f| f.severity == Severity::Error).count();
        Ok(if code == 0 && errors > 0 { self.error_exitcode } else { code })
    }

    fn write(&self, launches: u64, findings: &[Finding]) -> Result<(), Failure> {
        let stderr = std::io::stderr();
        let plain = self.output.is_some()
            || !stderr.is_terminal()
            || std::env::var_os("NO_COLOR").is_some();
        let text = match self.format.as_str() {
            "json" => report::json(launches, findings),
            "sarif" => report::sarif(findings),
            "github" => report::github(findings),
            _ => report::text(&findings.iter().map(readable).collect::<Vec<_>>(), !plain),
        };
        match &self.output {
            Some(path) => fs::write(path, text).at(path, "cannot write the findings")?,
            // Nobody is left to tell if it is closed.
            None => drop(stderr.lock().write_all(text.as_bytes())),
        }
        if self.format == "text" || self.output.is_some() {
            let of = |severity| findings.iter().filter(|f| f.severity == severity).count();
            let plural =
                |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
            eprintln!(
                "margay: {}, {}, {} in {} checked",
                plural(of(Severity::Error), "error"),
                plural(of(Severity::Warning), "warning"),
                plural(of(Severity::Note), "note"),
                plural(launches as usize, "launch").replace("launchs", "launches"),
            );
        }
        Ok(())
    }
}

/// The finding with C++ names as the programmer wrote them.
fn readable(finding: &Finding) -> Finding {
    let mut finding = finding.clone();
    finding.kernel = demangled(&finding.kernel);
    finding.message = demangled(&finding.message);
    finding.object = finding.object.as_deref().map(demangled);
    for actor in &mut finding.actors {
        actor.source.function = demangled(&actor.source.function);
    }
    finding
}

/// The text with every C++ symbol in it demangled.
fn demangled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("_Z") {
        let (before, symbol) = rest.split_at(at);
        let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$' || c == '.');
        let (symbol, after) = symbol.split_at(symbol.find(ends).unwrap_or(symbol.len()));
        out += before;
        // The middle of a word is no symbol's start.
        if before.ends_with(|c: char| c.is_ascii_alphanumeric()) {
            out += symbol;
            rest = after;
            continue;
        }
        // A function's own variable is named after the function, and demangles to it: once is enough.
        match after.strip_prefix("::") {
            Some(inner) if inner.starts_with("_ZZ") => rest = inner,
            Some(_) | None => {
                let parsed = cpp_demangle::Symbol::new(symbol).ok();
                let plain = parsed.and_then(|s| s.demangle(&Default::default()).ok());
                out += plain.as_deref().unwrap_or(symbol);
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use margay_observe::words::Words;

    use super::*;

    #[test]
    fn symbols_in_a_text_are_demangled() {
        assert_eq!(demangled("in _Z4treePi, byte 4"), "in tree(int*), byte 4");
        assert_eq!(demangled("`_Z4treePi::_ZZ4treePiE1s`"), "`tree(int*)::s`");
        assert_eq!(demangled("a file_Zone"), "a file_Zone");
    }

    #[test]
    fn suppressions_cover_what_they_name() {
        let finding = Finding {
            check: Check::Race,
            severity: Severity::Error,
            code: "race/write-write".into(),
            kernel: "k".into(),
            message: String::new(),
            cure: String::new(),
            space: None,
            address: None,
            bytes: None,
            object: None,
            words: Words::Cuda,
            actors: Vec::new(),
            count: 1,
        };
        let line = |words: [&str; 3]| Suppression(words.map(String::from));
        assert!(Suppression::of(&finding).covers(&finding));
        assert!(line(["*", "k", "*"]).covers(&finding));
        assert!(!line(["race/write-write", "other", "*"]).covers(&finding));
    }
}
