// SPDX-License-Identifier: MIT OR Apache-2.0
//! `margay diff`: two profiles compared.

use std::fs;
use std::path::{Path, PathBuf};

use margay_observe::report::schema::{SCHEMA, VERSION};
use margay_observe::report::{Report, diff};

use crate::failure::{At, Failure};

/// Compare two profiles of `margay run --profile=FILE.json`.
#[derive(clap::Args)]
#[command(after_help = "\
Exit code: 0; with --threshold 1 if some counter of a kernel grew by more than
that; 2 wrong command line or no profiles; 125 a file cannot be read.

Example:
  margay run --profile=before.json app.cu
  margay run --profile=after.json app_new.cu
  margay diff before.json after.json --threshold 2")]
pub struct Args {
    /// The profile before the change.
    before: PathBuf,
    /// The profile after it.
    after: PathBuf,
    /// Fail (exit code 1) if a counter of a kernel grew by more than so many percent.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,
    /// The GPU to compare on, if the profiles count for several.
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Print the differences as JSON.
    #[arg(long)]
    json: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(p) if p >= 0.0 && p.is_finite() => Ok(p),
        Ok(_) | Err(_) => Err("expected percent, such as 2.5".into()),
    }
}

/// Compares and prints.
pub fn run(args: Args) -> Result<u8, Failure> {
    if let Some(gpu) = &args.gpu {
        super::gpu_name::find(gpu)?;
    }
    let (before, after) = (read(&args.before)?, read(&args.after)?);
    let diff = diff::compare(&before, &after, args.gpu.as_deref())
        .map_err(|e| Failure::Usage(e.to_string()))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&diff).unwrap_or_default());
    } else {
        print!("{}", diff.text());
    }
    let Some(threshold) = args.threshold else { return Ok(0) };
    let worse = diff.worse_than(threshold);
    for row in &worse {
        eprintln!(
            "margay: {}: {} grew from {} to {}",
            row.kernel, row.counter, row.before, row.after
        );
    }
    Ok(u8::from(!worse.is_empty()))
}

fn read(path: &Path) -> Result<Report, Failure> {
    let bytes = fs::read(path).at(path, "cannot read")?;
    let report: Report = serde_json::from_slice(&bytes).map_err(|e| {
        Failure::Usage(format!(
            "{}: no profile: {e}; `margay run --profile=FILE.json` writes one",
            path.display()
        ))
    })?;
    if report.schema != SCHEMA || report.version != VERSION {
        return Err(Failure::Usage(format!(
            "{}: a profile of another version of margay; make it again",
            path.display()
        )));
    }
    Ok(report)
}
