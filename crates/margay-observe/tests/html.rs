// SPDX-License-Identifier: MIT OR Apache-2.0
//! The HTML report in a headless Chromium: it opens, says nothing on the console, and its pictures show
//! what the JSON says. Says so on standard error where no Chromium is installed.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::Bench;
use margay_observe::constant_cache::Row;
use margay_observe::report::schema::{Access, ConstantCache, ConstantRow, GpuInfo};
use margay_observe::report::{Report, html};
use margay_observe::sanitize::finding::{Actor, Check, Finding, Severity, Source};
use margay_observe::words::Words;

fn chromium() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let works = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    names.into_iter().find(works)
}

/// A page's elements after its scripts ran, and what it said on the console.
fn open(browser: &str, page: &Path, more: &[&str]) -> (String, String) {
    open_with(browser, page, &[&["--virtual-time-budget=20000"], more].concat())
}

/// The same; without a budget of virtual time the page's clock is a real one.
fn open_with(browser: &str, page: &Path, more: &[&str]) -> (String, String) {
    let profile = page.with_extension("profile");
    let output = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
        .args(["--disable-dev-shm-usage", "--no-first-run"])
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

/// The picture of the cure is what the JSON has of it, and has fewer passes or pieces.
fn check_cured(card: &str, access: &Access) {
    let on = &access.gpus[0];
    let Some(cured) =
        on.finding.as_ref().and_then(|f| f.cure.as_ref()).and_then(|c| c.picture.as_ref())
    else {
        assert!(!card.contains("data-cured"));
        return;
    };
    let then = card.split("data-cured=\"0\"").nth(1).expect("the cure is drawn");
    let now = on.picture.as_ref().unwrap();
    let passes = |text: &str| -> u32 {
        let svg = text.split("</svg>").next().unwrap();
        values(svg, "data-passes").iter().map(|p| p.parse().unwrap()).max().unwrap_or(0)
    };
    if cured.bank_requests.is_empty() {
        assert!(cured.segments.len() <= now.segments.len());
        assert_eq!(values(then, "data-segments")[0], cured.segments.len().to_string());
    } else {
        assert_eq!(passes(then), cured.wavefronts);
        assert!(cured.wavefronts < now.wavefronts);
    }
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
            check_cured(card, &kernel.accesses[index]);
        }
        assert!(dom.contains("data-cured"), "no cure is drawn");
        // The table of GPUs has the totals.
        let cell = kernel.totals[1].spaces["shared_load"].counts.wavefronts.to_string();
        assert!(
            dom.contains(&format!("data-cost=\"{cell}\" data-name=\"shared_load\" data-gpu=\"1\""))
        );
        assert!(!dom.contains("<b>no markup</b>"), "source text became markup");
    }
}

/// A page in Chromium after `script` ran at its end; `None`, and a word on standard error, without a Chromium.
fn after(test: &str, report: &Report, script: &str) -> Option<String> {
    let Some(browser) = chromium() else {
        eprintln!("skipped: {test}: chromium is missing");
        return None;
    };
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.html"));
    let page =
        html::render(report).replace("</body>", &format!("<script>{{{script}}}</script></body>"));
    std::fs::write(&place, page).unwrap();
    let (dom, console) = open(browser, &place, &["--window-size=1280,900"]);
    assert_eq!(console, "");
    assert!(dom.contains("data-ready=\"true\""), "the script did not finish:\n{dom:.2000}");
    Some(dom)
}

