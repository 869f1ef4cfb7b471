// SPDX-License-Identifier: MIT OR Apache-2.0
//! The answer as a picture: lanes above, what they meet in below, a line from each to it.
//!
//! One self-contained SVG, light or dark as the viewer is; colour is never the only sign of a conflict:
//! the passes stand under the bank.

use std::fmt::Write;

use margay_arch::Space;
use margay_arch::picture::{BankRequest, Detail, Lanes};

use super::pattern::Pattern;
use super::{Answer, occupancy, text};

/// Width of the picture; 32 cells and margins.
const WIDTH: u32 = 1000;
const CELL: u32 = 29;
const LEFT: u32 = 36;
/// Requests that are drawn of one access.
const PANELS: usize = 8;

const STYLE: &str = "<style>\
text{font:12px system-ui,sans-serif;fill:#1f2328}.big{font-size:15px;font-weight:600}\
.dim{fill:#59636e}.box{fill:#f6f8fa;stroke:#8c959f}.line{stroke:#0969da;stroke-width:1.5;opacity:.75}\
.bad{stroke:#cf222e;stroke-width:1.5;opacity:.85}.badbox{fill:#ffebe9;stroke:#cf222e}\
.badtext{fill:#cf222e;font-weight:600}.off{opacity:.3}.bar{fill:#54aeff}.limit{fill:#cf222e}.page{fill:#fff}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9198a1}.box{fill:#151b23;stroke:#656c76}\
.line{stroke:#4493f8}.bad{stroke:#f85149}.badbox{fill:#3c1618;stroke:#f85149}.badtext{fill:#f85149}\
.bar{fill:#1f6feb}.limit{fill:#f85149}.page{fill:#0d1117}}</style>";

struct Canvas {
    body: String,
    y: u32,
}

impl Canvas {
    fn new() -> Canvas {
        Canvas { body: String::new(), y: 12 }
    }

    fn text(&mut self, x: u32, y: u32, class: &str, anchor: &str, words: &str) {
        let _ = writeln!(
            self.body,
            r#"<text x="{x}" y="{y}" class="{class}" text-anchor="{anchor}">{}</text>"#,
            escaped(words)
        );
    }

