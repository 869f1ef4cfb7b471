// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report in a terminal: readable without colour, at most 100 columns wide except for names.

use std::fmt::Write;

use super::causes::number;
use super::schema::*;
use crate::words::Words;

/// How much to print.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Kernels, costliest first.
    pub kernels: usize,
    /// Lines of each kernel.
    pub lines: usize,
    pub colour: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { kernels: 10, lines: 6, colour: false }
    }
}

struct Paint(bool);

impl Paint {
    fn bold(&self, text: &str) -> String {
        if self.0 { format!("\x1b[1m{text}\x1b[0m") } else { text.into() }
    }
    fn dim(&self, text: &str) -> String {
        if self.0 { format!("\x1b[2m{text}\x1b[0m") } else { text.into() }
    }
}

/// The whole report.
pub fn render(report: &Report, options: &Options) -> String {
    let paint = Paint(options.colour);
    let mut out = String::new();
    let gpus: Vec<String> =
        report.gpus.iter().map(|g| format!("{} ({})", g.card, g.compute_capability)).collect();
    let _ = writeln!(out, "{} {}", paint.bold("Profile for"), gpus.join(", "));
    if !report.complete {
        let _ = writeln!(
            out,
            "The program was stopped ({}): what follows is what had been counted before.",
            report.ended
        );
    }
    for note in &report.notes {
        wrap(&mut out, "Note: ", note, 6);
    }
    for kernel in report.kernels.iter().take(options.kernels) {
        out.push('\n');
        kernel_text(&mut out, report, kernel, options, &paint);
    }
    if report.kernels.len() > options.kernels {
        let more = report.kernels.len() - options.kernels;
        let _ = writeln!(out, "\n{more} more kernels cost less; the JSON report has them all.");
    }
    out
}

fn shape(d: [u32; 3]) -> String {
    let used = if d[2] > 1 {
        3
    } else if d[1] > 1 {
        2
    } else {
        1
    };
    d[..used].iter().map(u32::to_string).collect::<Vec<_>>().join("×")
}

fn kernel_text(
    out: &mut String,
    report: &Report,
    kernel: &Kernel,
    options: &Options,
    paint: &Paint,
) {
    let r = &kernel.resources;
    let _ = writeln!(out, "{}", paint.bold(&kernel.name));
    let times = if kernel.launches == 1 {
        "1 launch".into()
    } else {
        format!("{} launches", number(kernel.launches))
    };
    let _ = write!(out, "  {times}, grid {} block {}", shape(r.grid), shape(r.block));
    let words = Words::of(kernel);
    if words == Words::OpenCl {
        let count = |n: [u32; 3]| number(n.iter().map(|n| u64::from(*n)).product());
        let (groups, items) = (count(r.grid), count(r.block));
        let _ = write!(out, " ({groups} work-groups of {items} work-items)");
    }
    let _ = write!(out, ", {} registers ({})", r.registers, r.registers_are);
    let shared = r.static_shared + r.dynamic_shared;
    if shared > 0 {
        let word = words.space("shared");
        let _ = write!(out, ", {} bytes of {word} memory", number(shared.into()));
    }
    if r.local_bytes > 0 {
        let word = words.space("local");
        let _ = write!(out, ", {} of {word}", number(r.local_bytes.into()));
    }
    out.push('\n');
    if !kernel.launched_by.is_empty() {
        let _ =
            writeln!(out, "  launched from device code by {}", kernel.launched_by.join(" and "));
    }
    let _ = write!(
        out,
        "  {} warp instructions, {:.1} of 32 lanes active",
        number(kernel.warp_instructions),
        kernel.active_lanes
    );
    if kernel.branches.executions > 0 {
        let part = 100.0 * kernel.branches.divergent as f64 / kernel.branches.executions as f64;
        let _ = write!(out, ", {part:.1} % of branches diverge");
    }
    out.push('\n');
    for (gpu, o) in report.gpus.iter().zip(&kernel.occupancy) {
        let part = 100.0 * f64::from(o.warps_per_sm) / f64::from(o.max_warps_per_sm.max(1));
        let _ = writeln!(
            out,
            "  occupancy on {}: {} of {} warps ({part:.0} %), limited by {}",
            gpu.name,
            o.warps_per_sm,
            o.max_warps_per_sm,
            words.limiter(&o.limiter)
        );
        if let Some(split) = o.steps.iter().find(|s| s.resource == "split") {
            let _ = writeln!(
                out,
                "    {} with {} KB of {} memory instead of {}, and less L1",
                split.warps_per_sm,
                split.to >> 10,
                words.space("shared"),
                split.from >> 10
            );
        }
    }
    caches(out, kernel);
    table(out, report, kernel, paint);
    textures(out, kernel);
    let costly = kernel.lines.iter().filter(|l| !l.accesses.is_empty()).take(options.lines);
    for line in costly {
        line_text(out, report, kernel, line, paint);
    }
}