#[test]
fn findings_of_the_checks_and_the_constant_cache_are_shown() {
    let mut report = transposes();
    let actor = |action: &str, line| Actor {
        action: action.into(),
        block: [1, 0, 0],
        thread: Some([3, 2, 0]),
        host: false,
        source: Source { file: Some("transposes.cu".into()), line, ..Source::default() },
    };
    let finding = |severity, code: &str| Finding {
        check: Check::Race,
        severity,
        code: code.into(),
        kernel: "transpose_tiled".into(),
        message: "two threads write `tile` <b>without</b> a barrier".into(),
        cure: "put `__syncthreads()` between them".into(),
        space: Some("shared".into()),
        address: Some(u64::MAX),
        bytes: Some(4),
        object: None,
        words: Words::Cuda,
        actors: vec![actor("write", 8), actor("write", 12)],
        count: 1234,
    };
    report.checks = (0..7).map(|_| finding(Severity::Error, "race/write-write")).collect();
    report.checks.insert(1, finding(Severity::Warning, "sync/one-side"));
    report.constant_cache = Some(ConstantCache {
        bytes: 16384,
        rows: vec![ConstantRow {
            row: Row {
                kernel: "k".into(),
                variable: "argument 0 (clCreateBuffer)".into(),
                size: 65536,
                launches: 2,
                hits: 10,
                misses: 90,
                emptied: 1,
            },
            hint: Some("its 65536 bytes do not fit: `global const` would serve better".into()),
        }],
    });
    let test = "findings_of_the_checks_and_the_constant_cache_are_shown";
    // Styled: a coloured edge, and a badge whose text stands out from it.
    let script = "const c = (s, p) => getComputedStyle(document.querySelector(s))[p];
        document.body.dataset.edge = c('.check.error', 'borderLeftWidth');
        document.body.dataset.same = String(c('.badge.error', 'color') === c('.badge.error', 'backgroundColor'));
        document.body.dataset.wide = String(document.documentElement.scrollWidth > innerWidth);";
    let Some(dom) = after(test, &report, script) else { return };
    assert_eq!(values(&dom, "data-check").len(), 8);
    assert_eq!(values(&dom, "data-severity")[..2], ["error", "warning"]);
    assert!(dom.contains("7 errors, 1 warning."), "the sum");
    assert!(dom.contains("1,234 times") && dom.contains("block (1,0,0), thread (3,2,0)"));
    assert!(dom.contains("<code>transposes.cu:8</code>"));
    assert!(!dom.contains("<b>without</b>"), "a message became markup");
    assert!(dom.contains("<summary>5 more</summary>"));
    assert_eq!(
        (values(&dom, "data-edge"), values(&dom, "data-same")),
        (vec!["4px"], vec!["false"])
    );
    assert_eq!(values(&dom, "data-wide"), ["false"], "the page is wider than its window");
    assert!(dom.contains("Constant cache of 16,384 bytes") && dom.contains("10.0 %"));
    assert_eq!((values(&dom, "data-hits"), values(&dom, "data-misses")), (vec!["10"], vec!["90"]));
}

#[test]
fn keys_walk_through_the_page_and_keep_the_focus() {
    let script = "const press = (key) => dispatchEvent(new KeyboardEvent('keydown', { key }));
        const note = (name, value) => document.body.dataset[name] = value;
        press(']'); press('g'); note('first', state.kernel + ' ' + state.gpu);
        press('n'); note('second', state.line); press('n'); press('p'); note('third', state.line);
        note('open', document.querySelectorAll('tr.open').length);
        press('Escape'); note('fourth', String(state.line)); press('['); note('fifth', state.kernel);
        const scheme = document.documentElement.dataset.theme; press('t');
        note('sixth', String(scheme !== document.documentElement.dataset.theme));
        const gpu = document.querySelector('[data-key=gpu2]'); gpu.focus(); gpu.click();
        note('seventh', document.activeElement.dataset.key);
        note('told', document.getElementById('told').textContent);
        const line = document.querySelector('.source button'); line.focus(); line.click();
        note('eighth', String(document.activeElement.dataset.key === 'line' + state.line));";
    let test = "keys_walk_through_the_page_and_keep_the_focus";
    let Some(dom) = after(test, &transposes(), script) else { return };
    let value = |name: &str| values(&dom, &format!("data-{name}")).join(" ");
    assert_eq!((value("first"), value("fifth")), ("1 1".into(), "0".into()));
    assert!(value("second").starts_with("transposes.cu:"), "{}", value("second"));
    assert_eq!(value("third"), value("second"), "forth and back");
    assert_eq!((value("open"), value("fourth")), ("1".into(), "null".into()));
    assert_eq!((value("sixth"), value("seventh")), ("true".into(), "gpu2".into()));
    assert!(value("told").contains("Tesla C2050"), "{}", value("told"));
    assert_eq!(value("eighth"), "true");
}

