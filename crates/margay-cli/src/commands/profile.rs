// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--profile` of `margay run` and `margay launch`: the program runs as a child that writes its counts into a directory of
//! ours; when it has ended, however that came, the reports are made of what is there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{IsTerminal, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use margay_observe::profile::raw::{FORMAT, RawProfile};
use margay_observe::report::{self, Report, build, text};
use margay_observe::sanitize::finding::Finding;

use super::{child, gpu_name};
use crate::failure::{At, Failure};

/// What `--profile` and its relatives say.
#[derive(clap::Args)]
pub struct ProfileArgs {
    /// Count what every memory access does, and report it on standard error at the end; or into
    /// FILE.json or FILE.html. May be repeated.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    profile: Vec<String>,
    /// With --profile: count for these GPUs too, separated by commas (1.0,1.3,2.0,h200).
    #[arg(long, value_name = "NAMES")]
    models: Option<String>,
}

/// A form of the report.
enum Output {
    Terminal,
    Json(PathBuf),
    Html(PathBuf),
}

/// A profile that was asked for.
pub struct Profile {
    outputs: Vec<Output>,
    models: Option<String>,
    directory: tempfile::TempDir,
}

impl ProfileArgs {
    /// Checks the words; `None` if no profile is wanted.
    pub fn wanted(&self) -> Result<Option<Profile>, Failure> {
        if let Some(models) = &self.models {
            if self.profile.is_empty() {
                return Err(Failure::Usage("--models is for --profile".into()));
            }
            gpu_name::check_list(models)?;
        }
        if self.profile.is_empty() {
            return Ok(None);
        }
        let outputs = self.profile.iter().map(|p| output(p)).collect::<Result<_, _>>()?;
        let directory = tempfile::Builder::new().prefix("margay-profile").tempdir();
        let directory = directory.at(&std::env::temp_dir(), "cannot make a directory")?;
        Ok(Some(Profile { outputs, models: self.models.clone(), directory }))
    }
}

fn output(text: &str) -> Result<Output, Failure> {
    if text.is_empty() {
        return Ok(Output::Terminal);
    }
    let path = PathBuf::from(text);
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    if parent.is_some_and(|p| !p.is_dir()) {
        return Err(Failure::Usage(format!("--profile={text}: there is no such directory")));
    }
    match path.extension().and_then(OsStr::to_str) {
        Some("json") => Ok(Output::Json(path)),
        Some("html" | "htm") => Ok(Output::Html(path)),
        Some(_) | None => Err(Failure::Usage(format!(
            "--profile={text}: the file's name must end in .json or .html"
        ))),
    }
}

impl Profile {
    /// Sets the program's environment up.
    pub fn prepare(&self, command: &mut Command) {
        command.env("MARGAY_PROFILE", self.directory.path());
        if let Some(models) = &self.models {
            command.env("MARGAY_MODELS", models);
        }
    }

    /// Reports on the program that ended with `status`, and on what `--check` found in it. The exit code is the program's, unless there
    /// was nothing to profile.
    pub fn finish(
        &self,
        words: &[String],
        status: ExitStatus,
        checks: Vec<Finding>,
    ) -> Result<u8, Failure> {
        let code = child::code(status);
        match self.report(words.to_vec(), status, checks)? {
            true => Ok(code),
            false if code != 0 => {
                eprintln!("margay: the program launched no kernel: there is nothing to profile");
                Ok(code)
            }
            false => Err(Failure::Work(
                "the program launched no kernel on margay's GPU: there is nothing to profile"
                    .into(),
            )),
        }
    }

    /// Makes the reports; false if nothing was launched.
    fn report(
        &self,
        command: Vec<String>,
        status: ExitStatus,
        checks: Vec<Finding>,
    ) -> Result<bool, Failure> {
        let mut profiles = Vec::new();
        let entries = fs::read_dir(self.directory.path())
            .at(self.directory.path(), "cannot read the profile")?;
        for entry in entries.flatten().filter(|e| e.path().extension() == Some("json".as_ref())) {
            let path = entry.path();
            let bytes = fs::read(&path).at(&path, "cannot read the profile")?;
            let unreadable =
                |e: serde_json::Error| Failure::Work(format!("the profile cannot be read: {e}"));
            let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(unreadable)?;
            if value["format"] != FORMAT {
                return Err(Failure::Work(
                    "the libraries that the program used are of another version of margay".into(),
                ));
            }
            let profile: RawProfile = serde_json::from_value(value).map_err(unreadable)?;
            if profile.kernels.iter().any(|k| k.launches > 0) {
                profiles.push(profile);
            }
        }
        if profiles.is_empty() {
            return Ok(false);
        }
        profiles.sort_by_key(|p| p.pid);
        let mut known = BTreeMap::new();
        profiles.iter_mut().for_each(|p| p.tell_apart(&mut known));
        let ended = match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or(0)),
        };
        let run = build::Run { command, ended, demangle: Some(demangle), checks };
        let report = report::build(&profiles, &run);
        for output in &self.outputs {
            write(&report, output)?;
        }
        Ok(true)
    }
}

fn write(report: &Report, output: &Output) -> Result<(), Failure> {
    let (path, bytes) = match output {
        Output::Terminal => {
            let stderr = std::io::stderr();
            let colour = stderr.is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let text = text::render(report, &text::Options { colour, ..Default::default() });
            // Nobody is left to tell if it is closed.
            let _ = stderr.lock().write_all(text.as_bytes());
            return Ok(());
        }
        Output::Json(path) => (path, serde_json::to_vec(report).unwrap_or_default()),
        Output::Html(path) => (path, report::html::render(report).into_bytes()),
    };
    fs::write(path, bytes).at(path, "cannot write the profile")?;
    eprintln!("margay: profile written to {}", path.display());
    Ok(())
}

/// A C++ symbol with and without its parameters.
fn demangle(symbol: &str) -> Option<(String, String)> {
    // Else an OpenCL kernel `f` would be a `float`.
    let parsed = cpp_demangle::Symbol::new(symbol).ok().filter(|_| symbol.starts_with("_Z"))?;
    let plain = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let full = cpp_demangle::DemangleOptions::new().no_return_type();
    let mut plain = parsed.demangle(&plain).ok()?;
    if let Some(template) = plain.find('<') {
        plain.truncate(template);
    }
    Some((parsed.demangle(&full).ok()?, plain))
}
