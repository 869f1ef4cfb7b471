// SPDX-License-Identifier: MIT OR Apache-2.0
//! The HTML report in a headless Chromium: it opens, says nothing on the console, and its pictures show
//! what the JSON says. Says so on standard error where no Chromium is installed.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Bench;
use margay_observe::report::schema::{Access, GpuInfo};
use margay_observe::report::{Report, html};

fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    names.into_iter().find(works)
}

/// A page's elements after its scripts ran, and what it said on the console.
fn open(browser: &str, page: &Path, more: &[&str]) -> (String, String) {
    let profile = page.with_extension("profile");
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
        .args(["--virtual-time-budget=20000", "--disable-dev-shm-usage", "--no-first-run"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(more)
        .arg("--dump-dom")
        .arg(format!("file://{}", page.display()))
        .output()
        .expect("the browser starts");
    let said = String::from_utf8_lossy(&output.stderr);
    let console: Vec<&str> = said.lines().filter(|l| l.contains("CONSOLE")).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), console.join("\n"))
}

fn transposes() -> Report {
    let vectors = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/h200/profile");
    let mut bench = Bench::new(&["h200", "8800gtx", "c2050"]);
    let module = bench.load(&PathBuf::from(vectors).join("transposes.ptx"));
    let (n, bytes) = (64u64, vec![0; 64 * 64 * 4]);
    let (out, from) = (bench.buffer(&bytes), bench.buffer(&bytes));
    for kernel in ["transpose_naive", "transpose_tiled", "transpose_padded"] {
        bench.launch(&module, kernel, [2, 2, 1], [32, 8, 1], &[out, from, n]);
    }
    let mut report = bench.report();
    let text = std::fs::read_to_string(PathBuf::from(vectors).join("transposes.cu")).unwrap();
    report.sources.insert("transposes.cu".into(), text + "\n// </script><b>no markup</b>\n");
    report
}

/// Values of an attribute, in order.
fn values<'a>(text: &'a str, attribute: &str) -> Vec<&'a str> {
    let lead = format!("{attribute}=\"");
    text.match_indices(&lead)
        .filter_map(|(at, _)| text[at + lead.len()..].split('"').next())
        .collect()
}

/// The first picture of an access is what the JSON has of it.
fn check_picture(card: &str, access: &Access, gpu: &GpuInfo, g: usize) {
    let picture = access.gpus[g].picture.as_ref().expect("a picture");
    if let Some(request) = picture.bank_requests.first() {
        let svg = card.split("data-kind=\"banks\"").nth(1).expect("banks are drawn");
        let svg = svg.split("</svg>").next().unwrap();
        let banks = if gpu.compute_capability.starts_with("1.") { 16 } else { 32 };
        let drawn: Vec<u32> =
            values(svg, "data-passes").iter().map(|p| p.parse().unwrap()).collect();
        let mut told = vec![0; banks];
        for bank in &request.banks {
            told[bank.bank as usize] = bank.passes;
        }
        assert_eq!(drawn, told);
        let lanes: u32 =
            request.banks.iter().flat_map(|b| &b.words).map(|w| w.lanes.len() as u32).sum();
        assert_eq!(svg.matches("class=\"wire").count() as u32, lanes);
    } else {
        let svg = card.split("data-kind=\"segments\"").nth(1).expect("segments are drawn");
        let svg = svg.split("</svg>").next().unwrap();
        let told: Vec<String> =
            picture.segments.iter().map(|s| s.bytes_used.to_string()).take(64).collect();
        assert_eq!(values(svg, "data-used"), told);
    }
}

#[test]
fn the_page_shows_what_the_json_says() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: the_page_shows_what_the_json_says: chromium is missing");
        return;
    };
    let report = transposes();
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("transposes.html");
    let page = html::render(&report);
    assert!(!page.contains("src=\"") && !page.contains("@import"), "the page needs nothing else");
    std::fs::write(&place, &page).unwrap();
    for window in ["--window-size=1280,900", "--window-size=390,800"] {
        let (dom, console) = open(browser, &place, &[window]);
        assert_eq!(console, "");
        assert!(dom.contains("data-ready=\"true\""), "the script did not finish:\n{dom:.2000}");
        assert_eq!(values(&dom, "data-kernel").len(), 3);
        assert!(values(&dom, "data-gpu").contains(&"2"));
        let kernel = &report.kernels[0];
        let cards: Vec<&str> = dom.split("<article").skip(1).collect();
        assert!(!cards.is_empty());
        for card in cards {
            let index: usize = values(card, "data-access")[0].parse().unwrap();
            check_picture(card, &kernel.accesses[index], &report.gpus[0], 0);
        }
        // The table of GPUs has the totals.
        let cell = kernel.totals[1].spaces["shared_load"].counts.wavefronts.to_string();
        assert!(
            dom.contains(&format!("data-cost=\"{cell}\" data-name=\"shared_load\" data-gpu=\"1\""))
        );
        assert!(!dom.contains("<b>no markup</b>"), "source text became markup");
    }
}