/// The page of a kernel of OpenCL C has its words, with CUDA's behind them.
#[test]
fn opencl_has_its_own_words() {
    let mut report = transposes();
    let text = report.sources.remove("transposes.cu").unwrap();
    report.sources.insert("transposes.cl".into(), text);
    for kernel in &mut report.kernels {
        kernel.lines.iter_mut().for_each(|l| l.file = l.file.replace(".cu", ".cl"));
        kernel.accesses.iter_mut().for_each(|a| a.file = a.file.replace(".cu", ".cl"));
    }
    let test = "opencl_has_its_own_words";
    let Some(dom) = after(test, &report, "") else { return };
    for words in [
        "4 work-groups of 256 work-items (grid 2×2×1, block 32×8×1)",
        "local (shared) load",
        "Lanes: the 32 work-items (threads) of a warp",
        "Banks of local (shared) memory",
        "OpenCL's word for a block of threads",
    ] {
        assert!(dom.contains(words), "{words:?} is missing");
    }
    let Some(dom) = after(test, &transposes(), "") else { return };
    assert!(!dom.contains("work-item<") && dom.contains("Lanes: the 32 threads of a warp"));
}

/// A report of 10,000 different launches: `kernels` times three kernels.
fn large(kernels: usize) -> Report {
    let mut report = transposes();
    let row = report.launches.rows[0].clone();
    let different =
        |n: u64| row.iter().map(move |v| v.as_u64().map_or(v.clone(), |v| (v + n).into()));
    report.launches.rows = (0..10_000)
        .map(|n| {
            let mut row: Vec<_> = different(n).collect();
            row[0] = (n % (3 * kernels as u64)).into();
            row
        })
        .collect();
    report.launches.total = 10_000;
    report.kernels = (0..kernels).flat_map(|_| report.kernels.clone()).collect();
    report
}

/// A report of 10,000 launches of three kernels, and one whose kernels are so many that the page must leave something
/// out, stay under 20 MB and open in two seconds. How long it took is printed; as tests run beside this one on
/// machines of all kinds, the best of some tries counts, against a limit that is far above what an idle machine takes.
#[test]
fn a_report_of_ten_thousand_launches_opens_at_once() {
    let Some(browser) = chromium() else {
        eprintln!("skipped: a_report_of_ten_thousand_launches_opens_at_once: chromium is missing");
        return;
    };
    for (kernels, limit) in [(1, 2000), (600, 6000)] {
        let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("large{kernels}.html"));
        let note =
            "<script>document.body.dataset.opened = Math.round(performance.now())</script></body>";
        let page = html::render(&large(kernels)).replace("</body>", note);
        assert!(page.len() < 20 << 20, "{}", page.len());
        assert_eq!(page.contains("no pictures of the"), kernels > 1);
        std::fs::write(&place, &page).unwrap();
        let mut took: Vec<u64> = Vec::new();
        while took.len() < 4 && took.iter().all(|t| *t >= limit) {
            let (dom, console) = open_with(browser, &place, &["--window-size=1280,900"]);
            assert_eq!(console, "");
            assert!(dom.contains("data-ready=\"true\""), "the script did not finish");
            took.push(values(&dom, "data-opened")[0].parse().unwrap());
        }
        eprintln!("{} bytes, {kernels} × 3 kernels: opened in {took:?} ms", page.len());
        assert!(took.iter().any(|t| *t < limit), "{took:?} ms");
    }
}
