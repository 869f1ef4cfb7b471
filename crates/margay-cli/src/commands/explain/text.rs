// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answer as text for a terminal of 100 columns: a verdict first, then the lanes, then what they meet
//! in, then the rule and the cure.

use std::fmt::Write;

use margay_arch::picture::{BankRequest, Detail, Segment};
use margay_arch::{Counts, Kind, MemoryModel, Rule, Space, WarpAccess};

use super::Answer;
use super::pattern::{AccessArgs, Pattern};
use crate::failure::Failure;

/// Rows of a list before it says "and n more".
const ROWS: usize = 10;

pub fn space(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local => "local",
        Space::Constant => "constant",
        Space::Parameter => "parameter",
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Load => "load from",
        Kind::Store => "store to",
        Kind::Atomic(_) => "atomic on",
        Kind::Reduction(_) => "reduction on",
    }
}

/// `32 lanes`, `1 lane`.
pub fn plural(n: impl Into<u64>, noun: &str) -> String {
    let n = n.into();
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// `0-15, 18`: lanes as ranges.
pub fn ranges(lanes: &[u8]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for run in lanes.chunk_by(|a, b| a + 1 == *b) {
        parts.push(match run {
            [one] => one.to_string(),
            [a, b] => format!("{a}, {b}"),
            [first, .., last] => format!("{first}-{last}"),
            [] => continue,
        });
    }
    parts.join(", ")
}

/// Heading, then one GPU in full or several in a table.
pub fn accesses(
    args: &AccessArgs,
    pattern: &Pattern,
    answers: &[Answer],
) -> Result<String, Failure> {
    let mut out = String::new();
    let lanes = pattern.mask.count_ones();
    let _ = writeln!(
        out,
        "A warp's {} {} memory, {} a lane, lane tid at {}{}",
        kind(pattern.kind),
        space(pattern.space),
        plural(pattern.width, "byte"),
        pattern.words,
        if lanes == 32 { String::new() } else { format!(", {} active", plural(lanes, "lane")) },
    );
    if let [answer] = answers {
        full(&mut out, args, pattern, answer)?;
    } else {
        table(&mut out, pattern.space, answers);
    }
    Ok(out)
}

fn table(out: &mut String, space: Space, answers: &[Answer]) {
    let columns: &[&str] = match space {
        Space::Shared => &["requests", "wavefronts", "conflicts"],
        Space::Global | Space::Local => &["requests", "transactions", "sectors", "bytes moved"],
        Space::Constant | Space::Parameter => &["requests", "replays"],
    };
    let _ = write!(out, "\n{:<10} {:>4}", "GPU", "CC");
    for column in columns {
        let _ = write!(out, "  {column:>12}");
    }
    let _ = writeln!(out, "  {:<9} MACHINE", "SOURCE");
    for Answer { gpu, detail, .. } in answers {
        let c = &detail.counts;
        let wavefronts = if c.wavefronts_least == c.wavefronts_most {
            c.wavefronts.to_string()
        } else {
            format!("{} ({}-{})", c.wavefronts, c.wavefronts_least, c.wavefronts_most)
        };
        let cells = match space {
            Space::Shared => {
                vec![c.requests.to_string(), wavefronts, c.bank_conflicts().to_string()]
            }
            Space::Global | Space::Local => {
                [c.requests, c.transactions, c.sectors, c.bytes_moved].map(|n| n.to_string()).into()
            }
            Space::Constant | Space::Parameter => {
                vec![c.requests.to_string(), c.replays.to_string()]
            }
        };
        let _ = write!(out, "{:<10} {:>4}", gpu.card.alias, gpu.cc());
        for cell in cells {
            let _ = write!(out, "  {cell:>12}");
        }
        let _ = writeln!(out, "  {:<9} {}", detail.rule.source.word(), detail.machine.text());
    }
    if space == Space::Shared
        && answers
            .iter()
            .any(|a| a.detail.counts.wavefronts_least != a.detail.counts.wavefronts_most)
    {
        out.push_str(
            "\nOn 1.x the manual leaves open which word is broadcast first: the lowest waiting lane's\n\
             is taken; in brackets, what other choices would give.\n",
        );
    }
}

fn full(
    out: &mut String,
    args: &AccessArgs,
    pattern: &Pattern,
    answer: &Answer,
) -> Result<(), Failure> {
    let Answer { gpu, detail, .. } = answer;
    let _ = writeln!(out, "on {}, compute capability {}:\n", gpu.card.name, gpu.cc());
    match pattern.space {
        Space::Shared => {
            banks(out, pattern, detail);
            cure(out, args, pattern, answer)?;
        }
        Space::Global | Space::Local => segments(out, pattern, detail),
        Space::Constant | Space::Parameter => places(out, detail),
    }
    figures(out, pattern.space, &detail.counts);
    machine(out, detail);
    Ok(())
}

fn machine(out: &mut String, detail: &Detail) {
    let _ = writeln!(out, "  machine code   {}", detail.machine.text());
    let Rule { source, place, text } = detail.rule;
    for (label, words) in
        [("rule", text.to_owned()), ("source", format!("{}: {place}", source.word()))]
    {
        for (n, line) in wrapped(&words, 80).iter().enumerate() {
            let _ = writeln!(out, "  {:<14} {line}", if n == 0 { label } else { "" });
        }
    }
}

/// Words in lines of at most `width` columns.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("never empty");
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn figures(out: &mut String, space: Space, counts: &Counts) {
    let Counts {
        instructions,
        requests,
        wavefronts,
        wavefronts_sass,
        wavefronts_least,
        wavefronts_most,
        wavefronts_ideal,
        transactions,
        sectors,
        sectors_ideal,
        // Textures are not explained access by access.
        texels: _,
        replays,
        bytes_requested,
        bytes_moved,
    } = counts;
    out.push('\n');
    let mut row = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<14} {text}");
    };
    row("instructions", instructions.to_string());
    row("requests", requests.to_string());
    match space {
        Space::Shared => {
            row("wavefronts", format!("{wavefronts}   (without conflicts {wavefronts_ideal})"));
            if wavefronts_least != wavefronts_most {
                row(
                    "",
                    format!(
                        "{wavefronts_least} to {wavefronts_most}, by the choice of broadcast words"
                    ),
                );
            }
            if wavefronts_sass != wavefronts {
                row("", format!("{wavefronts_sass} by Nsight Compute's smsp__sass_… counter"));
            }
        }
        Space::Global | Space::Local => {
            row("transactions", transactions.to_string());
            row("sectors", format!("{sectors}   (at best {sectors_ideal})"));
            row("bytes", format!("{bytes_moved} moved, {bytes_requested} asked for"));
        }
        Space::Constant | Space::Parameter => row("replays", replays.to_string()),
    }
}