fn caches(out: &mut String, kernel: &Kernel) {
    let c = &kernel.caches;
    let part = |rate: f64| format!("{:.0} %", 100.0 * rate);
    let mut parts = Vec::new();
    if let Some(rate) = c.l1_hit_rate {
        parts.push(format!("L1 ({} KB) {}", c.l1_bytes >> 10, part(rate)));
    }
    if let Some(rate) = c.l2_hit_rate {
        parts.push(format!("L2 {}", part(rate)));
    }
    if let Some(rate) = c.texture_hit_rate {
        parts.push(format!("texture ({} KB) {}", c.texture_bytes >> 10, part(rate)));
    }
    if let Some(rate) = c.constant_hit_rate {
        parts.push(format!("constants ({} KB) {}", c.constant_bytes >> 10, part(rate)));
    }
    if !parts.is_empty() {
        let _ = writeln!(out, "  cache hits (modelled): {}", parts.join(", "));
    }
}

/// Rows by space and direction; a column group for each GPU.
fn table(out: &mut String, report: &Report, kernel: &Kernel, paint: &Paint) {
    // Compilers read parameters as operands; only those that lanes index differently cost anything.
    let plain =
        |t: &Totals, row: &str| row.starts_with("parameter") && t.spaces[row].counts.replays == 0;
    let rows = kernel.totals.iter().flat_map(|t| t.spaces.keys().map(move |row| (t, row)));
    let mut rows: Vec<&String> = rows.filter(|(t, row)| !plain(t, row)).map(|(_, r)| r).collect();
    rows.sort();
    rows.dedup();
    if rows.is_empty() {
        out.push_str("  no memory accesses\n");
        return;
    }
    let several = report.gpus.len() > 1;
    let words = Words::of(kernel);
    // As wide as the longest name.
    let wide = words.say("parameter atomic  ", "private (local) atomic  ").len();
    let head = format!(
        "  {:<wide$}{:>8}{:>14}{:>14}{:>14}{:>14}{:>9}",
        "",
        if several { "gpu" } else { "" },
        "executions",
        "requests",
        "cost",
        "best",
        "used"
    );
    let _ = writeln!(out, "{}", paint.dim(&head));
    for row in rows {
        for (g, gpu) in report.gpus.iter().enumerate() {
            let lacks = kernel.missing.iter().find(|m| m.row == **row && m.gpu == g);
            let name = if g == 0 || !several { words.row(row) } else { String::new() };
            let Some(cell) = kernel.totals[g].spaces.get(row) else {
                if let Some(lacks) = lacks {
                    let since = &lacks.since;
                    let _ = writeln!(out, "  {name:<wide$}{:>8}  none: {since} has it", gpu.name);
                }
                continue;
            };
            let c = &cell.counts;
            let sectors = gpu.global_unit == "sectors";
            let (cost, best, unit) = match row.split('_').next() {
                Some("shared") => (c.wavefronts, c.wavefronts_ideal, "wavefronts"),
                Some("constant" | "parameter") => (c.requests, c.requests - c.replays, "requests"),
                Some("texture" | "surface") => (c.sectors, c.sectors_ideal, "sectors (modelled)"),
                _ if sectors => (c.sectors, c.sectors_ideal, "sectors"),
                _ => (c.transactions, 0, "transact."),
            };
            let used = match row.split('_').next() {
                Some("global" | "local") if c.bytes_moved > 0 => {
                    let asked = c.bytes_requested.min(c.bytes_moved);
                    format!("{:.0} %", 100.0 * asked as f64 / c.bytes_moved as f64)
                }
                _ if cost > 0 && best > 0 => {
                    format!("{:.0} %", 100.0 * best as f64 / cost as f64)
                }
                _ => String::new(),
            };
            let best = if best > 0 { number(best) } else { String::new() };
            let _ = writeln!(
                out,
                "  {name:<wide$}{:>8}{:>14}{:>14}{:>14}{best:>14}{used:>9}  {unit}{}",
                if several { &*gpu.name } else { "" },
                number(cell.executions),
                number(c.requests),
                number(cost),
                lacks.map(|l| format!("; {} has the others", l.since)).unwrap_or_default(),
            );
        }
    }
}

