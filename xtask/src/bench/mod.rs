// SPDX-License-Identifier: MIT OR Apache-2.0
//! The bench: the kernels of `benches/kernels/` on margay, beside OpenMP twins and OpenCL platforms.
//!
//! Runners take turns within one process, each number is the median of several turns, results are
//! compared with the twin's, and only ratios are worth comparing between machines. Peers that are not
//! installed are named as missing, never left out in silence.

mod case;
mod cases;
mod choice;
mod cost;
mod data;
mod engine;
mod opencl;
mod table;
mod twin;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use case::{Case, compare};
use cases::Size;
use data::Aligned;
use table::{Row, Table};

pub const USAGE: &str = "usage: cargo xtask bench [--quick | --small] [--threads N,N...] [--only CASE,CASE...] \
[--peers openmp,openmp-fast,openmp-other,pocl,oclgrind,margay-opencl] [--pocl LIBRARY] [--turns N] [--json FILE] [--markdown FILE]; with \
--profile-cost, margay alone, with and without all counters; with --compare-profiles, whether interpreted and compiled code have the \
same; with --choice, what `--engine auto` loses to the better engine, at \
all sizes or the one that is named; with several numbers of threads, files end in the number";

struct Options {
    size: Size,
    threads: Vec<usize>,
    only: Vec<String>,
    peers: Vec<String>,
    /// The library of another PoCL than the machine's.
    pocl: Option<String>,
    turns: usize,
    json: Option<String>,
    markdown: Option<String>,
    /// Instead of peers: what a profile costs.
    profile_cost: bool,
    /// Instead of peers: whether both engines' profiles are the same.
    compare_profiles: bool,
    /// Instead of peers: what the choice between the engines loses, at these sizes.
    choice: Option<Vec<Size>>,
    /// One measurement of that, in a process of its own.
    choice_once: Option<Size>,
    /// The folder of the PTX for it.
    ptx: String,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options, String> {
        let mut options = Options {
            size: Size::Full,
            threads: vec![1],
            only: Vec::new(),
            peers: ["openmp", "openmp-fast", "openmp-other", "pocl"].map(String::from).to_vec(),
            pocl: None,
            turns: 5,
            json: None,
            markdown: None,
            profile_cost: false,
            compare_profiles: false,
            choice: None,
            choice_once: None,
            ptx: String::new(),
        };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().cloned().ok_or_else(|| format!("{flag} wants a value"));
            let list = |text: String| text.split(',').map(String::from).collect::<Vec<_>>();
            let number = |text: &str| text.parse().map_err(|_| format!("`{text}` is not a number"));
            match flag.as_str() {
                "--quick" => (options.size, options.turns) = (Size::Quick, 1),
                "--small" => options.size = Size::Small,
                "--threads" => {
                    options.threads =
                        list(value()?).iter().map(|t| number(t)).collect::<Result<_, _>>()?;
                }
                "--only" => options.only = list(value()?),
                "--peers" => options.peers = list(value()?),
                "--pocl" => options.pocl = Some(value()?),
                "--turns" => options.turns = number(&value()?)?,
                "--profile-cost" => options.profile_cost = true,
                "--compare-profiles" => options.compare_profiles = true,
                "--choice" => options.choice = Some(Size::ALL.to_vec()),
                "--choice-once" => {
                    let name = value()?;
                    options.choice_once = Size::ALL.into_iter().find(|s| s.name() == name);
                }
                "--ptx" => options.ptx = value()?,
                "--json" => options.json = Some(value()?),
                "--markdown" => options.markdown = Some(value()?),
                other => return Err(format!("unknown flag {other}; {USAGE}")),
            }
        }
        if options.choice.is_some() && options.size != Size::Full {
            options.choice = Some(vec![options.size]);
        }
        Ok(options)
    }

    /// The cases that were asked for.
    fn cases(&self) -> Result<Vec<Case>, String> {
        let chosen: Vec<Case> = cases::all(self.size)
            .into_iter()
            .filter(|c| self.only.is_empty() || self.only.iter().any(|o| o == c.name))
            .collect();
        match chosen.is_empty() {
            true => Err("no case has that name".to_owned()),
            false => Ok(chosen),
        }
    }
}

