// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--check` of `margay run`: the program runs as a child whose findings come into a directory of
//! ours; when it has ended they are told once a site, and the exit code says whether there were any.

mod schedules;
mod suppressions;

use std::collections::BTreeSet;
use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use margay_observe::sanitize::finding::{Check, Finding, Findings, Severity};
use margay_observe::sanitize::names::demangled;
use margay_observe::sanitize::report;
use margay_observe::sanitize::{CheckReport, Filter};

use self::schedules::Comparison;
use self::suppressions::Suppression;
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
    /// With --check: only kernels whose name contains this, as it is in PTX or as C++ has it: `tree(int*)`.
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
    /// With --check: run the program so many times, each with another order of blocks and atomics, and say
    /// whether its exit status, its output and what it copies from the device differ.
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
    /// Once it has run: the program, and how several schedules compared.
    program: PathBuf,
    comparison: Option<Comparison>,
}

/// That a file can be written when the program has ended. What is there stays as it is.
fn check_writable(option: &str, path: &Path) -> Result<(), Failure> {
    let was_there = path.exists();
    match fs::OpenOptions::new().append(true).create(true).open(path) {
        Ok(_) if was_there => Ok(()),
        // An empty file would look like a run that found nothing.
        Ok(_) => fs::remove_file(path).at(path, "cannot be removed again"),
        Err(error) => {
            Err(Failure::Usage(format!("{option} {}: cannot be written: {error}", path.display())))
        }
    }
}

/// That what the environment says of the checks can be understood.
fn check_environment() -> Result<(), Failure> {
    const LIMIT: &str = "MARGAY_CHECK_MEMORY";
    let Some(value) = std::env::var_os(LIMIT).filter(|v| !v.is_empty()) else { return Ok(()) };
    match value.to_str().map(str::parse::<u64>) {
        Some(Ok(_)) => Ok(()),
        Some(Err(_)) | None => Err(Failure::Usage(format!(
            "{LIMIT}={}: expected a number of MiB, such as 4096",
            value.to_string_lossy()
        ))),
    }
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
        check_environment()?;
        let suppressed = match &self.suppressions {
            Some(path) => suppressions::read(path)?,
            None => Vec::new(),
        };
        let outputs = [
            ("--check-output", &self.check_output),
            ("--save-suppressions", &self.save_suppressions),
        ];
        for (option, path) in outputs {
            path.as_deref().map_or(Ok(()), |path| check_writable(option, path))?;
        }
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
            program: PathBuf::new(),
            comparison: None,
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

    /// Runs the program, with as many schedules as were asked for. Returns the first end that was not 0, or the
    /// first run's. `program`: the file that the user knows it by.
    pub fn run(&mut self, command: &mut Command, program: &Path) -> Result<ExitStatus, Failure> {
        self.program = program.to_path_buf();
        if self.schedules == 1 {
            return child::run(command);
        }
        command.env("MARGAY_CHECK_RESULTS", "1");
        let results = || {
            let reports = self.reports()?;
            Ok(reports.iter().fold(0, |sum: u64, report| sum.wrapping_add(report.results)))
        };
        let (status, comparison) = schedules::run(command, self.schedules, results)?;
        self.comparison = Some(comparison);
        Ok(status)
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

    /// What all processes have written so far.
    fn reports(&self) -> Result<Vec<CheckReport>, Failure> {
        let path = self.directory.path();
        let mut paths: Vec<PathBuf> = fs::read_dir(path)
            .at(path, "cannot read the findings")?
            .flatten()
            .map(|entry| entry.path())
            .filter(|p| p.extension() == Some("json".as_ref()))
            .collect();
        paths.sort();
        let read = |path: &PathBuf| {
            let bytes = fs::read(path).at(path, "cannot read the findings")?;
            serde_json::from_slice(&bytes)
                .map_err(|e| Failure::Work(format!("the findings cannot be read: {e}")))
        };
        paths.iter().map(read).collect()
    }

    /// Launches that were checked, launches that the filter left out, and the findings of all processes.
    fn read(&self) -> Result<(u64, u64, Findings), Failure> {
        let (mut launches, mut filtered, mut findings) = (0, 0, Findings::default());
        for report in self.reports()? {
            launches += report.launches;
            filtered += report.filtered;
            report.findings.into_iter().for_each(|f| findings.add(f));
        }
        Ok((launches, filtered, findings))
    }

    /// Tells what was found. `code` is how the program ended.
    pub fn finish(&self, code: u8) -> Result<u8, Failure> {
        let (launches, filtered, findings) = self.read()?;
        if let Some(save) = &self.save {
            let text = suppressions::saved(findings.list());
            fs::write(save, text).at(save, "cannot write the suppressions")?;
        }
        let left = self.left(&findings);
        self.write(launches, &left)?;
        if launches == 0 {
            let why = match filtered {
                0 => "the program launched no kernel on margay's GPU".to_owned(),
                n => format!("the filters left out all {n} launches"),
            };
            eprintln!("margay: checked nothing: {why}");
            return Ok(if code == 0 { 125 } else { code });
        }
        let errors = left.iter().filter(|f| f.severity == Severity::Error).count();
        Ok(if code == 0 && errors > 0 { self.error_exitcode } else { code })
    }

    fn write(&self, launches: u64, findings: &[Finding]) -> Result<(), Failure> {
        let stderr = std::io::stderr();
        let plain = self.output.is_some()
            || !stderr.is_terminal()
            || std::env::var_os("NO_COLOR").is_some();
        let text = match self.format.as_str() {
            "json" => report::json(launches, self.compared(), findings),
            "sarif" => report::sarif(launches, findings, &self.places()),
            "github" => report::github(findings),
            _ => report::text(&findings.iter().map(readable).collect::<Vec<_>>(), !plain),
        };
        match &self.output {
            Some(path) => fs::write(path, text).at(path, "cannot write the findings")?,
            // Nobody is left to tell if it is closed.
            None => drop(stderr.lock().write_all(text.as_bytes())),
        }
        if self.format == "text" || self.output.is_some() {
            self.sum_up(launches, findings);
        }
        Ok(())
    }

    /// How several schedules compared, for machines.
    fn compared(&self) -> Option<serde_json::Value> {
        self.comparison.as_ref().and_then(|c| serde_json::to_value(c).ok())
    }

    fn places(&self) -> report::Places {
        let here = std::env::current_dir().unwrap_or_default();
        report::Places { program: self.program.clone(), here }
    }

    fn sum_up(&self, launches: u64, findings: &[Finding]) {
        let of = |severity| findings.iter().filter(|f| f.severity == severity).count();
        let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        // That nothing was checked has its own line.
        if launches > 0 || !findings.is_empty() {
            eprintln!(
                "margay: {}, {}, {} in {} checked",
                plural(of(Severity::Error), "error"),
                plural(of(Severity::Warning), "warning"),
                plural(of(Severity::Note), "note"),
                plural(launches as usize, "launch").replace("launchs", "launches"),
            );
        }
        if let Some(comparison) = &self.comparison {
            eprintln!("margay: {comparison}");
        }
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