/// Lanes in four rows of eight would hide the period of banks; two rows of sixteen show it.
fn lane_grid(out: &mut String, label: &str, cell: impl Fn(usize) -> Option<u64>) {
    let width = (0..32).filter_map(&cell).max().unwrap_or(0).to_string().len().max(2) + 1;
    let per_row = if width <= 4 { 16 } else { 8 };
    for row in 0..32 / per_row {
        let lanes = row * per_row..(row + 1) * per_row;
        let _ = write!(out, "  {:<8}", "lane");
        lanes.clone().for_each(|lane| {
            let _ = write!(out, "{lane:>width$}");
        });
        let _ = write!(out, "\n  {label:<8}");
        for lane in lanes {
            match cell(lane) {
                Some(n) => {
                    let _ = write!(out, "{n:>width$}");
                }
                None => {
                    let _ = write!(out, "{:>width$}", "-");
                }
            }
        }
        out.push('\n');
    }
}

fn worst(requests: &[BankRequest]) -> Option<(&BankRequest, &margay_arch::picture::Bank)> {
    (requests.iter())
        .flat_map(|r| r.banks.iter().map(move |b| (r, b)))
        // Of equals, the first.
        .rev()
        .max_by_key(|(_, bank)| bank.passes)
}

fn banks(out: &mut String, pattern: &Pattern, detail: &Detail) {
    let counts = &detail.counts;
    let conflicts = counts.bank_conflicts();
    let atomic = matches!(pattern.kind, Kind::Atomic(_) | Kind::Reduction(_));
    if conflicts == 0 {
        let _ = writeln!(
            out,
            "  No bank conflict: {} {} all {}.\n",
            plural(counts.wavefronts, "wavefront"),
            if counts.wavefronts == 1 { "serves" } else { "serve" },
            plural(pattern.mask.count_ones(), "lane"),
        );
    } else if let Some((request, bank)) = worst(&detail.bank_requests) {
        let lanes: usize = bank.words.iter().map(|w| w.lanes.len()).sum();
        let _ = write!(
            out,
            "  {} conflict: {} of a request's {} want bank {}, on {}.\n  \
             {} where {} would do.\n\n",
            if bank.passes > 1 { format!("{}-way", bank.passes) } else { "A".into() },
            lanes,
            plural(request.lanes.len() as u64, "lane"),
            bank.bank,
            if bank.words.len() == 1 {
                "one word".to_owned()
            } else {
                format!("{} different words", bank.words.len())
            },
            plural(counts.wavefronts, "wavefront"),
            counts.wavefronts_ideal,
        );
        if !atomic && bank.words.len() == 1 {
            out.push_str(
                "  1.x broadcasts one word a step; the other banks serve one lane each meanwhile.\n\n",
            );
        }
        if atomic && bank.words.len() == 1 {
            out.push_str(
                "  Atomics on one word take turns: it is contention, and no layout cures it.\n\n",
            );
        }
    }
    let bank_of = |lane: usize| {
        (detail.bank_requests.iter())
            .filter(|r| r.lanes.contains(&(lane as u8)))
            .flat_map(|r| &r.banks)
            .find(|b| b.words.iter().any(|w| w.address == pattern.addresses[lane] & !3))
            .map(|b| u64::from(b.bank))
    };
    lane_grid(out, "bank", bank_of);
    let colliding: Vec<_> = (detail.bank_requests.iter().enumerate())
        .flat_map(|(n, r)| r.collisions().map(move |bank| (n, bank)))
        .collect();
    if colliding.is_empty() {
        return;
    }
    let many = detail.bank_requests.len() > 1;
    let _ = writeln!(
        out,
        "\n  {}bank  passes  words (byte address: lanes)",
        if many { "request  " } else { "" }
    );
    for (request, bank) in colliding.iter().take(ROWS) {
        let shown: Vec<String> = (bank.words.iter().take(4))
            .map(|w| format!("{}: {}", w.address, ranges(&w.lanes)))
            .collect();
        let more = bank.words.len().saturating_sub(4);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let request = if many { format!("{request:>7}  ") } else { String::new() };
        let _ = writeln!(
            out,
            "  {request}{:>4}  {:>6}  {}{more}",
            bank.bank,
            bank.passes,
            shown.join("; ")
        );
    }
    more(out, colliding.len());
}