/// A line for each way that a texture, surface or image is used.
fn textures(out: &mut String, kernel: &Kernel) {
    let mut told: Vec<(String, u64, u64, u64)> = Vec::new();
    for access in &kernel.accesses {
        let Some(t) = &access.texture else { continue };
        let name = kernel.variables.get(access.variable).map_or("?", |v| &v.name);
        let counts = access.gpus.first().map(|g| g.counts).unwrap_or_default();
        let what = format!("`{name}`: {}", texture_words(t));
        let lanes = (access.active_lanes * access.executions as f64).round() as u64;
        match told.iter_mut().find(|row| row.0 == what) {
            Some(row) => {
                (row.1, row.2, row.3) =
                    (row.1 + counts.texels, row.2 + lanes, row.3 + t.used.outside);
            }
            None => told.push((what, counts.texels, lanes, t.used.outside)),
        }
    }
    for (what, texels, lanes, outside) in told {
        let each = texels as f64 / lanes.max(1) as f64;
        let mut text = format!("{what}: {} texels, {each:.1} a lane", number(texels));
        if outside > 0 {
            let _ = write!(text, ", and {} outside of it", number(outside));
        }
        wrap(out, "  ", &text, 4);
    }
}

/// `tex of 2D, 512 x 512 texels of 16 bytes in tiles, linear filter`.
fn texture_words(t: &Texture) -> String {
    let size: Vec<String> = t.used.size.iter().filter(|n| **n > 0).map(u32::to_string).collect();
    let layers = match (t.used.layers, &*t.used.geometry) {
        (0, _) => String::new(),
        (n, "cube" | "acube") => format!(", {n} faces"),
        (n, _) => format!(", {n} layers"),
    };
    let levels =
        if t.used.levels > 1 { format!(", {} levels", t.used.levels) } else { String::new() };
    let filter = t.used.filter.as_ref().map_or(String::new(), |f| format!(", {f} filter"));
    let bytes = t.used.texel_bytes;
    let s = if bytes == 1 { "" } else { "s" };
    format!(
        "{} of {} texels of {bytes} byte{s} in {}{layers}{levels}{filter}",
        t.used.operation,
        size.join("×"),
        t.used.layout
    )
}

