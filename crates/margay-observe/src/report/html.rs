// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report as one HTML file that needs nothing else: no network, no other file.
//!
//! The page carries the JSON report and draws everything from it; without scripts it still has the
//! table of kernels and their findings.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::causes::number;
use super::schema::{Kernel, Report};

const STYLE: &str = include_str!("html/report.css");
/// In the order in which they need one another.
const SCRIPTS: [&str; 3] =
    [include_str!("html/draw.js"), include_str!("html/charts.js"), include_str!("html/report.js")];

/// Most bytes of data that a page carries, so that it opens at once.
const MOST_DATA: usize = 12 << 20;
/// Kernels that a reader without scripts gets.
const MOST_PLAIN: usize = 50;

/// The report as JSON; if that is more than `most` bytes, without pictures of the cheapest kernels, and if it must be
/// without those kernels, which a note tells.
fn data(report: &Report, most: usize) -> String {
    let text = |report: &Report| serde_json::to_string(report).unwrap_or_default();
    let whole = text(report);
    let size = |kernel: &Kernel| serde_json::to_string(kernel).map_or(0, |t| t.len() + 1);
    if whole.len() <= most {
        return whole;
    }
    let mut small = report.clone();
    let (mut left, mut plain) = (whole.len(), 0);
    // The costliest come first.
    for kernel in small.kernels.iter_mut().rev() {
        if left <= most {
            break;
        }
        let before = size(kernel);
        for on in kernel.accesses.iter_mut().flat_map(|a| &mut a.gpus) {
            on.picture = None;
            if let Some(cure) = on.finding.as_mut().and_then(|f| f.cure.as_mut()) {
                cure.picture = None;
            }
        }
        left -= before - size(kernel);
        plain += 1;
    }
    let mut gone = 0;
    while left > most
        && let Some(kernel) = small.kernels.pop()
    {
        left -= size(&kernel);
        gone += 1;
    }
    let mut note = format!(
        "This page has no pictures of the {} cheapest kernels, to stay small",
        number(plain - gone)
    );
    if gone > 0 {
        note += &format!(", and leaves the {} cheapest of all out", number(gone));
    }
    small.notes.push(note + ". The JSON report has everything.");
    text(&small)
}

/// The whole page.
pub fn render(report: &Report) -> String {
    // `</script>` in a source file must not end the element, nor `<!--` begin a comment in it.
    let data = data(report, MOST_DATA).replace("</", "<\\/").replace("<!--", "\\u003c!--");
    let command = report.command.join(" ");
    let name = report.command.first().map_or("", |c| c.rsplit('/').next().unwrap_or(c));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "margay profile: " (name) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a .skip href="#main" { "Skip to the report" }
                header {
                    h1 { "Memory X-ray of " code { (name) } }
                    p .sub { code { (command) } " · " (report.ended) }
                    @if !report.complete {
                        p .warning role="status" {
                            "The program was stopped. This is what had been counted before."
                        }
                    }
                    div #controls {}
                    p #told .unseen role="status" {}
                }
                main #main {
                    noscript { (plain(report)) }
                }
                footer {
                    p {
                        "Counts follow the rules of each GPU that margay knows; where a rule is not exact, "
                        "its note says so. They are passes, segments and requests, never time. "
                        "Keys: " kbd { "[" } " " kbd { "]" } " kernel, " kbd { "g" } " GPU, " kbd { "n" } " " kbd { "p" }
                        " next and previous line, " kbd { "Esc" } " all lines, " kbd { "t" } " light or dark."
                    }
                }
                script type="application/json" id="data" { (PreEscaped(data)) }
                @for script in SCRIPTS {
                    script { (PreEscaped(script)) }
                }
            }
        }
    };
    page.into_string()
}

/// What a reader without scripts gets.
fn plain(report: &Report) -> Markup {
    html! {
        @for kernel in report.kernels.iter().take(MOST_PLAIN) {
            section {
                h2 { (kernel.name) }
                p {
                    (number(kernel.launches)) " launches, "
                    (number(kernel.warp_instructions)) " warp instructions"
                }
                (findings(report, kernel))
            }
        }
    }
}

fn findings(report: &Report, kernel: &Kernel) -> Markup {
    html! {
        ul {
            @for access in &kernel.accesses {
                @for (gpu, on) in report.gpus.iter().zip(&access.gpus) {
                    @if let Some(finding) = &on.finding {
                        li {
                            (access.file) ":" (access.line) " (" (gpu.name) "): " (finding.cause)
                            @if let Some(cure) = &finding.cure {
                                " Cure: " (cure.text) " (" (number(cure.before)) " to "
                                (number(cure.after)) " " (cure.unit) ")"
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::{Access, AccessOnGpu, Picture};
    use super::*;

    #[test]
    fn what_is_too_much_for_a_page_is_left_out_from_the_end() {
        let on = AccessOnGpu { picture: Some(Picture::default()), ..AccessOnGpu::default() };
        let access = Access { gpus: vec![on], ..Access::default() };
        let kernel =
            |n: u64| Kernel { launches: n, accesses: vec![access.clone()], ..Kernel::default() };
        let report = Report { kernels: (0..10).map(kernel).collect(), ..Report::default() };
        let whole = serde_json::to_string(&report).unwrap().len();
        let of = |most: usize| -> Report { serde_json::from_str(&data(&report, most)).unwrap() };
        let drawn = |r: &Report| {
            r.kernels.iter().filter(|k| k.accesses[0].gpus[0].picture.is_some()).count()
        };
        assert_eq!((drawn(&of(whole)), of(whole).notes.len()), (10, 0));
        let some = of(whole - 200);
        assert!((1..10).contains(&drawn(&some)) && some.kernels.len() == 10);
        assert!(some.kernels[0].accesses[0].gpus[0].picture.is_some(), "the costliest");
        assert!(some.notes[0].contains("no pictures of the"), "{:?}", some.notes);
        let few = of(whole / 2);
        assert!((1..10).contains(&few.kernels.len()) && few.kernels[0].launches == 0);
        assert!(few.notes[0].contains("leaves the"), "{:?}", few.notes);
    }
}