    fn rect(&mut self, x: u32, y: u32, width: u32, height: u32, class: &str, title: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" class="{class}"><title>{}</title></rect>"#,
            escaped(title)
        );
    }

    fn line(&mut self, from: (u32, u32), to: (u32, u32), class: &str) {
        let _ = writeln!(
            self.body,
            r#"<line x1="{}" y1="{}" x2="{}" y2="{}" class="{class}"/>"#,
            from.0, from.1, to.0, to.1
        );
    }

    fn finish(self, title: &str) -> String {
        let height = self.y + 12;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
             <title>{}</title>\n{STYLE}\n<rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>\n{}</svg>\n",
            escaped(title),
            self.body
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Cells in a row, centred on 32 of them.
fn centre(index: u32, of: u32) -> u32 {
    let span = 32 * CELL;
    LEFT + (2 * index + 1) * span / (2 * of)
}

/// One picture for every GPU, below each other.
pub fn accesses(pattern: &Pattern, answers: &[Answer]) -> String {
    let mut canvas = Canvas::new();
    for answer in answers {
        let heading = format!("{} ({})", answer.gpu.card.name, answer.gpu.cc());
        canvas.y += 16;
        let y = canvas.y;
        canvas.text(LEFT, y, "big", "start", &heading);
        canvas.text(WIDTH - LEFT, y, "dim", "end", &summary(pattern.space, &answer.detail));
        canvas.y += 14;
        match pattern.space {
            Space::Shared => banks(&mut canvas, answer),
            Space::Global | Space::Local => segments(&mut canvas, pattern, &answer.detail),
            Space::Constant | Space::Parameter => places(&mut canvas, pattern, &answer.detail),
        }
    }
    canvas.finish(&format!("Access to {} memory, {}", text::space(pattern.space), pattern.words))
}

fn summary(space: Space, detail: &Detail) -> String {
    let c = &detail.counts;
    match space {
        Space::Shared => format!(
            "{}, {} without conflicts",
            text::plural(c.wavefronts, "wavefront"),
            c.wavefronts_ideal
        ),
        Space::Global | Space::Local => format!(
            "{}, {} bytes moved for {}",
            text::plural(c.transactions, "transaction"),
            c.bytes_moved,
            c.bytes_requested
        ),
        Space::Constant | Space::Parameter => {
            format!("{}, {} of them replays", text::plural(c.requests, "pass"), c.replays)
                .replace("passs", "passes")
        }
    }
}

fn lane_row(canvas: &mut Canvas, lanes: &Lanes) -> u32 {
    let y = canvas.y;
    canvas.text(4, y + 16, "dim", "start", "lane");
    for lane in 0..32u32 {
        let active = lanes.contains(&(lane as u8));
        let x = centre(lane, 32);
        let class = if active { "box" } else { "box off" };
        canvas.rect(x - CELL / 2 + 1, y, CELL - 2, 24, class, &format!("lane {lane}"));
        canvas.text(x, y + 16, if active { "" } else { "off" }, "middle", &lane.to_string());
    }
    y + 24
}

fn banks(canvas: &mut Canvas, answer: &Answer) {
    let requests = &answer.detail.bank_requests;
    for request in requests.iter().take(PANELS) {
        bank_panel(canvas, request, answer.gpu.limits.shared_banks.value);
    }
    if requests.len() > PANELS {
        canvas.y += 14;
        let y = canvas.y;
        canvas.text(
            LEFT,
            y,
            "dim",
            "start",
            &format!("and {} requests more", requests.len() - PANELS),
        );
    }
}

fn bank_panel(canvas: &mut Canvas, request: &BankRequest, banks: u32) {
    let top = lane_row(canvas, &request.lanes);
    let bottom = top + 90;
    canvas.text(4, bottom + 16, "dim", "start", "bank");
    for bank in &request.banks {
        let bad = bank.passes > 1;
        for lane in bank.words.iter().flat_map(|w| &w.lanes) {
            let from = (centre((*lane).into(), 32), top);
            canvas.line(
                from,
                (centre(bank.bank.into(), banks), bottom),
                if bad { "bad" } else { "line" },
            );
        }
    }
    for number in 0..banks {
        let x = centre(number, banks);
        let bank = request.banks.iter().find(|b| u32::from(b.bank) == number);
        let passes = bank.map_or(0, |b| b.passes);
        let class = match passes {
            0 => "box off",
            1 => "box",
            _ => "badbox",
        };
        let words: Vec<String> = bank.map_or(Vec::new(), |b| {
            b.words
                .iter()
                .map(|w| format!("{}: lanes {}", w.address, text::ranges(&w.lanes)))
                .collect()
        });
        let title = format!("bank {number}\n{}", words.join("\n"));
        canvas.rect(x - CELL / 2 + 1, bottom, CELL - 2, 24, class, &title);
        canvas.text(
            x,
            bottom + 16,
            if passes == 0 { "off" } else { "" },
            "middle",
            &number.to_string(),
        );
        if passes > 1 {
            canvas.text(x, bottom + 40, "badtext", "middle", &format!("{passes}×"));
        }
    }
    canvas.y = bottom + 56;
}

/// Boxes in a row below the lanes: name, note, tooltip, lanes, and whether it is a bad sign.
struct Target {
    name: String,
    note: String,
    title: String,
    lanes: Lanes,
    bad: bool,
}

fn targets(canvas: &mut Canvas, pattern: &Pattern, label: &str, targets: &[Target]) {
    let lanes: Lanes = (0..32u8).filter(|lane| pattern.mask >> lane & 1 == 1).collect();
    let top = lane_row(canvas, &lanes);
    let bottom = top + 90;
    canvas.text(4, bottom + 16, "dim", "start", label);
    let count = (targets.len() as u32).max(1);
    let width = (32 * CELL / count).clamp(4, 160);
    for (index, target) in targets.iter().enumerate() {
        let x = centre(index as u32, count);
        for lane in &target.lanes {
            canvas.line(
                (centre((*lane).into(), 32), top),
                (x, bottom),
                if target.bad { "bad" } else { "line" },
            );
        }
    }
    for (index, target) in targets.iter().enumerate() {
        let x = centre(index as u32, count);
        let class = if target.bad { "badbox" } else { "box" };
        canvas.rect(
            x - width / 2 + 1,
            bottom,
            width.saturating_sub(2).max(2),
            24,
            class,
            &target.title,
        );
        if width >= 40 {
            canvas.text(x, bottom + 16, "", "middle", &target.name);
        }
        if width >= 26 {
            canvas.text(
                x,
                bottom + 40,
                if target.bad { "badtext" } else { "dim" },
                "middle",
                &target.note,
            );
        }
    }
    canvas.y = bottom + 56;
}

fn segments(canvas: &mut Canvas, pattern: &Pattern, detail: &Detail) {
    let list: Vec<Target> = (detail.segments.iter())
        .map(|s| Target {
            name: s.address.to_string(),
            note: format!("{}/{}", s.bytes_used, s.bytes),
            title: format!(
                "{} bytes at {}, {} used\nlanes {}",
                s.bytes,
                s.address,
                s.bytes_used,
                text::ranges(&s.lanes)
            ),
            lanes: s.lanes.clone(),
            bad: 2 * s.bytes_used < s.bytes,
        })
        .collect();
    targets(canvas, pattern, "at", &list);
}

fn places(canvas: &mut Canvas, pattern: &Pattern, detail: &Detail) {
    let list: Vec<Target> = (detail.places.iter().enumerate())
        .map(|(n, p)| Target {
            name: p.address.to_string(),
            note: format!("{}.", n + 1),
            title: format!("address {}\nlanes {}", p.address, text::ranges(&p.lanes)),
            lanes: p.lanes.clone(),
            bad: n > 0,
        })
        .collect();
    targets(canvas, pattern, "at", &list);
}

/// Bars: the blocks that each resource would allow.
pub fn occupancies(answers: &[occupancy::Answer]) -> String {
    let mut canvas = Canvas::new();
    for answer in answers {
        canvas.y += 16;
        let y = canvas.y;
        let heading = format!("{} ({})", answer.name, answer.compute_capability);
        canvas.text(LEFT, y, "big", "start", &heading);
        let summary = format!(
            "{}, occupancy {:.1} %",
            text::plural(answer.occupancy.blocks_per_sm, "block"),
            answer.occupancy_percent
        );
        canvas.text(WIDTH - LEFT, y, "dim", "end", &summary);
        canvas.y += 12;
        use margay_arch::Limiter;
        let rows = [
            ("blocks", Some(answer.limits.blocks), Limiter::Blocks),
            ("warps", Some(answer.limits.warps), Limiter::Warps),
            ("registers", answer.limits.registers, Limiter::Registers),
            ("shared memory", answer.limits.shared, Limiter::Shared),
        ];
        let most = rows.iter().filter_map(|r| r.1).max().unwrap_or(1).max(1);
        for (name, blocks, limiter) in rows {
            let y = canvas.y;
            let limiting = limiter == answer.occupancy.limiter;
            let (length, words) = match blocks {
                Some(blocks) => (700 * blocks / most, blocks.to_string()),
                None => (700, "no limit".into()),
            };
            canvas.text(LEFT, y + 16, "", "start", name);
            let class = if limiting { "limit" } else { "bar" };
            canvas.rect(150, y + 3, length.max(2), 16, class, &format!("{name}: {words}"));
            let note = if limiting { format!("{words}, the limit") } else { words };
            canvas.text(
                158 + length,
                y + 16,
                if limiting { "badtext" } else { "dim" },
                "start",
                &note,
            );
            canvas.y += 24;
        }
    }
    canvas.finish("Resident blocks by resource")
}
