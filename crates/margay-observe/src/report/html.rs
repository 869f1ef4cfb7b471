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

/// The whole page.
pub fn render(report: &Report) -> String {
    // `</script>` in a source file must not end the element.
    let data = serde_json::to_string(report).unwrap_or_default().replace('<', "\\u003c");
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
        @for kernel in &report.kernels {
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