/// Everything that runs the kernels.
struct Peers {
    twins: Vec<(&'static str, twin::Twins)>,
    platforms: Vec<(&'static str, opencl::Platform)>,
    missing: Vec<String>,
}

impl Peers {
    fn find(root: &Path, wanted: &[String]) -> Result<Peers, String> {
        let mut peers = Peers { twins: Vec::new(), platforms: Vec::new(), missing: Vec::new() };
        for name in wanted {
            match name.as_str() {
                "openmp" => peers.twin(root, "openmp", &[])?,
                "openmp-fast" => peers.twin(root, "openmp-fast", &["-ffast-math"])?,
                "openmp-other" => peers.twin(root, "openmp-other", &["-ffast-math"])?,
                "pocl" => peers.platform("pocl", "Portable Computing Language"),
                "oclgrind" => peers.platform("oclgrind", "Oclgrind"),
                "margay-opencl" => peers.platform("margay-opencl", "margay"),
                other => return Err(format!("unknown peer {other}; {USAGE}")),
            }
        }
        Ok(peers)
    }

    fn twin(&mut self, root: &Path, name: &'static str, flags: &[&str]) -> Result<(), String> {
        match twin::build(root, name, flags)? {
            Some(twins) => self.twins.push((name, twins)),
            None => self.missing.push(format!("{name}: no g++ with -fopenmp")),
        }
        Ok(())
    }

    fn platform(&mut self, name: &'static str, title: &str) {
        match opencl::open(title) {
            Some(platform) => self.platforms.push((name, platform)),
            None => self.missing.push(format!("{name}: no such OpenCL platform")),
        }
    }
}

/// PoCL reads its number of threads once, when it is loaded.
const POCL_THREADS: &str = "POCL_MAX_PTHREAD_COUNT";

/// Runs the bench in a process of its own for each number of threads.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    if options.compare_profiles {
        return cost::compare(root(), &options.cases()?);
    }
    if options.profile_cost {
        let (cases, turns) = (options.cases()?, options.turns);
        for &threads in &options.threads {
            let markdown = options.markdown.as_ref().map(|path| match options.threads.len() {
                1 => path.clone(),
                _ => format!("{path}.{threads}"),
            });
            cost::run(root(), &cases, threads, turns, markdown.as_deref())?;
        }
        return Ok(());
    }
    if let Some(size) = options.choice_once {
        return choice::once(size, &options.only, Path::new(&options.ptx), options.threads[0]);
    }
    if let Some(sizes) = &options.choice {
        for &threads in &options.threads {
            let path = |path: &Option<String>| match options.threads.len() {
                1 => path.clone(),
                _ => path.as_ref().map(|path| format!("{path}.{threads}")),
            };
            let (json, markdown) = (path(&options.json), path(&options.markdown));
            let wish = choice::Wish {
                sizes,
                only: &options.only,
                threads,
                turns: options.turns,
                json: json.as_deref(),
                markdown: markdown.as_deref(),
            };
            choice::run(root(), &wish)?;
        }
        return Ok(());
    }
    if std::env::var_os(POCL_THREADS).is_some() {
        return run_here(options);
    }
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    for &threads in &options.threads {
        let path = |path: &str| match options.threads.len() {
            1 => path.to_owned(),
            _ => format!("{path}.{threads}"),
        };
        let mut child = Command::new(&program);
        child.arg("bench").args(arguments).args(["--threads", &threads.to_string()]);
        child.env(POCL_THREADS, threads.to_string());
        // Margay's own driver is a peer, too, and reads this once.
        child.env("MARGAY_THREADS", threads.to_string());
        child.env("OCL_ICD_VENDORS", opencl::vendors(root(), options.pocl.as_deref())?);
        for (flag, file) in [("--json", &options.json), ("--markdown", &options.markdown)] {
            if let Some(file) = file {
                child.args([flag, &path(file)]);
            }
        }
        if !child.status().map_err(|e| e.to_string())?.success() {
            return Err(format!("the run on {threads} thread(s) failed"));
        }
    }
    Ok(())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

fn run_here(options: Options) -> Result<(), String> {
    let root = root();
    let peers = Peers::find(root, &options.peers)?;
    let chosen = options.cases()?;
    let mut table = Table::new(&options.threads, options.turns);
    for (name, platform) in &peers.platforms {
        table.note(format!("{name}: {}", platform.title));
    }
    for missing in &peers.missing {
        table.note(format!("missing: {missing}"));
    }
    for &threads in &options.threads {
        for case in &chosen {
            eprintln!("{} on {threads} thread(s)", case.name);
            table.rows.push(measure(root, case, &peers, threads, options.turns, &mut table.notes)?);
        }
    }
    print!("{}", table.text());
    let write = |path: &Option<String>, text: String| match path {
        Some(path) => std::fs::write(path, text).map_err(|e| format!("{path}: {e}")),
        None => Ok(()),
    };
    write(&options.json, table.json())?;
    write(&options.markdown, table.text())?;
    match table.rows.iter().find(|row| !row.wrong.is_empty()) {
        Some(row) => Err(format!("{}: {}", row.name, row.wrong.join("; "))),
        None => Ok(()),
    }
}

/// One row: all runners of one case in turns.
fn measure(
    root: &Path,
    case: &Case,
    peers: &Peers,
    threads: usize,
    turns: usize,
    notes: &mut Vec<String>,
) -> Result<Row, String> {
    let contents: Vec<Vec<u8>> =
        case.buffers.iter().enumerate().map(|(i, b)| b.contents(i as u32)).collect();
    let mut host: Vec<Aligned> = case.buffers.iter().map(|b| Aligned::new(b.bytes())).collect();
    let mut ours = engine::prepare(root, case)?;
    let mut prepared = Vec::new();
    for (name, platform) in &peers.platforms {
        match platform.prepare(root, case) {
            Ok(ready) => prepared.push((*name, platform, ready)),
            Err(why) => notes.push(format!("{name} cannot run {}: {why}", case.name)),
        }
    }
    let mut times: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    let mut row = Row { name: case.name, threads, ..Row::default() };
    // The first turn warms caches and compilers, and checks results.
    for turn in 0..=turns {
        let mut note = |name, ms| {
            if turn > 0 {
                times.entry(name).or_default().push(ms);
            }
        };
        ours.fill(&contents);
        let took = ours.run(case, threads)?;
        note("margay", took.milliseconds);
        row.warp_instructions = took.warp_instructions;
        for (name, twins) in &peers.twins {
            let kind = if *name == "openmp-other" { "other" } else { "twin" };
            if !twins.has(kind, case) {
                continue;
            }
            host.iter_mut().zip(&contents).for_each(|(buffer, bytes)| buffer.fill(bytes));
            note(name, twins.run(kind, case, &host, threads)?);
            if turn == 0 && *name != "openmp-fast" {
                let theirs: Vec<_> =
                    host.iter().zip(&case.buffers).map(|(h, b)| h.read(b.bytes())).collect();
                let read = |i: usize| ours.read(i, case.buffers[i].bytes());
                row.wrong.extend(differences(case, "margay", &read, &theirs));
            }
        }
        // A platform that refuses a case is no reason to know nothing of the others.
        prepared.retain_mut(|(name, platform, ready)| {
            let ran = platform.fill(ready, &contents).and_then(|()| platform.run(ready, case));
            let refused = |why| format!("{name} cannot run {}: {why}", case.name);
            ran.map(|ms| note(name, ms)).map_err(|why| notes.push(refused(why))).is_ok()
        });
        if turn > 0 {
            continue;
        }
        for (name, platform, ready) in &prepared {
            let bytes = |i: usize| case.buffers[i].bytes();
            let theirs: Vec<_> = (0..case.buffers.len()).map(|i| ours.read(i, bytes(i))).collect();
            let read = |i: usize| platform.read(ready, i, bytes(i)).unwrap_or_default();
            notes.extend(differences(case, name, &read, &theirs));
        }
    }
    row.medians = times.into_iter().map(|(name, ms)| (name, median(ms))).collect();
    Ok(row)
}

/// What differs from `theirs` in the outputs that `read` gives.
fn differences(
    case: &Case,
    who: &str,
    read: &dyn Fn(usize) -> Vec<u8>,
    theirs: &[Vec<u8>],
) -> Vec<String> {
    let mut found = Vec::new();
    for (i, buffer) in case.buffers.iter().enumerate() {
        let next = (i + 1 < case.buffers.len()).then(|| read(i + 1));
        if let Err(why) = compare(buffer.check, &read(i), &theirs[i], next.as_deref()) {
            found.push(format!("{who}, {}, buffer {i}: {why}", case.name));
        }
    }
    found
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
