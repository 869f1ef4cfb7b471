// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs of one program with several schedules, and whether they end alike.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Write};
use std::process::{ChildStdout, Command, ExitStatus, Stdio};

use serde::Serialize;

use crate::commands::child;
use crate::failure::Failure;

/// What a run left.
struct Run {
    status: ExitStatus,
    /// How much it wrote to its standard output, and a hash of that.
    output: (u64, u64),
    /// A hash of what it copied from the device.
    results: u64,
}

/// How many schedules there were, and which of them ended otherwise than the first.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparison {
    pub schedules: u32,
    pub differ: bool,
    /// `MARGAY_SEED` of the runs whose exit status was another, of those that wrote something else, and of those that
    /// copied something else from the device.
    pub other_status: Vec<u32>,
    pub other_output: Vec<u32>,
    pub other_results: Vec<u32>,
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |what: &str, seeds: &[u32]| {
            let first = seeds.first()?;
            Some(format!("{what} of {} is another, first with --seed {first}", seeds.len()))
        };
        let told = [
            of("exit status", &self.other_status),
            of("output", &self.other_output),
            of("what is copied from the device", &self.other_results),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        match told.is_empty() {
            true => write!(
                f,
                "{} schedules: results do not differ (exit status, output, copies from the device)",
                self.schedules
            ),
            false => {
                write!(f, "{} schedules: results differ: {}", self.schedules, told.join("; "))
            }
        }
    }
}

/// Passes on what a program writes, and hashes it.
fn passed_on(mut from: ChildStdout) -> (u64, u64) {
    let (mut bytes, mut hasher) = (0, DefaultHasher::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                hasher.write(&buffer[..n]);
                bytes += n as u64;
                // Nobody is left to tell if it is closed; the program is not to notice.
                let _ = io::stdout().write_all(&buffer[..n]).and_then(|()| io::stdout().flush());
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    (bytes, hasher.finish())
}

/// Runs the program so many times. Returns the first end that was not 0, or the first run's, and how they compare.
/// `results` gives a sum of what all runs so far copied from the device.
pub fn run(
    command: &mut Command,
    schedules: u32,
    results: impl Fn() -> Result<u64, Failure>,
) -> Result<(ExitStatus, Comparison), Failure> {
    command.stdout(Stdio::piped());
    let mut before = 0u64;
    let mut once = |command: &mut Command| {
        let (status, output) =
            child::run_with(command, |child| child.stdout.take().map(passed_on))?;
        let now = results()?;
        let results = now.wrapping_sub(std::mem::replace(&mut before, now));
        Ok::<Run, Failure>(Run { status, output: output.unwrap_or_default(), results })
    };
    let first = once(command)?;
    let (mut worst, mut comparison) =
        (first.status, Comparison { schedules, ..Comparison::default() });
    for seed in 1..schedules {
        command.env("MARGAY_SEED", seed.to_string()).env("MARGAY_LOG", "off");
        let run = once(command)?;
        for (differs, list) in [
            (run.status != first.status, &mut comparison.other_status),
            (run.output != first.output, &mut comparison.other_output),
            (run.results != first.results, &mut comparison.other_results),
        ] {
            comparison.differ |= differs;
            list.extend(differs.then_some(seed));
        }
        if worst.success() && !run.status.success() {
            eprintln!("margay: the program failed with --seed {seed}");
            worst = run.status;
        }
    }
    Ok((worst, comparison))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of three runs of a script, which copied as much from the device as the file `results` has bytes by then.
    fn compared(script: &str) -> (ExitStatus, Comparison) {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("results");
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(place.path()).env_remove("MARGAY_SEED");
        run(&mut command, 3, || Ok(std::fs::metadata(&file).map_or(0, |m| m.len()))).unwrap()
    }

    #[test]
    fn runs_are_compared_by_output_status_and_results() {
        let (status, same) = compared("echo one; printf x >> results");
        assert!(status.success() && !same.differ, "{same:?}");
        assert_eq!(
            same.to_string(),
            "3 schedules: results do not differ (exit status, output, copies from the device)"
        );
        let (_, output) = compared("echo $((${MARGAY_SEED:-0} / 2))");
        assert_eq!((output.differ, &output.other_output[..]), (true, &[2][..]));
        let (status, ends) = compared("exit ${MARGAY_SEED:-0}");
        assert_eq!(status.code(), Some(1));
        assert_eq!((&ends.other_status[..], &ends.other_output[..]), (&[1, 2][..], &[][..]));
        assert_eq!(
            ends.to_string(),
            "3 schedules: results differ: exit status of 2 is another, first with --seed 1"
        );
        let (_, copies) = compared("printf %${MARGAY_SEED:-1}s x >> results");
        assert_eq!((copies.differ, &copies.other_results[..]), (true, &[2][..]));
    }
}
