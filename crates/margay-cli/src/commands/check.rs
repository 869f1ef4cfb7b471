// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay check`: the rules of the language, before anything runs.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use margay_rules::compile_commands::Database;
use margay_rules::config::{self, Config};
use margay_rules::{
    Environment, Language, Report, Settings, Severity, check, fix, registry, render,
};

use crate::failure::{At, Failure};
use crate::toolchain::cache::Cache;
use crate::toolchain::clang::Clang;
use crate::toolchain::{Options, headers};

/// Check the rules of qualifiers, memory spaces and launches in .cu and .cl files.
#[derive(clap::Args, Default)]
#[command(after_help = "\
Examples:
  margay check saxpy.cu
  margay check --gpu sm_13 -Iinclude -DN=4 -std=c++14 *.cu
  margay check --explain MG209

A line is excused by `// margay: allow(MG209)` on it or above it; margay.toml sets severities.
Exit codes: 0 nothing found, or hints only; 1 errors or warnings; 2 could not check.")]
pub struct Args {
    /// Sources: .cu, .cuh, .cl.
    #[arg(required_unless_present = "explain")]
    files: Vec<PathBuf>,
    /// The GPU that the program is for: a name or a compute capability (`margay gpus` lists them).
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// How findings are printed.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The same as --format json.
    #[arg(long)]
    json: bool,
    /// Print what a rule does and why; `all` lists the rules.
    #[arg(long, value_name = "CODE", conflicts_with = "files")]
    explain: Option<String>,
    /// Apply the fixes that are certain, then check again.
    #[arg(long)]
    fix: bool,
    /// Set a rule's severity: MG303=off, MG305=error; may be repeated.
    #[arg(long, value_name = "CODE=SEVERITY")]
    severity: Vec<String>,
    /// The configuration file; otherwise the nearest margay.toml above each file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A compile_commands.json, or its folder, that has the files' flags.
    #[arg(long, value_name = "PATH")]
    compile_commands: Option<PathBuf>,
    /// What the files are, whatever their names end with.
    #[arg(long, value_enum)]
    language: Option<LanguageName>,
    /// The CUDA version whose rules hold, 12.9 by default.
    #[arg(long, value_name = "VERSION")]
    cuda_version: Option<String>,
    /// The language standard: c++17 by default, CL1.2 for OpenCL C.
    #[arg(long, value_name = "STANDARD")]
    std: Option<String>,
    /// The largest file that is read, in MiB.
    #[arg(long, value_name = "MIB")]
    max_file_size: Option<u64>,
    /// A flag for the compiler, as for `margay cc`: -I, -D, -U, -include, -rdc=true. They may also be
    /// written as they are.
    #[arg(long = "cc", value_name = "FLAG", allow_hyphen_values = true)]
    flags: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Excerpts with carets.
    #[default]
    Text,
    /// One JSON object.
    Json,
    /// SARIF 2.1.0.
    Sarif,
    /// Annotations for GitHub Actions.
    Github,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LanguageName {
    Cuda,
    Opencl,
}

impl Args {
    /// What `margay lsp` has of these.
    pub fn for_server(gpu: Option<String>, compile_commands: Option<PathBuf>) -> Args {
        Args { gpu, compile_commands, ..Args::default() }
    }
}

/// Checks all files; 0, 1 or 2.
pub fn run(args: Args) -> Result<u8, Failure> {
    if let Some(word) = &args.explain {
        return explain(word);
    }
    let format = if args.json { Format::Json } else { args.format };
    let mut reports = Vec::new();
    for file in &args.files {
        let (environment, settings) = prepare(&args, file)?;
        let mut report = check::file(file, &environment, &settings);
        if args.fix {
            report = fix_and_check_again(file, report, &environment, &settings)?;
        }
        if format == Format::Text {
            let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            print!("{}", render::text::render(&report, colour));
            if let Some(why) = &report.unreadable {
                eprintln!("margay: error: {why}");
            }
        }
        reports.push(report);
    }
    match format {
        Format::Text => summary(&reports),
        Format::Json => print!("{}", render::json::render(&reports)),
        Format::Sarif => print!("{}", render::sarif::render(&reports)),
        Format::Github => print!("{}", render::github::render(&reports)),
    }
    if format == Format::Github {
        for why in reports.iter().filter_map(|r| r.unreadable.as_ref()) {
            eprintln!("margay: error: {why}");
        }
    }
    Ok(reports.iter().map(Report::exit_code).max().unwrap_or(0))
}

fn explain(word: &str) -> Result<u8, Failure> {
    if word == "all" {
        for rule in registry::all() {
            println!(
                "{} {:<8} {:<34} {}",
                rule.code,
                rule.severity.to_string(),
                rule.name,
                rule.summary
            );
        }
        return Ok(0);
    }
    let rule = registry::find(word).ok_or_else(|| {
        Failure::Usage(format!(
            "no rule is called `{word}`; `margay check --explain all` lists them"
        ))
    })?;
    print!("{}", rule.explain());
    Ok(0)
}

/// What holds for a file: defaults, then margay.toml, then the compilation database, then the command line.
pub fn prepare(args: &Args, file: &Path) -> Result<(Environment, Settings), Failure> {
    let mut settings = Settings::default();
    let mut environment = environment()?;
    let folder = file.canonicalize().ok().and_then(|f| f.parent().map(Path::to_path_buf));
    let path = args.config.clone().or_else(|| folder.and_then(|f| Config::nearest(&f)));
    if let Some(path) = path {
        let config = Config::read(&path).map_err(Failure::Usage)?;
        config.apply(&mut environment, &mut settings).map_err(Failure::Usage)?;
    }
    if let Some(path) = &args.compile_commands {
        let database = Database::read(path).map_err(Failure::Usage)?;
        if !database.apply(file, &mut environment) {
            eprintln!("margay: note: {} does not name {}", path.display(), file.display());
        }
    }
    let options = Options::parse(&args.flags)?;
    if let Some(input) = options.inputs.first() {
        return Err(Failure::Usage(format!("`{}` is no flag of the compiler", input.display())));
    }
    environment.flags.extend(options.common.iter().cloned());
    environment.relocatable |= options.relocatable;
    if let Some(standard) = args.std.clone().or(options.standard) {
        environment.standard = Some(standard);
    }
    if let Some(arch) = options.archs.first() {
        environment.capability = config::capability(&arch.to_string()).map_err(Failure::Usage)?;
    }
    if let Some(gpu) = &args.gpu {
        environment.capability = super::gpu_name::find(gpu)?.cc();
    }
    if let Some(version) = &args.cuda_version {
        environment.cuda_version = config::cuda_version(version).map_err(Failure::Usage)?;
    }
    for word in &args.severity {
        let (code, severity) = severity(word)?;
        settings.severities.insert(code, severity);
    }
    settings.largest = args.max_file_size.map(|m| m.saturating_mul(1 << 20));
    settings.language = args.language.map(|l| match l {
        LanguageName::Cuda => Language::Cuda,
        LanguageName::Opencl => Language::OpenCl,
    });
    // The headers of the API that the version has, or of the nearest that we have.
    let version = environment.cuda_version;
    let nearest = headers::VERSIONS.iter().copied().min_by_key(|v| v.abs_diff(version));
    let root = environment.include[0].clone();
    environment.include.push(headers::version_directory(&root, nearest.unwrap_or(12090)));
    Ok((environment, settings))
}

/// Our headers, and the GPU that programs meet by default.
fn environment() -> Result<Environment, Failure> {
    let include = headers::directory(&Cache::open().root)?;
    let native = crate::toolchain::arch::native();
    let capability =
        config::capability(&format!("sm_{}", native.number)).map_err(Failure::Usage)?;
    let mut environment = Environment::new(vec![include], capability);
    environment.precompiled = Some(Cache::open().root.join("precompiled"));
    if let Ok(clang) = Clang::find() {
        environment.newest_sm = clang.newest_sm();
    }
    Ok(environment)
}

fn severity(word: &str) -> Result<(&'static str, Severity), Failure> {
    let wrong =
        || Failure::Usage(format!("--severity {word}: expected CODE=off|hint|warning|error"));
    let (code, severity) = word.split_once('=').ok_or_else(wrong)?;
    let rule = registry::find(code)
        .ok_or_else(|| Failure::Usage(format!("--severity {word}: no rule is called `{code}`")))?;
    let severity = match severity {
        "off" => Severity::Off,
        "hint" => Severity::Hint,
        "warning" => Severity::Warning,
        "error" => Severity::Error,
        _ => return Err(wrong()),
    };
    Ok((rule.code, severity))
}

/// Fixes may uncover others: a few rounds, then what is left is reported.
fn fix_and_check_again(
    file: &Path,
    mut report: Report,
    environment: &Environment,
    settings: &Settings,
) -> Result<Report, Failure> {
    let mut total = 0;
    for _ in 0..8 {
        let (texts, count) = fix::fixed(&report);
        if count == 0 {
            break;
        }
        total += count;
        for (path, text) in texts {
            std::fs::write(&path, text).at(&path, "cannot write")?;
        }
        report = check::file(file, environment, settings);
    }
    if total > 0 {
        eprintln!("margay: {}: {total} fixed", file.display());
    }
    Ok(report)
}

fn summary(reports: &[Report]) {
    let count = |severity| {
        reports.iter().flat_map(|r| &r.findings).filter(|f| f.severity == severity).count()
    };
    let parts: Vec<String> = [
        (count(Severity::Error), "error"),
        (count(Severity::Warning), "warning"),
        (count(Severity::Hint), "hint"),
    ]
    .into_iter()
    .filter(|(n, _)| *n > 0)
    .map(|(n, what)| format!("{n} {what}{}", if n == 1 { "" } else { "s" }))
    .collect();
    let unreadable = reports.iter().filter(|r| r.unreadable.is_some()).count();
    if !parts.is_empty() {
        eprintln!("margay: {}", parts.join(", "));
    }
    if unreadable > 0 {
        eprintln!("margay: {unreadable} of {} files could not be checked", reports.len());
    }
}