fn more(out: &mut String, rows: usize) {
    if rows > ROWS {
        let _ = writeln!(out, "  and {} more", rows - ROWS);
    }
}

/// Tries the usual cures on the model and names the one that helps.
fn cure(
    out: &mut String,
    args: &AccessArgs,
    pattern: &Pattern,
    answer: &Answer,
) -> Result<(), Failure> {
    let counts = &answer.detail.counts;
    if counts.bank_conflicts() == 0 || matches!(pattern.kind, Kind::Atomic(_) | Kind::Reduction(_))
    {
        return Ok(());
    }
    let model =
        MemoryModel::new(answer.gpu.limits).with_bank_mode(args.bank_mode.unwrap_or_default());
    let wavefronts = |width: u32, element: &dyn Fn(u64) -> u64| {
        let addresses = std::array::from_fn(|lane| element(lane as u64) * u64::from(width));
        let access = WarpAccess { width, addresses: &addresses, ..pattern.access() };
        model.count(&access).wavefronts
    };
    let stride = args.stride.and_then(|s| u64::try_from(s).ok()).filter(|s| *s < 1 << 30);
    if model.generation.is_tesla() && pattern.width == 8 {
        // The manual's own cure: high and low words in arrays of their own.
        let stride = stride.unwrap_or(1);
        let split = 2 * wavefronts(4, &|lane| lane * stride);
        if split < counts.wavefronts {
            let _ = writeln!(
                out,
                "\n  Cure: keep high and low words in two arrays: {} instead of {}.\n  \
                 (From 2.0 on that is slower than the plain array.)",
                plural(split, "wavefront"),
                counts.wavefronts
            );
        }
        return Ok(());
    }
    if model.generation.is_tesla() && pattern.width < 4 {
        let stride = stride.unwrap_or(1) * u64::from(4 / pattern.width);
        let spread = wavefronts(pattern.width, &|lane| lane * stride);
        if spread < counts.wavefronts {
            let _ = writeln!(
                out,
                "\n  Cure: give each lane a word of its own, stride {stride}: {} instead of {}.",
                plural(spread, "wavefront"),
                counts.wavefronts
            );
        }
        return Ok(());
    }
    if let Some(stride) = stride {
        let padded = wavefronts(pattern.width, &|lane| lane * (stride + 1));
        if padded < counts.wavefronts {
            let _ = writeln!(
                out,
                "\n  Cure: pad the row by one element, stride {}: {} instead of {}.",
                stride + 1,
                plural(padded, "wavefront"),
                counts.wavefronts
            );
        }
    }
    Ok(())
}

fn segments(out: &mut String, pattern: &Pattern, detail: &Detail) {
    let counts = &detail.counts;
    let used: u32 = detail.segments.iter().map(|s| s.bytes_used).sum();
    let part = 100.0 * f64::from(used) / f64::from(counts.bytes_moved.max(1));
    let _ = writeln!(
        out,
        "  {}: {} bytes are moved, {used} of them used ({part:.0} %).\n",
        plural(counts.transactions, "transaction"),
        counts.bytes_moved,
    );
    if pattern.space == Space::Local {
        out.push_str(
            "  Word w of thread t lies at (w*32 + t)*4 of the warp's window: threads at the same offset\n  \
             share lines. Addresses below are the window's.\n\n",
        );
    }
    let _ = writeln!(out, "  {:>14}  bytes  used  lanes", "address");
    for Segment { address, bytes, lanes, bytes_used } in detail.segments.iter().take(ROWS) {
        let _ = writeln!(out, "  {address:>14}  {bytes:>5}  {bytes_used:>4}  {}", ranges(lanes));
    }
    more(out, detail.segments.len());
}

fn places(out: &mut String, detail: &Detail) {
    let n = detail.places.len();
    if n == 1 {
        out.push_str("  One address: it is broadcast to all lanes in one pass.\n\n");
    } else {
        let _ = writeln!(
            out,
            "  {n} different addresses: the warp's load is done again for each but the first.\n  \
             A table that lanes index differently belongs in shared or global memory.\n"
        );
    }
    let _ = writeln!(out, "  {:>14}  lanes", "address");
    for place in detail.places.iter().take(ROWS) {
        let _ = writeln!(out, "  {:>14}  {}", place.address, ranges(&place.lanes));
    }
    more(out, n);
}
