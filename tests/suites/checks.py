#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs `margay run --check` over other people's programs with planted bugs, and over their clean twins.

    tests/suites/checks.py scor       ../ScoR
    tests/suites/checks.py sanitizer  ../compute-sanitizer-samples
    tests/suites/checks.py oclgrind   ../Oclgrind

Of each program it is known what is planted: a finding of that check must come, and in a clean program none may.
`checks_<suite>.md` is the table of the last run (`--write`); `checks_<suite>.expected` lists known misses and wrong
accusations, each with its reason. What is not listed fails the run, and so does a listed program that is right now,
and a run that checked nothing. `checks_card.json` has what compute-sanitizer says of the same programs on a card.
"""
import argparse, dataclasses, json, os, pathlib, re, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
HOST = HERE.parent / "checks" / "opencl_host.py"


@dataclasses.dataclass
class Program:
    name: str
    command: list
    # Beginnings of codes, each of which must be found; empty for a clean program.
    planted: list
    options: list = dataclasses.field(default_factory=list)


def scor(checkout):
    """Microbenchmarks for compute capability 6.0: warps in step, scopes of atomics and fences. Whether a lock without
    its fence is a race depends on who takes it first: so several orders."""
    for source in sorted((checkout / "microbenchmarks" / "src").glob("*.cu")):
        planted = ["race/"] if source.stem.startswith("race_") else []
        yield Program(source.stem, [str(source)], planted, ["--check", "race", "--gpu", "sm_60", "--schedules", "6"])


def sanitizer(checkout):
    every = ["--check", "all", "--destroy-on-device-error", "kernel"]
    planted = {
        "Memcheck/memcheck_demo": ["memory/misaligned", "memory/out-of-bounds", "memory/leak"],
        "Racecheck/block_error": ["race/"],
        "Racecheck/warp_error": ["race/"],
        "Synccheck/divergent_threads": ["sync/"],
        "Synccheck/illegal_syncwarp": ["sync/mask"],
        "Initcheck/memset_error": ["init/"],
        "Suppressions/suppressions_initcheck_demo": ["init/"],
    }
    for name, codes in planted.items():
        yield Program(name, [str(checkout / f"{name}.cu")], codes, every)


def oclgrind(checkout):
    kernels = checkout / "tests" / "kernels"
    says = {
        r"data race": "race/", r"Invalid (read|write)": "memory/", r"static array size": "memory/",
        r"Uninitialized": "init/", r"divergence detected \(barrier\)": "sync/",
    }
    for folder in ("data-race", "memcheck", "uninitialized", "barrier"):
        for sim in sorted((kernels / folder).glob("*.sim")):
            errors = re.findall(r"^ERROR (.*)$", sim.with_suffix(".ref").read_text(), re.M)
            # What follows from a wild access is not asked for.
            first = [code for error in errors[:1] for text, code in says.items() if re.search(text, error)]
            yield Program(f"{folder}/{sim.stem}", ["python3", str(HOST), str(sim)], first, ["--check", "all"])


SUITES = {"scor": scor, "sanitizer": sanitizer, "oclgrind": oclgrind}


def run(margay, program, seconds):
    """The errors that were found, as codes with places, or why there is no answer."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "findings.json")
        command = [margay, "run", *program.options, "--check-format", "json", "--check-output", str(report), *program.command]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, cwd=folder)
        except subprocess.TimeoutExpired:
            return None, f"no end within {seconds} s"
        if not report.exists():
            return None, (done.stderr.strip().splitlines() or ["nothing was said"])[-1]
        return json.loads(report.read_text())["findings"], None


def judge(program, findings):
    counted = [f for f in findings if f["severity"] != "note" or f["code"] in program.planted]
    codes = sorted({f["code"] for f in counted})
    # That something was not watched is no finding of what is planted.
    found = [c for c in codes if not c.endswith("/incomplete")]
    missing = [p for p in program.planted if not any(c.startswith(p) for c in found)]
    if missing:
        return codes, f"not found: {', '.join(missing)}"
    accused = [c for c in codes if not program.planted]
    return codes, f"accused: {', '.join(accused)}" if accused else None


def place(findings):
    for finding in findings:
        for actor in finding["actors"]:
            source = actor["source"]
            if source.get("file"):
                return f"{os.path.basename(source['file'])}:{source['line']}"
    return ""


def on_card(suite, program):
    """What compute-sanitizer found: the tools that report something."""
    programs = json.loads((HERE / "checks_card.json").read_text())["programs"]
    tools = programs.get(f"{suite}.{program.name.rpartition('/')[2]}")
    if tools is None:
        return "not run"
    return ", ".join("hangs" if count == "hangs" else tool for tool, count in tools.items()) or "nothing"


def known(path):
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("names", nargs="*", help="parts of names; all programs if none is given")
    parser.add_argument("--margay", default=os.environ.get("MARGAY", "margay"))
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("--write", action="store_true", help="write the table")
    options = parser.parse_args()
    # Programs run in a folder of their own.
    if "/" in options.margay:
        options.margay = os.path.abspath(options.margay)
    programs = [p for p in SUITES[options.suite](options.checkout.resolve())
                if not options.names or any(n in p.name for n in options.names)]
    expected = known(HERE / f"checks_{options.suite}.expected")
    rows, wrong, right = [], 0, 0
    for program in programs:
        start = time.time()
        findings, problem = run(options.margay, program, options.seconds)
        codes = []
        if findings is not None:
            codes, problem = judge(program, findings)
        if problem and program.name in expected:
            verdict = f"known: {expected[program.name]}"
        elif problem:
            verdict, wrong = f"WRONG: {problem}", wrong + 1
        elif program.name in expected:
            verdict, wrong = "WRONG: right, but listed as known", wrong + 1
        else:
            verdict, right = "right", right + 1
        planted = ", ".join(p.rstrip("/") for p in program.planted) or "nothing"
        found = ", ".join(codes) or "nothing"
        rows.append(f"| {program.name} | {planted} | {found} | {place(findings or []) if codes else ''} | {verdict} | {on_card(options.suite, program)} |")
        print(f"{verdict:8} {program.name}: planted {planted}; found {found} ({time.time() - start:.1f} s)", flush=True)
    if options.write:
        head = [f"# `margay run --check` on {options.checkout.name}", "",
                f"`tests/suites/checks.py {options.suite}`: {len(programs)} programs, {right} right.", "",
                "| program | planted | found | first place | verdict | compute-sanitizer |", "|---|---|---|---|---|---|"]
        (HERE / f"checks_{options.suite}.md").write_text("\n".join(head + rows) + "\n")
    print(f"{len(programs)} programs, {right} right, {wrong} wrong, {len(programs) - right - wrong} known")
    sys.exit(bool(wrong) or right == 0)


if __name__ == "__main__":
    main()
