// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `--engine auto` loses to the better of the two engines: each kernel's launches in a process of their own, the
//! first one included, with an empty cache and with one that holds the code.

use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::case::{Case, Check};
use super::cases::{self, Size};
use super::engine;
use super::table::{machine, today};

/// Launches that the better engine ends in less are too short to choose for.
const SHORT: f64 = 1.0;
/// What the choice may lose.
const AIM: f64 = 1.5;
/// What takes so many times as long as the best of a turn is not asked again.
const HOPELESS: f64 = 4.0;

/// An engine, and whether its code lies in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    engine: &'static str,
    warm: bool,
}

const WAYS: [Way; 5] = [
    Way { engine: "interp", warm: false },
    Way { engine: "jit", warm: false },
    Way { engine: "auto", warm: false },
    Way { engine: "jit", warm: true },
    Way { engine: "auto", warm: true },
];

/// Milliseconds of a case at a size, the least of all turns, in the order of [`WAYS`].
struct Row {
    name: &'static str,
    size: Size,
    took: [f64; WAYS.len()],
}

impl Row {
    /// The better engine's time, and how many times longer the choice took.
    fn choice(&self, warm: bool) -> (f64, f64) {
        let [interp, jit, auto, warm_jit, warm_auto] = self.took;
        let (jit, auto) = if warm { (warm_jit, warm_auto) } else { (jit, auto) };
        let best = interp.min(jit);
        (best, auto / best)
    }

    /// The ratio, if the launches are long enough for one.
    fn ratio(&self, warm: bool) -> Option<f64> {
        let (best, ratio) = self.choice(warm);
        (best > SHORT).then_some(ratio)
    }
}

/// A folder that goes with its value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let path = std::env::temp_dir().join(format!("margay-choice-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Of no consequence if it fails: it is a temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a run is asked for.
pub struct Wish<'a> {
    pub sizes: &'a [Size],
    pub only: &'a [String],
    pub threads: usize,
    pub turns: usize,
    pub json: Option<&'a str>,
    pub markdown: Option<&'a str>,
}

/// Measures all cases at all sizes.
pub fn run(root: &Path, wish: &Wish<'_>) -> Result<(), String> {
    let folder = Folder::new()?;
    let mut rows = Vec::new();
    for &size in wish.sizes {
        for case in cases::all(size) {
            if !wish.only.is_empty() && !wish.only.iter().any(|o| o == case.name) {
                continue;
            }
            let text = folder.0.join(format!("{}.ptx", case.name));
            if !text.exists() {
                std::fs::write(&text, engine::ptx(root, case.name)?).map_err(|e| e.to_string())?;
            }
            let row = measure(&case, size, &folder.0, wish)?;
            let tell = |warm| row.ratio(warm).map_or("-".to_owned(), |r| format!("{r:.2}"));
            eprintln!(
                "{} {}: {:.2?} {} {}",
                row.name,
                size.name(),
                row.took,
                tell(false),
                tell(true)
            );
            rows.push(row);
        }
    }
    if rows.is_empty() {
        return Err("no case has that name".to_owned());
    }
    let text = table(&rows, wish);
    print!("{text}");
    let write = |path: Option<&str>, text: String| match path {
        Some(path) => std::fs::write(path, text).map_err(|e| format!("{path}: {e}")),
        None => Ok(()),
    };
    write(wish.markdown, text)?;
    write(wish.json, json(&rows, wish))
}

fn measure(case: &Case, size: Size, folder: &Path, wish: &Wish<'_>) -> Result<Row, String> {
    let mut row = Row { name: case.name, size, took: [f64::INFINITY; WAYS.len()] };
    let warm = folder.join(format!("{}-{}", case.name, size.name()));
    let mut results = None;
    let mut one = |way: Way, cache: &Path| -> Result<f64, String> {
        let (took, hash) = in_a_process(case.name, size, folder, way.engine, cache, wish.threads)?;
        // With several threads sums may be made in another order.
        if wish.threads == 1 && *results.get_or_insert(hash) != hash {
            return Err(format!("{}: {} has other results", case.name, way.engine));
        }
        Ok(took)
    };
    // Fills the cache.
    one(WAYS[1], &warm)?;
    for turn in 0..wish.turns.max(1) {
        let best = row.took.iter().copied().fold(f64::INFINITY, f64::min);
        for (n, &way) in WAYS.iter().enumerate() {
            if turn > 0 && way.engine == "interp" && row.took[n] > HOPELESS * best.max(100.0) {
                continue;
            }
            let cold = folder.join("cold");
            let took = one(way, if way.warm { &warm } else { &cold })?;
            let _ = std::fs::remove_dir_all(&cold);
            row.took[n] = row.took[n].min(took);
        }
    }
    Ok(row)
}