fn line_text(out: &mut String, report: &Report, kernel: &Kernel, line: &Line, paint: &Paint) {
    let findings: Vec<&Access> = line
        .accesses
        .iter()
        .map(|&n| &kernel.accesses[n])
        .filter(|a| a.gpus.iter().any(|g| g.finding.is_some()))
        .collect();
    let diverges = line.branches.divergent > 0;
    if findings.is_empty() && !diverges {
        return;
    }
    let text = report
        .sources
        .get(&line.file)
        .and_then(|s| s.lines().nth((line.line as usize).saturating_sub(1)))
        .map(str::trim)
        .unwrap_or_default();
    let file = line.file.rsplit('/').next().unwrap_or(&line.file);
    let place = if line.line == 0 { "(no line)".into() } else { format!("{file}:{}", line.line) };
    let _ = writeln!(out, "\n  {}  {}", paint.bold(&place), text);
    for group in alike(&findings) {
        let access = group[0];
        let space = Words::of(kernel).space(&access.space);
        let what = match access.operation.as_deref() {
            Some(op) => format!("{space} {} ({op})", access.kind),
            None => format!("{space} {}", access.kind),
        };
        let times = match group.len() {
            1 => String::new(),
            n => format!("{n} × "),
        };
        // GPUs of one opinion are told together.
        let mut told: Vec<Opinion<'_>> = Vec::new();
        for (g, gpu) in report.gpus.iter().enumerate() {
            let Some(finding) = &access.gpus[g].finding else { continue };
            let gain = gain(&group, g);
            let cure = |f: &Finding| f.cure.as_ref().map(|c| c.text.clone());
            let same = |f: &Finding| f.cause == finding.cause && cure(f) == cure(finding);
            match told.iter_mut().find(|(f, n, _)| same(f) && *n == gain) {
                Some((_, _, gpus)) => gpus.push(&gpu.name),
                None => told.push((finding, gain, vec![&gpu.name])),
            }
        }
        if let Some(header) = &access.header {
            let file = header.rsplit('/').next().unwrap_or(header);
            let text = format!("    (in {file}; the line above is the program's nearest)");
            wrap(out, &text, "", 6);
        }
        for (finding, gain, gpus) in told {
            let on = match report.gpus.len() {
                1 => String::new(),
                _ => format!(" [{}]", gpus.join(", ")),
            };
            wrap(out, &format!("    {times}{what}{on}: "), &finding.cause, 6);
            if let (Some(cure), Some((before, after))) = (&finding.cure, gain) {
                let part = 100.0 * (1.0 - after as f64 / before.max(1) as f64);
                let roughly = if cure.coverage < 1.0 { "about " } else { "" };
                let text = format!(
                    "{} ({roughly}{} → {} {}, −{part:.0} %)",
                    cure.text,
                    number(before),
                    number(after),
                    cure.unit
                );
                wrap(out, "      cure: ", &text, 12);
            }
        }
    }
    if diverges {
        let b = &line.branches;
        let lanes = line.thread_instructions as f64 / line.warp_instructions.max(1) as f64;
        let text = format!(
            "lanes go both ways in {:.0} % of {} branches; {lanes:.1} of 32 lanes active on this line",
            100.0 * b.divergent as f64 / b.executions as f64,
            number(b.executions)
        );
        wrap(out, "    branch: ", &text, 6);
    }
}

/// A finding, what its cure brings (before and after), and the GPUs that it is of.
type Opinion<'a> = (&'a Finding, Option<(u64, u64)>, Vec<&'a str>);

/// Accesses of a line that an unrolled loop made of one: the same but for their place.
fn alike<'a>(accesses: &[&'a Access]) -> Vec<Vec<&'a Access>> {
    let mut groups: Vec<Vec<&Access>> = Vec::new();
    let key = |a: &Access| {
        let rules: Vec<_> = a
            .gpus
            .iter()
            .map(|g| g.finding.as_ref().map(|f| (&f.rule, f.cure.as_ref().map(|c| &c.text))))
            .map(|f| format!("{f:?}"))
            .collect();
        (a.space.clone(), a.kind.clone(), a.operation.clone(), a.width, a.variable, rules)
    };
    for access in accesses {
        match groups.iter_mut().find(|g| key(g[0]) == key(access)) {
            Some(group) => group.push(access),
            None => groups.push(vec![access]),
        }
    }
    groups
}

/// What the cure of a group brings: one that changes a variable's layout is for all at once.
fn gain(group: &[&Access], g: usize) -> Option<(u64, u64)> {
    let cures: Vec<&Cure> =
        group.iter().filter_map(|a| a.gpus[g].finding.as_ref()?.cure.as_ref()).collect();
    let first = cures.first()?;
    match first.whole_variable {
        true => Some((first.before, first.after)),
        false => Some((cures.iter().map(|c| c.before).sum(), cures.iter().map(|c| c.after).sum())),
    }
}

/// Writes text after a lead, broken at 100 columns.
fn wrap(out: &mut String, lead: &str, text: &str, indent: usize) {
    let mut line = lead.to_owned();
    let mut length = line.chars().count();
    let mut fresh = true;
    for word in text.split(' ') {
        let n = word.chars().count();
        if length + n + usize::from(!fresh) > 100 && !fresh {
            let _ = writeln!(out, "{line}");
            line = " ".repeat(indent);
            length = indent;
            fresh = true;
        }
        if !fresh {
            line.push(' ');
            length += 1;
        }
        line += word;
        length += n;
        fresh = false;
    }
    let _ = writeln!(out, "{line}");
}