/// Runs a case once in a process that has run nothing before.
fn in_a_process(
    name: &str,
    size: Size,
    folder: &Path,
    engine: &str,
    cache: &Path,
    threads: usize,
) -> Result<(f64, u64), String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut child = Command::new(&program);
    child.args(["bench", "--choice-once", size.name(), "--only", name]);
    child.args(["--threads", &threads.to_string()]).arg("--ptx").arg(folder);
    child
        .env("MARGAY_ENGINE", engine)
        .env("MARGAY_CACHE_DIR", cache)
        .env_remove("MARGAY_JIT_CACHE");
    let output = child.output().map_err(|e| e.to_string())?;
    let told = String::from_utf8_lossy(&output.stdout);
    let wrong = || format!("{name}, {engine}: {told}{}", String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(wrong());
    }
    let (took, hash) = told.trim().split_once(' ').ok_or_else(wrong)?;
    Ok((took.parse().map_err(|_| wrong())?, hash.parse().map_err(|_| wrong())?))
}

/// [`in_a_process`], in that process: prints milliseconds and a hash of the results.
pub fn once(size: Size, only: &[String], folder: &Path, threads: usize) -> Result<(), String> {
    let mut all = cases::all(size).into_iter();
    let case = all.find(|c| only.iter().any(|o| o == c.name)).ok_or("no such case")?;
    let file = folder.join(format!("{}.ptx", case.name));
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let contents: Vec<Vec<u8>> =
        case.buffers.iter().enumerate().map(|(i, b)| b.contents(i as u32)).collect();
    let mut ours = engine::prepare_text(&case, &text)?;
    ours.fill(&contents);
    let took = ours.run(&case, threads)?.milliseconds;
    let mut hash = DefaultHasher::new();
    for (i, buffer) in case.buffers.iter().enumerate() {
        if !matches!(buffer.check, Check::None) {
            ours.read(i, buffer.bytes()).hash(&mut hash);
        }
    }
    println!("{took} {}", hash.finish());
    Ok(())
}

/// The largest ratio, the geometric mean, and how many miss the aim, of how many.
fn summary(rows: &[Row], warm: bool) -> (f64, f64, usize, usize) {
    let ratios: Vec<f64> = rows.iter().filter_map(|row| row.ratio(warm)).collect();
    let worst = ratios.iter().copied().fold(f64::NAN, f64::max);
    let mean = (ratios.iter().map(|r| r.ln()).sum::<f64>() / ratios.len() as f64).exp();
    (worst, mean, ratios.iter().filter(|&&r| r > AIM).count(), ratios.len())
}

fn table(rows: &[Row], wish: &Wish<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "Machine: {}. Date: {}. Least of {} turns, ms, {} thread(s), each in a process of its own.\n",
        machine(),
        today(),
        wish.turns,
        wish.threads
    );
    out += "| kernel | size | interp | jit, no cache | auto, no cache | × | jit, cached | auto, cached | × |\n";
    out += "|---|---|---|---|---|---|---|---|---|\n";
    for row in rows {
        let cell = |warm| row.ratio(warm).map_or("-".to_owned(), |r| format!("{r:.2}"));
        let [interp, jit, auto, warm_jit, warm_auto] = row.took;
        let (name, size, cold, warm) = (row.name, row.size.name(), cell(false), cell(true));
        let _ = writeln!(
            out,
            "| {name} | {size} | {interp:.2} | {jit:.2} | {auto:.2} | {cold} | {warm_jit:.2} | {warm_auto:.2} | {warm} |"
        );
    }
    for (warm, what) in [(false, "Without a cache"), (true, "From the cache")] {
        let (worst, mean, missed, of) = summary(rows, warm);
        let _ = writeln!(
            out,
            "\n{what}: at most {worst:.2} ×, geometric mean {mean:.2}, {missed} of {of} above {AIM}."
        );
    }
    out
}

fn json(rows: &[Row], wish: &Wish<'_>) -> String {
    let rows: Vec<_> = rows
        .iter()
        .map(|row| {
            let took: serde_json::Map<String, serde_json::Value> = WAYS
                .iter()
                .zip(row.took)
                .map(|(way, ms)| {
                    let cache = if way.warm { "cached" } else { "cold" };
                    (format!("{}-{cache}", way.engine), ms.into())
                })
                .collect();
            serde_json::json!({
                "kernel": row.name,
                "size": row.size.name(),
                "milliseconds": took,
                "cold": row.ratio(false),
                "cached": row.ratio(true),
            })
        })
        .collect();
    let whole = serde_json::json!({
        "machine": machine(),
        "date": today(),
        "turns": wish.turns,
        "threads": wish.threads,
        "rows": rows,
    });
    format!("{whole:#}\n")
}
